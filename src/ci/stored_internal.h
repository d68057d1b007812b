/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/stored_internal.h  What the builders of ci/stored.h share. */
#ifndef TG_CI_STORED_INTERNAL_H
#define TG_CI_STORED_INTERNAL_H

#include "ci/stored.h"

/** States of a chunk. */
size_t tg_ci_stored_rows(const tg_ci_stored* s, size_t chunk);
/** Chunks, empty tiles and an empty diagonal. */
tg_status tg_ci_stored_start(uint64_t dimension, bool full, tg_ci_stored* out);
/** Sums count and bytes. */
void tg_ci_stored_finish(tg_ci_stored* s);
/** Room for counts[r * stride] elements in each row, and begin. */
tg_status tg_ci_tile_allocate(tg_ci_tile* tile, size_t rows, const uint32_t* counts, size_t stride);

#endif
