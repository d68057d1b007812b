/* SPDX-License-Identifier: Apache-2.0 */
/* Which schedule `throng info` names for machines with these links between GPUs, and why. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <string.h>

#include "cli/info_halo.h"

enum { GPUS = 3 };

static void link_all(tg_device_link* links, bool access, bool atomics) {
  for (int i = 0; i < GPUS * GPUS; i++)
    links[i] = (tg_device_link){.peer_access = access && i % (GPUS + 1) != 0,
                                .native_atomics = atomics && i % (GPUS + 1) != 0};
}

static void expect(const tg_device_link* links, int count, const char* name, const char* words) {
  tg_cli_halo_default row;
  tg_cli_halo_of_gpus(count, links, &row);
  if (name)
    assert_string_equal(row.name, name);
  else
    assert_null(row.name);
  if (!strstr(row.reason, words)) fail_msg("no \"%s\" in: %s", words, row.reason);
}

static void links_decide(void** state) {
  (void)state;
  tg_device_link links[GPUS * GPUS];
  expect(NULL, 0, NULL, "there are none");
  link_all(links, false, false);
  expect(links, 1, "direct", "one GPU");
  expect(links, 1, "direct", "one H200: direct 43, pulse 47");
  expect(links, GPUS, NULL, "GPU 0 cannot reach the memory of GPU 1");
  link_all(links, true, true);
  expect(links, GPUS, "direct", "all 3 reach each other's memory by stores and atomics");
  expect(links, GPUS, "direct", "two H200: direct 32, pulse 34, fused 34, stream 56, host 75");
  links[2 * GPUS + 1].native_atomics = false;
  expect(links, GPUS, "direct", "not by atomics (GPU 2 to 1");
  links[2 * GPUS + 0].peer_access = false;
  expect(links, GPUS, NULL, "GPU 2 cannot reach the memory of GPU 0");
}

static void cpus_have_one_too(void** state) {
  (void)state;
  tg_cli_halo_default row;
  tg_cli_halo_of_cpus(&row);
  assert_string_equal(row.name, "pulse");
  assert_non_null(strstr(row.reason, "throng bench halo"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(links_decide),
      cmocka_unit_test(cpus_have_one_too),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
