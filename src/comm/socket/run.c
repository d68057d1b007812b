/* SPDX-License-Identifier: Apache-2.0 */
/* A world of processes that nothing but TCP connects: made, run, and its outcome agreed. */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/timer.h"
#include "comm/socket/link.h"
#include "comm/socket/rendezvous.h"

static tg_socket_link* link_of(tg_world* world) { return world->link; }

static const tg_transport_ops socket_ops = {
    .name = "socket",
    .close = tg_socket_close,
    .exchange = tg_socket_exchange,
    .abort = tg_socket_abort,
    .aborted = tg_socket_aborted,
    .symmetric_create = tg_socket_symmetric_create,
    .symmetric_destroy = tg_socket_symmetric_destroy,
    .symmetric_put = tg_socket_symmetric_put,
    .symmetric_progress = tg_socket_symmetric_progress,
    .symmetric_wait = tg_socket_symmetric_wait,
};

static void free_peer(tg_socket_peer* peer) {
  while (peer->first) {
    tg_socket_parcel* parcel = peer->first;
    peer->first = parcel->next;
    tg_free(parcel->data);
    tg_free(parcel);
  }
  tg_free(peer->out);
}

static void world_free(tg_world* world) {
  tg_socket_link* link = link_of(world);
  for (int p = 0; link->peers && p < world->pe_count; p++) {
    tg_net_close(&link->peers[p].fd);
    free_peer(&link->peers[p]);
  }
  tg_world_release(world);
  tg_free(link->peers);
  tg_free(link->polls);
  tg_free(link->staging);
  tg_free(link);
  tg_free(world);
}

static tg_status world_allocate(const tg_socket_place* place, double deadline_s, tg_world** out) {
  size_t count = (size_t)place->pe_count;
  tg_world* world = NULL;
  tg_socket_link* link = NULL;
  tg_status status = TG_OK;
  TG_TRY(TG_ALLOCATE(1, "a world", &world));
  status = TG_ALLOCATE(1, "a world", &link);
  if (status != TG_OK) {
    tg_free(world);
    return status;
  }
  tg_world_init(world, &socket_ops, link, place->pe, place->pe_count, deadline_s);
  link->sending.to = TG_NO_PE;
  link->lost = TG_NO_PE;
  link->spin = place->pe_count <= (int)sysconf(_SC_NPROCESSORS_ONLN);
  TG_TRY_GOTO(TG_ALLOCATE(count, "a world", &link->peers), fail);
  for (size_t p = 0; p < count; p++) link->peers[p].fd = -1;
  TG_TRY_GOTO(TG_ALLOCATE(count, "a world", &link->polls), fail);
  TG_TRY_GOTO(TG_ALLOCATE(TG_SOCKET_STAGING, "a world", &link->staging), fail);
  *out = world;
  return TG_OK;
fail:
  world_free(world);
  return status;
}

bool tg_socket_usable(void) { return getenv("TG_BOOTSTRAP") != NULL; }

tg_status tg_socket_open(const tg_world_params* params, tg_world** out) {
  tg_socket_place place;
  int* fds = NULL;
  TG_TRY(tg_socket_place_read(&place));
  if (params->pe_count && params->pe_count != place.pe_count)
    return tg_fail(
        TG_ERR_INPUT,
        "world: %d processing elements asked for, but TG_PE_COUNT is %d; make them equal",
        params->pe_count, place.pe_count);
  TG_TRY(TG_ALLOCATE((size_t)place.pe_count, "a world", &fds));
  tg_status status = tg_socket_rendezvous(&place, params->deadline_s, fds);
  tg_world* world = NULL;
  if (status == TG_OK) {
    status = world_allocate(&place, params->deadline_s, &world);
    for (int p = 0; p < place.pe_count; p++)
      if (world)
        link_of(world)->peers[p].fd = fds[p];
      else
        tg_net_close(&fds[p]);
  }
  tg_free(fds);
  TG_TRY(status);
  status = tg_world_find_node(world); /* and all connections are there */
  if (status != TG_OK) return tg_socket_close(&world, status);
  *out = world;
  return TG_OK;
}

static bool outcome_send(tg_world* world, int to, const tg_outcome* outcome) {
  tg_frame head = tg_socket_head(TG_FRAME_OUTCOME, sizeof *outcome);
  return tg_socket_post(world, to, &head, outcome) == TG_OK;
}

/* The word of a PE that is gone is no word. An aborted world waits for a limited time. */
static bool outcome_receive(tg_world* world, int from, double patience_s, tg_outcome* outcome) {
  tg_socket_link* link = link_of(world);
  tg_socket_peer* peer = &link->peers[from];
  tg_socket_wait wait = {.partner = from, .what = "the end of the run"};
  double aborted_at = 0;
  while (!peer->has_outcome) {
    if (peer->fd < 0) {
      if (!link->abort.aborted) tg_world_lost(world, from, from, wait.what);
      *outcome = (tg_outcome){.status = TG_OK, .origin = TG_NO_PE};
      return from != 0;
    }
    if (!link->abort.aborted) {
      tg_socket_round(world, &wait); /* a failure is an abort, and shows next time */
      continue;
    }
    if (tg_socket_progress(world, 20, NULL) != TG_OK) return false;
    double now = tg_time_now();
    if (aborted_at == 0) aborted_at = now;
    if (now - aborted_at > patience_s) return false;
  }
  *outcome = peer->outcome;
  return true;
}

/* Last words leave: in an aborted world the abort too, in case its author did not reach everyone
 * before this PE hangs up, which would look like a death. */
static void say_goodbye(tg_world* world) {
  tg_socket_link* link = link_of(world);
  tg_frame head = tg_socket_head(TG_FRAME_ABORT, sizeof link->abort);
  for (int p = 0; p < world->pe_count && link->abort.aborted; p++)
    if (link->peers[p].fd >= 0) tg_socket_post(world, p, &head, &link->abort);
  double start = tg_time_now();
  for (bool left = true; left && tg_time_now() - start < tg_outcome_patience_s;) {
    left = false;
    for (int p = 0; p < world->pe_count; p++)
      left = left || (link->peers[p].fd >= 0 && link->peers[p].out_end > 0);
    if (left && tg_socket_progress(world, 20, NULL) != TG_OK) break;
  }
}

tg_status tg_socket_close(tg_world** pointer, tg_status status) {
  static const tg_outcome_ways ways = {outcome_send, outcome_receive};
  tg_world* world = *pointer;
  tg_socket_link* link = link_of(world);
  tg_outcome outcome;
  char said[TG_WORLD_MESSAGE];
  *pointer = NULL;
  strncpy(said, tg_last_error(), sizeof said - 1); /* looking for news may say something else */
  said[sizeof said - 1] = '\0';
  tg_socket_aborted(world);
  if (!link->abort.aborted) tg_set_last_error(said);
  link->ending = true; /* who has heard the outcome from PE 0 hangs up */
  tg_outcome_agree(world, &link->abort, status, &ways, &outcome);
  /* where PE 0 could not be heard any more */
  if (outcome.status == TG_OK && link->abort.aborted) outcome = link->abort;
  say_goodbye(world);
  world_free(world);
  if (outcome.status != TG_OK) tg_set_last_error(outcome.message);
  return (tg_status)outcome.status;
}

tg_status tg_socket_run(const tg_world_params* params, tg_world_main main, void* context) {
  tg_world* world = NULL;
  TG_TRY(tg_socket_open(params, &world));
  return tg_socket_close(&world, tg_world_call_main(world, main, context));
}
