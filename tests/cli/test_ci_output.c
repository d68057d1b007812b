/* SPDX-License-Identifier: Apache-2.0 */
/* What `throng ci solve` leaves behind: a folder, single files, a log; and how it tells how far it
 * is. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <unistd.h>

#include "base/scratch.h"
#include "ci/tables_file.h"
#include "ci/wave_file.h"
#include "cli/ci_progress.h"
#include "cli/ci_run.h"

#define FLUORINE "solve -i usdb --protons 1 --neutrons 1 --states 4"

static const char* folder;

static bool is_there(const char* name) { return access(scratch_path(folder, name), F_OK) == 0; }

static int run(const char* words, const char* option) {
  char line[2048];
  snprintf(line, sizeof line, "%s -o %s/out %s", words, folder, option);
  return ci_run(line);
}

static const char* read_text(const char* name) {
  const char* text = scratch_read(scratch_path(folder, name));
  if (!text) fail_msg("%s is not there", name);
  return text;
}

static void a_folder(void** state) {
  (void)state;
  const bool hdf5 = tg_ci_results_library() != NULL;
  if (run(FLUORINE, hdf5 ? "--wave f18.h5" : "") != 0) fail_msg("%s", ci_output);
  assert_true(is_there("out/levels.json"));
  assert_true(is_there("out/levels.svg"));
  assert_true(is_there("out/f18.h5") == hdf5);
  assert_true(is_there("out/observables.h5") == hdf5);
  const char* log = read_text("out/ci.log");
  assert_non_null(strstr(log, "ci solve -i usdb --protons 1"));
  assert_non_null(strstr(log, "-11.9" /* a line of the table */));
  assert_non_null(strstr(log, "4 levels in"));
  assert_non_null(strstr(read_text("out/levels.json"), "\"observables\""));

  /* an earlier run's results: refused before anything is done, or kept */
  assert_int_equal(run(FLUORINE, ""), 2);
  assert_non_null(strstr(ci_output, "levels.json: is there from an earlier run"));
  assert_false(is_there("out/levels.json.1"));
  if (run(FLUORINE, "--force") != 0) fail_msg("%s", ci_output);
  assert_true(is_there("out/levels.json.1"));
  assert_true(is_there("out/ci.log.1"));
  assert_false(is_there("out/f18.h5.1")); /* was not to be written again */
}

/* A run that fails leaves a log that says why; the next one goes on with that log. */
static void a_failed_run(void** state) {
  (void)state;
  char line[1024];
  snprintf(line, sizeof line, "rm -rf '%s/out'", folder);
  assert_int_equal(system(line), 0);
  assert_int_equal(run("solve -i usdb --protons 1 --two-m 77", ""), 2);
  assert_false(is_there("out")); /* not even asked right */
  assert_int_equal(run("solve -i usdb --protons 4 --neutrons 4 --memory 0.0001", ""), 3);
  assert_non_null(strstr(read_text("out/ci.log"), "by itself"));
  if (run(FLUORINE, "") != 0) fail_msg("%s", ci_output);
  const char* log = read_text("out/ci.log");
  assert_non_null(strstr(log, "by itself"));
  assert_non_null(strstr(log, "4 levels in"));
}

static void names(void** state) {
  (void)state;
  char line[2048];
  assert_int_equal(ci_run(FLUORINE " --force"), 2);
  assert_non_null(strstr(ci_output, "give one (-o FOLDER)"));
  assert_int_equal(ci_run(FLUORINE " --json-file /no/such/folder/x.json"), 2);
  if (!tg_ci_results_library()) {
    assert_int_equal(ci_run(FLUORINE " --wave x.h5"), 3);
    assert_non_null(strstr(ci_output, "libhdf5-dev"));
    skip();
  }
  snprintf(line, sizeof line, FLUORINE " --wave %s/x --arrays %s/x", folder, folder);
  assert_int_equal(ci_run(line), 2);
  assert_non_null(strstr(ci_output, "two files at once"));
  assert_int_equal(ci_run(FLUORINE " --wave /dev/full"), 2);
  assert_int_equal(ci_run(FLUORINE " --wave /no/such/folder/x.h5"), 2);
}

/* An input under another name is still an input; nothing of an earlier run is touched by a run that
 * is refused. */
static void inputs_are_safe(void** state) {
  (void)state;
  char line[4096];
  snprintf(line, sizeof line,
           "cp '%s'/tests/ci/data/p.snt '%s/p.snt' && cp '%s'/tests/ci/data/p_sigma.opme "
           "'%s/s.opme' && ln -sf p.snt '%s/link' && mkdir -p '%s/safe' && "
           "ln -sf ../p.snt '%s/safe/levels.json' && ln -sf p.snt '%s/link.svg'",
           TG_SOURCE_DIR, folder, TG_SOURCE_DIR, folder, folder, folder, folder, folder);
  assert_int_equal(system(line), 0);
  static const char* const words[] = {"--json-file %s/p.snt",
                                      "--json-file %s/link",
                                      "--wave %s/p.snt",
                                      "--arrays %s/link",
                                      "--picture %s/link.svg",
                                      "--restart %s/p.snt",
                                      "-o %s/safe --force",
                                      "--observables %s/s.opme --json-file %1$s/s.opme",
                                      "--observables strength:%s/s.opme:9 --wave %1$s/s.opme"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    char option[2048];
    const char* name = strstr(words[i], "%1$s");
    const int first = name ? (int)(name - words[i]) : (int)strlen(words[i]);
    char before[256];
    snprintf(before, sizeof before, "%.*s", first, words[i]);
    const char* at = strstr(before, "%s");
    snprintf(option, sizeof option, "%.*s%s%s%s%s", (int)(at - before), before, folder, at + 2,
             name ? folder : "", name ? name + 4 : "");
    snprintf(line, sizeof line, "solve -i %s/p.snt --protons 1 --neutrons 1 --states 1 %s", folder,
             option);
    if (!tg_ci_results_library() && (strstr(option, "--wave") || strstr(option, "--arrays")))
      continue;
    if (ci_run(line) != 2 || !strstr(ci_output, "is an input of this run"))
      fail_msg("%s: %s", line, ci_output);
  }
  snprintf(line, sizeof line, "cmp -s '%s'/tests/ci/data/p.snt '%s/p.snt'", TG_SOURCE_DIR, folder);
  assert_int_equal(system(line), 0);

  assert_int_equal(run(FLUORINE, "--force"), 0);
  assert_int_equal(run(FLUORINE, "--force --restart levels.json"), 2);
  assert_non_null(strstr(ci_output, "two files at once"));
  assert_true(is_there("out/levels.json"));
  assert_int_equal(run(FLUORINE, "--force --picture levels.png"), 2);
  assert_true(is_there("out/levels.json"));
  /* another run has the folder */
  snprintf(line, sizeof line,
           "flock -xn '%s/out' '%s' ci " FLUORINE " --force -o '%s/out' >'%s/said' 2>&1", folder,
           TG_PROGRAM, folder, folder);
  const int ended = system(line);
  assert_int_equal(WEXITSTATUS(ended), 2);
  assert_non_null(strstr(read_text("said"), "another run is writing into this folder"));
  assert_true(is_there("out/levels.json"));
}

/* What an observable asks for in vain is found before the work, or does not spoil it. */
static void failing_observables(void** state) {
  (void)state;
  static const struct {
    const char *words, *says;
  } early[] = {
      {"--observables strength:e2:10:9", "there is no level 9"},
      {"--observables strength:e1", "negative parity"},
      {"--charges 1e200,0", "makes no sense"},
      {"--g 1,0,1e30,0", "makes no sense"},
      {"--checkpoint 3", "give --restart FILE"},
  };
  char line[2048];
  for (size_t i = 0; i < sizeof early / sizeof *early; i++) {
    snprintf(line, sizeof line, FLUORINE " %s", early[i].words);
    assert_int_equal(ci_run(line), 2);
    if (!strstr(ci_output, early[i].says) || strstr(ci_output, "excitation"))
      fail_msg("%s: %s", line, ci_output);
  }
  /* whether a level has a J of its own is known when it is there: the levels stay */
  snprintf(line, sizeof line,
           "solve -i usdb --neutrons 2 --parity + --two-m 4 --states 3 --tolerance 1e3 --check off "
           "--observables strength:e2,occupations --json-file '%s/late.json'",
           folder);
  assert_int_equal(ci_run(line), 2);
  assert_non_null(strstr(ci_output, "excitation"));
  assert_non_null(strstr(ci_output, "not computed: observable strength"));
  assert_non_null(strstr(ci_output, "Occupations"));
  assert_non_null(strstr(read_text("late.json"), "energy_MeV"));
}

/* Inputs that are not quite what they seem. */
static void odd_inputs(void** state) {
  (void)state;
  static const struct {
    const char *make, *words;
    int code;
    const char* says;
  } cases[] = {
      {"cat $D/p_sigma.opme >$F/o.opme", "-i $D/p.snt --observables opme:$F/o.opme", 0,
       "<J||o||J>"},
      {"cat $D/p_sigma.opme >$F/o.opme", "-i $D/p.snt --observables strength:$F/o.opme", 0,
       "Strength functions"},
      {"mkfifo $F/pipe", "-i $F/pipe", 2, "is a pipe"},
      {"(printf '\\357\\273\\277'; cat $D/p.snt) >$F/bom.snt", "-i $F/bom.snt", 0, "excitation"},
      {"sed 's/ISYM=1/ISYM=9/' $D/lih.fcidump >$F/isym", "-i $F/isym", 2, "ISYM"},
      {"sed 's/ 2 2 2 2   2 1/ 2 2 2 4   2 1/' $D/p_iso.int >$F/four.int",
       "-i $D/p.sp -i $F/four.int", 2, "orbit 4 is used"},
      {"sed 's/ 1 1 1 1  0  -3.793200/ 1 1 1 1  0  -1e20/' $D/p.snt >$F/big.snt", "-i $F/big.snt",
       0, "double precision allows no less"},
      {"sed 's/ 1 1 1 1  0  -3.793200/ 1 1 1 1  0  -1e155/' $D/p.snt >$F/huge.snt",
       "-i $F/huge.snt", 4, "its norm overflows"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char line[4096];
    snprintf(line, sizeof line,
             "D='%s/tests/ci/data'; F='%s'; %s; '%s' ci solve %s %s --states 2 >$F/said 2>&1",
             TG_SOURCE_DIR, folder, cases[i].make, TG_PROGRAM, cases[i].words,
             strstr(cases[i].words, "isym") ? "" : "--protons 2 --neutrons 2");
    const int ended = system(line);
    const char* said = read_text("said");
    if (!WIFEXITED(ended) || WEXITSTATUS(ended) != cases[i].code || !strstr(said, cases[i].says))
      fail_msg("%s: %d, %s", line, ended, said);
  }
}

/* The columns of the tables in JSON and in HDF5 are the same. */
static void observables(void** state) {
  (void)state;
  if (!tg_ci_results_library()) skip();
  char line[2048];
  snprintf(line, sizeof line, FLUORINE " --json --observables occupations --arrays %s/o.h5",
           folder);
  if (ci_run(line) != 0) fail_msg("%s", ci_output);
  const char* at = strstr(ci_output, "\"occupations\"");
  assert_non_null(at);
  tg_ci_results* f = NULL;
  const char* path = scratch_path(folder, "o.h5");
  assert_int_equal(tg_ci_results_open(path, TG_CI_TABLES_FORMAT, TG_CI_TABLES_VERSION, &f), TG_OK);
  double values[4];
  const tg_ci_array like = {.element = TG_CI_DOUBLE, .axes = 1, .size = {4}};
  assert_int_equal(tg_ci_results_get(f, "tables/occupations/p0d5_2", &like, values), TG_OK);
  for (int i = 0; i < 4; i++)
    ci_close(values[i], ci_number(&at, "p0d5/2"), 0, "occupation of 0d5/2 by the proton");
  tg_ci_results_close(&f);
}

/* ---- time left ---- */

static tg_eigen_progress look(int64_t products, int states, const double* residuals) {
  return (tg_eigen_progress){.phase = TG_EIGEN_MAIN,
                             .products = products,
                             .states = states,
                             .known = states,
                             .tolerance = 1e-4,
                             .residuals = residuals};
}

/* Two states that lose a digit every 20 products, one after the other. */
static void pace_of_a_steady_run(void** state) {
  (void)state;
  tg_cli_ci_pace pace = {.count = 0};
  assert_true(isnan(tg_cli_ci_pace_left(&pace)));
  for (int products = 4; products < 150; products += 2) {
    const double residuals[2] = {fmax(1e-9, pow(10, -products / 40.0)),
                                 fmax(1e-9, pow(10, -products / 40.0))};
    const tg_eigen_progress p = look(products, 2, residuals);
    tg_cli_ci_pace_note(&pace, &p);
    tg_cli_ci_pace_note(&pace, &p); /* a step without a look */
    assert_true(pace.count <= TG_CLI_CI_LOOKS);
    const double left = tg_cli_ci_pace_left(&pace);
    if (products < 12)
      assert_true(isnan(left));
    else
      ci_close(left, 160 - products, 1e-6, "products left");
  }
}

/* Residuals that stay, or jump about, foretell nothing. */
static void pace_of_a_lost_run(void** state) {
  (void)state;
  tg_cli_ci_pace pace = {.count = 0};
  for (int i = 0; i < 300; i++) {
    const double residual = i % 2 ? 1 : 0.1 + 1e-6 * i;
    const tg_eigen_progress p = look(2 * i, 1, &residual);
    tg_cli_ci_pace_note(&pace, &p);
    assert_true(isnan(tg_cli_ci_pace_left(&pace)));
  }
}

/* A real run is foretold within a factor of two, once it is a third done. */
static tg_cli_ci_pace real_pace;
static double foretold[512];
static int64_t foretold_at[512];
static int foretold_count;

static tg_status watch(void* context, const tg_ci_problem* problem, size_t sector,
                       const tg_eigen_progress* p) {
  (void)context, (void)problem, (void)sector;
  tg_cli_ci_pace_note(&real_pace, p);
  const double left = tg_cli_ci_pace_left(&real_pace);
  if (p->phase == TG_EIGEN_MAIN && !isnan(left) && foretold_count < 512) {
    foretold[foretold_count] = left;
    foretold_at[foretold_count++] = p->products;
  }
  return TG_OK;
}

static void pace_of_a_real_run(void** state) {
  (void)state;
  const tg_ci_source source = {.path = "builtin:usdb"};
  tg_ci_input input;
  tg_ci_problem problem;
  tg_ci_spectrum spectrum;
  tg_ci_problem_params params = tg_ci_problem_defaults();
  tg_ci_solve_params how = tg_ci_solve_defaults();
  params.protons = params.neutrons = 3;
  how.progress = watch;
  assert_int_equal(tg_ci_input_read(&source, 1, &input), TG_OK);
  assert_int_equal(tg_ci_problem_make(&input, &params, &problem), TG_OK);
  assert_int_equal(tg_ci_solve(&problem, &how, &spectrum), TG_OK);
  const double all = (double)spectrum.sectors[0].result.products;
  int looked_at = 0;
  for (int i = 0; i < foretold_count; i++) {
    const double total = (double)foretold_at[i] + foretold[i];
    if ((double)foretold_at[i] < all / 3) continue;
    if (!(total > all / 2 && total < 2 * all))
      fail_msg("after %lld of %g products %g more were foretold", (long long)foretold_at[i], all,
               foretold[i]);
    looked_at++;
  }
  assert_true(looked_at > 5);
  tg_ci_spectrum_free(&spectrum);
  tg_ci_problem_free(&problem);
  tg_ci_input_free(&input);
}

static int make_folder(void** state) {
  (void)state;
  folder = scratch_make();
  return 0;
}

static int remove_folder(void** state) {
  (void)state;
  scratch_remove(folder);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_folder),
      cmocka_unit_test(a_failed_run),
      cmocka_unit_test(names),
      cmocka_unit_test(observables),
      cmocka_unit_test(inputs_are_safe),
      cmocka_unit_test(failing_observables),
      cmocka_unit_test(odd_inputs),
      cmocka_unit_test(pace_of_a_steady_run),
      cmocka_unit_test(pace_of_a_lost_run),
      cmocka_unit_test(pace_of_a_real_run),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
