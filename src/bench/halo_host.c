/* SPDX-License-Identifier: Apache-2.0 */
/* The schedules of a world of PEs, in host memory, in turns. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/timer.h"
#include "bench/halo_scene.h"
#include "halo/halo.h"

static const double BATCH_S = 0.01; /* a measurement lasts so long, but LEAST_STEPS at least */
enum { LEAST_STEPS = 5, MOST_STEPS = 2000 };

/* One schedule on one PE. x, f: [local], double or float. */
typedef struct runner {
  tg_halo* halo;
  void *x, *f;
  size_t local_count;
  int steps;                                          /* of a batch */
  double step_s[TG_BENCH_HALO_MOST_REPEATS], share_x; /* the same on all PEs */
  double wait_s, wall_s;
} runner;

typedef struct run_state {
  tg_world* world;
  const tg_bench_halo_case* what;
  tg_bench_halo_scene scene;
  runner runners[TG_BENCH_HALO_HOST_SCHEDULES];
  int count;
} run_state;

static tg_status positions(const run_state* s, runner* r) {
  return s->what->double_precision ? tg_halo_positions(r->halo, (double(*)[3])r->x)
                                   : tg_halo_positions_float(r->halo, (float(*)[3])r->x);
}

static tg_status forces(const run_state* s, runner* r) {
  return s->what->double_precision ? tg_halo_forces(r->halo, (double(*)[3])r->f)
                                   : tg_halo_forces_float(r->halo, (float(*)[3])r->f);
}

static double get(const run_state* s, const void* array, size_t component) {
  return s->what->double_precision ? ((const double*)array)[component]
                                   : (double)((const float*)array)[component];
}

static void set(const run_state* s, void* array, size_t component, double value) {
  if (s->what->double_precision)
    ((double*)array)[component] = value;
  else
    ((float*)array)[component] = (float)value;
}

static tg_status open_runner(run_state* s, const char* schedule, runner* r) {
  int pe = tg_world_pe(s->world);
  size_t home = s->scene.counts[pe];
  const double box[3] = {s->scene.edge, s->scene.edge, s->scene.edge};
  const double(*centre)[3] = (const double(*)[3])s->scene.centres[pe];
  tg_halo_params params = {.schedule = schedule};
  memcpy(params.grid, s->what->grid, sizeof params.grid);
  TG_TRY(tg_halo_create(s->world, &params, &r->halo));
  TG_TRY(tg_halo_plan(r->halo, box, s->what->reach, home, centre));
  r->local_count = home + tg_halo_halo_count(r->halo);
  size_t bytes = 3 * (s->what->double_precision ? sizeof(double) : sizeof(float));
  tg_status status = tg_allocate(r->local_count, bytes, "positions", &r->x);
  if (status == TG_OK) status = tg_allocate(r->local_count, bytes, "forces", &r->f);
  TG_TRY(tg_world_agree(s->world, status));
  for (size_t i = 0; i < home; i++)
    for (size_t d = 0; d < 3; d++) set(s, r->x, 3 * i + d, centre[i][d]);
  return TG_OK;
}

/* Each copy is where its home atom is. origin: [local] scratch: PE and number at home. */
static tg_status verify_positions(run_state* s, runner* r, uint64_t* origin) {
  uint64_t pe = (uint64_t)tg_world_pe(s->world);
  size_t home = tg_halo_home_count(r->halo);
  for (size_t i = 0; i < home; i++) origin[i] = pe << 32 | i;
  TG_TRY(tg_halo_copy(r->halo, origin, sizeof *origin));
  TG_TRY(positions(s, r));
  for (size_t i = home; i < r->local_count; i++) {
    double copy[3];
    for (size_t d = 0; d < 3; d++) copy[d] = get(s, r->x, 3 * i + d);
    if (!tg_bench_halo_scene_is_copy(&s->scene, (int)(origin[i] >> 32), (uint32_t)origin[i], copy,
                                     s->what->double_precision))
      return tg_fail(TG_ERR_NUMERICS, "bench halo: schedule %s, PE %d: copy %zu is not its atom",
                     tg_halo_schedule_of(r->halo), (int)pe, i);
  }
  return TG_OK;
}

/* Each copy's force 1 comes home: sums over all PEs are what was there. */
static tg_status verify_forces(run_state* s, runner* r) {
  size_t home = tg_halo_home_count(r->halo);
  double totals[2] = {0, (double)r->local_count};
  for (size_t i = 0; i < 3 * r->local_count; i++) set(s, r->f, i, 1);
  TG_TRY(forces(s, r));
  for (size_t i = 0; i < home; i++) totals[0] += get(s, r->f, 3 * i);
  TG_TRY(tg_world_sum_doubles(s->world, totals, 2));
  for (size_t i = 0; i < 3 * r->local_count; i++) set(s, r->f, i, 0);
  if (totals[0] == totals[1]) return TG_OK;
  return tg_fail(TG_ERR_NUMERICS, "bench halo: schedule %s: forces add up to %g, not to %g",
                 tg_halo_schedule_of(r->halo), totals[0], totals[1]);
}

static tg_status verify(run_state* s, runner* r) {
  uint64_t* origin = NULL;
  TG_TRY(tg_world_agree(s->world, TG_ALLOCATE(r->local_count, "atoms' numbers", &origin)));
  tg_status status = verify_positions(s, r, origin);
  tg_free(origin);
  TG_TRY(tg_world_agree(s->world, status));
  return verify_forces(s, r);
}

/* What the calls of one exchange added to the counters, of the PE with the most: messages, waits,
 * bytes. */
static tg_status count_exchange(run_state* s, runner* r, bool up, int64_t counts[3]) {
  tg_halo_counters a = tg_halo_counters_read(r->halo);
  TG_TRY(up ? forces(s, r) : positions(s, r));
  tg_halo_counters b = tg_halo_counters_read(r->halo);
  counts[0] = b.messages - a.messages;
  counts[1] = b.waits - a.waits;
  counts[2] = b.bytes_sent - a.bytes_sent;
  return tg_world_max_int64(s->world, counts, 3);
}

static tg_status count_step(run_state* s, runner* r, tg_bench_halo_row* row) {
  int64_t x[3], f[3];
  TG_TRY(count_exchange(s, r, false, x));
  TG_TRY(count_exchange(s, r, true, f));
  row->messages_x = (double)x[0];
  row->messages_f = (double)f[0];
  row->waits_x = (double)x[1];
  row->waits_f = (double)f[1];
  row->bytes = (double)(x[2] + f[2]);
  row->channel_count = (int)x[0];
  return TG_OK;
}

/* A batch of steps, all PEs from one barrier; seconds a step of the slowest PE, and the share of x
 * in it, mean over PEs. */
static tg_status run_batch(run_state* s, runner* r, double* step_s, double* share_x) {
  double x = 0, sums[2];
  TG_TRY(tg_world_barrier(s->world));
  double start = tg_time_now(), end = start;
  for (int k = 0; k < r->steps; k++) {
    TG_TRY(positions(s, r));
    double middle = tg_time_now();
    x += middle - end;
    TG_TRY(forces(s, r));
    end = tg_time_now();
  }
  int64_t slowest = (int64_t)((end - start) * 1e9);
  sums[0] = x;
  sums[1] = end - start;
  TG_TRY(tg_world_max_int64(s->world, &slowest, 1));
  TG_TRY(tg_world_sum_doubles(s->world, sums, 2));
  *step_s = (double)slowest * 1e-9 / r->steps;
  *share_x = sums[1] > 0 ? sums[0] / sums[1] : 0;
  r->wall_s += end - start;
  return TG_OK;
}

/* Finds how many steps a batch has; all PEs find the same. */
static tg_status warm_up(run_state* s, runner* r) {
  double step_s, share;
  r->steps = LEAST_STEPS;
  TG_TRY(run_batch(s, r, &step_s, &share));
  TG_TRY(run_batch(s, r, &step_s, &share));
  double steps = step_s > 0 ? BATCH_S / step_s : MOST_STEPS;
  r->steps = (int)fmin(fmax(steps, LEAST_STEPS), MOST_STEPS);
  r->wall_s = 0;
  r->wait_s = tg_halo_counters_read(r->halo).wait_s;
  return TG_OK;
}

static int compare(const void* a, const void* b) {
  double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static tg_status finish_row(run_state* s, runner* r, const tg_bench_halo_host_constants* constants,
                            tg_bench_halo_row* row) {
  const char* schedule = tg_halo_schedule_of(r->halo);
  bool direct = strcmp(schedule, "direct") == 0;
  int n = s->what->repeats;
  double waited[2] = {tg_halo_counters_read(r->halo).wait_s - r->wait_s, r->wall_s};
  TG_TRY(tg_world_sum_doubles(s->world, waited, 2));
  qsort(r->step_s, (size_t)n, sizeof *r->step_s, compare);
  row->what = *s->what;
  row->what.schedule = schedule;
  row->what.transport = tg_world_transport(s->world);
  row->step_us = r->step_s[n / 2] * 1e6;
  row->step_spread_us = (r->step_s[n * 3 / 4] - r->step_s[n / 4]) * 1e6;
  row->least_us = r->step_s[0] * 1e6;
  row->most_us = r->step_s[n - 1] * 1e6;
  row->positions_us = row->step_us * r->share_x / n;
  row->forces_us = row->step_us - row->positions_us;
  row->bytes_per_s = row->bytes / (row->step_us * 1e-6);
  row->host_wait_share = waited[0] / waited[1];
  tg_bench_halo_work work = {.hops = direct ? 2 : 2 * tg_halo_pulse_count(r->halo),
                             .bytes = row->bytes,
                             .waits = row->waits_x + row->waits_f,
                             .messages = row->messages_x + row->messages_f,
                             .by_host = strcmp(schedule, "host") == 0};
  row->model = tg_bench_halo_model_host(constants, &work);
  row->ratio = row->step_us / row->model.total_us;
  return TG_OK;
}

static tg_status open_all(run_state* s) {
  for (int n = 0; tg_halo_schedule_name(n); n++) {
    const char* name = tg_halo_schedule_name(n);
    if (s->what->schedule && strcmp(name, s->what->schedule) != 0) continue;
    runner* r = &s->runners[s->count++];
    TG_TRY(open_runner(s, name, r));
    TG_TRY(verify(s, r));
  }
  return TG_OK;
}

/* As large as a message of the case. */
static size_t mean_message(const tg_bench_halo_row* row) {
  double messages = row->messages_x + row->messages_f;
  return messages > 0 ? (size_t)(row->bytes / messages) : 0;
}

static tg_status measure(run_state* s, tg_bench_halo_host_constants* constants,
                         tg_bench_halo_row* rows) {
  for (int i = 0; i < s->count; i++) {
    rows[i] = (tg_bench_halo_row){.what = *s->what};
    TG_TRY(count_step(s, &s->runners[i], &rows[i]));
    TG_TRY(warm_up(s, &s->runners[i]));
  }
  TG_TRY(tg_bench_halo_host_measure(s->world, mean_message(&rows[0]), s->what->double_precision,
                                    s->what->repeats, constants));
  for (int repeat = 0; repeat < s->what->repeats; repeat++)
    for (int i = 0; i < s->count; i++) {
      runner* r = &s->runners[i];
      double share = 0;
      TG_TRY(run_batch(s, r, &r->step_s[repeat], &share));
      r->share_x += share;
    }
  for (int i = 0; i < s->count; i++) TG_TRY(finish_row(s, &s->runners[i], constants, &rows[i]));
  return TG_OK;
}

tg_status tg_bench_halo_host(tg_world* world, const tg_bench_halo_case* what,
                             tg_bench_halo_host_constants* constants, tg_bench_halo_row* rows,
                             int* row_count) {
  run_state* s = NULL;
  tg_status status = TG_ALLOCATE(1, "a benchmark", &s);
  if (status == TG_OK) {
    s->world = world;
    s->what = what;
    status = tg_bench_halo_scene_make(what, &s->scene);
  }
  status = tg_world_agree(world, status);
  if (status == TG_OK) status = open_all(s);
  if (status == TG_OK) status = measure(s, constants, rows);
  if (status == TG_OK) *row_count = s->count;
  if (!s) return status;
  for (int i = 0; i < s->count; i++) {
    tg_halo_destroy(&s->runners[i].halo);
    tg_free(s->runners[i].x);
    tg_free(s->runners[i].f);
  }
  tg_bench_halo_scene_free(&s->scene);
  tg_free(s);
  return status;
}
