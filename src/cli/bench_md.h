/* SPDX-License-Identifier: Apache-2.0 */
/** @file cli/bench_md.h  What the files of `throng bench md` share. */
#ifndef TG_CLI_BENCH_MD_H
#define TG_CLI_BENCH_MD_H

#include "bench/md_gpu.h"

/** A size. */
typedef struct tg_cli_bench_md_row {
  tg_bench_md_gpu_result kernels;
  tg_bench_md_gpu_steps_result steps;
} tg_cli_bench_md_row;

/** Steps and their parts by size. */
tg_status tg_cli_bench_md_plot(const tg_cli_bench_md_row* rows, int count, const char* path);

#endif
