/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/halo.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/rng.h"
#include "base/timer.h"
#include "halo/halo.h"

enum { STEPS = 20, LAUNCHES = 10, MOST_REPEATS = 101, MOST_PES = 64 };
static const double DENSITY = 100; /* atoms per nm^3 */

/* Atoms, dealt out to bricks, and their plan. */
typedef struct scene {
  double edge;
  int pe_count;
  size_t counts[MOST_PES];
  double (*centres[MOST_PES])[3];
  size_t room[MOST_PES];
  tg_device_plan plan;
} scene;

static void scene_free(scene* s) {
  for (int p = 0; p < MOST_PES; p++) tg_free(s->centres[p]);
  tg_device_plan_free(&s->plan);
}

static tg_status scene_make(const tg_bench_halo_case* what, bool direct, scene* s) {
  const int* grid = what->grid;
  s->edge = cbrt(what->atoms / DENSITY);
  s->pe_count = grid[0] * grid[1] * grid[2];
  if (s->pe_count > MOST_PES)
    return tg_fail(TG_ERR_INPUT, "bench halo: %d processing elements; at most %d", s->pe_count,
                   MOST_PES);
  for (int i = 0; i < what->atoms; i++) {
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
  const double box[3] = {s->edge, s->edge, s->edge};
  return tg_device_plan_make(grid, box, what->reach, s->counts,
                             (const double(*const*)[3])s->centres, direct, &s->plan);
}

/* Every copy equals its home atom, but for whole box edges and the rounding of their sum. */
static tg_status verify(const scene* s, tg_device_halo* halo, bool wide) {
  double limit = (wide ? 0x1p-52 : 0x1p-23) * 2 * s->edge;
  for (int p = 0; p < s->pe_count; p++)
    TG_TRY(tg_device_halo_set_positions(halo, p, (const double(*)[3])s->centres[p]));
  TG_TRY(tg_device_halo_positions(halo));
  tg_status status = TG_OK;
  for (int p = 0; p < s->pe_count && status == TG_OK; p++) {
    const tg_device_part* part = &s->plan.parts[p];
    double(*x)[3] = NULL;
    TG_TRY(TG_ALLOCATE(part->local_count, "positions", &x));
    status = tg_device_halo_get_positions(halo, p, x);
    for (size_t i = 0; i < part->local_count && status == TG_OK; i++)
      for (int d = 0; d < 3; d++) {
        double off = x[i][d] - s->centres[part->origin_pe[i]][part->origin_atom[i]][d];
        if (!(fabs(off) <= limit || fabs(off - s->edge) <= limit))
          status =
              tg_fail(TG_ERR_NUMERICS, "bench halo: PE %d: copy %zu is off by %g nm", p, i, off);
      }
    tg_free(x);
  }
  return status;
}

/* Queues one step of a kind. */
typedef enum kind { POSITIONS, STEP, MOVE, MOVE_AND_PUSH } kind;

static tg_status queue(tg_device_halo* halo, kind which) {
  if (which == MOVE) return tg_device_halo_move(halo, 0, false);
  if (which == MOVE_AND_PUSH) {
    TG_TRY(tg_device_halo_move(halo, 0, true));
    return tg_device_halo_await(halo);
  }
  TG_TRY(tg_device_halo_positions(halo));
  return which == STEP ? tg_device_halo_forces(halo) : TG_OK;
}

static int compare(const void* a, const void* b) {
  double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

/* One run of the repeats: wall time of so many steps. */
static tg_status run_steps(tg_device_halo* halo, tg_device_halo_graph* graph, kind which,
                           double* seconds) {
  double start = tg_time_now();
  for (int n = 0; n < LAUNCHES; n++) {
    if (graph) {
      TG_TRY(tg_device_halo_graph_launch(halo, graph));
      continue;
    }
    for (int k = 0; k < STEPS; k++) TG_TRY(queue(halo, which));
  }
  TG_TRY(tg_device_halo_synchronize(halo));
  *seconds = (tg_time_now() - start) / (STEPS * LAUNCHES);
  return TG_OK;
}

typedef struct timing {
  double median_s, spread_s, wall_s; /* wall: of all the repeats */
  tg_device_halo_counters counters;  /* before less after: of the repeats */
} timing;

static tg_status capture(tg_device_halo* halo, kind which, tg_device_halo_graph** graph) {
  TG_TRY(tg_device_halo_graph_begin(halo));
  tg_status status = TG_OK;
  for (int k = 0; k < STEPS && status == TG_OK; k++) status = queue(halo, which);
  tg_status ended = tg_device_halo_graph_end(halo, graph);
  return status == TG_OK ? ended : status;
}

static tg_status time_kind(tg_device_halo* halo, kind which, bool host, int repeats, timing* out) {
  double taken[MOST_REPEATS], warm;
  tg_device_halo_counters before;
  tg_device_halo_graph* graph = NULL;
  tg_status status = TG_OK;
  if (!host) TG_TRY(capture(halo, which, &graph));
  TG_TRY_GOTO(run_steps(halo, graph, which, &warm), end);
  TG_TRY_GOTO(tg_device_halo_counters_read(halo, &before), end);
  double start = tg_time_now();
  for (int r = 0; r < repeats; r++) TG_TRY_GOTO(run_steps(halo, graph, which, &taken[r]), end);
  out->wall_s = tg_time_now() - start;
  TG_TRY_GOTO(tg_device_halo_counters_read(halo, &out->counters), end);
  out->counters.device_wait_s -= before.device_wait_s;
  out->counters.positions.wait_s -= before.positions.wait_s;
  out->counters.forces.wait_s -= before.forces.wait_s;
  qsort(taken, (size_t)repeats, sizeof *taken, compare);
  out->median_s = taken[repeats / 2];
  out->spread_s = taken[repeats * 3 / 4] - taken[repeats / 4];
end:
  tg_device_halo_graph_destroy(halo, &graph);
  return status;
}

/* Launches and waits of one step, counted where they happen, per card. */
static tg_status count_step(tg_device_halo* halo, tg_bench_halo_row* row) {
  tg_device_halo_counters a, b;
  double cards = tg_device_halo_gpu_count(halo);
  TG_TRY(tg_device_halo_counters_read(halo, &a));
  TG_TRY(queue(halo, STEP));
  TG_TRY(tg_device_halo_counters_read(halo, &b));
  row->launches_x = (double)(b.positions.launches - a.positions.launches) / cards;
  row->launches_f = (double)(b.forces.launches - a.forces.launches) / cards;
  row->copies_x = (double)(b.positions.copies - a.positions.copies) / cards;
  row->copies_f = (double)(b.forces.copies - a.forces.copies) / cards;
  row->waits_x = (double)(b.positions.blocking_waits - a.positions.blocking_waits) / cards;
  row->waits_f = (double)(b.forces.blocking_waits - a.forces.blocking_waits) / cards;
  return TG_OK;
}

static double busiest_bytes(const scene* s, const tg_bench_halo_case* what) {
  double most = 0, per_atom = 3.0 * (what->double_precision ? sizeof(double) : sizeof(float));
  for (int card = 0; card < what->gpus; card++) {
    double x = 0, f = 0;
    for (int p = 0; p < s->pe_count; p++) {
      if (p * what->gpus / s->pe_count != card) continue;
      for (int c = 0; c < s->plan.channel_count; c++) {
        const tg_device_message* m = &s->plan.parts[p].messages[c];
        if (what->gpus == 1 || m->to * what->gpus / s->pe_count != card) x += (double)m->send_count;
        if (what->gpus == 1 || m->from * what->gpus / s->pe_count != card)
          f += (double)m->receive_count;
      }
    }
    if (x + f > most) most = x + f;
  }
  return most * per_atom;
}

static tg_device_halo_params params_of(const tg_bench_halo_case* what, bool forces) {
  return (tg_device_halo_params){.gpus = what->gpus,
                                 .schedule = what->schedule,
                                 .force_return = what->force_return,
                                 .bulk = what->bulk,
                                 .double_precision = what->double_precision,
                                 .returns_forces = forces};
}

static tg_status measure_step(const scene* s, const tg_bench_halo_case* what, bool host,
                              tg_bench_halo_row* row) {
  tg_device_halo* halo = NULL;
  timing step = {0};
  tg_device_halo_params params = params_of(what, true);
  TG_TRY(tg_device_halo_create(&params, &s->plan, &halo));
  tg_status status = verify(s, halo, what->double_precision);
  if (status == TG_OK) status = tg_device_halo_forces(halo);
  if (status == TG_OK) status = count_step(halo, row);
  if (status == TG_OK) status = time_kind(halo, STEP, host, what->repeats, &step);
  tg_device_halo_destroy(&halo);
  TG_TRY(status);
  row->step_us = step.median_s * 1e6;
  row->step_spread_us = step.spread_s * 1e6;
  row->host_wait_share =
      (step.counters.positions.wait_s + step.counters.forces.wait_s) / step.wall_s;
  row->flag_wait_share = step.counters.device_wait_s / s->pe_count / step.wall_s;
  return TG_OK;
}

static tg_status measure_positions(const scene* s, const tg_bench_halo_case* what, bool host,
                                   tg_bench_halo_row* row) {
  tg_device_halo* halo = NULL;
  timing x = {0}, move = {0}, push = {0};
  tg_device_halo_params params = params_of(what, false);
  TG_TRY(tg_device_halo_create(&params, &s->plan, &halo));
  tg_status status = time_kind(halo, POSITIONS, host, what->repeats, &x);
  if (status == TG_OK && s->plan.direct && !what->bulk) {
    status = time_kind(halo, MOVE, false, what->repeats, &move);
    if (status == TG_OK) status = time_kind(halo, MOVE_AND_PUSH, false, what->repeats, &push);
    if (status == TG_OK) row->push_us = (push.median_s - move.median_s) * 1e6;
  }
  tg_device_halo_destroy(&halo);
  TG_TRY(status);
  row->positions_us = x.median_s * 1e6;
  row->forces_us = row->step_us - row->positions_us;
  return TG_OK;
}

tg_status tg_bench_halo_run(const tg_bench_halo_case* what,
                            const tg_device_halo_constants* constants, tg_bench_halo_row* out) {
  tg_bench_halo_row row = {.what = *what};
  scene s = {0};
  bool direct = strcmp(what->schedule, "direct") == 0, host = strcmp(what->schedule, "host") == 0;
  if (what->repeats < 1 || what->repeats > MOST_REPEATS)
    return tg_fail(TG_ERR_INPUT, "bench halo: %d repeats; give 1 to %d", what->repeats,
                   MOST_REPEATS);
  tg_status status = scene_make(what, direct, &s);
  if (status == TG_OK) status = measure_step(&s, what, host, &row);
  if (status == TG_OK) status = measure_positions(&s, what, host, &row);
  if (status == TG_OK) {
    row.channel_count = s.plan.channel_count;
    row.bytes = busiest_bytes(&s, what);
    row.bytes_per_s = row.bytes / (row.step_us * 1e-6);
    double hops = direct ? 2 : 2 * row.channel_count;
    double started = row.launches_x + row.launches_f + row.copies_x + row.copies_f;
    row.model_us = 1e6 * (hops * constants->flag_s + row.bytes / constants->bytes_per_s +
                          started * (host ? constants->launch_s : constants->node_s));
    row.ratio = row.step_us / row.model_us;
    *out = row;
  }
  scene_free(&s);
  return status;
}

tg_status tg_bench_halo_predict(int atoms, double reach, int count, bool direct, size_t element,
                                const tg_device_halo_constants* constants, int grid[3],
                                double* step_us) {
  double edge = cbrt(atoms / DENSITY), stretched = 1, brick = 1;
  const double box[3] = {edge, edge, edge};
  TG_TRY(tg_halo_choose_grid(count, box, reach, grid));
  int pulses = 0;
  for (int d = 0; d < 3; d++) {
    double width = edge / grid[d];
    brick *= width;
    stretched *= grid[d] > 1 ? width + reach : width;
    for (int k = 0; k < grid[d] - 1 && k * width < reach; k++) pulses++;
  }
  double bytes = 2 * (stretched - brick) * DENSITY * 3 * (double)element;
  *step_us = 1e6 * ((direct ? 2 : 2 * pulses) * constants->flag_s + bytes / constants->bytes_per_s +
                    2 * constants->node_s);
  return TG_OK;
}
