/* SPDX-License-Identifier: Apache-2.0 */
/* From a row's hits in any order to hits that rise: with a fill by many warps before it, the way to
 * a result that is the same each time.
 *
 * A block takes some rows. Those of 2 to 32 hits are sorted by a warp each, in registers. For a
 * longer one the block sets a bit for each hit's column, and counts the bits before each four
 * words: that and the bits of four words are a hit's rank. Of more columns than there is shared
 * memory for, it runs a sorting network, in shared memory where the hits fit there. Every hit is
 * moved twice: at one hit in a hundred pairs that is a tenth of the fill's time, and at 6e-6 a
 * launch's. */
#include "motif/cuda/pairs.cuh"

enum {
  SORT_THREADS = 256,
  SORT_WARPS = SORT_THREADS / 32,
  SORT_ROWS = 256,    /* of a block, at most */
  SORT_LIST = 2048,   /* hits that are gathered in shared memory before they are written */
  SORT_WORDS = 16384, /* of bits, at most: 524,288 columns */
  SORT_STATIC = 12288 /* bytes: no less than what the kernel's own arrays take */
};

/* Bitonic sort of n <= 32 numbers by a warp. */
static __device__ __forceinline__ void sort_by_warp(uint32_t* hits, uint32_t n, int lane) {
  uint32_t v = lane < n ? hits[lane] : ~0u;
  for (int k = 2; k / 2 < n; k *= 2)
    for (int j = k / 2; j > 0; j /= 2) {
      const uint32_t other = __shfl_xor_sync(~0u, v, j);
      const bool rising = (lane & k) == 0, lower = (lane & j) == 0;
      v = rising == lower ? min(v, other) : max(v, other);
    }
  if (lane < n) hits[lane] = v;
}

/* A sorting network for any n: the first step of a merge compares mirrored places, so that all
 * comparisons leave the smaller number in front, and numbers that are not there could stay behind.
 */
static __device__ void sort_by_block(uint32_t* v, uint64_t n) {
  for (uint64_t k = 2; k / 2 < n; k *= 2)
    for (uint64_t j = k / 2; j > 0; j /= 2) {
      for (uint64_t i = threadIdx.x;; i += SORT_THREADS) {
        const uint64_t lower = (i & ~(j - 1)) * 2 + (i & (j - 1));
        const uint64_t upper = j == k / 2 ? lower ^ (k - 1) : lower + j;
        if (lower >= n) break;
        if (upper >= n || v[lower] <= v[upper]) continue;
        const uint32_t larger = v[lower];
        v[lower] = v[upper];
        v[upper] = larger;
      }
      __syncthreads();
    }
}

/* before[g] becomes the number of bits in front of group g (four words). */
static __device__ __forceinline__ void count_before(const uint4* bits, uint32_t groups,
                                                    uint32_t* before) {
  __shared__ uint32_t of_warp[SORT_WARPS];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const uint32_t each = (groups + SORT_THREADS - 1) / SORT_THREADS;
  const uint32_t begin = min(groups, threadIdx.x * each), end = min(groups, begin + each);
  uint32_t own = 0;
  for (uint32_t g = begin; g < end; g++) {
    const uint4 four = bits[g];
    before[g] = own;
    own += (uint32_t)(__popc(four.x) + __popc(four.y) + __popc(four.z) + __popc(four.w));
  }
  uint32_t sum = own;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const uint32_t more = __shfl_up_sync(~0u, sum, step);
    if (lane >= step) sum += more;
  }
  if (lane == 31) of_warp[warp] = sum;
  __syncthreads();
  sum -= own;
  for (int w = 0; w < warp; w++) sum += of_warp[w];
  for (uint32_t g = begin; g < end; g++) before[g] += sum;
  __syncthreads();
}

static __device__ __forceinline__ uint32_t rank_of(uint32_t hit, const uint4* bits,
                                                   const uint32_t* before) {
  const uint4 four = bits[hit / 128];
  const uint32_t w = hit / 32 % 4, below = (1u << hit % 32) - 1;
  return before[hit / 128] + __popc(w > 0 ? four.x : four.x & below) +
         (w < 1   ? 0
          : w > 1 ? __popc(four.y)
                  : __popc(four.y & below)) +
         (w < 2   ? 0
          : w > 2 ? __popc(four.z)
                  : __popc(four.z & below)) +
         (w < 3 ? 0 : __popc(four.w & below));
}

/* bits: one for each column, all 0, as they are left. All hits are read before one is written. */
static __device__ void sort_by_bits(uint32_t* hits, uint64_t n, uint32_t* bits, uint32_t words) {
  __shared__ uint32_t list[SORT_LIST];
  const uint4* fours = (const uint4*)bits;
  uint32_t* before = bits + words;
  for (uint64_t i = threadIdx.x; i < n; i += SORT_THREADS)
    atomicOr(bits + hits[i] / 32, 1u << hits[i] % 32);
  __syncthreads();
  count_before(fours, words / 4, before);
  if (n <= SORT_LIST) {
    for (uint32_t i = threadIdx.x; i < n; i += SORT_THREADS) {
      const uint32_t hit = hits[i];
      list[rank_of(hit, fours, before)] = hit;
    }
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < n; i += SORT_THREADS) hits[i] = list[i];
    for (uint32_t g = threadIdx.x; g < words / 4; g += SORT_THREADS)
      ((uint4*)bits)[g] = make_uint4(0, 0, 0, 0);
  } else {
    for (uint32_t g = threadIdx.x; g < words / 4; g += SORT_THREADS) {
      uint32_t* to = hits + before[g];
      for (uint32_t w = 4 * g; w < 4 * g + 4; w++) {
        for (uint32_t left = bits[w]; left; left &= left - 1)
          *to++ = 32 * w + (uint32_t)__ffs((int)left) - 1;
        bits[w] = 0;
      }
    }
  }
  __syncthreads();
}

/* words: of shared memory, a multiple of 4; by_bits: they have one for each column. */
__global__ void __launch_bounds__(SORT_THREADS)
    sort_hits(uint64_t rows, uint32_t rows_of_block, const uint64_t* offsets, uint32_t* hits,
              uint32_t words, bool by_bits) {
  extern __shared__ __align__(16) uint32_t room[];
  __shared__ uint32_t shorts[SORT_ROWS], longs[SORT_ROWS];
  __shared__ uint32_t short_count, long_count;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const uint64_t first = (uint64_t)blockIdx.x * rows_of_block, row = first + threadIdx.x;
  if (threadIdx.x == 0) short_count = long_count = 0;
  __syncthreads();
  if (threadIdx.x < rows_of_block && row < rows) {
    const uint64_t n = offsets[row + 1] - offsets[row];
    if (n > 32)
      longs[atomicAdd(&long_count, 1u)] = threadIdx.x;
    else if (n > 1)
      shorts[atomicAdd(&short_count, 1u)] = threadIdx.x;
  }
  __syncthreads();
  for (uint32_t s = warp; s < short_count; s += SORT_WARPS) {
    const uint64_t r = first + shorts[s];
    sort_by_warp(hits + offsets[r], (uint32_t)(offsets[r + 1] - offsets[r]), lane);
  }
  if (long_count == 0) return;
  for (uint32_t w = threadIdx.x; by_bits && w < words; w += SORT_THREADS) room[w] = 0;
  __syncthreads();
  for (uint32_t l = 0; l < long_count; l++) {
    const uint64_t r = first + longs[l], n = offsets[r + 1] - offsets[r];
    uint32_t* of_row = hits + offsets[r];
    if (by_bits) {
      sort_by_bits(of_row, n, room, words);
      continue;
    }
    if (n > words) {
      sort_by_block(of_row, n);
      continue;
    }
    for (uint32_t i = threadIdx.x; i < n; i += SORT_THREADS) room[i] = of_row[i];
    __syncthreads();
    sort_by_block(room, n);
    for (uint32_t i = threadIdx.x; i < n; i += SORT_THREADS) of_row[i] = room[i];
    __syncthreads();
  }
}

tg_status tg_cuda_sort_hits(const tg_pairs* pairs, const uint64_t* offsets, uint32_t* hits) {
  const size_t rows = pairs->rows.count;
  if (rows == 0 || pairs->columns.count < 2) return TG_OK;
  const size_t bits = tg_cuda_blocks(pairs->columns.count, 128) * 4;
  const size_t most = (size_t)(tg_cuda_shared_limit() - SORT_STATIC) / 20 * 4; /* 5 for 4 */
  const bool by_bits = bits <= SORT_WORDS && bits <= most;
  const uint32_t words = (uint32_t)(by_bits ? bits : most < SORT_WORDS / 2 ? most : SORT_WORDS / 2);
  /* blocks for twice what the GPU holds, where there are rows for that many */
  size_t of_block = rows / ((size_t)tg_cuda_multiprocessors() * 16);
  of_block = of_block < 1 ? 1 : of_block > SORT_ROWS ? (size_t)SORT_ROWS : of_block;
  const size_t bytes = words / 4 * 5 * sizeof(uint32_t);
  if (bytes + SORT_STATIC > 48 * 1024)
    TG_TRY(tg_cuda_status(
        cudaFuncSetAttribute(sort_hits, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes), 0,
        "asking for shared memory"));
  sort_hits<<<(unsigned)tg_cuda_blocks(rows, of_block), SORT_THREADS, bytes>>>(
      rows, (uint32_t)of_block, offsets, hits, words, by_bits);
  return tg_cuda_queued("sorting hits");
}
