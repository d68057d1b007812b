/* SPDX-License-Identifier: Apache-2.0 */
/* The Verlet buffer: its closed formula against the integral it stands for. */
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
#include "md/verlet_buffer.h"

/* A pair starts at distance r_l + u, u > 0, uniformly, and moves by a normal step; at t = b + u +
 * (depth) inward it is depth = step - b - u inside the cut-off, where its energy is the Taylor
 * series in -depth, of which the first-order term counts from the cut-off (V(r_c) is shifted away).
 * Simpson's rule in both variables. */
static double shell_integral(const double d[3], double b, double s) {
  enum { STEPS = 20000 };
  const double top = b + 12 * s;
  double outer = 0;
  for (int i = 0; i <= STEPS; i++) {
    const double step = b + (top - b) * i / STEPS; /* inward */
    const double reach = step - b;                 /* depth of the pair that started at r_l */
    double inner = 0;
    enum { INNER = 8 }; /* a cubic: Simpson is exact */
    for (int j = 0; j <= INNER; j++) {
      const double depth = reach * j / INNER;
      const double value =
          -d[0] * depth + d[1] * depth * depth / 2 - d[2] * depth * depth * depth / 6;
      inner += value * (j == 0 || j == INNER ? 1 : j % 2 ? 4 : 2);
    }
    inner *= reach / INNER / 3;
    const double weight = exp(-step * step / (2 * s * s)) / (s * sqrt(2 * TG_PI));
    outer += inner * weight * (i == 0 || i == STEPS ? 1 : i % 2 ? 4 : 2);
  }
  return outer * (top - b) / STEPS / 3;
}

static void formula_is_the_integral(void** state) {
  (void)state;
  const double derivatives[][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {0.3, -2, 31}};
  const double buffers[] = {0, 0.01, 0.07, 0.2};
  for (size_t k = 0; k < 4; k++) {
    for (size_t n = 0; n < 4; n++) {
      const double s = 0.05, b = buffers[n];
      const double formula = tg_verlet_buffer_shell(derivatives[k], b, s);
      const double integral = shell_integral(derivatives[k], b, s);
      /* the closed form cancels: its terms are (b/s)^4 = 256 times the result at worst, and more in
       * the tail */
      const double terms =
          exp(-b * b / (2 * s * s)) * (b + s) * (b + s) *
          (fabs(derivatives[k][0]) + fabs(derivatives[k][1]) + fabs(derivatives[k][2]));
      assert_true(fabs(formula - integral) <= 1e-9 * fabs(integral) + 1e-14 * terms);
    }
  }
}

static tg_verlet_buffer_params water(tg_verlet_buffer_type types[2], const double c6[4],
                                     const double c12[4]) {
  types[0] = (tg_verlet_buffer_type){.count = 1000, .mass = 15.9994, .charge = -0.82, .lj_type = 0};
  types[1] = (tg_verlet_buffer_type){.count = 2000,
                                     .mass = 1.008,
                                     .charge = 0.41,
                                     .lj_type = 1,
                                     .constraint_mass = 15.9994,
                                     .constraint_length = 0.1};
  return (tg_verlet_buffer_params){.types = types,
                                   .count = 2,
                                   .c6 = c6,
                                   .c12 = c12,
                                   .lj_type_count = 2,
                                   .cutoff = 0.9,
                                   .rf_k = 1 / (2 * 0.729),
                                   .coulomb_scale = TG_COULOMB,
                                   .temperature = 300,
                                   .volume = 30,
                                   .list_time = 0.018,
                                   .drift_time = 0.02,
                                   .tolerance = 0.005};
}

static void radius_meets_the_tolerance(void** state) {
  (void)state;
  const double c6[4] = {0.0026173456, 0, 0, 0}, c12[4] = {2.634129e-6, 0, 0, 0};
  tg_verlet_buffer_type types[2];
  tg_verlet_buffer_params p = water(types, c6, c12);
  double radius = 0, longer = 0;
  assert_int_equal(tg_verlet_buffer_radius(&p, &radius), TG_OK);
  assert_true(radius > 0.9);
  assert_true(tg_verlet_buffer_drift(&p, radius) <= p.tolerance);
  assert_true(tg_verlet_buffer_drift(&p, radius - 2e-4) > p.tolerance);
  p.list_time = 0.038;
  p.drift_time = 0.04;
  assert_int_equal(tg_verlet_buffer_radius(&p, &longer), TG_OK);
  assert_true(longer > radius);
  types[1].constraint_mass = 0; /* free hydrogens go farther */
  assert_int_equal(tg_verlet_buffer_radius(&p, &radius), TG_OK);
  assert_true(radius > longer);
  p.temperature = 0; /* nothing moves */
  assert_int_equal(tg_verlet_buffer_radius(&p, &radius), TG_OK);
  assert_true(radius == 0.9);
}

static void wrong_input_is_named(void** state) {
  (void)state;
  const double c6[4] = {0}, c12[4] = {0};
  tg_verlet_buffer_type types[2];
  tg_verlet_buffer_params p = water(types, c6, c12);
  double radius = -1;
  p.tolerance = -1;
  assert_int_equal(tg_verlet_buffer_radius(&p, &radius), TG_ERR_INPUT);
  assert_non_null(strstr(tg_last_error(), "tolerance -1"));
  p.tolerance = 1e-300;
  p.list_time = 50;
  types[1].constraint_mass = 0;
  assert_int_equal(tg_verlet_buffer_radius(&p, &radius), TG_ERR_INPUT);
  assert_true(radius == -1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(formula_is_the_integral),
      cmocka_unit_test(radius_meets_the_tolerance),
      cmocka_unit_test(wrong_input_is_named),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
