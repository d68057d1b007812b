/* SPDX-License-Identifier: Apache-2.0 */
/* What frames mean. Nothing that comes in is believed before it is checked. */
#include <string.h>

#include "base/memory.h"
#include "comm/socket/link.h"

static const uint32_t frame_magic = 0x54484746;
enum { FRAME_VERSION = 1 };
static const uint64_t most_bytes = (uint64_t)1
                                   << 46; /* of a message: more than any machine holds */

static tg_socket_link* link_of(tg_world* world) { return world->link; }

tg_frame tg_socket_head(tg_frame_kind kind, uint64_t bytes) {
  return (tg_frame){.magic = frame_magic,
                    .version = FRAME_VERSION,
                    .kind = (uint16_t)kind,
                    .bytes = bytes,
                    .signal = -1};
}

/* What follows cannot be understood either. */
static tg_status nonsense(tg_world* world, int from, const char* what) {
  tg_socket_hang_up(world, from);
  tg_fail(TG_ERR_MACHINE,
          "PE %d: what came from PE %d is %s; is it the same build of throng, and the network "
          "sound?",
          world->pe, from, what);
  return tg_world_give_up(world, TG_ERR_MACHINE);
}

/* Room for a message whose size is known now: the waiter's buffer, or memory. */
static tg_status message_begins(tg_world* world, int from, uint64_t bytes) {
  tg_socket_link* link = link_of(world);
  tg_socket_peer* peer = &link->peers[from];
  const tg_message* wanted = link->awaited.message;
  tg_status status = TG_OK;
  peer->message_of = bytes;
  peer->message_at = 0;
  peer->message_open = true;
  if (wanted && wanted->from == from && !link->awaited.begun && !peer->first) {
    link->awaited.begun = true;
    TG_TRY(tg_socket_message_room(world, wanted, bytes, &peer->message_into));
    return TG_OK;
  }
  tg_socket_parcel* parcel = NULL;
  status = TG_ALLOCATE(1, "a message", &parcel);
  if (status == TG_OK) status = TG_ALLOCATE((size_t)bytes, "a message", &parcel->data);
  if (status != TG_OK) {
    tg_free(parcel);
    peer->message_into = NULL;
    return tg_world_give_up(world, status);
  }
  parcel->bytes = bytes;
  if (peer->last)
    peer->last->next = parcel;
  else
    peer->first = parcel;
  peer->last = parcel;
  peer->message_into = parcel->data;
  return TG_OK;
}

tg_status tg_socket_message_room(tg_world* world, const tg_message* message, uint64_t bytes,
                                 char** into) {
  *into = message->receive;
  if (message->grown) {
    tg_status status = tg_reserve((size_t)bytes, 1, "a message", message->grown, message->capacity);
    *into = *message->grown;
    *message->grown_bytes = (size_t)bytes;
    return status == TG_OK ? TG_OK : tg_world_give_up(world, status);
  }
  if (bytes == message->receive_bytes) return TG_OK;
  *into = NULL;
  tg_fail(TG_ERR_INTERNAL, "PE %d expected %zu bytes from PE %d and was sent %llu", world->pe,
          message->receive_bytes, message->from, (unsigned long long)bytes);
  return tg_world_give_up(world, TG_ERR_INTERNAL);
}

static tg_status data_begins(tg_world* world, int from) {
  tg_socket_peer* peer = &link_of(world)->peers[from];
  const tg_frame* head = &peer->head;
  if (head->of > most_bytes || head->bytes > head->of || head->offset > head->of - head->bytes)
    return nonsense(world, from, "a part that is larger than its message");
  if (!peer->message_open) {
    if (head->offset) return nonsense(world, from, "a message without its beginning");
    TG_TRY(message_begins(world, from, head->of));
  } else if (head->of != peer->message_of || head->offset != peer->message_at) {
    return nonsense(world, from, "a message whose parts do not follow each other");
  }
  if (!head->bytes && head->of) return nonsense(world, from, "a part without data");
  peer->sink = peer->message_into ? peer->message_into + head->offset : NULL;
  return TG_OK;
}

static tg_put_head put_of(const tg_frame* head) {
  return (tg_put_head){.number = head->of,
                       .offset = head->offset,
                       .bytes = head->bytes,
                       .value = head->value,
                       .signal = head->signal,
                       .op = head->op};
}

static tg_status put_begins(tg_world* world, int from) {
  tg_socket_link* link = link_of(world);
  tg_socket_peer* peer = &link->peers[from];
  tg_put_head put = put_of(&peer->head);
  if (put.number > link->symmetric_count || (put.op != TG_SIGNAL_SET && put.op != TG_SIGNAL_ADD))
    return nonsense(world, from, "a put into symmetric memory that never was");
  const tg_symmetric* s = tg_puts_find(link->symmetric, put.number);
  if (s && !tg_put_fits(s, &put)) return nonsense(world, from, "a put beyond the symmetric memory");
  peer->sink = s ? s->base[world->pe] + put.offset : NULL;
  return TG_OK;
}

tg_status tg_socket_frame_begins(tg_world* world, int from) {
  tg_socket_peer* peer = &link_of(world)->peers[from];
  const tg_frame* head = &peer->head;
  peer->sink = NULL;
  peer->left = head->bytes;
  if (head->magic != frame_magic || head->version != FRAME_VERSION)
    return nonsense(world, from, "no message of this version of throng");
  switch (head->kind) {
    case TG_FRAME_DATA: return data_begins(world, from);
    case TG_FRAME_PUT: return put_begins(world, from);
    case TG_FRAME_ABORT:
    case TG_FRAME_OUTCOME:
      if (head->bytes != sizeof peer->notice) return nonsense(world, from, "a notice of odd size");
      peer->sink = (char*)&peer->notice;
      return TG_OK;
    default: return nonsense(world, from, "a message of no known kind");
  }
}

static bool is_status(int status) {
  switch (status) {
#define CASE(name, code, text) case name:
    TG_STATUS_LIST(CASE)
#undef CASE
    return true;
    default: return false;
  }
}

static void data_ends(tg_world* world, int from) {
  tg_socket_link* link = link_of(world);
  tg_socket_peer* peer = &link->peers[from];
  peer->message_at += peer->head.bytes;
  if (peer->message_at < peer->message_of) return;
  peer->message_open = false;
  const tg_message* wanted = link->awaited.message;
  /* the waiter's, unless it is the one that others lie before */
  if (wanted && wanted->from == from && link->awaited.begun) link->awaited.done = true;
}

tg_status tg_socket_frame_ends(tg_world* world, int from) {
  tg_socket_link* link = link_of(world);
  tg_socket_peer* peer = &link->peers[from];
  tg_frame_kind kind = (tg_frame_kind)peer->head.kind;
  peer->head_have = 0;
  peer->sink = NULL;
  if (kind == TG_FRAME_DATA) {
    data_ends(world, from);
  } else if (kind == TG_FRAME_PUT) {
    tg_put_head put = put_of(&peer->head);
    const tg_symmetric* s = tg_puts_find(link->symmetric, put.number);
    if (s) tg_put_signal(s, &put);
  } else {
    tg_outcome* said = &peer->notice;
    said->message[sizeof said->message - 1] = '\0';
    if (!is_status(said->status)) return nonsense(world, from, "a notice of no known status");
    if (kind == TG_FRAME_OUTCOME) {
      peer->outcome = *said;
      peer->has_outcome = true;
    } else if (!link->abort.aborted && said->status != TG_OK) {
      link->abort = *said;
      link->abort.aborted = 1;
    }
  }
  return TG_OK;
}
