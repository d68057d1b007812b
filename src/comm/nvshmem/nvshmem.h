/* SPDX-License-Identifier: Apache-2.0 */
/** @file comm/nvshmem/nvshmem.h  Transport nvshmem: a process and a GPU per PE.
 *
 * Messages, barriers, gathers, agreements and aborts go by a *host* world underneath (mpi, or what
 * else the processes have); NVSHMEM is started with an id that the host world hands round, and
 * serves symmetric memory only. NVSHMEM keeps the set of processes, their order and the devices of
 * its first start for as long as the process lives: what it is given at a second start it ignores.
 * So it is started once, never ended, and every later world must have the same.
 *
 * NVSHMEM's collective calls wait for ever for a process that is gone. They are made by a thread of
 * their own (watched.c), which is left behind when the deadline or an abort comes; the process's
 * exit is then made short (flushed streams, no further clean-up), for what that thread uses must
 * stay. */
#ifndef TG_COMM_NVSHMEM_NVSHMEM_H
#define TG_COMM_NVSHMEM_NVSHMEM_H

#include "comm/nvshmem/gpu.h"
#include "comm/transport.h"

enum { TG_NVSHMEM_STAGE_BYTES = 1 << 20 };

typedef struct tg_nvshmem_link {
  tg_world* host;
  tg_gpu_link gpu;
  tg_symmetric* symmetric; /* all that exist, the newest first; destroyed ones until all agree */
  uint64_t symmetric_count;
  tg_symmetric* alarm; /* [TG_ALARM_BYTES], then the stage for puts of host memory */
  bool alarm_raised;   /* by this PE, at its own or all */
  double alarm_seen;   /* when it was first found raised though nobody had aborted; 0: never */
} tg_nvshmem_link;

/** What runs elsewhere. argument: from tg_allocate, released here, or left to a thread that was
 * left behind. */
typedef tg_status (*tg_watched_call)(void* argument);

/** Runs call in a thread; argument must be one piece of memory. Waits for it until the deadline or
 * an abort: then the world is aborted, NVSHMEM is of no further use in this process
 * (tg_nvshmem_lost), and the thread is left behind with argument. *left: that happened; else
 * argument is still the caller's. */
tg_status tg_watched(tg_world* world, const char* what, tg_watched_call call, void* argument,
                     bool* left);
bool tg_nvshmem_lost(void);
/** How much longer than the deadline such a call may take, s: it also works, where a wait only
 * waits. A test makes it small. */
extern double tg_nvshmem_allowance_s;

/** The host world, told what this PE is doing. */
tg_world* tg_nvshmem_host(const tg_world* world);
/** Raises the alarm of this PE, or of all. */
void tg_nvshmem_raise_alarm(tg_world* world, bool all);
/** As heed_alarm of the table. */
tg_status tg_nvshmem_heed_alarm(tg_world* world, bool* raised);

tg_status tg_nvshmem_symmetric_create(tg_symmetric* symmetric);
void tg_nvshmem_symmetric_destroy(tg_symmetric* symmetric);
tg_status tg_nvshmem_symmetric_put(tg_symmetric* symmetric, int pe, size_t offset, const void* data,
                                   size_t bytes, int signal, tg_signal_op op, uint64_t value);
const uint64_t* tg_nvshmem_symmetric_values(const tg_symmetric* symmetric);
tg_status tg_nvshmem_symmetric_wait(const tg_symmetric_wait_list* list, int* which);
/** Collective, in a world that is whole: releases all symmetric memory. Else: forgets it. */
tg_status tg_nvshmem_symmetric_end(tg_world* world, bool whole);

#endif
