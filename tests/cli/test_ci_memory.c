/* SPDX-License-Identifier: Apache-2.0 */
/* The memory that `throng ci check` announces, and that `ci solve` reports, against what the
 * program took at its peak. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cli/ci_run.h"

enum { MOST_WORDS = 64 };

/* Runs `throng ci solve WORDS` by itself; bytes at its peak (VmHWM). */
static double peak_of(const char* words) {
  char line[1200], *argv[MOST_WORDS] = {(char[]){TG_PROGRAM}, (char[]){"ci"}, (char[]){"solve"}};
  int count = 3;
  snprintf(line, sizeof line, "%s", words);
  for (char* word = strtok(line, " "); word; word = strtok(NULL, " ")) {
    assert_true(count < MOST_WORDS - 1);
    argv[count++] = word;
  }
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    const int nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    if (chdir(TG_SOURCE_DIR) == 0) execv(TG_PROGRAM, argv);
    _exit(127);
  }
  int ended = 0;
  struct rusage usage;
  assert_true(wait4(child, &ended, 0, &usage) == child);
  if (!WIFEXITED(ended) || WEXITSTATUS(ended) != 0) fail_msg("%s: ended with %d", words, ended);
  return 1024.0 * (double)usage.ru_maxrss;
}

/* The largest number behind the key in the output. */
static double largest(const char* key) {
  double most = 0;
  char quoted[64];
  snprintf(quoted, sizeof quoted, "\"%s\": ", key);
  for (const char* at = ci_output; strstr(at, quoted);) most = fmax(most, ci_number(&at, key));
  return most;
}

/* more: for solve alone, so that it ends soon. */
static void expect_peak(const char* words, const char* more) {
  char line[1100];
  char all[1100];
  snprintf(all, sizeof all, "%s %s", words, more);
  snprintf(line, sizeof line, "check %s --json", words);
  if (ci_run(line) != 0) fail_msg("%s: %s", line, ci_output);
  const double estimate = largest("peak_bytes_estimated"), peak = peak_of(all);
  if (!(peak > 2e8)) fail_msg("%s: %.0f MB only; the test is for more", words, 1e-6 * peak);
  if (!(fabs(estimate - peak) <= 0.1 * peak))
    fail_msg("%s: estimated %.0f MB, took %.0f MB", words, 1e-6 * estimate, 1e-6 * peak);
}

/* Mostly vectors; and mostly a stored matrix. */
static void estimates_of_built_in_cases(void** state) {
  (void)state;
  expect_peak("-i usdb --protons 6 --neutrons 6 --states 60", "--tolerance 3 --check off");
  expect_peak(
      "-i sdi:0f7/2,1p3/2,0f5/2,1p1/2:AT0=0.5,AT1=0.5,Z=20,N=20 --protons 2 --neutrons 4 --states "
      "2 "
      "--storage stored",
      "--tolerance 0.1");
}

/* A matrix and vectors; several irreps, whose states stay. */
static void estimates_of_the_reference(void** state) {
  (void)state;
  if (!ci_case("46Ti")) skip();
  expect_peak("-i " CI_SHARED "snt/kb3g.snt --protons 2 --neutrons 4 --storage stored --states 10",
              "--tolerance 1");
  expect_peak("-i " CI_SHARED "fcidump/H2O_6-31g.FCIDUMP --states 2", "--tolerance 0.01");
}

int main(void) {
#ifndef TG_HAVE_LAPACK
  puts("skipped: built without LAPACK, which the eigen-solver needs");
  return 0;
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  puts("skipped: sanitizers take memory of their own");
  return 0;
#endif
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(estimates_of_built_in_cases),
      cmocka_unit_test(estimates_of_the_reference),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
