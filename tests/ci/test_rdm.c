/* SPDX-License-Identifier: Apache-2.0 */
/* Density matrices and amplitudes against operators applied one by one, and what they must sum to.
 */
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

#include "brute.h"
#include "ci/integrals.h"
#include "ci/overlap.h"
#include "ci/random_h.h"
#include "ci/rdm.h"
#include "ci/ref/product.h"

static void ok(tg_status status) {
  if (status != TG_OK) fail_msg("%s", tg_last_error());
}

static void close_to(double value, double expected, double tolerance, const char* what) {
  if (!(fabs(value - expected) <= tolerance))
    fail_msg("%s: found %.17g, expected %.17g within %g", what, value, expected, tolerance);
}

static double* state_of(const tg_ci_space* s, uint64_t seed) {
  double *x = NULL, norm = 0;
  ok(TG_ALLOCATE((size_t)s->dimension, "vector", &x));
  for (uint64_t i = 0; i < s->dimension; i++) {
    x[i] = shell_random(seed, i);
    norm += x[i] * x[i];
  }
  for (uint64_t i = 0; i < s->dimension; i++) x[i] /= sqrt(norm);
  return x;
}

static tg_ci_space* space_make(const tg_ci_hamiltonian* h, const tg_ci_space_params* params) {
  tg_ci_space* s = NULL;
  ok(tg_ci_space_make(h, params, &s));
  return s;
}

/* States have the norm 1 and at most n numbers: a sum of at most n products. */
static double tolerance_for(const tg_ci_space* s) {
  return DBL_EPSILON * (double)(s->dimension + 8);
}

/* R_P as a list of operators, the right one first in time; returns how many. dagger: R+_P. */
static int operators_of(const tg_ci_hamiltonian* h, const int removed[2], size_t set, bool dagger,
                        brute_operator* out) {
  const size_t sets_b = tg_ci_side_sets(h, &(tg_ci_side){.removed = {0, removed[1]}});
  const size_t of[2] = {set / sets_b, set % sets_b};
  brute_operator acting[4]; /* in the order in which they act */
  int count = 0;
  for (int t = 0; t < 2; t++) {
    int q = 1;
    if (removed[t] == 1) acting[count++] = (brute_operator){t, (int)of[t], false};
    if (removed[t] != 2) continue;
    while ((size_t)(q * (q + 1) / 2) <= of[t]) q++;
    acting[count++] = (brute_operator){t, (int)of[t] - q * (q - 1) / 2, false};
    acting[count++] = (brute_operator){t, q, false};
  }
  for (int k = 0; k < count; k++) {
    out[k] = acting[dagger ? k : count - 1 - k];
    out[k].create = dagger;
  }
  return count;
}

/* All elements, or every stride-th. */
static void compare(const tg_ci_hamiltonian* h, const tg_ci_side* bra, const tg_ci_side* ket,
                    size_t stride) {
  const size_t rows = tg_ci_side_sets(h, bra), columns = tg_ci_side_sets(h, ket);
  double *out = NULL, *again = NULL, largest = 0;
  ok(TG_ALLOCATE(rows * columns, "overlaps", &out));
  ok(TG_ALLOCATE(rows * columns, "overlaps", &again));
  ok(tg_ci_overlaps(h, bra, ket, 1, out));
  ok(tg_ci_overlaps(h, bra, ket, 3, again));
  assert_memory_equal(out, again, rows * columns * sizeof *out);
  for (size_t i = 0; i < rows * columns; i += stride) {
    brute_operator operators[8];
    int count = operators_of(h, bra->removed, i / columns, true, operators);
    count += operators_of(h, ket->removed, i % columns, false, operators + count);
    const double expected = brute_element(bra->space, bra->x, ket->space, ket->x, operators, count);
    largest = fmax(largest, fabs(expected));
    close_to(out[i], expected, tolerance_for(ket->space), "an overlap");
  }
  assert_true(largest > 1e-4); /* something was compared */
  tg_free(out);
  tg_free(again);
}

/* A state's own matrices, and those with another state of the space. */
static void compare_densities(const tg_ci_hamiltonian* h, const tg_ci_space* s, size_t stride) {
  static const int removed[][2] = {{0, 0}, {1, 0}, {0, 1}, {1, 1}, {2, 0}, {0, 2}};
  double *x = state_of(s, 1), *y = state_of(s, 2);
  for (size_t k = 0; k < sizeof removed / sizeof *removed; k++) {
    const tg_ci_side bra = {s, x, {removed[k][0], removed[k][1]}};
    tg_ci_side ket = bra;
    if (s->strings[0].particles < bra.removed[0] || s->strings[1].particles < bra.removed[1])
      continue;
    compare(h, &bra, &ket, stride);
    ket.x = y;
    compare(h, &bra, &ket, stride);
  }
  tg_free(x);
  tg_free(y);
}

/* Energies, traces, symmetry; with the Hamiltonian applied by ref. */
static void check_sums(const tg_ci_hamiltonian* h, const tg_ci_space* s) {
  const size_t n = (size_t)s->dimension;
  double *x = state_of(s, 3), *y = state_of(s, 4), *hx = state_of(s, 5);
  ok(tg_ci_ref_apply(h, s, x, hx));
  tg_ci_rdm rdm = {0};
  for (int k = 0; k < 2; k++) {
    const double* bra = k ? y : x;
    double expected = 0, overlap = 0;
    for (size_t i = 0; i < n; i++) expected += bra[i] * hx[i];
    for (size_t i = 0; i < n; i++) overlap += bra[i] * x[i];
    ok(tg_ci_rdm_make(h, (tg_ci_state_vector){s, bra}, (tg_ci_state_vector){s, x}, true, 2, &rdm));
    /* as many terms as elements of H on either way */
    close_to(tg_ci_rdm_expectation(h, &rdm), expected, 1e-12, "the energy");
    close_to(rdm.overlap, overlap, 1e-14, "the overlap");
    if (k == 0) {
      const tg_ci_rdm_check c = tg_ci_rdm_verify(&rdm);
      close_to(c.trace_one, 0, 1e-13, "trace of one");
      close_to(c.trace_two, 0, 1e-13, "trace of two");
      close_to(c.partial_trace, 0, 1e-13, "partial trace");
      close_to(c.asymmetry, 0, 1e-14, "asymmetry");
    }
    tg_ci_rdm_free(&rdm);
  }
  tg_free(x);
  tg_free(y);
  tg_free(hx);
}

/* Two parities, several j, another shell for B. */
static tg_ci_hamiltonian* nuclear_h(void) {
  tg_ci_orbital a[16], b[16];
  size_t na = shell_add(a, 0, 1, 0, 0, 0);
  na = shell_add(a, na, 3, 1, 1, 1);
  na = shell_add(a, na, 1, 1, 1, 2);
  size_t nb = shell_add(b, 0, 3, 1, 1, 0);
  nb = shell_add(b, nb, 1, 0, 2, 1);
  return random_h(na, a, nb, b, 7);
}

static tg_ci_hamiltonian* molecular_h(void) {
  static const uint8_t labels[6] = {0, 3, 0, 1, 2, 3};
  tg_ci_orbital o[6];
  for (int i = 0; i < 6; i++) o[i] = (tg_ci_orbital){.symmetry = labels[i], .shell = (uint16_t)i};
  return random_h(6, o, 6, o, 11);
}

static void nuclei(void** state) {
  (void)state;
  tg_ci_hamiltonian* h = nuclear_h();
  static const int particles[][2] = {{2, 3}, {3, 1}, {0, 2}, {5, 0}, {1, 6}};
  for (int k = 0; k < 5; k++) {
    tg_ci_space_params params =
        space_of(particles[k][0], particles[k][1], (particles[k][0] + particles[k][1]) % 2);
    for (int symmetry = -1; symmetry < 2; symmetry++) {
      params.symmetry = symmetry;
      if (k == 4 && symmetry == 1) continue; /* a full shell and one more */
      tg_ci_space* s = NULL;
      if (tg_ci_space_make(h, &params, &s) != TG_OK) continue;
      if (symmetry == 0) compare_densities(h, s, 3);
      check_sums(h, s);
      tg_ci_space_free(s);
    }
  }
  tg_ci_hamiltonian_free(h);
}

static void molecules(void** state) {
  (void)state;
  tg_ci_hamiltonian* h = molecular_h();
  for (int symmetry = -1; symmetry < 4; symmetry += 2) {
    tg_ci_space_params params = space_of(3, 2, 0);
    params.symmetry = symmetry;
    tg_ci_space* s = space_make(h, &params);
    compare_densities(h, s, 7);
    check_sums(h, s);
    tg_ci_space_free(s);
  }
  tg_ci_hamiltonian_free(h);
}

/* a+_i a_j leads out of these spaces, a_q a_p does not. */
static void truncated_spaces(void** state) {
  (void)state;
  tg_ci_orbital o[64];
  const size_t n = shell_oscillator(o, 2);
  tg_ci_hamiltonian* h = random_h(n, o, n, o, 13);
  tg_ci_space_params params = space_of(2, 2, 0);
  params.weight_most = 3;
  params.symmetry = 1;
  tg_ci_space* s = space_make(h, &params);
  compare_densities(h, s, 997);
  check_sums(h, s);
  tg_ci_space_free(s);
  tg_ci_hamiltonian_free(h);
}

/* Amplitudes of one and two nucleons, of charge exchange, and densities between states of different
 * M and parity: two spaces. */
static void between_spaces(void** state) {
  (void)state;
  tg_ci_hamiltonian* h = nuclear_h();
  static const struct {
    int bra[3], ket[3], from_bra[2], from_ket[2]; /* protons, neutrons, 2M; removed */
  } cases[] = {
      {{2, 2, 0}, {3, 2, 1}, {0, 0}, {1, 0}},  {{2, 1, 1}, {2, 2, 2}, {0, 0}, {0, 1}},
      {{3, 1, 0}, {3, 3, 2}, {0, 0}, {0, 2}},  {{1, 1, 0}, {3, 1, 0}, {0, 0}, {2, 0}},
      {{1, 1, 0}, {2, 2, 0}, {0, 0}, {1, 1}},  {{3, 1, 0}, {2, 2, 0}, {1, 0}, {0, 1}},
      {{2, 3, 1}, {3, 2, 1}, {0, 1}, {1, 0}},  {{2, 2, 2}, {2, 2, 0}, {1, 0}, {1, 0}},
      {{2, 2, -2}, {2, 2, 0}, {1, 1}, {1, 1}},
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
    for (int parity = 0; parity < 2; parity++) {
      tg_ci_space_params params = space_of(cases[k].bra[0], cases[k].bra[1], cases[k].bra[2]);
      params.symmetry = parity;
      tg_ci_space* a = space_make(h, &params);
      params = space_of(cases[k].ket[0], cases[k].ket[1], cases[k].ket[2]);
      params.symmetry = 0;
      tg_ci_space* b = space_make(h, &params);
      double *x = state_of(a, 21), *y = state_of(b, 22);
      const tg_ci_side bra = {a, x, {cases[k].from_bra[0], cases[k].from_bra[1]}};
      const tg_ci_side ket = {b, y, {cases[k].from_ket[0], cases[k].from_ket[1]}};
      compare(h, &bra, &ket, 1);
      tg_free(x);
      tg_free(y);
      tg_ci_space_free(a);
      tg_ci_space_free(b);
    }
  tg_ci_hamiltonian_free(h);
}

/* Spin-summed elements by definition: dm2[p,q,r,s] = sum of <a+_p a+_r a_s a_q>. */
static void spin_sums(void** state) {
  (void)state;
  tg_ci_hamiltonian* h = molecular_h();
  tg_ci_space_params params = space_of(3, 2, 0);
  params.symmetry = 3;
  tg_ci_space* s = space_make(h, &params);
  double *x = state_of(s, 41), *y = state_of(s, 42), dm1[36], dm2[1296];
  tg_ci_rdm rdm = {0};
  ok(tg_ci_rdm_make(h, (tg_ci_state_vector){s, x}, (tg_ci_state_vector){s, y}, true, 1, &rdm));
  tg_ci_rdm_sum_one(&rdm, dm1);
  tg_ci_rdm_sum_two(&rdm, dm2);
  for (int i = 0; i < 1296; i += 5) {
    const int p = i / 216, q = i / 36 % 6, r = i / 6 % 6, t = i % 6;
    double one = 0, two = 0;
    for (int k = 0; k < 4; k++) {
      const brute_operator o[4] = {
          {k / 2, p, true}, {k % 2, r, true}, {k % 2, t, false}, {k / 2, q, false}};
      two += brute_element(s, x, s, y, o, 4);
      const brute_operator e[2] = {{k % 2, q, true}, {k % 2, p, false}};
      if (k < 2) one += brute_element(s, x, s, y, e, 2);
    }
    close_to(dm2[i], two, 4 * tolerance_for(s), "dm2");
    close_to(dm1[p * 6 + q], one, 4 * tolerance_for(s), "dm1");
  }
  tg_ci_rdm_free(&rdm);
  tg_free(x);
  tg_free(y);
  tg_ci_space_free(s);
  tg_ci_hamiltonian_free(h);
}

/* So many orbitals that the threads share each product, and more rows than are done at once. */
static void shared_products(void** state) {
  (void)state;
  enum { ORBITALS = 46 };
  tg_ci_orbital o[ORBITALS];
  for (int i = 0; i < ORBITALS; i++) o[i] = (tg_ci_orbital){.shell = (uint16_t)i};
  tg_ci_hamiltonian* h = NULL;
  ok(tg_ci_hamiltonian_create(ORBITALS, o, ORBITALS, o, &h));
  const tg_ci_space_params params = space_of(1, 2, 0);
  tg_ci_space* s = space_make(h, &params);
  double* x = state_of(s, 51);
  const tg_ci_side bra = {s, x, {1, 1}};
  compare(h, &bra, &bra, 100003);
  tg_free(x);
  tg_ci_space_free(s);
  tg_ci_hamiltonian_free(h);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nuclei),           cmocka_unit_test(molecules),
      cmocka_unit_test(truncated_spaces), cmocka_unit_test(between_spaces),
      cmocka_unit_test(spin_sums),        cmocka_unit_test(shared_products),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
