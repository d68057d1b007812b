/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <math.h>
#include <stdlib.h>

#include "base/units.h"
#include "ci/angular.h"
#include "ci/oscillator.h"

static void assert_close(double value, double expected, double tolerance) {
  if (!(fabs(value - expected) <= tolerance))
    fail_msg("found %.17g, expected %.17g within %g", value, expected, tolerance);
}

/* A square root and two roundings: a few units of the last place. */
static const double exact = 8e-16;

static void known_coefficients(void** state) {
  (void)state;
  assert_close(tg_ci_clebsch(1, 1, 1, -1, 0, 0), sqrt(0.5), exact);
  assert_close(tg_ci_clebsch(1, -1, 1, 1, 0, 0), -sqrt(0.5), exact);
  assert_close(tg_ci_clebsch(2, 0, 2, 0, 4, 0), sqrt(2.0 / 3), exact);
  assert_close(tg_ci_clebsch(2, 0, 1, 1, 3, 1), sqrt(2.0 / 3), exact);
  assert_close(tg_ci_clebsch(2, 2, 1, -1, 1, 1), sqrt(2.0 / 3), exact);
  assert_close(tg_ci_clebsch(2, 0, 1, 1, 1, 1), -sqrt(1.0 / 3), exact);
  assert_close(tg_ci_clebsch(5, 1, 4, 0, 5, 1), -sqrt(8.0 / 35), exact);
  assert_true(tg_ci_clebsch(2, 0, 2, 0, 2, 0) == 0);
  assert_true(tg_ci_clebsch(2, 1, 2, -1, 2, 0) == 0); /* 2m odd for 2j even */
  assert_true(tg_ci_clebsch(2, 2, 2, -2, 8, 0) == 0);
  assert_true(isnan(tg_ci_clebsch(200, 0, 200, 0, 200, 0)));
  /* from tables, such as those in Edmonds' book */
  assert_close(tg_ci_six_j(2, 2, 2, 2, 2, 2), 1.0 / 6, exact);
  assert_close(tg_ci_six_j(4, 4, 4, 4, 4, 4), -3.0 / 70, exact);
  assert_close(tg_ci_six_j(1, 1, 2, 1, 1, 2), 1.0 / 6, exact);
  assert_close(tg_ci_six_j(3, 3, 0, 5, 5, 4), 1 / sqrt(24), exact);
  assert_true(tg_ci_six_j(2, 2, 6, 2, 2, 2) == 0);
}

/* sum over m1 of <j1 m1 j2 m2|JM><j1 m1 j2 m2|J'M> = d_JJ', up to the largest j in use. */
static void coefficients_are_orthonormal(void** state) {
  (void)state;
  const int pairs[][2] = {{1, 1}, {3, 4}, {7, 7}, {15, 12}, {31, 31}, {40, 39}, {63, 63}};
  for (size_t p = 0; p < sizeof pairs / sizeof *pairs; p++) {
    const int j1 = pairs[p][0], j2 = pairs[p][1], parity = (j1 + j2) % 2;
    for (int j = abs(j1 - j2); j <= j1 + j2; j += 2)
      for (int k = abs(j1 - j2); k <= j1 + j2; k += 2) {
        const int m = parity;
        double sum = 0;
        for (int m1 = -j1; m1 <= j1; m1 += 2)
          sum += tg_ci_clebsch(j1, m1, j2, m - m1, j, m) * tg_ci_clebsch(j1, m1, j2, m - m1, k, m);
        assert_close(sum, j == k, (j1 + 1) * exact);
      }
  }
}

static void coefficients_have_their_symmetries(void** state) {
  (void)state;
  for (int j1 = 1; j1 <= 9; j1 += 2)
    for (int j2 = 0; j2 <= 8; j2 += 2)
      for (int j = abs(j1 - j2); j <= j1 + j2; j += 2)
        for (int m1 = -j1; m1 <= j1; m1 += 2)
          for (int m2 = -j2; m2 <= j2; m2 += 2) {
            const double c = tg_ci_clebsch(j1, m1, j2, m2, j, m1 + m2);
            const int sign = tg_ci_sign((j1 + j2 - j) / 2);
            assert_close(tg_ci_clebsch(j2, m2, j1, m1, j, m1 + m2), sign * c, exact);
            assert_close(tg_ci_clebsch(j1, -m1, j2, -m2, j, -m1 - m2), sign * c, exact);
          }
}

/* sum_x (2x+1)(2f+1) {a b x; c d f}{a b x; c d g} = d_fg */
static void six_j_are_orthonormal(void** state) {
  (void)state;
  const int sets[][4] = {{1, 2, 3, 4},     {7, 7, 7, 7},     {11, 13, 9, 15},
                         {31, 31, 31, 31}, {44, 44, 44, 44}, {63, 63, 63, 63}};
  for (size_t p = 0; p < sizeof sets / sizeof *sets; p++) {
    const int a = sets[p][0], b = sets[p][1], c = sets[p][2], d = sets[p][3];
    /* beyond 2j = 44 sums are made in long double, which cancels ten of its nineteen digits */
    const double tolerance = a > 44 ? 1e-8 : 200 * exact;
    const int step = a > 20 ? 14 : 2;
    for (int f = abs(a - d); f <= a + d; f += step)
      for (int g = f; g <= a + d; g += step) {
        if (!tg_ci_triangle(a, d, f) || !tg_ci_triangle(b, c, f) || !tg_ci_triangle(b, c, g))
          continue;
        double sum = 0;
        for (int x = abs(a - b); x <= a + b; x += 2)
          sum += (x + 1) * (f + 1) * tg_ci_six_j(a, b, x, c, d, f) * tg_ci_six_j(a, b, x, c, d, g);
        assert_close(sum, f == g, tolerance);
      }
  }
}

/* {..} against its definition by coefficients: recoupling of three spins. */
static void six_j_recouple(void** state) {
  (void)state;
  for (int j12 = 0; j12 <= 4; j12 += 2)
    for (int j23 = 1; j23 <= 5; j23 += 2)
      for (int j = 1; j <= 5; j += 2) {
        const int j1 = 1, j2 = 3, j3 = 2, m = 1;
        double sum = 0;
        for (int m1 = -j1; m1 <= j1; m1 += 2)
          for (int m2 = -j2; m2 <= j2; m2 += 2) {
            const int m3 = m - m1 - m2;
            sum += tg_ci_clebsch(j1, m1, j2, m2, j12, m1 + m2) *
                   tg_ci_clebsch(j12, m1 + m2, j3, m3, j, m) *
                   tg_ci_clebsch(j2, m2, j3, m3, j23, m2 + m3) *
                   tg_ci_clebsch(j1, m1, j23, m2 + m3, j, m);
          }
        const double expected = tg_ci_sign((j1 + j2 + j3 + j) / 2) * sqrt((j12 + 1.0) * (j23 + 1)) *
                                tg_ci_six_j(j1, j2, j12, j3, j, j23);
        assert_close(sum, expected, 10 * exact);
      }
}

/* LS to jj is orthogonal; and with a zero a 9j symbol is a 6j symbol. */
static void nine_j_recouple(void** state) {
  (void)state;
  const int l1 = 4, l2 = 2, j = 4;
  for (int j1 = 3; j1 <= 5; j1 += 2)
    for (int j2 = 1; j2 <= 3; j2 += 2) {
      double sum = 0;
      for (int l = 2; l <= 6; l += 2)
        for (int s = 0; s <= 2; s += 2) {
          const int nine[9] = {l1, 1, j1, l2, 1, j2, l, s, j};
          const double x = tg_ci_nine_j(nine);
          sum += (j1 + 1.0) * (j2 + 1) * (l + 1) * (s + 1) * x * x;
        }
      assert_close(sum, tg_ci_triangle(j1, j2, j), 100 * exact);
    }
  const int nine[9] = {5, 3, 4, 3, 5, 4, 2, 2, 0};
  const double six = tg_ci_six_j(5, 3, 4, 5, 3, 2) * tg_ci_sign((3 + 4 + 3 + 2) / 2);
  assert_close(tg_ci_nine_j(nine), six / sqrt(5.0 * 3), 20 * exact);
}

/* ---- radial functions, by themselves ---- */

/* R_nl(x) of oscillator length 1, from the recurrence of the Laguerre polynomials. */
static double radial_function(int n, int l, double x) {
  const double a = l + 0.5, y = x * x;
  double before = 0, laguerre = 1;
  for (int k = 0; k < n; k++) {
    const double next = ((2 * k + 1 + a - y) * laguerre - (k + a) * before) / (k + 1);
    before = laguerre;
    laguerre = next;
  }
  const double log_norm = 0.5 * (log(2) + lgamma(n + 1) - lgamma(n + l + 1.5));
  return exp(log_norm - 0.5 * y) * pow(x, l) * laguerre;
}

/* The integrand is even, and falls like exp(-x^2): the trapezium rule's error falls like
 * exp(-(pi / step)^2), so that a tenth is plenty. */
static double integral(int n1, int l1, int k, int n2, int l2) {
  const double step = 0.1;
  double sum = 0;
  for (int i = 1; i < 150; i++) {
    const double x = i * step;
    sum += radial_function(n1, l1, x) * radial_function(n2, l2, x) * pow(x, k + 2);
  }
  return step * sum;
}

static void radial_integrals(void** state) {
  (void)state;
  for (int n1 = 0; n1 <= 6; n1 += 2)
    for (int n2 = 0; n2 <= 6; n2++)
      for (int l1 = 0; l1 <= 5; l1++)
        for (int l2 = 0; l2 <= 5; l2++)
          for (int k = abs(l1 - l2); k <= 4; k++) {
            if ((l1 + l2 + k) % 2) continue;
            const double expected = integral(n1, l1, k, n2, l2);
            assert_close(tg_ci_radial(n1, l1, k, n2, l2), expected,
                         1e-11 * fmax(1, fabs(expected)));
          }
  assert_close(tg_ci_radial(3, 2, 2, 3, 2), 2 * 3 + 2 + 1.5, 1e-12);
  assert_close(tg_ci_radial(0, 2, 2, 1, 2), -sqrt(3.5), 1e-13);
  assert_true(isnan(tg_ci_radial(0, 0, 1, 0, 0)));
  assert_close(tg_ci_oscillator_length2(20), 2.073551998711, 1e-12);
  assert_close(tg_ci_oscillator_energy(8), 20.5, 1e-12);
}

/* ---- reduced elements against sums over m ---- */

/* <l1 m1|Y_kq|l2 m2> */
static double gaunt(int l1, int m1, int k, int q, int l2, int m2) {
  return sqrt((2 * l2 + 1) * (2 * k + 1) / (4 * TG_PI * (2 * l1 + 1))) *
         tg_ci_clebsch(2 * l2, 0, 2 * k, 0, 2 * l1, 0) *
         tg_ci_clebsch(2 * l2, 2 * m2, 2 * k, 2 * q, 2 * l1, 2 * m1);
}

/* <j1 m|O|j2 m> in states coupled from l and then s; kind 0: Y_k0, 1: l_0, 2: s_0. */
static double element(int l1, int j1, int l2, int j2, int m, int k, int kind) {
  double sum = 0;
  for (int s = -1; s <= 1; s += 2) {
    const int ml = (m - s) / 2;
    const double c =
        tg_ci_clebsch(2 * l1, 2 * ml, 1, s, j1, m) * tg_ci_clebsch(2 * l2, 2 * ml, 1, s, j2, m);
    if (c == 0) continue;
    sum += c * (kind == 0 ? gaunt(l1, ml, k, 0, l2, ml) : l1 != l2 ? 0 : kind == 1 ? ml : 0.5 * s);
  }
  return sum;
}

static void reduced_elements(void** state) {
  (void)state;
  for (int l1 = 0; l1 <= 4; l1++)
    for (int l2 = 0; l2 <= 4; l2++)
      for (int j1 = abs(2 * l1 - 1); j1 <= 2 * l1 + 1; j1 += 2)
        for (int j2 = abs(2 * l2 - 1); j2 <= 2 * l2 + 1; j2 += 2)
          for (int k = 0; k <= 4; k++) {
            const int m = 1;
            const double factor = tg_ci_clebsch(j2, m, 2 * k, 0, j1, m) / sqrt(j1 + 1);
            assert_close(factor * tg_ci_harmonic_reduced(l1, j1, k, l2, j2),
                         element(l1, j1, l2, j2, m, k, 0), 20 * exact);
            if (k != 1) continue;
            assert_close(factor * tg_ci_orbital_reduced(l1, j1, l2, j2),
                         element(l1, j1, l2, j2, m, k, 1), 20 * exact);
            assert_close(factor * tg_ci_spin_reduced(l1, j1, l2, j2),
                         element(l1, j1, l2, j2, m, k, 2), 20 * exact);
          }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(known_coefficients),
      cmocka_unit_test(coefficients_are_orthonormal),
      cmocka_unit_test(coefficients_have_their_symmetries),
      cmocka_unit_test(six_j_are_orthonormal),
      cmocka_unit_test(six_j_recouple),
      cmocka_unit_test(nine_j_recouple),
      cmocka_unit_test(radial_integrals),
      cmocka_unit_test(reduced_elements),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
