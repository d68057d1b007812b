/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/trajectory.h  Trajectory files: .xtc (compressed positions) and .trr (full precision).
 */
#ifndef TG_MD_TRAJECTORY_H
#define TG_MD_TRAJECTORY_H

#include <stddef.h>
#include <stdio.h>

#include "base/status.h"

/** One frame. Arrays are [count][3]; NULL where the frame has none. nm, ps, nm/ps, kJ mol^-1 nm^-1.
 */
typedef struct tg_frame {
  long long step;
  double time;
  double box[9];
  size_t count;
  const double (*x)[3];
  const double (*v)[3]; /* .trr only */
  const double (*f)[3]; /* .trr only */
} tg_frame;

/** Appends an .xtc frame: positions rounded to 1/precision nm, XDR, the 3dfcoord compression.
 * Frames of up to 9 atoms are stored uncompressed, as the format has it. Coordinates that do not
 * fit the format's integers: TG_ERR_NUMERICS. TG_ERR_MACHINE when the disk is full. */
tg_status tg_xtc_write(FILE* stream, const tg_frame* frame, double precision);
/** Appends a .trr frame (XDR; single precision unless use_double). */
tg_status tg_trr_write(FILE* stream, const tg_frame* frame, int use_double);

/** Reads the next frame's header and positions back (own tests, `--continue` truncation). x: grown
 * by tg_reserve, *capacity in atoms; *found = 0 at the end of the file. */
tg_status tg_xtc_read(FILE* stream, tg_frame* frame, double (**x)[3], size_t* capacity, int* found);
/** Skips the next .trr frame, filling the header's fields of frame (no arrays). */
tg_status tg_trr_skip(FILE* stream, tg_frame* frame, int* found);

#endif
