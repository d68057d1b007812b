/* SPDX-License-Identifier: Apache-2.0 */
/** @file motif/cuda/private.cuh  Copies of all sums that belong to a warp, in shared memory. */
#ifndef TG_MOTIF_CUDA_PRIVATE_CUH
#define TG_MOTIF_CUDA_PRIVATE_CUH

#include "motif/cuda/internal.cuh"
#include "motif/cuda/join.cuh"

/* Warps of a multiprocessor, for which there are 80 registers a lane, and of a block, at most. */
enum { MOST_WARPS = 24, BLOCK_WARPS = 16, MOST_BLOCKS = 2 };

/* Four additions by one lane, in order: what was just added to the same bin is taken from the
 * register, so that all four sums are read at once. */
template <int COPIES>
static __device__ __forceinline__ void add_four(double* mine, const uint32_t* bin,
                                                const double* value) {
  double *p0 = mine + bin[0] * COPIES, *p1 = mine + bin[1] * COPIES;
  double *p2 = mine + bin[2] * COPIES, *p3 = mine + bin[3] * COPIES;
  double s0 = *p0, s1 = *p1, s2 = *p2, s3 = *p3;
  s0 += value[0];
  if (p1 == p0) s1 = s0;
  s1 += value[1];
  if (p2 == p0) s2 = s0;
  if (p2 == p1) s2 = s1;
  s2 += value[2];
  if (p3 == p0) s3 = s0;
  if (p3 == p1) s3 = s1;
  if (p3 == p2) s3 = s2;
  s3 += value[3];
  *p0 = s0;
  *p1 = s1;
  *p2 = s2;
  *p3 = s3;
}

/* So many additions by each lane; lanes that share a copy take turns. */
template <int COPIES, int COUNT>
static __device__ __forceinline__ void add_copies_in_turns(double* mine,
                                                           const uint32_t (&bin)[COUNT],
                                                           const double (&value)[COUNT], int lane) {
#pragma unroll 1
  for (int turn = 0; turn < 32 / COPIES; turn++) {
    if (lane / COPIES == turn) {
#pragma unroll
      for (int k = 0; k < COUNT; k += 4) add_four<COPIES>(mine, bin + k, value + k);
    }
    if (COPIES < 32) __syncwarp();
  }
}

/* Sums of a block's warps and copies, [warps, m, COPIES], into [m]. */
template <int COPIES>
static __device__ __forceinline__ void join_block(const double* sums, uint32_t m, double* out) {
  const int warp = threadIdx.x / 32, warps = blockDim.x / 32, lane = threadIdx.x % 32;
  for (uint32_t b = warp; b < m; b += warps) {
    double sum = 0;
    for (int k = lane; k < warps * COPIES; k += 32)
      sum += sums[((size_t)(k / COPIES) * m + b) * COPIES + k % COPIES];
    sum = warp_sum(sum);
    if (lane == 0) out[b] = sum;
  }
}

/* A grid of which every block runs at once. */
typedef struct plan {
  unsigned blocks, warps; /* warps of a block */
  size_t shared;          /* bytes of a block */
} plan;

/* As many warps as have room for so many bytes each in shared memory. warps 0: it has not enough */
static inline plan plan_of(size_t bytes_of_warp) {
  enum { RESERVED = 1024 /* bytes of each block that the driver takes */ };
  plan p = {0, 0, 0};
  const size_t whole = tg_cuda_shared_bytes_of_multiprocessor(), block = tg_cuda_shared_bytes();
  for (unsigned blocks = 1; blocks <= MOST_BLOCKS; blocks++) {
    size_t room = whole / blocks;
    room = room > RESERVED ? room - RESERVED : 0;
    if (room > block) room = block;
    size_t warps = room / bytes_of_warp;
    if (warps > BLOCK_WARPS) warps = BLOCK_WARPS;
    if (warps > MOST_WARPS / blocks) warps = MOST_WARPS / blocks;
    if (blocks * warps <= p.blocks * p.warps) continue;
    p = {blocks, (unsigned)warps, warps * bytes_of_warp};
  }
  p.blocks *= (unsigned)tg_cuda_multiprocessors();
  return p;
}

/* The most copies, down to fewest, that leave room for so many warps; 0: not even so few do. */
enum { FEWEST_COPIES = 4, ENOUGH_WARPS = 12 };

static inline int copies_of(uint32_t m, int most, int fewest, unsigned warps) {
  for (int copies = most; copies >= fewest; copies /= 2) {
    const plan p = plan_of((size_t)m * copies * sizeof(double));
    if (p.blocks * p.warps >= warps * (unsigned)tg_cuda_multiprocessors()) return copies;
  }
  return 0;
}
static inline int copies_of_private(uint32_t m) {
  return copies_of(m, 32, FEWEST_COPIES, ENOUGH_WARPS);
}

/* Lets a kernel have as much shared memory as there is for a block. */
static inline tg_status allow_shared(const void* kernel) {
  return tg_cuda_status(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                             (int)tg_cuda_shared_bytes()),
                        0, "asking for shared memory");
}

#endif
