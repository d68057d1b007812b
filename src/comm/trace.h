/* SPDX-License-Identifier: Apache-2.0 */
/** @file comm/trace.h  The traces of all PEs, brought to PE 0 and onto its clock. */
#ifndef TG_COMM_TRACE_H
#define TG_COMM_TRACE_H

#include "base/trace.h"
#include "comm/world.h"

/** What PE 0 has gathered. */
typedef struct tg_gathered_traces {
  tg_trace** traces; /* [count], in PE order; owned */
  int count;
} tg_gathered_traces;

/** Collective: copies of all PEs' traces at PE 0, times on its clock. PEs of one machine share that
 * clock. PEs of another are set against it by messages there and back, of which the quickest
 * counts: half its time is the error. notes (PE 0; may be NULL) gets the machines' offsets and
 * errors. On other PEs out is left empty. */
tg_status tg_trace_gather(tg_world* world, const tg_trace* mine, tg_trace_notes* notes,
                          tg_gathered_traces* out);
/** Accepts a zeroed one. */
void tg_gathered_traces_free(tg_gathered_traces* gathered);

#endif
