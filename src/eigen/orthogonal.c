/* SPDX-License-Identifier: Apache-2.0 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/timer.h"
#include "eigen/solver.h"

double* tg_eigen_column(const tg_eigen_solver* solver, int i) {
  return solver->basis + (size_t)i * solver->rows.ld;
}

/* Which row of which product is no number: the message names the first. */
static tg_status not_finite(const tg_eigen_solver* solver, int count, const double* y) {
  for (int i = 0; i < count; i++) {
    const int64_t row = tg_rows_find_nan(&solver->rows, y + (size_t)i * solver->rows.ld);
    if (row >= 0)
      return tg_fail(TG_ERR_NUMERICS,
                     "the operator's product number %lld has a value in row %lld that is no finite "
                     "number; check its matrix elements",
                     (long long)solver->state.products - count + i + 1, (long long)row);
  }
  return tg_fail(
      TG_ERR_NUMERICS, "the operator's product number %lld %s; check its matrix elements",
      (long long)solver->state.products,
      solver->problem.reduce ? "is not finite on another processing element, or its norm "
                               "overflows"
                             : "is so large that its norm overflows");
}

/* The next block may be where products read it already. */
static tg_status call(tg_eigen_solver* solver, int first, int count, double* y) {
  const tg_rows* rows = &solver->rows;
  const tg_eigen_problem* problem = &solver->problem;
  const tg_eigen_state* state = &solver->state;
  const bool there = first == state->locked + state->active && count == solver->handed;
  solver->handed = 0;
  if (rows->ops->mark) rows->ops->mark(rows, 0);
  TG_TRY(
      there ? problem->outlet->apply(problem->context, count, y, rows->ld)
            : problem->apply(problem->context, count, tg_eigen_column(solver, first), y, rows->ld));
  if (rows->ops->mark) rows->ops->mark(rows, 1);
  return TG_OK;
}

tg_status tg_eigen_multiply(tg_eigen_solver* solver, int first, int count, double* y) {
  TG_TRY(call(solver, first, count, y));
  solver->state.products += count;
  solver->state.passes++;
  if (solver->state.phase == TG_EIGEN_CHECK) solver->state.check_products += count;
  return TG_OK;
}

tg_status tg_eigen_check_product(tg_eigen_solver* solver, int first, int count, double* y,
                                 const double* norm, bool intact) {
  for (int i = 0; i < count; i++) {
    if (!isfinite(norm[i])) {
      if (!intact) TG_TRY(call(solver, first, count, y));
      return not_finite(solver, count, y);
    }
    if (norm[i] > solver->state.scale) solver->state.scale = norm[i];
  }
  return TG_OK;
}

void tg_eigen_add_times(tg_eigen_solver* solver, double begin, double multiplied) {
  const tg_rows* rows = &solver->rows;
  const double product = rows->ops->between ? rows->ops->between(rows) : multiplied - begin;
  solver->times.product += product;
  solver->times.orthogonal += fmax(tg_time_now() - begin - product, 0);
}

tg_status tg_eigen_apply(tg_eigen_solver* solver, int first, int count, double* y) {
  const double begin = tg_time_now();
  TG_TRY(tg_eigen_multiply(solver, first, count, y));
  const double multiplied = tg_time_now();
  double* norm = solver->h; /* a value that is no number shows in the norm */
  TG_TRY(tg_rows_norms(&solver->rows, y, count, norm));
  tg_eigen_add_times(solver, begin, multiplied);
  return tg_eigen_check_product(solver, first, count, y, norm, true);
}

void tg_eigen_draw(tg_eigen_solver* solver, int first, int count) {
  for (int i = 0; i < count; i++)
    tg_rows_random(&solver->rows, solver->params.seed, (uint64_t)solver->state.drawn++,
                   tg_eigen_column(solver, first + i));
}

/* Column `at`, of that length, against all before it, until its length stays; 0: nothing is left.
 */
static tg_status settle(tg_eigen_solver* solver, int before, int at, const tg_eigen_parts* parts,
                        double nothing, double* length) {
  double* w = tg_eigen_column(solver, at);
  double* part = solver->h;
  const int j = at - before;
  for (int round = 0; *length > nothing; round++) {
    TG_TRY(tg_rows_inner(&solver->rows, solver->basis, at, w, 1, part, at));
    tg_rows_subtract(&solver->rows, w, 1, solver->basis, at, part, at);
    for (int i = 0; parts->h && i < before; i++)
      parts->h[(size_t)j * (size_t)parts->ldh + (size_t)i] += part[i];
    for (int i = before; parts->b && i < at; i++)
      parts->b[(size_t)j * (size_t)parts->ldb + (size_t)(i - before)] += part[i];
    const double was = *length;
    TG_TRY(tg_rows_norms(&solver->rows, w, 1, length));
    if (*length > 0.5 * was) return TG_OK;
    if (round == 3) break; /* it shrinks without end */
  }
  *length = 0;
  return TG_OK;
}

/* A random vector for column `at`, of which nothing is left. */
static tg_status replace(tg_eigen_solver* solver, int at, double* length) {
  static const tg_eigen_parts none = {0};
  tg_eigen_draw(solver, at, 1);
  TG_TRY(tg_rows_norms(&solver->rows, tg_eigen_column(solver, at), 1, length));
  const double nothing = 1e-12 * *length; /* a hole of one dimension is found by 1 in sqrt(n) */
  TG_TRY(settle(solver, at, at, &none, nothing, length));
  if (*length == 0) return TG_OK;
  return settle(solver, at, at, &none, nothing, length);
}

/* Column `before + j` against the `others` first of its block. */
static tg_status within(tg_eigen_solver* solver, int before, int j, int others,
                        const tg_eigen_parts* parts) {
  double* w = tg_eigen_column(solver, before);
  double* column = tg_eigen_column(solver, before + j);
  TG_TRY(tg_rows_inner(&solver->rows, w, others, column, 1, solver->h, others));
  tg_rows_subtract(&solver->rows, column, 1, w, others, solver->h, others);
  for (int i = 0; parts->b && i < others; i++)
    parts->b[(size_t)j * (size_t)parts->ldb + (size_t)i] = solver->h[i];
  return TG_OK;
}

tg_status tg_eigen_settle_block(tg_eigen_solver* solver, int before, int count, const double* size,
                                const tg_eigen_parts* parts, int* left) {
  *left = 0;
  solver->handed = 0;
  for (int j = 0; parts->b && j < count; j++)
    memset(parts->b + (size_t)j * (size_t)parts->ldb, 0, (size_t)count * sizeof *parts->b);
  for (int j = 0; j < count; j++) {
    double length;
    double* column = tg_eigen_column(solver, before + j);
    TG_TRY(within(solver, before, j, *left, parts));
    if (*left < j) continue; /* the basis spans the space: only b is of interest */
    TG_TRY(tg_rows_norms(&solver->rows, column, 1, &length));
    const double nothing = 8 * DBL_EPSILON * fmax(size[j], parts->reference);
    if (length <= nothing)
      length = 0;
    else if (length < 0.5 * size[j])
      TG_TRY(settle(solver, before, before + j, parts, nothing, &length));
    if (parts->b) parts->b[(size_t)j * (size_t)parts->ldb + (size_t)j] = length;
    if (length == 0 && (size_t)before + (size_t)j < tg_eigen_total(&solver->problem))
      TG_TRY(replace(solver, before + j, &length));
    if (length == 0) continue; /* the basis spans the space */
    tg_rows_scale(&solver->rows, column, 1 / length);
    *left = j + 1;
  }
  return TG_OK;
}

tg_status tg_eigen_orthonormalise(tg_eigen_solver* solver, int before, int count,
                                  const tg_eigen_parts* parts, int* left) {
  static const tg_eigen_parts none = {0};
  if (!parts) parts = &none;
  double size[TG_EIGEN_BLOCK];
  double* w = tg_eigen_column(solver, before);
  double* part = solver->h;
  TG_TRY(tg_rows_norms(&solver->rows, w, count, size));
  TG_TRY(tg_rows_inner(&solver->rows, solver->basis, before, w, count, part, before));
  tg_rows_subtract(&solver->rows, w, count, solver->basis, before, part, before);
  for (int j = 0; j < count; j++)
    for (int i = 0; parts->h && i < before; i++)
      parts->h[(size_t)j * (size_t)parts->ldh + (size_t)i] += part[(size_t)j * (size_t)before + i];
  return tg_eigen_settle_block(solver, before, count, size, parts, left);
}
