/* SPDX-License-Identifier: Apache-2.0 */
/* The timelines of the schedules on GPUs. A step: local work on a stream of its own; meanwhile
 * positions to the neighbours and forces back; then both streams meet. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "bench/halo_trace.h"
#include "halo/device_trace.h"

static const struct {
  const char *schedule, *force_return, *title;
} WAYS[] = {
    {"host", NULL, "1 CPU-driven (host)"},
    {"fused", "pull", "2 GPU-initiated, flags (fused pull)"},
    {"fused", "put", "3 GPU-initiated, letters (fused put)"},
    {"direct", "put", "4 GPU-initiated, one hop (direct put)"},
};
enum { WAY_COUNT = sizeof WAYS / sizeof *WAYS };

static tg_status take_steps(tg_device_halo* halo, int steps) {
  tg_trace* cpu = tg_device_halo_trace_cpu(halo);
  for (int n = 0; n < steps; n++) {
    int64_t begin = tg_trace_now(cpu);
    TG_TRY(tg_device_halo_work_begin(halo, TG_BENCH_TRACE_WORK_US));
    TG_TRY(tg_device_halo_positions(halo));
    TG_TRY(tg_device_halo_forces(halo));
    TG_TRY(tg_device_halo_work_end(halo));
    tg_trace_event event = tg_trace_span(0, "step", begin);
    event.number = n;
    tg_trace_end(cpu, event);
  }
  int64_t begin = tg_trace_now(cpu);
  tg_status status = tg_device_halo_synchronize(halo);
  tg_trace_end(cpu, tg_trace_span(0, "wait for the end", begin));
  return status;
}

/* A PE's copies against their home atoms; returned: the sum of its home atoms' forces. */
static tg_status check_pe(const tg_bench_trace_scene* s, const tg_device_plan* plan,
                          tg_device_halo* halo, int p, double (*values)[3], double* sum) {
  const tg_device_part* part = &plan->parts[p];
  double limit = (s->params.double_precision ? 0x1p-52 : 0x1p-23) * 2 * s->edge;
  TG_TRY(tg_device_halo_get_positions(halo, p, values));
  for (size_t i = 0; i < part->local_count; i++)
    for (int d = 0; d < 3; d++) {
      double off = values[i][d] - s->centres[part->origin_pe[i]][part->origin_atom[i]][d];
      if (!(fabs(off) <= limit || fabs(off - s->edge) <= limit))
        return tg_fail(TG_ERR_NUMERICS, "bench halo: PE %d: copy %zu is off by %g nm", p, i, off);
    }
  TG_TRY(tg_device_halo_get_forces(halo, p, values));
  for (size_t i = 0; i < part->home_count; i++) *sum += values[i][0];
  return TG_OK;
}

/* One step more, with forces of 1: every copy's must come home. */
static tg_status verify(const tg_bench_trace_scene* s, const tg_device_plan* plan,
                        tg_device_halo* halo) {
  size_t most = 1, copies = 0;
  double(*values)[3] = NULL;
  double sum = 0;
  for (int p = 0; p < s->pe_count; p++) {
    copies += plan->parts[p].local_count;
    if (plan->parts[p].local_count > most) most = plan->parts[p].local_count;
  }
  TG_TRY(TG_ALLOCATE(most, "positions", &values));
  tg_status status = TG_OK;
  for (size_t i = 0; i < most; i++)
    for (int d = 0; d < 3; d++) values[i][d] = 1;
  for (int p = 0; p < s->pe_count && status == TG_OK; p++)
    status = tg_device_halo_set_forces(halo, p, (const double(*)[3])values);
  if (status == TG_OK) status = tg_device_halo_positions(halo);
  if (status == TG_OK) status = tg_device_halo_forces(halo);
  for (int p = 0; p < s->pe_count && status == TG_OK; p++)
    status = check_pe(s, plan, halo, p, values, &sum);
  if (status == TG_OK && sum != (double)copies)
    status = tg_fail(TG_ERR_NUMERICS, "bench halo: forces add up to %g, not to %zu", sum, copies);
  tg_free(values);
  return status;
}

static tg_status record(const tg_bench_trace_scene* s, const tg_device_plan* plan, int way,
                        tg_trace_notes* notes, tg_bench_trace_group* group) {
  tg_device_halo* halo = NULL;
  tg_device_halo_params params = {.gpus = s->params.gpus,
                                  .schedule = WAYS[way].schedule,
                                  .force_return = WAYS[way].force_return,
                                  .double_precision = s->params.double_precision,
                                  .returns_forces = true,
                                  .deadline_s = s->params.deadline_s};
  tg_device_traces traces = {NULL, 0};
  char prefix[16];
  snprintf(prefix, sizeof prefix, "%d", way + 1);
  snprintf(group->name, sizeof group->name, "%s", WAYS[way].title);
  TG_TRY(tg_device_halo_create(&params, plan, &halo));
  tg_status status = TG_OK;
  for (int p = 0; p < s->pe_count && status == TG_OK; p++)
    status = tg_device_halo_set_positions(halo, p, (const double(*)[3])s->centres[p]);
  if (status == TG_OK) status = tg_device_halo_trace_open(halo, TG_BENCH_TRACE_STEPS);
  if (status == TG_OK) status = take_steps(halo, TG_BENCH_TRACE_WARM_UP);
  if (status == TG_OK) status = tg_device_halo_trace_start(halo);
  if (status == TG_OK) status = take_steps(halo, TG_BENCH_TRACE_STEPS);
  if (status == TG_OK) status = tg_device_halo_trace_stop(halo, prefix, notes, &traces);
  if (status == TG_OK) status = verify(s, plan, halo);
  group->traces = traces.traces;
  group->count = traces.count;
  tg_device_halo_destroy(&halo);
  return status;
}

tg_status tg_bench_trace_devices(const tg_bench_trace_scene* scene, tg_trace_notes* notes,
                                 tg_bench_trace_group* groups, int* count) {
  const double box[3] = {scene->edge, scene->edge, scene->edge};
  tg_status status = TG_OK;
  tg_trace_note(notes, "clock", "CLOCK_MONOTONIC of the CPU");
  tg_trace_note(notes, "rows of a GPU",
                "stages end when the first thread of a row's first block is done with them");
  for (int way = 0; way < WAY_COUNT && status == TG_OK; way++) {
    tg_device_plan plan = {0};
    status = tg_device_plan_make(scene->params.grid, box, scene->params.reach, scene->counts,
                                 (const double(*const*)[3])scene->centres,
                                 strcmp(WAYS[way].schedule, "direct") == 0, &plan);
    if (status == TG_OK) status = record(scene, &plan, way, notes, &groups[(*count)++]);
    tg_device_plan_free(&plan);
  }
  return status;
}
