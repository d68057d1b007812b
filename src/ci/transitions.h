/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/transitions.h  One-body operators of rank K as reduced matrix elements between
 * j-orbits: what turns one-body densities into B(E2), B(M1), B(GT), moments.
 *
 * Edmonds' convention, <j'm'|O_Kq|jm> = <jm Kq|j'm'> / sqrt(2j'+1) <j'||O||j>, with
 * j coupled from l and then s, radial functions positive near the origin. */
#ifndef TG_CI_TRANSITIONS_H
#define TG_CI_TRANSITIONS_H

#include "ci/model.h"

enum { TG_CI_MOST_RANK = 20 };

typedef enum tg_ci_transition_kind {
  TG_CI_ELECTRIC,     /* e r^K Y_K, e fm^K; r^2 for rank 0 */
  TG_CI_MAGNETIC,     /* M1: sqrt(3/4pi) (g_l l + g_s s), nuclear magnetons; rank 1 */
  TG_CI_GAMOW_TELLER, /* sigma t+- : rank 1, a neutron to a proton or the other way round */
  TG_CI_FERMI         /* t+- : rank 0 */
} tg_ci_transition_kind;

typedef struct tg_ci_transition_parameters {
  tg_ci_transition_kind kind;
  int rank;            /* of electric ones */
  double charge[2];    /* effective charges of proton and neutron, e */
  double g_orbital[2]; /* 1 and 0 for free nucleons */
  double g_spin[2];    /* 5.586 and -3.826 */
  double hw;           /* MeV: gives the oscillator length */
  int charge_change;   /* of beta decay: +1 makes a proton of a neutron, -1 the other way */
} tg_ci_transition_parameters;

/** Free nucleons, E2 charges 1.5 and 0.5 (those customary within one shell), hw of the nucleus. */
tg_ci_transition_parameters tg_ci_transition_defaults(tg_ci_transition_kind kind, int rank,
                                                      double hw);

typedef struct tg_ci_transition {
  char name[32];
  int rank;
  int parity;        /* +1, -1 */
  int charge_change; /* protons gained: 0, +1, -1 */
  size_t shells;     /* of the model */
  double* element;   /* [shells][shells]: <a||O||b> of final orbit a, initial orbit b */
} tg_ci_transition;

tg_status tg_ci_transition_create(const tg_ci_shells* shells,
                                  const tg_ci_transition_parameters* parameters,
                                  tg_ci_transition* out);
void tg_ci_transition_free(tg_ci_transition* transition);

/** An .opme file of isospin rank 0 or 1, for a model's orbits. Its doubly reduced elements become
 * <a||O||b> by the Wigner-Eckart theorem with isospin up for protons (as BIGSTICK): of isospin rank
 * 1 the component charge_change (0, +1, -1) is taken; rank 0 has only component 0. */
tg_status tg_ci_transition_read(const char* path, const tg_ci_shells* shells, int charge_change,
                                tg_ci_transition* out);

#endif
