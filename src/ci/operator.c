/* SPDX-License-Identifier: Apache-2.0 */
#include "ci/operator.h"

#include <stdbool.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "base/memory.h"
#include "ci/product_fly.h"
#include "ci/stored.h"
#include "ci/stored_part.h"

struct tg_ci_operator {
  tg_ci_operator_facts facts;
  tg_ci_distribution split; /* for several PEs */
  int threads;
  tg_ci_fly fly; /* the diagonal is the stored matrix's where that is used */
  tg_ci_stored stored;
};

const char* tg_ci_storage_name(tg_ci_storage storage) {
  static const char* const names[TG_CI_STORAGES] = {"auto", "stored", "fly", "mixed"};
  return names[storage];
}

const char* tg_ci_storage_words(tg_ci_storage storage) {
  static const char* const words[TG_CI_STORAGES] = {
      "stored or computed", "stored", "computed on the fly", "stored in part, others on the fly"};
  return words[storage];
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
  const uint64_t free = tg_memory_free();
  if (params->memory) return params->memory;
  return free == UINT64_MAX ? free : (uint64_t)(0.8 * (double)free);
}

/* Bytes of the matrix that this process would store, of the PEs' the largest parts. */
static uint64_t stored_bytes(const tg_ci_fly* fly, const tg_ci_operator_params* params,
                             const tg_ci_distribution* split) {
  const uint64_t dimension = fly->space->dimension;
  uint64_t sum = 0, most = 0;
  if (!split->pe_count) return tg_ci_stored_bytes(dimension, fly->pairs, false);
  for (int p = 0; p < split->pe_count; p++) {
    const uint64_t rows = split->first[p + 1] - split->first[p];
    const uint64_t mine = tg_ci_stored_part_bytes(rows, dimension, split->elements[p]);
    sum += mine;
    if (mine > most) most = mine;
  }
  const int local = params->local > 0 ? params->local : split->pe_count;
  return local == split->pe_count ? sum : most * (uint64_t)local;
}

static tg_status split_for(const tg_ci_fly* fly, const tg_ci_operator_params* params,
                           tg_ci_distribution* out) {
  return params->pes > 1 ? tg_ci_distribution_make(fly, params->pes, out) : TG_OK;
}

/* What the tables tell, and the choice that follows. */
static tg_ci_operator_facts facts_from(const tg_ci_fly* fly, const tg_ci_operator_params* params,
                                       const tg_ci_distribution* split) {
  tg_ci_operator_facts f = {.storage = params->storage,
                            .dimension = fly->space->dimension,
                            .pairs = fly->pairs,
                            .lane_pairs = fly->lane_pairs,
                            .tables = fly->bytes};
  f.stored_bytes = stored_bytes(fly, params, split);
  if (fly->few) f.storage = TG_CI_STORAGE_FLY;
  if (f.storage == TG_CI_STORAGE_AUTO) {
    const bool fits = f.tables + f.stored_bytes <= memory_of(params);
    f.storage = 2 * f.lane_pairs > f.pairs || !fits ? TG_CI_STORAGE_FLY : TG_CI_STORAGE_STORED;
  }
  return f;
}

/* Elements that are zero take no time where nearly all are, unless they are to be stored. */
static bool takes_few(const tg_ci_hamiltonian* h, const tg_ci_operator_params* params) {
  return params->few || (params->storage != TG_CI_STORAGE_STORED && tg_ci_hamiltonian_is_sparse(h));
}

tg_status tg_ci_operator_tables(const tg_ci_hamiltonian* h, const tg_ci_space* space,
                                const tg_ci_operator_params* params, uint64_t* bytes,
                                uint64_t* making) {
  tg_ci_fly_size size;
  TG_TRY(tg_ci_fly_estimate(h, space, threads_of(params), takes_few(h, params), &size));
  *bytes = size.bytes;
  *making = size.peak;
  return TG_OK;
}

static tg_status check_tables(const tg_ci_hamiltonian* h, const tg_ci_space* space,
                              const tg_ci_operator_params* params, uint64_t* making) {
  const uint64_t memory = memory_of(params);
  uint64_t bytes;
  TG_TRY(tg_ci_operator_tables(h, space, params, &bytes, making));
  if (bytes <= memory && *making <= memory + params->later) return TG_OK;
  return tg_fail(TG_ERR_MACHINE,
                 "the tables of the Hamiltonian need about %.3g GB, and %.3g GB while they are "
                 "made; %.3g GB and %.3g GB may be used; truncate the space (fewer orbitals, "
                 "--nmax, --excitations) or allow more memory",
                 1e-9 * (double)bytes, 1e-9 * (double)*making, 1e-9 * (double)memory,
                 1e-9 * (double)(memory + params->later));
}

tg_status tg_ci_operator_estimate(const tg_ci_hamiltonian* h, const tg_ci_space* space,
                                  const tg_ci_operator_params* params, tg_ci_operator_facts* out) {
  tg_ci_fly fly;
  tg_ci_distribution split = {0};
  const int threads = threads_of(params);
  const bool few = takes_few(h, params);
  uint64_t making;
  TG_TRY(check_tables(h, space, params, &making));
  TG_TRY(tg_ci_fly_tables(h, space, threads, few, &fly));
  const tg_status status = split_for(&fly, params, &split);
  if (status != TG_OK) {
    tg_ci_fly_free(&fly);
    return status;
  }
  *out = facts_from(&fly, params, &split);
  out->making = making;
  if (out->storage == TG_CI_STORAGE_STORED)
    out->stored = (out->pairs - out->dimension) / 2 + out->dimension;
  tg_ci_fly_free(&fly);
  if (params->split)
    *params->split = split;
  else
    tg_ci_distribution_free(&split);
  return TG_OK;
}

static tg_status check_matrix(const tg_ci_operator_facts* f, uint64_t memory) {
  if (f->tables + f->stored_bytes > memory)
    return tg_fail(TG_ERR_MACHINE,
                   "the stored matrix needs %.3g GB, and %.3g GB may be used; use --storage fly, "
                   "which needs %.3g GB",
                   (double)(f->tables + f->stored_bytes) * 1e-9, (double)memory * 1e-9,
                   (double)f->tables * 1e-9);
  return TG_OK;
}

static tg_status store(tg_ci_operator* op) {
  tg_ci_operator_facts* f = &op->facts;
  TG_TRY(tg_ci_stored_by_jumps(&op->fly, false, op->threads, &op->stored));
  f->stored = op->stored.count + op->stored.dimension;
  f->stored_bytes = op->stored.bytes;
  tg_ci_fly_free(&op->fly); /* its tables are not needed any more */
  tg_memory_trim();
  return TG_OK;
}

/* The diagonal each of several PEs makes for its rows. */
static tg_status make_tables(const tg_ci_hamiltonian* h, const tg_ci_space* space,
                             const tg_ci_operator_params* params, tg_ci_operator* op) {
  const bool few = takes_few(h, params);
  if (params->pes > 1) return tg_ci_fly_tables(h, space, op->threads, few, &op->fly);
  return few ? tg_ci_fly_make_nonzero(h, space, op->threads, &op->fly)
             : tg_ci_fly_make(h, space, op->threads, &op->fly);
}

tg_status tg_ci_operator_create(const tg_ci_hamiltonian* h, const tg_ci_space* space,
                                const tg_ci_operator_params* params, tg_ci_operator** out) {
  tg_status status = TG_OK;
  tg_ci_operator* op = NULL;
  TG_TRY(TG_ALLOCATE(1, "operator", &op));
  op->threads = threads_of(params);
  uint64_t making;
  TG_TRY_GOTO(check_tables(h, space, params, &making), failed);
  TG_TRY_GOTO(make_tables(h, space, params, op), failed);
  TG_TRY_GOTO(split_for(&op->fly, params, &op->split), failed);
  op->facts = facts_from(&op->fly, params, &op->split);
  op->facts.making = making;
  if (op->facts.storage == TG_CI_STORAGE_STORED) {
    TG_TRY_GOTO(check_matrix(&op->facts, memory_of(params)), failed);
    if (params->pes <= 1) TG_TRY_GOTO(store(op), failed);
  }
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
  tg_ci_distribution_free(&op->split);
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

const tg_ci_distribution* tg_ci_operator_distribution(const tg_ci_operator* op) {
  return &op->split;
}

const tg_ci_fly* tg_ci_operator_fly(const tg_ci_operator* op) { return &op->fly; }

void tg_ci_operator_set_storage(tg_ci_operator* op, tg_ci_storage storage) {
  op->facts.storage = storage;
}

void tg_ci_operator_drop_tables(tg_ci_operator* op) {
  tg_ci_fly_free(&op->fly);
  tg_memory_trim();
}
