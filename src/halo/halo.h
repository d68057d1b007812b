/* SPDX-License-Identifier: Apache-2.0 */
/** @file halo/halo.h  The halo exchange, as callers see it, on worlds made here (comm/world.h). */
#ifndef TG_HALO_HALO_H
#define TG_HALO_HALO_H

#include <throng/halo.h>

#include "base/trace.h"
#include "comm/world.h"

/** Lines of a PE's trace: its CPU, then one per pulse or neighbour. */
enum { TG_HALO_TRACE_CPU = 0, TG_HALO_TRACE_PARTS = 1, TG_HALO_TRACE_LINES = 65 };

/** Local: exchanges are recorded from now on, into a trace of TG_HALO_TRACE_LINES lines that the
 * caller owns; NULL: no longer. */
void tg_halo_trace(tg_halo* halo, tg_trace* trace);

#endif
