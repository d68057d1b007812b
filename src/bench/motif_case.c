/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/motif_case.h"

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

static tg_status open_pairs(const tg_motif_case* c, tg_motif_site* s) {
  const size_t rows = c->rows.count;
  TG_TRY(tg_motif_states_upload(s->table, &c->rows, &s->pairs.rows));
  TG_TRY(tg_motif_states_upload(s->table, &c->columns, &s->pairs.columns));
  s->pairs.d = c->params->d;
  s->pairs.threads = c->params->threads;
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

static tg_status open_site(const tg_motif_case* c, tg_motif_site* s) {
  s->count = c->count;
  s->m = c->m;
  if (c->rows.count > 0) TG_TRY(open_pairs(c, s));
  if (c->narrow) {
    TG_TRY(put(s, c->narrow, c->count * sizeof(uint32_t), &s->narrow));
    TG_TRY(put(s, NULL, (c->count + 1) * sizeof(uint32_t), &s->narrow_sums));
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
    const bool wanted = !c->params->backend || strcmp(c->params->backend, (*t)->name) == 0;
    if (!wanted || c->site_count == TG_MOTIF_MOST_SITES) continue;
    if ((*t)->check != NULL && (*t)->check() != TG_OK) continue;
    tg_motif_site* s = &c->sites[c->site_count++];
    s->table = *t;
    TG_TRY(open_site(c, s));
  }
  return TG_OK;
}

static void close_site(tg_motif_site* s) {
  const tg_motif_memory* memory = s->table->memory;
  void* const rooms[] = {s->counts,  s->cursor, s->hits, s->narrow, s->narrow_sums, s->bins,
                         s->offsets, s->values, s->sums, s->x,      s->y,           s->scratch};
  for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++) memory->release(rooms[i]);
  tg_motif_states_free(s->table, &s->pairs.rows);
  tg_motif_states_free(s->table, &s->pairs.columns);
}

void tg_motif_case_close(tg_motif_case* c) {
  for (int i = 0; i < c->site_count; i++) close_site(&c->sites[i]);
  tg_states_free(&c->rows);
  tg_states_free(&c->columns);
  TG_FREE(c->offsets);
  TG_FREE(c->narrow);
  TG_FREE(c->bins);
  TG_FREE(c->values);
  TG_FREE(c->x);
  TG_FREE(c->y);
}

static void add(tg_motif_case* c, tg_motif_site* s, tg_motif_kind kind, const char* name,
                const void* version) {
  const char* wanted = c->params->version;
  if (c->entry_count == TG_MOTIF_MOST_ENTRIES) return;
  if (wanted != NULL && version != NULL && strstr(name, wanted) == NULL) return;
  c->entries[c->entry_count++] = (tg_motif_entry){
      .kind = kind, .name = name, .version = version, .site = s, .rows = c->rows.count};
}

static bool refuses(tg_pairs_refuses why, const tg_motif_site* s) {
  return why != NULL && (why(NULL) != NULL || why(&s->pairs) != NULL);
}

static bool slow(const char* name) {
  return strstr(name, "portable") || strstr(name, "AVX2") || strncmp(name, "array", 5) == 0;
}

static void add_of_pairs(tg_motif_case* c, tg_motif_site* s, tg_motif_kind kind, bool fast) {
  const tg_motif_table* t = s->table;
  if (kind == TG_MOTIF_COUNT)
    for (const tg_filter_version* v = t->filters; v && v->name; v++)
      if (!refuses(v->refuses, s) && !(fast && slow(v->name))) add(c, s, kind, v->name, v);
  if (kind == TG_MOTIF_FILL)
    for (const tg_fill_version* v = t->fills; v && v->name; v++)
      if (!refuses(v->refuses, s) && !(fast && slow(v->name))) add(c, s, kind, v->name, v);
  if (kind == TG_MOTIF_COLLECT)
    for (const tg_collect_version* v = t->collects; v && v->name; v++)
      if (!refuses(v->refuses, s) && !(fast && slow(v->name))) add(c, s, kind, v->name, v);
  if (kind == TG_MOTIF_EXPECT)
    for (const tg_expect_version* v = t->expects; v && v->name; v++)
      if (!refuses(v->refuses, s)) add(c, s, kind, v->name, v);
}

tg_status tg_motif_case_add(tg_motif_case* c, tg_motif_kind kind, bool fast) {
  for (int i = 0; i < c->site_count; i++) {
    tg_motif_site* s = &c->sites[i];
    const tg_motif_table* t = s->table;
    add_of_pairs(c, s, kind, fast);
    if (kind == TG_MOTIF_SCAN)
      for (const tg_scan_version* v = t->scans; v && v->name; v++)
        if (v->u32 != NULL && (v->refuses == NULL || v->refuses() == NULL))
          add(c, s, kind, v->name, v);
    if (kind == TG_MOTIF_REDUCE)
      for (const tg_reduce_version* v = t->reduces; v && v->name; v++)
        if (v->refuses == NULL || (v->refuses(0) == NULL && v->refuses(s->m) == NULL))
          add(c, s, kind, v->name, v);
    const bool omp = strcmp(t->name, "omp") == 0;
    if (kind == TG_MOTIF_COPY && (omp || t->copy)) add(c, s, kind, "(copy)", NULL);
    if (kind == TG_MOTIF_STREAM && (omp || t->stream)) add(c, s, kind, "(stream)", NULL);
  }
  return TG_OK;
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
  return 0;
}

static tg_status make_scratch(tg_motif_case* c) {
  for (int i = 0; i < c->site_count; i++) {
    size_t most = 0;
    for (int k = 0; k < c->entry_count; k++) {
      if (c->entries[k].site != &c->sites[i]) continue;
      const size_t bytes = scratch_of(&c->entries[k], c->params->threads);
      if (bytes > most) most = bytes;
    }
    TG_TRY(put(&c->sites[i], NULL, most, &c->sites[i].scratch));
  }
  return TG_OK;
}

static tg_status time_once(const tg_motif_entry* e, int threads, double* seconds) {
  if (tg_interrupt_requested())
    return tg_fail(TG_ERR_INTERRUPTED, "bench motif: interrupted; what was measured is kept");
  const double start = tg_time_now();
  TG_TRY(tg_motif_entry_run(e, threads));
  *seconds = tg_time_now() - start;
  return TG_OK;
}

/* Runs a few rows, then as many more as the budget allows, at least as many as before. */
static tg_status warm_up(tg_motif_case* c, tg_motif_entry* e) {
  enum { FEW = 16 };
  const size_t all = e->rows;
  const int threads = c->params->threads;
  double seconds = 0;
  if (all > FEW) {
    e->rows = FEW;
    TG_TRY(time_once(e, threads, &seconds)); /* the first run may load a kernel */
    TG_TRY(time_once(e, threads, &seconds));
    const double wanted = FEW * c->params->budget_s / (seconds > 1e-9 ? seconds : 1e-9);
    e->rows = wanted < (double)all ? (size_t)wanted : all;
    if (e->rows < FEW) e->rows = FEW;
  }
  return time_once(e, threads, &seconds);
}

static int compare(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

tg_status tg_motif_case_run(tg_motif_case* c) {
  const int repeats = c->params->repeats;
  TG_TRY(make_scratch(c));
  for (int k = 0; k < c->entry_count; k++) {
    TG_TRY(warm_up(c, &c->entries[k]));
    double seconds = 0; /* once more over a wrong answer: versions share the room for theirs */
    TG_TRY(tg_motif_entry_spoil(c, &c->entries[k]));
    TG_TRY(time_once(&c->entries[k], c->params->threads, &seconds));
    TG_TRY(tg_motif_entry_check(c, &c->entries[k]));
  }
  for (int r = 0; r < repeats; r++)
    for (int k = 0; k < c->entry_count; k++)
      TG_TRY(time_once(&c->entries[k], c->params->threads, &c->entries[k].times[r]));
  for (int k = 0; k < c->entry_count; k++)
    qsort(c->entries[k].times, (size_t)repeats, sizeof(double), compare);
  return TG_OK;
}
