/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/halo_trace.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/rng.h"
#include "comm/trace.h"
#include "halo/halo.h"

enum { EVENTS = 4096 };
static const double DENSITY = 100; /* atoms per nm^3 */

static tg_status make_scene(const tg_bench_trace_params* params, tg_bench_trace_scene* s) {
  const int* grid = params->grid;
  s->params = *params;
  s->edge = cbrt(params->atoms / DENSITY);
  for (int d = 0; d < 3; d++)
    if (grid[d] < 1 || grid[d] > TG_BENCH_TRACE_PES)
      return tg_fail(TG_ERR_INPUT, "bench halo: %d domains in a dimension; give 1 to %d", grid[d],
                     TG_BENCH_TRACE_PES);
  s->pe_count = grid[0] * grid[1] * grid[2];
  if (s->pe_count > TG_BENCH_TRACE_PES)
    return tg_fail(TG_ERR_INPUT, "bench halo: %d processing elements; at most %d are traced",
                   s->pe_count, TG_BENCH_TRACE_PES);
  if (params->atoms < 1) return tg_fail(TG_ERR_INPUT, "bench halo: %d atoms", params->atoms);
  for (int i = 0; i < params->atoms; i++) {
    tg_rng rng = tg_rng_stream(1, TG_RNG_BUILD, (uint64_t)i);
    double at[3];
    int pe = 0;
    for (int d = 0; d < 3; d++) {
      at[d] = (1 - tg_rng_uniform(&rng)) * s->edge;
      int cell = (int)(at[d] / s->edge * grid[d]);
      if (cell > grid[d] - 1) cell = grid[d] - 1;
      pe = pe * grid[d] + cell;
    }
    TG_TRY(TG_RESERVE(s->counts[pe] + 1, "atoms", &s->centres[pe], &s->room[pe]));
    memcpy(s->centres[pe][s->counts[pe]++], at, sizeof at);
  }
  return TG_OK;
}

static void free_scene(tg_bench_trace_scene* s) {
  for (int p = 0; p < TG_BENCH_TRACE_PES; p++) tg_free(s->centres[p]);
}

/* A schedule on the host: what its PEs share. */
typedef struct host_case {
  const tg_bench_trace_scene* scene;
  const char* schedule;
  tg_trace_notes* notes;
  tg_gathered_traces traces; /* PE 0's */
} host_case;

/* One PE. */
typedef struct host_pe {
  tg_world* world;
  const tg_bench_trace_scene* scene;
  tg_halo* halo;
  tg_trace* trace;
  size_t home, local;
  double (*x)[3], (*f)[3]; /* [local] */
} host_pe;

/* As long as the work of a small domain, which is not part of this picture. Every atom's force
 * becomes 1, which makes the returned ones easy to check. */
static void stand_in_for_work(host_pe* pe) {
  int64_t begin = tg_trace_now(pe->trace), end = tg_time_now_ns() + TG_BENCH_TRACE_WORK_US * 1000;
  for (size_t i = 0; i < pe->local; i++)
    for (int d = 0; d < 3; d++) pe->f[i][d] = 1;
  while (tg_time_now_ns() < end) continue;
  tg_trace_end(pe->trace, tg_trace_span(TG_HALO_TRACE_CPU, "local work (synthetic)", begin));
}

static tg_status take_steps(host_pe* pe, int steps) {
  for (int n = 0; n < steps; n++) {
    int64_t begin = tg_trace_now(pe->trace);
    TG_TRY(tg_halo_positions(pe->halo, pe->x));
    stand_in_for_work(pe);
    TG_TRY(tg_halo_forces(pe->halo, pe->f));
    tg_trace_event event = tg_trace_span(TG_HALO_TRACE_CPU, "step", begin);
    event.number = n;
    tg_trace_end(pe->trace, event);
  }
  return TG_OK;
}

/* Collective. Each copy lies in the brick it is said to come from; each copy's 1 has come home. */
static tg_status verify(const host_pe* pe) {
  const uint8_t(*offset)[3] = tg_halo_offsets(pe->halo);
  const int *cell = tg_halo_cell(pe->halo), *grid = pe->scene->params.grid;
  double slack = 0x1p-50 * pe->scene->edge; /* a shift's rounding */
  int64_t sums[3] = {0, 0, (int64_t)pe->local};
  for (size_t i = 0; i < pe->local; i++)
    for (int d = 0; d < 3; d++) {
      double width = pe->scene->edge / grid[d], low = (cell[d] + offset[i][d]) * width;
      sums[0] += !(pe->x[i][d] >= low - slack && pe->x[i][d] <= low + width + slack);
    }
  for (size_t i = 0; i < pe->home; i++) sums[1] += (int64_t)pe->f[i][0];
  TG_TRY(tg_world_sum_int64(pe->world, sums, 3));
  if (sums[0] == 0 && sums[1] == sums[2]) return TG_OK;
  return tg_fail(TG_ERR_NUMERICS,
                 "bench halo, schedule %s: %lld coordinates of copies are wrong; forces add up to "
                 "%lld, not %lld",
                 tg_halo_schedule_of(pe->halo), (long long)sums[0], (long long)sums[1],
                 (long long)sums[2]);
}

static tg_status prepare(host_pe* pe) {
  const tg_bench_trace_scene* s = pe->scene;
  int self = tg_world_pe(pe->world);
  const double box[3] = {s->edge, s->edge, s->edge};
  const double(*centres)[3] = (const double(*)[3])s->centres[self];
  pe->home = s->counts[self];
  TG_TRY(tg_halo_plan(pe->halo, box, s->params.reach, pe->home, centres));
  pe->local = pe->home + tg_halo_halo_count(pe->halo);
  char name[TG_TRACE_NAME];
  snprintf(name, sizeof name, "PE %d", self);
  tg_status status = TG_ALLOCATE(pe->local, "positions", &pe->x);
  if (status == TG_OK) status = TG_ALLOCATE(pe->local, "forces", &pe->f);
  if (status == TG_OK) status = tg_trace_create(name, TG_HALO_TRACE_LINES, EVENTS, &pe->trace);
  TG_TRY(tg_world_agree(pe->world, status));
  if (pe->home) memcpy(pe->x, centres, pe->home * sizeof *pe->x);
  return TG_OK;
}

static tg_status run_on_pe(tg_world* world, void* context) {
  host_case* c = context;
  host_pe pe = {.world = world, .scene = c->scene};
  tg_halo_params params = {.schedule = c->schedule};
  tg_gathered_traces traces = {NULL, 0};
  memcpy(params.grid, c->scene->params.grid, sizeof params.grid);
  tg_status status;
  TG_TRY_GOTO(tg_halo_create(world, &params, &pe.halo), end);
  TG_TRY_GOTO(prepare(&pe), end);
  pe.trace->paused = true;
  tg_halo_trace(pe.halo, pe.trace);
  TG_TRY_GOTO(take_steps(&pe, TG_BENCH_TRACE_WARM_UP), end);
  TG_TRY_GOTO(tg_world_barrier(world), end);
  pe.trace->paused = false;
  TG_TRY_GOTO(take_steps(&pe, TG_BENCH_TRACE_STEPS), end);
  pe.trace->paused = true;
  TG_TRY_GOTO(verify(&pe), end);
  TG_TRY_GOTO(tg_trace_gather(world, pe.trace, c->notes, &traces), end);
  if (tg_world_pe(world) == 0) c->traces = traces;
end:
  tg_halo_destroy(&pe.halo);
  tg_trace_destroy(&pe.trace);
  tg_free(pe.x);
  tg_free(pe.f);
  return status;
}

static tg_status run_host(const tg_bench_trace_scene* scene, const char* schedule,
                          const char* title, tg_trace_notes* notes, tg_bench_trace_group* group) {
  host_case c = {.scene = scene, .schedule = schedule, .notes = notes};
  const tg_world_params world = {
      .transport = "loop", .pe_count = scene->pe_count, .deadline_s = scene->params.deadline_s};
  TG_TRY(tg_world_run(&world, run_on_pe, &c));
  snprintf(group->name, sizeof group->name, "%s", title);
  group->traces = c.traces.traces;
  group->count = c.traces.count;
  return TG_OK;
}

static tg_status run_hosts(const tg_bench_trace_scene* scene, tg_trace_notes* notes,
                           tg_bench_trace_group* groups, int* count) {
  tg_trace_note(notes, "clock", "CLOCK_MONOTONIC, the same for all processing elements");
  TG_TRY(run_host(scene, "host", "1 by messages (host)", notes, &groups[(*count)++]));
  return run_host(scene, "fused", "2 by flags (fused)", notes, &groups[(*count)++]);
}

static tg_bench_trace_row row_of(const tg_bench_trace_group* group) {
  tg_bench_trace_row row = {.name = group->name};
  int64_t begin = INT64_MAX, end = INT64_MIN;
  for (int t = 0; t < group->count; t++) {
    const tg_trace* trace = group->traces[t];
    row.events += trace->count;
    for (size_t i = 0; i < trace->count; i++) {
      if (trace->events[i].begin_ns < begin) begin = trace->events[i].begin_ns;
      if (trace->events[i].end_ns > end) end = trace->events[i].end_ns;
    }
  }
  row.step_us = row.events ? (double)(end - begin) * 1e-3 / TG_BENCH_TRACE_STEPS : 0;
  return row;
}

static tg_status write_groups(const char* path, const tg_bench_trace_group* groups, int count,
                              const tg_trace_notes* notes) {
  tg_trace_group all[TG_BENCH_TRACE_ROWS];
  for (int g = 0; g < count; g++)
    all[g] = (tg_trace_group){groups[g].name, groups[g].traces, groups[g].count};
  return tg_trace_write(path, all, count, notes);
}

tg_status tg_bench_trace_write(const tg_bench_trace_params* params, const char* path,
                               tg_bench_trace_row rows[TG_BENCH_TRACE_ROWS], int* row_count) {
  static tg_bench_trace_group groups[TG_BENCH_TRACE_ROWS]; /* rows point to their names */
  static tg_bench_trace_scene scene;
  tg_trace_notes* notes = NULL;
  int count = 0;
  memset(groups, 0, sizeof groups);
  memset(&scene, 0, sizeof scene);
  tg_status status = TG_ALLOCATE(1, "notes", &notes);
  TG_TRY_GOTO(status, end);
  TG_TRY_GOTO(make_scene(params, &scene), end);
  tg_trace_note(notes, "atoms", "%d in %d x %d x %d domains, reach %g nm", params->atoms,
                params->grid[0], params->grid[1], params->grid[2], params->reach);
  tg_trace_note(notes, "steps", "%d, after %d that were not recorded", TG_BENCH_TRACE_STEPS,
                TG_BENCH_TRACE_WARM_UP);
  tg_trace_note(notes, "local work", "synthetic: it takes %d us and computes nothing",
                TG_BENCH_TRACE_WORK_US);
  status = params->gpus ? tg_bench_trace_devices(&scene, notes, groups, &count)
                        : run_hosts(&scene, notes, groups, &count);
  if (status == TG_OK) status = write_groups(path, groups, count, notes);
  for (int g = 0; g < count && status == TG_OK; g++) rows[g] = row_of(&groups[g]);
  *row_count = status == TG_OK ? count : 0;
end:
  for (int g = 0; g < count; g++) {
    for (int t = 0; t < groups[g].count; t++) tg_trace_destroy(&groups[g].traces[t]);
    tg_free(groups[g].traces);
  }
  free_scene(&scene);
  tg_free(notes);
  return status;
}
