/* SPDX-License-Identifier: Apache-2.0 */
/* Memory whose pages a thread asks for: what is written meanwhile stays, whoever ends it first. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <time.h>

#include "base/memory.h"
#include "ci/states_room.h"

static double number(size_t i) { return 0.5 * (double)(i % 977) - 3; }

static void check_room(size_t count, int device, long pause_ns) {
  const struct timespec pause = {.tv_nsec = pause_ns};
  tg_ci_states_room* room = NULL;
  assert_int_equal(tg_ci_states_room_begin(count, device, &room), TG_OK);
  double* memory = tg_ci_states_room_memory(room);
  for (size_t i = 0; i < count; i++) memory[i] = number(i);
  if (pause_ns) nanosleep(&pause, NULL);
  assert_ptr_equal(tg_ci_states_room_take(room), memory);
  tg_ci_states_room_end(&room);
  assert_null(room);
  for (size_t i = 0; i < count; i++) assert_true(memory[i] == number(i));
  tg_free(memory);
}

static void what_is_written_stays(void** state) {
  (void)state;
  check_room(0, 0, 0);
  check_room(5, 0, 0);
  check_room(5, -1, 0);
  check_room(1000001, -1, 0);
  check_room(3000001, 0, 0);        /* ended long before the last page */
  check_room(1000001, 0, 20000000); /* and behind it */
}

static void rooms_that_are_not_needed(void** state) {
  (void)state;
  tg_ci_states_room* room = NULL;
  tg_ci_states_room_end(&room);
  for (int device = -1; device < 1; device++) {
    assert_int_equal(tg_ci_states_room_begin(2000000, device, &room), TG_OK);
    tg_ci_states_room_end(&room); /* with its memory */
    assert_null(room);
  }
  assert_int_equal(tg_ci_states_room_begin(SIZE_MAX / 4, 0, &room), TG_ERR_MACHINE);
  assert_null(room);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_written_stays),
                                     cmocka_unit_test(rooms_that_are_not_needed)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
