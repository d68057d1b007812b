/* SPDX-License-Identifier: Apache-2.0 */
/** @file motif/cuda/words.cuh  Filters that count bits with the popcount unit.
 *
 * From states' words to hits. A warp owns some rows, whose words lie in shared memory; each lane
 * holds C columns in registers and meets row after row: one load, broadcast, serves 32 C pairs.
 * A pair's *bound*, which its differing orbitals are no fewer than, is
 *
 *   plain   popcount(x ^ y) of the first W words: 2 W counts of 32 bits
 *   folded  popcount of the OR of the halves of x ^ y: one count instead of two (of one word: with
 *           two folded into one, too many pairs pass, and it is slower)
 *
 * Only where some pair of the 32 C is within the bound does the warp look closer (rare: hits are
 * 6e-6 of the pairs). Limit: 16 counts of 32 bits a clock and multiprocessor for plain; the
 * logical unit (64 operations a clock) comes near for folded. */
#ifndef TG_MOTIF_CUDA_WORDS_CUH
#define TG_MOTIF_CUDA_WORDS_CUH

#include "motif/cuda/walk.cuh"

enum { SWEEP_WARPS = 4, SWEEP_ROWS = 64 /* of a warp, at most */ };

typedef enum sweep_method { METHOD_ARRAY, METHOD_WORD64, METHOD_BITS } sweep_method;

/* Orbitals that only one of the states has, by lists, from entries i and j on; stops above most. */
static __device__ __forceinline__ int lists_differ(const tg_pairs& p, uint32_t row, uint32_t column,
                                                   int i, int j, int most) {
  const int n = (int)p.rows.particles;
  const uint16_t* a = p.rows.orbital + row;
  const uint16_t* b = p.columns.orbital + column;
  int differing = 0;
  int x = i < n ? a[i * p.rows.stride] : (int)TG_STATES_MOST_ORBITALS;
  int y = j < n ? b[j * p.columns.stride] : (int)TG_STATES_MOST_ORBITALS;
  while (i < n || j < n) {
    const bool take_x = x <= y, take_y = y <= x;
    differing += take_x != take_y;
    if (differing > most) break;
    if (take_x) x = ++i < n ? a[i * p.rows.stride] : (int)TG_STATES_MOST_ORBITALS;
    if (take_y) y = ++j < n ? b[j * p.columns.stride] : (int)TG_STATES_MOST_ORBITALS;
  }
  return differing;
}

/* Exactly. The lists rise, so entries that a word of 64 orbitals holds come first and need no
 * comparison. */
template <sweep_method METHOD>
static __device__ __forceinline__ bool pair_hits(const tg_pairs& p, uint32_t row, uint32_t column) {
  const int most = 2 * p.d;
  if (METHOD == METHOD_ARRAY) return lists_differ(p, row, column, 0, 0, most) <= most;
  if (METHOD == METHOD_WORD64) {
    const uint64_t x = p.rows.low[row], y = p.columns.low[column];
    const int differing = __popcll(x ^ y);
    if (differing > most) return false;
    return differing + lists_differ(p, row, column, __popcll(x), __popcll(y), most - differing) <=
           most;
  }
  int differing = 0;
  for (uint32_t w = 0; w < p.rows.words && differing <= most; w++)
    differing += __popcll(p.rows.bits[w * p.rows.stride + row] ^
                          p.columns.bits[w * p.columns.stride + column]);
  return differing <= most;
}

/* The bound of a pair. */
template <int W, bool FOLD>
static __device__ __forceinline__ int bound_of(const uint64_t* row, const uint64_t (&column)[W]) {
  uint32_t fold = 0;
  int sum = 0;
#pragma unroll
  for (int w = 0; w < W; w++) {
    const uint32_t low = (uint32_t)row[w] ^ (uint32_t)column[w];
    const uint32_t high = (uint32_t)(row[w] >> 32) ^ (uint32_t)(column[w] >> 32);
    if (FOLD) fold |= low | high;
    if (!FOLD) sum += __popc(low) + __popc(high);
  }
  return FOLD ? __popc(fold) : sum;
}

/* One of the pairs of a row with the columns of a lane is within the bound. */
template <int W, int C, bool FOLD>
static __device__ __forceinline__ bool within(const uint64_t* row, const uint64_t (&column)[C][W],
                                              int most) {
  if (FOLD) {
    int least = 64;
#pragma unroll
    for (int k = 0; k < C; k++) least = min(least, bound_of<W, FOLD>(row, column[k]));
    return least <= most;
  }
  int sign = 0; /* a pair within the bound makes it negative */
#pragma unroll
  for (int k = 0; k < C; k++) sign |= bound_of<W, FOLD>(row, column[k]) - most - 1;
  return sign < 0;
}

/* found: shared, of the warp's rows. */
struct pair_taker {
  pair_sink sink;

  __device__ __forceinline__ void start(int) const {}
  __device__ __forceinline__ void take(const tg_pairs&, uint32_t row, uint32_t column, bool hit,
                                       uint32_t votes, int lane, uint32_t* found) const {
    const int rank = __popc(votes & ((1u << lane) - 1));
    if (sink.kind == SINK_COUNT) {
      if (lane == 0) *found += (uint32_t)__popc(votes);
      return;
    }
    const uint64_t offset = sink.offsets[row];
    if (sink.kind == SINK_CURSOR) {
      if (hit) sink.hits[offset + atomicAdd(sink.counts + row, 1u)] = column;
      return;
    }
    const int leader = __ffs((int)votes) - 1;
    uint32_t base = 0;
    if (lane == leader) base = atomicAdd(sink.counts + row, (uint32_t)__popc(votes));
    base = __shfl_sync(~0u, base, leader);
    if (hit) sink.hits[offset + base + rank] = column;
  }
  __device__ __forceinline__ void row_done(uint32_t row, uint32_t found) const {
    if (sink.kind == SINK_COUNT && found > 0) atomicAdd(sink.counts + row, found);
  }
  __device__ __forceinline__ void finish(int) const {}
};

/* The pairs of a row with the 32 C columns from begin on that are within the bound, one by one. */
template <sweep_method METHOD, int W, int C, bool FOLD, class TAKER>
static __device__ __forceinline__ void look_closer(const tg_pairs& p, const TAKER& taker,
                                                   uint32_t row, const uint64_t* words,
                                                   const uint64_t (&columns)[C][W], uint32_t begin,
                                                   uint32_t end, int lane, uint32_t* found) {
  const int most = 2 * p.d;
  /* all words are counted: the bound is what differs */
  const bool exact = METHOD == METHOD_BITS && !FOLD && p.rows.words <= W;
  uint32_t near = 0; /* bit k: the lane's column k */
#pragma unroll
  for (int k = 0; k < C; k++)
    near |= (uint32_t)(METHOD == METHOD_ARRAY || bound_of<W, FOLD>(words, columns[k]) <= most) << k;
#pragma unroll 1
  for (uint32_t left = __reduce_or_sync(~0u, near); left; left &= left - 1) {
    const int k = __ffs((int)left) - 1;
    const uint32_t column = begin + 32 * k + lane;
    const bool hit = (near >> k & 1) && column < end && pair_counts(p, row, column) &&
                     (exact || pair_hits<METHOD>(p, row, column));
    const uint32_t votes = __ballot_sync(~0u, hit);
    if (votes) taker.take(p, row, column, hit, votes, lane, found);
  }
}

/* The first W words of a state, of index i. */
template <sweep_method METHOD, int W>
static __device__ __forceinline__ void load_words(const tg_states& s, size_t i, uint64_t* out) {
#pragma unroll
  for (int w = 0; w < W; w++)
    out[w] = METHOD == METHOD_BITS     ? __ldg((const unsigned long long*)s.bits + w * s.stride + i)
             : METHOD == METHOD_WORD64 ? __ldg((const unsigned long long*)s.low + i)
                                       : 0;
}

template <sweep_method METHOD, int W, int C, bool FOLD, class TAKER>
__global__ void __launch_bounds__(32 * SWEEP_WARPS)
    sweep_words(const __grid_constant__ tg_pairs p, const TAKER taker, int rows_of_warp) {
  __shared__ uint64_t words[SWEEP_WARPS][SWEEP_ROWS][W];
  __shared__ uint32_t found[SWEEP_WARPS][SWEEP_ROWS];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, most = 2 * p.d;
  taker.start(rows_of_warp);
  const bool alone = one_warp_holds_rows(p, rows_of_warp);
  const uint32_t rows_of_block = (uint32_t)rows_of_warp * SWEEP_WARPS;
  for (row_walk rows = row_walk_start(p, rows_of_block); rows.begin < rows.limit;
       rows.begin += rows_of_block) {
    const uint32_t first = rows.begin + (alone ? 0 : warp * rows_of_warp);
    if (first >= rows.limit) break;
    const int count = min((uint32_t)rows_of_warp, rows.limit - first);
    __syncwarp();
    for (int r = lane; r < count; r += 32) {
      load_words<METHOD, W>(p.rows, first + r, words[warp][r]);
      found[warp][r] = 0;
    }
    __syncwarp();
    column_walk walk =
        column_walk_start(p, rows, first, 32 * C, alone ? SWEEP_WARPS : 1, alone ? warp : 0);
    uint32_t begin, end;
    while (column_walk_next(p, &walk, &begin, &end)) {
      uint64_t column[C][W];
#pragma unroll
      for (int k = 0; k < C; k++)
        load_words<METHOD, W>(p.columns, min(begin + 32 * k + lane, end - 1), column[k]);
      for (int r = 0; r < count; r++) {
        const bool near =
            METHOD == METHOD_ARRAY || within<W, C, FOLD>(words[warp][r], column, most);
        if (__any_sync(~0u, near))
          look_closer<METHOD, W, C, FOLD>(p, taker, first + r, words[warp][r], column, begin, end,
                                          lane, &found[warp][r]);
      }
    }
    __syncwarp();
    for (int r = lane; r < count; r += 32) taker.row_done(first + r, found[warp][r]);
  }
  taker.finish(rows_of_warp);
}

#endif
