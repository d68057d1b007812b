/* SPDX-License-Identifier: Apache-2.0 */
/** @file bench/md_gpu.h  Question: how long does a step take on a GPU, and its pair forces and pair
 * search, and how far is that from what the multiprocessors could issue?
 *
 * Model: a warp evaluates 32 entries of the list with 8 atoms each in TURN_INSTRUCTIONS, and has
 * ROW_INSTRUCTIONS more for each row; a multiprocessor issues 4 warps' instructions a clock. What
 * is beyond that are latencies that too few warps hide, and the last rows. Per step the search's
 * share is its time by nstlist, the pruning's its time by the prune interval.
 *
 * Method: graphs of 10 launches between two events, the median of the repeats. The forces are
 * checked against the backend omp in double precision first. Whole steps: the stretches of a run
 * without files, after a warm-up in which every graph is made; the host's clock from the first
 * launch of a repeat to the end of its last step.
 *
 * Halo time that computation does not hide: the median of the steps less that of the same steps
 * where nobody waits for positions of another GPU, which are sent as ever; atoms stay in place
 * meanwhile. That includes what GPUs wait for each other's uneven work. Where stamps are asked for,
 * some more steps are timed by the GPUs: from the end of the last row of the list without halo
 * atoms to the moment when the last row that had to wait has heard from all other GPUs. */
#ifndef TG_BENCH_MD_GPU_H
#define TG_BENCH_MD_GPU_H

#include "base/status.h"
#include "device/device.h"
#include "md/device_choice.h"
#include "md/device_step.h"

/** GPUs and domains that share whole steps, as tg_md_job has them. */
typedef struct tg_bench_md_gpu_way {
  int gpus, pe_count, grid[3];
  const char* halo; /* NULL: the default */
} tg_bench_md_gpu_way;

typedef struct tg_bench_md_gpu_params {
  const char *configuration, *topology, *parameters;
  int copies[3]; /* of the system, along each edge */
  int device;    /* that one GPU is */
  int repeats;   /* at least 1 */
  int steps;     /* of each repeat of whole steps, rounded up to whole lives of a list */
  bool example;  /* the system is throng's own, which others were measured with */
  bool check;    /* against the backend omp, with `threads` */
  int threads;
  bool stamps;                     /* with several GPUs: steps are timed by these, too */
  const tg_bench_md_gpu_way* ways; /* [way_count] of whole steps */
  int way_count;
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

/** Parts of a step, each by itself; they overlap, so their sum may exceed the step. */
typedef enum tg_bench_md_gpu_part {
  TG_BENCH_MD_GPU_FORCES, /* pairs and bonded interactions */
  TG_BENCH_MD_GPU_UPDATE, /* constraints too */
  TG_BENCH_MD_GPU_SEARCH, /* with the sort, by nstlist */
  TG_BENCH_MD_GPU_PRUNE,
  TG_BENCH_MD_GPU_PARTS
} tg_bench_md_gpu_part;

/** Whole steps, as throng md run does them, without output. */
typedef struct tg_bench_md_gpu_steps_result {
  tg_device_choice devices;
  int steps, repeats;           /* of a repeat, measured */
  double us, us_least, us_most; /* a step, median of the repeats */
  double ns_per_day;            /* by the median */
  double kernels, waits;        /* a step: nodes of the graphs, the host's waits */
  double unwaited_us;         /* a step in which nobody waits for positions; 0: there is one GPU */
  tg_device_step_times times; /* by the GPUs' timers, where asked for */
  double part[TG_BENCH_MD_GPU_PARTS]; /* us a step */
  double gromacs_us; /* GROMACS 2026's on one H200; 0 where this system was not measured */
} tg_bench_md_gpu_steps_result;

const char* tg_bench_md_gpu_part_name(tg_bench_md_gpu_part part);

/** Each way's result, [way_count]; *done: how many there are, also after a failure. Makes the
 * copies as files in a temporary folder, and removes it. */
tg_status tg_bench_md_gpu_steps(const tg_bench_md_gpu_params* params,
                                tg_bench_md_gpu_steps_result* out, int* done);

/** TG_ERR_NUMERICS if the forces are wrong. */
tg_status tg_bench_md_gpu(const tg_bench_md_gpu_params* params, const tg_device_info* gpu,
                          tg_bench_md_gpu_result* out);

#endif
