/* SPDX-License-Identifier: Apache-2.0 */
#include "motif/tiles.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

void tg_tiling_free(tg_tiling* tiling) {
  TG_FREE(tiling->order);
  TG_FREE(tiling->start);
  TG_FREE(tiling->least);
  TG_FREE(tiling->most);
  *tiling = (tg_tiling){0};
}

/* Ends of groups that hold about as many particles of all states together; the last is the number
 * of orbitals. Groups that would be empty of orbitals are left out. */
static tg_status cut_groups(const tg_states* states, int group_count, tg_tiling* tiling) {
  uint64_t* occupied = NULL;
  TG_TRY(TG_ALLOCATE(states->orbitals, "occupations of orbitals", &occupied));
  for (uint32_t k = 0; k < states->particles; k++)
    for (size_t i = 0; i < states->count; i++) occupied[states->orbital[k * states->stride + i]]++;
  const double share = (double)states->particles * (double)states->count / group_count;
  double sum = 0;
  int groups = 0;
  for (uint32_t o = 0; o + 1 < states->orbitals && groups < group_count - 1; o++) {
    sum += (double)occupied[o];
    if (sum >= share * (groups + 1)) tiling->group_end[groups++] = o + 1;
  }
  tiling->group_end[groups++] = states->orbitals;
  tiling->group_count = groups;
  TG_FREE(occupied);
  return TG_OK;
}

/* A state while it is sorted. */
typedef struct sorted_state {
  uint8_t held[TG_TILES_MOST_GROUPS];
  uint32_t number;
} sorted_state;

static int compare(const void* a, const void* b) {
  const sorted_state *x = a, *y = b;
  const int by_held = memcmp(x->held, y->held, sizeof x->held);
  if (by_held != 0) return by_held;
  return (x->number > y->number) - (x->number < y->number);
}

static void distribute(const tg_states* states, const tg_tiling* tiling, sorted_state* sorted) {
  for (size_t i = 0; i < states->count; i++) {
    int group = 0;
    for (uint32_t k = 0; k < states->particles; k++) {
      const uint16_t orbital = states->orbital[k * states->stride + i];
      while (orbital >= tiling->group_end[group]) group++; /* the list rises */
      if (sorted[i].held[group] < UINT8_MAX) sorted[i].held[group]++;
    }
    sorted[i].number = (uint32_t)i;
  }
  qsort(sorted, states->count, sizeof *sorted, compare);
}

/* Cuts the sorted states: where a tile is full, or half full and the distribution changes. */
static void cut_tiles(const sorted_state* sorted, size_t count, size_t tile_size, tg_tiling* out) {
  const size_t g = (size_t)out->group_count;
  uint32_t tiles = 0;
  for (size_t i = 0; i < count; i++) {
    out->order[i] = sorted[i].number;
    const size_t held = i == 0 ? tile_size : i - out->start[tiles - 1];
    const bool first = held == tile_size || (2 * held >= tile_size &&
                                             memcmp(sorted[i].held, sorted[i - 1].held, g) != 0);
    if (first) {
      memcpy(out->least + tiles * g, sorted[i].held, g);
      memcpy(out->most + tiles * g, sorted[i].held, g);
      out->start[tiles++] = (uint32_t)i;
    }
    uint8_t *least = out->least + (tiles - 1) * g, *most = out->most + (tiles - 1) * g;
    for (size_t k = 0; k < g; k++) {
      if (sorted[i].held[k] < least[k]) least[k] = sorted[i].held[k];
      if (sorted[i].held[k] > most[k]) most[k] = sorted[i].held[k];
    }
  }
  out->start[tiles] = (uint32_t)count;
  out->tile_count = tiles;
}

static tg_status make(const tg_states* states, size_t tile_size, tg_tiling* tiling) {
  sorted_state* sorted = NULL;
  const size_t tiles = 2 * (states->count / tile_size) + 2; /* all but the last are half full */
  const size_t g = (size_t)tiling->group_count;
  tg_status status = TG_ALLOCATE(states->count, "states to sort", &sorted);
  if (status == TG_OK) status = TG_ALLOCATE(states->count, "order of states", &tiling->order);
  if (status == TG_OK) status = TG_ALLOCATE(tiles + 1, "tiles", &tiling->start);
  if (status == TG_OK) status = TG_ALLOCATE(tiles * g, "distributions", &tiling->least);
  if (status == TG_OK) status = TG_ALLOCATE(tiles * g, "distributions", &tiling->most);
  if (status == TG_OK && states->count > 0) {
    distribute(states, tiling, sorted);
    cut_tiles(sorted, states->count, tile_size, tiling);
  }
  TG_FREE(sorted);
  return status;
}

static tg_status check(const tg_states* states, int group_count, size_t tile_size) {
  if (group_count < 1 || group_count > TG_TILES_MOST_GROUPS || tile_size < 1)
    return tg_fail(TG_ERR_INPUT, "%d groups and tiles of %zu states; give 1 to %d, and 1 or more",
                   group_count, tile_size, TG_TILES_MOST_GROUPS);
  if (states->orbital == NULL)
    return tg_fail(TG_ERR_INPUT, "tiles need the states' lists of orbitals");
  return TG_OK;
}

tg_status tg_tiling_make(const tg_states* states, int group_count, size_t tile_size,
                         tg_tiling* out) {
  tg_tiling tiling = {0};
  TG_TRY(check(states, group_count, tile_size));
  TG_TRY(cut_groups(states, group_count, &tiling));
  tg_status status = make(states, tile_size, &tiling);
  if (status != TG_OK) tg_tiling_free(&tiling);
  if (status == TG_OK) *out = tiling;
  return status;
}

tg_status tg_tiling_make_like(const tg_states* states, const tg_tiling* like, size_t tile_size,
                              tg_tiling* out) {
  tg_tiling tiling = {.group_count = like->group_count};
  memcpy(tiling.group_end, like->group_end, sizeof tiling.group_end);
  TG_TRY(check(states, like->group_count, tile_size));
  if (states->orbitals != like->group_end[like->group_count - 1])
    return tg_fail(TG_ERR_INPUT, "states of %u orbitals and groups of %u", states->orbitals,
                   like->group_end[like->group_count - 1]);
  tg_status status = make(states, tile_size, &tiling);
  if (status != TG_OK) tg_tiling_free(&tiling);
  if (status == TG_OK) *out = tiling;
  return status;
}

/* Particles beyond 255 in a group are not told apart: |min(a, 255) - min(b, 255)| <= |a - b|, so
 * that this stays a lower bound. */
uint32_t tg_tiling_bound(const tg_tiling* rows, uint32_t a, const tg_tiling* columns, uint32_t b) {
  const size_t g = (size_t)rows->group_count;
  uint32_t sum = 0;
  for (size_t k = 0; k < g; k++) {
    const int low_a = rows->least[a * g + k], high_a = rows->most[a * g + k];
    const int low_b = columns->least[b * g + k], high_b = columns->most[b * g + k];
    if (low_a > high_b) sum += (uint32_t)(low_a - high_b);
    if (low_b > high_a) sum += (uint32_t)(low_b - high_a);
  }
  return sum;
}

void tg_spans_free(tg_spans* spans) {
  TG_FREE(spans->tile_rows);
  TG_FREE(spans->tile_spans);
  TG_FREE(spans->spans);
  *spans = (tg_spans){0};
}

/* Adds the spans of row tile t: runs of column tiles within the bound, joined. */
static tg_status add_spans(const tg_tiling* rows, const tg_tiling* columns, uint32_t most,
                           uint32_t t, tg_spans* s, size_t* room) {
  size_t count = s->tile_spans[t];
  for (uint32_t c = 0; c < columns->tile_count; c++) {
    if (tg_tiling_bound(rows, t, columns, c) > most) continue;
    const uint32_t begin = columns->start[c], end = columns->start[c + 1];
    s->pairs += (double)(end - begin) * (double)(rows->start[t + 1] - rows->start[t]);
    if (count > s->tile_spans[t] && s->spans[2 * count - 1] == begin) {
      s->spans[2 * count - 1] = end;
      continue;
    }
    TG_TRY(TG_RESERVE(2 * (count + 1), "spans of tiles", &s->spans, room));
    s->spans[2 * count] = begin;
    s->spans[2 * count + 1] = end;
    count++;
  }
  s->tile_spans[t + 1] = (uint32_t)count;
  return TG_OK;
}

tg_status tg_spans_make(const tg_tiling* rows, const tg_tiling* columns, int d, tg_spans* out) {
  if (rows->group_count != columns->group_count ||
      memcmp(rows->group_end, columns->group_end, sizeof rows->group_end) != 0)
    return tg_fail(TG_ERR_INPUT, "tiles of rows and columns by different groups of orbitals");
  tg_spans s = {.tile_count = rows->tile_count};
  size_t room = 0;
  tg_status status = TG_ALLOCATE((size_t)s.tile_count + 1, "tiles", &s.tile_rows);
  if (status == TG_OK) status = TG_ALLOCATE((size_t)s.tile_count + 1, "tiles", &s.tile_spans);
  if (status == TG_OK && s.tile_count > 0)
    memcpy(s.tile_rows, rows->start, ((size_t)s.tile_count + 1) * sizeof *s.tile_rows);
  for (uint32_t t = 0; t < s.tile_count && status == TG_OK; t++)
    status = add_spans(rows, columns, 2 * (uint32_t)d, t, &s, &room);
  if (status != TG_OK) tg_spans_free(&s);
  if (status == TG_OK) *out = s;
  return status;
}
