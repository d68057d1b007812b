/* SPDX-License-Identifier: Apache-2.0 */
/** @file bench/halo.h  Question: what does a halo exchange cost per step, by each schedule, between
 * PEs on CPUs or between GPUs, and how far is that from what flags, launches, messages and the link
 * allow?
 *
 * Method: atoms at random, 100 per nm^3, in a cube; each case is verified first, then timed after a
 * warm-up; medians of repeats, and the width of their middle half. Between GPUs 20 steps are a
 * graph (host: one by one), wall time between synchronisations. Between PEs on CPUs the schedules
 * take turns, so that what else the machine does hits all of them.
 *
 * The model, and how its constants are measured: halo_model.h. */
#ifndef TG_BENCH_HALO_H
#define TG_BENCH_HALO_H

#include <stdbool.h>

#include "bench/halo_model.h"
#include "comm/world.h"

enum {
  TG_BENCH_HALO_MOST_PES = 64,
  TG_BENCH_HALO_MOST_REPEATS = 101,
  TG_BENCH_HALO_HOST_SCHEDULES = 4,
};

typedef struct tg_bench_halo_case {
  int atoms;
  double reach; /* nm */
  int grid[3];
  int gpus;              /* 0: PEs on CPUs, in host memory */
  const char* transport; /* "loop": one process; else the world's */
  const char* path;      /* GPUs: "auto", "store" or "put"; NULL: no choice */
  const char* schedule;
  const char* force_return; /* GPUs, fused and direct; NULL: no choice */
  bool bulk, double_precision;
  int repeats;
  double
      deadline_s; /* GPUs: of a wait for a flag; 0: the halo's default. CPUs: the world's holds */
} tg_bench_halo_case;

/** x: positions, f: forces. Counts are per step and card, or PE, of the one with the most. */
typedef struct tg_bench_halo_row {
  tg_bench_halo_case what;
  int channel_count;              /* messages each way */
  double step_us, step_spread_us; /* x and f; median, and the middle half's width */
  double least_us, most_us;       /* of the repeats */
  double positions_us;            /* GPUs: alone, receivers confirming by flags that they have read;
                                     CPUs: x's share of a step */
  double forces_us;               /* step - positions */
  double launches_x, launches_f, copies_x, copies_f;
  double messages_x, messages_f;
  double waits_x, waits_f; /* blocking ones of a CPU */
  double bytes;            /* sent in a step by the busiest card or PE: to other cards, or, with one
                              card, all */
  double bytes_per_s;      /* bytes / step */
  double host_wait_share;  /* of the wall time, CPUs in blocking waits, mean over PEs or cards */
  double flag_wait_share;  /* GPUs: of the wall time, in flag waits, mean over PEs */
  tg_bench_halo_model model;
  double ratio;   /* step / model */
  double push_us; /* direct on GPUs: what pushing adds to the kernel that moves atoms; else 0 */
} tg_bench_halo_row;

/** On GPUs. world: NULL: all PEs are in this process; else collective, a PE and a GPU per process.
 * TG_ERR_NUMERICS where copies are wrong. */
tg_status tg_bench_halo_gpus(tg_world* world, const tg_bench_halo_case* what,
                             const tg_device_halo_constants* constants, tg_bench_halo_row* out);

/** Collective: on the world's PEs, in host memory: every schedule, or the one named in
 * what->schedule, in turns. rows: [TG_BENCH_HALO_HOST_SCHEDULES], the same on all PEs. */
tg_status tg_bench_halo_host(tg_world* world, const tg_bench_halo_case* what,
                             tg_bench_halo_host_constants* constants, tg_bench_halo_row* rows,
                             int* row_count);

#endif
