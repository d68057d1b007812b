/* SPDX-License-Identifier: Apache-2.0 */
/** @file bench/halo_trace.h  Question: when does what happen in a step with a halo exchange, if the
 * CPU drives it and if those who compute raise flags themselves?
 *
 * Random atoms as in bench/halo.h; a step is positions, forces that stand in for computed ones,
 * forces back. Some steps are recorded after a warm-up, one schedule after the other, each a group
 * of processes in one file (base/trace.h). Every copy and every returned force is verified. */
#ifndef TG_BENCH_HALO_TRACE_H
#define TG_BENCH_HALO_TRACE_H

#include "base/trace.h"
#include "halo/device_plan.h"

enum {
  TG_BENCH_TRACE_PES = 64,
  TG_BENCH_TRACE_WARM_UP = 5,
  TG_BENCH_TRACE_STEPS = 4,   /* recorded */
  TG_BENCH_TRACE_WORK_US = 25 /* a step's stand-in for local work */
};

typedef struct tg_bench_trace_params {
  int atoms;
  double reach; /* nm */
  int grid[3];
  int gpus;              /* 0: the PEs are threads of this process; else how many GPUs they share */
  bool double_precision; /* GPUs alone */
  double deadline_s;     /* of a wait; 0: the defaults */
} tg_bench_trace_params;

/** A schedule as it was recorded. */
typedef struct tg_bench_trace_row {
  const char* name;
  double step_us; /* mean of the recorded steps, first begin to last end */
  size_t events;
} tg_bench_trace_row;
enum { TG_BENCH_TRACE_ROWS = 8 };

/** Records and writes the file. *row_count: how many of rows are filled in. TG_ERR_NUMERICS where
 * a copy or a force is wrong. */
tg_status tg_bench_trace_write(const tg_bench_trace_params* params, const char* path,
                               tg_bench_trace_row rows[TG_BENCH_TRACE_ROWS], int* row_count);

/** Atoms dealt out to bricks; for the parts of this benchmark. */
typedef struct tg_bench_trace_scene {
  tg_bench_trace_params params;
  double edge;
  int pe_count;
  size_t counts[TG_BENCH_TRACE_PES];
  double (*centres[TG_BENCH_TRACE_PES])[3];
  size_t room[TG_BENCH_TRACE_PES];
} tg_bench_trace_scene;

/** Traces of one schedule, owned. */
typedef struct tg_bench_trace_group {
  char name[96];
  tg_trace** traces;
  int count;
} tg_bench_trace_group;

/** Records the schedules on GPUs. groups: [TG_BENCH_TRACE_ROWS]; *count rises. */
tg_status tg_bench_trace_devices(const tg_bench_trace_scene* scene, tg_trace_notes* notes,
                                 tg_bench_trace_group* groups, int* count);

#endif
