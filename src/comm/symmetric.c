/* SPDX-License-Identifier: Apache-2.0 */
/* Symmetric memory: what the transports share. */
#include "comm/symmetric.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "comm/transport.h"

static tg_status check_same(tg_world* world, size_t bytes, int signal_count) {
  int64_t values[4] = {(int64_t)bytes, -(int64_t)bytes, signal_count, -(int64_t)signal_count};
  TG_TRY(tg_world_max_int64(world, values, 4));
  if (values[0] == -values[1] && values[2] == -values[3]) return TG_OK;
  tg_fail(TG_ERR_INTERNAL,
          "symmetric memory: PE %d asks for %zu bytes and %d signals, another PE for up to %lld "
          "and %lld; they must be the same",
          world->pe, bytes, signal_count, (long long)values[0], (long long)values[2]);
  return tg_world_agree(world, TG_ERR_INTERNAL);
}

tg_status tg_symmetric_create(tg_world* world, size_t bytes, int signal_count, tg_symmetric** out) {
  *out = NULL;
  TG_TRY(check_same(world, bytes, signal_count));
  tg_symmetric* s = NULL;
  size_t pes = (size_t)world->pe_count;
  tg_status status = TG_ALLOCATE(1, "symmetric memory", &s);
  if (status == TG_OK) {
    s->world = world;
    s->bytes = (bytes / TG_CACHE_LINE + 1) * TG_CACHE_LINE; /* never none */
    s->signal_count = signal_count;
    status = TG_ALLOCATE(pes, "symmetric memory", &s->base);
  }
  status = tg_world_agree(world, status);
  if (status == TG_OK) status = world->ops->symmetric_create(s);
  if (status != TG_OK) {
    if (s) tg_free(s->base);
    tg_free(s);
    return status;
  }
  *out = s;
  return TG_OK;
}

void tg_symmetric_destroy(tg_symmetric** symmetric) {
  if (!symmetric || !*symmetric) return;
  (*symmetric)->world->ops->symmetric_destroy(*symmetric);
  *symmetric = NULL;
}

tg_status tg_symmetric_reap(tg_world* world, tg_symmetric** list,
                            tg_status (*release)(tg_symmetric* symmetric)) {
  enum { MOST = 512 };
  int64_t kept[MOST];
  int count = 0;
  for (tg_symmetric* s = *list; s && count < MOST; s = s->next) kept[count++] = !s->destroyed;
  if (count == 0) return TG_OK;
  TG_TRY(tg_world_max_int64(world, kept, (size_t)count));
  for (int i = 0; i < count; i++) {
    tg_symmetric* s = *list;
    if (kept[i]) {
      list = &s->next;
      continue;
    }
    *list = s->next;
    TG_TRY(release(s));
  }
  return TG_OK;
}

void* tg_symmetric_local(const tg_symmetric* s) { return s->base[s->world->pe]; }
void* tg_symmetric_peer(const tg_symmetric* s, int pe) { return s->base[pe]; }

uint64_t* tg_symmetric_signals(const tg_symmetric* s, size_t* stride) {
  *stride = TG_CACHE_LINE;
  return (uint64_t*)(void*)(s->base[s->world->pe] + s->bytes);
}

_Atomic uint64_t* tg_symmetric_counter(const tg_symmetric* s, int pe, int signal) {
  /* signals follow the data, each in a cache line of its own */
  return (_Atomic uint64_t*)(void*)(s->base[pe] + s->bytes + (size_t)signal * TG_CACHE_LINE);
}

size_t tg_symmetric_block_bytes(const tg_symmetric* s) {
  return s->bytes + (size_t)s->signal_count * TG_CACHE_LINE;
}

void tg_symmetric_raise(_Atomic uint64_t* counter, tg_signal_op op, uint64_t value) {
  /* sequentially consistent, as a sleeping reader demands (loop/wait.c) */
  if (op == TG_SIGNAL_ADD)
    atomic_fetch_add(counter, value);
  else
    atomic_store(counter, value);
}

tg_status tg_symmetric_put(tg_symmetric* s, int pe, size_t offset, const void* data, size_t bytes,
                           int signal, tg_signal_op op, uint64_t value) {
  tg_world* world = s->world;
  if (pe < 0 || pe >= world->pe_count || signal < 0 || signal >= s->signal_count ||
      offset > s->bytes || bytes > s->bytes - offset) {
    tg_fail(TG_ERR_INTERNAL,
            "PE %d puts %zu bytes at offset %zu of PE %d with signal %d; there are %zu bytes and "
            "%d signals on %d PEs",
            world->pe, bytes, offset, pe, signal, s->bytes, s->signal_count, world->pe_count);
    return tg_world_give_up(world, TG_ERR_INTERNAL);
  }
  if (!s->base[pe] || s->on_device)
    return world->ops->symmetric_put(s, pe, offset, data, bytes, signal, op, value);
  if (bytes) memcpy(s->base[pe] + offset, data, bytes);
  tg_symmetric_raise(tg_symmetric_counter(s, pe, signal), op, value);
  if (world->ops->wake) world->ops->wake(world, pe);
  return TG_OK;
}

tg_status tg_symmetric_signal(tg_symmetric* s, int pe, int signal, tg_signal_op op,
                              uint64_t value) {
  return tg_symmetric_put(s, pe, 0, NULL, 0, signal, op, value);
}

uint64_t tg_symmetric_read(tg_symmetric* s, int signal) {
  if (s->world->ops->symmetric_progress) s->world->ops->symmetric_progress(s->world);
  return tg_symmetric_value(s, signal);
}

uint64_t tg_symmetric_value(const tg_symmetric* s, int signal) {
  if (!s->on_device) return atomic_load(tg_symmetric_counter(s, s->world->pe, signal));
  const uint64_t* values = s->world->ops->symmetric_values(s);
  return values ? values[signal] : 0;
}

bool tg_symmetric_arrived(const tg_symmetric_wait_list* list, int* which) {
  const tg_symmetric* s = list->symmetric;
  const uint64_t* values = NULL;
  if (s->on_device) { /* one copy for all of them */
    values = s->world->ops->symmetric_values(s);
    if (!values) return false;
  }
  for (int i = 0; i < list->count; i++) {
    int signal = list->sources[i].signal;
    uint64_t value =
        values ? values[signal] : atomic_load(tg_symmetric_counter(s, s->world->pe, signal));
    if (value < list->value) continue;
    *which = i;
    return true;
  }
  return false;
}

void tg_symmetric_awaited(const tg_symmetric_wait_list* list, char* text, size_t size) {
  const tg_symmetric* s = list->symmetric;
  const tg_symmetric_source* source = &list->sources[0];
  snprintf(text, size, "signal %d (it is %llu, at least %llu was expected)", source->signal,
           (unsigned long long)tg_symmetric_value(s, source->signal),
           (unsigned long long)list->value);
}

tg_status tg_symmetric_late(const tg_symmetric_wait_list* list, double waited_s) {
  tg_world* world = list->symmetric->world;
  char what[128];
  tg_symmetric_awaited(list, what, sizeof what);
  tg_world_late(world, waited_s, list->sources[0].pe, what);
  return world->ops->aborted(world); /* another PE's abort may have come first */
}

tg_status tg_symmetric_wait_any(tg_symmetric* s, const tg_symmetric_source* sources, int count,
                                uint64_t value, int* which) {
  tg_symmetric_wait_list list = {
      .symmetric = s, .sources = sources, .count = count, .value = value};
  /* the abort is looked for by waits that have to wait; what is here may be used */
  if (tg_symmetric_arrived(&list, which)) return TG_OK;
  return s->world->ops->symmetric_wait(&list, which);
}

tg_status tg_symmetric_wait(tg_symmetric* s, tg_symmetric_source source, uint64_t value) {
  int which = 0;
  return tg_symmetric_wait_any(s, &source, 1, value, &which);
}
