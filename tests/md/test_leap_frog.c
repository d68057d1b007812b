/* SPDX-License-Identifier: Apache-2.0 */
/* The leap-frog step: its order, its sums, its groups. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <math.h>
#include <string.h>

#include "md/leap_frog.h"
#include "md/support.h"

enum { ATOMS = 1001 };
static double mass[ATOMS], inverse_mass[ATOMS], x[ATOMS][3], x_new[ATOMS][3], v[ATOMS][3],
    f[ATOMS][3];
static unsigned char group[ATOMS];

#define CONST3(a) ((const double(*)[3])(a))

static tg_leap_frog_atoms setup(uint64_t seed) {
  for (int i = 0; i < ATOMS; i++) {
    mass[i] = random_between(&seed, 1, 16);
    inverse_mass[i] = 1 / mass[i];
    group[i] = (unsigned char)(i % 4); /* 3: in no group */
    for (int d = 0; d < 3; d++) {
      x[i][d] = random_between(&seed, 0, 5);
      v[i][d] = random_between(&seed, -1, 1);
      f[i][d] = random_between(&seed, -1000, 1000);
    }
  }
  return (tg_leap_frog_atoms){ATOMS, mass, inverse_mass, group, 3, 1};
}

/* An oscillator x'' = -x of period 2 pi: error of the position after time 10 for steps dt and dt/2.
 */
static double oscillator_error(int steps) {
  const double one = 1;
  tg_leap_frog_atoms atoms = {1, &one, &one, NULL, 1, 1};
  double dt = 10.0 / steps, at[1][3] = {{1, 0, 0}}, push[1][3] = {{0}};
  double speed[1][3] = {{sin(dt / 2), 0, 0}}; /* -sin(t) at -dt/2 */
  for (int s = 0; s < steps; s++) {
    push[0][0] = -at[0][0];
    tg_leap_frog_step(&atoms, dt, NULL, CONST3(at), CONST3(push), speed, at);
  }
  return fabs(at[0][0] - cos(10.0));
}

static void order_is_two(void** state) {
  (void)state;
  /* The next term of the error is (dt/2)^2 smaller: the ratio differs from 4 by less than 1 %. */
  assert_near(oscillator_error(1000) / oscillator_error(2000), 4, 0.04);
  assert_near(oscillator_error(2000) / oscillator_error(4000), 4, 0.04);
}

static void groups_are_scaled(void** state) {
  (void)state;
  tg_leap_frog_atoms atoms = setup(1);
  static double before[ATOMS][3], serial[ATOMS][3];
  const double lambda[3] = {0.5, 1, 1.5}, factor[4] = {0.5, 1, 1.5, 1}, dt = 0.002;
  for (int threads = 1; threads <= 3; threads++) {
    setup(1);
    memcpy(before, v, sizeof v);
    atoms.threads = threads;
    tg_leap_frog_step(&atoms, dt, lambda, CONST3(x), CONST3(f), v, x_new);
    for (int i = 0; i < ATOMS; i++)
      for (int d = 0; d < 3; d++) {
        double expected = factor[i % 4] * before[i][d] + dt * f[i][d] / mass[i];
        assert_near(v[i][d], expected, 1e-15 * 8);
        assert_near(x_new[i][d], x[i][d] + dt * expected, 1e-15 * 8);
      }
    if (threads == 1) memcpy(serial, x_new, sizeof serial);
    assert_memory_equal(serial, x_new, sizeof serial);
  }
}

static void sums_are_right(void** state) {
  (void)state;
  tg_leap_frog_atoms atoms = setup(2);
  for (int threads = 1; threads <= 3; threads++) {
    double kinetic[3][3][3], again[3][3][3], momentum[3][4], velocity[3][3];
    double expected[3][3][3] = {{{0}}}, total[3][4] = {{0}};
    atoms.threads = threads;
    for (int i = 0; i < ATOMS; i++) {
      if (group[i] == 3) continue;
      total[group[i]][3] += mass[i];
      for (int a = 0; a < 3; a++) {
        total[group[i]][a] += mass[i] * v[i][a];
        for (int b = 0; b < 3; b++) expected[group[i]][a][b] += 0.5 * mass[i] * v[i][a] * v[i][b];
      }
    }
    tg_leap_frog_kinetic(&atoms, CONST3(v), kinetic);
    tg_leap_frog_kinetic(&atoms, CONST3(v), again);
    assert_memory_equal(kinetic, again, sizeof kinetic);
    tg_leap_frog_momentum(&atoms, CONST3(v), momentum);
    double tolerance = 2.2e-16 * ATOMS * 16; /* terms up to 16, in whatever order */
    for (int g = 0; g < 3; g++) {
      for (int d = 0; d < 4; d++) assert_near(momentum[g][d], total[g][d], tolerance);
      for (int a = 0; a < 3; a++) {
        velocity[g][a] = momentum[g][a] / momentum[g][3];
        for (int b = 0; b < 3; b++) assert_near(kinetic[g][a][b], expected[g][a][b], tolerance);
      }
    }
    tg_leap_frog_remove_velocity(&atoms, CONST3(velocity), v);
    tg_leap_frog_momentum(&atoms, CONST3(v), momentum);
    for (int g = 0; g < 3; g++)
      for (int d = 0; d < 3; d++) assert_near(momentum[g][d], 0, tolerance);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(order_is_two),
      cmocka_unit_test(groups_are_scaled),
      cmocka_unit_test(sums_are_right),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
