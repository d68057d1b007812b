/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/socket/rendezvous.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/interrupt.h"
#include "base/memory.h"
#include "base/timer.h"
#include "comm/socket/ticket.h"
#include "comm/transport.h"

static const uint32_t magic = 0x54484853; /* also tells a machine of the other byte order */
enum { VERSION = 1, MOST_GUESTS = 32, LOOK_MS = 50 };
static const double guest_s =
    2; /* in which who connects must have said his hello, and be answered */

/* The first words on a connection. */
typedef struct hello {
  uint32_t magic, version;
  int32_t pe, pe_count;
  char job[TG_SOCKET_WORD], token[TG_SOCKET_WORD];
  char host[TG_NET_HOST]; /* where this PE listens; to PE 0 only */
  int32_t port;
} hello;

/* PE 0's answer; who does not know the token gets none. */
enum { WELCOME = 1, OTHER_COUNT, TAKEN };
typedef struct answer {
  uint32_t magic, verdict;
  int32_t pe_count;
} answer;

typedef struct listing {
  char host[TG_NET_HOST];
  int32_t port;
} listing;

/* Connected, and not known yet. */
typedef struct guest {
  int fd;
  double since;
  size_t have;
  hello words;
} guest;

typedef struct meeting {
  const tg_socket_place* place;
  tg_socket_ticket ticket;
  double start, until, deadline_s;
  int listener;
  listing* roster;      /* [pe_count] */
  struct pollfd* polls; /* [1 + MOST_GUESTS + pe_count] */
  guest guests[MOST_GUESTS];
  int guest_count;
  int refused;
  int* fds; /* [pe_count] */
} meeting;

static hello words_of(const meeting* m) {
  hello words;
  memset(&words, 0, sizeof words);
  words.magic = magic;
  words.version = VERSION;
  words.pe = m->place->pe;
  words.pe_count = m->place->pe_count;
  memcpy(words.job, m->place->job, sizeof words.job);
  memcpy(words.token, m->ticket.token, sizeof words.token);
  return words;
}

static bool knows_the_word(const meeting* m, const hello* words) {
  return words->magic == magic && words->version == VERSION &&
         memcmp(words->token, m->ticket.token, sizeof words->token) == 0 &&
         memcmp(words->job, m->place->job, sizeof words->job) == 0;
}

static tg_status interrupted(void) {
  return tg_fail(TG_ERR_INTERRUPTED, "interrupted while waiting for the other processes");
}

/* At the deadline: who is missing among first .. pe_count - 1. */
static tg_status missing(const meeting* m, int first) {
  char list[200] = "", refused[120] = "";
  size_t used = 0;
  for (int p = first; p < m->place->pe_count && used + 16 < sizeof list; p++)
    if (p != m->place->pe && m->fds[p] < 0)
      used += (size_t)snprintf(list + used, sizeof list - used, "%s%d", used ? ", " : "", p);
  if (m->refused)
    snprintf(refused, sizeof refused,
             "; %d connection%s without this run's token or TG_JOB had been cut off", m->refused,
             m->refused > 1 ? "s" : "");
  return tg_fail(TG_ERR_MACHINE,
                 "PE %d waited %.3g s for PE %s of %d to come to %s, longer than the deadline of "
                 "%.3g s%s; start them with the same TG_BOOTSTRAP, or raise the deadline",
                 m->place->pe, tg_time_now() - m->start, list, m->place->pe_count,
                 m->place->bootstrap, m->deadline_s, refused);
}

/* A guest's hello is complete: seats him, or not. True when the connection is to be kept. */
static bool seat(meeting* m, const guest* who, int first) {
  const hello* words = &who->words;
  int pe = words->pe;
  if (!knows_the_word(m, words)) {
    m->refused++;
    return false;
  }
  answer reply = {magic, WELCOME, m->place->pe_count};
  if (words->pe_count != m->place->pe_count || pe < first || pe >= m->place->pe_count)
    reply.verdict = OTHER_COUNT;
  else if (m->fds[pe] >= 0)
    reply.verdict = TAKEN;
  /* only PE 0 is asked; the others find a roster's guests or a stranger */
  if (m->place->pe == 0 &&
      tg_net_send_all(who->fd, &reply, sizeof reply, tg_time_now() + guest_s) != 0)
    return false;
  if (reply.verdict != WELCOME) return false;
  m->fds[pe] = who->fd;
  memcpy(m->roster[pe].host, words->host, sizeof words->host);
  m->roster[pe].host[sizeof words->host - 1] = '\0';
  m->roster[pe].port = words->port;
  return true;
}

/* Hears a guest out as far as he has spoken. False: he is no guest any more. */
static bool hear(meeting* m, guest* who, int first) {
  ssize_t got = recv(who->fd, (char*)&who->words + who->have, sizeof who->words - who->have, 0);
  if (got > 0) who->have += (size_t)got;
  if (who->have == sizeof who->words) {
    if (!seat(m, who, first)) tg_net_close(&who->fd);
    return false;
  }
  bool waits = got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
  if (waits && tg_time_now() - who->since < guest_s) return true;
  m->refused++;
  tg_net_close(&who->fd);
  return false;
}

static void hear_guests(meeting* m, int first) {
  int kept = 0;
  for (int i = 0; i < m->guest_count; i++)
    if (hear(m, &m->guests[i], first)) m->guests[kept++] = m->guests[i];
  m->guest_count = kept;
  for (int fd; m->guest_count < MOST_GUESTS && (fd = tg_net_accept(m->listener)) >= 0;)
    m->guests[m->guest_count++] = (guest){.fd = fd, .since = tg_time_now()};
}

/* A PE that has come and gone again may come anew: until the roster is out it has missed nothing.
 */
static void forget_the_dead(meeting* m, int first) {
  char byte;
  for (int p = first; p < m->place->pe_count; p++)
    if (m->fds[p] >= 0 && recv(m->fds[p], &byte, 1, MSG_PEEK) == 0) tg_net_close(&m->fds[p]);
}

static bool all_here(const meeting* m, int first) {
  for (int p = first; p < m->place->pe_count; p++)
    if (m->fds[p] < 0) return false;
  return true;
}

/* Sleeps until somebody says something, or it is time to look again. */
static tg_status sleep_a_little(meeting* m) {
  nfds_t count = 0;
  int listener = m->guest_count < MOST_GUESTS ? m->listener : -1; /* poll passes over -1 */
  m->polls[count++] = (struct pollfd){.fd = listener, .events = POLLIN};
  for (int i = 0; i < m->guest_count; i++)
    m->polls[count++] = (struct pollfd){.fd = m->guests[i].fd, .events = POLLIN};
  poll(m->polls, count, LOOK_MS);
  return tg_interrupt_requested() ? interrupted() : TG_OK;
}

/* Until PEs first .. pe_count - 1 are connected. */
static tg_status receive_guests(meeting* m, int first) {
  for (;;) {
    if (m->place->pe == 0) forget_the_dead(m, first);
    hear_guests(m, first);
    if (all_here(m, first)) return TG_OK;
    if (tg_time_now() > m->until) return missing(m, first);
    TG_TRY(sleep_a_little(m));
  }
}

static tg_status listen_at(meeting* m, const char* host, int port) {
  tg_net_address address;
  const char* fault = tg_net_resolve(host, port, &address);
  if (fault)
    return tg_fail(TG_ERR_INPUT,
                   "transport socket: host '%s': %s; give a name or number of this "
                   "machine in %s",
                   host, fault, m->place->path ? "TG_HOST" : "TG_BOOTSTRAP");
  m->listener = tg_net_listen(&address);
  if (m->listener < 0)
    return tg_fail(TG_ERR_MACHINE, "transport socket: PE %d cannot listen at %s, port %d: %s",
                   m->place->pe, host, port, strerror(errno));
  return TG_OK;
}

static tg_status broke_up(const meeting* m, int with, const char* what) {
  return tg_fail(TG_ERR_MACHINE,
                 "PE %d: the connection to PE %d broke at %s (%s): %s; see the "
                 "messages of that process",
                 m->place->pe, with, m->place->bootstrap, what, strerror(errno));
}

static tg_status meet_as_first(meeting* m) {
  const tg_socket_place* place = m->place;
  size_t bytes = (size_t)place->pe_count * sizeof *m->roster;
  TG_TRY(listen_at(m, place->host, place->port));
  if (place->path) {
    tg_net_address own;
    TG_TRY(tg_socket_ticket_draw(&m->ticket));
    if (!tg_net_own_address(m->listener, &own) ||
        !tg_net_numbers(&own, m->ticket.host, &m->ticket.port))
      return tg_fail(TG_ERR_MACHINE, "transport socket: PE 0 cannot tell its address: %s",
                     strerror(errno));
    TG_TRY(tg_socket_ticket_write(place, &m->ticket));
  }
  tg_status status = receive_guests(m, 1);
  /* before anyone can go on and come to the next rendezvous */
  if (place->path) tg_socket_ticket_remove(place, &m->ticket);
  TG_TRY(status);
  for (int p = 1; p < place->pe_count; p++)
    if (tg_net_send_all(m->fds[p], m->roster, bytes, m->until) != 0)
      return broke_up(m, p, "the roster");
  return TG_OK;
}

/* One attempt to be welcomed by PE 0. NULL, or why not yet; *status: a failure for good. */
static const char* call_first(meeting* m, tg_status* status) {
  const tg_socket_place* place = m->place;
  tg_net_address address, own;
  if (place->path) {
    *status = tg_socket_ticket_check(place); /* what PE 0 refuses is not worth waiting for */
    if (*status != TG_OK) return "";
    const char* fault = tg_socket_ticket_read(place, &m->ticket);
    if (fault) return fault;
  } else {
    memcpy(m->ticket.host, place->host, sizeof place->host);
    m->ticket.port = place->port;
  }
  const char* fault = tg_net_resolve(m->ticket.host, m->ticket.port, &address);
  if (fault) return fault;
  double until = tg_time_now() + guest_s;
  if (until > m->until) until = m->until;
  int fd = tg_net_connect(&address, until);
  if (fd < 0) return strerror(errno);
  /* others reach this PE where PE 0 is reached from */
  hello words = words_of(m);
  int port = 0;
  tg_net_close(&m->listener);
  if (tg_net_own_address(fd, &own) && tg_net_numbers(&own, words.host, &port))
    *status = listen_at(m, words.host, 0);
  if (m->listener >= 0 && tg_net_own_address(m->listener, &own) &&
      tg_net_numbers(&own, words.host, &port))
    words.port = port;
  answer reply;
  if (*status != TG_OK || tg_net_send_all(fd, &words, sizeof words, until) != 0 ||
      tg_net_receive_all(fd, &reply, sizeof reply, until) != 0 || reply.magic != magic) {
    tg_net_close(&fd);
    return "whoever listens there does not know this run's token or TG_JOB, or does not answer";
  }
  if (reply.verdict == WELCOME) {
    m->fds[0] = fd;
    return NULL;
  }
  tg_net_close(&fd);
  *status = reply.verdict == TAKEN
                ? tg_fail(TG_ERR_INPUT,
                          "transport socket: there is a PE %d at %s already; each process needs a "
                          "TG_PE of its own, each run a TG_BOOTSTRAP or TG_JOB of its own",
                          place->pe, place->bootstrap)
                : tg_fail(TG_ERR_INPUT,
                          "transport socket: PE %d has TG_PE_COUNT=%d, PE 0 at %s has %d; make "
                          "them equal",
                          place->pe, place->pe_count, place->bootstrap, reply.pe_count);
  return "";
}

static tg_status find_first(meeting* m) {
  const struct timespec pause = {0, 20000000};
  for (;;) {
    tg_status status = TG_OK;
    const char* fault = call_first(m, &status);
    if (status != TG_OK || !fault) return status;
    if (tg_interrupt_requested()) return interrupted();
    if (tg_time_now() > m->until)
      return tg_fail(TG_ERR_MACHINE,
                     "PE %d waited %.3g s for PE 0 at %s (%s), longer than the deadline of %.3g s; "
                     "start PE 0 with the same TG_BOOTSTRAP and TG_JOB, or raise the deadline",
                     m->place->pe, tg_time_now() - m->start, m->place->bootstrap, fault,
                     m->deadline_s);
    nanosleep(&pause, NULL);
  }
}

static tg_status meet_as_other(meeting* m) {
  const tg_socket_place* place = m->place;
  TG_TRY(find_first(m));
  /* PE 0 gives up at its own deadline, and says so by closing */
  if (tg_net_receive_all(m->fds[0], m->roster, (size_t)place->pe_count * sizeof *m->roster,
                         m->until + m->deadline_s) != 0) {
    if (tg_interrupt_requested()) return interrupted();
    return broke_up(m, 0, "waiting for the others");
  }
  hello words = words_of(m);
  for (int p = 1; p < place->pe; p++) {
    tg_net_address address;
    m->roster[p].host[TG_NET_HOST - 1] = '\0';
    if (tg_net_resolve(m->roster[p].host, m->roster[p].port, &address))
      errno = EADDRNOTAVAIL;
    else
      m->fds[p] = tg_net_connect(&address, m->until + m->deadline_s);
    if (m->fds[p] < 0 || tg_net_send_all(m->fds[p], &words, sizeof words, m->until) != 0)
      return broke_up(m, p, m->roster[p].host);
  }
  m->until = tg_time_now() + m->deadline_s;
  return receive_guests(m, place->pe + 1);
}

tg_status tg_socket_rendezvous(const tg_socket_place* place, double deadline_s, int* fds) {
  size_t count = (size_t)place->pe_count;
  meeting* m = NULL;
  tg_status status = TG_OK;
  for (int p = 0; p < place->pe_count; p++) fds[p] = -1;
  if (place->pe_count == 1) return TG_OK;
  TG_TRY(TG_ALLOCATE(1, "a rendezvous", &m));
  m->place = place;
  m->fds = fds;
  m->listener = -1;
  m->deadline_s = deadline_s;
  m->start = tg_time_now();
  m->until = m->start + deadline_s;
  TG_TRY_GOTO(TG_ALLOCATE(count, "a rendezvous", &m->roster), end);
  TG_TRY_GOTO(TG_ALLOCATE(1 + MOST_GUESTS + count, "a rendezvous", &m->polls), end);
  status = place->pe == 0 ? meet_as_first(m) : meet_as_other(m);
end:
  for (int i = 0; i < m->guest_count; i++) tg_net_close(&m->guests[i].fd);
  tg_net_close(&m->listener);
  if (status != TG_OK)
    for (int p = 0; p < place->pe_count; p++) tg_net_close(&fds[p]);
  tg_free(m->roster);
  tg_free(m->polls);
  tg_free(m);
  return status;
}

tg_status tg_socket_check(void) {
  tg_net_address address;
  int listener = -1, fd = -1;
  if (!tg_net_resolve("127.0.0.1", 0, &address) && (listener = tg_net_listen(&address)) >= 0 &&
      tg_net_own_address(listener, &address))
    fd = tg_net_connect(&address, tg_time_now() + guest_s);
  int error = errno;
  bool works = fd >= 0;
  tg_net_close(&fd);
  tg_net_close(&listener);
  if (works) return TG_OK;
  return tg_fail(TG_ERR_MACHINE, "no connection over the loopback interface: %s", strerror(error));
}
