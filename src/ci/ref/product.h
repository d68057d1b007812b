/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/ref/product.h  The Hamiltonian applied as it is written: the specification.
 *
 * Operator after operator acts on the set of occupied orbitals (A's, then B's): a_q gives zero
 * where q is empty, a+_q where it is occupied, and either the sign (-1)^(occupied orbitals below
 * q). Every term of ci/hamiltonian.h is taken in turn. Cost: the square of the number of orbitals
 * for each state, and for each pair of occupied orbitals those of the pairs they may turn into. */
#ifndef TG_CI_REF_PRODUCT_H
#define TG_CI_REF_PRODUCT_H

#include "ci/hamiltonian.h"
#include "ci/space.h"

/** y += factor * H |state>; what leaves the space is dropped. y: [dimension]. */
tg_status tg_ci_ref_column(const tg_ci_hamiltonian* h, const tg_ci_space* space, uint64_t state,
                           double factor, double* y);
/** y = H x; x, y: [dimension], apart. */
tg_status tg_ci_ref_apply(const tg_ci_hamiltonian* h, const tg_ci_space* space, const double* x,
                          double* y);

#endif
