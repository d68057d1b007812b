/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/memory.h"
#include "comm/socket/link.h"

static tg_socket_link* link_of(tg_world* world) { return world->link; }

/* Hands out a message that came before it was asked for; it must be complete. */
static tg_status unpack(tg_world* world, const tg_message* message) {
  tg_socket_peer* peer = &link_of(world)->peers[message->from];
  tg_socket_parcel* parcel = peer->first;
  char* into = NULL;
  TG_TRY(tg_socket_message_room(world, message, parcel->bytes, &into));
  if (parcel->bytes) memcpy(into, parcel->data, (size_t)parcel->bytes);
  peer->first = parcel->next;
  if (!peer->first) peer->last = NULL;
  tg_free(parcel->data);
  tg_free(parcel);
  return TG_OK;
}

/* A parcel is complete, unless it is the last one and still under way. */
static bool parcel_here(const tg_socket_peer* peer) {
  return peer->first && (peer->first != peer->last || !peer->message_open);
}

void tg_socket_stop_awaiting(tg_world* world) {
  tg_socket_link* link = link_of(world);
  const tg_message* message = link->awaited.message;
  if (message && link->awaited.begun && !link->awaited.done) {
    tg_socket_peer* peer = &link->peers[message->from];
    peer->message_into = NULL;
    if (peer->head.kind == TG_FRAME_DATA) peer->sink = NULL;
  }
  link->awaited = (tg_socket_awaited){0};
}

/* What has moved of this exchange, so that a large message is not late while it flows. */
static uint64_t moved_so_far(const tg_socket_link* link, const tg_message* message) {
  uint64_t sum = link->sending.begun - link->sending.left;
  if (message->from != TG_NO_PE) {
    const tg_socket_peer* peer = &link->peers[message->from];
    sum += peer->message_at +
           (peer->head_have == sizeof peer->head ? peer->head.bytes - peer->left : 0);
  }
  return sum;
}

static tg_status transfer(tg_world* world, const tg_message* message) {
  tg_socket_link* link = link_of(world);
  const tg_socket_peer* peer = message->from == TG_NO_PE ? NULL : &link->peers[message->from];
  tg_socket_wait wait = {0};
  uint64_t moved = 0;
  for (;;) {
    if (peer && !link->awaited.done && parcel_here(peer)) {
      TG_TRY(unpack(world, message));
      link->awaited.begun = link->awaited.done = true; /* the next message is not for this buffer */
    }
    bool received = !peer || link->awaited.done;
    bool sent = tg_socket_send_step(world);
    if (received && sent) return TG_OK;
    wait.partner = received ? message->to : message->from;
    wait.what = received ? "the receipt of a message" : "a message";
    TG_TRY(tg_socket_round(world, &wait));
    uint64_t now = moved_so_far(link, message);
    if (now != moved) wait.start = 0;
    moved = now;
  }
}

tg_status tg_socket_exchange(tg_world* world, const tg_message* message) {
  tg_socket_link* link = link_of(world);
  if (message->to != TG_NO_PE)
    link->sending =
        (tg_socket_sending){.to = message->to, .data = message->send, .bytes = message->send_bytes};
  if (message->from != TG_NO_PE) link->awaited.message = message;
  tg_status status = transfer(world, message);
  if (status != TG_OK) tg_socket_stop_sending(world);
  tg_socket_stop_awaiting(world);
  return status;
}

void tg_socket_abort(tg_world* world, tg_status status, const char* message) {
  tg_socket_link* link = link_of(world);
  if (!tg_outcome_abort(&link->abort, status, world->pe, message)) return;
  tg_socket_stop_sending(world);
  tg_frame head = tg_socket_head(TG_FRAME_ABORT, sizeof link->abort);
  for (int p = 0; p < world->pe_count; p++) /* who cannot be told, for want of memory, finds out */
    if (p != world->pe && tg_socket_post(world, p, &head, &link->abort) != TG_OK)
      tg_socket_hang_up(world, p);
}

tg_status tg_socket_aborted(tg_world* world) {
  tg_socket_link* link = link_of(world);
  if (!link->abort.aborted) TG_TRY(tg_socket_progress(world, 0, NULL));
  TG_TRY(tg_outcome_aborted(&link->abort));
  if (link->lost != TG_NO_PE) return tg_world_lost(world, link->lost, TG_NO_PE, NULL);
  return TG_OK;
}
