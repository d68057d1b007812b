/* SPDX-License-Identifier: Apache-2.0 */
/* Schedule direct: nothing is forwarded; every PE stores to all PEs that need its atoms, in one
 * hop.
 *
 * The plan starts from the staged one, so that the layout is the same: each PE knows from which
 * offset each halo atom comes, learns the number it has at home, and asks its owner for it. A
 * neighbour is an offset (ox, oy, oz), 0 to the pulses of each dimension: 7 of them, or more where
 * domains are thin. What comes is scattered to where the staged exchange would have put it.
 *
 * Forces: each copy's force comes into a slot of its own. In the staged exchange the copies of an
 * atom form a tree, each the child of the one it was forwarded from: the parent of the copy at
 * (ox, oy, oz) is one hop nearer in the last dimension travelled, x before y before z. The owner
 * adds the slots along that same tree in that same order (children along x first, then y, then z),
 * and so gets the same bits; a parent's atoms contain its children's. */
#include <string.h>

#include "base/memory.h"
#include "halo/lanes.h"

static int lane_at(const tg_halo* halo, const int hops[3]) {
  const int* p = halo->pulses_along;
  return (hops[0] * (p[1] + 1) + hops[1]) * (p[2] + 1) + hops[2] - 1;
}

static int pe_at(const tg_halo* halo, const int cell[3]) {
  return (cell[0] * halo->grid[1] + cell[1]) * halo->grid[2] + cell[2];
}

/* Hops, partners, shifts and parents of all lanes. */
static void make_lanes(tg_halo* halo, const double edge_shift[3][3]) {
  tg_halo_lanes* l = halo->lanes;
  tg_halo_direct_plan* plan = &l->direct;
  for (int i = 0; i < l->count; i++) {
    int* hops = plan->hops[i];
    const int* along = halo->pulses_along;
    hops[2] = (i + 1) % (along[2] + 1);
    hops[1] = (i + 1) / (along[2] + 1) % (along[1] + 1);
    hops[0] = (i + 1) / (along[2] + 1) / (along[1] + 1);
    int to[3], from[3], nearer[3] = {hops[0], hops[1], hops[2]};
    plan->shift_count[i] = 0;
    for (int k = 0; k < 3; k++) {
      int d = 2 - k, grid = halo->grid[d];
      to[d] = halo->cell[d] - hops[d];
      from[d] = (halo->cell[d] + hops[d]) % grid;
      if (hops[d]) { /* added even where it is zero, as every hop of the staged exchange does */
        double* shift = plan->shift[i][plan->shift_count[i]++];
        for (int c = 0; c < 3; c++) shift[c] = to[d] < 0 ? edge_shift[d][c] : 0;
      }
      to[d] = (to[d] + grid) % grid;
    }
    l->lanes[i] = (tg_halo_lane){.to = pe_at(halo, to), .from = pe_at(halo, from)};
    nearer[hops[0] ? 0 : hops[1] ? 1 : 2]--;
    plan->parent_lane[i] = lane_at(halo, nearer); /* -1 where no hop is left */
  }
}

/* Halo atoms by lane, ascending; asked: their numbers at home, in the same order. */
static void sort_halo(tg_halo* halo, const uint32_t* home_number, uint32_t* asked) {
  tg_halo_lanes* l = halo->lanes;
  tg_halo_direct_plan* plan = &l->direct;
  size_t* at = plan->receive_start;
  memset(at, 0, (size_t)(l->count + 1) * sizeof *at);
  for (int pass = 0; pass < 2; pass++) {
    for (size_t i = halo->home_count; i < halo->local_count; i++) {
      const int hops[3] = {halo->offset[i][0], halo->offset[i][1], halo->offset[i][2]};
      int lane = lane_at(halo, hops);
      if (pass == 0) {
        l->lanes[lane].receive_count++;
      } else {
        asked[at[lane]] = home_number[i];
        plan->receive[at[lane]++] = (uint32_t)i;
      }
    }
    size_t start = 0; /* begin of each lane; the second pass moved it to the end */
    for (int i = 0; i <= l->count; i++) {
      at[i] = start;
      if (i < l->count) start += l->lanes[i].receive_count;
    }
  }
}

/* Where the force of each copy is added. place: [home_count] scratch. */
static void find_parents(tg_halo* halo, uint32_t* place) {
  tg_halo_lanes* l = halo->lanes;
  tg_halo_direct_plan* plan = &l->direct;
  for (int i = 0; i < l->count; i++) {
    int parent = plan->parent_lane[i];
    size_t first = parent >= 0 ? plan->send_start[parent] : 0;
    size_t count = parent >= 0 ? plan->send_start[parent + 1] - first : 0;
    for (size_t k = 0; k < count; k++) place[plan->send[first + k]] = (uint32_t)k;
    for (size_t k = plan->send_start[i]; k < plan->send_start[i + 1]; k++)
      plan->parent[k] = parent >= 0 ? place[plan->send[k]] : plan->send[k];
  }
}

static tg_status reserve_plan(tg_halo* halo) {
  tg_halo_direct_plan* plan = &halo->lanes->direct;
  const int* along = halo->pulses_along;
  int count = (along[0] + 1) * (along[1] + 1) * (along[2] + 1) - 1;
  size_t n = (size_t)count, halo_count = halo->local_count - halo->home_count;
  TG_TRY(tg_halo_lanes_resize(halo->lanes, count));
  TG_TRY(TG_RESERVE(n, "halo neighbours", &plan->hops, &plan->lane_capacity));
  TG_TRY(TG_RESERVE(n, "halo neighbours", &plan->parent_lane, &plan->capacities[0]));
  TG_TRY(TG_RESERVE(n, "halo neighbours", &plan->shift, &plan->capacities[1]));
  TG_TRY(TG_RESERVE(n, "halo neighbours", &plan->shift_count, &plan->capacities[2]));
  TG_TRY(TG_RESERVE(n + 1, "halo neighbours", &plan->send_start, &plan->capacities[3]));
  TG_TRY(TG_RESERVE(n + 1, "halo neighbours", &plan->receive_start, &plan->start_capacity));
  return TG_RESERVE(halo_count, "halo index", &plan->receive, &plan->receive_capacity);
}

/* Asks the owners for the halo atoms, and learns what the others ask for. */
static tg_status ask(tg_halo* halo, const uint32_t* asked) {
  tg_halo_lanes* l = halo->lanes;
  tg_halo_direct_plan* plan = &l->direct;
  plan->send_start[0] = 0;
  for (int i = 0; i < l->count; i++) {
    tg_halo_lane* lane = &l->lanes[i];
    size_t bytes = 0;
    const uint32_t* mine = lane->receive_count ? asked + plan->receive_start[i] : NULL;
    TG_TRY(tg_world_exchange_any(halo->world, lane->from, mine, lane->receive_count * sizeof *asked,
                                 lane->to, (void**)&halo->arrived, &halo->arrived_capacity,
                                 &bytes));
    lane->send_count = bytes / sizeof *plan->send;
    size_t end = plan->send_start[i] + lane->send_count;
    TG_TRY(TG_RESERVE(end, "halo index", &plan->send, &plan->send_capacity));
    if (bytes) memcpy(plan->send + plan->send_start[i], halo->arrived, bytes);
    plan->send_start[i + 1] = end;
  }
  return TG_RESERVE(plan->send_start[l->count], "halo index", &plan->parent,
                    &plan->parent_capacity);
}

tg_status tg_halo_direct_plan_make(tg_halo* halo, const double edge_shift[3][3]) {
  uint32_t *home_number = NULL, *asked = NULL;
  tg_halo_data numbers = {.stride = sizeof *home_number, .size = sizeof *home_number};
  tg_status status = TG_OK;
  TG_TRY(reserve_plan(halo));
  make_lanes(halo, edge_shift);
  TG_TRY_GOTO(TG_ALLOCATE(halo->local_count, "halo index", &home_number), end);
  TG_TRY_GOTO(TG_ALLOCATE(halo->local_count, "halo index", &asked), end);
  for (size_t i = 0; i < halo->home_count; i++) home_number[i] = (uint32_t)i;
  numbers.base = (char*)home_number;
  TG_TRY_GOTO(tg_halo_schedule_host.down(halo, &numbers), end);
  sort_halo(halo, home_number, asked);
  TG_TRY_GOTO(ask(halo, asked), end);
  find_parents(halo, home_number);
end:
  tg_free(home_number);
  tg_free(asked);
  return status;
}

static tg_status direct_down(tg_halo* halo, const tg_halo_data* data) {
  tg_halo_lanes* l = halo->lanes;
  const tg_halo_direct_plan* plan = &l->direct;
  int *open = l->state, count = l->count;
  void* slot = NULL;
  TG_TRY(tg_halo_lanes_begin(halo, TG_HALO_DOWN));
  for (int i = 0; i < l->count; i++) {
    const tg_halo_lane* lane = &l->lanes[i];
    open[i] = i;
    TG_TRY(tg_halo_lanes_slot(halo, data, i, TG_HALO_DOWN, &slot));
    int64_t begin = tg_trace_now(halo->trace);
    tg_halo_pack(data, plan->send + plan->send_start[i], lane->send_count,
                 (const double(*)[3])plan->shift[i], plan->shift_count[i], slot);
    tg_halo_span(halo, i, "pack and store", begin, lane->send_count);
    TG_TRY(tg_halo_lanes_send(halo, data, i, TG_HALO_DOWN, lane->send_count));
  }
  while (count) {
    int i = 0;
    TG_TRY(tg_halo_lanes_receive_any(halo, data, open, &count, TG_HALO_DOWN, &i, &slot));
    int64_t begin = tg_trace_now(halo->trace);
    tg_halo_unpack(data, plan->receive + plan->receive_start[i], l->lanes[i].receive_count, slot);
    tg_halo_span(halo, i, "unpack", begin, l->lanes[i].receive_count);
  }
  return TG_OK;
}

static tg_status direct_up(tg_halo* halo, const tg_halo_data* data) {
  tg_halo_lanes* l = halo->lanes;
  const tg_halo_direct_plan* plan = &l->direct;
  void* slot = NULL;
  TG_TRY(tg_halo_lanes_begin(halo, TG_HALO_UP));
  for (int i = 0; i < l->count; i++) {
    size_t count = l->lanes[i].receive_count;
    TG_TRY(tg_halo_lanes_slot(halo, data, i, TG_HALO_UP, &slot));
    int64_t begin = tg_trace_now(halo->trace);
    tg_halo_gather(data, plan->receive + plan->receive_start[i], count, slot);
    tg_halo_span(halo, i, "pack and store", begin, count);
    TG_TRY(tg_halo_lanes_send(halo, data, i, TG_HALO_UP, count));
  }
  tg_status status = TG_RESERVE((size_t)l->count * sizeof(void*), "halo messages", &halo->packed,
                                &halo->packed_capacity);
  if (status != TG_OK) {
    tg_world_abort(halo->world, status);
    return status;
  }
  void** slots = (void**)(void*)halo->packed;
  for (int i = 0; i < l->count; i++)
    TG_TRY(tg_halo_lanes_receive(halo, data, i, TG_HALO_UP, &slots[i]));
  /* descending: children along x before those along y before those along z, far before near */
  for (int i = l->count - 1; i >= 0; i--) {
    tg_halo_data target = *data;
    if (plan->parent_lane[i] >= 0) {
      target.base = slots[plan->parent_lane[i]];
      target.stride = data->size;
    }
    int64_t begin = tg_trace_now(halo->trace);
    tg_halo_add(&target, plan->parent + plan->send_start[i], l->lanes[i].send_count, slots[i]);
    tg_halo_span(halo, i, "add", begin, l->lanes[i].send_count);
  }
  return TG_OK;
}

const tg_halo_schedule tg_halo_schedule_direct = {
    .name = "direct",
    .symmetric = true,
    .direct = true,
    .down = direct_down,
    .up = direct_up,
};
