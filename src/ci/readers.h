/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/readers.h  Which of a PE's states the others' rows read, told once by each reader. */
#ifndef TG_CI_READERS_H
#define TG_CI_READERS_H

#include <stdbool.h>

#include "ci/distribution.h"
#include "comm/world.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tg_ci_reader {
  tg_ci_range* list; /* [count] states of this PE, rising */
  size_t count, capacity;
} tg_ci_reader;

typedef struct tg_ci_readers {
  int pe_count;
  tg_ci_reader* readers; /* [pe_count] what each PE needs of this one */
  bool* sources;         /* [pe_count] PEs of whose states this one needs some */
  uint64_t needed;       /* states of others that this PE reads */
} tg_ci_readers;

/** Collective. needed: [needed_count] states of x that this PE's rows are made of, rising
 * (tg_ci_needed). A PE's states of which nearly all are needed are all read. */
tg_status tg_ci_readers_make(tg_world* world, const tg_ci_distribution* distribution,
                             const tg_ci_range* needed, size_t needed_count, tg_ci_readers* out);
/** Accepts a zeroed or half-made one. */
void tg_ci_readers_free(tg_ci_readers* readers);

#ifdef __cplusplus
}
#endif
#endif
