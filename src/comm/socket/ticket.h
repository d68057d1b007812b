/* SPDX-License-Identifier: Apache-2.0 */
/** @file comm/socket/ticket.h  The rendezvous file; not for callers. */
#ifndef TG_COMM_SOCKET_TICKET_H
#define TG_COMM_SOCKET_TICKET_H

#include "comm/socket/rendezvous.h"

/** Where PE 0 listens, and the token that lets one in. */
typedef struct tg_socket_ticket {
  char host[TG_NET_HOST];
  int port;
  char token[TG_SOCKET_WORD];
} tg_socket_ticket;

/** Draws a random token. */
tg_status tg_socket_ticket_draw(tg_socket_ticket* ticket);
/** TG_ERR_INPUT where the path holds what PE 0 will not replace: anything but a rendezvous file,
 * of this or an earlier version. TG_OK where nothing is there. */
tg_status tg_socket_ticket_check(const tg_socket_place* place);
/** Writes the file, whole or not at all, for its owner's eyes only, after that check. */
tg_status tg_socket_ticket_write(const tg_socket_place* place, const tg_socket_ticket* ticket);
/** Reads it. NULL, or why it is of no use at present. */
const char* tg_socket_ticket_read(const tg_socket_place* place, tg_socket_ticket* out);
/** Removes the file if it is still the one with this ticket's token. */
void tg_socket_ticket_remove(const tg_socket_place* place, const tg_socket_ticket* ticket);

#endif
