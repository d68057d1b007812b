/* SPDX-License-Identifier: Apache-2.0 */
/** @file comm/words.h  The words that started a process, compared between the PEs of a world: with
 * options that differ they would do different things without a sign. */
#ifndef TG_COMM_WORDS_H
#define TG_COMM_WORDS_H

#include "comm/world.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Local, before any world: from now on each world of processes that tg_world_run makes compares
 * these words first, and fails on all PEs with TG_ERR_INPUT, naming the first whose words are not
 * PE 0's. All processes of a world call this, or none. words is not copied; count 0 is unlike any
 * words. */
void tg_words_set(int count, char** words);

/** Collective: the comparison; TG_OK where no words were set or the PEs are threads. */
tg_status tg_words_compare(tg_world* world);

#ifdef __cplusplus
}
#endif
#endif
