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

/* The lines of a machine give the machine back. */
static void a_machine_is_found(void** state) {
  (void)state;
  const tg_scan_machine m = {4e12, 50e9, 50e9, 6e-6, 2e-6, 0, 0.5e-9};
  const double few = 1024;
  const tg_scan_cost copy = {m.call_s + m.kernel_s, 8 / m.memory};
  const tg_scan_cost link = {2 * m.call_s, 4 / m.to_host + 4 / m.to_device}, host = {0, m.host_s};
  const double sweep = m.call_s + m.kernel_s * tg_scan_kernels(TG_SCAN_SWEEP, (size_t)few);
  const tg_scan_machine found = tg_scan_machine_of(copy, link, host, (size_t)few, sweep);
  assert_true(near(found.memory, m.memory) && near(found.to_host, m.to_host));
  assert_true(near(found.to_device, m.to_device) && near(found.host_s, m.host_s));
  assert_true(fabs(found.call_s - m.call_s) < 1e-15 && fabs(found.kernel_s - m.kernel_s) < 1e-15);
  const double n = 1 << 24;
  assert_true(fabs(tg_scan_time(&found, TG_SCAN_HOST, 1 << 24, 4, 4) -
                   (tg_scan_cost_of(link, n) + tg_scan_cost_of(host, n))) < 1e-9);
  /* a sweep faster than the copy: noise, and no kernel costs less than nothing */
  assert_true(tg_scan_machine_of(copy, link, host, (size_t)few, 0).kernel_s == 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_line_is_found),
      cmocka_unit_test(ways_cross),
      cmocka_unit_test(a_machine_is_found),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
