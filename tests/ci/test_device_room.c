/* SPDX-License-Identifier: Apache-2.0 */
/* What fits a GPU, and what is told where it does not: of GPUs that need not be there. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <string.h>

#include "ci/input/input.h"
#include "ci/solve_device.h"
#include "device/device.h"

static const uint64_t gb = 1000000000;

static tg_ci_device_room room_of(uint64_t usable) {
  return (tg_ci_device_room){.place = TG_EIGEN_CUDA,
                             .device = 3,
                             .gpus = 1,
                             .pes = 1,
                             .name = "a card",
                             .free = usable + usable / 50,
                             .usable = usable};
}

static tg_eigen_params lanczos(int states) {
  tg_eigen_params e = tg_eigen_defaults();
  e.states = states;
  e.method = TG_EIGEN_LANCZOS;
  return e;
}

static void expect_words(tg_status status, const char* const* words) {
  assert_int_equal(status, TG_ERR_MACHINE);
  for (; *words; words++)
    if (!strstr(tg_last_error(), *words)) fail_msg("no %s in: %s", *words, tg_last_error());
}

/* 56Ni in the pf shell, a vector of 8.7 GB, fits a card of 140 GB, but not 20 states of it. */
static void vectors_are_counted(void** state) {
  (void)state;
  const uint64_t ni56 = 1087455228;
  const tg_ci_device_room room = room_of(138 * gb);
  uint64_t fewest, usual;
  tg_eigen_params e = lanczos(1);
  assert_int_equal(tg_ci_device_vectors(&room, ni56, &e, &fewest, &usual), TG_OK);
  assert_true(fewest >= 11 * 8 * ni56 && fewest < 12 * 8 * ni56); /* 1 + 8, and a block of 2 */
  assert_true(usual >= 46 * 8 * ni56);
  e = lanczos(20);
  expect_words(tg_ci_device_vectors(&room, ni56, &e, &fewest, &usual),
               (const char* const[]){"GPU 3 (a card): 20 states need at least 30 vectors of 8.7 GB",
                                     "138 GB may be used", "--states", "--nmax", NULL});
  e = lanczos(1); /* of one state there are no fewer */
  const tg_ci_device_room narrow = room_of(90 * gb);
  expect_words(tg_ci_device_vectors(&narrow, ni56, &e, &fewest, &usual),
               (const char* const[]){"1 state needs at least 11 vectors of 8.7 GB",
                                     "used; truncate the space", NULL});
  e = lanczos(20);
  tg_ci_device_room four = room; /* four GPUs share rows; each gathers a block of two as a whole */
  four.gpus = four.pes = 4;
  assert_int_equal(tg_ci_device_vectors(&four, ni56, &e, &fewest, &usual), TG_OK);
  assert_true(fewest > (30 / 4 + 2) * 8 * ni56 && fewest < (30 / 4 + 4) * 8 * ni56);
  const tg_ci_device_room small = room_of(8 * gb);
  expect_words(tg_ci_device_vectors(&small, ni56, &e, &fewest, &usual),
               (const char* const[]){"a single vector", "1.087e+09 states", "8.7 GB",
                                     "8 GB may be used", "--nmax", NULL});
  expect_words(tg_ci_device_vectors(&small, UINT64_MAX, &e, &fewest, &usual),
               (const char* const[]){"more than ", NULL});
}

static void small_spaces_take_what_they_have(void** state) {
  (void)state;
  const tg_ci_device_room room = room_of(gb);
  uint64_t fewest, usual;
  const tg_eigen_params e = lanczos(5); /* of a space of seven: no basis is larger */
  assert_int_equal(tg_ci_device_vectors(&room, 7, &e, &fewest, &usual), TG_OK);
  assert_true(fewest == usual && fewest > 0);
  tg_eigen_params davidson = lanczos(3); /* in blocks of three, as the eigen-solver has it */
  davidson.method = TG_EIGEN_DAVIDSON;
  assert_int_equal(tg_ci_device_vectors(&room, 100000, &davidson, &fewest, &usual), TG_OK);
  assert_true(fewest > 0 && fewest < usual);
}

static void operators_that_do_not_fit_are_told(void** state) {
  (void)state;
  const tg_ci_source source = {.path = "builtin:usdb"};
  tg_ci_problem_params numbers = tg_ci_problem_defaults();
  tg_ci_input input;
  tg_ci_problem problem;
  tg_ci_space* space;
  tg_ci_device_operator_facts facts;
  numbers.protons = numbers.neutrons = 2;
  assert_int_equal(tg_ci_input_read(&source, 1, &input), TG_OK);
  assert_int_equal(tg_ci_problem_make(&input, &numbers, &problem), TG_OK);
  assert_int_equal(tg_ci_space_make(problem.h, &problem.space, &space), TG_OK);
  tg_ci_device_operator_params params = {
      .storage = TG_CI_STORAGE_FLY, .device = 3, .memory = gb, .fewest = gb / 2, .usual = gb};
  assert_int_equal(tg_ci_device_operator_estimate(problem.h, space, &params, &facts), TG_OK);
  assert_true(facts.host.storage == TG_CI_STORAGE_FLY && facts.host.dimension == 640 &&
              facts.host.pairs == 54624);
  params.fewest = gb + 1;
  expect_words(tg_ci_device_operator_estimate(problem.h, space, &params, &facts),
               (const char* const[]){"GPU 3: ", "1 GB may be used", "fewest vectors", "--states",
                                     "more --gpus", "--backend omp", NULL});
  params.fewest = 0;
  params.host_memory = 1;
  expect_words(tg_ci_device_operator_estimate(problem.h, space, &params, &facts),
               (const char* const[]){"of the host's memory", "truncate", NULL});
  tg_ci_space_free(space);
  tg_ci_problem_free(&problem);
  tg_ci_input_free(&input);
}

/* What each of three PEs takes: its rows, the tables, and all of the vectors being multiplied. */
static void several_pes_are_counted(void** state) {
  (void)state;
  const tg_ci_source source = {.path = "builtin:usdb"};
  tg_ci_problem_params numbers = tg_ci_problem_defaults();
  tg_ci_input input;
  tg_ci_problem problem;
  tg_ci_space* space;
  tg_ci_need alone = {0}, shared = {0};
  numbers.protons = numbers.neutrons = 4;
  assert_int_equal(tg_ci_input_read(&source, 1, &input), TG_OK);
  assert_int_equal(tg_ci_problem_make(&input, &numbers, &problem), TG_OK);
  assert_int_equal(tg_ci_space_make(problem.h, &problem.space, &space), TG_OK);
  tg_ci_device_room room = room_of(gb);
  tg_ci_solve_params params = tg_ci_solve_defaults();
  params.storage = TG_CI_STORAGE_FLY;
  const tg_ci_device_sector sector = {
      .room = &room, .problem = &problem, .params = &params, .space = space, .eigen = lanczos(10)};
  assert_int_equal(tg_ci_device_sector_need(&sector, problem.h, &alone), TG_OK);
  assert_int_equal(alone.split.pe_count, 0);
  room.pes = 3;
  room.gpus = 2;
  assert_int_equal(tg_ci_device_sector_need(&sector, problem.h, &shared), TG_OK);
  assert_true(shared.gpu.pes == 3 && shared.gpu.gpus == 2 && shared.split.pe_count == 3);
  assert_true(shared.split.first[3] == space->dimension);
  /* a third and a tenth of it, the sums' scratch, and x for a block of two */
  assert_true(shared.gpu.vectors > alone.gpu.vectors / 3 + 16 * space->dimension);
  assert_true(shared.gpu.vectors < 2 * alone.gpu.vectors / 3 + 16 * space->dimension);
  assert_int_equal(shared.facts.pairs, alone.facts.pairs);
  tg_ci_distribution_free(&shared.split);
  const tg_ci_pes two = {.count = 2, .local = 2};
  if (tg_device_count() == 0) { /* elsewhere it may be that there are three */
    assert_int_equal(tg_ci_device_room_share(0, 3, &two, &room), TG_ERR_INPUT);
    assert_non_null(strstr(tg_last_error(), "3 GPUs for 2 processing elements"));
  }
  tg_ci_space_free(space);
  tg_ci_problem_free(&problem);
  tg_ci_input_free(&input);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(vectors_are_counted),
      cmocka_unit_test(small_spaces_take_what_they_have),
      cmocka_unit_test(operators_that_do_not_fit_are_told),
      cmocka_unit_test(several_pes_are_counted),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
