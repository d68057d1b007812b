/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/element.h  One matrix element between two occupied sets (the Slater-Condon rules). */
#ifndef TG_CI_ELEMENT_H
#define TG_CI_ELEMENT_H

#include <stdint.h>

#include "ci/hamiltonian.h"

/** <bra|H|ket> for rising lists of orbitals of A and of B, as many in both; 0 where they differ in
 * more than two particles. */
double tg_ci_element(const tg_ci_hamiltonian* h, const int particles[2],
                     const uint16_t* const bra[2], const uint16_t* const ket[2]);

#endif
