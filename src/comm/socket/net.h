/* SPDX-License-Identifier: Apache-2.0 */
/** @file comm/socket/net.h  TCP for the transport: connections that do not block; not for callers.
 *
 * Times are moments of tg_time_now. Failures here are for the caller to word: a description is in
 * errno, or in the text of tg_net_resolve. */
#ifndef TG_COMM_SOCKET_NET_H
#define TG_COMM_SOCKET_NET_H

#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

enum { TG_NET_HOST = 64 }; /* bytes of a numeric address with its zone, and of a name */

typedef struct tg_net_address {
  struct sockaddr_storage at;
  socklen_t length;
} tg_net_address;

/** Finds a host, by name or number. NULL, or what the system says is wrong. */
const char* tg_net_resolve(const char* host, int port, tg_net_address* out);
/** Its number (not its name) and port; false where it has none. */
bool tg_net_numbers(const tg_net_address* address, char host[TG_NET_HOST], int* port);
/** This end's address of a connection or a listener. */
bool tg_net_own_address(int fd, tg_net_address* out);

/** A listener; port 0 in the address: any free one. -1: errno. */
int tg_net_listen(const tg_net_address* address);
/** A connection, made by a moment. -1: errno, ETIMEDOUT when it was not made by then. */
int tg_net_connect(const tg_net_address* address, double until);
/** The next connection of a listener; -1: none at present. */
int tg_net_accept(int listener);

/** Moves all the bytes by a moment. -1: errno; the other end closed it: ECONNRESET; late:
 * ETIMEDOUT.
 */
int tg_net_send_all(int fd, const void* data, size_t bytes, double until);
int tg_net_receive_all(int fd, void* data, size_t bytes, double until);
/** Closes and sets to -1; null-safe in that -1 is left alone. */
void tg_net_close(int* fd);

#endif
