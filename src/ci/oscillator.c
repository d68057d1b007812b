/* SPDX-License-Identifier: Apache-2.0 */
/* Radial integrals: with s = (l2 - l1 + k)/2 and t = (l1 - l2 + k)/2 (both >= 0),
 *
 *   <n1 l1|r^k|n2 l2> = (-1)^(n1+n2) s! t! sqrt( n1! n2! / (G(n1+l1+3/2) G(n2+l2+3/2)) )
 *       * sum_i G((l1+l2+k+3)/2 + i) / (i! (n1-i)! (n2-i)! (i+s-n1)! (i+t-n2)!)
 *
 * with the gamma function G (Bohr and Mottelson, Nuclear Structure I, for functions of this sign:
 * the generating functions of the Laguerre polynomials give it). */
#include "ci/oscillator.h"

#include <math.h>
#include <stdlib.h>

#include "base/units.h"
#include "ci/angular.h"

static double log_factorial(int n) { return lgamma(n + 1.0); }

double tg_ci_radial(int n1, int l1, int k, int n2, int l2) {
  int s = (l2 - l1 + k) / 2, t = (l1 - l2 + k) / 2;
  if (n1 < 0 || n2 < 0 || l1 < 0 || l2 < 0 || (l1 + l2 + k) % 2 != 0 || k < abs(l1 - l2))
    return NAN;
  double norm =
      log_factorial(s) + log_factorial(t) +
      0.5 * (log_factorial(n1) + log_factorial(n2) - lgamma(n1 + l1 + 1.5) - lgamma(n2 + l2 + 1.5));
  int first = 0;
  if (n1 - s > first) first = n1 - s;
  if (n2 - t > first) first = n2 - t;
  double sum = 0;
  for (int i = first; i <= n1 && i <= n2; i++)
    sum +=
        exp(norm + lgamma(0.5 * (l1 + l2 + k + 3) + i) - log_factorial(i) - log_factorial(n1 - i) -
            log_factorial(n2 - i) - log_factorial(i + s - n1) - log_factorial(i + t - n2));
  return tg_ci_sign(n1 + n2) * sum;
}

double tg_ci_oscillator_length2(double hw) { return TG_HBAR2_PER_NUCLEON / hw; }

double tg_ci_oscillator_energy(double mass) { return 41.0 / cbrt(mass); }

double tg_ci_harmonic_reduced(int l1, int two_j1, int k, int l2, int two_j2) {
  if ((l1 + l2 + k) % 2 != 0) return 0;
  int sign = tg_ci_sign(l1 + l2 + 1 + (two_j1 + two_j2) / 2);
  return sign * tg_ci_clebsch(two_j2, 1, 2 * k, 0, two_j1, 1) *
         sqrt((two_j2 + 1) * (2 * k + 1) / (4 * TG_PI));
}

double tg_ci_position_reduced(int n1, int l1, int two_j1, int n2, int l2, int two_j2) {
  if (abs(l1 - l2) != 1) return 0;
  return sqrt(4 * TG_PI / 3) * tg_ci_radial(n1, l1, 1, n2, l2) *
         tg_ci_harmonic_reduced(l1, two_j1, 1, l2, two_j2);
}

double tg_ci_orbital_reduced(int l1, int two_j1, int l2, int two_j2) {
  if (l1 != l2 || l1 == 0) return 0;
  return tg_ci_sign(l1 + 1 + (two_j2 + 1) / 2) *
         sqrt(l1 * (l1 + 1.0) * (2 * l1 + 1) * (two_j1 + 1) * (two_j2 + 1)) *
         tg_ci_six_j(2 * l1, two_j1, 1, two_j2, 2 * l1, 2);
}

double tg_ci_spin_reduced(int l1, int two_j1, int l2, int two_j2) {
  if (l1 != l2) return 0;
  return tg_ci_sign(l1 + 1 + (two_j1 + 1) / 2) * sqrt(1.5 * (two_j1 + 1) * (two_j2 + 1)) *
         tg_ci_six_j(1, two_j1, 2 * l1, two_j2, 1, 2);
}
