/* SPDX-License-Identifier: Apache-2.0 */
#include "ci/links.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

tg_status tg_ci_connect(tg_ci_connections* c, tg_ci_connection connection) {
  if (c->count == c->room) {
    /* the rows so far tell how many there will be: growing by steps would copy large lists often */
    const double rows = connection.row + 1.0, all = c->rows > rows ? (double)c->rows : rows;
    const double wanted = 1.0625 * (double)c->count * all / rows;
    const size_t count = wanted > (double)c->count ? (size_t)wanted : c->count;
    TG_TRY(TG_RESERVE(count + 1, "connections", &c->list, &c->room));
  }
  c->list[c->count++] = connection;
  return TG_OK;
}

static uint64_t key_of(const tg_ci_connection* c) { return (uint64_t)c->channel << 32 | c->source; }

static int by_key(const void* p, const void* q) {
  const uint64_t a = *(const uint64_t*)p, b = *(const uint64_t*)q;
  return a < b ? -1 : a > b;
}

/* Different keys, rising; many connections in a row have the same. */
typedef struct keys {
  uint64_t* list;
  size_t count, room;
  uint32_t* table; /* [size] number + 1, at or behind the key's place */
  size_t size;     /* a power of two */
} keys;

static size_t place_of(const keys* k, uint64_t key) {
  size_t place = (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (k->size - 1);
  while (k->table[place] && k->list[k->table[place] - 1] != key)
    place = (place + 1) & (k->size - 1);
  return place;
}

static tg_status keys_grow(keys* k, size_t size) {
  TG_FREE(k->table);
  k->size = size;
  TG_TRY(TG_ALLOCATE(size, "links", &k->table));
  for (size_t n = 0; n < k->count; n++) k->table[place_of(k, k->list[n])] = (uint32_t)n + 1;
  return TG_OK;
}

static tg_status keys_find(const tg_ci_connections* c, keys* k) {
  uint64_t last = UINT64_MAX;
  TG_TRY(keys_grow(k, 64));
  for (size_t e = 0; e < c->count; e++) {
    const uint64_t key = key_of(&c->list[e]);
    if (key == last) continue;
    last = key;
    const size_t place = place_of(k, key);
    if (k->table[place]) continue;
    TG_TRY(TG_RESERVE(k->count + 1, "links", &k->list, &k->room));
    k->list[k->count++] = key;
    k->table[place] = (uint32_t)k->count;
    if (2 * k->count > k->size) TG_TRY(keys_grow(k, 2 * k->size));
  }
  if (k->count) qsort(k->list, k->count, sizeof *k->list, by_key);
  return keys_grow(k, k->size);
}

/* --- rows in the order of from --- */

enum { SHORT_ROW = 24, DIGIT = 8, DIGITS = 1 << DIGIT };

/* Room for the longest row. */
typedef struct row_room {
  uint64_t *keys, *other; /* from in the upper half, the place in the row below */
  double* value;
  uint32_t* code;
} row_room;

static void room_free(row_room* r) {
  TG_FREE(r->keys);
  TG_FREE(r->other);
  TG_FREE(r->value);
  TG_FREE(r->code);
}

static tg_status room_make(size_t longest, const tg_ci_target* t, row_room* r) {
  if (longest <= SHORT_ROW) return TG_OK;
  TG_TRY(TG_ALLOCATE(longest, "rows of links", &r->keys));
  TG_TRY(TG_ALLOCATE(longest, "rows of links", &r->other));
  if (t->value) TG_TRY(TG_ALLOCATE(longest, "rows of links", &r->value));
  if (t->code) TG_TRY(TG_ALLOCATE(longest, "rows of links", &r->code));
  return TG_OK;
}

/* By insertion: few, or nearly in order. */
static void sort_short(tg_ci_target* t, size_t begin, size_t end) {
  for (size_t e = begin + 1; e < end; e++) {
    const uint32_t from = t->from[e], code = t->code ? t->code[e] : 0;
    const double value = t->value ? t->value[e] : 0;
    size_t at = e;
    for (; at > begin && t->from[at - 1] > from; at--) {
      t->from[at] = t->from[at - 1];
      if (t->code) t->code[at] = t->code[at - 1];
      if (t->value) t->value[at] = t->value[at - 1];
    }
    t->from[at] = from;
    if (t->code) t->code[at] = code;
    if (t->value) t->value[at] = value;
  }
}

/* Digit by digit from the lowest, as a row has some hundred places of some thousand strings: no
 * branch depends on the numbers. bits: those that differ between any two. */
static const uint64_t* sort_keys(row_room* r, size_t count, uint32_t bits) {
  uint64_t *from = r->keys, *other = r->other;
  for (int shift = 0; shift < 32; shift += DIGIT) {
    uint32_t place[DIGITS] = {0}, sum = 0;
    if (!(bits >> shift & (DIGITS - 1))) continue;
    for (size_t k = 0; k < count; k++) place[from[k] >> (32 + shift) & (DIGITS - 1)]++;
    for (size_t d = 0; d < DIGITS; d++) {
      const uint32_t here = place[d];
      place[d] = sum;
      sum += here;
    }
    for (size_t k = 0; k < count; k++)
      other[place[from[k] >> (32 + shift) & (DIGITS - 1)]++] = from[k];
    uint64_t* sorted = other;
    other = from;
    from = sorted;
  }
  return from;
}

static void sort_long(tg_ci_target* t, size_t begin, size_t end, row_room* r) {
  const size_t count = end - begin;
  uint32_t bits = 0;
  bool rises = true;
  for (size_t k = 0; k < count; k++) {
    const uint32_t from = t->from[begin + k];
    bits |= from ^ t->from[begin];
    rises &= k == 0 || t->from[begin + k - 1] <= from;
    r->keys[k] = (uint64_t)from << 32 | k;
  }
  if (rises) return;
  const uint64_t* sorted = sort_keys(r, count, bits);
  if (t->value) memcpy(r->value, t->value + begin, count * sizeof *r->value);
  if (t->code) memcpy(r->code, t->code + begin, count * sizeof *r->code);
  for (size_t k = 0; k < count; k++) {
    const uint32_t place = (uint32_t)sorted[k];
    t->from[begin + k] = (uint32_t)(sorted[k] >> 32);
    if (t->value) t->value[begin + k] = r->value[place];
    if (t->code) t->code[begin + k] = r->code[place];
  }
}

static tg_status sort_rows(tg_ci_target* t, size_t rows) {
  size_t longest = 0;
  for (size_t l = 0; l < t->link_count; l++) {
    const uint32_t* begin = t->begin + t->links[l].rows;
    for (size_t r = 0; r < rows; r++)
      if (begin[r + 1] - begin[r] > longest) longest = begin[r + 1] - begin[r];
  }
  row_room room = {0};
  const tg_status status = room_make(longest, t, &room);
  for (size_t l = 0; l < t->link_count && status == TG_OK; l++) {
    const uint32_t* begin = t->begin + t->links[l].rows;
    for (size_t r = 0; r < rows; r++)
      if (begin[r + 1] - begin[r] > SHORT_ROW)
        sort_long(t, begin[r], begin[r + 1], &room);
      else
        sort_short(t, begin[r], begin[r + 1]);
  }
  room_free(&room);
  return status;
}

static tg_status target_allocate(size_t links, size_t rows, size_t count, bool jumps,
                                 tg_ci_target* out, size_t* bytes) {
  TG_TRY(TG_ALLOCATE(links, "links", &out->links));
  TG_TRY(TG_ALLOCATE(links * (rows + 1), "rows of links", &out->begin));
  TG_TRY(TG_ALLOCATE_UNTOUCHED(count, "jumps", &out->from));
  if (jumps)
    TG_TRY(TG_ALLOCATE_UNTOUCHED(count, "jumps", &out->code));
  else
    TG_TRY(TG_ALLOCATE_UNTOUCHED(count, "matrix elements of one species", &out->value));
  *bytes += links * (sizeof *out->links + (rows + 1) * sizeof *out->begin) +
            count * (sizeof *out->from + (jumps ? sizeof *out->code : sizeof *out->value));
  return TG_OK;
}

/* Counting sort by link and row, as c is in the order of rows. */
static void distribute(const tg_ci_connections* c, size_t rows, tg_ci_target* out) {
  const uint32_t* number = c->number;
  for (size_t e = 0; e < c->count; e++) {
    tg_ci_link* link = &out->links[number[e]];
    link->count++;
    out->begin[link->rows + c->list[e].row + 1]++;
  }
  size_t first = 0;
  for (size_t l = 0; l < out->link_count; l++) {
    tg_ci_link* link = &out->links[l];
    uint32_t* begin = out->begin + link->rows;
    link->first = first;
    first += link->count;
    begin[0] = (uint32_t)link->first;
    for (size_t r = 0; r < rows; r++) begin[r + 1] += begin[r];
    link->count = 0; /* as a cursor */
  }
  for (size_t e = 0; e < c->count; e++) {
    tg_ci_link* link = &out->links[number[e]];
    const size_t at = link->first + link->count++;
    out->from[at] = c->list[e].from;
    if (out->code) out->code[at] = c->list[e].code;
    if (out->value) out->value[at] = c->list[e].value;
  }
}

void tg_ci_connections_free(tg_ci_connections* c) {
  TG_FREE(c->list);
  TG_FREE(c->number);
  *c = (tg_ci_connections){0};
}

size_t tg_ci_sample_step(size_t rows) {
  enum { LEAST = 4, SHARE = 64, MOST = 32 };
  const size_t wanted = rows / SHARE < MOST - LEAST ? LEAST + rows / SHARE : MOST;
  return rows <= wanted ? 1 : rows / wanted;
}

tg_status tg_ci_sample_take(const tg_ci_connections* c, size_t sampled, size_t rows,
                            tg_ci_sample* out) {
  keys k = {0};
  const tg_status status = keys_find(c, &k);
  out->links = k.count;
  out->connections = sampled ? (double)c->count * (double)rows / (double)sampled : 0;
  TG_FREE(k.list);
  TG_FREE(k.table);
  return status;
}

tg_status tg_ci_target_make(tg_ci_connections* c, size_t rows, bool jumps, tg_ci_target* out,
                            size_t* bytes) {
  tg_status status = TG_OK;
  keys k = {0};
  if (c->count > UINT32_MAX)
    return tg_fail(TG_ERR_MACHINE, "more than %u jumps to one class of strings; truncate the space",
                   UINT32_MAX);
  TG_TRY_GOTO(keys_find(c, &k), done);
  TG_TRY_GOTO(TG_RESERVE(c->count, "jumps", &c->number, &c->number_room), done);
  for (size_t e = 0; e < c->count; e++)
    c->number[e] = k.table[place_of(&k, key_of(&c->list[e]))] - 1;
  TG_TRY_GOTO(target_allocate(k.count, rows, c->count, jumps, out, bytes), done);
  for (size_t l = 0; l < k.count; l++)
    out->links[l] = (tg_ci_link){.channel = (uint32_t)(k.list[l] >> 32),
                                 .source = (uint32_t)k.list[l],
                                 .rows = l * (rows + 1)};
  out->link_count = k.count;
  distribute(c, rows, out);
  status = sort_rows(out, rows);
done:
  TG_FREE(k.list);
  TG_FREE(k.table);
  return status;
}

void tg_ci_targets_free(tg_ci_target* targets, size_t count) {
  for (size_t c = 0; targets && c < count; c++) {
    tg_ci_target* t = &targets[c];
    TG_FREE(t->links);
    TG_FREE(t->begin);
    TG_FREE(t->from);
    TG_FREE(t->code);
    TG_FREE(t->value);
    TG_FREE(t->op);
    TG_FREE(t->op_begin);
    TG_FREE(t->op_of);
    TG_FREE(t->op_to);
    TG_FREE(t->op_from);
  }
  tg_free(targets);
}

void tg_ci_replace(const uint16_t* list, int particles, const uint16_t* removed,
                   const uint16_t* added, int count, uint16_t* out) {
  int a = 0, o = 0;
  for (int k = 0; k < particles; k++) {
    bool gone = false;
    for (int r = 0; r < count; r++) gone |= list[k] == removed[r];
    if (gone) continue;
    while (a < count && added[a] < list[k]) out[o++] = added[a++];
    out[o++] = list[k];
  }
  while (a < count) out[o++] = added[a++];
}

size_t tg_ci_links_of(const tg_ci_target* target, uint32_t channel, size_t* first) {
  size_t low = 0, rest = target->link_count;
  while (rest) {
    const size_t half = rest / 2;
    if (target->links[low + half].channel < channel) {
      low += half + 1;
      rest -= half + 1;
    } else {
      rest = half;
    }
  }
  *first = low;
  while (low < target->link_count && target->links[low].channel == channel) low++;
  return low - *first;
}
