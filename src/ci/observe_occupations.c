/* SPDX-License-Identifier: Apache-2.0 */
/* How many particles are in each orbit: n_a = sum over m of <a+_am a_am>. */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "ci/observables.h"

enum { MOST_PRINTED = 16 }; /* orbits: wider tables are in the JSON alone */

/* n of each orbital of the species from the weights of its strings; weight: [strings]. */
static void sum_orbitals(const tg_ci_strings* s, const double* weight, double* n) {
  for (size_t i = 0; i < s->count; i++) {
    const uint16_t* list = tg_ci_string(s, i);
    for (int k = 0; k < s->particles; k++) n[list[k]] += weight[i];
  }
}

/* The weight of each string, sum of |v|^2 over the strings of the other species. */
static void string_weights(const tg_ci_space* space, const double* v, double* a, double* b) {
  for (size_t k = 0; k < space->block_count; k++) {
    const tg_ci_block* block = &space->blocks[k];
    double* of_a = a + space->strings[0].classes[block->a].begin;
    double* of_b = b + space->strings[1].classes[block->b].begin;
    const double* x = v + block->offset;
    for (size_t r = 0; r < block->rows; r++)
      for (size_t c = 0; c < block->columns; c++) {
        const double square = x[r * block->columns + c] * x[r * block->columns + c];
        of_a[r] += square;
        of_b[c] += square;
      }
  }
}

tg_status tg_ci_occupations(const tg_ci_space* space, const double* v, double* const n[2]) {
  tg_status status = TG_OK;
  double* weight[2] = {NULL, NULL};
  for (int t = 0; t < 2; t++)
    TG_TRY_GOTO(TG_ALLOCATE(space->strings[t].count, "weights of strings", &weight[t]), done);
  string_weights(space, v, weight[0], weight[1]);
  for (int t = 0; t < 2; t++) sum_orbitals(&space->strings[t], weight[t], n[t]);
done:
  tg_free(weight[0]);
  tg_free(weight[1]);
  return status;
}

/* Orbits' occupations of one level: shell of species t behind those of protons. */
static tg_status of_level(const tg_ci_question* q, size_t level, double* shells) {
  tg_status status = TG_OK;
  const tg_ci_hamiltonian* h = q->initial.problem->h;
  const size_t protons = q->initial.problem->input->model.shells.proton_count;
  double* n[2] = {NULL, NULL};
  for (int t = 0; t < 2; t++)
    TG_TRY_GOTO(TG_ALLOCATE(tg_ci_hamiltonian_orbitals(h, t, NULL), "occupations", &n[t]), done);
  TG_TRY_GOTO(tg_ci_occupations(tg_ci_level_space(&q->initial, level),
                                tg_ci_level_vector(&q->initial, level), n),
              done);
  for (int t = 0; t < 2; t++) {
    const tg_ci_orbital* o;
    const size_t count = tg_ci_hamiltonian_orbitals(h, t, &o);
    for (size_t i = 0; i < count; i++) shells[(t ? protons : 0) + o[i].shell] += n[t][i];
  }
done:
  tg_free(n[0]);
  tg_free(n[1]);
  return status;
}

/* A normalised vector has all its particles somewhere. */
static tg_status check_sum(const tg_ci_question* q, size_t level, const double* shells) {
  const tg_ci_shells* s = &q->initial.problem->input->model.shells;
  double sum[2] = {0, 0};
  for (size_t a = 0; a < s->count; a++) sum[s->shell[a].species] += shells[a];
  for (int t = 0; t < 2; t++)
    if (!(fabs(sum[t] - q->initial.problem->particles[t]) < 1e-6))
      return tg_fail(TG_ERR_NUMERICS,
                     "the occupations of level %zu add up to %.9g %s; %d are in it: its state is "
                     "not normalised",
                     level + 1, sum[t], t ? "neutrons" : "protons",
                     q->initial.problem->particles[t]);
  return TG_OK;
}

static tg_status compute(const tg_ci_question* q) {
  const tg_ci_shells* s = &q->initial.problem->input->model.shells;
  const size_t levels = q->initial.spectrum->level_count;
  tg_status status = TG_OK;
  tg_ci_table* table = NULL;
  double* shells = NULL;
  TG_TRY(tg_ci_tables_add(q->tables, "occupations",
                          "Occupations: particles in each orbit (p protons, n neutrons)", &table));
  table->printed = s->count <= MOST_PRINTED;
  tg_ci_column like = {.name = "level", .head = "#", .kind = TG_CI_COLUMN_WHOLE};
  size_t column;
  TG_TRY(tg_ci_table_column(table, like, &column));
  table->key_count = 1;
  for (size_t a = 0; a < s->count; a++) {
    like = (tg_ci_column){.kind = TG_CI_COLUMN_REAL, .digits = 3};
    snprintf(like.name, sizeof like.name, "%s", s->shell[a].name);
    snprintf(like.head, sizeof like.head, "%s", s->shell[a].name);
    TG_TRY(tg_ci_table_column(table, like, &column));
  }
  for (size_t i = 0; i < levels; i++) {
    size_t row;
    TG_TRY_GOTO(TG_ALLOCATE(s->count, "occupations", &shells), done);
    TG_TRY_GOTO(of_level(q, i, shells), done);
    TG_TRY_GOTO(check_sum(q, i, shells), done);
    TG_TRY_GOTO(tg_ci_table_row(table, &row), done);
    table->columns[0].value[row] = (double)i + 1;
    for (size_t a = 0; a < s->count; a++) table->columns[a + 1].value[row] = shells[a];
    TG_FREE(shells);
  }
done:
  tg_free(shells);
  return status;
}

const tg_ci_observable tg_ci_observable_occupations = {
    .name = "occupations",
    .help = "particles in each orbit, of each level",
    .can = TG_CI_OF_NUCLEI | TG_CI_WITHIN | TG_CI_USUAL,
    .compute = compute,
};
