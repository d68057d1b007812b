/* SPDX-License-Identifier: Apache-2.0 */
/* Restrictions of the space on the command line of `throng ci`; the same question in several
 * formats; many orbitals; and what must be refused. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include "base/scratch.h"
#include "cli/ci_run.h"

#define DATA "tests/ci/data/"

enum { MOST_LEVELS = 64 };

/* Runs solve; the energies of all levels in order, in unit; returns how many. */
static int energies_of(const char* words, const char* unit, double* energies) {
  char line[2048], key[64];
  int count = 0;
  snprintf(line, sizeof line, "solve %s --json", words);
  snprintf(key, sizeof key, "\"energy_%s\": ", unit);
  if (ci_run(line) != 0) fail_msg("%s: %s", words, ci_output);
  for (const char* at = ci_output; (at = strstr(at, key)) && count < MOST_LEVELS;) {
    at += strlen(key);
    energies[count++] = strtod(at, NULL);
  }
  return count;
}

/* Two runs with the same levels, within a tolerance. */
static void expect_same(const char* one, const char* other, const char* unit, double tolerance) {
  double a[MOST_LEVELS], b[MOST_LEVELS];
  const int count = energies_of(one, unit, a);
  if (energies_of(other, unit, b) != count) fail_msg("%s: not as many levels as %s", other, one);
  assert_true(count > 0);
  for (int i = 0; i < count; i++) ci_close(b[i], a[i], tolerance, other);
}

/* A partition file, the occupations it stands for, and particles of the p shell counted above
 * 0p3/2 are one space. */
static void one_space_in_several_words(void** state) {
  (void)state;
  /* protons (p1/2 p3/2) 0 3, 1 2; neutrons 0 2, 1 1, 2 0; pairs 1-1, 1-2, 2-1, 2-3 */
  static const char by_file[] = "-i " DATA "p.snt --partition " DATA "p.ptn --states 20";
  double energies[MOST_LEVELS];
  const int count = energies_of(by_file, "MeV", energies);
  assert_int_equal((int)ci_first("protons"), 3);
  assert_int_equal((int)ci_first("neutrons"), 2);
  assert_int_equal((int)ci_first("parity"), -1);
  assert_non_null(strstr(ci_output, "2 partitions of protons, 3 of neutrons, 4 pairs"));
  assert_true(count > 5);
  expect_same(by_file,
              "-i " DATA "p.snt --partition " DATA
              "p.ptn --protons 3 --neutrons 2 --parity - "
              "--states 20",
              "MeV", 1e-6);
  const char* folder = scratch_make();
  char path[512], words[1024];
  snprintf(path, sizeof path, "%s", scratch_path(folder, "up.ptn"));
  FILE* stream = fopen(path, "w");
  assert_non_null(stream);
  fputs("2 2 1\n3 3\n1 0 2\n2 1 1\n3 2 0\n1 0 2\n2 1 1\n3 2 0\n3\n1 1\n1 2\n2 1\n", stream);
  fclose(stream);
  snprintf(words, sizeof words, "-i ckpot --partition '%s' --states 15", path);
  /* 0p1/2 lies above 0p3/2 in ckpot */
  expect_same(words, "-i ckpot --protons 2 --neutrons 2 --states 15 --excitations 1", "MeV", 1e-6);
  expect_same("-i ckpot --protons 2 --neutrons 2 --states 12 --occupation p0p1/2:0,n0p1/2:0..1",
              "-i ckpot --protons 2 --neutrons 2 --states 12 --occupation "
              "p:0p3/2:2,n:0p3/2:1..",
              "MeV", 1e-6);
  expect_same("-i usdb --protons 7 --neutrons 6 --frozen 0d5/2 --states 2",
              "-i usdb --protons 7 --neutrons 6 --occupation p0d5/2:6,n0d5/2:6 --states 2", "MeV",
              1e-6);
  scratch_remove(folder);
}

/* One J: the levels of a table for all J. */
static void one_j(void** state) {
  (void)state;
  static const double twos[] = {-66.39703, -55.31492, -54.35402, -52.91529};
  double energies[MOST_LEVELS];
  assert_int_equal(
      energies_of("-i ckpot --protons 4 --neutrons 4 --j 2 --states 4", "MeV", energies), 4);
  assert_int_equal((int)ci_first("only_two_J"), 4);
  assert_int_equal((int)ci_first("two_m"), 4);
  for (int i = 0; i < 4; i++) ci_close(energies[i], twos[i], CI_NUCLEAR_TOLERANCE, "12C 2+");
  assert_null(strstr(ci_output, "\"checked\": false"));
  for (const char* at = ci_output; strstr(at, "\"two_J\": ");)
    ci_close(ci_number(&at, "two_J"), 4, 0, "12C 2+");
  expect_same("-i usdb --protons 4 --neutrons 4 --j 0 --states 2",
              "-i usdb --protons 4 --neutrons 4 --j 0 --states 2 --storage stored --check always",
              "MeV", 1e-6);
  ci_close(ci_first("energy_MeV"), -87.10445, CI_NUCLEAR_TOLERANCE, "24Mg");
  expect_same("-i usdb --protons 2 --neutrons 3 --j 5/2 --states 3",
              "-i usdb --protons 2 --neutrons 3 --j 2.5 --states 3", "MeV", 1e-6);
}

/* Spins by themselves; frozen orbitals are doubly occupied ones. */
static void molecules(void** state) {
  (void)state;
  double singlets[MOST_LEVELS], triplets[MOST_LEVELS], all[MOST_LEVELS];
  const int ones = energies_of("-i " DATA "rhf.fcidump --spin 0 --states 2", "Ha", singlets);
  const int threes = energies_of("-i " DATA "rhf.fcidump --spin 1 --states 2", "Ha", triplets);
  energies_of("-i " DATA "rhf.fcidump --states 2", "Ha", all);
  assert_true(ones == 8 && threes == 8);
  ci_close(fmin(singlets[0], triplets[0]), all[0], CI_MOLECULAR_TOLERANCE, "lowest");
  expect_same("-i " DATA "rhf.fcidump --frozen 1-1 --states 2",
              "-i " DATA "same_spin.fcidump --frozen 1-1 --states 2", "Ha", 1e-9);
  expect_same("-i " DATA "uhf_sections.fcidump --active 2:2,4 --states 2",
              "-i " DATA "uhf_spin.fcidump --active 2:2,4 --states 2", "Ha", 1e-9);
  expect_same("-i " DATA "rhf.fcidump --occupation 1:2 --states 2",
              "-i " DATA "rhf.fcidump --frozen 1-1 --states 2", "Ha", 1e-9);
}

/* Complete active spaces by PySCF 2's CASCI from the same integrals and orbitals. */
static void active_spaces_of_the_reference(void** state) {
  (void)state;
  if (!ci_case("LiH_6-31g")) skip();
  static const struct {
    const char* words;
    double energy;
  } cases[] = {
      {"N2_sto-3g_R1.1.FCIDUMP' --active 6,6", -107.623101772297},
      {"N2_sto-3g_R1.1.FCIDUMP' --active 6:3-5,8-10 --spin 0", -107.623101772297},
      {"H2O_6-31g.FCIDUMP' --active 6:3-5,8-12", -76.033249334314},
      {"H2O_6-31g.FCIDUMP' --frozen 1", -76.119955187959},
      {"LiH_6-31g.FCIDUMP' --frozen 1-1", -7.998000321959},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char line[512];
    double energies[MOST_LEVELS];
    snprintf(line, sizeof line, "-i '" CI_SHARED "fcidump/%s --irrep 1 --states 1 --tolerance 1e-6",
             cases[i].words);
    energies_of(line, "Ha", energies);
    ci_close(energies[0], cases[i].energy, CI_MOLECULAR_TOLERANCE, cases[i].words);
  }
}

/* ---- one interaction, several formats ---- */

static void formats_agree(void** state) {
  (void)state;
  static const char nucleus[] = "--protons 3 --neutrons 2 --states 8";
  static const char* const files[] = {
      DATA "p.sps -i " DATA "p_iso.int",
      DATA "p.sps -i " DATA "p_xpn.int",
      DATA "p.sp -i " DATA "p_upn.int --format auto --format upn",
      DATA "p_pn.sp -i " DATA "p_xpn.int --format auto --format xpn",
  };
  char snt[512], other[512];
  snprintf(snt, sizeof snt, "-i " DATA "p.snt %s", nucleus);
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    snprintf(other, sizeof other, "-i %s %s", files[i], nucleus);
    /* the files have four to six decimals */
    expect_same(snt, other, "MeV", 1e-4);
  }
  /* without a core: V, the Coulomb energy and the kinetic energy from two files and a formula, or
   * from the columns of one */
  static const char three[] = "--hw 20 --protons 2 --neutrons 1 --states 6";
  snprintf(snt, sizeof snt, "-i " DATA "sp.h2 -i " DATA "sp_coulomb.h2 --trel %s", three);
  snprintf(other, sizeof other, "-i " DATA "sp_charges.mfdn %s", three);
  expect_same(snt, other, "MeV", 1e-5);
}

/* Each M of one nucleus has the levels of J >= M, and -M those of M. */
static void every_m(void** state) {
  (void)state;
  double all[MOST_LEVELS], energies[MOST_LEVELS];
  int spins[MOST_LEVELS];
  const int count =
      energies_of("-i ckpot --protons 2 --neutrons 2 --two-m 0 --states 51", "MeV", all);
  assert_int_equal(count, 51);
  const char* at = ci_output;
  for (int i = 0; i < count; i++) spins[i] = (int)ci_number(&at, "two_J");
  for (int two_m = -8; two_m <= 8; two_m += 2) {
    char words[128];
    int expected = 0;
    for (int i = 0; i < count; i++) expected += spins[i] >= abs(two_m);
    snprintf(words, sizeof words, "-i ckpot --protons 2 --neutrons 2 --two-m %d --states %d", two_m,
             expected);
    assert_int_equal(energies_of(words, "MeV", energies), expected);
    ci_close(ci_first("dimension"), expected, 0, words);
    for (int i = 0, k = 0; i < count; i++)
      if (spins[i] >= abs(two_m)) ci_close(energies[k++], all[i], 1e-6, words);
  }
}

/* ---- many orbitals ---- */

/* Orbitals in pairs (2k - 1, 2k) of energies k -+ 0.1, mixed by 0.2: one-electron levels are
 * exactly k -+ sqrt(0.05), and those of several electrons sums of them. */
static void write_pairs(const char* path, int orbitals) {
  FILE* stream = fopen(path, "w");
  assert_non_null(stream);
  fprintf(stream, "&FCI NORB=%d,NELEC=2,MS2=0,ORBSYM=", orbitals);
  for (int i = 0; i < orbitals; i++) fprintf(stream, "%d,", i / 2 % 8 + 1);
  fprintf(stream, "&END\n");
  for (int k = 1; 2 * k <= orbitals; k++) {
    fprintf(stream, "%.1f %d %d 0 0\n", k - 0.1, 2 * k - 1, 2 * k - 1);
    fprintf(stream, "%.1f %d %d 0 0\n", k + 0.1, 2 * k, 2 * k);
    fprintf(stream, "0.2 %d %d 0 0\n", 2 * k, 2 * k - 1);
  }
  fprintf(stream, "-5.0 0 0 0 0\n");
  fclose(stream);
}

/* Neutrons in all orbits up to 13 quanta, 1,120 single-particle states; orbit k at k MeV, and two
 * neutrons in the first one gain 2 MeV. */
static void write_oscillator(const char* path) {
  FILE* stream = fopen(path, "w");
  int number = 0;
  assert_non_null(stream);
  fputs("0 105 20 20\n", stream);
  for (int quanta = 0; quanta <= 13; quanta++)
    for (int two_j = 1; two_j <= 2 * quanta + 1; two_j += 2) {
      const int low = (two_j - 1) / 2, l = (quanta - low) % 2 ? low + 1 : low;
      fprintf(stream, "%d %d %d %d 1\n", ++number, (quanta - l) / 2, l, two_j);
    }
  assert_int_equal(number, 105);
  fputs("105 0\n", stream);
  for (int k = 1; k <= number; k++) fprintf(stream, "%d %d %d.0\n", k, k, k);
  fputs("1 0\n1 1 1 1 0 -2.0\n", stream);
  fclose(stream);
}

static void many_orbitals(void** state) {
  (void)state;
  const char* folder = scratch_make();
  char path[512], words[2048];
  double energies[MOST_LEVELS];
  const double split = sqrt(0.05);
  snprintf(path, sizeof path, "%s", scratch_path(folder, "pairs.fcidump"));
  write_pairs(path, 200);
  snprintf(words, sizeof words, "-i '%s' --irrep 1 --states 3", path);
  assert_int_equal(energies_of(words, "Ha", energies), 3);
  ci_close(ci_first("dimension"), 5008, 0, "two in 200 orbitals");
  ci_close(energies[0], -5 + 2 * (1 - split), 1e-7, "two in 200 orbitals");
  ci_close(energies[1], -3, 1e-7, "two in 200 orbitals");
  ci_close(energies[2], -3, 1e-7, "two in 200 orbitals"); /* a singlet and a triplet */
  int spins = 0;
  for (const char* at = ci_output; strstr(at, "\"two_S\": ");)
    spins += (int)ci_number(&at, "two_S");
  assert_int_equal(spins, 2);
  snprintf(path, sizeof path, "%s", scratch_path(folder, "many.snt"));
  write_oscillator(path);
  snprintf(words, sizeof words, "-i '%s' --neutrons 3 --nmax 4 --states 2", path);
  assert_int_equal(energies_of(words, "MeV", energies), 2);
  /* two in 0s1/2, the third in 0p1/2 or 0p3/2 */
  ci_close(energies[0], 1 + 1 - 2 + 2, 1e-6, "three in 1,120 orbitals");
  ci_close(energies[1], 1 + 1 - 2 + 3, 1e-6, "three in 1,120 orbitals");
  const char* at = ci_output;
  ci_close(ci_number(&at, "two_J"), 1, 0, "three in 1,120 orbitals");
  ci_close(ci_number(&at, "two_J"), 3, 0, "three in 1,120 orbitals");
  scratch_remove(folder);
}

/* ---- refused ---- */

typedef struct mistake {
  const char* words;
  int code;
  const char* says;
} mistake;

static void refuse(const mistake* m) {
  char line[1024];
  snprintf(line, sizeof line, "solve %s", m->words);
  const int code = ci_run(line);
  if (code != m->code || !strstr(ci_output, m->says) || !strstr(ci_output, "throng: ") ||
      strstr(ci_output, "excitation "))
    fail_msg("%s: exit code %d, not %d, or '%s' is not in: %s", m->words, code, m->code, m->says,
             ci_output);
}

static void mistakes_of_nuclei(void** state) {
  (void)state;
  static const mistake cases[] = {
      {"-i usdb --partition missing.ptn", 2, "missing.ptn"},
      {"-i usdb --partition " DATA "p.ptn", 2, "p.ptn:5:"},
      {"-i " DATA "p.snt --partition " DATA "p.ptn --protons 2", 2,
       "p.ptn:2: the partitions are for proton number 3, but --protons says 2"},
      {"-i " DATA "p.snt --partition " DATA "p.ptn --neutrons 3", 2, "p.ptn:2: the partitions"},
      {"-i " DATA "p.snt --partition " DATA "p.ptn --parity +", 2, "but --parity says 1"},
      {"-i " DATA "p.snt --partition " DATA "p.ptn --two-m 0", 2, "must be odd"},
      {"-i " DATA "p.snt --partition " DATA "p.ptn --two-m 11", 2, "states exist for 2M from"},
      {"-i " DATA "p.snt -i " DATA "p.ptn --protons 3", 2, "give it as --partition"},
      {"-i " DATA "rhf.fcidump --partition " DATA "p.ptn", 2, "partitions are of nuclei"},
      {"-i usdb --neutrons 2 --occupation 0d5/2", 2, "expected an orbit and how many"},
      {"-i usdb --neutrons 2 --occupation 0d7/2:1", 2,
       "there is no orbit '0d7/2'; there are p0d3/2"},
      {"-i usdb --neutrons 2 --occupation 0d5/2:7", 2, "has room for 6 particles, not for 7"},
      {"-i usdb --neutrons 2 --occupation 0d5/2:2..1", 2, "expected a range such as"},
      {"-i usdb --neutrons 2 --occupation 0d5/2:..", 2, "expected a range such as"},
      {"-i usdb --neutrons 2 --occupation 0d5/2:two", 2, "expected a range such as"},
      {"-i usdb --neutrons 2 --occupation n0d5/2:1,0d5/2:2", 2, "has a limit already"},
      {"-i usdb --neutrons 2 --occupation 0d5/2:1..,", 2, "found ''"},
      {"-i usdb --neutrons 2 --occupation n0d5/2:3..", 2, "hold at least 3"},
      {"-i usdb --neutrons 4 --occupation n0d5/2:..1,n0d3/2:0", 2, "hold at most 3"},
      {"-i usdb --neutrons 2 --frozen 0d5/2", 2, "hold at least 6"},
      {"-i usdb --neutrons 2 --frozen 3", 2, "there is no orbit '3'"},
      {"-i usdb --neutrons 2 --active 2,2", 2, "--occupation and --frozen"},
      {"-i usdb --neutrons 2 --excitations -1", 2, "--excitations -1"},
      {"-i usdb --neutrons 2 --excitations 1 --nmax 2", 2, "give one"},
      {"-i usdb --neutrons 2 --excitations 0 --two-m 10", 2, "states exist for 2M from -8 to 8"},
      {"-i usdb --neutrons 2 --excitations 0 --states 9", 2, "there are only 3"},
      {"-i usdb --neutrons 2 --j 1/2", 2, "must be a whole number from 0"},
      {"-i usdb --neutrons 3 --j 1", 2, "must be half an odd number"},
      {"-i usdb --neutrons 2 --j -1", 2, "a whole or half number"},
      {"-i usdb --neutrons 2 --j 1/3", 2, "a whole or half number"},
      {"-i usdb --neutrons 2 --j 5", 2, "states exist for 2M from -8 to 8"},
      {"-i usdb --neutrons 2 --j 1 --states 3", 2, "there are only 2 of this J"},
      {"-i usdb --neutrons 2 --j 2 --two-m 0", 2, "leave --two-m away"},
      {"-i usdb --neutrons 2 --spin 1", 2, "--j in place of --spin"},
      {"-i usdb --neutrons 2 --excitations 0 --j 1", 2, "no state has J = 1"},
      {"-i ckpot --neutrons 1 --j 1/2 --parity +", 2, "--parity -"},
      {"-i usdb --protons 6 --neutrons 6 --j 0 --memory 0.001", 3, "may be used"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) refuse(&cases[i]);
}

static void mistakes_of_molecules(void** state) {
  (void)state;
#define RHF "-i " DATA "rhf.fcidump "
  static const mistake cases[] = {
      {RHF "--frozen 3", 2, "freeze 2 at most"},
      {RHF "--frozen 0-2", 2, "there is no orbital 0"},
      {RHF "--frozen 1,5", 2, "there is no orbital 5"},
      {RHF "--frozen 1,1", 2, "is there twice"},
      {RHF "--frozen two", 2, "expected numbers of orbitals"},
      {RHF "--frozen 1 --active 2,2", 2, "give one"},
      {RHF "--active 3,2", 2, "3 of 4 electrons"},
      {RHF "--active 6,4", 2, "6 of 4 electrons"},
      {RHF "--active 2,4", 2, "more than the 4"},
      {RHF "--active 4,1", 2, "need at least 2 orbitals"},
      {RHF "--active 2", 2, "expected ELECTRONS,ORBITALS"},
      {RHF "--active 2:1-9", 2, "there is no orbital 9"},
      {RHF "--active 2:", 2, "expected numbers of orbitals"},
      {RHF "--two-sz 2 --active 0,2", 2, "0 of 4 electrons"},
      {RHF "--occupation 1", 2, "expected orbitals and how many"},
      {RHF "--occupation 1-2:5", 2, "have room for 4 electrons, not 5"},
      {RHF "--occupation 1-2:3..2", 2, "expected a range"},
      {RHF "--occupation 1-2:1/2:0", 2, "in two groups"},
      {RHF "--occupation 1-4:0..2", 2, "cannot be spread"},
      {RHF "--frozen 1-1 --occupation 1:2", 2, "not an active one"},
      {RHF "--excitations -2", 2, "it must be 0 or more"},
      {RHF "--excitations 0 --states 2 --irrep 1", 2, "there are only 1"},
      {RHF "--spin 1/2", 2, "must be a whole number"},
      {RHF "--spin 3", 2, "more than 4 electrons"},
      {RHF "--spin 1 --two-sz 0", 2, "leave --two-sz away"},
      {RHF "--j 1", 2, "--spin in place of --j"},
      {RHF "--spin 2 --irrep 2", 2, "no state is of irrep 2"},
      {"-i " DATA "uhf_spin.fcidump --spin 0", 2, "cannot be told: S^2 needs the overlaps"},
  };
#undef RHF
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) refuse(&cases[i]);
}

/* Labels that integrals contradict: the run without them is right, a question for an irrep is not.
 */
static void wrong_labels(void** state) {
  (void)state;
  const char* folder = scratch_make();
  char path[512], words[1024];
  snprintf(path, sizeof path, "%s", scratch_path(folder, "labels.fcidump"));
  FILE* stream = fopen(path, "w");
  assert_non_null(stream);
  fputs(
      "&FCI NORB=2,NELEC=2,MS2=0,ORBSYM=1,5,ISYM=1 &END\n0.7 1 1 1 1\n0.6 2 2 2 2\n"
      "0.5 2 2 1 1\n0.1 2 1 1 1\n-1.2 1 1 0 0\n-0.4 2 2 0 0\n0.05 2 1 0 0\n0.3 0 0 0 0\n",
      stream);
  fclose(stream);
  double energies[MOST_LEVELS];
  snprintf(words, sizeof words, "-i '%s' --states 4", path);
  assert_int_equal(energies_of(words, "Ha", energies), 4);
  snprintf(words, sizeof words, "-i '%s' --irrep 1", path);
  refuse(&(mistake){words, 2,
                    "labels.fcidump:5: the integral (2 1|1 1) = 0.1 is of orbitals of "
                    "irreps 5, 1, 1 and 1 by ORBSYM"});
  stream = fopen(path, "w");
  assert_non_null(stream);
  fputs(
      "&FCI NORB=2,NELEC=2,MS2=0,ORBSYM=1,5,ISYM=1 &END\n0.7 1 1 1 1\n-1.2 1 1 0 0\n"
      "-0.4 2 2 0 0\n0.05 2 1 0 0\n0.3 0 0 0 0\n",
      stream);
  fclose(stream);
  snprintf(words, sizeof words, "-i '%s' --irrep 5", path);
  refuse(&(mistake){words, 2,
                    "labels.fcidump:5: the integral h(2,1) = 0.05 is between orbitals of "
                    "irreps 5 and 1"});
  /* numbers that are none of Molpro's: no symmetry, and not even irrep 1 */
  stream = fopen(path, "w");
  assert_non_null(stream);
  fputs(
      "&FCI NORB=2,NELEC=2,MS2=0,ORBSYM=1,11,ISYM=1 &END\n0.7 1 1 1 1\n-1.2 1 1 0 0\n"
      "-0.4 2 2 0 0\n0.3 0 0 0 0\n",
      stream);
  fclose(stream);
  snprintf(words, sizeof words, "-i '%s' --irrep 1", path);
  refuse(&(mistake){words, 2, "numbers other than Molpro's 1 to 8"});
  snprintf(words, sizeof words, "-i '%s' --states 4", path);
  assert_int_equal(energies_of(words, "Ha", energies), 4);
  scratch_remove(folder);
}

int main(void) {
#ifndef TG_HAVE_LAPACK
  puts("skipped: built without LAPACK, which the eigen-solver needs");
  return 0;
#endif
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_space_in_several_words),
      cmocka_unit_test(one_j),
      cmocka_unit_test(molecules),
      cmocka_unit_test(active_spaces_of_the_reference),
      cmocka_unit_test(formats_agree),
      cmocka_unit_test(every_m),
      cmocka_unit_test(many_orbitals),
      cmocka_unit_test(mistakes_of_nuclei),
      cmocka_unit_test(mistakes_of_molecules),
      cmocka_unit_test(wrong_labels),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
