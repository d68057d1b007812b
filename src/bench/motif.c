/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/motif.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/rng.h"
#include "bench/motif_figures.h"

static const uint32_t PARTICLES[TG_MOTIF_PARTICLES] = {4, 8, 12, 16, 20};

/* Of figure 13: densities of about 6e-6, 1.4e-4, 1.7e-3 and 1e-2. */
static const double SPREADS[TG_MOTIF_DENSITIES] = {36, 20, 13, 9.5};
static const double MOST_DENSITY = 1.2e-2;

typedef tg_motif_figure figure_run;

const int tg_bench_motif_figures[] = {7, 8, 11, 13, 15, TG_BENCH_MOTIF_TILES, -1};

const char* tg_bench_motif_name(int figure) {
  switch (figure) {
    case 7: return "7";
    case 8: return "8";
    case 11: return "11";
    case 13: return "13";
    case 15: return "15";
    default: return "tiles";
  }
}

const char* tg_bench_motif_axis(int figure) {
  switch (figure) {
    case 7: return "particles";
    case 8: return "states";
    case 11: return "elements";
    case 13: return "density of hits";
    case 15: return "sums";
    default: return "d";
  }
}

static int d_of(const tg_bench_motif_params* p) { return p->d > 0 ? p->d : 2; }

static size_t least_of(size_t a, size_t b) { return a < b ? a : b; }

/* A case with what all have; closed and released by end_case. */
static tg_status begin_case(const figure_run* f, tg_motif_case** out) {
  TG_TRY(TG_ALLOCATE(1, "a case", out));
  (*out)->params = f->params;
  (*out)->d = d_of(f->params);
  return TG_OK;
}

static tg_status end_case(tg_motif_case* c, tg_status status) {
  tg_motif_case_close(c);
  TG_FREE(c);
  return status;
}

static const char* word_of(tg_motif_kind kind) {
  static const char* const words[] = {"count",  "fill",  "collect", "scan",
                                      "reduce", "fused", "dense"};
  return kind < TG_MOTIF_BARE ? words[kind] : "yardstick";
}

static tg_bench_motif_row row_of(const figure_run* f, const tg_motif_case* c,
                                 const tg_motif_entry* e, double x) {
  const double density = c->density;
  const double all = (double)c->rows.count * (double)c->columns.count;
  tg_bench_motif_row row = {
      .figure = f->figure,
      .backend = e->site->table->name,
      .motif = word_of(e->kind),
      .version = e->name,
      .method = e->method,
      .unit = all > 0           ? "pairs/s"
              : f->figure == 11 ? "elements/s"
                                : "items/s",
      .x = x < 0 ? density : x,
      .particles = c->rows.particles,
      .orbitals = c->rows.orbitals,
      .d = c->rows.particles > 0 ? c->d : 0,
      .rows = c->rows.count,
      .columns = c->columns.count,
      .density = density,
      .host = e->site->table->host,
      .tiled = e->tiled,
      .left = e->tiled ? c->spans.pairs / all : 1,
      .checked = e->kind < TG_MOTIF_BARE && !e->skipped[0],
  };
  memcpy(row.skipped, e->skipped, sizeof row.skipped);
  if (e->skipped[0]) return row;
  row.least_s = e->times[0];
  row.median_s = e->times[f->params->repeats / 2];
  row.work = tg_motif_entry_work(c, e);
  row.rate = row.work / row.least_s;
  return row;
}

/* Hits of the first rows, by the host's threads. */
static tg_status count_hits(const tg_motif_case* c, size_t rows, uint32_t* counts) {
  const tg_motif_table* omp = tg_motif_table_find("omp");
  const tg_pairs pairs = {.rows = tg_states_slice(&c->rows, 0, rows),
                          .columns = c->columns,
                          .d = c->d,
                          .threads = c->params->threads};
  for (const tg_filter_version* v = omp->filters; v->name != NULL; v++)
    if (strcmp(v->name, "bits") == 0) return v->count(&pairs, counts);
  return TG_OK;
}

/* Of all pairs where their hits are known, else of the largest count that was run; where none was,
 * of some rows. */
static tg_status find_density(tg_motif_case* c) {
  const double columns = (double)c->columns.count;
  size_t rows = least_of(c->rows.count, 1024);
  if (c->rows.particles == 0) return TG_OK;
  if (c->offsets != NULL) {
    c->density = (double)c->offsets[c->rows.count] / ((double)c->rows.count * columns);
  } else if (c->pairs > 0) {
    c->density = c->hits / c->pairs;
  } else {
    while (rows > 1 && (double)rows * columns > 1e8) rows /= 2;
    uint32_t* counts = NULL;
    double hits = 0;
    TG_TRY(TG_ALLOCATE(rows, "counts", &counts));
    const tg_status status = count_hits(c, rows, counts);
    for (size_t r = 0; r < rows; r++) hits += counts[r];
    TG_FREE(counts);
    TG_TRY(status);
    c->density = hits / ((double)rows * columns);
  }
  return TG_OK;
}

tg_status tg_motif_case_show(const figure_run* f, tg_motif_case* c, double x) {
  TG_TRY(tg_motif_case_run(c));
  TG_TRY(find_density(c));
  for (int k = 0; k < c->entry_count; k++) {
    const tg_bench_motif_row row = row_of(f, c, &c->entries[k], x);
    f->show(f->context, &row);
  }
  return TG_OK;
}

tg_status tg_motif_case_states(tg_motif_case* c, size_t rows, size_t columns, uint32_t particles,
                               uint32_t orbitals, double spread) {
  tg_states_params params = {rows, particles, orbitals, spread, 1};
  TG_TRY(tg_states_random(&params, &c->rows));
  params.count = columns;
  params.seed = 2;
  return tg_states_random(&params, &c->columns);
}

typedef struct filter_case {
  size_t rows, columns;
  uint32_t particles, orbitals;
  double x;
} filter_case;

/* Figures 7 and 8: a count by every version. */
static tg_status run_filter(const figure_run* f, const filter_case* what) {
  tg_motif_case* c = NULL;
  TG_TRY(begin_case(f, &c));
  tg_status status = tg_motif_case_states(c, what->rows, what->columns, what->particles,
                                          what->orbitals, TG_STATES_SPREAD);
  if (status == TG_OK) status = tg_motif_case_open(c);
  if (status == TG_OK) {
    tg_motif_case_add(c, TG_MOTIF_BARE, true);
    tg_motif_case_add(c, TG_MOTIF_COUNT, f->figure == 8);
    status = tg_motif_case_show(f, c, what->x);
  }
  return end_case(c, status);
}

static tg_status figure7(const figure_run* f) {
  const tg_bench_motif_params* p = f->params;
  for (int o = 0; o < p->orbital_count; o++)
    for (size_t k = 0; k < TG_MOTIF_PARTICLES; k++) {
      const filter_case what = {p->rows, p->columns, PARTICLES[k], p->orbitals[o], PARTICLES[k]};
      TG_TRY(run_filter(f, &what));
    }
  return TG_OK;
}

/* A fourth of the rows and of the columns, a fourth of these ..., down to some thousand. */
static tg_status figure8(const figure_run* f) {
  const tg_bench_motif_params* p = f->params;
  for (int o = 0; o < p->orbital_count; o++)
    for (size_t part = 256; part >= 1; part /= 4) {
      const size_t rows = p->rows / part, columns = p->columns / part;
      const filter_case what = {rows, columns, 8, p->orbitals[o], (double)rows};
      if (part == 1 || least_of(what.rows, what.columns) >= 1024) TG_TRY(run_filter(f, &what));
    }
  return TG_OK;
}

static tg_status run_scan(const figure_run* f, size_t count) {
  tg_motif_case* c = NULL;
  TG_TRY(begin_case(f, &c));
  c->count = count;
  tg_status status = TG_ALLOCATE(count, "numbers to scan", &c->narrow);
  for (size_t i = 0; i < count && status == TG_OK; i++)
    c->narrow[i] = (uint32_t)(i * 2654435761U >> 20) & 15;
  if (status == TG_OK) status = tg_motif_case_open(c);
  if (status == TG_OK) {
    tg_motif_case_add(c, TG_MOTIF_COPY, true);
    tg_motif_case_add(c, TG_MOTIF_LINK, true);
    tg_motif_case_add(c, TG_MOTIF_SCAN, true);
    status = tg_motif_case_show(f, c, (double)count);
  }
  return end_case(c, status);
}

static tg_status figure11(const figure_run* f) {
  for (size_t count = 1024; count <= f->params->items; count *= 4) TG_TRY(run_scan(f, count));
  return TG_OK;
}

/* Offsets of all hits, by the host's threads: they are checked on the sample, as the hits are. */
static tg_status make_offsets(tg_motif_case* c) {
  const size_t rows = c->rows.count;
  uint32_t* counts = NULL;
  tg_status status = TG_ALLOCATE(rows, "counts", &counts);
  if (status == TG_OK) status = TG_ALLOCATE(rows + 1, "offsets", &c->offsets);
  if (status == TG_OK) status = count_hits(c, rows, counts);
  for (size_t r = 0; r < rows && status == TG_OK; r++)
    c->offsets[r + 1] = c->offsets[r] + counts[r];
  TG_FREE(counts);
  return status;
}

/* A set of states: its three forms, of which the low word is the first of the bits. */
static double state_bytes(double count, double particles, double orbitals) {
  return count * (2 * particles + 8 * (orbitals / 64 + 1));
}

/* States with what all versions keep for them. */
static double case_bytes(double count, double particles, double orbitals) {
  return state_bytes(count, particles, orbitals) + 16 * count;
}

static double fill_bytes(const tg_bench_motif_params* p, double hits) {
  const double rows = (double)least_of(p->rows, TG_MOTIF_FILL_STATES);
  const double columns = (double)least_of(p->columns, TG_MOTIF_FILL_STATES);
  return case_bytes(rows + columns, 8, p->orbitals[0]) + 4 * hits + 8 * rows;
}

static tg_status run_fill(const figure_run* f, double spread) {
  const tg_bench_motif_params* p = f->params;
  tg_motif_case* c = NULL;
  TG_TRY(begin_case(f, &c));
  tg_status status =
      tg_motif_case_states(c, least_of(p->rows, TG_MOTIF_FILL_STATES),
                           least_of(p->columns, TG_MOTIF_FILL_STATES), 8, p->orbitals[0], spread);
  if (status == TG_OK) status = make_offsets(c);
  /* how many there are was a guess before */
  if (status == TG_OK)
    status = tg_bench_motif_fits(p, fill_bytes(p, (double)c->offsets[c->rows.count]),
                                 "fewer --states, --rows or --columns, a smaller --bodies, more "
                                 "--orbitals or fewer backends");
  if (status == TG_OK) status = tg_motif_case_open(c);
  if (status == TG_OK) {
    tg_motif_case_add(c, TG_MOTIF_BARE, true);
    tg_motif_case_add(c, TG_MOTIF_COUNT, true);
    tg_motif_case_add(c, TG_MOTIF_FILL, true);
    tg_motif_case_add(c, TG_MOTIF_COLLECT, true);
    status = tg_motif_case_show(f, c, -1);
  }
  return end_case(c, status);
}

static tg_status figure13(const figure_run* f) {
  for (size_t k = 0; k < TG_MOTIF_DENSITIES; k++) TG_TRY(run_fill(f, SPREADS[k]));
  return TG_OK;
}

static tg_status make_items(tg_motif_case* c) {
  TG_TRY(TG_ALLOCATE(c->count, "bins", &c->bins));
  TG_TRY(TG_ALLOCATE(c->count, "values", &c->values));
  tg_rng rng = tg_rng_stream(1, TG_RNG_TEST, c->m);
  for (size_t i = 0; i < c->count; i++) {
    const uint64_t bits = tg_rng_bits(&rng);
    c->bins[i] = (uint32_t)(bits >> 32) % c->m;
    c->values[i] = (double)(bits & 0xfffff) / 3 - 100000;
  }
  return TG_OK;
}

static tg_status run_reduce(const figure_run* f, uint32_t m) {
  tg_motif_case* c = NULL;
  TG_TRY(begin_case(f, &c));
  c->count = f->params->items;
  c->m = m;
  tg_status status = make_items(c);
  if (status == TG_OK) status = tg_motif_case_open(c);
  if (status == TG_OK) {
    tg_motif_case_add(c, TG_MOTIF_STREAM, true);
    tg_motif_case_add(c, TG_MOTIF_REDUCE, true);
    status = tg_motif_case_show(f, c, m);
  }
  return end_case(c, status);
}

/* x and y: whole numbers, few enough that sums of all pairs are exact; and keys, of a dense case.
 */
static tg_status make_vectors(tg_motif_case* c) {
  const size_t rows = c->rows.count, columns = c->columns.count;
  TG_TRY(TG_ALLOCATE(rows, "x", &c->x));
  TG_TRY(TG_ALLOCATE(columns, "y", &c->y));
  for (size_t i = 0; i < rows; i++) c->x[i] = (double)(i % 7) + 1;
  for (size_t i = 0; i < columns; i++) c->y[i] = (double)(i % 11) + 1;
  return TG_OK;
}

static tg_status make_keys(tg_motif_case* c) {
  TG_TRY(TG_ALLOCATE(c->rows.count, "keys of rows", &c->p));
  TG_TRY(TG_ALLOCATE(c->columns.count, "keys of columns", &c->q));
  tg_rng rng = tg_rng_stream(2, TG_RNG_TEST, c->m);
  for (size_t i = 0; i < c->rows.count; i++) c->p[i] = (uint32_t)(tg_rng_bits(&rng) >> 32) % c->m;
  for (size_t i = 0; i < c->columns.count; i++)
    c->q[i] = (uint32_t)(tg_rng_bits(&rng) >> 32) % c->m;
  return TG_OK;
}

/* The paper's figure: a double loop over rows and columns, each pair added to one of m sums. */
static tg_status run_dense(const figure_run* f, uint32_t m) {
  tg_motif_case* c = NULL;
  TG_TRY(begin_case(f, &c));
  c->m = m;
  c->rows.count = f->params->rows;
  c->columns.count = f->params->columns;
  tg_status status = make_vectors(c);
  if (status == TG_OK) status = make_keys(c);
  if (status == TG_OK) status = tg_motif_case_open(c);
  if (status == TG_OK) {
    tg_motif_case_add(c, TG_MOTIF_DENSE, true);
    status = tg_motif_case_show(f, c, m);
  }
  return end_case(c, status);
}

/* The fused chain beside the count of the same pairs. */
static tg_status run_fused(const figure_run* f, uint32_t m) {
  const tg_bench_motif_params* p = f->params;
  tg_motif_case* c = NULL;
  TG_TRY(begin_case(f, &c));
  c->m = m;
  tg_status status =
      tg_motif_case_states(c, p->rows, p->columns, 8, p->orbitals[0], TG_STATES_SPREAD);
  if (status == TG_OK) status = make_vectors(c);
  if (status == TG_OK) status = tg_motif_case_open(c);
  if (status == TG_OK) {
    tg_motif_case_add(c, TG_MOTIF_COUNT, true);
    tg_motif_case_add(c, TG_MOTIF_EXPECT, true);
    status = tg_motif_case_show(f, c, m);
  }
  return end_case(c, status);
}

static tg_status figure15(const figure_run* f) {
  const uint32_t most = f->params->sums;
  for (uint32_t m = 8; m <= most; m *= 2) TG_TRY(run_dense(f, m));
  for (uint32_t m = 8; m <= most; m *= 2) TG_TRY(run_reduce(f, m));
  return run_fused(f, 64);
}

double tg_bench_motif_bytes(int figure, const tg_bench_motif_params* p) {
  double rows = (double)p->rows, columns = (double)p->columns, items = (double)p->items;
  double orbitals = 0;
  if (figure == 11) return 9 * items; /* in, out, and what a version may need */
  for (int k = 0; k < (figure == 7 || figure == 8 ? p->orbital_count : 1); k++)
    if (p->orbitals[k] > orbitals) orbitals = p->orbitals[k];
  if (figure == 13)
    return fill_bytes(p, MOST_DENSITY * (double)least_of(p->rows, TG_MOTIF_FILL_STATES) *
                             (double)least_of(p->columns, TG_MOTIF_FILL_STATES));
  if (figure == TG_BENCH_MOTIF_TILES) {
    rows = (double)least_of(p->rows, TG_MOTIF_TILE_STATES);
    columns = (double)least_of(p->columns, TG_MOTIF_TILE_STATES);
  }
  const double particles = figure == 7 ? 20 : figure == TG_BENCH_MOTIF_TILES ? 16 : 8;
  const double states = case_bytes(rows + columns, particles, orbitals);
  return figure == 15 && 12 * items > states ? 12 * items : states;
}

tg_status tg_bench_motif_run(int figure, const tg_bench_motif_params* params,
                             void (*show)(void* context, const tg_bench_motif_row* row),
                             void* context) {
  const figure_run f = {figure, params, show, context};
  switch (figure) {
    case 7: return figure7(&f);
    case 8: return figure8(&f);
    case 11: return figure11(&f);
    case 13: return figure13(&f);
    case 15: return figure15(&f);
    case TG_BENCH_MOTIF_TILES: return tg_motif_figure_tiles(&f);
    default: return tg_fail(TG_ERR_INPUT, "bench motif: there is no figure %d", figure);
  }
}
