/* SPDX-License-Identifier: Apache-2.0 */
/* Many orbitals and few integrals: sites in a row, on which two electrons meet. What no machine
 * holds is refused before it is made. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <float.h>
#include <math.h>

#include "base/memory.h"
#include "ci/operator.h"
#include "ci/product_fly.h"
#include "random_h.h"

static const double meeting = 4, hop = -1;

/* n sites, a + b electrons: hop between neighbours, `meeting` for two on one site. */
static tg_ci_hamiltonian* sites(size_t n) {
  tg_ci_orbital* o = NULL;
  tg_ci_hamiltonian* h = NULL;
  assert_int_equal(TG_ALLOCATE(n, "orbitals", &o), TG_OK);
  for (size_t i = 0; i < n; i++) o[i] = (tg_ci_orbital){.shell = (uint16_t)i};
  assert_int_equal(tg_ci_hamiltonian_create(n, o, n, o, &h), TG_OK);
  tg_free(o);
  for (int i = 0; i < (int)n; i++) {
    for (int t = 0; t < 2 && i + 1 < (int)n; t++)
      assert_int_equal(tg_ci_hamiltonian_set_one(h, t, i, i + 1, hop), TG_OK);
    assert_int_equal(tg_ci_hamiltonian_set_cross(h, i, i, i, i, meeting), TG_OK);
  }
  return h;
}

static double energy(size_t n, int k) { return 2 * hop * cos(k * acos(-1) / ((double)n + 1)); }
static double wave(size_t n, int k, size_t site) {
  return sin(k * acos(-1) * ((double)site + 1) / ((double)n + 1));
}

/* One up, one down: waves k and l of a box are states of both hops, so H x is known. */
static void one_up_one_down(size_t n) {
  enum { UP = 3, DOWN = 8 };
  tg_ci_hamiltonian* h = sites(n);
  const tg_ci_space_params params = space_of(1, 1, 0);
  const tg_ci_operator_params how = {.memory = 200000000, .threads = 2};
  tg_ci_space* s = NULL;
  tg_ci_operator* op = NULL;
  double *x = NULL, *y = NULL;
  assert_true(tg_ci_hamiltonian_is_sparse(h));
  assert_int_equal(tg_ci_space_make(h, &params, &s), TG_OK);
  assert_int_equal(tg_ci_operator_create(h, s, &how, &op), TG_OK);
  assert_int_equal(TG_ALLOCATE(n * n, "x", &x), TG_OK);
  assert_int_equal(TG_ALLOCATE(n * n, "y", &y), TG_OK);
  for (size_t i = 0; i < n * n; i++) x[i] = wave(n, UP, i / n) * wave(n, DOWN, i % n);
  assert_int_equal(tg_ci_operator_apply(op, 1, x, y, n * n), TG_OK);
  for (size_t i = 0; i < n * n; i++) {
    const double met = i / n == i % n ? meeting : 0;
    const double expected = (energy(n, UP) + energy(n, DOWN) + met) * x[i];
    assert_true(fabs(y[i] - expected) <=
                100 * DBL_EPSILON); /* five terms of at most 4, and sines */
  }
  /* the diagonal, and each electron's two neighbours but for the ends */
  assert_int_equal(tg_ci_operator_facts_of(op).pairs, n * n + 4 * n * (n - 1));
  tg_free(x);
  tg_free(y);
  tg_ci_operator_free(op);
  tg_ci_space_free(s);
  tg_ci_hamiltonian_free(h);
}

static void few_integrals(void** state) {
  (void)state;
  one_up_one_down(200);
  one_up_one_down(1000);
}

/* Two alike: nothing connects them but the hops. */
static void two_alike(void** state) {
  (void)state;
  enum { N = 200 };
  tg_ci_hamiltonian* h = sites(N);
  const tg_ci_space_params params = space_of(2, 0, 0);
  const tg_ci_operator_params how = {.threads = 2};
  tg_ci_space* s = NULL;
  tg_ci_operator* op = NULL;
  double x[N * (N - 1) / 2], y[N * (N - 1) / 2];
  assert_int_equal(tg_ci_space_make(h, &params, &s), TG_OK);
  assert_int_equal(s->dimension, N * (N - 1) / 2);
  assert_int_equal(tg_ci_operator_create(h, s, &how, &op), TG_OK);
  for (size_t i = 0; i < s->dimension; i++) {
    const uint16_t* list = tg_ci_string(&s->strings[0], i);
    x[i] = wave(N, 2, list[0]) * wave(N, 5, list[1]) - wave(N, 5, list[0]) * wave(N, 2, list[1]);
  }
  assert_int_equal(tg_ci_operator_apply(op, 1, x, y, (size_t)s->dimension), TG_OK);
  for (size_t i = 0; i < s->dimension; i++)
    assert_true(fabs(y[i] - (energy(N, 2) + energy(N, 5)) * x[i]) <= 100 * DBL_EPSILON);
  tg_ci_operator_free(op);
  tg_ci_space_free(s);
  tg_ci_hamiltonian_free(h);
}

/* Every element of two neutrons in 14 oscillator shells. Their strings of one M are all connected:
 * some 10^8 elements in a space of 10^4 states. */
static void refused_in_time(void** state) {
  (void)state;
  tg_ci_orbital o[1200];
  const size_t n = shell_oscillator(o, 13);
  assert_int_equal(n, 1120);
  tg_ci_hamiltonian* h = NULL;
  tg_ci_space* s = NULL;
  tg_ci_operator* op = NULL;
  const tg_ci_space_params params = space_of(0, 2, 0);
  const tg_ci_operator_params how = {.memory = 1000000000, .threads = 2};
  uint64_t most;
  assert_int_equal(tg_ci_hamiltonian_create(0, NULL, n, o, &h), TG_OK);
  for (int i = 0; i < (int)n; i++)
    for (int j = i + 1; j < (int)n; j++)
      assert_int_equal(tg_ci_hamiltonian_set_two(h, 1, i, j, i, j, 1), TG_OK);
  assert_int_equal(tg_ci_space_make(h, &params, &s), TG_OK);
  assert_int_equal(tg_ci_operator_create(h, s, &how, &op), TG_ERR_MACHINE);
  assert_non_null(strstr(tg_last_error(), "may be used"));
  (void)tg_memory_held(&most);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  assert_true(most < 500000000);
#endif
  tg_ci_space_free(s);
  tg_ci_hamiltonian_free(h);
}

/* Bytes that were told before against those that were taken; operators of links are counted as if
 * each jump had one of its own. */
static void estimate(const tg_ci_hamiltonian* h, const tg_ci_space_params* params) {
  tg_ci_space* s = NULL;
  tg_ci_fly f = {0};
  tg_ci_fly_size size;
  assert_int_equal(tg_ci_space_make(h, params, &s), TG_OK);
  assert_int_equal(tg_ci_fly_estimate(h, s, 2, false, &size), TG_OK);
  assert_int_equal(tg_ci_fly_make(h, s, 2, &f), TG_OK);
  const double ratio = (double)size.bytes / (double)f.bytes;
  if (!(ratio > 0.85 && ratio < 1.5))
    fail_msg("%zu bytes taken, %llu told", f.bytes, (unsigned long long)size.bytes);
  assert_true(size.peak > size.bytes);
  tg_ci_fly_free(&f);
  tg_ci_space_free(s);
}

static void estimates(void** state) {
  (void)state;
  tg_ci_orbital o[200];
  size_t n = shell_sd(o);
  tg_ci_hamiltonian* h = random_h(n, o, n, o, 3);
  tg_ci_space_params params = space_of(4, 4, 0);
  estimate(h, &params);
  params = space_of(3, 0, 1);
  estimate(h, &params);
  tg_ci_hamiltonian_free(h);
  n = shell_oscillator(o, 4);
  h = random_h(n, o, n, o, 4);
  params = space_of(3, 3, 0);
  params.weight_most = 5;
  params.symmetry = 1;
  estimate(h, &params);
  tg_ci_hamiltonian_free(h);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(few_integrals),
      cmocka_unit_test(two_alike),
      cmocka_unit_test(refused_in_time),
      cmocka_unit_test(estimates),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
