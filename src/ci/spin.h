/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/spin.h  S^2 of a molecule's states without a table of its elements.
 *
 *   S^2 = Sz (Sz + 1) + N_beta - sum_pq a+_q a_p b+_p b_q
 *
 * exchanges an orbital p of a spin-up string with an orbital q of a spin-down string; the state
 * that results is looked up. As an operator (tg_ci_integrals_spin_squared) it would take the memory
 * of orbitals^4, so this is for many orbitals. Slower where there are few. */
#ifndef TG_CI_SPIN_H
#define TG_CI_SPIN_H

#include "ci/space.h"

/** y = S^2 x, x, y: [dimension], apart; what leaves the space is dropped. Orbitals of both species
 * must be the same. threads: 0: all of OpenMP's. */
tg_status tg_ci_spin_squared_apply(const tg_ci_space* space, int threads, const double* x,
                                   double* y);

#endif
