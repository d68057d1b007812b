/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the benchmark of configuration interaction on its smallest case, and reads what it wrote. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/scratch.h"

static char output[1 << 16];

static int run(const char* words) {
  char line[4096];
  snprintf(line, sizeof line, "'%s' bench ci-cpu --threads 1 --repeats 2 %s", TG_PROGRAM, words);
  FILE* pipe = popen(line, "r");
  assert_non_null(pipe);
  output[fread(output, 1, sizeof output - 1, pipe)] = '\0';
  const int ended = pclose(pipe);
  assert_true(WIFEXITED(ended));
  return WEXITSTATUS(ended);
}

/* What stands behind "key": in the text from mark on. */
static const char* value(const char* text, const char* mark, const char* key) {
  char quoted[64];
  snprintf(quoted, sizeof quoted, "\"%s\": ", key);
  const char* line = strstr(text, mark);
  assert_non_null(line);
  const char* at = strstr(line, quoted);
  assert_non_null(at);
  return at + strlen(quoted);
}

static double number(const char* key) {
  return strtod(value(output, "\"kind\": \"case\"", key), NULL);
}

static void check_case(const char* storage) {
  char quoted[32];
  snprintf(quoted, sizeof quoted, "\"%s\"", storage);
  assert_true(number("states") == 640 && number("pairs") == 54624 && number("states_found") == 10);
  assert_int_equal(strncmp(value(output, "\"kind\": \"case\"", "storage"), quoted, strlen(quoted)),
                   0);
  assert_true(fabs(number("lowest") - number("expected")) < 1e-5);
  const double parts = number("setup_s") + number("solve_s") + number("labels_s");
  assert_true(parts > 0 && parts <= number("total_s") * (1 + 1e-9));
  assert_true(number("products_s") + number("orthogonal_s") <= number("solve_s"));
  assert_true(number("total_s") <= number("median_s"));
  assert_true(number("products") >= number("passes") &&
              number("products") <= number("passes") * number("block"));
  const double rate = number("pairs") * number("products") / number("products_s");
  assert_true(fabs(number("elements_per_s") - rate) <= 1e-9 * rate);
  assert_true(number("triad_bytes_per_s") > 0 && number("filter_pairs_per_s") > 0);
  assert_true(number("estimated_bytes") > 640 * 80 * 8.0); /* the basis alone */
}

static void a_small_case_is_measured(void** state) {
  (void)state;
  assert_int_equal(run("--case 20Ne --json"), 0);
  check_case("stored");
  assert_int_equal(run("--case 20Ne --storage fly --json"), 0);
  check_case("fly");
}

static void table_lines_and_plot(void** state) {
  (void)state;
  const char* folder = scratch_make();
  char words[2048], path[1024];
  const bool gnuplot = system("gnuplot --version > /dev/null 2>&1") == 0;
  snprintf(words, sizeof words, "--case 20Ne --json-file '%.500s/lines' %s%.500s%s", folder,
           gnuplot ? "--plot '" : "", gnuplot ? folder : "", gnuplot ? "/bars.svg'" : "");
  assert_int_equal(run(words), 0);
  assert_non_null(strstr(output, "\n20Ne       640 5.46e+04 stored"));
  for (const char* line = output; *line; line = strchr(line, '\n') + 1)
    assert_true(strcspn(line, "\n") <= 100);
  snprintf(path, sizeof path, "%.500s/lines", folder);
  FILE* file = fopen(path, "r");
  assert_non_null(file);
  output[fread(output, 1, sizeof output - 1, file)] = '\0';
  fclose(file);
  check_case("stored");
  if (gnuplot) {
    snprintf(path, sizeof path, "%.500s/bars.svg", folder);
    file = fopen(path, "r");
    assert_non_null(file);
    output[fread(output, 1, sizeof output - 1, file)] = '\0';
    fclose(file);
    assert_non_null(strstr(output, "20Ne"));
  }
  scratch_remove(folder);
}

static void mistakes_are_refused(void** state) {
  (void)state;
  assert_int_equal(run("--case 24mg 2>&1"), 2);
  assert_non_null(strstr(output, "nearest: 24Mg"));
  assert_int_equal(run("--interaction usdb 2>&1"), 2);
  assert_non_null(strstr(output, "--case"));
  assert_int_equal(run("--case 48Cr --data /nowhere 2>&1"), 2);
  assert_non_null(strstr(output, "/nowhere/snt/kb3g.snt"));
  assert_int_equal(run("--case 20Ne --repeats 65 2>&1"), 2);
  assert_int_equal(run("--case 20Ne --memory 0 2>&1"), 2);
  assert_int_equal(run("--case 20Ne --plot bars.pdf 2>&1"), 2);
}

/* Another interaction than the case's gives another energy, and that is said. */
static void a_wrong_answer_is_a_failure(void** state) {
  (void)state;
  assert_int_equal(run("--case 20Ne --interaction "
                       "builtin:sdi:0d5/2=-3.9,1s1/2=-3.2,0d3/2=2.1:AT0=1,AT1=1,Z=8,N=8 2>&1"),
                   4);
  assert_non_null(strstr(output, "-40.47233"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_small_case_is_measured), cmocka_unit_test(table_lines_and_plot),
      cmocka_unit_test(mistakes_are_refused), cmocka_unit_test(a_wrong_answer_is_a_failure)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
