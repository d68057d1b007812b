/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/states_room.h  Within src/ci: memory for the states that a GPU's solve will find. The
 * machine clears a page when it is first written to, and a GPU copies to pages that may not move at
 * several times the rate of others; both cost as much as the copies themselves. So a thread of its
 * own asks for the pages, and pins them, while the GPU is at work. */
#ifndef TG_CI_STATES_ROOM_H
#define TG_CI_STATES_ROOM_H

#include <stddef.h>

#include "base/status.h"

typedef struct tg_ci_states_room tg_ci_states_room;

/** Room for `count` numbers, whose values are not defined, which GPUs will write to and read.
 * device: one of them; -1: there are none, and pages come when they are written to. */
tg_status tg_ci_states_room_begin(size_t count, int device, tg_ci_states_room** out);
/** [count], which may be written to at once. */
double* tg_ci_states_room_memory(const tg_ci_states_room* room);
/** Ends the thread. The memory is from now on the caller's, to be released with tg_free, but not
 * before tg_ci_states_room_end. */
double* tg_ci_states_room_take(tg_ci_states_room* room);
/** Null-safe: ends the thread and lets go of the pages; the memory goes, too, unless it was taken.
 */
void tg_ci_states_room_end(tg_ci_states_room** room);

#endif
