/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/output.h  The files of a run, written by PE 0.
 *
 * traj.trr, traj.xtc, energies.xvg, energies.jsonl, md.log grow; confout.gro and state.cpt are
 * replaced whole. When a run is continued, the growing files are cut back to the checkpoint's marks
 * first. */
#ifndef TG_MD_OUTPUT_H
#define TG_MD_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "base/status.h"
#include "md/energies.h"
#include "md/system.h"
#include "md/trajectory.h"

enum {
  TG_OUTPUT_TRR,
  TG_OUTPUT_XTC,
  TG_OUTPUT_XVG,
  TG_OUTPUT_JSONL,
  TG_OUTPUT_LOG,
  TG_OUTPUT_COUNT
};

/* What --tune has measured. */
#define TG_OUTPUT_TUNING "tuning.json"

/** Lengths of the growing files in bytes; -1: not there. And the sums that averages are made of. */
typedef struct tg_output_marks {
  long long size[TG_OUTPUT_COUNT];
  double samples;
  double sum[TG_E_COUNT];
  double sum_squares[TG_E_COUNT];
  double drift_sums[5]; /* of 1, t, t^2, e, t e, for a straight line through the conserved energy */
} tg_output_marks;

typedef struct tg_output tg_output;

/** Names of the files in the folder, by number. */
const char* tg_output_name(int file);

/** True for a path that is, or will be, one of the files that runs write into folder. */
bool tg_output_is_own(const char* folder, const char* path);

/** Opens the files that this run needs. continue_marks NULL: a new run; a folder that holds an
 * earlier run is refused (TG_ERR_INPUT), or with force its files are kept as numbered copies. Not
 * NULL: files are cut back to those sizes and extended. Until it is closed no other run may open
 * the folder (TG_ERR_INPUT). */
tg_status tg_output_open(const char* folder, const tg_md_system* system, int force,
                         const tg_output_marks* continue_marks, tg_output** out);
/** Writes what is buffered, closes. First error is reported; *output becomes NULL. */
tg_status tg_output_close(tg_output** output);

/** What is written next finds out, too, whether its file is still where its name says:
 * TG_ERR_MACHINE where it was moved, removed or replaced meanwhile. */
tg_status tg_output_frame_trr(tg_output* output, const tg_frame* frame);
tg_status tg_output_frame_xtc(tg_output* output, const tg_frame* frame);
/** A line of energies; counts towards the averages. columns that the system lacks are left out. */
tg_status tg_output_energies(tg_output* output, long long step, double time,
                             const tg_energies* energies, const double pressure[3][3]);
/** Counts a step's energies towards the averages without writing them. */
void tg_output_count(tg_output* output, double time, const tg_energies* energies);
/** A line into md.log. */
void tg_output_log(tg_output* output, const char* format, ...)
    __attribute__((format(printf, 2, 3)));
/** The energies as a block in md.log. */
void tg_output_log_energies(tg_output* output, long long step, double time,
                            const tg_energies* energies);
FILE* tg_output_log_stream(tg_output* output);
const char* tg_output_folder(const tg_output* output);
/** Flushes and says how long the files are. */
tg_status tg_output_mark(tg_output* output, tg_output_marks* marks);
/** The averages so far. */
const tg_output_marks* tg_output_sums(const tg_output* output);
/** Slope of the conserved energy, kJ/mol/ps (not per atom); 0 with fewer than two samples. */
double tg_output_drift(const tg_output* output);

/** True where this system has the term (no column for angles in water). */
int tg_output_has_term(const tg_md_system* system, tg_energy_term term);

#endif
