/* SPDX-License-Identifier: Apache-2.0 */
#include "halo/lanes.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/timer.h"

enum { FLAGS_PER_LANE = 4, DATA = 0, CONSUMED = 2, SLOT_ATOMS = 4 };
static const double default_margin = 1.25;

static int flag(int lane, int kind, tg_halo_direction direction) {
  return lane * FLAGS_PER_LANE + kind + (int)direction;
}

tg_status tg_halo_lanes_create(tg_halo_lanes** out) {
  TG_TRY(TG_ALLOCATE(1, "halo lanes", out));
  (*out)->last = -1;
  return TG_OK;
}

void tg_halo_lanes_destroy(tg_halo_lanes** pointer) {
  tg_halo_lanes* l = *pointer;
  if (!l) return;
  tg_symmetric_destroy(&l->memory);
  tg_free(l->lanes);
  tg_free(l->capacity);
  tg_free(l->slot);
  tg_free(l->outgoing);
  tg_free(l->needed);
  tg_free(l->block);
  tg_free(l->state);
  tg_free(l->sources);
  tg_halo_direct_plan* d = &l->direct;
  tg_free(d->send_start);
  tg_free(d->receive_start);
  tg_free(d->send);
  tg_free(d->receive);
  tg_free(d->parent);
  tg_free(d->parent_lane);
  tg_free(d->hops);
  tg_free(d->shift);
  tg_free(d->shift_count);
  TG_FREE(*pointer);
}

tg_status tg_halo_lanes_resize(tg_halo_lanes* l, int count) {
  size_t n = (size_t)count;
  TG_TRY(TG_RESERVE(n, "halo lanes", &l->lanes, &l->lane_capacity));
  TG_TRY(TG_RESERVE(n, "halo lanes", &l->needed, &l->capacities[2]));
  TG_TRY(TG_RESERVE(n, "halo lanes", &l->sources, &l->source_capacity));
  TG_TRY(TG_RESERVE(4 * (n + 1), "halo lanes", &l->state, &l->state_capacity));
  l->count = count;
  if (count && !l->memory) l->overflow = true; /* the first, or a larger one could not be had */
  return TG_OK;
}

/* Collective: new slots, for the largest message of each lane so far x margin. */
static tg_status grow(tg_halo* halo) {
  tg_halo_lanes* l = halo->lanes;
  double margin = halo->params.margin > 0 ? halo->params.margin : default_margin;
  size_t lanes = (size_t)(l->count > l->memory_lanes ? l->count : l->memory_lanes);
  bool again = l->memory != NULL;
  tg_symmetric_destroy(&l->memory); /* nobody stores into it any more: the plan is a barrier */
  tg_status status = TG_RESERVE(lanes, "halo slots", &l->capacity, &l->capacities[0]);
  if (status == TG_OK) status = TG_RESERVE(lanes, "halo slots", &l->slot, &l->capacities[1]);
  TG_TRY(tg_world_agree(halo->world, status));
  size_t bytes = 0, atoms = 0;
  for (size_t i = 0; i < lanes; i++) {
    size_t wanted = (int)i < l->count ? (size_t)((double)l->needed[i] * margin) : 0;
    wanted = (wanted + SLOT_ATOMS - 1) / SLOT_ATOMS * SLOT_ATOMS;
    if ((int)i >= l->memory_lanes || wanted > l->capacity[i]) l->capacity[i] = wanted;
    l->slot[i] = bytes;
    atoms += l->capacity[i];
    size_t slot = l->capacity[i] * TG_HALO_ELEMENT;
    bytes += 2 * ((slot + TG_CACHE_LINE - 1) / TG_CACHE_LINE * TG_CACHE_LINE);
  }
  l->bytes = bytes;
  l->memory_lanes = (int)lanes;
  status = TG_OK;
  TG_FREE(l->outgoing);
  TG_TRY(tg_symmetric_create(halo->world, bytes, (int)lanes * FLAGS_PER_LANE, &l->memory));
  for (int p = 0; p < tg_world_pe_count(halo->world) && status == TG_OK; p++)
    if (!tg_symmetric_peer(l->memory, p) && !l->outgoing)
      status = TG_ALLOCATE(bytes, "halo messages", &l->outgoing);
  TG_TRY(tg_world_agree(halo->world, status));
  l->overflow = false;
  if (!again) return TG_OK;
  halo->counters.regrows++;
  if (tg_world_pe(halo->world) == 0 && halo->params.message) {
    char line[160];
    snprintf(line, sizeof line,
             "halo: a message outgrew its room; there is now room for %zu atoms in %zu messages of "
             "each PE",
             atoms, lanes);
    halo->params.message(halo->params.context, line);
  }
  return TG_OK;
}

tg_status tg_halo_lanes_fit(tg_halo* halo) {
  tg_halo_lanes* l = halo->lanes;
  for (int i = 0; i < l->count; i++) {
    l->needed[i] = (int64_t)l->lanes[i].send_count;
    /* the receiver's room is this PE's, so the sender can tell */
    if (i >= l->memory_lanes || l->lanes[i].send_count > l->capacity[i]) l->overflow = true;
  }
  if (l->count) TG_TRY(tg_world_max_int64(halo->world, l->needed, (size_t)l->count));
  int64_t overflow = l->overflow;
  TG_TRY(tg_world_max_int64(halo->world, &overflow, 1));
  l->last = -1;
  return overflow ? grow(halo) : TG_OK;
}

static int reader(const tg_halo_lane* lane, tg_halo_direction direction) {
  return direction == TG_HALO_DOWN ? lane->to : lane->from;
}

static int writer(const tg_halo_lane* lane, tg_halo_direction direction) {
  return direction == TG_HALO_DOWN ? lane->from : lane->to;
}

tg_status tg_halo_lanes_begin(tg_halo* halo, tg_halo_direction direction) {
  tg_halo_lanes* l = halo->lanes;
  uint64_t before = l->turn++;
  l->guarded = l->last == (int)direction;
  l->last = (int)direction;
  if (!l->guarded) return TG_OK;
  for (int i = 0; i < l->count; i++)
    TG_TRY(tg_symmetric_signal(l->memory, writer(&l->lanes[i], direction),
                               flag(i, CONSUMED, direction), TG_SIGNAL_SET, before));
  return TG_OK;
}

static tg_status wait_any(tg_halo* halo, const tg_halo_data* data, int count, uint64_t value,
                          int* which) {
  tg_halo_lanes* l = halo->lanes;
  double start = tg_time_now();
  tg_world_note(halo->world, data->what, l->sources[0].signal / FLAGS_PER_LANE + 1,
                halo->counters.exchanges);
  tg_status status = tg_symmetric_wait_any(l->memory, l->sources, count, value, which);
  halo->counters.wait_s += tg_time_now() - start;
  halo->counters.waits++;
  return status;
}

static size_t slot_offset(const tg_halo_lanes* l, int lane, tg_halo_direction direction) {
  size_t next = lane + 1 < l->memory_lanes ? l->slot[lane + 1] : l->bytes;
  return l->slot[lane] + (direction == TG_HALO_UP ? (next - l->slot[lane]) / 2 : 0);
}

tg_status tg_halo_lanes_slot(tg_halo* halo, const tg_halo_data* data, int lane,
                             tg_halo_direction direction, void** slot) {
  tg_halo_lanes* l = halo->lanes;
  int to = reader(&l->lanes[lane], direction), which = 0;
  if (l->guarded) {
    int64_t begin = tg_trace_now(halo->trace);
    l->sources[0] = (tg_symmetric_source){flag(lane, CONSUMED, direction), to};
    TG_TRY(wait_any(halo, data, 1, l->turn - 1, &which));
    tg_halo_span(halo, lane, "wait until read", begin, 0);
  }
  char* memory = tg_symmetric_peer(l->memory, to);
  *slot = (memory ? memory : l->outgoing) + slot_offset(l, lane, direction);
  return TG_OK;
}

tg_status tg_halo_lanes_send(tg_halo* halo, const tg_halo_data* data, int lane,
                             tg_halo_direction direction, size_t count) {
  tg_halo_lanes* l = halo->lanes;
  int to = reader(&l->lanes[lane], direction), raised = flag(lane, DATA, direction);
  size_t bytes = count * data->size;
  halo->counters.messages++;
  halo->counters.bytes_sent += (int64_t)bytes;
  int64_t begin = tg_trace_now(halo->trace);
  size_t offset = slot_offset(l, lane, direction);
  if (tg_symmetric_peer(l->memory, to))
    TG_TRY(tg_symmetric_signal(l->memory, to, raised, TG_SIGNAL_SET, l->turn));
  else
    TG_TRY(tg_symmetric_put(l->memory, to, offset, l->outgoing + offset, bytes, raised,
                            TG_SIGNAL_SET, l->turn));
  tg_halo_sent(halo, lane, direction == TG_HALO_UP, to, begin);
  return TG_OK;
}

tg_status tg_halo_lanes_receive_any(tg_halo* halo, const tg_halo_data* data, int* open, int* count,
                                    tg_halo_direction direction, int* lane, void** slot) {
  tg_halo_lanes* l = halo->lanes;
  int which = 0;
  int64_t begin = tg_trace_now(halo->trace);
  for (int i = 0; i < *count; i++)
    l->sources[i] = (tg_symmetric_source){flag(open[i], DATA, direction),
                                          writer(&l->lanes[open[i]], direction)};
  TG_TRY(wait_any(halo, data, *count, l->turn, &which));
  *lane = open[which];
  tg_halo_received(halo, *lane, direction == TG_HALO_UP, writer(&l->lanes[*lane], direction),
                   begin);
  memmove(open + which, open + which + 1, (size_t)(*count - which - 1) * sizeof *open);
  --*count;
  *slot = (char*)tg_symmetric_local(l->memory) + slot_offset(l, *lane, direction);
  return TG_OK;
}

tg_status tg_halo_lanes_receive(tg_halo* halo, const tg_halo_data* data, int lane,
                                tg_halo_direction direction, void** slot) {
  int open[1] = {lane}, count = 1;
  return tg_halo_lanes_receive_any(halo, data, open, &count, direction, &lane, slot);
}
