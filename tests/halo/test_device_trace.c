/* SPDX-License-Identifier: Apache-2.0 */
/* From the stamps of GPUs to spans: what of it needs no GPU. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "halo/device_trace.h"

static const int to[2] = {1, 2}, from[2] = {3, 4};
static const uint64_t EPOCH = 1700000000000000000u; /* such clocks count from 1970 */

static tg_stamp stamp(uint64_t at, int stage, int part) {
  return (tg_stamp){
      .time_ns = EPOCH + at, .number = 9, .stage = (uint16_t)stage, .part = (uint16_t)part};
}

static void stages_become_spans(void** state) {
  (void)state;
  tg_trace* trace = NULL;
  assert_int_equal(tg_trace_create("GPU 0", 8, 16, &trace), TG_OK);
  /* the last block's stamp came late into memory; two launches; equal times keep their order */
  tg_stamp stamps[] = {
      stamp(100, TG_STAGE_BEGIN, 1),      stamp(200, TG_STAGE_PACK_HOME, 1),
      stamp(300, TG_STAGE_WAIT, 0),       stamp(300, TG_STAGE_PACK_FORWARDED, 0),
      stamp(1000, TG_STAGE_BEGIN, 1),     stamp(420, TG_STAGE_RAISE, 1),
      stamp(1100, TG_STAGE_PACK_HOME, 1),
  };
  enum { COUNT = sizeof stamps / sizeof *stamps };
  const tg_stamp_row row = {
      .line = 5, .pe = 7, .to = to, .from = from, .channel = 1, .ahead_ns = (int64_t)EPOCH - 50};
  tg_stamps_record(trace, &row, stamps, COUNT);
  static const struct {
    const char* name;
    int64_t begin, end;
  } expected[] = {{"pack home atoms", 150, 250},
                  {"wait for positions", 250, 350},
                  {"pack forwarded atoms", 350, 350},
                  {"raise flag (last block)", 350, 470},
                  {"pack home atoms", 1050, 1150}};
  assert_int_equal(trace->count, 5);
  for (size_t i = 0; i < 5; i++) {
    const tg_trace_event* e = &trace->events[i];
    assert_string_equal(e->name, expected[i].name);
    assert_true(e->begin_ns == expected[i].begin && e->end_ns == expected[i].end);
    assert_true(e->line == 5 && e->number == 9);
    assert_int_equal(e->arrow_in != 0, i == 1);
    assert_int_equal(e->arrow_out != 0, i == 3);
  }
  assert_int_equal(trace->events[1].peer, from[0]); /* channel 0 brings what is awaited */
  assert_int_equal(trace->events[3].peer, to[1]);
  tg_trace_destroy(&trace);
}

/* Sender and reader of a flag, and of a returned one, find the same number; no others do. */
static void both_ends_number_an_arrow_alike(void** state) {
  (void)state;
  static const int stages[2][2] = {{TG_STAGE_RAISE, TG_STAGE_WAIT},
                                   {TG_STAGE_RETURN_RAISE, TG_STAGE_RETURN_WAIT}};
  uint64_t numbers[2][2] = {{0}};
  for (int way = 0; way < 2; way++)
    for (int side = 0; side < 2; side++) {
      /* PE 3 sends channel 1 to PE 2, which returns forces to 3 */
      const int sends_to[2] = {9, 2}, comes_from[2] = {9, 3};
      tg_trace* trace = NULL;
      assert_int_equal(tg_trace_create("GPU 0", 1, 2, &trace), TG_OK);
      tg_stamp stamps[] = {stamp(0, TG_STAGE_BEGIN, 1), stamp(10, stages[way][side], 1)};
      const tg_stamp_row row = {.pe = (side == 0) == (way == 0) ? 3 : 2,
                                .to = sends_to,
                                .from = comes_from,
                                .channel = 1,
                                .ahead_ns = (int64_t)EPOCH - 1};
      tg_stamps_record(trace, &row, stamps, 2);
      assert_int_equal(trace->count, 1);
      numbers[way][side] = side == 0 ? trace->events[0].arrow_out : trace->events[0].arrow_in;
      assert_true(numbers[way][side] != 0);
      tg_trace_destroy(&trace);
    }
  assert_true(numbers[0][0] == numbers[0][1]);
  assert_true(numbers[1][0] == numbers[1][1]);
  assert_true(numbers[0][0] != numbers[1][0]);
}

/* Random moments on some multiprocessors, read on a clock that ticks every 1024 ns. */
static void a_coarse_clock_is_refined(void** state) {
  (void)state;
  enum { COUNT = 400, PROCESSORS = 4, TICK = 1024 };
  static const double rate = 1.98; /* cycles per ns */
  static tg_stamp stamps[COUNT];
  double truth[COUNT], worst = 0, coarse = 0;
  tg_rng rng = tg_rng_stream(5, TG_RNG_TEST, 0);
  for (int i = 0; i < COUNT; i++) {
    uint32_t processor = (uint32_t)(i % PROCESSORS);
    truth[i] = 200000 * tg_rng_uniform(&rng);
    stamps[i] = (tg_stamp){.time_ns = EPOCH + (uint64_t)(floor(truth[i] / TICK) * TICK),
                           .clock = (uint64_t)(1e9 * (processor + 1) + rate * truth[i]),
                           .multiprocessor = processor};
    coarse = fmax(coarse, truth[i] - (double)(stamps[i].time_ns - EPOCH));
  }
  assert_true(coarse > 0.9 * TICK);
  assert_int_equal(tg_stamps_refine(stamps, COUNT, TICK, rate), TG_OK);
  for (int i = 0; i < COUNT; i++)
    worst = fmax(worst, fabs((double)(int64_t)(stamps[i].time_ns - EPOCH) - truth[i]));
  /* 100 moments a multiprocessor leave about a hundredth of a tick on either side of the truth, and
   * the middle is half as far off at most; a factor of 5 for chance, and 2 ns of rounding */
  assert_true(worst < 5 * 1.0 * TICK * PROCESSORS / COUNT + 2);
}

/* Where the cycles contradict the clock, the tick's middle is kept: nothing is invented. */
static void contradictions_leave_the_tick(void** state) {
  (void)state;
  tg_stamp stamps[2] = {{.time_ns = EPOCH, .clock = 1000},
                        {.time_ns = EPOCH + 3200, .clock = 1100}};
  assert_int_equal(tg_stamps_refine(stamps, 2, 32, 2), TG_OK);
  assert_true(stamps[0].time_ns == EPOCH + 16 && stamps[1].time_ns == EPOCH + 3216);
  assert_int_equal(tg_stamps_refine(NULL, 0, 32, 2), TG_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(stages_become_spans),
      cmocka_unit_test(both_ends_number_an_arrow_alike),
      cmocka_unit_test(a_coarse_clock_is_refined),
      cmocka_unit_test(contradictions_leave_the_tick),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
