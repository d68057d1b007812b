/* SPDX-License-Identifier: Apache-2.0 */
/* Planes between domains that move at searches until all domains take the same time
 * (md/device_balance.h); each domain's time is that of timed steps (times.cu).
 *
 *   | at a search                                   | who may still use what is overwritten |
 *   |-----------------------------------------------|----------------------------------------------|
 *   | 1 own domains' times into all other cards     | they moved their planes at the search
 * before,| |                                               | and met again after it (share.cu) | |
 * 2 atoms; meet; keep the state                 |                                              | |
 * 3 every card moves the planes, all alike      | the search's kernels alone read planes       | |
 * 4 sort, search with the new planes            |                                              |
 */
#include <string.h>

#include <algorithm>

#include "md/cuda/domains.cuh"

enum { SCALE = 256 /* of a step's time, ns, so that little is lost when it is divided */ };

static_assert((int)TG_BALANCE_LAYERS == (int)TG_MD_MOST_DOMAINS, "planes of as many layers");
static_assert(sizeof(tg_device_planes) == sizeof(uint32_t[3][TG_MD_MOST_DOMAINS]), "no padding");

/* Launch: a thread a card. */
static __global__ void tell_times(const __grid_constant__ tg_md_views views) {
  const tg_md_peers_view& p = views.peers;
  tg_md_exchange* e = views.exchange;
  if (threadIdx.x == p.card) return;
  unsigned long long* to = tg_md_peer(p, e->balance.mail[p.card], threadIdx.x);
  to[0] = e->timing.window_steps;
  for (int d = 0; d < TG_MD_DOMAINS; d++) to[1 + d] = e->timing.window[d];
}

/* Of every domain for one step; false where a card has timed none. */
static __device__ bool take_times(const tg_md_views& views, uint64_t* time) {
  const tg_md_peers_view& p = views.peers;
  tg_md_exchange* e = views.exchange;
  const uint32_t each = views.grid.domains / p.card_count;
  bool all = true;
  for (uint32_t c = 0; c < p.card_count; c++) {
    const bool own = c == p.card;
    const volatile unsigned long long* mail = e->balance.mail[c];
    const unsigned long long steps = own ? e->timing.window_steps : mail[0];
    all = all && steps > 0;
    for (uint32_t d = 0; d < each && steps > 0; d++)
      time[c * each + d] = (own ? e->timing.window[d] : mail[1 + d]) * SCALE / steps;
  }
  e->timing.window_steps = 0;
  for (int d = 0; d < TG_MD_DOMAINS; d++) e->timing.window[d] = 0;
  return all;
}

/* Where heights are counted from: opposite the brick. */
static __device__ void put_origins(const tg_md_views& views) {
  for (uint32_t d = 0; d < views.grid.domains / views.peers.card_count; d++)
    views.item[d].totals->origin = tg_md_origin_between(
        views.grid, views.grid.plane + 2 * TG_MD_MOST_DOMAINS, views.item[d].domain);
}

/* Launch: one thread; bound by latency. */
static __global__ void move_planes(const __grid_constant__ tg_md_views views,
                                   const __grid_constant__ tg_md_thickness least) {
  tg_md_balance* b = &views.exchange->balance;
  tg_device_planes* planes = (tg_device_planes*)views.grid.plane;
  uint64_t time[TG_MD_MOST_DOMAINS];
  if (take_times(views, time)) {
    for (uint32_t d = 0; d < views.grid.domains; d++) {
      if (b->looks == 0) b->first[d] = time[d];
      b->last[d] = time[d];
    }
    b->looks++;
    if (tg_balance_planes(views.grid.count, time, least.units, planes)) {
      b->moves++;
      put_origins(views);
    }
  }
  if (*(volatile uint32_t*)views.item[0].trouble == 0) b->kept = *planes;
}

tg_status tg_md_queue_tell_times(const tg_device_md* md) {
  if (md->card_count == 1) return TG_OK;
  tell_times<<<1, (unsigned)md->card_count, 0, md->stream>>>(md->views);
  return tg_md_queued(md, "telling times");
}

tg_status tg_md_queue_move_planes(const tg_device_md* md) {
  tg_md_thickness least = {};
  for (int d = 0; d < 3; d++)
    least.units[d] =
        tg_balance_least(md->views.grid.count[d], md->views.all.list_radius, md->box[d]);
  move_planes<<<1, 1, 0, md->stream>>>(md->views, least);
  return tg_md_queued(md, "moving planes between domains");
}

static double uneven(const uint64_t* time, uint32_t domains) {
  uint64_t most = 0, sum = 0;
  for (uint32_t d = 0; d < domains; d++) {
    most = std::max(most, time[d]);
    sum += time[d];
  }
  return sum > 0 ? (double)most * domains / (double)sum : 0;
}

tg_status tg_device_md_get_balance(const tg_device_md* md, tg_device_balance* out) {
  tg_md_balance b;
  memset(out, 0, sizeof *out);
  if (!md->balanced) {
    out->planes = md->planes;
    return TG_OK;
  }
  TG_TRY(tg_md_select(md));
  TG_TRY(tg_cuda_status(cudaMemcpyAsync(&b, &md->views.exchange->balance, sizeof b,
                                        cudaMemcpyDeviceToHost, md->stream),
                        md->device, "copying from it"));
  TG_TRY(tg_cuda_status(cudaStreamSynchronize(md->stream), md->device, "computing"));
  out->planes = b.kept;
  out->moves = (long long)b.moves;
  out->first = uneven(b.first, md->views.grid.domains);
  out->last = uneven(b.last, md->views.grid.domains);
  return TG_OK;
}
