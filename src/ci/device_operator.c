/* SPDX-License-Identifier: Apache-2.0 */
#include "ci/device_operator.h"

#include <stdio.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "base/memory.h"
#include "base/timer.h"
#include "ci/device_fly.h"
#include "ci/device_mixed.h"
#include "ci/device_stored.h"
#include "ci/product_fly.h"
#include "ci/slices.h"
#include "ci/stored_tables.h"
#include "device/device.h"
#include "eigen/vectors.h"

enum { SCRATCH_COLUMNS = 2 };

struct tg_ci_device_operator {
  tg_ci_device_operator_facts facts;
  tg_ci_device_fly* fly;
  tg_ci_device_stored* stored;
  tg_ci_device_mixed* mixed;
  tg_ci_slices* slices;
  tg_eigen_problem problem; /* whose rows the vectors here have */
  tg_rows rows;
  double* diagonal;
  double* scratch; /* x and y of products of the host's vectors */
};

static int threads_of(const tg_ci_device_operator_params* params) {
#ifdef _OPENMP
  return params->threads > 0 ? params->threads : omp_get_max_threads();
#else
  (void)params;
  return 1;
#endif
}

static bool by_acc(const tg_ci_device_operator_params* params) {
  return params->place == TG_EIGEN_ACC;
}

static double gb(uint64_t bytes) { return 1e-9 * (double)bytes; }

/* ---- the tables on the host ---- */

/* Elements that are zero take no time where nearly all are, unless they are to be stored. */
static bool takes_few(const tg_ci_hamiltonian* h, const tg_ci_device_operator_params* params) {
  const bool stored = params->storage == TG_CI_STORAGE_STORED || by_acc(params);
  return params->few || (!stored && tg_ci_hamiltonian_is_sparse(h));
}

tg_status tg_ci_device_tables(const tg_ci_hamiltonian* h, const tg_ci_space* space,
                              const tg_ci_device_operator_params* params, tg_ci_fly* out) {
  const int threads = threads_of(params);
  const bool few = takes_few(h, params);
  const tg_ci_operator_params host = {
      .storage = few ? TG_CI_STORAGE_FLY : params->storage, .threads = threads, .few = few};
  const uint64_t free = tg_memory_free();
  const uint64_t most = params->host_memory ? params->host_memory : free - free / 5;
  uint64_t bytes, making;
  TG_TRY(tg_ci_operator_tables(h, space, &host, &bytes, &making));
  const uint64_t diagonal = space->dimension * sizeof(double); /* it is made on the device */
  bytes -= diagonal < bytes ? diagonal : bytes;
  making -= diagonal < making ? diagonal : making;
  if (making > most)
    return tg_fail(TG_ERR_MACHINE,
                   "the tables of the Hamiltonian need about %.3g GB of the host's memory, and "
                   "%.3g GB while they are made; %.3g GB may be used; truncate the space (fewer "
                   "orbitals, --nmax, --excitations) or allow more memory",
                   gb(bytes), gb(making), gb(most));
  return tg_ci_fly_tables(h, space, threads, few, out);
}

/* ---- what fits ---- */

/* A PE's own columns are kept apart where that costs nothing: elements with values of their own
 * have steps of 16 bits, more of which are too short in two matrices than in one (docs/ci-gpu.md).
 */
static tg_ci_device_stored_params stored_params(const tg_ci_hamiltonian* h, const tg_ci_fly* fly,
                                                const tg_ci_device_operator_params* params) {
  return (tg_ci_device_stored_params){.fly = fly,
                                      .h = h,
                                      .builder = TG_CI_DEVICE_BY_JUMPS,
                                      .float_elements = params->float_elements,
                                      .device = params->device,
                                      .stream = params->stream,
                                      .rows = params->rows,
                                      .own = tg_ci_flat_may_code(fly) ? params->rows : NULL};
}

/* "; with --elements float ... would do", where it would. */
static void say_floats(const tg_ci_hamiltonian* h, const tg_ci_fly* fly,
                       const tg_ci_device_operator_params* params, char* out, size_t size) {
  tg_ci_device_stored_params matrix = stored_params(h, fly, params);
  uint64_t making;
  *out = 0;
  if (params->float_elements || params->storage != TG_CI_STORAGE_STORED || fly->few) return;
  matrix.float_elements = true;
  const uint64_t bytes = params->fewest + tg_ci_device_stored_bytes(&matrix, &making);
  if (bytes + making <= params->memory)
    snprintf(out, size, "; --elements float needs %.4g GB", gb(bytes + making));
}

static tg_status no_room(const tg_ci_hamiltonian* h, const tg_ci_fly* fly,
                         const tg_ci_device_operator_params* params,
                         const tg_ci_device_operator_facts* f) {
  const bool stored = params->storage == TG_CI_STORAGE_STORED;
  const uint64_t matrix = f->stored_bytes + f->making_bytes;
  const uint64_t needed = params->fewest + (stored ? matrix : f->fly_bytes);
  char other[200] = "", floats[100];
  say_floats(h, fly, params, floats, sizeof floats);
  if (stored && params->fewest + f->fly_bytes <= params->memory)
    snprintf(other, sizeof other, "; --storage fly needs %.4g GB, and mixed stores what fits",
             gb(params->fewest + f->fly_bytes));
  return tg_fail(TG_ERR_MACHINE,
                 "GPU %d: %.4g GB are needed, and %.4g GB may be used: %.4g GB for the fewest "
                 "vectors that do, %.4g GB for %s%s%s; ask for fewer --states, truncate the space "
                 "(--nmax, --excitations, --occupation), use more --gpus, or use --backend omp",
                 params->device, gb(needed), gb(params->memory), gb(params->fewest),
                 gb(needed - params->fewest),
                 stored ? "the stored matrix and making it" : "the tables of the Hamiltonian",
                 floats, other);
}

/* Bytes that a matrix of some rows may take: vectors come first, as many as are wanted. */
static uint64_t mixed_memory(const tg_ci_device_operator_params* params,
                             const tg_ci_device_operator_facts* f) {
  const bool all = params->usual + f->fly_bytes <= params->memory;
  return params->memory - (all ? params->usual : params->fewest);
}

/* OpenACC stores the matrix, or refuses. */
static tg_status choose_stored(const tg_ci_fly* fly, const tg_ci_device_operator_params* params,
                               tg_ci_device_operator_facts* f) {
  const tg_ci_storage asked = f->host.storage;
  f->stored_bytes = tg_ci_slices_bytes(fly, false, &f->making_bytes);
  f->host.storage = TG_CI_STORAGE_STORED;
  if (asked == TG_CI_STORAGE_FLY || asked == TG_CI_STORAGE_MIXED || fly->few)
    return tg_fail(TG_ERR_INPUT, "--backend acc stores the matrix; --storage %s goes with others",
                   tg_ci_storage_name(asked));
  const uint64_t needed = params->fewest + f->stored_bytes + f->making_bytes;
  if (needed <= params->memory) return TG_OK;
  return tg_fail(
      TG_ERR_MACHINE,
      "--backend acc: about %.4g GB are needed, and %.4g GB may be used: %.4g GB for the "
      "fewest vectors that do, %.4g GB for the stored matrix and making it; ask for "
      "fewer --states, truncate the space (--nmax, --excitations, --occupation), or use "
      "--backend omp",
      gb(needed), gb(params->memory), gb(params->fewest), gb(needed - params->fewest));
}

/* By the model, of this PE's rows. One without rows has no reason to prefer anything. */
static bool fly_is_faster(const tg_ci_fly* fly, const tg_ci_device_operator_params* params,
                          tg_ci_device_operator_facts* f) {
  const uint64_t first = params->rows ? params->rows->first : 0;
  const uint64_t end = params->rows ? params->rows->end : f->host.dimension;
  tg_ci_storage_count(fly, first, end, &f->work);
  f->times =
      tg_ci_storage_estimate(&f->work, params->width > 0 ? params->width : 1, params->products);
  return end > first && tg_ci_storage_prefers_fly(&f->times);
}

/* Bytes, times, and the choice that follows from them. */
static tg_status choose(const tg_ci_hamiltonian* h, const tg_ci_fly* fly,
                        const tg_ci_device_operator_params* params,
                        tg_ci_device_operator_facts* f) {
  f->host = (tg_ci_operator_facts){.storage = params->storage,
                                   .dimension = fly->space->dimension,
                                   .pairs = fly->pairs,
                                   .lane_pairs = fly->lane_pairs,
                                   .tables = fly->bytes - fly->space->dimension * sizeof(double)};
  if (by_acc(params)) return choose_stored(fly, params, f);
  f->fly_bytes = tg_ci_device_fly_bytes(fly);
  bool faster = true;
  if (!fly->few) {
    const tg_ci_device_stored_params matrix = stored_params(h, fly, params);
    f->stored_bytes = tg_ci_device_stored_bytes(&matrix, &f->making_bytes);
    faster = fly_is_faster(fly, params, f);
  }
  tg_ci_storage* storage = &f->host.storage;
  const uint64_t matrix = f->stored_bytes + f->making_bytes;
  const bool fits = f->stored_bytes > 0 && params->usual + matrix <= params->memory;
  if (fly->few)
    *storage = TG_CI_STORAGE_FLY;
  else if (*storage == TG_CI_STORAGE_AUTO)
    *storage = fits && !(faster && params->usual + f->fly_bytes <= params->memory)
                   ? TG_CI_STORAGE_STORED
                   : TG_CI_STORAGE_FLY;
  const uint64_t needed =
      params->fewest + (*storage == TG_CI_STORAGE_STORED ? matrix : f->fly_bytes);
  return needed <= params->memory ? TG_OK : no_room(h, fly, params, f);
}

tg_status tg_ci_device_operator_estimate(const tg_ci_hamiltonian* h, const tg_ci_space* space,
                                         const tg_ci_device_operator_params* params,
                                         tg_ci_device_operator_facts* out) {
  tg_ci_fly own = {0};
  *out = (tg_ci_device_operator_facts){0};
  if (!params->fly) TG_TRY(tg_ci_device_tables(h, space, params, &own));
  const tg_status status = choose(h, params->fly ? params->fly : &own, params, out);
  tg_ci_fly_free(&own);
  return status;
}

/* ---- made ---- */

static void shape_rows(tg_ci_device_operator* op, const tg_ci_space* space,
                       const tg_ci_device_operator_params* params) {
  op->problem = (tg_eigen_problem){.n = (size_t)space->dimension,
                                   .place = by_acc(params) ? TG_EIGEN_ACC : TG_EIGEN_CUDA,
                                   .device = params->device,
                                   .stream = params->stream};
  tg_rows_shape(op->problem.n, &op->rows);
  op->rows.threads = 1;
  op->rows.problem = &op->problem;
}

static tg_status make_by_acc(const tg_ci_fly* fly, const tg_ci_device_operator_params* params,
                             tg_ci_device_operator* op) {
  tg_ci_device_operator_facts* f = &op->facts;
  tg_ci_slices_backend backend;
  TG_TRY(tg_ci_slices_find("acc", &backend));
  TG_TRY(tg_rows_acc(&op->rows.ops));
  TG_TRY(op->rows.ops->open(&op->rows, SCRATCH_COLUMNS, SCRATCH_COLUMNS));
  const tg_ci_slices_params matrix = {.fly = fly, .memory = params->memory - params->fewest};
  TG_TRY(tg_ci_slices_create(&backend, &matrix, &op->slices));
  const tg_ci_slices_facts made = tg_ci_slices_query(op->slices);
  f->stored_bytes = made.bytes;
  f->product_bytes = made.product_bytes;
  f->stored_elements = made.elements;
  f->host.stored = made.elements + f->host.dimension;
  return TG_OK;
}

static tg_status make_on_device(const tg_ci_hamiltonian* h, const tg_ci_fly* fly,
                                const tg_ci_device_operator_params* params,
                                tg_ci_device_operator* op) {
  tg_ci_device_operator_facts* f = &op->facts;
  if (by_acc(params)) return make_by_acc(fly, params, op);
  TG_TRY(tg_rows_cuda(&op->rows.ops));
  TG_TRY(op->rows.ops->open(&op->rows, SCRATCH_COLUMNS, SCRATCH_COLUMNS));
  if (f->host.storage == TG_CI_STORAGE_FLY)
    return tg_ci_device_fly_create(fly, params->device, params->stream, params->rows, &op->fly);
  const tg_ci_device_stored_params matrix = stored_params(h, fly, params);
  tg_ci_device_stored_facts made;
  if (f->host.storage == TG_CI_STORAGE_MIXED) {
    tg_ci_device_mixed_facts mixed;
    TG_TRY(tg_ci_device_mixed_create(&matrix, mixed_memory(params, f), &op->mixed));
    tg_ci_device_mixed_query(op->mixed, &mixed);
    made = mixed.stored;
    f->stored_bytes = mixed.bytes;
  } else {
    TG_TRY(tg_ci_device_stored_create(&matrix, &op->stored));
    tg_ci_device_stored_query(op->stored, &made);
    f->stored_bytes = made.bytes;
  }
  f->product_bytes = made.product_bytes;
  f->stored_elements = made.elements;
  f->rounding = made.rounding;
  f->host.stored = made.elements + f->host.dimension;
  return TG_OK;
}

tg_status tg_ci_device_operator_create(const tg_ci_hamiltonian* h, const tg_ci_space* space,
                                       const tg_ci_device_operator_params* params,
                                       tg_ci_device_operator** out) {
  tg_status status = TG_OK;
  tg_ci_fly own = {0};
  const tg_ci_fly* fly = params->fly ? params->fly : &own;
  tg_ci_device_operator* op = NULL;
  if (!by_acc(params) && tg_device_count() == 0)
    return tg_fail(TG_ERR_MACHINE, "configuration interaction on a GPU: %s", tg_device_reason());
  TG_TRY(TG_ALLOCATE(1, "operator", &op));
  shape_rows(op, space, params);
  const double start = tg_time_now();
  if (!params->fly) TG_TRY_GOTO(tg_ci_device_tables(h, space, params, &own), failed);
  const double made = tg_time_now();
  TG_TRY_GOTO(choose(h, fly, params, &op->facts), failed);
  TG_TRY_GOTO(make_on_device(h, fly, params, op), failed);
  op->facts.tables_s = made - start;
  op->facts.device_s = tg_time_now() - made;
  tg_ci_fly_free(&own);
  *out = op;
  return TG_OK;
failed:
  tg_ci_fly_free(&own);
  tg_ci_device_operator_free(op);
  return status;
}

uint64_t tg_ci_device_operator_mark(const tg_ci_device_operator_facts* facts,
                                    const tg_ci_device_operator_params* params) {
  return params->float_elements && facts->host.storage != TG_CI_STORAGE_FLY;
}

void tg_ci_device_operator_free(tg_ci_device_operator* op) {
  if (!op) return;
  if (op->rows.ops) {
    op->rows.ops->release(&op->rows, op->diagonal);
    op->rows.ops->release(&op->rows, op->scratch);
    op->rows.ops->close(&op->rows);
  }
  tg_ci_device_fly_destroy(&op->fly);
  tg_ci_device_stored_destroy(&op->stored);
  tg_ci_device_mixed_destroy(&op->mixed);
  tg_ci_slices_destroy(&op->slices);
  tg_free(op);
}

tg_status tg_ci_device_operator_apply(tg_ci_device_operator* op, int k, const double* x, size_t ldx,
                                      double* y, size_t ldy) {
  if (op->slices) return tg_ci_slices_apply(op->slices, k, x, ldx, y, ldy);
  if (op->stored) return tg_ci_device_stored_apply(op->stored, k, x, ldx, y, ldy);
  if (op->mixed) return tg_ci_device_mixed_apply(op->mixed, k, x, ldx, y, ldy);
  return tg_ci_device_fly_apply(op->fly, k, x, ldx, y, ldy);
}

tg_status tg_ci_device_operator_apply_local(tg_ci_device_operator* op, int k, const double* x,
                                            size_t ldx, double* y, size_t ldy) {
  if (op->stored) return tg_ci_device_stored_apply_local(op->stored, k, x, ldx, y, ldy);
  if (op->mixed) return tg_ci_device_mixed_apply_local(op->mixed, k, x, ldx, y, ldy);
  return op->fly ? tg_ci_device_fly_apply_local(op->fly, k, x, ldx, y, ldy) : TG_OK;
}

tg_status tg_ci_device_operator_apply_rest(tg_ci_device_operator* op, int k, const double* x,
                                           size_t ldx, double* y, size_t ldy) {
  if (op->stored) return tg_ci_device_stored_apply_rest(op->stored, k, x, ldx, y, ldy);
  if (op->mixed) return tg_ci_device_mixed_apply_rest(op->mixed, k, x, ldx, y, ldy);
  if (op->fly) return tg_ci_device_fly_apply_rest(op->fly, k, x, ldx, y, ldy);
  return tg_ci_device_operator_apply(op, k, x, ldx, y, ldy);
}

const tg_rows* tg_ci_device_operator_rows(const tg_ci_device_operator* op) { return &op->rows; }

/* A vector of the host and its product, as the columns of the scratch. */
static tg_status multiply_here(tg_ci_device_operator* op, const double* x) {
  const tg_rows* rows = &op->rows;
  if (!op->scratch)
    TG_TRY(rows->ops->allocate(rows, SCRATCH_COLUMNS, "a vector and its product", &op->scratch));
  TG_TRY(tg_rows_put(rows, x, rows->used, op->scratch));
  return tg_ci_device_operator_apply(op, 1, op->scratch, rows->ld, op->scratch + rows->ld,
                                     rows->ld);
}

tg_status tg_ci_device_operator_apply_here(tg_ci_device_operator* op, const double* x, double* y) {
  TG_TRY(multiply_here(op, x));
  return tg_rows_get(&op->rows, op->scratch + op->rows.ld, op->rows.used, y);
}

tg_status tg_ci_device_operator_expect(tg_ci_device_operator* op, const double* v, double* value,
                                       double* spread) {
  TG_TRY(multiply_here(op, v));
  double* product = op->scratch + op->rows.ld;
  TG_TRY(tg_rows_inner(&op->rows, op->scratch, 1, product, 1, value, 1));
  if (!spread) return TG_OK;
  tg_rows_subtract(&op->rows, product, 1, op->scratch, 1, value, 1);
  return tg_rows_norms(&op->rows, product, 1, spread);
}

tg_status tg_ci_device_operator_diagonal(tg_ci_device_operator* op, const double** out) {
  if (op->slices) {
    *out = tg_ci_slices_diagonal(op->slices);
    return TG_OK;
  }
  if (!op->diagonal) {
    TG_TRY(op->rows.ops->allocate(&op->rows, 1, "the diagonal", &op->diagonal));
    TG_TRY(op->stored  ? tg_ci_device_stored_diagonal(op->stored, op->diagonal)
           : op->mixed ? tg_ci_device_mixed_diagonal(op->mixed, op->diagonal)
                       : tg_ci_device_fly_diagonal(op->fly, op->diagonal));
  }
  *out = op->diagonal;
  return TG_OK;
}

tg_ci_device_operator_facts tg_ci_device_operator_facts_of(const tg_ci_device_operator* op) {
  return op->facts;
}
