/* SPDX-License-Identifier: Apache-2.0 */
/* Spectroscopic factors: sum rules over all levels of the other nucleus, and cases that can be
 * worked out by hand. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include "base/memory.h"
#include "ci/observables.h"
#include "ci/spectroscopic.h"
#include "support.h"

enum { SHELLS = 4 /* p1/2 p3/2 of protons, of neutrons */ };

typedef struct solved {
  tg_ci_input input;
  tg_ci_problem problem;
  tg_ci_spectrum spectrum;
  tg_ci_states states;
} solved;

/* All states. */
static void solve(int protons, int neutrons, solved* out) {
  memset(out, 0, sizeof *out);
  out->input = read_file("builtin:ckpot");
  tg_ci_problem_params params = tg_ci_problem_defaults();
  params.protons = protons;
  params.neutrons = neutrons;
  assert_ok(tg_ci_problem_make(&out->input, &params, &out->problem));
  tg_ci_solve_params how = tg_ci_solve_defaults();
  how.states = (int)tg_ci_problem_dimension(&out->problem, out->problem.sectors[0]);
  how.tolerance = 1e-9;
  how.threads = 1;
  how.check = TG_EIGEN_CHECK_OFF;
  assert_ok(tg_ci_solve(&out->problem, &how, &out->spectrum));
  out->states = (tg_ci_states){&out->problem, &out->spectrum};
}

static void release(solved* s) {
  tg_ci_spectrum_free(&s->spectrum);
  tg_ci_problem_free(&s->problem);
  tg_ci_input_free(&s->input);
}

static void occupations(const solved* s, size_t level, double shells[SHELLS]) {
  double n[2][8] = {{0}};
  double* const both[2] = {n[0], n[1]};
  assert_ok(tg_ci_occupations(tg_ci_level_space(&s->states, level),
                              tg_ci_level_vector(&s->states, level), both));
  memset(shells, 0, SHELLS * sizeof *shells);
  for (int t = 0; t < 2; t++) {
    const tg_ci_orbital* o;
    const size_t count = tg_ci_hamiltonian_orbitals(s->problem.h, t, &o);
    for (size_t i = 0; i < count; i++)
      shells[(t ? s->input.model.shells.proton_count : 0) + o[i].shell] += n[t][i];
  }
}

static tg_ci_good_state state_of(const solved* s, size_t level) {
  const int two_j = tg_ci_level_two_j(&s->states, level);
  assert_true(two_j >= 0);
  return (tg_ci_good_state){tg_ci_level_vector(&s->states, level), two_j};
}

/* Sums over all levels of one nucleus for each of the other. */
static void check_sums(int protons, int neutrons, int species) {
  solved larger, smaller;
  solve(protons, neutrons, &larger);
  solve(protons - (species == 0), neutrons - (species == 1), &smaller);
  const size_t count = larger.spectrum.level_count, others = smaller.spectrum.level_count;
  const tg_ci_shells* shells = &larger.input.model.shells;
  tg_ci_spectroscopic* s = NULL;
  assert_ok(tg_ci_spectroscopic_make(larger.problem.h, &larger.input.model,
                                     smaller.spectrum.sectors[0].space,
                                     larger.spectrum.sectors[0].space, &s));
  assert_int_equal(tg_ci_spectroscopic_species(s), species);
  double *removal = NULL, *addition = NULL, reduced[SHELLS], n[SHELLS];
  assert_ok(TG_ALLOCATE(count * SHELLS, "sums", &removal));
  assert_ok(TG_ALLOCATE(others * SHELLS, "sums", &addition));
  for (size_t i = 0; i < count; i++)
    for (size_t f = 0; f < others; f++) {
      const tg_ci_good_state a = state_of(&larger, i), b = state_of(&smaller, f);
      assert_ok(tg_ci_spectroscopic_reduced(s, b, a, 1, reduced));
      for (int o = 0; o < SHELLS; o++) {
        assert_false(isnan(reduced[o]));
        const double factor = reduced[o] * reduced[o] / (a.two_j + 1);
        removal[i * SHELLS + (size_t)o] += factor;
        addition[f * SHELLS + (size_t)o] += factor * (a.two_j + 1) / (b.two_j + 1);
      }
    }
  for (size_t i = 0; i < count; i++) {
    occupations(&larger, i, n);
    for (size_t o = 0; o < SHELLS; o++)
      assert_close(removal[i * SHELLS + o], shells->shell[o].species == species ? n[o] : 0, 1e-7);
  }
  for (size_t f = 0; f < others; f++) {
    occupations(&smaller, f, n);
    for (size_t o = 0; o < SHELLS; o++)
      assert_close(addition[f * SHELLS + o],
                   shells->shell[o].species == species ? shells->shell[o].two_j + 1 - n[o] : 0,
                   1e-7);
  }
  tg_free(removal);
  tg_free(addition);
  tg_ci_spectroscopic_free(s);
  release(&larger);
  release(&smaller);
}

static void sums_over_levels(void** state) {
  (void)state;
  check_sums(1, 2, 1); /* 7Li - n: 6Li */
  check_sums(1, 2, 0); /* 7Li - p: 6He */
  check_sums(2, 2, 0); /* 8Be - p: 7Li */
}

/* One neutron beside closed shells: S = 1; a full shell: 2j + 1 in its one hole. */
static void by_hand(void** state) {
  (void)state;
  for (int full = 0; full < 2; full++) {
    solved larger, smaller;
    solve(6, full ? 6 : 1, &larger);
    solve(6, full ? 5 : 0, &smaller);
    tg_ci_spectroscopic* s = NULL;
    double reduced[SHELLS];
    assert_ok(tg_ci_spectroscopic_make(larger.problem.h, &larger.input.model,
                                       smaller.spectrum.sectors[0].space,
                                       larger.spectrum.sectors[0].space, &s));
    for (size_t i = 0; i < larger.spectrum.level_count; i++)
      for (size_t f = 0; f < smaller.spectrum.level_count; f++) {
        const tg_ci_good_state a = state_of(&larger, i), b = state_of(&smaller, f);
        const int two_j = full ? b.two_j : a.two_j;
        assert_ok(tg_ci_spectroscopic_reduced(s, b, a, 1, reduced));
        for (int o = 0; o < SHELLS; o++) {
          const tg_ci_shell* shell = &larger.input.model.shells.shell[o];
          const bool mine = shell->species == 1 && shell->two_j == two_j;
          assert_close(reduced[o] * reduced[o] / (a.two_j + 1), mine ? (full ? two_j + 1 : 1) : 0,
                       1e-8);
        }
      }
    tg_ci_spectroscopic_free(s);
    release(&larger);
    release(&smaller);
  }
}

static void wrong_nuclei(void** state) {
  (void)state;
  solved a, b;
  tg_ci_spectroscopic* s = NULL;
  solve(1, 2, &a);
  solve(0, 1, &b);
  assert_int_equal(
      tg_ci_spectroscopic_make(a.problem.h, &a.input.model, b.spectrum.sectors[0].space,
                               a.spectrum.sectors[0].space, &s),
      TG_ERR_INPUT);
  release(&a);
  release(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sums_over_levels),
      cmocka_unit_test(by_hand),
      cmocka_unit_test(wrong_nuclei),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
