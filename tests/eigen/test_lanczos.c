/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <stdio.h>

#include "operators.h"

/* Values within their error bounds of the expected ones, vectors orthonormal, residuals as told.
 * Eigenvalues of a matrix of norm |A| are given by LAPACK to about n ulps of |A|. */
static void check_result(const tg_eigen_problem* problem, const tg_eigen_result* r,
                         const double* expected, double norm) {
  const double rounding = 1e-15 * (double)(problem->n + 100) * norm;
  for (int i = 0; i < r->states; i++) {
    /* levels that are closer than the tolerance may stand for each other */
    const bool apart =
        problem->n < 2 || fabs(expected[i] - expected[i > 0 ? i - 1 : 1]) > r->tolerance;
    if (!(fabs(r->values[i] - expected[i]) <= (apart ? r->errors[i] : r->tolerance) + rounding))
      fail_msg("value %d of %d, n = %zu: %.15g, expected %.15g, off by %.3g, bound %.3g", i,
               r->states, problem->n, r->values[i], expected[i], r->values[i] - expected[i],
               r->errors[i]);
    assert_true(r->residuals[i] <= r->tolerance);
    assert_true(r->errors[i] <= r->residuals[i]);
  }
  assert_true(not_orthonormal(r, problem->n) < 1e-13 * (100 + r->states));
  const double worst = worst_residual(problem, r);
  double told = 0;
  for (int i = 0; i < r->states; i++) told = fmax(told, r->residuals[i]);
  assert_true(fabs(worst - told) <= 1e-14 * (double)(problem->n + 100) * norm);
}

static void solve_known(const dense_operator* op, const tg_eigen_params* params,
                        const double* expected) {
  const tg_eigen_problem problem = {.n = op->n, .context = (void*)op, .apply = dense_apply};
  const double norm = fmax(fabs(expected[0]), fabs(expected[op->n - 1]));
  tg_eigen_result result;
  const tg_status status = tg_eigen_solve(&problem, params, &result);
  if (status != TG_OK) fail_msg("n = %zu: %s", op->n, tg_last_error());
  assert_true(result.check.complete);
  check_result(&problem, &result, expected, norm);
  tg_eigen_result_free(&result);
}

static void random_matrices(void** state) {
  (void)state;
  const size_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 9, 16, 31, 64, 200};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    dense_operator op = dense_random(sizes[i], 3 + i);
    double* expected = dense_spectrum(&op);
    for (int block = 0; block <= 5; block += sizes[i] < 50 ? 1 : 3)
      for (size_t states = 1; states <= sizes[i]; states += 1 + sizes[i] / 4) {
        tg_eigen_params params = tg_eigen_defaults();
        params.states = (int)states;
        params.block = block;
        solve_known(&op, &params, expected);
        params.tolerance = 1e-11 * (double)sizes[i];
        solve_known(&op, &params, expected);
        params.check = TG_EIGEN_CHECK_ALWAYS;
        solve_known(&op, &params, expected);
      }
    free(expected);
    free(op.a);
  }
}

static void every_number_of_states(void** state) {
  (void)state;
  dense_operator op = dense_random(40, 77);
  double* expected = dense_spectrum(&op);
  for (int states = 1; states <= 40; states++) {
    tg_eigen_params params = tg_eigen_defaults();
    params.states = states;
    params.tolerance = 1e-9;
    solve_known(&op, &params, expected);
  }
  free(expected);
  free(op.a);
}

static void small_bases_restart(void** state) {
  (void)state;
  dense_operator op = dense_random(200, 5);
  double* expected = dense_spectrum(&op);
  for (int block = 1; block <= 4; block++)
    for (int basis = 20; basis <= 60; basis += 13) {
      tg_eigen_params params = tg_eigen_defaults();
      params.states = 4;
      params.block = block;
      params.basis = basis;
      params.tolerance = 1e-8;
      solve_known(&op, &params, expected);
    }
  free(expected);
  free(op.a);
}

/* Spectra that are hard on the bookkeeping: copies, clusters, zero, one level only. */
static void odd_spectra(void** state) {
  (void)state;
  enum { N = 60 };
  double values[N];
  for (int kind = 0; kind < 8; kind++) {
    for (int i = 0; i < N; i++) {
      const double x = i;
      switch (kind) {
        case 0: values[i] = 0; break;                    /* the zero matrix */
        case 1: values[i] = -3.5; break;                 /* a multiple of one */
        case 2: values[i] = floor(x / 4); break;         /* each level four times */
        case 3: values[i] = i < 30 ? -1 : 1; break;      /* two levels */
        case 4: values[i] = 1 + 1e-9 * x; break;         /* one cluster */
        case 5: values[i] = i < 6 ? 1e-7 * x : x; break; /* a cluster below */
        case 6: values[i] = i == 0 ? -1e6 : x; break;    /* one far away */
        default: values[i] = exp(0.15 * x); break;       /* a wide range */
      }
    }
    dense_operator op = dense_of_spectrum(N, values, 11);
    double* expected = dense_spectrum(&op);
    for (int block = 1; block <= 4; block++)
      for (int states = 1; states <= 12; states += states < 3 ? 1 : 4) {
        tg_eigen_params params = tg_eigen_defaults();
        params.states = states;
        params.block = block;
        if (kind >= 6) params.tolerance = 1e-5; /* relative to the norm would be too coarse */
        solve_known(&op, &params, expected);
        params.basis = 30;
        solve_known(&op, &params, expected);
      }
    free(expected);
    free(op.a);
  }
}

/* Two directions are equal, so some levels are doublets: a block of two sees both of each, and
 * cannot tell whether there is a third. */
static void a_large_grid(void** state) {
  (void)state;
  grid_operator op = {{1, 1.3, 1.6, 1.9, 1.9}};
  const chain_operator side = {.d = 2, .e = -1};
  const tg_eigen_problem problem = {.n = GRID_ROWS, .context = &op, .apply = grid_apply};
  double* expected = calloc(problem.n, sizeof *expected);
  size_t stride = 1;
  for (int d = 0; d < GRID_DIMENSIONS; d++, stride *= GRID_SIDE)
    for (size_t i = 0; i < problem.n; i++)
      expected[i] += op.strength[d] * chain_value(&side, GRID_SIDE, i / stride % GRID_SIDE);
  qsort(expected, problem.n, sizeof *expected, compare_doubles);
  tg_eigen_params params = tg_eigen_defaults();
  params.states = 8;
  params.tolerance = 1e-3;
  tg_eigen_result result;
  assert_int_equal(tg_eigen_solve(&problem, &params, &result), TG_OK);
  check_result(&problem, &result, expected, 31);
  assert_true(result.check.complete);
  assert_true(result.check.runs > 0);
  tg_eigen_result_free(&result);
  free(expected);
}

/* The same bits where the caller wants them, and nothing beside them. */
static void vectors_go_where_asked(void** state) {
  (void)state;
  enum { STATES = 3, N = 41, LD = 50, FIRST = 7 };
  dense_operator op = dense_random(N, 5);
  const tg_eigen_problem problem = {.n = op.n, .context = &op, .apply = dense_apply};
  tg_eigen_params params = tg_eigen_defaults();
  tg_eigen_result own, lent;
  double into[STATES * LD + FIRST];
  for (size_t i = 0; i < sizeof into / sizeof *into; i++) into[i] = -7;
  params.states = STATES;
  assert_int_equal(tg_eigen_solve(&problem, &params, &own), TG_OK);
  params.into = into + FIRST;
  params.into_ld = LD;
  assert_int_equal(tg_eigen_solve(&problem, &params, &lent), TG_OK);
  assert_null(lent.vectors);
  for (size_t i = 0; i < sizeof into / sizeof *into; i++) {
    const size_t column = (i - FIRST) / LD, row = (i - FIRST) % LD;
    const bool ours = i >= FIRST && row < N;
    assert_true(into[i] == (ours ? own.vectors[column * own.ld + row] : -7));
  }
  tg_eigen_result_free(&own);
  tg_eigen_result_free(&lent);
  free(op.a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_matrices),     cmocka_unit_test(every_number_of_states),
      cmocka_unit_test(small_bases_restart), cmocka_unit_test(odd_spectra),
      cmocka_unit_test(a_large_grid),        cmocka_unit_test(vectors_go_where_asked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
