/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/ref/density.h  One-body densities by operators applied one by one: the specification.
 */
#ifndef TG_CI_REF_DENSITY_H
#define TG_CI_REF_DENSITY_H

#include "ci/hamiltonian.h"
#include "ci/space.h"

/** <f|a+_p a_q|i> of single-particle states p and q, those of B behind those of A; f and i are of
 * spaces over the orbitals of h. */
tg_status tg_ci_ref_density(const tg_ci_hamiltonian* h, const tg_ci_space* final,
                            const tg_ci_space* initial, size_t p, size_t q, const double* f,
                            const double* i, double* out);

#endif
