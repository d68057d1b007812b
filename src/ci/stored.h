/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/stored.h  The Hamiltonian as a sparse matrix in memory.
 *
 * The states are cut into chunks of a power of two (at most 65,536 states). A tile holds the
 * elements between the rows of chunk I and the columns of chunk J, in compressed rows, with 16-bit
 * columns within the chunk: 10 bytes an element. Half: the tiles I <= J with the elements above the
 * diagonal, each of which serves both triangles. Full: all tiles, all elements but the diagonal's.
 * The diagonal is an array of its own.
 *
 * The product of several vectors packs them, so that numbers of one state are side by side: the
 * matrix is read once for all, and an element is used for both triangles and all vectors.
 *
 * The product of a half matrix adds to y at both ends of an element. Tiles are therefore done in
 * rounds in which no chunk occurs twice (as in a round-robin tournament: chunk I meets every other
 * once), so threads never meet, and each chunk of y is added to in the same order whatever the
 * number of threads: same bits. A tile waits until its two chunks are through with the round
 * before, not for all other threads.
 *
 * Two builders find the same elements, with the same values:
 *   jumps   row after row from the tables of jumps (ci/jumps.h); needs no comparison of states
 *   motifs  filter, scan and fill over the states of two chunks (motif/pairs.h), tiles of rows in a
 *           block meeting the columns of those blocks alone that jumps can reach; then each hit's
 *           element by the Slater-Condon rules (ci/element.h). For bases without structure. */
#ifndef TG_CI_STORED_H
#define TG_CI_STORED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ci/product_fly.h"

enum { TG_CI_LEAST_SHIFT = 11, TG_CI_MOST_SHIFT = 16 }; /* 2,048 ... 65,536 states */
enum { TG_CI_STORED_WIDTH = 4 };                        /* vectors multiplied at once */

typedef struct tg_ci_tile {
  uint64_t count;
  uint32_t* begin;  /* [rows + 1]; NULL where count is 0 */
  uint16_t* column; /* [count]; the order in a row is the builder's */
  double* value;    /* [count] */
} tg_ci_tile;

typedef struct tg_ci_stored {
  uint64_t dimension;
  bool full;
  int shift;            /* chunk is 1 << shift */
  size_t chunk, chunks; /* states in a chunk; the last may have fewer */
  tg_ci_tile* tiles;    /* tg_ci_stored_tile */
  double* diagonal;     /* [dimension] */
  double* work;         /* half: [2, dimension, TG_CI_STORED_WIDTH], x and y of a product */
  uint32_t* over;       /* [chunks] rounds of a product that a chunk has behind it */
  uint64_t count;       /* elements stored, without the diagonal */
  size_t bytes;
} tg_ci_stored;

/** The tile of chunks row and column; half: row <= column. */
tg_ci_tile* tg_ci_stored_tile(const tg_ci_stored* s, size_t row, size_t column);

/** Bytes that a stored matrix takes for so many pairs of states (tg_ci_fly::pairs). */
size_t tg_ci_stored_bytes(uint64_t dimension, uint64_t pairs, bool full);

tg_status tg_ci_stored_by_jumps(const tg_ci_fly* fly, bool full, int threads, tg_ci_stored* out);
/** TG_ERR_INPUT where there is no particle at all. */
tg_status tg_ci_stored_by_motifs(const tg_ci_hamiltonian* h, const tg_ci_fly* fly, bool full,
                                 int threads, tg_ci_stored* out);
void tg_ci_stored_free(tg_ci_stored* s);

/** y = H x for k vectors, k columns at a distance of ld. Up to TG_CI_STORED_WIDTH of them cost
 * little more than one; a vector's bits do not depend on the others. One call at a time: works in
 * s->work.
 */
void tg_ci_stored_apply(const tg_ci_stored* s, int threads, int k, const double* x, double* y,
                        size_t ld);

#endif
