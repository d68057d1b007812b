/* SPDX-License-Identifier: Apache-2.0 */
#include "ci/label.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "ci/device_expect.h"
#include "ci/pes.h"
#include "ci/spin.h"
#include "eigen/small.h"

enum { MOST_CLOSE = 32 /* levels parted at once */ };

/* Something to measure: an operator, or S^2 by lookups. */
typedef struct quantity {
  tg_ci_operator* op;         /* the host's; NULL: */
  tg_ci_device_operator* gpu; /* a GPU's; NULL, too: S^2 */
  const tg_ci_space* space;
  int threads;
} quantity;

static tg_status times(const quantity* q, const double* x, double* y) {
  if (q->gpu) return tg_ci_device_operator_apply_here(q->gpu, x, y);
  if (q->op) return tg_ci_operator_apply(q->op, 1, x, y, (size_t)q->space->dimension);
  return tg_ci_spin_squared_apply(q->space, q->threads, x, y);
}

static double dot(size_t n, const double* x, const double* y) {
  double sum = 0;
  for (size_t k = 0; k < n; k++) sum += x[k] * y[k];
  return sum;
}

/* v_a = sum_b v_b turn[b,a] of the `count` states from first; energies and bounds with them. */
static void turn_states(tg_ci_sector* s, int first, int count, const double* turn) {
  const size_t n = (size_t)s->space->dimension, ld = s->result.ld;
  double* v = s->result.vectors + (size_t)first * ld;
  double old[MOST_CLOSE], energy[MOST_CLOSE] = {0}, residual[MOST_CLOSE] = {0},
                          error[MOST_CLOSE] = {0};
  for (size_t k = 0; k < n; k++) {
    for (int b = 0; b < count; b++) old[b] = v[(size_t)b * ld + k];
    for (int a = 0; a < count; a++) {
      double sum = 0;
      for (int b = 0; b < count; b++) sum += old[b] * turn[a * count + b];
      v[(size_t)a * ld + k] = sum;
    }
  }
  const double* was = s->result.values + first;
  for (int a = 0; a < count; a++) {
    for (int b = 0; b < count; b++) energy[a] += turn[a * count + b] * turn[a * count + b] * was[b];
    for (int b = 0; b < count; b++) {
      const double off = fabs(was[b] - energy[a]);
      residual[a] += fabs(turn[a * count + b]) * (s->result.residuals[first + b] + off);
      error[a] = fmax(error[a], s->result.errors[first + b] + off);
    }
  }
  memcpy(s->result.values + first, energy, (size_t)count * sizeof *energy);
  memcpy(s->result.residuals + first, residual, (size_t)count * sizeof *residual);
  memcpy(s->result.errors + first, error, (size_t)count * sizeof *error);
}

/* States of levels closer than the tolerance may be any mixture: those are taken that have a J (or
 * S) of their own, the eigenvectors of J^2 among them. y: [dimension]. */
static tg_status part_close(tg_ci_sector* s, const quantity* j_squared, double* y) {
  const size_t n = (size_t)s->space->dimension, ld = s->result.ld;
  const double* energy = s->result.values;
  double j2[MOST_CLOSE * MOST_CLOSE], values[MOST_CLOSE];
  for (int first = 0, end; first < s->result.states; first = end) {
    for (end = first + 1; end < s->result.states && end - first < MOST_CLOSE; end++)
      if (energy[end] - energy[end - 1] > 2 * s->result.tolerance) break;
    const int count = end - first;
    double mixed = 0;
    for (int a = 0; count > 1 && a < count; a++) {
      TG_TRY(times(j_squared, s->result.vectors + (size_t)(first + a) * ld, y));
      for (int b = 0; b <= a; b++) {
        const double element = dot(n, s->result.vectors + (size_t)(first + b) * ld, y);
        j2[a * count + b] = j2[b * count + a] = element;
        if (b < a) mixed = fmax(mixed, fabs(element));
      }
    }
    if (mixed < 1e-6) continue;
    TG_TRY(tg_small_eigen(count, j2, count, values));
    turn_states(s, first, count, j2);
  }
  return TG_OK;
}

static bool any_close(const tg_ci_sector* s) {
  const double* energy = s->result.values;
  for (int i = 1; i < s->result.states; i++)
    if (energy[i] - energy[i - 1] <= 2 * s->result.tolerance) return true;
  return false;
}

static tg_status part_on_gpu(tg_ci_sector* s, const tg_ci_hamiltonian* o,
                             const tg_ci_device_operator_params* params) {
  quantity q = {.space = s->space, .threads = params->threads};
  double* y = NULL;
  tg_status status = TG_OK;
  TG_TRY_GOTO(tg_ci_device_operator_create(o, s->space, params, &q.gpu), done);
  TG_TRY_GOTO(TG_ALLOCATE((size_t)s->space->dimension, "a vector", &y), done);
  status = part_close(s, &q, y);
done:
  tg_free(y);
  tg_ci_device_operator_free(q.gpu);
  return status;
}

/* As `expect`, of all labels, where products are on GPUs. */
static tg_status expect_on_gpus(const tg_ci_problem* p, const tg_ci_solve_params* params,
                                tg_ci_label_tables* tables, tg_ci_sector* s, double* values) {
  const bool one = params->gpus <= 1 || tg_ci_pes_are_processes(params->transport);
  tg_ci_device_operator_params gpu = {
      .few = true, .threads = params->threads, .device = params->device, .memory = UINT64_MAX};
  tg_ci_expected list[TG_CI_LABELS];
  tg_ci_fly own[TG_CI_LABELS] = {0};
  tg_status status = TG_OK;
  int count = 0;
  for (int k = 0; k < TG_CI_LABELS; k++) {
    const tg_ci_hamiltonian* o = p->label[k];
    if (!o) continue;
    gpu.fly = tg_ci_label_tables_of(tables, k);
    if (!gpu.fly) TG_TRY_GOTO(tg_ci_device_tables(o, s->space, &gpu, &own[k]), done);
    if (!gpu.fly) gpu.fly = &own[k];
    const int device = one ? gpu.device : count % params->gpus;
    list[count++] = (tg_ci_expected){.o = o,
                                     .tables = gpu.fly,
                                     .op = tg_ci_label_tables_operator(tables, k, device),
                                     .device = device,
                                     .value = values + k};
    if (k == TG_CI_LABEL_J && any_close(s)) TG_TRY_GOTO(part_on_gpu(s, o, &gpu), done);
    gpu.fly = NULL;
  }
  status = tg_ci_device_expect(list, count, s->space, &gpu, one ? 1 : params->gpus, &s->result,
                               TG_CI_LABELS);
done:
  for (int k = 0; k < TG_CI_LABELS; k++) tg_ci_fly_free(&own[k]);
  return status;
}

/* <v|O|v> of each state into values, at a distance of TG_CI_LABELS; o NULL: S^2. part: first make
 * the states ones of this quantity where levels are close. */
static tg_status expect(tg_ci_sector* s, const tg_ci_solve_params* params,
                        const tg_ci_hamiltonian* o, bool part, double* values) {
  const size_t n = (size_t)s->space->dimension;
  const tg_ci_operator_params host = {.few = true, .threads = params->threads};
  quantity q = {.space = s->space, .threads = params->threads};
  double* y = NULL;
  tg_status status = TG_OK;
  if (o) TG_TRY(tg_ci_operator_create(o, s->space, &host, &q.op));
  TG_TRY_GOTO(TG_ALLOCATE(n, "a vector", &y), done);
  if (part) TG_TRY_GOTO(part_close(s, &q, y), done);
  for (int i = 0; i < s->result.states; i++) {
    const double* v = s->result.vectors + (size_t)i * s->result.ld;
    TG_TRY_GOTO(times(&q, v, y), done);
    values[i * TG_CI_LABELS] = dot(n, v, y);
  }
done:
  tg_free(y);
  tg_ci_operator_free(q.op);
  return status;
}

/* An energy is a sum over the space, in which the rounding errors of single terms add up like steps
 * in arbitrary directions: no bound by residuals is smaller. */
static double rounding_of(const tg_ci_sector* s, size_t state) {
  return DBL_EPSILON * fabs(s->result.values[state]) * sqrt((double)s->space->dimension);
}

tg_status tg_ci_label_levels(const tg_ci_problem* p, const tg_ci_solve_params* params,
                             tg_ci_label_tables* tables, size_t sector, tg_ci_spectrum* spectrum) {
  tg_ci_sector* s = &spectrum->sectors[sector];
  const size_t count = (size_t)s->result.states;
  double* values = NULL;
  tg_status status = TG_OK;
  TG_TRY(TG_ALLOCATE(count * TG_CI_LABELS, "labels of levels", &values));
  for (size_t i = 0; i < count * TG_CI_LABELS; i++) values[i] = NAN;
  const bool on_gpus = params->backend == TG_CI_CUDA;
  for (int k = 0; k < TG_CI_LABELS; k++)
    if ((p->label[k] && !on_gpus) || (!p->label[k] && k == TG_CI_LABEL_J && p->spin_by_lookup))
      TG_TRY_GOTO(expect(s, params, p->label[k], k == TG_CI_LABEL_J, values + k), done);
  if (on_gpus) TG_TRY_GOTO(expect_on_gpus(p, params, tables, s, values), done);
  for (size_t i = 0; i < count; i++) {
    tg_ci_level* level = &spectrum->levels[spectrum->level_count++];
    *level = (tg_ci_level){.sector = sector,
                           .number = i,
                           .symmetry = s->need.symmetry,
                           .energy = s->result.values[i],
                           .residual = s->result.residuals[i],
                           .error = fmax(s->result.errors[i], rounding_of(s, i))};
    memcpy(level->squared, values + i * TG_CI_LABELS, sizeof level->squared);
  }
done:
  tg_free(values);
  return status;
}
