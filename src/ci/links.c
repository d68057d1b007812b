/* SPDX-License-Identifier: Apache-2.0 */
#include "ci/links.h"

#include <stdlib.h>

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
  TG_TRY(keys_grow(k, 64));
  for (size_t e = 0; e < c->count; e++) {
    const uint64_t key = key_of(&c->list[e]);
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

/* Rows come in order; within one they are put in the order of from. */
static void sort_row(tg_ci_target* t, size_t begin, size_t end) {
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

static tg_status target_allocate(size_t links, size_t rows, size_t count, bool jumps,
                                 tg_ci_target* out, size_t* bytes) {
  TG_TRY(TG_ALLOCATE(links, "links", &out->links));
  TG_TRY(TG_ALLOCATE(links * (rows + 1), "rows of links", &out->begin));
  TG_TRY(TG_ALLOCATE(count, "jumps", &out->from));
  if (jumps)
    TG_TRY(TG_ALLOCATE(count, "jumps", &out->code));
  else
    TG_TRY(TG_ALLOCATE(count, "matrix elements of one species", &out->value));
  *bytes += links * (sizeof *out->links + (rows + 1) * sizeof *out->begin) +
            count * (sizeof *out->from + (jumps ? sizeof *out->code : sizeof *out->value));
  return TG_OK;
}

/* Counting sort by link and row, as c is in the order of rows. number: [c->count] of links. */
static void distribute(const tg_ci_connections* c, const uint32_t* number, size_t rows,
                       tg_ci_target* out) {
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
  for (size_t l = 0; l < out->link_count; l++) {
    const uint32_t* begin = out->begin + out->links[l].rows;
    for (size_t r = 0; r < rows; r++) sort_row(out, begin[r], begin[r + 1]);
  }
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

tg_status tg_ci_target_make(const tg_ci_connections* c, size_t rows, bool jumps, tg_ci_target* out,
                            size_t* bytes) {
  tg_status status = TG_OK;
  keys k = {0};
  uint32_t* number = NULL;
  if (c->count > UINT32_MAX)
    return tg_fail(TG_ERR_MACHINE, "more than %u jumps to one class of strings; truncate the space",
                   UINT32_MAX);
  TG_TRY_GOTO(keys_find(c, &k), done);
  TG_TRY_GOTO(TG_ALLOCATE(c->count, "jumps", &number), done);
  for (size_t e = 0; e < c->count; e++) number[e] = k.table[place_of(&k, key_of(&c->list[e]))] - 1;
  TG_TRY_GOTO(target_allocate(k.count, rows, c->count, jumps, out, bytes), done);
  for (size_t l = 0; l < k.count; l++)
    out->links[l] = (tg_ci_link){.channel = (uint32_t)(k.list[l] >> 32),
                                 .source = (uint32_t)k.list[l],
                                 .rows = l * (rows + 1)};
  out->link_count = k.count;
  distribute(c, number, rows, out);
done:
  TG_FREE(number);
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
