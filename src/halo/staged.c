/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules pulse and fused: the pulses of the plan through slots and flags (lanes.h).
 *
 * pulse: one pulse after the other, as host, but the sender stores into the reader's slot and
 * raises a flag where host sends a message.
 *
 * fused: all pulses at once. The index of a pulse falls into blocks: atoms that are home here,
 * atoms that pulse 0 brought, pulse 1, and so on. Down: the home blocks of all pulses are packed
 * first; a block of forwarded atoms as soon as the pulse that brings them is here, whatever other
 * pulses are missing; a pulse leaves when its last block is packed. Up, the same backwards: a slice
 * is returned once all blocks that add to it have been added, at once if there are none. The order
 * in which blocks are added to a slice is fixed, last pulse first as in host, so the sums are the
 * same. */
#include <string.h>

#include "base/memory.h"
#include "halo/lanes.h"

static size_t* blocks_of(const tg_halo* halo, int pulse) {
  return halo->lanes->block + (size_t)pulse * (size_t)(halo->pulse_count + 2);
}

/* source: 0 home, 1 + q the slice of pulse q. */
static size_t block_count(const tg_halo* halo, int pulse, int source) {
  const size_t* block = blocks_of(halo, pulse);
  return block[source + 1] - block[source];
}

tg_status tg_halo_staged_plan(tg_halo* halo) {
  tg_halo_lanes* l = halo->lanes;
  int n = halo->pulse_count;
  TG_TRY(tg_halo_lanes_resize(l, n));
  TG_TRY(TG_RESERVE((size_t)n * (size_t)(n + 2), "halo blocks", &l->block, &l->block_capacity));
  for (int p = 0; p < n; p++) {
    const tg_halo_pulse* pulse = &halo->pulses[p];
    l->lanes[p] = (tg_halo_lane){.to = pulse->lower,
                                 .from = pulse->upper,
                                 .send_count = pulse->send_count,
                                 .receive_count = pulse->receive_count};
    size_t* block = blocks_of(halo, p);
    size_t at = pulse->send_start, end = at + pulse->send_count;
    for (int source = 0; source <= n; source++) {
      const tg_halo_pulse* bringer = source ? &halo->pulses[source - 1] : NULL;
      size_t first_after =
          bringer ? bringer->receive_start + bringer->receive_count : halo->home_count;
      block[source] = at;
      while (at < end && halo->index[at] < first_after) at++;
    }
    block[n + 1] = end;
  }
  return TG_OK;
}

static void unpack(tg_halo* halo, const tg_halo_data* data, int p, const void* slot) {
  const tg_halo_pulse* pulse = &halo->pulses[p];
  int64_t begin = tg_trace_now(halo->trace);
  tg_halo_unpack_slice(data, pulse->receive_start, pulse->receive_count, slot);
  tg_halo_span(halo, p, "unpack", begin, pulse->receive_count);
}

static tg_status pulse_down(tg_halo* halo, const tg_halo_data* data) {
  void* slot = NULL;
  TG_TRY(tg_halo_lanes_begin(halo, TG_HALO_DOWN));
  for (int p = 0; p < halo->pulse_count; p++) {
    const tg_halo_pulse* pulse = &halo->pulses[p];
    TG_TRY(tg_halo_lanes_slot(halo, data, p, TG_HALO_DOWN, &slot));
    int64_t begin = tg_trace_now(halo->trace);
    tg_halo_pack(data, halo->index + pulse->send_start, pulse->send_count, &pulse->shift, 1, slot);
    tg_halo_span(halo, p, "pack and store", begin, pulse->send_count);
    TG_TRY(tg_halo_lanes_send(halo, data, p, TG_HALO_DOWN, pulse->send_count));
    TG_TRY(tg_halo_lanes_receive(halo, data, p, TG_HALO_DOWN, &slot));
    unpack(halo, data, p, slot);
  }
  return TG_OK;
}

/* Returns the forces of one slice to where its atoms came from. */
static tg_status return_slice(tg_halo* halo, const tg_halo_data* data, int p) {
  const tg_halo_pulse* pulse = &halo->pulses[p];
  void* slot = NULL;
  TG_TRY(tg_halo_lanes_slot(halo, data, p, TG_HALO_UP, &slot));
  int64_t begin = tg_trace_now(halo->trace);
  tg_halo_pack_slice(data, pulse->receive_start, pulse->receive_count, slot);
  tg_halo_span(halo, p, "pack and store", begin, pulse->receive_count);
  return tg_halo_lanes_send(halo, data, p, TG_HALO_UP, pulse->receive_count);
}

static tg_status pulse_up(tg_halo* halo, const tg_halo_data* data) {
  void* slot = NULL;
  TG_TRY(tg_halo_lanes_begin(halo, TG_HALO_UP));
  for (int p = halo->pulse_count - 1; p >= 0; p--) {
    const tg_halo_pulse* pulse = &halo->pulses[p];
    TG_TRY(return_slice(halo, data, p));
    TG_TRY(tg_halo_lanes_receive(halo, data, p, TG_HALO_UP, &slot));
    int64_t begin = tg_trace_now(halo->trace);
    tg_halo_add(data, halo->index + pulse->send_start, pulse->send_count, slot);
    tg_halo_span(halo, p, "add", begin, pulse->send_count);
  }
  return TG_OK;
}

/* Packs one block of pulse p and sends the pulse if it was the last one missing. missing: [pulses]
 * blocks still to come. */
static tg_status pack_block(tg_halo* halo, const tg_halo_data* data, int p, int source,
                            void* const* slots, int* missing) {
  const tg_halo_pulse* pulse = &halo->pulses[p];
  size_t first = blocks_of(halo, p)[source], count = block_count(halo, p, source);
  if (count) {
    char* to = (char*)slots[p] + (first - pulse->send_start) * data->size;
    int64_t begin = tg_trace_now(halo->trace);
    tg_halo_pack(data, halo->index + first, count, &pulse->shift, 1, to);
    tg_halo_span(halo, p, source ? "pack forwarded atoms" : "pack home atoms", begin, count);
    if (source) missing[p]--;
  }
  if (missing[p] || (source && !count)) return TG_OK;
  return tg_halo_lanes_send(halo, data, p, TG_HALO_DOWN, pulse->send_count);
}

/* Slots of all pulses, in scratch. */
static tg_status fused_slots(tg_halo* halo, void*** slots) {
  tg_status status = TG_RESERVE((size_t)halo->pulse_count * sizeof(void*), "halo messages",
                                &halo->packed, &halo->packed_capacity);
  if (status != TG_OK) tg_world_abort(halo->world, status);
  *slots = (void**)(void*)halo->packed;
  return status;
}

static tg_status fused_down(tg_halo* halo, const tg_halo_data* data) {
  int n = halo->pulse_count, *missing = halo->lanes->state, *open = missing + n, count = n;
  void **slots = NULL, *slot = NULL;
  TG_TRY(fused_slots(halo, &slots));
  TG_TRY(tg_halo_lanes_begin(halo, TG_HALO_DOWN));
  for (int p = 0; p < n; p++) {
    open[p] = p;
    missing[p] = 0;
    for (int q = 0; q < p; q++) missing[p] += block_count(halo, p, 1 + q) > 0;
    TG_TRY(tg_halo_lanes_slot(halo, data, p, TG_HALO_DOWN, &slots[p]));
    TG_TRY(pack_block(halo, data, p, 0, slots, missing));
  }
  while (count) {
    int q = 0;
    TG_TRY(tg_halo_lanes_receive_any(halo, data, open, &count, TG_HALO_DOWN, &q, &slot));
    unpack(halo, data, q, slot);
    for (int p = q + 1; p < n; p++) TG_TRY(pack_block(halo, data, p, 1 + q, slots, missing));
  }
  return TG_OK;
}

/* Adds what has arrived to one target (0: home, 1 + s: slice s), in order, as far as it goes; next:
 * the pulse to be added next. Sends the slice when it is complete. */
static tg_status add_to(tg_halo* halo, const tg_halo_data* data, int target, void* const* slots,
                        int* next) {
  if (*next < target) return TG_OK; /* all done; pulse `target` is the first that can add */
  for (; *next >= target; --*next) {
    size_t first = blocks_of(halo, *next)[target], count = block_count(halo, *next, target);
    if (!count) continue;
    if (!slots[*next]) return TG_OK;
    const char* from = slots[*next];
    from += (first - halo->pulses[*next].send_start) * data->size;
    int64_t begin = tg_trace_now(halo->trace);
    tg_halo_add(data, halo->index + first, count, from);
    tg_halo_span(halo, *next, target ? "add to forwarded atoms" : "add to home atoms", begin,
                 count);
  }
  return target ? return_slice(halo, data, target - 1) : TG_OK;
}

static tg_status fused_up(tg_halo* halo, const tg_halo_data* data) {
  int n = halo->pulse_count, *next = halo->lanes->state, *open = next + n + 1, count = n;
  void **slots = NULL, *slot = NULL;
  TG_TRY(fused_slots(halo, &slots));
  TG_TRY(tg_halo_lanes_begin(halo, TG_HALO_UP));
  for (int p = 0; p < n; p++) {
    slots[p] = NULL;
    next[1 + p] = n - 1;
    open[n - 1 - p] = p;
  }
  next[0] = n - 1;
  /* the last slice has nobody to wait for: `next` is below its target from the start */
  if (n) TG_TRY(return_slice(halo, data, n - 1));
  for (int target = n - 1; target >= 0 && n; target--)
    TG_TRY(add_to(halo, data, target, slots, &next[target]));
  while (count) {
    int q = 0;
    TG_TRY(tg_halo_lanes_receive_any(halo, data, open, &count, TG_HALO_UP, &q, &slot));
    slots[q] = slot;
    for (int target = q; target >= 0; target--)
      TG_TRY(add_to(halo, data, target, slots, &next[target]));
  }
  return TG_OK;
}

const tg_halo_schedule tg_halo_schedule_pulse = {
    .name = "pulse",
    .symmetric = true,
    .down = pulse_down,
    .up = pulse_up,
};

const tg_halo_schedule tg_halo_schedule_fused = {
    .name = "fused",
    .symmetric = true,
    .down = fused_down,
    .up = fused_up,
};
