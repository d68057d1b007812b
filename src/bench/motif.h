/* SPDX-License-Identifier: Apache-2.0 */
/** @file bench/motif.h  Question: what does each backend, that is each programming model, make of
 * filter, scan, fill and reduce, on the same work?
 *
 * Five experiments, numbered as the figures of "Accelerating quantum many-body configuration
 * interaction with directives" (WACCPD 2021) that they can be laid beside, and one of our own:
 *
 *    7  filter, every version, by the number of particles
 *    8  filter of 8 particles, by the number of states
 *   11  scan of 32-bit numbers, by their number
 *   13  fill, and the count of the same pairs, by the density of hits
 *   15  reduce, by the number of sums: of all pairs (dense), of items with bins; the fused chain
 *    0  tiles (motif/tiles.h): the count of 8 and of 16 particles with and without, by d
 *
 * Model: a filter is bound by counting bits, so pairs a second do not depend on the number of
 * states once it is large; scan and reduce are bound by memory. Yardsticks are measured in the same
 * turns: a bare loop of exclusive or and popcount, copy (read and write), stream (read), and the
 * way to the host and back of a device's numbers.
 *
 * Method: rows and columns are different random states (motif/states.h). After a warm-up, which
 * also cuts the rows so that one run takes about budget_s, all versions of a case are timed in
 * turns, repeats times; the least time counts, and the median is given. Each answer is checked
 * against ref first: counts and hits on a sample of rows, scans whole, sums within their bound. A
 * version of which one run would take longer than limit_s is left out, and said. */
#ifndef TG_BENCH_MOTIF_H
#define TG_BENCH_MOTIF_H

#include "motif/table.h"

enum {
  TG_BENCH_MOTIF_REPEATS = 101,
  TG_BENCH_MOTIF_ORBITALS = 4, /* numbers of orbitals in one run */
  TG_BENCH_MOTIF_SUMS = 4096,  /* the most sums */
  TG_BENCH_MOTIF_TILES = 0,    /* the experiment that is no figure of the paper */
};

typedef struct tg_bench_motif_params {
  const char* backends; /* NULL or "all": all that run here; else names, parted by commas */
  const char* version;  /* NULL: all; else words, parted by commas (tg_bench_motif_named) */
  size_t rows, columns;
  size_t items;                               /* the most of scan and reduce */
  uint32_t sums;                              /* figure 15: the most; from 8 on, doubled */
  uint32_t orbitals[TG_BENCH_MOTIF_ORBITALS]; /* figures 7 and 8: each; the others: the first */
  int orbital_count;
  int d; /* of the filter; 0: 2, and 1, 2 and 3 for tiles */
  int threads, repeats;
  double budget_s, limit_s;
  double memory_bytes; /* of the host, that may be taken; 0: unknown */
} tg_bench_motif_params;

typedef struct tg_bench_motif_row {
  int figure;
  const char *backend, *motif, *version;
  const char* method; /* of pairs: "array", "word64", "bits"; NULL for others */
  const char* unit;   /* of the rate: "pairs/s" ... */
  double x;           /* what the figure goes by: particles, states, elements, density, sums, d */
  uint32_t particles, orbitals; /* 0 where no states */
  int d;
  size_t rows, columns; /* of the case; how many of the rows were run is work / columns */
  double density;       /* hits by pairs; 0 where no pairs */
  bool host;            /* the backend's memory is the host's */
  bool tiled;           /* only pairs of tiles within the bound were looked at */
  double left;          /* their share; 1 without tiles */
  double least_s, median_s;
  double work;  /* pairs (with tiles also those that were skipped), elements or items of one run */
  double rate;  /* work / least_s */
  bool checked; /* against ref; false for yardsticks, which have no answer */
  char skipped[200]; /* why it was not run; "": it was, and the numbers above count */
} tg_bench_motif_row;

/** The experiments; -1 ends. Their names ("7", "tiles"), and what is on the axis. */
extern const int tg_bench_motif_figures[];
const char* tg_bench_motif_name(int figure);
const char* tg_bench_motif_axis(int figure);

/** True where the parameters ask for the backend of that name. */
bool tg_bench_motif_wants(const tg_bench_motif_params* params, const char* backend);

/** True where the name contains one of the words of params->version ("=word": is it), or that is
 * NULL. */
bool tg_bench_motif_named(const tg_bench_motif_params* params, const char* version);

/** True where a wanted backend that runs here has, of the motifs of an experiment, such a version.
 */
bool tg_bench_motif_has_version(int figure, const tg_bench_motif_params* params);

/** About how long an experiment takes if every run takes budget_s: seconds. Runs that the case is
 * too small for take less; those that cannot be cut (scans, items), more. */
double tg_bench_motif_seconds(int figure, const tg_bench_motif_params* params);

/** What an experiment needs, before anything is allocated: TG_ERR_INPUT for numbers out of range, a
 * backend or version that is not known; TG_ERR_MACHINE where a backend that was named does not run
 * here, or the memory is too small. */
tg_status tg_bench_motif_check(int figure, const tg_bench_motif_params* params);

/** Runs an experiment that was checked, and shows each row when its case is done. TG_ERR_NUMERICS
 * where an answer differs from that of ref. */
tg_status tg_bench_motif_run(int figure, const tg_bench_motif_params* params,
                             void (*show)(void* context, const tg_bench_motif_row* row),
                             void* context);

/** Yardsticks of the host on so many threads: bytes a second of STREAM's triad (a = b + s c, 24
 * bytes an element, three arrays of 32 MiB), and pairs a second of a bare loop of exclusive or and
 * popcount over words of 64 bits. The best of three runs of some ten milliseconds each. */
typedef struct tg_bench_yardsticks {
  double triad_bytes_per_s, pairs_per_s;
} tg_bench_yardsticks;
tg_status tg_bench_yardsticks_measure(int threads, tg_bench_yardsticks* out);

#endif
