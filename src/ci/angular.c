/* SPDX-License-Identifier: Apache-2.0 */
/* Clebsch-Gordan coefficients and 6j symbols in the form with binomials: with c = j1 + j2 - J,
 *
 *   <j1 m1 j2 m2|JM>^2 = C(2j1,c) C(2j2,c) / [C(j1+j2+J+1,c) C(2j1,j1-m1) C(2j2,j2-m2) C(2J,J-M)]
 *                        * [sum_k (-1)^k C(c,k) C(2j1-c,j1-m1-k) C(2j2-c,j2+m2-k)]^2
 *
 * which is Racah's formula with each factorial of the sum paired into a binomial; a 6j symbol's sum
 * over t of Racah's formula likewise. */
#include "ci/angular.h"

#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

__extension__ typedef __int128 wide;

/* C(127, 63) fits in 127 bits; the terms of a coefficient's sum are below 2^(j1+j2+J) <= 2^126 */
enum { ROWS = 128, FACTORIALS = 2 * TG_CI_MOST_SIX_J + 2 };

static wide binomials[ROWS][ROWS];
static long double factorials[FACTORIALS];
static pthread_once_t tables_made = PTHREAD_ONCE_INIT;

static void make_tables(void) {
  for (int n = 0; n < ROWS; n++) {
    binomials[n][0] = 1;
    for (int k = 1; k <= n; k++)
      binomials[n][k] = binomials[n - 1][k - 1] + (k < n ? binomials[n - 1][k] : 0);
  }
  factorials[0] = 1;
  for (int n = 1; n < FACTORIALS; n++) factorials[n] = factorials[n - 1] * n;
}

static wide choose(int n, int k) { return k < 0 || k > n ? 0 : binomials[n][k]; }

bool tg_ci_triangle(int a, int b, int c) {
  return a >= 0 && b >= 0 && c >= abs(a - b) && c <= a + b && (a + b + c) % 2 == 0;
}

double tg_ci_clebsch(int j1, int m1, int j2, int m2, int j, int m) {
  if (m1 + m2 != m || !tg_ci_triangle(j1, j2, j)) return 0;
  if (abs(m1) > j1 || abs(m2) > j2 || abs(m) > j) return 0;
  if ((j1 + m1) % 2 != 0 || (j2 + m2) % 2 != 0) return 0;
  if (j1 + j2 + j > TG_CI_MOST_TWO_J_SUM) return NAN;
  pthread_once(&tables_made, make_tables);
  int c = (j1 + j2 - j) / 2;
  wide sum = 0;
  for (int k = 0; k <= c; k++) {
    wide term =
        choose(c, k) * choose(j1 - c, (j1 - m1) / 2 - k) * choose(j2 - c, (j2 + m2) / 2 - k);
    sum += k % 2 ? -term : term;
  }
  long double square = (long double)choose(j1, c) * (long double)choose(j2, c) /
                       (long double)choose((j1 + j2 + j) / 2 + 1, c);
  square /= (long double)choose(j1, (j1 - m1) / 2) * (long double)choose(j2, (j2 - m2) / 2) *
            (long double)choose(j, (j - m) / 2);
  return (double)(sqrtl(square) * (long double)sum);
}

/* (a+b-c)! (a-b+c)! (-a+b+c)! / (a+b+c+1)! */
static long double triangle_factor(int a, int b, int c) {
  return factorials[(a + b - c) / 2] * factorials[(a - b + c) / 2] * factorials[(-a + b + c) / 2] /
         factorials[(a + b + c) / 2 + 1];
}

/* The sum of a 6j symbol over t, whole numbers: C(t+1, top+1) times three binomials. */
typedef struct six_j_sum {
  int top;      /* a + b + c */
  int low[3];   /* the other triads */
  int range[3]; /* what the binomials choose from */
  int first, last;
} six_j_sum;

static bool sum_exactly(const six_j_sum* s, long double* result) {
  wide sum = 0;
  if (s->last + 1 >= ROWS) return false;
  for (int i = 0; i < 3; i++)
    if (s->range[i] >= ROWS) return false;
  for (int t = s->first; t <= s->last; t++) {
    wide term = choose(t + 1, s->top + 1);
    for (int i = 0; i < 3; i++)
      if (__builtin_mul_overflow(term, choose(s->range[i], t - s->low[i]), &term)) return false;
    if (t % 2) term = -term;
    if (__builtin_add_overflow(sum, term, &sum)) return false;
  }
  *result = (long double)sum;
  return true;
}

static long double sum_roughly(const six_j_sum* s) {
  long double sum = 0;
  for (int t = s->first; t <= s->last; t++) {
    long double term = factorials[t + 1] / (factorials[s->top + 1] * factorials[t - s->top]);
    for (int i = 0; i < 3; i++)
      term *= factorials[s->range[i]] /
              (factorials[t - s->low[i]] * factorials[s->range[i] - t + s->low[i]]);
    sum += t % 2 ? -term : term;
  }
  return sum;
}

static int least(int a, int b) { return a < b ? a : b; }
static int greatest(int a, int b) { return a > b ? a : b; }

double tg_ci_six_j(int a, int b, int c, int d, int e, int f) {
  if (!tg_ci_triangle(a, b, c) || !tg_ci_triangle(a, e, f) || !tg_ci_triangle(d, b, f) ||
      !tg_ci_triangle(d, e, c))
    return 0;
  int most = greatest(greatest(greatest(a, b), greatest(c, d)), greatest(e, f));
  if (most > TG_CI_MOST_SIX_J) return NAN;
  pthread_once(&tables_made, make_tables);
  six_j_sum s = {.top = (a + b + c) / 2,
                 .low = {(a + e + f) / 2, (d + b + f) / 2, (d + e + c) / 2},
                 .range = {(b + d - f) / 2, (c + e - d) / 2, (a + f - e) / 2}};
  s.first = greatest(greatest(s.top, s.low[0]), greatest(s.low[1], s.low[2]));
  s.last = s.low[0] + s.range[0];
  for (int i = 1; i < 3; i++) s.last = least(s.last, s.low[i] + s.range[i]);
  long double sum = 0;
  if (!sum_exactly(&s, &sum)) sum = sum_roughly(&s);
  long double square = triangle_factor(a, b, c) * triangle_factor(a, e, f) *
                       triangle_factor(d, b, f) * triangle_factor(d, e, c);
  long double rest = factorials[s.top + 1];
  for (int i = 0; i < 3; i++) rest /= factorials[s.range[i]];
  return (double)(sqrtl(square) * rest * sum);
}

double tg_ci_nine_j(const int j[9]) {
  for (int i = 0; i < 3; i++)
    if (!tg_ci_triangle(j[3 * i], j[3 * i + 1], j[3 * i + 2]) ||
        !tg_ci_triangle(j[i], j[i + 3], j[i + 6]))
      return 0;
  int first = greatest(greatest(abs(j[0] - j[8]), abs(j[3] - j[7])), abs(j[1] - j[5]));
  int last = least(least(j[0] + j[8], j[3] + j[7]), j[1] + j[5]);
  double sum = 0;
  for (int x = first; x <= last; x += 2)
    sum += tg_ci_sign(x) * (x + 1) * tg_ci_six_j(j[0], j[1], j[2], j[5], j[8], x) *
           tg_ci_six_j(j[3], j[4], j[5], j[1], x, j[7]) *
           tg_ci_six_j(j[6], j[7], j[8], x, j[0], j[3]);
  return sum;
}
