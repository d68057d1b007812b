/* SPDX-License-Identifier: Apache-2.0 */
/** @file support.h  What tests of the inputs of configuration interaction share. */
#ifndef TG_TESTS_CI_SUPPORT_H
#define TG_TESTS_CI_SUPPORT_H

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ci/input/input.h"

#define SHIPPED(name) TG_SOURCE_DIR "/tests/ci/data/" name
#define SHARED(name) TG_SOURCE_DIR "/../shared/data/ci/" name

static inline void assert_close(double value, double expected, double tolerance) {
  if (!(fabs(value - expected) <= tolerance))
    fail_msg("found %.17g, expected %.17g within %g", value, expected, tolerance);
}

static inline void assert_ok(tg_status status) {
  if (status != TG_OK) fail_msg("status %d: %s", (int)status, tg_last_error());
}

/** Reads one or several files, formats recognised; they must be good. */
static inline tg_ci_input read_files(size_t count, const char* const* paths) {
  tg_ci_source sources[8] = {0};
  tg_ci_input input;
  for (size_t i = 0; i < count; i++) sources[i].path = paths[i];
  assert_ok(tg_ci_input_read(sources, count, &input));
  return input;
}

static inline tg_ci_input read_file(const char* path) { return read_files(1, &path); }

/** The Hamiltonian of a nucleus. */
static inline tg_ci_hamiltonian* nucleus_of(const tg_ci_input* input, int protons, int neutrons) {
  const tg_ci_nucleus nucleus = {.protons = protons, .neutrons = neutrons};
  tg_ci_hamiltonian* h = NULL;
  assert_ok(tg_ci_model_hamiltonian(&input->model, &nucleus, &h));
  return h;
}

/** The largest difference between two operators' elements over the same orbitals. */
static inline double largest_difference(const tg_ci_hamiltonian* a, const tg_ci_hamiltonian* b) {
  const tg_ci_orbital *of_a = NULL, *of_b = NULL;
  int n[2];
  double most = fabs(tg_ci_hamiltonian_constant(a) - tg_ci_hamiltonian_constant(b));
  for (int s = 0; s < 2; s++) {
    n[s] = (int)tg_ci_hamiltonian_orbitals(a, s, &of_a);
    assert_int_equal(n[s], (int)tg_ci_hamiltonian_orbitals(b, s, &of_b));
    for (int i = 0; i < n[s]; i++) {
      assert_int_equal(of_a[i].two_m, of_b[i].two_m);
      assert_int_equal(of_a[i].symmetry, of_b[i].symmetry);
      for (int j = 0; j < n[s]; j++)
        most =
            fmax(most, fabs(tg_ci_hamiltonian_one(a, s, i, j) - tg_ci_hamiltonian_one(b, s, i, j)));
    }
    for (int i = 0; i < n[s]; i++)
      for (int j = i + 1; j < n[s]; j++)
        for (int k = 0; k < n[s]; k++)
          for (int l = k + 1; l < n[s]; l++)
            most = fmax(most, fabs(tg_ci_hamiltonian_two(a, s, i, j, k, l) -
                                   tg_ci_hamiltonian_two(b, s, i, j, k, l)));
  }
  for (int i = 0; i < n[0]; i++)
    for (int j = 0; j < n[0]; j++)
      for (int k = 0; k < n[1]; k++)
        for (int l = 0; l < n[1]; l++)
          most = fmax(most, fabs(tg_ci_hamiltonian_cross(a, i, j, k, l) -
                                 tg_ci_hamiltonian_cross(b, i, j, k, l)));
  return most;
}

static inline bool is_there(const char* path) { return access(path, R_OK) == 0; }

/** A pseudo-random number in (-1, 1), the same in every run. */
static inline double next_random(void) {
  static uint64_t state = 88172645463325252u;
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (double)(int64_t)state / 9223372036854775808.0;
}

#endif
