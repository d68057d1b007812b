/* SPDX-License-Identifier: Apache-2.0 */
/* What cards tell each other outside the steps' own exchange: all positions and velocities before a
 * search, so that each finds its domains by itself; trouble, so that none keeps a state that went
 * bad on another; where halo atoms are to go; a frame, whole on card 0.
 *
 * They *meet*: each raises a flag at all others, and waits for theirs. A kernel by itself does so:
 * it is a few in a list's life, and what the kernels before it have stored is covered.
 *
 *   | at a search                          | who may still use what is overwritten              |
 *   |--------------------------------------|----------------------------------------------------|
 *   | 1 atoms at home into all other cards | their steps read only their own of these arrays;    |
 *   |                                      | their search before ended before they sent x to us |
 *   | 2 own send_mask cleared              | own update before, in the stream's order           |
 *   | 3 meet (TG_MD_FLAG_SEARCH)           |                                                    |
 *   | 4 keep, sort; receivers of halo set  | 2 is before 3                                      |
 *   |   send_mask and send_slot of owners  |                                                    |
 *   | 5 meet (TG_MD_FLAG_PLAN)             | then the update may send                           |
 */
#include "md/cuda/step.cuh"

enum { THREADS = 128 };

static __device__ __forceinline__ bool is_own(const tg_md_views& views, uint32_t domain) {
  return domain - views.grid.first < views.grid.domains / views.peers.card_count;
}

/* From this card's atoms to all cards. Launch: a thread an atom; bound by the links. Before the
 * first search all belong to domain 0, and all cards have the same. */
static __global__ void __launch_bounds__(THREADS)
    share(const __grid_constant__ tg_md_views views, const __grid_constant__ tg_step_view s) {
  const tg_md_peers_view& p = views.peers;
  const tg_md_view& v = views.item[0];
  const uint32_t i = blockIdx.x * THREADS + threadIdx.x;
  if (i >= v.atom_count) return;
  v.send_mask[i] = 0;
  if (!is_own(views, v.owner[i])) return;
  const uint4 x = v.atom_x[i];
  const float4 velocity = s.v[i];
  for (uint32_t c = 0; c < p.card_count; c++) {
    if (c == p.card) continue;
    tg_md_peer(p, v.atom_x, c)[i] = x;
    tg_md_peer(p, s.v, c)[i] = velocity;
  }
}

/* Launch: a thread a card. */
static __global__ void meet(const __grid_constant__ tg_md_views views,
                            const __grid_constant__ tg_step_view s, int kind) {
  const tg_md_peers_view& p = views.peers;
  tg_md_exchange* e = views.exchange;
  uint32_t* trouble = views.item[0].trouble;
  const uint32_t other = threadIdx.x;
  const uint64_t number = e->number[kind] + 1;
  const unsigned long long mine[3] = {*trouble, s.state->fast_atom, s.state->bad_group};
  __syncthreads();
  if (other != p.card) {
    if (kind == TG_MD_FLAG_SEARCH)
      for (int k = 0; k < 3; k++) tg_md_peer(p, e->trouble[p.card], other)[k] = mine[k];
    tg_md_raise(p, other, kind, number);
    const bool heard = tg_md_wait(p, other, kind, number);
    if (kind == TG_MD_FLAG_SEARCH && heard) {
      const volatile unsigned long long* theirs = e->trouble[other];
      if (theirs[0] != 0) atomicOr(trouble, (uint32_t)theirs[0]);
      atomicMin(&s.state->fast_atom, theirs[1]);
      atomicMin(&s.state->bad_group, theirs[2]);
    }
    if (!heard || *(volatile uint64_t*)p.abort[p.card] != 0) atomicOr(trouble, TG_MD_PEER_LOST);
  }
  __syncthreads();
  if (other == 0) e->number[kind] = number;
}

/* From the atoms at home to a frame at card 0. Launch: a thread an atom; bound by memory. */
static __global__ void __launch_bounds__(THREADS)
    share_frame(const __grid_constant__ tg_md_views views, const __grid_constant__ tg_step_view s) {
  const tg_md_peers_view& p = views.peers;
  const uint32_t i = blockIdx.x * THREADS + threadIdx.x;
  if (i >= views.item[0].atom_count) return;
  const uint32_t domain = views.item[0].owner[i];
  if (!is_own(views, domain)) return;
  const tg_md_view& v = views.item[domain - views.grid.first];
  tg_md_peer(p, s.frame_x, 0)[i] = v.atom_x[i];
  tg_md_peer(p, s.frame_v, 0)[i] = s.v[i];
  int force[3] = {0, 0, 0};
  const uint32_t slot = v.slot_of_atom[i];
  if (slot != TG_MD_NO_SLOT) tg_step_read_force(v, slot, force);
  int* to = tg_md_peer(p, s.frame_f, 0) + 3 * (size_t)i;
  for (int d = 0; d < 3; d++) to[d] = force[d];
}

static unsigned blocks_of(const tg_device_md* md) {
  return tg_md_blocks(md->views.item[0].atom_count, THREADS);
}

tg_status tg_step_queue_meeting(const tg_device_md* md, const tg_step_view* s, int kind) {
  if (md->card_count == 1) return TG_OK;
  meet<<<1, (unsigned)md->card_count, 0, md->stream>>>(md->views, *s, kind);
  return tg_md_queued(md, "meeting other GPUs");
}

tg_status tg_step_queue_share(const tg_device_md* md, const tg_step_view* s) {
  if (md->card_count == 1) return TG_OK;
  share<<<blocks_of(md), THREADS, 0, md->stream>>>(md->views, *s);
  TG_TRY(tg_md_queued(md, "sending atoms to other GPUs"));
  return tg_step_queue_meeting(md, s, TG_MD_FLAG_SEARCH);
}

tg_status tg_step_queue_frame_share(const tg_device_md* md, const tg_step_view* s) {
  share_frame<<<blocks_of(md), THREADS, 0, md->stream>>>(md->views, *s);
  TG_TRY(tg_md_queued(md, "sending a frame"));
  return tg_step_queue_meeting(md, s, TG_MD_FLAG_FRAME);
}
