/* SPDX-License-Identifier: Apache-2.0 */
/* Strength functions against the levels of a whole space with operators applied one by one; sum
 * rules; moments. Nuclei of the p shell, Cohen and Kurath's interaction. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <stdlib.h>

#include "base/interrupt.h"
#include "base/memory.h"
#include "brute.h"
#include "ci/angular.h"
#include "ci/observables.h"
#include "ci/strength.h"
#include "support.h"

typedef struct solved {
  tg_ci_input input;
  tg_ci_problem problem;
  tg_ci_spectrum spectrum;
  tg_ci_states states;
} solved;

/* states 0: all there are. */
static void solve(int protons, int neutrons, int two_m, int states, solved* out) {
  memset(out, 0, sizeof *out);
  out->input = read_file("builtin:ckpot");
  tg_ci_problem_params params = tg_ci_problem_defaults();
  params.protons = protons;
  params.neutrons = neutrons;
  params.two_m = two_m;
  assert_ok(tg_ci_problem_make(&out->input, &params, &out->problem));
  assert_int_equal(out->problem.sector_count, 1);
  tg_ci_solve_params how = tg_ci_solve_defaults();
  how.states =
      states ? states : (int)tg_ci_problem_dimension(&out->problem, out->problem.sectors[0]);
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

static tg_ci_transition operator_of(const solved* s, tg_ci_transition_kind kind, int rank,
                                    int change) {
  tg_ci_transition_parameters p = tg_ci_transition_defaults(kind, rank, 15);
  if (kind == TG_CI_GAMOW_TELLER) p.charge_change = change;
  tg_ci_transition op;
  assert_ok(tg_ci_transition_create(&s->input.model.shells, &p, &op));
  return op;
}

static const tg_ci_space* space_of_level(const solved* s) { return s->spectrum.sectors[0].space; }

/* <f|O_Kq|i> by operators one by one. */
static double element_between(const solved* final, size_t f, const solved* initial, size_t i,
                              const tg_ci_transition* op) {
  const tg_ci_shells* shells = &initial->input.model.shells;
  const tg_ci_space *to = space_of_level(final), *from = space_of_level(initial);
  const int two_q = to->two_m - from->two_m;
  double sum = 0;
  for (int t = 0; t < 2; t++)
    for (int u = 0; u < 2; u++) {
      const tg_ci_orbital *a, *b;
      const size_t na = tg_ci_hamiltonian_orbitals(initial->problem.h, t, &a);
      const size_t nb = tg_ci_hamiltonian_orbitals(initial->problem.h, u, &b);
      for (size_t p = 0; p < na; p++)
        for (size_t q = 0; q < nb; q++) {
          const size_t x = a[p].shell + (t ? shells->proton_count : 0);
          const size_t y = b[q].shell + (u ? shells->proton_count : 0);
          const int two_jx = shells->shell[x].two_j, two_jy = shells->shell[y].two_j;
          const double value =
              op->element[x * op->shells + y] *
              tg_ci_clebsch(two_jy, b[q].two_m, 2 * op->rank, two_q, two_jx, a[p].two_m) /
              sqrt(two_jx + 1);
          const brute_operator moves[2] = {{t, (int)p, true}, {u, (int)q, false}};
          if (value != 0)
            sum += value * brute_element(to, tg_ci_level_vector(&final->states, f), from,
                                         tg_ci_level_vector(&initial->states, i), moves, 2);
        }
    }
  return sum;
}

static double b_between(const solved* final, size_t f, const solved* initial, size_t i,
                        const tg_ci_transition* op, int two_jf, int two_ji) {
  const int two_mi = space_of_level(initial)->two_m, two_mf = space_of_level(final)->two_m;
  const double clebsch =
      tg_ci_clebsch(two_ji, two_mi, 2 * op->rank, two_mf - two_mi, two_jf, two_mf);
  if (fabs(clebsch) < 1e-10) return 0;
  return pow(element_between(final, f, initial, i, op) / clebsch, 2) * (two_jf + 1) / (two_ji + 1);
}

static tg_ci_strength strength_of(const solved* initial, size_t level, const solved* final,
                                  const tg_ci_transition* op, int steps) {
  const tg_ci_strength_question q = {.h = initial->problem.h,
                                     .j2 = initial->problem.label[TG_CI_LABEL_J],
                                     .model = &initial->input.model,
                                     .op = op,
                                     .initial = space_of_level(initial),
                                     .x = tg_ci_level_vector(&initial->states, level),
                                     .two_j = tg_ci_level_two_j(&initial->states, level),
                                     .final = space_of_level(final),
                                     .steps = steps,
                                     .threads = 1};
  tg_ci_strength s = {0};
  assert_true(q.two_j >= 0);
  assert_ok(tg_ci_strength_make(&q, &s));
  return s;
}

/* B of the lines within 1e-6 MeV of this energy. */
static double lines_at(const tg_ci_strength* s, int two_j, double energy) {
  double sum = 0;
  for (size_t k = 0; k < s->count; k++)
    for (size_t i = 0; i < s->part[k].count; i++)
      if (s->part[k].two_j == two_j && fabs(s->part[k].energy[i] - energy) < 1e-6)
        sum += s->part[k].b[i];
  return sum;
}

/* All lines of a small space are its levels, with their B; their moments are those of a few steps.
 */
static void check_levels(const solved* initial, size_t level, const solved* final,
                         const tg_ci_transition* op, size_t least) {
  const int two_ji = tg_ci_level_two_j(&initial->states, level);
  tg_ci_strength all = strength_of(initial, level, final, op, 400);
  tg_ci_strength few = strength_of(initial, level, final, op, 3);
  double direct[6] = {0}, lanczos[6] = {0}, scale[6] = {0};
  size_t compared = 0;
  for (size_t f = 0; f < final->spectrum.level_count; f++) {
    const int two_jf = tg_ci_level_two_j(&final->states, f);
    const double energy = final->spectrum.levels[f].energy;
    assert_true(two_jf >= 0);
    if (op->charge_change == 0 && op->rank == 0 && f == level) continue;
    const double b = b_between(final, f, initial, level, op, two_jf, two_ji);
    /* states are right to 1e-9 MeV / distances of levels */
    assert_close(lines_at(&all, two_jf, energy), b, 1e-6);
    compared += b > 1e-6;
    for (int m = 0; m < 6; m++) direct[m] += b * pow(energy, m);
  }
  assert_true(compared >= least);
  for (size_t k = 0; k < few.count; k++) {
    assert_true(few.part[k].count <= 3);
    for (size_t i = 0; i < few.part[k].count; i++)
      for (int m = 0; m < 6; m++) {
        lanczos[m] += few.part[k].b[i] * pow(few.part[k].energy[i], m);
        scale[m] += few.part[k].b[i] * pow(fabs(few.part[k].energy[i]), m);
      }
  }
  for (int m = 0; m < 6; m++) assert_close(lanczos[m], direct[m], 1e-8 * scale[m] + 1e-8);
  tg_ci_strength_free(&all);
  tg_ci_strength_free(&few);
}

static void same_nucleus(void** state) {
  (void)state;
  solved be, li;
  solve(2, 2, 0, 0, &be); /* 8Be: 51 states */
  tg_ci_transition e2 = operator_of(&be, TG_CI_ELECTRIC, 2, 0);
  tg_ci_transition m1 = operator_of(&be, TG_CI_MAGNETIC, 1, 0);
  check_levels(&be, 0, &be, &e2, 4); /* from 0+ */
  check_levels(&be, 0, &be, &m1, 2);
  check_levels(&be, 1, &be, &e2, 8); /* from 2+, to 0, 2, 4 (1 and 3 are not seen at M = 0) */
  tg_ci_transition_free(&e2);
  tg_ci_transition_free(&m1);
  release(&be);
  solve(1, 2, 1, 0, &li); /* 7Li */
  e2 = operator_of(&li, TG_CI_ELECTRIC, 2, 0);
  m1 = operator_of(&li, TG_CI_MAGNETIC, 1, 0);
  check_levels(&li, 0, &li, &e2, 8);
  check_levels(&li, 0, &li, &m1, 8);
  tg_ci_transition_free(&e2);
  tg_ci_transition_free(&m1);
  release(&li);
}

static void another_nucleus(void** state) {
  (void)state;
  solved li, be, he;
  solve(1, 2, 1, 1, &li);
  solve(2, 1, 1, 0, &be);
  solve(0, 3, 1, 0, &he);
  tg_ci_transition plus = operator_of(&li, TG_CI_GAMOW_TELLER, 1, 1);
  tg_ci_transition minus = operator_of(&li, TG_CI_GAMOW_TELLER, 1, -1);
  check_levels(&li, 0, &be, &plus, 8);
  check_levels(&li, 0, &he, &minus, 3);
  tg_ci_transition_free(&plus);
  tg_ci_transition_free(&minus);
  release(&li);
  release(&be);
  release(&he);
}

static tg_ci_space* space_at(const solved* s, int change, int two_m) {
  tg_ci_space_params params = s->problem.space;
  tg_ci_space* space = NULL;
  params.two_m = two_m;
  params.symmetry = -1;
  params.limits[0].particles += change;
  params.limits[1].particles -= change;
  assert_ok(tg_ci_space_make(s->problem.h, &params, &space));
  return space;
}

/* sum over q of |O_Kq|i>|^2, and what the projections add up to. */
static double component_sum(const solved* s, size_t level, const tg_ci_transition* op) {
  double sum = 0;
  const int two_m = space_of_level(s)->two_m;
  for (int q = -op->rank; q <= op->rank; q++) {
    tg_ci_space* space = space_at(s, op->charge_change, two_m + 2 * q);
    double* y = NULL;
    assert_ok(TG_ALLOCATE((size_t)space->dimension, "vector", &y));
    assert_ok(tg_ci_strength_apply(s->problem.h, &s->input.model, op, space_of_level(s),
                                   tg_ci_level_vector(&s->states, level), space, 1, y));
    for (uint64_t i = 0; i < space->dimension; i++) sum += y[i] * y[i];
    tg_free(y);
    tg_ci_space_free(space);
  }
  return sum;
}

/* <i|O+ O|i> is the strength to all states; and Ikeda's rule, S(GT+) - S(GT-) with t+ making
 * protons of neutrons: 3 (N - Z). */
static void sum_rules(void** state) {
  (void)state;
  solved s;
  solve(1, 4, 1, 3, &s); /* 9Li */
  tg_ci_transition ops[4] = {
      operator_of(&s, TG_CI_GAMOW_TELLER, 1, 1), operator_of(&s, TG_CI_GAMOW_TELLER, 1, -1),
      operator_of(&s, TG_CI_ELECTRIC, 2, 0), operator_of(&s, TG_CI_MAGNETIC, 1, 0)};
  for (size_t level = 0; level < 3; level++) {
    double total[4];
    for (int k = 0; k < 4; k++) {
      tg_ci_space* final = space_at(&s, ops[k].charge_change, 1);
      const tg_ci_strength_question q = {.h = s.problem.h,
                                         .j2 = s.problem.label[TG_CI_LABEL_J],
                                         .model = &s.input.model,
                                         .op = &ops[k],
                                         .initial = space_of_level(&s),
                                         .x = tg_ci_level_vector(&s.states, level),
                                         .two_j = tg_ci_level_two_j(&s.states, level),
                                         .final = final,
                                         .steps = 2,
                                         .threads = 1};
      tg_ci_strength found = {0};
      assert_ok(tg_ci_strength_make(&q, &found));
      total[k] = found.total;
      for (size_t p = 0; p < found.count; p++) assert_true(found.part[p].seen);
      assert_close(total[k], component_sum(&s, level, &ops[k]), 1e-8 * total[k] + 1e-10);
      tg_ci_strength_free(&found);
      tg_ci_space_free(final);
    }
    assert_close(total[0] - total[1], 9, 1e-7);
  }
  for (int k = 0; k < 4; k++) tg_ci_transition_free(&ops[k]);
  release(&s);
}

static void what_cannot_be(void** state) {
  (void)state;
  solved s;
  solve(2, 2, 0, 2, &s);
  tg_ci_transition m1 = operator_of(&s, TG_CI_MAGNETIC, 1, 0);
  /* <2 0 1 0|2 0> = 0 */
  tg_ci_strength found = strength_of(&s, 1, &s, &m1, 5);
  assert_int_equal(found.count, 3);
  assert_false(found.part[1].seen);
  assert_true(found.part[0].seen && found.part[2].seen);
  tg_ci_strength_free(&found);
  tg_ci_strength_question q = {.h = s.problem.h,
                               .j2 = s.problem.label[TG_CI_LABEL_J],
                               .model = &s.input.model,
                               .op = &m1,
                               .initial = space_of_level(&s),
                               .x = tg_ci_level_vector(&s.states, 1),
                               .two_j = 8, /* it is 4 */
                               .final = space_of_level(&s),
                               .steps = 2};
  assert_int_equal(tg_ci_strength_make(&q, &found), TG_ERR_NUMERICS);
  q.two_j = 4;
  tg_interrupt_request(true);
  assert_int_equal(tg_ci_strength_make(&q, &found), TG_ERR_INTERRUPTED);
  tg_interrupt_request(false);
  q.steps = 0;
  assert_int_equal(tg_ci_strength_make(&q, &found), TG_ERR_INPUT);
  tg_ci_transition_free(&m1);
  release(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(same_nucleus),
      cmocka_unit_test(another_nucleus),
      cmocka_unit_test(sum_rules),
      cmocka_unit_test(what_cannot_be),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
