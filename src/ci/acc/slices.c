/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of ci/slices.h by OpenACC, in the module acc. A row is a vector lane's, so that the 32
 * lanes of a warp have a slice. */
#include "motif/acc/loops.h"

/* A gang of eight warps for each 256 rows, however many: with fewer and longer gangs the last ones
 * take 5 % longer. */
#define GANGS(count) (((count) + 255) / 256)
#define SLICES_ROWS(count, ...)                                                                    \
  TG_PRAGMA(acc parallel loop gang worker vector num_gangs(GANGS(count)) num_workers(8)            \
                vector_length(32) deviceptr(__VA_ARGS__))
#define SLICES_COUNT(count, ...)                                                                   \
  TG_PRAGMA(acc parallel loop gang worker vector num_gangs(GANGS(count)) num_workers(8)            \
                vector_length(32) deviceptr(__VA_ARGS__) copy(coded, amounts, places)              \
                reduction(+ : coded, amounts, places))
#include "ci/slices_loops.h"

#ifdef _OPENACC
#include <openacc.h>
#endif
#include <string.h>

static uint64_t free_bytes(void) {
#ifdef _OPENACC
  if (!tg_acc_on_host())
    return acc_get_property(acc_get_device_num(acc_device_nvidia), acc_device_nvidia,
                            acc_property_free_memory);
#endif
  return 0;
}

static const tg_ci_slices_ops ops = {.count = slices_count,
                                     .widths = slices_widths,
                                     .fill = slices_fill,
                                     .multiply = slices_multiply,
                                     .pack = slices_pack,
                                     .free_bytes = free_bytes};

extern __attribute__((visibility("default"))) tg_ci_slices_entry tg_module_slices;
const tg_ci_slices_ops* tg_module_slices(const size_t sizes[3]) {
  static const size_t mine[3] = TG_CI_SLICES_SIZES;
  return memcmp(sizes, mine, sizeof mine) == 0 ? &ops : NULL;
}
