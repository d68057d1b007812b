/* SPDX-License-Identifier: Apache-2.0 */
/* Reduce: every value is added in its order. */
#include "motif/ref/table.h"

static tg_status serial(const tg_reduction* what) {
  for (uint32_t b = 0; b < what->m; b++) what->sums[b] = 0;
  for (size_t i = 0; i < what->count; i++) what->sums[what->bins[i]] += what->values[i];
  return TG_OK;
}

const tg_reduce_version tg_ref_reduces[] = {
    {"serial", true, NULL, NULL, serial},
    {NULL, false, NULL, NULL, NULL},
};
