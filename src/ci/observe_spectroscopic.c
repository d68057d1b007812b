/* SPDX-License-Identifier: Apache-2.0 */
/* Spectroscopic factors between the levels of two nuclei that differ by one nucleon, and how much
 * of their sum rules the levels at hand have. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "ci/observables.h"
#include "ci/spectroscopic.h"

enum { LARGER, J_LARGER, SMALLER, J_SMALLER, ORBIT, KEYS };
enum { SEPARATION = KEYS, REDUCED, FACTOR, COLUMNS };
enum { DIRECTION, LEVEL, SUM_ORBIT, SUM, WHOLE, SUM_COLUMNS };

/* The two nuclei, and what their levels sum to. */
typedef struct work {
  const tg_ci_question* q;
  const tg_ci_states *smaller, *larger;
  const tg_ci_shells* shells;
  int species;
  tg_ci_table* table;
  double* removal;  /* [levels of larger, shells] sum of S */
  double* addition; /* [levels of smaller, shells] */
  double* reduced;  /* [shells] */
} work;

static int more_of(const tg_ci_question* q, int species) {
  return q->initial.problem->particles[species] - q->final.problem->particles[species];
}

static tg_status add_columns(tg_ci_table* table, const tg_ci_column* like, int count, int keys,
                             const tg_ci_shells* shells) {
  size_t number;
  for (int c = 0; c < count; c++) TG_TRY(tg_ci_table_column(table, like[c], &number));
  table->key_count = (size_t)keys;
  for (size_t a = 0; shells && a < shells->count; a++)
    TG_TRY(tg_ci_table_name(table, shells->shell[a].name, &number));
  return TG_OK;
}

static tg_status make_table(work* w) {
  static const tg_ci_column like[COLUMNS] = {
      [LARGER] = {.name = "larger", .head = "#A", .kind = TG_CI_COLUMN_WHOLE},
      [J_LARGER] = {.name = "J_larger", .head = "J", .kind = TG_CI_COLUMN_HALF},
      [SMALLER] = {.name = "smaller", .head = "#A-1", .kind = TG_CI_COLUMN_WHOLE},
      [J_SMALLER] = {.name = "J_smaller", .head = "J'", .kind = TG_CI_COLUMN_HALF},
      [ORBIT] = {.name = "orbit", .head = "orbit", .kind = TG_CI_COLUMN_NAME},
      [SEPARATION] = {.name = "separation_MeV", .head = "E'-E/MeV", .unit = "MeV", .digits = 4},
      [REDUCED] = {.name = "reduced", .head = "<A||a+||A-1>", .digits = 5},
      [FACTOR] = {.name = "S", .head = "C2S", .digits = 5}};
  char title[160];
  snprintf(title, sizeof title,
           "Spectroscopic factors: a %s taken from level #A of the larger nucleus",
           w->species ? "neutron" : "proton");
  TG_TRY(tg_ci_tables_add(w->q->tables, "spectroscopic", title, &w->table));
  return add_columns(w->table, like, COLUMNS, KEYS, w->shells);
}

static tg_status keep_pair(work* w, size_t larger, size_t smaller, int two_j, int two_j_smaller) {
  const double difference =
      w->smaller->spectrum->levels[smaller].energy - w->larger->spectrum->levels[larger].energy;
  for (size_t a = 0; a < w->shells->count; a++) {
    size_t row;
    const double factor = w->reduced[a] * w->reduced[a] / (two_j + 1);
    if (w->shells->shell[a].species != w->species || factor == 0) continue;
    TG_TRY(tg_ci_table_row(w->table, &row));
    const double value[COLUMNS] = {(double)larger + 1, two_j,     (double)smaller + 1,
                                   two_j_smaller,      (double)a, difference,
                                   w->reduced[a],      factor};
    for (int c = 0; c < COLUMNS; c++) w->table->columns[c].value[row] = value[c];
    if (isnan(factor)) continue; /* not seen at these M: shown as such, and missing in the sums */
    w->removal[larger * w->shells->count + a] += factor;
    w->addition[smaller * w->shells->count + a] += factor * (two_j + 1) / (two_j_smaller + 1);
  }
  return TG_OK;
}

/* All levels of two sectors. */
static tg_status of_sectors(work* w, size_t larger, size_t smaller) {
  const tg_ci_spectrum *a = w->larger->spectrum, *b = w->smaller->spectrum;
  const int threads = tg_ci_question_threads(w->q);
  tg_ci_spectroscopic* s = NULL;
  tg_status status = TG_OK;
  TG_TRY(tg_ci_spectroscopic_make(w->larger->problem->h, &w->larger->problem->input->model,
                                  b->sectors[smaller].space, a->sectors[larger].space, &s));
  for (size_t i = 0; i < a->level_count; i++)
    for (size_t f = 0; f < b->level_count; f++) {
      const int two_j = tg_ci_level_two_j(w->larger, i), other = tg_ci_level_two_j(w->smaller, f);
      if (a->levels[i].sector != larger || b->levels[f].sector != smaller) continue;
      if (two_j < 0 || other < 0) continue;
      TG_TRY_GOTO(
          tg_ci_spectroscopic_reduced(
              s, (tg_ci_good_state){tg_ci_level_vector(w->smaller, f), other},
              (tg_ci_good_state){tg_ci_level_vector(w->larger, i), two_j}, threads, w->reduced),
          done);
      TG_TRY_GOTO(keep_pair(w, i, f, two_j, other), done);
    }
done:
  tg_ci_spectroscopic_free(s);
  return status;
}

/* Particles in each orbit of a level: [shells]. */
static tg_status occupations(const work* w, const tg_ci_states* states, size_t level,
                             double* shells) {
  const tg_ci_hamiltonian* h = states->problem->h;
  double* n[2] = {NULL, NULL};
  tg_status status = TG_OK;
  memset(shells, 0, w->shells->count * sizeof *shells);
  for (int t = 0; t < 2; t++)
    TG_TRY_GOTO(TG_ALLOCATE(tg_ci_hamiltonian_orbitals(h, t, NULL) + 1, "occupations", &n[t]),
                done);
  TG_TRY_GOTO(
      tg_ci_occupations(tg_ci_level_space(states, level), tg_ci_level_vector(states, level), n),
      done);
  for (int t = 0; t < 2; t++) {
    const tg_ci_orbital* o;
    const size_t count = tg_ci_hamiltonian_orbitals(h, t, &o);
    for (size_t i = 0; i < count; i++)
      shells[(t ? w->shells->proton_count : 0) + o[i].shell] += n[t][i];
  }
done:
  tg_free(n[0]);
  tg_free(n[1]);
  return status;
}

/* The sums of the levels of one nucleus, beside what they would be with all levels. */
static tg_status keep_sums(work* w, bool removal, tg_ci_table* table) {
  const tg_ci_states* states = removal ? w->larger : w->smaller;
  const double* sums = removal ? w->removal : w->addition;
  for (size_t i = 0; i < states->spectrum->level_count; i++) {
    if (tg_ci_level_two_j(states, i) < 0) continue;
    TG_TRY(occupations(w, states, i, w->reduced));
    for (size_t a = 0; a < w->shells->count; a++) {
      size_t row;
      const tg_ci_shell* shell = &w->shells->shell[a];
      if (shell->species != w->species) continue;
      TG_TRY(tg_ci_table_row(table, &row));
      const double whole = removal ? w->reduced[a] : shell->two_j + 1 - w->reduced[a];
      const double value[SUM_COLUMNS] = {(double)w->shells->count + !removal, (double)i + 1,
                                         (double)a, sums[i * w->shells->count + a], whole};
      for (int c = 0; c < SUM_COLUMNS; c++) table->columns[c].value[row] = value[c];
    }
  }
  return TG_OK;
}

static tg_status make_sums(work* w) {
  static const tg_ci_column like[SUM_COLUMNS] = {
      [DIRECTION] = {.name = "direction", .head = "direction", .kind = TG_CI_COLUMN_NAME},
      [LEVEL] = {.name = "level", .head = "#", .kind = TG_CI_COLUMN_WHOLE},
      [SUM_ORBIT] = {.name = "orbit", .head = "orbit", .kind = TG_CI_COLUMN_NAME},
      [SUM] = {.name = "sum", .head = "sum", .digits = 5},
      [WHOLE] = {.name = "sum_rule", .head = "sum rule", .digits = 5}};
  tg_ci_table* table = NULL;
  size_t number;
  TG_TRY(tg_ci_tables_add(w->q->tables, "spectroscopic_sums",
                          "Sums over the levels found: of S for removal, (2J+1)/(2J'+1) S for "
                          "addition; the rule: particles, free places in the orbit",
                          &table));
  TG_TRY(add_columns(table, like, SUM_COLUMNS, SUM, w->shells));
  TG_TRY(tg_ci_table_name(table, "removal from #A", &number));
  TG_TRY(tg_ci_table_name(table, "addition to #A-1", &number));
  TG_TRY(keep_sums(w, true, table));
  return keep_sums(w, false, table);
}

static tg_status check(const tg_ci_question* q) {
  const int protons = more_of(q, 0), neutrons = more_of(q, 1);
  if (abs(protons) + abs(neutrons) == 1) return TG_OK;
  return tg_fail(TG_ERR_INPUT,
                 "spectroscopic factors are between nuclei that differ by one nucleon; these "
                 "differ by %d protons and %d neutrons",
                 abs(protons), abs(neutrons));
}

static tg_status compute(const tg_ci_question* q) {
  const int more[2] = {more_of(q, 0), more_of(q, 1)};
  work w = {.q = q, .shells = &q->initial.problem->input->model.shells};
  w.species = more[0] != 0 ? 0 : 1;
  const bool initial_larger = more[w.species] > 0;
  w.larger = initial_larger ? &q->initial : &q->final;
  w.smaller = initial_larger ? &q->final : &q->initial;
  const tg_ci_spectrum *a = w.larger->spectrum, *b = w.smaller->spectrum;
  const size_t shells = w.shells->count;
  tg_status status = TG_OK;
  TG_TRY_GOTO(TG_ALLOCATE(a->level_count * shells + 1, "sums", &w.removal), done);
  TG_TRY_GOTO(TG_ALLOCATE(b->level_count * shells + 1, "sums", &w.addition), done);
  TG_TRY_GOTO(TG_ALLOCATE(shells + 1, "amplitudes", &w.reduced), done);
  TG_TRY_GOTO(make_table(&w), done);
  for (size_t s = 0; s < a->sector_count; s++)
    for (size_t t = 0; t < b->sector_count; t++) TG_TRY_GOTO(of_sectors(&w, s, t), done);
  TG_TRY_GOTO(make_sums(&w), done);
done:
  tg_free(w.removal);
  tg_free(w.addition);
  tg_free(w.reduced);
  return status;
}

const tg_ci_observable tg_ci_observable_spectroscopic = {
    .name = "spectroscopic",
    .help = "spectroscopic amplitudes and factors of one nucleon, between nuclei A and A - 1",
    .can = TG_CI_OF_NUCLEI | TG_CI_BETWEEN,
    .check = check,
    .compute = compute,
};
