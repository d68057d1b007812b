/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/motif_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/interrupt.h"
#include "base/memory.h"
#include "base/timer.h"

/* Allocates in the site's memory; from: what is copied there, or NULL. */
static tg_status put(tg_motif_site* s, const void* from, size_t bytes, void* out) {
  void** place = out;
  TG_TRY(s->table->memory->allocate(bytes, "the benchmark", place));
  return from ? s->table->memory->upload(*place, from, bytes) : TG_OK;
}

static tg_status open_tiles(const tg_motif_case* c, tg_motif_site* s) {
  const tg_spans* spans = &c->spans;
  const size_t tiles = spans->tile_count;
  if (tiles == 0) return TG_OK;
  TG_TRY(put(s, spans->tile_rows, (tiles + 1) * sizeof(uint32_t), &s->tile_rows));
  TG_TRY(put(s, spans->tile_spans, (tiles + 1) * sizeof(uint32_t), &s->tile_spans));
  return put(s, spans->spans, 2 * spans->tile_spans[tiles] * sizeof(uint32_t), &s->spans);
}

static tg_status open_pairs(const tg_motif_case* c, tg_motif_site* s) {
  const size_t rows = c->rows.count;
  TG_TRY(tg_motif_states_upload(s->table, &c->rows, &s->pairs.rows));
  TG_TRY(tg_motif_states_upload(s->table, &c->columns, &s->pairs.columns));
  s->pairs.d = c->d;
  s->pairs.threads = c->params->threads;
  TG_TRY(open_tiles(c, s));
  TG_TRY(put(s, NULL, rows * sizeof(uint32_t), &s->counts));
  TG_TRY(put(s, NULL, rows * sizeof(uint32_t), &s->cursor));
  if (c->offsets) {
    TG_TRY(put(s, c->offsets, (rows + 1) * sizeof(uint64_t), &s->offsets));
    s->hit_count = c->offsets[rows];
    TG_TRY(put(s, NULL, s->hit_count * sizeof(uint32_t), &s->hits));
  }
  if (c->x) {
    TG_TRY(put(s, c->x, rows * sizeof(double), &s->x));
    TG_TRY(put(s, c->y, c->columns.count * sizeof(double), &s->y));
  }
  return TG_OK;
}

static tg_status open_dense(const tg_motif_case* c, tg_motif_site* s) {
  const size_t rows = c->rows.count, columns = c->columns.count;
  s->pairs.rows.count = rows;
  s->pairs.columns.count = columns;
  TG_TRY(put(s, c->p, rows * sizeof(uint32_t), &s->p));
  TG_TRY(put(s, c->q, columns * sizeof(uint32_t), &s->q));
  TG_TRY(put(s, c->x, rows * sizeof(double), &s->x));
  return put(s, c->y, columns * sizeof(double), &s->y);
}

static tg_status open_site(const tg_motif_case* c, tg_motif_site* s) {
  s->count = c->count;
  s->m = c->m;
  if (c->p) TG_TRY(open_dense(c, s));
  if (c->rows.count > 0 && !c->p) TG_TRY(open_pairs(c, s));
  if (c->narrow) {
    TG_TRY(put(s, c->narrow, c->count * sizeof(uint32_t), &s->narrow));
    TG_TRY(put(s, NULL, (c->count + 1) * sizeof(uint32_t), &s->narrow_sums));
    if (!s->table->host)
      TG_TRY(tg_allocate((c->count + 1) * sizeof(uint32_t), 1, "numbers on the host", &s->back));
  }
  if (c->bins) {
    TG_TRY(put(s, c->bins, c->count * sizeof(uint32_t), &s->bins));
    TG_TRY(put(s, c->values, c->count * sizeof(double), &s->values));
  }
  if (c->m > 0) TG_TRY(put(s, NULL, TG_OPERATOR_COUNT * (size_t)c->m * sizeof(double), &s->sums));
  return TG_OK;
}

tg_status tg_motif_case_open(tg_motif_case* c) {
  for (const tg_motif_table* const* t = tg_motif_tables(); *t != NULL; t++) {
    if (!tg_bench_motif_wants(c->params, (*t)->name)) continue;
    if (c->site_count == TG_MOTIF_MOST_SITES) continue;
    if ((*t)->check != NULL && (*t)->check() != TG_OK) continue;
    tg_motif_site* s = &c->sites[c->site_count++];
    s->table = *t;
    TG_TRY(open_site(c, s));
  }
  return TG_OK;
}

static void close_site(tg_motif_site* s) {
  const tg_motif_memory* memory = s->table->memory;
  void* const rooms[] = {s->tile_rows, s->tile_spans,  s->spans, s->counts,  s->cursor,
                         s->hits,      s->narrow,      s->bins,  s->offsets, s->values,
                         s->sums,      s->narrow_sums, s->x,     s->y,       s->p,
                         s->q,         s->scratch};
  for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++) memory->release(rooms[i]);
  tg_free(s->back);
  tg_motif_states_free(s->table, &s->pairs.rows);
  tg_motif_states_free(s->table, &s->pairs.columns);
}

void tg_motif_case_close(tg_motif_case* c) {
  for (int i = 0; i < c->site_count; i++) close_site(&c->sites[i]);
  tg_states_free(&c->rows);
  tg_states_free(&c->columns);
  tg_spans_free(&c->spans);
  for (int i = 0; i < c->answer_count; i++) TG_FREE(c->answers[i].hits);
  TG_FREE(c->offsets);
  TG_FREE(c->narrow);
  TG_FREE(c->bins);
  TG_FREE(c->values);
  TG_FREE(c->x);
  TG_FREE(c->y);
  TG_FREE(c->p);
  TG_FREE(c->q);
}

/* A version of the table's list, or a yardstick (version NULL); why: words on why it cannot. */
static void add(tg_motif_case* c, const tg_motif_entry* what, const char* why) {
  if (c->entry_count == TG_MOTIF_MOST_ENTRIES) return;
  if (what->version != NULL && !tg_bench_motif_named(c->params, what->name)) return;
  tg_motif_entry* e = &c->entries[c->entry_count++];
  *e = *what;
  e->rows = c->rows.count;
  e->items = c->count;
  if (why != NULL) snprintf(e->skipped, sizeof e->skipped, "%s", why);
}

static const char* refusal(tg_pairs_refuses why, const tg_motif_site* s) {
  const char* words = why == NULL ? NULL : why(NULL);
  return words != NULL || why == NULL ? words : why(&s->pairs);
}

bool tg_motif_version_slow(const char* name) {
  return strstr(name, "portable") || strstr(name, "AVX2") || strncmp(name, "array", 5) == 0;
}

static void add_of_pairs(tg_motif_case* c, tg_motif_site* s, tg_motif_kind kind, bool fast) {
  const tg_motif_table* t = s->table;
  tg_motif_entry e = {.kind = kind, .site = s};
#define ADD_ALL(type, list)                                                                        \
  for (const type* v = t->list; v && v->name; v++) {                                               \
    e.name = v->name;                                                                              \
    e.method = v->method;                                                                          \
    e.version = v;                                                                                 \
    if (!(fast && tg_motif_version_slow(v->name))) add(c, &e, refusal(v->refuses, s));             \
  }
  if (kind == TG_MOTIF_COUNT) ADD_ALL(tg_filter_version, filters)
  if (kind == TG_MOTIF_COUNT && c->spans.tile_count > 0) {
    e.tiled = true;
    ADD_ALL(tg_filter_version, filters)
  }
  if (kind == TG_MOTIF_FILL) ADD_ALL(tg_fill_version, fills)
  if (kind == TG_MOTIF_COLLECT) ADD_ALL(tg_collect_version, collects)
  if (kind == TG_MOTIF_EXPECT) ADD_ALL(tg_expect_version, expects)
#undef ADD_ALL
}

static void add_yardstick(tg_motif_case* c, tg_motif_site* s, tg_motif_kind kind) {
  const tg_motif_table* t = s->table;
  const bool omp = strcmp(t->name, "omp") == 0;
  tg_motif_entry e = {.kind = kind, .site = s};
  if (kind == TG_MOTIF_BARE && omp) e.name = "(xor, popcount)";
  if (kind == TG_MOTIF_COPY && (omp || t->copy)) e.name = "(copy)";
  if (kind == TG_MOTIF_STREAM && (omp || t->stream)) e.name = "(stream)";
  if (kind == TG_MOTIF_LINK && !t->host) e.name = "(to the host and back)";
  if (e.name != NULL) add(c, &e, NULL);
}

void tg_motif_case_add(tg_motif_case* c, tg_motif_kind kind, bool fast) {
  for (int i = 0; i < c->site_count; i++) {
    tg_motif_site* s = &c->sites[i];
    const tg_motif_table* t = s->table;
    add_of_pairs(c, s, kind, fast);
    add_yardstick(c, s, kind);
    tg_motif_entry e = {.kind = kind, .site = s};
    for (const tg_scan_version* v = t->scans; kind == TG_MOTIF_SCAN && v && v->name; v++) {
      e.name = v->name;
      e.version = v;
      if (v->u32 != NULL) add(c, &e, v->refuses ? v->refuses() : NULL);
    }
    for (const tg_reduce_version* v = t->reduces; kind == TG_MOTIF_REDUCE && v && v->name; v++) {
      const char* why = v->refuses ? v->refuses(0) : NULL;
      e.name = v->name;
      e.version = v;
      add(c, &e, why == NULL && v->refuses ? v->refuses(s->m) : why);
    }
    for (const tg_dense_version* v = t->denses; kind == TG_MOTIF_DENSE && v && v->name; v++) {
      const char* why = v->refuses ? v->refuses(0) : NULL;
      e.name = v->name;
      e.version = v;
      add(c, &e, why == NULL && v->refuses ? v->refuses(s->m) : why);
    }
  }
}

/* The scratch of all entries of a site: as much as the greediest asks for. */
static size_t scratch_of(const tg_motif_entry* e, int threads) {
  const tg_motif_site* s = e->site;
  if (e->kind == TG_MOTIF_SCAN) {
    const tg_scan_version* v = e->version;
    return v->scratch ? v->scratch(s->count, sizeof(uint32_t)) : 0;
  }
  if (e->kind == TG_MOTIF_REDUCE) {
    const tg_reduce_version* v = e->version;
    return v->scratch ? v->scratch(s->count, s->m, threads) : 0;
  }
  if (e->kind == TG_MOTIF_EXPECT) {
    const tg_expect_version* v = e->version;
    const tg_expectation what = {s->pairs, s->x, s->y, s->m, s->sums};
    return v->scratch ? v->scratch(&what) : 0;
  }
  if (e->kind == TG_MOTIF_DENSE) {
    const tg_dense_version* v = e->version;
    const tg_dense what = tg_motif_entry_dense(e, threads);
    return v->scratch ? v->scratch(&what) : 0;
  }
  return 0;
}

static tg_status make_scratch(tg_motif_case* c) {
  for (int i = 0; i < c->site_count; i++) {
    size_t most = 0;
    for (int k = 0; k < c->entry_count; k++) {
      if (c->entries[k].site != &c->sites[i] || c->entries[k].skipped[0]) continue;
      const size_t bytes = scratch_of(&c->entries[k], c->params->threads);
      if (bytes > most) most = bytes;
    }
    TG_TRY(put(&c->sites[i], NULL, most, &c->sites[i].scratch));
  }
  return TG_OK;
}

static tg_status time_once(const tg_motif_entry* e, int threads, double* seconds) {
  if (tg_interrupt_requested()) return tg_fail(TG_ERR_INTERRUPTED, "bench motif: interrupted");
  const double start = tg_time_now();
  TG_TRY(tg_motif_entry_run(e, threads));
  *seconds = tg_time_now() - start;
  return TG_OK;
}

static bool of_pairs(const tg_motif_entry* e) {
  return e->kind <= TG_MOTIF_COLLECT || (e->kind >= TG_MOTIF_EXPECT && e->kind <= TG_MOTIF_BARE);
}

/* Sets how much of the case a run does: rows (up to the end of a tile), or items. */
static size_t set_size(const tg_motif_case* c, tg_motif_entry* e, size_t size) {
  if (!of_pairs(e)) return e->items = size;
  e->rows = size;
  for (uint32_t t = 0; e->tiled && t <= c->spans.tile_count; t++) {
    e->rows = c->spans.tile_rows[t];
    e->tiles = t;
    if (e->rows >= size) break;
  }
  return e->rows;
}

/* Rows of about the budget, a power of two, so that versions share the rows that are checked. */
static size_t rows_of_budget(const tg_motif_case* c, size_t few, size_t all, double seconds) {
  const double wanted = (double)few * c->params->budget_s / (seconds > 1e-9 ? seconds : 1e-9);
  if (wanted >= (double)all) return all;
  size_t rows = few;
  while (2 * (double)rows <= wanted) rows *= 2;
  return rows;
}

/* What a warm-up has found: the last run's time and size, and those of the run before (0: none). */
typedef struct trial {
  size_t size, size_before;
  double seconds, seconds_before;
} trial;

/* Does twice as many rows seem too much? */
static bool is_beyond_budget(const tg_motif_case* c, const trial* t) {
  return rows_of_budget(c, t->size, SIZE_MAX, t->seconds) == t->size;
}

/* A run may take its time for reasons that do not grow with its rows: launches, or one thread to a
 * row where there are few. It says what a row costs only if the one before, of fewer rows, took its
 * share of the time; else four times as many are tried, although the budget is spent. */
static size_t next_rows(const tg_motif_case* c, const trial* t, size_t all) {
  const double limit = c->params->limit_s;
  if (!is_beyond_budget(c, t)) return rows_of_budget(c, t->size, all, t->seconds);
  const double share = t->seconds_before * (double)t->size / (double)t->size_before;
  if (t->size_before > 0 && t->seconds > 0.5 * share) return t->size;
  if (4 * t->seconds > limit) return t->size;
  return 4 * t->size < all ? 4 * t->size : all;
}

/* What to run after a trial: more; as many: that is it; 0: it is too slow. */
static size_t next_size(const tg_motif_case* c, bool rows, const trial* t, size_t all) {
  const double limit = c->params->limit_s, seconds = t->seconds;
  if (t->size >= all) return seconds > limit ? 0 : all;
  if (rows) return seconds > limit ? 0 : next_rows(c, t, all);
  if (seconds * (double)all / (double)t->size <= limit) return all;
  if (8 * seconds > limit) return 0;
  return 8 * t->size < all ? 8 * t->size : all;
}

static int compare(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

/* As next_size; but what is too slow by one run is so by the median of three. */
static tg_status find_next(const tg_motif_case* c, const tg_motif_entry* e, trial* t, size_t all,
                           size_t* next) {
  const bool rows = of_pairs(e);
  double seconds[3] = {t->seconds};
  *next = next_size(c, rows, t, all);
  if (*next > 0 || t->seconds > 4 * c->params->limit_s) return TG_OK;
  for (int k = 1; k < 3; k++) TG_TRY(time_once(e, c->params->threads, &seconds[k]));
  qsort(seconds, 3, sizeof *seconds, compare);
  t->seconds = seconds[1];
  *next = next_size(c, rows, t, all);
  return TG_OK;
}

/* The shorter of two runs where they are short: one that was disturbed would cut the rows. */
static tg_status time_trial(const tg_motif_case* c, const tg_motif_entry* e, double* seconds) {
  double again = 0;
  TG_TRY(time_once(e, c->params->threads, seconds));
  if (8 * *seconds > c->params->budget_s) return TG_OK;
  TG_TRY(time_once(e, c->params->threads, &again));
  if (again < *seconds) *seconds = again;
  return TG_OK;
}

/* Finds out how much a run may do, or that the version is too slow. */
static tg_status warm_up(tg_motif_case* c, tg_motif_entry* e) {
  const bool rows = of_pairs(e);
  const size_t all = rows ? e->rows : e->items;
  const size_t least = !rows ? 4096 : c->least_rows > 0 ? c->least_rows : 16;
  trial t = {.size = set_size(c, e, all < least ? all : least)};
  size_t next = t.size;
  TG_TRY(time_once(e, c->params->threads, &t.seconds)); /* which may load a kernel */
  if (t.seconds > 4 * c->params->limit_s)
    TG_TRY(time_once(e, c->params->threads, &t.seconds)); /* and then took longer for it */
  if (t.seconds <= 4 * c->params->limit_s) {
    TG_TRY(time_trial(c, e, &t.seconds));
    TG_TRY(find_next(c, e, &t, all, &next));
    while (next > t.size) {
      const trial before = t;
      t = (trial){set_size(c, e, next), before.size, 0, before.seconds};
      TG_TRY(time_trial(c, e, &t.seconds));
      const double share = before.seconds * (double)t.size / (double)before.size;
      if (rows && is_beyond_budget(c, &before) && t.seconds > c->params->budget_s &&
          t.seconds > 0.5 * share) {
        next = set_size(c, e, before.size); /* the rows do cost their share */
        t = before;
        break;
      }
      TG_TRY(find_next(c, e, &t, all, &next));
    }
  }
  if (t.size == next && t.seconds <= c->params->limit_s) return TG_OK;
  snprintf(e->skipped, sizeof e->skipped,
           "about %.2g s a run, beyond --limit %g (%zu of %zu %s took %.2g s)",
           t.seconds * (double)all / (double)t.size, c->params->limit_s, t.size, all,
           rows ? "rows" : "items", t.seconds);
  return TG_OK;
}

static tg_status prepare(tg_motif_case* c, tg_motif_entry* e) {
  double seconds = 0;
  TG_TRY(warm_up(c, e));
  if (e->skipped[0]) return TG_OK;
  /* once more over a wrong answer: versions share the room for theirs */
  TG_TRY(tg_motif_entry_spoil(c, e));
  TG_TRY(time_once(e, c->params->threads, &seconds));
  return tg_motif_entry_check(c, e);
}

tg_status tg_motif_case_run(tg_motif_case* c) {
  const int repeats = c->params->repeats;
  TG_TRY(make_scratch(c));
  for (int k = 0; k < c->entry_count; k++)
    if (!c->entries[k].skipped[0]) TG_TRY(prepare(c, &c->entries[k]));
  for (int r = 0; r < repeats; r++)
    for (int k = 0; k < c->entry_count; k++)
      if (!c->entries[k].skipped[0])
        TG_TRY(time_once(&c->entries[k], c->params->threads, &c->entries[k].times[r]));
  for (int k = 0; k < c->entry_count; k++)
    qsort(c->entries[k].times, (size_t)repeats, sizeof(double), compare);
  return TG_OK;
}
