/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels on tall, narrow matrices (eigen/vectors.h): all of them read columns once and are bound
 * by that. Sums have a fixed order: rows of a thread, lanes of a warp, warps of a block, blocks. */
#ifndef TG_EIGEN_CUDA_KERNELS_CUH
#define TG_EIGEN_CUDA_KERNELS_CUH

#include <cfloat>
#include <cstddef>
#include <cstdint>

#include "base/threefry.h"
#include "eigen/vectors.h"

namespace tg_rows_kernels {

constexpr int THREADS = 256, WARPS = THREADS / 32, STEP = TG_ROWS_STEP;

/* M values of each lane of a warp become their sums over lanes: lane L ends with number L M / 32.
 * At each exchange a lane keeps one half of what it has, and gets its partner's share of it. */
template <int M, int BIT = 16>
__device__ __forceinline__ double sum_over_lanes(double* a) {
  if constexpr (BIT == 0) {
    return a[0];
  } else if constexpr (M == 1) {
    a[0] += __shfl_xor_sync(0xffffffffu, a[0], BIT);
    return sum_over_lanes<1, BIT / 2>(a);
  } else {
    const bool upper = threadIdx.x & BIT;
#pragma unroll
    for (int i = 0; i < M / 2; i++) {
      const double keep = upper ? a[i + M / 2] : a[i], give = upper ? a[i] : a[i + M / 2];
      a[i] = keep + __shfl_xor_sync(0xffffffffu, give, BIT);
    }
    return sum_over_lanes<M / 2, BIT / 2>(a);
  }
}

/* V, W -> sums over the rows of a segment: partial[(c p + k) segments + segment].
 * A block: K columns of V (blockIdx.x; neighbours share W in L2), C of W, one segment. */
template <int K, int C>
__global__ void __launch_bounds__(THREADS, 2)
    inner(const double* __restrict__ v, const double* __restrict__ w, size_t n, size_t ld,
          size_t segment, int p, int c_used, double* __restrict__ partial) {
  __shared__ double shared[WARPS][K * C];
  const int first = blockIdx.x * K;
  const size_t begin = blockIdx.y * segment, end = begin + segment < n ? begin + segment : n;
  const double *from[K], *of[C];
#pragma unroll
  for (int k = 0; k < K; k++) from[k] = v + (first + k < p ? first + k : p - 1) * ld;
#pragma unroll
  for (int c = 0; c < C; c++) of[c] = w + (c < c_used ? c : 0) * ld;
  double sum[K * C] = {};
  for (size_t row = begin + 2 * threadIdx.x; row < end; row += 2 * THREADS) {
    double2 x[K], y[C];
#pragma unroll
    for (int k = 0; k < K; k++) x[k] = *(const double2*)(from[k] + row);
#pragma unroll
    for (int c = 0; c < C; c++) y[c] = *(const double2*)(of[c] + row);
#pragma unroll
    for (int k = 0; k < K; k++)
#pragma unroll
      for (int c = 0; c < C; c++)
        sum[k * C + c] = fma(x[k].y, y[c].y, fma(x[k].x, y[c].x, sum[k * C + c]));
  }
  const double mine = sum_over_lanes<K * C>(sum);
  constexpr int EACH = 32 / (K * C);
  const int lane = threadIdx.x % 32;
  if (lane % EACH == 0) shared[threadIdx.x / 32][lane / EACH] = mine;
  __syncthreads();
  const int i = threadIdx.x, k = i / C, c = i % C;
  if (i >= K * C || first + k >= p || c >= c_used) return;
  double all = 0;
  for (int warp = 0; warp < WARPS; warp++) all += shared[warp][i];
  partial[((size_t)c * p + first + k) * gridDim.y + blockIdx.y] = all;
}

/* partial -> sums; a block for each sum. */
__global__ void __launch_bounds__(128)
    sum_segments(const double* __restrict__ partial, int segments, double* __restrict__ sums) {
  __shared__ double shared[4];
  const double* from = partial + (size_t)blockIdx.x * segments;
  double mine[1] = {0};
  for (int s = threadIdx.x; s < segments; s += 128) mine[0] += from[s];
  const double sum = sum_over_lanes<1>(mine);
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) sums[blockIdx.x] = (shared[0] + shared[1]) + (shared[2] + shared[3]);
}

/* What `factor` found, in device memory. */
struct factored {
  double norm[STEP], size[STEP];
  double r[STEP * STEP];       /* column j at j c */
  double inverse[STEP * STEP]; /* of r, the same way; the unit matrix where done is 0 */
  double done;
};

/* Coefficients of both passes of a step -> lengths, and the triangle that makes y orthonormal:
 * y' = y - V h has y'^T y' = y^T y - h^T h = r^T r (Cholesky). first: [window + c, c], second:
 * [at + c, c], the last c rows of each being y^T y. One block. */
__global__ void __launch_bounds__(THREADS)
    factor(const double* __restrict__ first, int window, const double* __restrict__ second, int at,
           int c, double scale, factored* out) {
  __shared__ double cross[STEP * STEP];
  const int p1 = window + c, p2 = at + c, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int pair = warp; pair < c * c; pair += WARPS) {
    const double *a = second + (pair / c) * p2, *b = second + (pair % c) * p2;
    double sum[1] = {0};
    for (int i = lane; i < at; i += 32) sum[0] = fma(a[i], b[i], sum[0]);
    const double all = sum_over_lanes<1>(sum);
    if (lane == 0) cross[pair] = all;
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  factored f = {};
  bool done = true;
  for (int j = 0; j < c; j++) {
    f.norm[j] = sqrt(first[j * p1 + window + j]);
    f.size[j] = sqrt(second[j * p2 + at + j]);
    scale = fmax(scale, f.norm[j]);
  }
  for (int j = 0; j < c; j++) {
    for (int i = 0; i <= j; i++) {
      /* the same number on both sides of the diagonal: the upper one */
      double rest = second[j * p2 + at + i] - cross[i * c + j];
      for (int k = 0; k < i; k++) rest -= f.r[i * c + k] * f.r[j * c + k];
      f.r[j * c + i] = i < j ? rest / f.r[i * c + i] : sqrt(rest);
    }
    const double length = f.r[j * c + j];
    /* not: NaN is not done, either */
    done = done && length >= 0.5 * f.size[j] && length > 8 * DBL_EPSILON * fmax(f.size[j], scale);
  }
  for (int j = 0; j < c; j++)
    for (int i = 0; i < c; i++) f.inverse[j * c + i] = i == j;
  for (int j = 0; done && j < c; j++)
    for (int i = j; i >= 0; i--) { /* back substitution: r inverse = 1 */
      double rest = i == j;
      for (int k = i + 1; k <= j; k++) rest -= f.r[k * c + i] * f.inverse[j * c + k];
      f.inverse[j * c + i] = rest / f.r[i * c + i];
    }
  f.done = done;
  *out = f;
}

/* A warp's 64 rows from `begin` on, two of each lane, at all targets that are to have them, 16
 * bytes at a time: where a target's rows begin between two such places, from the second number of a
 * lane and the first of the next one. */
template <int C>
__device__ __forceinline__ void store_out(const tg_eigen_targets& t, size_t begin, size_t used,
                                          const double2 (&made)[C]) {
  const int lane = threadIdx.x % 32;
  const size_t row = begin + 2 * lane;
  double next[C];
#pragma unroll
  for (int c = 0; c < C; c++) next[c] = __shfl_down_sync(0xffffffffu, made[c].x, 1);
  for (uint32_t left = t.masks[begin / t.chunk]; left; left &= left - 1) {
    double* to = t.to[__ffs(left) - 1] + row;
#pragma unroll
    for (int c = 0; c < C; c++, to += t.ld)
      if (((uintptr_t)to & 15) == 0) {
        if (row + 1 < used)
          *(double2*)to = made[c];
        else if (row < used)
          to[0] = made[c].x;
      } else {
        if (lane == 0 && row < used) to[0] = made[c].x;
        if (lane < 31 && row + 2 < used)
          *(double2*)(to + 1) = make_double2(made[c].y, next[c]);
        else if (row + 1 < used)
          to[1] = made[c].y;
      }
  }
}

/* W -= V h, h: [p, C] of a leading dimension ldh, in device memory; f: then W times its inverse.
 * OUT: warps stay whole to the end, and what was made of rows up to `used` goes to targets, too. */
template <int C, bool OUT>
__device__ __forceinline__ void subtract_rows(double* __restrict__ w, const double* __restrict__ v,
                                              size_t n, size_t ld, int p,
                                              const double* __restrict__ h, int ldh,
                                              const factored* f, const tg_eigen_targets* t,
                                              size_t used) {
  extern __shared__ double part[]; /* [p][C] */
  __shared__ double inverse[STEP * STEP];
  for (int i = threadIdx.x; i < p * C; i += THREADS) part[i] = h[(size_t)(i % C) * ldh + i / C];
  if (f && threadIdx.x < C * C) inverse[threadIdx.x] = f->inverse[threadIdx.x];
  __syncthreads();
  const size_t apart = OUT ? 2 * (threadIdx.x % 32) : 0;
  for (size_t begin = 2 * ((size_t)blockIdx.x * THREADS + threadIdx.x) - apart; begin < n;
       begin += 2 * (size_t)gridDim.x * THREADS) {
    const bool own = !OUT || begin + apart < n;
    const size_t row = own ? begin + apart : n - 2;
    double2 sum[C];
#pragma unroll
    for (int c = 0; c < C; c++) sum[c] = *(const double2*)(w + c * ld + row);
    const double* from = v + row;
    int i = 0;
    for (; i + 8 <= p; i += 8) {
      double2 x[8];
#pragma unroll
      for (int k = 0; k < 8; k++) x[k] = *(const double2*)(from + (i + k) * ld);
#pragma unroll
      for (int k = 0; k < 8; k++)
#pragma unroll
        for (int c = 0; c < C; c++) {
          const double g = part[(i + k) * C + c];
          sum[c].x = fma(-x[k].x, g, sum[c].x);
          sum[c].y = fma(-x[k].y, g, sum[c].y);
        }
    }
    for (; i < p; i++) {
      const double2 x = *(const double2*)(from + i * ld);
#pragma unroll
      for (int c = 0; c < C; c++) {
        sum[c].x = fma(-x.x, part[i * C + c], sum[c].x);
        sum[c].y = fma(-x.y, part[i * C + c], sum[c].y);
      }
    }
#pragma unroll
    for (int j = C - 1; j >= 0; j--) { /* the last first: it needs those before as they were */
      double2 made = sum[j];
      if (f) {
        made = make_double2(0, 0);
#pragma unroll
        for (int k = 0; k <= j; k++) {
          made.x = fma(sum[k].x, inverse[j * C + k], made.x);
          made.y = fma(sum[k].y, inverse[j * C + k], made.y);
        }
      }
      sum[j] = made;
      if (own) *(double2*)(w + j * ld + row) = made;
    }
    if (OUT) store_out(*t, begin, used, sum);
  }
}

template <int C>
__global__ void __launch_bounds__(THREADS)
    subtract(double* __restrict__ w, const double* __restrict__ v, size_t n, size_t ld, int p,
             const double* __restrict__ h, int ldh, const factored* f) {
  subtract_rows<C, false>(w, v, n, ld, p, h, ldh, f, nullptr, 0);
}

template <int C>
__global__ void __launch_bounds__(THREADS)
    subtract_out(double* __restrict__ w, const double* __restrict__ v, size_t n, size_t ld, int p,
                 const double* __restrict__ h, int ldh, const factored* f,
                 const __grid_constant__ tg_eigen_targets t, size_t used) {
  subtract_rows<C, true>(w, v, n, ld, p, h, ldh, f, &t, used);
}

/* out = V s for tiles of `tall` rows; s: [p, q] row by row, `wide` apart, a multiple of 4. A tile
 * is read before any of it is written, so out may be V. */
__global__ void __launch_bounds__(THREADS)
    times(const double* v, size_t n, size_t ld, int p, const double* __restrict__ s, int wide,
          int q, double* out, int tall) {
  extern __shared__ double tile[]; /* [p][tall] */
  const int r = threadIdx.x % tall, group = threadIdx.x / tall, groups = THREADS / tall;
  const size_t step = (size_t)gridDim.x * tall;
  for (size_t begin = (size_t)blockIdx.x * tall; begin < n; begin += step) {
    for (int k = group; k < p; k += groups)
      if (begin + r < n) tile[k * tall + r] = v[k * ld + begin + r];
    __syncthreads();
    for (int j = 4 * group; j < q && begin + r < n; j += 4 * groups) {
      double sum[4] = {};
      for (int k = 0; k < p; k++) {
        const double x = tile[k * tall + r];
        const double2 a = *(const double2*)(s + (size_t)k * wide + j);
        const double2 b = *(const double2*)(s + (size_t)k * wide + j + 2);
        sum[0] = fma(x, a.x, sum[0]);
        sum[1] = fma(x, a.y, sum[1]);
        sum[2] = fma(x, b.x, sum[2]);
        sum[3] = fma(x, b.y, sum[3]);
      }
#pragma unroll
      for (int i = 0; i < 4; i++)
        if (j + i < q) out[(j + i) * ld + begin + r] = sum[i];
    }
    __syncthreads();
  }
}

__global__ void __launch_bounds__(THREADS) scale(double* w, size_t n, double factor) {
  for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < n;
       i += (size_t)gridDim.x * THREADS)
    w[i] *= factor;
}

/* Two normal numbers (Box and Muller 1958) for each pair of rows of all PEs; a thread a pair. */
__global__ void __launch_bounds__(THREADS)
    random(double* w, size_t used, size_t first, uint64_t seed, uint64_t number) {
  const double unit = 0x1p-53, turn = 6.283185307179586;
  const uint64_t key[2] = {seed, 5 /* TG_RNG_START_VECTOR */};
  const size_t pairs = (first + used + 1) / 2 - first / 2;
  for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < pairs;
       i += (size_t)gridDim.x * THREADS) {
    const uint64_t counter[2] = {first / 2 + i, number};
    uint64_t bits[2];
    tg_threefry_block(key, counter, bits);
    const double radius = sqrt(-2.0 * log((double)((bits[0] >> 11) + 1) * unit));
    const double angle = turn * ((double)(bits[1] >> 11) * unit);
    const size_t row = 2 * counter[0];
    if (row >= first) w[row - first] = radius * cos(angle);
    if (row + 1 >= first && row + 1 < first + used) w[row + 1 - first] = radius * sin(angle);
  }
}

/* The first row that is no number, or what *found held. */
__global__ void __launch_bounds__(THREADS)
    find_nan(const double* w, size_t used, unsigned long long* found) {
  for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < used;
       i += (size_t)gridDim.x * THREADS)
    if (!isfinite(w[i])) atomicMin(found, (unsigned long long)i);
}

/* Least and largest number of each block's rows: out[2 block], out[2 block + 1]. */
__global__ void __launch_bounds__(THREADS) bounds(const double* d, size_t used, double* out) {
  __shared__ double shared[2][WARPS];
  double low = INFINITY, high = -INFINITY;
  for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < used;
       i += (size_t)gridDim.x * THREADS) {
    low = fmin(low, d[i]);
    high = fmax(high, d[i]);
  }
  for (int bit = 16; bit >= 1; bit /= 2) {
    low = fmin(low, __shfl_xor_sync(0xffffffffu, low, bit));
    high = fmax(high, __shfl_xor_sync(0xffffffffu, high, bit));
  }
  shared[0][threadIdx.x / 32] = low;
  shared[1][threadIdx.x / 32] = high;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int warp = 1; warp < WARPS; warp++) {
    low = fmin(low, shared[0][warp]);
    high = fmax(high, shared[1][warp]);
  }
  out[2 * blockIdx.x] = low;
  out[2 * blockIdx.x + 1] = high;
}

__global__ void __launch_bounds__(THREADS)
    favour(double* x, const double* d, size_t used, double low, double width) {
  for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < used;
       i += (size_t)gridDim.x * THREADS) {
    const double weight = width / (d[i] - low + width);
    const double square = weight * weight;
    x[i] *= square * square;
  }
}

__global__ void __launch_bounds__(THREADS)
    divide(double* r, const double* d, size_t used, double value, double least) {
  for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < used;
       i += (size_t)gridDim.x * THREADS) {
    const double distance = d[i] - value;
    r[i] /= fabs(distance) > least ? distance : copysign(least, distance);
  }
}

}  // namespace tg_rows_kernels

#endif
