/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/plot.h"
#include "cli/bench_md.h"
#include "cli/cli.h"
#include "cli/machine.h"

enum { MOST_SIZES = 16 };

static const char* const OWN[] = {"examples/ethanol-water/conf.gro",
                                  "examples/ethanol-water/topol.top",
                                  "examples/ethanol-water/rf.mdp"};

typedef struct fields {
  const char *configuration, *topology, *parameters, *replicate, *plot, *gpus, *pe, *halo;
  int repeats, steps, device;
  bool stamps, json;
} fields;

/* What is measured. */
typedef struct measurement {
  tg_bench_md_gpu_way ways[TG_CLI_BENCH_MD_WAYS];
  int way_count;
  tg_cli_bench_md_row rows[MOST_SIZES];
  int row_count;
} measurement;

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
    {"gpus", 0, TG_CLI_TEXT, offsetof(fields, gpus), "N,...",
     "numbers of GPUs that share the system, a measurement of whole steps each (default 1)", false},
    {"pe", 0, TG_CLI_TEXT, offsetof(fields, pe), "GRID,...",
     "domains, as throng md run has them; those that are a multiple of the GPUs (default: one for "
     "each GPU)",
     false},
    {"halo", 0, TG_CLI_CHOICE, offsetof(fields, halo), "host|stream|pulse|fused|direct|all",
     "schedule of the exchange between domains (default direct)", false},
    {"stamps", 0, TG_CLI_FLAG, offsetof(fields, stamps), NULL,
     "time the parts of some steps by the GPUs' own timers, too", false},
    {"device", 0, TG_CLI_INT, offsetof(fields, device), "N",
     "the GPU, where there is one (default 0)", false},
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

static tg_status measure_row(const fields* f, tg_bench_md_gpu_params* params,
                             const tg_device_info* gpu, tg_cli_bench_md_row* row) {
  TG_TRY(tg_bench_md_gpu(params, gpu, &row->kernels));
  tg_cli_bench_md_show_kernels(&row->kernels, f->json);
  if (params->check && !f->json)
    fprintf(stderr, "forces within %.2g of the backend omp's (limit %.2g)\n",
            row->kernels.force_deviation, row->kernels.force_limit);
  params->check = false; /* the first system's are enough */
  if (f->steps == 0) return TG_OK;
  const tg_status status = tg_bench_md_gpu_steps(params, row->steps, &row->step_count);
  if (f->json) tg_cli_bench_md_json_steps(row);
  return status;
}

static tg_status measure_all(const fields* f, const tg_device_info* gpu, measurement* m) {
  tg_bench_md_gpu_params params = {.configuration = f->configuration ? f->configuration : OWN[0],
                                   .topology = f->topology ? f->topology : OWN[1],
                                   .parameters = f->parameters ? f->parameters : OWN[2],
                                   .device = f->device,
                                   .repeats = f->repeats,
                                   .steps = f->steps,
                                   .example = !f->configuration && !f->topology && !f->parameters,
                                   .check = true,
                                   .threads = tg_cli_machine_query().usable_threads,
                                   .stamps = f->stamps,
                                   .ways = m->ways,
                                   .way_count = m->way_count};
  for (const char* at = f->replicate; *at;) {
    TG_TRY(next_copies(f->replicate, &at, params.copies));
    TG_TRY(measure_row(f, &params, gpu, &m->rows[m->row_count++]));
  }
  return TG_OK;
}

/* What was measured before a failure is shown. */
static tg_status measure_and_show(const fields* f, const tg_device_info* gpu, measurement* m) {
  const tg_status status = measure_all(f, gpu, m);
  if (!f->json && m->row_count > 0) {
    tg_cli_bench_md_print_notes(&m->rows[m->row_count - 1].kernels);
    tg_cli_bench_md_print_steps(m->rows, m->row_count);
  }
  TG_TRY(status);
  return f->plot ? tg_cli_bench_md_plot(m->rows, m->row_count, f->plot) : TG_OK;
}

static tg_status check(const fields* f) {
  int copies[3], count = 0;
  if (f->repeats < 1 || f->repeats > 1000)
    return tg_fail(TG_ERR_INPUT, "--repeats %d: 1 to 1000 were expected", f->repeats);
  if (f->steps < 0 || f->steps > 1000000)
    return tg_fail(TG_ERR_INPUT, "--steps %d: 0 to 1000000 were expected", f->steps);
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

static tg_status check_gpus(const measurement* m) {
  const int there = tg_device_count();
  if (there == 0)
    return tg_fail(TG_ERR_MACHINE, "molecular dynamics on a GPU: %s", tg_device_reason());
  for (int i = 0; i < m->way_count; i++)
    if (m->ways[i].gpus > there)
      return tg_fail(TG_ERR_MACHINE, "--gpus: %d GPUs were asked for, and this machine has %d",
                     m->ways[i].gpus, there);
  return TG_OK;
}

static tg_status run(int argc, char** argv) {
  static measurement m;
  fields f = {.replicate = "2x2x2,4x4x2,8x8x4", .repeats = 11, .steps = 400};
  TG_TRY(tg_cli_options_parse(options, argc, argv, &f, NULL));
  TG_TRY(check(&f));
  memset(&m, 0, sizeof m);
  TG_TRY(tg_cli_bench_md_ways(f.gpus, f.pe, f.halo, m.ways, &m.way_count));
  if (!tg_cli_speaks()) return TG_OK;
  TG_TRY(check_gpus(&m));
  tg_device_info gpu;
  TG_TRY(tg_device_query(f.device, &gpu));
  tg_cli_bench_md_show_machine(&gpu, f.json);
  return measure_and_show(&f, &gpu, &m);
}

static const tg_cli_example examples[] = {
    {"throng bench md", "three sizes of the example system on the first GPU"},
    {"throng bench md --replicate 3x3x3 --json", "another size, for a script"},
    {"throng bench md --gpus 1,2 --plot scaling.svg", "how much two GPUs are faster than one"},
    {"throng bench md --pe 1,2,4,8 --replicate 2x2x2", "what domains cost that share one GPU"},
    {NULL, NULL},
};

const tg_cli_verb tg_cli_bench_md_verb = {
    .name = "bench md",
    .summary = "how fast steps of molecular dynamics and their kernels are on GPUs",
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
