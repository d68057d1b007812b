/* SPDX-License-Identifier: Apache-2.0 */
/* The fused chain by OpenACC. */
#include "motif/acc/loops.h"
#include "motif/acc/table.h"
#include "motif/directives_sums.h"

TG_JOIN_PARTS(join, ACC_FLAT)

#define TG_DIFFERENCE_BEFORE
#define TG_DIFFERENCE_WITHIN tg_difference f;
#define TG_ADD_HERE ACC_ADD
TG_EXPECT_ATOMIC(atomic, ACC_OUTER, ACC_MIDDLE, ACC_INNER, ACC_FLAT)
TG_EXPECT_LANES(lanes, ACC_FLAT, ACC_FLAT, ACC_PARTS, TG_LEAST_folded)
#undef TG_ADD_HERE
#define TG_ADD_HERE
TG_EXPECT_PARTS(parts, ACC_FLAT, join)

const tg_expect_version tg_acc_expects[] = {
    {"word64 atomic", "word64", false, tg_refuse_many_moved, NULL, atomic},
    {"word64 lanes", "word64", false, tg_refuse_many_moved, NULL, lanes},
    {"word64 parts", "word64", true, tg_refuse_many_moved, tg_expect_part_bytes, parts},
    {NULL, NULL, false, NULL, NULL, NULL},
};
