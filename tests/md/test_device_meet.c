/* SPDX-License-Identifier: Apache-2.0 */
/* What processes agree on between stretches, with threads in place of processes. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <string.h>

#include "md/device_meet.h"

static const tg_world_params three = {.transport = "loop", .pe_count = 3, .deadline_s = 20};

#define CHECK(condition)                                                                           \
  if (!(condition)) return tg_fail(TG_ERR_INTERNAL, "not so: %s", #condition)

static tg_status signals(tg_world* world, void* context) {
  (void)context;
  for (int pe = 0; pe < 3; pe++) {
    tg_device_word word = tg_device_word_make();
    word.interrupted = tg_world_pe(world) == pe;
    word.checkpoint_due = pe == 1 && tg_world_pe(world) == 2;
    TG_TRY(tg_device_meet(world, TG_OK, &word));
    CHECK(word.interrupted && word.checkpoint_due == (pe == 1));
    CHECK(word.trouble.lists == 0 && !word.trouble.list_full);
    CHECK(word.trouble.fast_atom == -1 && word.trouble.bad_group == -1);
  }
  return TG_OK;
}

/* Lists that are full get more room only where that is what all want that have trouble. */
static tg_status troubles(tg_world* world, void* context) {
  (void)context;
  const int pe = tg_world_pe(world);
  tg_device_word word = tg_device_word_make();
  if (pe == 1) word.trouble.lists = 1, word.trouble.list_full = true;
  if (pe == 2) word.trouble.fast_atom = 77;
  TG_TRY(tg_device_meet(world, TG_OK, &word));
  CHECK(word.trouble.lists == 1 && word.trouble.list_full && word.trouble.fast_atom == 77);
  word = tg_device_word_make();
  if (pe == 0) word.trouble.lists = 1, word.trouble.list_full = true;
  if (pe == 1) word.trouble.lists = 4;
  TG_TRY(tg_device_meet(world, TG_OK, &word));
  CHECK(word.trouble.lists == 5 && !word.trouble.list_full && word.trouble.bad_group == -1);
  return TG_OK;
}

static tg_status one_fails(tg_world* world, void* context) {
  (void)context;
  tg_device_word word = tg_device_word_make();
  const int pe = tg_world_pe(world);
  tg_status status = TG_OK;
  if (pe == 1) status = tg_fail(TG_ERR_MACHINE, "the disk is full");
  if (pe == 2) status = tg_fail(TG_ERR_NUMERICS, "it blew up");
  status = tg_device_meet(world, status, &word);
  CHECK(status == TG_ERR_MACHINE && strstr(tg_last_error(), "the disk is full"));
  return TG_OK;
}

static void interrupts_are_all_processes(void** state) {
  (void)state;
  assert_int_equal(tg_world_run(&three, signals, NULL), TG_OK);
}

static void trouble_is_all_processes(void** state) {
  (void)state;
  assert_int_equal(tg_world_run(&three, troubles, NULL), TG_OK);
}

static void a_failure_is_all_processes(void** state) {
  (void)state;
  assert_int_equal(tg_world_run(&three, one_fails, NULL), TG_OK);
}

static void one_process_keeps_its_word(void** state) {
  (void)state;
  tg_device_word word = tg_device_word_make();
  word.interrupted = true;
  assert_int_equal(tg_device_meet(NULL, TG_ERR_NUMERICS, &word), TG_ERR_NUMERICS);
  assert_true(word.interrupted && !word.checkpoint_due);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(interrupts_are_all_processes),
      cmocka_unit_test(trouble_is_all_processes),
      cmocka_unit_test(a_failure_is_all_processes),
      cmocka_unit_test(one_process_keeps_its_word),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
