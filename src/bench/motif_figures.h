/* SPDX-License-Identifier: Apache-2.0 */
/** @file bench/motif_figures.h  What the experiments of bench/motif.h are made of. */
#ifndef TG_BENCH_MOTIF_FIGURES_H
#define TG_BENCH_MOTIF_FIGURES_H

#include "bench/motif_case.h"

enum { TG_MOTIF_FILL_STATES = 65536, TG_MOTIF_TILE_STATES = 262144 };
enum { TG_MOTIF_PARTICLES = 5, TG_MOTIF_DENSITIES = 4 }; /* cases of figures 7 and 13 */

typedef struct tg_motif_figure {
  int figure;
  const tg_bench_motif_params* params;
  void (*show)(void* context, const tg_bench_motif_row* row);
  void* context;
} tg_motif_figure;

/** Bytes of the largest case of an experiment, for one copy of it. */
double tg_bench_motif_bytes(int figure, const tg_bench_motif_params* params);

/** TG_ERR_MACHINE with the advice where the memory does not hold a case of so many bytes a copy:
 * one for every backend that is wanted, and two for the input and the checks. */
tg_status tg_bench_motif_fits(const tg_bench_motif_params* params, double bytes,
                              const char* advice);

/** Random rows and columns into the case. */
tg_status tg_motif_case_states(tg_motif_case* c, size_t rows, size_t columns, uint32_t particles,
                               uint32_t orbitals, double spread);
/** Runs an open case and shows its rows; x < 0: the density found. */
tg_status tg_motif_case_show(const tg_motif_figure* f, tg_motif_case* c, double x);

/** The count with tiles and without (bench/motif_tiles.c). */
tg_status tg_motif_figure_tiles(const tg_motif_figure* f);

#endif
