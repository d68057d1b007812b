/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/stored_elements.h  The elements of a Hamiltonian as flat arrays, and which blocks of a
 * space can hold any: what comparing states on a device needs.
 *
 * <ij|v|kl> of a species is value[pair_row[ij] + pair_place[kl]] where both pairs are of one
 * channel, and zero otherwise; w(ij,kl) between the species is value[cross_row[ij] +
 * cross_place[kl]] where the channels of both transitions are one. ij stands for i * orbitals + j;
 * pairs have i < j. Transitions of B have the channel of those of A that balance them. */
#ifndef TG_CI_STORED_ELEMENTS_H
#define TG_CI_STORED_ELEMENTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tg_ci_fly;
struct tg_ci_hamiltonian;

typedef struct tg_ci_flat_elements {
  size_t orbitals[2];
  double* one[2];                            /* [orbitals, orbitals] */
  uint64_t* pair_row[2];                     /* [orbitals, orbitals] */
  uint32_t *pair_place[2], *pair_channel[2]; /* [orbitals, orbitals] */
  uint64_t* cross_row;                       /* [orbitals of A, orbitals of A] */
  uint32_t* cross_place;                     /* [orbitals of B, orbitals of B] */
  uint32_t* cross_channel[2];                /* [orbitals, orbitals] of each species */
  size_t count;
  double* value; /* [count] */
} tg_ci_flat_elements;

tg_status tg_ci_flat_elements_make(const struct tg_ci_hamiltonian* h, tg_ci_flat_elements* out);
/** Accepts a zeroed or half-built one. */
void tg_ci_flat_elements_free(tg_ci_flat_elements* elements);

/** The columns that the rows first ... end - 1 may meet: tile t has the rows tile_rows[t] ...
 * tile_rows[t + 1] - 1 (counted from first) of one block, and the spans tile_spans[t] ...
 * tile_spans[t + 1] - 1 of states, as motif/pairs.h takes them. */
typedef struct tg_ci_flat_spans {
  size_t tile_count, span_count;
  uint32_t *tile_rows, *tile_spans; /* [tile_count + 1] */
  uint32_t* spans;                  /* [2, span_count] */
} tg_ci_flat_spans;

tg_status tg_ci_flat_spans_make(const struct tg_ci_fly* fly, uint64_t first, uint64_t end,
                                tg_ci_flat_spans* out);
void tg_ci_flat_spans_free(tg_ci_flat_spans* spans);

#ifdef __cplusplus
}
#endif
#endif
