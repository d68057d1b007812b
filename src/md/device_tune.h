/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/device_tune.h  Which list intervals are the fastest on this GPU, by measured time. */
#ifndef TG_MD_DEVICE_TUNE_H
#define TG_MD_DEVICE_TUNE_H

#include "md/device_setup.h"
#include "md/run.h"

/** Runs some hundred steps from setup->x and v, which are thrown away, with each of some choices,
 * all of them within verlet-buffer-tolerance, and takes over the fastest as the run's nstlist,
 * list_radius, prune_interval and inner_radius: that of the formula unless another one is faster by
 * more than a measurement is off. Says so in the log, and in tuning.json in the output folder. Does
 * nothing without a tolerance. v: [atom_count][3] nm/ps. Local. */
tg_status tg_device_tune(tg_run* run, const tg_device_setup* setup, const double (*v)[3]);

#endif
