/* SPDX-License-Identifier: Apache-2.0 */
/** @file motif/ref/pairs.h  The methods of motif/pairs.h, one pair at a time, and every pair. */
#ifndef TG_MOTIF_REF_PAIRS_H
#define TG_MOTIF_REF_PAIRS_H

#include "motif/pairs.h"

/** Orbitals occupied in one state but not in both, by the lists. */
uint32_t tg_ref_differing(const tg_pairs* pairs, size_t row, size_t column);

/** A hit, by a method. */
typedef bool (*tg_ref_accepts)(const tg_pairs* pairs, size_t row, size_t column);
bool tg_ref_array(const tg_pairs* pairs, size_t row, size_t column);
bool tg_ref_word64(const tg_pairs* pairs, size_t row, size_t column);
bool tg_ref_bits(const tg_pairs* pairs, size_t row, size_t column);

/** Calls visit for each hit, columns rising within a row, rows rising. */
typedef void (*tg_ref_visit)(void* context, size_t row, size_t column);
void tg_ref_each_hit(const tg_pairs* pairs, tg_ref_accepts accepts, tg_ref_visit visit,
                     void* context);

#endif
