/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/device_run.h  The leap-frog loop of a run whose steps a GPU does. */
#ifndef TG_MD_DEVICE_RUN_H
#define TG_MD_DEVICE_RUN_H

#include "md/run.h"

/** TG_ERR_INPUT for what the backend cuda cannot do, by name; TG_ERR_MACHINE where there are not so
 * many GPUs. Local. */
tg_status tg_run_device_check(const tg_md_job* job, const tg_md_system* system,
                              const tg_device_choice* devices, int process_count);
/** Local: run->kernels, for the log. */
tg_status tg_run_device_name(tg_run* run);
/** Local: from run->step to run->last_step, as tg_run_leap_frog. run->domain holds the start. */
tg_status tg_run_device(tg_run* run);
/** What a step does (device_step.h); listed: the last step that searched, first: of a loop. Of the
 * run it reads the system, nstlist, prune_interval and last_step. */
unsigned char tg_run_device_flags(const tg_run* run, long long step, long long listed, bool first);

/** For tests: the room of a run's first lists (tg_device_md_params.row_room), so that they outgrow
 * it; 0: the usual. */
void tg_run_device_first_room(double room);

#endif
