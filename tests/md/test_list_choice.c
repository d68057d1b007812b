/* SPDX-License-Identifier: Apache-2.0 */
/* List intervals that are asked for get the radii that the formula gives them, and the alternatives
 * that a GPU's tuning measures are all within the tolerance and the box. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include "md/engine_case.h"
#include "md/list_choice.h"

static tg_md_system* read_example(void) {
  const tg_log silent = {NULL, NULL};
  const tg_md_files files = {.configuration = ENGINE_EXAMPLE "conf.gro",
                             .topology = ENGINE_EXAMPLE "topol.top",
                             .parameters = ENGINE_EXAMPLE "rf.mdp",
                             .chance_seed = 1};
  tg_md_system* system = NULL;
  engine_ok(tg_md_system_read(&files, &silent, &system));
  return system;
}

static void asked_intervals_get_the_formulas_radii(void** state) {
  (void)state;
  tg_md_system* system = read_example();
  const tg_restart none = {0};
  tg_md_job job = engine_job("rf.mdp");
  tg_list_choice formula, asked, longer;
  engine_ok(tg_list_choose(system, &job, &none, &formula));
  assert_true(formula.prune_interval > 0);
  job.nstlist = formula.nstlist;
  job.prune_interval = formula.prune_interval;
  engine_ok(tg_list_choose(system, &job, &none, &asked));
  assert_int_equal(asked.nstlist, formula.nstlist);
  assert_int_equal(asked.prune_interval, formula.prune_interval);
  assert_true(asked.radius == formula.radius && asked.inner_radius == formula.inner_radius);
  job.nstlist *= 2;
  engine_ok(tg_list_choose(system, &job, &none, &longer));
  assert_true(longer.radius > asked.radius && longer.inner_radius == asked.inner_radius);
  job.prune_interval = 0; /* the whole tolerance for one list */
  engine_ok(tg_list_choose(system, &job, &none, &asked));
  assert_int_equal(asked.prune_interval, 0);
  assert_true(asked.radius < longer.radius && asked.inner_radius == 0);
  job.nstlist = 300;
  job.prune_interval = 8;
  assert_int_equal(tg_list_choose(system, &job, &none, &asked), TG_ERR_INPUT);
  assert_non_null(strstr(tg_last_error(), "search more often"));
  tg_md_system_destroy(&system);
}

static void alternatives_fit_the_box(void** state) {
  (void)state;
  tg_md_system* system = read_example();
  tg_md_job job = engine_job("rf.mdp");
  tg_list_choice others[TG_LIST_ALTERNATIVES], fixed;
  int count = 0, large_count = 0;
  job.backend = "cuda";
  engine_ok(tg_list_alternatives(system, &job, others, &count));
  assert_true(count >= 1);
  for (int i = 0; i < count; i++) {
    assert_true(others[i].nstlist >= system->parameters.nstlist / 4);
    assert_true(i == 0 || others[i].nstlist > others[i - 1].nstlist);
    assert_true(others[i].radius < 0.5 * system->box[0]);
    engine_ok(tg_list_fix(system, &job, others[i].nstlist, others[i].prune_interval, &fixed));
    assert_true(fixed.radius == others[i].radius);
    assert_true(fixed.inner_radius == others[i].inner_radius);
  }
  for (int d = 0; d < 3; d++) system->box[d] *= 2; /* room for longer lives */
  engine_ok(tg_list_alternatives(system, &job, others, &large_count));
  assert_true(large_count > count);
  tg_md_system_destroy(&system);
}

static void intervals_have_neighbours(void** state) {
  (void)state;
  for (int interval = 2; interval != 0; interval = tg_list_next_interval(interval, 1)) {
    const int next = tg_list_next_interval(interval, 1);
    assert_true(next == 0 || next > interval);
    if (next) assert_int_equal(tg_list_next_interval(next, -1), interval);
  }
  assert_int_equal(tg_list_next_interval(2, -1), 0);
  assert_int_equal(tg_list_next_interval(7, 1), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(asked_intervals_get_the_formulas_radii),
      cmocka_unit_test(alternatives_fit_the_box),
      cmocka_unit_test(intervals_have_neighbours),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
