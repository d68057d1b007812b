/* SPDX-License-Identifier: Apache-2.0 */
/* A solve that is stopped after every possible number of steps and goes on gives the same bits. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <stdlib.h>
#include <unistd.h>

#include "ci/restart.h"
#include "ci/solve.h"
#include "support.h"

#define PLACE TG_BUILD_DIR "/restart-test"

static bool without_lapack(void) {
#ifdef TG_HAVE_LAPACK
  return false;
#else
  return true;
#endif
}

/* Stops at a call. */
static int calls_left;

static bool stop(void* context) {
  (void)context;
  return calls_left-- <= 0;
}

static void compare(const tg_ci_spectrum* a, const tg_ci_spectrum* b) {
  assert_int_equal(a->level_count, b->level_count);
  for (size_t s = 0; s < a->sector_count; s++) {
    const tg_eigen_result *x = &a->sectors[s].result, *y = &b->sectors[s].result;
    assert_int_equal(x->states, y->states);
    assert_int_equal(x->products, y->products);
    for (int i = 0; i < x->states; i++) {
      assert_true(x->values[i] == y->values[i]);
      assert_memory_equal(x->vectors + (size_t)i * x->ld, y->vectors + (size_t)i * y->ld,
                          a->sectors[s].space->dimension * sizeof(double));
    }
  }
}

/* Stops a run after each number of steps, twice each time, and lets it end. */
static void stop_everywhere(const tg_ci_problem* problem, tg_ci_solve_params how, int most) {
  tg_ci_spectrum whole, parts;
  how.threads = 1;
  assert_ok(tg_ci_solve(problem, &how, &whole));
  how.restart = PLACE;
  how.restart_s = 1e9; /* on being stopped alone */
  int steps = 0;
  for (bool ended = false; !ended && steps < most; steps++) {
    how.interrupted = stop;
    calls_left = steps;
    tg_status status = tg_ci_solve(problem, &how, &parts);
    ended = status == TG_OK; /* as many steps as it has */
    for (int again = 0; again < 2 && status == TG_ERR_INTERRUPTED; again++) {
      assert_non_null(strstr(tg_last_error(), "goes on from " PLACE));
      calls_left = 2;
      status = tg_ci_solve(problem, &how, &parts);
    }
    if (status == TG_ERR_INTERRUPTED) {
      how.interrupted = NULL;
      status = tg_ci_solve(problem, &how, &parts);
    }
    assert_ok(status);
    compare(&whole, &parts);
    tg_ci_spectrum_free(&parts);
    tg_ci_restart_remove(problem, PLACE);
    assert_false(is_there(PLACE));
  }
  assert_true(steps > 5 && steps < most);
  tg_ci_spectrum_free(&whole);
}

static void nuclei(void** state) {
  (void)state;
  if (without_lapack()) skip();
  tg_ci_input input = read_file("builtin:ckpot");
  tg_ci_problem problem;
  tg_ci_problem_params params = tg_ci_problem_defaults();
  tg_ci_solve_params how = tg_ci_solve_defaults();
  params.protons = params.neutrons = 3;
  how.states = 3;
  how.check = TG_EIGEN_CHECK_ALWAYS; /* the look for missed levels can be stopped, too */
  assert_ok(tg_ci_problem_make(&input, &params, &problem));
  stop_everywhere(&problem, how, 200);
  tg_ci_problem_free(&problem);
  tg_ci_input_free(&input);
}

/* States of one J: several rounds where the first lift is not enough, each a run of its own. */
static void one_spin(void** state) {
  (void)state;
  if (without_lapack()) skip();
  tg_ci_input input = read_file("builtin:ckpot");
  tg_ci_problem problem;
  tg_ci_problem_params params = tg_ci_problem_defaults();
  tg_ci_solve_params how = tg_ci_solve_defaults();
  params.protons = params.neutrons = 3;
  params.two_j = 2;
  how.states = 4;
  assert_ok(tg_ci_problem_make(&input, &params, &problem));
  stop_everywhere(&problem, how, 300);
  /* the files are of that J alone */
  how.restart = PLACE;
  how.interrupted = stop;
  calls_left = 3;
  tg_ci_spectrum spectrum;
  assert_int_equal(tg_ci_solve(&problem, &how, &spectrum), TG_ERR_INTERRUPTED);
  tg_ci_problem_free(&problem);
  params.two_j = TG_CI_UNSET;
  params.two_m = 2;
  how.interrupted = NULL;
  assert_ok(tg_ci_problem_make(&input, &params, &problem));
  assert_int_equal(tg_ci_solve(&problem, &how, &spectrum), TG_ERR_INPUT);
  assert_non_null(strstr(tg_last_error(), "2J, if only one"));
  tg_ci_restart_remove(&problem, PLACE);
  tg_ci_problem_free(&problem);
  tg_ci_input_free(&input);
}

/* Several irreps, one after the other; Davidson. */
static void molecules(void** state) {
  (void)state;
  if (without_lapack()) skip();
  tg_ci_input input = read_file(SHIPPED("rhf.fcidump"));
  tg_ci_problem problem;
  const tg_ci_problem_params params = tg_ci_problem_defaults();
  tg_ci_solve_params how = tg_ci_solve_defaults();
  how.states = 2;
  assert_ok(tg_ci_problem_make(&input, &params, &problem));
  assert_true(problem.sector_count > 1);
  stop_everywhere(&problem, how, 200);
  tg_ci_problem_free(&problem);
  tg_ci_input_free(&input);
}

/* The memory that may be used is another one: the basis is the saved one's. */
static void less_memory(void** state) {
  (void)state;
  if (without_lapack()) skip();
  tg_ci_input input = read_file("builtin:usdb");
  tg_ci_problem problem;
  tg_ci_spectrum whole, parts;
  tg_ci_problem_params params = tg_ci_problem_defaults();
  tg_ci_solve_params how = tg_ci_solve_defaults();
  params.protons = params.neutrons = 2;
  how.states = 4;
  how.threads = 1;
  how.storage = TG_CI_STORAGE_FLY;
  assert_ok(tg_ci_problem_make(&input, &params, &problem));
  how.memory = 300000;
  assert_ok(tg_ci_solve(&problem, &how, &whole));
  const int basis = whole.sectors[0].result.basis;
  how.restart = PLACE;
  how.interrupted = stop;
  calls_left = 5;
  assert_int_equal(tg_ci_solve(&problem, &how, &parts), TG_ERR_INTERRUPTED);
  how.interrupted = NULL;
  how.memory = 0;
  assert_ok(tg_ci_solve(&problem, &how, &parts));
  assert_int_equal(parts.sectors[0].result.basis, basis);
  compare(&whole, &parts);
  tg_ci_restart_remove(&problem, PLACE);
  tg_ci_spectrum_free(&parts);
  how.restart = NULL;
  assert_ok(tg_ci_solve(&problem, &how, &parts));
  assert_true(parts.sectors[0].result.basis != basis); /* so that the above says something */
  tg_ci_spectrum_free(&parts);
  tg_ci_spectrum_free(&whole);
  tg_ci_problem_free(&problem);
  tg_ci_input_free(&input);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nuclei),
      cmocka_unit_test(one_spin),
      cmocka_unit_test(molecules),
      cmocka_unit_test(less_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
