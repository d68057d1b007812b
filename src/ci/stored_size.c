/* SPDX-License-Identifier: Apache-2.0 */
/* What a stored matrix on a GPU will take, on any machine (ci/device_stored.h). */
#include <math.h>

#include "base/memory.h"
#include "ci/device_stored.h"
#include "ci/product_fly.h"
#include "ci/stored_tables.h"

/* Slices are sorted where they would be longer than their rows by 15 %; steps too long for a word
 * cost a few % of the words, and more of the steps. */
static const double PADDING = 1.15, LONG_STEPS = 1.04, LONG_VALUED = 1.25;

uint64_t tg_ci_flat_dimension(const tg_ci_fly* f) { return f->space->dimension; }

uint64_t tg_ci_device_stored_bytes(const tg_ci_device_stored_params* p, uint64_t* making) {
  const tg_ci_fly* f = p->fly;
  const uint64_t dimension = f->space->dimension, first = p->rows ? p->rows->first : 0;
  const uint64_t end = p->rows ? p->rows->end : dimension, rows = end - first;
  const bool coded = !p->plain && p->builder == TG_CI_DEVICE_BY_JUMPS && tg_ci_flat_may_code(f);
  uint64_t elements, fields;
  tg_ci_flat_count(f, first, end, &elements, &fields);
  if (!coded) fields = elements;
  const double half = p->half ? 0.5 : 1;
  const double valued = (coded ? sizeof(int32_t) : sizeof(int16_t)) +
                        (p->float_elements ? sizeof(float) : sizeof(double));
  const double matrix = (double)(elements - fields) * sizeof(uint32_t) * LONG_STEPS +
                        (double)fields * valued * LONG_VALUED;
  /* diagonal, order of the rows, first columns, offsets */
  const double of_rows = (double)rows * (sizeof(double) + 2 * sizeof(uint32_t)) +
                         TG_CI_MOST_VALUES * sizeof(double) + 8 * 8192 * 32;
  const double scratch = (p->half ? 1 : TG_CI_DEVICE_STORED_WIDTH) * (double)dimension * 8;
  if (making) {
    const double tables = (double)f->bytes - (double)dimension * sizeof(double);
    double most = tables + 3.0 * sizeof(uint32_t) * (double)rows;
    if (p->builder == TG_CI_DEVICE_BY_MOTIFS) /* hits, and the states in three forms */
      most += (double)(elements + rows) * sizeof(uint32_t) + 64.0 * (double)dimension;
    *making = (uint64_t)ceil(most);
  }
  return (uint64_t)ceil(half * matrix * PADDING + of_rows + scratch);
}
