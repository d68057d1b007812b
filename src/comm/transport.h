/* SPDX-License-Identifier: Apache-2.0 */
/** @file comm/transport.h  Between world.h and the transports; not for callers.
 *
 * A transport must move messages (exchange) and spread an abort. What else it lacks it inherits:
 * NULL entries of the table are served by the message versions at the end of this header. */
#ifndef TG_COMM_TRANSPORT_H
#define TG_COMM_TRANSPORT_H

#include <stdatomic.h>
#include <stdbool.h>

#include "comm/symmetric.h"

enum {
  TG_NO_PE = -1,           /* tg_message: nothing to send, or nothing to receive */
  TG_WORLD_MESSAGE = 2048, /* bytes of an error message that travels between PEs */
};

/** One send and one receive, under way at the same time. */
typedef struct tg_message {
  int to;
  const void* send; /* [send_bytes] */
  size_t send_bytes;
  int from;
  void* receive; /* [receive_bytes]: exactly so many are expected; unused where grown is set */
  size_t receive_bytes;
  void** grown; /* not NULL: grown by tg_reserve to what arrives */
  size_t* capacity;
  size_t* grown_bytes;
} tg_message;

/** Symmetric memory as one PE sees it. A PE's block: [bytes] of data, then its signals, each in a
 * cache line of its own. */
struct tg_symmetric {
  tg_world* world;
  size_t bytes;
  int signal_count;
  char** base;        /* [pe_count] the blocks; NULL: out of reach */
  bool on_device;     /* they are not for the host to load and store */
  uint64_t number;    /* of its creation in this world, from 1 */
  void* share;        /* the transport's */
  bool destroyed;     /* mpi, nvshmem: by this PE; others may not have got so far */
  tg_symmetric* next; /* mpi, socket, nvshmem: all that exist here, the newest first */
};

/** Waiting for any of several signals to be >= value. */
typedef struct tg_symmetric_wait_list {
  tg_symmetric* symmetric;
  const tg_symmetric_source* sources; /* [count] */
  int count;
  uint64_t value;
} tg_symmetric_wait_list;

typedef struct tg_transport_ops {
  const char* name;
  /** As tg_world_close. */
  tg_status (*close)(tg_world** world, tg_status status);
  /** As tg_world_device; NULL: there is none. */
  void (*device)(const tg_world* world, int* device, void** stream);
  /** As tg_world_alarm; NULL: there is none. */
  tg_symmetric* (*alarm)(const tg_world* world);
  /** Looks whether a kernel has raised it; then as aborted, once the words have come. */
  tg_status (*heed_alarm)(tg_world* world, bool* raised);
  /** to and from are other PEs, or TG_NO_PE. */
  tg_status (*exchange)(tg_world* world, const tg_message* message);
  tg_status (*barrier)(tg_world* world);
  /** receive: [pe_count][bytes], in PE order. */
  tg_status (*all_gather)(tg_world* world, const void* send, size_t bytes, void* receive);
  tg_status (*broadcast)(tg_world* world, int root, void* data, size_t bytes);
  /** Makes the world aborted with this status and message, unless it is already. */
  void (*abort)(tg_world* world, tg_status status, const char* message);
  /** TG_OK, or the status of the abort, its message set. */
  tg_status (*aborted)(tg_world* world);
  /** After a signal of pe has been raised by a store; NULL: its waits poll. */
  void (*wake)(tg_world* world, int pe);
  /** Collective: fills in base; on failure leaves nothing behind that is not its own. */
  tg_status (*symmetric_create)(tg_symmetric* symmetric);
  /** Local: releases symmetric itself too, in time. */
  void (*symmetric_destroy)(tg_symmetric* symmetric);
  /** To a PE whose base is NULL; to all where the memory is on_device. */
  tg_status (*symmetric_put)(tg_symmetric* symmetric, int pe, size_t offset, const void* data,
                             size_t bytes, int signal, tg_signal_op op, uint64_t value);
  /** This PE's signals, all of them: [signal_count], valid until the next call; only where the
   * memory is on_device. NULL: it cannot be read (the world is aborted then). */
  const uint64_t* (*symmetric_values)(const tg_symmetric* symmetric);
  /** Takes in what has been put by message; NULL: nothing ever is. */
  void (*symmetric_progress)(tg_world* world);
  tg_status (*symmetric_wait)(const tg_symmetric_wait_list* list, int* which);
} tg_transport_ops;

struct tg_world {
  const tg_transport_ops* ops;
  void* link; /* the transport's part of this PE */
  int pe, pe_count;
  int node_pe,
      node_pe_count; /* this PE among those of its machine; tg_world_init: all are on one */
  double deadline_s;
  tg_status agreed; /* the failure that the latest call agreed on, else TG_OK */
  const char* note; /* what this PE is doing, for messages; NULL: nothing in particular */
  int64_t note_part, note_turn;
  char* gathered; /* scratch of the reductions */
  size_t gathered_capacity;
  char* work; /* scratch of the message versions */
  size_t work_capacity;
};

/** Runs a world of one transport, as tg_world_run. */
tg_status tg_loop_run(const tg_world_params* params, tg_world_main main, void* context);
tg_status tg_mpi_run(const tg_world_params* params, tg_world_main main, void* context);
tg_status tg_socket_run(const tg_world_params* params, tg_world_main main, void* context);

/** A world that is not run but opened; loop: of one PE. Closing agrees on nothing. */
tg_status tg_loop_open(const tg_world_params* params, tg_world** out);
tg_status tg_loop_close(tg_world** world, tg_status status);
tg_status tg_mpi_open(const tg_world_params* params, tg_world** out);
tg_status tg_mpi_open_fortran(const tg_world_params* params, int communicator, tg_world** out);
tg_status tg_mpi_close(tg_world** world, tg_status status);
/** Whether MPI can be used here and now: built in, initialised, and not yet finalised. */
bool tg_mpi_usable(void);
tg_status tg_nvshmem_open(const tg_world_params* params, tg_world** out);
tg_status tg_nvshmem_run(const tg_world_params* params, tg_world_main main, void* context);
/** Whether the environment says where PEs meet. */
bool tg_socket_usable(void);
/** Collective; as the environment says (comm/socket/rendezvous.h). */
tg_status tg_socket_open(const tg_world_params* params, tg_world** out);
tg_status tg_socket_close(tg_world** world, tg_status status);
/** Whether this machine lets two ends of a connection meet; its message says why not. */
tg_status tg_socket_check(void);

/** Fills in what the transports have in common. */
void tg_world_init(tg_world* world, const tg_transport_ops* ops, void* link, int pe, int pe_count,
                   double deadline_s);
/** Collective: asks all PEs on which machine they run, and sets node_pe and node_pe_count. */
tg_status tg_world_find_node(tg_world* world);
/** Runs main on this PE; a failure that was not agreed aborts the world. */
tg_status tg_world_call_main(tg_world* world, tg_world_main main, void* context);
/** Releases the scratch. */
void tg_world_release(tg_world* world);

/** Aborts the world with a failure whose message is this thread's; returns status. */
tg_status tg_world_give_up(tg_world* world, tg_status status);

/** The message of a wait that met its deadline; aborts the world and returns TG_ERR_MACHINE. */
tg_status tg_world_late(tg_world* world, double waited_s, int partner, const char* what);

/** The message of a wait that ends because PE lost is gone; aborts the world and returns
 * TG_ERR_MACHINE. what: NULL: it was found out without a wait. */
tg_status tg_world_lost(tg_world* world, int lost, int partner, const char* what);

/** A signal of pe, whose block must be in reach; on a device: its address there. */
_Atomic uint64_t* tg_symmetric_counter(const tg_symmetric* symmetric, int pe, int signal);
/** Bytes of data and signals of one PE. */
size_t tg_symmetric_block_bytes(const tg_symmetric* symmetric);
void tg_symmetric_raise(_Atomic uint64_t* counter, tg_signal_op op, uint64_t value);
/** The value of a signal of this PE (acquire); 0 where it cannot be read. */
uint64_t tg_symmetric_value(const tg_symmetric* symmetric, int signal);
/** Collective, for transports whose memory only all PEs together can release: takes what all of
 * them have destroyed, of the 512 newest, off the list, which is the same on all PEs, and releases
 * it. A failed release ends it. */
tg_status tg_symmetric_reap(tg_world* world, tg_symmetric** list,
                            tg_status (*release)(tg_symmetric* symmetric));
/** Whether one has arrived, and which. */
bool tg_symmetric_arrived(const tg_symmetric_wait_list* list, int* which);
/** "signal 3 (it is 41, at least 42 was expected)", of the first of the list. */
void tg_symmetric_awaited(const tg_symmetric_wait_list* list, char* text, size_t size);
/** As tg_world_late, for the first of the list; returns the status of the abort that counts. */
tg_status tg_symmetric_late(const tg_symmetric_wait_list* list, double waited_s);

/** Barrier (dissemination), all-gather (Bruck) and broadcast (binomial tree) by messages. */
tg_status tg_messages_barrier(tg_world* world);
tg_status tg_messages_all_gather(tg_world* world, const void* send, size_t bytes, void* receive);
tg_status tg_messages_broadcast(tg_world* world, int root, void* data, size_t bytes);

#endif
