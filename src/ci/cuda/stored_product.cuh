/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/cuda/stored_product.cuh  y = H x with a stored matrix: what a lane does with its
 * elements.
 *
 * From the words and values of a slice (read once, past the first-level cache, which is left to x)
 * and x (gathered) to one sum per row. Bound by memory traffic: 4 bytes an element where coded, 6
 * to 12 where valued; and by the cache's rate of gathers. */
#ifndef TG_CI_CUDA_STORED_PRODUCT_CUH
#define TG_CI_CUDA_STORED_PRODUCT_CUH

#include "ci/cuda/stored.cuh"

/* Loads of what is read once. */
static __device__ __forceinline__ uint4 stream_load(const uint4* p) {
  uint4 v;
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0,%1,%2,%3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(p));
  return v;
}
static __device__ __forceinline__ double2 stream_load(const double2* p) {
  double2 v;
  asm volatile("ld.global.nc.L1::no_allocate.v2.f64 {%0,%1}, [%2];"
               : "=d"(v.x), "=d"(v.y)
               : "l"(p));
  return v;
}

/** Numbers of K vectors at one state. */
template <int K>
struct lanes_of {
  double v[K];
};

/** x: of one vector; of K, planes of two vectors side by side, `plane` states each: gathers of 16
 * bytes meet in all banks of the cache, where of 32 bytes each half would meet in every other one.
 */
template <int K>
static __device__ __forceinline__ lanes_of<K> load_lanes(const double* x, size_t plane,
                                                         int32_t column) {
  lanes_of<K> out;
  if (K == 1) {
    out.v[0] = __ldg(x + column);
  } else {
    const double2* at = (const double2*)x + column;
#pragma unroll
    for (int k = 0; k < K / 2; k++) {
      const double2 two = __ldg(at + k * plane);
      out.v[2 * k] = two.x;
      out.v[2 * k + 1] = two.y;
    }
  }
  return out;
}

/* A whole matrix: elements are summed. */
template <int K>
struct row_sums {
  const double* x;
  size_t plane;
  double sum[K];

  __device__ __forceinline__ void add(int32_t column, double value) {
    const lanes_of<K> here = load_lanes<K>(x, plane, column);
#pragma unroll
    for (int k = 0; k < K; k++) sum[k] = fma(value, here.v[k], sum[k]);
  }
};

/* Half of one: of one vector; and what goes to the column's row, in fixed point. */
struct both_sums {
  const double* x;
  long long* fixed;
  double mine; /* x of the row, times the scale */
  double sum[1];

  __device__ __forceinline__ void add(int32_t column, double value) {
    sum[0] = fma(value, __ldg(x + column), sum[0]);
    const long long other = __double2ll_rn(value * mine);
    if (other) atomicAdd((unsigned long long*)fixed + column, (unsigned long long)other);
  }
};

/** Quads begin ... end - 1 of coded elements. table: the values, in shared memory. */
template <class SUMS>
static __device__ __forceinline__ void add_words(const uint4* words, uint32_t count, int32_t column,
                                                 int shift, const double* table, SUMS* sums) {
  const uint32_t mask = (UINT32_C(1) << (shift - 1)) - 1;
#pragma unroll 2
  for (uint32_t q = 0; q < count; q++, words += STORED_LANES) {
    const uint4 four = stream_load(words);
    const uint32_t w[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
    for (int e = 0; e < 4; e++) {
      column += (int32_t)w[e] >> shift;
      const double value = table[(w[e] >> 1) & mask];
      sums->add(column,
                __hiloint2double(__double2hiint(value) ^ (int)(w[e] << 31), __double2loint(value)));
    }
  }
}

/** Steps of a group's lane, four of them. */
static __device__ __forceinline__ void load_steps(const int16_t* steps, size_t at, int32_t out[4]) {
  const uint2 two = __ldcs((const uint2*)steps + at);
  out[0] = (int16_t)(two.x & 0xffff);
  out[1] = (int32_t)two.x >> 16;
  out[2] = (int16_t)(two.y & 0xffff);
  out[3] = (int32_t)two.y >> 16;
}
static __device__ __forceinline__ void load_steps(const int32_t* steps, size_t at, int32_t out[4]) {
  const uint4 four = stream_load((const uint4*)steps + at);
  out[0] = (int32_t)four.x;
  out[1] = (int32_t)four.y;
  out[2] = (int32_t)four.z;
  out[3] = (int32_t)four.w;
}
static __device__ __forceinline__ void load_amounts(const double* amounts, size_t group,
                                                    uint32_t lane, double out[4]) {
  const double2* at = (const double2*)amounts + group * 2 * STORED_LANES + lane;
  const double2 low = stream_load(at), high = stream_load(at + STORED_LANES);
  out[0] = low.x;
  out[1] = low.y;
  out[2] = high.x;
  out[3] = high.y;
}
static __device__ __forceinline__ void load_amounts(const float* amounts, size_t group,
                                                    uint32_t lane, double out[4]) {
  const uint4 four = stream_load((const uint4*)amounts + group * STORED_LANES + lane);
  out[0] = __uint_as_float(four.x);
  out[1] = __uint_as_float(four.y);
  out[2] = __uint_as_float(four.z);
  out[3] = __uint_as_float(four.w);
}

/** Groups first ... end - 1 of valued elements. */
template <class STEP, class AMOUNT, class SUMS>
static __device__ __forceinline__ void add_steps(const STEP* steps, const AMOUNT* amounts,
                                                 size_t first, size_t end, uint32_t lane,
                                                 int32_t column, SUMS* sums) {
#pragma unroll 2
  for (size_t g = first; g < end; g++) {
    int32_t by[4];
    double value[4];
    load_steps(steps, g * STORED_LANES + lane, by);
    load_amounts(amounts, g, lane, value);
#pragma unroll
    for (int e = 0; e < 4; e++) {
      column += by[e];
      sums->add(column, value[e]);
    }
  }
}

/** A warp's part of a slice. */
template <class STEP, class AMOUNT, class SUMS>
static __device__ __forceinline__ void add_part(const stored_matrix* m, uint64_t slice, int part,
                                                uint32_t lane, const double* table, SUMS* sums) {
  const size_t start = ((size_t)slice * m->parts + part) * STORED_LANES + lane;
  const uint64_t w0 = m->word.at[slice], w1 = m->word.at[slice + 1];
  const uint64_t s0 = m->step.at[slice], s1 = m->step.at[slice + 1];
  const uint32_t quads = (uint32_t)(w1 - w0), groups = (uint32_t)(s1 - s0);
  const uint32_t each_w = (quads + m->parts - 1) / m->parts,
                 each_s = (groups + m->parts - 1) / m->parts;
  const uint32_t first_w = min(each_w * part, quads), end_w = min(first_w + each_w, quads);
  const uint32_t first_s = min(each_s * part, groups), end_s = min(first_s + each_s, groups);
  if (first_w < end_w)
    add_words(m->words + (w0 + first_w) * STORED_LANES + lane, end_w - first_w,
              m->word.start[start], m->shift, table, sums);
  if (first_s < end_s)
    add_steps((const STEP*)m->steps, (const AMOUNT*)m->amount, s0 + first_s, s0 + end_s, lane,
              m->step.start[start], sums);
}

#endif
