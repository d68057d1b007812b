/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/restrict.h  Parts of tg_ci_problem_make: what its options say about which states the
 * space has. They fill the problem's restrictions and notes, and the limits of its space. */
#ifndef TG_CI_RESTRICT_H
#define TG_CI_RESTRICT_H

#include "ci/problem.h"

/** Reads the .ptn file, and what it says about particles and parity into params. TG_ERR_INPUT, with
 * file and line, where they say something else. */
tg_status tg_ci_restrict_read(const tg_ci_input* input, tg_ci_problem_params* params,
                              tg_ci_partition* out);

/** Partition, occupation and frozen orbits of a nucleus; the problem's h and particles are there.
 */
tg_status tg_ci_restrict_nucleus(const tg_ci_problem_params* params,
                                 const tg_ci_partition* partition, tg_ci_problem* problem);

/** Frozen and active orbitals: the integrals over the active ones, and the electrons in them.
 * Before h is made. */
tg_status tg_ci_restrict_orbitals(const tg_ci_problem_params* params, tg_ci_problem* problem);
/** Occupation of a molecule's orbitals; the problem's h and particles are there. */
tg_status tg_ci_restrict_molecule(const tg_ci_problem_params* params, tg_ci_problem* problem);

/** The states of a molecule's space with one more spin up and one fewer down, which have a higher
 * S each; none: *count is 0. Release with tg_free. */
tg_status tg_ci_count_higher_spin(const tg_ci_problem_params* params, const tg_ci_problem* problem,
                                  tg_ci_dimension** out, size_t* count);

/** Weights 0 and 1 for the orbitals of h, so that a configuration's weight is the number of
 * particles above the lowest one. */
tg_status tg_ci_restrict_excitations(int excitations, tg_ci_problem* problem);

/** "2..6", "2..", "..6" or "4" within 0 ... room (most may be beyond it); false: it is none. */
bool tg_ci_read_range(const char* text, size_t length, int room, int* least, int* most);

void tg_ci_restrictions_free(tg_ci_restrictions* restrictions);

#endif
