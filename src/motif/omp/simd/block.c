/* SPDX-License-Identifier: Apache-2.0 */
/* The inner loops of motif/omp/block.h. One body, inlined once for each method and sink, which are
 * constants in it. The build defines TG_VARIANT, the suffix of the exported name. */
#include "motif/omp/block.h"

#include <string.h>

#if defined(__AVX512VPOPCNTDQ__)
#include "motif/omp/simd/group_avx512.h"
#elif defined(__AVX2__)
#include "motif/omp/simd/group_avx2.h"
#else
#include "motif/omp/simd/group_portable.h"
#endif

#define INLINE static inline __attribute__((always_inline))

/* Orbital numbers of columns, and as many answers. */
typedef uint16_t orbitals __attribute__((vector_size(LIST_BYTES)));
typedef int16_t answers __attribute__((vector_size(LIST_BYTES)));
enum { LANES = LIST_BYTES / 2, PARTS = 64 / LANES };

/* Bit j: the list of n orbitals shares at least need (0 to 2^15) of them with that of column j;
 * every orbital of the row is compared with every one of the columns. */
INLINE uint64_t lists_test(const uint16_t* list, const uint16_t* columns, size_t stride, int n,
                           int need) {
  answers shared[PARTS] = {0};
  for (int l = 0; l < n; l++) {
    orbitals there[PARTS];
    memcpy(there, columns + (size_t)l * stride, sizeof there);
    for (int k = 0; k < n; k++) {
      const orbitals here = list[k] - (orbitals){0};
      for (int p = 0; p < PARTS; p++) shared[p] += (answers)(there[p] == here);
    }
  }
  answers enough = {0}; /* shared counts downwards, as true is -1 */
  for (int p = 0; p < PARTS; p++) enough |= (answers)(shared[p] <= (int16_t)-need);
  uint64_t any[LIST_BYTES / 8], seen = 0, mask = 0;
  memcpy(any, &enough, sizeof any);
  for (size_t i = 0; i < LIST_BYTES / 8; i++) seen |= any[i];
  if (__builtin_expect(seen == 0, 1)) return 0;
  for (int p = 0; p < PARTS; p++)
    for (int j = 0; j < LANES; j++) mask |= (uint64_t)(shared[p][j] <= -need) << (p * LANES + j);
  return mask;
}

/* Candidates of row i of the block that are hits by all that is known of them. */
INLINE uint64_t confirm(const tg_omp_block* what, tg_omp_method method, size_t i, size_t column,
                        uint64_t candidates) {
  const tg_states *rows = &what->pairs->rows, *columns = &what->pairs->columns;
  uint64_t hits = 0;
  for (uint64_t rest = candidates; rest; rest &= rest - 1) {
    const int j = __builtin_ctzll(rest);
    const size_t c = column + (size_t)j;
    uint32_t differing = 0;
    if (method == TG_OMP_WORD64) {
      const uint64_t* set = what->sets + i * what->set_words;
      uint32_t shared = 0;
      for (uint32_t k = 0; k < columns->particles; k++) {
        const uint16_t orbital = columns->orbital[k * columns->stride + c];
        shared += set[orbital / 64] >> orbital % 64 & 1;
      }
      differing = 2 * (columns->particles - shared);
    } else {
      for (uint32_t w = 0; w < columns->words; w++)
        differing += (uint32_t)__builtin_popcountll(rows->bits[w * rows->stride + what->row + i] ^
                                                    columns->bits[w * columns->stride + c]);
    }
    hits |= (uint64_t)(differing <= 2 * (uint32_t)what->pairs->d) << j;
  }
  return hits;
}

INLINE void sink_hits(const tg_omp_block* what, tg_omp_sink sink, size_t row, size_t column,
                      uint64_t hits) {
  if (sink == TG_OMP_COUNT) {
    what->found[row] += (uint32_t)__builtin_popcountll(hits);
    return;
  }
  for (; hits; hits &= hits - 1) {
    const size_t c = column + (size_t)__builtin_ctzll(hits);
    if (sink == TG_OMP_VISIT) {
      what->visit(what->context, row, c);
    } else {
      uint32_t slot = 0;
      if (sink == TG_OMP_CLAIM) {
#pragma omp atomic capture
        slot = what->found[row]++;
      } else {
        slot = what->found[row]++;
      }
      what->hits[what->offsets[row] + slot] = (uint32_t)c;
    }
  }
}

/* Of a group that begins at column, those that are left: before the end, and with once above the
 * diagonal. */
INLINE uint64_t allowed(const tg_omp_block* what, size_t row, size_t column) {
  const size_t left = what->column_end - column;
  uint64_t mask = left >= 64 ? UINT64_MAX : (1ULL << left) - 1;
  if (!what->pairs->once) return mask;
  const int64_t from =
      (int64_t)(what->pairs->first_row + row + 1) - (int64_t)(what->pairs->first_column + column);
  if (from >= 64) return 0;
  return from > 0 ? mask & UINT64_MAX << from : mask;
}

INLINE void run_block(const tg_omp_block* what, tg_omp_method method, tg_omp_sink sink) {
  const tg_pairs* pairs = what->pairs;
  const tg_states *rows = &pairs->rows, *columns = &pairs->columns;
  const int lead = method == TG_OMP_BITS_LEAD2 ? 2 : 1, most = 2 * pairs->d;
  const int n = (int)rows->particles, need = n > pairs->d ? n - pairs->d : 0;
  const uint64_t* row_words = (method == TG_OMP_WORD64 ? rows->low : rows->bits);
  const uint64_t* column_words = (method == TG_OMP_WORD64 ? columns->low : columns->bits);
  const bool more = method == TG_OMP_WORD64 || columns->words > (uint32_t)lead;
  for (size_t c = what->column_begin; c < what->column_end; c += 64) {
    group g;
    if (method != TG_OMP_ARRAY) group_load(&g, column_words + c, columns->stride, lead);
    for (size_t i = 0; i < what->row_count; i++) {
      const size_t row = what->row + i;
      uint64_t mask = method == TG_OMP_ARRAY
                          ? lists_test(what->lists + i * (size_t)n, columns->orbital + c,
                                       columns->stride, n, need)
                          : group_test(&g, row_words + row, rows->stride, lead, most);
      if (__builtin_expect(mask == 0, 1)) continue;
      mask &= allowed(what, row, c);
      if (method != TG_OMP_ARRAY && more) mask = confirm(what, method, i, c, mask);
      sink_hits(what, sink, row, c, mask);
    }
  }
}

#define BLOCK(method, sink)                                                                        \
  static void method##_##sink(const tg_omp_block* what) {                                          \
    run_block(what, TG_OMP_##method, TG_OMP_##sink);                                               \
  }
#define BLOCKS(method)                                                                             \
  BLOCK(method, COUNT) BLOCK(method, STORE) BLOCK(method, CLAIM) BLOCK(method, VISIT)
BLOCKS(ARRAY)
BLOCKS(WORD64)
BLOCKS(BITS_LEAD1)
BLOCKS(BITS_LEAD2)

#define POINTERS(method)                                                                           \
  { method##_COUNT, method##_STORE, method##_CLAIM, method##_VISIT }
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
extern const tg_omp_kernels JOIN(tg_omp_kernels_, TG_VARIANT);
const tg_omp_kernels JOIN(tg_omp_kernels_, TG_VARIANT) = {
    TG_BLOCK_NAME,
    set_runs,
    {POINTERS(ARRAY), POINTERS(WORD64), POINTERS(BITS_LEAD1), POINTERS(BITS_LEAD2)},
};
