/* SPDX-License-Identifier: Apache-2.0 */
/* How a run begins, and what happens to the whole basis at once. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/timer.h"
#include "eigen/small.h"
#include "eigen/solver.h"

double tg_eigen_tolerance(const tg_eigen_solver* solver) {
  const tg_eigen_params* params = &solver->params;
  const double asked =
      params->tolerance > 0 ? params->tolerance : params->relative * solver->state.scale;
  /* a product is not exact to more than this */
  return fmax(asked, 64 * DBL_EPSILON * solver->state.scale);
}

double tg_eigen_enough(const tg_eigen_solver* solver) { return 0.9 * tg_eigen_tolerance(solver); }

bool tg_eigen_spans(const tg_eigen_solver* solver) {
  return (size_t)(solver->state.locked + solver->state.active) == tg_eigen_total(&solver->problem);
}

int tg_eigen_converged(const tg_eigen_solver* solver, int count) {
  const double enough = tg_eigen_enough(solver);
  const bool spans = tg_eigen_spans(solver);
  int i = 0;
  while (i < count && i < solver->looked && (spans || solver->residual[i] <= enough)) i++;
  return i;
}

/* Two PEs of different processors or libraries may get vectors of different signs, or mixed
 * otherwise where values are close; so one PE's count: the others add zeros to them. */
static tg_status share_small(tg_eigen_solver* solver, int p) {
  const tg_eigen_problem* problem = &solver->problem;
  const size_t count = (size_t)(p - 1) * (size_t)solver->most + (size_t)p;
  if (!problem->reduce || p == 0) return TG_OK;
  if (!tg_eigen_leads(problem)) {
    memset(solver->s, 0, count * sizeof *solver->s);
    memset(solver->theta, 0, (size_t)p * sizeof *solver->theta);
  }
  TG_TRY(problem->reduce(problem->context, TG_EIGEN_SUM, solver->s, count));
  return problem->reduce(problem->context, TG_EIGEN_SUM, solver->theta, (size_t)p);
}

tg_status tg_eigen_small(tg_eigen_solver* solver) {
  const double begin = tg_time_now();
  const int p = (int)solver->state.active, ld = solver->most;
  for (int i = 0; i < p; i++)
    memcpy(solver->s + (size_t)i * (size_t)ld, solver->t + (size_t)i * (size_t)ld,
           (size_t)p * sizeof *solver->s);
  TG_TRY(tg_eigen_agree(&solver->problem, tg_small_eigen(p, solver->s, ld, solver->theta)));
  TG_TRY(share_small(solver, p));
  solver->looked = p;
  if (p > 0 && !(solver->theta[p - 1] <= solver->state.largest))
    solver->state.largest = solver->theta[p - 1];
  solver->times.small += tg_time_now() - begin;
  return TG_OK;
}

void tg_eigen_restart(tg_eigen_solver* solver, int keep, bool next) {
  const double begin = tg_time_now();
  tg_eigen_state* state = &solver->state;
  const int p = (int)state->active, locked = (int)state->locked;
  double* active = tg_eigen_column(solver, locked);
  tg_rows_times(&solver->rows, active, p, solver->s, solver->most, keep, active);
  if (solver->images)
    tg_rows_times(&solver->rows, solver->images, p, solver->s, solver->most, keep, solver->images);
  if (!next) state->width = solver->handed = 0;
  for (int i = 0; i < state->width && keep < p; i++)
    tg_rows_copy(&solver->rows, tg_eigen_column(solver, locked + p + i),
                 tg_eigen_column(solver, locked + keep + i));
  for (int j = 0; j < keep; j++)
    for (int i = 0; i < keep; i++)
      solver->t[(size_t)j * (size_t)solver->most + (size_t)i] = i == j ? solver->theta[j] : 0;
  state->active = keep;
  state->window = 0;
  state->last = 0;
  solver->looked = 0;
  solver->times.rotate += tg_time_now() - begin;
}

/* Weights that favour rows of low diagonal, so that Davidson starts near the lowest states; no row
 * is left out. They fall with the fourth power: 10^8 rows that are high up together are longer than
 * the few low ones where weights fall with the second. */
static tg_status favour_low(tg_eigen_solver* solver, int count) {
  const double* diagonal = solver->problem.diagonal;
  double low, high;
  TG_TRY(tg_rows_bounds(&solver->rows, diagonal, &low, &high));
  if (solver->problem.reduce) {
    TG_TRY(solver->problem.reduce(solver->problem.context, TG_EIGEN_MIN, &low, 1));
    TG_TRY(solver->problem.reduce(solver->problem.context, TG_EIGEN_MAX, &high, 1));
  }
  if (!(high > low)) return TG_OK;
  for (int j = 0; j < count; j++)
    tg_rows_favour(&solver->rows, diagonal, low, 1e-3 * (high - low),
                   tg_eigen_column(solver, (int)solver->state.locked + j));
  return TG_OK;
}

tg_status tg_eigen_begin_random(tg_eigen_solver* solver, int count) {
  const int locked = (int)solver->state.locked;
  const double begin = tg_time_now();
  tg_eigen_draw(solver, locked, count);
  if (solver->images && solver->problem.diagonal) TG_TRY(favour_low(solver, count));
  int left;
  TG_TRY(tg_eigen_orthonormalise(solver, locked, count, NULL, &left));
  solver->state.width = left;
  solver->state.random = left;
  solver->times.other += tg_time_now() - begin;
  return TG_OK;
}

tg_status tg_eigen_begin(tg_eigen_solver* solver) {
  const tg_eigen_params* params = &solver->params;
  const size_t total = tg_eigen_total(&solver->problem);
  int width = params->block;
  if (solver->images) { /* Davidson takes all it is given */
    const int most = solver->most < TG_EIGEN_BLOCK ? solver->most : TG_EIGEN_BLOCK;
    const int given = params->start_count > 0 ? params->start_count : params->states;
    if (given > width) width = given < most ? given : most;
  }
  if ((size_t)width > total) width = (int)total;
  if (params->start_count == 0) return tg_eigen_begin_random(solver, width);

  const double begin = tg_time_now();
  /* Lanczos has one chain for each column: states to be found share them */
  const size_t ld = params->start_ld ? params->start_ld : solver->rows.used;
  const int chains = params->start_count < width ? params->start_count : width;
  double* other =
      tg_eigen_column(solver, solver->columns - 1); /* no chain: there is a block more */
  const double minus = -1;
  for (int j = 0; j < params->start_count; j++) {
    double* x = tg_eigen_column(solver, j % chains);
    const double* start = params->start + (size_t)j * ld;
    TG_TRY(tg_rows_put(&solver->rows, start, solver->rows.used, j < chains ? x : other));
    if (j >= chains) tg_rows_subtract(&solver->rows, x, 1, other, 1, &minus, 1);
  }
  double* norm = solver->h;
  TG_TRY(tg_rows_norms(&solver->rows, solver->basis, chains, norm));
  for (int j = 0; j < chains; j++)
    if (!isfinite(norm[j]))
      return tg_fail(TG_ERR_INPUT, "a start vector has a value that is no finite number");
  width = solver->images ? chains : width;
  tg_eigen_draw(solver, chains, width - chains);
  int left;
  TG_TRY(tg_eigen_orthonormalise(solver, 0, width, NULL, &left));
  solver->state.width = left;
  solver->state.random = left > chains ? left - chains : 0;
  solver->times.other += tg_time_now() - begin;
  return TG_OK;
}
