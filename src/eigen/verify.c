/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a run: residuals from fresh products, and the result. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/timer.h"
#include "eigen/solver.h"

/* Residuals of the states in columns 0 ... states - 1; t becomes their matrix of the operator.
 * Those above the tolerance go to the columns behind, as many as a block has; *failed: how many
 * there are in all. */
static tg_status fresh_residuals(tg_eigen_solver* solver, int* failed, int* kept) {
  const int states = solver->params.states, block = solver->params.block;
  const size_t ldt = (size_t)solver->most;
  *failed = *kept = 0;
  for (int i = 0; i < states;) {
    int c = states - i < block ? states - i : block;
    double* y = tg_eigen_column(solver, states + block);
    TG_TRY(tg_eigen_apply(solver, i, c, y));
    const double begin = tg_time_now();
    TG_TRY(tg_rows_inner(&solver->rows, solver->basis, states, y, c, solver->t + (size_t)i * ldt,
                         solver->most));
    for (int j = 0; j < c; j++) {
      double* r = y + (size_t)j * solver->rows.ld;
      const double value = solver->t[(size_t)(i + j) * ldt + (size_t)(i + j)];
      tg_rows_subtract(&solver->rows, r, 1, tg_eigen_column(solver, i + j), 1, &value, 1);
      solver->values[i + j] = value;
      TG_TRY(tg_rows_norms(&solver->rows, r, 1, &solver->norms[i + j]));
      if (solver->norms[i + j] <= tg_eigen_tolerance(solver)) continue;
      *failed += 1;
      if (*kept == block) continue;
      tg_rows_copy(&solver->rows, r, tg_eigen_column(solver, states + *kept));
      *kept += 1;
    }
    solver->times.orthogonal += tg_time_now() - begin;
    i += c;
  }
  for (int j = 0; j < states; j++)
    for (int i = 0; i < j; i++) {
      double* upper = &solver->t[(size_t)j * ldt + (size_t)i];
      double* lower = &solver->t[(size_t)i * ldt + (size_t)j];
      *upper = *lower = 0.5 * (*upper + *lower);
    }
  return TG_OK;
}

/* A bound of the error of value i: the residual, or its square over the distance to the others. */
static double error_bound(const tg_eigen_solver* solver, int i) {
  const double r = solver->norms[i], value = solver->values[i];
  double gap = INFINITY;
  for (int j = 0; j < solver->params.states; j++)
    if (j != i) gap = fmin(gap, fabs(solver->values[j] - value) - solver->norms[j]);
  if (!solver->state.whole_space)
    gap = isfinite(solver->state.above)
              ? fmin(gap, solver->state.above - solver->state.above_error - value)
              : 0;
  return gap > r ? r * r / gap : r;
}

static tg_status make_result(tg_eigen_solver* solver) {
  const int states = solver->params.states;
  const tg_eigen_state* state = &solver->state;
  tg_eigen_result* out = &solver->result;
  const double begin = tg_time_now();
  TG_TRY(TG_ALLOCATE((size_t)states, "eigenvalues", &out->values));
  TG_TRY(TG_ALLOCATE((size_t)states, "residuals", &out->residuals));
  TG_TRY(TG_ALLOCATE((size_t)states, "error bounds", &out->errors));
  double* into = solver->params.into;
  const size_t used = solver->rows.used, ld = into ? solver->params.into_ld : solver->rows.ld;
  if (!into) {
    TG_TRY(TG_ALLOCATE_UNTOUCHED((size_t)states * ld, "eigenvectors", &out->vectors));
    into = out->vectors;
  }
  tg_status status = TG_OK;
  bool* taken = NULL;
  TG_TRY(TG_ALLOCATE((size_t)states, "the order of the states", &taken));
  for (int i = 0; i < states && status == TG_OK;
       i++) { /* rounding may have changed the order of neighbours */
    int low = -1;
    for (int j = 0; j < states; j++)
      if (!taken[j] && (low < 0 || solver->values[j] < solver->values[low])) low = j;
    taken[low] = true;
    out->values[i] = solver->values[low];
    out->residuals[i] = solver->norms[low];
    out->errors[i] = error_bound(solver, low);
    status = tg_rows_get(&solver->rows, tg_eigen_column(solver, low), used, into + (size_t)i * ld);
    if (out->vectors) memset(into + (size_t)i * ld + used, 0, (ld - used) * sizeof *into);
  }
  tg_free(taken);
  TG_TRY(status);
  solver->times.rotate += tg_time_now() - begin;
  out->states = states;
  out->ld = ld;
  out->tolerance = tg_eigen_tolerance(solver);
  out->products = state->products;
  out->passes = state->passes;
  out->restarts = (int)state->restarts;
  out->block = solver->params.block;
  out->basis = solver->most;
  out->method = solver->params.method;
  out->check = (tg_eigen_completeness){
      .complete = state->certain && !state->unsure &&
                  (state->whole_space || solver->params.check != TG_EIGEN_CHECK_OFF),
      .whole_space = state->whole_space != 0,
      .runs = (int)state->check_runs,
      .found = (int)state->check_found,
      .products = state->check_products,
      .probability = state->probability,
      .above = state->above};
  return TG_OK;
}

/* The run goes on from the states in the first columns. */
static tg_status again(tg_eigen_solver* solver, int failed, int kept) {
  tg_eigen_state* state = &solver->state;
  const int states = solver->params.states, block = solver->params.block;
  int left = states;
  state->phase = TG_EIGEN_MAIN;
  state->locked = state->active = state->window = state->last = 0;
  state->next_look = 1;
  solver->looked = 0;
  if (solver->images) {
    /* multiplies all of them once more */
  } else if (failed == kept) { /* a Lanczos relation: A X = X t + residuals */
    TG_TRY(tg_eigen_orthonormalise(solver, states, kept, NULL, &left));
    state->active = states;
    state->next_look = states + 1;
  } else { /* more residuals than the block has room for: the states share chains, as at a start */
    const double add = -1;
    for (int i = block; i < states; i++)
      tg_rows_subtract(&solver->rows, tg_eigen_column(solver, i % block), 1,
                       tg_eigen_column(solver, i), 1, &add, 1);
    TG_TRY(tg_eigen_orthonormalise(solver, 0, block, NULL, &left));
    state->certain = 0;
    state->random = 0;
    state->steps = 0;
  }
  state->width = left;
  return TG_OK;
}

tg_status tg_eigen_verify(tg_eigen_solver* solver) {
  tg_eigen_state* state = &solver->state;
  const int states = solver->params.states;
  int failed, kept;
  TG_TRY(fresh_residuals(solver, &failed, &kept));
  state->known = states;
  state->converged = states - failed;
  if (failed == 0) {
    TG_TRY(make_result(solver));
    state->phase = TG_EIGEN_DONE;
    return TG_OK;
  }
  double worst = 0;
  for (int i = 0; i < states; i++) worst = fmax(worst, solver->norms[i]);
  if (++state->refused > 5)
    return tg_fail(TG_ERR_NUMERICS,
                   "the residuals do not get below %.3g (the largest stays at %.3g): the operator "
                   "is not exact or not symmetric enough; ask for less",
                   tg_eigen_tolerance(solver), worst);
  return again(solver, failed, kept);
}
