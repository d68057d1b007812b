/* SPDX-License-Identifier: Apache-2.0 */
/** @file motif/cuda/tensor.cuh  From a tensor core's counters to hits.
 *
 * With N particles in both states, a pair is a hit where popcount(x & y) >= N - d. Binary tensor
 * cores compute these counts for 8 or more columns at a time; each lane of a warp gets, of each
 * 8 columns j, four: of the rows lane / 4 and lane / 4 + 8, columns 8 j + 2 (lane % 4) and the
 * next. Whether any of many counts is a hit is decided at once (mma.cu, wgmma.cu); only then is
 * each looked at, into one mask a lane: bit 4 j + 2 h + b is row lane / 4 + 8 h, column 8 j + 2
 * (lane % 4) + b. */
#ifndef TG_MOTIF_CUDA_TENSOR_CUH
#define TG_MOTIF_CUDA_TENSOR_CUH

#include "motif/cuda/walk.cuh"

/* 32 bits of a state, of number q; 0 behind its words, and where there is no such state. */
static __device__ __forceinline__ uint32_t half_word(const tg_states& s, uint64_t i, bool there,
                                                     uint32_t q) {
  if (!there || q / 2 >= s.words) return 0;
  return __ldg((const uint32_t*)(s.bits + (size_t)(q / 2) * s.stride + i) + q % 2);
}

/* Masks of 8 columns each four bits: of 64 columns, or of 128. */
static __device__ __forceinline__ int ones_of(uint32_t mask) { return __popc(mask); }
static __device__ __forceinline__ int ones_of(uint64_t mask) { return __popcll(mask); }
static __device__ __forceinline__ int lowest_of(uint32_t mask) { return __ffs((int)mask) - 1; }
static __device__ __forceinline__ int lowest_of(uint64_t mask) {
  return __ffsll((long long)mask) - 1;
}

/* The bits of one row (bit 4 j + b) that are to be kept. */
template <class MASK>
static __device__ __forceinline__ MASK row_bits(const tg_pairs& p, MASK mask, int half,
                                                uint32_t row, uint32_t row_end, uint32_t column,
                                                uint32_t end, bool ragged) {
  MASK bits = mask >> 2 * half & (MASK)0x3333333333333333u;
  if (row >= row_end) return 0;
  if (!ragged) return bits;
  for (MASK left = bits; left; left &= left - 1) {
    const int i = lowest_of(left);
    const uint32_t c = column + 8 * (i / 4) + i % 4;
    if (c >= end || !pair_counts(p, row, c)) bits &= ~((MASK)1 << i);
  }
  return bits;
}

/* Where a lane's hits of a row go: behind those of the lanes of the row before it. A row's hits get
 * neighbouring slots, by one atomic. */
template <class MASK>
static __device__ __forceinline__ void append_masks(const pair_sink& sink, const MASK (&bits)[2],
                                                    uint32_t first, uint32_t column) {
  const int lane = threadIdx.x % 32, t = lane % 4;
  uint32_t before[2], base[2] = {0, 0};
#pragma unroll
  for (int half = 0; half < 2; half++) { /* both atomics are on their way together */
    const uint32_t own = (uint32_t)ones_of(bits[half]);
    uint32_t sum = own;
    const uint32_t one = __shfl_up_sync(~0u, sum, 1);
    if (t >= 1) sum += one;
    const uint32_t two = __shfl_up_sync(~0u, sum, 2);
    if (t >= 2) sum += two;
    before[half] = sum - own;
    if (t == 3 && sum > 0) base[half] = atomicAdd(sink.counts + first + lane / 4 + 8 * half, sum);
  }
#pragma unroll
  for (int half = 0; half < 2; half++) {
    base[half] = __shfl_sync(~0u, base[half], lane | 3);
    if (bits[half] == 0) continue;
    uint32_t* to =
        sink.hits + sink.offsets[first + lane / 4 + 8 * half] + base[half] + before[half];
    for (MASK left = bits[half]; left; left &= left - 1) {
      const int i = lowest_of(left);
      *to++ = column + 8 * (i / 4) + i % 4;
    }
  }
}

/* A row's hits get the next slots in their order; found: how many it has. */
template <class MASK>
static __device__ __forceinline__ void rank_masks(const pair_sink& sink, const MASK (&bits)[2],
                                                  uint32_t first, uint32_t column,
                                                  uint32_t* found) {
  const int lane = threadIdx.x % 32, t = lane % 4;
#pragma unroll
  for (int half = 0; half < 2; half++) {
    const int place = lane / 4 + 8 * half;
    MASK others[4];
    uint32_t sum = 0;
#pragma unroll
    for (int k = 0; k < 4; k++) {
      others[k] = __shfl_sync(~0u, bits[half], lane - t + k);
      sum += (uint32_t)ones_of(others[k]);
    }
    const uint32_t base = found[place];
    __syncwarp();
    if (t == 0) found[place] = base + sum;
    if (bits[half] == 0) continue;
    const uint64_t offset = sink.offsets[first + place] + base;
    for (MASK left = bits[half]; left; left &= left - 1) {
      const int i = lowest_of(left), j = i / 4;
      const MASK below = ((MASK)1 << 4 * j) - 1;
      uint32_t rank = (uint32_t)(i % 4 == 1 && (bits[half] >> (i - 1) & 1));
#pragma unroll
      for (int k = 0; k < 4; k++) {
        rank += (uint32_t)ones_of(others[k] & below);
        if (k < t) rank += (uint32_t)__popc((uint32_t)(others[k] >> 4 * j) & 3);
      }
      sink.hits[offset + rank] = column + 8 * j + i % 4;
    }
  }
}

/* The warp's hits among width columns, by their masks; found: shared, of its 16 rows, which are of
 * no other warp. */
template <class MASK>
static __device__ __noinline__ void take_masks(const tg_pairs& p, const pair_sink& sink, MASK mask,
                                               uint32_t first, uint32_t row_end, uint32_t begin,
                                               uint32_t end, int width, uint32_t* found) {
  const int lane = threadIdx.x % 32, t = lane % 4;
  const uint32_t column = begin + 2 * t;
  const bool ragged = p.once || begin + width > end;
  MASK bits[2];
#pragma unroll
  for (int half = 0; half < 2; half++)
    bits[half] = row_bits(p, mask, half, first + lane / 4 + 8 * half, row_end, column, end, ragged);
  if (sink.kind == SINK_AGGREGATED) append_masks(sink, bits, first, column);
  if (sink.kind == SINK_RANKED) rank_masks(sink, bits, first, column, found);
  if (sink.kind == SINK_COUNT) {
#pragma unroll
    for (int half = 0; half < 2; half++) {
      uint32_t sum = (uint32_t)ones_of(bits[half]);
      sum += __shfl_xor_sync(~0u, sum, 1);
      sum += __shfl_xor_sync(~0u, sum, 2);
      if (t == 0) found[lane / 4 + 8 * half] += sum;
    }
  }
  __syncwarp();
}

#endif
