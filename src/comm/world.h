/* SPDX-License-Identifier: Apache-2.0 */
/** @file comm/world.h  Processing elements (PEs) and what they say to each other on the host.
 *
 * A *world* is a set of PEs numbered 0..count-1. Transports: `loop` (all PEs are threads of one
 * process), `mpi` and `socket` (a process each, started by an MPI launcher or by anything else) and
 * `nvshmem` (a process and a GPU each; messages go by mpi or socket, symmetric memory lies on the
 * GPUs). A call is *collective* when every PE must make it, in the same order; otherwise it is
 * *local*. A tg_world belongs to one PE and to one thread.
 *
 * Waiting PEs spin briefly, then yield the processor: more PEs than cores must not crawl. A wait
 * has a deadline (params.deadline_s); when it expires, the wait ends with TG_ERR_MACHINE naming who
 * waited for whom, and the world is *aborted*, as it is when a PE calls tg_world_abort or when its
 * main returns a failure that was not agreed: every wait ends, and every later call fails at once,
 * with the status and the message of the first abort. */
#ifndef TG_COMM_WORLD_H
#define TG_COMM_WORLD_H

#include <stddef.h>
#include <stdint.h>
#include <throng/world.h>

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tg_world_params {
  const char* transport; /* "loop", "mpi", "socket" or "nvshmem"; NULL: socket where TG_BOOTSTRAP is
                            set, else mpi under a launcher with more than one rank, else loop */
  int pe_count;      /* loop: how many; else 0 (as many as there are) or that many, else an error */
  double deadline_s; /* seconds a wait may last; <= 0: the default, 60 */
  const void* communicator; /* mpi: points to the caller's MPI_Comm (duplicated); NULL: all */
  int node_size; /* mpi: PEs per node that share memory, so that a larger machine can be tried on a
                    smaller one; 0: TG_NODE_SIZE from the environment, else all of a machine */
  const int* device; /* nvshmem: points to the number of this PE's GPU; NULL: tg_world_node_pe
                        modulo the number of GPUs. No two PEs may have the same */
  void* stream;      /* nvshmem: the caller's cudaStream_t, of that GPU; it must outlive the world;
                        NULL: one of the world's own */
} tg_world_params;

/** What one PE does. Its status is the PE's result. */
typedef tg_status (*tg_world_main)(tg_world* world, void* context);

/** Makes a world, runs main on each PE of it that lives in this process (threads for loop; the
 * calling thread for mpi and socket, and for a single PE), ends it. Collective over the processes.
 * Returns the status of the lowest-numbered PE that failed first, with its message, on every
 * process. For mpi, MPI must have been initialised by the caller (the program does it, never the
 * library); TG_ERR_MACHINE when throng was built without MPI. A PE whose process never returns from
 * main holds up MPI_Finalize of the others: after a failure a program that must end calls MPI_Abort
 * with its exit code instead. */
tg_status tg_world_run(const tg_world_params* params, tg_world_main main, void* context);

/** Collective: makes a world that the calling thread then uses: transport mpi, socket, or loop
 * with a single PE. MPI must have been initialised by the caller, and is finalised by it, after the
 * close.
 */
tg_status tg_world_open(const tg_world_params* params, tg_world** out);

/** True when this process was started by an MPI launcher with more than one rank (environment
 * only). */
int tg_world_under_launcher(void);

/** "loop", "mpi", "socket" or "nvshmem". */
const char* tg_world_transport(const tg_world* world);
/** Whether each PE is a process of its own; else all are threads of one. */
int tg_world_of_processes(const tg_world* world);

/** Local: the number of this PE among those that run on the same machine, and how many they are
 * (whatever node_size says). A PE of another transport than nvshmem that wants a GPU of its own
 * takes the one of its number. */
int tg_world_node_pe(const tg_world* world);
int tg_world_node_pe_count(const tg_world* world);

/** Local: the GPU of this PE, and the stream (a cudaStream_t) in whose order its puts are done.
 * TG_ERR_INPUT where the world has no GPU. */
tg_status tg_world_device(const tg_world* world, int* device, void** stream);

/** Local: what this PE does from now on, for the message of a wait that meets its deadline: "what
 * part, exchange turn". what is not copied; NULL: nothing in particular. */
void tg_world_note(tg_world* world, const char* what, int64_t part, int64_t turn);

/** Collective. Returns when all have arrived. */
tg_status tg_world_barrier(tg_world* world);

/** Collective: element-wise maximum / sum of integers. */
tg_status tg_world_max_int64(tg_world* world, int64_t* values, size_t count);
tg_status tg_world_sum_int64(tg_world* world, int64_t* values, size_t count);

/** Sends send_bytes to PE `to` and receives exactly receive_bytes from PE `from`; each PE must be
 * named by its partner in the same call order. to or from may be this PE (a copy). Zero bytes are a
 * message too. Buffers may not overlap. Both are free for use on return. */
tg_status tg_world_exchange(tg_world* world, int to, const void* send, size_t send_bytes, int from,
                            void* receive, size_t receive_bytes);

/** As tg_world_exchange where the receiver does not know the size: *receive (grown by tg_reserve,
 * *capacity in bytes) holds the message, *receive_bytes its size. */
tg_status tg_world_exchange_any(tg_world* world, int to, const void* send, size_t send_bytes,
                                int from, void** receive, size_t* capacity, size_t* receive_bytes);

/** Collective: PE p's `bytes` bytes land at root in PE order in *gathered (root only: grown by
 * tg_reserve, capacity in bytes); sizes: [pe_count] bytes from each, root only (may be NULL). */
tg_status tg_world_gather(tg_world* world, int root, const void* send, size_t bytes,
                          void** gathered, size_t* capacity, size_t* sizes);

/** Collective: every PE's `bytes` bytes (the same number on all) land on every PE in PE order;
 * receive: [pe_count][bytes]. */
tg_status tg_world_all_gather(tg_world* world, const void* send, size_t bytes, void* receive);

/** Collective: root's bytes to all. */
tg_status tg_world_broadcast(tg_world* world, int root, void* data, size_t bytes);

/** Collective: agrees on a status. If any PE brings other than TG_OK, all return the status of the
 * lowest-numbered such PE and carry its message. */
tg_status tg_world_agree(tg_world* world, tg_status status);

/** Local: tells all PEs that this one gives up; every wait ends. */
void tg_world_abort(tg_world* world, tg_status status);

#ifdef __cplusplus
}
#endif
#endif
