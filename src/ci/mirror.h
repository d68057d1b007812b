/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/mirror.h  Within src/ci: tables of B from those of A, where both species have the same
 * strings: as many protons as neutrons, closed-shell molecules. */
#ifndef TG_CI_MIRROR_H
#define TG_CI_MIRROR_H

#include <stdbool.h>

#include "ci/jumps.h"

/** Whether they have: orbitals of the same 2m, label and weight, and the same lists. */
bool tg_ci_mirror_strings(const tg_ci_hamiltonian* h, const tg_ci_space* space);
/** B's jumps: the same in another order, as B's channels are numbered by the opposite changes of 2m
 * (ci/jumps.h). To be freed where it fails, too. */
tg_status tg_ci_mirror_jumps(const tg_ci_jumps* a, const tg_ci_space* space, int threads,
                             tg_ci_jumps* b);
/** B's matrix, where its elements are A's (tg_ci_hamiltonian_same_species). */
tg_status tg_ci_mirror_alone(const tg_ci_alone* a, const tg_ci_space* space, int threads,
                             tg_ci_alone* b);

#endif
