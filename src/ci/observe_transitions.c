/* SPDX-License-Identifier: Apache-2.0 */
/* From reduced elements (Edmonds) to what is compared with experiment:
 *
 *   B(i -> f) = |<f||O||i>|^2 / (2Ji + 1)
 *   static moment = factor <JJ K0|JJ> / sqrt(2J + 1) <J||O||J>
 *
 * with sqrt(16 pi / 5) for Q of E2 and sqrt(4 pi / 3) for mu of M1 (Bohr and Mottelson, Nuclear
 * Structure I). */
#include "ci/observe_transitions.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>

#include "base/memory.h"
#include "base/units.h"
#include "ci/angular.h"
#include "ci/density_set.h"

/* Reduced elements of all pairs and of levels with themselves. */
typedef struct elements {
  const tg_ci_question* q;
  size_t initials, finals;
  double* value; /* [initials, finals]; NAN: forbidden or not known */
  size_t known, unseen, shared;
} elements;

static bool is_asked(const elements* e, size_t i, size_t f) { return !e->q->within || f <= i; }

static tg_status find_elements(const tg_ci_transition* t, elements* e) {
  tg_ci_density_set* set = NULL;
  TG_TRY(tg_ci_question_densities(e->q, t->charge_change, &set));
  TG_TRY(TG_ALLOCATE(e->initials * e->finals, "reduced elements", &e->value));
  for (size_t i = 0; i < e->initials; i++)
    for (size_t f = 0; f < e->finals; f++) {
      tg_ci_reduced what;
      if (!is_asked(e, i, f)) continue;
      TG_TRY(tg_ci_density_set_reduced(set, i, f, t, &e->value[i * e->finals + f], &what));
      e->known += what == TG_CI_REDUCED_KNOWN;
      e->unseen += what == TG_CI_REDUCED_UNSEEN;
      e->shared += what == TG_CI_REDUCED_NO_STATE;
    }
  return TG_OK;
}

/* "B_E2_down_e2fm4", heading "B(E2)dn/e2fm4". */
static tg_ci_column column_b(const tg_ci_transition_words* w, const char* direction,
                             const char* head, const char* unit) {
  tg_ci_column c = {.kind = TG_CI_COLUMN_REAL, .digits = w->digits};
  snprintf(c.name, sizeof c.name, "B_%s_%s%s%s", w->name, direction, unit[0] ? "_" : "", unit);
  snprintf(c.head, sizeof c.head, "%s%s%s", head, unit[0] ? "/" : "", unit);
  snprintf(c.unit, sizeof c.unit, "%s", unit);
  return c;
}

static tg_status add_pairs(const elements* e, const tg_ci_transition_words* w) {
  const tg_ci_question* q = e->q;
  const bool units = q->within && w->weisskopf > 0;
  char head[2][TG_CI_COLUMN_NAME_SIZE];
  tg_ci_table* table = NULL;
  size_t reduced, there, back, weisskopf = 0;
  tg_ci_column m = {.kind = TG_CI_COLUMN_REAL, .digits = w->digits};
  TG_TRY(tg_ci_question_transitions(q, &table));
  snprintf(m.name, sizeof m.name, "M_%s%s%s", w->name, w->unit[0] ? "_" : "", w->unit);
  snprintf(m.unit, sizeof m.unit, "%s", w->unit);
  snprintf(head[0], sizeof head[0], q->within ? "B(%s)down" : "B(%s)i>f", w->name);
  snprintf(head[1], sizeof head[1], q->within ? "up" : "f>i");
  TG_TRY(tg_ci_table_column(table, m, &reduced));
  TG_TRY(tg_ci_table_column(table, column_b(w, q->within ? "down" : "i_to_f", head[0], w->unit_b),
                            &there));
  tg_ci_column up = column_b(w, q->within ? "up" : "f_to_i", head[1], w->unit_b);
  snprintf(up.head, sizeof up.head, "%s", head[1]);
  TG_TRY(tg_ci_table_column(table, up, &back));
  if (units) TG_TRY(tg_ci_table_column(table, column_b(w, "down_Wu", "W.u.", ""), &weisskopf));
  for (size_t i = 0; i < e->initials; i++)
    for (size_t f = 0; f < (q->within ? i : e->finals); f++) {
      const size_t row = tg_ci_transition_row(q, i, f);
      const double value = e->value[i * e->finals + f], square = value * value;
      const double down = square / (tg_ci_level_two_j(&q->initial, i) + 1);
      table->columns[reduced].value[row] = value;
      table->columns[there].value[row] = down; /* NAN where the element is */
      table->columns[back].value[row] = square / (tg_ci_level_two_j(&q->final, f) + 1);
      if (units) table->columns[weisskopf].value[row] = down / w->weisskopf;
    }
  return TG_OK;
}

static tg_status add_moments(const elements* e, const tg_ci_transition* t,
                             const tg_ci_transition_words* w) {
  const double factor = t->rank == 2 ? sqrt(16 * TG_PI / 5) : sqrt(4 * TG_PI / 3);
  tg_ci_table* table = NULL;
  size_t moment = SIZE_MAX, reduced;
  tg_ci_column c = {.kind = TG_CI_COLUMN_REAL, .digits = w->digits}, m = c;
  TG_TRY(tg_ci_question_levels(e->q, &table));
  if (w->moment) {
    snprintf(c.name, sizeof c.name, "%s", w->moment);
    snprintf(c.head, sizeof c.head, "%s", w->moment_head);
    snprintf(c.unit, sizeof c.unit, "%s", w->moment_unit);
    TG_TRY(tg_ci_table_column(table, c, &moment));
  }
  snprintf(m.name, sizeof m.name, "M_%s%s%s", w->name, w->unit[0] ? "_" : "", w->unit);
  snprintf(m.unit, sizeof m.unit, "%s", w->unit);
  if (w->diagonal) snprintf(m.head, sizeof m.head, "<J||%s||J>", w->name);
  TG_TRY(tg_ci_table_column(table, m, &reduced));
  for (size_t i = 0; i < e->initials; i++) {
    const double value = e->value[i * e->finals + i];
    const int two_j = tg_ci_level_two_j(&e->q->initial, i);
    table->columns[reduced].value[i] = value;
    if (moment != SIZE_MAX && two_j >= t->rank && !isnan(value))
      table->columns[moment].value[i] = factor *
                                        tg_ci_clebsch(two_j, two_j, 2 * t->rank, 0, two_j, two_j) /
                                        sqrt(two_j + 1) * value;
  }
  return TG_OK;
}

tg_status tg_ci_observe_transition(const tg_ci_question* q, const tg_ci_transition* t,
                                   const tg_ci_transition_words* w) {
  elements e = {.q = q,
                .initials = q->initial.spectrum->level_count,
                .finals = q->final.spectrum->level_count};
  tg_status status = find_elements(t, &e);
  if (status == TG_OK && e.known && q->within && t->parity > 0)
    status = add_moments(&e, t, w); /* levels come before transitions */
  if (status == TG_OK && e.known) status = add_pairs(&e, w);
  if (status == TG_OK && e.shared) status = tg_ci_question_note_shared(q);
  if (status == TG_OK && e.unseen)
    status = tg_ci_tables_note(q->tables,
                               "%s: %zu elements that J allows are not seen from the states' M; "
                               "solve with another --two-m%s",
                               w->name, e.unseen, q->within ? "" : ", the same in both files");
  tg_free(e.value);
  return status;
}
