/* SPDX-License-Identifier: Apache-2.0 */
/* Block Davidson.
 *
 * The basis grows by corrections to the lowest Ritz vectors that have not converged:
 *
 *   r = A x - theta x,   t = (D - theta)^-1 r,   D the diagonal of A
 *
 * made orthogonal to the basis (E. Davidson, J. Comput. Phys. 17 (1975) 87; blocks: B. Liu, 1978).
 * Where A is mostly diagonal that takes a few products for each state, far fewer than Lanczos;
 * where it is not, it is a dear way of doing Lanczos. The images A V are kept, so the residuals are
 * explicit; that doubles the memory. When the basis is full the lowest Ritz vectors take its place.
 */
#include <math.h>
#include <string.h>

#include "base/timer.h"
#include "eigen/solver.h"

static double* image(const tg_eigen_solver* solver, int i) {
  return solver->images + (size_t)i * solver->rows.ld;
}

/* The columns of t that belong to the c newest images, and their rows. */
static tg_status extend(tg_eigen_solver* solver, int p, int c) {
  const double* active = tg_eigen_column(solver, (int)solver->state.locked);
  const size_t ldt = (size_t)solver->most;
  double* h = solver->h;
  TG_TRY(tg_rows_inner(&solver->rows, active, p + c, image(solver, p), c, h, p + c));
  for (int j = 0; j < c; j++)
    for (int i = 0; i < p + c; i++) {
      double value = h[(size_t)j * (size_t)(p + c) + (size_t)i];
      if (i >= p) { /* both halves of the diagonal block were computed */
        const double other = h[(size_t)(i - p) * (size_t)(p + c) + (size_t)(p + j)];
        if (fabs(value - other) > 1e-5 * solver->state.scale)
          return tg_fail(TG_ERR_NUMERICS,
                         "the operator is not symmetric: x.Ay = %.10g but y.Ax = %.10g for two "
                         "vectors of the basis; check its matrix elements",
                         value, other);
        value = 0.5 * (value + other);
      }
      solver->t[(size_t)(p + j) * ldt + (size_t)i] = value;
      solver->t[(size_t)i * ldt + (size_t)(p + j)] = value;
    }
  return TG_OK;
}

/* r = A x - theta x of Ritz vector i, into the column `at`. */
static tg_status residual_of(tg_eigen_solver* solver, int i, int at) {
  const int p = (int)solver->state.active;
  const double* s = solver->s + (size_t)i * (size_t)solver->most;
  double* r = tg_eigen_column(solver, at);
  for (int k = 0; k < p; k++) solver->h[k] = solver->theta[i] * s[k];
  tg_rows_times(&solver->rows, solver->images, p, s, p, 1, r);
  tg_rows_subtract(&solver->rows, r, 1, tg_eigen_column(solver, (int)solver->state.locked), p,
                   solver->h, p);
  if (solver->state.locked > 0) { /* the complement's operator */
    const int locked = (int)solver->state.locked;
    TG_TRY(tg_rows_inner(&solver->rows, solver->basis, locked, r, 1, solver->h, locked));
    tg_rows_subtract(&solver->rows, r, 1, solver->basis, locked, solver->h, locked);
  }
  return tg_rows_norms(&solver->rows, r, 1, &solver->residual[i]);
}

static tg_status correct(tg_eigen_solver* solver, int at, int count, const double* theta) {
  const tg_rows* rows = &solver->rows;
  const tg_eigen_problem* problem = &solver->problem;
  double* r = tg_eigen_column(solver, at);
  if (problem->precondition)
    return problem->precondition(problem->context, count, theta, r, rows->ld);
  if (!problem->diagonal) return TG_OK;
  const double least = 1e-4 * solver->state.scale; /* no row is to take over a correction */
  for (int j = 0; j < count; j++)
    tg_rows_divide(rows, problem->diagonal, theta[j], least, r + (size_t)j * rows->ld);
  return TG_OK;
}

/* The Ritz values whose vectors are wanted. */
static int targets(const tg_eigen_solver* solver) {
  const int p = (int)solver->state.active;
  const int count =
      solver->state.phase == TG_EIGEN_CHECK ? tg_eigen_below(solver) + 1 : solver->params.states;
  return count < p ? count : p;
}

/* The next block from the residuals of what has not converged, lowest first. */
static tg_status next_block(tg_eigen_solver* solver) {
  tg_eigen_state* state = &solver->state;
  const int p = (int)state->active, at = (int)state->locked + p, wanted = targets(solver);
  const double enough = tg_eigen_enough(solver);
  double theta[TG_EIGEN_BLOCK];
  int kept = 0;
  for (int i = 0; i < p; i++) solver->residual[i] = INFINITY;
  for (int i = 0; i < wanted && kept < solver->params.block; i++) {
    TG_TRY(residual_of(solver, i, at + kept));
    theta[kept] = solver->theta[i];
    kept += solver->residual[i] > enough;
  }
  state->width = 0;
  if (tg_eigen_spans(solver)) return TG_OK;
  if (kept == 0 && (wanted == p || state->phase == TG_EIGEN_CHECK)) {
    /* too few yet, or as far as this leads */
    tg_eigen_draw(solver, at, 1);
    kept = 1;
  } else {
    const double begin = tg_time_now();
    const tg_status status = correct(solver, at, kept, theta);
    solver->times.other += tg_time_now() - begin;
    TG_TRY(status);
  }
  int left;
  TG_TRY(tg_eigen_orthonormalise(solver, at, kept, NULL, &left));
  state->width = left;
  return TG_OK;
}

tg_status tg_davidson_step(tg_eigen_solver* solver) {
  tg_eigen_state* state = &solver->state;
  const double apart = solver->times.product + solver->times.small + solver->times.other;
  const double begin = tg_time_now();
  for (int left = (int)state->width; left > 0;) {
    const int c = left < solver->params.block ? left : solver->params.block;
    const int p = (int)state->active;
    TG_TRY(tg_eigen_apply(solver, (int)state->locked + p, c, image(solver, p)));
    TG_TRY(extend(solver, p, c));
    state->active += c;
    left -= c;
  }
  state->width = 0;
  state->steps++;
  TG_TRY(tg_eigen_small(solver));
  TG_TRY(next_block(solver));
  solver->times.orthogonal +=
      tg_time_now() - begin -
      (solver->times.product + solver->times.small + solver->times.other - apart);
  return TG_OK;
}
