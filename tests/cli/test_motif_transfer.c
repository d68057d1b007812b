/* SPDX-License-Identifier: Apache-2.0 */
/* The model that says where to scan (bench/motif_transfer.h). */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <math.h>
#include <stdbool.h>

#include "bench/motif_transfer.h"

static bool near(double a, double b) { return fabs(a - b) <= 1e-12 * fabs(b); }

/* Exact times of a line give the line back, in any order of the lengths. */
static void a_line_is_found(void** state) {
  (void)state;
  const double n[] = {4096, 1024, 65536},
               t[] = {5 + 4096 * 0.25, 5 + 1024 * 0.25, 5 + 65536 * 0.25};
  const tg_scan_cost cost = tg_scan_cost_fit(3, n, t);
  assert_true(near(cost.fixed_s, 5) && near(cost.element_s, 0.25));
  assert_true(near(tg_scan_cost_of(cost, 100), 30));
  const tg_scan_cost one = tg_scan_cost_fit(1, n, t);
  assert_true(one.fixed_s == 0 && near(tg_scan_cost_of(one, 4096), t[0]));
  /* times that fall with the length are noise: nothing for an element then */
  const double falling[] = {2, 3, 1};
  const tg_scan_cost noise = tg_scan_cost_fit(3, n, falling);
  assert_true(noise.element_s == 0 && near(noise.fixed_s, 3));
}

/* At the crossing both ways cost the same, and beyond it the other wins. */
static void ways_cross(void** state) {
  (void)state;
  const tg_scan_cost serial = {1e-6, 53e-9}, link = {20e-6, 1e-9}, scan = {0, 0.5e-9};
  const tg_scan_cost host = tg_scan_cost_add(link, scan);
  assert_true(near(host.fixed_s, 20e-6) && near(host.element_s, 1.5e-9));
  const double n = tg_scan_cost_crossing(serial, host);
  assert_true(n > 300 && n < 400);
  assert_true(near(tg_scan_cost_of(serial, n), tg_scan_cost_of(host, n)));
  assert_true(tg_scan_cost_of(serial, 2 * n) > tg_scan_cost_of(host, 2 * n));
  assert_true(isinf(tg_scan_cost_crossing(host, serial)));
  const tg_scan_cost best = {0, 1e-10};
  assert_true(tg_scan_cost_crossing(host, best) == 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_line_is_found),
      cmocka_unit_test(ways_cross),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
