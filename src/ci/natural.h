/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/natural.h  Natural orbitals: those in which a state's one-body density matrix is
 * diagonal, and how occupied they are (P.-O. Lowdin, Phys. Rev. 97 (1955) 1474). */
#ifndef TG_CI_NATURAL_H
#define TG_CI_NATURAL_H

#include <stddef.h>
#include <stdint.h>

#include "ci/hamiltonian.h"

typedef struct tg_ci_natural {
  size_t orbitals;
  double* occupation; /* [orbitals], falling */
  double*
      coefficient;   /* [orbitals, orbitals]: row p, column k: of orbital p in natural orbital k */
  uint8_t* symmetry; /* [orbitals] label */
} tg_ci_natural;

/** Of the symmetric density: [count, count] over these orbitals; symmetry by symmetry, so that each
 * natural orbital has a label. Of the two signs of an orbital, that with the larger positive
 * coefficient. */
tg_status tg_ci_natural_make(size_t count, const tg_ci_orbital* orbitals, const double* density,
                             tg_ci_natural* out);
/** Accepts a zeroed or half-built one. */
void tg_ci_natural_free(tg_ci_natural* natural);

#endif
