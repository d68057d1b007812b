/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/device_lists.h  Within src/ci: which of a PE's states go to a reader of a vector, as
 * the kernels that store them want to be told: those that copy by pieces, those that make the
 * vector by chunks of neighbours, of which each goes as a whole or not at all. */
#ifndef TG_CI_DEVICE_LISTS_H
#define TG_CI_DEVICE_LISTS_H

#include "ci/device_queue.h"
#include "ci/distribution.h"

enum { TG_CI_CHUNK = 256 /* states */ };

typedef struct tg_ci_pieces {
  tg_ci_piece* list; /* [count] */
  size_t count, room;
} tg_ci_pieces;

/** Local: appends pieces of ranges: [count], each what a block of threads copies. *states: += those
 * in them. */
tg_status tg_ci_pieces_add(const tg_ci_range* ranges, size_t count, tg_ci_pieces* out,
                           uint64_t* states);

/** Sets a bit in masks: [states of slice / TG_CI_CHUNK, rounded up] of the chunks with states of
 * ranges: [count], rising, within slice. Returns how many states these chunks have. */
uint64_t tg_ci_chunks_mark(tg_ci_range slice, const tg_ci_range* ranges, size_t count, uint32_t bit,
                           uint32_t* masks);

#endif
