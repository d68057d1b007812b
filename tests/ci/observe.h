/* SPDX-License-Identifier: Apache-2.0 */
/** @file tests/ci/observe.h  Solves a nucleus and reads the tables of its observables. */
#ifndef TG_TESTS_CI_OBSERVE_H
#define TG_TESTS_CI_OBSERVE_H

#include "ci/observables.h"
#include "support.h"

/** A nucleus with its states; p.input is the input here. */
typedef struct nucleus {
  tg_ci_input input;
  tg_ci_problem problem;
  tg_ci_spectrum spectrum;
  tg_ci_states states;
} nucleus;

/** states 0: all there are. Residuals below 1e-9 MeV, so that errors of states are small. */
static inline void solve_nucleus(const char* input, int protons, int neutrons, int two_m, int count,
                                 nucleus* out) {
  tg_ci_problem_params params = tg_ci_problem_defaults();
  tg_ci_solve_params how = tg_ci_solve_defaults();
  memset(out, 0, sizeof *out);
  out->input = read_file(input);
  params.protons = protons;
  params.neutrons = neutrons;
  params.two_m = two_m;
  how.threads = 2;
  how.tolerance = 1e-9;
  assert_ok(tg_ci_problem_make(&out->input, &params, &out->problem));
  how.states = count;
  if (count == 0)
    for (size_t s = 0; s < out->problem.sector_count; s++) {
      const int all = (int)tg_ci_problem_dimension(&out->problem, out->problem.sectors[s]);
      if (all > how.states) how.states = all;
    }
  assert_ok(tg_ci_solve(&out->problem, &how, &out->spectrum));
  out->states = (tg_ci_states){&out->problem, &out->spectrum};
}

static inline void free_nucleus(nucleus* n) {
  tg_ci_spectrum_free(&n->spectrum);
  tg_ci_problem_free(&n->problem);
  tg_ci_input_free(&n->input);
}

/** What a list of observables gives; final NULL: within one nucleus. */
static inline tg_ci_tables observe(const char* list, const tg_ci_observable_params* params,
                                   const nucleus* initial, const nucleus* final) {
  tg_ci_observable_list names;
  tg_ci_tables tables;
  tg_ci_observable_params usual = tg_ci_observable_defaults();
  usual.threads = 2;
  if (!params) params = &usual;
  assert_ok(tg_ci_observables_parse(list, TG_CI_NUCLEUS, final == NULL, &names));
  assert_ok(
      tg_ci_observables_check(&names, params, &initial->problem, final ? &final->problem : NULL));
  assert_ok(tg_ci_observables_run(&names, params, &initial->states, final ? &final->states : NULL,
                                  &tables));
  tg_ci_observables_free(&names);
  return tables;
}

/** A cell of a table. */
static inline double cell(const tg_ci_tables* tables, const char* table, const char* column,
                          size_t row) {
  const tg_ci_table* t = tg_ci_tables_find(tables, table);
  if (!t) fail_msg("no table %s", table);
  const size_t c = tg_ci_table_find(t, column);
  if (c == SIZE_MAX) fail_msg("no column %s in %s", column, table);
  assert_true(row < t->rows);
  return t->columns[c].value[row];
}

/** The row of transitions of levels i and f, which count from 0. */
static inline size_t pair(const tg_ci_tables* tables, size_t i, size_t f) {
  const tg_ci_table* t = tg_ci_tables_find(tables, "transitions");
  assert_non_null(t);
  const size_t ci = tg_ci_table_find(t, "initial"), cf = tg_ci_table_find(t, "final");
  for (size_t r = 0; r < t->rows; r++)
    if ((size_t)t->columns[ci].value[r] == i + 1 && (size_t)t->columns[cf].value[r] == f + 1)
      return r;
  fail_msg("no transition %zu %zu", i + 1, f + 1);
  return 0;
}

#endif
