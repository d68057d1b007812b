/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/interrupt.h"
#include "base/timer.h"
#include "cli/ci_observables.h"
#include "cli/ci_output.h"
#include "cli/ci_progress.h"
#include "cli/ci_report.h"
#include "cli/cli.h"
#include "comm/world.h"

enum { USUAL_CHECKPOINT = 15 }; /* minutes */

typedef struct fields {
  tg_cli_ci_options options;
  tg_cli_ci_observable_options observables;
  tg_cli_ci_output_options outputs;
  double checkpoint_minutes, limit_minutes, deadline_s;
  const char* transport;
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
    {"transport", 0, TG_CLI_CHOICE, offsetof(fields, transport), "loop|mpi|socket|nvshmem",
     "how processing elements talk: threads of this process, MPI, TCP between processes that "
     "TG_BOOTSTRAP brings together, or processes with a GPU each (default socket where that is "
     "set, "
     "mpi under mpirun, else loop; between processes with --backend cuda nvshmem)",
     false},
    {"deadline", 0, TG_CLI_DOUBLE, offsetof(fields, deadline_s), "SECONDS",
     "a processing element that waits longer for another ends the run (default: a day)", false},
    TG_CLI_CI_OBSERVABLE_OPTIONS(fields, observables),
    {"json", 0, TG_CLI_FLAG, offsetof(fields, json), NULL, "print JSON", false},
    TG_CLI_CI_OUTPUT_OPTIONS(fields, outputs),
    {"checkpoint", 0, TG_CLI_DOUBLE, offsetof(fields, checkpoint_minutes), "MINUTES",
     "between two states that --restart writes (default 15)", false},
    {"time-limit", 0, TG_CLI_DOUBLE, offsetof(fields, limit_minutes), "MINUTES",
     "stop after so long, as on Ctrl-C: --restart writes the state, which takes a while, and the "
     "same command goes on",
     false},
    {NULL, 0, TG_CLI_FLAG, 0, NULL, NULL, false},
};

static bool interrupted(void* context) {
  const tg_cli_ci_progress* progress = context;
  return tg_interrupt_requested() || (progress->end > 0 && tg_time_now() >= progress->end);
}

static void goes_on(void* context, const char* path) {
  (void)context;
  fprintf(stderr, "goes on from %s\n", path);
}

static void warn(void* context, const char* words) {
  const tg_cli_ci_progress* progress = context;
  fprintf(stderr, "%sWarning: %s; the run goes on, and tries again later\n",
          progress->terminal ? "\r\033[K" : "", words);
  if (progress->lines) fprintf(progress->lines, "Warning: %s; the run goes on\n", words);
}

/* Where elements are so large that rounding exceeds the tolerance, the eigen-solver takes what
 * rounding allows in its place. */
static tg_status note_precision(const tg_cli_ci_job* job, const tg_ci_spectrum* spectrum,
                                tg_ci_tables* tables) {
  const double asked = tg_ci_tolerance(job->problem.kind, job->solve.tolerance);
  for (size_t i = 0; i < spectrum->level_count; i++) {
    const tg_ci_level* level = &spectrum->levels[i];
    if (spectrum->sectors[level->sector].result.tolerance <= asked || level->residual <= asked)
      continue;
    const char* unit = tg_ci_problem_unit(&job->problem);
    return tg_ci_tables_note(
        tables,
        "level %zu has a residual of %.1e %s, above the tolerance of %.1e %s: with matrix elements "
        "of this size double precision allows no less. Are the elements in %s?",
        i + 1, level->residual, unit, asked, unit, unit);
  }
  return TG_OK;
}

/* What is told, and asked, while it works; of several processes the first one tells. */
static void set_callbacks(const fields* f, const tg_cli_ci_outputs* outputs,
                          tg_cli_ci_progress* progress, tg_ci_solve_params* solve) {
  progress->lines = outputs->log;
  solve->progress = progress->terminal || progress->lines ? tg_cli_ci_progress_show : NULL;
  solve->interrupted = interrupted;
  solve->warn = warn;
  solve->context = progress;
  solve->restart = *outputs->restart ? outputs->restart : NULL;
  solve->restart_s = 60 * f->checkpoint_minutes;
  solve->goes_on = goes_on;
}

/* What the first process does before the others go on with it, or fail as it did. */
typedef struct first_part {
  tg_status (*act)(void* context);
  void* context;
} first_part;

static tg_status by_the_first(tg_world* world, void* context) {
  const first_part* part = context;
  return tg_world_agree(world, tg_world_pe(world) == 0 ? part->act(part->context) : TG_OK);
}

/* Collective over the processes that solve together. */
static tg_status first_does(const tg_ci_solve_params* solve, tg_status (*act)(void* context),
                            void* context) {
  first_part part = {act, context};
  if (!solve->transport || strcmp(solve->transport, "loop") == 0) return act(context);
  /* what GPUs have in common is not needed here */
  const bool gpus = strcmp(solve->transport, "nvshmem") == 0;
  const tg_world_params params = {.transport = gpus ? NULL : solve->transport,
                                  .pe_count = solve->pes};
  return tg_world_run(&params, by_the_first, &part);
}

/* Files and folders are one process's. */
typedef struct beginning {
  const fields* f;
  const tg_cli_ci_job* job;
  const tg_ci_observable_list* list;
  tg_cli_ci_outputs* outputs;
} beginning;

static tg_status begin_outputs(void* context) {
  const beginning* b = context;
  return tg_cli_ci_outputs_begin(&b->f->outputs, b->job, b->list, b->outputs);
}

/* Levels, what --observables asks of them, and files. */
static tg_status solve(const fields* f, tg_cli_ci_job* job, tg_cli_ci_outputs* outputs) {
  tg_ci_spectrum spectrum = {0};
  tg_ci_observable_list list = {0};
  tg_ci_observable_params params;
  const bool speaks = tg_cli_speaks();
  tg_cli_ci_progress progress = {.terminal = speaks && isatty(STDERR_FILENO) ? stderr : NULL,
                                 .pause = 30};
  if (f->limit_minutes > 0) progress.end = tg_time_now() + 60 * f->limit_minutes;
  tg_status status;
  TG_TRY_GOTO(
      tg_cli_ci_observables_open(&f->observables, &job->problem, NULL, &job->solve, &list, &params),
      done);
  beginning begin = {f, job, &list, outputs};
  TG_TRY_GOTO(first_does(&job->solve, begin_outputs, &begin), done);
  TG_TRY_GOTO(tg_cli_ci_share_memory(&job->solve), done);
  set_callbacks(f, outputs, &progress, &job->solve);
  status = tg_ci_solve(&job->problem, &job->solve, &spectrum);
  tg_cli_ci_progress_end(&progress);
  if (status != TG_OK || !speaks) goto done;
  const tg_ci_states states = {&job->problem, &spectrum};
  tg_cli_ci_first_failure first = {.status = TG_OK};
  tg_cli_ci_keep_failure(&first,
                         tg_ci_observables_run(&list, &params, &states, NULL, &job->tables));
  tg_cli_ci_keep_failure(&first, note_precision(job, &spectrum, &job->tables));
  /* levels that took hours are written and shown, even without all observables or on a full disk */
  tg_cli_ci_keep_failure(&first,
                         tg_cli_ci_outputs_write(outputs, job, &spectrum, first.status == TG_OK));
  if (f->json)
    tg_cli_ci_json(stdout, job, &spectrum);
  else
    tg_cli_ci_print(stdout, job, &spectrum, outputs->arrays);
  if (first.status != TG_OK) status = tg_fail(first.status, "%s", first.words);
done:
  tg_cli_ci_outputs_close(outputs, status);
  tg_ci_observables_free(&list);
  tg_ci_spectrum_free(&spectrum);
  return status;
}

/* As a world would choose it. */
static const char* transport_of(const fields* f) {
  if (f->transport) return f->transport;
  const bool processes = getenv("TG_BOOTSTRAP") || tg_world_under_launcher();
  if (processes && strcmp(f->options.backend, "cuda") == 0) return "nvshmem";
  return getenv("TG_BOOTSTRAP") ? "socket" : tg_world_under_launcher() ? "mpi" : "loop";
}

static tg_status check_minutes(const char* option, double minutes) {
  if (isnan(minutes) || minutes > 0) return TG_OK;
  return tg_fail(TG_ERR_INPUT, "--%s %g: minutes, more than 0, were expected", option, minutes);
}

static tg_status run(int argc, char** argv) {
  fields f = {.options = tg_cli_ci_defaults(),
              .checkpoint_minutes = NAN,
              .limit_minutes = NAN,
              .deadline_s = NAN};
  static tg_cli_ci_job job;
  static tg_cli_ci_outputs outputs;
  TG_TRY(tg_cli_options_parse(options, argc, argv, &f, NULL));
  const char* transport = transport_of(&f);
  if (strcmp(transport, "loop") == 0 && !tg_cli_speaks()) return TG_OK;
  if (!isnan(f.checkpoint_minutes) && !f.outputs.restart)
    return tg_fail(TG_ERR_INPUT,
                   "--checkpoint %g: there is no file to keep states in; give --restart FILE, too",
                   f.checkpoint_minutes);
  if (!isnan(f.limit_minutes) && !f.outputs.restart)
    return tg_fail(TG_ERR_INPUT,
                   "--time-limit %g: what was done until then would be lost; give --restart FILE, "
                   "too",
                   f.limit_minutes);
  if (isnan(f.checkpoint_minutes)) f.checkpoint_minutes = USUAL_CHECKPOINT;
  TG_TRY(check_minutes("checkpoint", f.checkpoint_minutes));
  TG_TRY(check_minutes("time-limit", f.limit_minutes));
  if (!isnan(f.deadline_s) && !(f.deadline_s > 0))
    return tg_fail(TG_ERR_INPUT, "--deadline %g: seconds, more than 0, were expected",
                   f.deadline_s);
  TG_TRY(tg_cli_ci_outputs_open(&f.outputs, argc, argv, &outputs));
  TG_TRY(tg_cli_ci_open(&f.options, true, &job));
  job.solve.transport = transport;
  job.solve.deadline_s = isnan(f.deadline_s) ? 0 : f.deadline_s;
  if (!f.json && tg_cli_speaks())
    for (size_t i = 0; i < job.input.notes.count; i++)
      fprintf(stderr, "Note: %s\n", job.input.notes.line[i]);
  const tg_status status = solve(&f, &job, &outputs);
  tg_cli_ci_close(&job);
  return status;
}

static const tg_cli_example examples[] = {
    {"throng ci solve -i usdb --protons 2 --neutrons 2", "the ten lowest levels of 20Ne"},
    {"throng ci solve -i usdb --protons 4 --neutrons 4 --states 4 --observables e2,m1",
     "24Mg with its moments and transitions"},
    {"throng ci solve -i ckpot --protons 4 --neutrons 4 --states 5 --json-file carbon.json",
     "12C; table on the terminal, and everything as JSON"},
    {"throng ci solve -i usdb --protons 4 --neutrons 4 -o mg24 --wave mg24.h5",
     "24Mg; level scheme, JSON, observables, wave functions and log in a folder"},
    {"throng ci solve -i usdb --protons 4 --neutrons 4 --pe 2",
     "the states shared by two processing elements"},
    {"mpirun -n 2 throng ci solve -i usdb --protons 4 --neutrons 4", "a process each"},
    {"throng ci solve -i usdb --protons 6 --neutrons 6 --backend cuda --gpus 2",
     "28Si, its states shared by two GPUs"},
    {"throng ci solve -i usdb --protons 2 --neutrons 2 --backend acc",
     "20Ne by OpenACC: on a GPU, or on the host where it finds none"},
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
        "docs/formats.md has the formats of inputs and of files that are written.",
    .options = options,
    .examples = examples,
    .run = run,
};
