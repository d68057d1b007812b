/* SPDX-License-Identifier: Apache-2.0 */
/** @file comm/outcome.h  How a PE that is a process fares, as the others are told; not for callers.
 *
 * Processes have no common memory for the first abort or for the outcome at the end: both travel
 * as this record, by whatever means the transport has. */
#ifndef TG_COMM_OUTCOME_H
#define TG_COMM_OUTCOME_H

#include "comm/transport.h"

/** origin: the PE whose failure it is, TG_NO_PE: none. */
typedef struct tg_outcome {
  int status;
  int origin;
  int aborted;
  char message[TG_WORLD_MESSAGE];
} tg_outcome;

/** The means of a transport. false: the time was up, or it cannot be done any more. An aborted
 * world waits for so many seconds. The outcome of a PE that is known to be gone is no failure. */
typedef struct tg_outcome_ways {
  bool (*send)(tg_world* world, int to, const tg_outcome* outcome);
  bool (*receive)(tg_world* world, int from, double patience_s, tg_outcome* outcome);
} tg_outcome_ways;

/** How long the outcome of an aborted world is waited for: a PE that is stuck may never bring its
 * own. */
extern const double tg_outcome_patience_s;

/** Fills in an abort, unless there is one already: the first counts. True where it was filled in.
 */
bool tg_outcome_abort(tg_outcome* outcome, tg_status status, int origin, const char* message);
/** TG_OK, or the status of the abort, its message set. */
tg_status tg_outcome_aborted(const tg_outcome* outcome);

/** Collective: PE 0 hears from all in turn and tells all what counts: an abort before other
 * failures, then the lowest PE. abort: what is known of one; status: this PE's, its message this
 * thread's. Leaves it in *outcome, with the names of those who were not heard, for the PE that
 * waited need not have waited for the one that is stuck; true when everyone has been heard. */
bool tg_outcome_agree(tg_world* world, const tg_outcome* abort, tg_status status,
                      const tg_outcome_ways* ways, tg_outcome* outcome);

#endif
