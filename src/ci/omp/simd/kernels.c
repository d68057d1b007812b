/* SPDX-License-Identifier: Apache-2.0 */
/* The inner loops of ci/omp/kernels.h. The build defines TG_VARIANT, the suffix of the exported
 * name.
 *
 * A row's sums stay in registers while its entries are gone through: per entry one value is
 * broadcast, and per eight lanes one vector is loaded and one fused multiply-add done. Every lane
 * does the same operations in the same order, so what shares a tile with it does not change its
 * bits. */
#include "ci/omp/kernels.h"

#include <string.h>
#ifdef __AVX512F__
#include <immintrin.h>
#endif

#define INLINE static inline __attribute__((always_inline))
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define TEXT_(a) #a
#define TEXT(a) TEXT_(a)

enum { LANES = TG_CI_LANES };
typedef double lanes __attribute__((vector_size(LANES * sizeof(double))));

INLINE lanes load(const double* from) { return *(const lanes*)from; }

INLINE void multiply_rows(size_t rows, const uint32_t* begin, const uint32_t* from,
                          const double* value, const int vectors, const double* xt, double* yt) {
  for (size_t r = 0; r < rows; r++) {
    lanes sum[TG_CI_MOST_VECTORS];
    double* y = yt + r * (size_t)vectors * LANES;
    for (int v = 0; v < vectors; v++) sum[v] = load(y + v * LANES);
    for (uint32_t e = begin[r]; e < begin[r + 1]; e++) {
      const double* x = xt + from[e] * (size_t)vectors * LANES;
      const double factor = value[e];
      for (int v = 0; v < vectors; v++) sum[v] += factor * load(x + v * LANES);
    }
    for (int v = 0; v < vectors; v++) *(lanes*)(y + v * LANES) = sum[v];
  }
}

/* y[index[k]] += sum[k] of one vector; k < count where that is less than LANES. */
INLINE void scatter(lanes sum, int count, const int64_t* index, double* y) {
#ifdef __AVX512F__
  const __mmask8 mask = (__mmask8)(count >= LANES ? 0xff : (1 << count) - 1);
  const __m512i place = _mm512_loadu_si512(index);
  const __m512d old = _mm512_mask_i64gather_pd(_mm512_setzero_pd(), mask, place, y, 8);
  _mm512_mask_i64scatter_pd(y, mask, place, _mm512_add_pd(old, (__m512d)sum), 8);
#else
  for (int k = 0; k < LANES && k < count; k++) y[index[k]] += sum[k];
#endif
}

INLINE void jump_columns(size_t rows, const uint32_t* begin, const uint32_t* from,
                         const uint32_t* code, const double* table, const double* xt,
                         const int vectors, int count, const int64_t* index, size_t stride,
                         double* y) {
  for (size_t r = 0; r < rows; r++) {
    if (begin[r] == begin[r + 1]) continue;
    lanes sum[TG_CI_MOST_VECTORS];
    for (int v = 0; v < vectors; v++) sum[v] = (lanes){0};
    for (uint32_t e = begin[r]; e < begin[r + 1]; e++) {
      const double* x = xt + from[e] * (size_t)vectors * LANES;
      const double factor = table[code[e]];
      for (int v = 0; v < vectors; v++) sum[v] += factor * load(x + v * LANES);
    }
    for (int v = 0; v < vectors; v++)
      scatter(sum[v], count - v * LANES, index + v * LANES, y + r * stride);
  }
}

INLINE void gather_columns(size_t rows, size_t stride, const double* x, const int vectors,
                           const int64_t* index, const double* sign, double* xt) {
  for (size_t r = 0; r < rows; r++) {
    const double* from = x + r * stride;
    double* to = xt + r * (size_t)vectors * LANES;
    for (int v = 0; v < vectors; v++) {
#ifdef __AVX512F__
      const __m512i place = _mm512_loadu_si512(index + v * LANES);
      const __m512d all = _mm512_i64gather_pd(place, from, 8);
      _mm512_store_pd(to + v * LANES, _mm512_mul_pd(all, _mm512_load_pd(sign + v * LANES)));
#else
      for (int k = v * LANES; k < (v + 1) * LANES; k++) to[k] = sign[k] * from[index[k]];
#endif
    }
  }
}

#ifdef __AVX512F__
/* Rows become columns of 8 x 8 numbers: pairs within 128 bits, then 128-bit lanes twice. */
INLINE void turn(__m512d a[LANES]) {
  __m512d b[LANES], c[LANES];
  for (int k = 0; k < LANES; k += 2) {
    b[k] = _mm512_unpacklo_pd(a[k], a[k + 1]);
    b[k + 1] = _mm512_unpackhi_pd(a[k], a[k + 1]);
  }
  for (int k = 0; k < 2; k++) { /* columns k, k + 2, k + 4, k + 6 */
    c[k] = _mm512_shuffle_f64x2(b[k], b[k + 2], 0x88);
    c[k + 2] = _mm512_shuffle_f64x2(b[k], b[k + 2], 0xdd);
    c[k + 4] = _mm512_shuffle_f64x2(b[k + 4], b[k + 6], 0x88);
    c[k + 6] = _mm512_shuffle_f64x2(b[k + 4], b[k + 6], 0xdd);
  }
  for (int k = 0; k < 2; k++) {
    a[k] = _mm512_shuffle_f64x2(c[k], c[k + 4], 0x88);
    a[k + 4] = _mm512_shuffle_f64x2(c[k], c[k + 4], 0xdd);
    a[k + 2] = _mm512_shuffle_f64x2(c[k + 2], c[k + 6], 0x88);
    a[k + 6] = _mm512_shuffle_f64x2(c[k + 2], c[k + 6], 0xdd);
  }
}
#endif

/* 8 rows of x, times their signs, as columns of a tile. */
INLINE void gather_eight(size_t columns, const double* x, const int64_t* index, const double* sign,
                         size_t width, double* xt) {
  const double* row[LANES];
  for (int k = 0; k < LANES; k++) row[k] = x + index[k];
  size_t c = 0;
#ifdef __AVX512F__
  for (; c + LANES <= columns; c += LANES) {
    __m512d a[LANES];
    for (int k = 0; k < LANES; k++)
      a[k] = _mm512_mul_pd(_mm512_loadu_pd(row[k] + c), _mm512_set1_pd(sign[k]));
    turn(a);
    for (size_t k = 0; k < LANES; k++) _mm512_store_pd(xt + (c + k) * width, a[k]);
  }
#endif
  for (; c < columns; c++)
    for (int k = 0; k < LANES; k++) xt[c * width + (size_t)k] = sign[k] * row[k][c];
}

static void gather_rows(size_t columns, const double* x, int vectors, const int64_t* index,
                        const double* sign, double* xt) {
  for (int v = 0; v < vectors; v++)
    gather_eight(columns, x, index + v * LANES, sign + v * LANES, (size_t)vectors * LANES,
                 xt + v * LANES);
}

/* y[index[k] + 0 ... 7] += sums[0 ... 7][k] */
INLINE void add_turned(const double* sums, size_t width, int count, const int64_t* index,
                       double* y) {
#ifdef __AVX512F__
  __m512d a[LANES];
  for (size_t r = 0; r < LANES; r++) a[r] = _mm512_load_pd(sums + r * width);
  turn(a);
  for (int k = 0; k < LANES && k < count; k++) {
    double* to = y + index[k];
    _mm512_storeu_pd(to, _mm512_add_pd(_mm512_loadu_pd(to), a[k]));
  }
#else
  for (int k = 0; k < LANES && k < count; k++)
    for (size_t r = 0; r < LANES; r++) y[(size_t)index[k] + r] += sums[r * width + (size_t)k];
#endif
}

/* Eight columns at a time: their sums, then these turned into pieces of rows. */
INLINE void jump_turned(size_t columns, const uint32_t* begin, const uint32_t* from,
                        const uint32_t* code, const double* table, const double* xt,
                        const int vectors, int count, const int64_t* index, double* y) {
  const size_t width = (size_t)vectors * LANES;
  _Alignas(64) double sums[LANES * TG_CI_MOST_VECTORS * LANES] = {0};
  for (size_t c = 0; c < columns; c += LANES) {
    const size_t rest = columns - c < LANES ? columns - c : LANES;
    if (begin[c] == begin[c + rest]) continue;
    for (size_t r = 0; r < rest; r++) {
      lanes sum[TG_CI_MOST_VECTORS];
      for (int v = 0; v < vectors; v++) sum[v] = (lanes){0};
      for (uint32_t e = begin[c + r]; e < begin[c + r + 1]; e++) {
        const double* x = xt + from[e] * width;
        const double factor = table[code[e]];
        for (int v = 0; v < vectors; v++) sum[v] += factor * load(x + v * LANES);
      }
      for (int v = 0; v < vectors; v++) *(lanes*)(sums + r * width + (size_t)v * LANES) = sum[v];
    }
    if (rest == LANES) {
      for (int v = 0; v < vectors; v++)
        add_turned(sums + v * LANES, width, count - v * LANES, index + v * LANES, y + c);
    } else {
      for (int k = 0; k < count; k++)
        for (size_t r = 0; r < rest; r++)
          y[(size_t)index[k] + c + r] += sums[r * width + (size_t)k];
    }
  }
}

/* The number of vectors as a constant, so that the sums are registers. */
#define EACH(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8)

static void multiply(size_t rows, const uint32_t* begin, const uint32_t* from, const double* value,
                     int vectors, const double* xt, double* yt) {
  switch (vectors) {
#define CASE(n)                                                                                    \
  case n: multiply_rows(rows, begin, from, value, n, xt, yt); break;
    EACH(CASE)
#undef CASE
  }
}

static void gather(size_t rows, size_t stride, const double* x, int vectors, const int64_t* index,
                   const double* sign, double* xt) {
  gather_columns(rows, stride, x, vectors, index, sign, xt);
}

static void jump(size_t rows, const uint32_t* begin, const uint32_t* from, const uint32_t* code,
                 const double* table, const double* xt, int count, const int64_t* index,
                 size_t stride, double* y) {
  switch ((count + LANES - 1) / LANES) {
#define CASE(n)                                                                                    \
  case n: jump_columns(rows, begin, from, code, table, xt, n, count, index, stride, y); break;
    EACH(CASE)
#undef CASE
  }
}

static void jump_rows(size_t columns, const uint32_t* begin, const uint32_t* from,
                      const uint32_t* code, const double* table, const double* xt, int count,
                      const int64_t* index, double* y) {
  switch ((count + LANES - 1) / LANES) {
#define CASE(n)                                                                                    \
  case n: jump_turned(columns, begin, from, code, table, xt, n, count, index, y); break;
    EACH(CASE)
#undef CASE
  }
}

static bool runs(void) {
#if defined(__AVX512F__)
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
#elif defined(__AVX2__)
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
  return true;
#endif
}

extern const tg_ci_kernels JOIN(tg_ci_kernels_, TG_VARIANT);
const tg_ci_kernels JOIN(tg_ci_kernels_, TG_VARIANT) = {.name = TEXT(TG_VARIANT),
                                                        .runs = runs,
                                                        .multiply = multiply,
                                                        .gather = gather,
                                                        .jump = jump,
                                                        .gather_rows = gather_rows,
                                                        .jump_rows = jump_rows};
