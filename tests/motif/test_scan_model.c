/* SPDX-License-Identifier: Apache-2.0 */
/* The scan's model against sums that are written out here. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <math.h>

#include "motif/scan.h"

/* A device of 4e12 bytes a second behind a link of 25e9 and 50e9, whose thread takes 40 ns for an
 * element; a host of 1 ns. */
static const tg_scan_machine machine = {.memory = 4e12,
                                        .to_host = 25e9,
                                        .to_device = 50e9,
                                        .call_s = 10e-6,
                                        .kernel_s = 2e-6,
                                        .serial_s = 40e-9,
                                        .host_s = 1e-9};

static void near(double a, double b) { assert_true(fabs(a - b) <= 1e-12 * fabs(b)); }

static void bytes_are_those_of_the_levels(void** state) {
  (void)state;
  /* 8 numbers: levels of 8, 4, 2; up reads 14 and writes 7, down reads 14 + 7 and writes 14 */
  near(tg_scan_bytes(TG_SCAN_SWEEP, 8, 4, 4), 4 * (14 + 7 + 14 + 7 + 14));
  /* of 32 bits to 64: the 8 are read twice with 4 bytes */
  near(tg_scan_bytes(TG_SCAN_SWEEP, 8, 4, 8), 8 * (14 + 7 + 14 + 7 + 14) - 2 * 8 * 4);
  /* 5 numbers: levels of 5, 3, 2 */
  near(tg_scan_bytes(TG_SCAN_SWEEP, 5, 8, 8), 8 * (10 + 6 + 10 + 6 + 10));
  near(tg_scan_bytes(TG_SCAN_SWEEP, 1, 4, 4), 0);
  /* in place, 16 numbers of 4 bytes: strides 1, 2, 4 touch all 64 bytes, twice; stride 8 one pair
   * of 3 sectors; two ways, and the copy */
  near(tg_scan_bytes(TG_SCAN_SWEEP_IN_PLACE, 16, 4, 4), 2 * (3 * 2 * 64 + 96) + 128);
  near(tg_scan_bytes(TG_SCAN_SINGLE_PASS, 1000, 4, 8), 12000);
  /* one chunk; three chunks, whose sums are written and read, and scanned as one chunk; and chunks
   * of chunks */
  near(tg_scan_bytes(TG_SCAN_TWO_PASS, 256, 4, 8), 256 * 12);
  near(tg_scan_bytes(TG_SCAN_TWO_PASS, 600, 4, 8), 600 * 16 + 2 * 3 * 8 + 3 * 16);
  near(tg_scan_bytes(TG_SCAN_TWO_PASS, 256 * 512, 4, 4),
       256 * 512 * 12 + 2 * 512 * 4 + 512 * 12 + 2 * 2 * 4 + 2 * 8);
  /* the limits that the header names */
  const size_t n = (size_t)1 << 26;
  const double packed = tg_scan_bytes(TG_SCAN_SWEEP, n, 4, 4) / (double)n;
  const double place = tg_scan_bytes(TG_SCAN_SWEEP_IN_PLACE, n, 4, 4) / (double)n;
  assert_true(fabs(packed - 32) < 1e-4);
  assert_true(fabs(place - 80) < 1e-4);
  const double two_pass = tg_scan_bytes(TG_SCAN_TWO_PASS, n, 4, 4) / (double)n;
  assert_true(fabs(two_pass - 12) < 0.1);
}

static void kernels_are_counted(void** state) {
  (void)state;
  assert_int_equal(tg_scan_kernels(TG_SCAN_SWEEP, (size_t)1 << 20), 41);
  assert_int_equal(tg_scan_kernels(TG_SCAN_SWEEP, ((size_t)1 << 20) + 1), 43);
  assert_int_equal(tg_scan_kernels(TG_SCAN_SINGLE_PASS, 1000), 1);
  assert_int_equal(tg_scan_kernels(TG_SCAN_HOST, 1000), 0);
  const size_t lengths[] = {0, 256, 257, 65536, 65537, (size_t)1 << 24, (size_t)1 << 30};
  const int kernels[] = {1, 1, 3, 3, 5, 5, 5};
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
    assert_int_equal(tg_scan_kernels(TG_SCAN_TWO_PASS, lengths[i]), kernels[i]);
}

static void times_add_up(void** state) {
  (void)state;
  near(tg_scan_time(&machine, TG_SCAN_SERIAL, 1000, 4, 4), 10e-6 + 2e-6 + 40e-6);
  near(tg_scan_time(&machine, TG_SCAN_HOST, 1000, 4, 4), 20e-6 + 160e-9 + 1e-6 + 80e-9);
  near(tg_scan_time(&machine, TG_SCAN_SINGLE_PASS, 1000000, 4, 8), 12e-6 + 3e-6);
}

/* The fastest is none that another undercuts, and a crossing is where two change places. */
static void the_fastest_is(void** state) {
  (void)state;
  for (size_t n = 1; n <= (size_t)1 << 30; n *= 8) {
    const tg_scan_way best = tg_scan_fastest(&machine, n, 4, 4);
    for (tg_scan_way way = 0; way < TG_SCAN_WAYS; way++)
      assert_true(tg_scan_time(&machine, best, n, 4, 4) <= tg_scan_time(&machine, way, n, 4, 4));
  }
  assert_int_equal(tg_scan_fastest(&machine, (size_t)1 << 26, 4, 4), TG_SCAN_SINGLE_PASS);
  tg_scan_machine slow = machine; /* to start kernels */
  slow.kernel_s = 1e-3;
  assert_int_equal(tg_scan_fastest(&slow, 4096, 4, 4), TG_SCAN_HOST);
  const size_t from = tg_scan_crossing(&machine, TG_SCAN_SWEEP, TG_SCAN_HOST, 4, 4);
  assert_true(from > 1);
  assert_true(tg_scan_time(&machine, TG_SCAN_SWEEP, from, 4, 4) <
              tg_scan_time(&machine, TG_SCAN_HOST, from, 4, 4));
  assert_true(tg_scan_time(&machine, TG_SCAN_SWEEP, from / 2, 4, 4) >=
              tg_scan_time(&machine, TG_SCAN_HOST, from / 2, 4, 4));
  assert_int_equal(tg_scan_crossing(&machine, TG_SCAN_SERIAL, TG_SCAN_SINGLE_PASS, 4, 4), 0);
  for (tg_scan_way way = 0; way < TG_SCAN_WAYS; way++) assert_true(tg_scan_way_name(way)[0] != 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bytes_are_those_of_the_levels),
      cmocka_unit_test(kernels_are_counted),
      cmocka_unit_test(times_add_up),
      cmocka_unit_test(the_fastest_is),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
