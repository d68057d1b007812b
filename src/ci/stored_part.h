/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/stored_part.h  The rows of a stored matrix that one of several PEs has.
 *
 * The square of its own rows is stored as half a matrix (ci/stored.h), as each of its elements
 * serves two of its own rows. To the other PEs' columns all elements are stored: half of them would
 * save up to half of the memory, but what they give to the other PEs' rows would have to be sent
 * there and added in a fixed order: a second exchange for each product, which no own work hides.
 * With N PEs all together store 2 - 1/N times the half. */
#ifndef TG_CI_STORED_PART_H
#define TG_CI_STORED_PART_H

#include "ci/stored.h"

/** Rows to the columns of another PE: [chunks of rows, chunks of its columns] tiles, all elements.
 */
typedef struct tg_ci_stored_beside {
  uint64_t first, states; /* of the columns */
  size_t chunks;          /* of 1 << TG_CI_MOST_SHIFT columns, the last may be shorter */
  tg_ci_tile* tiles;      /* [own.chunks, chunks] */
} tg_ci_stored_beside;

typedef struct tg_ci_stored_part {
  tg_ci_stored own; /* states numbered from the first row */
  uint64_t first;   /* number of that among all */
  int pe_count, pe;
  tg_ci_stored_beside* beside; /* [pe_count]; nothing at pe */
  uint64_t count;              /* elements stored, without the diagonal */
  uint64_t bytes;
} tg_ci_stored_part;

/** Bytes for rows with so many elements, the diagonal included, roughly: as many of them are in the
 * rows' own columns as these are of all. */
uint64_t tg_ci_stored_part_bytes(uint64_t rows, uint64_t dimension, double elements);

tg_status tg_ci_stored_part_make(const tg_ci_fly* fly, const tg_ci_distribution* distribution,
                                 int pe, int threads, tg_ci_stored_part* out);
/** Accepts a zeroed one. */
void tg_ci_stored_part_free(tg_ci_stored_part* part);

/** y = what the own rows give: [rows, k] each, columns at a distance of ld. */
void tg_ci_stored_part_own(const tg_ci_stored_part* part, int threads, int k, const double* x,
                           double* y, size_t ld);
/** y += what the slice of a PE gives. x: [dimension, k] in the numbering of the space, columns at a
 * distance of ldx; y: [rows, k]. */
void tg_ci_stored_part_add(const tg_ci_stored_part* part, int threads, int pe,
                           const tg_ci_fly_vectors* vectors);

#endif
