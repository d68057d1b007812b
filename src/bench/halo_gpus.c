/* SPDX-License-Identifier: Apache-2.0 */
/* The schedules between GPUs: of one process, which then holds all PEs, or of several, each with
 * one. A *run* is what is timed: so many steps between two synchronisations. Between processes it
 * begins at a barrier and counts as long as its slowest process. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/timer.h"
#include "bench/halo_device.h"
#include "bench/halo_scene.h"

enum { STEPS = 20, LAUNCHES = 10 };

typedef struct bench {
  tg_world* world; /* NULL: one process */
  const tg_bench_halo_case* what;
  tg_bench_halo_scene scene;
  tg_device_plan plan;
  bool host;        /* schedule host: no graphs */
  int first, after; /* the PEs of this process */
} bench;

/* What is timed. */
typedef enum kind { POSITIONS, STEP, MOVE, MOVE_AND_PUSH } kind;

/* Without a world the failure of this process is everybody's. */
static tg_status agree(const bench* b, tg_status status) {
  return b->world ? tg_world_agree(b->world, status) : status;
}

/* Every copy equals its home atom. */
static tg_status check_copies(const bench* b, tg_device_halo* halo) {
  tg_status status = TG_OK;
  for (int p = b->first; p < b->after && status == TG_OK; p++) {
    const tg_device_part* part = &b->plan.parts[p];
    double(*x)[3] = NULL;
    TG_TRY(TG_ALLOCATE(part->local_count, "positions", &x));
    status = tg_device_halo_get_positions(halo, p, x);
    for (size_t i = 0; i < part->local_count && status == TG_OK; i++)
      if (!tg_bench_halo_scene_is_copy(&b->scene, part->origin_pe[i], part->origin_atom[i], x[i],
                                       b->what->double_precision))
        status =
            tg_fail(TG_ERR_NUMERICS, "bench halo: schedule %s, PE %d: copy %zu is not its atom",
                    b->what->schedule, p, i);
    tg_free(x);
  }
  return status;
}

static tg_status verify(const bench* b, tg_device_halo* halo) {
  tg_status status = TG_OK;
  for (int p = b->first; p < b->after && status == TG_OK; p++)
    status = tg_device_halo_set_positions(halo, p, (const double(*)[3])b->scene.centres[p]);
  TG_TRY(agree(b, status));
  TG_TRY(tg_device_halo_positions(halo));
  return agree(b, check_copies(b, halo));
}

static tg_status queue(tg_device_halo* halo, kind which) {
  if (which == MOVE) return tg_device_halo_move(halo, 0, false);
  if (which == MOVE_AND_PUSH) {
    TG_TRY(tg_device_halo_move(halo, 0, true));
    return tg_device_halo_await(halo);
  }
  TG_TRY(tg_device_halo_positions(halo));
  return which == STEP ? tg_device_halo_forces(halo) : TG_OK;
}

/* One run, graph NULL: step by step; wall time of a step. */
static tg_status run_steps(const bench* b, tg_device_halo* halo, tg_device_halo_graph* graph,
                           kind which, double* seconds) {
  if (b->world) TG_TRY(tg_world_barrier(b->world));
  double start = tg_time_now();
  for (int n = 0; n < LAUNCHES; n++) {
    if (graph) {
      TG_TRY(tg_device_halo_graph_launch(halo, graph));
      continue;
    }
    for (int k = 0; k < STEPS; k++) TG_TRY(queue(halo, which));
  }
  TG_TRY(tg_device_halo_synchronize(halo));
  int64_t taken = (int64_t)((tg_time_now() - start) * 1e9);
  if (b->world) TG_TRY(tg_world_max_int64(b->world, &taken, 1));
  *seconds = (double)taken * 1e-9 / (STEPS * LAUNCHES);
  return TG_OK;
}

typedef struct timing {
  double median_s, spread_s, least_s, most_s;
  double wall_s;                    /* of all the repeats */
  tg_device_halo_counters counters; /* before less after: of the repeats */
} timing;

static tg_status capture(tg_device_halo* halo, kind which, tg_device_halo_graph** graph) {
  TG_TRY(tg_device_halo_graph_begin(halo));
  tg_status status = TG_OK;
  for (int k = 0; k < STEPS && status == TG_OK; k++) status = queue(halo, which);
  tg_status ended = tg_device_halo_graph_end(halo, graph);
  return status == TG_OK ? ended : status;
}

static int compare(const void* a, const void* b) {
  double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static void summarise(double* taken, int n, timing* out) {
  qsort(taken, (size_t)n, sizeof *taken, compare);
  out->median_s = taken[n / 2];
  out->spread_s = taken[n * 3 / 4] - taken[n / 4];
  out->least_s = taken[0];
  out->most_s = taken[n - 1];
}

static tg_status time_kind(const bench* b, tg_device_halo* halo, kind which, timing* out) {
  double taken[TG_BENCH_HALO_MOST_REPEATS], warm;
  tg_device_halo_counters before;
  tg_device_halo_graph* graph = NULL;
  tg_status status = TG_OK;
  int repeats = b->what->repeats;
  if (!b->host) TG_TRY(agree(b, capture(halo, which, &graph)));
  TG_TRY_GOTO(run_steps(b, halo, graph, which, &warm), end);
  TG_TRY_GOTO(tg_device_halo_counters_read(halo, &before), end);
  double start = tg_time_now();
  for (int r = 0; r < repeats; r++) TG_TRY_GOTO(run_steps(b, halo, graph, which, &taken[r]), end);
  out->wall_s = tg_time_now() - start;
  TG_TRY_GOTO(tg_device_halo_counters_read(halo, &out->counters), end);
  out->counters.device_wait_s -= before.device_wait_s;
  out->counters.positions.wait_s -= before.positions.wait_s;
  out->counters.forces.wait_s -= before.forces.wait_s;
  summarise(taken, repeats, out);
end:
  tg_device_halo_graph_destroy(halo, &graph);
  return status;
}

/* Launches and waits of one step, counted where they happen, per card. */
static tg_status count_step(const bench* b, tg_device_halo* halo, tg_bench_halo_row* row) {
  tg_device_halo_counters before, after;
  double cards = tg_device_halo_gpu_count(halo);
  TG_TRY(tg_device_halo_counters_read(halo, &before));
  TG_TRY(queue(halo, STEP));
  TG_TRY(tg_device_halo_counters_read(halo, &after));
  const tg_device_halo_counts *x = &after.positions, *f = &after.forces;
  int64_t counts[] = {x->launches - before.positions.launches,
                      f->launches - before.forces.launches,
                      x->copies - before.positions.copies,
                      f->copies - before.forces.copies,
                      x->blocking_waits - before.positions.blocking_waits,
                      f->blocking_waits - before.forces.blocking_waits};
  if (b->world) TG_TRY(tg_world_max_int64(b->world, counts, 6));
  row->launches_x = (double)counts[0] / cards;
  row->launches_f = (double)counts[1] / cards;
  row->copies_x = (double)counts[2] / cards;
  row->copies_f = (double)counts[3] / cards;
  row->waits_x = (double)counts[4] / cards;
  row->waits_f = (double)counts[5] / cards;
  return TG_OK;
}

static double busiest_bytes(const bench* b) {
  int gpus = b->what->gpus, pes = b->scene.pe_count;
  double most = 0, per_atom = 3.0 * (b->what->double_precision ? sizeof(double) : sizeof(float));
  for (int card = 0; card < gpus; card++) {
    double atoms = 0;
    for (int p = 0; p < pes; p++) {
      if (p * gpus / pes != card) continue;
      for (int c = 0; c < b->plan.channel_count; c++) {
        const tg_device_message* m = &b->plan.parts[p].messages[c];
        if (gpus == 1 || m->to * gpus / pes != card) atoms += (double)m->send_count;
        if (gpus == 1 || m->from * gpus / pes != card) atoms += (double)m->receive_count;
      }
    }
    if (atoms > most) most = atoms;
  }
  return most * per_atom;
}

/* Shares of the wall time in waits: the CPUs' and, in flag waits, the PEs'; means over processes.
 */
static tg_status wait_shares(const bench* b, const timing* step, tg_bench_halo_row* row) {
  double shares[] = {
      (step->counters.positions.wait_s + step->counters.forces.wait_s) / step->wall_s,
      step->counters.device_wait_s / (b->after - b->first) / step->wall_s};
  if (b->world) {
    TG_TRY(tg_world_sum_doubles(b->world, shares, 2));
    for (int i = 0; i < 2; i++) shares[i] /= tg_world_pe_count(b->world);
  }
  row->host_wait_share = shares[0];
  row->flag_wait_share = shares[1];
  return TG_OK;
}

static tg_status measure_step(const bench* b, tg_bench_halo_row* row) {
  tg_device_halo* halo = NULL;
  timing step = {0};
  TG_TRY(tg_bench_halo_device_open(b->world, b->what, true, &b->plan, &halo));
  tg_status status = verify(b, halo);
  if (status == TG_OK) status = tg_device_halo_forces(halo);
  if (status == TG_OK) status = count_step(b, halo, row);
  if (status == TG_OK) status = time_kind(b, halo, STEP, &step);
  if (status == TG_OK) status = wait_shares(b, &step, row);
  tg_device_halo_destroy(&halo);
  TG_TRY(status);
  row->step_us = step.median_s * 1e6;
  row->step_spread_us = step.spread_s * 1e6;
  row->least_us = step.least_s * 1e6;
  row->most_us = step.most_s * 1e6;
  return TG_OK;
}

static tg_status measure_positions(const bench* b, tg_bench_halo_row* row) {
  tg_device_halo* halo = NULL;
  timing x = {0}, move = {0}, push = {0};
  TG_TRY(tg_bench_halo_device_open(b->world, b->what, false, &b->plan, &halo));
  tg_status status = time_kind(b, halo, POSITIONS, &x);
  if (status == TG_OK && b->plan.direct && !b->what->bulk && !b->world) {
    status = time_kind(b, halo, MOVE, &move);
    if (status == TG_OK) status = time_kind(b, halo, MOVE_AND_PUSH, &push);
    if (status == TG_OK) row->push_us = (push.median_s - move.median_s) * 1e6;
  }
  tg_device_halo_destroy(&halo);
  TG_TRY(status);
  row->positions_us = x.median_s * 1e6;
  row->forces_us = row->step_us - row->positions_us;
  return TG_OK;
}

static void compare_with_model(const bench* b, const tg_device_halo_constants* constants,
                               tg_bench_halo_row* row) {
  row->channel_count = b->plan.channel_count;
  row->messages_x = row->messages_f = b->plan.channel_count;
  row->bytes = busiest_bytes(b);
  row->bytes_per_s = row->bytes / (row->step_us * 1e-6);
  tg_bench_halo_work work = {
      .hops = b->plan.direct ? 2 : 2 * row->channel_count,
      .bytes = row->bytes,
      .launches = row->launches_x + row->launches_f + row->copies_x + row->copies_f,
      .waits = row->waits_x + row->waits_f,
      .messages = row->messages_x + row->messages_f,
      .by_host = b->host};
  row->model = tg_bench_halo_model_gpus(constants, &work);
  row->ratio = row->step_us / row->model.total_us;
}

/* The atoms and the plan of all PEs: every process makes the same. */
static tg_status prepare(bench* b) {
  TG_TRY(tg_bench_halo_scene_make(b->what, &b->scene));
  const double box[3] = {b->scene.edge, b->scene.edge, b->scene.edge};
  b->host = strcmp(b->what->schedule, "host") == 0;
  b->first = b->world ? tg_world_pe(b->world) : 0;
  b->after = b->world ? b->first + 1 : b->scene.pe_count;
  return tg_device_plan_make(b->what->grid, box, b->what->reach, b->scene.counts,
                             (const double(*const*)[3])b->scene.centres,
                             strcmp(b->what->schedule, "direct") == 0, &b->plan);
}

tg_status tg_bench_halo_gpus(tg_world* world, const tg_bench_halo_case* what,
                             const tg_device_halo_constants* constants, tg_bench_halo_row* out) {
  tg_bench_halo_row row = {.what = *what};
  bench b = {.world = world, .what = what};
  tg_status status = agree(&b, prepare(&b));
  if (status == TG_OK) status = measure_step(&b, &row);
  if (status == TG_OK) status = measure_positions(&b, &row);
  if (status == TG_OK) {
    compare_with_model(&b, constants, &row);
    *out = row;
  }
  tg_device_plan_free(&b.plan);
  tg_bench_halo_scene_free(&b.scene);
  return status;
}
