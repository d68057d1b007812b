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

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(operations_agree)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
