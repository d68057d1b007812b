/* SPDX-License-Identifier: Apache-2.0 */
/* Gamow-Teller and Fermi transitions between two nuclei, a neutron for a proton:
 *
 *   B(GT) = |<f||sigma tau||i>|^2 / (2Ji + 1),  B(F) = |<f||tau||i>|^2 / (2Ji + 1)
 *
 * where tau makes a proton of a neutron (or the other way round) with the factor 1, so that the
 * beta decay of a free neutron has B(GT) = 3, and without the coupling constants' ratio. */
#include <stdio.h>
#include <stdlib.h>

#include "ci/observe_transitions.h"

static bool changes_charge(const tg_ci_problem* initial, const tg_ci_problem* final) {
  return abs(tg_ci_charge_change(initial, final)) == 1;
}

static tg_status check(const tg_ci_question* q) {
  const tg_ci_problem *i = q->initial.problem, *f = q->final.problem;
  if (changes_charge(i, f)) return TG_OK;
  return tg_fail(TG_ERR_INPUT,
                 "beta decay makes a proton of a neutron or the other way round; the calculations "
                 "have %d protons and %d neutrons, and %d and %d",
                 i->particles[0], i->particles[1], f->particles[0], f->particles[1]);
}

static tg_status compute(const tg_ci_question* q, tg_ci_transition_kind kind, const char* name) {
  tg_ci_transition t = {0};
  tg_ci_transition_words w = {.digits = 5};
  TG_TRY(check(q));
  tg_ci_transition_parameters p = tg_ci_transition_defaults(kind, 0, 0);
  p.charge_change = tg_ci_charge_change(q->initial.problem, q->final.problem);
  snprintf(w.name, sizeof w.name, "%s", name);
  TG_TRY(tg_ci_transition_create(&q->initial.problem->input->model.shells, &p, &t));
  const tg_status status = tg_ci_observe_transition(q, &t, &w);
  tg_ci_transition_free(&t);
  return status;
}

static tg_status compute_gt(const tg_ci_question* q) {
  return compute(q, TG_CI_GAMOW_TELLER, "GT");
}

static tg_status compute_fermi(const tg_ci_question* q) { return compute(q, TG_CI_FERMI, "F"); }

const tg_ci_observable tg_ci_observable_gt = {
    .name = "gt",
    .help = "B(GT) between two nuclei, without (gA/gV)^2",
    .can = TG_CI_OF_NUCLEI | TG_CI_BETWEEN | TG_CI_USUAL,
    .check = check,
    .compute = compute_gt,
};
const tg_ci_observable tg_ci_observable_fermi = {
    .name = "fermi",
    .help = "B(F) between two nuclei",
    .can = TG_CI_OF_NUCLEI | TG_CI_BETWEEN | TG_CI_USUAL,
    .check = check,
    .compute = compute_fermi,
};
