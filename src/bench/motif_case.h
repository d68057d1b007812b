/* SPDX-License-Identifier: Apache-2.0 */
/** @file bench/motif_case.h  One case of the motifs' benchmark: its input in the memory of every
 * backend, and the versions that are timed on it in turns. */
#ifndef TG_BENCH_MOTIF_CASE_H
#define TG_BENCH_MOTIF_CASE_H

#include "bench/motif.h"
#include "motif/tiles.h"

enum { TG_MOTIF_MOST_ENTRIES = 192, TG_MOTIF_MOST_SITES = 16, TG_MOTIF_MOST_ANSWERS = 256 };

/* The input and the places for answers, in one backend's memory. */
typedef struct tg_motif_site {
  const tg_motif_table* table;
  tg_pairs pairs; /* without tiles */
  uint32_t *tile_rows, *tile_spans, *spans;
  uint32_t *counts, *cursor, *hits, *narrow, *narrow_sums, *bins, *p, *q;
  uint64_t* offsets;
  uint64_t hit_count; /* room of hits */
  double *values, *sums, *x, *y;
  size_t count; /* of narrow, or of bins */
  uint32_t m;
  void* scratch;
  void* back; /* host: room for narrow and its sums, of a backend with memory of its own */
} tg_motif_site;

typedef enum tg_motif_kind {
  TG_MOTIF_COUNT,
  TG_MOTIF_FILL,
  TG_MOTIF_COLLECT,
  TG_MOTIF_SCAN,
  TG_MOTIF_REDUCE,
  TG_MOTIF_EXPECT,
  TG_MOTIF_DENSE,
  TG_MOTIF_BARE, /* yardsticks */
  TG_MOTIF_COPY,
  TG_MOTIF_STREAM,
  TG_MOTIF_LINK,
} tg_motif_kind;

typedef struct tg_motif_entry {
  tg_motif_kind kind;
  const char *name, *method; /* method: NULL but for pairs */
  const void* version;       /* of the table's list of that kind; NULL for a yardstick */
  tg_motif_site* site;
  bool tiled;
  uint32_t tiles;    /* that hold the rows below */
  size_t rows;       /* that are run, of pairs */
  size_t items;      /* that are run, of scan and reduce */
  char skipped[200]; /* why it is left out; "": it runs */
  double times[TG_BENCH_MOTIF_REPEATS];
} tg_motif_entry;

/* A row's hits by ref. */
typedef struct tg_motif_answer {
  size_t row;
  uint32_t count;
  uint32_t* hits;
} tg_motif_answer;

typedef struct tg_motif_case {
  const tg_bench_motif_params* params;
  int d;
  tg_states rows, columns; /* in host memory */
  tg_spans spans;          /* of tiles; empty: none */
  size_t least_rows;       /* of pairs, that are run at least; 0: 16 */
  uint64_t* offsets;       /* [rows + 1], host: of all hits, where a fill is timed */
  uint32_t *narrow, *bins; /* host */
  double *values, *x, *y;
  uint32_t *p, *q; /* [rows], [columns], of a dense reduction: rows and columns are numbers then */
  size_t count;
  uint32_t m;
  tg_motif_site sites[TG_MOTIF_MOST_SITES];
  int site_count;
  tg_motif_entry entries[TG_MOTIF_MOST_ENTRIES];
  int entry_count;
  tg_motif_answer answers[TG_MOTIF_MOST_ANSWERS];
  int answer_count;
  double hits, pairs; /* of the largest count that was run */
  double density;     /* hits by pairs, once it has run; 0 where there are no states */
} tg_motif_case;

/** Puts what the case has in host memory into every backend's, and lists their versions of a kind.
 * fast: leave out those that only show what another instruction set or no filter costs. With tiles
 * a count is listed with and without. */
tg_status tg_motif_case_open(tg_motif_case* c);
void tg_motif_case_add(tg_motif_case* c, tg_motif_kind kind, bool fast);
/** The versions that fast leaves out, by their names. */
bool tg_motif_version_slow(const char* name);
/** Warm-up, cutting of rows, checks, and the timing in turns. */
tg_status tg_motif_case_run(tg_motif_case* c);
/** Releases all, host memory too. */
void tg_motif_case_close(tg_motif_case* c);

/** Rows x columns, elements or items of one run. */
double tg_motif_entry_work(const tg_motif_case* c, const tg_motif_entry* e);
/** What an entry of kind TG_MOTIF_DENSE reduces: the rows that it runs. */
tg_dense tg_motif_entry_dense(const tg_motif_entry* e, int threads);
/** Runs an entry once and waits for it. */
tg_status tg_motif_entry_run(const tg_motif_entry* e, int threads);
/** Overwrites what a run of the entry is to leave, so that the check cannot find the answer of the
 * version before. */
tg_status tg_motif_entry_spoil(const tg_motif_case* c, const tg_motif_entry* e);
/** Compares what the last run left with ref. TG_ERR_NUMERICS where it differs. */
tg_status tg_motif_entry_check(tg_motif_case* c, const tg_motif_entry* e);

/** Yardsticks (bench/motif_yardstick.c). A yardstick of its own has a memory and a table of the
 * host's. */
void tg_motif_bare(const tg_pairs* pairs, uint32_t* counts);
void tg_motif_copy(size_t count, const uint32_t* from, uint32_t* to, int threads);
void tg_motif_stream(const tg_reduction* what);

#endif
