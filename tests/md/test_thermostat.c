/* SPDX-License-Identifier: Apache-2.0 */
/* Thermostats: the canonical distribution of the kinetic energy, relaxation, and the books of heat.
 */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <math.h>
#include <string.h>

#include "base/units.h"
#include "md/support.h"
#include "md/thermostat.h"

static tg_thermostat_state start(tg_thermostat kind, double tau) {
  static tg_parameters parameters; /* large */
  const double degrees[3] = {12, 301.5, 0};
  memset(&parameters, 0, sizeof parameters);
  parameters.thermostat = kind;
  parameters.temperature_group_count = 3;
  parameters.dt = 0.002;
  parameters.nsttcouple = 10;
  parameters.ld_seed = 2026;
  for (int g = 0; g < 3; g++) {
    parameters.tau_t[g] = tau;
    parameters.ref_t[g] = 300;
  }
  tg_thermostat_state state;
  tg_thermostat_start(&parameters, degrees, &state);
  return state;
}

/* The kinetic energy of n degrees of freedom is gamma distributed: mean n kT/2, variance n
 * (kT)^2/2. Steps are correlated over tau/period = 5 of them: about `steps` (1 - c)/(1 + c)
 * independent values with c = exp(-1/5) for the mean. Five standard errors; the variance's relative
 * error is sqrt((2 + 12/n)/independent). */
static void v_rescale_is_canonical(void** unused) {
  (void)unused;
  enum { STEPS = 200000 };
  tg_thermostat_state state = start(TG_THERMOSTAT_V_RESCALE, 0.1);
  double kt = TG_BOLTZMANN * 300, kinetic[3] = {6 * kt, 150.75 * kt, 0}, lambda[3];
  double first = kinetic[0] + kinetic[1], sum[2] = {0}, square[2] = {0};
  for (long long s = 0; s < STEPS; s++) {
    tg_thermostat_scale(&state, 10 * s, kinetic, lambda);
    assert_true(lambda[2] == 1);
    for (int g = 0; g < 2; g++) {
      kinetic[g] *= lambda[g] * lambda[g];
      double off = kinetic[g] - 0.5 * state.degrees_of_freedom[g] * kt;
      sum[g] += off;
      square[g] += off * off;
    }
    /* Nothing but the thermostat moves energy: the conserved energy is constant. */
    if (s % 1000 == 0)
      assert_near(kinetic[0] + kinetic[1] + tg_thermostat_conserved(&state), first,
                  2.2e-16 * 1e3 * (double)(s + 1));
  }
  double keep = exp(-0.2), independent = STEPS * (1 - keep) / (1 + keep);
  for (int g = 0; g < 2; g++) {
    double n = state.degrees_of_freedom[g], variance = 0.5 * n * kt * kt;
    assert_near(sum[g] / STEPS, 0, 5 * sqrt(variance / independent));
    assert_near(square[g] / STEPS / variance, 1, 5 * sqrt((2 + 12 / n) / independent));
  }
}

/* tau 0 draws afresh: the new energy does not depend on the old one; the mean is right for one
 * degree too. */
static void v_rescale_without_memory(void** unused) {
  (void)unused;
  double sum = 0;
  for (uint64_t s = 0; s < 20000; s++) {
    double one = tg_v_rescale_energy(1, 7, 1, HUGE_VAL, 1, s);
    assert_true(one == tg_v_rescale_energy(1000, 7, 1, HUGE_VAL, 1, s));
    sum += one;
  }
  assert_near(sum / 20000, 7, 5 * 7 * sqrt(2.0 / 20000)); /* variance 2 (mean)^2 */
  /* And an infinitely slow one changes nothing. */
  assert_near(tg_v_rescale_energy(5, 7, 30, 0, 1, 1), 5, 1e-14);
}

/* The same step gives the same factors whatever came before: restarts and PEs agree. */
static void factors_depend_on_the_step_alone(void** unused) {
  (void)unused;
  tg_thermostat_state a = start(TG_THERMOSTAT_V_RESCALE, 0.1), b = a;
  const double kinetic[3] = {10, 400, 0};
  double from_a[3], from_b[3];
  for (int s = 0; s < 50; s += 10) tg_thermostat_scale(&a, s, kinetic, from_a);
  tg_thermostat_scale(&b, 40, kinetic, from_b);
  assert_memory_equal(from_a, from_b, sizeof from_a);
  tg_thermostat_scale(&b, 50, kinetic, from_b);
  assert_true(from_a[0] != from_b[0] && from_b[0] != from_b[1]);
}

static void berendsen_relaxes(void** unused) {
  (void)unused;
  tg_thermostat_state state = start(TG_THERMOSTAT_BERENDSEN, 0.1);
  double reference = 6 * TG_BOLTZMANN * 300, kinetic[3] = {1.5 * reference, 400, 0}, lambda[3];
  for (int s = 0; s < 10; s++) {
    tg_thermostat_scale(&state, s, kinetic, lambda);
    for (int g = 0; g < 3; g++) kinetic[g] *= lambda[g] * lambda[g];
  }
  /* Each step takes a fraction period/tau = 0.2 of the excess. */
  assert_near(kinetic[0], reference * (1 + 0.5 * pow(0.8, 10)), 1e-12 * reference);
  assert_near(state.given[0], kinetic[0] - 1.5 * reference, 1e-12 * reference);
  assert_true(tg_berendsen_factor(1e-9, 1, 0.2) == 1.25);
  assert_true(tg_berendsen_factor(1e9, 1, 0.9) == 0.8);
}

static void none_and_negative_tau_leave_velocities(void** unused) {
  (void)unused;
  const double kinetic[3] = {10, 400, 0};
  tg_thermostat_state off[2] = {start(TG_THERMOSTAT_NONE, 0.1), start(TG_THERMOSTAT_V_RESCALE, -1)};
  for (int k = 0; k < 2; k++) {
    double lambda[3] = {0};
    tg_thermostat_scale(&off[k], 1, kinetic, lambda);
    for (int g = 0; g < 3; g++) assert_true(lambda[g] == 1);
    assert_true(tg_thermostat_conserved(&off[k]) == 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(v_rescale_is_canonical),
      cmocka_unit_test(v_rescale_without_memory),
      cmocka_unit_test(factors_depend_on_the_step_alone),
      cmocka_unit_test(berendsen_relaxes),
      cmocka_unit_test(none_and_negative_tau_leave_velocities),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
