/* SPDX-License-Identifier: Apache-2.0 */
/* One-body operators from .opme files, and one-body densities. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "ci/density_set.h"
#include "ci/observe_transitions.h"

/* ---- operators from files ---- */

static tg_status read(const tg_ci_question* q, tg_ci_transition* out) {
  const int change = tg_ci_charge_change(q->initial.problem, q->final.problem);
  if (!q->argument) return tg_fail(TG_ERR_INPUT, "opme: which file? Write FILE.opme, or opme:FILE");
  if (abs(change) > 1)
    return tg_fail(TG_ERR_INPUT,
                   "%s: no one-body operator connects the two calculations' numbers of protons and "
                   "neutrons",
                   q->argument);
  return tg_ci_transition_read(q->argument, &q->initial.problem->input->model.shells, change, out);
}

static tg_status check_file(const tg_ci_question* q) {
  tg_ci_transition t = {0};
  const tg_status status = read(q, &t);
  tg_ci_transition_free(&t);
  return status;
}

static tg_status compute_file(const tg_ci_question* q) {
  tg_ci_transition t = {0};
  tg_ci_transition_words w = {.digits = 5, .diagonal = true};
  TG_TRY(read(q, &t));
  snprintf(w.name, sizeof w.name, "%.15s", t.name);
  char* end = strstr(w.name, ".opme");
  if (end) *end = '\0';
  const tg_status status = tg_ci_observe_transition(q, &t, &w);
  tg_ci_transition_free(&t);
  return status;
}

const tg_ci_observable tg_ci_observable_opme = {
    .name = "opme",
    .argument = "FILE",
    .help = "a one-body operator from a .opme file (FILE.opme alone does, too)",
    .can = TG_CI_OF_NUCLEI | TG_CI_WITHIN | TG_CI_BETWEEN,
    .check = check_file,
    .compute = compute_file,
};

/* ---- densities ---- */

enum { INITIAL, FINAL, RANK, ORBIT_A, ORBIT_B, RHO, COLUMNS };

/* The densities of a pair of levels, all ranks. rho: [shells, shells]. */
static tg_status add_pair(tg_ci_density_set* set, const tg_ci_question* q, size_t i, size_t f,
                          double* rho, tg_ci_table* table) {
  const size_t shells = q->initial.problem->input->model.shells.count;
  const int ji = tg_ci_level_two_j(&q->initial, i), jf = tg_ci_level_two_j(&q->final, f);
  if (ji < 0 || jf < 0) return tg_ci_question_note_shared(q);
  for (int rank = abs(ji - jf) / 2; rank <= (ji + jf) / 2; rank++) {
    tg_ci_reduced what;
    TG_TRY(tg_ci_density_set_coupled(set, i, f, rank, 0, rho, &what));
    for (size_t ab = 0; ab < shells * shells; ab++) {
      size_t row;
      if (rho[ab] == 0) continue;
      TG_TRY(tg_ci_table_row(table, &row));
      const size_t a = ab / shells, b = ab % shells;
      const double value[COLUMNS] = {(double)i + 1, (double)f + 1, rank,
                                     (double)a,     (double)b,     rho[ab]};
      for (int c = 0; c < COLUMNS; c++) table->columns[c].value[row] = value[c];
    }
  }
  return TG_OK;
}

static tg_status compute_densities(const tg_ci_question* q) {
  static const tg_ci_column like[COLUMNS] = {
      [INITIAL] = {.name = "initial", .kind = TG_CI_COLUMN_WHOLE},
      [FINAL] = {.name = "final", .kind = TG_CI_COLUMN_WHOLE},
      [RANK] = {.name = "K", .kind = TG_CI_COLUMN_WHOLE},
      [ORBIT_A] = {.name = "a", .kind = TG_CI_COLUMN_NAME},
      [ORBIT_B] = {.name = "b", .kind = TG_CI_COLUMN_NAME},
      [RHO] = {.name = "rho", .kind = TG_CI_COLUMN_REAL}};
  const tg_ci_shells* s = &q->initial.problem->input->model.shells;
  const int change = tg_ci_charge_change(q->initial.problem, q->final.problem);
  tg_ci_density_set* set = NULL;
  tg_ci_table* table = NULL;
  double* rho = NULL;
  tg_status status = TG_OK;
  size_t number;
  TG_TRY(tg_ci_question_densities(q, change, &set));
  TG_TRY(tg_ci_tables_add(q->tables, "one_body_densities",
                          "One-body densities <f||[a+_a a~_b]_K||i> / sqrt(2K+1)", &table));
  table->printed = false;
  for (int c = 0; c < COLUMNS; c++) TG_TRY(tg_ci_table_column(table, like[c], &number));
  table->key_count = RHO;
  for (size_t a = 0; a < s->count; a++) TG_TRY(tg_ci_table_name(table, s->shell[a].name, &number));
  TG_TRY(TG_ALLOCATE(s->count * s->count, "densities", &rho));
  for (size_t i = 0; i < q->initial.spectrum->level_count; i++)
    for (size_t f = 0; f < (q->within ? i + 1 : q->final.spectrum->level_count); f++)
      TG_TRY_GOTO(add_pair(set, q, i, f, rho, table), done);
done:
  tg_free(rho);
  return status;
}

static tg_status check_densities(const tg_ci_question* q) {
  if (abs(tg_ci_charge_change(q->initial.problem, q->final.problem)) <= 1) return TG_OK;
  return tg_fail(TG_ERR_INPUT,
                 "obdm: no one-body operator connects the two calculations' numbers of protons and "
                 "neutrons");
}

const tg_ci_observable tg_ci_observable_obdm = {
    .name = "obdm",
    .help = "reduced one-body densities of all pairs of levels",
    .can = TG_CI_OF_NUCLEI | TG_CI_WITHIN | TG_CI_BETWEEN,
    .check = check_densities,
    .compute = compute_densities,
};
