/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/motif.h"

#include <string.h>

#include "base/memory.h"
#include "base/rng.h"
#include "bench/motif_case.h"

const int tg_bench_motif_figures[] = {7, 8, 11, 13, 15, 0};

const char* tg_bench_motif_axis(int figure) {
  switch (figure) {
    case 7: return "particles";
    case 8: return "states";
    case 11: return "elements";
    case 13: return "density of hits";
    default: return "sums";
  }
}

typedef struct figure_run {
  int figure;
  const tg_bench_motif_params* params;
  void (*show)(void* context, const tg_bench_motif_row* row);
  void* context;
} figure_run;

static double work_of(const tg_motif_case* c, const tg_motif_entry* e) {
  const bool of_pairs = c->rows.count > 0;
  return of_pairs ? (double)e->rows * (double)c->columns.count : (double)c->count;
}

static const char* word_of(tg_motif_kind kind) {
  static const char* const words[] = {"count",  "fill",  "collect",   "scan",
                                      "reduce", "fused", "yardstick", "yardstick"};
  return words[kind];
}

/* Runs an open case and shows its rows; x < 0: the density found. */
static tg_status run_case(const figure_run* f, tg_motif_case* c, double x) {
  TG_TRY(tg_motif_case_run(c));
  const double density = c->pairs > 0 ? c->hits / c->pairs : 0;
  for (int k = 0; k < c->entry_count; k++) {
    const tg_motif_entry* e = &c->entries[k];
    const double work = work_of(c, e);
    const tg_bench_motif_row row = {
        .figure = f->figure,
        .backend = e->site->table->name,
        .motif = word_of(e->kind),
        .version = e->name,
        .x = x < 0 ? density : x,
        .particles = c->rows.particles,
        .density = density,
        .least_s = e->times[0],
        .median_s = e->times[f->params->repeats / 2],
        .work = work,
        .rate = work / e->times[0],
        .checked = e->kind != TG_MOTIF_COPY && e->kind != TG_MOTIF_STREAM,
    };
    f->show(f->context, &row);
  }
  return TG_OK;
}

static tg_status make_states(const figure_run* f, tg_motif_case* c, size_t count,
                             uint32_t particles, double spread) {
  tg_states_params params = {count, particles, f->params->orbitals, spread, 1};
  TG_TRY(tg_states_random(&params, &c->rows));
  params.seed = 2;
  return tg_states_random(&params, &c->columns);
}

/* Figures 7 and 8: a count by every version. */
static tg_status run_filter(const figure_run* f, uint32_t particles, size_t states, double x) {
  tg_motif_case* c = NULL;
  TG_TRY(TG_ALLOCATE(1, "a case", &c));
  c->params = f->params;
  tg_status status = make_states(f, c, states, particles, TG_STATES_SPREAD);
  if (status == TG_OK) status = tg_motif_case_open(c);
  if (status == TG_OK) status = tg_motif_case_add(c, TG_MOTIF_COUNT, f->figure == 8);
  if (status == TG_OK) status = run_case(f, c, x);
  tg_motif_case_close(c);
  TG_FREE(c);
  return status;
}

static tg_status figure7(const figure_run* f) {
  static const uint32_t particles[] = {4, 8, 12, 16, 20};
  for (size_t k = 0; k < sizeof particles / sizeof *particles; k++)
    TG_TRY(run_filter(f, particles[k], f->params->states, particles[k]));
  return TG_OK;
}

static tg_status figure8(const figure_run* f) {
  for (size_t states = 1024; states <= f->params->states; states *= 4)
    TG_TRY(run_filter(f, 8, states, (double)states));
  return TG_OK;
}

static tg_status make_numbers(tg_motif_case* c, size_t count) {
  c->count = count;
  TG_TRY(TG_ALLOCATE(count, "numbers to scan", &c->narrow));
  for (size_t i = 0; i < count; i++) c->narrow[i] = (uint32_t)(i * 2654435761U >> 20) & 15;
  return TG_OK;
}

static tg_status run_scan(const figure_run* f, size_t count) {
  tg_motif_case* c = NULL;
  TG_TRY(TG_ALLOCATE(1, "a case", &c));
  c->params = f->params;
  tg_status status = make_numbers(c, count);
  if (status == TG_OK) status = tg_motif_case_open(c);
  if (status == TG_OK) status = tg_motif_case_add(c, TG_MOTIF_COPY, true);
  if (status == TG_OK) status = tg_motif_case_add(c, TG_MOTIF_SCAN, true);
  if (status == TG_OK) status = run_case(f, c, (double)count);
  tg_motif_case_close(c);
  TG_FREE(c);
  return status;
}

static tg_status figure11(const figure_run* f) {
  for (size_t count = 1024; count <= f->params->items; count *= 4) TG_TRY(run_scan(f, count));
  return TG_OK;
}

/* Offsets of all hits, by the host's threads: they are checked on the sample, as the hits are. */
static tg_status make_offsets(tg_motif_case* c) {
  const size_t rows = c->rows.count;
  const tg_motif_table* omp = tg_motif_table_find("omp");
  const tg_pairs pairs = {
      .rows = c->rows, .columns = c->columns, .d = c->params->d, .threads = c->params->threads};
  uint32_t* counts = NULL;
  tg_status status = TG_ALLOCATE(rows, "counts", &counts);
  if (status == TG_OK) status = TG_ALLOCATE(rows + 1, "offsets", &c->offsets);
  for (const tg_filter_version* v = omp->filters; status == TG_OK && v->name != NULL; v++)
    if (strcmp(v->name, "bits") == 0) status = v->count(&pairs, counts);
  for (size_t r = 0; r < rows && status == TG_OK; r++)
    c->offsets[r + 1] = c->offsets[r] + counts[r];
  TG_FREE(counts);
  return status;
}

static tg_status run_fill(const figure_run* f, double spread) {
  tg_motif_case* c = NULL;
  TG_TRY(TG_ALLOCATE(1, "a case", &c));
  c->params = f->params;
  /* at a density of 0.01 this many states have less than half a gigabyte of hits */
  const size_t most = 65536, states = f->params->states < most ? f->params->states : most;
  tg_status status = make_states(f, c, states, 8, spread);
  if (status == TG_OK) status = make_offsets(c);
  if (status == TG_OK) status = tg_motif_case_open(c);
  if (status == TG_OK) status = tg_motif_case_add(c, TG_MOTIF_COUNT, true);
  if (status == TG_OK) status = tg_motif_case_add(c, TG_MOTIF_FILL, true);
  if (status == TG_OK) status = tg_motif_case_add(c, TG_MOTIF_COLLECT, true);
  if (status == TG_OK) status = run_case(f, c, -1);
  tg_motif_case_close(c);
  TG_FREE(c);
  return status;
}

static tg_status figure13(const figure_run* f) {
  static const double spreads[] = {36, 20, 13, 9.5}; /* densities of about 6e-6 to 1e-2 */
  for (size_t k = 0; k < sizeof spreads / sizeof *spreads; k++) TG_TRY(run_fill(f, spreads[k]));
  return TG_OK;
}

static tg_status run_reduce(const figure_run* f, uint32_t m) {
  tg_motif_case* c = NULL;
  TG_TRY(TG_ALLOCATE(1, "a case", &c));
  c->params = f->params;
  c->count = f->params->items;
  c->m = m;
  tg_status status = TG_ALLOCATE(c->count, "bins", &c->bins);
  if (status == TG_OK) status = TG_ALLOCATE(c->count, "values", &c->values);
  if (status == TG_OK) {
    tg_rng rng = tg_rng_stream(1, TG_RNG_TEST, m);
    for (size_t i = 0; i < c->count; i++) {
      const uint64_t bits = tg_rng_bits(&rng);
      c->bins[i] = (uint32_t)(bits >> 32) % m;
      c->values[i] = (double)(bits & 0xfffff) / 3 - 100000;
    }
    status = tg_motif_case_open(c);
  }
  if (status == TG_OK) status = tg_motif_case_add(c, TG_MOTIF_STREAM, true);
  if (status == TG_OK) status = tg_motif_case_add(c, TG_MOTIF_REDUCE, true);
  if (status == TG_OK) status = run_case(f, c, m);
  tg_motif_case_close(c);
  TG_FREE(c);
  return status;
}

/* The fused chain beside the count of the same pairs. */
static tg_status run_fused(const figure_run* f, uint32_t m) {
  tg_motif_case* c = NULL;
  TG_TRY(TG_ALLOCATE(1, "a case", &c));
  c->params = f->params;
  c->m = m;
  tg_status status = make_states(f, c, f->params->states, 8, TG_STATES_SPREAD);
  if (status == TG_OK) status = TG_ALLOCATE(c->rows.count, "x", &c->x);
  if (status == TG_OK) status = TG_ALLOCATE(c->columns.count, "y", &c->y);
  for (size_t i = 0; i < c->rows.count && status == TG_OK; i++) {
    c->x[i] = (double)(i % 7) + 1;
    c->y[i] = (double)(i % 11) + 1;
  }
  if (status == TG_OK) status = tg_motif_case_open(c);
  if (status == TG_OK) status = tg_motif_case_add(c, TG_MOTIF_COUNT, true);
  if (status == TG_OK) status = tg_motif_case_add(c, TG_MOTIF_EXPECT, true);
  if (status == TG_OK) status = run_case(f, c, m);
  tg_motif_case_close(c);
  TG_FREE(c);
  return status;
}

static tg_status figure15(const figure_run* f) {
  for (uint32_t m = 8; m <= 256; m *= 2) TG_TRY(run_reduce(f, m));
  return run_fused(f, 64);
}

static tg_status check(const tg_bench_motif_params* p) {
  if (p->repeats < 1 || p->repeats > TG_BENCH_MOTIF_REPEATS)
    return tg_fail(TG_ERR_INPUT, "bench motif: %d repeats; give 1 to %d", p->repeats,
                   TG_BENCH_MOTIF_REPEATS);
  if (p->states < 1024 || p->states > 10000000)
    return tg_fail(TG_ERR_INPUT, "bench motif: %zu states; give 1024 to 10000000", p->states);
  if (p->items < 1024 || p->items > (size_t)1 << 30)
    return tg_fail(TG_ERR_INPUT, "bench motif: %zu items; give 1024 to 2^30", p->items);
  if (p->d < 1 || p->d > TG_DIFFERENCE_MOST)
    return tg_fail(TG_ERR_INPUT, "bench motif: --bodies %d; give 1 to %d", p->d,
                   TG_DIFFERENCE_MOST);
  if (p->threads < 1) return tg_fail(TG_ERR_INPUT, "bench motif: %d threads", p->threads);
  if (p->backend == NULL) return TG_OK;
  const tg_motif_table* table = tg_motif_table_find(p->backend);
  if (table == NULL)
    return tg_fail(TG_ERR_INPUT, "bench motif: no backend '%s' is built in", p->backend);
  return table->check ? table->check() : TG_OK;
}

tg_status tg_bench_motif_run(int figure, const tg_bench_motif_params* params,
                             void (*show)(void* context, const tg_bench_motif_row* row),
                             void* context) {
  const figure_run f = {figure, params, show, context};
  TG_TRY(check(params));
  switch (figure) {
    case 7: return figure7(&f);
    case 8: return figure8(&f);
    case 11: return figure11(&f);
    case 13: return figure13(&f);
    case 15: return figure15(&f);
    default:
      return tg_fail(TG_ERR_INPUT, "bench motif: no figure %d; there are 7, 8, 11, 13 and 15",
                     figure);
  }
}
