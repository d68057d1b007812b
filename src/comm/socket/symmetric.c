/* SPDX-License-Identifier: Apache-2.0 */
/* Symmetric memory of processes that only messages connect: a PE's own block is ordinary memory,
 * into which the puts of others are taken whenever it waits for a signal or reads one. */
#include "base/memory.h"
#include "comm/socket/link.h"

static tg_socket_link* link_of(tg_world* world) { return world->link; }

/* Takes a memory off the list; a put that is half here goes nowhere. */
static void withdraw(tg_symmetric* s) {
  tg_world* world = s->world;
  tg_socket_link* link = link_of(world);
  tg_symmetric** at = &link->symmetric;
  while (*at != s) at = &(*at)->next;
  *at = s->next;
  for (int p = 0; p < world->pe_count; p++) {
    tg_socket_peer* peer = &link->peers[p];
    if (peer->head_have == sizeof peer->head && peer->head.kind == TG_FRAME_PUT &&
        peer->head.of == s->number)
      peer->sink = NULL;
  }
}

tg_status tg_socket_symmetric_create(tg_symmetric* s) {
  tg_world* world = s->world;
  tg_socket_link* link = link_of(world);
  char** mine = &s->base[world->pe];
  tg_status status = tg_allocate(tg_symmetric_block_bytes(s), 1, "symmetric memory", (void**)mine);
  status = tg_world_agree(world, status);
  if (status == TG_OK) {
    s->number = ++link->symmetric_count;
    s->next = link->symmetric;
    link->symmetric = s;
    status = tg_world_barrier(world); /* before a put arrives all must have it */
    if (status == TG_OK) return TG_OK;
    withdraw(s);
  }
  TG_FREE(*mine);
  return status;
}

void tg_socket_symmetric_destroy(tg_symmetric* s) {
  withdraw(s);
  tg_free(s->base[s->world->pe]);
  tg_free(s->base);
  tg_free(s);
}

tg_status tg_socket_symmetric_put(tg_symmetric* s, int pe, size_t offset, const void* data,
                                  size_t bytes, int signal, tg_signal_op op, uint64_t value) {
  tg_frame head = tg_socket_head(TG_FRAME_PUT, bytes);
  head.of = s->number;
  head.offset = offset;
  head.value = value;
  head.signal = signal;
  head.op = (int32_t)op;
  tg_status status = tg_socket_post(s->world, pe, &head, data);
  return status == TG_OK ? TG_OK : tg_world_give_up(s->world, status);
}

void tg_socket_symmetric_progress(tg_world* world) { tg_socket_progress(world, 0, NULL); }

tg_status tg_socket_symmetric_wait(const tg_symmetric_wait_list* list, int* which) {
  tg_world* world = list->symmetric->world;
  tg_socket_wait wait = {.partner = list->sources[0].pe, .list = list};
  for (;;) {
    TG_TRY(tg_socket_round(world, &wait));
    if (tg_symmetric_arrived(list, which)) return TG_OK;
  }
}
