/* SPDX-License-Identifier: Apache-2.0 */
/** @file cli/bench_md.h  What the files of `throng bench md` share. */
#ifndef TG_CLI_BENCH_MD_H
#define TG_CLI_BENCH_MD_H

#include <stdbool.h>

#include "bench/md_gpu.h"

enum { TG_CLI_BENCH_MD_WAYS = 32 };

/** A size. */
typedef struct tg_cli_bench_md_row {
  tg_bench_md_gpu_result kernels;
  tg_bench_md_gpu_steps_result steps[TG_CLI_BENCH_MD_WAYS];
  int step_count;
} tg_cli_bench_md_row;

/** The ways that options ask for; NULL: not given. TG_ERR_INPUT where none fits. */
tg_status tg_cli_bench_md_ways(const char* gpus, const char* pe, const char* halo,
                               tg_bench_md_gpu_way* ways, int* count);

void tg_cli_bench_md_show_machine(const tg_device_info* gpu, bool json);
void tg_cli_bench_md_show_kernels(const tg_bench_md_gpu_result* kernels, bool json);
void tg_cli_bench_md_print_notes(const tg_bench_md_gpu_result* kernels);
void tg_cli_bench_md_print_steps(const tg_cli_bench_md_row* rows, int count);
void tg_cli_bench_md_json_steps(const tg_cli_bench_md_row* row);

/** Steps by size and way, and the parts of the first way. */
tg_status tg_cli_bench_md_plot(const tg_cli_bench_md_row* rows, int count, const char* path);

#endif
