/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/plot.h"
#include "bench/md_gpu.h"
#include "cli/bench_md.h"
#include "cli/cli.h"
#include "cli/machine.h"

enum { MOST_SIZES = 16 };

static const char* const OWN[] = {"examples/ethanol-water/conf.gro",
                                  "examples/ethanol-water/topol.top",
                                  "examples/ethanol-water/rf.mdp"};

typedef struct fields {
  const char *configuration, *topology, *parameters, *replicate, *plot;
  int repeats, steps, device, gpus;
  bool json;
} fields;

static const tg_cli_option options[] = {
    {"configuration", 'c', TG_CLI_TEXT, offsetof(fields, configuration), "FILE",
     "start positions (default: examples/ethanol-water/conf.gro)", false},
    {"topology", 'p', TG_CLI_TEXT, offsetof(fields, topology), "FILE",
     "topology (default: examples/ethanol-water/topol.top)", false},
    {"parameters", 'f', TG_CLI_TEXT, offsetof(fields, parameters), "FILE",
     "run parameters (default: examples/ethanol-water/rf.mdp)", false},
    {"replicate", 0, TG_CLI_TEXT, offsetof(fields, replicate), "AxBxC,...",
     "copies of the system along x, y and z, a measurement each (default 2x2x2,4x4x2,8x8x4: "
     "45,000, 180,000 and 1,440,000 atoms of the example)",
     false},
    {"gpus", 0, TG_CLI_INT, offsetof(fields, gpus), "N",
     "that share the system (default 1; so far there is no other)", false},
    {"device", 0, TG_CLI_INT, offsetof(fields, device), "N", "the GPU (default 0)", false},
    {"repeats", 0, TG_CLI_INT, offsetof(fields, repeats), "N",
     "measurements of each stage, and of whole steps (default 11)", false},
    {"steps", 0, TG_CLI_INT, offsetof(fields, steps), "N",
     "of each measurement of whole steps; 0: kernels alone (default 400)", false},
    {"plot", 0, TG_CLI_TEXT, offsetof(fields, plot), "FILE",
     "draw the steps and their parts into an .svg or .png file", false},
    {"json", 0, TG_CLI_FLAG, offsetof(fields, json), NULL,
     "print JSON lines: the machine, each system's kernels and its steps", false},
    {NULL, 0, TG_CLI_FLAG, 0, NULL, NULL, false},
};

static void print_head(const tg_device_info* gpu) {
  printf("machine  %s, %d multiprocessors, %d MHz; throng %s\n", gpu->name,
         gpu->multiprocessor_count, gpu->clock_khz / 1000, TG_VERSION);
  printf(
      "kernels  medians of graphs of 10 launches, us; a step: pair forces, list / nstlist, prune "
      "/ interval\n\n");
  printf("%9s %8s %8s %8s %8s %8s %8s %8s %6s %6s %10s\n", "atoms", "sort", "list", "prune",
         "forces", "energies", "a step", "model", "listed", "kept", "pairs/s");
}

static void print_row(const tg_bench_md_gpu_result* r) {
  printf("%9zu", r->atom_count);
  for (int i = 0; i < TG_DEVICE_MD_STAGES; i++) printf(" %8.2f", r->us[i]);
  printf(" %8.2f %8.2f %6.2f %6.2f %10.3g\n", r->us_step, r->us_forces_model,
         (double)r->counts.listed / (double)r->pairs, (double)r->counts.kept / (double)r->pairs,
         (double)r->pairs / r->us[TG_DEVICE_MD_FORCES] * 1e6);
}

static void print_notes(const tg_bench_md_gpu_result* r) {
  printf("\nlist     to %.4f nm every %d steps, pruned to %.4f nm every %d; cut-off %g nm\n",
         r->list_radius, r->nstlist, r->inner_radius, r->prune_interval, r->cutoff);
  printf(
      "columns  model: forces at the full rate of instructions; listed, kept: pairs in the lists "
      "by pairs within the cut-off\n");
}

static void print_steps(const fields* f, const tg_cli_bench_md_row* rows, int count) {
  const tg_bench_md_gpu_steps_result* first = &rows[0].steps;
  if (f->steps == 0 || count == 0) return;
  printf("\nsteps    whole ones without files, %d measurements of %d or so, us\n\n", first->repeats,
         first->steps);
  printf("%9s %8s %17s %8s %8s %8s %8s %8s %8s %8s %8s\n", "atoms", "median", "least to most",
         "ns/day", "forces", "update", "search", "prune", "kernels", "waits", "GROMACS");
  for (int i = 0; i < count; i++) {
    const tg_bench_md_gpu_steps_result* r = &rows[i].steps;
    printf("%9zu %8.2f %8.2f %8.2f %8.1f", rows[i].kernels.atom_count, r->us, r->us_least,
           r->us_most, r->ns_per_day);
    for (int k = 0; k < TG_BENCH_MD_GPU_PARTS; k++) printf(" %8.2f", r->part[k]);
    printf(" %8.2f %8.4f", r->kernels, r->waits);
    if (r->gromacs_us > 0)
      printf(" %8.0f\n", r->gromacs_us);
    else
      printf(" %8s\n", "-");
  }
  printf(
      "\ncolumns  forces, update, search, prune: by themselves, us a step; they overlap. kernels, "
      "waits of the host: a step.\n         GROMACS: 2026 on an H200, measured apart "
      "(docs/performance.md)\n");
}

static void json_steps(const tg_cli_bench_md_row* row) {
  const tg_bench_md_gpu_steps_result* r = &row->steps;
  tg_json json = tg_json_on(stdout, false);
  tg_json_open_object(&json, NULL);
  tg_json_text(&json, "benchmark", "md");
  tg_json_text(&json, "kind", "steps");
  tg_json_int(&json, "atoms", (long long)row->kernels.atom_count);
  tg_json_int(&json, "gpus", 1);
  tg_json_int(&json, "steps", r->steps);
  tg_json_int(&json, "repeats", r->repeats);
  tg_json_double(&json, "us_step", r->us);
  tg_json_double(&json, "us_step_least", r->us_least);
  tg_json_double(&json, "us_step_most", r->us_most);
  tg_json_double(&json, "ns_per_day", r->ns_per_day);
  tg_json_double(&json, "kernels_per_step", r->kernels);
  tg_json_double(&json, "waits_per_step", r->waits);
  tg_json_open_object(&json, "us_parts");
  for (int i = 0; i < TG_BENCH_MD_GPU_PARTS; i++)
    tg_json_double(&json, tg_bench_md_gpu_part_name((tg_bench_md_gpu_part)i), r->part[i]);
  tg_json_close_object(&json);
  if (r->gromacs_us > 0) tg_json_double(&json, "us_step_gromacs_2026", r->gromacs_us);
  tg_json_close_object(&json);
}

static void json_machine(const tg_device_info* gpu) {
  tg_json json = tg_json_on(stdout, false);
  tg_json_open_object(&json, NULL);
  tg_json_text(&json, "benchmark", "md");
  tg_json_text(&json, "kind", "machine");
  tg_json_text(&json, "gpu", gpu->name);
  tg_json_int(&json, "multiprocessors", gpu->multiprocessor_count);
  tg_json_int(&json, "clock_khz", gpu->clock_khz);
  tg_json_text(&json, "throng", TG_VERSION);
  tg_json_close_object(&json);
}

static void json_row(const tg_bench_md_gpu_result* r) {
  tg_json json = tg_json_on(stdout, false);
  tg_json_open_object(&json, NULL);
  tg_json_text(&json, "benchmark", "md");
  tg_json_text(&json, "kind", "kernels");
  tg_json_int(&json, "atoms", (long long)r->atom_count);
  tg_json_double(&json, "cutoff_nm", r->cutoff);
  tg_json_double(&json, "list_radius_nm", r->list_radius);
  tg_json_double(&json, "inner_radius_nm", r->inner_radius);
  tg_json_int(&json, "nstlist", r->nstlist);
  tg_json_int(&json, "prune_interval", r->prune_interval);
  tg_json_int(&json, "pairs", (long long)r->pairs);
  tg_json_int(&json, "listed", (long long)r->counts.listed);
  tg_json_int(&json, "kept", (long long)r->counts.kept);
  tg_json_open_object(&json, "us");
  for (int i = 0; i < TG_DEVICE_MD_STAGES; i++)
    tg_json_double(&json, tg_bench_md_gpu_stage((tg_device_md_stage)i), r->us[i]);
  tg_json_close_object(&json);
  tg_json_double(&json, "us_step", r->us_step);
  tg_json_double(&json, "us_forces_model", r->us_forces_model);
  if (r->force_deviation >= 0) tg_json_double(&json, "force_deviation", r->force_deviation);
  tg_json_close_object(&json);
}

/* The next AxBxC of a list; *at moves behind it and its comma. */
static tg_status next_copies(const char* all, const char** at, int copies[3]) {
  for (int d = 0; d < 3; d++) {
    char* end;
    const long count = strtol(*at, &end, 10);
    const bool parted = d < 2 ? *end == 'x' : *end == ',' || *end == '\0';
    if (end == *at || count < 1 || count > 1000 || !parted)
      return tg_fail(
          TG_ERR_INPUT,
          "--replicate %s: numbers up to 1000 like 2x2x2, parted by commas, were expected", all);
    copies[d] = (int)count;
    *at = end + (*end != '\0');
  }
  return TG_OK;
}

static tg_status measure_all(const fields* f, const tg_device_info* gpu, int threads,
                             tg_cli_bench_md_row* rows, int* count) {
  tg_bench_md_gpu_params params = {.configuration = f->configuration ? f->configuration : OWN[0],
                                   .topology = f->topology ? f->topology : OWN[1],
                                   .parameters = f->parameters ? f->parameters : OWN[2],
                                   .device = f->device,
                                   .repeats = f->repeats,
                                   .steps = f->steps,
                                   .example = !f->configuration && !f->topology && !f->parameters,
                                   .check = true,
                                   .threads = threads};
  for (const char* at = f->replicate; *at; ++*count) {
    tg_cli_bench_md_row* row = &rows[*count];
    TG_TRY(next_copies(f->replicate, &at, params.copies));
    TG_TRY(tg_bench_md_gpu(&params, gpu, &row->kernels));
    if (f->json)
      json_row(&row->kernels);
    else
      print_row(&row->kernels);
    fflush(stdout);
    if (f->steps > 0) {
      TG_TRY(tg_bench_md_gpu_steps(&params, &row->steps));
      if (f->json) json_steps(row);
    }
    fflush(stdout);
    if (params.check && !f->json)
      fprintf(stderr, "forces within %.2g of the backend omp's (limit %.2g)\n",
              row->kernels.force_deviation, row->kernels.force_limit);
    params.check = false; /* the first system's are enough */
  }
  return TG_OK;
}

/* What was measured before a failure is shown. */
static tg_status measure_and_show(const fields* f, const tg_device_info* gpu) {
  static tg_cli_bench_md_row rows[MOST_SIZES];
  int count = 0;
  TG_TRY(measure_all(f, gpu, tg_cli_machine_query().usable_threads, rows, &count));
  if (!f->json) {
    print_notes(&rows[count - 1].kernels);
    print_steps(f, rows, count);
  }
  return f->plot ? tg_cli_bench_md_plot(rows, count, f->plot) : TG_OK;
}

static tg_status check(const fields* f) {
  int copies[3], count = 0;
  if (f->repeats < 1 || f->repeats > 1000)
    return tg_fail(TG_ERR_INPUT, "--repeats %d: 1 to 1000 were expected", f->repeats);
  if (f->steps < 0 || f->steps > 1000000)
    return tg_fail(TG_ERR_INPUT, "--steps %d: 0 to 1000000 were expected", f->steps);
  if (f->gpus != 1)
    return tg_fail(TG_ERR_INPUT,
                   "--gpus %d: molecular dynamics works on one GPU so far; leave --gpus out",
                   f->gpus);
  if (!*f->replicate) return tg_fail(TG_ERR_INPUT, "--replicate: nothing is there to be measured");
  for (const char* at = f->replicate; *at; count++) TG_TRY(next_copies(f->replicate, &at, copies));
  if (count > MOST_SIZES)
    return tg_fail(TG_ERR_INPUT, "--replicate: %d sizes; at most %d", count, MOST_SIZES);
  if (!f->plot) return TG_OK;
  if (f->steps == 0) return tg_fail(TG_ERR_INPUT, "--plot draws whole steps: leave --steps 0 out");
  char words[256];
  TG_TRY(tg_plot_check_name(f->plot));
  return tg_plot_program(words, sizeof words);
}

static tg_status run(int argc, char** argv) {
  fields f = {.replicate = "2x2x2,4x4x2,8x8x4", .repeats = 11, .steps = 400, .gpus = 1};
  TG_TRY(tg_cli_options_parse(options, argc, argv, &f, NULL));
  TG_TRY(check(&f));
  if (!tg_cli_speaks()) return TG_OK;
  if (tg_device_count() == 0)
    return tg_fail(TG_ERR_MACHINE, "molecular dynamics on a GPU: %s", tg_device_reason());
  tg_device_info gpu;
  TG_TRY(tg_device_query(f.device, &gpu));
  if (f.json)
    json_machine(&gpu);
  else
    print_head(&gpu);
  return measure_and_show(&f, &gpu);
}

static const tg_cli_example examples[] = {
    {"throng bench md", "three sizes of the example system on the first GPU"},
    {"throng bench md --replicate 3x3x3 --json", "another size, for a script"},
    {NULL, NULL},
};

const tg_cli_verb tg_cli_bench_md_verb = {
    .name = "bench md",
    .summary = "how fast steps of molecular dynamics and their kernels are on a GPU",
    .usage = "[-c CONF -p TOPOL -f MDP] [options]",
    .text =
        "Measures, for copies of a system side by side, the kernels that look for pairs and "
        "compute their forces (sorting atoms into clusters, listing the pairs, pruning the list, "
        "forces, and forces with energies and virial), and whole steps as throng md run --backend "
        "cuda does them, without files. Without -c, -p and -f it looks for throng's example, so "
        "start it in the top folder of the source.\n\n"
        "The forces of the first system are checked against those of the backend omp in double "
        "precision before anything is measured. What a step takes on the CPU, throng bench md-cpu "
        "measures.",
    .options = options,
    .examples = examples,
    .run = run,
};
