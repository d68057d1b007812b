/* SPDX-License-Identifier: Apache-2.0 */
/* The fused chain by OpenMP target. */
#include "motif/offload/loops.h"
/* the macros below need the loops' */
#include "motif/directives_sums.h"
#include "motif/offload/table.h"

TG_JOIN_PARTS(join, OMP_FLAT)

/* GCC 12 keeps an array that is declared in the body of a simd loop on the stack, of which a warp
 * has one: all lanes write into the same. One that is private by a clause is each lane's. */
#ifdef __clang__
#define TG_DIFFERENCE_BEFORE
#define TG_DIFFERENCE_WITHIN tg_difference f;
#define PRIVATE
#else
#define TG_DIFFERENCE_BEFORE tg_difference f;
#define TG_DIFFERENCE_WITHIN
#define PRIVATE private(f)
#endif
#define EXPECT_INNER() SIMD_INNER(PRIVATE)
#define EXPECT_ITEMS(count, ...)                                                                   \
  TG_PRAGMA(omp target teams distribute parallel for simd                                          \
                OMP_TEAMS(tg_offload_on_host() ? 1 : TG_OFFLOAD_TEAMS) PRIVATE                      \
                    is_device_ptr(__VA_ARGS__))

#define TG_ADD_HERE OMP_ADD
TG_EXPECT_ATOMIC(atomic, SIMD_OUTER, OMP_MIDDLE, EXPECT_INNER, OMP_FLAT)
TG_EXPECT_LANES(lanes, OMP_FLAT, EXPECT_ITEMS, OMP_PARTS, TG_LEAST_folded)
#undef TG_ADD_HERE
#define TG_ADD_HERE
TG_EXPECT_PARTS(parts, EXPECT_ITEMS, join)

const tg_expect_version tg_offload_expects[] = {
    {"word64 atomic", "word64", false, tg_refuse_many_moved, NULL, atomic},
    {"word64 lanes", "word64", false, tg_refuse_many_moved, NULL, lanes},
    {"word64 parts", "word64", true, tg_refuse_many_moved, tg_expect_part_bytes, parts},
    {NULL, NULL, false, NULL, NULL, NULL},
};
