/* SPDX-License-Identifier: Apache-2.0 */
/* Runs `throng ci solve --observables` and `throng ci transitions`: values of other programs where
 * the reference is at hand, facts about built-in interactions, and what must be refused. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <unistd.h>

#include "base/scratch.h"
#include "ci/results_file.h"
#include "cli/ci_run.h"

static void run(const char* words) {
  if (ci_run(words) != 0) fail_msg("%s: %s", words, ci_output);
}

/* The value of `key` of the object in the list `table` whose members include this text. */
static double value_of(const char* table, const char* members, const char* key) {
  char quoted[64];
  snprintf(quoted, sizeof quoted, "\"%s\": [", table);
  const char* at = strstr(ci_output, quoted);
  assert_non_null(at);
  at = strstr(at, members);
  assert_non_null(at);
  return ci_number(&at, key);
}

static const char pair_2_1[] = "\"initial\": 2";
static const char level_2[] = "\"level\": 2";

static void magnesium_is_as_known(void** state) {
  (void)state;
  run("solve -i usdb --protons 4 --neutrons 4 --states 2 --observables e2,m1,occupations --json");
  ci_close(value_of("transitions", pair_2_1, "B_E2_down_e2fm4"), 74.914, 5e-4, "B(E2)");
  ci_close(value_of("levels", level_2, "Q_efm2"), -17.143, 5e-4, "Q");
  ci_close(value_of("levels", level_2, "mu_muN"), 1.026, 5e-4, "mu");
  /* charges: with 2,0 and by isospin symmetry with 0,2 the same, half of that with 1,0 */
  run("solve -i usdb --protons 4 --neutrons 4 --states 2 --observables e2 --charges 1,0 --json");
  const double bare = value_of("levels", level_2, "Q_efm2");
  ci_close(bare, -17.143 / 2, 25e-5, "Q of protons");
  run("solve -i usdb --protons 4 --neutrons 4 --states 2 --observables m1 --g=0,0,0,0 --json");
  ci_close(value_of("levels", level_2, "mu_muN"), 0, 0, "mu without g");
}

static void the_reference_is_met(void** state) {
  (void)state;
  if (!ci_case("28Si")) skip();
  run("solve -i '" CI_SHARED
      "snt/usdb.snt' --protons 6 --neutrons 6 --states 2 --observables "
      "e2,occupations --json");
  ci_close(value_of("levels", level_2, "Q_efm2"), ci_case_number(ci_case("28Si"), "Q_2_efm2"), 5e-4,
           "Q of 28Si");
  static const char* const orbits[][2] = {
      {"d3/2", "p0d3/2"}, {"d5/2", "n0d5/2"}, {"s1/2", "p1s1/2"}};
  for (int o = 0; o < 3; o++)
    ci_close(value_of("occupations", "\"level\": 1", orbits[o][1]),
             ci_case_number(ci_case("28Si"), orbits[o][0]), 5e-4, orbits[o][0]);
}

/* A table for people: moments, transitions down and up. */
static void people_see_a_table(void** state) {
  (void)state;
  run("solve -i usdb --protons 2 --neutrons 2 --states 3 --observables all");
  static const char* const words[] = {"Q/efm2", "mu/muN", "B(E2)down/e2fm4",  "W.u.",
                                      "p0d5/2", "45.77",  "rows, in the JSON"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (!strstr(ci_output, words[i])) fail_msg("no %s in %s", words[i], ci_output);
  assert_null(strstr(ci_output, "E1")); /* one parity */
  run("solve -i usdb --protons 2 --neutrons 2 --states 3 --observables none");
  assert_null(strstr(ci_output, "p0d5/2"));
}

/* From files: the decay of 24Ne has the strengths that Fermi's and Ikeda's rules allow, and both
 * directions belong together. */
static void two_files(void** state) {
  (void)state;
  if (!tg_ci_results_library()) skip();
  char words[2048];
  const char* folder = scratch_make();
  static const char* const nuclei[][2] = {{"2", "ne"}, {"3", "na"}};
  for (int k = 0; k < 2; k++) {
    snprintf(words, sizeof words,
             "solve -i usdb --protons %s --neutrons %d --states %d --wave '%s/%s.h5' --json",
             nuclei[k][0], k ? 3 : 4, k ? 12 : 2, folder, nuclei[k][1]);
    run(words);
  }
  snprintf(words, sizeof words, "transitions --from '%s/ne.h5' --to '%s/na.h5' --json", folder,
           folder);
  run(words);
  /* the same as arrays, and not over one of the inputs */
  char arrays[1024], all[4096];
  snprintf(arrays, sizeof arrays, "%s/both.h5", folder);
  snprintf(all, sizeof all, "%s --arrays '%s'", words, arrays);
  run(all);
  assert_int_equal(access(arrays, R_OK), 0);
  snprintf(all, sizeof all, "%s --arrays '%s/ne.h5'", words, folder);
  assert_int_equal(ci_run(all), 2);
  run(words);
  assert_null(strstr(ci_output, "different Hamiltonians"));
  double gt = 0, fermi = 0;
  const char* at = strstr(ci_output, "\"transitions\"");
  assert_non_null(at);
  while ((at = strstr(at, "\"initial\": 1,"))) {
    const char* end = strchr(at, '}');
    const char *of_gt = strstr(at, "\"B_GT_i_to_f\": "), *of_f = strstr(at, "\"B_F_i_to_f\": ");
    double b_gt = 0, b_f = 0;
    if (of_gt && of_gt < end) b_gt = strtod(of_gt + strlen("\"B_GT_i_to_f\": "), NULL);
    if (of_f && of_f < end) b_f = strtod(of_f + strlen("\"B_F_i_to_f\": "), NULL);
    const double b = b_f + 1.276 * 1.276 * b_gt;
    if (b > 1e-13) ci_close(ci_number(&at, "log_ft"), log10(6144 / b), 1e-12, "log ft");
    assert_true(at < end); /* of this row */
    gt += b_gt;
    fermi += b_f;
    at = end;
  }
  /* all Fermi strength N - Z = 2 is in the analogue state, which is among so many levels */
  ci_close(fermi, 2, 1e-4, "Fermi strength");
  assert_true(gt > 0.5 && gt < 6 + 6); /* S- = 3 (N - Z) + S+, and no more than all pairs have */
  snprintf(words, sizeof words, "transitions --from '%s/ne.h5' --to '%s/ne.h5' --observables gt",
           folder, folder);
  assert_int_equal(ci_run(words), 2);
  snprintf(words, sizeof words,
           "solve -i usdb --protons 2 --neutrons 2 --states 1 --wave '%s/other.h5'", folder);
  run(words);
  snprintf(words, sizeof words, "transitions --from '%s/ne.h5' --to '%s/other.h5'", folder, folder);
  assert_int_equal(ci_run(words), 2);
  assert_non_null(strstr(ci_output, "with a nucleon more"));
  snprintf(words, sizeof words,
           "solve -i usdb --scale none --protons 3 --neutrons 3 --states 1 --wave '%s/as.h5'",
           folder);
  run(words);
  snprintf(words, sizeof words, "transitions --from '%s/ne.h5' --to '%s/as.h5'", folder, folder);
  run(words);
  assert_non_null(strstr(ci_output, "different Hamiltonians"));
  snprintf(words, sizeof words, "transitions --from '%s/ne.h5' --to '%s/none.h5'", folder, folder);
  assert_int_equal(ci_run(words), 2);
  scratch_remove(folder);
}

static void mistakes_are_refused(void** state) {
  (void)state;
  static const char* const cases[][2] = {
      {"solve -i usdb --protons 1 --neutrons 1 --observables e2,magic", "magic"},
      {"solve -i usdb --protons 1 --neutrons 1 --observables gt", "throng ci transitions"},
      {"solve -i usdb --protons 1 --neutrons 1 --charges 1", "--charges 1"},
      {"solve -i usdb --protons 1 --neutrons 1 --charges 1,2,3", "--charges 1,2,3"},
      {"solve -i usdb --protons 1 --neutrons 1 --g 1,0", "--g 1,0"},
      {"solve -i usdb --protons 1 --neutrons 1 --observables nowhere.opme", "nowhere.opme"},
      {"transitions --from nowhere.h5", "--to"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_int_equal(ci_run(cases[i][0]), 2);
    if (!strstr(ci_output, cases[i][1])) fail_msg("%s: %s", cases[i][0], ci_output);
  }
}

int main(void) {
#ifndef TG_HAVE_LAPACK
  puts("skipped: built without LAPACK, which the eigen-solver needs");
  return 0;
#endif
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(magnesium_is_as_known), cmocka_unit_test(the_reference_is_met),
      cmocka_unit_test(people_see_a_table),    cmocka_unit_test(two_files),
      cmocka_unit_test(mistakes_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
