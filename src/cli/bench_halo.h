/* SPDX-License-Identifier: Apache-2.0 */
/** @file cli/bench_halo.h  The parts of `throng bench halo`: bench_halo.c reads the command line
 * and opens files, bench_halo_cases.c goes through the cases, bench_halo_report.c writes the table
 * and JSON, bench_halo_plot.c the picture. */
#ifndef TG_CLI_BENCH_HALO_H
#define TG_CLI_BENCH_HALO_H

#include <stdio.h>

#include "base/file.h"
#include "base/json.h"
#include "bench/halo.h"

/** A measured row and the constants its model was made of: device for GPUs, else host. */
typedef struct tg_cli_halo_record {
  tg_bench_halo_row row;
  tg_device_halo_constants device;
  tg_bench_halo_host_constants host;
} tg_cli_halo_record;

/** What the predictions are made of, and in words where that is from. */
typedef struct tg_cli_halo_outlook {
  tg_device_halo_constants constants;
  const char* source;
  tg_bench_halo_fabric fabric;
  double reach;
  size_t element; /* bytes of a coordinate */
} tg_cli_halo_outlook;

enum { TG_CLI_HALO_RECORDS = 512, TG_CLI_HALO_SIZES = 2 };

/** The command line. Numbers that were not given are NAN (gpus, atoms, repeats: INT_MIN). */
typedef struct tg_cli_halo_fields {
  const char *halo, *force_return, *path, *transport, *pe, *precision;
  const char *json_lines, *plot, *output, *trace;
  bool bulk, json, model;
  int atoms, gpus, repeats;
  double deadline;
  double reach, flag_us, bandwidth, node_us, fabric_latency, fabric_bandwidth, fabric_message;
} tg_cli_halo_fields;

/** One run of the verb. */
typedef struct tg_cli_halo_bench {
  tg_cli_halo_fields f;
  int sizes[TG_CLI_HALO_SIZES], size_count; /* atoms */
  double deadline_s;                        /* of a wait; 0: the defaults of CPUs and of GPUs */
  int grid[3], pe_count; /* --pe: a grid, or a number to choose one for; else 0 */
  bool on_gpus;
  bool processes;                         /* this is one of several */
  char lines_path[4096], plot_path[4096]; /* "": none */
  tg_new_file file;
  FILE* lines;                                     /* NULL: none */
  tg_status begun;                                 /* of opening the files, on PE 0's process */
  tg_cli_halo_record records[TG_CLI_HALO_RECORDS]; /* of PE 0's process */
  int record_count;
  tg_cli_halo_outlook outlook; /* constants.flag_s 0: none measured yet */
} tg_cli_halo_bench;

/** The grid that --pe names, or the best of so many PEs for a cube of so many atoms. */
tg_status tg_cli_halo_choose_grid(const tg_cli_halo_bench* bench, int atoms, int pe_count,
                                  int grid[3]);

/** Measures all cases that were asked for, and prints each; collective over the processes of a
 * launcher. there: GPUs. */
tg_status tg_cli_halo_measure(tg_cli_halo_bench* bench, int there);

/** "direct put bulk" into out. */
void tg_cli_halo_way(const tg_bench_halo_case* what, char* out, size_t size);

/** What the columns mean, once, before the tables. */
void tg_cli_halo_print_legend(bool gpus);
/** A case and its constants, and the columns' heads; record: any row of it. */
void tg_cli_halo_print_case(const tg_cli_halo_record* record);
void tg_cli_halo_print_row(const tg_bench_halo_row* row);
/** The model's steps for several numbers of GPUs. */
void tg_cli_halo_print_outlook(const tg_cli_halo_outlook* outlook, const int* sizes,
                               int size_count);

/** One object: a measurement. */
void tg_cli_halo_json_record(tg_json* json, const tg_cli_halo_record* record);
/** Two members: the constants, and an array of predictions. */
void tg_cli_halo_json_outlook(tg_json* json, const tg_cli_halo_outlook* outlook, const int* sizes,
                              int size_count);

/** Bars: a step by schedule (its fastest way) and case, with the model's floor. Panels: up to four
 * pairs of atoms and GPUs. */
tg_status tg_cli_halo_plot(const tg_cli_halo_record* records, int count, const char* path);

#endif
