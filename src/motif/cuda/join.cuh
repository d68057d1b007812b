/* SPDX-License-Identifier: Apache-2.0 */
/** @file motif/cuda/join.cuh  Sums of chunks into sums, in a fixed order: the same bits each time.
 */
#ifndef TG_MOTIF_CUDA_JOIN_CUH
#define TG_MOTIF_CUDA_JOIN_CUH

#include <stddef.h>
#include <stdint.h>

enum { JOIN_THREADS = 128 };

static __device__ __forceinline__ double warp_sum(double sum) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
  return sum;
}

/** sums[b] = sum over c of partial[c * m + b]; block b, JOIN_THREADS threads. */
static __global__ void join_partials(size_t chunks, uint32_t m, const double* partial,
                                     double* sums) {
  __shared__ double of_warp[JOIN_THREADS / 32];
  double sum = 0;
  for (size_t c = threadIdx.x; c < chunks; c += JOIN_THREADS) sum += partial[c * m + blockIdx.x];
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x > 0) return;
  for (int w = 1; w < JOIN_THREADS / 32; w++) sum += of_warp[w];
  sums[blockIdx.x] = sum;
}

#endif
