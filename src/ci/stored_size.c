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

/* A matrix has at most so many first columns of parts, or one for each lane of a slice. */
static const double FEW_PARTS = 2 * 8192;

uint64_t tg_ci_flat_dimension(const tg_ci_fly* f) { return f->space->dimension; }

bool tg_ci_flat_begins_row(const tg_ci_fly* f, uint64_t state) {
  if (state >= f->space->dimension) return state == f->space->dimension;
  const tg_ci_block* block = &f->space->blocks[tg_ci_space_block_of(f->space, state)];
  return (state - block->offset) % block->columns == 0;
}

/* What a second matrix of the same rows takes besides its elements: order of the rows, first
 * columns and offsets of both kinds; and places that its rows do not fill, three of each kind. */
static double of_second(double rows, double valued) {
  const double slices = rows / 32 + 1, parts = slices > FEW_PARTS ? slices : FEW_PARTS;
  return rows * (sizeof(uint32_t) + 3 * (sizeof(uint32_t) + valued)) +
         2 * 32 * sizeof(int32_t) * parts + 2 * sizeof(uint64_t) * (slices + 1);
}

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
  const bool apart = p->own && (p->own->first > 0 || p->own->end < dimension);
  const double second = apart ? of_second((double)rows, valued) : 0;
  const double scratch = (p->half ? 1 : TG_CI_DEVICE_STORED_WIDTH) * (double)dimension * 8;
  if (making) {
    const double tables = (double)f->bytes - (double)dimension * sizeof(double);
    double most = tables + 3.0 * sizeof(uint32_t) * (double)rows;
    if (p->builder == TG_CI_DEVICE_BY_MOTIFS) /* hits, and the states in three forms */
      most += (double)(elements + rows) * sizeof(uint32_t) + 64.0 * (double)dimension;
    *making = (uint64_t)ceil(most);
  }
  return (uint64_t)ceil(half * matrix * PADDING + of_rows + second + scratch);
}
