/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/interrupt.h"
#include "ci/restart.h"
#include "ci/wave_file.h"
#include "cli/ci_observables.h"
#include "cli/ci_picture.h"
#include "cli/ci_report.h"
#include "cli/cli.h"

typedef struct fields {
  tg_cli_ci_options options;
  tg_cli_ci_observable_options observables;
  const char *json_file, *wave, *picture, *restart;
  double checkpoint_minutes;
  bool json;
} fields;

static const tg_cli_option options[] = {
    TG_CLI_CI_OPTIONS(fields),
    {"tolerance", 0, TG_CLI_DOUBLE, TG_CLI_CI_OPTION(fields, tolerance), "X",
     "largest norm of H v - E v, MeV or Ha (default 1e-4 MeV, 1e-5 Ha)", false},
    {"check", 0, TG_CLI_CHOICE, TG_CLI_CI_OPTION(fields, check), "auto|always|off",
     "look for levels that the run may have missed: where needed, by another run in any case, or "
     "not at all (default auto)",
     false},
    TG_CLI_CI_OBSERVABLE_OPTIONS(fields, observables),
    {"json", 0, TG_CLI_FLAG, offsetof(fields, json), NULL, "print JSON", false},
    {"json-file", 0, TG_CLI_TEXT, offsetof(fields, json_file), "FILE",
     "write the JSON into a file, beside the table", false},
    {"picture", 0, TG_CLI_TEXT, offsetof(fields, picture), "FILE", "draw the level scheme, .svg",
     false},
    {"wave", 0, TG_CLI_TEXT, offsetof(fields, wave), "FILE",
     "write the wave functions, with all that is needed to use them (HDF5)", false},
    {"restart", 0, TG_CLI_TEXT, offsetof(fields, restart), "FILE",
     "go on from this file where it is there; written now and then and on Ctrl-C, removed at the "
     "end",
     false},
    {"checkpoint", 0, TG_CLI_DOUBLE, offsetof(fields, checkpoint_minutes), "MINUTES",
     "between two states that --restart writes (default 15)", false},
    {NULL, 0, TG_CLI_FLAG, 0, NULL, NULL, false},
};

/* A line on the terminal: where the sector is, its lowest energies, the worst residual. */
static tg_status show_progress(void* context, const tg_ci_problem* problem, size_t sector,
                               const tg_eigen_progress* p) {
  static const char* const phases[] = {[TG_EIGEN_MAIN] = "states",
                                       [TG_EIGEN_CHECK] = "missed levels",
                                       [TG_EIGEN_VERIFY] = "residuals",
                                       [TG_EIGEN_DONE] = "done"};
  char symmetry[64];
  double worst = 0;
  (void)context;
  tg_cli_ci_symmetry(problem, problem->sectors[sector], symmetry, sizeof symmetry);
  fprintf(stderr, "\r%s, %s: %lld products, %d of %d", symmetry, phases[p->phase],
          (long long)p->products, p->converged, p->states);
  for (int i = 0; i < p->known && i < 3; i++)
    fprintf(stderr, "%s%.5f", i ? " " : "   ", p->values[i]);
  for (int i = 0; i < p->known; i++)
    if (p->residuals[i] > worst) worst = p->residuals[i];
  if (p->known) fprintf(stderr, " %s   residual %.0e", tg_ci_problem_unit(problem), worst);
  fprintf(stderr, "   %.0f s\033[K", p->seconds);
  fflush(stderr);
  return TG_OK;
}

static bool interrupted(void* context) {
  (void)context;
  return tg_interrupt_requested();
}

static tg_status write_results(const fields* f, const tg_cli_ci_job* job,
                               const tg_ci_spectrum* spectrum, const char* command) {
  if (f->wave) TG_TRY(tg_ci_wave_write(f->wave, &job->problem, spectrum, command));
  if (f->picture) TG_TRY(tg_cli_ci_picture(f->picture, job, spectrum));
  if (f->json_file) {
    tg_new_file file;
    TG_TRY(tg_new_file_open(f->json_file, &file));
    tg_cli_ci_json(file.stream, job, spectrum);
    TG_TRY(tg_new_file_commit(&file));
  }
  if (f->json)
    tg_cli_ci_json(stdout, job, spectrum);
  else
    tg_cli_ci_print(stdout, job, spectrum);
  return TG_OK;
}

/* The command line, for the record. */
static void join_words(int argc, char** argv, char* out, size_t size) {
  size_t used = (size_t)snprintf(out, size, "throng ci solve");
  for (int i = 1; i < argc && used < size; i++)
    used += (size_t)snprintf(out + used, size - used, " %s", argv[i]);
}

/* What would be refused after the work is refused before it. */
static tg_status check_outputs(const fields* f) {
  if (!(f->checkpoint_minutes > 0))
    return tg_fail(TG_ERR_INPUT, "--checkpoint %g: minutes, more than 0, were expected",
                   f->checkpoint_minutes);
  if (f->json_file) TG_TRY(tg_new_file_check(f->json_file));
  if (f->picture) TG_TRY(tg_cli_ci_picture_check(f->picture));
  if (!f->wave) return TG_OK;
  if (!tg_ci_results_library())
    return tg_fail(TG_ERR_MACHINE,
                   "--wave %s: this throng was built without HDF5, which files of wave functions "
                   "need; install libhdf5-dev and build again",
                   f->wave);
  return tg_new_file_check(f->wave);
}

static tg_status run(int argc, char** argv) {
  fields f = {.options = tg_cli_ci_defaults(), .checkpoint_minutes = 15};
  static tg_cli_ci_job job;
  char command[4096];
  TG_TRY(tg_cli_options_parse(options, argc, argv, &f, NULL));
  if (!tg_cli_speaks()) return TG_OK;
  TG_TRY(check_outputs(&f));
  TG_TRY(tg_cli_ci_open(&f.options, true, &job));
  const bool terminal = isatty(STDERR_FILENO);
  if (!f.json)
    for (size_t i = 0; i < job.input.notes.count; i++)
      fprintf(stderr, "Note: %s\n", job.input.notes.line[i]);
  job.solve.progress = terminal ? show_progress : NULL;
  job.solve.interrupted = interrupted;
  job.solve.restart = f.restart;
  job.solve.restart_s = 60 * f.checkpoint_minutes;
  if (f.restart && tg_path_exists(f.restart)) fprintf(stderr, "goes on from %s\n", f.restart);
  join_words(argc, argv, command, sizeof command);
  tg_ci_spectrum spectrum = {0};
  tg_ci_observable_list list = {0};
  tg_ci_observable_params params;
  tg_status status = tg_cli_ci_observables_open(&f.observables, &job.problem, NULL,
                                                job.solve.threads, &list, &params);
  if (status == TG_OK) status = tg_ci_solve(&job.problem, &job.solve, &spectrum);
  if (terminal) fputs("\r\033[K", stderr);
  const tg_ci_states states = {&job.problem, &spectrum};
  if (status == TG_OK) status = tg_ci_observables_run(&list, &params, &states, NULL, &job.tables);
  tg_ci_observables_free(&list);
  if (status == TG_OK) status = write_results(&f, &job, &spectrum, command);
  if (status == TG_OK && f.restart) tg_ci_restart_remove(&job.problem, f.restart);
  tg_ci_spectrum_free(&spectrum);
  tg_cli_ci_close(&job);
  return status;
}

static const tg_cli_example examples[] = {
    {"throng ci solve -i usdb --protons 2 --neutrons 2", "the ten lowest levels of 20Ne"},
    {"throng ci solve -i ckpot --protons 4 --neutrons 4 --states 5 --json-file carbon.json",
     "12C; table on the terminal, and everything as JSON"},
    {NULL, NULL},
};

const tg_cli_verb tg_cli_ci_solve_verb = {
    .name = "ci solve",
    .summary = "lowest levels of a nucleus or a molecule",
    .usage = "-i FILE ... [--protons N --neutrons N | --electrons N] [options]",
    .text =
        "Diagonalises the Hamiltonian that the inputs give in the space of all states with one M "
        "and prints the lowest levels with J and isospin T (molecules: spin S), parity (irrep) and "
        "the norm of the residual. Energies of nuclei are relative to the core.\n\nEach parity or "
        "irrep is a calculation of its own, unless one is chosen. Where the states that were found "
        "do not prove that no level is missing, another run looks for it; --check says whether. "
        "docs/formats.md has the formats of inputs.",
    .options = options,
    .examples = examples,
    .run = run,
};
