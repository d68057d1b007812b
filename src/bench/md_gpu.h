/* SPDX-License-Identifier: Apache-2.0 */
/** @file bench/md_gpu.h  Question: how long do the pair forces and the pair search of a step take
 * on a GPU, and how far is that from what its multiprocessors could issue?
 *
 * Model: a warp evaluates 32 entries of the list with 8 atoms each in TURN_INSTRUCTIONS, and has
 * ROW_INSTRUCTIONS more for each row; a multiprocessor issues 4 warps' instructions a clock. What
 * is beyond that are latencies that too few warps hide, and the last rows. Per step the search's
 * share is its time by nstlist, the pruning's its time by the prune interval.
 *
 * Method: graphs of 10 launches between two events, the median of the repeats. The forces are
 * checked against the backend omp in double precision first. */
#ifndef TG_BENCH_MD_GPU_H
#define TG_BENCH_MD_GPU_H

#include "base/status.h"
#include "device/device.h"
#include "md/device_md.h"

typedef struct tg_bench_md_gpu_params {
  const char *configuration, *topology, *parameters;
  int copies[3]; /* of the system, along each edge */
  int device;
  int repeats; /* at least 1 */
  bool check;  /* against the backend omp, with `threads` */
  int threads;
} tg_bench_md_gpu_params;

typedef struct tg_bench_md_gpu_result {
  size_t atom_count;
  double cutoff, list_radius, inner_radius; /* nm */
  int nstlist, prune_interval;
  tg_device_md_counts counts;
  int64_t pairs;                  /* within the cut-off */
  double us[TG_DEVICE_MD_STAGES]; /* of each stage */
  double us_step;                 /* forces, and the shares of search and pruning */
  double us_forces_model;
  double force_deviation; /* rms of (forces - reference) / rms of the reference's; negative: not
                             checked */
  double force_limit;
} tg_bench_md_gpu_result;

/** What the stages are called in tables. */
const char* tg_bench_md_gpu_stage(tg_device_md_stage stage);

/** TG_ERR_NUMERICS if the forces are wrong. */
tg_status tg_bench_md_gpu(const tg_bench_md_gpu_params* params, const tg_device_info* gpu,
                          tg_bench_md_gpu_result* out);

#endif
