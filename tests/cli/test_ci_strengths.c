/* SPDX-License-Identifier: Apache-2.0 */
/* `throng ci solve --observables`: density matrices, natural orbitals, radii and strength functions
 * as a user asks for them. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include "base/units.h"
#include "ci/results_file.h"
#include "ci_run.h"

#define DATA "tests/ci/data/"

static void solve(const char* words) {
  char line[2048];
  snprintf(line, sizeof line, "solve --threads 1 --json %s", words);
  if (ci_run(line) != 0) fail_msg("%s: %s", words, ci_output);
}

static void refused(const char* words, const char* why) {
  char line[2048];
  snprintf(line, sizeof line, "solve --threads 1 %s", words);
  assert_int_equal(ci_run(line), 2);
  if (!strstr(ci_output, why)) fail_msg("%s: no '%s' in: %s", words, why, ci_output);
}

static void says(const char* what) {
  if (!strstr(ci_output, what)) fail_msg("no '%s' in: %s", what, ci_output);
}

/* The energy from the density matrices is the level's; occupations add up to the electrons. */
static void molecules(void** state) {
  (void)state;
  solve("-i " DATA "lih.fcidump --irrep 1 --states 2 --observables natural,rdm1,rdm2,tdm1");
  const char *at = ci_output, *level = ci_output;
  for (int i = 0; i < 2; i++)
    ci_close(ci_number(&at, "rdm_energy_Ha"), ci_number(&level, "energy_Ha"), 1e-9, "energy");
  at = strstr(ci_output, "\"natural_orbitals\"");
  double sum = 0;
  for (int k = 0; k < 6; k++) sum += ci_number(&at, "occupation");
  ci_close(sum, 4, 1e-6, "electrons");
  says("\"rdm1_1\"");
  says("\"rdm2_2\"");
  says("\"tdm1_1_2\"");
  says("no dipole integrals");
  assert_int_equal(ci_run("solve -i " DATA "lih.fcidump --irrep 1 --states 1 --observables rdm1"),
                   0);
  says("1 array (rdm1_1): not kept; --arrays FILE");
  /* unrestricted orbitals: by spin */
  solve("-i " DATA "uhf_spin.fcidump --states 1 --observables natural,rdm1,rdm2");
  says("\"rdm1_a_1\"");
  says("\"rdm2_ab_1\"");
  says("\"spin\": \"up\"");
  solve("-i " DATA "lih.fcidump --irrep 1 --states 1 --observables rdm2:spins");
  says("\"rdm2_aa_1\"");
  solve("-i " DATA "lih.fcidump --irrep 1 --states 1 --observables rdm1"); /* arrays alone */
  says("\"rdm1_1\"");
}

static void nuclei(void** state) {
  (void)state;
  solve("-i " DATA
        "sp.h2 --protons 2 --neutrons 2 --nmax 0 --hw 20 --trel --states 1 "
        "--observables radii,strength:e1:5");
  /* sqrt(9/8 b^2), and 3/4 hw of each nucleon less that of the centre of mass */
  ci_close(ci_first("r_matter_fm"), sqrt(1.125 * TG_HBAR2_PER_NUCLEON / 20), 1e-10, "radius");
  ci_close(ci_first("T_rel_MeV"), 45, 1e-10, "kinetic energy");
  /* e r Y1 with charges 1/2 and -1/2 on four nucleons: 4 (1/4) 3/(4 pi) (3/2) b^2, all of which
     leads to the p shell that the space of the other parity has */
  const double total = 0.375 * TG_HBAR2_PER_NUCLEON / 20 * 3 / acos(-1);
  ci_close(ci_first("B_total"), total, 1e-9, "E1");
  ci_close(ci_first("sum_rule"), total, 1e-9, "E1");
  solve(
      "-i usdb --protons 2 --neutrons 2 --states 2 --tolerance 1e-8 --observables "
      "strength:e2:40,strength:gt+:40,strength:gt-:40:1:2");
  /* the strength of one level is the line that became it */
  const char* at = strstr(ci_output, "\"strength\": [");
  ci_close(ci_number(&at, "excitation_MeV"), 1.746686, 1e-5, "2+");
  ci_close(ci_number(&at, "B"), 228.8628, 1e-3, "B(E2)");
  at = strstr(ci_output, "\"strength_sums\": [");
  double sum[6];
  for (int k = 0; k < 6; k++) sum[k] = ci_number(&at, "B_total");
  ci_close(sum[2], sum[4], 1e-8, "Ikeda's rule for N = Z");
  says("\"operator\": \"gt-\"");
  solve("-i usdb --protons 1 --neutrons 1 --states 1 --observables all");
  says("radii need an input without a core");
}

/* 15N is 16O with a hole, which the p shell makes of one state: C2S = 2j + 1. */
static void two_nuclei(void** state) {
  (void)state;
  if (!tg_ci_results_library()) skip();
  char folder[] = "/tmp/throng-strengths-XXXXXX", words[1024];
  assert_non_null(mkdtemp(folder));
  snprintf(words, sizeof words,
           "solve --threads 1 -i ckpot --protons 6 --neutrons 6 --wave %s/o16.h5", folder);
  if (ci_run(words) != 0) fail_msg("%s", ci_output);
  snprintf(words, sizeof words,
           "solve --threads 1 -i ckpot --protons 5 --neutrons 6 --wave %s/n15.h5", folder);
  if (ci_run(words) != 0) fail_msg("%s", ci_output);
  for (int back = 0; back < 2; back++) {
    snprintf(words, sizeof words,
             "transitions --from %s/%s.h5 --to %s/%s.h5 --observables spectroscopic --json", folder,
             back ? "n15" : "o16", folder, back ? "o16" : "n15");
    if (ci_run(words) != 0) fail_msg("%s", ci_output);
    const char* at = strstr(ci_output, "\"spectroscopic\": [");
    assert_non_null(at);
    ci_close(ci_number(&at, "J_smaller"), 0.5, 0, "15N");
    ci_close(ci_number(&at, "S"), 2, 1e-9, "p1/2 hole");
    ci_close(ci_number(&at, "J_smaller"), 1.5, 0, "15N");
    ci_close(ci_number(&at, "S"), 4, 1e-9, "p3/2 hole");
    at = strstr(at, "\"spectroscopic_sums\": [");
    const double sum = ci_number(&at, "sum");
    ci_close(sum, ci_number(&at, "sum_rule"), 1e-9, "sum rule");
  }
  snprintf(words, sizeof words, "rm -r %s", folder);
  assert_int_equal(system(words), 0);
}

static void mistakes(void** state) {
  (void)state;
  static const char usdb[] = "-i usdb --protons 2 --neutrons 0 --states 1 --observables ";
  char words[256];
  static const char* const cases[][2] = {{"strength:e5", "no operator 'e5'"},
                                         {"strength:e2:0", "STEPS"},
                                         {"strength:e2:10:1:-3", "WIDTH"},
                                         {"strength:e2:10:1:1:1", "expected"},
                                         {"strength:gt+", "needs a neutron"},
                                         {"strength", "expected"},
                                         {"rdm2", "molecules"},
                                         {"strength:e2:10:7", "no level 7"}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    snprintf(words, sizeof words, "%s%s", usdb, cases[k][0]);
    refused(words, cases[k][1]);
  }
  refused("-i " DATA "lih.fcidump --observables rdm2:all", "rdm2:spins");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(molecules),
      cmocka_unit_test(nuclei),
      cmocka_unit_test(two_nuclei),
      cmocka_unit_test(mistakes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
