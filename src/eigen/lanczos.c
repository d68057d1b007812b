/* SPDX-License-Identifier: Apache-2.0 */
/* Block Lanczos with thick restart.
 *
 * A step multiplies the next block N and makes the product orthogonal to all of the basis:
 *
 *   A N = V_prev b^T + N a + N' b'        N' the block after, b' upper triangular
 *
 * (C. Lanczos, J. Res. Nat. Bur. Stand. 45 (1950) 255; blocks: G. Golub and R. Underwood, 1977). In
 * exact arithmetic only the block before, V_prev, and N itself have a part in the product; rounding
 * adds the others as soon as a Ritz value converges, so a second pass is over the whole basis (full
 * reorthogonalisation: C. Paige showed in 1971 what happens without). Both passes together are
 * Gram-Schmidt done twice at the price of once.
 *
 * When the basis is full, the Ritz vectors of the lowest Ritz values Y take its place, and the next
 * block stays: A Y = Y theta + N (b s), which is a Lanczos relation again, with all of Y in the
 * place of V_prev for one step (K. Wu and H. Simon, SIAM J. Matrix Anal. Appl. 22 (2000) 602).
 *
 * The residual of a Ritz vector V s is N b s_last: its norm needs no vector of length n. */
#include <math.h>
#include <string.h>

#include "base/timer.h"
#include "eigen/solver.h"

static tg_status not_symmetric(double one, double other) {
  return tg_fail(TG_ERR_NUMERICS,
                 "the operator is not symmetric: x.Ay = %.10g but y.Ax = %.10g for two vectors of "
                 "the basis; check its matrix elements",
                 one, other);
}

/* The first pass, over the window; the coefficients go to the columns of t. */
static tg_status first_pass(tg_eigen_solver* solver, double* y, double* h) {
  const tg_eigen_state* state = &solver->state;
  const int begin = (int)(state->locked + state->window), c = (int)state->width;
  const int count = (int)(state->locked + state->active) + c - begin;
  const double* window = tg_eigen_column(solver, begin);
  TG_TRY(tg_rows_inner(&solver->rows, window, count, y, c, solver->h, count));
  tg_rows_subtract(&solver->rows, y, c, window, count, solver->h, count);
  for (int j = 0; j < c; j++)
    memcpy(h + (size_t)j * (size_t)solver->columns + begin, solver->h + (size_t)j * (size_t)count,
           (size_t)count * sizeof *h);
  return TG_OK;
}

/* What is known already must come out again: b of the step before, and a = a^T. */
static tg_status check_symmetry(const tg_eigen_solver* solver, const double* h) {
  const tg_eigen_state* state = &solver->state;
  const int c = (int)state->width, last = (int)state->last;
  const double allowed = 1e-5 * state->scale;
  const double* at = h + state->locked + state->active;
  for (int j = 0; j < c; j++) {
    const double* column = at + (size_t)j * (size_t)solver->columns;
    for (int i = 0; i < j; i++)
      if (fabs(column[i] - at[(size_t)i * (size_t)solver->columns + (size_t)j]) > allowed)
        return not_symmetric(column[i], at[(size_t)i * (size_t)solver->columns + (size_t)j]);
    /* a window that is wider than the block before follows a restart */
    for (int i = 0; state->active - state->window == last && i < last; i++) {
      const double known = solver->b[(size_t)i * TG_EIGEN_BLOCK + (size_t)j];
      if (fabs(column[i - last] - known) > allowed) return not_symmetric(column[i - last], known);
    }
  }
  return TG_OK;
}

/* The new columns of t from those of h, and their rows. */
static void extend(tg_eigen_solver* solver, const double* h) {
  const tg_eigen_state* state = &solver->state;
  const int p = (int)state->active, c = (int)state->width;
  const size_t ldt = (size_t)solver->most, ldh = (size_t)solver->columns;
  for (int j = 0; j < c; j++)
    for (int i = 0; i < p + c; i++) {
      double value = h[(size_t)j * ldh + (size_t)(state->locked + i)];
      if (i >= p)
        value = 0.5 * (value + h[(size_t)(i - p) * ldh + (size_t)(state->locked + p + j)]);
      solver->t[(size_t)(p + j) * ldt + (size_t)i] = value;
      solver->t[(size_t)i * ldt + (size_t)(p + j)] = value;
    }
}

/* Pass by pass, with a wait for each: where the vectors are the host's, and wherever one pass shows
 * that more are needed. */
static tg_status step_by_passes(tg_eigen_solver* solver, double* h, int* left) {
  const tg_eigen_state* state = &solver->state;
  const int at = (int)(state->locked + state->active), c = (int)state->width;
  double* y = tg_eigen_column(solver, at + c);
  TG_TRY(tg_eigen_apply(solver, at, c, y));
  const double begin = tg_time_now();
  TG_TRY(first_pass(solver, y, h));
  TG_TRY(check_symmetry(solver, h));
  const tg_eigen_parts parts = {h, solver->columns, solver->b, TG_EIGEN_BLOCK, state->scale};
  TG_TRY(tg_eigen_orthonormalise(solver, at + c, c, &parts, left));
  solver->times.orthogonal += tg_time_now() - begin;
  return TG_OK;
}

/* The same with one wait in all: the vectors' own step. */
static tg_status step_at_once(tg_eigen_solver* solver, double* h, int* left) {
  const tg_eigen_state* state = &solver->state;
  const int at = (int)(state->locked + state->active), c = (int)state->width, next = at + c;
  const int begin = (int)(state->locked + state->window), window = next - begin;
  const size_t ldh = (size_t)solver->columns;
  double* y = tg_eigen_column(solver, next);
  tg_rows_step step = {.basis = solver->basis,
                       .begin = begin,
                       .at = next,
                       .c = c,
                       .scale = state->scale,
                       .first = solver->h,
                       .second = solver->h + (size_t)window * (size_t)c};
  const double start = tg_time_now();
  TG_TRY(tg_eigen_multiply(solver, at, c, y));
  const double multiplied = tg_time_now();
  TG_TRY(solver->rows.ops->step(&solver->rows, &step));
  tg_eigen_add_times(solver, start, multiplied);
  TG_TRY(tg_eigen_check_product(solver, at, c, y, step.norm, false));
  for (int j = 0; j < c; j++)
    memcpy(h + (size_t)j * ldh + begin, step.first + (size_t)j * (size_t)window,
           (size_t)window * sizeof *h);
  TG_TRY(check_symmetry(solver, h));
  for (int j = 0; j < c; j++)
    for (int i = 0; i < next; i++)
      h[(size_t)j * ldh + (size_t)i] += step.second[(size_t)j * (size_t)next + (size_t)i];
  if (!step.done) {
    const double again = tg_time_now();
    const tg_eigen_parts parts = {h, solver->columns, solver->b, TG_EIGEN_BLOCK, state->scale};
    TG_TRY(tg_eigen_settle_block(solver, next, c, step.size, &parts, left));
    solver->times.orthogonal += tg_time_now() - again;
    return TG_OK;
  }
  for (int j = 0; j < c; j++)
    memcpy(solver->b + (size_t)j * TG_EIGEN_BLOCK, step.r + (size_t)j * (size_t)c,
           (size_t)c * sizeof *step.r);
  *left = c;
  solver->handed = step.out ? c : 0;
  return TG_OK;
}

tg_status tg_lanczos_step(tg_eigen_solver* solver) {
  tg_eigen_state* state = &solver->state;
  const int c = (int)state->width;
  double* h = solver->coefficients;
  memset(h, 0, (size_t)solver->columns * (size_t)c * sizeof *h);
  int left;
  const bool sums_there = !solver->problem.reduce || solver->problem.sum_there;
  if (solver->rows.ops->step && c <= TG_ROWS_STEP && sums_there)
    TG_TRY(step_at_once(solver, h, &left));
  else
    TG_TRY(step_by_passes(solver, h, &left));
  extend(solver, h);
  state->window = state->active;
  state->active += c;
  state->last = c;
  state->width = left;
  state->steps++;
  solver->looked = 0;
  return TG_OK;
}

tg_status tg_lanczos_look(tg_eigen_solver* solver) {
  const int p = (int)solver->state.active, last = (int)solver->state.last;
  TG_TRY(tg_eigen_small(solver));
  for (int i = 0; i < p; i++) {
    const double* end = solver->s + (size_t)i * (size_t)solver->most + (p - last);
    double sum = 0;
    for (int k = 0; k < last; k++) {
      double part = 0;
      for (int j = 0; j < last; j++) part += solver->b[(size_t)j * TG_EIGEN_BLOCK + k] * end[j];
      sum += part * part;
    }
    solver->residual[i] = sqrt(sum);
  }
  return TG_OK;
}
