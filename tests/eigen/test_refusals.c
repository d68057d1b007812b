/* SPDX-License-Identifier: Apache-2.0 */
/* What cannot be is refused, with words; operators that go wrong are noticed. Several PEs. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>

#include "operators.h"

static void expect(const tg_eigen_problem* problem, const tg_eigen_params* params, tg_status status,
                   const char* words) {
  tg_eigen_result result;
  const tg_status found = tg_eigen_solve(problem, params, &result);
  if (found != status) fail_msg("status %d, expected %d (%s)", found, status, words);
  if (!strstr(tg_last_error(), words))
    fail_msg("\"%s\" does not say \"%s\"", tg_last_error(), words);
}

static void parameters(void** state) {
  (void)state;
  chain_operator op = {.n = 50, .blocks = 1, .d = 2, .e = -1};
  const tg_eigen_problem good = {.n = 50, .context = &op, .apply = chain_apply};
  tg_eigen_problem problem = good;
  tg_eigen_params params = tg_eigen_defaults();
  params.states = 51;
  expect(&problem, &params, TG_ERR_INPUT, "51 states were asked for, but the space has only 50");
  params.states = 0;
  expect(&problem, &params, TG_ERR_INPUT, "at least 1");
  params = tg_eigen_defaults();
  problem.apply = NULL;
  expect(&problem, &params, TG_ERR_INPUT, "no operator");
  problem = good;
  problem.n = 0;
  expect(&problem, &params, TG_ERR_INPUT, "no states");
  problem = good;
  problem.n_total = 60;
  problem.first = 20;
  expect(&problem, &params, TG_ERR_INPUT, "not among 60");
  problem = good;
  params.block = 1000;
  expect(&problem, &params, TG_ERR_INPUT, "block");
  params = tg_eigen_defaults();
  params.basis = 3;
  expect(&problem, &params, TG_ERR_INPUT, "too small");
  params = tg_eigen_defaults();
  params.tolerance = -1;
  expect(&problem, &params, TG_ERR_INPUT, "tolerance");
  params.tolerance = NAN;
  expect(&problem, &params, TG_ERR_INPUT, "tolerance");
  params = tg_eigen_defaults();
  params.miss = 0;
  expect(&problem, &params, TG_ERR_INPUT, "probability");
  params = tg_eigen_defaults();
  params.start_count = 1;
  expect(&problem, &params, TG_ERR_INPUT, "start vector");
  double start[50] = {NAN};
  params.start = start;
  expect(&problem, &params, TG_ERR_INPUT, "start vector");
  params = tg_eigen_defaults();
  params.memory = 1000;
  expect(&problem, &params, TG_ERR_MACHINE, "allow more");
  assert_true(tg_eigen_bytes(&problem, &params) == 0);
}

static void bad_operators(void** state) {
  (void)state;
  for (int64_t poison = 1; poison < 20; poison += 3) {
    chain_operator op = {.n = 5000, .blocks = 1, .d = 2, .e = -1, .poison = poison};
    const tg_eigen_problem problem = {.n = op.n, .context = &op, .apply = chain_apply};
    tg_eigen_params params = tg_eigen_defaults();
    expect(&problem, &params, TG_ERR_NUMERICS, "row 2500 that is no finite number");
    char words[64];
    snprintf(words, sizeof words, "product number %d has", (int)poison);
    assert_non_null(strstr(tg_last_error(), words));
  }
  chain_operator op = {.n = 5000, .blocks = 1, .d = 2, .e = -1, .skew = 0.5};
  const tg_eigen_problem problem = {.n = op.n, .context = &op, .apply = chain_apply};
  tg_eigen_params params = tg_eigen_defaults();
  expect(&problem, &params, TG_ERR_NUMERICS, "not symmetric");
  params.block = 1;
  expect(&problem, &params, TG_ERR_NUMERICS, "not symmetric");
  op.skew = 0;
  params.products = 40;
  expect(&problem, &params, TG_ERR_NUMERICS, "40 products were allowed");
}

/* A product that is wrong in the seventh digit, another time otherwise. */
static tg_status noisy(void* context, int k, const double* x, double* y, size_t ld) {
  static uint64_t calls;
  tg_rng rng = tg_rng_stream(++calls, TG_RNG_TEST, 0);
  const dense_operator* op = context;
  const tg_status status = dense_apply(context, k, x, y, ld);
  for (int j = 0; j < k; j++)
    for (size_t i = 0; i < op->n; i++) y[(size_t)j * ld + i] += 1e-7 * tg_rng_gaussian(&rng);
  return status;
}

/* One that is another operator until its residuals are verified. */
typedef struct fickle_operator {
  dense_operator op;
  bool always, wrong;
} fickle_operator;

static tg_status fickle_apply(void* context, int k, const double* x, double* y, size_t ld) {
  const fickle_operator* f = context;
  const size_t n = f->op.n;
  const tg_status status = dense_apply((void*)&f->op, k, x, y, ld);
  for (int j = 0; f->wrong && j < k; j++)
    for (size_t i = 0; i < n; i++) y[(size_t)j * ld + i] += 1e-4 * x[(size_t)j * ld + n - 1 - i];
  return status;
}

static tg_status fickle_progress(void* context, const tg_eigen_progress* progress,
                                 tg_eigen_solver* solver) {
  fickle_operator* f = context;
  (void)solver;
  f->wrong = progress->phase == TG_EIGEN_VERIFY ? false : f->wrong || f->always;
  return TG_OK;
}

static void inexact_operators(void** state) {
  (void)state;
  fickle_operator f = {.op = dense_random(120, 2)};
  double* expected = dense_spectrum(&f.op);
  tg_eigen_problem problem = {.n = f.op.n, .context = &f.op, .apply = noisy};
  tg_eigen_params params = tg_eigen_defaults();
  params.states = 3;
  params.basis = 40;
  params.tolerance = 1e-9;
  params.products = 2000;
  expect(&problem, &params, TG_ERR_NUMERICS, "2000 products were allowed");

  params.products = 0;
  problem.context = params.context = &f;
  problem.apply = fickle_apply;
  params.progress = fickle_progress;
  f.wrong = f.always = true;
  params.products = 5000;
  expect(&problem, &params, TG_ERR_NUMERICS, "below 1e-09");
  f.always = false;
  for (int method = TG_EIGEN_LANCZOS; method <= TG_EIGEN_DAVIDSON; method++)
    for (int wrong = 0; wrong < 2; wrong++) { /* it comes round: so does the solver */
      f.wrong = wrong;
      params.method = (tg_eigen_method)method;
      tg_eigen_result result;
      if (tg_eigen_solve(&problem, &params, &result) != TG_OK) fail_msg("%s", tg_last_error());
      for (int i = 0; i < 3; i++) {
        assert_true(result.residuals[i] <= 1e-9);
        assert_true(fabs(result.values[i] - expected[i]) < 1e-11);
      }
      tg_eigen_result_free(&result);
    }

  /* everything is asked for: rounding is the floor */
  problem.context = &f.op;
  problem.apply = dense_apply;
  params.method = TG_EIGEN_LANCZOS;
  params.progress = NULL;
  params.tolerance = 1e-300;
  tg_eigen_result result;
  if (tg_eigen_solve(&problem, &params, &result) != TG_OK) fail_msg("%s", tg_last_error());
  assert_true(result.tolerance > 1e-14 && result.tolerance < 1e-12);
  for (int i = 0; i < 3; i++) assert_true(result.residuals[i] <= result.tolerance);
  tg_eigen_result_free(&result);
  free(expected);
  free(f.op.a);
}

static tg_status failing(void* context, int k, const double* x, double* y, size_t ld) {
  (void)k, (void)x, (void)y, (void)ld;
  return ++*(int*)context > 3 ? TG_ERR_MACHINE : TG_OK;
}

static void failures_are_passed_on(void** state) {
  (void)state;
  int calls = 0;
  const tg_eigen_problem problem = {.n = 100, .context = &calls, .apply = failing};
  tg_eigen_params params = tg_eigen_defaults();
  tg_eigen_result result;
  params.states = 90;
  assert_int_equal(tg_eigen_solve(&problem, &params, &result), TG_ERR_MACHINE);
  assert_int_equal(calls, 4);
}

/* The estimate of memory against what malloc hands out. */
static void memory_is_foretold(void** state) {
  (void)state;
  chain_operator op = {.n = 200000, .blocks = 1, .d = 2, .e = -1};
  double* diagonal = calloc(op.n, sizeof *diagonal);
  for (int davidson = 0; davidson < 2; davidson++) {
    const tg_eigen_problem problem = {
        .n = op.n, .context = &op, .apply = chain_apply, .diagonal = davidson ? diagonal : NULL};
    tg_eigen_params params = tg_eigen_defaults();
    params.states = 5;
    params.basis = 40;
    params.threads = 2;
    const struct mallinfo2 before = mallinfo2();
    tg_eigen_solver* solver = NULL;
    assert_int_equal(tg_eigen_create(&problem, &params, &solver), TG_OK);
    const struct mallinfo2 after = mallinfo2();
    const double taken =
        (double)(after.uordblks + after.hblkhd) - (double)(before.uordblks + before.hblkhd);
    const double result = 5 * 8.0 * (double)op.n; /* the vectors at the end */
    const double foretold = (double)tg_eigen_bytes(&problem, &params);
    if (taken > 0) { /* not under a sanitizer, which has its own malloc */
      assert_true(foretold > 0.95 * (taken + result));
      assert_true(foretold < 1.05 * (taken + result));
    }
    tg_eigen_destroy(&solver);
  }
  free(diagonal);
}

/* Three PEs that are threads: rows of the chain are theirs in slices. */
enum { PES = 3, ROWS = 2500 };

typedef struct team {
  pthread_barrier_t barrier;
  double sums[PES][8192];
  double edges[PES][2][32];
  tg_eigen_result results[PES];
} team;

typedef struct member {
  team* all;
  int pe;
  size_t n, first;
  const double* diagonal;
} member;

static tg_status team_reduce(void* context, tg_eigen_reduction what, double* values, size_t count) {
  const member* m = context;
  memcpy(m->all->sums[m->pe], values, count * sizeof *values);
  pthread_barrier_wait(&m->all->barrier);
  for (size_t i = 0; i < count; i++) {
    double sum = m->all->sums[0][i];
    for (int pe = 1; pe < PES; pe++) {
      const double other = m->all->sums[pe][i];
      sum = what == TG_EIGEN_SUM   ? sum + other
            : what == TG_EIGEN_MIN ? fmin(sum, other)
                                   : fmax(sum, other);
    }
    values[i] = sum;
  }
  pthread_barrier_wait(&m->all->barrier);
  return TG_OK;
}

static tg_status team_apply(void* context, int k, const double* x, double* y, size_t ld) {
  const member* m = context;
  for (int j = 0; j < k && m->n > 0; j++) {
    m->all->edges[m->pe][0][j] = x[(size_t)j * ld];
    m->all->edges[m->pe][1][j] = x[(size_t)j * ld + m->n - 1];
  }
  pthread_barrier_wait(&m->all->barrier);
  for (int j = 0; j < k; j++)
    for (size_t i = 0; i < m->n; i++) {
      const double* u = x + (size_t)j * ld;
      /* PE 1 has no rows: its neighbours are each other's */
      double below = i > 0 ? u[i - 1] : m->pe == 2 ? m->all->edges[0][1][j] : 0;
      double above = i + 1 < m->n ? u[i + 1] : m->pe == 0 ? m->all->edges[2][0][j] : 0;
      y[(size_t)j * ld + i] = 0.01 * (double)(m->first + i) * u[i] + below + above;
    }
  pthread_barrier_wait(&m->all->barrier);
  return TG_OK;
}

static void* team_main(void* context) {
  member* m = context;
  const tg_eigen_problem problem = {.n = m->n,
                                    .n_total = ROWS,
                                    .first = m->first,
                                    .context = m,
                                    .apply = team_apply,
                                    .diagonal = m->diagonal,
                                    .reduce = team_reduce};
  tg_eigen_params params = tg_eigen_defaults();
  params.states = 3;
  params.tolerance = 1e-6;
  params.threads = 1;
  if (tg_eigen_solve(&problem, &params, &m->all->results[m->pe]) == TG_OK) return NULL;
  return strstr(tg_last_error(), "that others do not") ? context : (void*)m->all;
}

static tg_status alone_apply(void* context, int k, const double* x, double* y, size_t ld) {
  (void)context;
  for (int j = 0; j < k; j++)
    for (size_t i = 0; i < ROWS; i++) {
      const double* u = x + (size_t)j * ld;
      y[(size_t)j * ld + i] =
          0.01 * (double)i * u[i] + (i > 0 ? u[i - 1] : 0) + (i + 1 < ROWS ? u[i + 1] : 0);
    }
  return TG_OK;
}

static void slices_of_rows(void** state) {
  (void)state;
  team* all = calloc(1, sizeof *all);
  pthread_barrier_init(&all->barrier, NULL, PES);
  member members[PES] = {
      {all, 0, 701, 0, NULL}, {all, 1, 0, 701, NULL}, {all, 2, ROWS - 701, 701, NULL}};
  pthread_t threads[PES];
  for (int pe = 0; pe < PES; pe++)
    assert_int_equal(pthread_create(&threads[pe], NULL, team_main, &members[pe]), 0);
  for (int pe = 0; pe < PES; pe++) {
    void* failed;
    pthread_join(threads[pe], &failed);
    assert_null(failed);
  }
  const tg_eigen_problem problem = {.n = ROWS, .apply = alone_apply};
  tg_eigen_params params = tg_eigen_defaults();
  params.states = 3;
  params.tolerance = 1e-6;
  tg_eigen_result alone;
  assert_int_equal(tg_eigen_solve(&problem, &params, &alone), TG_OK);
  for (int i = 0; i < 3; i++) {
    assert_memory_equal(&all->results[0].values[i], &all->results[1].values[i], sizeof(double));
    assert_memory_equal(&all->results[0].values[i], &all->results[2].values[i], sizeof(double));
    assert_true(fabs(all->results[0].values[i] - alone.values[i]) < 1e-11);
    /* the same vectors, slice by slice, but for their sign; they are right to 1e-6 / gap */
    const double* v = all->results[0].vectors + (size_t)i * all->results[0].ld;
    const double* w = all->results[2].vectors + (size_t)i * all->results[2].ld;
    const double* u = alone.vectors + (size_t)i * alone.ld;
    double overlap = 0;
    for (size_t k = 0; k < ROWS; k++) overlap += u[k] * (k < 701 ? v[k] : w[k - 701]);
    assert_true(fabs(fabs(overlap) - 1) < 1e-9);
  }
  for (int pe = 0; pe < PES; pe++) tg_eigen_result_free(&all->results[pe]);
  tg_eigen_result_free(&alone);
  pthread_barrier_destroy(&all->barrier);
  free(all);
}

/* The one without rows has no diagonal: refused by all, rather than waiting for each other. */
static void a_diagonal_too_few(void** state) {
  (void)state;
  team* all = calloc(1, sizeof *all);
  double diagonal[ROWS];
  for (size_t i = 0; i < ROWS; i++) diagonal[i] = 0.01 * (double)i;
  pthread_barrier_init(&all->barrier, NULL, PES);
  member members[PES] = {{all, 0, 701, 0, diagonal},
                         {all, 1, 0, 701, NULL},
                         {all, 2, ROWS - 701, 701, diagonal + 701}};
  pthread_t threads[PES];
  for (int pe = 0; pe < PES; pe++)
    assert_int_equal(pthread_create(&threads[pe], NULL, team_main, &members[pe]), 0);
  for (int pe = 0; pe < PES; pe++) {
    void* failed;
    pthread_join(threads[pe], &failed);
    assert_ptr_equal(failed, &members[pe]);
  }
  pthread_barrier_destroy(&all->barrier);
  free(all);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_diagonal_too_few),     cmocka_unit_test(parameters),
      cmocka_unit_test(bad_operators),          cmocka_unit_test(inexact_operators),
      cmocka_unit_test(failures_are_passed_on), cmocka_unit_test(memory_is_foretold),
      cmocka_unit_test(slices_of_rows)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
