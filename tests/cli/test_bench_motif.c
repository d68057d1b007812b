/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the motifs' benchmark, small, and reads what it wrote. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/scratch.h"

static char output[1 << 16];

static int run(const char* words) {
  char line[2048];
  snprintf(line, sizeof line, "'%s' bench motif --threads 1 %s", TG_PROGRAM, words);
  FILE* pipe = popen(line, "r");
  assert_non_null(pipe);
  output[fread(output, 1, sizeof output - 1, pipe)] = '\0';
  const int ended = pclose(pipe);
  assert_true(WIFEXITED(ended));
  return WEXITSTATUS(ended);
}

/* The number after "key": in a line. */
static double number(const char* line, const char* key) {
  char quoted[64];
  snprintf(quoted, sizeof quoted, "\"%s\": ", key);
  const char* at = strstr(line, quoted);
  assert_non_null(at);
  return strtod(at + strlen(quoted), NULL);
}

/* Every figure, as small as it goes: the lines of each are there, and their numbers agree. */
static void every_figure_is_written(void** state) {
  (void)state;
  static const int figures[] = {7, 8, 11, 13, 15};
  static char lines[1 << 20];
  const char* folder = scratch_make();
  char words[4096];
  snprintf(words, sizeof words,
           "--states 1024 --items 4096 --repeats 2 --budget 0.001 --json-lines '%s/m.jsonl' 2>&1",
           folder);
  assert_int_equal(run(words), 0);
  assert_non_null(strstr(output, "ref      host, serial"));
  FILE* stream = fopen(scratch_path(folder, "m.jsonl"), "r");
  assert_non_null(stream);
  lines[fread(lines, 1, sizeof lines - 1, stream)] = '\0';
  fclose(stream);
  bool seen[16] = {false};
  int ref = 0, omp = 0;
  for (char* line = strtok(lines, "\n"); line != NULL; line = strtok(NULL, "\n")) {
    const int figure = (int)number(line, "figure");
    assert_true(figure > 0 && figure < 16);
    seen[figure] = true;
    ref += strstr(line, "\"backend\": \"ref\"") != NULL;
    omp += strstr(line, "\"backend\": \"omp\"") != NULL;
    const double least = number(line, "least_s"), rate = number(line, "rate");
    assert_true(least > 0 && least <= number(line, "median_s"));
    assert_true(rate * least > 0.999 * number(line, "work"));
    assert_true(rate * least < 1.001 * number(line, "work"));
    const bool yardstick = strstr(line, "\"motif\": \"yardstick\"") != NULL;
    assert_true(yardstick == (strstr(line, "\"checked\": false") != NULL));
  }
  for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) assert_true(seen[figures[i]]);
  assert_true(ref > 10 && omp > ref);
  scratch_remove(folder);
}

static void mistakes_are_refused(void** state) {
  (void)state;
  assert_int_equal(run("--repeats 0 2>&1"), 2);
  assert_non_null(strstr(output, "1 to 101"));
  assert_int_equal(run("--backend cudda 2>&1"), 2);
  assert_non_null(strstr(output, "'cudda'"));
  assert_int_equal(run("--figure 9 2>&1"), 2);
  assert_int_equal(run("--states 10 2>&1"), 2);
  assert_non_null(strstr(output, "10 states"));
  assert_int_equal(run("--bodies 9 2>&1"), 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_figure_is_written),
      cmocka_unit_test(mistakes_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
