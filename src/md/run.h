/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/run.h  What the files of a run share: the engine's state on one PE. */
#ifndef TG_MD_RUN_H
#define TG_MD_RUN_H

#include <throng/md.h>

#include "md/device_choice.h"
#include "md/domain.h"
#include "md/energies.h"
#include "md/output.h"
#include "md/thermostat.h"

/** A state to go back to: taken at a list step, where order and layout follow from positions alone.
 */
typedef struct tg_snapshot {
  bool taken; /* the same on all PEs */
  long long step;
  size_t home_count;
  size_t capacity;
  int* global;
  double (*x)[3];
  double (*v)[3];
  double heat[TG_MAX_GROUPS];
  tg_output_marks marks; /* PE 0: how long each output file was */
} tg_snapshot;

typedef struct tg_run {
  const tg_md_job* job;
  const tg_md_system* system;
  tg_domain* domain;
  tg_output* output; /* PE 0; NULL elsewhere */
  tg_thermostat_state thermostat;
  tg_snapshot snapshot;
  double (*whole_x)[3]; /* [atom_count] at PE 0 */
  double (*whole_v)[3];
  double (*whole_f)[3];
  long long step, last_step;
  long long steps_done; /* by the loop, whole steps alone */
  int nstlist;
  double list_radius;       /* nm */
  int prune_interval;       /* list_choice.h */
  double inner_radius;      /* nm; these four are part of a checkpoint */
  tg_device_choice devices; /* backend cuda */
  tg_world* processes; /* of several with a GPU each, which all start from the whole system; else
                          NULL */
  tg_world* own_world; /* then the domain's */
  int traced_steps;
  bool finished;    /* the last step was done: the checkpoint says so */
  bool state_kept;  /* the snapshot is the last good state, also after TG_ERR_MACHINE */
  char kernels[64]; /* what computes, where it is no backend of nonbonded.h; else empty */
  tg_md_run_result result;
} tg_run;

/** Collective: the leap-frog loop from run->step to run->last_step. */
tg_status tg_run_leap_frog(tg_run* run);
/** Collective: steepest descent. */
tg_status tg_run_minimise(tg_run* run);

/** Collective: keeps the present state (after a partition) as run->snapshot. */
tg_status tg_run_take_snapshot(tg_run* run);
/** Collective: writes the snapshot as a checkpoint / as a .gro file of that name. */
tg_status tg_run_write_checkpoint(tg_run* run);
tg_status tg_run_write_snapshot_gro(tg_run* run, const char* name);
/** Local, PE 0: the snapshot, whose atoms lie in whole_x and whole_v, as a checkpoint. Any thread,
 * as long as no other one uses these or the output. */
tg_status tg_run_save_checkpoint(tg_run* run);
/** Local, PE 0: a .gro file in the run's folder; v may be NULL. */
tg_status tg_run_write_gro(tg_run* run, const char* name, long long step, const double (*x)[3],
                           const double (*v)[3]);
/** Local, PE 0: an .xtc frame of the atoms that compressed-x-grps names. */
tg_status tg_run_write_compressed(tg_run* run, const tg_frame* frame);
/** Collective: the root mean square relative deviation of constrained lengths at x. */
tg_status tg_run_constraint_rmsd(tg_run* run, tg_energies* energies);
/** Composes the message of constraints that could not be met, at "step 7" or "the start"; returns
 * status. Local. */
tg_status tg_run_constraint_failure(const tg_run* run, const char* where,
                                    tg_constraints_failure failure, tg_status status);
void tg_snapshot_free(tg_snapshot* snapshot);

/** Collective: sums the potential terms and virial over PEs, in PE order. */
tg_status tg_run_sum_energies(tg_run* run, tg_energies* energies);

/** Local: pressure tensor in bar from kinetic tensor and virial. */
void tg_pressure(const tg_energies* energies, double volume, double pressure[3][3]);

#endif
