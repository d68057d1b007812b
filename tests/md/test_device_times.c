/* SPDX-License-Identifier: Apache-2.0 */
/* Which steps are timed on GPUs, and what their moments add up to (md/device_times.h). */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <string.h>

#include "base/rng.h"
#include "md/device_step.h"
#include "md/device_times.h"

static uint64_t sum_of(const tg_step_parts* p) {
  return p->local + p->exposed + p->halo + p->tail + p->update + p->exchange + p->between;
}

static void parts_are_between_the_moments(void** state) {
  (void)state;
  /* begin, local, heard, longest wait, halo, bonded, sends, update */
  const uint64_t stamp[TG_STAMPS] = {1000, 1100, 1130, 25, 1170, 1200, 0, 1290};
  tg_step_parts p = {0};
  tg_times_add(stamp, 1300, &p);
  assert_true(p.steps == 1 && p.whole == 300);
  assert_true(p.local == 100 && p.exposed == 30 && p.halo == 40 && p.tail == 30);
  assert_true(p.update == 90 && p.between == 10 && p.bonded == 200);
  assert_true(p.exchange == 0 && p.longest == 25);
  const uint64_t early[TG_STAMPS] = {1000, 1100, 0, 3, 1170, 1020, 1250, 1290}; /* none waits */
  memset(&p, 0, sizeof p);
  tg_times_add(early, 1300, &p);
  assert_true(p.exposed == 0 && p.halo == 70 && p.tail == 0 && p.update == 80 && p.exchange == 40);
}

static void a_step_without_an_end_does_not_count(void** state) {
  (void)state;
  const uint64_t whole[TG_STAMPS] = {1000, 1100, 0, 0, 0, 0, 0, 1290};
  tg_step_parts p = {0};
  tg_times_add(whole, 0, &p);
  for (int lacks = TG_STAMP_BEGIN; lacks <= TG_STAMP_UPDATE; lacks += TG_STAMP_UPDATE) {
    uint64_t stamp[TG_STAMPS];
    memcpy(stamp, whole, sizeof stamp);
    stamp[lacks] = 0;
    tg_times_add(stamp, 1300, &p);
  }
  assert_true(p.steps == 0 && sum_of(&p) == 0);
  tg_times_add(whole, 1300, &p); /* one domain: nothing of halo */
  assert_true(p.steps == 1 && p.exposed == 0 && p.halo == 0 && p.whole == 300);
}

/* Whatever moments there are, and in whatever order. */
static void parts_add_up(void** state) {
  (void)state;
  tg_step_parts p = {0};
  for (uint64_t i = 0; i < 1000; i++) {
    tg_rng rng = tg_rng_stream(7, TG_RNG_TEST, i);
    uint64_t stamp[TG_STAMPS];
    for (uint64_t k = 0; k < TG_STAMPS; k++)
      stamp[k] = 1000 + (uint64_t)(500 * tg_rng_uniform(&rng));
    stamp[TG_STAMP_BEGIN] = 1000 + i % 3;
    const uint64_t before = p.whole;
    tg_times_add(stamp, 1000 + (uint64_t)(500 * tg_rng_uniform(&rng)), &p);
    assert_true(p.whole >= before && p.whole == sum_of(&p));
  }
  assert_true(p.steps == 1000);
}

static void plain_steps_are_timed_in_pairs(void** state) {
  (void)state;
  unsigned char flags[TG_DEVICE_STRETCH + 1] = {TG_STEP_SEARCH};
  signed char place[TG_DEVICE_STRETCH];
  flags[5] = TG_STEP_PRUNE;
  flags[10] = TG_STEP_SEARCH;
  assert_int_equal(tg_times_choose(flags, 10, place), 8);
  static const signed char expected[10] = {-1, 0, 1, 2, 3, -1, 4, 5, 6, 7};
  assert_memory_equal(place, expected, sizeof expected);
  /* energies at 4: 3 leaves sums for it, 5 follows a kernel of sums */
  flags[4] = TG_STEP_ENERGY;
  assert_int_equal(tg_times_choose(flags, 10, place), 6);
  static const signed char fewer[10] = {-1, 0, 1, -1, -1, -1, 2, 3, 4, 5};
  assert_memory_equal(place, fewer, sizeof fewer);
}

static void no_step_is_timed_where_none_is_plain(void** state) {
  (void)state;
  unsigned char flags[12];
  signed char place[11];
  memset(flags, TG_STEP_ENERGY, sizeof flags);
  assert_int_equal(tg_times_choose(flags, 11, place), 0);
  for (int i = 0; i < 11; i++) assert_int_equal(place[i], -1);
  const unsigned char one[2] = {TG_STEP_SEARCH, 0};
  assert_int_equal(tg_times_choose(one, 1, place), 0);
}

/* Of a long stretch as many as there is room for, early and late ones. */
static void timed_steps_are_spread(void** state) {
  (void)state;
  unsigned char flags[TG_DEVICE_STRETCH + 1] = {TG_STEP_SEARCH};
  signed char place[TG_DEVICE_STRETCH];
  assert_int_equal(tg_times_choose(flags, TG_DEVICE_STRETCH, place), TG_TIMED_STEPS);
  int last = 0, next = 0;
  for (int i = 0; i < TG_DEVICE_STRETCH; i++) {
    if (place[i] < 0) continue;
    assert_int_equal(place[i], next++);
    last = i;
  }
  assert_true(place[1] == 0 && last > TG_DEVICE_STRETCH * 3 / 4);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(parts_are_between_the_moments),
      cmocka_unit_test(a_step_without_an_end_does_not_count),
      cmocka_unit_test(parts_add_up),
      cmocka_unit_test(plain_steps_are_timed_in_pairs),
      cmocka_unit_test(no_step_is_timed_where_none_is_plain),
      cmocka_unit_test(timed_steps_are_spread),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
