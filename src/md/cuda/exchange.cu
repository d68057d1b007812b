/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of exchanges in stages (stages.cuh): packing and unpacking for host and stream,
 * stores into slots elsewhere for pulse and fused.
 *
 * pulse and fused, exchange number n, stage s (with one card pulse needs no flags: kernels follow
 * each other):
 *
 *   | step | sender                                       | reader, who may send on             |
 *   |------|----------------------------------------------|-------------------------------------|
 *   | 1    | store atoms at home into their slots there   |                                     |
 *   | 2    | for those that earlier stages bring: as the  |                                     |
 *   |      | reader in step 4 of that stage               |                                     |
 *   | 3    | barrier; count blocks (acq_rel); the last of |                                     |
 *   |      | them raises STAGE + s to n at all cards      |                                     |
 *   |      | (release); in the last stage X instead       |                                     |
 *   | 4    |                                              | wait for STAGE + s >= n of the cards|
 *   |      |                                              | that send to the domain (acquire);  |
 *   |      |                                              | barrier; load past the first-level  |
 *   |      |                                              | cache                               |
 *
 * Nobody waits for ever: pulse waits only for kernels of other cards, which wait for earlier
 * stages; fused waits within a launch, whose blocks run all at once, and which no early launch
 * overlaps. */
#include <algorithm>

#include "md/cuda/stages.cuh"

enum { THREADS = 128, MOST_BLOCKS = 256 /* of all domains */ };

/* Blocks that are done, before this one. */
static __device__ __forceinline__ uint32_t count_up(uint32_t* done) {
  uint32_t before;
  asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], 1;"
               : "=r"(before)
               : "l"(done)
               : "memory");
  return before;
}

static __device__ __forceinline__ uint64_t this_exchange(const tg_md_views& views) {
  return *(volatile uint64_t*)&views.exchange->number[TG_MD_FLAG_X] + 1;
}

/* The exchange begins. */
static __device__ __forceinline__ void stamp_begin(const tg_md_views& views,
                                                   const tg_md_stages& stages, int stage) {
  bool first = true;
  for (int s = 0; s < stage; s++) first = first && views.grid.count[2 - s] == 1;
  if (stages.stamped && first && threadIdx.x == 0) tg_md_stamp(views, TG_STAMP_SENDS);
}

/* One thread: this card is done with all stages. */
static __device__ __forceinline__ void end_exchange(const tg_md_views& views,
                                                    const tg_md_stages& stages) {
  const tg_md_peers_view& p = views.peers;
  const uint64_t number = this_exchange(views);
  if (stages.stamped) tg_md_stamp(views, TG_STAMP_UPDATE);
  for (uint32_t c = 0; c < p.card_count; c++)
    if (c != p.card) tg_md_raise(p, c, TG_MD_FLAG_X, number);
  views.exchange->number[TG_MD_FLAG_X] = number;
}

/* All threads, when the block has done its part of a stage. */
static __device__ __forceinline__ void end_stage(const tg_md_views& views,
                                                 const tg_md_stages& stages, int stage, bool last,
                                                 bool own) {
  const tg_md_peers_view& p = views.peers;
  __syncthreads();
  if (threadIdx.x != 0) return;
  if (count_up(stages.blocks_done + stage) + 1 < gridDim.x * gridDim.z) return;
  stages.blocks_done[stage] = 0;
  if (last) {
    end_exchange(views, stages);
    return;
  }
  const uint64_t number = this_exchange(views);
  for (uint32_t c = 0; c < p.card_count; c++)
    if (c != p.card || own) tg_md_raise(p, c, TG_MD_FLAG_STAGE + stage, number);
}

/* All threads: until a stage has come to this domain; own: from the card's other domains, too. */
static __device__ __forceinline__ void await_stage(const tg_md_views& views,
                                                   const tg_md_stages& stages, uint32_t domain,
                                                   int stage, bool own) {
  const tg_md_peers_view& p = views.peers;
  const uint32_t each = views.grid.domains / p.card_count, card = threadIdx.x;
  if (card < p.card_count && (card != p.card || own) && !p.rushed &&
      tg_stages_comes(views.grid.count, stages.messages, stage, card * each, each, domain))
    tg_md_wait(p, card, TG_MD_FLAG_STAGE + stage, this_exchange(views));
  __syncthreads();
}

/* Stores those atoms of a stage that came by `brought`. */
static __device__ __forceinline__ void send(const tg_md_views& views, const tg_md_stages& stages,
                                            int stage, uint32_t brought) {
  const tg_md_view& v = views.item[blockIdx.z];
  const uint32_t* bounds = stages.messages->entry_stage[v.domain];
  const uint32_t end = bounds[stage + 1];
  const tg_stages_entry* entries = stages.entry[blockIdx.z];
  for (uint32_t i = bounds[stage] + blockIdx.x * THREADS + threadIdx.x; i < end;
       i += gridDim.x * THREADS) {
    const tg_stages_entry e = entries[i];
    if (tg_stages_brought(e) != brought) continue;
    stages.x[tg_stages_domain(e)][tg_stages_slot(e)] = __ldcg(&v.x[tg_stages_own_slot(e)]);
  }
}

/* Those that any earlier stage has brought, when it has. */
static __device__ __forceinline__ void send_on(const tg_md_views& views, const tg_md_stages& stages,
                                               int stage, bool own) {
  const tg_md_view& v = views.item[blockIdx.z];
  for (int brought = 0; brought < stage; brought++) {
    if (views.grid.count[2 - brought] == 1) continue;
    await_stage(views, stages, v.domain, brought, own);
    send(views, stages, stage, (uint32_t)brought + 1);
  }
}

/* From slots to slots of other domains, one stage. Launch: some blocks a domain; bound by latency
 * and the links. */
static __global__ void __launch_bounds__(THREADS)
    pulse(const __grid_constant__ tg_md_views views, const __grid_constant__ tg_md_stages stages,
          int stage, bool last) {
  stamp_begin(views, stages, stage);
  send(views, stages, stage, TG_STAGES_HOME);
  send_on(views, stages, stage, false);
  end_stage(views, stages, stage, last, false);
}

/* The same, all stages. Launch: as many blocks as run at once, at most; bound likewise. Atoms at
 * home go first, in the order in which others wait for them. */
static __global__ void __launch_bounds__(THREADS)
    fused(const __grid_constant__ tg_md_views views, const __grid_constant__ tg_md_stages stages,
          int last) {
  int first = 0;
  while (views.grid.count[2 - first] == 1) first++;
  stamp_begin(views, stages, first);
  send(views, stages, first, TG_STAGES_HOME);
  end_stage(views, stages, first, first == last, true);
  for (int stage = first + 1; stage <= last; stage++) send(views, stages, stage, TG_STAGES_HOME);
  for (int stage = first + 1; stage <= last; stage++) {
    if (views.grid.count[2 - stage] == 1) continue;
    send_on(views, stages, stage, true);
    end_stage(views, stages, stage, stage == last, true);
  }
}

/* From slots to messages of a stage. Launch: some blocks a domain; bound by latency. */
static __global__ void __launch_bounds__(THREADS)
    pack(const __grid_constant__ tg_md_views views, const __grid_constant__ tg_md_stages stages,
         int stage) {
  const tg_md_view& v = views.item[blockIdx.z];
  const uint32_t* bounds = stages.messages->entry_stage[v.domain];
  stamp_begin(views, stages, stage);
  for (uint32_t i = bounds[stage] + blockIdx.x * THREADS + threadIdx.x; i < bounds[stage + 1];
       i += gridDim.x * THREADS) {
    const tg_stages_entry e = stages.entry[blockIdx.z][i];
    uint4 word = make_uint4(0, 0, 0, TG_MD_NO_SLOT);
    if (tg_stages_brought(e) != TG_STAGES_NOTHING) {
      word = v.x[tg_stages_own_slot(e)];
      word.w = tg_stages_slot(e);
    }
    stages.sent[blockIdx.z][i] = word;
  }
}

/* From messages to slots. The charge is where the position before has it. */
static __global__ void __launch_bounds__(THREADS)
    unpack(const __grid_constant__ tg_md_views views, const __grid_constant__ tg_md_stages stages,
           int stage, bool last) {
  const tg_md_view& v = views.item[blockIdx.z];
  const uint32_t* bounds = stages.messages->place_stage[v.domain];
  for (uint32_t i = bounds[stage] + blockIdx.x * THREADS + threadIdx.x; i < bounds[stage + 1];
       i += gridDim.x * THREADS) {
    const uint4 word = stages.mail[blockIdx.z][i];
    if (word.w != TG_MD_NO_SLOT)
      v.x[word.w] = make_uint4(word.x, word.y, word.z, v.x_next[word.w].w);
  }
  if (!last) return;
  __syncthreads();
  if (threadIdx.x != 0 || count_up(stages.blocks_done) + 1 < gridDim.x * gridDim.z) return;
  stages.blocks_done[0] = 0;
  end_exchange(views, stages);
}

/* A thread a card. */
static __global__ void stage_sent(const __grid_constant__ tg_md_views views, int stage) {
  const tg_md_peers_view& p = views.peers;
  if (threadIdx.x != p.card)
    tg_md_raise(p, threadIdx.x, TG_MD_FLAG_STAGE + stage, this_exchange(views));
}

static __global__ void stage_heard(const __grid_constant__ tg_md_views views, int stage) {
  const tg_md_peers_view& p = views.peers;
  if (threadIdx.x != p.card && !p.rushed)
    tg_md_wait(p, threadIdx.x, TG_MD_FLAG_STAGE + stage, this_exchange(views));
}

tg_md_stages tg_md_stages_now(const tg_device_md* md) {
  tg_md_stages s = md->stages;
  const uint32_t count = (uint32_t)md->domain_count;
  for (uint32_t d = 0; d < md->views.grid.domains; d++)
    s.x[d] = tg_md_peer(md->views.peers, md->views.item[d % count].x, d / count);
  s.stamped = md->stamped ? 1 : 0;
  return s;
}

/* For half of what there is room for, or a turn more each. */
static dim3 grid_of(const tg_device_md* md) {
  const unsigned domains = (unsigned)md->domain_count;
  const unsigned wanted = tg_md_blocks(md->stages.room / 2, THREADS);
  return dim3(std::clamp(wanted, 1U, MOST_BLOCKS / domains), 1, domains);
}

tg_status tg_md_prepare_exchange(tg_device_md* md) {
  const int device = md->device;
  int each = 0, processors = 0;
  if (md->schedule != TG_MD_FUSED) return TG_OK;
  TG_TRY(tg_cuda_status(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, fused, THREADS, 0),
                        device, "asking what runs at once"));
  TG_TRY(tg_cuda_status(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device),
                        device, "asking for its multiprocessors"));
  const unsigned most = (unsigned)(each * processors / 2 / md->domain_count);
  if (most == 0)
    return tg_fail(TG_ERR_MACHINE,
                   "GPU %d: halo \"fused\": %d domains' kernel needs a block of each to run at "
                   "once, and %d multiprocessors run %d each; use another schedule",
                   device, md->domain_count, processors, each);
  md->fused_blocks = std::min(most, grid_of(md).x);
  return TG_OK;
}

tg_status tg_md_queue_exchange(const tg_device_md* md) {
  const int last = tg_md_last_stage(md);
  const tg_md_stages now = tg_md_stages_now(md);
  if (md->schedule == TG_MD_FUSED) {
    const dim3 grid(md->fused_blocks, 1, (unsigned)md->domain_count);
    fused<<<grid, THREADS, 0, md->stream>>>(md->views, now, last);
    return tg_md_queued(md, "sending positions");
  }
  for (int stage = 0; stage <= last; stage++)
    if (tg_md_has_stage(md, stage))
      pulse<<<grid_of(md), THREADS, 0, md->stream>>>(md->views, now, stage, stage == last);
  return tg_md_queued(md, "sending positions");
}

tg_status tg_md_queue_pack(const tg_device_md* md, int stage) {
  pack<<<grid_of(md), THREADS, 0, md->stream>>>(md->views, tg_md_stages_now(md), stage);
  return tg_md_queued(md, "packing positions");
}

tg_status tg_md_queue_unpack(const tg_device_md* md, int stage) {
  unpack<<<grid_of(md), THREADS, 0, md->stream>>>(md->views, tg_md_stages_now(md), stage,
                                                  stage == tg_md_last_stage(md));
  return tg_md_queued(md, "unpacking positions");
}

tg_status tg_md_queue_stage_sent(const tg_device_md* md, int stage) {
  stage_sent<<<1, (unsigned)md->card_count, 0, md->stream>>>(md->views, stage);
  return tg_md_queued(md, "telling of positions");
}

tg_status tg_md_queue_stage_heard(const tg_device_md* md, int stage) {
  stage_heard<<<1, (unsigned)md->card_count, 0, md->stream>>>(md->views, stage);
  return tg_md_queued(md, "waiting for positions");
}
