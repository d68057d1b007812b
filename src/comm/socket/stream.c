/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes: what comes in and goes out of the connections, whatever it means (frames.c). */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/memory.h"
#include "base/timer.h"
#include "comm/socket/link.h"
#include "comm/socket/net.h"

enum {
  SPIN_ROUNDS = 200, /* some 100 us, where every PE has a core */
  YIELD_ROUNDS = 16, /* then the core goes to others, and then this PE sleeps */
  SLEEP_MS = 50,
  MOST_OVERTIME = 64, /* rounds after the deadline in which something else may still come */
  READS_AT_ONCE = 8,  /* of one connection before the next has its turn */
};
static const size_t direct_bytes = 16384; /* as many go to their place without staging */

static tg_socket_link* link_of(tg_world* world) { return world->link; }

void tg_socket_hang_up(tg_world* world, int pe) {
  tg_socket_link* link = link_of(world);
  tg_socket_peer* peer = &link->peers[pe];
  tg_net_close(&peer->fd);
  peer->out_start = peer->out_end = 0;
  if (link->sending.to == pe) link->sending.to = TG_NO_PE;
  if (!link->ending && link->lost == TG_NO_PE) link->lost = pe;
}

/* Takes in bytes that lie in staging. */
static tg_status take(tg_world* world, int from, const char* at, size_t bytes) {
  tg_socket_peer* peer = &link_of(world)->peers[from];
  while (bytes) {
    size_t part = sizeof peer->head - peer->head_have;
    if (part) {
      if (part > bytes) part = bytes;
      memcpy((char*)&peer->head + peer->head_have, at, part);
      peer->head_have += part;
      if (peer->head_have == sizeof peer->head) TG_TRY(tg_socket_frame_begins(world, from));
    } else {
      part = peer->left < bytes ? (size_t)peer->left : bytes;
      if (peer->sink) {
        memcpy(peer->sink, at, part);
        peer->sink += part;
      }
      peer->left -= part;
    }
    at += part;
    bytes -= part;
    if (peer->head_have == sizeof peer->head && peer->left == 0)
      TG_TRY(tg_socket_frame_ends(world, from));
  }
  return TG_OK;
}

/* Reads from a connection; *more: there may be more. */
static tg_status pull(tg_world* world, int from, bool* more) {
  tg_socket_link* link = link_of(world);
  tg_socket_peer* peer = &link->peers[from];
  bool direct = peer->head_have == sizeof peer->head && peer->sink && peer->left >= direct_bytes;
  size_t room = direct ? (size_t)peer->left : TG_SOCKET_STAGING;
  ssize_t got = recv(peer->fd, direct ? peer->sink : link->staging, room, MSG_DONTWAIT);
  *more = false;
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return TG_OK;
  if (got <= 0) {
    tg_socket_hang_up(world, from);
    return TG_OK;
  }
  *more = (size_t)got == room;
  if (!direct) return take(world, from, link->staging, (size_t)got);
  peer->sink += got;
  peer->left -= (uint64_t)got;
  return peer->left ? TG_OK : tg_socket_frame_ends(world, from);
}

/* What sendmsg took; -1: nothing more at present. An error shows when the connection is read: there
 * may be a last word. */
static ssize_t push(tg_world* world, int to, struct iovec* parts, size_t count) {
  struct msghdr message = {.msg_iov = parts, .msg_iovlen = count};
  ssize_t sent = sendmsg(link_of(world)->peers[to].fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  return sent > 0 ? sent : -1;
}

/* Sends what was kept; true when there is nothing left. */
static bool flush_out(tg_world* world, int to, bool* moved) {
  tg_socket_peer* peer = &link_of(world)->peers[to];
  while (peer->out_start < peer->out_end) {
    struct iovec part = {peer->out + peer->out_start, peer->out_end - peer->out_start};
    ssize_t sent = push(world, to, &part, 1);
    if (sent < 0) return false;
    *moved = true;
    peer->out_start += (size_t)sent;
  }
  peer->out_start = peer->out_end = 0;
  return true;
}

static tg_status keep(tg_world* world, int to, const void* data, size_t bytes) {
  tg_socket_peer* peer = &link_of(world)->peers[to];
  if (!bytes) return TG_OK;
  if (peer->out_start) { /* what has left makes room */
    memmove(peer->out, peer->out + peer->out_start, peer->out_end - peer->out_start);
    peer->out_end -= peer->out_start;
    peer->out_start = 0;
  }
  tg_status status =
      TG_RESERVE(peer->out_end + bytes, "messages on their way", &peer->out, &peer->out_capacity);
  if (status != TG_OK) return status;
  memcpy(peer->out + peer->out_end, data, bytes);
  peer->out_end += bytes;
  return TG_OK;
}

tg_status tg_socket_post(tg_world* world, int to, const tg_frame* head, const void* data) {
  tg_socket_peer* peer = &link_of(world)->peers[to];
  size_t bytes = (size_t)head->bytes, sent = 0;
  bool moved = false;
  if (peer->fd < 0) return TG_OK; /* a wait will say so */
  if (flush_out(world, to, &moved)) {
    struct iovec parts[2] = {{(void*)head, sizeof *head}, {(void*)data, bytes}};
    ssize_t took = push(world, to, parts, bytes ? 2 : 1);
    if (took > 0) sent = (size_t)took;
  }
  if (sent < sizeof *head) {
    TG_TRY(keep(world, to, (const char*)head + sent, sizeof *head - sent));
    sent = sizeof *head;
  }
  sent -= sizeof *head;
  return keep(world, to, (const char*)data + sent, bytes - sent);
}

static void next_frame(tg_socket_sending* s) {
  uint64_t rest = s->bytes - s->begun, part = rest < TG_SOCKET_PART ? rest : TG_SOCKET_PART;
  s->head = tg_socket_head(TG_FRAME_DATA, part);
  s->head.of = s->bytes;
  s->head.offset = s->begun;
  s->head_sent = 0;
  s->at = s->bytes ? s->data + s->begun : NULL;
  s->left = part;
  s->begun += part;
  s->framed = true;
}

bool tg_socket_send_step(tg_world* world) {
  tg_socket_sending* s = &link_of(world)->sending;
  bool moved = false;
  while (s->to != TG_NO_PE) {
    if (!s->framed) next_frame(s);
    if (!flush_out(world, s->to, &moved)) return false;
    struct iovec parts[2] = {
        {(char*)&s->head + s->head_sent, sizeof s->head - s->head_sent},
        {(void*)s->at, (size_t)s->left},
    };
    ssize_t sent = push(world, s->to, parts, s->left ? 2 : 1);
    if (sent < 0) return false;
    size_t of_head = sizeof s->head - s->head_sent;
    if (of_head > (size_t)sent) of_head = (size_t)sent;
    s->head_sent += of_head;
    if (s->left) s->at += (size_t)sent - of_head;
    s->left -= (uint64_t)sent - of_head;
    if (s->head_sent < sizeof s->head || s->left) continue;
    s->framed = false;
    if (s->begun == s->bytes) s->to = TG_NO_PE;
  }
  return true;
}

void tg_socket_stop_sending(tg_world* world) {
  tg_socket_sending* s = &link_of(world)->sending;
  if (s->to != TG_NO_PE && s->framed && s->head_sent) { /* the rest of a frame that has begun */
    bool kept = keep(world, s->to, (const char*)&s->head + s->head_sent,
                     sizeof s->head - s->head_sent) == TG_OK &&
                keep(world, s->to, s->at, (size_t)s->left) == TG_OK;
    if (!kept) tg_socket_hang_up(world, s->to); /* nothing after it would be understood */
  }
  s->to = TG_NO_PE;
}

tg_status tg_socket_progress(tg_world* world, int milliseconds, bool* moved) {
  tg_socket_link* link = link_of(world);
  bool any = false;
  for (int p = 0; p < world->pe_count; p++) {
    tg_socket_peer* peer = &link->peers[p];
    bool full = peer->fd >= 0 && !flush_out(world, p, &any);
    link->polls[p] = (struct pollfd){.fd = peer->fd, .events = POLLIN};
    if (full || link->sending.to == p) link->polls[p].events |= POLLOUT;
  }
  int ready = poll(link->polls, (nfds_t)world->pe_count, milliseconds);
  for (int p = 0; p < world->pe_count && ready > 0; p++) {
    if (!link->polls[p].revents) continue;
    ready--;
    any = true;
    bool more = (link->polls[p].revents & ~POLLOUT) != 0;
    for (int i = 0; more && i < READS_AT_ONCE; i++) TG_TRY(pull(world, p, &more));
  }
  if (moved) *moved = any;
  return TG_OK;
}

static tg_status lost_or_late(tg_world* world, tg_socket_wait* wait, double now) {
  tg_socket_link* link = link_of(world);
  char text[160];
  const char* what = wait->what;
  if (!what) {
    tg_symmetric_awaited(wait->list, text, sizeof text);
    what = text;
  }
  if (link->lost != TG_NO_PE) return tg_world_lost(world, link->lost, wait->partner, what);
  return tg_world_late(world, now - wait->start, wait->partner, what);
}

/* What is known is judged before more is taken in, so that the waiter has looked whether what came
 * last was what it waits for; also when this process was itself the one that was stopped, and finds
 * the deadline passed and the answer there. */
tg_status tg_socket_round(tg_world* world, tg_socket_wait* wait) {
  tg_socket_link* link = link_of(world);
  unsigned spins = link->spin ? SPIN_ROUNDS : 0;
  double now = tg_time_now();
  if (wait->start == 0) wait->start = now;
  double left = wait->start + world->deadline_s - now;
  TG_TRY(tg_outcome_aborted(&link->abort));
  if (link->lost != TG_NO_PE || wait->overtime > MOST_OVERTIME)
    return lost_or_late(world, wait, now);
  int patience = 0;
  if (left <= 0)
    wait->overtime++;
  else if (wait->rounds >= spins + YIELD_ROUNDS)
    patience = left * 1000 < SLEEP_MS ? (int)(left * 1000) + 1 : SLEEP_MS;
  else if (wait->rounds >= spins)
    sched_yield();
  bool moved = false;
  TG_TRY(tg_socket_progress(world, patience, &moved));
  wait->rounds = moved ? 0 : wait->rounds + 1;
  return moved || left > 0 ? TG_OK : lost_or_late(world, wait, now);
}
