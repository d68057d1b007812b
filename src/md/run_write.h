/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/run_write.h  What the steps of a run write, and when: the same whatever computes them.
 */
#ifndef TG_MD_RUN_WRITE_H
#define TG_MD_RUN_WRITE_H

#include "md/run.h"

/** True where something has this period (0: never) and the step is a multiple. */
static inline bool tg_run_due(int period, long long step) {
  return period > 0 && step % period == 0;
}

/** Whether a step's energies, or its positions, velocities or forces, are asked for. */
bool tg_run_wants_energies(const tg_run* run, long long step);
bool tg_run_wants_frame(const tg_run* run, long long step);

/** From potential terms (without their sum), virial and kinetic tensor of the whole system, and the
 * heat of the thermostat, to all other terms; and into the files where PE 0 calls. Local.
 * TG_ERR_NUMERICS where the energy is not a finite number. */
tg_status tg_run_put_energies(tg_run* run, long long step, double heat, tg_energies* energies);
/** Local, PE 0: what the step asks for out of run->whole_x, whole_v, whole_f. */
tg_status tg_run_put_frame(tg_run* run, long long step);
/** Tells the caller where the run is, not more often than every half second; *last: when that was.
 */
void tg_run_report_progress(tg_run* run, long long done, double started, double* last);

#endif
