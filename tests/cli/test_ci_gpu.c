/* SPDX-License-Identifier: Apache-2.0 */
/* What `throng ci --backend cuda` and `throng bench ci` refuse, and where there is a GPU that its
 * levels are those of the processors. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include "cli/ci_run.h"

static int run(const char* verb_words) {
  char line[4096];
  snprintf(line, sizeof line, "cd '%s' && %s '%s' %s 2>&1", TG_SOURCE_DIR,
           "CUDA_VISIBLE_DEVICES=-1", TG_PROGRAM, verb_words);
  FILE* pipe = popen(line, "r");
  assert_non_null(pipe);
  ci_output[fread(ci_output, 1, sizeof ci_output - 1, pipe)] = '\0';
  const int ended = pclose(pipe);
  return WIFEXITED(ended) ? WEXITSTATUS(ended) : -1;
}

static void a_missing_gpu_is_told(void** state) {
  (void)state;
  static const char* const words[] = {
      "ci solve -i usdb --protons 2 --neutrons 2 --backend cuda",
      "ci check -i usdb --protons 2 --neutrons 2 --backend cuda",
      "ci solve -i usdb --protons 2 --neutrons 2 --backend cuda --gpus 1 --storage mixed",
      "bench ci --case 20Ne", "bench ci -i builtin:usdb --protons 2 --neutrons 2 --products"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    if (run(words[i]) != 3) fail_msg("%s: %s", words[i], ci_output);
    /* why, and what to do: without CUDA, without a driver, without a GPU */
    assert_non_null(strstr(ci_output, "cuda"));
    assert_true(strstr(ci_output, "./dev build cuda") || strstr(ci_output, "driver") ||
                strstr(ci_output, "GPU"));
    if (strncmp(words[i], "bench", 5) != 0) assert_non_null(strstr(ci_output, "--backend omp"));
  }
}

static void mistakes_are_refused(void** state) {
  (void)state;
  static const struct {
    const char *words, *says, *says_too;
  } cases[] = {
      {"ci solve -i usdb --protons 2 --gpus 1", "--gpus 1", "--backend cuda"},
      {"ci solve -i usdb --protons 2 --backend cuda --gpus 0", "--gpus 0", "above 0"},
      {"ci solve -i usdb --protons 2 --backend cuda --gpus 3 --pe 2", "--gpus 3 with --pe 2",
       "each GPU"},
      {"bench ci --gpus 1,two", "--gpus 1,two", "such as 1,2"},
      {"bench ci --gpus 0", "--gpus 0", "such as 1,2"},
      {"bench ci --case 20Ne --gpus 1,2 --plot a.svg", "--plot", "--gpus"},
      {"ci solve -i usdb --protons 2 --backend gpu", "--backend", "omp|cuda"},
      {"ci solve -i usdb --protons 2 --storage mixed", "--storage mixed", "--backend cuda"},
      {"ci solve -i usdb --protons 2 --elements float", "--elements float", "--backend cuda"},
      {"ci solve -i usdb --protons 2 --elements float --backend cuda --storage mixed",
       "--elements float", "--storage stored"},
      {"ci check -i usdb --protons 2 --elements float --backend cuda --storage fly",
       "--elements float", "--storage stored"},
      {"ci solve -i usdb --protons 2 --elements half", "--elements", "double|float"},
      {"bench ci --backend omp", "--backend omp", "bench ci-cpu"},
      {"bench ci --case 29Si", "29Si", "nearest: 28Si"},
      {"bench ci --case 20Ne --protons 2", "--protons", "--interaction"},
      {"bench ci --states 3", "--states", "--protons"},
      {"bench ci --repeats 0", "--repeats 0", "1 to"},
      {"bench ci --case 20Ne --products --plot a.svg", "--plot", "--products"},
      {"bench ci --case 20Ne --plot a.pdf", "a.pdf", ".svg or .png"},
      {"bench ci-cpu --case 56Ni", "56Ni", "throng bench ci "},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    if (run(cases[i].words) != 2) fail_msg("%s: %s", cases[i].words, ci_output);
    if (!strstr(ci_output, cases[i].says) || !strstr(ci_output, cases[i].says_too))
      fail_msg("%s: %s", cases[i].words, ci_output);
  }
}

/* Levels as JSON, where the machine has a GPU that works. */
static void a_gpu_finds_the_same_levels(void** state) {
  (void)state;
  if (ci_run("solve -i usdb --protons 4 --neutrons 4 --states 6 --json --backend cuda") == 3)
    skip();
  assert_non_null(strstr(ci_output, "\"gpu\": "));
  double energy[6];
  const char* at = ci_output;
  for (int i = 0; i < 6; i++) energy[i] = ci_number(&at, "energy_MeV");
  assert_int_equal(ci_run("solve -i usdb --protons 4 --neutrons 4 --states 6 --json"), 0);
  at = ci_output;
  for (int i = 0; i < 6; i++) ci_close(ci_number(&at, "energy_MeV"), energy[i], 1e-7, "energy");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_missing_gpu_is_told),
      cmocka_unit_test(mistakes_are_refused),
      cmocka_unit_test(a_gpu_finds_the_same_levels),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
