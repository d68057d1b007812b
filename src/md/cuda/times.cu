/* SPDX-License-Identifier: Apache-2.0 */
/* Where the time of steps on several cards goes: stamps of the GPU's timer, which kernels leave in
 * stretches that are timed (state.cuh). */
#include <string.h>

#include <algorithm>

#include "md/cuda/step_host.cuh"

static tg_status clear(tg_device_step* p, bool on) {
  tg_device_md* md = p->md;
  TG_TRY(tg_md_select(md));
  TG_TRY(tg_cuda_status(cudaMemsetAsync(md->views.exchange->stamps, 0,
                                        sizeof(tg_md_stamps) * TG_MD_STAMPED, md->stream),
                        md->device, "clearing times"));
  TG_TRY(tg_cuda_status(cudaStreamSynchronize(md->stream), md->device, "computing"));
  md->stamped = on;
  tg_step_forget_graphs(p);
  return TG_OK;
}

tg_status tg_device_step_time(tg_device_step* step, bool on) {
  if (step->md->card_count == 1) return TG_OK;
  for (tg_device_step* p = step; p; p = p->next) TG_TRY(clear(p, on));
  return TG_OK;
}

static double us_between(unsigned long long from, unsigned long long to) {
  return to > from ? 1e-3 * (double)(to - from) : 0;
}

/* A step that has all its stamps; next: the one after, or NULL. */
static void add_step(const tg_md_stamps& t, const tg_md_stamps& next, tg_device_step_times* sum) {
  const unsigned long long begin = ~t[TG_MD_STAMP_BEGIN];
  /* 0 where all rows have halo atoms */
  const unsigned long long local = std::max(t[TG_MD_STAMP_LOCAL], begin);
  const unsigned long long heard = std::max(t[TG_MD_STAMP_HEARD], local);
  const unsigned long long pairs = std::max(t[TG_MD_STAMP_HALO], heard);
  const unsigned long long moved =
      t[TG_MD_STAMP_SENDS] != 0 ? ~t[TG_MD_STAMP_SENDS] : t[TG_MD_STAMP_UPDATE];
  const unsigned long long forces = std::max(pairs, t[TG_MD_STAMP_BONDED]);
  sum->steps++;
  sum->local += us_between(begin, local);
  sum->exposed += us_between(local, heard);
  sum->halo += us_between(heard, pairs);
  sum->bonded += us_between(begin, t[TG_MD_STAMP_BONDED]);
  sum->longest += 1e-3 * (double)t[TG_MD_STAMP_WAIT];
  sum->update += us_between(forces, moved);
  sum->exchange += us_between(moved, t[TG_MD_STAMP_UPDATE]);
  sum->between += us_between(t[TG_MD_STAMP_UPDATE], ~next[TG_MD_STAMP_BEGIN]);
}

/* A search or a pruning between them takes tens of microseconds; launches by the host a few. */
static bool follows(const tg_md_stamps& t, const tg_md_stamps& next) {
  return next[TG_MD_STAMP_BEGIN] != 0 &&
         us_between(t[TG_MD_STAMP_UPDATE], ~next[TG_MD_STAMP_BEGIN]) < 10;
}

static tg_status read_card(const tg_device_step* p, tg_device_step_times* out) {
  const tg_device_md* md = p->md;
  std::vector<unsigned long long> words((size_t)TG_MD_STAMPED * TG_MD_STAMPS);
  memset(out, 0, sizeof *out);
  TG_TRY(tg_md_select(md));
  TG_TRY(tg_cuda_status(
      cudaMemcpyAsync(words.data(), md->views.exchange->stamps, words.size() * sizeof words[0],
                      cudaMemcpyDeviceToHost, md->stream),
      md->device, "copying from it"));
  TG_TRY(tg_cuda_status(cudaStreamSynchronize(md->stream), md->device, "computing"));
  const tg_md_stamps* stamps = (const tg_md_stamps*)words.data();
  for (int i = 0; i < TG_MD_STAMPED; i++) {
    const tg_md_stamps &t = stamps[i], &next = stamps[(i + 1) % TG_MD_STAMPED];
    if (t[TG_MD_STAMP_BEGIN] != 0 && t[TG_MD_STAMP_UPDATE] != 0 && follows(t, next))
      add_step(t, next, out);
  }
  return TG_OK;
}

tg_status tg_device_step_times_of(tg_device_step* step, tg_device_step_times* out) {
  memset(out, 0, sizeof *out);
  if (step->md->card_count == 1) return TG_OK;
  for (const tg_device_step* p = step; p; p = p->next) {
    tg_device_step_times one;
    TG_TRY(read_card(p, &one));
    const double n = one.steps > 0 ? one.steps : 1;
    out->steps = std::max(out->steps, one.steps);
    out->local = std::max(out->local, one.local / n);
    out->exposed = std::max(out->exposed, one.exposed / n);
    out->halo = std::max(out->halo, one.halo / n);
    out->bonded = std::max(out->bonded, one.bonded / n);
    out->longest = std::max(out->longest, one.longest / n);
    out->update = std::max(out->update, one.update / n);
    out->exchange = std::max(out->exchange, one.exchange / n);
    out->between = std::max(out->between, one.between / n);
  }
  return TG_OK;
}
