/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <string.h>

#include "device/device.h"
#include "device/nvshmem.h"

static void absence_has_a_reason(void** state) {
  (void)state;
  int count = tg_device_count();
  assert_true(count >= 0);
  assert_int_equal(count == 0, strlen(tg_device_reason()) > 0);
  if (!tg_device_built()) assert_int_equal(count, 0);
  assert_int_equal(tg_device_built(), tg_device_runtime_version() > 0);
}

static void numbers_that_do_not_exist_are_refused(void** state) {
  (void)state;
  tg_device_info info;
  tg_device_link link;
  int count = tg_device_count();
  const int wrong[] = {-1, count};
  for (int i = 0; i < 2; i++) {
    assert_int_equal(tg_device_query(wrong[i], &info), TG_ERR_MACHINE);
    assert_int_equal(tg_device_query_link(wrong[i], 0, &link), TG_ERR_MACHINE);
    assert_int_equal(tg_device_self_test(wrong[i]), TG_ERR_MACHINE);
    assert_non_null(strstr(tg_last_error(), "GPU"));
  }
}

static void every_device_runs_the_self_test(void** state) {
  (void)state;
  int count = tg_device_count();
  if (count == 0) skip();
  for (int device = 0; device < count; device++) {
    tg_device_info info;
    assert_int_equal(tg_device_query(device, &info), TG_OK);
    assert_true(info.multiprocessor_count > 0 && info.compute_major > 0);
    assert_true(info.memory_free_bytes > 0 && info.memory_free_bytes <= info.memory_bytes);
    assert_int_equal(tg_device_self_test(device), TG_OK);
    for (int to = 0; to < count; to++) {
      tg_device_link link;
      if (to != device) assert_int_equal(tg_device_query_link(device, to, &link), TG_OK);
    }
  }
}

static void nvshmem_names_what_is_missing(void** state) {
  (void)state;
  assert_int_equal(tg_nvshmem_built(), strlen(tg_nvshmem_version()) > 0);
  tg_status status = tg_nvshmem_check();
  if (!tg_nvshmem_built() || tg_device_count() == 0) {
    assert_int_equal(status, TG_ERR_MACHINE);
    assert_true(strlen(tg_last_error()) > 20);
  } else {
    assert_int_equal(status, TG_OK);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(absence_has_a_reason),
      cmocka_unit_test(numbers_that_do_not_exist_are_refused),
      cmocka_unit_test(every_device_runs_the_self_test),
      cmocka_unit_test(nvshmem_names_what_is_missing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
