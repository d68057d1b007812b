/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/device_split.h  Where the time of a run on GPUs went, for its log. */
#ifndef TG_MD_DEVICE_SPLIT_H
#define TG_MD_DEVICE_SPLIT_H

#include "md/device_step.h"
#include "md/run.h"

enum { TG_DEVICE_TIME_EVERY = 8 /* one in so many stretches of a run is timed */ };

/** What a run has done. */
typedef struct tg_device_done {
  long long energy_steps, sum_steps; /* with energies; whose velocities are summed over */
  long long searches, prunings;      /* without these of searches */
  double idle_s;                     /* that the GPU has waited for files to be written */
} tg_device_done;

/** Collective, after the last step: run->domain->part_s from timed steps, and from kernels measured
 * by themselves where there are none; both into md.log. Leaves the state unusable. */
tg_status tg_device_split(tg_run* run, tg_device_md* md, tg_device_step* step,
                          const tg_device_done* done);

#endif
