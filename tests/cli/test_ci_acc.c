/* SPDX-License-Identifier: Apache-2.0 */
/* `throng ci --backend acc`: levels of the reference's small cases, where that is at hand, and what
 * is refused. Without the module acc it says why. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <stdbool.h>

#include "cli/ci_run.h"

/* Is the module there? The build says so to the tests. */
static bool is_made(void) {
  const char* made = getenv("TG_TEST_MODULES");
  return made && strstr(made, "acc");
}

static void levels_without_a_file(void** state) {
  (void)state;
  if (!is_made()) skip();
  static const double energies[] = {-40.47233, -38.72564, -36.29706, -33.77415};
  if (ci_run("solve -i usdb --protons 2 --neutrons 2 --states 4 --json --backend acc") != 0)
    fail_msg("%s", ci_output);
  const char* at = ci_output;
  for (int i = 0; i < 4; i++)
    ci_close(ci_number(&at, "energy_MeV"), energies[i], CI_NUCLEAR_TOLERANCE, "20Ne");
  assert_non_null(strstr(ci_output, "\"storage\": \"stored\""));
  assert_non_null(strstr(ci_output, "OpenACC"));
  assert_int_equal(ci_run("check -i usdb --protons 2 --neutrons 2 --backend acc"), 0);
  assert_non_null(strstr(ci_output, "Backend acc (OpenACC"));
}

/* Where it works on the host, no word of a GPU is true. The name of the module's code apart, which
 * says for which GPUs it would do. */
static void the_host_is_called_the_host(void** state) {
  (void)state;
  if (!is_made()) skip();
  static const char* const asked[] = {
      "solve -i usdb --protons 2 --neutrons 2 --states 4 --backend acc",
      "check -i usdb --protons 2 --neutrons 2 --backend acc",
      "solve -i usdb --protons 6 --neutrons 6 --states 10 --memory 0.02 --backend acc"};
  for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
    ci_run(asked[i]);
    if (i == 0 && !strstr(ci_output, "on the host, one thread")) skip(); /* a GPU is there */
    if (strstr(ci_output, "GPU") || strstr(ci_output, "--gpus") ||
        strstr(ci_output, "MB of the host"))
      fail_msg("%s: %s", asked[i], ci_output);
  }
  assert_non_null(strstr(ci_output, "--backend acc (OpenACC"));
}

static void nuclei_of_the_reference(void** state) {
  (void)state;
  if (!is_made() || !ci_case("20Ne")) skip();
  static const char* const names[] = {"8Be",       "12C",       "18O",      "20Ne",
                                      "3He Nmax2", "6Li Nmax2", "7Li Nmax2"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    ci_expect_nucleus(names[i], "--backend acc");
}

static void molecules_of_the_reference(void** state) {
  (void)state;
  if (!is_made() || !ci_case("LiH_6-31g")) skip();
  static const char* const names[] = {"hande_H2O-RHF-sto-2g", "H2O_sto-3g", "H6_chain_sto-3g",
                                      "LiH_6-31g"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    ci_expect_molecule(names[i], names[i], "--states 1 --backend acc");
}

static void mistakes_are_refused(void** state) {
  (void)state;
  static const char* const cases[][2] = {
      {"solve -i usdb --protons 2 --backend acc --storage fly", "--storage fly"},
      {"solve -i usdb --protons 2 --backend acc --storage mixed", "--storage mixed"},
      {"solve -i usdb --protons 2 --backend acc --pe 2", "one processing element"},
      {"solve -i usdb --protons 2 --backend acc --gpus 1", "--gpus 1"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    if (ci_run(cases[i][0]) != 2) fail_msg("%s: %s", cases[i][0], ci_output);
    assert_non_null(strstr(ci_output, cases[i][1]));
  }
}

/* Where there is MPI: one element needs no transport, and the message says what to leave out. */
static void a_transport_is_refused(void** state) {
  (void)state;
#if defined(TG_HAVE_MPI) && TG_HAVE_MPI
  if (!is_made()) skip();
  assert_int_equal(ci_run("solve -i usdb --protons 2 --backend acc --transport mpi"), 2);
  assert_non_null(strstr(ci_output, "leave out --transport mpi"));
#else
  skip();
#endif
}

/* On the host what the program may take is the module's limit, too. */
static void too_little_memory_is_told(void** state) {
  (void)state;
  if (!is_made()) skip();
  setenv("ACC_DEVICE_TYPE", "host", 1);
  assert_int_equal(ci_run("solve -i usdb --protons 6 --neutrons 6 --backend acc --memory 0.1"), 3);
  assert_non_null(strstr(ci_output, "may be used"));
  unsetenv("ACC_DEVICE_TYPE");
}

/* A folder without modules: what is missing is said, with exit code 3. */
static void a_missing_module_is_told(void** state) {
  (void)state;
  setenv("TG_MODULES", "/nonexistent", 1);
  assert_int_equal(ci_run("solve -i usdb --protons 2 --neutrons 2 --backend acc"), 3);
  assert_non_null(strstr(ci_output, "--backend acc: no throng-acc.so in $TG_MODULES"));
  unsetenv("TG_MODULES");
}

int main(void) {
#ifndef TG_HAVE_LAPACK
  puts("skipped: built without LAPACK, which the eigen-solver needs");
  return 0;
#endif
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(levels_without_a_file),      cmocka_unit_test(nuclei_of_the_reference),
      cmocka_unit_test(molecules_of_the_reference), cmocka_unit_test(mistakes_are_refused),
      cmocka_unit_test(too_little_memory_is_told),  cmocka_unit_test(a_missing_module_is_told),
      cmocka_unit_test(a_transport_is_refused),     cmocka_unit_test(the_host_is_called_the_host),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
