/* SPDX-License-Identifier: Apache-2.0 */
/* The factorised product against operators applied one by one. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <float.h>
#include <math.h>
#include <string.h>

#include "ci/omp/kernels.h"
#include "ci/product_fly.h"
#include "ci/random_h.h"
#include "ci/ref/product.h"

/* Sums of at most n terms, each at most the product of the largest factors, in another order: an
 * error of n DBL_EPSILON times the sum of the terms' sizes is never reached. */
static double tolerance(double terms, double largest) {
  return terms * DBL_EPSILON * terms * largest;
}

static double largest_of(const double* x, size_t n) {
  double most = 1;
  for (size_t i = 0; i < n; i++) most = fmax(most, fabs(x[i]));
  return most;
}

static double* vector(size_t n) {
  double* x = NULL;
  assert_int_equal(TG_ALLOCATE(n, "vector", &x), TG_OK);
  return x;
}

static void check(const tg_ci_hamiltonian* h, const tg_ci_space_params* params) {
  tg_ci_space* s = NULL;
  if (tg_ci_space_make(h, params, &s) != TG_OK) fail_msg("%s", tg_last_error());
  tg_ci_fly f = {0};
  assert_int_equal(tg_ci_fly_make(h, s, 2, &f), TG_OK);
  const size_t n = (size_t)s->dimension;
  double *x = vector(n), *y = vector(n), *again = vector(n), *expected = vector(n);
  for (size_t i = 0; i < n; i++) x[i] = shell_random(99, i);
  assert_int_equal(tg_ci_ref_apply(h, s, x, expected), TG_OK);
  const double limit = tolerance((double)n + 100, largest_of(expected, n));
  static const int threads[] = {1, 2, 5};
  for (int t = 0; t < 3; t++) {
    memset(y, 0x7f, n * sizeof *y);
    assert_int_equal(tg_ci_fly_apply(&f, threads[t], x, y), TG_OK);
    if (t == 0) memcpy(again, y, n * sizeof *y);
    assert_memory_equal(again, y, n * sizeof *y);
  }
  for (size_t i = 0; i < n; i++)
    if (!(fabs(y[i] - expected[i]) <= limit))
      fail_msg("element %zu of %zu: %.17g, expected %.17g", i, n, y[i], expected[i]);
  for (size_t i = 0; i < n; i += n / 7 + 1) { /* the diagonal */
    memset(expected, 0, n * sizeof *expected);
    assert_int_equal(tg_ci_ref_column(h, s, i, 1, expected), TG_OK);
    assert_true(fabs(expected[i] - f.diagonal[i]) <= limit);
  }
  tg_free(x);
  tg_free(y);
  tg_free(again);
  tg_free(expected);
  tg_ci_fly_free(&f);
  tg_ci_space_free(s);
}

/* Two parities, several j, and another shell for B; every number of particles. */
static void every_number_of_particles(void** state) {
  (void)state;
  tg_ci_orbital a[16], b[16];
  size_t na = shell_add(a, 0, 1, 0, 0, 0);
  na = shell_add(a, na, 3, 1, 1, 1);
  na = shell_add(a, na, 1, 1, 1, 2);
  size_t nb = shell_add(b, 0, 3, 1, 1, 0);
  nb = shell_add(b, nb, 1, 0, 2, 1);
  tg_ci_hamiltonian* h = random_h(na, a, nb, b, 7);
  for (int i = 0; i <= (int)na; i++)
    for (int j = 0; j <= (int)nb; j++) {
      tg_ci_space_params params = space_of(i, j, (i + j) % 2);
      check(h, &params);
      params.symmetry = 0;
      if ((i > 0 && i < (int)na) || (j > 0 && j < (int)nb)) check(h, &params);
    }
  tg_ci_hamiltonian_free(h);
}

/* Molecules: no 2m, eight labels, states of all labels together and of one. */
static void point_groups(void** state) {
  (void)state;
  static const uint8_t labels[7] = {0, 3, 0, 5, 6, 1, 3};
  tg_ci_orbital o[7];
  for (int i = 0; i < 7; i++) o[i] = (tg_ci_orbital){.symmetry = labels[i], .shell = (uint16_t)i};
  tg_ci_hamiltonian* h = random_h(7, o, 7, o, 11);
  tg_ci_space_params params = space_of(3, 2, 0);
  check(h, &params);
  for (params.symmetry = 0; params.symmetry < 8; params.symmetry++) check(h, &params);
  uint8_t roles[7] = {TG_CI_FROZEN, TG_CI_ACTIVE, TG_CI_ACTIVE, TG_CI_UNUSED};
  params.limits[0].roles = params.limits[1].roles = roles;
  params.symmetry = 0;
  check(h, &params);
  tg_ci_hamiltonian_free(h);
}

static void truncations(void** state) {
  (void)state;
  tg_ci_orbital o[64];
  const size_t n = shell_oscillator(o, 2);
  tg_ci_hamiltonian* h = random_h(n, o, n, o, 13);
  tg_ci_space_params params = space_of(2, 3, 1);
  params.symmetry = 1;
  params.weight_most = 3;
  check(h, &params);
  params.limits[1].weight_most = 2;
  check(h, &params);
  params = space_of(3, 3, 2);
  params.weight_most = 4;
  check(h, &params);
  const uint16_t partitions[4][6] = {
      {2, 0, 0, 0, 0, 0}, {1, 1, 0, 0, 0, 0}, {0, 0, 2, 0, 0, 0}, {1, 0, 0, 0, 0, 1}};
  const uint32_t pairs[5][2] = {{0, 0}, {0, 2}, {2, 3}, {1, 1}, {3, 0}};
  params = space_of(2, 2, 0);
  for (int t = 0; t < 2; t++) {
    params.limits[t].shells = 6;
    params.limits[t].partition_count = 4;
    params.limits[t].partitions = &partitions[0][0];
  }
  params.partition_pair_count = 5;
  params.partition_pairs = &pairs[0][0];
  check(h, &params);
  tg_ci_hamiltonian_free(h);
}

/* Large enough for several tiles, tasks that are parts of blocks, and both ways of the cross part.
 */
static void larger_blocks(void** state) {
  (void)state;
  tg_ci_orbital a[16], b[64];
  const size_t na = shell_p(a), nb = shell_pf(b);
  tg_ci_hamiltonian* h = random_h(na, a, nb, b, 17);
  const tg_ci_space_params params = space_of(1, 4, 1);
  check(h, &params);
  tg_ci_hamiltonian_free(h);
}

/* The vector x among 2 and MOST, first or last: the same bits as alone, and nothing beyond them. */
static void several_at_once(const tg_ci_kernels* kernels, const tg_ci_fly* f, const double* x,
                            const double* expected) {
  enum { MOST = 5 };
  const size_t n = (size_t)f->space->dimension, ld = n + 3;
  double *many = vector(MOST * ld), *y = vector(MOST * ld);
  for (int k = 2; k <= MOST; k += MOST - 2)
    for (int at = 0; at < k; at += k - 1) {
      for (size_t i = 0; i < MOST * ld; i++) {
        many[i] = i / ld == (size_t)at && i % ld < n ? x[i % ld] : (double)(i % 17) - 8;
        y[i] = 1e300;
      }
      assert_int_equal(tg_ci_fly_apply_by(kernels, f, 2, k, many, y, ld), TG_OK);
      assert_memory_equal(y + (size_t)at * ld, expected, n * sizeof *y);
      for (size_t i = 0; i < MOST * ld; i++)
        if (i % ld >= n || i / ld >= (size_t)k) assert_true(y[i] == 1e300);
    }
  tg_free(many);
  tg_free(y);
}

/* Every instruction set that runs here; blocks of up to 44 rows, all three ways of the cross part.
 */
static void every_instruction_set(void** state) {
  (void)state;
  tg_ci_orbital o[64], p[64];
  const size_t n = shell_sd(o), m = shell_oscillator(p, 2);
  for (int c = 0; c < 3; c++) {
    tg_ci_hamiltonian* h = c ? random_h(n, o, n, o, 19) : random_h(m, p, m, p, 20);
    tg_ci_space_params params = space_of(c == 2 ? 1 : 3, c == 2 ? 6 : 3, c == 2);
    if (c == 0) params.weight_most = 5;
    tg_ci_space* s = NULL;
    assert_int_equal(tg_ci_space_make(h, &params, &s), TG_OK);
    tg_ci_fly f = {0};
    assert_int_equal(tg_ci_fly_make(h, s, 2, &f), TG_OK);
    const size_t size = (size_t)s->dimension;
    double *x = vector(size), *y = vector(size), *again = vector(size), *expected = vector(size);
    for (size_t i = 0; i < size; i++) x[i] = i % 5 ? 0 : shell_random(98, i);
    assert_int_equal(tg_ci_ref_apply(h, s, x, expected), TG_OK);
    const double limit = tolerance((double)size + 100, largest_of(expected, size));
    for (const tg_ci_kernels* const* v = tg_ci_kernel_variants(); *v; v++) {
      if (!(*v)->runs()) continue;
      assert_int_equal(tg_ci_fly_apply_by(*v, &f, 1, 1, x, y, size), TG_OK);
      assert_int_equal(tg_ci_fly_apply_by(*v, &f, 3, 1, x, again, size), TG_OK);
      assert_memory_equal(y, again, size * sizeof *y);
      several_at_once(*v, &f, x, y);
      for (size_t i = 0; i < size; i++)
        if (!(fabs(y[i] - expected[i]) <= limit))
          fail_msg("%s: element %zu: %.17g, expected %.17g", (*v)->name, i, y[i], expected[i]);
    }
    tg_free(x);
    tg_free(y);
    tg_free(again);
    tg_free(expected);
    tg_ci_fly_free(&f);
    tg_ci_space_free(s);
    tg_ci_hamiltonian_free(h);
  }
}

/* As a matrix of ref is symmetric, and pairs differ in at most two particles where it may be not
 * zero: so many pairs are counted. */
static void pairs_are_counted(void** state) {
  (void)state;
  static const struct {
    size_t (*shell)(tg_ci_orbital*);
    int a, b, two_m;
    uint64_t pairs;
  } cases[] = {{shell_sd, 2, 2, 0, 54624},
               {shell_sd, 4, 4, 0, 6085335},
               {shell_sd, 4, 5, 1, 10283723},
               {shell_sd, 6, 6, 0, 25253854},
               {shell_pf, 2, 4, 0, 33287140}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tg_ci_orbital o[64];
    const size_t n = cases[i].shell(o);
    tg_ci_hamiltonian* h = NULL;
    assert_int_equal(tg_ci_hamiltonian_create(n, o, n, o, &h), TG_OK);
    const tg_ci_space_params params = space_of(cases[i].a, cases[i].b, cases[i].two_m);
    tg_ci_space* s = NULL;
    assert_int_equal(tg_ci_space_make(h, &params, &s), TG_OK);
    tg_ci_fly f = {0};
    assert_int_equal(tg_ci_fly_make(h, s, 2, &f), TG_OK);
    assert_int_equal(f.pairs, cases[i].pairs);
    tg_ci_fly_free(&f);
    tg_ci_space_free(s);
    tg_ci_hamiltonian_free(h);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_number_of_particles),
      cmocka_unit_test(point_groups),
      cmocka_unit_test(truncations),
      cmocka_unit_test(larger_blocks),
      cmocka_unit_test(every_instruction_set),
      cmocka_unit_test(pairs_are_counted),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
