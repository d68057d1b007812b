/* SPDX-License-Identifier: Apache-2.0 */
/** @file tests/ci/shells.h  Orbitals, spaces and random Hamiltonians for the tests of ci. */
#ifndef TG_TESTS_CI_SHELLS_H
#define TG_TESTS_CI_SHELLS_H

#include <string.h>

#include "base/memory.h"
#include "base/rng.h"
#include "ci/hamiltonian.h"
#include "ci/space.h"

/** So many particles of either species with this M, and no other limit. */
static inline tg_ci_space_params space_of(int a, int b, int two_m) {
  return (tg_ci_space_params){
      .limits = {{.particles = a, .weight_most = -1}, {.particles = b, .weight_most = -1}},
      .two_m = two_m,
      .symmetry = -1,
      .weight_most = -1};
}

/** Appends the 2j + 1 states of a j-orbit; returns the new count. */
static inline size_t shell_add(tg_ci_orbital* orbitals, size_t count, int two_j, int l, int weight,
                               int shell) {
  for (int m = -two_j; m <= two_j; m += 2)
    orbitals[count++] = (tg_ci_orbital){.two_m = (int16_t)m,
                                        .symmetry = (uint8_t)(l % 2),
                                        .weight = (uint8_t)weight,
                                        .shell = (uint16_t)shell};
  return count;
}

/** d5/2 s1/2 d3/2; f7/2 p3/2 f5/2 p1/2; p3/2 p1/2. */
static inline size_t shell_sd(tg_ci_orbital* o) {
  return shell_add(o, shell_add(o, shell_add(o, 0, 5, 2, 0, 0), 1, 0, 0, 1), 3, 2, 0, 2);
}
static inline size_t shell_pf(tg_ci_orbital* o) {
  const size_t n = shell_add(o, shell_add(o, 0, 7, 3, 0, 0), 3, 1, 0, 1);
  return shell_add(o, shell_add(o, n, 5, 3, 0, 2), 1, 1, 0, 3);
}
static inline size_t shell_p(tg_ci_orbital* o) {
  return shell_add(o, shell_add(o, 0, 3, 1, 0, 0), 1, 1, 0, 1);
}

/** All shells of the oscillator with 2n + l <= most; the weight is 2n + l. */
static inline size_t shell_oscillator(tg_ci_orbital* o, int most) {
  size_t n = 0;
  int shell = 0;
  for (int q = 0; q <= most; q++)
    for (int l = q % 2; l <= q; l += 2)
      for (int two_j = l ? 2 * l - 1 : 1; two_j <= 2 * l + 1; two_j += 2)
        n = shell_add(o, n, two_j, l, q, shell++);
  return n;
}

static inline double shell_random(uint64_t seed, uint64_t number) {
  tg_rng rng = tg_rng_stream(seed, TG_RNG_TEST, number);
  return 2 * tg_rng_uniform(&rng) - 1;
}

/** Every element that symmetry allows gets a random value in (-1, 1). */
static inline tg_status shell_fill(tg_ci_hamiltonian* h, uint64_t seed) {
  uint64_t number = 0;
  tg_ci_hamiltonian_set_constant(h, shell_random(seed, number++));
  const tg_ci_orbital *a, *b;
  const size_t na = tg_ci_hamiltonian_orbitals(h, 0, &a), nb = tg_ci_hamiltonian_orbitals(h, 1, &b);
  for (int t = 0; t < 2; t++) {
    const tg_ci_orbital* o = t ? b : a;
    const size_t n = t ? nb : na;
    for (size_t i = 0; i < n; i++)
      for (size_t j = 0; j < n; j++) {
        const uint32_t* members;
        if (i <= j && o[i].two_m == o[j].two_m && o[i].symmetry == o[j].symmetry)
          TG_TRY(tg_ci_hamiltonian_set_one(h, t, (int)i, (int)j, shell_random(seed, number++)));
        if (i >= j) continue;
        const size_t count = tg_ci_hamiltonian_pairs(
            h, t, o[i].two_m + o[j].two_m, (unsigned)(o[i].symmetry ^ o[j].symmetry), &members);
        for (size_t p = 0; p < count && members[p] <= i * n + j; p++)
          TG_TRY(tg_ci_hamiltonian_set_two(h, t, (int)i, (int)j, (int)(members[p] / n),
                                           (int)(members[p] % n), shell_random(seed, number++)));
      }
  }
  for (size_t i = 0; i < na; i++)
    for (size_t j = 0; j < na; j++) {
      const uint32_t* members;
      const size_t count = tg_ci_hamiltonian_transitions(
          h, 1, a[j].two_m - a[i].two_m, (unsigned)(a[i].symmetry ^ a[j].symmetry), &members);
      for (size_t p = 0; p < count; p++) /* the later of two equal ones wins, for both */
        TG_TRY(tg_ci_hamiltonian_set_cross(h, (int)i, (int)j, (int)(members[p] / nb),
                                           (int)(members[p] % nb), shell_random(seed, number++)));
    }
  return TG_OK;
}

#endif
