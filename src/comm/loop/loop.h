/* SPDX-License-Identifier: Apache-2.0 */
/** @file comm/loop/loop.h  Transport loop: the PEs are threads of one process.
 *
 * Every wait is for a 64-bit counter that only rises: *greater or equal* ends it, nothing is ever
 * reset. A message from a to b, through the mailbox of the ordered pair:
 *
 * - 1. a waits for taken >= n-1, sets data and bytes
 * - 2. a sets posted = n (release) and wakes b; b waits for posted >= n (acquire)
 * - 3. b moves claimed from n-1 to n, then copies the data
 * - 4. b sets taken = n (release) and wakes a; a waits for taken >= n for large messages only
 *
 * Small messages are copied into the mailbox, so that a need not wait; large ones are copied once,
 * straight from a's buffer to b's. When the world is aborted during step 4, a withdraws the message
 * by making claimed n itself; should b have been first, a waits until b has copied: nobody reads a
 * buffer that its owner has taken back. */
#ifndef TG_COMM_LOOP_LOOP_H
#define TG_COMM_LOOP_LOOP_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/memory.h"
#include "comm/transport.h"

enum {
  TG_LOOP_SMALL = 1024,  /* bytes of a message that travel inside the mailbox */
  TG_LOOP_GATHER = 4096, /* bytes per PE of an all-gather through shared slots */
};

typedef struct tg_mailbox {
  _Alignas(TG_CACHE_LINE) _Atomic uint64_t posted;
  const void* data;
  size_t bytes;
  _Alignas(TG_CACHE_LINE) _Atomic uint64_t claimed;
  _Atomic uint64_t taken;
  _Alignas(TG_CACHE_LINE) unsigned char small[TG_LOOP_SMALL];
} tg_mailbox;

typedef struct tg_loop_pe {
  _Alignas(TG_CACHE_LINE) _Atomic uint32_t doorbell; /* what a sleeping PE sleeps on */
  _Atomic uint32_t asleep;
  _Atomic uint64_t arrived; /* barriers that this PE has come to */
} tg_loop_pe;

/** What the PEs share. */
typedef struct tg_loop {
  int pe_count;
  bool spin;              /* there is a core for each PE */
  tg_loop_pe* pes;        /* [pe_count] */
  tg_mailbox* mailboxes;  /* [pe_count (from)][pe_count (to)] */
  unsigned char* slots;   /* [2][pe_count][TG_LOOP_GATHER] */
  tg_status abort_status; /* these two: valid from abort_state 2 on */
  char abort_message[TG_WORLD_MESSAGE];
  _Alignas(TG_CACHE_LINE) _Atomic int abort_state; /* 0: none, 1: being written, 2: aborted */
  _Alignas(TG_CACHE_LINE) _Atomic int waiting;     /* PEs in the current barrier */
  _Alignas(TG_CACHE_LINE) _Atomic uint64_t passed; /* barriers completed */
} tg_loop;

/** One PE's view. */
typedef struct tg_loop_link {
  tg_loop* loop;
  uint64_t gathers; /* all-gathers through the slots so far; its parity picks the slots */
} tg_loop_link;

/** Waits until *counter >= value. partner: who will raise it, TG_NO_PE: the barrier's latecomers.
 * On a deadline or an abort: the abort's status and message. */
tg_status tg_loop_wait(tg_world* world, const _Atomic uint64_t* counter, uint64_t value,
                       int partner, const char* what);
/** Wakes a PE whose counter has just been raised (by a sequentially consistent store). */
void tg_loop_wake(tg_loop* loop, int pe);

/** tg_loop_wake as the table wants it. */
void tg_loop_wake_pe(tg_world* world, int pe);
tg_status tg_loop_symmetric_create(tg_symmetric* symmetric);
void tg_loop_symmetric_destroy(tg_symmetric* symmetric);
tg_status tg_loop_symmetric_wait(const tg_symmetric_wait_list* list, int* which);

void tg_loop_abort(tg_world* world, tg_status status, const char* message);
tg_status tg_loop_aborted(tg_world* world);

tg_status tg_loop_exchange(tg_world* world, const tg_message* message);
tg_status tg_loop_barrier(tg_world* world);
tg_status tg_loop_all_gather(tg_world* world, const void* send, size_t bytes, void* receive);
tg_status tg_loop_broadcast(tg_world* world, int root, void* data, size_t bytes);

#endif
