/* SPDX-License-Identifier: Apache-2.0 */
/** @file comm/mpi/channel.h  Transport mpi: a process per PE, nonblocking messages, every wait
 * polled.
 *
 * Three communicators, all duplicates of the caller's: `data` for messages, `control` for the
 * notice of an abort and for the outcome at the end, `puts` for puts into symmetric memory that no
 * store reaches; and `node`, the PEs whose symmetric memory stores do reach. A message travels as
 * pieces of exactly tg_mpi_piece bytes, closed by one that is shorter (it may be empty), so that
 * messages may exceed MPI's int counts and the receiver need not know the size. */
#ifndef TG_COMM_MPI_CHANNEL_H
#define TG_COMM_MPI_CHANNEL_H

#ifdef TG_HAVE_MPI
#include <mpi.h>
#include <stdbool.h>

#include "comm/outcome.h"
#include "comm/transport.h"

enum { TG_MPI_TAG_DATA = 1, TG_MPI_TAG_ABORT = 2, TG_MPI_TAG_OUTCOME = 3, TG_MPI_TAG_PUT = 4 };

/** A put on its way. */
typedef struct tg_mpi_put {
  struct tg_mpi_put* next;
  MPI_Request request;
  char* message; /* in the same piece of memory */
} tg_mpi_put;

typedef struct tg_mpi_link {
  MPI_Comm data, control, puts, node;
  int* node_rank;           /* [pe_count] in node; TG_NO_PE: elsewhere */
  int node_count;           /* PEs in node */
  tg_symmetric* symmetric;  /* all that exist, the newest first; destroyed ones until all agree */
  uint64_t symmetric_count; /* created so far */
  tg_mpi_put* sending;
  int64_t *put_to, *put_from; /* [pe_count] messages sent and taken in */
  char* arriving;             /* scratch of a put being taken in */
  size_t arriving_capacity;
  bool spin;        /* there is a core for each PE of this machine */
  tg_outcome abort; /* valid once abort.aborted */
  /* an abort being sent, [pe_count]; not released unless it has all been sent */
  MPI_Request* abort_requests;
} tg_mpi_link;

/** Bytes of a piece; a test makes it small. The same on all PEs. */
extern size_t tg_mpi_piece;

tg_status tg_mpi_exchange(tg_world* world, const tg_message* message);
void tg_mpi_abort(tg_world* world, tg_status status, const char* message);
/** As aborted() of the table: what is known here, without looking for news. */
tg_status tg_mpi_aborted(tg_world* world);
/** Looks for the notice of an abort; then as tg_mpi_aborted. */
tg_status tg_mpi_poll_abort(tg_world* world);

/** Collective: finds out who shares memory; node_size as in tg_world_params. */
tg_status tg_mpi_node_create(tg_world* world, int node_size);
/** Collective, in a world that is whole: takes in all puts, and releases all symmetric memory. */
void tg_mpi_node_end(tg_world* world);
tg_status tg_mpi_symmetric_create(tg_symmetric* symmetric);
void tg_mpi_symmetric_destroy(tg_symmetric* symmetric);
tg_status tg_mpi_symmetric_put(tg_symmetric* symmetric, int pe, size_t offset, const void* data,
                               size_t bytes, int signal, tg_signal_op op, uint64_t value);
void tg_mpi_symmetric_progress(tg_world* world);
tg_status tg_mpi_symmetric_wait(const tg_symmetric_wait_list* list, int* which);

/** The pace of a wait: call once per round of polling that moved nothing. */
typedef struct tg_mpi_pace {
  double start;
  unsigned rounds;
} tg_mpi_pace;
void tg_mpi_pause(const tg_mpi_link* link, tg_mpi_pace* pace);

#endif
#endif
