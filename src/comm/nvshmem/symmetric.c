/* SPDX-License-Identifier: Apache-2.0 */
/* Symmetric memory on GPUs: one piece of NVSHMEM's heap per creation, data and then signals, at the
 * same distance from the heap's start on every PE.
 *
 * Releasing a piece is collective: what has been destroyed stays listed until the next creation, or
 * the end of the world, finds that all PEs have destroyed it. The host reads signals by copies that
 * do not wait for the world's stream; a copy that starts after a signal was raised brings it, and
 * work queued after the copy has come sees what the signal stands for. */
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "base/timer.h"
#include "comm/nvshmem/nvshmem.h"

enum { WORDS_PER_SIGNAL = TG_CACHE_LINE / sizeof(uint64_t) };
static const double busy_s = 2e-3;  /* so long a wait looks without a pause */
static const double look_s = 1e-3;  /* between looks for an abort */
static const long pause_ns = 50000; /* of a wait that lasts */

static tg_nvshmem_link* link_of(const tg_world* world) { return world->link; }

/* The transport's part of a symmetric memory. */
typedef struct piece {
  void* block;
} piece;

static piece* piece_of(const tg_symmetric* s) { return s->share; }

/* The arguments of an allocation, or of a release. */
typedef struct request {
  int device;
  size_t bytes;
  void* block;
} request;

static tg_status call_allocate(void* argument) {
  request* r = argument;
  return tg_nvshmem_allocate(r->device, r->bytes, &r->block);
}

static tg_status call_free(void* argument) {
  const request* r = argument;
  tg_nvshmem_free(r->device, r->block);
  return TG_OK;
}

/* Collective. *block is what is released, or what was made. */
static tg_status ask(tg_world* world, const char* what, tg_watched_call call, size_t bytes,
                     void** block) {
  request* r = NULL;
  bool left = false;
  tg_status status = TG_ALLOCATE(1, "symmetric memory", &r);
  /* all are here before a call that cannot be called back */
  status = tg_world_agree(world, status);
  if (status != TG_OK) {
    tg_free(r);
    return status;
  }
  r->device = link_of(world)->gpu.device;
  r->bytes = bytes;
  r->block = *block;
  status = tg_watched(world, what, call, r, &left);
  if (left) return status;
  *block = r->block;
  tg_free(r);
  return status;
}

static void forget(tg_symmetric* s) {
  tg_free(piece_of(s));
  tg_free(s->base);
  tg_free(s);
}

/* Collective. */
static tg_status release(tg_symmetric* s) {
  tg_status status = ask(s->world, "releasing symmetric memory", call_free, 0, &piece_of(s)->block);
  forget(s);
  return status;
}

/* What NVSHMEM would only say on stderr. */
static tg_status check_room(const tg_world* world, size_t bytes) {
  size_t free_bytes = 0;
  TG_TRY(tg_gpu_free_bytes(link_of(world)->gpu.device, &free_bytes));
  if (bytes <= free_bytes) return TG_OK;
  return tg_fail(TG_ERR_MACHINE,
                 "PE %d: symmetric memory of %zu bytes asked for, but GPU %d has %zu free; use "
                 "more PEs",
                 world->pe, bytes, link_of(world)->gpu.device, free_bytes);
}

tg_status tg_nvshmem_symmetric_create(tg_symmetric* s) {
  tg_world* world = s->world;
  tg_nvshmem_link* link = link_of(world);
  size_t bytes = tg_symmetric_block_bytes(s);
  piece* p = NULL;
  TG_TRY(tg_symmetric_reap(world, &link->symmetric, release));
  tg_status status = TG_ALLOCATE(1, "symmetric memory", &p);
  if (status == TG_OK) status = check_room(world, bytes);
  if (status == TG_OK)
    status = tg_gpu_link_reserve(&link->gpu, (size_t)s->signal_count * WORDS_PER_SIGNAL);
  status = tg_world_agree(world, status);
  if (status != TG_OK) goto fail;
  status =
      tg_world_agree(world, ask(world, "making symmetric memory", call_allocate, bytes, &p->block));
  if (status != TG_OK) goto fail;
  for (int q = 0; q < world->pe_count; q++)
    s->base[q] = q == world->pe ? p->block : tg_nvshmem_reach(p->block, q);
  s->on_device = true;
  s->share = p;
  s->number = ++link->symmetric_count;
  s->next = link->symmetric;
  link->symmetric = s;
  return TG_OK; /* the agreement came after the zeroes of all */
fail:
  tg_free(p);
  return status;
}

void tg_nvshmem_symmetric_destroy(tg_symmetric* s) { s->destroyed = true; }

tg_status tg_nvshmem_symmetric_end(tg_world* world, bool whole) {
  tg_nvshmem_link* link = link_of(world);
  tg_status status = TG_OK;
  link->alarm = NULL;
  while (link->symmetric) { /* in the same order on all PEs */
    tg_symmetric* s = link->symmetric;
    link->symmetric = s->next;
    if (whole && status == TG_OK)
      status = ask(world, "releasing symmetric memory", call_free, 0, &piece_of(s)->block);
    forget(s);
  }
  return status;
}

/* Whether data may be put as they are: NVSHMEM sends by the network only what lies in its heap. */
static bool can_leave(const tg_symmetric* s, int pe, const void* data) {
  if (!tg_gpu_holds(data)) return false;
  if (s->base[pe]) return true;
  const tg_nvshmem_link* link = link_of(s->world);
  for (const tg_symmetric* t = link->symmetric; t; t = t->next) {
    uintptr_t first = (uintptr_t)piece_of(t)->block;
    if ((uintptr_t)data >= first && (uintptr_t)data < first + t->bytes) return true;
  }
  return false;
}

/* Where other data go by way of the stage, a part at a time; all but the last part. */
static tg_status put_staged(tg_symmetric* s, int pe, char* to, const char** data, size_t* bytes) {
  tg_nvshmem_link* link = link_of(s->world);
  char* stage = link->alarm->base[s->world->pe] + TG_ALARM_BYTES;
  while (*bytes > TG_NVSHMEM_STAGE_BYTES) {
    TG_TRY(tg_gpu_store(&link->gpu, stage, *data, TG_NVSHMEM_STAGE_BYTES, s->world->deadline_s));
    TG_TRY(tg_nvshmem_put_only(&link->gpu, to, stage, TG_NVSHMEM_STAGE_BYTES, pe));
    to += TG_NVSHMEM_STAGE_BYTES;
    *data += TG_NVSHMEM_STAGE_BYTES;
    *bytes -= TG_NVSHMEM_STAGE_BYTES;
  }
  TG_TRY(tg_gpu_store(&link->gpu, stage, *data, *bytes, s->world->deadline_s));
  *data = stage;
  return TG_OK;
}

tg_status tg_nvshmem_symmetric_put(tg_symmetric* s, int pe, size_t offset, const void* data,
                                   size_t bytes, int signal, tg_signal_op op, uint64_t value) {
  tg_world* world = s->world;
  tg_nvshmem_link* link = link_of(world);
  char* to = s->base[world->pe] + offset;
  const char* from = data;
  size_t stride = 0, whole = bytes;
  uint64_t* counter = tg_symmetric_signals(s, &stride) + (size_t)signal * WORDS_PER_SIGNAL;
  tg_status status = TG_OK;
  if (bytes && !can_leave(s, pe, data)) {
    status = put_staged(s, pe, to, &from, &bytes);
    to += whole - bytes;
  }
  if (status == TG_OK)
    status = tg_nvshmem_put(&link->gpu, to, from, bytes, counter, op == TG_SIGNAL_ADD, value, pe);
  return status == TG_OK ? TG_OK : tg_world_give_up(world, status);
}

const uint64_t* tg_nvshmem_symmetric_values(const tg_symmetric* s) {
  tg_world* world = s->world;
  tg_nvshmem_link* link = link_of(world);
  size_t stride = 0;
  tg_status status = tg_gpu_fetch(&link->gpu, tg_symmetric_signals(s, &stride),
                                  (size_t)s->signal_count * WORDS_PER_SIGNAL, world->deadline_s);
  if (status != TG_OK) {
    tg_world_give_up(world, status);
    return NULL;
  }
  for (int i = 0; i < s->signal_count; i++)
    link->gpu.room[i] = link->gpu.room[(size_t)i * WORDS_PER_SIGNAL];
  return link->gpu.room;
}

tg_status tg_nvshmem_symmetric_wait(const tg_symmetric_wait_list* list, int* which) {
  tg_world* world = list->symmetric->world;
  double start = tg_time_now(), looked = start;
  for (;;) {
    if (tg_symmetric_arrived(list, which)) return TG_OK;
    double now = tg_time_now();
    if (now - start > busy_s) {
      struct timespec moment = {0, pause_ns};
      nanosleep(&moment, NULL);
    }
    if (now - looked < look_s) continue;
    looked = now;
    bool raised = false;
    TG_TRY(tg_nvshmem_heed_alarm(world, &raised));
    if (now - start > world->deadline_s) return tg_symmetric_late(list, now - start);
  }
}
