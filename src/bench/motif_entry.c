/* SPDX-License-Identifier: Apache-2.0 */
/* One version on one case: how it is called, and whether its answer is that of ref. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "bench/motif_case.h"

enum { SAMPLE = 16 }; /* rows that are checked */

static tg_pairs pairs_of(const tg_motif_entry* e) {
  tg_pairs pairs = e->site->pairs;
  pairs.rows = tg_states_slice(&pairs.rows, 0, e->rows);
  return pairs;
}

/* Reads both arrays of reduce once, asking for them as early as the fastest reduce does. */
static void stream(const tg_motif_site* s, int threads) {
  enum { LINE = 16, AHEAD = 512 };
  const size_t count = s->count / LINE * LINE;
  const uint32_t* bins = s->bins;
  const double* values = s->values;
  double sum = 0;
  uint32_t bits = 0;
  (void)threads;
#pragma omp parallel for schedule(static) num_threads(threads) default(none) \
    shared(count, bins, values) reduction(+ : sum) reduction(^ : bits)
  for (size_t i = 0; i < count; i += LINE) {
    double four[4] = {0};
    __builtin_prefetch(bins + i + 2 * AHEAD);
    __builtin_prefetch(values + i + AHEAD);
    __builtin_prefetch(values + i + AHEAD + LINE / 2);
    for (size_t k = 0; k < LINE; k++) {
      four[k % 4] += values[i + k];
      bits ^= bins[i + k];
    }
    sum += four[0] + four[1] + four[2] + four[3];
  }
  s->sums[0] = sum + bits;
}

static void copy(const tg_motif_site* s, int threads) {
  const size_t count = s->count;
  const uint32_t* from = s->narrow;
  uint32_t* to = s->narrow_sums;
  (void)threads;
#pragma omp parallel for simd schedule(static) num_threads(threads) default(none)                  \
    shared(count, from, to)
  for (size_t i = 0; i < count; i++) to[i] = from[i];
}

tg_status tg_motif_entry_run(const tg_motif_entry* e, int threads) {
  const tg_motif_site* s = e->site;
  const tg_pairs pairs = pairs_of(e);
  const tg_expectation expectation = {pairs, s->x, s->y, s->m, s->sums};
  const tg_reduction reduction = {s->count, s->bins, s->values, s->m, s->sums, s->scratch, threads};
  switch (e->kind) {
    case TG_MOTIF_COUNT:
      TG_TRY(((const tg_filter_version*)e->version)->count(&pairs, s->counts));
      break;
    case TG_MOTIF_FILL:
      TG_TRY(((const tg_fill_version*)e->version)->fill(&pairs, s->offsets, s->cursor, s->hits));
      break;
    case TG_MOTIF_COLLECT: /* the offsets become what they are already */
      TG_TRY(((const tg_collect_version*)e->version)
                 ->collect(&pairs, s->hit_count, s->offsets, s->hits));
      break;
    case TG_MOTIF_SCAN:
      TG_TRY(((const tg_scan_version*)e->version)
                 ->u32(s->count, s->narrow, s->narrow_sums, s->scratch, threads));
      break;
    case TG_MOTIF_REDUCE: TG_TRY(((const tg_reduce_version*)e->version)->reduce(&reduction)); break;
    case TG_MOTIF_EXPECT:
      TG_TRY(((const tg_expect_version*)e->version)->expect(&expectation, s->scratch));
      break;
    case TG_MOTIF_COPY:
      if (s->table->copy == NULL) copy(s, threads);
      if (s->table->copy != NULL) TG_TRY(s->table->copy(s->count, s->narrow, s->narrow_sums));
      break;
    case TG_MOTIF_STREAM:
      if (s->table->stream == NULL) stream(s, threads);
      if (s->table->stream != NULL) TG_TRY(s->table->stream(&reduction));
      break;
  }
  return s->table->memory->synchronize();
}

static tg_status differs(const tg_motif_entry* e, const char* what, size_t where) {
  return tg_fail(TG_ERR_NUMERICS, "bench motif: %s %s: %s %zu is not that of ref",
                 e->site->table->name, e->name, what, where);
}

/* What is in the backend's memory, in host memory. */
static tg_status get(const tg_motif_entry* e, const void* from, size_t bytes, void* out) {
  void** place = out;
  TG_TRY(tg_allocate(bytes, 1, "an answer", place));
  return e->site->table->memory->download(*place, from, bytes);
}

/* The hits of a row by ref: [columns], rising. */
static uint32_t hits_of_row(const tg_motif_case* c, size_t row, uint32_t* hits) {
  const uint64_t offsets[2] = {0, 0};
  const tg_motif_table* ref = tg_motif_table_find("ref");
  const tg_pairs pairs = {.rows = tg_states_slice(&c->rows, row, 1),
                          .columns = c->columns,
                          .d = c->params->d,
                          .threads = 1};
  uint32_t found = 0;
  /* bits: the specification's fastest; the tests compare the methods with each other */
  for (const tg_fill_version* v = ref->fills; v->name; v++)
    if (strcmp(v->method, "bits") == 0) v->fill(&pairs, offsets, &found, hits);
  return found;
}

static int compare(const void* a, const void* b) {
  const uint32_t x = *(const uint32_t*)a, y = *(const uint32_t*)b;
  return (x > y) - (x < y);
}

static tg_status check_pairs(tg_motif_case* c, const tg_motif_entry* e) {
  const bool filled = e->kind != TG_MOTIF_COUNT;
  uint32_t *counts = NULL, *hits = NULL, *right = NULL;
  tg_status status = TG_ALLOCATE(c->columns.count, "hits of a row", &right);
  if (status == TG_OK && !filled)
    status = get(e, e->site->counts, e->rows * sizeof *counts, &counts);
  if (status == TG_OK && filled)
    status = get(e, e->site->hits, c->offsets[e->rows] * sizeof *hits, &hits);
  for (size_t k = 0; k < SAMPLE && status == TG_OK; k++) {
    const size_t row = k * (e->rows - 1) / (SAMPLE - 1);
    const uint32_t found = hits_of_row(c, row, right);
    if (!filled && counts[row] != found) status = differs(e, "the count of row", row);
    if (!filled) continue;
    uint32_t* mine = hits + c->offsets[row];
    if (c->offsets[row + 1] - c->offsets[row] != found)
      status = differs(e, "the offset of row", row);
    if (status != TG_OK) break;
    qsort(mine, found, sizeof *mine, compare);
    if (found > 0 && memcmp(mine, right, found * sizeof *mine) != 0)
      status = differs(e, "the set of hits of row", row);
  }
  double sum = 0;
  for (size_t r = 0; r < e->rows && status == TG_OK && !filled; r++) sum += counts[r];
  const double pairs = (double)e->rows * (double)c->columns.count;
  if (!filled && pairs > c->pairs) {
    c->pairs = pairs;
    c->hits = sum;
  }
  TG_FREE(counts);
  TG_FREE(hits);
  TG_FREE(right);
  return status;
}

static tg_status check_scan(const tg_motif_case* c, const tg_motif_entry* e) {
  uint32_t* sums = NULL;
  uint32_t sum = 0;
  tg_status status = get(e, e->site->narrow_sums, (c->count + 1) * sizeof *sums, &sums);
  for (size_t i = 0; i <= c->count && status == TG_OK; i++) {
    if (sums[i] != sum) status = differs(e, "the sum before element", i);
    if (i < c->count) sum += c->narrow[i];
  }
  TG_FREE(sums);
  return status;
}

/* The bound of motif/reduce.h, for both sides; n: items of the bin. */
static bool near(double a, double b, double n, double magnitude) {
  return fabs(a - b) <= 2 * n * 0x1p-53 / (1 - n * 0x1p-53) * magnitude;
}

static tg_status check_reduce(const tg_motif_case* c, const tg_motif_entry* e) {
  double *sums = NULL, *right = NULL;
  tg_status status = TG_ALLOCATE(3 * (size_t)c->m, "sums", &right);
  if (status == TG_OK) status = get(e, e->site->sums, c->m * sizeof *sums, &sums);
  for (size_t i = 0; i < c->count && status == TG_OK; i++) {
    double* of = right + 3 * (size_t)c->bins[i];
    of[0] += c->values[i];
    of[1] += fabs(c->values[i]);
    of[2]++;
  }
  for (uint32_t b = 0; b < c->m && status == TG_OK; b++)
    if (!near(sums[b], right[3 * b], right[3 * b + 2], right[3 * b + 1]))
      status = differs(e, "sum", b);
  TG_FREE(sums);
  TG_FREE(right);
  return status;
}

/* x and y are whole and above 0: two operators are exact; an element of the third has two
 * roundings, its sums are their own magnitudes, and the sums of the first are no fewer than the
 * hits. ref takes a second for 3e7 pairs, so the first rows are run anew, and compared. */
static tg_status check_expect(const tg_motif_case* c, const tg_motif_entry* e) {
  const size_t m = c->m, size = TG_OPERATOR_COUNT * m;
  double *sums = NULL, *right = NULL, hits = 0;
  tg_motif_entry few = *e;
  few.rows = e->rows < SAMPLE ? e->rows : SAMPLE;
  tg_status status = TG_ALLOCATE(size, "sums", &right);
  if (status == TG_OK) status = tg_motif_entry_run(&few, c->params->threads);
  if (status == TG_OK) status = get(e, e->site->sums, size * sizeof *sums, &sums);
  const tg_expectation what = {.pairs = {.rows = tg_states_slice(&c->rows, 0, few.rows),
                                         .columns = c->columns,
                                         .d = c->params->d,
                                         .threads = 1},
                               .x = c->x,
                               .y = c->y,
                               .m = c->m,
                               .sums = right};
  if (status == TG_OK) status = tg_motif_table_find("ref")->expects->expect(&what, NULL);
  for (size_t i = 0; i < m && status == TG_OK; i++) hits += right[i];
  for (size_t i = 0; i < size && status == TG_OK; i++)
    if (i < 2 * m ? sums[i] != right[i] : !near(sums[i], right[i], hits + 2, right[i]))
      status = differs(e, "sum", i);
  TG_FREE(sums);
  TG_FREE(right);
  return status;
}

tg_status tg_motif_entry_spoil(const tg_motif_case* c, const tg_motif_entry* e) {
  const tg_motif_site* s = e->site;
  void* answer = NULL;
  size_t bytes = 0;
  switch (e->kind) {
    case TG_MOTIF_COUNT:
      answer = s->counts;
      bytes = e->rows * sizeof *s->counts;
      break;
    case TG_MOTIF_FILL:
    case TG_MOTIF_COLLECT:
      answer = s->hits;
      bytes = c->offsets[e->rows] * sizeof *s->hits;
      break;
    case TG_MOTIF_SCAN:
      answer = s->narrow_sums;
      bytes = (c->count + 1) * sizeof *s->narrow_sums;
      break;
    case TG_MOTIF_REDUCE:
      answer = s->sums;
      bytes = c->m * sizeof *s->sums;
      break;
    case TG_MOTIF_EXPECT:
      answer = s->sums;
      bytes = TG_OPERATOR_COUNT * (size_t)c->m * sizeof *s->sums;
      break;
    case TG_MOTIF_COPY:
    case TG_MOTIF_STREAM: break;
  }
  if (bytes == 0) return TG_OK;
  unsigned char* wrong = NULL;
  TG_TRY(TG_ALLOCATE(bytes, "a wrong answer", &wrong));
  memset(wrong, 0xff, bytes);
  tg_status status = s->table->memory->upload(answer, wrong, bytes);
  TG_FREE(wrong);
  return status;
}

tg_status tg_motif_entry_check(tg_motif_case* c, const tg_motif_entry* e) {
  switch (e->kind) {
    case TG_MOTIF_COUNT:
    case TG_MOTIF_FILL:
    case TG_MOTIF_COLLECT: return check_pairs(c, e);
    case TG_MOTIF_SCAN: return check_scan(c, e);
    case TG_MOTIF_REDUCE: return check_reduce(c, e);
    case TG_MOTIF_EXPECT: return check_expect(c, e);
    case TG_MOTIF_COPY:
    case TG_MOTIF_STREAM: break;
  }
  return TG_OK;
}
