/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/lift.h  States of one J (or S) alone, without a basis of them.
 *
 * In a space with M = J no state has a lower J. The states of H + c [J^2 - J(J+1)] are those of H;
 * those with that J keep their energy, a higher J' goes up by c [J'(J'+1) - J(J+1)] >= c (2J + 2).
 * So the lowest states are of that J if c is large enough, and if all that were found are, none of
 * that J is missing among them: the eigen-solver's search for missed levels is one for that J. Too
 * large a c widens the spectrum, which takes products: their number grows as its square root. */
#ifndef TG_CI_LIFT_H
#define TG_CI_LIFT_H

#include <stdbool.h>

#include "ci/operator.h"
#include "eigen/eigen.h"

typedef struct tg_ci_lifting {
  const tg_ci_hamiltonian *h, *squared; /* H; J^2 or S^2, of the same orbitals */
  double value;                         /* J(J+1) */
  const tg_ci_space* space;
  int threads;
  bool on_gpu; /* products, of GPU number `device` */
  int device;
} tg_ci_lifting;

/** H + strength (J^2 - value). */
tg_status tg_ci_lift(const tg_ci_lifting* lifting, double strength, tg_ci_hamiltonian** out);

/** Of states of a lifted H: *pure, whether all have that J. Then energies, residuals and bounds of
 * errors become those of H itself. */
tg_status tg_ci_lift_finish(const tg_ci_lifting* lifting, tg_eigen_result* result, bool* pure);

#endif
