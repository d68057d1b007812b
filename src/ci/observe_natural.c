/* SPDX-License-Identifier: Apache-2.0 */
/* Natural orbitals and their occupations: spin-summed for restricted orbitals, of each spin for
 * unrestricted ones. */
#include <stdio.h>

#include "base/memory.h"
#include "ci/natural.h"
#include "ci/observables.h"
#include "ci/rdm.h"

enum { LEVEL, NUMBER, SPIN, IRREP, OCCUPATION, COLUMNS };

static tg_status make_table(const tg_ci_question* q, bool by_spin, tg_ci_table** out) {
  const tg_ci_column like[COLUMNS] = {
      [LEVEL] = {.name = "level", .head = "#", .kind = TG_CI_COLUMN_WHOLE},
      [NUMBER] = {.name = "orbital", .head = "orbital", .kind = TG_CI_COLUMN_WHOLE},
      [SPIN] = {.name = "spin", .kind = TG_CI_COLUMN_NAME},
      [IRREP] = {.name = "irrep", .head = "irrep", .kind = TG_CI_COLUMN_WHOLE},
      [OCCUPATION] = {.name = "occupation", .head = "occupation", .digits = 6}};
  TG_TRY(tg_ci_tables_add(q->tables, "natural_orbitals", "Natural orbitals", out));
  for (int c = 0; c < COLUMNS; c++) {
    size_t number;
    tg_ci_column column = like[c];
    if (c == SPIN && by_spin) snprintf(column.head, sizeof column.head, "spin");
    TG_TRY(tg_ci_table_column(*out, column, &number));
  }
  (*out)->key_count = OCCUPATION;
  static const char* const spins[] = {"up", "down", "both"};
  for (int s = 0; s < 3; s++) {
    size_t number;
    TG_TRY(tg_ci_table_name(*out, spins[s], &number));
  }
  return TG_OK;
}

/* spin: 0, 1, or 2 for both. */
static tg_status keep(const tg_ci_question* q, size_t level, int spin, const double* density,
                      tg_ci_table* table) {
  static const char* const suffix[] = {"_a", "_b", ""};
  const tg_ci_orbital* orbitals;
  const size_t n = tg_ci_hamiltonian_orbitals(q->initial.problem->h, spin == 1, &orbitals);
  tg_ci_natural natural = {0};
  tg_status status = TG_OK;
  char name[64];
  double* array = NULL;
  TG_TRY(tg_ci_natural_make(n, orbitals, density, &natural));
  snprintf(name, sizeof name, "natural_orbitals%s_%zu", suffix[spin], level + 1);
  TG_TRY_GOTO(tg_ci_tables_data(q->tables, name, 2, (const size_t[]){n, n}, "",
                                "column k: natural orbital k in the input's orbitals", &array),
              done);
  for (size_t i = 0; i < n * n; i++) array[i] = natural.coefficient[i];
  for (size_t k = 0; k < n; k++) {
    size_t row;
    TG_TRY_GOTO(tg_ci_table_row(table, &row), done);
    const double value[COLUMNS] = {(double)level + 1, (double)k + 1, spin,
                                   natural.symmetry[k] + 1.0, natural.occupation[k]};
    for (int c = 0; c < COLUMNS; c++) table->columns[c].value[row] = value[c];
  }
done:
  tg_ci_natural_free(&natural);
  return status;
}

static tg_status of_level(const tg_ci_question* q, size_t level, bool by_spin, tg_ci_table* table) {
  const tg_ci_states* s = &q->initial;
  const tg_ci_state_vector x = {tg_ci_level_space(s, level), tg_ci_level_vector(s, level)};
  tg_ci_rdm rdm = {0};
  double* sum = NULL;
  tg_status status = TG_OK;
  TG_TRY_GOTO(tg_ci_rdm_make(s->problem->h, x, x, false, tg_ci_question_threads(q), &rdm), done);
  if (by_spin) {
    for (int spin = 0; spin < 2; spin++)
      TG_TRY_GOTO(keep(q, level, spin, rdm.one[spin], table), done);
  } else {
    TG_TRY_GOTO(TG_ALLOCATE(rdm.orbitals[0] * rdm.orbitals[0], "a density matrix", &sum), done);
    tg_ci_rdm_sum_one(&rdm, sum);
    TG_TRY_GOTO(keep(q, level, 2, sum, table), done);
  }
done:
  tg_free(sum);
  tg_ci_rdm_free(&rdm);
  return status;
}

static tg_status compute(const tg_ci_question* q) {
  const bool by_spin = q->initial.problem->input->integrals.unrestricted;
  tg_ci_table* table = NULL;
  TG_TRY(make_table(q, by_spin, &table));
  for (size_t i = 0; i < q->initial.spectrum->level_count; i++)
    TG_TRY(of_level(q, i, by_spin, table));
  return TG_OK;
}

const tg_ci_observable tg_ci_observable_natural = {
    .name = "natural",
    .help = "natural orbitals and their occupations, of each level",
    .can = TG_CI_OF_MOLECULES | TG_CI_WITHIN,
    .compute = compute,
};
