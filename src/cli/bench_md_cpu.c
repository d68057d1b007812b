/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/plot.h"
#include "bench/md_cpu.h"
#include "cli/cli.h"
#include "cli/machine.h"

typedef struct fields {
  const char *configuration, *topology, *parameters, *precision, *figure;
  int threads, steps, repeats;
  bool json, alone;
} fields;

static const tg_cli_option options[] = {
    {"configuration", 'c', TG_CLI_TEXT, offsetof(fields, configuration), "FILE",
     "start positions (default: examples/ethanol-water/conf.gro)", false},
    {"topology", 'p', TG_CLI_TEXT, offsetof(fields, topology), "FILE",
     "topology (default: examples/ethanol-water/topol.top)", false},
    {"parameters", 'f', TG_CLI_TEXT, offsetof(fields, parameters), "FILE",
     "run parameters; their output and nsteps are replaced (default: "
     "examples/ethanol-water/rf.mdp)",
     false},
    {"threads", 0, TG_CLI_INT, offsetof(fields, threads), "N",
     "of each program (default: all it may use)", false},
    {"steps", 0, TG_CLI_INT, offsetof(fields, steps), "N", "of each measurement (default 200)",
     false},
    {"repeats", 0, TG_CLI_INT, offsetof(fields, repeats), "N",
     "measurements of each program (default 5)", false},
    {"precision", 0, TG_CLI_CHOICE, offsetof(fields, precision), "mixed|double",
     "of throng's pair forces (default mixed)", false},
    {"alone", 0, TG_CLI_FLAG, offsetof(fields, alone), NULL, "leave OpenMM out", false},
    {"figure", 0, TG_CLI_TEXT, offsetof(fields, figure), "FILE",
     "plot the measurements, .svg or .png", false},
    {"json", 0, TG_CLI_FLAG, offsetof(fields, json), NULL,
     "print JSON lines: the machine, each measurement, the summary", false},
    {NULL, 0, TG_CLI_FLAG, 0, NULL, NULL, false},
};

static void show(void* context, const char* line) {
  (void)context;
  fprintf(stderr, "%s\n", line);
}

/* ns/day of one program that needs us microseconds a step. */
static double speed(const tg_bench_md_cpu_result* result, double us) {
  return result->dt * 1e-3 * 86400 / (us * 1e-6);
}

static double pairs_per_second(const tg_bench_md_cpu_result* result) {
  const tg_md_run_result* best = &result->best;
  double steps = (double)(best->last_step - best->first_step + 1);
  for (int i = 0; i < best->part_count; i++)
    if (strcmp(best->parts[i].name, "pair forces") == 0 && best->parts[i].seconds > 0)
      return best->pairs_in_list * steps / best->parts[i].seconds;
  return 0;
}

/* How busy the machine is with other work: the mean number of runnable processes of the last
 * minute. */
static double load(void) {
  double average = -1;
  return getloadavg(&average, 1) == 1 ? average : -1;
}

static void print_text(const fields* f, const tg_bench_md_cpu_result* result,
                       const tg_cli_machine* machine, double load_before) {
  const tg_md_run_result* best = &result->best;
  printf("machine    %s, %d threads usable, %s; load %.2f at the start\n", machine->cpu_model,
         machine->usable_threads, machine->simd, load_before);
  printf("throng     %s, %s, %d threads\n", TG_VERSION, best->kernels, best->threads);
  printf("OpenMM     %s\n", result->openmm);
  printf("system     %s, %s, %s\n", f->configuration, f->topology, f->parameters);
  printf("           %zu atoms, cut-off %g nm, steps of %g fs, list every %d steps to %.4f nm\n",
         result->atom_count, result->cutoff, 1e3 * result->dt, best->nstlist, best->list_radius);
  printf("method     %d measurements of %d steps each, in turns\n", f->repeats, f->steps);
  printf("check      forces within %.2g of the reference backend's (limit %.2g)\n\n",
         result->force_deviation, result->force_limit);
  printf("us a step             least     median       most   ns/day  least/throng's\n");
  for (int s = 0; s < result->series_count; s++) {
    const tg_bench_series* series = &result->series[s];
    double least = tg_bench_least(series);
    printf("%-16s %10.1f %10.1f %10.1f %8.2f %15.2f\n", series->name, least,
           tg_bench_median(series), tg_bench_most(series), speed(result, least),
           least / tg_bench_least(&result->series[0]));
  }
  printf("\nthrong's fastest measurement, by part\n");
  double steps = (double)(best->last_step - best->first_step + 1);
  for (int i = 0; i < best->part_count; i++)
    printf("%-16s %10.1f us a step %6.1f %%\n", best->parts[i].name,
           1e6 * best->parts[i].seconds / steps, 100 * best->parts[i].seconds / best->wall_s);
  printf("%.0f pairs in the list, %.3g pairs a second\n", best->pairs_in_list,
         pairs_per_second(result));
}

static tg_json line_of(const char* kind) {
  tg_json json = tg_json_on(stdout, false);
  tg_json_open_object(&json, NULL);
  tg_json_text(&json, "benchmark", "md-cpu");
  tg_json_text(&json, "kind", kind);
  return json;
}

static void json_setting(const fields* f, const tg_bench_md_cpu_result* result,
                         const tg_cli_machine* machine, double load_before) {
  tg_json json = line_of("setting");
  tg_json_text(&json, "cpu", machine->cpu_model);
  tg_json_int(&json, "usable_threads", machine->usable_threads);
  tg_json_double(&json, "load", load_before);
  tg_json_text(&json, "throng", TG_VERSION);
  tg_json_text(&json, "kernels", result->best.kernels);
  tg_json_text(&json, "openmm", result->openmm);
  tg_json_text(&json, "configuration", f->configuration);
  tg_json_text(&json, "topology", f->topology);
  tg_json_text(&json, "parameters", f->parameters);
  tg_json_int(&json, "atoms", (long long)result->atom_count);
  tg_json_double(&json, "cutoff_nm", result->cutoff);
  tg_json_double(&json, "dt_ps", result->dt);
  tg_json_int(&json, "nstlist", result->best.nstlist);
  tg_json_double(&json, "list_radius_nm", result->best.list_radius);
  tg_json_int(&json, "threads", f->threads);
  tg_json_int(&json, "steps", f->steps);
  tg_json_text(&json, "precision", f->precision);
  tg_json_double(&json, "force_deviation", result->force_deviation);
  tg_json_double(&json, "force_limit", result->force_limit);
  tg_json_close_object(&json);
}

static void json_series(const tg_bench_md_cpu_result* result, const tg_bench_series* series) {
  for (int i = 0; i < series->count; i++) {
    tg_json json = line_of("measurement");
    tg_json_text(&json, "program", series->name);
    tg_json_int(&json, "repeat", i + 1);
    tg_json_double(&json, "us_per_step", series->us[i]);
    tg_json_close_object(&json);
  }
  double least = tg_bench_least(series);
  tg_json json = line_of("summary");
  tg_json_text(&json, "program", series->name);
  tg_json_double(&json, "least_us_per_step", least);
  tg_json_double(&json, "median_us_per_step", tg_bench_median(series));
  tg_json_double(&json, "most_us_per_step", tg_bench_most(series));
  tg_json_double(&json, "ns_per_day", speed(result, least));
  tg_json_double(&json, "least_over_throng", least / tg_bench_least(&result->series[0]));
  tg_json_close_object(&json);
}

static void print_json(const fields* f, const tg_bench_md_cpu_result* result,
                       const tg_cli_machine* machine, double load_before) {
  json_setting(f, result, machine, load_before);
  for (int s = 0; s < result->series_count; s++) json_series(result, &result->series[s]);
  const tg_md_run_result* best = &result->best;
  double steps = (double)(best->last_step - best->first_step + 1);
  tg_json json = line_of("parts");
  tg_json_double(&json, "pairs_in_list", best->pairs_in_list);
  tg_json_double(&json, "pairs_per_second", pairs_per_second(result));
  tg_json_open_object(&json, "us_per_step");
  for (int i = 0; i < best->part_count; i++)
    tg_json_double(&json, best->parts[i].name, 1e6 * best->parts[i].seconds / steps);
  tg_json_close_object(&json);
  tg_json_close_object(&json);
}

static tg_status draw(const tg_bench_md_cpu_result* result, const char* path) {
  tg_plot_curve curves[TG_BENCH_MOST_SERIES];
  double repeats[TG_BENCH_MOST_REPEATS];
  for (int i = 0; i < TG_BENCH_MOST_REPEATS; i++) repeats[i] = i + 1;
  for (int s = 0; s < result->series_count; s++)
    curves[s] = (tg_plot_curve){.label = result->series[s].name,
                                .x = repeats,
                                .y = result->series[s].us,
                                .count = (size_t)result->series[s].count};
  char title[128];
  snprintf(title, sizeof title, "molecular dynamics of %zu atoms on %d threads", result->atom_count,
           result->best.threads);
  tg_plot plot = {.title = title,
                  .x_label = "measurement",
                  .panel_labels = {"time a step / us"},
                  .curves = curves,
                  .curve_count = result->series_count,
                  .log_y = 1};
  return tg_plot_write(&plot, path);
}

/* The Python that has OpenMM: what TG_PYTHON names, or what ./dev deps openmm made. */
static const char* find_python(void) {
  static const char made[] = "build/deps/openmm/bin/python";
  const char* named = getenv("TG_PYTHON");
  if (named && *named) return named;
  return access(made, X_OK) == 0 ? made : NULL;
}

static tg_status check(const fields* f) {
  if (f->threads < 1)
    return tg_fail(TG_ERR_INPUT, "--threads %d: at least 1 was expected", f->threads);
  if (f->steps < 1) return tg_fail(TG_ERR_INPUT, "--steps %d: at least 1 was expected", f->steps);
  if (f->repeats < 1 || f->repeats > TG_BENCH_MOST_REPEATS)
    return tg_fail(TG_ERR_INPUT, "--repeats %d: 1 to %d were expected", f->repeats,
                   TG_BENCH_MOST_REPEATS);
  return TG_OK;
}

static tg_status run(int argc, char** argv) {
  tg_cli_machine machine = tg_cli_machine_query();
  fields f = {.configuration = "examples/ethanol-water/conf.gro",
              .topology = "examples/ethanol-water/topol.top",
              .parameters = "examples/ethanol-water/rf.mdp",
              .precision = "mixed",
              .threads = machine.usable_threads,
              .steps = 200,
              .repeats = 5};
  TG_TRY(tg_cli_options_parse(options, argc, argv, &f, NULL));
  TG_TRY(check(&f));
  if (!tg_cli_speaks()) return TG_OK;
  tg_bench_md_cpu_params params = {.configuration = f.configuration,
                                   .topology = f.topology,
                                   .parameters = f.parameters,
                                   .precision = f.precision,
                                   .threads = f.threads,
                                   .steps = f.steps,
                                   .warm_up = f.steps < 50 ? f.steps : 50,
                                   .repeats = f.repeats,
                                   .python = f.alone ? NULL : find_python(),
                                   .script = "tools/bench_openmm.py",
                                   .progress = show};
  if (!f.alone && !params.python)
    show(NULL,
         "OpenMM takes no part: ./dev deps openmm fetches it, or TG_PYTHON names a Python that "
         "has it");
  double load_before = load();
  tg_bench_md_cpu_result result;
  TG_TRY(tg_bench_md_cpu(&params, &result));
  if (f.json)
    print_json(&f, &result, &machine, load_before);
  else
    print_text(&f, &result, &machine, load_before);
  return f.figure ? draw(&result, f.figure) : TG_OK;
}

static const tg_cli_example examples[] = {
    {"throng bench md-cpu", "the example system on all cores, beside OpenMM where it is found"},
    {"throng bench md-cpu --alone --steps 20 --repeats 3 --threads 1 --json",
     "throng alone, on one core, for a script"},
    {NULL, NULL},
};

const tg_cli_verb tg_cli_bench_md_cpu_verb = {
    .name = "bench md-cpu",
    .summary = "how fast molecular dynamics is on the cores of this machine, and against OpenMM",
    .usage = "[-c CONF -p TOPOL -f MDP] [options]",
    .text =
        "Measures a step of molecular dynamics, where its time goes, and OpenMM's CPU platform on "
        "the same system in turns. Without -c, -p and -f it looks for throng's example, so start "
        "it in the top folder of the source.\n\n"
        "OpenMM is measured twice: \"gromacs\" is the system as OpenMM's reader of GROMACS files "
        "builds it, \"native\" has Lennard-Jones moved into OpenMM's own fast kernel, which knows "
        "Lorentz-Berthelot combination only and so gives slightly different energies. The forces "
        "of the start are checked against the reference backend before anything is measured.",
    .options = options,
    .examples = examples,
    .run = run,
};
