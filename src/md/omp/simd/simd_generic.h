/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/omp/simd/simd_generic.h  The operations of simd.h in GCC's vector extensions, one
 * i-atom per vector; included by simd.h alone. With AVX2 the compiler has vectors of 32 bytes for
 * them. */
#ifndef TG_MD_OMP_SIMD_GENERIC_H
#define TG_MD_OMP_SIMD_GENERIC_H

#include "md/omp/simd/simd_types.h"

#if defined(__AVX2__) && !TG_SIMD_DOUBLE
enum { V_ROWS = 1, V_WIDTH = 8 };
#else
enum { V_ROWS = 1, V_WIDTH = 4 };
#endif
#ifdef __AVX2__
#define TG_ISA_TEXT "AVX2"
#else
#define TG_ISA_TEXT "portable"
#endif

typedef real vreal __attribute__((vector_size(V_WIDTH * sizeof(real))));
typedef lane_mask vmask __attribute__((vector_size(V_WIDTH * sizeof(real))));
typedef int32_t vindex __attribute__((vector_size(V_WIDTH * sizeof(int32_t))));

static inline vreal v_set(real a) { return a - (vreal){0}; }
static inline vreal v_rows(const real* p) { return p[0] - (vreal){0}; }
static inline vreal v_load_j(const real* p) { return *(const vreal*)p; }
static inline vmask v_less(vreal a, vreal b) { return a < b; }
static inline vmask v_mask_bits(vmask m, uint32_t bits) {
#if defined(__AVX2__) && !TG_SIMD_DOUBLE
  const vmask lane = {1, 2, 4, 8, 16, 32, 64, 128};
#else
  const vmask lane = {1, 2, 4, 8};
#endif
  return m & (((lane_mask)bits & lane) != 0);
}
static inline int v_any(vmask m) {
  lane_mask any = 0;
  for (int k = 0; k < V_WIDTH; k++) any |= m[k];
  return any != 0;
}
static inline vreal v_keep(vmask m, vreal a) { return (vreal)((vmask)a & m); }
static inline vreal v_inverse_root(vreal a) {
#if defined(__AVX2__) && !TG_SIMD_DOUBLE
  /* 11 bits from the table, doubled once: 22, so a second, cheaper correction is not worth it */
  const vreal y = _mm256_rsqrt_ps(a);
  return 0.5F * y * (3.0F - a * y * y);
#else
  vreal root;
  for (int k = 0; k < V_WIDTH; k++) {
#if TG_SIMD_DOUBLE
    root[k] = sqrt(a[k]);
#else
    root[k] = sqrtf(a[k]);
#endif
  }
  return 1 / root;
#endif
}
static inline vindex v_index_rows(const int32_t* p) { return p[0] + (vindex){0}; }
static inline vindex v_index_j(const int32_t* p) { return *(const vindex*)p * 2; }
static inline vindex v_index_add(vindex a, vindex b) { return a + b; }
static inline vreal v_gather(const real* table, vindex index) {
  vreal out;
  for (int k = 0; k < V_WIDTH; k++) out[k] = table[index[k]];
  return out;
}
static inline real v_sum(vreal a) {
  real sum = 0;
  for (int k = 0; k < V_WIDTH; k++) sum += a[k];
  return sum;
}
static inline void v_add_cluster(real* p, const vreal a[4]) {
  for (int k = 0; k < 4; k++) p[k] += v_sum(a[k]);
}
static inline void v_subtract_j(real* p, vreal a) { *(vreal*)p -= a; }

#endif
