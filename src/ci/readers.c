/* SPDX-License-Identifier: Apache-2.0 */
#include "ci/readers.h"

#include "base/memory.h"

/* A slice of which so much is needed is sent whole. */
static const double nearly_all = 0.9;

void tg_ci_readers_free(tg_ci_readers* r) {
  for (int p = 0; r->readers && p < r->pe_count; p++) tg_free(r->readers[p].list);
  TG_FREE(r->readers);
  TG_FREE(r->sources);
}

/* Of the needed states those that a PE has. */
static tg_status needed_of(const tg_ci_distribution* d, const tg_ci_range* needed, size_t count,
                           int pe, tg_ci_reader* out) {
  const uint64_t first = d->first[pe], end = d->first[pe + 1];
  uint64_t sum = 0;
  size_t room = 0;
  for (size_t r = 0; r < count; r++) {
    const tg_ci_range* n = &needed[r];
    if (n->end <= first || n->first >= end) continue;
    TG_TRY(TG_RESERVE(out->count + 1, "ranges of states", &out->list, &room));
    const tg_ci_range part = {n->first > first ? n->first : first, n->end < end ? n->end : end};
    out->list[out->count++] = part;
    sum += part.end - part.first;
  }
  if (sum > 0 && (double)sum > nearly_all * (double)(end - first)) {
    out->list[0] = (tg_ci_range){first, end};
    out->count = 1;
  }
  return TG_OK;
}

/* Each PE tells all others, one after the other around the ring. */
static tg_status tell_needs(tg_world* world, const tg_ci_distribution* d, const tg_ci_range* needed,
                            size_t needed_count, tg_ci_readers* out) {
  const int pe = tg_world_pe(world), count = d->pe_count;
  for (int step = 1; step < count; step++) {
    const int to = (pe + step) % count, from = (pe + count - step) % count;
    tg_ci_reader mine = {0}, *theirs = &out->readers[from];
    size_t bytes = 0;
    tg_status status = needed_of(d, needed, needed_count, to, &mine);
    if (status == TG_OK)
      status = tg_world_exchange_any(world, to, mine.list, mine.count * sizeof *mine.list, from,
                                     (void**)&theirs->list, &theirs->capacity, &bytes);
    theirs->count = bytes / sizeof *theirs->list;
    out->sources[to] = mine.count > 0;
    for (size_t r = 0; r < mine.count; r++) out->needed += mine.list[r].end - mine.list[r].first;
    tg_free(mine.list);
    TG_TRY(status);
  }
  return TG_OK;
}

tg_status tg_ci_readers_make(tg_world* world, const tg_ci_distribution* d,
                             const tg_ci_range* needed, size_t needed_count, tg_ci_readers* out) {
  tg_status status;
  *out = (tg_ci_readers){.pe_count = d->pe_count};
  status = TG_ALLOCATE((size_t)d->pe_count, "processing elements", &out->readers);
  if (status == TG_OK)
    status = TG_ALLOCATE((size_t)d->pe_count, "processing elements", &out->sources);
  TG_TRY_GOTO(tg_world_agree(world, status), failed);
  TG_TRY_GOTO(tell_needs(world, d, needed, needed_count, out), failed);
  return TG_OK;
failed:
  tg_ci_readers_free(out);
  return status;
}
