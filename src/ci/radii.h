/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/radii.h  Sizes of nuclei without a core: mean square distances of point nucleons from
 * the centre of mass, and the charge radius that follows. */
#ifndef TG_CI_RADII_H
#define TG_CI_RADII_H

#include <stddef.h>

#include "ci/model.h"
#include "ci/space.h"

/** values[i] = <v_i|O|v_i> of count states, vector i at v + i * ld. threads 0: all of OpenMP's. */
tg_status tg_ci_expectations(const tg_ci_hamiltonian* o, const tg_ci_space* space, size_t count,
                             const double* v, size_t ld, int threads, double* values);

/** fm^2; NAN where there is no such nucleon. */
typedef struct tg_ci_radii {
  double matter, proton, neutron; /* of point nucleons */
  double charge;
} tg_ci_radii;

/** <r_ch^2> = <r_p^2> + R_p^2 + (N/Z) R_n^2 + 3 hbar^2 / (4 m_p^2 c^2), fm^2: the point protons'
 * radius, the proton's own, the neutron's, and the Darwin-Foldy term (J. L. Friar, J. Martorell,
 * D. W. L. Sprung, Phys. Rev. A 56 (1997) 4579); without the spin-orbit term and meson-exchange
 * currents. NAN where there are no protons. */
double tg_ci_charge_radius2(double proton, int protons, int neutrons);

/** Of count states of a nucleus: radii: [count]. TG_ERR_INPUT where the model has a core. */
tg_status tg_ci_radii_make(const tg_ci_model* model, const tg_ci_nucleus* nucleus,
                           const tg_ci_space* space, size_t count, const double* v, size_t ld,
                           int threads, tg_ci_radii* radii);

#endif
