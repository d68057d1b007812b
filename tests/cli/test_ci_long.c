/* SPDX-License-Identifier: Apache-2.0 */
/* The larger cases of the reference, where that is at hand: seconds each. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include "cli/ci_run.h"

static void nuclei(void** state) {
  (void)state;
  if (!ci_case("28Si")) skip();
  static const char* const names[] = {"24Mg", "25Mg", "28Si", "46Ti"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) ci_expect_nucleus(names[i], "");
}

static void molecules(void** state) {
  (void)state;
  if (!ci_case("H2O_6-31g")) skip();
  ci_expect_molecule("CH2_triplet_UHF_6-31g", "CH2_triplet_UHF_6-31g", "--states 1 --irrep 2");
  ci_expect_molecule("H2O_6-31g", "H2O_6-31g", "--states 1 --irrep 1");
}

/* By OpenACC, on one thread of the host where there is no GPU. */
static void openacc(void** state) {
  (void)state;
  const char* made = getenv("TG_TEST_MODULES");
  if (!made || !strstr(made, "acc") || !ci_case("24Mg")) skip();
  ci_expect_nucleus("24Mg", "--backend acc");
  ci_expect_nucleus("6Li Nmax4", "--backend acc");
  ci_expect_molecule("N2_sto-3g_R1.1", "N2_sto-3g_R1.1", "--states 1 --backend acc");
}

int main(void) {
#ifndef TG_HAVE_LAPACK
  puts("skipped: built without LAPACK, which the eigen-solver needs");
  return 0;
#endif
  const struct CMUnitTest tests[] = {cmocka_unit_test(nuclei), cmocka_unit_test(molecules),
                                     cmocka_unit_test(openacc)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
