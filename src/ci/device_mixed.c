/* SPDX-License-Identifier: Apache-2.0 */
#include "ci/device_mixed.h"

#include "base/memory.h"
#include "ci/device_fly.h"
#include "ci/product_fly.h"

struct tg_ci_device_mixed {
  tg_ci_device_stored* stored; /* rows first ... split - 1; NULL: none */
  tg_ci_device_fly* fly;       /* rows split ... end - 1; NULL: none */
  uint64_t first, split, end;
  tg_ci_device_mixed_facts facts;
};

/* Rows of y before row number `string` of A, counted through the blocks. */
static uint64_t states_before(const tg_ci_space* space, uint64_t string) {
  for (size_t n = 0; n < space->block_count; n++) {
    const tg_ci_block* block = &space->blocks[n];
    if (string < block->rows) return block->offset + string * block->columns;
    string -= block->rows;
  }
  return space->dimension;
}

static uint64_t bytes_of(const tg_ci_device_stored_params* p, uint64_t first, uint64_t end) {
  const tg_ci_device_rows rows = {first, end};
  tg_ci_device_stored_params part = *p;
  uint64_t making = 0;
  part.rows = &rows;
  return first < end ? tg_ci_device_stored_bytes(&part, &making) + making : 0;
}

/* The most rows, whole strings of A, whose stored elements fit beside the tables of the others. */
static uint64_t split_for(const tg_ci_device_stored_params* p, uint64_t first, uint64_t end,
                          uint64_t room) {
  const tg_ci_space* space = p->fly->space;
  uint64_t low = 0, high = 0; /* strings: low's rows fit, high's are all */
  for (size_t n = 0; n < space->block_count; n++) high += space->blocks[n].rows;
  while (low + 1 < high) {
    const uint64_t middle = low + (high - low) / 2, split = states_before(space, middle);
    if (split <= first || bytes_of(p, first, split < end ? split : end) <= room)
      low = middle;
    else
      high = middle;
  }
  const uint64_t split = states_before(space, low);
  return split < first ? first : split < end ? split : end;
}

tg_status tg_ci_device_mixed_create(const tg_ci_device_stored_params* p, uint64_t memory,
                                    tg_ci_device_mixed** out) {
  tg_status status = TG_OK;
  tg_ci_device_mixed* m = NULL;
  const uint64_t dimension = p->fly->space->dimension, tables = tg_ci_device_fly_bytes(p->fly);
  if (p->half)
    return tg_fail(TG_ERR_INPUT, "half of a matrix is stored for all rows, not for some of them");
  TG_TRY(TG_ALLOCATE(1, "operator", &m));
  m->first = p->rows ? p->rows->first : 0;
  m->end = p->rows ? p->rows->end : dimension;
  m->split = m->end;
  uint64_t bytes = bytes_of(p, m->first, m->end);
  if (bytes > memory) {
    if (tables > memory) {
      status = tg_fail(TG_ERR_MACHINE,
                       "GPU %d: the tables of the Hamiltonian need %.3g GB, and %.3g GB may be "
                       "used; use more GPUs, or truncate the space",
                       p->device, 1e-9 * (double)tables, 1e-9 * (double)memory);
      goto failed;
    }
    m->split = split_for(p, m->first, m->end, memory - tables);
    bytes = bytes_of(p, m->first, m->split) + tables;
  }
  if (m->split > m->first) {
    const tg_ci_device_rows rows = {m->first, m->split};
    tg_ci_device_stored_params part = *p;
    part.rows = &rows;
    TG_TRY_GOTO(tg_ci_device_stored_create(&part, &m->stored), failed);
    tg_ci_device_stored_query(m->stored, &m->facts.stored);
  }
  if (m->split < m->end) {
    const tg_ci_device_rows rows = {m->split, m->end};
    TG_TRY_GOTO(tg_ci_device_fly_create(p->fly, p->device, p->stream, &rows, &m->fly), failed);
  }
  m->facts.stored_rows = m->split - m->first;
  m->facts.fly_rows = m->end - m->split;
  m->facts.bytes = bytes;
  *out = m;
  return TG_OK;
failed:
  tg_ci_device_mixed_destroy(&m);
  return status;
}

void tg_ci_device_mixed_destroy(tg_ci_device_mixed** mixed) {
  if (!*mixed) return;
  tg_ci_device_stored_destroy(&(*mixed)->stored);
  tg_ci_device_fly_destroy(&(*mixed)->fly);
  TG_FREE(*mixed);
}

tg_status tg_ci_device_mixed_apply(tg_ci_device_mixed* m, int k, const double* x, size_t ldx,
                                   double* y, size_t ldy) {
  if (m->stored) TG_TRY(tg_ci_device_stored_apply(m->stored, k, x, ldx, y, ldy));
  if (m->fly) TG_TRY(tg_ci_device_fly_apply(m->fly, k, x, ldx, y + (m->split - m->first), ldy));
  return TG_OK;
}

tg_status tg_ci_device_mixed_apply_local(tg_ci_device_mixed* m, int k, const double* x, size_t ldx,
                                         double* y, size_t ldy) {
  double* of_fly = y + (m->split - m->first);
  if (m->stored) TG_TRY(tg_ci_device_stored_apply_local(m->stored, k, x, ldx, y, ldy));
  return m->fly ? tg_ci_device_fly_apply_local(m->fly, k, x, ldx, of_fly, ldy) : TG_OK;
}

tg_status tg_ci_device_mixed_apply_rest(tg_ci_device_mixed* m, int k, const double* x, size_t ldx,
                                        double* y, size_t ldy) {
  double* of_fly = y + (m->split - m->first);
  if (m->stored) TG_TRY(tg_ci_device_stored_apply_rest(m->stored, k, x, ldx, y, ldy));
  return m->fly ? tg_ci_device_fly_apply_rest(m->fly, k, x, ldx, of_fly, ldy) : TG_OK;
}

tg_status tg_ci_device_mixed_diagonal(tg_ci_device_mixed* m, double* d) {
  if (m->stored) TG_TRY(tg_ci_device_stored_diagonal(m->stored, d));
  if (m->fly) TG_TRY(tg_ci_device_fly_diagonal(m->fly, d + (m->split - m->first)));
  return TG_OK;
}

void tg_ci_device_mixed_query(const tg_ci_device_mixed* m, tg_ci_device_mixed_facts* out) {
  *out = m->facts;
}
