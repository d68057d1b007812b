/* SPDX-License-Identifier: Apache-2.0 */
/* Gamow-Teller and Fermi transitions between two nuclei, a neutron for a proton:
 *
 *   B(GT) = |<f||sigma tau||i>|^2 / (2Ji + 1),  B(F) = |<f||tau||i>|^2 / (2Ji + 1)
 *
 * where tau makes a proton of a neutron (or the other way round) with the factor 1, so that the
 * beta decay of a free neutron has B(GT) = 3, and without the coupling constants' ratio. With it,
 *
 *   log ft = log10(6144 s / (B(F) + (gA/gV)^2 B(GT)))
 *
 * (6144 s from superallowed 0+ to 0+ decays: Hardy and Towner, Phys. Rev. C 102 (2020) 045501). */
#include <math.h>
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

static size_t column_of(const tg_ci_table* table, const char* name) {
  return table ? tg_ci_table_find(table, name) : SIZE_MAX;
}

static tg_status compute(const tg_ci_question* q, tg_ci_transition_kind kind, const char* name) {
  tg_ci_transition t = {0};
  tg_ci_transition_words w = {.digits = 5};
  char column[32];
  TG_TRY(check(q));
  snprintf(column, sizeof column, "B_%s_i_to_f", name);
  if (column_of(tg_ci_tables_find(q->tables, "transitions"), column) != SIZE_MAX) return TG_OK;
  tg_ci_transition_parameters p = tg_ci_transition_defaults(kind, 0, 0);
  p.charge_change = tg_ci_charge_change(q->initial.problem, q->final.problem);
  snprintf(w.name, sizeof w.name, "%s", name);
  TG_TRY(tg_ci_transition_create(&q->initial.problem->input->model.shells, &p, &t));
  const tg_status status = tg_ci_observe_transition(q, &t, &w);
  tg_ci_transition_free(&t);
  return status;
}

/* ft of B(F) = 1 in seconds; gA/gV of the free neutron. */
static const double ft_of_one = 6144, axial_ratio = 1.276;

/* B below this is rounding, and no transition. */
static const double least = 1e-13;

static tg_status compute_gt(const tg_ci_question* q) {
  return compute(q, TG_CI_GAMOW_TELLER, "GT");
}

static tg_status compute_fermi(const tg_ci_question* q) { return compute(q, TG_CI_FERMI, "F"); }

/* B of a row; 0 where J forbids it; NAN where it is not known. */
static double b_of(const tg_ci_table* table, size_t column, size_t row, bool allowed) {
  const double value = column == SIZE_MAX ? NAN : table->columns[column].value[row];
  return !allowed ? 0 : value;
}

/* From the columns of gt and fermi, which are computed first where nobody asked. */
static tg_status compute_log_ft(const tg_ci_question* q) {
  static const tg_ci_column like = {.name = "log_ft", .head = "log ft", .digits = 3};
  size_t log_ft;
  TG_TRY(compute_gt(q));
  TG_TRY(compute_fermi(q));
  tg_ci_table* table = tg_ci_tables_find(q->tables, "transitions");
  const size_t gt = column_of(table, "B_GT_i_to_f"), fermi = column_of(table, "B_F_i_to_f");
  if (gt == SIZE_MAX && fermi == SIZE_MAX) return TG_OK;
  const size_t ji = column_of(table, "J_initial"), jf = column_of(table, "J_final");
  TG_TRY(tg_ci_table_column(table, like, &log_ft));
  for (size_t r = 0; r < table->rows; r++) {
    const double from = table->columns[ji].value[r], to = table->columns[jf].value[r];
    const double b =
        b_of(table, fermi, r, from == to) +
        axial_ratio * axial_ratio * b_of(table, gt, r, fabs(from - to) <= 2 && from + to > 0);
    if (b > least) table->columns[log_ft].value[r] = log10(ft_of_one / b);
  }
  return tg_ci_tables_note(q->tables,
                           "log ft = log10(%g s / (B(F) + (gA/gV)^2 B(GT))) with gA/gV = %g, "
                           "without quenching; B(i>f)",
                           ft_of_one, axial_ratio);
}

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
const tg_ci_observable tg_ci_observable_logft = {
    .name = "logft",
    .help = "log ft from B(GT), B(F) and gA/gV = 1.276",
    .can = TG_CI_OF_NUCLEI | TG_CI_BETWEEN | TG_CI_USUAL,
    .check = check,
    .compute = compute_log_ft,
};
