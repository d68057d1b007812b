/* SPDX-License-Identifier: Apache-2.0 */
/* The dense reduction: every product is added in its order. */
#include "motif/ref/table.h"

static tg_status dense(const tg_dense* what) {
  for (uint32_t b = 0; b < what->m; b++) what->sums[b] = 0;
  for (size_t i = 0; i < what->rows; i++)
    for (size_t j = 0; j < what->columns; j++) {
      const uint32_t sum = what->p[i] + what->q[j];
      what->sums[sum < what->m ? sum : sum - what->m] += what->x[i] * what->y[j];
    }
  return TG_OK;
}

const tg_dense_version tg_ref_denses[] = {
    {"serial", true, NULL, NULL, dense},
    {NULL, false, NULL, NULL, NULL},
};
