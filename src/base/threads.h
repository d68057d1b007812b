/* SPDX-License-Identifier: Apache-2.0 */
/** @file base/threads.h  Whether as many threads can be had as are asked for. */
#ifndef TG_BASE_THREADS_H
#define TG_BASE_THREADS_H

#include "base/status.h"

/** Starts count threads (with the caller's own: count - 1 more) at once, and ends them. Where one
 * does not start, TG_ERR_MACHINE with how many did: OpenMP's library would end the program. Takes
 * some 20 us a thread. count below 2: TG_OK. */
tg_status tg_threads_try(int count);

#endif
