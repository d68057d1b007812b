/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of ci/slices.h by OpenMP, on the host. */
#define TG_PRAGMA_TEXT(...) _Pragma(#__VA_ARGS__)
#define TG_PRAGMA(...) TG_PRAGMA_TEXT(__VA_ARGS__)
#define TG_ROUTINE static inline
#define SLICES_ROWS(count, ...) TG_PRAGMA(omp parallel for schedule(dynamic, 256))
#define SLICES_COUNT(count, ...)                                                                   \
  TG_PRAGMA(omp parallel for schedule(dynamic, 256) reduction(+ : coded, amounts, places))
#include "ci/slices_loops.h"

static uint64_t no_bytes(void) { return 0; }

const tg_ci_slices_ops tg_ci_slices_omp = {.count = slices_count,
                                           .widths = slices_widths,
                                           .fill = slices_fill,
                                           .multiply = slices_multiply,
                                           .pack = slices_pack,
                                           .free_bytes = no_bytes};
