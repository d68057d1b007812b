/* SPDX-License-Identifier: Apache-2.0 */
/* Filter and fill by OpenMP target, in the forms of motif/offload/loops.h. */
#include "motif/offload/few.h"
#include "motif/offload/loops.h"
#include "motif/offload/table.h"

/* A filter in every form. */
#define FORMS(method)                                                                              \
  TG_COUNT(count_##method, PRESCRIPTIVE_OUTER, OMP_MIDDLE, PRESCRIPTIVE_INNER, method,             \
           tg_few_differ)                                                                          \
  TG_COUNT(count_##method##_simd, SIMD_OUTER, OMP_MIDDLE, SIMD_INNER, method, tg_few_differ)       \
  TG_COUNT(count_##method##_loop, LOOP_OUTER, OMP_MIDDLE, LOOP_INNER, method, tg_few_differ)       \
  TG_COUNT(count_##method##_bind, BIND_OUTER, OMP_MIDDLE, BIND_INNER, method, tg_few_differ)
FORMS(array)
FORMS(word64)
FORMS(bits)
TG_COUNT(count_array_unit, PRESCRIPTIVE_OUTER, OMP_MIDDLE, PRESCRIPTIVE_INNER, array,
         tg_offload_few_differ)
TG_COUNT(count_word64_unit, PRESCRIPTIVE_OUTER, OMP_MIDDLE, PRESCRIPTIVE_INNER, word64,
         tg_offload_few_differ)
TG_COUNT_FOUR(count_word64_four, SIMD_OUTER, OMP_MIDDLE, SIMD_INNER, TG_FEW_OF)
TG_COUNT_FLAT(count_word64_flat, OMP_FLAT, word64, tg_few_differ)

/* GCC 12 spreads the outer loop over lanes, and starts the inner parallel region in each of them:
 * its barriers are made for whole warps. */
static const char* bind_or(const char* other) {
#ifndef __clang__
  if (!tg_offload_on_host()) return "GCC 12 nests its parallel region in the lanes of a warp";
#endif
  return other;
}
static const char* bind_array(const tg_pairs* pairs) { return bind_or(tg_pairs_need_array(pairs)); }
static const char* bind_word64(const tg_pairs* pairs) {
  return bind_or(tg_pairs_need_word64(pairs));
}
static const char* bind_bits(const tg_pairs* pairs) { return bind_or(tg_pairs_need_bits(pairs)); }

const tg_filter_version tg_offload_filters[] = {
    {"array prescriptive", "array", tg_pairs_need_array, count_array},
    {"array simd", "array", tg_pairs_need_array, count_array_simd},
    {"array loop", "array", tg_pairs_need_array, count_array_loop},
    {"array bind", "array", bind_array, count_array_bind},
    {"array unit", "array", tg_pairs_need_array, count_array_unit},
    {"word64 prescriptive", "word64", tg_pairs_need_word64, count_word64},
    {"word64 simd", "word64", tg_pairs_need_word64, count_word64_simd},
    {"word64 loop", "word64", tg_pairs_need_word64, count_word64_loop},
    {"word64 bind", "word64", bind_word64, count_word64_bind},
    {"word64 unit", "word64", tg_pairs_need_word64, count_word64_unit},
    {"word64 four", "word64", tg_pairs_need_word64, count_word64_four},
    {"word64 flat", "word64", tg_pairs_need_word64, count_word64_flat},
    {"bits prescriptive", "bits", tg_pairs_need_bits, count_bits},
    {"bits simd", "bits", tg_pairs_need_bits, count_bits_simd},
    {"bits loop", "bits", tg_pairs_need_bits, count_bits_loop},
    {"bits bind", "bits", bind_bits, count_bits_bind},
    {NULL, NULL, NULL, NULL},
};

/* Only the prescriptive forms: `loop` allows no atomic inside. */
TG_FILL_CURSOR(word64_prescriptive, PRESCRIPTIVE_OUTER, OMP_MIDDLE, PRESCRIPTIVE_INNER, OMP_CAPTURE,
               word64, tg_few_differ)
TG_FILL_CURSOR(array_simd, SIMD_OUTER, OMP_MIDDLE, SIMD_INNER, OMP_CAPTURE, array, tg_few_differ)
TG_FILL_CURSOR(word64_simd, SIMD_OUTER, OMP_MIDDLE, SIMD_INNER, OMP_CAPTURE, word64, tg_few_differ)
TG_FILL_CURSOR(bits_simd, SIMD_OUTER, OMP_MIDDLE, SIMD_INNER, OMP_CAPTURE, bits, tg_few_differ)
TG_FILL_RANKED(word64_ranked, OMP_FLAT, word64, tg_few_differ)
TG_FILL_RANKED(bits_ranked, OMP_FLAT, bits, tg_few_differ)

const tg_fill_version tg_offload_fills[] = {
    {"array cursor simd", "array", false, tg_pairs_need_array, array_simd},
    {"word64 cursor", "word64", false, tg_pairs_need_word64, word64_prescriptive},
    {"word64 cursor simd", "word64", false, tg_pairs_need_word64, word64_simd},
    {"bits cursor simd", "bits", false, tg_pairs_need_bits, bits_simd},
    {"word64 ranked", "word64", true, tg_pairs_need_word64, word64_ranked},
    {"bits ranked", "bits", true, tg_pairs_need_bits, bits_ranked},
    {NULL, NULL, false, NULL, NULL},
};
