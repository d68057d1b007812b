/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/omp/simd/simd_avx512.h  The operations of simd.h for AVX-512; included by it alone. */
#ifndef TG_MD_OMP_SIMD_AVX512_H
#define TG_MD_OMP_SIMD_AVX512_H

#include "md/omp/simd/simd_types.h"

#ifdef __AVX512F__

#define TG_ISA_TEXT "AVX-512"

#if TG_SIMD_DOUBLE

enum { V_ROWS = 1, V_WIDTH = 8 };
typedef __m512d vreal;
typedef __mmask8 vmask;
typedef __m256i vindex;

static inline vreal v_set(real a) { return _mm512_set1_pd(a); }
static inline vreal v_rows(const real* p) { return _mm512_set1_pd(p[0]); }
static inline vreal v_load_j(const real* p) { return _mm512_load_pd(p); }
static inline vmask v_less(vreal a, vreal b) { return _mm512_cmp_pd_mask(a, b, _CMP_LT_OQ); }
static inline vmask v_mask_bits(vmask m, uint32_t bits) { return m & (vmask)bits; }
static inline int v_any(vmask m) { return m != 0; }
static inline vreal v_keep(vmask m, vreal a) { return _mm512_maskz_mov_pd(m, a); }
/* 14 bits from the table, doubled twice by Newton's iteration. */
static inline vreal v_inverse_root(vreal a) {
  const vreal half = _mm512_mul_pd(a, _mm512_set1_pd(0.5)), threehalves = _mm512_set1_pd(1.5);
  vreal y = _mm512_rsqrt14_pd(a);
  y = y * (threehalves - half * y * y);
  return y * (threehalves - half * y * y);
}
static inline vindex v_index_rows(const int32_t* p) { return _mm256_set1_epi32(p[0]); }
static inline vindex v_index_j(const int32_t* p) {
  return _mm256_slli_epi32(_mm256_load_si256((const __m256i*)p), 1);
}
static inline vindex v_index_add(vindex a, vindex b) { return _mm256_add_epi32(a, b); }
static inline vreal v_gather(const real* table, vindex index) {
  return _mm512_i32gather_pd(index, table, 8);
}
static inline real v_sum(vreal a) { return _mm512_reduce_add_pd(a); }
static inline void v_add_cluster(real* p, const vreal a[4]) {
  const vreal low = _mm512_unpacklo_pd(a[0], a[1]) + _mm512_unpackhi_pd(a[0], a[1]);
  const vreal high = _mm512_unpacklo_pd(a[2], a[3]) + _mm512_unpackhi_pd(a[2], a[3]);
  const vreal pairs = _mm512_shuffle_f64x2(low, high, 0x88) + _mm512_shuffle_f64x2(low, high, 0xdd);
  const vreal sums = pairs + _mm512_shuffle_f64x2(pairs, pairs, 0xb1); /* atoms 0 1 0 1 2 3 2 3 */
  const __m256d four =
      _mm256_permute2f128_pd(_mm512_castpd512_pd256(sums), _mm512_extractf64x4_pd(sums, 1), 0x20);
  _mm256_storeu_pd(p, _mm256_loadu_pd(p) + four);
}
static inline void v_subtract_j(real* p, vreal a) { _mm512_store_pd(p, _mm512_load_pd(p) - a); }

#else

enum { V_ROWS = 2, V_WIDTH = 8 };
typedef __m512 vreal;
typedef __mmask16 vmask;
typedef __m512i vindex;

static inline vreal v_set(real a) { return _mm512_set1_ps(a); }
static inline vreal v_rows(const real* p) {
  return _mm512_mask_mov_ps(_mm512_set1_ps(p[0]), 0xff00, _mm512_set1_ps(p[1]));
}
static inline vreal v_load_j(const real* p) { return _mm512_broadcast_f32x8(_mm256_load_ps(p)); }
static inline vmask v_less(vreal a, vreal b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
static inline vmask v_mask_bits(vmask m, uint32_t bits) { return m & (vmask)bits; }
static inline int v_any(vmask m) { return m != 0; }
static inline vreal v_keep(vmask m, vreal a) { return _mm512_maskz_mov_ps(m, a); }
/* 14 bits from the table, doubled once by Newton's iteration. */
static inline vreal v_inverse_root(vreal a) {
  const vreal y = _mm512_rsqrt14_ps(a);
  const vreal ay = a * y;
  return (_mm512_set1_ps(0.5F) * y) * (_mm512_set1_ps(3.0F) - ay * y);
}
static inline vindex v_index_rows(const int32_t* p) {
  return _mm512_mask_set1_epi32(_mm512_set1_epi32(p[0]), 0xff00, p[1]);
}
static inline vindex v_index_j(const int32_t* p) {
  return _mm512_slli_epi32(_mm512_broadcast_i32x8(_mm256_load_si256((const __m256i*)p)), 1);
}
static inline vindex v_index_add(vindex a, vindex b) { return _mm512_add_epi32(a, b); }
static inline vreal v_gather(const real* table, vindex index) {
  return _mm512_i32gather_ps(index, table, 4);
}
static inline real v_sum(vreal a) { return _mm512_reduce_add_ps(a); }
/* a[0] has the atoms 0 and 1, a[1] the atoms 2 and 3. */
static inline void v_add_cluster(real* p, const vreal a[2]) {
  const vreal both = _mm512_unpacklo_ps(a[0], a[1]) + _mm512_unpackhi_ps(a[0], a[1]);
  const vreal lanes = both + _mm512_permute_ps(both, 0x4e); /* of each 128 bits: a[0] a[1] twice */
  const vreal sums = lanes + _mm512_shuffle_f32x4(lanes, lanes, 0xb1);
  const __m128 four =
      _mm_unpacklo_ps(_mm512_castps512_ps128(sums), _mm512_extractf32x4_ps(sums, 2));
  _mm_storeu_ps(p, _mm_loadu_ps(p) + four);
}
static inline void v_subtract_j(real* p, vreal a) {
  const __m256 both = _mm512_castps512_ps256(a) + _mm512_extractf32x8_ps(a, 1);
  _mm256_store_ps(p, _mm256_load_ps(p) - both);
}

#endif
#endif /* __AVX512F__ */

#endif
