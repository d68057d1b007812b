/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules whose exchanges the host drives: host and stream (stages.cuh). Steps are queued one by
 * one on all cards of the process, without graphs:
 *
 *   | host                                       | stream                                        |
 *   |--------------------------------------------|-----------------------------------------------|
 *   | 1 queue the step up to its update; after a search read how long the messages are            |
 *   | 2 for each stage:                          |                                               |
 *   |   a queue packing; wait for it             | queue packing, a copy for each message, that  |
 *   |   b queue a copy for each message; wait    | they are sent (an event; a kernel between     |
 *   |     for them; meet other processes         | processes), a wait for those of other cards   |
 *   |   c queue unpacking                        | queue unpacking                               |
 *
 * A message is not overwritten early: its receiver has unpacked it before it tells that it has all
 * positions (TG_MD_FLAG_X), for which the sender's forces wait before its next update. */
#include "md/cuda/stages.cuh"
#include "md/cuda/step_host.cuh"

static tg_status status_of(const tg_device_step* p, cudaError_t error, const char* what) {
  return tg_cuda_status(error, p->md->device, what);
}

static bool between_processes(const tg_device_step* step) {
  return step->md->card_count > 1 && tg_md_peers_world(step->md->peers) != nullptr;
}

/* One wait of the host for each card of the process. */
static tg_status wait_for_all(tg_device_step* step) {
  for (tg_device_step* p = step; p; p = p->next) {
    TG_TRY(tg_md_select(p->md));
    TG_TRY(status_of(p, cudaStreamSynchronize(p->md->stream), "computing"));
    step->waits++;
  }
  return TG_OK;
}

/* All cards of the process are queued: they may wait for each other. */
static tg_status read_messages(tg_device_step* step) {
  for (tg_device_step* p = step; p; p = p->next) {
    TG_TRY(tg_md_select(p->md));
    TG_TRY(status_of(p,
                     cudaMemcpyAsync(p->messages, p->md->stages.messages, sizeof *p->messages,
                                     cudaMemcpyDeviceToHost, p->md->stream),
                     "copying from it"));
  }
  return wait_for_all(step);
}

/* The messages of a card's domains, each that is not empty. */
static tg_status queue_copies(tg_device_step* p, int stage) {
  const tg_device_md* md = p->md;
  const tg_md_grid* g = &md->views.grid;
  const tg_stages_messages* m = p->messages;
  const uint32_t own = (uint32_t)md->domain_count;
  for (uint32_t d = 0; d < own; d++)
    for (uint32_t to = 0; to < g->domains; to++) {
      const uint32_t from = g->first + d, count = m->count[from][to];
      if (count == 0 || tg_stages_between(g->count, from, to) != stage) continue;
      const uint4* sent = md->stages.sent[d] + m->entry[from][to];
      uint4* mail = md->stages.mail[to % own] + m->place[from][to];
      TG_TRY(status_of(p,
                       cudaMemcpyAsync(tg_md_peer(md->views.peers, mail, to / own), sent,
                                       count * sizeof *sent, cudaMemcpyDefault, md->stream),
                       "sending positions"));
    }
  return TG_OK;
}

static tg_status host_stage(tg_device_step* step, int stage) {
  for (tg_device_step* p = step; p; p = p->next) {
    TG_TRY(tg_md_select(p->md));
    TG_TRY(tg_md_queue_pack(p->md, stage));
  }
  TG_TRY(wait_for_all(step));
  for (tg_device_step* p = step; p; p = p->next) {
    TG_TRY(tg_md_select(p->md));
    TG_TRY(queue_copies(p, stage));
  }
  TG_TRY(wait_for_all(step));
  return between_processes(step) ? tg_world_barrier(tg_md_peers_world(step->md->peers)) : TG_OK;
}

/* Within a process a stream waits for the events of the others; between processes, for flags. */
static tg_status stream_stage(tg_device_step* step, int stage) {
  const bool flags = between_processes(step);
  for (tg_device_step* p = step; p; p = p->next) {
    TG_TRY(tg_md_select(p->md));
    TG_TRY(tg_md_queue_pack(p->md, stage));
    TG_TRY(queue_copies(p, stage));
    if (flags) {
      TG_TRY(tg_md_queue_stage_sent(p->md, stage));
      TG_TRY(tg_md_queue_stage_heard(p->md, stage));
      step->kernels += 2;
    } else {
      TG_TRY(status_of(p, cudaEventRecord(p->sent, p->md->stream), "recording an event"));
    }
  }
  for (tg_device_step* p = step; p && !flags; p = p->next)
    for (tg_device_step* q = step; q; q = q->next) {
      if (p == q) continue;
      TG_TRY(tg_md_select(p->md));
      TG_TRY(status_of(p, cudaStreamWaitEvent(p->md->stream, q->sent, 0), "waiting for another"));
    }
  return TG_OK;
}

static tg_status exchange(tg_device_step* step) {
  const int last = tg_md_last_stage(step->md);
  for (int stage = 0; stage <= last; stage++) {
    if (!tg_md_has_stage(step->md, stage)) continue;
    TG_TRY(step->md->schedule == TG_MD_HOST ? host_stage(step, stage) : stream_stage(step, stage));
    for (tg_device_step* p = step; p; p = p->next) {
      TG_TRY(tg_md_select(p->md));
      TG_TRY(tg_md_queue_unpack(p->md, stage));
      step->kernels += 2;
    }
  }
  return TG_OK;
}

tg_status tg_step_drive(tg_device_step* step, const unsigned char* flags, int count) {
  tg_step_tail tail[TG_MD_MOST_CARDS] = {};
  for (tg_device_step* p = step; p; p = p->next) p->pruning_marked = false;
  for (int i = 0; i < count; i++) {
    int c = 0;
    for (tg_device_step* p = step; p; p = p->next) {
      TG_TRY(tg_md_select(p->md));
      TG_TRY(tg_step_queue_step(p, flags, i, &tail[c++]));
    }
    if (flags[i] & TG_STEP_SEARCH) TG_TRY(read_messages(step));
    TG_TRY(exchange(step));
  }
  int c = 0;
  for (tg_device_step* p = step; p; p = p->next) {
    TG_TRY(tg_md_select(p->md));
    TG_TRY(tg_step_queue_tail(p, &tail[c++], count));
  }
  return TG_OK;
}
