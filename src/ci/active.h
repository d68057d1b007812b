/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/active.h  Active spaces of molecules: which orbitals are doubly occupied, which empty,
 * and the integrals over the rest.
 *
 * Orbitals have an order, from the lowest: by their energies in the lowest determinant that filling
 * finds, e_p = h_pp + sum over its electrons of (pp|qq) less (pq|qp) of the same spin, mean of both
 * spins. So it does not matter how a dump sorts them; of canonical orbitals these are the
 * Hartree-Fock energies. Orbitals within 1e-6 hartree stand in the order of the input. */
#ifndef TG_CI_ACTIVE_H
#define TG_CI_ACTIVE_H

#include "ci/integrals.h"
#include "ci/strings.h"

/** order: [orbitals] numbers of the orbitals, the lowest first; energies: [orbitals] by number, or
 * NULL. */
tg_status tg_ci_orbital_order(const tg_ci_integrals* g, int alpha, int beta, uint16_t* order,
                              double* energies);

/** Reads `frozen` ("2": the lowest two; "1,3-5": these; doubly occupied) or `active` ("6,6": six
 * electrons in the six orbitals above the frozen ones; "6:3-5,8": in these), one of them NULL.
 * roles: [orbitals] of tg_ci_role; *frozen_count: electron pairs taken out. TG_ERR_INPUT says what
 * would fit. */
tg_status tg_ci_orbital_roles(const tg_ci_integrals* g, int alpha, int beta, const char* frozen,
                              const char* active, uint8_t* roles, int* frozen_count);

/** The integrals over the active orbitals in the field of the frozen ones:
 *
 *   h'(s,pq) = h(s,pq) + sum_f [ (pq|ff)ss - (pf|fq)ss + (pq|ff) with the other spin ]
 *   constant' = constant + the energy of the frozen determinant
 *
 * numbers: [orbitals of out] numbers they have in g. The electrons of out are what is left. */
tg_status tg_ci_integrals_fold(const tg_ci_integrals* g, const uint8_t* roles, uint16_t* numbers,
                               tg_ci_integrals* out);

/** "1,3-5": marks: [count] set to 1 for numbers from 1. option, for messages. TG_ERR_INPUT for what
 * is no number, beyond the count, or there twice. */
tg_status tg_ci_number_list(const char* text, size_t length, const char* option, size_t count,
                            uint8_t* marks);

#endif
