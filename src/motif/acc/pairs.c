/* SPDX-License-Identifier: Apache-2.0 */
/* Filter and fill by OpenACC. */
#include "motif/acc/few.h"
#include "motif/acc/loops.h"
#include "motif/acc/table.h"
#include "motif/directives_blocks.h"

#ifdef _OPENACC
#include <openacc.h>
#endif

TG_COUNT(count_array, ACC_OUTER, ACC_MIDDLE, ACC_INNER, array, tg_few_differ)
TG_COUNT(count_array_unit, ACC_OUTER, ACC_MIDDLE, ACC_INNER, array, tg_acc_few_differ)
TG_COUNT(count_word64, ACC_OUTER, ACC_MIDDLE, ACC_INNER, word64, tg_few_differ)
TG_COUNT(count_word64_unit, ACC_OUTER, ACC_MIDDLE, ACC_INNER, word64, tg_acc_few_differ)
TG_COUNT_FOUR(count_four, ACC_OUTER, ACC_MIDDLE, ACC_INNER, TG_LEAST_word64, tg_few_differ)
TG_COUNT_FOUR(count_four_folded, ACC_OUTER, ACC_MIDDLE, ACC_INNER, TG_LEAST_folded, tg_few_differ)
TG_COUNT_LANES(count_lanes, ACC_FLAT, ACC_FLAT, ACC_ADD, ACC_PARTS, TG_LEAST_word64, tg_few_differ)
TG_COUNT_LANES(count_lanes_folded, ACC_FLAT, ACC_FLAT, ACC_ADD, ACC_PARTS, TG_LEAST_folded,
               tg_few_differ)
TG_COUNT_LANES(count_lanes_bits, ACC_FLAT, ACC_FLAT, ACC_ADD, ACC_PARTS, TG_LEAST_folded,
               TG_FEW_BITS)
TG_COUNT_BY_FIRST_WORD(count_bits_lanes, count_lanes_bits)
TG_COUNT_FLAT(count_word64_flat, ACC_FLAT, word64, tg_few_differ)
TG_COUNT(count_bits, ACC_OUTER, ACC_MIDDLE, ACC_INNER, bits, tg_few_differ)

const tg_filter_version tg_acc_filters[] = {
    {"array", "array", tg_pairs_need_array, count_array},
    {"array unit", "array", tg_pairs_need_array, count_array_unit},
    {"word64", "word64", tg_pairs_need_word64, count_word64},
    {"word64 unit", "word64", tg_pairs_need_word64, count_word64_unit},
    {"word64 four", "word64", tg_pairs_need_word64, count_four},
    {"word64 four folded", "word64", tg_pairs_need_word64, count_four_folded},
    {"word64 lanes", "word64", tg_pairs_need_word64, count_lanes},
    {"word64 lanes folded", "word64", tg_pairs_need_word64, count_lanes_folded},
    {"word64 flat", "word64", tg_pairs_need_word64, count_word64_flat},
    {"bits", "bits", tg_pairs_need_bits, count_bits},
    {"bits lanes folded", "bits", tg_pairs_need_bits, count_bits_lanes},
    {NULL, NULL, NULL, NULL},
};

/* The next slot of a row, which other threads may want too. */
#define TAKE(i, row, column)                                                                       \
  {                                                                                                \
    uint32_t slot;                                                                                 \
    ACC_CAPTURE                                                                                    \
    slot = cursor[row]++;                                                                          \
    hits[offsets[row] + slot] = column;                                                            \
  }

/* A row has one thread on the host, where the atomic is left out: GCC knows the answer when it
 * compiles for either, so that neither holds the other's code. */
#ifdef _OPENACC
#ifdef __GNUC__ /* not known by its own name in ISO C, and then a call */
#define ON_HOST __builtin_acc_on_device(acc_device_host)
#else
#define ON_HOST acc_on_device(acc_device_host)
#endif
#define TAKE_VARIANT(i, row, column)                                                               \
  if (ON_HOST) {                                                                                   \
    TG_TAKE_ALONE(i, row, column)                                                                  \
  } else                                                                                           \
    TAKE(i, row, column)
#else
#define TAKE_VARIANT TG_TAKE_ALONE
#endif

TG_FILL_CURSOR(array_cursor, ACC_OUTER, ACC_MIDDLE, ACC_INNER, ACC_CAPTURE, array, tg_few_differ)
TG_FILL_CURSOR(word64_cursor, ACC_OUTER, ACC_MIDDLE, ACC_INNER, ACC_CAPTURE, word64, tg_few_differ)
TG_FILL_CURSOR(bits_cursor, ACC_OUTER, ACC_MIDDLE, ACC_INNER, ACC_CAPTURE, bits, tg_few_differ)
TG_FILL_LANES(lanes_cursor, ACC_FLAT, ACC_FLAT, TAKE, ACC_PARTS, TG_LEAST_folded, tg_few_differ)
TG_FILL_LANES(lanes_variant, ACC_FLAT, ACC_FLAT, TAKE_VARIANT, ACC_PARTS, TG_LEAST_folded,
              tg_few_differ)
TG_FILL_LANES(lanes_ranked, ACC_FLAT, ACC_FLAT, TG_TAKE_ALONE, 1, TG_LEAST_folded, tg_few_differ)
TG_FILL_LANES(lanes_bits, ACC_FLAT, ACC_FLAT, TAKE, ACC_PARTS, TG_LEAST_folded, TG_FEW_BITS)
TG_FILL_BY_FIRST_WORD(bits_lanes_cursor, lanes_bits)
TG_FILL_RANKED(word64_ranked, ACC_FLAT, word64, tg_few_differ)
TG_FILL_RANKED(bits_ranked, ACC_FLAT, bits, tg_few_differ)

const tg_fill_version tg_acc_fills[] = {
    {"array cursor", "array", false, tg_pairs_need_array, array_cursor},
    {"word64 cursor", "word64", false, tg_pairs_need_word64, word64_cursor},
    {"bits cursor", "bits", false, tg_pairs_need_bits, bits_cursor},
    {"word64 lanes cursor", "word64", false, tg_pairs_need_word64, lanes_cursor},
    {"word64 lanes cursor variant", "word64", false, tg_pairs_need_word64, lanes_variant},
    {"bits lanes cursor", "bits", false, tg_pairs_need_bits, bits_lanes_cursor},
    {"word64 lanes ranked", "word64", true, tg_pairs_need_word64, lanes_ranked},
    {"word64 ranked", "word64", true, tg_pairs_need_word64, word64_ranked},
    {"bits ranked", "bits", true, tg_pairs_need_bits, bits_ranked},
    {NULL, NULL, false, NULL, NULL},
};
