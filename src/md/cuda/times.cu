/* SPDX-License-Identifier: Apache-2.0 */
/* Where the time of steps goes: moments by the GPU's timer, which kernels leave in steps that are
 * timed (md/device_times.h), and marks around searches and prunings. */
#include <string.h>

#include <algorithm>

#include "md/cuda/step_host.cuh"

enum { THREADS = 512, WARPS = THREADS / 32 };

static_assert((int)TG_MD_TIMED_DOMAINS == (int)TG_MD_DOMAINS, "each of a card's domains is timed");

static __device__ __forceinline__ unsigned long long most_of_warp(unsigned long long value) {
  for (int step = 16; step > 0; step /= 2) value = max(value, __shfl_xor_sync(~0U, value, step));
  return value;
}

static __device__ __forceinline__ unsigned long long sum_of_warp(unsigned long long value) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(~0U, value, step);
  return value;
}

/* What is left of a stretch's rows. */
typedef struct stretch_times {
  uint64_t stamp[TG_TIMED_STEPS][TG_STAMPS];
  unsigned long long spent[TG_MD_DOMAINS][TG_MD_WORKS];
} stretch_times;

/* Takes a lane's word, which becomes 0. */
static __device__ __forceinline__ unsigned long long take(unsigned long long* word) {
  const unsigned long long value = *word;
  *word = 0;
  return value;
}

static __device__ void take_rows(tg_md_timing* t, stretch_times* out) {
  const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (uint32_t i = warp; i < TG_TIMED_STEPS * TG_STAMPS; i += WARPS) {
    const uint32_t step = i / TG_STAMPS, which = i % TG_STAMPS;
    unsigned long long value = most_of_warp(take(&t->stamp[step][lane][which]));
    if (tg_times_begins((int)which) && value != 0) value = ~value;
    if (lane == 0) out->stamp[step][which] = value;
  }
  for (uint32_t i = warp; i < TG_MD_DOMAINS * TG_MD_WORKS; i += WARPS) {
    const uint32_t domain = i / TG_MD_WORKS, work = i % TG_MD_WORKS;
    const unsigned long long value = sum_of_warp(take(&t->spent[lane][domain][work]));
    if (lane == 0) out->spent[domain][work] = value;
  }
  __syncthreads();
}

static __device__ void add_mark(tg_md_timing* t, int from, int to, unsigned long long* count,
                                unsigned long long* sum) {
  const unsigned long long begin = take(&t->mark[from]), end = take(&t->mark[to]);
  if (begin == 0 || end <= begin) return;
  *count += 1;
  *sum += end - begin;
}

/* The forces' time to what their warps do; and what domains take. That is not shared out of the
 * card's time: where rows wait, places for others are taken, so waiting for other cards makes more
 * than the exposed part longer; and a card with little to do has idle places. */
static __device__ void share_out(const tg_md_views& views, const tg_step_parts& parts,
                                 const stretch_times& all, uint32_t places, tg_md_timing* t) {
  const uint32_t domains = views.grid.domains / views.peers.card_count;
  const double forces = (double)(parts.local + parts.halo + parts.tail);
  double spent = 0, clusters = 0, timed = 0;
  for (int i = 0; i < TG_TIMED_STEPS; i++) timed += all.stamp[i][TG_STAMP_BEGIN] != 0;
  for (uint32_t d = 0; d < domains; d++) {
    for (int k = 0; k < TG_MD_WORKS; k++) spent += (double)all.spent[d][k];
    clusters += views.item[d].totals->home_clusters;
  }
  if (spent == 0 || clusters == 0 || parts.steps == 0) return;
  const double each = (double)parts.steps / (timed * places); /* two steps of a pair are timed */
  t->window_steps += parts.steps;
  for (uint32_t d = 0; d < domains; d++) {
    double own = (double)parts.update * views.item[d].totals->home_clusters / clusters;
    for (int k = 0; k < TG_MD_WORKS; k++) {
      t->sum.work[k] += (unsigned long long)(forces * (double)all.spent[d][k] / spent);
      own += each * (double)all.spent[d][k];
    }
    t->sum.domain[d] += (unsigned long long)own;
    t->window[d] += (unsigned long long)own;
  }
}

/* From what a stretch's timed steps have left to sums; all of it becomes 0. Launch: one block;
 * bound by latency. */
static __global__ void __launch_bounds__(THREADS)
    end_times(const __grid_constant__ tg_md_views views, uint32_t places) {
  __shared__ stretch_times all;
  tg_md_timing* t = &views.exchange->timing;
  take_rows(t, &all);
  if (threadIdx.x != 0) return;
  tg_step_parts parts = {};
  for (int i = 0; i < TG_TIMED_STEPS; i += 2)
    tg_times_add(all.stamp[i], all.stamp[i + 1][TG_STAMP_BEGIN], &parts);
  uint64_t* to = (uint64_t*)&t->sum.parts;
  for (size_t i = 0; i < sizeof parts / sizeof *to; i++) to[i] += ((const uint64_t*)&parts)[i];
  share_out(views, parts, all, places, t);
  add_mark(t, TG_MD_MARK_SEARCH, TG_MD_MARK_SEARCHED, &t->sum.searches, &t->sum.search);
  add_mark(t, TG_MD_MARK_PRUNE, TG_MD_MARK_PRUNED, &t->sum.prunings, &t->sum.prune);
}

static __global__ void mark(const __grid_constant__ tg_md_views views, int which) {
  views.exchange->timing.mark[which] = tg_md_clock_ns();
}

tg_status tg_md_queue_mark(const tg_device_md* md, int which) {
  mark<<<1, 1, 0, md->stream>>>(md->views, which);
  return tg_md_queued(md, "timing");
}

tg_status tg_md_queue_end_times(const tg_device_md* md) {
  int processors = 0;
  TG_TRY(tg_cuda_status(
      cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, md->device), md->device,
      "asking for its multiprocessors"));
  const uint32_t places = (uint32_t)processors * TG_MD_FORCE_WARPS;
  end_times<<<1, THREADS, 0, md->stream>>>(md->views, places);
  return tg_md_queued(md, "adding up times");
}

static tg_status clear(tg_device_step* p) {
  const tg_device_md* md = p->md;
  TG_TRY(tg_md_select(md));
  TG_TRY(tg_cuda_status(
      cudaMemsetAsync(&md->views.exchange->timing.sum, 0, sizeof(tg_md_times), md->stream),
      md->device, "clearing times"));
  return tg_cuda_status(cudaStreamSynchronize(md->stream), md->device, "computing");
}

tg_status tg_device_step_time(tg_device_step* step, int every) {
  step->time_every = every;
  for (tg_device_step* p = step; p; p = p->next) TG_TRY(clear(p));
  return TG_OK;
}

static double us_each(unsigned long long sum, unsigned long long count) {
  return count > 0 ? 1e-3 * (double)sum / (double)count : 0;
}

static tg_status read_card(const tg_device_step* p, tg_md_times* out) {
  const tg_device_md* md = p->md;
  TG_TRY(tg_md_select(md));
  TG_TRY(tg_cuda_status(cudaMemcpyAsync(out, &md->views.exchange->timing.sum, sizeof *out,
                                        cudaMemcpyDeviceToHost, md->stream),
                        md->device, "copying from it"));
  return tg_cuda_status(cudaStreamSynchronize(md->stream), md->device, "computing");
}

static void raise_to(double* value, double other) { *value = std::max(*value, other); }

/* A card's means. */
static void add_card(const tg_device_md* md, const tg_md_times& t, tg_device_step_times* out) {
  const tg_step_parts& p = t.parts;
  const uint32_t first = md->views.grid.first;
  out->steps = std::max(out->steps, (int)p.steps);
  raise_to(&out->whole, us_each(p.whole, p.steps));
  raise_to(&out->local, us_each(p.local, p.steps));
  raise_to(&out->exposed, us_each(p.exposed, p.steps));
  raise_to(&out->halo, us_each(p.halo, p.steps));
  raise_to(&out->tail, us_each(p.tail, p.steps));
  raise_to(&out->bonded, us_each(p.bonded, p.steps));
  raise_to(&out->update, us_each(p.update, p.steps));
  raise_to(&out->exchange, us_each(p.exchange, p.steps));
  raise_to(&out->longest, us_each(p.longest, p.steps));
  raise_to(&out->between, us_each(p.between, p.steps));
  raise_to(&out->search, us_each(t.search, t.searches));
  raise_to(&out->prune, us_each(t.prune, t.prunings));
  for (int k = 0; k < TG_DEVICE_WORKS; k++) raise_to(&out->work[k], us_each(t.work[k], p.steps));
  for (int d = 0; d < md->domain_count; d++)
    out->domain[first + (uint32_t)d] = us_each(t.domain[d], p.steps);
}

tg_status tg_device_step_times_of(tg_device_step* step, tg_device_step_times* out) {
  static_assert((int)TG_DEVICE_WORKS == (int)TG_MD_WORKS, "the same kinds");
  memset(out, 0, sizeof *out);
  for (const tg_device_step* p = step; p; p = p->next) {
    tg_md_times one;
    TG_TRY(read_card(p, &one));
    add_card(p->md, one, out);
  }
  return TG_OK;
}
