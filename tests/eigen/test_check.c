/* SPDX-License-Identifier: Apache-2.0 */
/* Levels that a run misses, and the look for them. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "operators.h"

static double* lowest_of_blocks(const chain_operator* op, size_t count) {
  const size_t length = op->n / op->blocks;
  double* all = malloc(op->blocks * count * sizeof *all);
  for (size_t b = 0; b < op->blocks; b++)
    for (size_t i = 0; i < count; i++)
      all[b * count + i] = chain_value(op, length, i) + (double)b * op->shift;
  qsort(all, op->blocks * count, sizeof *all, compare_doubles);
  return all;
}

/* A chain of few sites has levels that are far apart. */
static chain_operator short_blocks(size_t blocks, double shift) {
  return (chain_operator){.n = 40 * blocks, .blocks = blocks, .d = 0, .e = -1, .shift = shift};
}

static void run(chain_operator* op, const tg_eigen_params* params, tg_eigen_result* result) {
  const tg_eigen_problem problem = {.n = op->n, .context = op, .apply = chain_apply};
  if (tg_eigen_solve(&problem, params, result) != TG_OK) fail_msg("%s", tg_last_error());
}

static void a_start_vector_in_one_sector(void** state) {
  (void)state;
  chain_operator op = short_blocks(4, -0.05);
  double* expected = lowest_of_blocks(&op, 40);
  double* start = calloc(op.n, sizeof *start);
  for (size_t i = 0; i < 40; i++) start[i] = 1 + (double)(i % 7); /* the highest block only */
  tg_eigen_params params = tg_eigen_defaults();
  params.states = 4;
  params.block = 1;
  params.start = start;
  params.start_count = 1;
  params.tolerance = 1e-7;
  params.basis = 30; /* less than the sector, which the run would leave otherwise */
  params.check = TG_EIGEN_CHECK_OFF;
  tg_eigen_result result;
  run(&op, &params, &result);
  assert_false(result.check.complete);
  for (int i = 0; i < 4; i++) /* found: the levels of the sector; rightly so */
    assert_true(fabs(result.values[i] - chain_value(&op, 40, (size_t)i)) < 1e-6);
  assert_true(result.values[0] > expected[0] + 0.1);
  const int64_t plain = result.products;
  tg_eigen_result_free(&result);

  params.check = TG_EIGEN_CHECK_AUTO;
  run(&op, &params, &result);
  assert_true(result.check.complete && result.check.found > 0 && result.check.products > 0);
  assert_true(result.check.probability <= params.miss);
  assert_true(result.products > plain);
  for (int i = 0; i < 4; i++)
    assert_true(fabs(result.values[i] - expected[i]) <= result.errors[i] + 1e-13);
  tg_eigen_result_free(&result);
  free(start);
  free(expected);
}

/* Each level as many times as there are blocks, but for the highest wanted. */
static void copies_of_levels(void** state) {
  (void)state;
  for (size_t copies = 1; copies <= 5; copies++)
    for (int block = 1; block <= 3; block++) {
      chain_operator op = short_blocks(copies, 0);
      double* expected = lowest_of_blocks(&op, 40);
      tg_eigen_params params = tg_eigen_defaults();
      params.states = (int)copies + 2;
      params.block = block;
      params.tolerance = 1e-8;
      params.basis = 36;
      tg_eigen_result result;
      run(&op, &params, &result);
      assert_true(result.check.complete);
      for (int i = 0; i < params.states; i++)
        if (!(fabs(result.values[i] - expected[i]) <= result.errors[i] + 1e-13))
          fail_msg("%zu copies, block %d, value %d: %.12g for %.12g", copies, block, i,
                   result.values[i], expected[i]);
      /* as many as the block has show by themselves, if there are no more */
      if (block == 1 || copies >= (size_t)block) assert_true(result.check.runs > 0);
      if (block > 1 && copies < (size_t)block) assert_int_equal(result.check.runs, 0);
      tg_eigen_result_free(&result);
      free(expected);
    }
}

static void neighbours(void** state) {
  (void)state;
  chain_operator op = short_blocks(3, 1e-6); /* triplets a millionth apart */
  double* expected = lowest_of_blocks(&op, 40);
  for (int block = 1; block <= 4; block++) {
    tg_eigen_params params = tg_eigen_defaults();
    params.states = 7;
    params.block = block;
    params.tolerance = 1e-5; /* coarser than they are apart */
    params.basis = 40;
    tg_eigen_result result;
    run(&op, &params, &result);
    for (int i = 0; i < params.states; i++)
      assert_true(fabs(result.values[i] - expected[i]) <= params.tolerance);
    tg_eigen_result_free(&result);
  }
  free(expected);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_start_vector_in_one_sector),
                                     cmocka_unit_test(copies_of_levels),
                                     cmocka_unit_test(neighbours)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
