/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "operators.h"

/* A diagonal that rises, and small elements beside it: what Davidson is for. */
static dense_operator mostly_diagonal(size_t n, double strength, uint64_t seed, double** diagonal) {
  dense_operator op = dense_random(n, seed);
  *diagonal = malloc(n * sizeof **diagonal);
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++) op.a[i * n + j] *= strength;
  for (size_t i = 0; i < n; i++) {
    op.a[i * n + i] += -5 + 30 * (double)i / (double)n;
    (*diagonal)[i] = op.a[i * n + i];
  }
  return op;
}

static void against_lapack(void** state) {
  (void)state;
  const size_t sizes[] = {1, 2, 3, 5, 10, 50, 300};
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
    double* diagonal;
    dense_operator op = mostly_diagonal(sizes[k], 0.1, k, &diagonal);
    double* expected = dense_spectrum(&op);
    const tg_eigen_problem problem = {
        .n = op.n, .context = &op, .apply = dense_apply, .diagonal = diagonal};
    for (int states = 1; states <= 7 && (size_t)states <= op.n; states += 2)
      for (int basis = 0; basis <= 30; basis += 30) {
        tg_eigen_params params = tg_eigen_defaults();
        params.states = states;
        params.basis = basis;
        params.tolerance = 1e-8;
        tg_eigen_result r;
        if (tg_eigen_solve(&problem, &params, &r) != TG_OK) fail_msg("%s", tg_last_error());
        assert_int_equal(r.method, TG_EIGEN_DAVIDSON);
        assert_true(r.check.complete);
        for (int i = 0; i < states; i++) {
          assert_true(r.residuals[i] <= 1e-8);
          assert_true(fabs(r.values[i] - expected[i]) <= r.errors[i] + 1e-12);
        }
        assert_true(fabs(worst_residual(&problem, &r)) <= 1e-8 + 1e-12);
        assert_true(not_orthonormal(&r, op.n) < 1e-12);
        tg_eigen_result_free(&r);
      }
    free(expected);
    free(diagonal);
    free(op.a);
  }
}

static void needs_fewer_products_than_lanczos(void** state) {
  (void)state;
  double* diagonal;
  dense_operator op = mostly_diagonal(400, 0.02, 9, &diagonal);
  tg_eigen_problem problem = {
      .n = op.n, .context = &op, .apply = dense_apply, .diagonal = diagonal};
  tg_eigen_params params = tg_eigen_defaults();
  params.tolerance = 1e-7;
  params.check = TG_EIGEN_CHECK_OFF;
  int64_t products[2];
  const tg_eigen_method methods[] = {TG_EIGEN_DAVIDSON, TG_EIGEN_LANCZOS};
  for (int i = 0; i < 2; i++) {
    tg_eigen_result r;
    params.method = methods[i];
    assert_int_equal(tg_eigen_solve(&problem, &params, &r), TG_OK);
    products[i] = r.products;
    tg_eigen_result_free(&r);
  }
  if (2 * products[0] >= products[1])
    fail_msg("Davidson %lld, Lanczos %lld", (long long)products[0], (long long)products[1]);
  free(diagonal);
  free(op.a);
}

/* The lowest level stands in a block that the start vectors do not reach. */
static void finds_what_the_start_misses(void** state) {
  (void)state;
  chain_operator op = {.n = 200, .blocks = 2, .d = 0, .e = -0.2, .shift = -1};
  double* diagonal = malloc(op.n * sizeof *diagonal);
  for (size_t i = 0; i < op.n; i++) diagonal[i] = i < 100 ? 0 : -1;
  double start[200] = {0};
  for (size_t i = 0; i < 100; i++) start[i] = 1 + (double)i;
  const tg_eigen_problem problem = {
      .n = op.n, .context = &op, .apply = chain_apply, .diagonal = diagonal};
  for (int check = 0; check < 2; check++) {
    tg_eigen_params params = tg_eigen_defaults();
    params.tolerance = 1e-6;
    params.start = start;
    params.start_count = 1;
    params.check = check ? TG_EIGEN_CHECK_AUTO : TG_EIGEN_CHECK_OFF;
    tg_eigen_result r;
    assert_int_equal(tg_eigen_solve(&problem, &params, &r), TG_OK);
    const double expected = chain_value(&op, 100, 0) + (check ? op.shift : 0);
    assert_true(fabs(r.values[0] - expected) < 1e-6);
    assert_int_equal(r.check.found > 0, check);
    tg_eigen_result_free(&r);
  }
  free(diagonal);
}

static tg_status exact(void* context, int k, const double* value, double* r, size_t ld) {
  const dense_operator* op = context; /* as the diagonal would, but of another make */
  for (int j = 0; j < k; j++)
    for (size_t i = 0; i < op->n; i++)
      r[(size_t)j * ld + i] /= op->a[i * op->n + i] - value[j] + 1e-3;
  return TG_OK;
}

static void takes_a_preconditioner(void** state) {
  (void)state;
  double* diagonal;
  dense_operator op = mostly_diagonal(100, 0.1, 4, &diagonal);
  double* expected = dense_spectrum(&op);
  const tg_eigen_problem problem = {
      .n = op.n, .context = &op, .apply = dense_apply, .precondition = exact};
  tg_eigen_params params = tg_eigen_defaults();
  params.states = 3;
  params.tolerance = 1e-8;
  tg_eigen_result r;
  assert_int_equal(tg_eigen_solve(&problem, &params, &r), TG_OK);
  assert_int_equal(r.method, TG_EIGEN_DAVIDSON);
  for (int i = 0; i < 3; i++) assert_true(fabs(r.values[i] - expected[i]) < 1e-8);
  tg_eigen_result_free(&r);
  free(expected);
  free(diagonal);
  free(op.a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(against_lapack), cmocka_unit_test(needs_fewer_products_than_lanczos),
      cmocka_unit_test(finds_what_the_start_misses), cmocka_unit_test(takes_a_preconditioner)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
