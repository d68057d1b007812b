/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/spectroscopic.h  Spectroscopic amplitudes and factors of one nucleon.
 *
 * Between a state of A nucleons and one of A - 1, for each orbit nlj of protons or neutrons:
 *
 *   S = <A J||a+_nlj||A-1 J'>^2 / (2J + 1)
 *
 * with J of the larger nucleus and Edmonds' reduced elements, which is C^2 S where isospin is good.
 * Summed over all J' of the smaller nucleus it is the number of particles in the orbit
 * in the larger one; summed over all J of the larger, with (2J + 1) / (2J' + 1), the number of
 * free places in the orbit in the smaller one (M. Macfarlane, J. French, Rev. Mod. Phys. 32
 * (1960) 567). */
#ifndef TG_CI_SPECTROSCOPIC_H
#define TG_CI_SPECTROSCOPIC_H

#include "ci/model.h"
#include "ci/overlap.h"

/** A state of good J. */
typedef struct tg_ci_good_state {
  const double* x;
  int two_j;
} tg_ci_good_state;

typedef struct tg_ci_spectroscopic tg_ci_spectroscopic;

/** Plans for states of the smaller and the larger space, which must stay; the larger one has a
 * proton (species 0) or a neutron (1) more, TG_ERR_INPUT otherwise. h gives the orbitals: the
 * model's. */
tg_status tg_ci_spectroscopic_make(const tg_ci_hamiltonian* h, const tg_ci_model* model,
                                   const tg_ci_space* smaller, const tg_ci_space* larger,
                                   tg_ci_spectroscopic** out);
void tg_ci_spectroscopic_free(tg_ci_spectroscopic* s);
int tg_ci_spectroscopic_species(const tg_ci_spectroscopic* s);

/** reduced: [shells of the model], <larger||a+||smaller>; NAN where it is not known at these M (the
 * Clebsch-Gordan coefficient is 0, or no orbital has the m), 0 where it must vanish. */
tg_status tg_ci_spectroscopic_reduced(const tg_ci_spectroscopic* s, tg_ci_good_state smaller,
                                      tg_ci_good_state larger, int threads, double* reduced);

#endif
