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
#include <unistd.h>

#include "base/scratch.h"

static char output[1 << 19];

static int run(const char* words) {
  char line[2048];
  snprintf(line, sizeof line, "'%s' bench motif %s %s", TG_PROGRAM,
           strstr(words, "--threads") ? "" : "--threads 1", words);
  FILE* pipe = popen(line, "r");
  assert_non_null(pipe);
  output[fread(output, 1, sizeof output - 1, pipe)] = '\0';
  const int ended = pclose(pipe);
  assert_true(WIFEXITED(ended));
  return WEXITSTATUS(ended);
}

/* The value of "key": in a line: what stands behind. */
static const char* value(const char* line, const char* key) {
  char quoted[64];
  snprintf(quoted, sizeof quoted, "\"%s\": ", key);
  const char* at = strstr(line, quoted);
  assert_non_null(at);
  return at + strlen(quoted);
}

static double number(const char* line, const char* key) { return strtod(value(line, key), NULL); }

static bool says(const char* line, const char* key, const char* text) {
  char quoted[64];
  snprintf(quoted, sizeof quoted, "\"%s\"", text);
  return strncmp(value(line, key), quoted, strlen(quoted)) == 0;
}

static bool has_gnuplot(void) { return system("gnuplot --version > /dev/null 2>&1") == 0; }

static void check_measured(const char* line) {
  const double least = number(line, "least_s"), rate = number(line, "rate");
  assert_true(least > 0 && least <= number(line, "median_s"));
  assert_true(rate * least > 0.999 * number(line, "work"));
  assert_true(rate * least < 1.001 * number(line, "work"));
  assert_true(says(line, "motif", "yardstick") ==
              (strncmp(value(line, "checked"), "false", 5) == 0));
}

/* True for a line of the dense reduction: of pairs, not of states. */
static bool check_dense(const char* line) {
  if (!says(line, "motif", "dense")) return false;
  assert_true(says(line, "figure", "15") && says(line, "rate_unit", "pairs/s"));
  assert_true(number(line, "rows") == 1024 && number(line, "particles") == 0);
  assert_true(number(line, "work") <= 1024 * 1024 && number(line, "bodies") == 0);
  return true;
}

static const char* const figures[] = {"7", "8", "11", "13", "15", "tiles"};
static const char* const pictures[] = {"figure-7.svg",  "figure-7-particles.svg", "figure-8.svg",
                                       "figure-11.svg", "figure-13.svg",          "figure-15.svg",
                                       "tiles.svg"};
enum { FIGURES = sizeof figures / sizeof *figures, PICTURES = sizeof pictures / sizeof *pictures };

/* Every figure, as small as it goes, by the two backends that are everywhere: the lines of each are
 * there, in 128 and 1,024 orbitals, their numbers agree, and the pictures are drawn. */
static void every_figure_is_written(void** state) {
  (void)state;
  static char lines[1 << 21];
  const char* folder = scratch_make();
  char words[4096];
  snprintf(words, sizeof words,
           "--backend omp,ref --states 1024 --items 4096 --repeats 2 --budget 0.001 -o '%s' 2>&1",
           folder);
  assert_int_equal(run(words), 0);
  assert_non_null(strstr(output, "ref           host, serial"));
  assert_non_null(strstr(output, "acc           left out: --backend"));
  assert_non_null(strstr(output, "yardsticks    STREAM triad"));
  assert_non_null(strstr(output, "omp: parallel over serial 1024: "));
  FILE* stream = fopen(scratch_path(folder, "motif.jsonl"), "r");
  assert_non_null(stream);
  lines[fread(lines, 1, sizeof lines - 1, stream)] = '\0';
  fclose(stream);
  bool seen[FIGURES] = {false};
  int ref = 0, omp = 0, wide = 0, tiled = 0, yardsticks = 0, dense = 0;
  for (char* line = strtok(lines, "\n"); line != NULL; line = strtok(NULL, "\n")) {
    yardsticks += says(line, "benchmark", "motif yardsticks");
    if (!says(line, "benchmark", "motif")) continue;
    for (int i = 0; i < FIGURES; i++) seen[i] = seen[i] || says(line, "figure", figures[i]);
    ref += says(line, "backend", "ref");
    omp += says(line, "backend", "omp");
    wide += number(line, "orbitals") == 1024;
    tiled += strncmp(value(line, "tiled"), "true", 4) == 0;
    dense += check_dense(line);
    assert_true(number(line, "pairs_left") > 0 && number(line, "pairs_left") <= 1);
    if (strncmp(value(line, "skipped"), "null", 4) == 0) check_measured(line);
  }
  for (int i = 0; i < FIGURES; i++) assert_true(seen[i]);
  assert_true(ref > 10 && omp > ref && wide > 10 && tiled > 10);
  assert_int_equal(dense, 6 * 6); /* m = 8 ... 256, ref and five versions of omp */
  assert_int_equal(yardsticks, 2);
  for (int i = 0; i < PICTURES && has_gnuplot(); i++)
    assert_int_equal(access(scratch_path(folder, pictures[i]), R_OK), 0);
  scratch_remove(folder);
}

/* All backends that are here on one case; what does not run is named. */
static void backends_stand_side_by_side(void** state) {
  (void)state;
  assert_int_equal(
      run("--backend all --figure 13 --states 1024 --repeats 1 --budget 0.0001 --json 2>&1"), 0);
  for (const char* at = output; *at == '{'; at = strchr(at, '\n') + 1)
    assert_non_null(strstr(at, "\"benchmark\": \"motif"));
  assert_non_null(strstr(output, "\"backend\": \"ref\""));
  assert_non_null(strstr(output, "\"backend\": \"omp\""));
  const char* made = getenv("TG_TEST_MODULES");
  if (made != NULL && strstr(made, "acc")) assert_non_null(strstr(output, "\"backend\": \"acc\""));
}

/* The paper's three ways to add all pairs into few sums, by every backend that has them; what a
 * compiler cannot do is named. */
static void dense_sums_by_every_backend(void** state) {
  (void)state;
  assert_int_equal(run("--backend all --figure 15 --version a --states 1024 --items 1024 "
                       "--repeats 1 --budget 0.0001 2>&1"),
                   0);
  assert_non_null(strstr(output, "figure 15, sums 256: 1024 x 1024 pairs, no filter"));
  assert_non_null(strstr(output, "omp           dense     clause "));
  assert_non_null(strstr(output, "omp           dense     scalars "));
  assert_non_null(strstr(output, "omp           dense     atomic "));
  const char* made = getenv("TG_TEST_MODULES");
  if (made == NULL || strstr(made, "acc") == NULL) return;
  assert_non_null(strstr(output, "clause                   left out: GCC's OpenACC"));
}

/* A version beyond the limit is left out with the reason; the others go on. */
static void slow_versions_are_left_out(void** state) {
  (void)state;
  assert_int_equal(run("--figure 7 --backend ref --orbitals 128 --states 1024 --repeats 1 "
                       "--budget 0.001 --limit 1e-9 2>&1"),
                   0);
  assert_non_null(strstr(output, "left out: about "));
  assert_non_null(strstr(output, "beyond --limit 1e-09"));
  assert_null(strstr(output, "  pairs/s\n"));
  assert_int_equal(run("--figure 15 --backend ref --items 65536 --states 1024 --repeats 1 "
                       "--budget 0.001 --limit 1e-9 2>&1"),
                   0);
  assert_non_null(strstr(output, "of 65536 items took"));
}

static void rectangles_and_other_operators(void** state) {
  (void)state;
  assert_int_equal(run("--figure 7 --backend ref,omp --orbitals 70 --rows 100 --columns 3000 -d 3 "
                       "--repeats 1 --budget 0.001 2>&1"),
                   0);
  assert_non_null(strstr(output, "100 x 3000 states of 4 particles in 70 orbitals, d = 3"));
  assert_int_equal(run("--figure tiles --backend omp --orbitals 128 --states 3000 -d 1 --repeats 1 "
                       "--budget 0.001 2>&1"),
                   0);
  assert_non_null(strstr(output, "word64 + tiles"));
  assert_non_null(strstr(output, "time with/without"));
}

/* Tiles are cut to the budget as well: some of the rows stand for all. How long a run may take is
 * said at its beginning. */
static void tiles_keep_the_budget(void** state) {
  (void)state;
  const char* words =
      "--figure tiles --backend omp --version =bits --states 16384 -d 2 "
      "--repeats 1 --budget 1e-6";
  char line[300];
  int tiled = 0, cut = 0;
  snprintf(line, sizeof line, "%s --json 2>&1", words);
  assert_int_equal(run(line), 0);
  for (char* at = strtok(output, "\n"); at != NULL; at = strtok(NULL, "\n")) {
    if (!says(at, "benchmark", "motif") || strncmp(value(at, "tiled"), "true", 4) != 0) continue;
    tiled++;
    cut += number(at, "work") < 16384.0 * 16384.0;
    assert_true(number(at, "work") >= 1024.0 * 16384.0);
  }
  assert_true(tiled == 2 && cut == 2); /* of 8 and of 16 particles */
  snprintf(line, sizeof line, "%s 2>&1", words);
  assert_int_equal(run(line), 0);
  assert_non_null(strstr(output, "this takes up to about 1 s"));
}

/* Versions by several words, and by whole names. */
static void versions_are_chosen_by_words(void** state) {
  (void)state;
  assert_int_equal(run("--figure 13 --backend omp --version '=bits,private' --states 1024 "
                       "--repeats 1 --budget 1e-4 2>&1"),
                   0);
  assert_non_null(strstr(output, "omp           count     bits  "));
  assert_non_null(strstr(output, "collect   word64 private"));
  assert_null(strstr(output, "bits early"));
  assert_null(strstr(output, "cursor"));
}

static void refused(const char* words, int code, const char* message) {
  if (run(words) != code || strstr(output, message) == NULL)
    fail_msg("%s: exit code %d with '%s' was expected, not: %s", words, code, message, output);
}

static void mistakes_are_refused(void** state) {
  (void)state;
  refused("--repeats 0 2>&1", 2, "1 to 101");
  refused("--backend cudda 2>&1", 2, "'cudda'");
  refused("--backend ref,cudda 2>&1", 2, "all, ref, omp");
  refused("--backend ref, 2>&1", 2, "''");
  refused("--figure 9 2>&1", 2, "9");
  refused("--version nosuch 2>&1", 2, "'nosuch'");
  refused("--version word64,nosuch 2>&1", 2, "'nosuch'");
  refused("--version word64, 2>&1", 2, "''");
  refused("--version =wor 2>&1", 2, "'=wor'");
  refused("--backend ref,all 2>&1", 2, "stands alone");
  refused("--figure 8 --version ranked 2>&1", 2, "figure 8 has no version");
  refused("--figure 8 --version array 2>&1", 2, "figure 8 has no version");
  refused("--figure tiles --version sweep 2>&1", 2, "tiles has no version");
  refused("--sums 4 2>&1", 2, "--sums 4");
  refused("--sums 5000 2>&1", 2, "--sums 5000");
  refused("--states 10 2>&1", 2, "10 rows");
  refused("--states -5 2>&1", 2, "--states -5");
  refused("--rows 0 2>&1", 2, "--rows 0");
  refused("--columns 11000000 2>&1", 2, "11000000 columns");
  refused("--items 0 2>&1", 2, "--items 0");
  refused("--items 2000000000 2>&1", 2, "--items 2000000000");
  refused("--orbitals 19 2>&1", 2, "--orbitals 19");
  refused("--orbitals 128,x 2>&1", 2, "parted by commas");
  refused("--orbitals 64,64,64,64,64 2>&1", 2, "at most 4");
  refused("--bodies 9 2>&1", 2, "--bodies 9");
  refused("-d 0 2>&1", 2, "--bodies 0");
  refused("--threads 0 2>&1", 2, "--threads 0");
  refused("--threads 100000 2>&1", 2, "--threads 100000");
  refused("--budget 0 2>&1", 2, "--budget 0");
  refused("--budget nan 2>&1", 2, "--budget");
  refused("--limit -1 2>&1", 2, "--limit -1");
  refused("--plot /proc/nosuch 2>&1", has_gnuplot() ? 2 : 3, has_gnuplot() ? "/proc" : "gnuplot");
  /* 10^7 states of 1,024 words: 80 GB a copy, before anything is allocated */
  refused("--figure 7 --states 10000000 --orbitals 65536 2>&1", 3, "of memory in this machine");
}

/* A run that is refused leaves what an earlier one has written. */
static void earlier_lines_are_kept(void** state) {
  (void)state;
  const char* folder = scratch_make();
  char words[4096];
  FILE* stream = fopen(scratch_path(folder, "m.jsonl"), "w");
  assert_non_null(stream);
  fputs("earlier\n", stream);
  fclose(stream);
  snprintf(words, sizeof words, "--repeats 0 --json-lines '%s/m.jsonl' 2>&1", folder);
  assert_int_equal(run(words), 2);
  assert_string_equal(scratch_read(scratch_path(folder, "m.jsonl")), "earlier\n");
  scratch_remove(folder);
}

static void outputs_are_looked_at_first(void** state) {
  (void)state;
  char words[4096];
  const char* folder = scratch_make();
  if (has_gnuplot()) {
    snprintf(words, sizeof words, "--figure 8 -o '%s/a/b' --json-lines figure-8.svg 2>&1", folder);
    refused(words, 2, "another name");
    assert_int_not_equal(access(scratch_path(folder, "a"), F_OK), 0);
    snprintf(words, sizeof words, "--figure 8 --plot '%s' --json-lines '%s/./figure-8.svg' 2>&1",
             folder, folder);
    refused(words, 2, "another name");
  }
  snprintf(words, sizeof words, "--figure 8 -o '%s/c' --json-lines /proc/nosuch/x 2>&1", folder);
  refused(words, 2, "/proc/nosuch");
  assert_int_not_equal(access(scratch_path(folder, "c"), F_OK), 0);
  scratch_remove(folder);
}

static const char SMALL[] = "--backend ref,omp --repeats 1 --budget 0.0001";

/* Densities are those of the pairs, also where no count is measured; one of 0 has no place on the
 * axis, and stops nothing. */
static void densities_need_no_count(void** state) {
  (void)state;
  char words[4096];
  const char* folder = scratch_make();
  snprintf(words, sizeof words,
           "%s --states 1024 --figure 13 --version ranked --json 2> '%s/errors'", SMALL, folder);
  assert_int_equal(run(words), 0);
  int rows = 0;
  bool dense = false;
  for (const char* at = output; *at == '{'; at = strchr(at, '\n') + 1) {
    if (!says(at, "benchmark", "motif")) continue;
    rows++;
    dense = dense || number(at, "density") > 1e-3;
    assert_true(number(at, "x") == number(at, "density"));
  }
  assert_true(rows > 4 && dense);
  snprintf(words, sizeof words, "%s --figure 13 --states 16 --plot '%s' --json 2> '%s/errors'",
           SMALL, folder, folder);
  if (has_gnuplot()) assert_int_equal(run(words), 0);
  for (const char* at = output; *at != '\0'; at = strchr(at, '\n') + 1) assert_true(*at == '{');
  scratch_remove(folder);
}

/* A figure that cannot be drawn costs no measurement. */
static void pictures_that_fail_cost_nothing(void** state) {
  (void)state;
  char words[4096];
  const char* folder = scratch_make();
  snprintf(words, sizeof words, "%s/gnuplot", folder);
  FILE* stream = fopen(words, "w");
  assert_non_null(stream);
  fputs("#!/bin/sh\n[ \"$1\" = --version ] && { echo gnuplot 5.4; exit 0; }\nexit 1\n", stream);
  fclose(stream);
  snprintf(words, sizeof words, "chmod +x '%s/gnuplot'", folder);
  assert_int_equal(system(words), 0);
  char path[4096];
  snprintf(path, sizeof path, "%s", getenv("PATH") != NULL ? getenv("PATH") : "/usr/bin:/bin");
  snprintf(words, sizeof words, "%.1000s:%.3000s", folder, path);
  setenv("PATH", words, 1);
  snprintf(words, sizeof words,
           "%s --states 1024 --items 1024 --sums 16 --version bits -o '%s' 2>&1", SMALL, folder);
  const int code = run(words);
  setenv("PATH", path, 1);
  assert_int_equal(code, 3);
  assert_non_null(strstr(output, "time with/without"));
  assert_null(strstr(output, "figure 11"));
  const char* lines = scratch_read(scratch_path(folder, "motif.jsonl"));
  assert_non_null(strstr(lines, "\"figure\": \"tiles\""));
  assert_null(strstr(lines, "motif incomplete"));
  scratch_remove(folder);
}

/* What an interrupted run has measured is kept, and marked. */
static void interrupted_lines_are_marked(void** state) {
  (void)state;
  char words[4096];
  const char* folder = scratch_make();
  snprintf(words, sizeof words,
           "timeout --preserve-status -s INT 1.5 '%s' bench motif --backend ref --states 1024 "
           "--items 1048576 --repeats 3 --threads 1 --json-lines '%s/m.jsonl' > /dev/null 2> "
           "'%s/errors'",
           TG_PROGRAM, folder, folder);
  const int ended = system(words);
  assert_true(WIFEXITED(ended) && WEXITSTATUS(ended) == 130);
  char errors[1024];
  snprintf(errors, sizeof errors, "%.1000s", scratch_read(scratch_path(folder, "errors")));
  if (strstr(errors, "is kept in") != NULL)
    assert_non_null(strstr(scratch_read(scratch_path(folder, "m.jsonl")),
                           "\"benchmark\": \"motif incomplete\""));
  else /* nothing was measured on so slow a machine */
    assert_int_not_equal(access(scratch_path(folder, "m.jsonl"), F_OK), 0);
  scratch_remove(folder);
}

static void more_sums(void** state) {
  (void)state;
  assert_int_equal(run("--figure 15 --sums 4096 --backend ref,omp --version atomic --states 64 "
                       "--items 1024 --repeats 1 --budget 0.0001 2>&1"),
                   0);
  assert_non_null(strstr(output, "figure 15, sums 4096: 64 x 64 pairs"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_figure_is_written),
      cmocka_unit_test(backends_stand_side_by_side),
      cmocka_unit_test(dense_sums_by_every_backend),
      cmocka_unit_test(slow_versions_are_left_out),
      cmocka_unit_test(rectangles_and_other_operators),
      cmocka_unit_test(tiles_keep_the_budget),
      cmocka_unit_test(versions_are_chosen_by_words),
      cmocka_unit_test(mistakes_are_refused),
      cmocka_unit_test(earlier_lines_are_kept),
      cmocka_unit_test(outputs_are_looked_at_first),
      cmocka_unit_test(densities_need_no_count),
      cmocka_unit_test(pictures_that_fail_cost_nothing),
      cmocka_unit_test(interrupted_lines_are_marked),
      cmocka_unit_test(more_sums),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
