/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/observe_transitions.h  Within src/ci: how a one-body operator's reduced elements become
 * columns of the shared tables. */
#ifndef TG_CI_OBSERVE_TRANSITIONS_H
#define TG_CI_OBSERVE_TRANSITIONS_H

#include "ci/observables.h"
#include "ci/transitions.h"

/** Words and units of an operator's columns. */
typedef struct tg_ci_transition_words {
  char name[TG_CI_UNIT_SIZE]; /* E2; columns are M_E2_efm2, B_E2_down_e2fm4 */
  char unit[TG_CI_UNIT_SIZE], unit_b[TG_CI_UNIT_SIZE]; /* of the element and of B; "": none */
  int digits;                                          /* of B */
  double weisskopf; /* a Weisskopf unit of B; 0: not customary, or A is not known */
  const char *moment, *moment_head, *moment_unit; /* the static moment's column; NULL: none */
  bool diagonal; /* people see the reduced elements of levels with themselves */
} tg_ci_transition_words;

/** Computes all pairs of levels that the operator connects: reduced elements, B in both directions,
 * and within one calculation the static moments of levels. Nothing is added where no pair has an
 * element. Notes say what is not known, and why. */
tg_status tg_ci_observe_transition(const tg_ci_question* question,
                                   const tg_ci_transition* transition,
                                   const tg_ci_transition_words* words);

#endif
