/* SPDX-License-Identifier: Apache-2.0 */
/* The eigen-solver's vectors by OpenACC against the host's, operation by operation. The same file
 * runs on GPUs, without cmocka (tests/ci/gpu_slices.cu). */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/rng.h"
#include "eigen/vectors.h"

static void ok(tg_status status) {
  if (status != TG_OK) fail_msg("status %d: %s", (int)status, tg_last_error());
}

static double* vector(size_t n) {
  double* x = NULL;
  ok(TG_ALLOCATE(n + 1, "vector", &x));
  return x;
}

/* Rows on both sides. */
typedef struct sides {
  tg_eigen_problem problem;
  tg_rows host, acc;
} sides;

static bool open_sides(sides* s, size_t n, size_t first, int columns, int block) {
  static bool said;
  memset(s, 0, sizeof *s);
  s->problem.n = n;
  s->problem.place = TG_EIGEN_ACC;
  tg_rows_shape(n, &s->host);
  s->host.first = first;
  s->host.threads = 2;
  s->host.problem = &s->problem;
  s->acc = s->host;
  s->host.ops = &tg_rows_host;
  if (tg_rows_acc(&s->acc.ops) != TG_OK) {
    if (!said) fprintf(stderr, "skipped: %s\n", tg_last_error());
    said = true;
    return false;
  }
  ok(s->host.ops->open(&s->host, (size_t)columns * (size_t)block, columns));
  ok(s->acc.ops->open(&s->acc, (size_t)columns * (size_t)block, columns));
  assert_true(tg_rows_acc_bytes(&s->acc, (size_t)columns * (size_t)block, columns) > 0);
  return true;
}

static double random_of(uint64_t seed, size_t i) {
  tg_rng rng = tg_rng_stream(seed, TG_RNG_TEST, i);
  return 2 * tg_rng_uniform(&rng) - 1;
}

/* Columns of numbers up to 1, zeros in the padding. */
static double* columns_of(const sides* s, int count, uint64_t seed) {
  double* all = vector((size_t)count * s->host.ld);
  for (int c = 0; c < count; c++)
    for (size_t i = 0; i < s->host.used; i++)
      all[(size_t)c * s->host.ld + i] = random_of(seed + (uint64_t)c, i);
  return all;
}

static double* upload(const sides* s, const double* from, int count) {
  double* out = NULL;
  ok(s->acc.ops->allocate(&s->acc, (size_t)count, "test columns", &out));
  ok(tg_rows_put(&s->acc, from, (size_t)count * s->acc.ld, out));
  return out;
}

static void same(const sides* s, const double* there, const double* here, int columns,
                 double allowed, const char* what) {
  const size_t count = (size_t)columns * s->host.ld;
  double* back = vector(count);
  ok(tg_rows_get(&s->acc, there, count, back));
  for (size_t i = 0; i < count; i++)
    if (i % s->host.ld < s->host.n && !(fabs(back[i] - here[i]) <= allowed))
      fail_msg("%s: number %zu is %.17g, the host has %.17g", what, i, back[i], here[i]);
  tg_free(back);
}

/* Errors of a sum of n products of numbers up to 1 that are as good as random: n roundings, of sums
 * that are some sqrt(n) long on their way, add up as a walk of sqrt(n) of these steps. */
static double of_sums(double n) { return (n + 8) * DBL_EPSILON; }

static void inner_products(const sides* s, const double* v, const double* acc_v, int p,
                           const double* w, const double* acc_w, int c) {
  const size_t count = (size_t)(p + 1) * (size_t)c;
  const double allowed = of_sums((double)s->host.n);
  double *h = vector(count), *g = vector(count), *again = vector(count);
  for (size_t i = 0; i < count; i++) h[i] = g[i] = again[i] = -7;
  ok(tg_rows_inner(&s->host, v, p, w, c, h, p + 1));
  ok(tg_rows_inner(&s->acc, acc_v, p, acc_w, c, g, p + 1));
  ok(tg_rows_inner(&s->acc, acc_v, p, acc_w, c, again, p + 1));
  for (size_t i = 0; i < count; i++)
    if (!(fabs(h[i] - g[i]) <= allowed))
      fail_msg("%d x %d, sum %zu is %.17g, the host has %.17g", p, c, i, g[i], h[i]);
  assert_memory_equal(g, again, count * sizeof *g); /* the same bits again */
  ok(tg_rows_norms(&s->host, w, c, h));
  ok(tg_rows_norms(&s->acc, acc_w, c, g));
  for (int i = 0; i < c; i++) assert_true(fabs(h[i] - g[i]) <= allowed);
  tg_free(h);
  tg_free(g);
  tg_free(again);
}

/* v: [p], w: [c] columns on both sides; w is changed. */
static void small_matrices(const sides* s, double* v, double* acc_v, int p, double* w,
                           double* acc_w, int c) {
  const int q = p < 7 ? p : 7;
  double *part = vector((size_t)p * (size_t)c), *turn = vector((size_t)p * (size_t)q);
  double* made = vector((size_t)q * s->host.ld);
  for (size_t i = 0; i < (size_t)p * (size_t)c; i++) part[i] = random_of(55, i);
  for (size_t i = 0; i < (size_t)p * (size_t)q; i++) turn[i] = random_of(77, i);
  tg_rows_subtract(&s->host, w, c, v, p, part, p);
  tg_rows_subtract(&s->acc, acc_w, c, acc_v, p, part, p);
  same(s, acc_w, w, c, of_sums(p) * 4, "subtract");
  double* acc_made = upload(s, made, q);
  tg_rows_times(&s->host, v, p, turn, p, q, made);
  tg_rows_times(&s->acc, acc_v, p, turn, p, q, acc_made);
  same(s, acc_made, made, q, of_sums(p) * 4, "times");
  tg_rows_times(&s->host, v, p, turn, p, q, v);
  tg_rows_times(&s->acc, acc_v, p, turn, p, q, acc_v);
  same(s, acc_v, v, p, of_sums(p) * 4, "times in place");
  s->acc.ops->release(&s->acc, acc_made);
  tg_free(part);
  tg_free(turn);
  tg_free(made);
}

static void single_columns(const sides* s) {
  double *x = columns_of(s, 2, 11), *acc_x = upload(s, x, 2);
  double *d = columns_of(s, 1, 31), *acc_d = upload(s, d, 1);
  const size_t n = s->host.used;
  tg_rows_scale(&s->host, x, 0.3);
  tg_rows_scale(&s->acc, acc_x, 0.3);
  same(s, acc_x, x, 2, 0, "scale");
  tg_rows_random(&s->host, 5, 3, x);
  tg_rows_random(&s->acc, 5, 3, acc_x);
  same(s, acc_x, x, 2, 1e-14, "random"); /* numbers up to 9, a few ulps */
  tg_rows_copy(&s->host, x, x + s->host.ld);
  tg_rows_copy(&s->acc, acc_x, acc_x + s->acc.ld);
  same(s, acc_x, x, 2, 1e-14, "copy");
  double low, high, acc_low, acc_high;
  ok(tg_rows_bounds(&s->host, d, &low, &high));
  ok(tg_rows_bounds(&s->acc, acc_d, &acc_low, &acc_high));
  assert_true(low == acc_low && high == acc_high);
  for (size_t i = 0; i < n; i++) x[i] = random_of(32, i);
  ok(tg_rows_put(&s->acc, x, n, acc_x));
  tg_rows_favour(&s->host, d, low, 0.1, x);
  tg_rows_favour(&s->acc, acc_d, low, 0.1, acc_x);
  tg_rows_divide(&s->host, d, 0.25, 0.01, x);
  tg_rows_divide(&s->acc, acc_d, 0.25, 0.01, acc_x);
  same(s, acc_x, x, 1, 100 * 4 * DBL_EPSILON, "favour, divide");
  assert_int_equal(tg_rows_find_nan(&s->acc, acc_d), -1);
  const double bad[] = {NAN, INFINITY};
  ok(tg_rows_put(&s->acc, &bad[0], 1, acc_d + n - 1));
  assert_int_equal(tg_rows_find_nan(&s->acc, acc_d), s->acc.first + n - 1);
  ok(tg_rows_put(&s->acc, &bad[1], 1, acc_d + n / 2));
  assert_int_equal(tg_rows_find_nan(&s->acc, acc_d), s->acc.first + n / 2);
  assert_int_equal(tg_rows_bounds(&s->acc, acc_d, &low, &high), TG_ERR_NUMERICS);
  s->acc.ops->release(&s->acc, acc_x);
  s->acc.ops->release(&s->acc, acc_d);
  tg_free(x);
  tg_free(d);
}

static void operations_agree(void** state) {
  (void)state;
  static const struct {
    size_t n, first;
    int p, c;
  } cases[] = {{1, 0, 1, 1},     {33, 7, 3, 2},     {1000, 5, 6, 3},   {2049, 0, 5, 4},
               {4096, 1, 70, 2}, {70001, 13, 9, 3}, {300007, 0, 13, 1}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    sides s;
    const int p = cases[i].p, c = cases[i].c;
    if (!open_sides(&s, cases[i].n, cases[i].first, (p > 2 ? p : 2) + 8, 8)) return;
    double *v = columns_of(&s, p, 100), *w = columns_of(&s, c, 900);
    double *acc_v = upload(&s, v, p), *acc_w = upload(&s, w, c);
    inner_products(&s, v, acc_v, p, w, acc_w, c);
    small_matrices(&s, v, acc_v, p, w, acc_w, c);
    single_columns(&s);
    s.acc.ops->release(&s.acc, acc_v);
    s.acc.ops->release(&s.acc, acc_w);
    tg_free(v);
    tg_free(w);
    s.host.ops->close(&s.host);
    s.acc.ops->close(&s.acc);
  }
}

/* The host's Gram-Schmidt, twice. */
static void make_orthonormal(const sides* s, double* all, int count) {
  double* h = vector((size_t)count);
  for (int i = 0; i < count; i++)
    for (int round = 0; round < 2; round++) {
      double norm, *w = all + (size_t)i * s->host.ld;
      ok(tg_rows_inner(&s->host, all, i, w, 1, h, count));
      tg_rows_subtract(&s->host, w, 1, all, i, h, count);
      ok(tg_rows_norms(&s->host, w, 1, &norm));
      tg_rows_scale(&s->host, w, 1 / norm);
    }
  tg_free(h);
}

/* A step leaves columns that are orthonormal and apart from the basis, with the coefficients that
 * make up the products again. near: the second product is nearly the first, so that it says so. */
static void one_step(size_t n, int at, int c, bool near) {
  sides s;
  if (!open_sides(&s, n, 0, at + c + 8, 8)) return;
  const int columns = at + c, window = at - at / 2;
  const size_t ld = s.host.ld;
  double *all = columns_of(&s, columns, 4), *h = vector((size_t)columns * (size_t)c);
  double *first = vector((size_t)window * (size_t)c), *second = vector((size_t)at * (size_t)c);
  make_orthonormal(&s, all, at);
  for (size_t i = 0; near && i < n; i++)
    all[(size_t)(at + 1) * ld + i] = all[(size_t)at * ld + i] * (1 + 1e-3 * random_of(9, i));
  double *basis = upload(&s, all, columns), *now = vector((size_t)columns * ld);
  tg_rows_step step = {
      .basis = basis, .begin = at / 2, .at = at, .c = c, .first = first, .second = second};
  ok(s.acc.ops->step(&s.acc, &step));
  assert_true(step.done == !near);
  double* y = basis + (size_t)at * ld;
  ok(tg_rows_inner(&s.acc, basis, columns, y, c, h, columns));
  for (int j = 0; j < c; j++)
    for (int i = 0; i < (near ? at : columns); i++)
      if (!(fabs(h[j * columns + i] - (i == at + j)) <= (near ? 1e-13 * step.norm[0] : 1e-14)))
        fail_msg("inner product %d, %d is %.17g", i, j, h[j * columns + i]);
  ok(tg_rows_get(&s.acc, basis, (size_t)columns * ld, now));
  for (int j = 0; !near && j < c; j++)
    for (size_t row = 0; row < n; row++) {
      double sum = 0;
      for (int i = 0; i < at; i++) {
        double g = second[j * at + i];
        if (i >= step.begin) g += first[j * window + (i - step.begin)];
        sum += g * all[(size_t)i * ld + row];
      }
      for (int i = 0; i <= j; i++) sum += step.r[j * c + i] * now[(size_t)(at + i) * ld + row];
      assert_true(fabs(sum - all[(size_t)(at + j) * ld + row]) <= 1e-13);
    }
  s.acc.ops->release(&s.acc, basis);
  double* const arrays[] = {all, h, first, second, now};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) tg_free(arrays[i]);
  s.host.ops->close(&s.host);
  s.acc.ops->close(&s.acc);
}

static void a_step_is_orthonormal(void** state) {
  (void)state;
  for (int c = 1; c <= TG_ROWS_STEP; c++) {
    one_step(500, 6, c, false);
    one_step(20011, 40, c, false);
    if (c > 1) one_step(3000, 12, c, true);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(operations_agree),
                                     cmocka_unit_test(a_step_is_orthonormal)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
