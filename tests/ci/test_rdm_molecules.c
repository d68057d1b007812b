/* SPDX-License-Identifier: Apache-2.0 */
/* Density matrices of LiH and its cation (STO-3G, 1.6 Angstrom), and natural orbitals, against the
 * values of PySCF 2.14 (fci.direct_spin1: make_rdm12, make_rdm12s, trans_rdm12) for the integrals
 * of data/lih.fcidump. Large arrays are compared by their norm and by their product with the
 * numbers cos(1 + i), i the position in PySCF's array, which no exchange of elements leaves as it
 * is. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include "base/memory.h"
#include "ci/natural.h"
#include "ci/observables.h"
#include "ci/rdm.h"
#include "support.h"

enum { N = 6 };

/* States are found to residuals of 1e-9 Ha, so their vectors are right to 1e-8 or better (gaps of
 * 0.1 Ha); PySCF's are given to ten digits. */
#define TOLERANCE 2e-8

typedef struct solved {
  tg_ci_input input;
  tg_ci_problem problem;
  tg_ci_spectrum spectrum;
} solved;

static void solve(const char* path, int electrons, int states, solved* out) {
  memset(out, 0, sizeof *out);
  out->input = read_file(path);
  tg_ci_problem_params params = tg_ci_problem_defaults();
  if (electrons) params.electrons = electrons;
  assert_ok(tg_ci_problem_make(&out->input, &params, &out->problem));
  tg_ci_solve_params how = tg_ci_solve_defaults();
  how.states = states;
  how.tolerance = 1e-9;
  how.threads = 2;
  assert_ok(tg_ci_solve(&out->problem, &how, &out->spectrum));
}

static void release(solved* s) {
  tg_ci_spectrum_free(&s->spectrum);
  tg_ci_problem_free(&s->problem);
  tg_ci_input_free(&s->input);
}

static tg_ci_rdm matrices(const solved* s, size_t bra, size_t ket) {
  const tg_ci_states states = {&s->problem, &s->spectrum};
  tg_ci_rdm rdm = {0};
  assert_ok(tg_ci_rdm_make(
      s->problem.h,
      (tg_ci_state_vector){tg_ci_level_space(&states, bra), tg_ci_level_vector(&states, bra)},
      (tg_ci_state_vector){tg_ci_level_space(&states, ket), tg_ci_level_vector(&states, ket)}, true,
      2, &rdm));
  return rdm;
}

static double weighted(const double* m, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += cos(1 + (double)i) * m[i];
  return sum;
}

static double norm_of(const double* m, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += m[i] * m[i];
  return sqrt(sum);
}

/* <x+_p y+_r y_s x_q> as PySCF's [p,q,r,s]. */
static void kind_of(const tg_ci_rdm* rdm, int kind, double* out) {
  for (size_t i = 0; i < N * N * N * N; i++)
    out[i] = tg_ci_rdm_two(rdm, kind, i / (N * N * N), i / N % N, i / (N * N) % N, i % N);
}

static void expect_kind(const tg_ci_rdm* rdm, int kind, double norm, double weight) {
  static double m[N * N * N * N];
  kind_of(rdm, kind, m);
  assert_close(norm_of(m, N * N * N * N), norm, 10 * TOLERANCE);
  assert_close(weighted(m, N * N * N * N), weight, 10 * TOLERANCE);
}

static void ground_state(void** state) {
  (void)state;
  static const double dm1[N * N] = {1.9999083461,
                                    -0.0002783043,
                                    0.0004398607,
                                    0,
                                    0,
                                    -0.0012881548, /**/
                                    -0.0002783043,
                                    1.9514259868,
                                    0.0740395928,
                                    0,
                                    0,
                                    0.0110431129, /**/
                                    0.0004398607,
                                    0.0740395928,
                                    0.0125202880,
                                    0,
                                    0,
                                    -0.0174235328, /**/
                                    0,
                                    0,
                                    0,
                                    0.0015181580,
                                    0,
                                    0, /**/
                                    0,
                                    0,
                                    0,
                                    0,
                                    0.0015181580,
                                    0, /**/
                                    -0.0012881548,
                                    0.0110431129,
                                    -0.0174235328,
                                    0,
                                    0,
                                    0.0331090632};
  static const double occupation[N] = {1.99991087,    1.95430359,    0.0426892766,
                                       0.00151815796, 0.00151815796, 5.99481436e-05};
  static double one[N * N], two[N * N * N * N];
  solved s;
  solve(SHIPPED("lih.fcidump"), 0, 3, &s);
  assert_close(s.spectrum.levels[0].energy, -7.882324378881, 1e-10);
  tg_ci_rdm rdm = matrices(&s, 0, 0);
  tg_ci_rdm_sum_one(&rdm, one);
  tg_ci_rdm_sum_two(&rdm, two);
  for (int i = 0; i < N * N; i++) assert_close(one[i], dm1[i], TOLERANCE);
  assert_close(norm_of(two, N * N * N * N), 6.797642888517347, 10 * TOLERANCE);
  assert_close(weighted(two, N * N * N * N), -2.3081657744221, 10 * TOLERANCE);
  expect_kind(&rdm, TG_CI_AA, 1.9546878902413896, -0.5083649009387207);
  expect_kind(&rdm, TG_CI_BB, 1.9546878902413896, -0.5083649009387207);
  expect_kind(&rdm, TG_CI_AB, 1.9774674999705937, -0.6457179862723365);
  tg_ci_natural natural = {0};
  const tg_ci_orbital* orbitals;
  assert_int_equal(tg_ci_hamiltonian_orbitals(s.problem.h, 0, &orbitals), N);
  assert_ok(tg_ci_natural_make(N, orbitals, one, &natural));
  for (int k = 0; k < N; k++) assert_close(natural.occupation[k], occupation[k], TOLERANCE);
  tg_ci_natural_free(&natural);
  tg_ci_rdm_free(&rdm);
  release(&s);
}

/* More electrons with spin up than down. */
static void cation(void** state) {
  (void)state;
  solved s;
  static double one[N * N], two[N * N * N * N];
  solve(SHIPPED("lih.fcidump"), 3, 1, &s);
  assert_close(s.spectrum.levels[0].energy, -7.614156498991, 1e-10);
  tg_ci_rdm rdm = matrices(&s, 0, 0);
  assert_close(norm_of(rdm.one[0], N * N), 1.4141846418385642, TOLERANCE);
  assert_close(weighted(rdm.one[0], N * N), 0.8320377139999003, TOLERANCE);
  assert_close(norm_of(rdm.one[1], N * N), 0.9999592814993453, TOLERANCE);
  assert_close(weighted(rdm.one[1], N * N), 0.5322661373378889, TOLERANCE);
  expect_kind(&rdm, TG_CI_AA, 1.9999185629986906, 0.3277519508092433);
  expect_kind(&rdm, TG_CI_AB, 1.4141846418385642, 0.5255002899885955);
  expect_kind(&rdm, TG_CI_BB, 0, 0);
  tg_ci_rdm_sum_two(&rdm, two);
  assert_close(weighted(two, N * N * N * N), 1.6739370581739095, 10 * TOLERANCE);
  tg_ci_rdm_sum_one(&rdm, one);
  assert_close(one[1 * N + 5], 0.2210398734, TOLERANCE);
  tg_ci_rdm_free(&rdm);
  release(&s);
}

/* Between the two lowest singlets of the first irrep; the sign of a state is nobody's choice. */
static void between_states(void** state) {
  (void)state;
  solved s;
  static double one[N * N], two[N * N * N * N];
  solve(SHIPPED("lih.fcidump"), 0, 3, &s);
  assert_close(s.spectrum.levels[2].energy, -7.749414693727, 1e-10);
  tg_ci_rdm rdm = matrices(&s, 0, 2);
  tg_ci_rdm_sum_one(&rdm, one);
  const double sign = one[2 * N + 1] > 0 ? 1 : -1;
  assert_close(sign * one[2 * N + 1], 1.3080994763, TOLERANCE);
  assert_close(sign * one[1 * N + 2], -0.0482154792, TOLERANCE);
  assert_close(sign * one[0 * N + 5], -0.0026856251, TOLERANCE);
  assert_close(sign * one[5 * N + 0], -0.0053695986, TOLERANCE);
  assert_close(sign * one[3 * N + 3], 0.0011109780, TOLERANCE);
  tg_ci_rdm_sum_two(&rdm, two);
  assert_close(norm_of(two, N * N * N * N), 4.6306227850863015, 10 * TOLERANCE);
  assert_close(sign * weighted(two, N * N * N * N), 0.6002044136140002, 10 * TOLERANCE);
  tg_ci_rdm_free(&rdm);
  /* to the first singlet of another irrep (6 of all levels, one of two with this energy) */
  assert_close(s.spectrum.levels[5].energy, -7.697193151034, 1e-10);
  double moved = 0; /* the sum over both partners of the squared element, whatever their mixture */
  for (size_t level = 5; level < 7; level++) {
    rdm = matrices(&s, 0, level);
    tg_ci_rdm_sum_one(&rdm, one);
    moved += pow(one[3 * N + 1], 2);
    tg_ci_rdm_free(&rdm);
  }
  assert_close(moved, 1.1425757890 * 1.1425757890 + 0.6468620834 * 0.6468620834, TOLERANCE);
  release(&s);
}

/* Orthonormal, diagonal, occupations falling, labels those of the orbitals in it. */
static void natural_orbitals(void** state) {
  (void)state;
  solved s;
  static double one[N * N];
  solve(SHIPPED("lih.fcidump"), 0, 3, &s);
  tg_ci_rdm rdm = matrices(&s, 2, 2);
  tg_ci_rdm_sum_one(&rdm, one);
  const tg_ci_orbital* orbitals;
  tg_ci_hamiltonian_orbitals(s.problem.h, 0, &orbitals);
  tg_ci_natural n = {0};
  assert_ok(tg_ci_natural_make(N, orbitals, one, &n));
  for (size_t k = 0; k < N; k++)
    for (size_t l = 0; l < N; l++) {
      double overlap = 0, element = 0;
      for (size_t p = 0; p < N; p++) {
        overlap += n.coefficient[p * N + k] * n.coefficient[p * N + l];
        for (size_t q = 0; q < N; q++)
          element += n.coefficient[p * N + k] * one[p * N + q] * n.coefficient[q * N + l];
        if (orbitals[p].symmetry != n.symmetry[k]) assert_true(n.coefficient[p * N + k] == 0);
      }
      assert_close(overlap, k == l, 1e-13);
      assert_close(element, k == l ? n.occupation[k] : 0, 1e-13);
      if (l > k) assert_true(n.occupation[k] >= n.occupation[l]);
    }
  tg_ci_natural_free(&n);
  tg_ci_rdm_free(&rdm);
  release(&s);
}

/* Energies from the matrices, for restricted and unrestricted orbitals, all levels. */
static void energies_and_sums(void** state) {
  (void)state;
  static const char* const files[] = {SHIPPED("lih.fcidump"),
                                      SHIPPED("rhf.fcidump"),
                                      SHIPPED("uhf_spin.fcidump"),
                                      SHIPPED("uhf_sections.fcidump"),
                                      SHARED("fcidump/H6_chain_sto-3g.FCIDUMP"),
                                      SHARED("fcidump/block2_N2.STO3G.UHF.FCIDUMP")};
  for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
    solved s;
    if (!is_there(files[f])) continue;
    solve(files[f], 0, 2, &s);
    for (size_t i = 0; i < s.spectrum.level_count; i++) {
      tg_ci_rdm rdm = matrices(&s, i, i);
      /* Ritz values are <v|H|v>: equal but for rounding */
      assert_close(tg_ci_rdm_expectation(s.problem.h, &rdm), s.spectrum.levels[i].energy, 1e-9);
      const tg_ci_rdm_check c = tg_ci_rdm_verify(&rdm);
      assert_close(c.trace_one + c.trace_two + c.partial_trace + c.asymmetry, 0, 1e-11);
      tg_ci_rdm_free(&rdm);
    }
    release(&s);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ground_state),      cmocka_unit_test(cation),
      cmocka_unit_test(between_states),    cmocka_unit_test(natural_orbitals),
      cmocka_unit_test(energies_and_sums),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
