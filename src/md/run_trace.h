/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/run_trace.h  The timeline of a run's first steps, where job->trace asks for it. */
#ifndef TG_MD_RUN_TRACE_H
#define TG_MD_RUN_TRACE_H

#include "md/run.h"

enum { TG_RUN_TRACE_STEPS = 100 };

/** Local, before anything is written: TG_ERR_INPUT where the file cannot be written, is there (but
 * for job->force), or is one that the run itself reads or writes. */
tg_status tg_run_trace_check(const tg_md_job* job, const tg_topology* topology);
/** Collective: begins recording. TG_ERR_INPUT where the file cannot be written. */
tg_status tg_run_trace_begin(tg_run* run);
/** Local: a step that began at begin_ns (tg_trace_now) is over. */
void tg_run_trace_step(tg_run* run, int64_t begin_ns);
/** Collective: writes the file, once: after TG_RUN_TRACE_STEPS steps, or at the end. */
tg_status tg_run_trace_write(tg_run* run, bool end);

#endif
