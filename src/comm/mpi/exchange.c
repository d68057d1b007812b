/* SPDX-License-Identifier: Apache-2.0 */
#ifdef TG_HAVE_MPI
#include <sched.h>
#include <time.h>

#include "base/memory.h"
#include "base/timer.h"
#include "comm/mpi/channel.h"

size_t tg_mpi_piece = (size_t)1 << 30;

enum {
  ROUNDS_PER_LOOK = 32, /* rounds of polling between looks at the clock and for an abort */
  SPIN_ROUNDS = 32,
  YIELD_ROUNDS = 20000,
};

/* One direction of an exchange on its way through its pieces. */
typedef struct side {
  MPI_Request request;
  char* at;
  size_t left;  /* bytes not yet asked for; of a message of unknown size: unused */
  size_t piece; /* bytes of the piece under way */
  size_t total; /* bytes of the pieces done */
  bool done;
} side;

static tg_status mpi_fault(tg_world* world, int code, const char* what, int partner) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  tg_fail(TG_ERR_MACHINE, "PE %d: MPI failed in %s PE %d: %s", world->pe, what, partner, text);
  return tg_world_give_up(world, TG_ERR_MACHINE);
}

static tg_status send_step(tg_world* world, const tg_message* message, side* s, bool* moved) {
  tg_mpi_link* link = world->link;
  int flag = 1, code = MPI_SUCCESS;
  if (s->request == MPI_REQUEST_NULL) {
    s->piece = s->left < tg_mpi_piece ? s->left : tg_mpi_piece;
    code = MPI_Isend(s->at, (int)s->piece, MPI_BYTE, message->to, TG_MPI_TAG_DATA, link->data,
                     &s->request);
    if (code != MPI_SUCCESS) return mpi_fault(world, code, "a message to", message->to);
    if (s->piece) s->at += s->piece;
    s->left -= s->piece;
  }
  code = MPI_Test(&s->request, &flag, MPI_STATUS_IGNORE);
  if (code != MPI_SUCCESS) return mpi_fault(world, code, "a message to", message->to);
  if (flag) {
    s->done = s->piece < tg_mpi_piece;
    *moved = true;
  }
  return TG_OK;
}

static tg_status wrong_size(tg_world* world, const tg_message* message, size_t got) {
  tg_fail(TG_ERR_INTERNAL, "PE %d expected %zu bytes from PE %d and was sent %s %zu", world->pe,
          message->receive_bytes, message->from, got > message->receive_bytes ? "at least" : "only",
          got);
  return tg_world_give_up(world, TG_ERR_INTERNAL);
}

/* Receives a message of known size, a piece at a time. */
static tg_status receive_step(tg_world* world, const tg_message* message, side* s, bool* moved) {
  tg_mpi_link* link = world->link;
  int flag = 0, code = MPI_SUCCESS, got = 0, kind = MPI_SUCCESS;
  if (s->request == MPI_REQUEST_NULL) {
    s->piece = s->left < tg_mpi_piece ? s->left : tg_mpi_piece;
    code = MPI_Irecv(s->at, (int)s->piece, MPI_BYTE, message->from, TG_MPI_TAG_DATA, link->data,
                     &s->request);
    if (code != MPI_SUCCESS) return mpi_fault(world, code, "a message from", message->from);
  }
  MPI_Status state;
  code = MPI_Test(&s->request, &flag, &state);
  if (code != MPI_SUCCESS) {
    MPI_Error_class(code, &kind);
    if (kind == MPI_ERR_TRUNCATE) return wrong_size(world, message, message->receive_bytes + 1);
    return mpi_fault(world, code, "a message from", message->from);
  }
  if (!flag) return TG_OK;
  *moved = true;
  MPI_Get_count(&state, MPI_BYTE, &got);
  s->total += (size_t)got;
  if ((size_t)got != s->piece) return wrong_size(world, message, s->total);
  if (s->piece) s->at += s->piece;
  s->left -= s->piece;
  s->done = s->piece < tg_mpi_piece;
  return TG_OK;
}

/* Receives a message whose size is learnt on the way. */
static tg_status receive_any_step(tg_world* world, const tg_message* message, side* s,
                                  bool* moved) {
  tg_mpi_link* link = world->link;
  int flag = 0, got = 0, code = MPI_SUCCESS;
  if (s->request == MPI_REQUEST_NULL) {
    MPI_Message matched;
    MPI_Status state;
    code = MPI_Improbe(message->from, TG_MPI_TAG_DATA, link->data, &flag, &matched, &state);
    if (code != MPI_SUCCESS) return mpi_fault(world, code, "a message from", message->from);
    if (!flag) return TG_OK;
    MPI_Get_count(&state, MPI_BYTE, &got);
    s->piece = (size_t)got;
    tg_status status =
        tg_reserve(s->total + s->piece, 1, "a message", message->grown, message->capacity);
    if (status != TG_OK) return tg_world_give_up(world, status);
    void* into = *message->grown ? (char*)*message->grown + s->total : NULL;
    code = MPI_Imrecv(into, got, MPI_BYTE, &matched, &s->request);
    if (code != MPI_SUCCESS) return mpi_fault(world, code, "a message from", message->from);
  }
  code = MPI_Test(&s->request, &flag, MPI_STATUS_IGNORE);
  if (code != MPI_SUCCESS) return mpi_fault(world, code, "a message from", message->from);
  if (!flag) return TG_OK;
  *moved = true;
  s->total += s->piece;
  s->done = s->piece < tg_mpi_piece;
  if (s->done) *message->grown_bytes = s->total;
  return TG_OK;
}

void tg_mpi_pause(const tg_mpi_link* link, tg_mpi_pace* pace) {
  pace->rounds++;
  if (link->spin && pace->rounds < SPIN_ROUNDS) return;
  if (pace->rounds < YIELD_ROUNDS) {
    sched_yield();
  } else { /* long past any latency: the other PEs have better use for the core */
    struct timespec moment = {0, 50000};
    nanosleep(&moment, NULL);
  }
}

/* After a failure: takes back what can be taken back. A send cannot; its partner is in an aborted
 * world too and will not ask for it. */
static void cancel_receive(side* s) {
  if (s->request == MPI_REQUEST_NULL) return;
  MPI_Cancel(&s->request);
  int flag = 0;
  for (int i = 0; i < 1000 && !flag; i++) {
    if (MPI_Test(&s->request, &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS) return;
    if (!flag) sched_yield();
  }
}

tg_status tg_mpi_exchange(tg_world* world, const tg_message* message) {
  tg_mpi_link* link = world->link;
  side out = {.request = MPI_REQUEST_NULL,
              .at = (char*)message->send, /* only read */
              .left = message->send_bytes,
              .done = message->to == TG_NO_PE};
  side in = {.request = MPI_REQUEST_NULL,
             .at = message->receive,
             .left = message->receive_bytes,
             .done = message->from == TG_NO_PE};
  tg_mpi_pace pace = {0};
  tg_status status = TG_OK;
  while (!in.done || !out.done) {
    bool moved = false;
    /* the receive is posted first, so that the message has somewhere to go when it comes */
    if (!in.done)
      TG_TRY_GOTO(message->grown ? receive_any_step(world, message, &in, &moved)
                                 : receive_step(world, message, &in, &moved),
                  fail);
    if (!out.done) TG_TRY_GOTO(send_step(world, message, &out, &moved), fail);
    if (moved) {
      pace = (tg_mpi_pace){0};
      continue;
    }
    tg_mpi_pause(link, &pace);
    if (pace.rounds % ROUNDS_PER_LOOK && pace.rounds < YIELD_ROUNDS) continue;
    TG_TRY_GOTO(tg_mpi_poll_abort(world), fail);
    double now = tg_time_now();
    if (pace.start == 0) pace.start = now;
    if (now - pace.start > world->deadline_s) {
      status = tg_world_late(world, now - pace.start, in.done ? message->to : message->from,
                             in.done ? "the receipt of a message" : "a message");
      goto fail;
    }
  }
  return TG_OK;
fail:
  if (!message->grown) cancel_receive(&in);
  return status;
}
#endif
