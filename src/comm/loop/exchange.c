/* SPDX-License-Identifier: Apache-2.0 */
/* Messages through mailboxes (the table in loop.h) and the collectives of shared memory. */
#include <sched.h>
#include <string.h>

#include "comm/loop/loop.h"

static tg_loop* shared(tg_world* world) { return ((tg_loop_link*)world->link)->loop; }

static tg_mailbox* mailbox(tg_loop* loop, int from, int to) {
  return &loop->mailboxes[(size_t)from * (size_t)loop->pe_count + (size_t)to];
}

static tg_status post(tg_world* world, const tg_message* message) {
  tg_loop* loop = shared(world);
  tg_mailbox* box = mailbox(loop, world->pe, message->to);
  uint64_t n = atomic_load_explicit(&box->posted, memory_order_relaxed) + 1;
  TG_TRY(tg_loop_wait(world, &box->taken, n - 1, message->to, "the receipt of a message"));
  box->bytes = message->send_bytes;
  box->data = message->send;
  if (message->send_bytes <= TG_LOOP_SMALL) {
    if (message->send_bytes) memcpy(box->small, message->send, message->send_bytes);
    box->data = box->small;
  }
  atomic_store(&box->posted, n);
  tg_loop_wake(loop, message->to);
  return TG_OK;
}

/* Copies a message that has been claimed. */
static tg_status take(tg_world* world, const tg_mailbox* box, const tg_message* message) {
  void* into = message->receive;
  if (message->grown) {
    TG_TRY(tg_reserve(box->bytes, 1, "a message", message->grown, message->capacity));
    into = *message->grown;
    *message->grown_bytes = box->bytes;
  } else if (box->bytes != message->receive_bytes) {
    return tg_fail(TG_ERR_INTERNAL, "PE %d expected %zu bytes from PE %d and was sent %zu",
                   world->pe, message->receive_bytes, message->from, box->bytes);
  }
  if (box->bytes) memcpy(into, box->data, box->bytes);
  return TG_OK;
}

static tg_status receive(tg_world* world, const tg_message* message) {
  tg_loop* loop = shared(world);
  tg_mailbox* box = mailbox(loop, message->from, world->pe);
  uint64_t before = atomic_load_explicit(&box->taken, memory_order_relaxed);
  TG_TRY(tg_loop_wait(world, &box->posted, before + 1, message->from, "a message"));
  uint64_t unclaimed = before;
  if (!atomic_compare_exchange_strong(&box->claimed, &unclaimed, before + 1))
    return tg_loop_aborted(world); /* withdrawn, which only happens in an aborted world */
  tg_status status = take(world, box, message);
  if (status != TG_OK) tg_world_give_up(world, status);
  atomic_store(&box->taken, before + 1);
  tg_loop_wake(loop, message->from);
  return status;
}

/* Returns when the sender's buffer is its own again. */
static tg_status finish(tg_world* world, const tg_message* message) {
  if (message->send_bytes <= TG_LOOP_SMALL) return TG_OK;
  tg_mailbox* box = mailbox(shared(world), world->pe, message->to);
  uint64_t n = atomic_load_explicit(&box->posted, memory_order_relaxed);
  tg_status status =
      tg_loop_wait(world, &box->taken, n, message->to, "the receipt of a large message");
  if (status == TG_OK) return TG_OK;
  uint64_t unclaimed = n - 1;
  if (!atomic_compare_exchange_strong(&box->claimed, &unclaimed, n))
    while (atomic_load_explicit(&box->taken, memory_order_acquire) < n) sched_yield();
  return status;
}

tg_status tg_loop_exchange(tg_world* world, const tg_message* message) {
  if (message->to != TG_NO_PE) TG_TRY(post(world, message));
  tg_status received = TG_OK, finished = TG_OK;
  if (message->from != TG_NO_PE) received = receive(world, message);
  if (message->to != TG_NO_PE) finished = finish(world, message);
  return received != TG_OK ? received : finished;
}

tg_status tg_loop_barrier(tg_world* world) {
  tg_loop* loop = shared(world);
  _Atomic uint64_t* mine = &loop->pes[world->pe].arrived;
  uint64_t n = atomic_load_explicit(mine, memory_order_relaxed) + 1;
  atomic_store(mine, n);
  if (atomic_fetch_add(&loop->waiting, 1) + 1 < loop->pe_count)
    return tg_loop_wait(world, &loop->passed, n, TG_NO_PE, "a collective call");
  atomic_store(&loop->waiting, 0);
  atomic_store(&loop->passed, n);
  for (int p = 0; p < loop->pe_count; p++)
    if (p != world->pe) tg_loop_wake(loop, p);
  return TG_OK;
}

/* Two sets of slots and one barrier are enough: a PE writes a set again only after the barrier of
 * the next gather, and whoever has come to that has finished reading this one. */
static unsigned char* next_slots(tg_world* world) {
  tg_loop_link* link = world->link;
  size_t set = (size_t)(link->gathers++ & 1);
  return link->loop->slots + set * (size_t)world->pe_count * TG_LOOP_GATHER;
}

tg_status tg_loop_all_gather(tg_world* world, const void* send, size_t bytes, void* gathered) {
  if (bytes > TG_LOOP_GATHER) return tg_messages_all_gather(world, send, bytes, gathered);
  unsigned char* slots = next_slots(world);
  if (bytes) memcpy(slots + (size_t)world->pe * TG_LOOP_GATHER, send, bytes);
  TG_TRY(tg_loop_barrier(world));
  for (size_t p = 0; p < (size_t)world->pe_count && bytes; p++)
    memcpy((char*)gathered + p * bytes, slots + p * TG_LOOP_GATHER, bytes);
  return TG_OK;
}

tg_status tg_loop_broadcast(tg_world* world, int root, void* data, size_t bytes) {
  if (bytes > TG_LOOP_GATHER) return tg_messages_broadcast(world, root, data, bytes);
  unsigned char* slot = next_slots(world) + (size_t)root * TG_LOOP_GATHER;
  if (world->pe == root && bytes) memcpy(slot, data, bytes);
  TG_TRY(tg_loop_barrier(world));
  if (world->pe != root && bytes) memcpy(data, slot, bytes);
  return TG_OK;
}
