/* SPDX-License-Identifier: Apache-2.0 */
/** @file motif/cuda/walk.cuh  Which rows and columns a block of a filter's grid meets.
 *
 * Without tiles, block x has so many rows, and all columns. With tiles it has tile x, so many rows
 * at a time, and the columns of its spans. Columns come in chunks that rise; block y of Y takes
 * every Y-th chunk of a span, and where one warp holds all rows, each of its warps every (Y *
 * warps)-th.
 */
#ifndef TG_MOTIF_CUDA_WALK_CUH
#define TG_MOTIF_CUDA_WALK_CUH

#include "motif/cuda/internal.cuh"

typedef struct row_walk {
  uint32_t begin, limit; /* next row, and the end of the block's or tile's rows */
  uint32_t span, last;   /* of these rows */
} row_walk;

static __device__ __forceinline__ row_walk row_walk_start(const tg_pairs& p, uint32_t rows) {
  if (p.tile_count > 0)
    return {p.tile_rows[blockIdx.x], p.tile_rows[blockIdx.x + 1], p.tile_spans[blockIdx.x],
            p.tile_spans[blockIdx.x + 1]};
  const uint64_t begin = (uint64_t)blockIdx.x * rows, end = begin + rows;
  return {(uint32_t)begin, (uint32_t)(end < p.rows.count ? end : p.rows.count), 0, 1};
}

typedef struct column_walk {
  uint64_t at, end, start, step; /* start: where in a span */
  uint64_t skip;                 /* columns before this one meet none of the rows (once) */
  uint32_t span, last, length;
} column_walk;

static __device__ __forceinline__ void column_walk_span(const tg_pairs& p, column_walk* w) {
  const bool tiles = p.tile_count > 0;
  if (w->span >= w->last) {
    w->at = w->end = 0;
    return;
  }
  w->at = (tiles ? p.spans[2 * (size_t)w->span] : 0) + w->start;
  w->end = tiles ? p.spans[2 * (size_t)w->span + 1] : p.columns.count;
}

/** A block's warps would have no rows but for one: they share the columns instead. */
static __device__ __forceinline__ bool one_warp_holds_rows(const tg_pairs& p, uint32_t rows) {
  return p.tile_count == 0 && p.rows.count <= rows;
}

/** row: the first of the rows. shares: 1, or the warps of the block, of which this is number share.
 */
static __device__ __forceinline__ column_walk column_walk_start(const tg_pairs& p,
                                                                const row_walk& rows, uint64_t row,
                                                                uint32_t length, uint32_t shares,
                                                                uint32_t share) {
  column_walk w;
  w.start = ((uint64_t)blockIdx.y * shares + share) * length;
  w.step = (uint64_t)gridDim.y * shares * length;
  w.length = length;
  w.span = rows.span;
  w.last = rows.last;
  w.skip =
      p.once && p.first_row + row + 1 > p.first_column ? p.first_row + row + 1 - p.first_column : 0;
  column_walk_span(p, &w);
  return w;
}

/** The next chunk, columns begin ... end - 1; false where there is none. */
static __device__ __forceinline__ bool column_walk_next(const tg_pairs& p, column_walk* w,
                                                        uint32_t* begin, uint32_t* end) {
  for (;;) {
    if (w->at >= w->end) {
      if (w->span + 1 >= w->last) return false;
      w->span++;
      column_walk_span(p, w);
      continue;
    }
    const uint64_t stop = w->at + w->length < w->end ? w->at + w->length : w->end;
    *begin = (uint32_t)w->at;
    *end = (uint32_t)stop;
    w->at += w->step;
    if (stop > w->skip) return true;
  }
}

/** A pair that is to be looked at. */
static __device__ __forceinline__ bool pair_counts(const tg_pairs& p, uint32_t row,
                                                   uint32_t column) {
  return !p.once || p.first_column + column > p.first_row + row;
}

/** What becomes of hits. */
typedef enum sink_kind {
  SINK_COUNT,      /* counted in shared memory, added to counts at the end */
  SINK_CURSOR,     /* an atomic of the row's cursor for each hit */
  SINK_AGGREGATED, /* one for all hits that a warp has in a row at a time */
} sink_kind;

typedef struct pair_sink {
  sink_kind kind;
  uint32_t* counts; /* or cursors */
  const uint64_t* offsets;
  uint32_t* hits;
} pair_sink;

/** How a grid is cut: blocks x of so many rows, and enough blocks y to fill the GPU. */
static inline dim3 sweep_grid(const tg_pairs* pairs, size_t rows, size_t chunk,
                              size_t blocks_wanted) {
  const size_t x =
      pairs->tile_count > 0 ? pairs->tile_count : tg_cuda_blocks(pairs->rows.count, rows);
  const size_t chunks = tg_cuda_blocks(pairs->columns.count, chunk);
  size_t y = x == 0 ? 1 : tg_cuda_blocks(blocks_wanted, x);
  if (y > chunks) y = chunks;
  if (y > 65535) y = 65535;
  return dim3((unsigned)x, (unsigned)(y > 0 ? y : 1));
}

/** Zeroes what the hits are counted in; false where there is nothing to do but that. */
static inline tg_status sweep_begin(const tg_pairs* pairs, uint32_t* counts, bool* work) {
  *work = pairs->rows.count > 0 && pairs->columns.count > 0;
  return tg_cuda_zero(counts, pairs->rows.count * sizeof *counts);
}

#endif
