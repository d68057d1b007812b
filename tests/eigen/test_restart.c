/* SPDX-License-Identifier: Apache-2.0 */
/* Runs that are interrupted, saved and continued; files that must be refused; threads. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <stdio.h>
#include <unistd.h>

#include "operators.h"

static const char path[] = TG_BUILD_DIR "/tests/test_eigen_restart.bin";

typedef struct stop {
  int64_t at, calls; /* ends the run at this call */
} stop;

static bool stop_at(void* context) {
  stop* s = context;
  return ++s->calls == s->at;
}

/* A tridiagonal operator whose levels are apart: its diagonal rises. */
static tg_status ramp_apply(void* context, int k, const double* x, double* y, size_t ld) {
  const size_t n = *(const size_t*)context;
  for (int j = 0; j < k; j++)
    for (size_t i = 0; i < n; i++) {
      const double* u = x + (size_t)j * ld;
      double sum = 0.05 * (double)i * u[i];
      if (i > 0) sum += u[i - 1];
      if (i + 1 < n) sum += u[i + 1];
      y[(size_t)j * ld + i] = sum;
    }
  return TG_OK;
}

static void same_bits(const tg_eigen_result* a, const tg_eigen_result* b, size_t n) {
  assert_int_equal(a->states, b->states);
  assert_int_equal(a->products, b->products);
  assert_memory_equal(a->values, b->values, (size_t)a->states * sizeof(double));
  assert_memory_equal(a->residuals, b->residuals, (size_t)a->states * sizeof(double));
  for (int i = 0; i < a->states; i++)
    assert_memory_equal(a->vectors + (size_t)i * a->ld, b->vectors + (size_t)i * b->ld,
                        n * sizeof(double));
}

static void continues_bit_for_bit(const tg_eigen_problem* problem, tg_eigen_params params) {
  tg_eigen_result whole, parts;
  if (tg_eigen_solve(problem, &params, &whole) != TG_OK) fail_msg("%s", tg_last_error());
  for (int64_t at = 1, pieces = 0; pieces < 2; at += 13) {
    stop s = {.at = at};
    params.interrupted = stop_at;
    params.context = &s;
    tg_eigen_solver* solver = NULL;
    assert_int_equal(tg_eigen_create(problem, &params, &solver), TG_OK);
    tg_status status = tg_eigen_run(solver);
    if (status == TG_OK) { /* never stopped: such a late stop has nothing to continue */
      pieces++;
    } else {
      assert_int_equal(status, TG_ERR_INTERRUPTED);
      assert_int_equal(tg_eigen_take(solver, &parts), TG_ERR_INPUT);
      assert_int_equal(tg_eigen_save(solver, path), TG_OK);
      tg_eigen_destroy(&solver);
      assert_int_equal(tg_eigen_create(problem, &params, &solver), TG_OK);
      if (tg_eigen_load(solver, path) != TG_OK) fail_msg("%s", tg_last_error());
      s.at = 0;
      status = tg_eigen_run(solver);
    }
    if (status != TG_OK) fail_msg("%s", tg_last_error());
    assert_int_equal(tg_eigen_take(solver, &parts), TG_OK);
    same_bits(&whole, &parts, problem->n);
    tg_eigen_result_free(&parts);
    tg_eigen_destroy(&solver);
  }
  tg_eigen_result_free(&whole);
  unlink(path);
}

static void lanczos_goes_on(void** state) {
  (void)state;
  size_t n = 600;
  const tg_eigen_problem problem = {.n = n, .context = &n, .apply = ramp_apply};
  tg_eigen_params params = tg_eigen_defaults();
  params.states = 3;
  params.basis = 30;
  params.check = TG_EIGEN_CHECK_ALWAYS; /* so that it is interrupted there, too */
  params.tolerance = 1e-4;
  continues_bit_for_bit(&problem, params);
}

static void davidson_goes_on(void** state) {
  (void)state;
  size_t n = 600;
  double* diagonal = malloc(n * sizeof *diagonal);
  for (size_t i = 0; i < n; i++) diagonal[i] = 0.05 * (double)i;
  const tg_eigen_problem problem = {
      .n = n, .context = &n, .apply = ramp_apply, .diagonal = diagonal};
  tg_eigen_params params = tg_eigen_defaults();
  params.states = 3;
  params.basis = 25;
  params.tolerance = 1e-3;
  continues_bit_for_bit(&problem, params);
  free(diagonal);
}

static void threads_do_not_matter(void** state) {
  (void)state;
  size_t n = 3001;
  const tg_eigen_problem problem = {.n = n, .context = &n, .apply = ramp_apply};
  tg_eigen_result one, more;
  tg_eigen_params params = tg_eigen_defaults();
  params.states = 2;
  params.tolerance = 1e-2;
  params.basis = 60;
  params.threads = 1;
  assert_int_equal(tg_eigen_solve(&problem, &params, &one), TG_OK);
  for (int threads = 2; threads <= 5; threads += 3) {
    params.threads = threads;
    assert_int_equal(tg_eigen_solve(&problem, &params, &more), TG_OK);
    same_bits(&one, &more, n);
    tg_eigen_result_free(&more);
  }
  tg_eigen_result_free(&one);
}

static size_t read_bytes(char* bytes, size_t size) {
  FILE* f = fopen(path, "rb");
  const size_t count = fread(bytes, 1, size, f);
  fclose(f);
  return count;
}

static void write_bytes(const char* bytes, size_t size) {
  FILE* f = fopen(path, "wb");
  assert_true(fwrite(bytes, 1, size, f) == size);
  fclose(f);
}

static void refuses(tg_eigen_solver* solver, const char* words) {
  assert_int_equal(tg_eigen_load(solver, path), TG_ERR_INPUT);
  assert_non_null(strstr(tg_last_error(), path));
  if (words && !strstr(tg_last_error(), words))
    fail_msg("\"%s\" does not say \"%s\"", tg_last_error(), words);
}

static void bad_files_are_refused(void** state) {
  (void)state;
  size_t n = 100;
  enum { ROOM = 1 << 20 };
  char* bytes = malloc(ROOM);
  tg_eigen_problem problem = {.n = n, .context = &n, .apply = ramp_apply, .fingerprint = 7};
  stop s = {.at = 8};
  tg_eigen_params params = tg_eigen_defaults();
  params.interrupted = stop_at;
  params.context = &s;
  params.states = 2;
  params.basis = 20;
  tg_eigen_solver* solver = NULL;
  assert_int_equal(tg_eigen_create(&problem, &params, &solver), TG_OK);
  unlink(path);
  refuses(solver, NULL);
  assert_int_equal(tg_eigen_run(solver), TG_ERR_INTERRUPTED);
  assert_int_equal(tg_eigen_save(solver, path), TG_OK);
  const size_t size = read_bytes(bytes, ROOM);
  assert_true(size > 1000 && size < ROOM);
  tg_eigen_destroy(&solver);

  assert_int_equal(tg_eigen_create(&problem, &params, &solver), TG_OK);
  for (size_t cut = 0; cut < size; cut += 1 + cut / 5) {
    write_bytes(bytes, cut);
    refuses(solver, "ends early");
  }
  for (size_t at = 0; at < size; at += 1 + at / 9) {
    bytes[at] ^= 0x10;
    write_bytes(bytes, size);
    refuses(solver, NULL);
    bytes[at] ^= 0x10;
  }
  bytes[size] = 0;
  write_bytes(bytes, size + 1);
  refuses(solver, "follows");
  write_bytes(bytes, size);

  tg_eigen_solver* other = NULL;
  problem.fingerprint = 8;
  assert_int_equal(tg_eigen_create(&problem, &params, &other), TG_OK);
  refuses(other, "fingerprint");
  tg_eigen_destroy(&other);
  problem.fingerprint = 7;
  params.states = 3;
  assert_int_equal(tg_eigen_create(&problem, &params, &other), TG_OK);
  refuses(other, "number of states");
  tg_eigen_destroy(&other);

  /* after all that, the solver still takes the good file and finishes */
  s.at = 0;
  tg_eigen_result result;
  assert_int_equal(tg_eigen_load(solver, path), TG_OK);
  assert_int_equal(tg_eigen_run(solver), TG_OK);
  assert_int_equal(tg_eigen_take(solver, &result), TG_OK);
  assert_int_equal(tg_eigen_save(solver, path), TG_ERR_INPUT);
  tg_eigen_result_free(&result);
  tg_eigen_destroy(&solver);
  unlink(path);
  free(bytes);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lanczos_goes_on), cmocka_unit_test(davidson_goes_on),
      cmocka_unit_test(threads_do_not_matter), cmocka_unit_test(bad_files_are_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
