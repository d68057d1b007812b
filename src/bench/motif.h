/* SPDX-License-Identifier: Apache-2.0 */
/** @file bench/motif.h  Question: what does each backend, that is each programming model, make of
 * filter, scan, fill and reduce, on the same work?
 *
 * Five experiments, numbered as the figures of "Accelerating quantum many-body configuration
 * interaction with directives" (WACCPD 2021) that they can be laid beside:
 *
 *    7  filter, every version, by the number of particles
 *    8  filter of 8 particles, by the number of states
 *   11  scan of 32-bit numbers, by their number
 *   13  fill, and the count of the same pairs, by the density of hits
 *   15  reduce, and the fused chain, by the number of sums
 *
 * Model: a filter is bound by counting bits, so pairs a second do not depend on the number of
 * states once it is large; scan and reduce are bound by memory, and the yardsticks copy (read and
 * write) and stream (read) are measured in the same turns.
 *
 * Method: rows and columns are different random states (motif/states.h). After a warm-up, which
 * also cuts the rows so that one run takes about budget_s, all versions of a case are timed in
 * turns, repeats times; the least time counts, and the median is given. Each answer is checked
 * against ref first: counts and hits on a sample of rows, scans whole, sums within their bound. */
#ifndef TG_BENCH_MOTIF_H
#define TG_BENCH_MOTIF_H

#include "motif/table.h"

enum { TG_BENCH_MOTIF_REPEATS = 101 };

typedef struct tg_bench_motif_params {
  const char* backend; /* NULL: all that run here */
  const char* version; /* NULL, or what the names of the versions that are run contain */
  size_t states;       /* rows, and columns */
  size_t items;        /* the most of scan and reduce */
  uint32_t orbitals;
  int d, threads, repeats;
  double budget_s;
} tg_bench_motif_params;

typedef struct tg_bench_motif_row {
  int figure;
  const char *backend, *motif, *version;
  double x;           /* what the figure goes by: particles, states, elements, density, sums */
  uint32_t particles; /* 0 where no states */
  double density;     /* hits by pairs; 0 where no pairs */
  double least_s, median_s;
  double work;  /* pairs, elements or items of one run */
  double rate;  /* work / least_s */
  bool checked; /* against ref; false for yardsticks, which have no answer */
} tg_bench_motif_row;

/** The figures, 0 ends; and what is on the axis. */
extern const int tg_bench_motif_figures[];
const char* tg_bench_motif_axis(int figure);

/** Runs a figure, and shows each row when its case is done. TG_ERR_NUMERICS where an answer differs
 * from that of ref. */
tg_status tg_bench_motif_run(int figure, const tg_bench_motif_params* params,
                             void (*show)(void* context, const tg_bench_motif_row* row),
                             void* context);

#endif
