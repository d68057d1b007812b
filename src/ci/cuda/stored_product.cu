/* SPDX-License-Identifier: Apache-2.0 */
/* The product of a stored matrix. */
#include "ci/cuda/stored_product.cuh"

#include <algorithm>

enum {
  /* One block to a multiprocessor: one copy of the values, and neighbouring rows, which gather from
   * the same part of x, share one first-level cache. */
  PRODUCT_THREADS = 1024,
  PRODUCT_BLOCKS = 1, /* of a multiprocessor, at least: bounds the registers */
  WARPS = PRODUCT_THREADS / STORED_LANES,
  PACK_THREADS = 256
};

/* From a slice's elements and x to y: a block takes WARPS / parts slices at a time. x: planes of
 * two vectors (load_lanes), of k <= K in use. */
template <int K, class STEP, class AMOUNT>
static __global__ void __launch_bounds__(PRODUCT_THREADS, PRODUCT_BLOCKS)
    multiply(const __grid_constant__ stored_matrix m, const double* __restrict__ x, size_t plane,
             int k, double* __restrict__ y, size_t ldy) {
  extern __shared__ double table[]; /* values; then sums of parts: [WARPS, K, 32] */
  double* const parts_sums = table + m.value_count;
  for (uint32_t v = threadIdx.x; v < m.value_count; v += PRODUCT_THREADS) table[v] = m.values[v];
  __syncthreads();
  const uint32_t lane = threadIdx.x % STORED_LANES, warp = threadIdx.x / STORED_LANES;
  const uint32_t parts = (uint32_t)m.parts, part = warp % parts, slices = WARPS / parts;
  for (uint64_t first = (uint64_t)blockIdx.x * slices; first < m.slices;
       first += (uint64_t)gridDim.x * slices) {
    const uint64_t slice = first + warp / parts;
    row_sums<K> sums;
    sums.x = x;
    sums.plane = plane;
#pragma unroll
    for (int v = 0; v < K; v++) sums.sum[v] = 0;
    if (slice < m.slices) add_part<STEP, AMOUNT>(&m, slice, (int)part, lane, table, &sums);
    if (parts > 1) {
      double* mine = parts_sums + (size_t)warp * K * STORED_LANES + lane;
#pragma unroll
      for (int v = 0; v < K; v++) mine[v * STORED_LANES] = sums.sum[v];
      __syncthreads();
      for (uint32_t p = 1; part == 0 && p < parts; p++)
#pragma unroll
        for (int v = 0; v < K; v++) sums.sum[v] += mine[(p * K + v) * STORED_LANES];
      __syncthreads();
    } else { /* not for the sums: warps that stay together gather from the same part of x */
      __syncthreads();
    }
    const uint64_t place = slice * STORED_LANES + lane;
    if (part != 0 || place >= m.rows) continue;
    const uint64_t row = m.row_of ? m.row_of[place] : place;
    if (!m.diagonal) {
#pragma unroll
      for (int v = 0; v < K; v++)
        if (v < k) y[(size_t)v * ldy + row] += sums.sum[v];
      continue;
    }
    const lanes_of<K> here = load_lanes<K>(x, plane, (int32_t)(m.first + row));
    const double d = m.diagonal[row];
#pragma unroll
    for (int v = 0; v < K; v++)
      if (v < k) y[(size_t)v * ldy + row] = fma(d, here.v[v], sums.sum[v]);
  }
}

/* Two vectors side by side, those behind the k-th zeros; K / 2 such planes. Of `count` states, all
 * but the `gap` ones from `gap_at` on. */
template <int K>
static __global__ void __launch_bounds__(PACK_THREADS)
    pack(uint64_t count, uint64_t gap_at, uint64_t gap, uint64_t dimension, int k,
         const double* __restrict__ x, size_t ldx, double2* __restrict__ packed) {
  uint64_t n = (uint64_t)blockIdx.x * PACK_THREADS + threadIdx.x;
  if (n >= count) return;
  if (n >= gap_at) n += gap;
#pragma unroll
  for (int v = 0; v < K; v += 2)
    packed[(v / 2) * dimension + n] =
        make_double2(x[(size_t)v * ldx + n], v + 1 < k ? x[(size_t)(v + 1) * ldx + n] : 0);
}

/* ---- half of a matrix ---- */

/* The largest |x|; of numbers that are not negative, bits are in their order. */
static __global__ void __launch_bounds__(PACK_THREADS)
    largest_of(uint64_t dimension, const double* __restrict__ x, double* largest) {
  double most = 0;
  for (uint64_t n = (uint64_t)blockIdx.x * PACK_THREADS + threadIdx.x; n < dimension;
       n += (uint64_t)gridDim.x * PACK_THREADS)
    most = fmax(most, fabs(x[n]));
  for (int distance = 16; distance; distance /= 2)
    most = fmax(most, __shfl_xor_sync(0xffffffffu, most, distance));
  if (threadIdx.x % STORED_LANES == 0)
    atomicMax((unsigned long long*)largest, (unsigned long long)__double_as_longlong(most));
}

/* A power of two, so that no sum of |elements| of a row times x passes 2^62. */
static __device__ __forceinline__ double scale_of(double norm, double largest) {
  const double bound = norm * largest;
  return bound > 0 ? ldexp(1.0, 61 - ilogb(bound)) : 0;
}

template <class STEP, class AMOUNT>
static __global__ void __launch_bounds__(PRODUCT_THREADS, PRODUCT_BLOCKS)
    multiply_half(const __grid_constant__ stored_matrix m, const double* __restrict__ x,
                  double norm, const double* __restrict__ largest, double* __restrict__ y,
                  long long* __restrict__ fixed) {
  extern __shared__ double table[];
  double* const parts_sums = table + m.value_count;
  for (uint32_t v = threadIdx.x; v < m.value_count; v += PRODUCT_THREADS) table[v] = m.values[v];
  __syncthreads();
  const double scale = scale_of(norm, *largest);
  const uint32_t lane = threadIdx.x % STORED_LANES, warp = threadIdx.x / STORED_LANES;
  const uint32_t parts = (uint32_t)m.parts, part = warp % parts, slices = WARPS / parts;
  for (uint64_t first = (uint64_t)blockIdx.x * slices; first < m.slices;
       first += (uint64_t)gridDim.x * slices) {
    const uint64_t slice = first + warp / parts, place = slice * STORED_LANES + lane;
    const bool is_row = place < m.rows;
    const uint64_t row = !is_row ? 0 : m.row_of ? m.row_of[place] : place;
    both_sums sums;
    sums.x = x;
    sums.fixed = fixed;
    sums.mine = is_row ? x[row] * scale : 0;
    sums.sum[0] = 0;
    if (slice < m.slices) add_part<STEP, AMOUNT>(&m, slice, (int)part, lane, table, &sums);
    if (parts > 1) {
      double* mine = parts_sums + (size_t)warp * STORED_LANES + lane;
      *mine = sums.sum[0];
      __syncthreads();
      for (uint32_t p = 1; part == 0 && p < parts; p++) sums.sum[0] += mine[p * STORED_LANES];
      __syncthreads();
    }
    if (part == 0 && is_row) y[row] = fma(m.diagonal[row], x[row], sums.sum[0]);
  }
}

static __global__ void __launch_bounds__(PACK_THREADS)
    add_fixed(uint64_t dimension, double norm, const double* __restrict__ largest,
              const long long* __restrict__ fixed, double* __restrict__ y) {
  const uint64_t n = (uint64_t)blockIdx.x * PACK_THREADS + threadIdx.x;
  const double scale = scale_of(norm, *largest);
  if (n < dimension && scale > 0) y[n] += (double)fixed[n] / scale;
}

/* ---- launches ---- */

/* As many blocks as run at once, or as there is work for. */
template <class KERNEL>
static tg_status launch_shape(const tg_ci_device_stored* s, KERNEL kernel, int lanes,
                              size_t* shared, unsigned* blocks) {
  int resident = 0; /* both matrices have the same */
  const uint64_t slices = WARPS / s->m.parts, work = (s->m.slices + slices - 1) / slices;
  *shared = s->m.value_count * sizeof(double) +
            (s->m.parts > 1 ? (size_t)WARPS * lanes * STORED_LANES * sizeof(double) : 0);
  TG_TRY(tg_cuda_allow_shared(kernel, s->device));
  TG_TRY(tg_cuda_status(
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, PRODUCT_THREADS, *shared),
      s->device, "a product's shape"));
  *blocks = (unsigned)std::max<uint64_t>(
      1, std::min<uint64_t>(work, (uint64_t)s->multiprocessors * std::max(resident, 1)));
  return TG_OK;
}

/* One of the two matrices, times k vectors. */
typedef struct factors {
  const stored_matrix* m;
  int k;
  const double* x;
  size_t ldx;
  double* y;
  size_t ldy;
} factors;

template <int K, class STEP, class AMOUNT>
static tg_status run(tg_ci_device_stored* s, const factors* f, const double* x) {
  size_t shared;
  unsigned blocks;
  TG_TRY(launch_shape(s, multiply<K, STEP, AMOUNT>, K, &shared, &blocks));
  multiply<K, STEP, AMOUNT><<<blocks, PRODUCT_THREADS, shared, s->stream>>>(
      *f->m, x, (size_t)s->dimension, f->k, f->y, f->ldy);
  return stored_queued(s, "a product of the stored matrix");
}

template <int K>
static tg_status run_kinds(tg_ci_device_stored* s, const factors* f, const double* x) {
  if (s->m.wide)
    return s->m.floats ? run<K, int32_t, float>(s, f, x) : run<K, int32_t, double>(s, f, x);
  return s->m.floats ? run<K, int16_t, float>(s, f, x) : run<K, int16_t, double>(s, f, x);
}

static unsigned blocks_for(uint64_t count) {
  return (unsigned)((count + PACK_THREADS - 1) / PACK_THREADS);
}

template <class STEP, class AMOUNT>
static tg_status run_half(tg_ci_device_stored* s, const double* x, double* y) {
  size_t shared;
  unsigned blocks;
  const double norm = s->facts.norm;
  TG_TRY(launch_shape(s, multiply_half<STEP, AMOUNT>, 1, &shared, &blocks));
  TG_TRY(tg_cuda_status(cudaMemsetAsync(s->fixed, 0, s->dimension * sizeof *s->fixed, s->stream),
                        s->device, "a product of the stored matrix"));
  TG_TRY(tg_cuda_status(cudaMemsetAsync(s->largest, 0, sizeof *s->largest, s->stream), s->device,
                        "a product of the stored matrix"));
  largest_of<<<std::min(blocks_for(s->dimension), 4u * s->multiprocessors), PACK_THREADS, 0,
               s->stream>>>(s->dimension, x, s->largest);
  multiply_half<STEP, AMOUNT>
      <<<blocks, PRODUCT_THREADS, shared, s->stream>>>(s->m, x, norm, s->largest, y, s->fixed);
  add_fixed<<<blocks_for(s->dimension), PACK_THREADS, 0, s->stream>>>(s->dimension, norm,
                                                                      s->largest, s->fixed, y);
  return stored_queued(s, "a product of the stored matrix");
}

static tg_status apply_half(tg_ci_device_stored* s, const double* x, double* y) {
  if (s->m.wide)
    return s->m.floats ? run_half<int32_t, float>(s, x, y) : run_half<int32_t, double>(s, x, y);
  return s->m.floats ? run_half<int16_t, float>(s, x, y) : run_half<int16_t, double>(s, x, y);
}

/* K vectors: those of the states that the matrix reads are packed. */
template <int K>
static tg_status pack_and_run(tg_ci_device_stored* s, const factors* f) {
  const uint64_t own = s->own.end - s->own.first;
  const bool others = f->m == &s->rest;
  const uint64_t count = others ? s->dimension - own : own, at = others ? s->own.first : 0;
  pack<K><<<blocks_for(count), PACK_THREADS, 0, s->stream>>>(count, at, others ? own : s->own.first,
                                                             s->dimension, f->k, f->x, f->ldx,
                                                             (double2*)s->packed);
  return run_kinds<K>(s, f, s->packed);
}

static tg_status apply_matrix(tg_ci_device_stored* s, const stored_matrix* m, int k,
                              const double* x, size_t ldx, double* y, size_t ldy) {
  for (int v = 0; v < k;) {
    const int count = s->half ? 1 : std::min(k - v, (int)TG_CI_DEVICE_STORED_WIDTH);
    const factors f = {m, count, x + (size_t)v * ldx, ldx, y + (size_t)v * ldy, ldy};
    if (s->half)
      TG_TRY(apply_half(s, f.x, f.y));
    else if (count == 1)
      TG_TRY(run_kinds<1>(s, &f, f.x));
    else
      TG_TRY(count == 2 ? pack_and_run<2>(s, &f) : pack_and_run<4>(s, &f));
    v += count;
  }
  return TG_OK;
}

/* What does not read others' columns, and what does. */
static tg_status apply_parts(tg_ci_device_stored* s, bool first, bool second, int k,
                             const double* x, size_t ldx, double* y, size_t ldy) {
  TG_TRY(tg_cuda_status(cudaSetDevice(s->device), s->device, "choosing the GPU"));
  if (first) TG_TRY(apply_matrix(s, &s->m, k, x, ldx, y, ldy));
  if (second && !s->rest_empty) TG_TRY(apply_matrix(s, &s->rest, k, x, ldx, y, ldy));
  return TG_OK;
}

tg_status tg_ci_device_stored_apply(tg_ci_device_stored* s, int k, const double* x, size_t ldx,
                                    double* y, size_t ldy) {
  return apply_parts(s, true, true, k, x, ldx, y, ldy);
}

tg_status tg_ci_device_stored_apply_local(tg_ci_device_stored* s, int k, const double* x,
                                          size_t ldx, double* y, size_t ldy) {
  return apply_parts(s, s->apart, false, k, x, ldx, y, ldy);
}

tg_status tg_ci_device_stored_apply_rest(tg_ci_device_stored* s, int k, const double* x, size_t ldx,
                                         double* y, size_t ldy) {
  return apply_parts(s, !s->apart, true, k, x, ldx, y, ldy);
}
