/* SPDX-License-Identifier: Apache-2.0 */
/* Which GPUs and domains the lists of `throng bench md` ask for. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <stdio.h>
#include <string.h>

#include "cli/bench_md.h"

static tg_bench_md_gpu_way ways[TG_CLI_BENCH_MD_WAYS];

/* "gpus:pe_count or grid:halo" of each, parted by spaces. */
static void expect_ways(const char* gpus, const char* pe, const char* halo, const char* expected) {
  char found[1024] = "";
  int count = 0;
  assert_int_equal(tg_cli_bench_md_ways(gpus, pe, halo, ways, &count), TG_OK);
  for (int i = 0; i < count; i++) {
    const tg_bench_md_gpu_way* w = &ways[i];
    char domains[64];
    if (w->grid[0] > 0)
      snprintf(domains, sizeof domains, "%dx%dx%d", w->grid[0], w->grid[1], w->grid[2]);
    else
      snprintf(domains, sizeof domains, "%d", w->pe_count);
    const size_t used = strlen(found);
    snprintf(found + used, sizeof found - used, "%s%d:%s:%s", used ? " " : "", w->gpus, domains,
             w->halo ? w->halo : "-");
  }
  assert_string_equal(found, expected);
}

static void expect_refusal(const char* gpus, const char* pe, const char* words) {
  int count = 0;
  assert_int_equal(tg_cli_bench_md_ways(gpus, pe, NULL, ways, &count), TG_ERR_INPUT);
  if (!strstr(tg_last_error(), words))
    fail_msg("'%s' was expected in '%s'", words, tg_last_error());
}

static void lists_are_combined(void** state) {
  (void)state;
  expect_ways(NULL, NULL, NULL, "1:0:-");
  expect_ways("1,2,4", NULL, NULL, "1:0:- 2:0:- 4:0:-");
  expect_ways("1,2", "1,2,2x2x1", NULL, "1:1:- 1:2:- 1:2x2x1:- 2:2:- 2:2x2x1:-");
  expect_ways("2", "3,4", NULL, "2:4:-");
}

/* The exchange is named where there are several domains. */
static void schedules_are_of_several_domains(void** state) {
  (void)state;
  expect_ways("1,2", NULL, "direct", "1:0:- 2:0:direct");
  expect_ways("1", "2,1", "direct", "1:2:direct 1:1:-");
  expect_ways("1,2", NULL, "all", "1:0:- 2:0:host 2:0:stream 2:0:pulse 2:0:fused 2:0:direct");
}

static void what_cannot_be_is_refused(void** state) {
  (void)state;
  expect_refusal("0", NULL, "from 1 to 8");
  expect_refusal("2,", "3", "multiple of the GPUs");
  expect_refusal("1;2", NULL, "--gpus 1;2");
  expect_refusal("9", NULL, "from 1 to 8");
  expect_refusal("1", "2x2", "three numbers");
  expect_refusal("1", "32", "at most 16");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lists_are_combined),
      cmocka_unit_test(schedules_are_of_several_domains),
      cmocka_unit_test(what_cannot_be_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
