/* SPDX-License-Identifier: Apache-2.0 */
/** @file motif/omp/simd/group_avx512.h  A group of 64 columns in AVX-512 registers; included by
 * block.c alone.
 *
 * Each 8 pairs take an exclusive or, a VPOPCNTQ, a minimum (bytes: counts are below 256), and, with
 * a second word, one of each of the first two and an addition. The only ports are 0 and 5, and
 * VPOPCNTQ and comparisons go to 5 alone, so minima (port 0) replace 7 of 8 comparisons. Bound: 12
 * cycles for 64 pairs of one word, 24 of two. */
#ifndef TG_MOTIF_OMP_SIMD_GROUP_AVX512_H
#define TG_MOTIF_OMP_SIMD_GROUP_AVX512_H

#include <immintrin.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TG_BLOCK_NAME "AVX-512"
enum { LIST_BYTES = 64 };

typedef struct group {
  __m512i word[2][8];
} group;

static inline bool set_runs(void) {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vpopcntdq");
}

static inline void group_load(group* g, const uint64_t* columns, size_t stride, int lead) {
  for (int w = 0; w < lead; w++)
    for (int k = 0; k < 8; k++)
      g->word[w][k] = _mm512_loadu_si512(columns + (size_t)w * stride + 8 * k);
}

/* Bit j: at most most bits of the leading words differ between the row and column j. */
static inline uint64_t group_test(const group* g, const uint64_t* row, size_t stride, int lead,
                                  int most) {
  const __m512i limit = _mm512_set1_epi64(most), first = _mm512_set1_epi64((long long)row[0]);
  __m512i counts[8];
  for (int k = 0; k < 8; k++)
    counts[k] = _mm512_popcnt_epi64(_mm512_xor_si512(first, g->word[0][k]));
  if (lead == 2) {
    const __m512i second = _mm512_set1_epi64((long long)row[stride]);
    for (int k = 0; k < 8; k++)
      counts[k] =
          _mm512_add_epi64(counts[k], _mm512_popcnt_epi64(_mm512_xor_si512(second, g->word[1][k])));
  }
  const __m512i a = _mm512_min_epu8(counts[0], counts[1]),
                b = _mm512_min_epu8(counts[2], counts[3]);
  const __m512i c = _mm512_min_epu8(counts[4], counts[5]),
                d = _mm512_min_epu8(counts[6], counts[7]);
  const __m512i least = _mm512_min_epu8(_mm512_min_epu8(a, b), _mm512_min_epu8(c, d));
  if (__builtin_expect(_mm512_cmple_epu64_mask(least, limit) == 0, 1)) return 0;
  uint64_t mask = 0;
  for (int k = 0; k < 8; k++)
    mask |= (uint64_t)_mm512_cmple_epu64_mask(counts[k], limit) << (8 * k);
  return mask;
}

#endif
