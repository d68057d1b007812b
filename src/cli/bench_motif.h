/* SPDX-License-Identifier: Apache-2.0 */
/** @file cli/bench_motif.h  The parts of `throng bench motif`: its measurements, table, plots. */
#ifndef TG_CLI_BENCH_MOTIF_H
#define TG_CLI_BENCH_MOTIF_H

#include <stdio.h>

#include "bench/motif.h"

/* All measurements of a run. */
typedef struct tg_cli_motif_bench {
  tg_bench_motif_params params;
  bool json;   /* JSON lines on stdout, no table */
  FILE* lines; /* of JSON, NULL: none */
  tg_bench_motif_row* rows;
  size_t count, room;
  tg_bench_motif_row shown; /* whose case the table is in */
} tg_cli_motif_bench;

/** The backends: what they run on, or why they do not. */
void tg_cli_motif_print_backends(const tg_cli_motif_bench* b);
/** A line of the table, with its head where a case begins. */
void tg_cli_motif_print_row(tg_cli_motif_bench* b, const tg_bench_motif_row* row);
void tg_cli_motif_json_row(FILE* out, const tg_cli_motif_bench* b, const tg_bench_motif_row* row);
void tg_cli_motif_print_yardsticks(const tg_bench_yardsticks* y, int threads);
void tg_cli_motif_json_yardsticks(FILE* out, const tg_bench_yardsticks* y, int threads);
/** The last line of a run that ended before all was measured. */
void tg_cli_motif_json_incomplete(FILE* out, const char* reason);
/** What a figure says in words, behind its table: parallel over serial and where to scan (11), what
 * tiles gain. */
void tg_cli_motif_print_summary(const tg_cli_motif_bench* b, int figure);

/** The pictures of a figure, into a folder: names of at most two, NULL ends. */
const char* const* tg_cli_motif_pictures(int figure);
tg_status tg_cli_motif_plot(const tg_cli_motif_bench* b, int figure, const char* folder);

#endif
