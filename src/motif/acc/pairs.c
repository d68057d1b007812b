/* SPDX-License-Identifier: Apache-2.0 */
/* Filter and fill by OpenACC. */
#include "motif/acc/few.h"
#include "motif/acc/loops.h"
#include "motif/acc/table.h"

TG_COUNT(count_array, ACC_OUTER, ACC_MIDDLE, ACC_INNER, array, tg_few_differ)
TG_COUNT(count_array_unit, ACC_OUTER, ACC_MIDDLE, ACC_INNER, array, tg_acc_few_differ)
TG_COUNT(count_word64, ACC_OUTER, ACC_MIDDLE, ACC_INNER, word64, tg_few_differ)
TG_COUNT(count_word64_unit, ACC_OUTER, ACC_MIDDLE, ACC_INNER, word64, tg_acc_few_differ)
TG_COUNT_FOUR(count_word64_four, ACC_OUTER, ACC_MIDDLE, ACC_INNER, TG_FEW_OF)
TG_COUNT_FLAT(count_word64_flat, ACC_FLAT, word64, tg_few_differ)
TG_COUNT(count_bits, ACC_OUTER, ACC_MIDDLE, ACC_INNER, bits, tg_few_differ)

const tg_filter_version tg_acc_filters[] = {
    {"array", "array", tg_pairs_need_array, count_array},
    {"array unit", "array", tg_pairs_need_array, count_array_unit},
    {"word64", "word64", tg_pairs_need_word64, count_word64},
    {"word64 unit", "word64", tg_pairs_need_word64, count_word64_unit},
    {"word64 four", "word64", tg_pairs_need_word64, count_word64_four},
    {"word64 flat", "word64", tg_pairs_need_word64, count_word64_flat},
    {"bits", "bits", tg_pairs_need_bits, count_bits},
    {NULL, NULL, NULL, NULL},
};

TG_FILL_CURSOR(array_cursor, ACC_OUTER, ACC_MIDDLE, ACC_INNER, ACC_CAPTURE, array, tg_few_differ)
TG_FILL_CURSOR(word64_cursor, ACC_OUTER, ACC_MIDDLE, ACC_INNER, ACC_CAPTURE, word64, tg_few_differ)
TG_FILL_CURSOR(bits_cursor, ACC_OUTER, ACC_MIDDLE, ACC_INNER, ACC_CAPTURE, bits, tg_few_differ)
TG_FILL_RANKED(word64_ranked, ACC_FLAT, word64, tg_few_differ)
TG_FILL_RANKED(bits_ranked, ACC_FLAT, bits, tg_few_differ)

const tg_fill_version tg_acc_fills[] = {
    {"array cursor", "array", false, tg_pairs_need_array, array_cursor},
    {"word64 cursor", "word64", false, tg_pairs_need_word64, word64_cursor},
    {"bits cursor", "bits", false, tg_pairs_need_bits, bits_cursor},
    {"word64 ranked", "word64", true, tg_pairs_need_word64, word64_ranked},
    {"bits ranked", "bits", true, tg_pairs_need_bits, bits_ranked},
    {NULL, NULL, false, NULL, NULL},
};
