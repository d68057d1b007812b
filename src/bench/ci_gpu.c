/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/ci_gpu.h"

#include <math.h>
#include <stdlib.h>

#include "ci/input/input.h"
#include "ci/solve_device.h"
#include "device/device.h"
#include "eigen/vectors.h"

const int tg_bench_ci_widths[TG_BENCH_CI_WIDTHS] = {1, 2, 4};

enum { MOST_WIDTH = 4, FMAS_A_CLOCK = 64 };

static int by_size(const void* p, const void* q) {
  const double a = *(const double*)p, b = *(const double*)q;
  return a < b ? -1 : a > b;
}

static double median_of(double* values, int count) {
  qsort(values, (size_t)count, sizeof *values, by_size);
  const int middle = count / 2;
  return count % 2 ? values[middle] : 0.5 * (values[middle - 1] + values[middle]);
}

/* ---- products ---- */

static tg_status floors(const tg_bench_ci_gpu_params* params, tg_bench_ci_gpu_result* r) {
  tg_device_info gpu;
  TG_TRY(tg_device_query(params->gpus > 1 ? 0 : params->device, &gpu));
  r->bytes_per_s = 2e3 * gpu.memory_clock_khz * gpu.memory_bus_bits / 8.0;
  r->fmas_per_s = 1e3 * gpu.clock_khz * FMAS_A_CLOCK * gpu.multiprocessor_count;
  const double n = (double)r->facts.host.dimension;
  for (int w = 0; w < TG_BENCH_CI_WIDTHS; w++) {
    const double k = tg_bench_ci_widths[w];
    /* of several, bytes are of the one with most; each reads all of x, and has its rows of y */
    const double vectors = 8 * n * k * (1 + 1.0 / params->gpus);
    const double read = ((double)r->facts.product_bytes + vectors) / r->bytes_per_s;
    const double formed = k * (double)r->facts.host.pairs / (r->fmas_per_s * params->gpus);
    r->floor_s[w] = r->facts.host.storage == TG_CI_STORAGE_STORED ? read : fmax(read, formed);
  }
  return TG_OK;
}

/* Random vectors, and where their products go, as columns of x and y. */
static tg_status time_products(tg_ci_device_operator* op, const tg_rows* rows, double* x, double* y,
                               int repeats, tg_bench_ci_gpu_result* r) {
  static const double long_s = 1; /* a product that is not repeated */
  double seconds[TG_BENCH_CI_REPEATS] = {0}, norm[MOST_WIDTH];
  for (int c = 0; c < MOST_WIDTH; c++)
    tg_rows_random(rows, 1, (uint64_t)c, x + (size_t)c * rows->ld);
  for (int w = 0; w < TG_BENCH_CI_WIDTHS; w++) {
    const int k = tg_bench_ci_widths[w];
    for (int i = -1; i < repeats; i++) { /* the first one warms up */
      rows->ops->mark(rows, 0);
      TG_TRY(tg_ci_device_operator_apply(op, k, x, rows->ld, y, rows->ld));
      rows->ops->mark(rows, 1);
      TG_TRY(tg_rows_norms(rows, y, k, norm)); /* waits */
      if (i < 0 && rows->ops->between(rows) > long_s) repeats = 1;
      if (i >= 0) seconds[i] = rows->ops->between(rows);
    }
    r->product_s[w] = median_of(seconds, repeats);
    if (r->product_s[w] > 2 * long_s) break; /* wider ones are left out */
  }
  return TG_OK;
}

static tg_status measure_products(const tg_ci_problem* problem,
                                  const tg_bench_ci_gpu_params* params, tg_bench_ci_gpu_result* r) {
  tg_status status = TG_OK;
  tg_ci_device_operator* op = NULL;
  tg_ci_space* space = NULL;
  double* x = NULL;
  tg_ci_device_room room;
  TG_TRY(tg_ci_device_room_query(params->device, &room));
  tg_ci_space_params wanted = problem->space;
  wanted.symmetry = (int)problem->sectors[0];
  TG_TRY(tg_ci_space_make(problem->h, &wanted, &space));
  if (params->gpus > 1) {
    status = tg_bench_ci_gpus_products(problem->h, space, params, r);
    if (status == TG_OK) status = floors(params, r);
    tg_ci_space_free(space);
    return status;
  }
  const uint64_t vectors = 2 * MOST_WIDTH * (space->dimension + 512) * sizeof(double);
  const tg_ci_device_operator_params of_op = {.storage = params->storage,
                                              .device = params->device,
                                              .memory = room.usable,
                                              .fewest = vectors,
                                              .usual = vectors,
                                              .threads = params->threads};
  tg_eigen_problem shape = {
      .n = (size_t)space->dimension, .place = TG_EIGEN_CUDA, .device = params->device};
  tg_rows rows = {.problem = &shape, .threads = 1};
  tg_rows_shape(shape.n, &rows);
  TG_TRY_GOTO(tg_ci_device_operator_create(problem->h, space, &of_op, &op), done);
  r->facts = tg_ci_device_operator_facts_of(op);
  TG_TRY_GOTO(tg_rows_cuda(&rows.ops), done);
  TG_TRY_GOTO(rows.ops->open(&rows, 2 * MOST_WIDTH, 2 * MOST_WIDTH), done);
  TG_TRY_GOTO(rows.ops->allocate(&rows, 2 * MOST_WIDTH, "vectors and their products", &x), done);
  TG_TRY_GOTO(time_products(op, &rows, x, x + MOST_WIDTH * rows.ld, params->repeats, r), done);
  status = floors(params, r);
done:
  if (rows.ops) {
    rows.ops->release(&rows, x);
    rows.ops->close(&rows);
  }
  tg_ci_device_operator_free(op);
  tg_ci_space_free(space);
  return status;
}

/* ---- whole solves ---- */

static void note(const tg_ci_spectrum* spectrum, tg_bench_ci_gpu_result* out) {
  const tg_ci_sector* s = &spectrum->sectors[0];
  const tg_eigen_result* e = &s->result;
  out->solved = true;
  out->need = s->need;
  out->block = e->block;
  out->basis = e->basis;
  out->restarts = e->restarts;
  out->products = e->products;
  out->passes = e->passes;
  out->setup_s = s->setup_s;
  out->solve_s = s->solve_s;
  out->labels_s = s->labels_s;
  out->total_s = spectrum->seconds;
  out->multiplied_s = e->times.product;
  out->orthogonal_s = e->times.orthogonal;
  out->rotate_s = e->times.rotate;
  out->small_s = e->times.small;
  out->lowest = spectrum->levels[0].energy;
  out->error = e->errors[0];
  out->complete = e->check.complete;
}

static tg_status check(const tg_bench_ci_case* what, const tg_bench_ci_gpu_result* r,
                       const char* unit) {
  if (isnan(what->lowest) || fabs(r->lowest - what->lowest) <= what->exact + r->error) return TG_OK;
  return tg_fail(TG_ERR_NUMERICS,
                 "%s: the lowest energy is %.8f %s, where %.8f was expected; is the input the one "
                 "of this case (%s)?",
                 what->name, r->lowest, unit, what->lowest, what->what);
}

static tg_status solve_all(const tg_bench_ci_case* what, const tg_bench_ci_gpu_params* params,
                           const tg_ci_problem* problem, tg_bench_ci_gpu_result* out) {
  double seconds[TG_BENCH_CI_REPEATS] = {0};
  tg_ci_solve_params solve = tg_ci_solve_defaults();
  const int repeats = what->length == TG_BENCH_CI_GPU ? 1 : params->repeats;
  solve.states = what->states;
  solve.storage = params->storage;
  solve.threads = params->threads;
  solve.backend = TG_CI_CUDA;
  solve.device = params->device;
  solve.gpus = params->gpus;
  /* spaces that fill a GPU: the levels of a run are wanted, not the run after it */
  if (what->length == TG_BENCH_CI_GPU) solve.check = TG_EIGEN_CHECK_OFF;
  for (int i = 0; i < repeats; i++) {
    tg_ci_spectrum spectrum = {0};
    tg_bench_ci_gpu_result now = *out;
    TG_TRY(tg_ci_solve(problem, &solve, &spectrum));
    note(&spectrum, &now);
    tg_ci_spectrum_free(&spectrum);
    TG_TRY(check(what, &now, tg_ci_problem_unit(problem)));
    seconds[i] = now.total_s;
    if (i == 0 || now.total_s < out->total_s) *out = now;
  }
  out->median_s = median_of(seconds, repeats);
  return TG_OK;
}

tg_status tg_bench_ci_gpu(const tg_bench_ci_case* what, const tg_bench_ci_gpu_params* params,
                          tg_bench_ci_gpu_result* out) {
  tg_status status = TG_OK;
  const tg_ci_source source = {.path = params->input};
  tg_ci_problem_params numbers = tg_ci_problem_defaults();
  tg_ci_input input = {0};
  tg_ci_problem problem = {0};
  tg_bench_ci_gpu_result result = {.gpus = params->gpus};
  numbers.protons = what->protons;
  numbers.neutrons = what->neutrons;
  numbers.nmax = what->nmax;
  numbers.irrep = what->irrep;
  numbers.frozen = params->frozen;
  numbers.active = params->active;
  numbers.excitations = params->excitations;
  TG_TRY(tg_ci_input_read(&source, 1, &input));
  TG_TRY_GOTO(tg_ci_problem_make(&input, &numbers, &problem), done);
  TG_TRY_GOTO(measure_products(&problem, params, &result), done);
  if (params->solve) TG_TRY_GOTO(solve_all(what, params, &problem, &result), done);
  *out = result;
done:
  tg_ci_problem_free(&problem);
  tg_ci_input_free(&input);
  return status;
}
