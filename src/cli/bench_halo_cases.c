/* SPDX-License-Identifier: Apache-2.0 */
/* The cases of `throng bench halo`: which PEs on what machine, which ways. */
#include <math.h>
#include <string.h>

#include "cli/bench_halo.h"
#include "cli/cli.h"
#include "device/nvshmem.h"
#include "halo/halo.h"

typedef tg_cli_halo_bench bench;

/* A schedule between GPUs with its options. */
static const struct {
  const char *schedule, *force_return;
  bool bulk;
} WAYS[] = {
    {"host", NULL, false},       {"stream", NULL, false},  {"pulse", NULL, false},
    {"fused", "put", false},     {"fused", "pull", false}, {"fused", "reduce", false},
    {"fused", "put", true},      {"direct", "put", false}, {"direct", "pull", false},
    {"direct", "reduce", false}, {"direct", "put", true},
};
enum { WAY_COUNT = sizeof WAYS / sizeof *WAYS, GRIDS = 3 };
static const int PES[GRIDS][3] = {{2, 1, 1}, {2, 2, 1}, {2, 2, 2}};

static bool is_all(const char* word) { return strcmp(word, "all") == 0; }
static bool chosen(const char* wanted, const char* name) {
  return is_all(wanted) || strcmp(wanted, name) == 0;
}

/* PE 0: a row has been measured. first: of its case. */
static void keep(bench* b, const tg_cli_halo_record* record, bool first) {
  if (b->record_count < TG_CLI_HALO_RECORDS) b->records[b->record_count++] = *record;
  if (!b->f.json) {
    if (first) tg_cli_halo_print_case(record);
    tg_cli_halo_print_row(&record->row);
  }
  if (!b->lines) return;
  tg_json json = tg_json_on(b->lines, false);
  tg_cli_halo_json_record(&json, record);
}

static tg_bench_halo_case case_of(const bench* b, int atoms, const int grid[3]) {
  return (tg_bench_halo_case){.atoms = atoms,
                              .reach = b->f.reach,
                              .grid = {grid[0], grid[1], grid[2]},
                              .transport = "loop",
                              .double_precision = strcmp(b->f.precision, "double") == 0,
                              .repeats = b->f.repeats,
                              .deadline_s = b->deadline_s};
}

tg_status tg_cli_halo_choose_grid(const bench* b, int atoms, int pe_count, int grid[3]) {
  double edge = cbrt(atoms / 100.), box[3] = {edge, edge, edge};
  if (b->grid[0] == 0) return tg_halo_choose_grid(pe_count, box, b->f.reach, grid);
  memcpy(grid, b->grid, sizeof b->grid);
  return TG_OK;
}

static tg_status measure_cpus(bench* b, tg_world* world, int atoms, const int grid[3]) {
  tg_bench_halo_row rows[TG_BENCH_HALO_HOST_SCHEDULES];
  tg_cli_halo_record record = {0};
  int count = 0;
  tg_bench_halo_case what = case_of(b, atoms, grid);
  if (!is_all(b->f.halo)) what.schedule = b->f.halo;
  TG_TRY(tg_bench_halo_host(world, &what, &record.host, rows, &count));
  for (int i = 0; i < count && tg_world_pe(world) == 0; i++) {
    record.row = rows[i];
    keep(b, &record, i == 0);
  }
  return TG_OK;
}

/* Is a way asked for, and to be had? What is never to be had is left out where all were asked for,
 * and refused by the halo where it was named. */
static bool wanted(const bench* b, const tg_bench_halo_case* what, int way) {
  const char* returns = WAYS[way].force_return;
  bool host = strcmp(WAYS[way].schedule, "host") == 0;
  if (!chosen(b->f.halo, WAYS[way].schedule)) return false;
  if (returns && !chosen(b->f.force_return, returns)) return false;
  if (b->f.bulk && !WAYS[way].bulk) return false;
  if (strcmp(what->transport, "mpi") == 0 && !host) return !is_all(b->f.halo);
  if (!what->path || strcmp(what->path, "put") != 0) return true;
  if (WAYS[way].bulk) return b->f.bulk;
  return !returns || strcmp(returns, "put") == 0 || !is_all(b->f.force_return);
}

/* Every way that is wanted. world: NULL, or of processes; *first: no row of the case has been kept.
 */
static tg_status measure_gpus(bench* b, tg_world* world, const tg_bench_halo_case* what,
                              const tg_device_halo_constants* constants, bool* first) {
  for (int w = 0; w < WAY_COUNT; w++) {
    bool host = strcmp(WAYS[w].schedule, "host") == 0;
    tg_cli_halo_record record = {.device = *constants};
    tg_bench_halo_case one = *what;
    if (!wanted(b, what, w)) continue;
    if (host && what->path) { /* it is staged through the host: once, on no path */
      if (!*first && strcmp(what->path, "put") == 0) continue;
      one.path = NULL;
    }
    one.schedule = WAYS[w].schedule;
    one.force_return = WAYS[w].force_return;
    one.bulk = WAYS[w].bulk;
    TG_TRY(tg_bench_halo_gpus(world, &one, constants, &record.row));
    if (!world || tg_world_pe(world) == 0) keep(b, &record, *first);
    *first = false;
  }
  return TG_OK;
}

static tg_status run_gpus(bench* b, int gpus) {
  tg_device_halo_constants constants;
  TG_TRY(tg_device_halo_measure(gpus, &constants));
  if (gpus > 1 || b->outlook.constants.flag_s == 0) b->outlook.constants = constants;
  for (int s = 0; s < b->size_count; s++)
    for (int g = 0; g < (b->pe_count ? 1 : GRIDS); g++) {
      int grid[3] = {PES[g][0], PES[g][1], PES[g][2]};
      bool first = true;
      if (b->pe_count) TG_TRY(tg_cli_halo_choose_grid(b, b->sizes[s], b->pe_count, grid));
      tg_bench_halo_case what = case_of(b, b->sizes[s], grid);
      what.gpus = gpus;
      TG_TRY(measure_gpus(b, NULL, &what, &constants, &first));
    }
  return TG_OK;
}

static tg_status run_here(bench* b, int there) {
  if (b->f.gpus > 0) return run_gpus(b, b->f.gpus);
  for (int gpus = there < 2 ? there : 2; gpus >= 1; gpus--) TG_TRY(run_gpus(b, gpus));
  return TG_OK;
}

/* A loop world of CPUs is made for each grid. */
typedef struct loop_case {
  bench* b;
  int atoms;
  const int* grid;
} loop_case;

static tg_status loop_main(tg_world* world, void* context) {
  const loop_case* c = context;
  return measure_cpus(c->b, world, c->atoms, c->grid);
}

static tg_status run_threads(bench* b) {
  for (int s = 0; s < b->size_count; s++)
    for (int g = 0; g < (b->pe_count ? 1 : GRIDS); g++) {
      int grid[3] = {PES[g][0], PES[g][1], PES[g][2]};
      if (b->pe_count) TG_TRY(tg_cli_halo_choose_grid(b, b->sizes[s], b->pe_count, grid));
      loop_case c = {b, b->sizes[s], grid};
      tg_world_params params = {.transport = "loop",
                                .pe_count = grid[0] * grid[1] * grid[2],
                                .deadline_s = b->deadline_s};
      TG_TRY(tg_world_run(&params, loop_main, &c));
    }
  return TG_OK;
}

static tg_status processes_on_gpus(bench* b, tg_world* world, int atoms, const int grid[3],
                                   const tg_device_halo_constants* constants) {
  static const char* const paths[] = {"store", "put"};
  bool first = true, nvshmem = strcmp(tg_world_transport(world), "nvshmem") == 0;
  tg_bench_halo_case what = case_of(b, atoms, grid);
  what.gpus = tg_world_pe_count(world);
  what.transport = tg_world_transport(world);
  if (!nvshmem || strcmp(b->f.path, "auto") == 0) {
    what.path = nvshmem ? "auto" : NULL;
    return measure_gpus(b, world, &what, constants, &first);
  }
  for (int p = 0; p < 2; p++) {
    if (!chosen(b->f.path, paths[p])) continue;
    what.path = paths[p];
    TG_TRY(measure_gpus(b, world, &what, constants, &first));
  }
  return TG_OK;
}

/* All that the processes of a launcher measure, in one world. */
static tg_status processes_main(tg_world* world, void* context) {
  bench* b = context;
  tg_device_halo_constants constants;
  int count = tg_world_pe_count(world);
  TG_TRY(tg_world_agree(world, b->begun));
  if (count < 2)
    return tg_fail(TG_ERR_INPUT,
                   "bench halo: one process has nobody to exchange with; start more of them, "
                   "mpirun -n 2 throng bench halo, or leave --transport %s out",
                   tg_world_transport(world));
  if (b->pe_count && b->pe_count != count)
    return tg_fail(TG_ERR_INPUT, "--pe %s: there are %d processes, each a processing element",
                   b->f.pe, count);
  constants = b->outlook.constants;
  TG_TRY(tg_world_broadcast(world, 0, &constants, sizeof constants));
  for (int s = 0; s < b->size_count; s++) {
    int grid[3];
    TG_TRY(tg_cli_halo_choose_grid(b, b->sizes[s], count, grid));
    TG_TRY(b->on_gpus ? processes_on_gpus(b, world, b->sizes[s], grid, &constants)
                      : measure_cpus(b, world, b->sizes[s], grid));
  }
  return TG_OK;
}

/* The constants are PE 0's, measured with the cards that it sees before the world has them. */
static tg_status run_processes(bench* b, int there) {
  tg_world_params params = {.transport = b->f.transport, .deadline_s = b->deadline_s};
  if (!params.transport && b->on_gpus) params.transport = tg_nvshmem_built() ? "nvshmem" : "mpi";
  if (b->on_gpus && tg_cli_speaks() && b->begun == TG_OK)
    b->begun = tg_device_halo_measure(there < 2 ? there : 2, &b->outlook.constants);
  return tg_world_run(&params, processes_main, b);
}

tg_status tg_cli_halo_measure(bench* b, int there) {
  if (b->processes) return run_processes(b, there);
  if (!tg_cli_speaks()) return TG_OK; /* a launcher's other processes: one does it all */
  TG_TRY(b->begun);
  return b->on_gpus ? run_here(b, there) : run_threads(b);
}
