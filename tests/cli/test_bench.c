/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a benchmark that is over in a second, and reads what it wrote. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/scratch.h"
#include "bench/md_cpu.h"
#include "bench/openmm.h"

static char output[1 << 16];

static int run(const char* words) {
  char line[2048];
  snprintf(line, sizeof line, "cd '%s' && '%s' bench md-cpu --threads 1 %s", TG_SOURCE_DIR,
           TG_PROGRAM, words);
  FILE* pipe = popen(line, "r");
  assert_non_null(pipe);
  output[fread(output, 1, sizeof output - 1, pipe)] = '\0';
  int ended = pclose(pipe);
  assert_true(WIFEXITED(ended));
  return WEXITSTATUS(ended);
}

/* The number after "key": in the line that holds mark. */
static double number(const char* mark, const char* key) {
  const char* line = strstr(output, mark);
  assert_non_null(line);
  char quoted[64];
  snprintf(quoted, sizeof quoted, "\"%s\": ", key);
  const char* at = strstr(line, quoted);
  assert_non_null(at);
  return strtod(at + strlen(quoted), NULL);
}

static void a_tiny_run_is_measured(void** state) {
  (void)state;
  const char* folder = scratch_make();
  char words[1024];
  snprintf(words, sizeof words,
           "--alone --steps 3 --repeats 2 --json 2>/dev/null && ls '%s' | wc -l", folder);
  setenv("TMPDIR", folder, 1);
  assert_int_equal(run(words), 0);
  unsetenv("TMPDIR");
  assert_true(number("\"kind\": \"setting\"", "atoms") == 5625);
  assert_true(number("\"kind\": \"setting\"", "force_deviation") <
              number("\"kind\": \"setting\"", "force_limit"));
  assert_null(strstr(output, "\n\n")); /* a record a line, and no empty ones */
  double least = number("\"kind\": \"summary\"", "least_us_per_step");
  double most = number("\"kind\": \"summary\"", "most_us_per_step");
  assert_true(least > 0 && least <= number("\"kind\": \"summary\"", "median_us_per_step"));
  assert_true(most >= number("\"kind\": \"summary\"", "median_us_per_step"));
  assert_true(number("\"repeat\": 2", "us_per_step") <= most);
  assert_true(number("\"kind\": \"parts\"", "pairs_per_second") > 0);
  /* the parts are those of the fastest run, and all of it */
  static const char* const parts[] = {"pair search",   "halo exchange", "pair forces",
                                      "bonded forces", "update",        "constraints",
                                      "output",        "other"};
  double sum = 0;
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
    sum += number("\"kind\": \"parts\"", parts[i]);
  assert_true(fabs(sum - least) < 1e-6 * least);
  assert_int_equal(strtol(strrchr(output, '}') + 1, NULL, 10), 0); /* nothing is left behind */
  scratch_remove(folder);
}

static void mistakes_are_refused(void** state) {
  (void)state;
  assert_int_equal(run("--steps 0 2>&1"), 2);
  assert_non_null(strstr(output, "--steps 0"));
  assert_int_equal(run("--repeats 65 2>&1"), 2);
  assert_non_null(strstr(output, "1 to 64"));
  assert_int_equal(run("-c missing.gro 2>&1"), 2);
  assert_non_null(strstr(output, "missing.gro"));
}

static void statistics_are_right(void** state) {
  (void)state;
  tg_bench_series even = {.us = {4, 1, 3, 2}, .count = 4}, odd = {.us = {9, 1, 5}, .count = 3};
  assert_true(tg_bench_least(&even) == 1 && tg_bench_median(&even) == 2.5);
  assert_true(tg_bench_most(&even) == 4);
  assert_true(tg_bench_median(&odd) == 5);
}

/* A partner that is not OpenMM is told apart, and ends. */
static void a_partner_that_fails_is_reported(void** state) {
  (void)state;
  tg_openmm_params params = {.python = "/bin/sh",
                             .script = "/dev/null",
                             .configuration = "a",
                             .topology = "b",
                             .cutoff = 1,
                             .dt = 0.001,
                             .threads = 1};
  tg_openmm openmm;
  assert_int_equal(tg_openmm_start(&params, &openmm), TG_ERR_MACHINE);
  assert_non_null(strstr(tg_last_error(), "without an answer"));
  params.python = "/no/such/python";
  assert_int_equal(tg_openmm_start(&params, &openmm), TG_ERR_MACHINE);
  assert_non_null(strstr(tg_last_error(), "/no/such/python"));
  assert_int_equal(openmm.process, 0);
}

static void a_partner_answers(void** state) {
  (void)state;
  const char* folder = scratch_make();
  const char* script = scratch_path(folder, "partner.sh");
  FILE* stream = fopen(script, "w");
  assert_non_null(stream);
  fputs(
      "echo '{\"version\": \"1.2\"}'\n"
      "while read variant steps; do\n"
      "  if [ $variant = silent ]; then exit 0; fi\n"
      "  echo \"{\\\"us_per_step\\\": $steps.5, \\\"forces\\\": []}\"\n"
      "done\n",
      stream);
  fclose(stream);
  tg_openmm_params params = {.python = "/bin/sh",
                             .script = script,
                             .configuration = "a",
                             .topology = "b",
                             .cutoff = 1,
                             .dt = 0.001,
                             .threads = 1};
  tg_openmm openmm;
  assert_int_equal(tg_openmm_start(&params, &openmm), TG_OK);
  assert_string_equal(openmm.version, "1.2");
  double us = 0;
  assert_int_equal(tg_openmm_measure(&openmm, "native", 7, &us), TG_OK);
  assert_true(us == 7.5);
  assert_int_equal(tg_openmm_measure(&openmm, "silent", 7, &us), TG_ERR_MACHINE);
  tg_openmm_stop(&openmm);
  tg_openmm_stop(&openmm);
  scratch_remove(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_tiny_run_is_measured), cmocka_unit_test(mistakes_are_refused),
      cmocka_unit_test(statistics_are_right),   cmocka_unit_test(a_partner_that_fails_is_reported),
      cmocka_unit_test(a_partner_answers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
