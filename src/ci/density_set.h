/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/density_set.h  Reduced one-body densities between the levels of one or two spectra.
 *
 *   rho_K(ab) = <f||[a+_a a~_b]_K||i> / sqrt(2K+1),   <f||O_K||i> = sum over ab of <a||O||b>
 * rho_K(ab)
 *
 * for final orbit a and initial orbit b, with a~_jm = (-1)^(j+m) a_j,-m and Edmonds' reduced
 * elements, <Jf Mf|T_KQ|Ji Mi> = <Ji Mi K Q|Jf Mf> / sqrt(2Jf+1) <f||T_K||i> (the formulas are
 * those of Suhonen, From Nucleons to Nucleus, chapters 2 and 4).
 *
 * Vectors are of one M, so the coefficient on the right may vanish: at M = 0 for every Ji + K + Jf
 * that is odd, magnetic moments and M1 between levels of equal J among them. There the final state
 * is raised by J+ to M + 1, and elements with Q + 1 are used: they do not vanish where J allows. */
#ifndef TG_CI_DENSITY_SET_H
#define TG_CI_DENSITY_SET_H

#include "ci/observables.h"
#include "ci/transitions.h"

typedef struct tg_ci_density_set tg_ci_density_set;

/** The question's set of densities that gain charge_change protons; owned by the question. */
tg_status tg_ci_question_densities(const tg_ci_question* question, int charge_change,
                                   tg_ci_density_set** out);
void tg_ci_density_set_free(tg_ci_density_set* set);

/** What became of a reduced element. */
typedef enum tg_ci_reduced {
  TG_CI_REDUCED_KNOWN,
  TG_CI_REDUCED_FORBIDDEN, /* J, K and parity do not go together */
  TG_CI_REDUCED_NO_STATE,  /* a level has no state of its own (tg_ci_level_two_j) */
  TG_CI_REDUCED_UNSEEN,    /* no projection of these states shows it */
} tg_ci_reduced;

/** rho_K(ab) between two levels, rho: [shells, shells] of the model, final orbit a, initial orbit
 * b; zeros where *what is not KNOWN. parity: of the operator, +1 or -1; 0: any. */
tg_status tg_ci_density_set_coupled(tg_ci_density_set* set, size_t initial, size_t final, int rank,
                                    int parity, double* rho, tg_ci_reduced* what);

/** <f||O||i> of an operator of the set's charge change; NAN where *what is not KNOWN. */
tg_status tg_ci_density_set_reduced(tg_ci_density_set* set, size_t initial, size_t final,
                                    const tg_ci_transition* operator_, double* out,
                                    tg_ci_reduced* what);

#endif
