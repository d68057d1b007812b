/* SPDX-License-Identifier: Apache-2.0 */
#include "ci/operator.h"

#include <stdbool.h>
#include <unistd.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "base/memory.h"
#include "ci/product_fly.h"
#include "ci/stored.h"

struct tg_ci_operator {
  tg_ci_operator_facts facts;
  int threads;
  tg_ci_fly fly; /* the diagonal is the stored matrix's where that is used */
  tg_ci_stored stored;
};

const char* tg_ci_storage_name(tg_ci_storage storage) {
  static const char* const names[] = {"auto", "stored", "fly"};
  return names[storage];
}

static uint64_t free_memory(void) {
  const long pages = sysconf(_SC_AVPHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : 0;
}

static int threads_of(const tg_ci_operator_params* params) {
#ifdef _OPENMP
  return params->threads > 0 ? params->threads : omp_get_max_threads();
#else
  (void)params;
  return 1;
#endif
}

static uint64_t memory_of(const tg_ci_operator_params* params) {
  return params->memory ? params->memory : (uint64_t)(0.8 * (double)free_memory());
}

/* What the tables tell, and the choice that follows. */
static tg_ci_operator_facts facts_from(const tg_ci_fly* fly, const tg_ci_operator_params* params) {
  tg_ci_operator_facts f = {.storage = params->storage,
                            .dimension = fly->space->dimension,
                            .pairs = fly->pairs,
                            .lane_pairs = fly->lane_pairs,
                            .tables = fly->bytes};
  f.stored_bytes = tg_ci_stored_bytes(f.dimension, f.pairs, false);
  if (params->few) f.storage = TG_CI_STORAGE_FLY;
  if (f.storage == TG_CI_STORAGE_AUTO) {
    const bool fits = f.tables + f.stored_bytes <= memory_of(params);
    f.storage = 2 * f.lane_pairs > f.pairs || !fits ? TG_CI_STORAGE_FLY : TG_CI_STORAGE_STORED;
  }
  return f;
}

tg_status tg_ci_operator_estimate(const tg_ci_hamiltonian* h, const tg_ci_space* space,
                                  const tg_ci_operator_params* params, tg_ci_operator_facts* out) {
  tg_ci_fly fly;
  TG_TRY(tg_ci_fly_tables(h, space, threads_of(params), &fly));
  *out = facts_from(&fly, params);
  if (out->storage == TG_CI_STORAGE_STORED)
    out->stored = (out->pairs - out->dimension) / 2 + out->dimension;
  tg_ci_fly_free(&fly);
  return TG_OK;
}

static tg_status store(tg_ci_operator* op, uint64_t memory) {
  tg_ci_operator_facts* f = &op->facts;
  if (f->tables + f->stored_bytes > memory)
    return tg_fail(TG_ERR_MACHINE,
                   "the stored matrix needs %.2f GB, and %.2f GB may be used; use --storage fly, "
                   "which needs %.2f GB",
                   (double)(f->tables + f->stored_bytes) * 1e-9, (double)memory * 1e-9,
                   (double)f->tables * 1e-9);
  TG_TRY(tg_ci_stored_by_jumps(&op->fly, false, op->threads, &op->stored));
  f->stored = op->stored.count + op->stored.dimension;
  f->stored_bytes = op->stored.bytes;
  tg_ci_fly_free(&op->fly); /* its tables are not needed any more */
  tg_memory_trim();
  return TG_OK;
}

tg_status tg_ci_operator_create(const tg_ci_hamiltonian* h, const tg_ci_space* space,
                                const tg_ci_operator_params* params, tg_ci_operator** out) {
  tg_status status = TG_OK;
  tg_ci_operator* op = NULL;
  TG_TRY(TG_ALLOCATE(1, "operator", &op));
  op->threads = threads_of(params);
  TG_TRY_GOTO(params->few ? tg_ci_fly_make_nonzero(h, space, op->threads, &op->fly)
                          : tg_ci_fly_make(h, space, op->threads, &op->fly),
              failed);
  op->facts = facts_from(&op->fly, params);
  if (op->facts.storage == TG_CI_STORAGE_STORED) TG_TRY_GOTO(store(op, memory_of(params)), failed);
  *out = op;
  return TG_OK;
failed:
  tg_ci_operator_free(op);
  return status;
}

void tg_ci_operator_free(tg_ci_operator* op) {
  if (!op) return;
  tg_ci_fly_free(&op->fly);
  tg_ci_stored_free(&op->stored);
  tg_free(op);
}

tg_status tg_ci_operator_apply(const tg_ci_operator* op, int k, const double* x, double* y,
                               size_t ld) {
  if (op->facts.storage == TG_CI_STORAGE_STORED) {
    tg_ci_stored_apply(&op->stored, op->threads, k, x, y, ld);
    return TG_OK;
  }
  return tg_ci_fly_apply_block(&op->fly, op->threads, k, x, y, ld);
}

const double* tg_ci_operator_diagonal(const tg_ci_operator* op) {
  return op->facts.storage == TG_CI_STORAGE_STORED ? op->stored.diagonal : op->fly.diagonal;
}

tg_ci_operator_facts tg_ci_operator_facts_of(const tg_ci_operator* op) { return op->facts; }
