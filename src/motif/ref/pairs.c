/* SPDX-License-Identifier: Apache-2.0 */
/* Filter and fill as motif/pairs.h words them. */
#include "motif/ref/pairs.h"

#include <string.h>

#include "motif/ref/table.h"

static uint32_t ones(uint64_t word) {
  uint32_t count = 0;
  for (; word; word &= word - 1) count++;
  return count;
}

/* Both lists rise, so one pass over them together finds what only one has. */
uint32_t tg_ref_differing(const tg_pairs* pairs, size_t row, size_t column) {
  const tg_states *r = &pairs->rows, *c = &pairs->columns;
  const uint32_t n = r->particles;
  uint32_t i = 0, j = 0, shared = 0;
  while (i < n && j < n) {
    const uint16_t a = r->orbital[i * r->stride + row], b = c->orbital[j * c->stride + column];
    if (a == b) shared++;
    if (a <= b) i++;
    if (b <= a) j++;
  }
  return 2 * (n - shared);
}

bool tg_ref_array(const tg_pairs* pairs, size_t row, size_t column) {
  return tg_ref_differing(pairs, row, column) <= 2 * (uint32_t)pairs->d;
}

bool tg_ref_word64(const tg_pairs* pairs, size_t row, size_t column) {
  return ones(pairs->rows.low[row] ^ pairs->columns.low[column]) <= 2 * (uint32_t)pairs->d &&
         tg_ref_array(pairs, row, column);
}

bool tg_ref_bits(const tg_pairs* pairs, size_t row, size_t column) {
  const tg_states *r = &pairs->rows, *c = &pairs->columns;
  uint32_t differing = 0;
  for (uint32_t w = 0; w < r->words; w++)
    differing += ones(r->bits[w * r->stride + row] ^ c->bits[w * c->stride + column]);
  return differing <= 2 * (uint32_t)pairs->d;
}

static void visit_span(const tg_pairs* pairs, tg_ref_accepts accepts, tg_ref_visit visit,
                       void* context, size_t row, const size_t span[2]) {
  for (size_t c = span[0]; c < span[1]; c++) {
    if (pairs->once && pairs->first_column + c <= pairs->first_row + row) continue;
    if (accepts(pairs, row, c)) visit(context, row, c);
  }
}

void tg_ref_each_hit(const tg_pairs* pairs, tg_ref_accepts accepts, tg_ref_visit visit,
                     void* context) {
  const size_t all[2] = {0, pairs->columns.count};
  if (pairs->tile_count == 0)
    for (size_t r = 0; r < pairs->rows.count; r++)
      visit_span(pairs, accepts, visit, context, r, all);
  for (uint32_t t = 0; t < pairs->tile_count; t++)
    for (size_t r = pairs->tile_rows[t]; r < pairs->tile_rows[t + 1]; r++)
      for (uint32_t s = pairs->tile_spans[t]; s < pairs->tile_spans[t + 1]; s++) {
        const size_t span[2] = {pairs->spans[2 * s], pairs->spans[2 * s + 1]};
        visit_span(pairs, accepts, visit, context, r, span);
      }
}

static void add_one(void* counts, size_t row, size_t column) {
  (void)column;
  ((uint32_t*)counts)[row]++;
}

static tg_status count_by(const tg_pairs* pairs, tg_ref_accepts accepts, uint32_t* counts) {
  if (pairs->rows.count > 0) memset(counts, 0, pairs->rows.count * sizeof *counts);
  tg_ref_each_hit(pairs, accepts, add_one, counts);
  return TG_OK;
}

static tg_status count_array(const tg_pairs* pairs, uint32_t* counts) {
  return count_by(pairs, tg_ref_array, counts);
}
static tg_status count_word64(const tg_pairs* pairs, uint32_t* counts) {
  return count_by(pairs, tg_ref_word64, counts);
}
static tg_status count_bits(const tg_pairs* pairs, uint32_t* counts) {
  return count_by(pairs, tg_ref_bits, counts);
}

const tg_filter_version tg_ref_filters[] = {
    {"array", "array", tg_pairs_need_array, count_array},
    {"word64", "word64", tg_pairs_need_word64, count_word64},
    {"bits", "bits", tg_pairs_need_bits, count_bits},
    {NULL, NULL, NULL, NULL},
};

typedef struct slots {
  const uint64_t* offsets;
  uint32_t *cursor, *hits;
} slots;

/* Hits come in their order, so the next slot is the cursor's. */
static void claim(void* context, size_t row, size_t column) {
  const slots* s = context;
  s->hits[s->offsets[row] + s->cursor[row]++] = (uint32_t)column;
}

static tg_status fill_by(const tg_pairs* pairs, tg_ref_accepts accepts, slots s) {
  if (pairs->rows.count > 0) memset(s.cursor, 0, pairs->rows.count * sizeof *s.cursor);
  tg_ref_each_hit(pairs, accepts, claim, &s);
  return TG_OK;
}

static tg_status fill_array(const tg_pairs* pairs, const uint64_t* offsets, uint32_t* cursor,
                            uint32_t* hits) {
  return fill_by(pairs, tg_ref_array, (slots){offsets, cursor, hits});
}
static tg_status fill_word64(const tg_pairs* pairs, const uint64_t* offsets, uint32_t* cursor,
                             uint32_t* hits) {
  return fill_by(pairs, tg_ref_word64, (slots){offsets, cursor, hits});
}
static tg_status fill_bits(const tg_pairs* pairs, const uint64_t* offsets, uint32_t* cursor,
                           uint32_t* hits) {
  return fill_by(pairs, tg_ref_bits, (slots){offsets, cursor, hits});
}

const tg_fill_version tg_ref_fills[] = {
    {"array ranked", "array", true, tg_pairs_need_array, fill_array},
    {"word64 ranked", "word64", true, tg_pairs_need_word64, fill_word64},
    {"bits ranked", "bits", true, tg_pairs_need_bits, fill_bits},
    {NULL, NULL, false, NULL, NULL},
};

typedef struct collection {
  uint64_t capacity, found;
  uint64_t* offsets;
  uint32_t* hits;
} collection;

static void append(void* context, size_t row, size_t column) {
  collection* c = context;
  if (c->found < c->capacity) c->hits[c->found] = (uint32_t)column;
  c->found++;
  c->offsets[row + 1] = c->found;
}

/* Rows come in their order, so one array grows; a row without hits begins where the last ended. */
static tg_status collect(const tg_pairs* pairs, uint64_t capacity, uint64_t* offsets,
                         uint32_t* hits) {
  collection c = {capacity, 0, offsets, hits};
  memset(offsets, 0, (pairs->rows.count + 1) * sizeof *offsets);
  tg_ref_each_hit(pairs, tg_ref_array, append, &c);
  for (size_t r = 0; r < pairs->rows.count; r++)
    if (offsets[r + 1] < offsets[r]) offsets[r + 1] = offsets[r];
  return TG_OK;
}

const tg_collect_version tg_ref_collects[] = {
    {"array private", "array", true, tg_pairs_need_array, collect},
    {NULL, NULL, false, NULL, NULL},
};
