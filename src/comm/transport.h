/* SPDX-License-Identifier: Apache-2.0 */
/** @file comm/transport.h  Between world.h and the transports; not for callers.
 *
 * A transport must move messages (exchange) and spread an abort. What else it lacks it inherits:
 * NULL entries of the table are served by the message versions at the end of this header. */
#ifndef TG_COMM_TRANSPORT_H
#define TG_COMM_TRANSPORT_H

#include "comm/world.h"

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

typedef struct tg_transport_ops {
  const char* name;
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
} tg_transport_ops;

struct tg_world {
  const tg_transport_ops* ops;
  void* link; /* the transport's part of this PE */
  int pe, pe_count;
  double deadline_s;
  tg_status agreed; /* the failure that the latest call agreed on, else TG_OK */
  char* gathered;   /* scratch of the reductions */
  size_t gathered_capacity;
  char* work; /* scratch of the message versions */
  size_t work_capacity;
};

/** Runs a world of one transport, as tg_world_run. */
tg_status tg_loop_run(const tg_world_params* params, tg_world_main main, void* context);
tg_status tg_mpi_run(const tg_world_params* params, tg_world_main main, void* context);

/** Fills in what the transports have in common. */
void tg_world_init(tg_world* world, const tg_transport_ops* ops, void* link, int pe, int pe_count,
                   double deadline_s);
/** Runs main on this PE; a failure that was not agreed aborts the world. */
tg_status tg_world_call_main(tg_world* world, tg_world_main main, void* context);
/** Releases the scratch. */
void tg_world_release(tg_world* world);

/** Aborts the world with a failure whose message is this thread's; returns status. */
tg_status tg_world_give_up(tg_world* world, tg_status status);

/** The message of a wait that met its deadline; aborts the world and returns TG_ERR_MACHINE. */
tg_status tg_world_late(tg_world* world, double waited_s, int partner, const char* what);

/** Barrier (dissemination), all-gather (Bruck) and broadcast (binomial tree) by messages. */
tg_status tg_messages_barrier(tg_world* world);
tg_status tg_messages_all_gather(tg_world* world, const void* send, size_t bytes, void* receive);
tg_status tg_messages_broadcast(tg_world* world, int root, void* data, size_t bytes);

#endif
