/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <stdlib.h>

#include "base/units.h"
#include "ci/angular.h"
#include "ci/oscillator.h"
#include "ci/transitions.h"
#include "support.h"

static tg_ci_transition make(const tg_ci_shells* shells, tg_ci_transition_parameters p) {
  tg_ci_transition t;
  assert_ok(tg_ci_transition_create(shells, &p, &t));
  return t;
}

static double at(const tg_ci_transition* t, int a, int b) {
  return t->element[(size_t)a * t->shells + (size_t)b];
}

/* Single-particle moments: Schmidt's values and the quadrupole moment of a particle in j = l + 1/2,
 *   mu = j [g_l +- (g_s - g_l)/(2l+1)],  Q = -(2j-1)/(2j+2) <r^2>. */
static void single_particle_moments(void** state) {
  (void)state;
  tg_ci_input usdb = read_file("builtin:usdb");
  const tg_ci_shells* s = &usdb.model.shells;
  const double hw = 13, b2 = tg_ci_oscillator_length2(hw);
  tg_ci_transition_parameters p = tg_ci_transition_defaults(TG_CI_MAGNETIC, 1, hw);
  tg_ci_transition m1 = make(s, p);
  for (int i = 0; i < 6; i++) {
    const tg_ci_shell* o = &s->shell[i];
    const double j = 0.5 * o->two_j, gl = p.g_orbital[o->species], gs = p.g_spin[o->species];
    const double schmidt = j * (gl + (o->two_j > 2 * o->l ? 1 : -1) * (gs - gl) / (2 * o->l + 1));
    const double mu = sqrt(4 * TG_PI / 3) * sqrt(j / ((j + 1) * (2 * j + 1))) * at(&m1, i, i);
    assert_close(mu, schmidt, 1e-13);
  }
  assert_true(at(&m1, 0, 3) == 0); /* keeps the charge */
  tg_ci_transition e2 = make(s, tg_ci_transition_defaults(TG_CI_ELECTRIC, 2, hw));
  const double charges[2] = {1.5, 0.5};
  for (int i = 0; i < 6; i++) {
    const tg_ci_shell* o = &s->shell[i];
    const double j = 0.5 * o->two_j, r2 = (2 * o->n + o->l + 1.5) * b2;
    const double stretched = tg_ci_clebsch(o->two_j, o->two_j, 4, 0, o->two_j, o->two_j);
    const double q = sqrt(16 * TG_PI / 5) * stretched / sqrt(2 * j + 1) * at(&e2, i, i);
    assert_close(q, -charges[o->species] * (2 * j - 1) / (2 * j + 2) * r2, 1e-12);
  }
  assert_string_equal(e2.name, "E2");
  tg_ci_transition r2 = make(s, tg_ci_transition_defaults(TG_CI_ELECTRIC, 0, hw));
  assert_close(at(&r2, 5, 5), 0.5 * sqrt(2) * 3.5 * b2, 1e-12);
  tg_ci_transition e1 = make(s, tg_ci_transition_defaults(TG_CI_ELECTRIC, 1, hw));
  assert_int_equal(e1.parity, -1);
  for (int i = 0; i < 36; i++) assert_true(e1.element[i] == 0);
  tg_ci_transition* const all[] = {&m1, &e2, &r2, &e1};
  for (int i = 0; i < 4; i++) tg_ci_transition_free(all[i]);
  tg_ci_input_free(&usdb);
}

/* Ikeda's sum rule for one nucleon: sum over final orbits of |<f||sigma||i>|^2 / (2j+1) = 3. */
static void gamow_teller_sum_rule(void** state) {
  (void)state;
  tg_ci_input usdb = read_file("builtin:usdb");
  tg_ci_transition_parameters p = tg_ci_transition_defaults(TG_CI_GAMOW_TELLER, 1, 0);
  for (int change = -1; change <= 1; change += 2) {
    p.charge_change = change;
    tg_ci_transition gt = make(&usdb.model.shells, p);
    for (int i = 0; i < 3; i++) {
      const int from = change > 0 ? i + 3 : i, to = change > 0 ? 0 : 3;
      double sum = 0;
      for (int f = 0; f < 3; f++) sum += pow(at(&gt, to + f, from), 2);
      assert_close(sum / (usdb.model.shells.shell[i].two_j + 1), 3, 1e-13);
      assert_true(at(&gt, from, from) == 0);
    }
    tg_ci_transition_free(&gt);
  }
  tg_ci_input_free(&usdb);
}

static void compare(const tg_ci_transition* a, const tg_ci_transition* b, double factor,
                    double tolerance) {
  double most = 0;
  for (size_t i = 0; i < a->shells * a->shells; i++) {
    assert_close(a->element[i], factor * b->element[i], tolerance);
    most = fmax(most, fabs(a->element[i]));
  }
  assert_true(most > 1);
}

/* sigma tau and sigma as written by others: up to the sign of a component of tau, the same. */
static void operators_from_files(void** state) {
  (void)state;
  const char* const files[][2] = {{SHIPPED("p_gt.opme"), SHIPPED("p.snt")},
                                  {SHARED("oxbash/sdgt.opme"), SHARED("snt/usdb.snt")}};
  const char* const spins[] = {SHIPPED("p_sigma.opme"), SHARED("oxbash/sdspin.opme")};
  for (int k = 0; k < 2; k++) {
    if (!is_there(files[k][0])) continue;
    tg_ci_input model = read_file(files[k][1]);
    const tg_ci_shells* s = &model.model.shells;
    tg_ci_transition t;
    /* five decimals, divided by sqrt(6) and more */
    for (int change = -1; change <= 1; change += 2) {
      tg_ci_transition_parameters p = tg_ci_transition_defaults(TG_CI_GAMOW_TELLER, 1, 0);
      p.charge_change = change;
      tg_ci_transition gt = make(s, p);
      assert_ok(tg_ci_transition_read(files[k][0], s, change, &t));
      assert_int_equal(t.rank, 1);
      compare(&t, &gt, -change, 5e-6);
      tg_ci_transition_free(&t);
      tg_ci_transition_free(&gt);
    }
    /* sigma = 2 s: M1 without orbital parts */
    tg_ci_transition_parameters p = tg_ci_transition_defaults(TG_CI_MAGNETIC, 1, 0);
    for (int i = 0; i < 2; i++) {
      p.g_orbital[i] = 0;
      p.g_spin[i] = 2 / sqrt(3 / (4 * TG_PI));
    }
    tg_ci_transition sigma = make(s, p);
    assert_ok(tg_ci_transition_read(spins[k], s, 0, &t));
    compare(&t, &sigma, 1, 5e-6);
    tg_ci_transition_free(&t);
    assert_int_equal(tg_ci_transition_read(spins[k], s, 1, &t), TG_ERR_INPUT);
    tg_ci_transition_free(&sigma);
    tg_ci_input_free(&model);
  }
}

static void impossible_operators_are_refused(void** state) {
  (void)state;
  tg_ci_input usdb = read_file("builtin:usdb");
  tg_ci_transition t;
  tg_ci_transition_parameters p = tg_ci_transition_defaults(TG_CI_ELECTRIC, 2, 0);
  assert_int_equal(tg_ci_transition_create(&usdb.model.shells, &p, &t), TG_ERR_INPUT);
  p = tg_ci_transition_defaults(TG_CI_ELECTRIC, 21, 10);
  assert_int_equal(tg_ci_transition_create(&usdb.model.shells, &p, &t), TG_ERR_INPUT);
  p = tg_ci_transition_defaults(TG_CI_MAGNETIC, 1, 10);
  p.rank = 2;
  assert_int_equal(tg_ci_transition_create(&usdb.model.shells, &p, &t), TG_ERR_INPUT);
  p = tg_ci_transition_defaults(TG_CI_GAMOW_TELLER, 1, 10);
  p.charge_change = 0;
  assert_int_equal(tg_ci_transition_create(&usdb.model.shells, &p, &t), TG_ERR_INPUT);
  tg_ci_input_free(&usdb);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(single_particle_moments),
      cmocka_unit_test(gamow_teller_sum_rule),
      cmocka_unit_test(operators_from_files),
      cmocka_unit_test(impossible_operators_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
