/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/states_room.h  Within src/ci: memory for the states that a GPU's solve will find. The
 * machine clears a page when it is first written to, which takes longer than the copy from the GPU;
 * so a thread of its own asks for the pages while the GPU is at work. */
#ifndef TG_CI_STATES_ROOM_H
#define TG_CI_STATES_ROOM_H

#include <stddef.h>

#include "base/status.h"

typedef struct tg_ci_states_room tg_ci_states_room;

/** Room for `count` numbers, whose values are not defined. */
tg_status tg_ci_states_room_begin(size_t count, tg_ci_states_room** out);
/** [count], which may be written to at once. */
double* tg_ci_states_room_memory(const tg_ci_states_room* room);
/** The memory, from now on the caller's (tg_free); the room is gone. */
double* tg_ci_states_room_take(tg_ci_states_room** room);
/** Null-safe; with the memory. */
void tg_ci_states_room_free(tg_ci_states_room** room);

#endif
