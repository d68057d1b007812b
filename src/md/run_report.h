/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/run_report.h  The beginning and the end of md.log, and the plot. */
#ifndef TG_MD_RUN_REPORT_H
#define TG_MD_RUN_REPORT_H

#include "md/list_choice.h"
#include "md/run.h"

/** Local: says what runs, on what. */
void tg_run_report_start(tg_run* run, const tg_list_choice* choice);
/** Collective: averages, drift, speed and time split into md.log, and into run->result. */
tg_status tg_run_report_end(tg_run* run);
/** Local, before the run: TG_ERR_INPUT for a plot of job->plot's name or folder that could not be
 * written. */
tg_status tg_run_plot_check(const tg_md_job* job);
/** Local: job->plot from the energies in the output folder. */
tg_status tg_run_plot(const tg_md_job* job, const tg_md_system* system);

#endif
