/* SPDX-License-Identifier: Apache-2.0 */
/** @file comm/mpi/channel.h  Transport mpi: a process per PE, nonblocking messages, every wait
 * polled.
 *
 * Two communicators, both duplicates of MPI_COMM_WORLD: `data` for messages, `control` for the
 * notice of an abort and for the outcome at the end. A message travels as pieces of exactly
 * tg_mpi_piece bytes, closed by one that is shorter (it may be empty), so that messages may exceed
 * MPI's int counts and the receiver need not know the size. */
#ifndef TG_COMM_MPI_CHANNEL_H
#define TG_COMM_MPI_CHANNEL_H

#ifdef TG_HAVE_MPI
#include <mpi.h>
#include <stdbool.h>

#include "comm/transport.h"

enum { TG_MPI_TAG_DATA = 1, TG_MPI_TAG_ABORT = 2, TG_MPI_TAG_OUTCOME = 3 };

/** How a PE fares, as it travels. origin: the PE whose failure it is, TG_NO_PE: none. */
typedef struct tg_mpi_notice {
  int status;
  int origin;
  int aborted;
  char message[TG_WORLD_MESSAGE];
} tg_mpi_notice;

typedef struct tg_mpi_link {
  MPI_Comm data, control;
  bool spin;           /* there is a core for each PE of this machine */
  tg_mpi_notice abort; /* valid once abort.aborted */
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

/** The pace of a wait: call once per round of polling that moved nothing. */
typedef struct tg_mpi_pace {
  double start;
  unsigned rounds;
} tg_mpi_pace;
void tg_mpi_pause(const tg_mpi_link* link, tg_mpi_pace* pace);

#endif
#endif
