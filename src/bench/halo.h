/* SPDX-License-Identifier: Apache-2.0 */
/** @file bench/halo.h  Question: what does a halo exchange between GPUs cost per step, by each
 * schedule, and how far is that from what flags, launches and the link allow?
 *
 * Model of a step, positions there and forces back: the flag's way x hops one after another
 * (staged: the pulses, there and back; direct: one each way) + bytes of the busiest card /
 * bandwidth of stores + launches x what one costs (a graph node; for host a launch). The constants
 * are measured in the same run. On one GPU the flags and the bytes stay on the card.
 *
 * Method: atoms at random, 100 per nm^3, in a cube; 20 steps to a graph (host: one by one), median
 * of repeats after a warm-up, wall time between synchronisations. Each case is verified first. */
#ifndef TG_BENCH_HALO_H
#define TG_BENCH_HALO_H

#include <stdbool.h>

#include "halo/device_halo.h"

enum { TG_BENCH_HALO_PREDICTIONS = 3 };

typedef struct tg_bench_halo_case {
  int atoms;
  double reach; /* nm */
  int grid[3];
  int gpus;
  const char *schedule, *force_return;
  bool bulk, double_precision;
  int repeats;
} tg_bench_halo_case;

typedef struct tg_bench_halo_row {
  tg_bench_halo_case what;
  int channel_count;
  double step_us, step_spread_us; /* positions and forces; median, and the middle half's width */
  double positions_us;            /* alone, receivers confirming by flags that they have read */
  double forces_us;               /* step - positions */
  /* per step and card: */
  double launches_x, launches_f, copies_x, copies_f, waits_x, waits_f;
  double bytes;       /* sent in a step by the busiest card: to other cards, or, with one, all */
  double bytes_per_s; /* bytes / step */
  double host_wait_share; /* of the wall time */
  double flag_wait_share; /* of the wall time, mean over PEs */
  double model_us, ratio; /* ratio: step / model */
  double push_us;         /* direct: what pushing adds to the kernel that moves atoms; else 0 */
} tg_bench_halo_row;

/** Measures one case. TG_ERR_NUMERICS where copies are wrong. */
tg_status tg_bench_halo_run(const tg_bench_halo_case* what,
                            const tg_device_halo_constants* constants, tg_bench_halo_row* out);

/** The model's step for count GPUs, a PE each, schedule direct or fused, in us. TG_ERR_INPUT where
 * the box cannot be cut so. */
tg_status tg_bench_halo_predict(int atoms, double reach, int count, bool direct, size_t element,
                                const tg_device_halo_constants* constants, int grid[3],
                                double* step_us);

#endif
