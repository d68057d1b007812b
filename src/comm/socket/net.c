/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/socket/net.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/interrupt.h"
#include "base/text.h"
#include "base/timer.h"

const char* tg_net_resolve(const char* host, int port, tg_net_address* out) {
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV}, *found = NULL;
  char service[16];
  snprintf(service, sizeof service, "%d", port);
  int error = getaddrinfo(host, service, &hints, &found);
  if (error) return gai_strerror(error);
  memset(out, 0, sizeof *out);
  memcpy(&out->at, found->ai_addr, found->ai_addrlen);
  out->length = found->ai_addrlen;
  freeaddrinfo(found);
  return NULL;
}

bool tg_net_numbers(const tg_net_address* address, char host[TG_NET_HOST], int* port) {
  char service[16];
  if (getnameinfo((const struct sockaddr*)&address->at, address->length, host, TG_NET_HOST, service,
                  sizeof service, NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return false;
  return tg_parse_int(service, (int)strlen(service), port);
}

bool tg_net_own_address(int fd, tg_net_address* out) {
  memset(out, 0, sizeof *out);
  out->length = sizeof out->at;
  return getsockname(fd, (struct sockaddr*)&out->at, &out->length) == 0;
}

static int new_socket(int family) {
  return socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

static void be_prompt(int fd) {
  const int on = 1; /* a small message is not held back for a larger one */
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

int tg_net_listen(const tg_net_address* address) {
  const int on = 1;
  int fd = new_socket(address->at.ss_family);
  if (fd < 0) return -1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on); /* after an earlier run's connections */
  if (bind(fd, (const struct sockaddr*)&address->at, address->length) == 0 &&
      listen(fd, SOMAXCONN) == 0)
    return fd;
  int error = errno;
  close(fd);
  errno = error;
  return -1;
}

/* Until fd is ready, or -1: errno. */
static int await(int fd, short events, double until) {
  for (;;) {
    double left = until - tg_time_now();
    struct pollfd one = {.fd = fd, .events = events};
    int ready = left > 0 ? poll(&one, 1, (int)(left * 1000) + 1) : 0;
    if (ready > 0) return 0;
    if (ready == 0) {
      errno = ETIMEDOUT;
      return -1;
    }
    if (errno != EINTR || tg_interrupt_requested()) return -1;
  }
}

int tg_net_connect(const tg_net_address* address, double until) {
  int fd = new_socket(address->at.ss_family), error = 0;
  socklen_t size = sizeof error;
  if (fd < 0) return -1;
  if (connect(fd, (const struct sockaddr*)&address->at, address->length) != 0) {
    if (errno != EINPROGRESS || await(fd, POLLOUT, until) != 0) error = errno;
    if (!error && getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  }
  if (!error) {
    be_prompt(fd);
    return fd;
  }
  close(fd);
  errno = error;
  return -1;
}

int tg_net_accept(int listener) {
  int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd >= 0) be_prompt(fd);
  return fd;
}

int tg_net_send_all(int fd, const void* data, size_t bytes, double until) {
  const char* at = data;
  while (bytes) {
    ssize_t sent = send(fd, at, bytes, MSG_NOSIGNAL);
    if (sent > 0) {
      at += sent;
      bytes -= (size_t)sent;
    } else if (errno == EAGAIN) {
      if (await(fd, POLLOUT, until) != 0) return -1;
    } else if (errno != EINTR) {
      return -1;
    }
  }
  return 0;
}

int tg_net_receive_all(int fd, void* data, size_t bytes, double until) {
  char* at = data;
  while (bytes) {
    ssize_t got = recv(fd, at, bytes, 0);
    if (got > 0) {
      at += got;
      bytes -= (size_t)got;
    } else if (got == 0) {
      errno = ECONNRESET;
      return -1;
    } else if (errno == EAGAIN) {
      if (await(fd, POLLIN, until) != 0) return -1;
    } else if (errno != EINTR) {
      return -1;
    }
  }
  return 0;
}

void tg_net_close(int* fd) {
  if (*fd >= 0) close(*fd);
  *fd = -1;
}
