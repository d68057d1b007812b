/* SPDX-License-Identifier: Apache-2.0 */
/** @file motif/omp/simd/group_avx2.h  A group of 64 columns, read from the cache by AVX2; included
 * by block.c alone. Bits are counted by a table of 16 entries for each half of a byte, in a
 * register (VPSHUFB), and added over the bytes of a word (VPSADBW). */
#ifndef TG_MOTIF_OMP_SIMD_GROUP_AVX2_H
#define TG_MOTIF_OMP_SIMD_GROUP_AVX2_H

#include <immintrin.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TG_BLOCK_NAME "AVX2"
enum { LIST_BYTES = 32 };

typedef struct group {
  const uint64_t* columns;
  size_t stride;
} group;

static inline bool set_runs(void) { return __builtin_cpu_supports("avx2"); }

static inline void group_load(group* g, const uint64_t* columns, size_t stride, int lead) {
  (void)lead;
  *g = (group){columns, stride};
}

/* Bits set in each byte. */
static inline __m256i byte_counts(__m256i x) {
  const __m256i table = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1, 2,
                                         1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4);
  const __m256i half = _mm256_set1_epi8(15);
  const __m256i low = _mm256_and_si256(x, half);
  const __m256i high = _mm256_and_si256(_mm256_srli_epi16(x, 4), half);
  return _mm256_add_epi8(_mm256_shuffle_epi8(table, low), _mm256_shuffle_epi8(table, high));
}

static inline __m256i four_counts(const group* g, const uint64_t* row, size_t stride, int lead,
                                  int k) {
  __m256i bytes = _mm256_setzero_si256();
  for (int w = 0; w < lead; w++) {
    const __m256i column =
        _mm256_loadu_si256((const __m256i*)(g->columns + (size_t)w * g->stride + 4 * k));
    const __m256i same = _mm256_set1_epi64x((long long)row[(size_t)w * stride]);
    bytes = _mm256_add_epi8(bytes, byte_counts(_mm256_xor_si256(same, column)));
  }
  return _mm256_sad_epu8(bytes, _mm256_setzero_si256());
}

/* Bit j: at most most bits of the leading words differ between the row and column j. */
static inline uint64_t group_test(const group* g, const uint64_t* row, size_t stride, int lead,
                                  int most) {
  const __m256i limit = _mm256_set1_epi64x(most + 1);
  __m256i least = _mm256_set1_epi64x(255);
  for (int k = 0; k < 16; k++) least = _mm256_min_epu8(least, four_counts(g, row, stride, lead, k));
  if (__builtin_expect(_mm256_testz_si256(_mm256_cmpgt_epi64(limit, least), _mm256_set1_epi64x(-1)),
                       1))
    return 0;
  uint64_t mask = 0;
  for (int k = 0; k < 16; k++) {
    const __m256i below = _mm256_cmpgt_epi64(limit, four_counts(g, row, stride, lead, k));
    mask |= (uint64_t)(unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(below)) << (4 * k);
  }
  return mask;
}

#endif
