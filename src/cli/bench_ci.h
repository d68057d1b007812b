/* SPDX-License-Identifier: Apache-2.0 */
/** @file cli/bench_ci.h  What `throng bench ci-cpu` and `throng bench ci` share: which cases. */
#ifndef TG_CLI_BENCH_CI_H
#define TG_CLI_BENCH_CI_H

#include <stdbool.h>

#include "bench/ci_cpu.h"
#include "bench/ci_gpu.h"
#include "cli/options.h"

enum { TG_CLI_BENCH_CI_CASES = 16 };

/** The cases that were chosen, and their inputs. */
typedef struct tg_cli_bench_ci_selection {
  const tg_bench_ci_case* list[TG_CLI_BENCH_CI_CASES];
  char input[TG_CLI_BENCH_CI_CASES][4096];
  int count;
} tg_cli_bench_ci_selection;

/** Cases by their names ("all": those that take at most minutes of processors; for a GPU all). None
 * are named: those of seconds whose input is there, for a GPU those of minutes, too. interaction:
 * the input of the one case that is named, or NULL; data: folder of the others. */
tg_status tg_cli_bench_ci_choose(const tg_cli_list* names, const char* interaction,
                                 const char* data, bool gpu, tg_cli_bench_ci_selection* out);

/** A row of `throng bench ci`: a case and a storage. */
typedef struct tg_cli_bench_ci_row {
  const tg_bench_ci_case* what;
  tg_bench_ci_gpu_result result;
} tg_cli_bench_ci_row;

/** Bars of what whole solves take, beside other programs'. */
tg_status tg_cli_bench_ci_plot(const tg_cli_bench_ci_row* rows, int count, const char* gpu,
                               const char* path);

#endif
