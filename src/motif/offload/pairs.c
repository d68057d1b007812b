/* SPDX-License-Identifier: Apache-2.0 */
/* Filter and fill by OpenMP target, in the forms of motif/offload/loops.h. */
#include "motif/offload/few.h"
#include "motif/offload/loops.h"
/* the macros below need the loops' */
#include "motif/directives_blocks.h"
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
TG_COUNT_FOUR(count_four, SIMD_OUTER, OMP_MIDDLE, SIMD_INNER, TG_LEAST_word64, tg_few_differ)
TG_COUNT_LANES(count_lanes, OMP_FLAT, OMP_ITEMS, OMP_ADD, OMP_PARTS, TG_LEAST_word64, tg_few_differ)
TG_COUNT_LANES(count_lanes_folded, OMP_FLAT, OMP_ITEMS, OMP_ADD, OMP_PARTS, TG_LEAST_folded,
               tg_few_differ)
TG_COUNT_LANES(count_lanes_bits, OMP_FLAT, OMP_ITEMS, OMP_ADD, OMP_PARTS, TG_LEAST_folded,
               TG_FEW_BITS)
TG_COUNT_BY_FIRST_WORD(count_bits_lanes, count_lanes_bits)
TG_COUNT_FLAT(count_word64_flat, OMP_ITEMS, word64, tg_few_differ)
TG_COUNT_FLAT(count_loop_flat, LOOP_FLAT, word64, tg_few_differ)

/* GCC 12 spreads the outer loop over lanes as well as warps. `bind` then starts its inner parallel
 * region in each lane, although its barriers are made for whole warps; `loop` spreads the inner
 * loop over the same lanes once more, and adds up what belongs to different rows. Both hang. */
static const char* nested_or(const char* other) {
#ifndef __clang__
  if (!tg_offload_on_host()) return "GCC 12 gives both loops the lanes of one warp";
#endif
  return other;
}
static const char* nested_array(const tg_pairs* pairs) {
  return nested_or(tg_pairs_need_array(pairs));
}
static const char* nested_word64(const tg_pairs* pairs) {
  return nested_or(tg_pairs_need_word64(pairs));
}
static const char* nested_bits(const tg_pairs* pairs) {
  return nested_or(tg_pairs_need_bits(pairs));
}

const tg_filter_version tg_offload_filters[] = {
    {"array prescriptive", "array", tg_pairs_need_array, count_array},
    {"array simd", "array", tg_pairs_need_array, count_array_simd},
    {"array loop", "array", nested_array, count_array_loop},
    {"array bind", "array", nested_array, count_array_bind},
    {"array unit", "array", tg_pairs_need_array, count_array_unit},
    {"word64 prescriptive", "word64", tg_pairs_need_word64, count_word64},
    {"word64 simd", "word64", tg_pairs_need_word64, count_word64_simd},
    {"word64 loop", "word64", nested_word64, count_word64_loop},
    {"word64 bind", "word64", nested_word64, count_word64_bind},
    {"word64 unit", "word64", tg_pairs_need_word64, count_word64_unit},
    {"word64 four", "word64", tg_pairs_need_word64, count_four},
    {"word64 lanes", "word64", tg_pairs_need_word64, count_lanes},
    {"word64 lanes folded", "word64", tg_pairs_need_word64, count_lanes_folded},
    {"word64 flat", "word64", tg_pairs_need_word64, count_word64_flat},
    {"word64 loop flat", "word64", tg_pairs_need_word64, count_loop_flat},
    {"bits prescriptive", "bits", tg_pairs_need_bits, count_bits},
    {"bits simd", "bits", tg_pairs_need_bits, count_bits_simd},
    {"bits loop", "bits", nested_bits, count_bits_loop},
    {"bits bind", "bits", nested_bits, count_bits_bind},
    {"bits lanes folded", "bits", tg_pairs_need_bits, count_bits_lanes},
    {NULL, NULL, NULL, NULL},
};

/* The next slot of a row, which other threads may want too. */
#define TAKE(i, row, column)                                                                       \
  {                                                                                                \
    uint32_t slot;                                                                                 \
    OMP_CAPTURE                                                                                    \
    slot = cursor[row]++;                                                                          \
    hits[offsets[row] + slot] = column;                                                            \
  }

/* Is the row this thread's alone? On the host it is, and the atomic is left out there. GCC 12
 * crashes if the two functions are static; and the atomic must not be in them: GCC's code for a
 * simd loop tells functions that they are called by single lanes, but takes that back when the
 * first lane is through, and then an atomic in the function waits for lanes that do not come. */
bool tg_offload_row_is_own(void);
bool tg_offload_row_is_own_on_host(void);
#pragma omp declare target
bool tg_offload_row_is_own_on_host(void) { return true; }
#pragma omp declare variant(tg_offload_row_is_own_on_host) match(device = {kind(host)})
bool tg_offload_row_is_own(void) { return false; }
#pragma omp end declare target

#ifdef _OPENMP
#define TAKE_VARIANT(i, row, column)                                                               \
  if (tg_offload_row_is_own()) {                                                                   \
    TG_TAKE_ALONE(i, row, column)                                                                  \
  } else                                                                                           \
    TAKE(i, row, column)
#else
#define TAKE_VARIANT TG_TAKE_ALONE
#endif

/* Only the prescriptive forms: `loop` allows no atomic inside. */
TG_FILL_CURSOR(word64_prescriptive, PRESCRIPTIVE_OUTER, OMP_MIDDLE, PRESCRIPTIVE_INNER, OMP_CAPTURE,
               word64, tg_few_differ)
TG_FILL_CURSOR(array_simd, SIMD_OUTER, OMP_MIDDLE, SIMD_INNER, OMP_CAPTURE, array, tg_few_differ)
TG_FILL_CURSOR(word64_simd, SIMD_OUTER, OMP_MIDDLE, SIMD_INNER, OMP_CAPTURE, word64, tg_few_differ)
TG_FILL_CURSOR(bits_simd, SIMD_OUTER, OMP_MIDDLE, SIMD_INNER, OMP_CAPTURE, bits, tg_few_differ)
TG_FILL_LANES(lanes_cursor, OMP_FLAT, OMP_ITEMS, TAKE, OMP_PARTS, TG_LEAST_folded, tg_few_differ)
TG_FILL_LANES(lanes_variant, OMP_FLAT, OMP_ITEMS, TAKE_VARIANT, OMP_PARTS, TG_LEAST_folded,
              tg_few_differ)
TG_FILL_LANES(lanes_ranked, OMP_FLAT, OMP_ITEMS, TG_TAKE_ALONE, 1, TG_LEAST_folded, tg_few_differ)
TG_FILL_LANES(lanes_bits, OMP_FLAT, OMP_ITEMS, TAKE, OMP_PARTS, TG_LEAST_folded, TG_FEW_BITS)
TG_FILL_BY_FIRST_WORD(bits_lanes_cursor, lanes_bits)
TG_FILL_RANKED(word64_ranked, OMP_ITEMS, word64, tg_few_differ)
TG_FILL_RANKED(bits_ranked, OMP_ITEMS, bits, tg_few_differ)

const tg_fill_version tg_offload_fills[] = {
    {"array cursor simd", "array", false, tg_pairs_need_array, array_simd},
    {"word64 cursor", "word64", false, tg_pairs_need_word64, word64_prescriptive},
    {"word64 cursor simd", "word64", false, tg_pairs_need_word64, word64_simd},
    {"bits cursor simd", "bits", false, tg_pairs_need_bits, bits_simd},
    {"word64 lanes cursor", "word64", false, tg_pairs_need_word64, lanes_cursor},
    {"word64 lanes cursor variant", "word64", false, tg_pairs_need_word64, lanes_variant},
    {"bits lanes cursor", "bits", false, tg_pairs_need_bits, bits_lanes_cursor},
    {"word64 lanes ranked", "word64", true, tg_pairs_need_word64, lanes_ranked},
    {"word64 ranked", "word64", true, tg_pairs_need_word64, word64_ranked},
    {"bits ranked", "bits", true, tg_pairs_need_bits, bits_ranked},
    {NULL, NULL, false, NULL, NULL},
};
