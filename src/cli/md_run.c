/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/md_job.h"

typedef struct fields {
  tg_cli_md_input input;
  tg_cli_md_machine machine;
  const char *output, *plot, *trace, *lists;
  int gpus; /* INT_MIN: not given */
  double checkpoint_minutes;
  bool force, go_on, reproducible, tune, balance, json;
} fields;

static const tg_cli_option options[] = {
    TG_CLI_MD_INPUT_OPTIONS(fields),
    {"output", 'o', TG_CLI_TEXT, offsetof(fields, output), "FOLDER",
     "where everything is written (default: run)", false},
    {"force", 0, TG_CLI_FLAG, offsetof(fields, force), NULL,
     "keep an earlier run's files in the folder as numbered copies and start anew", false},
    {"continue", 0, TG_CLI_FLAG, offsetof(fields, go_on), NULL,
     "go on from the folder's checkpoint", false},
    {"checkpoint", 0, TG_CLI_DOUBLE, offsetof(fields, checkpoint_minutes), "MINUTES",
     "between checkpoints (default 15)", false},
    {"reproducible", 0, TG_CLI_FLAG, offsetof(fields, reproducible), NULL,
     "choose nothing by measured time (the default): a rerun on as many processing elements and "
     "threads is bit-identical",
     false},
    {"tune", 0, TG_CLI_FLAG, offsetof(fields, tune), NULL,
     "with --backend cuda: measure how often to search pairs and to prune the list, within "
     "verlet-buffer-tolerance; what was found is in md.log and tuning.json",
     false},
    {"balance", 0, TG_CLI_FLAG, offsetof(fields, balance), NULL,
     "with --backend cuda and several domains: move the planes between them until all take the "
     "same time; a rerun then is no longer bit-identical",
     false},
    {"lists", 0, TG_CLI_TEXT, offsetof(fields, lists), "N/M",
     "search pairs every N steps and prune the list every M (N alone: never), with radii from "
     "verlet-buffer-tolerance",
     false},
    {"plot", 0, TG_CLI_TEXT, offsetof(fields, plot), "FILE",
     "plot energies and temperature, .svg or .png; in the output folder unless a path is given",
     false},
    {"trace", 0, TG_CLI_TEXT, offsetof(fields, trace), "FILE",
     "write a timeline of the first 100 steps, for ui.perfetto.dev; in the output folder unless a "
     "path is given",
     false},
    TG_CLI_MD_MACHINE_OPTIONS(fields),
    {"gpus", 0, TG_CLI_INT, offsetof(fields, gpus), "N",
     "with --backend cuda: GPUs of this machine that share the system; --pe then is a grid of "
     "domains, a multiple of N (default 1, and a domain for each, in slabs along the longest edge)",
     false},
    {"json", 0, TG_CLI_FLAG, offsetof(fields, json), NULL, "print the summary as JSON", false},
    {NULL, 0, TG_CLI_FLAG, 0, NULL, NULL, false},
};

static void show_progress(void* context, const tg_md_progress* progress) {
  (void)context;
  fprintf(stderr, "\rstep %lld", progress->step);
  if (progress->last_step >= 0) fprintf(stderr, " of %lld", progress->last_step);
  if (progress->ns_per_day > 0) fprintf(stderr, "   %.1f ns/day", progress->ns_per_day);
  if (progress->seconds_left >= 0) {
    long left = (long)progress->seconds_left;
    fprintf(stderr, "   %ld:%02ld:%02ld left", left / 3600, left / 60 % 60, left % 60);
  }
  fputs("\033[K", stderr);
  fflush(stderr);
}

static void print_summary(const fields* f, const tg_md_job* job, const tg_md_run_result* result) {
  if (f->json) {
    tg_json json = tg_json_on(stdout, true);
    tg_json_open_object(&json, NULL);
    tg_json_text(&json, "output", job->output);
    tg_json_int(&json, "first_step", result->first_step);
    tg_json_int(&json, "last_step", result->last_step);
    tg_json_double(&json, "wall_s", result->wall_s);
    tg_json_double(&json, "ns_per_day", result->ns_per_day);
    tg_json_double(&json, "drift_kJ_per_mol_per_ps_per_atom", result->drift);
    tg_json_double(&json, "mean_temperature_K", result->mean_temperature);
    tg_json_int(&json, "nstlist", result->nstlist);
    tg_json_int(&json, "prune_interval", result->prune_interval);
    tg_json_double(&json, "list_radius_nm", result->list_radius);
    tg_json_double(&json, "inner_radius_nm", result->inner_radius);
    tg_json_double(&json, "largest_force_kJ_per_mol_per_nm", result->largest_force);
    tg_json_bool(&json, "converged", result->converged);
    tg_json_bool(&json, "nothing_to_do", result->nothing_to_do);
    tg_json_close_object(&json);
    return;
  }
  if (result->nothing_to_do) return; /* a message has said so */
  printf("steps %lld to %lld in %.2f s", result->first_step, result->last_step, result->wall_s);
  if (result->largest_force > 0)
    printf("; largest force %.5g kJ/mol/nm, %s\n", result->largest_force,
           result->converged ? "converged" : "not converged");
  else
    printf(
        ": %.2f ns/day\nmean temperature %.2f K, drift of the conserved energy %.3g kJ/mol/ps per "
        "atom\n",
        result->ns_per_day, result->mean_temperature, result->drift);
  printf("written to %s: see md.log, energies.xvg, confout.gro\n", job->output);
}

/* "80/6" or "80". */
static tg_status parse_lists(const char* text, tg_md_job* job) {
  const int length = (int)strcspn(text, "/");
  const char* second = text[length] ? text + length + 1 : NULL;
  if (tg_parse_int(text, length, &job->nstlist) && job->nstlist > 0 &&
      (!second || (tg_parse_int(second, (int)strlen(second), &job->prune_interval) &&
                   job->prune_interval > 0 && job->prune_interval < job->nstlist)))
    return TG_OK;
  return tg_fail(TG_ERR_INPUT,
                 "--lists %s: steps between pair searches and, fewer, between prunings, such as "
                 "80/6, or one number, were expected",
                 text);
}

static tg_status run(int argc, char** argv) {
  fields f = {.machine = TG_CLI_MD_MACHINE_DEFAULT,
              .output = "run",
              .checkpoint_minutes = 15,
              .gpus = INT_MIN};
  char plot[4096], trace[4096];
  TG_TRY(tg_cli_options_parse(options, argc, argv, &f, NULL));
  tg_md_job job;
  TG_TRY(tg_cli_md_job(&f.input, &f.machine, &job));
  if (f.force && f.go_on)
    return tg_fail(TG_ERR_INPUT, "--force starts anew and --continue goes on: give one of them");
  if (!(f.checkpoint_minutes > 0))
    return tg_fail(TG_ERR_INPUT, "--checkpoint %g: minutes, more than 0, were expected",
                   f.checkpoint_minutes);
  if (f.gpus != INT_MIN && f.gpus < 1)
    return tg_fail(TG_ERR_INPUT, "--gpus %d: at least 1 was expected; --backend omp uses none",
                   f.gpus);
  job.gpus = f.gpus != INT_MIN ? f.gpus : 0;
  job.output = f.output;
  job.force = f.force;
  job.continue_run = f.go_on;
  job.reproducible = f.reproducible;
  job.tune = f.tune;
  job.balance = f.balance;
  if (f.lists) TG_TRY(parse_lists(f.lists, &job));
  job.checkpoint_minutes = f.checkpoint_minutes;
  if (f.plot) {
    TG_TRY(tg_path_join(strchr(f.plot, '/') ? "" : f.output, f.plot, plot, sizeof plot));
    job.plot = plot;
  }
  if (f.trace) {
    TG_TRY(tg_path_join(strchr(f.trace, '/') ? "" : f.output, f.trace, trace, sizeof trace));
    job.trace = trace;
  }
  bool terminal = isatty(STDERR_FILENO);
  if (terminal && tg_cli_speaks()) job.progress = show_progress;
  tg_md_run_result result;
  tg_status status = tg_md_run(&job, &result);
  if (job.progress) fputs("\r\033[K", stderr);
  if (status == TG_OK && tg_cli_speaks()) print_summary(&f, &job, &result);
  return status;
}

static const tg_cli_example examples[] = {
    {"throng md run " TG_CLI_MD_EXAMPLE_RF " -o run", "on all processors of this machine"},
    {"throng md run " TG_CLI_MD_EXAMPLE_RF " -o run --continue",
     "goes on after an interruption, or further after nsteps was raised"},
    {"throng md run " TG_CLI_MD_EXAMPLE_RF " -o run-domains --pe 2x2x1",
     "four domains, as threads of one process"},
    {"throng md run " TG_CLI_MD_EXAMPLE_RF " -o run-traced --pe 2 --trace trace.json",
     "with a timeline of its first steps"},
    {"mpirun -n 4 throng md run " TG_CLI_MD_EXAMPLE_RF " -o run-processes",
     "four domains, a process each"},
    {NULL, NULL},
};

const tg_cli_verb tg_cli_md_run_verb = {
    .name = "md run",
    .summary = "simulates, or minimises the energy",
    .usage = "-c CONF -p TOPOL [-f MDP] [-o FOLDER] [options]",
    .text =
        "Does what the .mdp file asks for and writes into one folder: md.log, energies.xvg, "
        "energies.jsonl, traj.xtc and traj.trr where their output is asked for, confout.gro, and "
        "the "
        "checkpoint state.cpt.\n\n"
        "Ctrl-C ends the run after the step in hand and leaves a checkpoint; --continue goes on "
        "from "
        "it, bit-identically on the same number of processing elements and threads.",
    .options = options,
    .examples = examples,
    .run = run,
};
