/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/cuda/times.cuh  What timed steps leave in a card's memory. Kernels' versions with
 * stamps write it, a kernel at the end of the stretch adds it up (times.cu). */
#ifndef TG_MD_CUDA_TIMES_CUH
#define TG_MD_CUDA_TIMES_CUH

#include "md/device_times.h"

enum {
  TG_MD_TIMED_DOMAINS = 8, /* of a card */
  TG_MD_STAMP_ROWS = 32    /* so that few warps meet in one; a lane each when they are read */
};

/** Kernels' warps by what they compute. */
enum { TG_MD_WORK_LOCAL, TG_MD_WORK_HALO, TG_MD_WORK_BONDED, TG_MD_WORKS };

/** Moments around the kernels of a search or a pruning. */
enum { TG_MD_MARK_SEARCH, TG_MD_MARK_SEARCHED, TG_MD_MARK_PRUNE, TG_MD_MARK_PRUNED, TG_MD_MARKS };

/** Sums over timed steps, searches and prunings, ns. */
typedef struct tg_md_times {
  tg_step_parts parts;
  /* the forces of these steps without what is exposed, as warps share their time */
  unsigned long long work[TG_MD_WORKS];
  unsigned long long searches, search; /* with the pruning behind it */
  unsigned long long prunings, prune;
  /* forces, as if there were as many warps as the card has places for all the time, and the
   * domain's part of the update */
  unsigned long long domain[TG_MD_TIMED_DOMAINS];
} tg_md_times;

typedef unsigned long long tg_md_stamp_row[TG_STAMPS];

typedef struct tg_md_timing {
  /* of the stretch under way; 0 between stretches */
  tg_md_stamp_row stamp[TG_TIMED_STEPS][TG_MD_STAMP_ROWS];
  unsigned long long spent[TG_MD_STAMP_ROWS][TG_MD_TIMED_DOMAINS][TG_MD_WORKS]; /* by warps, ns */
  unsigned long long mark[TG_MD_MARKS];
  tg_md_times sum;
  /* of `sum`, since planes were looked at (balance.cu) */
  unsigned long long window_steps, window[TG_MD_TIMED_DOMAINS];
} tg_md_timing;

#endif
