/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of labels made beside the solve: those that are made in its place. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <string.h>

#include "ci/input/input.h"
#include "ci/label_tables.h"

static void same_jumps(const tg_ci_jumps* a, const tg_ci_jumps* b) {
  assert_int_equal(a->class_count, b->class_count);
  for (size_t c = 0; c < a->class_count; c++) {
    const tg_ci_target *s = &a->targets[c], *t = &b->targets[c];
    assert_int_equal(s->link_count, t->link_count);
    for (size_t l = 0; l < s->link_count; l++) {
      const tg_ci_link *x = &s->links[l], *y = &t->links[l];
      assert_int_equal(x->count, y->count);
      assert_memory_equal(s->from + x->first, t->from + y->first, x->count * sizeof *s->from);
      assert_memory_equal(s->code + x->first, t->code + y->first, x->count * sizeof *s->code);
    }
  }
}

static void tables_are_those_of_labels(void** state) {
  (void)state;
  tg_ci_source source = {.path = "builtin:usdb"};
  tg_ci_problem_params params = tg_ci_problem_defaults();
  tg_ci_input input;
  tg_ci_problem problem;
  tg_ci_space* space;
  params.protons = params.neutrons = 6;
  assert_int_equal(tg_ci_input_read(&source, 1, &input), TG_OK);
  assert_int_equal(tg_ci_problem_make(&input, &params, &problem), TG_OK);
  tg_ci_space_params wanted = problem.space;
  wanted.symmetry = (int)problem.sectors[0];
  assert_int_equal(tg_ci_space_make(problem.h, &wanted, &space), TG_OK);
  const tg_ci_label_place alone = {.threads = 1}, four = {.threads = 4};
  assert_null(tg_ci_label_tables_begin(&problem, space, &alone));
  tg_ci_label_tables* tables = tg_ci_label_tables_begin(&problem, space, &four);
  assert_non_null(tables);
  int labels = 0;
  for (int k = 0; k < TG_CI_LABELS; k++) {
    const tg_ci_fly* made = tg_ci_label_tables_of(tables, k);
    if (!problem.label[k]) {
      assert_null(made);
      continue;
    }
    const tg_ci_device_operator_params op = {.few = true, .threads = 1, .memory = UINT64_MAX};
    tg_ci_fly fly;
    assert_non_null(made);
    assert_int_equal(tg_ci_device_tables(problem.label[k], space, &op, &fly), TG_OK);
    assert_int_equal(made->pairs, fly.pairs);
    assert_true(made->few);
    assert_null(tg_ci_label_tables_operator(tables, k, 0)); /* without GPUs */
    for (int t = 0; t < 2; t++) same_jumps(&made->jumps[t], &fly.jumps[t]);
    tg_ci_fly_free(&fly);
    labels++;
  }
  assert_true(labels >= 2); /* J and T */
  tg_ci_label_tables_free(&tables);
  assert_null(tables);
  tg_ci_label_tables_free(&tables);
  assert_null(tg_ci_label_tables_of(NULL, 0));
  assert_null(tg_ci_label_tables_operator(NULL, 0, 0));
  /* a run that may take little: they are left to the caller */
  const tg_ci_label_place little = {.threads = 4, .memory = 1 << 20};
  tables = tg_ci_label_tables_begin(&problem, space, &little);
  for (int k = 0; k < TG_CI_LABELS; k++) assert_null(tg_ci_label_tables_of(tables, k));
  tg_ci_label_tables_free(&tables);
  /* nobody asks for them: the solve was interrupted */
  tables = tg_ci_label_tables_begin(&problem, space, &four);
  tg_ci_label_tables_free(&tables);
  tg_ci_space_free(space);
  tg_ci_problem_free(&problem);
  tg_ci_input_free(&input);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(tables_are_those_of_labels)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
