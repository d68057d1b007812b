/* SPDX-License-Identifier: Apache-2.0 */
/* Observables against values of other programs, operators applied one by one, sum rules, and
 * themselves at other M. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <float.h>
#include <math.h>

#include "base/memory.h"
#include "base/units.h"
#include "ci/angular.h"
#include "ci/density_set.h"
#include "ci/observe.h"
#include "ci/ref/density.h"

/* 24Mg by USDB, charges 1.5 and 0.5, as two other programs have it, to half a unit of the last
 * digit that they print. */
static void magnesium(void** state) {
  (void)state;
  nucleus mg;
  solve_nucleus("builtin:usdb", 4, 4, 0, 4, &mg);
  tg_ci_tables t = observe("e2,m1", NULL, &mg, NULL);
  assert_close(cell(&t, "transitions", "B_E2_down_e2fm4", pair(&t, 1, 0)), 74.914, 5e-4);
  assert_close(cell(&t, "transitions", "B_E2_up_e2fm4", pair(&t, 1, 0)), 5 * 74.914, 25e-4);
  assert_close(cell(&t, "transitions", "B_E2_down_e2fm4", pair(&t, 3, 1)), 98.136, 5e-4);
  assert_close(cell(&t, "levels", "Q_efm2", 1), -17.143, 5e-4);
  assert_close(cell(&t, "levels", "mu_muN", 1), 1.026, 5e-4);
  /* forbidden: no moments of J = 0, no E2 from 4 to 0, no M1 from 2 to 0 */
  assert_true(isnan(cell(&t, "levels", "Q_efm2", 0)));
  assert_true(isnan(cell(&t, "levels", "mu_muN", 0)));
  assert_true(isnan(cell(&t, "transitions", "B_E2_down_e2fm4", pair(&t, 3, 0))));
  assert_true(isnan(cell(&t, "transitions", "B_M1_down_muN2", pair(&t, 1, 0))));
  assert_int_equal(t.note_count, 0);
  tg_ci_tables_free(&t);
  free_nucleus(&mg);
}

/* The level of the same energy at another M, or SIZE_MAX. */
static size_t same_level(const nucleus* a, size_t level, const nucleus* b) {
  for (size_t i = 0; i < b->spectrum.level_count; i++)
    if (fabs(b->spectrum.levels[i].energy - a->spectrum.levels[level].energy) < 1e-6) return i;
  return SIZE_MAX;
}

/* States have errors of about residual / distance < 1e-9 / 1e-2. */
static void expect_same(double a, double b) { assert_close(a, b, 1e-6 * (1 + fabs(b))); }

/* What is computed at one M is the same at another: at M = 0 elements of odd Ji + K + Jf come from
 * raised states, at others all may come from the states themselves; negative M, too. */
static void every_m_gives_the_same(void** state) {
  (void)state;
  static const struct {
    int protons, neutrons, two_m[4];
  } cases[] = {{2, 2, {0, 2, 4, -2}}, {1, 2, {1, 3, 5, -1}}};
  static const char* const columns[] = {"B_E2_down_e2fm4", "B_E2_up_e2fm4", "B_M1_down_muN2",
                                        "B_E4_down_e2fm8"};
  for (int c = 0; c < 2; c++) {
    nucleus first;
    solve_nucleus("builtin:usdb", cases[c].protons, cases[c].neutrons, cases[c].two_m[0], 9,
                  &first);
    tg_ci_tables t = observe("e2,m1,e4", NULL, &first, NULL);
    for (int m = 1; m < 4; m++) {
      nucleus other;
      size_t compared = 0, moments = 0;
      solve_nucleus("builtin:usdb", cases[c].protons, cases[c].neutrons, cases[c].two_m[m], 9,
                    &other);
      tg_ci_tables u = observe("e2,m1,e4", NULL, &other, NULL);
      for (size_t i = 0; i < first.spectrum.level_count; i++) {
        const size_t j = same_level(&first, i, &other);
        if (j == SIZE_MAX) continue;
        const double q = cell(&t, "levels", "Q_efm2", i), mu = cell(&t, "levels", "mu_muN", i);
        if (!isnan(q)) expect_same(cell(&u, "levels", "Q_efm2", j), q);
        if (!isnan(mu)) expect_same(cell(&u, "levels", "mu_muN", j), mu);
        moments += !isnan(mu);
        for (size_t f = 0; f < i; f++) {
          const size_t g = same_level(&first, f, &other);
          if (g == SIZE_MAX) continue;
          for (int k = 0; k < 4; k++) {
            const double value = cell(&t, "transitions", columns[k], pair(&t, i, f));
            const double again = cell(&u, "transitions", columns[k], pair(&u, j, g));
            assert_int_equal(isnan(value), isnan(again));
            if (isnan(value)) continue;
            expect_same(again, value);
            compared++;
          }
        }
      }
      assert_true(compared > 10 && moments > 2);
      assert_int_equal(u.note_count, 0);
      tg_ci_tables_free(&u);
      free_nucleus(&other);
    }
    tg_ci_tables_free(&t);
    free_nucleus(&first);
  }
}

/* Elements between states of different M of one nucleus: the same |<f||O||i>|. */
static void between_two_m(void** state) {
  (void)state;
  nucleus a, b;
  solve_nucleus("builtin:usdb", 2, 2, 0, 6, &a);
  solve_nucleus("builtin:usdb", 2, 2, 4, 6, &b);
  tg_ci_tables within = observe("e2,m1", NULL, &a, NULL), t = observe("all", NULL, &a, &b);
  size_t compared = 0;
  for (size_t i = 0; i < a.spectrum.level_count; i++)
    for (size_t f = 0; f < i; f++) {
      const size_t g = same_level(&a, f, &b);
      if (g == SIZE_MAX) continue;
      const double value = cell(&within, "transitions", "B_E2_down_e2fm4", pair(&within, i, f));
      if (isnan(value)) continue;
      expect_same(cell(&t, "transitions", "B_E2_i_to_f_e2fm4", pair(&t, i, g)), value);
      compared++;
    }
  assert_true(compared > 3);
  tg_ci_tables_free(&within);
  tg_ci_tables_free(&t);
  free_nucleus(&a);
  free_nucleus(&b);
}

/* ---- operators whose elements are known ---- */

static tg_ci_question question_of(const nucleus* i, const nucleus* f, tg_ci_tables* tables,
                                  tg_ci_density_set** densities) {
  static tg_ci_observable_params params;
  params = tg_ci_observable_defaults();
  params.threads = 2;
  return (tg_ci_question){.initial = i->states,
                          .final = f->states,
                          .within = i == f,
                          .params = &params,
                          .densities = densities,
                          .tables = tables};
}

static double reduced(tg_ci_density_set* set, size_t i, size_t f, const tg_ci_transition* t) {
  double value;
  tg_ci_reduced what;
  assert_ok(tg_ci_density_set_reduced(set, i, f, t, &value, &what));
  return value;
}

/* Reduced elements with their signs, which fix the phase of a~: Q and mu are those elements times
 * positive numbers. The two values are another program's for the 2+ of 24Mg. */
static void signs_of_moments(void** state) {
  (void)state;
  nucleus mg;
  tg_ci_tables tables = {0};
  tg_ci_density_set *sets[3] = {NULL, NULL, NULL}, *set;
  tg_ci_transition e2, m1;
  solve_nucleus("builtin:usdb", 4, 4, 0, 2, &mg);
  const tg_ci_question q = question_of(&mg, &mg, &tables, sets);
  const tg_ci_shells* s = &mg.input.model.shells;
  tg_ci_transition_parameters p = tg_ci_transition_defaults(TG_CI_ELECTRIC, 2, mg.problem.hw);
  assert_ok(tg_ci_question_densities(&q, 0, &set));
  p.charge[0] = 1.5;
  p.charge[1] = 0.5;
  assert_ok(tg_ci_transition_create(s, &p, &e2));
  p = tg_ci_transition_defaults(TG_CI_MAGNETIC, 1, mg.problem.hw);
  p.g_spin[0] = 5.585; /* what that program takes for 5.5857 */
  assert_ok(tg_ci_transition_create(s, &p, &m1));
  /* its hbar^2/m is 41.471 to five digits: 1e-6 of it is 2e-5 of the element */
  assert_close(reduced(set, 1, 1, &e2), -22.61868, 5e-5);
  assert_close(reduced(set, 1, 1, &m1), 1.372889, 5e-6);
  tg_ci_transition_free(&e2);
  tg_ci_transition_free(&m1);
  for (int k = 0; k < 3; k++) tg_ci_density_set_free(sets[k]);
  tg_ci_tables_free(&tables);
  free_nucleus(&mg);
}

/* <f||J||i> = d_fi sqrt(J (J+1) (2J+1)), at M = 0 by raised states; and the number of particles,
 * and that of each orbit, <i||n_a||i> = n_a sqrt(2J+1). */
static void angular_momentum_and_numbers(void** state) {
  (void)state;
  static const int cases[][3] = {{2, 2, 0}, {1, 2, 1}, {2, 1, 3}};
  for (int c = 0; c < 3; c++) {
    nucleus n;
    tg_ci_tables tables = {0};
    tg_ci_density_set *sets[3] = {NULL, NULL, NULL}, *set;
    solve_nucleus("builtin:usdb", cases[c][0], cases[c][1], cases[c][2], 8, &n);
    const tg_ci_question q = question_of(&n, &n, &tables, sets);
    const tg_ci_shells* s = &n.input.model.shells;
    assert_ok(tg_ci_question_densities(&q, 0, &set));
    tg_ci_transition_parameters p = tg_ci_transition_defaults(TG_CI_MAGNETIC, 1, 0);
    for (int t = 0; t < 2; t++) p.g_orbital[t] = p.g_spin[t] = 1 / sqrt(3 / (4 * TG_PI));
    tg_ci_transition j, number = {.rank = 0, .parity = 1, .shells = s->count};
    assert_ok(tg_ci_transition_create(s, &p, &j));
    assert_ok(TG_ALLOCATE(s->count * s->count, "elements", &number.element));
    for (size_t i = 0; i < n.spectrum.level_count; i++) {
      double* occupation[2];
      const int two_j = tg_ci_level_two_j(&n.states, i);
      assert_true(two_j >= 0);
      for (size_t f = 0; f < n.spectrum.level_count; f++) {
        const double big = 0.5 * two_j, value = reduced(set, i, f, &j);
        if (isnan(value)) continue;
        assert_close(value, i == f ? sqrt(big * (big + 1) * (2 * big + 1)) : 0, 1e-6);
      }
      for (int t = 0; t < 2; t++)
        assert_ok(TG_ALLOCATE(tg_ci_hamiltonian_orbitals(n.problem.h, t, NULL), "occupations",
                              &occupation[t]));
      assert_ok(tg_ci_occupations(tg_ci_level_space(&n.states, i), tg_ci_level_vector(&n.states, i),
                                  occupation));
      for (size_t a = 0; a < s->count; a++) {
        const tg_ci_orbital* o;
        const int t = s->shell[a].species;
        const size_t count = tg_ci_hamiltonian_orbitals(n.problem.h, t, &o);
        double sum = 0;
        for (size_t k = 0; k < count; k++)
          if (o[k].shell + (t ? s->proton_count : 0) == a) sum += occupation[t][k];
        memset(number.element, 0, s->count * s->count * sizeof *number.element);
        number.element[a * s->count + a] = sqrt(s->shell[a].two_j + 1);
        assert_close(reduced(set, i, i, &number) / sqrt(two_j + 1), sum, 1e-11);
      }
      tg_free(occupation[0]);
      tg_free(occupation[1]);
    }
    tg_ci_transition_free(&j);
    tg_ci_transition_free(&number);
    for (int k = 0; k < 3; k++) tg_ci_density_set_free(sets[k]);
    free_nucleus(&n);
  }
}

/* <f M|T_K0|i M> by operators one by one, and Wigner and Eckart's theorem. */
static double by_hand(const nucleus* n, size_t i, size_t f, const tg_ci_transition* t) {
  const tg_ci_orbital* o[2];
  const size_t protons = tg_ci_hamiltonian_orbitals(n->problem.h, 0, &o[0]);
  const size_t all = protons + tg_ci_hamiltonian_orbitals(n->problem.h, 1, &o[1]);
  const tg_ci_shells* s = &n->input.model.shells;
  double sum = 0;
  for (size_t p = 0; p < all; p++)
    for (size_t q = 0; q < all; q++) {
      double rho;
      const tg_ci_orbital* to = p < protons ? &o[0][p] : &o[1][p - protons];
      const tg_ci_orbital* from = q < protons ? &o[0][q] : &o[1][q - protons];
      if (to->two_m != from->two_m || (p < protons) != (q < protons)) continue;
      const size_t a = to->shell + (p < protons ? 0 : s->proton_count);
      const size_t b = from->shell + (q < protons ? 0 : s->proton_count);
      const int two_ja = s->shell[a].two_j;
      assert_ok(tg_ci_ref_density(
          n->problem.h, tg_ci_level_space(&n->states, f), tg_ci_level_space(&n->states, i), p, q,
          tg_ci_level_vector(&n->states, f), tg_ci_level_vector(&n->states, i), &rho));
      sum += rho * t->element[a * s->count + b] / sqrt(two_ja + 1) *
             tg_ci_clebsch(s->shell[b].two_j, from->two_m, 2 * t->rank, 0, two_ja, to->two_m);
    }
  const int ji = tg_ci_level_two_j(&n->states, i), jf = tg_ci_level_two_j(&n->states, f);
  const int two_m = n->problem.two_m;
  return sum * sqrt(jf + 1) / tg_ci_clebsch(ji, two_m, 2 * t->rank, 0, jf, two_m);
}

static void against_operators_one_by_one(void** state) {
  (void)state;
  nucleus n;
  tg_ci_tables tables = {0};
  tg_ci_density_set *sets[3] = {NULL, NULL, NULL}, *set;
  tg_ci_transition m1, e2;
  size_t compared = 0;
  solve_nucleus("builtin:ckpot", 2, 3, 1, 6, &n);
  const tg_ci_question q = question_of(&n, &n, &tables, sets);
  assert_ok(tg_ci_question_densities(&q, 0, &set));
  const tg_ci_shells* s = &n.input.model.shells;
  const tg_ci_transition_parameters p1 = tg_ci_transition_defaults(TG_CI_MAGNETIC, 1, 15);
  const tg_ci_transition_parameters p2 = tg_ci_transition_defaults(TG_CI_ELECTRIC, 2, 15);
  assert_ok(tg_ci_transition_create(s, &p1, &m1));
  assert_ok(tg_ci_transition_create(s, &p2, &e2));
  for (size_t i = 0; i < n.spectrum.level_count; i++)
    for (size_t f = 0; f < n.spectrum.level_count; f++)
      for (int k = 1; k <= 2; k++) {
        const tg_ci_transition* t = k == 1 ? &m1 : &e2;
        const int ji = tg_ci_level_two_j(&n.states, i), jf = tg_ci_level_two_j(&n.states, f);
        if (ji < 0 || jf < 0 || tg_ci_clebsch(ji, 1, 2 * k, 0, jf, 1) == 0) continue;
        assert_close(reduced(set, i, f, t), by_hand(&n, i, f, t), 1e-10);
        compared++;
      }
  assert_true(compared > 20);
  tg_ci_transition_free(&m1);
  tg_ci_transition_free(&e2);
  for (int k = 0; k < 3; k++) tg_ci_density_set_free(sets[k]);
  free_nucleus(&n);
}

/* ---- sum rules ---- */

/* Sum of B of one level to all levels. */
static double strength(const tg_ci_tables* t, const nucleus* final, size_t i, const char* column) {
  double sum = 0;
  for (size_t f = 0; f < final->spectrum.level_count; f++) {
    const double b = cell(t, "transitions", column, pair(t, i, f));
    if (!isnan(b)) sum += b;
  }
  return sum;
}

/* Ikeda: S(n to p) - S(p to n) = 3 (N - Z) of Gamow-Teller, N - Z of Fermi, of every level; and B
 * of the way back from the other side. */
static void beta_sum_rules(void** state) {
  (void)state;
  nucleus parent, up, down;
  solve_nucleus("builtin:ckpot", 2, 3, 1, 4, &parent);
  solve_nucleus("builtin:ckpot", 3, 2, 1, 0, &up);
  solve_nucleus("builtin:ckpot", 1, 4, 1, 0, &down);
  const nucleus* const ends[] = {&up, &down};
  for (size_t k = 0; k < 2; k++)
    for (size_t f = 0; f < ends[k]->spectrum.level_count; f++)
      assert_true(tg_ci_level_two_j(&ends[k]->states, f) >= 0);
  tg_ci_tables minus = observe("usual", NULL, &parent, &up);
  tg_ci_tables plus = observe("gt,fermi", NULL, &parent, &down);
  tg_ci_tables back = observe("gt", NULL, &up, &parent);
  for (size_t i = 0; i < parent.spectrum.level_count; i++) {
    assert_close(strength(&minus, &up, i, "B_GT_i_to_f") - strength(&plus, &down, i, "B_GT_i_to_f"),
                 3, 1e-8);
    assert_close(strength(&minus, &up, i, "B_F_i_to_f") - strength(&plus, &down, i, "B_F_i_to_f"),
                 1, 1e-8);
    for (size_t f = 0; f < up.spectrum.level_count; f++) {
      const double there = cell(&minus, "transitions", "B_GT_i_to_f", pair(&minus, i, f));
      const double here = cell(&back, "transitions", "B_GT_f_to_i", pair(&back, f, i));
      if (!isnan(there)) assert_close(here, there, 1e-9);
    }
  }
  tg_ci_tables_free(&minus);
  tg_ci_tables_free(&plus);
  tg_ci_tables_free(&back);
  free_nucleus(&parent);
  free_nucleus(&up);
  free_nucleus(&down);
}

/* Operators of files are those by formula: sigma tau and sigma of the p shell, and of the sd shell
 * where the files are at hand. Five decimals are printed of elements that have a factor 1/sqrt(6)
 * and more taken off. */
static void operators_from_files(void** state) {
  (void)state;
  static const struct {
    const char *input, *gt, *column;
    int protons, neutrons;
  } cases[] = {{"builtin:ckpot", SHIPPED("p_gt.opme"), "p_gt", 2, 3},
               {"builtin:usdb", SHARED("oxbash/sdgt.opme"), "sdgt", 1, 2}};
  for (int c = 0; c < 2; c++) {
    nucleus a, b;
    char list[512], column[64];
    size_t compared = 0;
    if (!is_there(cases[c].gt)) continue;
    solve_nucleus(cases[c].input, cases[c].protons, cases[c].neutrons, 1, 5, &a);
    solve_nucleus(cases[c].input, cases[c].protons + 1, cases[c].neutrons - 1, 1, 5, &b);
    snprintf(list, sizeof list, "gt,%s", cases[c].gt);
    snprintf(column, sizeof column, "B_%s_i_to_f", cases[c].column);
    tg_ci_tables t = observe(list, NULL, &a, &b);
    const tg_ci_table* table = tg_ci_tables_find(&t, "transitions");
    for (size_t r = 0; r < table->rows; r++) {
      const double b_gt = cell(&t, "transitions", "B_GT_i_to_f", r);
      if (isnan(b_gt)) continue;
      assert_close(cell(&t, "transitions", column, r), b_gt, 1e-4 * (1 + b_gt));
      compared++;
    }
    assert_true(compared > 5);
    tg_ci_tables_free(&t);
    free_nucleus(&a);
    free_nucleus(&b);
  }
}

/* ---- what cannot be told ---- */

/* Orbits of both parities: E1 and E3, the same at two M; E1 has charges N/A, -Z/A whatever
 * --charges says. */
static void both_parities(void** state) {
  (void)state;
  static const char input[] = "builtin:sdi:0p1/2,0d5/2=3,1s1/2=4:AT0=1.5,AT1=1.5,B=0.3,C=0,Z=6,N=6";
  nucleus a, b;
  size_t compared = 0;
  tg_ci_observable_params bare = tg_ci_observable_defaults();
  bare.charges_given = true;
  bare.charge[0] = 1;
  bare.charge[1] = 0;
  solve_nucleus(input, 1, 2, 1, 4, &a);
  solve_nucleus(input, 1, 2, 3, 4, &b);
  assert_int_equal(a.problem.sector_count, 2);
  tg_ci_tables t = observe("all", NULL, &a, NULL), u = observe("e1,e3", &bare, &b, NULL);
  for (size_t i = 0; i < a.spectrum.level_count; i++)
    for (size_t f = 0; f < i; f++) {
      const size_t j = same_level(&a, i, &b), g = same_level(&a, f, &b);
      const bool other = a.spectrum.levels[i].symmetry != a.spectrum.levels[f].symmetry;
      const double e1 = cell(&t, "transitions", "B_E1_down_e2fm2", pair(&t, i, f));
      const double e2 = cell(&t, "transitions", "B_E2_down_e2fm4", pair(&t, i, f));
      assert_true(other ? isnan(e2) : isnan(e1));
      if (j == SIZE_MAX || g == SIZE_MAX || isnan(e1)) continue;
      expect_same(cell(&u, "transitions", "B_E1_down_e2fm2", pair(&u, j, g)), e1);
      compared++;
    }
  assert_true(compared > 2);
  tg_ci_tables_free(&t);
  tg_ci_tables_free(&u);
  free_nucleus(&a);
  free_nucleus(&b);
}

/* Levels that share their states have no values, and a note; others keep theirs. */
static void shared_states_are_flagged(void** state) {
  (void)state;
  nucleus n;
  solve_nucleus("builtin:usdb", 1, 2, 1, 6, &n);
  tg_ci_tables t = observe("e2,m1,obdm", NULL, &n, NULL);
  const double before = cell(&t, "levels", "mu_muN", 0);
  assert_false(isnan(before) || isnan(cell(&t, "levels", "mu_muN", 2)));
  tg_ci_tables_free(&t);
  n.spectrum.levels[3].energy = n.spectrum.levels[2].energy + 1e-12;
  n.spectrum.levels[2].residual = n.spectrum.levels[3].residual = 1e-9;
  t = observe("e2,m1,obdm", NULL, &n, NULL);
  assert_true(isnan(cell(&t, "levels", "mu_muN", 2)));
  assert_true(isnan(cell(&t, "levels", "mu_muN", 3)));
  assert_close(cell(&t, "levels", "mu_muN", 0), before, 0);
  for (size_t f = 0; f < 2; f++)
    assert_true(isnan(cell(&t, "transitions", "B_M1_down_muN2", pair(&t, 2, f))));
  assert_int_equal(t.note_count, 2);
  assert_non_null(strstr(t.notes[0], "level 3"));
  tg_ci_tables_free(&t);
  t = observe("obdm", NULL, &n, NULL); /* no transitions, the same notes */
  assert_int_equal(t.note_count, 2);
  tg_ci_tables_free(&t);
  n.spectrum.levels[0].squared[TG_CI_LABEL_J] += 0.5; /* no J of its own */
  t = observe("e2", NULL, &n, NULL);
  assert_true(isnan(cell(&t, "levels", "Q_efm2", 0)));
  assert_int_equal(t.note_count, 3);
  tg_ci_tables_free(&t);
  free_nucleus(&n);
}

/* Groups and repetitions in lists; what does not apply is left out of a group, and refused by name.
 */
static void lists(void** state) {
  (void)state;
  tg_ci_observable_list list;
  size_t all, densities = 0;
  assert_ok(tg_ci_observables_parse("all", TG_CI_NUCLEUS, true, &list));
  all = list.count;
  for (size_t i = 0; i < all; i++) densities += strcmp(list.entry[i]->name, "obdm") == 0;
  assert_int_equal(densities, 1);
  tg_ci_observables_free(&list);
  assert_ok(tg_ci_observables_parse("E2,all,a.opme,opme:b,a.opme,e2", TG_CI_NUCLEUS, true, &list));
  assert_int_equal(list.count, all + 2);
  assert_string_equal(list.entry[0]->name, "e2");
  assert_false(list.grouped[0]);
  assert_string_equal(list.argument[all], "a.opme");
  assert_string_equal(list.argument[all + 1], "b");
  tg_ci_observables_free(&list);
  assert_ok(tg_ci_observables_parse(NULL, TG_CI_NUCLEUS, true, &list));
  assert_int_equal(list.count, 1);
  tg_ci_observables_free(&list);
  assert_ok(tg_ci_observables_parse("none", TG_CI_NUCLEUS, true, &list));
  assert_int_equal(list.count, 0);
  nucleus n;
  const tg_ci_observable_params params = tg_ci_observable_defaults();
  solve_nucleus("builtin:usdb", 1, 1, 0, 2, &n);
  n.problem.hw = 0; /* as of an input that does not name its core */
  assert_ok(tg_ci_observables_parse("all", TG_CI_NUCLEUS, true, &list));
  assert_ok(tg_ci_observables_check(&list, &params, &n.problem, NULL));
  tg_ci_observables_free(&list);
  assert_ok(tg_ci_observables_parse("all,e2", TG_CI_NUCLEUS, true, &list));
  assert_int_equal(tg_ci_observables_check(&list, &params, &n.problem, NULL), TG_ERR_INPUT);
  tg_ci_observables_free(&list);
  free_nucleus(&n);
}

static void wrong_lists_are_refused(void** state) {
  (void)state;
  static const char* const lists[] = {"e5",   "e2,,m1", "",      "gt",
                                      "e2:3", "opme:",  "e2,e9", "nowhere.opme,x"};
  tg_ci_observable_list list;
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
    assert_int_equal(tg_ci_observables_parse(lists[i], TG_CI_NUCLEUS, true, &list), TG_ERR_INPUT);
  assert_int_equal(tg_ci_observables_parse("e2", TG_CI_MOLECULE, true, &list), TG_ERR_INPUT);
  assert_int_equal(tg_ci_observables_parse("occupations", TG_CI_NUCLEUS, false, &list),
                   TG_ERR_INPUT);
  nucleus a, b;
  const tg_ci_observable_params params = tg_ci_observable_defaults();
  solve_nucleus("builtin:ckpot", 1, 1, 0, 2, &a);
  solve_nucleus("builtin:usdb", 0, 2, 0, 2, &b);
  assert_ok(tg_ci_observables_parse("gt", TG_CI_NUCLEUS, false, &list));
  assert_int_equal(tg_ci_observables_check(&list, &params, &a.problem, &b.problem), TG_ERR_INPUT);
  assert_int_equal(tg_ci_observables_check(&list, &params, &a.problem, &a.problem), TG_ERR_INPUT);
  tg_ci_observables_free(&list);
  assert_ok(tg_ci_observables_parse("nowhere.opme", TG_CI_NUCLEUS, true, &list));
  assert_int_equal(tg_ci_observables_check(&list, &params, &a.problem, NULL), TG_ERR_INPUT);
  tg_ci_observables_free(&list);
  free_nucleus(&a);
  free_nucleus(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(magnesium),
      cmocka_unit_test(every_m_gives_the_same),
      cmocka_unit_test(between_two_m),
      cmocka_unit_test(signs_of_moments),
      cmocka_unit_test(signs_of_moments),
      cmocka_unit_test(angular_momentum_and_numbers),
      cmocka_unit_test(against_operators_one_by_one),
      cmocka_unit_test(beta_sum_rules),
      cmocka_unit_test(operators_from_files),
      cmocka_unit_test(both_parities),
      cmocka_unit_test(shared_states_are_flagged),
      cmocka_unit_test(lists),
      cmocka_unit_test(wrong_lists_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
