/* SPDX-License-Identifier: Apache-2.0 */
/* What an exchange in stages sends where: lists of entries, made at each search.
 *
 * 1. tell: where a domain has halo atoms, into the other cards' send_mask and send_slot; the
 * owner's card has it from sorting. After cards have met each knows the holders of all atoms.
 * 2. count: every card counts all messages, its own or not: a sum over atoms of a pure function.
 * 3. place: where each message begins, at its sender and at its receiver; whether all has room.
 * 4. fill: each domain's entries claim their places in its messages.
 *
 * send_mask is cleared and awaited as share.cu and domains.cu have it. Entries of a message are in
 * any order: each says where its atom is to go. */
#include "md/cuda/stages.cuh"

#include <string.h>

enum { THREADS = 256, PAIRS = TG_STAGES_DOMAINS * TG_STAGES_DOMAINS };

static_assert(TG_STAGES_DOMAINS == (int)TG_MD_MOST_DOMAINS, "a bit and a row for each domain");
static_assert(TG_MD_MOST_SLOTS == 1 << 24, "an entry has 24 bits for a slot");
static_assert(sizeof(tg_stages_entry) == 8 && PAIRS == THREADS, "a thread a message");

tg_status tg_md_schedule_of(const char* name, int* out) {
  static const char* const names[] = {"direct", "host", "stream", "pulse", "fused"};
  for (int i = 0; i <= TG_MD_FUSED; i++)
    if (strcmp(name ? name : "direct", names[i]) == 0) {
      *out = i;
      return TG_OK;
    }
  return tg_fail(TG_ERR_INPUT, "halo \"%s\": there are host, stream, pulse, fused and direct",
                 name);
}

/* From a domain's halo slots to the cards that are not the owners'. Launch: a thread a slot of all
 * there is room for; bound by the links. */
static __global__ void __launch_bounds__(THREADS) tell(const __grid_constant__ tg_md_views views) {
  const tg_md_peers_view& p = views.peers;
  const tg_md_view& v = views.item[blockIdx.z];
  const uint32_t slot = blockIdx.x * THREADS + threadIdx.x;
  if (slot < v.totals->home_clusters * TG_MD_CLUSTER ||
      slot >= v.totals->clusters * TG_MD_CLUSTER || v.atom[slot] < 0)
    return;
  const uint32_t atom = (uint32_t)v.atom[slot];
  const uint32_t owner = v.owner[atom] / (views.grid.domains / p.card_count);
  for (uint32_t c = 0; c < p.card_count; c++) {
    if (c == owner) continue;
    tg_md_peer(p, v.send_slot, c)[(size_t)v.domain * v.atom_count + atom] = slot;
    uint32_t* mask = tg_md_peer(p, v.send_mask, c) + atom;
    if (c == p.card)
      atomicOr(mask, 1U << v.domain);
    else
      atomicOr_system(mask, 1U << v.domain);
  }
}

/* From holders of atoms to lengths of messages. Launch: a thread an atom; bound by memory. */
static __global__ void __launch_bounds__(THREADS)
    count_messages(const __grid_constant__ tg_md_views views,
                   const __grid_constant__ tg_md_stages stages) {
  __shared__ uint32_t sum[PAIRS];
  const tg_md_view& v = views.item[0];
  const uint32_t i = blockIdx.x * THREADS + threadIdx.x;
  sum[threadIdx.x] = 0;
  __syncthreads();
  const uint32_t holders = i < v.atom_count ? v.send_mask[i] : 0;
  for (uint32_t left = holders; left != 0; left &= left - 1) {
    const uint32_t to = (uint32_t)__ffs((int)left) - 1;
    const uint32_t from = tg_stages_sender(views.grid.count, v.owner[i], holders, to);
    atomicAdd(&sum[from * TG_STAGES_DOMAINS + to], 1U);
  }
  __syncthreads();
  const uint32_t mine = sum[threadIdx.x];
  if (mine != 0) atomicAdd(&stages.messages->count[0][0] + threadIdx.x, mine);
}

/* From lengths to places. What has no room is sent by nobody: all cards find the same. Launch: one
 * block. */
static __global__ void __launch_bounds__(THREADS)
    place_messages(const __grid_constant__ tg_md_views views,
                   const __grid_constant__ tg_md_stages stages, tg_step_home_counts* homes) {
  __shared__ tg_stages_messages m;
  const uint32_t domains = views.grid.domains, t = threadIdx.x;
  (&m.count[0][0])[t] = (&stages.messages->count[0][0])[t];
  (&m.entry[0][0])[t] = (&m.place[0][0])[t] = (&m.filled[0][0])[t] = 0;
  if (t < TG_STAGES_DOMAINS)
    for (int s = 0; s <= TG_STAGES; s++) m.entry_stage[t][s] = m.place_stage[t][s] = 0;
  __syncthreads();
  if (t < domains) tg_stages_place(views.grid.count, t, &m);
  __syncthreads();
  const bool full = t < domains && (m.entry_stage[t][TG_STAGES] > stages.room ||
                                    m.place_stage[t][TG_STAGES] > stages.room);
  if (__syncthreads_or(full)) {
    (&m.count[0][0])[t] = 0;
    if (t < TG_STAGES_DOMAINS)
      for (int s = 0; s <= TG_STAGES; s++) m.entry_stage[t][s] = m.place_stage[t][s] = 0;
    const uint32_t own = domains / views.peers.card_count;
    if (t < own) memset(homes + t, 0, sizeof homes[t]);
    if (t == 0) atomicOr(views.item[0].trouble, TG_MD_DOMAIN_FULL);
  }
  __syncthreads();
  for (uint32_t i = t; i < sizeof m / sizeof(uint32_t); i += THREADS)
    ((uint32_t*)stages.messages)[i] = ((const uint32_t*)&m)[i];
}

/* From a domain's slots to its entries. Launch: a thread a slot of all there is room for; bound by
 * gathering. Whole warps claim. */
static __global__ void __launch_bounds__(THREADS)
    fill_entries(const __grid_constant__ tg_md_views views,
                 const __grid_constant__ tg_md_stages stages) {
  const tg_md_view& v = views.item[blockIdx.z];
  tg_stages_messages& m = *stages.messages;
  const uint32_t slot = blockIdx.x * THREADS + threadIdx.x, lane = threadIdx.x % 32;
  const int atom = slot < v.totals->clusters * TG_MD_CLUSTER ? v.atom[slot] : -1;
  const uint32_t holders = atom >= 0 ? v.send_mask[atom] : 0;
  const uint32_t owner = atom >= 0 ? v.owner[atom] : 0;
  if (!__any_sync(~0U, holders != 0)) return;
  for (uint32_t to = 0; to < views.grid.domains; to++) {
    if (m.count[v.domain][to] == 0) continue;
    const bool mine = (holders >> to & 1) != 0 &&
                      tg_stages_sender(views.grid.count, owner, holders, to) == v.domain;
    const unsigned all = __ballot_sync(~0U, mine);
    uint32_t at = 0;
    if (lane == 0 && all != 0) at = atomicAdd(&m.filled[v.domain][to], (uint32_t)__popc(all));
    at = __shfl_sync(~0U, at, 0) + __popc(all & ((1U << lane) - 1));
    /* more than counted: where a sort had no room, whose trouble is told */
    if (!mine || at >= m.count[v.domain][to]) continue;
    const uint32_t there = v.send_slot[(size_t)to * v.atom_count + (uint32_t)atom];
    stages.entry[blockIdx.z][m.entry[v.domain][to] + at] =
        tg_stages_entry_of(views.grid.count, owner, holders, v.domain, slot, to, there);
  }
}

/* A thread a slot. */
static dim3 slots_of(const tg_device_md* md) {
  const size_t slots = (size_t)md->views.item[0].cluster_capacity * TG_MD_CLUSTER;
  return dim3(tg_md_blocks(slots, THREADS), 1, (unsigned)md->domain_count);
}

tg_status tg_md_queue_stages_tell(const tg_device_md* md) {
  if (md->card_count == 1) return TG_OK;
  tell<<<slots_of(md), THREADS, 0, md->stream>>>(md->views);
  return tg_md_queued(md, "telling where halo atoms are");
}

/* Where a sort had no room there are entries that nobody fills: these say so. */
tg_status tg_md_queue_stages_list(const tg_device_md* md, tg_step_home_counts* counts) {
  const tg_md_stages* s = &md->stages;
  const size_t entries = (size_t)(s->entry[md->domain_count - 1] + s->room - s->entry[0]);
  TG_TRY(
      tg_cuda_status(cudaMemsetAsync(s->entry[0], 0xFF, entries * sizeof *s->entry[0], md->stream),
                     md->device, "clearing entries"));
  TG_TRY(tg_cuda_status(cudaMemsetAsync(s->messages, 0, sizeof *s->messages, md->stream),
                        md->device, "clearing messages"));
  count_messages<<<tg_md_blocks(md->views.item[0].atom_count, THREADS), THREADS, 0, md->stream>>>(
      md->views, *s);
  place_messages<<<1, THREADS, 0, md->stream>>>(md->views, *s, counts);
  fill_entries<<<slots_of(md), THREADS, 0, md->stream>>>(md->views, *s);
  return tg_md_queued(md, "listing what is sent on");
}
