/* SPDX-License-Identifier: Apache-2.0 */
/** @file base/interrupt.h  Ctrl-C as a question that long work asks between its steps. */
#ifndef TG_BASE_INTERRUPT_H
#define TG_BASE_INTERRUPT_H

#include <stdbool.h>

#include "base/status.h"

/** Makes the first SIGINT, SIGTERM or SIGHUP (a closed terminal) set the flag below, except those
 * that are ignored already (nohup); a second one of the same kind, half a second later or more,
 * ends the process as it would have without throng. A file that grows beyond the limit of its size
 * (ulimit -f) is a write that fails, as on a full disk, rather than a signal that kills. For the
 * program to call: the library installs no handler by itself. */
tg_status tg_interrupt_install(void);

/** True once an interrupt was asked for. Any thread; cheap. Work that sees it writes what it must
 * and returns TG_ERR_INTERRUPTED. */
bool tg_interrupt_requested(void);

/** Sets or clears the flag, for callers with their own way of stopping. Safe in a signal handler.
 */
void tg_interrupt_request(bool requested);

#endif
