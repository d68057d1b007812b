/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/cuda/fly_tensor.cuh  The small dense product that tensor units do in double precision.
 */
#ifndef TG_CI_CUDA_FLY_TENSOR_CUH
#define TG_CI_CUDA_FLY_TENSOR_CUH

#include "ci/cuda/fly.cuh"

/** c[m, n] += a[m, k] b[k, n], 16 x 8 x 4, of a warp: with g = lane / 4 and t = lane % 4 a lane
 * holds a of rows g and g + 8 and column t, b of row t and column g, c of rows g (c[0], c[1]) and g
 * + 8 and columns 2t and 2t + 1. */
static __device__ __forceinline__ void tg_fly_multiply_add(double c[4], double a0, double a1,
                                                           double b) {
#if __CUDA_ARCH__ >= 900
  asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5}, {%6}, "
      "{%0,%1,%2,%3};"
      : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
      : "d"(a0), "d"(a1), "d"(b));
#elif __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
      : "+d"(c[0]), "+d"(c[1])
      : "d"(a0), "d"(b));
  asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
      : "+d"(c[2]), "+d"(c[3])
      : "d"(a1), "d"(b));
#else
  const int g = (int)threadIdx.x % 32 / 4, t = (int)threadIdx.x % 4;
  for (int k = 0; k < 4; k++) {
    const double low = __shfl_sync(~0u, a0, 4 * g + k), high = __shfl_sync(~0u, a1, 4 * g + k);
    for (int n = 0; n < 2; n++) {
      const double w = __shfl_sync(~0u, b, 4 * (2 * t + n) + k);
      c[n] += low * w;
      c[2 + n] += high * w;
    }
  }
#endif
}

#endif
