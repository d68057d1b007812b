/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/device_step.h  Whole steps of molecular dynamics in the memory of a GPU.
 *
 * On top of device_md.h, which has the atoms, the pair list and the pair forces: bonded forces,
 * leap-frog with constraints, thermostat, removal of centre-of-mass motion, energies. Steps are
 * queued in *stretches*; what a step does besides moving is said by its flags, and a stretch whose
 * flags were seen before is one launch of a graph. Step s starts from x(t) and v(t - dt/2), as
 * leap_frog_run.c has it. The host waits for nothing but the records of energies.
 *
 * Velocities are floats, positions fixed point (device_md.h); a step computes in double precision
 * in between. Sums are fixed point: a rerun gives the same bits. */
#ifndef TG_MD_DEVICE_STEP_H
#define TG_MD_DEVICE_STEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "md/device_md.h"
#include "md/device_work.h"
#include "md/thermostat.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tg_device_step tg_device_step;

/** What a step does. */
enum {
  TG_STEP_SEARCH = 1, /* sort, search, prune; keeps the state for tg_device_step_copy_kept */
  TG_STEP_PRUNE = 2,
  TG_STEP_ENERGY = 4, /* leaves a record */
  TG_STEP_COUPLE = 8, /* the thermostat scales velocities */
  TG_STEP_COMM = 16,  /* centre-of-mass motion is removed */
  TG_STEP_FRAME = 32  /* x(t), v(t - dt/2), F(t) are kept for tg_device_step_copy_frame */
};

enum {
  TG_DEVICE_STRETCH = 512,
  TG_DEVICE_TERMS = 11,
  TG_DEVICE_IN_FLIGHT = 2,
  TG_DEVICE_NUMBERED = 16 /* domains of all GPUs, at most */
};

typedef struct tg_device_step_params {
  tg_device_md* md; /* its positions are set; used by the steps alone from here on */
  const tg_device_work* work;
  double box[3], dt; /* nm, ps */
  int lincs_order, lincs_iterations;
  double cutoff, rf_k, rf_c, coulomb_scale; /* rf_c 0 without the shift */
  double pair_scale;                        /* of 1-4 pairs: f / epsilon_r x fudge */
  const double (*reference)[3];             /* [atom_count] of position restraints, or NULL */
  tg_thermostat_state thermostat;
  int nsttcouple;
} tg_device_step_params;

/** A step's sums. */
typedef struct tg_device_record {
  long long step;
  double term[TG_DEVICE_TERMS]; /* as tg_energy_term; no self energy; kJ/mol */
  double virial[6], kinetic[6]; /* xx yy zz xy xz yz; kinetic: mean of the half steps; kJ/mol */
  double heat;                  /* that the thermostat has given so far, kJ/mol */
  double deviation_squares;     /* sum over constraints of squared relative deviations */
  long long pairs;              /* within the cut-off */
} tg_device_record;

/** What went wrong, if anything. */
typedef struct tg_device_trouble {
  unsigned lists;      /* not 0: of the pair list */
  bool list_full;      /* that is all, and more room helps (tg_device_md_params) */
  long long fast_atom; /* -1: none; moves too fast, or is not a number */
  long long bad_group; /* -1: none; an atom of a group whose constraints failed */
} tg_device_trouble;

/** Local. Copies what it needs of the parameters. */
tg_status tg_device_step_create(const tg_device_step_params* params, tg_device_step** out);
/** Null-safe, sets NULL; md stays. */
void tg_device_step_destroy(tg_device_step** step);

/** Before the first stretch: v: [atom_count][3] nm/ps, the first step's number and flags. Blocks.
 */
tg_status tg_device_step_start(tg_device_step* step, const double (*v)[3], long long first,
                               unsigned char flags);

/** Queues `count` (1 to TG_DEVICE_STRETCH) steps; flags: [count + 1], the last of them those of the
 * step after (0: there is none). Searches only at the first step, frames only at the last. Waits
 * where TG_DEVICE_IN_FLIGHT stretches are under way. */
tg_status tg_device_step_queue(tg_device_step* step, const unsigned char* flags, int count);
/** Waits for the oldest stretch under way; its records in order: [*count], valid until the next
 * call. *count is 0 and *steps 0 where none is under way. TG_ERR_MACHINE for trouble with lists. */
tg_status tg_device_step_collect(tg_device_step* step, int* steps, const tg_device_record** records,
                                 int* count, tg_device_trouble* trouble);

/** State, or NULL for what is not wanted; [atom_count][3]. Block until all queued steps are done.
 * Positions are within the box, atom by atom. Of several processes each gets its own atoms. */
tg_status tg_device_step_get(tg_device_step* step, double (*x)[3], double (*v)[3]);

/** A state in pinned memory of the host, as the GPU has it. */
typedef struct tg_device_copy tg_device_copy;
/** forces: with room for a frame's. */
tg_status tg_device_copy_create(const tg_device_step* step, bool forces, tg_device_copy** out);
/** Null-safe, sets NULL. */
void tg_device_copy_destroy(tg_device_copy** copy);
/** The state of the last search before anything went wrong. Blocks until all queued steps are done.
 */
tg_status tg_device_step_copy_kept(tg_device_step* step, tg_device_copy* copy);
/** The last frame. Blocks until it is copied, not for the steps under way. */
tg_status tg_device_step_copy_frame(tg_device_step* step, tg_device_copy* copy);
/** Of a kept state: that search's step, and the heat given to each temperature group until then:
 * [TG_MAX_GROUPS]. */
long long tg_device_copy_step(const tg_device_copy* copy, double* heat);
/** As doubles, or NULL for what is not wanted; [atom_count][3]. Positions are within the box, atom
 * by atom; f of a frame alone. Any thread, also after the steps are destroyed. */
void tg_device_copy_read(const tg_device_copy* copy, double (*x)[3], double (*v)[3],
                         double (*f)[3]);

typedef enum tg_device_step_stage {
  TG_DEVICE_STEP_UPDATE,
  TG_DEVICE_STEP_UPDATE_SUMS, /* with the sums over velocities that a thermostat asks for */
  TG_DEVICE_STEP_REDUCE,
  TG_DEVICE_STEP_FORCES, /* pair forces and bonded forces */
  TG_DEVICE_STEP_SERIAL, /* forces and update, one after the other */
  TG_DEVICE_STEP_CHAIN, /* the same as they stand in a stretch: each begins before the other ends */
  TG_DEVICE_STEP_STAGES
} tg_device_step_stage;
/** Microseconds of one stage, the median of some graphs. Leaves the state unusable. */
tg_status tg_device_step_measure(tg_device_step* step, tg_device_step_stage stage,
                                 double* microseconds);
/** What the forces' warps do: rows without halo atoms, rows with some, bonded interactions. */
enum { TG_DEVICE_LOCAL, TG_DEVICE_HALO, TG_DEVICE_BONDED, TG_DEVICE_WORKS };
/** Where the time of a step goes, by the GPUs' own timers; us, means over timed steps, the largest
 * of the GPUs of this process. One GPU's `local` to `between` but for `bonded` add up to its
 * `whole` (device_times.h). */
typedef struct tg_device_step_times {
  int steps;
  double whole;                 /* from a step's first force to the next one's */
  double local;                 /* pair forces of rows without halo atoms */
  double exposed;               /* after these, until rows that waited for other GPUs' positions
                                   had them all */
  double halo;                  /* after that, until the last pair force */
  double tail;                  /* after that, until the last bonded interaction */
  double bonded;                /* beside them, from the step's beginning */
  double update;                /* from the last force to the last atom's move */
  double exchange;              /* with schedules other than direct: sending them */
  double between;               /* from there to the next step's first force */
  double longest;               /* beside them, the longest that a row waited */
  double work[TG_DEVICE_WORKS]; /* local, halo and tail, as warps share them */
  double search, prune;         /* one of either; a search with the pruning behind it */
  /* forces and update of each: warps' time by the places for warps; others' are 0 */
  double domain[TG_DEVICE_NUMBERED];
} tg_device_step_times;
/** From now on one in `every` stretches has timed steps, whose kernels are versions of their own
 * with the same results; 0: none has, as after tg_device_step_create. Blocks until all queued steps
 * are done. */
tg_status tg_device_step_time(tg_device_step* step, int every);
/** Of the timed steps since then; steps is 0 where there are none yet. Blocks likewise. */
tg_status tg_device_step_times_of(tg_device_step* step, tg_device_step_times* out);
/** For benchmarks: from now on positions of other GPUs are not waited for (or are again), so that
 * the difference is what waiting costs. Meanwhile the time step is 0, so that the state stays. */
void tg_device_step_rush(tg_device_step* step, bool rush);
/** Kernels launched, in graphs or not, and how often the host has waited. */
void tg_device_step_launches(const tg_device_step* step, long long* kernels, long long* waits);

#ifdef __cplusplus
}
#endif
#endif
