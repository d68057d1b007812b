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
  if (e->tiled) {
    pairs.tile_count = e->tiles;
    pairs.tile_rows = e->site->tile_rows;
    pairs.tile_spans = e->site->tile_spans;
    pairs.spans = e->site->spans;
  }
  return pairs;
}

double tg_motif_entry_work(const tg_motif_case* c, const tg_motif_entry* e) {
  return c->rows.count > 0 ? (double)e->rows * (double)c->columns.count : (double)e->items;
}

/* To the host and back, as a scan there has to. */
static tg_status there_and_back(const tg_motif_entry* e) {
  const tg_motif_site* s = e->site;
  const tg_motif_memory* memory = s->table->memory;
  TG_TRY(memory->download(s->back, s->narrow, e->items * sizeof *s->narrow));
  return memory->upload(s->narrow_sums, s->back, (e->items + 1) * sizeof *s->narrow_sums);
}

static tg_status run_yardstick(const tg_motif_entry* e, const tg_pairs* pairs,
                               const tg_reduction* reduction, int threads) {
  const tg_motif_site* s = e->site;
  switch (e->kind) {
    case TG_MOTIF_BARE: tg_motif_bare(pairs, s->counts); break;
    case TG_MOTIF_COPY:
      if (s->table->copy != NULL) return s->table->copy(e->items, s->narrow, s->narrow_sums);
      tg_motif_copy(e->items, s->narrow, s->narrow_sums, threads);
      break;
    case TG_MOTIF_STREAM:
      if (s->table->stream != NULL) return s->table->stream(reduction);
      tg_motif_stream(reduction);
      break;
    case TG_MOTIF_LINK: return there_and_back(e);
    default: break;
  }
  return TG_OK;
}

tg_dense tg_motif_entry_dense(const tg_motif_entry* e, int threads) {
  const tg_motif_site* s = e->site;
  return (tg_dense){.rows = e->rows,
                    .columns = s->pairs.columns.count,
                    .p = s->p,
                    .q = s->q,
                    .x = s->x,
                    .y = s->y,
                    .m = s->m,
                    .sums = s->sums,
                    .scratch = s->scratch,
                    .threads = threads};
}

tg_status tg_motif_entry_run(const tg_motif_entry* e, int threads) {
  const tg_motif_site* s = e->site;
  const tg_pairs pairs = pairs_of(e);
  const tg_expectation expectation = {pairs, s->x, s->y, s->m, s->sums};
  const tg_reduction reduction = {e->items, s->bins, s->values, s->m, s->sums, s->scratch, threads};
  const tg_dense dense = tg_motif_entry_dense(e, threads);
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
                 ->u32(e->items, s->narrow, s->narrow_sums, s->scratch, threads));
      break;
    case TG_MOTIF_REDUCE: TG_TRY(((const tg_reduce_version*)e->version)->reduce(&reduction)); break;
    case TG_MOTIF_EXPECT:
      TG_TRY(((const tg_expect_version*)e->version)->expect(&expectation, s->scratch));
      break;
    case TG_MOTIF_DENSE: TG_TRY(((const tg_dense_version*)e->version)->reduce(&dense)); break;
    default: TG_TRY(run_yardstick(e, &pairs, &reduction, threads));
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
  const tg_pairs pairs = {
      .rows = tg_states_slice(&c->rows, row, 1), .columns = c->columns, .d = c->d, .threads = 1};
  uint32_t found = 0;
  /* bits: the specification's fastest; the tests compare the methods with each other */
  for (const tg_fill_version* v = ref->fills; v->name; v++)
    if (strcmp(v->method, "bits") == 0) v->fill(&pairs, offsets, &found, hits);
  return found;
}

/* The same, of a row that was asked for before: kept in the case, which releases it. */
static tg_status answer_of_row(tg_motif_case* c, size_t row, const tg_motif_answer** out) {
  for (int i = 0; i < c->answer_count; i++) {
    *out = &c->answers[i];
    if ((*out)->row == row) return TG_OK;
  }
  uint32_t* room = NULL;
  TG_TRY(TG_ALLOCATE(c->columns.count, "hits of a row", &room));
  /* the last place is used anew when all are taken */
  tg_motif_answer* a = &c->answers[c->answer_count];
  if (c->answer_count == TG_MOTIF_MOST_ANSWERS)
    TG_FREE((--a)->hits);
  else
    c->answer_count++;
  *a = (tg_motif_answer){.row = row, .count = hits_of_row(c, row, room)};
  tg_status status = TG_ALLOCATE((size_t)a->count, "hits of a row", &a->hits);
  if (status == TG_OK && a->count > 0) memcpy(a->hits, room, a->count * sizeof *room);
  TG_FREE(room);
  *out = a;
  return status;
}

static int compare(const void* a, const void* b) {
  const uint32_t x = *(const uint32_t*)a, y = *(const uint32_t*)b;
  return (x > y) - (x < y);
}

static tg_status check_row(tg_motif_case* c, const tg_motif_entry* e, size_t row,
                           const uint32_t* counts, uint32_t* hits) {
  const tg_motif_answer* right = NULL;
  TG_TRY(answer_of_row(c, row, &right));
  if (counts != NULL)
    return counts[row] == right->count ? TG_OK : differs(e, "the count of row", row);
  uint32_t* mine = hits + c->offsets[row];
  if (c->offsets[row + 1] - c->offsets[row] != right->count)
    return differs(e, "the offset of row", row);
  if (right->count == 0) return TG_OK;
  qsort(mine, right->count, sizeof *mine, compare);
  if (memcmp(mine, right->hits, right->count * sizeof *mine) == 0) return TG_OK;
  return differs(e, "the set of hits of row", row);
}

static tg_status check_pairs(tg_motif_case* c, const tg_motif_entry* e) {
  const bool filled = e->kind != TG_MOTIF_COUNT;
  uint32_t *counts = NULL, *hits = NULL;
  tg_status status = filled ? get(e, e->site->hits, c->offsets[e->rows] * sizeof *hits, &hits)
                            : get(e, e->site->counts, e->rows * sizeof *counts, &counts);
  for (size_t k = 0; k < SAMPLE && status == TG_OK; k++)
    status = check_row(c, e, k * (e->rows - 1) / (SAMPLE - 1), counts, hits);
  double sum = 0;
  for (size_t r = 0; r < e->rows && status == TG_OK && !filled; r++) sum += counts[r];
  const double pairs = (double)e->rows * (double)c->columns.count;
  if (!filled && pairs > c->pairs) {
    c->pairs = pairs;
    c->hits = sum;
  }
  TG_FREE(counts);
  TG_FREE(hits);
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
                                         .d = c->d,
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

/* All pairs, with no walk over them: the sum is the cyclic convolution of the sums of x and of y by
 * their keys. x and y are whole numbers and all sums below 2^53, so any order of adding is exact.
 */
static tg_status check_dense(const tg_motif_case* c, const tg_motif_entry* e) {
  const size_t m = c->m;
  double *sums = NULL, *of_rows = NULL;
  tg_status status = TG_ALLOCATE(2 * m, "sums by key", &of_rows);
  if (status == TG_OK) status = get(e, e->site->sums, m * sizeof *sums, &sums);
  if (status == TG_OK) {
    double* of_columns = of_rows + m;
    for (size_t r = 0; r < e->rows; r++) of_rows[c->p[r]] += c->x[r];
    for (size_t j = 0; j < c->columns.count; j++) of_columns[c->q[j]] += c->y[j];
    for (size_t b = 0; b < m && status == TG_OK; b++) {
      double right = 0;
      for (size_t k = 0; k < m; k++) right += of_rows[k] * of_columns[(b + m - k) % m];
      if (sums[b] != right) status = differs(e, "sum", b);
    }
  }
  TG_FREE(sums);
  TG_FREE(of_rows);
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
    case TG_MOTIF_DENSE:
      answer = s->sums;
      bytes = c->m * sizeof *s->sums;
      break;
    case TG_MOTIF_EXPECT:
      answer = s->sums;
      bytes = TG_OPERATOR_COUNT * (size_t)c->m * sizeof *s->sums;
      break;
    default: break; /* yardsticks */
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
    case TG_MOTIF_DENSE: return check_dense(c, e);
    default: return TG_OK; /* yardsticks */
  }
}
