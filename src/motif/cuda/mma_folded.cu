/* SPDX-License-Identifier: Apache-2.0 */
/* The filter by mma for states of any number of words.
 *
 * The block folds its columns, 512 at a time, to 96 bits and up to 32 ones (tensor.cuh), in shared
 * memory; its eight warps meet them with 128 folded rows each, as in mma.cu. The bound is close: of
 * 8 particles in 1,024 orbitals, 9e-6 of the pairs pass where 4e-6 are hits, and without a bias to
 * low orbitals fewer than 1e-6. Where two tiles of 16 rows have a pair that passes, all words of
 * theirs are counted, 128 bits at a time. Beside mma it costs time that every block reads all words
 * of all columns: hence many rows to a block. */
#include "motif/cuda/mma.cuh"
#include "motif/cuda/pairs.cuh"

enum {
  FOLD_TILES = 8,
  FOLD_ROWS = 16 * FOLD_TILES, /* of a warp */
  FOLD_WARPS = 8,
  FOLD_THREADS = 32 * FOLD_WARPS,
  FOLD_CHUNK = 2 * MMA_CHUNK,
};

/* c += counts of 16 rows, 8 columns and 128 bits. */
static __device__ __forceinline__ void add_pairs(int (&c)[4], const uint32_t (&a)[2], uint32_t b) {
  asm("mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32.and.popc "
      "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
      : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(b));
}

/* The words of two tiles from row first on, by all bits of the states. Rows behind the last are
 * counted as that one, and left out later; up to 31 columns behind the last are read. */
static __device__ __noinline__ uint32_t exact_tiles(const tg_pairs& p, uint32_t first,
                                                    uint32_t row_end, uint32_t column, int needed,
                                                    int lane) {
  int count[2][MMA_STEPS][4] = {};
  const int g = lane / 4, t = lane % 4;
  const uint32_t *rows = (const uint32_t*)(p.rows.bits + t / 2 * p.rows.stride) + t % 2,
                 *columns =
                     (const uint32_t*)(p.columns.bits + t / 2 * p.columns.stride + column + g) +
                     t % 2;
  uint32_t place[4];
#pragma unroll
  for (int k = 0; k < 4; k++) place[k] = 2 * min(first + g + 8 * k, row_end - 1);
#pragma unroll 2
  for (uint32_t w = t / 2; w < p.rows.words + t / 2; w += 2) { /* as often for each lane */
    const bool there = w < p.rows.words;
    uint32_t a[2][2], b[MMA_STEPS];
#pragma unroll
    for (int k = 0; k < 4; k++) a[k / 2][k % 2] = there ? __ldg(rows + place[k]) : 0;
#pragma unroll
    for (int j = 0; j < MMA_STEPS; j++) b[j] = there ? __ldg(columns + 16 * j) : 0;
#pragma unroll
    for (int tile = 0; tile < 2; tile++)
#pragma unroll
      for (int j = 0; j < MMA_STEPS; j++) add_pairs(count[tile][j], a[tile], b[j]);
    rows += 4 * p.rows.stride;
    columns += 4 * p.columns.stride;
  }
  uint32_t bits[4];
#pragma unroll
  for (int tile = 0; tile < 2; tile++) {
#pragma unroll
    for (int j = 0; j < MMA_STEPS; j++)
#pragma unroll
      for (int i = 0; i < 4; i++) count[tile][j][i] = count[tile][j][i] >= needed;
    tile_bits(count[tile], byte_bias(1), t, bits[2 * tile], bits[2 * tile + 1]);
  }
  return exchange(bits, t);
}

/* The folds of states begin ... end - 1, and of the last one up to a multiple of 32; by the block.
 */
static __device__ __forceinline__ void fold_into(const tg_states& s, uint32_t begin, uint32_t end,
                                                 uint4* to) {
  for (uint32_t n = threadIdx.x; n < (end - begin + 31) / 32 * 32; n += FOLD_THREADS) {
    uint32_t fold[4];
    fold_state<3>(s, min(begin + n, end - 1), fold);
    to[n] = make_uint4(fold[0], fold[1], fold[2], fold[3]);
  }
}

/* What a count of folds reaches where a pair of these rows may be a hit: the ones are no more than
 * 32, and may lack what a row has above that. */
static __device__ __forceinline__ int bound_of_rows(const uint4* folds, uint32_t count,
                                                    int particles, int needed, int lane) {
  int lack = 0;
  for (uint32_t r = lane; r < count; r += 32)
    lack = max(lack, particles - __popc(folds[r].x) - __popc(folds[r].y) - __popc(folds[r].z) - 32);
  return needed - __reduce_max_sync(~0u, lack);
}

__global__ void __launch_bounds__(FOLD_THREADS, 2)
    sweep_mma_folded(const __grid_constant__ tg_pairs p, const __grid_constant__ pair_sink sink,
                     int needed) {
  constexpr int WORDS = FOLD_TILES / 2;
  __shared__ uint4 stage[2][FOLD_CHUNK]; /* of columns; before them, of all rows */
  extern __shared__ uint32_t room[][WORDS][MMA_CHUNK / 32][32]; /* [FOLD_WARPS], of fills */
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (row_walk rows = row_walk_start(p, FOLD_WARPS * FOLD_ROWS); rows.begin < rows.limit;
       rows.begin += FOLD_WARPS * FOLD_ROWS) {
    const uint32_t first = rows.begin + warp * FOLD_ROWS;
    const uint32_t row = first + 8 * (lane % 4) + lane / 4;
    const uint4* folds = &stage[0][0] + warp * FOLD_ROWS;
    __syncthreads();
    fold_into(p.rows, rows.begin, min(rows.limit, rows.begin + FOLD_WARPS * FOLD_ROWS), stage[0]);
    __syncthreads();
    uint32_t a[FOLD_TILES][2];
#pragma unroll
    for (int t = 0; t < FOLD_TILES; t++)
#pragma unroll
      for (int k = 0; k < 2; k++)
        a[t][k] = ((const uint32_t*)(folds + 16 * t + 8 * k + lane / 4))[lane % 4];
    const int bound = first < rows.limit
                          ? bound_of_rows(folds, min(rows.limit - first, (uint32_t)FOLD_ROWS),
                                          (int)p.rows.particles, needed, lane)
                          : 0;
    lane_hits<WORDS> hits = {room[warp], 0, {}};
    __syncthreads();
    column_walk walk = column_walk_start(p, rows, rows.begin, FOLD_CHUNK, 1, 0);
    uint32_t next, stop;
    bool more = column_walk_next(p, &walk, &next, &stop);
    if (more) fold_into(p.columns, next, stop, stage[0]);
    for (int s = 0; more; s ^= 1) {
      const uint32_t begin = next, end = stop;
      __syncthreads(); /* this stage is written, the other one read */
      more = column_walk_next(p, &walk, &next, &stop);
      if (more) fold_into(p.columns, next, stop, stage[s ^ 1]);
      if (first >= rows.limit) continue;
      for (uint32_t column = begin; column < end; column += 8 * MMA_STEPS) {
        const uint32_t* from = (const uint32_t*)&stage[s][column - begin] + lane;
        int of_tile[FOLD_TILES] = {}, of_all = 0;
#pragma unroll
        for (int j = 0; j < MMA_STEPS; j++) {
          const uint32_t b[1] = {from[32 * j]};
#pragma unroll
          for (int t = 0; t < FOLD_TILES; t++) most_of_tile<1>(of_tile[t], a[t], b);
        }
#pragma unroll
        for (int t = 0; t < FOLD_TILES; t++) of_all = max(of_all, of_tile[t]);
        const uint32_t part = (column - begin) % MMA_CHUNK;
        if (__any_sync(~0u, of_all >= bound)) {
          uint32_t word[WORDS];
#pragma unroll
          for (int m = 0; m < WORDS; m++)
            word[m] = first + 32 * m < rows.limit &&
                              __any_sync(~0u, max(of_tile[2 * m], of_tile[2 * m + 1]) >= bound)
                          ? exact_tiles(p, first + 32 * m, rows.limit, column, needed, lane)
                          : 0;
          hits.take(p, sink, word, (int)part / 32, row, rows.limit, column, end);
        }
        if (sink.kind != SINK_COUNT && (part == MMA_CHUNK - 32 || column + 32 >= end))
          hits.write(sink, row, column - part);
      }
    }
    hits.add_counts(sink, row, rows.limit);
  }
}

tg_status tg_cuda_sweep_mma_folded(const tg_pairs* pairs, const pair_sink* sink) {
  bool work;
  TG_TRY(sweep_begin(pairs, sink->counts, &work));
  if (!work) return TG_OK;
  const dim3 grid = sweep_grid(pairs, (size_t)FOLD_ROWS * FOLD_WARPS, FOLD_CHUNK,
                               (size_t)tg_cuda_multiprocessors() * 16);
  const size_t bytes =
      sink->kind == SINK_COUNT ? 0 : (size_t)FOLD_WARPS * FOLD_TILES / 2 * MMA_CHUNK * 4;
  sweep_mma_folded<<<grid, FOLD_THREADS, bytes>>>(*pairs, *sink,
                                                  (int)pairs->rows.particles - pairs->d);
  return tg_cuda_queued("a filter on tensor cores");
}
