/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/constraints.h  SETTLE for rigid water, LINCS for everything else. All local: a
 * constraint group is never split over PEs. */
#ifndef TG_MD_CONSTRAINTS_H
#define TG_MD_CONSTRAINTS_H

#include <stddef.h>

#include "base/status.h"

typedef struct tg_constraints tg_constraints;

typedef struct tg_constraints_params {
  int lincs_order, lincs_iterations;
  double warn_angle; /* degrees: a bond that turns further is a failure to look at */
  int threads;
} tg_constraints_params;

typedef struct tg_constraints_failure {
  int local_atom; /* -1: none */
  double angle;   /* degrees */
} tg_constraints_failure;

tg_status tg_constraints_create(const tg_constraints_params* params, tg_constraints** out);
void tg_constraints_destroy(tg_constraints** constraints);

/** Sets the constraints of this PE. pairs: [pair_count][2] local atoms with lengths [pair_count];
 * groups (connected pairs) contiguous. settles: [settle_count][3] local O H H with distances
 * [settle_count][2] (dOH, dHH). inverse_mass: [home_count]. All arrays are copied. */
tg_status tg_constraints_set(tg_constraints* constraints, size_t home_count,
                             const double* inverse_mass, size_t pair_count, const int (*pairs)[2],
                             const double* lengths, size_t settle_count, const int (*settles)[3],
                             const double (*settle_distances)[2]);

/** Moves x_new: [home_count][3] onto the constraints along the bonds of x_old. Where v is not NULL,
 * adds (displacement * inverse_dt) to it. Where virial is not NULL, adds -1/2 sum x_old (outer) F_c
 * with F_c = displacement / (inverse_mass dt^2). Groups must be unwrapped (no image jumps inside a
 * group). Returns TG_ERR_NUMERICS, with *failure set, where a bond turned by more than 90 degrees,
 * SETTLE found no solution, or a number is not finite; a turn beyond warn_angle sets *failure only.
 */
tg_status tg_constraints_apply(tg_constraints* constraints, const double (*x_old)[3],
                               double (*x_new)[3], double (*v)[3], double inverse_dt,
                               double (*virial)[3], tg_constraints_failure* failure);

/** Removes from v its components along the constraints at x (the projection; order and iterations
 * as above). */
tg_status tg_constraints_project(tg_constraints* constraints, const double (*x)[3], double (*v)[3]);

/** Root mean square and largest relative deviation of the constrained lengths at x, SETTLE
 * included; sums for a combination over PEs: *sum_squares, *count, *largest. */
void tg_constraints_deviation(const tg_constraints* constraints, const double (*x)[3],
                              double* sum_squares, size_t* count, double* largest);

#endif
