/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "bench/md_gpu.h"
#include "cli/cli.h"
#include "cli/machine.h"

typedef struct fields {
  const char *configuration, *topology, *parameters, *copies;
  int repeats, device;
  bool json;
} fields;

static const tg_cli_option options[] = {
    {"configuration", 'c', TG_CLI_TEXT, offsetof(fields, configuration), "FILE",
     "start positions (default: examples/ethanol-water/conf.gro)", false},
    {"topology", 'p', TG_CLI_TEXT, offsetof(fields, topology), "FILE",
     "topology (default: examples/ethanol-water/topol.top)", false},
    {"parameters", 'f', TG_CLI_TEXT, offsetof(fields, parameters), "FILE",
     "run parameters (default: examples/ethanol-water/rf.mdp)", false},
    {"copies", 0, TG_CLI_TEXT, offsetof(fields, copies), "AxBxC,...",
     "of the system along x, y and z, a measurement each (default 2x2x2,4x4x2,8x8x4: 45,000, "
     "180,000 and 1,440,000 atoms of the example)",
     false},
    {"device", 0, TG_CLI_INT, offsetof(fields, device), "N", "the GPU (default 0)", false},
    {"repeats", 0, TG_CLI_INT, offsetof(fields, repeats), "N",
     "measurements of each stage (default 21)", false},
    {"json", 0, TG_CLI_FLAG, offsetof(fields, json), NULL,
     "print JSON lines: the machine, each system", false},
    {NULL, 0, TG_CLI_FLAG, 0, NULL, NULL, false},
};

static void print_head(const tg_device_info* gpu) {
  printf("machine  %s, %d multiprocessors, %d MHz; throng %s\n", gpu->name,
         gpu->multiprocessor_count, gpu->clock_khz / 1000, TG_VERSION);
  printf(
      "method   medians of graphs of 10 launches, us; a step: forces, list / nstlist, prune / "
      "interval\n\n");
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
      return tg_fail(TG_ERR_INPUT,
                     "--copies %s: numbers up to 1000 like 2x2x2, parted by commas, were expected",
                     all);
    copies[d] = (int)count;
    *at = end + (*end != '\0');
  }
  return TG_OK;
}

static tg_status measure_all(const fields* f, const tg_device_info* gpu, int threads) {
  tg_bench_md_gpu_params params = {.configuration = f->configuration,
                                   .topology = f->topology,
                                   .parameters = f->parameters,
                                   .device = f->device,
                                   .repeats = f->repeats,
                                   .check = true,
                                   .threads = threads};
  tg_bench_md_gpu_result result;
  for (const char* at = f->copies; *at;) {
    TG_TRY(next_copies(f->copies, &at, params.copies));
    TG_TRY(tg_bench_md_gpu(&params, gpu, &result));
    if (f->json)
      json_row(&result);
    else
      print_row(&result);
    fflush(stdout);
    if (params.check && !f->json)
      fprintf(stderr, "forces within %.2g of the backend omp's (limit %.2g)\n",
              result.force_deviation, result.force_limit);
    params.check = false; /* the first system's are enough */
  }
  if (!f->json) print_notes(&result);
  return TG_OK;
}

static tg_status check(const fields* f) {
  int copies[3];
  if (f->repeats < 1)
    return tg_fail(TG_ERR_INPUT, "--repeats %d: at least 1 was expected", f->repeats);
  if (!*f->copies) return tg_fail(TG_ERR_INPUT, "--copies: nothing is there to be measured");
  for (const char* at = f->copies; *at;) TG_TRY(next_copies(f->copies, &at, copies));
  return TG_OK;
}

static tg_status run(int argc, char** argv) {
  fields f = {.configuration = "examples/ethanol-water/conf.gro",
              .topology = "examples/ethanol-water/topol.top",
              .parameters = "examples/ethanol-water/rf.mdp",
              .copies = "2x2x2,4x4x2,8x8x4",
              .repeats = 21};
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
  return measure_all(&f, &gpu, tg_cli_machine_query().usable_threads);
}

static const tg_cli_example examples[] = {
    {"throng bench md", "three sizes of the example system on the first GPU"},
    {"throng bench md --copies 3x3x3 --json", "another size, for a script"},
    {NULL, NULL},
};

const tg_cli_verb tg_cli_bench_md_verb = {
    .name = "bench md",
    .summary = "how fast the pair search and the pair forces of molecular dynamics are on a GPU",
    .usage = "[-c CONF -p TOPOL -f MDP] [options]",
    .text =
        "Measures, for copies of a system side by side, the kernels of a step that look for "
        "pairs and compute their forces: sorting atoms into clusters, listing the pairs, "
        "pruning the list, forces, and forces with energies and virial. Without -c, -p and -f "
        "it looks for throng's example, so start it in the top folder of the source.\n\n"
        "The forces of the first system are checked against those of the backend omp in double "
        "precision before anything is measured. Integration, constraints and bonded forces run "
        "on the CPU so far (throng md run); what a whole step takes there, throng bench md-cpu "
        "measures.",
    .options = options,
    .examples = examples,
    .run = run,
};
