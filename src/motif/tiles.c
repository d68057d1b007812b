/* SPDX-License-Identifier: Apache-2.0 */
#include "motif/tiles.h"

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
}

/* A tiling while it is made. */
typedef struct maker {
  tg_tiling* tiling;
  sorted_state *sorted, *spare; /* [states] */
  size_t tile_size;
  size_t start_room, least_room, most_room;
} maker;

/* What the states of a range hold of a group. */
typedef struct held_range {
  uint8_t least, most;
  double variance; /* times the square of the number of states */
} held_range;

static held_range range_of(const sorted_state* states, size_t count, int group) {
  held_range r = {UINT8_MAX, 0, 0};
  uint64_t sum = 0, squares = 0;
  for (size_t i = 0; i < count; i++) {
    const uint8_t held = states[i].held[group];
    if (held < r.least) r.least = held;
    if (held > r.most) r.most = held;
    sum += held;
    squares += (uint64_t)held * held;
  }
  r.variance = (double)count * (double)squares - (double)sum * (double)sum;
  return r;
}

static tg_status add_tile(maker* m, size_t begin, size_t count) {
  tg_tiling* t = m->tiling;
  const size_t g = (size_t)t->group_count, tile = t->tile_count;
  TG_TRY(TG_RESERVE(tile + 2, "tiles", &t->start, &m->start_room));
  TG_TRY(TG_RESERVE((tile + 1) * g, "distributions", &t->least, &m->least_room));
  TG_TRY(TG_RESERVE((tile + 1) * g, "distributions", &t->most, &m->most_room));
  for (size_t k = 0; k < g; k++) {
    const held_range r = range_of(m->sorted + begin, count, (int)k);
    t->least[tile * g + k] = r.least;
    t->most[tile * g + k] = r.most;
  }
  t->start[tile] = (uint32_t)begin;
  t->start[tile + 1] = (uint32_t)(begin + count);
  t->tile_count++;
  return TG_OK;
}

/* Parts a range by a group: those that hold at most so many of it come first, both sides in the
 * order that they had. As near to halves as it goes; returns the size of the first side. */
static size_t part(maker* m, size_t begin, size_t count, int group, held_range range) {
  size_t of_held[UINT8_MAX + 1] = {0}, below = 0, best = 0;
  sorted_state *states = m->sorted + begin, *spare = m->spare + begin;
  uint8_t last = range.least;
  for (size_t i = 0; i < count; i++) of_held[states[i].held[group]]++;
  for (int held = range.least; held < range.most; held++) {
    below += of_held[held];
    const size_t now = 2 * below > count ? 2 * below - count : count - 2 * below;
    const size_t then = 2 * best > count ? 2 * best - count : count - 2 * best;
    if (best > 0 && now >= then) continue;
    best = below;
    last = (uint8_t)held;
  }
  size_t left = 0, right = best;
  for (size_t i = 0; i < count; i++)
    spare[states[i].held[group] <= last ? left++ : right++] = states[i];
  memcpy(states, spare, count * sizeof *states);
  return best;
}

/* Cuts a range into tiles: by the group in which it varies most, until it fits one. */
static tg_status cut(maker* m, size_t begin, size_t count) {
  if (count <= m->tile_size) return add_tile(m, begin, count);
  int group = 0;
  held_range widest = range_of(m->sorted + begin, count, 0);
  for (int k = 1; k < m->tiling->group_count; k++) {
    const held_range r = range_of(m->sorted + begin, count, k);
    if (r.variance <= widest.variance) continue;
    widest = r;
    group = k;
  }
  if (widest.least == widest.most) { /* one distribution: cut anywhere */
    for (; count > m->tile_size; begin += m->tile_size, count -= m->tile_size)
      TG_TRY(add_tile(m, begin, m->tile_size));
    return add_tile(m, begin, count);
  }
  const size_t first = part(m, begin, count, group, widest);
  TG_TRY(cut(m, begin, first));
  return cut(m, begin + first, count - first);
}

static tg_status make(const tg_states* states, size_t tile_size, tg_tiling* tiling) {
  maker m = {.tiling = tiling, .tile_size = tile_size};
  tg_status status = TG_ALLOCATE(states->count, "states to sort", &m.sorted);
  if (status == TG_OK) status = TG_ALLOCATE(states->count, "states to sort", &m.spare);
  if (status == TG_OK) status = TG_ALLOCATE(states->count, "order of states", &tiling->order);
  if (status == TG_OK && states->count > 0) {
    distribute(states, tiling, m.sorted);
    status = cut(&m, 0, states->count);
  }
  for (size_t i = 0; status == TG_OK && i < states->count; i++)
    tiling->order[i] = m.sorted[i].number;
  TG_FREE(m.sorted);
  TG_FREE(m.spare);
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
