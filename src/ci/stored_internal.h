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

/** The elements of a row, with the columns' numbers in the whole matrix. */
typedef struct tg_ci_row_list {
  uint64_t* column;
  double* value;
  size_t count, column_room, value_room;
} tg_ci_row_list;

typedef struct tg_ci_row_place {
  const tg_ci_fly* f;
  size_t block;
  size_t i, j;    /* within the classes */
  uint64_t least; /* columns below are not wanted; 0: all are */
} tg_ci_row_place;

/** All but the diagonal's, from the tables of jumps, into list, which keeps its room. */
tg_status tg_ci_row_find(const tg_ci_row_place* place, tg_ci_row_list* list);
void tg_ci_row_list_free(tg_ci_row_list* list);

/** The blocks that one or two particles' jumps reach from each block: its rows need not meet
 * others. */
typedef struct tg_ci_reached {
  uint32_t* blocks; /* [begin[blocks of the space]] rising for each block, itself too */
  size_t* begin;    /* [blocks of the space + 1] */
} tg_ci_reached;

tg_status tg_ci_reached_make(const tg_ci_fly* fly, tg_ci_reached* out);
/** Accepts a zeroed or half-built one. */
void tg_ci_reached_free(tg_ci_reached* reached);

#endif
