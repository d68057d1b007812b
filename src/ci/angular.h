/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/angular.h  Coupling of angular momenta. All arguments are doubled (2j, 2m), so that
 * halves are whole numbers; signs are those of Condon and Shortley (Edmonds' book).
 *
 * A coefficient is a square root of a ratio of factorials times a sum of whole numbers with
 * changing signs. The sum is made exactly, in 128 bits, so nothing cancels and the result is right
 * to a few units of its last place. A 6j symbol's sum fits up to about 2j = 44 everywhere; beyond,
 * it is made in long double, with ten digits and more left. */
#ifndef TG_CI_ANGULAR_H
#define TG_CI_ANGULAR_H

#include <stdbool.h>

/* 2 (j1 + j2 + J) of tg_ci_clebsch, and each 2j of tg_ci_six_j: beyond, both give NAN */
enum { TG_CI_MOST_TWO_J_SUM = 252, TG_CI_MOST_SIX_J = 160 };

/** 2a, 2b, 2c can couple: the sum is even and none is more than the other two together. */
bool tg_ci_triangle(int two_a, int two_b, int two_c);

/** <j1 m1 j2 m2 | J M>; 0 where the arguments do not fit together. */
double tg_ci_clebsch(int two_j1, int two_m1, int two_j2, int two_m2, int two_j, int two_m);

/** {a b c; d e f}; 0 where a triangle does not close. */
double tg_ci_six_j(int a, int b, int c, int d, int e, int f);

/** {a b c; d e f; g h i} of the nine numbers row by row. */
double tg_ci_nine_j(const int two_j[9]);

/** (-1)^n of a whole n of either sign. */
static inline int tg_ci_sign(int n) { return n % 2 == 0 ? 1 : -1; }

#endif
