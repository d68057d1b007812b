/* SPDX-License-Identifier: Apache-2.0 */
/** @file eigen/acc/vectors.h  Within the module acc: what the files of its vectors share. */
#ifndef TG_EIGEN_ACC_VECTORS_H
#define TG_EIGEN_ACC_VECTORS_H

#include "eigen/vectors.h"

/** What tg_rows.device is. */
typedef struct tg_rows_acc_state {
  size_t segment, segments;
  size_t room, most;
  double *partial, *sums, *up; /* [segments, room], [room], [up_for(room, most)] */
  double* panel;               /* [PANEL_ROWS, most] */
  double* here;                /* of the host: as many as `up` */
} tg_rows_acc_state;

/** V^T W into here: [p, c], on the host. p * c is no more than the room. */
tg_status tg_rows_acc_inner(const tg_rows* rows, const double* v, int p, const double* w, int c);
/** Of tg_rows_ops. */
void tg_rows_acc_subtract(const tg_rows* rows, double* w, int c, const double* v, int p,
                          const double* h, int ldh);
tg_status tg_rows_acc_step(const tg_rows* rows, tg_rows_step* step);

#endif
