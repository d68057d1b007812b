/* SPDX-License-Identifier: Apache-2.0 */
/** @file motif/omp/run.h  Rows shared out among threads, block by block, for block.h. */
#ifndef TG_MOTIF_OMP_RUN_H
#define TG_MOTIF_OMP_RUN_H

#include "motif/omp/block.h"

typedef struct tg_omp_job {
  const tg_pairs* pairs;
  const tg_omp_kernels* kernels;
  tg_omp_method method;
  tg_omp_sink sink;
  size_t block;    /* rows, <= TG_OMP_BLOCK; 0: as suits the number of rows and threads */
  uint32_t* found; /* [rows], zeroed by tg_omp_run; NULL for TG_OMP_VISIT */
  const uint64_t* offsets;
  uint32_t* hits;
  /* TG_OMP_VISIT: the hits of an item go to visit(context(owner, item, thread), row, column). An
   * item belongs to one thread, and its rows to no other item. */
  void* owner;
  void* (*context)(void* owner, size_t item, int thread);
  void (*visit)(void* context, size_t row, size_t column);
} tg_omp_job;

/** Items of a job: its tiles, or blocks of rows where there are none. */
size_t tg_omp_items(const tg_pairs* pairs, size_t block);

/** Runs a job on pairs->threads threads, items in no order. TG_ERR_MACHINE where memory lacks. */
tg_status tg_omp_run(const tg_omp_job* job);

/** Why a method cannot, in the words of motif/pairs.h. */
const char* tg_omp_refuse(const tg_pairs* pairs, tg_omp_method method);

#endif
