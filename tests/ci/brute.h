/* SPDX-License-Identifier: Apache-2.0 */
/** @file tests/ci/brute.h  Operators applied one by one to single states: what densities and
 * amplitudes are by definition. */
#ifndef TG_TESTS_CI_BRUTE_H
#define TG_TESTS_CI_BRUTE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "ci/space.h"

/** One a_q or a+_q of a species. */
typedef struct brute_operator {
  int species, orbital;
  bool create;
} brute_operator;

/** The product of operators (the last one acts first) on a state of `from`. The sign, and the state
 * of `to` in *out; 0: nothing, or nothing in `to`. */
static inline int brute_act(const tg_ci_space* from, uint64_t state, const tg_ci_space* to,
                            const brute_operator* operators, int count, uint64_t* out) {
  bool occupied[2][64] = {{false}};
  size_t number[2];
  int sign = 1;
  tg_ci_space_strings(from, state, &number[0], &number[1]);
  for (int t = 0; t < 2; t++)
    for (int k = 0; k < from->strings[t].particles; k++)
      occupied[t][tg_ci_string(&from->strings[t], number[t])[k]] = true;
  for (int o = count - 1; o >= 0; o--) {
    const brute_operator* x = &operators[o];
    if (occupied[x->species][x->orbital] == x->create) return 0;
    occupied[x->species][x->orbital] = x->create;
    for (int t = 0; t <= x->species; t++)
      for (int k = 0; k < (t == x->species ? x->orbital : 64); k++)
        if (occupied[t][k]) sign = -sign;
  }
  for (int t = 0; t < 2; t++) {
    uint16_t list[64];
    int count_t = 0;
    for (int k = 0; k < 64; k++)
      if (occupied[t][k]) list[count_t++] = (uint16_t)k;
    const tg_ci_strings* s = &to->strings[t];
    if (count_t != s->particles) return 0;
    number[t] = tg_ci_strings_find(s, list, tg_ci_strings_mark(s, list));
    if (number[t] == SIZE_MAX) return 0;
  }
  *out = tg_ci_space_state(to, number[0], number[1]);
  return *out == UINT64_MAX ? 0 : sign;
}

/** <bra| product of operators |ket>. */
static inline double brute_element(const tg_ci_space* bra_space, const double* bra,
                                   const tg_ci_space* ket_space, const double* ket,
                                   const brute_operator* operators, int count) {
  double sum = 0;
  for (uint64_t i = 0; i < ket_space->dimension; i++) {
    uint64_t there;
    const int sign = brute_act(ket_space, i, bra_space, operators, count, &there);
    if (sign) sum += sign * bra[there] * ket[i];
  }
  return sum;
}

#endif
