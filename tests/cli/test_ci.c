/* SPDX-License-Identifier: Apache-2.0 */
/* Runs `throng ci` on interactions that need no file, on the files of tests/ci/data, on the
 * reference where that is at hand, and on what it must refuse. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <unistd.h>

#include "base/scratch.h"
#include "cli/ci_run.h"

typedef struct level {
  double energy;
  int two_j, two_t;
} level;

/* Energies by two other programs, with the interactions of the same tables. */
static void expect_levels(const char* words, size_t count, const level* levels) {
  char line[512];
  snprintf(line, sizeof line, "solve %s --states %zu --json", words, count);
  if (ci_run(line) != 0) fail_msg("%s: %s", words, ci_output);
  const char* at = ci_output;
  for (size_t i = 0; i < count; i++) {
    ci_close(ci_number(&at, "energy_MeV"), levels[i].energy, CI_NUCLEAR_TOLERANCE, words);
    ci_close(ci_number(&at, "two_J"), levels[i].two_j, 0, words);
    if (levels[i].two_t >= 0) ci_close(ci_number(&at, "two_T"), levels[i].two_t, 0, words);
    ci_close(ci_number(&at, "parity"), 1, 0, words);
    assert_true(ci_number(&at, "residual_MeV") <= 1e-4);
  }
  assert_non_null(strstr(ci_output, "\"checked\": true"));
}

static void p_shell_nuclei(void** state) {
  (void)state;
  static const level beryllium[] = {{-31.11941, 0, 0},
                                    {-27.29972, 4, 0},
                                    {-19.16182, 8, 0},
                                    {-18.24875, 4, 0},
                                    {-16.72220, 2, 0}};
  static const level carbon[] = {{-71.04467, 0, 0},  {-66.39703, 4, 0}, {-58.59552, 2, 0},
                                 {-57.57795, 0, 0},  {-57.54143, 8, 0}, {-55.96040, 2, 2},
                                 {-55.31492, 4, -1}, {-54.35402, 4, -1}};
  expect_levels("-i ckpot --protons 2 --neutrons 2", 5, beryllium);
  expect_levels("-i builtin:ckpot --protons 4 --neutrons 4", 8, carbon);
}

static void sd_shell_nuclei(void** state) {
  (void)state;
  static const level oxygen[] = {{-11.93179, 0, 2}, {-9.93335, 4, 2}, {-8.40459, 8, 2},
                                 {-7.57171, 4, 2},  {-7.33926, 0, 2}, {-6.50542, 6, 2}};
  static const level neon[] = {{-40.47233, 0, 0},  {-38.72564, 4, 0},  {-36.29706, 8, 0},
                               {-33.77415, 0, 0},  {-32.92937, 4, 0},  {-31.92520, 12, 0},
                               {-30.52700, 8, -1}, {-30.51424, 4, -1}, {-29.98738, 6, -1},
                               {-29.97915, 4, -1}};
  static const level magnesium[] = {{-87.10445, 0, 0}, {-85.60215, 4, 0}, {-82.98830, 4, 0}};
  expect_levels("-i usdb --neutrons 2", 6, oxygen);
  expect_levels("-i usdb --protons 2 --neutrons 2", 10, neon);
  expect_levels("-i usdb --protons 2 --neutrons 2 --storage fly --threads 2", 10, neon);
  expect_levels("-i usdb --protons 2 --neutrons 2 --storage stored --check always", 10, neon);
  expect_levels("-i usdb --protons 4 --neutrons 4", 3, magnesium);
}

/* A level of spin J has a state for each M up to J: the same energies, the lower J gone. */
static void every_m_shows_the_same_levels(void** state) {
  (void)state;
  static const level all[] = {{-40.47233, 0, 0}, {-38.72564, 4, 0}, {-36.29706, 8, 0},
                              {-33.77415, 0, 0}, {-32.92937, 4, 0}, {-31.92520, 12, 0}};
  for (int two_m = -4; two_m <= 12; two_m += 4) {
    level seen[6];
    size_t count = 0;
    char words[128];
    for (int i = 0; i < 6; i++)
      if (all[i].two_j >= abs(two_m)) seen[count++] = all[i];
    snprintf(words, sizeof words, "-i usdb --protons 2 --neutrons 2 --two-m %d", two_m);
    expect_levels(words, two_m == 12 ? 1 : count, two_m == 12 ? &all[5] : seen);
  }
}

/* Without an interaction all levels of an orbit are one: each still gets a J of its own. */
static void levels_at_one_energy_are_parted(void** state) {
  (void)state;
  assert_int_equal(
      ci_run("solve -i sdi:0d5/2=-1.5,1s1/2=-1.5:AT0=0,AT1=0,Z=8,N=8 --neutrons 3 --json"), 0);
  /* three particles in d5/2 s1/2 with 2M = 1: (d5/2)^3 3/2 5/2 9/2; (d5/2)^2 of J = 0, 2, 4 with
   * s1/2: 1/2, 3/2 5/2, 7/2 9/2; d5/2 (s1/2)^2: 5/2 */
  static const int expected[] = {1, 2, 3, 1, 2}; /* levels of 2J = 1, 3, 5, 7, 9 */
  int found[5] = {0};
  const char* at = ci_output;
  for (int i = 0; i < 9; i++) {
    ci_close(ci_number(&at, "energy_MeV"), -4.5, 1e-9, "no interaction");
    const int two_j = (int)ci_number(&at, "two_J");
    if (two_j >= 1 && two_j <= 9) found[two_j / 2]++;
  }
  for (int k = 0; k < 5; k++) assert_int_equal(found[k], expected[k]);
}

/* Two electrons of each spin in four orbitals of two symmetries: all states, restricted or as an
 * unrestricted dump of the same integrals in either layout. */
static void molecules_of_one_kind_agree(void** state) {
  (void)state;
  static const char* const files[] = {"rhf", "same_spin", "same_sections"};
  double energies[3][8];
  for (int f = 0; f < 3; f++) {
    char line[256];
    snprintf(line, sizeof line, "solve -i tests/ci/data/%s.fcidump --states 2 --json", files[f]);
    if (ci_run(line) != 0) fail_msg("%s: %s", line, ci_output);
    const char* at = ci_output;
    for (int i = 0; i < 8; i++) {
      energies[f][i] = ci_number(&at, "energy_Ha");
      ci_close(energies[f][i], energies[0][i], CI_MOLECULAR_TOLERANCE, line);
    }
    assert_non_null(strstr(ci_output, "\"S\": "));
  }
  /* a triplet is there for each Sz, a singlet for 0 alone */
  assert_int_equal(ci_run("solve -i tests/ci/data/rhf.fcidump --states 2 --json"), 0);
  double triplet = NAN;
  for (const char* at = ci_output; strstr(at, "energy_Ha") && isnan(triplet);) {
    const double energy = ci_number(&at, "energy_Ha");
    if (ci_number(&at, "two_S") == 2) triplet = energy;
  }
  assert_int_equal(ci_run("solve -i tests/ci/data/rhf.fcidump --two-sz 2 --states 1 --json"), 0);
  ci_close(ci_first("energy_Ha"), triplet, CI_MOLECULAR_TOLERANCE, "the lowest triplet");
}

/* 93,710 states and their pairs by two other programs; the 1,087,455,228 states of 56Ni are
 * counted, and not kept. */
static void check_counts_and_estimates(void** state) {
  (void)state;
  assert_int_equal(ci_run("check -i usdb"), 0);
  assert_non_null(strstr(ci_output, "core: 8 protons, 8 neutrons"));
  assert_non_null(strstr(ci_output, "(18/A)^0.3"));
  assert_non_null(strstr(ci_output, "-3.92570"));
  assert_null(strstr(ci_output, "matrix elements"));
  assert_int_equal(ci_run("check -i usdb --protons 6 --neutrons 6"), 0);
  assert_non_null(strstr(ci_output, "93710"));
  assert_non_null(strstr(ci_output, "25253854 matrix elements"));
  assert_int_equal(ci_run("check -i usdb --protons 2 --neutrons 2 --json"), 0);
  ci_close(ci_first("dimension"), 640, 0, "20Ne");
  ci_close(ci_first("pairs"), 54624, 0, "20Ne");
  assert_int_equal(ci_run("check -i sdi:0f7/2,1p3/2,0f5/2,1p1/2:AT0=1,AT1=1,Z=20,N=20 --protons 8 "
                          "--neutrons 8 --memory 4 --json"),
                   0);
  assert_non_null(strstr(ci_output, "1087455228"));
  assert_non_null(strstr(ci_output, "impossible"));
  assert_int_equal(ci_run("check -i tests/ci/data/rhf.fcidump"), 0);
  assert_non_null(strstr(ci_output, "4 electrons, 2Sz = 0"));
  assert_int_equal(ci_run("check -i usdb --neutrons 2 --memory 0.0003"), 0);
  assert_non_null(strstr(ci_output, "by itself; allow more"));
  assert_int_equal(ci_run("check -i usdb --protons 13"), 2);
  assert_int_equal(ci_run("check -i missing.snt"), 2);
}

/* Irreps end at different energies: up to the lowest end all levels are there, and beyond some of a
 * longer list are not. One irrep alone, or all levels of all, leave nothing out. */
static void lists_say_where_they_are_complete(void** state) {
  (void)state;
  enum { SHORT = 3, LONG = 8 };
  static double longer[256];
  size_t count = 0, below = 0;
  assert_int_equal(ci_run("solve -i examples/molecules/lih.fcidump --states 8 --json"), 0);
  const double far = ci_first("complete_to_Ha");
  for (const char* at = ci_output; strstr(at, "\"energy_Ha\"");)
    longer[count++] = ci_number(&at, "energy_Ha");
  assert_int_equal(count, 4 * LONG);
  assert_int_equal(ci_run("solve -i examples/molecules/lih.fcidump --states 3 --json"), 0);
  const double near = ci_first("complete_to_Ha");
  ci_close(longer[0], -7.882324379, CI_MOLECULAR_TOLERANCE, "full CI by PySCF");
  assert_true(near < far);
  for (const char* at = ci_output; strstr(at, "\"energy_Ha\""); below++) {
    const double energy = ci_number(&at, "energy_Ha");
    if (energy > near + CI_MOLECULAR_TOLERANCE) break;
    ci_close(energy, longer[below], CI_MOLECULAR_TOLERANCE, "a level where all are");
  }
  assert_true(below >= SHORT && below < 4 * SHORT);
  assert_int_equal(ci_run("solve -i examples/molecules/lih.fcidump --states 3"), 0);
  assert_non_null(strstr(ci_output, " *\n"));
  assert_int_equal(ci_run("solve -i examples/molecules/lih.fcidump --irrep 1 --json"), 0);
  assert_null(strstr(ci_output, "complete_to"));
  assert_int_equal(ci_run("solve -i tests/ci/data/rhf.fcidump --irrep 1"), 0);
  assert_null(strstr(ci_output, " *\n"));
}

/* The second level of a J says so; each error bound is at least what an energy's digits hold. */
static void levels_of_a_j_are_counted(void** state) {
  (void)state;
  static const int twos_and_zeros[] = {1, 1, 1, 2, 2, 1}; /* 0+ 2+ 4+ 0+ 2+ 6+ */
  assert_int_equal(ci_run("solve -i usdb --protons 2 --neutrons 2 --states 6 --json"), 0);
  const char* at = ci_output;
  for (int i = 0; i < 6; i++) {
    const double energy = ci_number(&at, "energy_MeV");
    ci_close(ci_number(&at, "n"), twos_and_zeros[i], 0, "n");
    assert_true(ci_number(&at, "error_bound_MeV") >= 0x1p-52 * fabs(energy));
  }
}

static void a_table_and_a_file_are_written(void** state) {
  (void)state;
  const char* folder = scratch_make();
  char line[4096];
  snprintf(line, sizeof line, "solve -i ckpot --protons 2 --neutrons 2 --json-file '%s'",
           scratch_path(folder, "levels.json"));
  assert_int_equal(ci_run(line), 0);
  assert_non_null(strstr(ci_output, "51 states"));
  assert_non_null(strstr(ci_output, "-31.11941"));
  FILE* stream = fopen(scratch_path(folder, "levels.json"), "r");
  assert_non_null(stream);
  ci_output[fread(ci_output, 1, sizeof ci_output - 1, stream)] = '\0';
  fclose(stream);
  ci_close(ci_first("energy_MeV"), -31.11941, CI_NUCLEAR_TOLERANCE, "the file's first level");
  scratch_remove(folder);
}

static void mistakes_are_refused(void** state) {
  (void)state;
  static const struct {
    const char* words;
    int code;
    const char* says;
  } cases[] = {
      {"", 2, "--input"},
      {"-i missing.snt --protons 1", 2, "missing.snt"},
      {"-i builtin:nothing --protons 1", 2, "no such interaction"},
      {"-i usda --protons 1", 2, "usdb (sd shell), ckpot"},
      {"-i usdb", 2, "--protons"},
      {"-i usdb --protons 13 --neutrons 2", 2, "13 protons do not fit"},
      {"-i usdb --protons 2 --neutrons -1", 2, "no negative number"},
      {"-i usdb --protons 0 --neutrons 0", 2, "at least one particle"},
      {"-i usdb --protons 2 --neutrons 2 --two-m 1", 2, "must be even"},
      {"-i usdb --protons 2 --neutrons 1 --two-m 0", 2, "must be odd"},
      {"-i usdb --protons 2 --neutrons 2 --two-m 98", 2, "2M from"},
      {"-i usdb --protons 2 --neutrons 2 --parity -", 2, "negative parity"},
      {"-i usdb --protons 2 --neutrons 2 --parity 0", 2, "expected one of"},
      {"-i usdb --neutrons 2 --states 15", 2, "there are only 14"},
      {"-i usdb --neutrons 2 --states 0", 2, "--states 0"},
      {"-i usdb --neutrons 2 --threads 0", 2, "--threads 0"},
      {"-i usdb --neutrons 2 --pe 0", 2, "from 1 to 65536"},
      {"-i usdb --neutrons 2 --pe 65537", 2, "from 1 to 65536"},
      {"-i usdb --neutrons 2 --pe 257", 2, "mpirun -n"},
      {"-i usdb --neutrons 2 --tolerance 0", 2, "--tolerance 0"},
      {"-i usdb --neutrons 2 --memory 0", 2, "--memory 0"},
      {"-i usdb --neutrons 2 --memory -1", 2, "--memory -1"},
      {"-i usdb --neutrons 2 --tolerance -1", 2, "--tolerance -1"},
      {"-i usdb --protons 4 --neutrons 4 --memory 1e-4", 3, "may be used"},
      {"-i usdb --protons 6 --neutrons 6 --memory 0.2 --storage stored", 3, "--storage fly"},
      {"-i usdb --protons 2 --neutrons 2 --memory 0.0003 --storage fly", 3, "by itself"},
      {"-i usdb --neutrons 2 --memory 1e-30", 3, "by itself"}, /* not no limit */
      {"-i usdb --neutrons 2 --hw -5", 2, "hw"},
      {"-i usdb --neutrons 2 --hw 0", 2, "--hw 0"},
      {"-i usdb --neutrons 2 --nmax -1", 2, "nmax -1"},
      {"-i usdb --neutrons 2 --beta-cm 1", 2, "without a core"},
      {"-i usdb --neutrons 2 --trel", 2, "--trel"},
      {"-i usdb --neutrons 2 --electrons 2", 2, "nucleus"},
      {"-i usdb --neutrons 2 --irrep 1", 2, "--parity"},
      {"-i usdb --neutrons 2 --scale nonsense", 2, "A0,p"},
      {"-i usdb --neutrons 2 --format snt --format snt", 2, "2 times for 1 inputs"},
      {"-i usdb --neutrons 2 --format foo", 2, "foo"},
      {"-i usdb -i ckpot --neutrons 2", 2, "core"},
      {"-i usdb --neutrons 2 --storage disk", 2, "auto|stored|fly"},
      {"-i usdb --neutrons 2 --json-file /no/such/folder/x", 2, "/no/such/folder"},
      {"-i usdb --neutrons 2 --neutron 2", 2, "did you mean --neutrons"},
      {"-i tests/ci/data/rhf.fcidump --protons 2", 2, "molecule"},
      {"-i tests/ci/data/rhf.fcidump --two-m 0", 2, "--two-sz"},
      {"-i tests/ci/data/rhf.fcidump --parity +", 2, "--irrep"},
      {"-i tests/ci/data/rhf.fcidump --nmax 2", 2, "--nmax"},
      {"-i tests/ci/data/rhf.fcidump --electrons 9", 2, "do not fit"},
      {"-i tests/ci/data/rhf.fcidump --electrons 0", 2, "at least one"},
      {"-i tests/ci/data/rhf.fcidump --two-sz 1", 2, "must be even"},
      {"-i tests/ci/data/rhf.fcidump --two-sz 6", 2, "more than 4 electrons"},
      {"-i tests/ci/data/rhf.fcidump --irrep 9", 2, "1 to 8"},
      {"-i tests/ci/data/rhf.fcidump --irrep 8", 2, "irreps 1, 2, 3, 4"},
      {"-i tests/ci/data/rhf.fcidump --irrep 2 --states 9", 2, "only 8"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char line[512];
    snprintf(line, sizeof line, "solve %s", cases[i].words);
    const int code = ci_run(line);
    if (code != cases[i].code || !strstr(ci_output, cases[i].says) ||
        !strstr(ci_output, "throng: ") || strstr(ci_output, "excitation"))
      fail_msg("%s: exit code %d, not %d, or '%s' is not in: %s", cases[i].words, code,
               cases[i].code, cases[i].says, ci_output);
  }
}

/* Ctrl-C ends a long run soon, with its own exit code. */
static void an_interrupted_run_says_so(void** state) {
  (void)state;
  char line[2048];
  snprintf(line, sizeof line,
           "timeout --foreground -s INT --preserve-status 2 '%s' ci solve -i usdb --protons 6 "
           "--neutrons 6 "
           "--states 300 --tolerance 1e-9 2>&1",
           TG_PROGRAM);
  FILE* pipe = popen(line, "r");
  assert_non_null(pipe);
  ci_output[fread(ci_output, 1, sizeof ci_output - 1, pipe)] = '\0';
  const int ended = pclose(pipe);
  assert_int_equal(WEXITSTATUS(ended), 130);
  assert_non_null(strstr(ci_output, "throng: interrupted"));
}

static void the_reference_is_met(void** state) {
  (void)state;
  if (!ci_case("8Be")) skip();
  static const char* const nuclei[] = {"8Be",       "12C",       "18O",       "20Ne",
                                       "3He Nmax2", "6Li Nmax2", "6Li Nmax4", "7Li Nmax2"};
  for (size_t i = 0; i < sizeof nuclei / sizeof *nuclei; i++) ci_expect_nucleus(nuclei[i], "");
  static const char* const molecules[] = {"H2O_sto-3g", "H6_chain_sto-3g", "LiH_6-31g",
                                          "hande_H2O-RHF-sto-2g", "N2_sto-3g_R1.1"};
  for (size_t i = 0; i < sizeof molecules / sizeof *molecules; i++)
    ci_expect_molecule(molecules[i], molecules[i], "--states 1");
  static const char n2[] = "block2_N2.STO3G.RHF and .UHF";
  ci_expect_molecule(n2, "block2_N2.STO3G.RHF", "--states 1");
  ci_expect_molecule(n2, "block2_N2.STO3G.UHF", "--states 1");
}

/* Lawson's term leaves states alone whose centre of mass is not excited, and lifts the others out
 * of the way; the same nucleus from h2 files, whose kinetic energy is added. */
static void the_centre_of_mass_is_held(void** state) {
  (void)state;
  if (!ci_case("7Li Nmax2")) skip();
  static const double levels[] = {-21.82733, -19.49322, -16.70778, -12.75319,
                                  -10.01222, -8.97812,  -7.15087};
  assert_int_equal(ci_run("solve -i '" CI_SHARED "snt/jisp16_A7_Nmax2.snt' --protons 3 --neutrons "
                          "4 --nmax 2 --hw 20 --beta-cm 3.5 --states 7 --json"),
                   0);
  const char* at = ci_output;
  for (int i = 0; i < 7; i++) {
    ci_close(ci_number(&at, "energy_MeV"), levels[i], CI_NUCLEAR_TOLERANCE, "7Li");
    ci_close(ci_number(&at, "cm_excitation_MeV"), 0, 1e-4, "7Li");
  }
  assert_int_equal(
      ci_run("solve -i '" CI_SHARED "h2/jisp16_Nmax02_hw20.0_h2v15099.dat' -i '" CI_SHARED
             "h2/coulomb_Nmax02_p_h2v15099.dat' --hw 20 --trel --protons 2 "
             "--neutrons 1 --nmax 2 --states 1 --json"),
      0);
  ci_close(ci_first("energy_MeV"), -4.39584, CI_NUCLEAR_TOLERANCE, "3He");
  ci_close(ci_first("dimension"), 41, 0, "3He");
}

/* Without a core nothing is guessed: orbits and elements must go as far as nmax does, and lengths
 * need hw. */
static void cut_inputs_and_unknown_hw_are_refused(void** state) {
  (void)state;
#define H2 "-i tests/ci/data/sp.h2 "
  static const struct {
    const char* words;
    int code;
    const char* says;
  } cases[] = {
      {H2 "--hw 20 --protons 2 --neutrons 1 --nmax 1", 0, "c.m."},
      {H2 "--hw 20 --protons 2 --neutrons 1 --nmax 2", 2, "good for --nmax 1 at most"},
      {H2 "--hw 20 --protons 2 --neutrons 1 --nmax 2 --allow-cut", 0, "the input is cut"},
      {H2 "--hw 20 --protons 3 --neutrons 1 --nmax 0", 0, "#"},
      {H2 "--hw 20 --protons 3 --neutrons 1 --nmax 1", 2, "--nmax 0 at most"},
      {H2 "--protons 2 --neutrons 1", 0, "c.m. is left out"},
      {H2 "--protons 2 --neutrons 1 --beta-cm 1", 2, "--hw"},
      {H2 "--protons 2 --neutrons 1 --trel", 2, "--hw"},
      {H2 "--protons 2 --neutrons 1 --observables radii", 2, "--hw"},
      {H2 "--protons 2 --neutrons 1 --observables e2", 2, "--hw"},
      {H2 "--protons 2 --neutrons 1 --observables strength:e1", 2, "--hw"},
  };
#undef H2
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char line[512];
    snprintf(line, sizeof line, "solve --states 1 %s", cases[i].words);
    const int code = ci_run(line);
    if (code != cases[i].code || !strstr(ci_output, cases[i].says))
      fail_msg("%s: exit code %d, not %d, or '%s' is not in: %s", cases[i].words, code,
               cases[i].code, cases[i].says, ci_output);
  }
  if (!ci_case("6Li Nmax2")) return;
  assert_int_equal(ci_run("solve -i '" CI_SHARED "snt/jisp16_A6_Nmax2.snt' --protons 3 --neutrons "
                          "3 --nmax 4 --states 1"),
                   2);
  assert_non_null(strstr(ci_output, "good for --nmax 2 at most"));
}

int main(void) {
#ifndef TG_HAVE_LAPACK
  puts("skipped: built without LAPACK, which the eigen-solver needs");
  return 0;
#endif
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(p_shell_nuclei),
      cmocka_unit_test(sd_shell_nuclei),
      cmocka_unit_test(every_m_shows_the_same_levels),
      cmocka_unit_test(levels_at_one_energy_are_parted),
      cmocka_unit_test(molecules_of_one_kind_agree),
      cmocka_unit_test(check_counts_and_estimates),
      cmocka_unit_test(lists_say_where_they_are_complete),
      cmocka_unit_test(levels_of_a_j_are_counted),
      cmocka_unit_test(a_table_and_a_file_are_written),
      cmocka_unit_test(mistakes_are_refused),
      cmocka_unit_test(an_interrupted_run_says_so),
      cmocka_unit_test(the_reference_is_met),
      cmocka_unit_test(the_centre_of_mass_is_held),
      cmocka_unit_test(cut_inputs_and_unknown_hw_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
