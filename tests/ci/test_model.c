/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <stdlib.h>

#include "ci/angular.h"
#include "ci/oscillator.h"
#include "support.h"

static const tg_place here = {"a test", 0, 0};

/* 0s1/2, 0p1/2, 0p3/2, 1s1/2, 0d5/2 of protons and neutrons, no core. */
static tg_ci_model make_model(void) {
  tg_ci_model model = tg_ci_model_empty();
  const tg_ci_shell list[] = {{.n = 0, .l = 0, .two_j = 1},
                              {.n = 0, .l = 1, .two_j = 1},
                              {.n = 0, .l = 1, .two_j = 3},
                              {.n = 1, .l = 0, .two_j = 1},
                              {.n = 0, .l = 2, .two_j = 5}};
  for (int species = 0; species < 2; species++)
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
      tg_ci_shell shell = list[i];
      shell.species = species;
      shell.weight = -1;
      assert_ok(tg_ci_shells_add(&model.shells, shell, here));
    }
  model.core_protons = model.core_neutrons = 0;
  model.core_mass = 0;
  return model;
}

static bool can_be(const tg_ci_shells* shells, const tg_ci_two_element* e) {
  const tg_ci_shell* s = shells->shell;
  return tg_ci_pair_kind(shells, e->a, e->b) == tg_ci_pair_kind(shells, e->c, e->d) &&
         (s[e->a].l + s[e->b].l + s[e->c].l + s[e->d].l) % 2 == 0 &&
         tg_ci_triangle(s[e->a].two_j, s[e->b].two_j, 2 * e->j) &&
         tg_ci_triangle(s[e->c].two_j, s[e->d].two_j, 2 * e->j) &&
         (e->j % 2 == 0 || (e->a != e->b && e->c != e->d));
}

/* Every element that can be, at random. */
static tg_ci_couplings make_couplings(const tg_ci_shells* shells) {
  tg_ci_couplings c = {0};
  const int n = (int)shells->count;
  for (int a = 0; a < n; a++)
    for (int b = a; b < n; b++) {
      tg_ci_one_element one = {.a = a, .b = b, .value = {.fixed = next_random()}};
      const tg_ci_shell *x = &shells->shell[a], *y = &shells->shell[b];
      if (x->species == y->species && x->l == y->l && x->two_j == y->two_j)
        assert_ok(tg_ci_couplings_put_one(&c, shells, one, here));
      for (int k = a; k < n; k++)
        for (int l = k == a ? b : k; l < n; l++)
          for (int j = 0; j <= 6; j++) {
            tg_ci_two_element e = {.a = a, .b = b, .c = k, .d = l, .j = j};
            if (can_be(shells, &e)) assert_ok(tg_ci_couplings_put_two(&c, shells, e, here));
          }
    }
  for (size_t i = 0; i < c.two_count; i++) c.two[i].value.fixed = next_random();
  return c;
}

/* The orbital of an orbit and a 2m, within its species. */
static int orbital_of(const tg_ci_shells* shells, int shell, int two_m) {
  int at = 0;
  for (int i = 0; i < shell; i++)
    if (shells->shell[i].species == shells->shell[shell].species) at += shells->shell[i].two_j + 1;
  return at + (two_m + shells->shell[shell].two_j) / 2;
}

/* <i j|V|k l> antisymmetric, of global orbits and projections, from the operator. */
static double pair_element(const tg_ci_hamiltonian* h, const tg_ci_shells* shells, const int o[4],
                           const int m[4]) {
  int i[4];
  for (int k = 0; k < 4; k++) i[k] = orbital_of(shells, o[k], m[k]);
  const int first = shells->shell[o[0]].species, second = shells->shell[o[1]].species;
  if (first != second) return tg_ci_hamiltonian_cross(h, i[0], i[2], i[1], i[3]);
  return tg_ci_hamiltonian_two(h, first, i[0], i[1], i[2], i[3]);
}

/* <ab;JM|V|cd;JM> of A+(ab;JM) = (1 + d_ab)^(-1/2) sum <ja ma jb mb|JM> a+_a a+_b: the definition,
 * the other way round. Sums over all m of both sides count each pair of one species twice. */
static double coupled(const tg_ci_hamiltonian* h, const tg_ci_shells* shells, const int o[4], int j,
                      int two_m) {
  const tg_ci_shell* s = shells->shell;
  double sum = 0;
  for (int ma = -s[o[0]].two_j; ma <= s[o[0]].two_j; ma += 2)
    for (int mc = -s[o[2]].two_j; mc <= s[o[2]].two_j; mc += 2) {
      const int m[4] = {ma, two_m - ma, mc, two_m - mc};
      if (abs(m[1]) > s[o[1]].two_j || abs(m[3]) > s[o[3]].two_j) continue;
      sum += tg_ci_clebsch(s[o[0]].two_j, ma, s[o[1]].two_j, m[1], 2 * j, two_m) *
             tg_ci_clebsch(s[o[2]].two_j, mc, s[o[3]].two_j, m[3], 2 * j, two_m) *
             pair_element(h, shells, o, m);
    }
  if (o[0] == o[1]) sum /= sqrt(2.0);
  if (o[2] == o[3]) sum /= sqrt(2.0);
  return sum;
}

static void elements_uncouple_by_their_definition(void** state) {
  (void)state;
  tg_ci_model model = make_model();
  tg_ci_couplings c = make_couplings(&model.shells);
  tg_ci_hamiltonian* h = NULL;
  assert_true(c.two_count > 200);
  assert_ok(tg_ci_couplings_uncouple(&c, &model, &h));
  for (size_t i = 0; i < c.two_count; i++) {
    const tg_ci_two_element* e = &c.two[i];
    const int o[4] = {e->a, e->b, e->c, e->d};
    /* a few dozen products of numbers below 1 */
    for (int two_m = -2 * e->j; two_m <= 2 * e->j; two_m += 2)
      assert_close(coupled(h, &model.shells, o, e->j, two_m), e->value.fixed, 1e-13);
  }
  for (size_t i = 0; i < c.one_count; i++) {
    const tg_ci_one_element* e = &c.one[i];
    const tg_ci_shell* s = &model.shells.shell[e->a];
    for (int m = -s->two_j; m <= s->two_j; m += 2)
      assert_true(tg_ci_hamiltonian_one(h, s->species, orbital_of(&model.shells, e->a, m),
                                        orbital_of(&model.shells, e->b, m)) == e->value.fixed);
  }
  tg_ci_hamiltonian_free(h);
  tg_ci_couplings_free(&c);
  tg_ci_model_free(&model);
}

/* ---- J^2 and T^2 from ladder operators ---- */

static double ladder(const tg_ci_shell* s, int from, int to) {
  if (abs(to - from) != 2) return 0;
  return 0.5 * sqrt((double)(s->two_j * (s->two_j + 2) - from * to));
}

/* 2 j1.j2 of product states (first particle o[0] <- o[2], second o[1] <- o[3]). */
static double scalar_product(const tg_ci_shell* s, const int o[4], const int m[4]) {
  if (o[0] != o[2] || o[1] != o[3]) return 0;
  if (m[0] == m[2] && m[1] == m[3]) return 0.5 * m[0] * m[1];
  if (m[0] + m[1] != m[2] + m[3]) return 0;
  return ladder(&s[o[0]], m[2], m[0]) * ladder(&s[o[1]], m[3], m[1]);
}

/* 2 t1.t2 = P_t - 1/2, where P_t gives each particle the other's isospin. */
static double isospin_product(const tg_ci_shells* shells, const int o[4], const int m[4]) {
  const tg_ci_shell* s = shells->shell;
  const bool same = o[0] == o[2] && o[1] == o[3] && m[0] == m[2] && m[1] == m[3];
  const int first = s[o[2]].species == s[o[3]].species ? o[2] : tg_ci_shells_partner(shells, o[2]);
  const int second = s[o[2]].species == s[o[3]].species ? o[3] : tg_ci_shells_partner(shells, o[3]);
  const bool exchanged = o[0] == first && o[1] == second && m[0] == m[2] && m[1] == m[3];
  return exchanged - 0.5 * same;
}

static double expected_pair(const tg_ci_shells* shells, tg_ci_quantity kind, const int o[4],
                            const int m[4]) {
  const int p[4] = {o[0], o[1], o[3], o[2]}, q[4] = {m[0], m[1], m[3], m[2]};
  if (kind == TG_CI_J2)
    return scalar_product(shells->shell, o, m) - scalar_product(shells->shell, p, q);
  return isospin_product(shells, o, m) - isospin_product(shells, p, q);
}

static void check_against_ladders(const tg_ci_model* model, tg_ci_quantity kind) {
  const tg_ci_shells* shells = &model->shells;
  const tg_ci_nucleus nucleus = {.protons = 1, .neutrons = 1};
  tg_ci_hamiltonian* h = NULL;
  assert_ok(tg_ci_model_quantity(model, kind, &nucleus, &h));
  const int n = (int)shells->count;
  size_t checked = 0;
  int o[4], m[4];
  for (o[0] = 0; o[0] < n; o[0]++)
    for (o[1] = o[0]; o[1] < n; o[1]++)
      for (o[2] = 0; o[2] < n; o[2]++)
        for (o[3] = o[2]; o[3] < n; o[3]++) {
          if (tg_ci_pair_kind(shells, o[0], o[1]) != tg_ci_pair_kind(shells, o[2], o[3])) continue;
          const tg_ci_shell* s = shells->shell;
          for (m[0] = -s[o[0]].two_j; m[0] <= s[o[0]].two_j; m[0] += 2)
            for (m[1] = -s[o[1]].two_j; m[1] <= s[o[1]].two_j; m[1] += 2)
              for (m[2] = -s[o[2]].two_j; m[2] <= s[o[2]].two_j; m[2] += 2) {
                m[3] = m[0] + m[1] - m[2];
                if (abs(m[3]) > s[o[3]].two_j) continue;
                assert_close(pair_element(h, shells, o, m), expected_pair(shells, kind, o, m),
                             1e-13);
                checked++;
              }
        }
  assert_true(checked > 10000);
  tg_ci_hamiltonian_free(h);
}

static void spins_follow_from_ladders(void** state) {
  (void)state;
  tg_ci_model model = make_model();
  check_against_ladders(&model, TG_CI_J2);
  check_against_ladders(&model, TG_CI_T2);
  tg_ci_hamiltonian* h = NULL;
  const tg_ci_nucleus nucleus = {.protons = 1};
  model.core_protons = 20;
  model.core_neutrons = 28;
  assert_int_equal(tg_ci_model_quantity(&model, TG_CI_T2, &nucleus, &h), TG_ERR_INPUT);
  model.core_protons = 28;
  tg_ci_shells_free(&model.shells);
  const tg_ci_shell lone = {.n = 0, .l = 2, .two_j = 5, .species = TG_CI_PROTON, .weight = -1};
  assert_ok(tg_ci_shells_add(&model.shells, lone, here));
  assert_int_equal(tg_ci_model_quantity(&model, TG_CI_T2, &nucleus, &h), TG_ERR_INPUT);
  assert_non_null(strstr(tg_last_error(), "p0d5/2 has no partner"));
  tg_ci_model_free(&model);
}

/* ---- centre of mass ---- */

/* <ab;J|O|cd;J> of two particles: two-body and one-body elements together. */
static double of_two(const tg_ci_couplings* c, const tg_ci_shells* shells, const int o[4], int j) {
  int sign = 1;
  const tg_ci_two_element* e = tg_ci_couplings_two(c, shells, o, j, &sign);
  double sum = e ? sign * e->value.fixed : 0;
  const int last = (shells->shell[o[2]].two_j + shells->shell[o[3]].two_j) / 2;
  const bool like = shells->shell[o[0]].species == shells->shell[o[1]].species;
  for (int exchange = 0; exchange < (like ? 2 : 1); exchange++) {
    const int k = exchange ? o[3] : o[2], l = exchange ? o[2] : o[3];
    double one = 0;
    const tg_ci_one_element* x = tg_ci_couplings_one(c, o[0], k);
    const tg_ci_one_element* y = tg_ci_couplings_one(c, o[1], l);
    if (o[1] == l && x) one += x->value.fixed;
    if (o[0] == k && y) one += y->value.fixed;
    if (like && o[0] == o[1]) one /= sqrt(2.0);
    if (like && o[2] == o[3]) one /= sqrt(2.0);
    sum += exchange ? -tg_ci_sign(last - j) * one : one;
  }
  return sum;
}

/* Oscillator = H_cm + T_rel + (m w^2 / 2) sum (r_i - R)^2, each of the last two by its own formula.
 */
static void centre_of_mass_and_relative_motion_add_up(void** state) {
  (void)state;
  tg_ci_model model = make_model();
  const tg_ci_shells* shells = &model.shells;
  const double hw = 17;
  size_t checked = 0, n = shells->count;
  for (int protons = 0; protons <= 2; protons++) {
    const tg_ci_nucleus nucleus = {.protons = protons, .neutrons = 2 - protons, .hw = hw};
    tg_ci_couplings cm, kinetic, radius;
    assert_ok(tg_ci_quantity_couplings(&model, TG_CI_HCM, &nucleus, &cm));
    assert_ok(tg_ci_quantity_couplings(&model, TG_CI_TREL, &nucleus, &kinetic));
    assert_ok(tg_ci_quantity_couplings(&model, TG_CI_RADIUS_MATTER, &nucleus, &radius));
    const double spring = 2 * 0.5 * hw / tg_ci_oscillator_length2(hw);
    const int kind = protons == 2 ? TG_CI_PP : protons == 0 ? TG_CI_NN : TG_CI_PN;
    for (size_t x = 0; x < n * n * n * n; x++) {
      const int o[4] = {(int)(x % n), (int)(x / n % n), (int)(x / n / n % n), (int)(x / n / n / n)};
      const tg_ci_shell* s = shells->shell;
      if (o[0] > o[1] || o[2] > o[3] || tg_ci_pair_kind(shells, o[0], o[1]) != kind ||
          tg_ci_pair_kind(shells, o[2], o[3]) != kind)
        continue;
      for (int j = 0; j <= 5; j++) {
        if (!tg_ci_triangle(s[o[0]].two_j, s[o[1]].two_j, 2 * j) ||
            !tg_ci_triangle(s[o[2]].two_j, s[o[3]].two_j, 2 * j) ||
            ((o[0] == o[1] || o[2] == o[3]) && j % 2))
          continue;
        const bool same = o[0] == o[2] && o[1] == o[3];
        const double quanta = 2 * s[o[0]].n + s[o[0]].l + 2 * s[o[1]].n + s[o[1]].l + 3;
        const double sum = of_two(&cm, shells, o, j) + of_two(&kinetic, shells, o, j) +
                           spring * of_two(&radius, shells, o, j);
        assert_close(sum, same ? quanta * hw : 0, 1e-12 * hw * 10);
        checked++;
      }
    }
    /* two particles in 0s: the centre of mass and the relative motion both in their lowest state */
    const int lowest[4] = {kind == TG_CI_NN ? 5 : 0, kind == TG_CI_PP ? 0 : 5,
                           kind == TG_CI_NN ? 5 : 0, kind == TG_CI_PP ? 0 : 5};
    assert_close(of_two(&cm, shells, lowest, 0), 1.5 * hw, 1e-12 * hw);
    assert_close(of_two(&kinetic, shells, lowest, 0), 0.75 * hw, 1e-12 * hw);
    tg_ci_couplings_free(&cm);
    tg_ci_couplings_free(&kinetic);
    tg_ci_couplings_free(&radius);
  }
  assert_true(checked > 1000);
  tg_ci_model_free(&model);
}

/* Z r_p^2 + N r_n^2 = A r^2, element by element; one species' radius alone is that of matter. */
static void radii_add_up(void** state) {
  (void)state;
  tg_ci_model model = make_model();
  const tg_ci_nucleus nucleus = {.protons = 3, .neutrons = 5, .hw = 14};
  tg_ci_hamiltonian *matter, *protons, *neutrons;
  assert_ok(tg_ci_model_quantity(&model, TG_CI_RADIUS_MATTER, &nucleus, &matter));
  assert_ok(tg_ci_model_quantity(&model, TG_CI_RADIUS_PROTON, &nucleus, &protons));
  assert_ok(tg_ci_model_quantity(&model, TG_CI_RADIUS_NEUTRON, &nucleus, &neutrons));
  tg_ci_hamiltonian* none;
  const tg_ci_couplings empty = {0};
  assert_ok(tg_ci_couplings_uncouple(&empty, &model, &none));
  assert_true(largest_difference(matter, none) > 0.1);
  assert_ok(tg_ci_hamiltonian_add(matter, -3.0 / 8, protons));
  assert_ok(tg_ci_hamiltonian_add(matter, -5.0 / 8, neutrons));
  assert_close(largest_difference(matter, none), 0, 1e-13);
  tg_ci_hamiltonian_free(matter);
  tg_ci_hamiltonian_free(protons);
  tg_ci_hamiltonian_free(neutrons);
  const tg_ci_nucleus without = {.protons = 2, .hw = 14};
  assert_int_equal(tg_ci_model_quantity(&model, TG_CI_RADIUS_NEUTRON, &without, &neutrons),
                   TG_ERR_INPUT);
  tg_ci_hamiltonian_free(none);
  tg_ci_model_free(&model);
}

static void numbers_count(void** state) {
  (void)state;
  tg_ci_model model = make_model();
  tg_ci_hamiltonian* h = NULL;
  assert_ok(tg_ci_model_number(&model, 7, &h)); /* n0p3/2 */
  double sum = 0;
  for (int i = 0; i < 16; i++) sum += tg_ci_hamiltonian_one(h, 1, i, i);
  assert_true(sum == 4);
  assert_true(tg_ci_hamiltonian_one(h, 1, 4, 4) == 1 && tg_ci_hamiltonian_one(h, 1, 3, 3) == 0);
  tg_ci_hamiltonian_free(h);
  assert_int_equal(tg_ci_model_number(&model, 10, &h), TG_ERR_INPUT);
  tg_ci_model_free(&model);
}

static void orbitals_are_in_the_order_promised(void** state) {
  (void)state;
  tg_ci_model model = make_model();
  tg_ci_orbital orbitals[16];
  assert_int_equal(tg_ci_model_orbital_count(&model, TG_CI_NEUTRON), 16);
  tg_ci_model_orbitals(&model, TG_CI_NEUTRON, orbitals);
  const int expected_m[] = {-1, 1, -1, 1, -3, -1, 1, 3, -1, 1, -5, -3, -1, 1, 3, 5};
  for (int i = 0; i < 16; i++) assert_int_equal(orbitals[i].two_m, expected_m[i]);
  assert_int_equal(orbitals[4].shell, 2);
  assert_int_equal(orbitals[4].symmetry, 1);
  assert_int_equal(orbitals[4].weight, 1);
  assert_int_equal(orbitals[9].weight, 2);
  assert_int_equal(orbitals[15].symmetry, 0);
  assert_string_equal(model.shells.shell[9].name, "n0d5/2");
  tg_ci_model_free(&model);
}

static void contradictions_are_refused(void** state) {
  (void)state;
  tg_ci_model model = make_model();
  const tg_ci_shells* s = &model.shells;
  tg_ci_couplings c = {0};
  tg_ci_two_element e = {.a = 0, .b = 2, .c = 1, .d = 3, .j = 1, .value = {.fixed = 0.5}};
  assert_ok(tg_ci_couplings_put_two(&c, s, e, here));
  /* exchanged on both sides, and the hermitian partner: -(-1)^(2-1) (-(-1)^(1-1)) = -1 */
  e = (tg_ci_two_element){.a = 3, .b = 1, .c = 2, .d = 0, .j = 1, .value = {.fixed = -0.5}};
  assert_ok(tg_ci_couplings_put_two(&c, s, e, here));
  assert_int_equal((int)c.duplicates, 1);
  e.value.fixed = 0.5;
  assert_int_equal(tg_ci_couplings_put_two(&c, s, e, here), TG_ERR_INPUT);
  e.value.fixed = -0.5004; /* a coarser number that says the same is a duplicate */
  e.resolution = 0.0005;
  assert_ok(tg_ci_couplings_put_two(&c, s, e, here));
  const tg_ci_two_element wrong[] = {
      {.a = 0, .b = 0, .c = 0, .d = 0, .j = 1, .value = {.fixed = 1}}, /* Pauli */
      {.a = 0, .b = 1, .c = 0, .d = 0, .j = 0, .value = {.fixed = 1}}, /* parity */
      {.a = 0, .b = 5, .c = 0, .d = 3, .j = 0, .value = {.fixed = 1}}, /* charge */
      {.a = 0, .b = 3, .c = 0, .d = 3, .j = 2, .value = {.fixed = 1}}, /* triangle */
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    tg_ci_two_element zero = wrong[i];
    zero.value.fixed = 0;
    assert_int_equal(tg_ci_couplings_put_two(&c, s, wrong[i], here), TG_ERR_INPUT);
    assert_ok(tg_ci_couplings_put_two(&c, s, zero, here));
  }
  assert_int_equal((int)c.zeros, 4);
  tg_ci_couplings_free(&c);
  tg_ci_model_free(&model);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(elements_uncouple_by_their_definition),
      cmocka_unit_test(spins_follow_from_ladders),
      cmocka_unit_test(centre_of_mass_and_relative_motion_add_up),
      cmocka_unit_test(radii_add_up),
      cmocka_unit_test(numbers_count),
      cmocka_unit_test(orbitals_are_in_the_order_promised),
      cmocka_unit_test(contradictions_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
