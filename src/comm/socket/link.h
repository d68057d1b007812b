/* SPDX-License-Identifier: Apache-2.0 */
/** @file comm/socket/link.h  Transport socket: a process per PE, a TCP connection for each pair.
 *
 * What goes over a connection is a row of *frames*, each a head of fixed size and its data:
 *
 *   | kind    | data                                                                             |
 *   |---------|----------------------------------------------------------------------------------|
 *   | data    | a part of a message; `of` its size, `offset` this part's place in it             |
 *   | put     | for symmetric memory number `of` at `offset`, then its signal                    |
 *   | abort   | a tg_outcome: the world is aborted                                               |
 *   | outcome | a tg_outcome: how this PE, or from PE 0 the world, ended                         |
 *
 * Whoever waits takes in everything that comes, from all PEs: parts of the message he waits for go
 * straight into its buffer, other messages into memory until they are asked for, puts into
 * symmetric memory. So a send never depends on its receiver asking for it, and an abort is always
 * seen.
 *
 * A message leaves straight from its buffer, in frames of at most TG_SOCKET_PART bytes; what of
 * other frames the system does not take at once is copied, and leaves when this PE waits or calls
 * again. So a frame that an abort interrupts has a short rest, which is copied too, and the notice
 * of the abort follows it.
 *
 * A connection that closes before its world ended means that the PE is gone: every wait ends, with
 * a message that names it. */
#ifndef TG_COMM_SOCKET_LINK_H
#define TG_COMM_SOCKET_LINK_H

#include <poll.h>

#include "comm/outcome.h"
#include "comm/puts.h"
#include "comm/transport.h"

enum { TG_SOCKET_PART = 1 << 18, TG_SOCKET_STAGING = 1 << 16 };

typedef enum tg_frame_kind {
  TG_FRAME_DATA = 1,
  TG_FRAME_PUT,
  TG_FRAME_ABORT,
  TG_FRAME_OUTCOME
} tg_frame_kind;

typedef struct tg_frame {
  uint32_t magic;
  uint16_t version, kind;
  uint64_t bytes; /* of data that follow */
  uint64_t of, offset, value;
  int32_t signal, op;
} tg_frame;

/** A message that nobody has asked for yet. */
typedef struct tg_socket_parcel {
  struct tg_socket_parcel* next;
  char* data; /* [bytes] */
  uint64_t bytes;
} tg_socket_parcel;

/** The connection to one PE. */
typedef struct tg_socket_peer {
  int fd; /* -1: this PE, or closed */
  /* coming in */
  tg_frame head;
  size_t head_have;    /* bytes of head that are here; all: its data follow */
  char* sink;          /* where its data go; NULL: nowhere */
  uint64_t left;       /* bytes of its data still to come */
  uint64_t message_of; /* the message that is under way: its size, and what has come of it */
  uint64_t message_at;
  bool message_open;              /* there is one */
  char* message_into;             /* its memory; NULL: nobody wants it any more */
  tg_socket_parcel *first, *last; /* in order; the last one may still be under way */
  tg_outcome notice;              /* sink of abort and outcome */
  tg_outcome outcome;             /* valid with has_outcome */
  bool has_outcome;
  /* going out: bytes out_start .. out_end of out */
  char* out;
  size_t out_start, out_end, out_capacity;
} tg_socket_peer;

/** The message that leaves from the caller's buffer. */
typedef struct tg_socket_sending {
  int to; /* TG_NO_PE: none */
  const char* data;
  uint64_t bytes, begun; /* of the message; of it in frames that have begun */
  tg_frame head;
  size_t head_sent;
  const char* at; /* rest of the frame under way */
  uint64_t left;
  bool framed; /* there is one */
} tg_socket_sending;

/** The message being waited for. */
typedef struct tg_socket_awaited {
  const tg_message* message; /* NULL: none */
  bool begun, done;          /* its parts go into its buffer */
} tg_socket_awaited;

typedef struct tg_socket_link {
  tg_socket_peer* peers; /* [pe_count] */
  struct pollfd* polls;  /* [pe_count] */
  char* staging;         /* [TG_SOCKET_STAGING] */
  tg_socket_sending sending;
  tg_socket_awaited awaited;
  tg_symmetric* symmetric; /* all that exist, the newest first */
  uint64_t symmetric_count;
  int lost;         /* the first PE whose connection closed too early; TG_NO_PE: none */
  tg_outcome abort; /* valid once abort.aborted */
  bool ending;      /* connections may close */
  bool spin;        /* there is a core for each PE */
} tg_socket_link;

/** A wait: who for and in what, for messages; the rest begins as zero. */
typedef struct tg_socket_wait {
  int partner;
  const char* what; /* NULL: list */
  const tg_symmetric_wait_list* list;
  double start;
  unsigned rounds, overtime;
} tg_socket_wait;

/** Moves what can be moved, in both directions, waiting up to so many milliseconds for something
 * to move. Fails on what is no frame, which aborts the world; *moved may be NULL. */
tg_status tg_socket_progress(tg_world* world, int milliseconds, bool* moved);
/** One round of a wait: progress, patiently where nothing moves. Fails when the world is aborted,
 * a PE is lost, or the deadline is met. */
tg_status tg_socket_round(tg_world* world, tg_socket_wait* wait);

/** Sends a frame with its data, or keeps a copy of what the system does not take. */
tg_status tg_socket_post(tg_world* world, int to, const tg_frame* head, const void* data);
/** Sends of link->sending what the system takes; true when all of it is gone. */
bool tg_socket_send_step(tg_world* world);
/** Gives up link->sending, between two frames. */
void tg_socket_stop_sending(tg_world* world);
/** Gives up link->awaited: what is still to come of it goes nowhere. */
void tg_socket_stop_awaiting(tg_world* world);
tg_frame tg_socket_head(tg_frame_kind kind, uint64_t bytes);
/** Closes a connection that is no more; unless the world is ending, its PE is lost. */
void tg_socket_hang_up(tg_world* world, int pe);
/** Handles a head that has come in: finds the sink; and data that are all here. */
tg_status tg_socket_frame_begins(tg_world* world, int from);
tg_status tg_socket_frame_ends(tg_world* world, int from);

/** Where a message of so many bytes goes: into the buffer of who asked for it, if it fits. */
tg_status tg_socket_message_room(tg_world* world, const tg_message* message, uint64_t bytes,
                                 char** into);

tg_status tg_socket_exchange(tg_world* world, const tg_message* message);
void tg_socket_abort(tg_world* world, tg_status status, const char* message);
/** As aborted() of the table: looks for news first. */
tg_status tg_socket_aborted(tg_world* world);

tg_status tg_socket_symmetric_create(tg_symmetric* symmetric);
void tg_socket_symmetric_destroy(tg_symmetric* symmetric);
tg_status tg_socket_symmetric_put(tg_symmetric* symmetric, int pe, size_t offset, const void* data,
                                  size_t bytes, int signal, tg_signal_op op, uint64_t value);
void tg_socket_symmetric_progress(tg_world* world);
tg_status tg_socket_symmetric_wait(const tg_symmetric_wait_list* list, int* which);

#endif
