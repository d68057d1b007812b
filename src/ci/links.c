/* SPDX-License-Identifier: Apache-2.0 */
#include "ci/links.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

tg_status tg_ci_connect(tg_ci_connections* c, tg_ci_connection connection) {
  if (c->count == c->room) TG_TRY(TG_RESERVE(c->count + 1, "connections", &c->list, &c->room));
  c->list[c->count++] = connection;
  return TG_OK;
}

static int by_place(const void* p, const void* q) {
  const tg_ci_connection *a = p, *b = q;
  if (a->channel != b->channel) return a->channel < b->channel ? -1 : 1;
  if (a->source != b->source) return a->source < b->source ? -1 : 1;
  if (a->row != b->row) return a->row < b->row ? -1 : 1;
  return a->from < b->from ? -1 : a->from > b->from;
}

static bool new_link(const tg_ci_connections* c, size_t e) {
  return e == 0 || c->list[e].channel != c->list[e - 1].channel ||
         c->list[e].source != c->list[e - 1].source;
}

tg_status tg_ci_target_make(tg_ci_connections* c, size_t rows, bool jumps, tg_ci_target* out,
                            size_t* bytes) {
  if (c->count > UINT32_MAX)
    return tg_fail(TG_ERR_MACHINE, "more than %u jumps to one class of strings; truncate the space",
                   UINT32_MAX);
  if (c->count) qsort(c->list, c->count, sizeof *c->list, by_place);
  size_t links = 0;
  for (size_t e = 0; e < c->count; e++) links += new_link(c, e);
  TG_TRY(TG_ALLOCATE(links, "links", &out->links));
  TG_TRY(TG_ALLOCATE(links * (rows + 1), "rows of links", &out->begin));
  TG_TRY(TG_ALLOCATE(c->count, "jumps", &out->from));
  if (jumps)
    TG_TRY(TG_ALLOCATE(c->count, "jumps", &out->code));
  else
    TG_TRY(TG_ALLOCATE(c->count, "matrix elements of one species", &out->value));
  *bytes += links * (sizeof *out->links + (rows + 1) * sizeof *out->begin) +
            c->count * (sizeof *out->from + (jumps ? sizeof *out->code : sizeof *out->value));
  for (size_t e = 0; e < c->count; e++) {
    const tg_ci_connection* x = &c->list[e];
    if (new_link(c, e)) {
      out->links[out->link_count] = (tg_ci_link){.source = x->source,
                                                 .channel = x->channel,
                                                 .first = e,
                                                 .rows = out->link_count * (rows + 1)};
      out->link_count++;
    }
    tg_ci_link* link = &out->links[out->link_count - 1];
    link->count++;
    out->begin[link->rows + x->row + 1]++; /* counts first */
    out->from[e] = x->from;
    if (jumps)
      out->code[e] = x->code;
    else
      out->value[e] = x->value;
  }
  for (size_t l = 0; l < links; l++) {
    uint32_t* begin = out->begin + out->links[l].rows;
    begin[0] = (uint32_t)out->links[l].first;
    for (size_t r = 0; r < rows; r++) begin[r + 1] += begin[r];
  }
  return TG_OK;
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
