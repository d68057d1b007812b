/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/device_meet.h  What the processes of a run on GPUs tell each other between stretches.
 *
 * They take the same decisions in the same order, so that the cards get the same work: once a
 * stretch, and wherever the GPU's trouble is looked at, they *meet*. A process that fails meets the
 * others once more, wherever they are, and all end with its message. */
#ifndef TG_MD_DEVICE_MEET_H
#define TG_MD_DEVICE_MEET_H

#include <stdbool.h>

#include "comm/world.h"
#include "md/device_step.h"

/** What is agreed: true where it is true for any process; of trouble, the worst. */
typedef struct tg_device_word {
  bool interrupted, checkpoint_due;
  tg_device_trouble trouble;
} tg_device_word;

/** No trouble. */
tg_device_word tg_device_word_make(void);
/** Collective over the processes of world (NULL: one, and nothing changes). status: how this
 * process fares; where one of them fails, all return its status, and carry its message. */
tg_status tg_device_meet(tg_world* world, tg_status status, tg_device_word* word);

#endif
