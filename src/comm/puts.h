/* SPDX-License-Identifier: Apache-2.0 */
/** @file comm/puts.h  Puts into symmetric memory that travel as messages; not for callers.
 *
 * The messages of a pair of PEs arrive in order, and each is taken in data first and then the
 * signal, so whoever sees the signal sees the data. */
#ifndef TG_COMM_PUTS_H
#define TG_COMM_PUTS_H

#include "comm/transport.h"

/** What a put begins with. */
typedef struct tg_put_head {
  uint64_t number; /* of the symmetric memory */
  uint64_t offset, bytes, value;
  int32_t signal; /* -1: none, more data follow */
  int32_t op;
} tg_put_head;

/** The memory of that number in a list; NULL: destroyed, so that nobody would look at a put. */
tg_symmetric* tg_puts_find(tg_symmetric* list, uint64_t number);
/** Whether a put stays inside the memory. */
bool tg_put_fits(const tg_symmetric* symmetric, const tg_put_head* head);
/** The data have been stored: raises the signal. */
void tg_put_signal(const tg_symmetric* symmetric, const tg_put_head* head);

#endif
