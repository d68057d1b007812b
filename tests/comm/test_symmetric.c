/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/timer.h"
#include "comm/loop/loop.h"
#include "comm/symmetric.h"
#include "comm/transport.h"
#include "comm/worlds.h"

enum { WORDS = 600 };

static uint64_t word_of(int pe, uint64_t round, size_t i) {
  return ((uint64_t)pe << 48) ^ (round << 24) ^ (i * 0x9e3779b97f4a7c15u);
}

/* Around a ring, with a slot for each sender: data of this round, whole, and never of another one.
 * Signal 0: arrived, 1: consumed. By plain stores where they reach, and by puts. */
static tg_status ring(tg_world* world, void* context) {
  (void)context;
  int pe = tg_world_pe(world), count = tg_world_pe_count(world);
  int to = (pe + 1) % count, from = (pe + count - 1) % count;
  uint64_t data[WORDS];
  tg_symmetric* s = NULL;
  TG_TRY(tg_symmetric_create(world, sizeof data, 2, &s));
  uint64_t* mine = tg_symmetric_local(s);
  for (size_t i = 0; i < WORDS; i++) CHECK(mine[i] == 0);
  CHECK(tg_symmetric_read(s, 0) == 0 && tg_symmetric_peer(s, pe) == mine);
  TG_TRY(tg_world_barrier(world)); /* so that nobody stores before the zeroes were seen */
  for (uint64_t n = 1; n <= 500; n++) {
    size_t words = n % 5 ? n % WORDS : 0; /* some are empty, and signal all the same */
    uint64_t* theirs = tg_symmetric_peer(s, to);
    TG_TRY(tg_symmetric_wait(s, (tg_symmetric_source){1, to}, n - 1));
    for (size_t i = 0; i < words; i++) data[i] = word_of(pe, n, i);
    if (theirs && n % 2) {
      for (size_t i = 0; i < words; i++) theirs[i] = data[i];
      TG_TRY(tg_symmetric_signal(s, to, 0, TG_SIGNAL_SET, n));
    } else {
      TG_TRY(tg_symmetric_put(s, to, 0, data, words * 8, 0, n % 3 ? TG_SIGNAL_SET : TG_SIGNAL_ADD,
                              n % 3 ? n : 1));
    }
    memset(data, 0, sizeof data); /* ours again */
    TG_TRY(tg_symmetric_wait(s, (tg_symmetric_source){0, from}, n));
    CHECK(tg_symmetric_read(s, 0) == n);
    for (size_t i = 0; i < words; i++) CHECK(mine[i] == word_of(from, n, i));
    TG_TRY(tg_symmetric_signal(s, from, 1, TG_SIGNAL_SET, n));
  }
  tg_symmetric_destroy(&s);
  CHECK(!s);
  return TG_OK;
}

static void puts_around_a_ring(void** state) {
  (void)state;
  assert_int_equal(on_all_worlds(ring, NULL), TG_OK);
}

/* Everyone writes into everyone, at its own place; the receiver takes them as they come. */
static tg_status all_to_all(tg_world* world, void* context) {
  (void)context;
  int pe = tg_world_pe(world), count = tg_world_pe_count(world);
  for (int round = 0; round < 20; round++) { /* created and destroyed again and again */
    tg_symmetric* s = NULL;
    TG_TRY(tg_symmetric_create(world, (size_t)count * 8, count + 1, &s));
    for (int p = 0; p < count; p++) {
      uint64_t word = word_of(pe, (uint64_t)round, (size_t)p);
      TG_TRY(tg_symmetric_put(s, p, (size_t)pe * 8, &word, 8, pe, TG_SIGNAL_SET, 5));
      TG_TRY(tg_symmetric_signal(s, p, count, TG_SIGNAL_ADD, (uint64_t)pe + 1));
    }
    tg_symmetric_source left[8];
    for (int p = 0; p < count; p++) left[p] = (tg_symmetric_source){p, p};
    for (int n = count; n > 0; n--) {
      int which = -1;
      TG_TRY(tg_symmetric_wait_any(s, left, n, 5, &which));
      int p = left[which].pe;
      CHECK(((uint64_t*)tg_symmetric_local(s))[p] == word_of(p, (uint64_t)round, (size_t)pe));
      left[which] = left[n - 1];
    }
    uint64_t total = (uint64_t)count * (uint64_t)(count + 1) / 2;
    TG_TRY(tg_symmetric_wait(s, (tg_symmetric_source){count, 0}, total));
    CHECK(tg_symmetric_read(s, count) == total);
    tg_symmetric_destroy(&s); /* a PE that is behind may still be storing */
  }
  return TG_OK;
}

/* A signal may be further on than what is awaited: waits are for "or more". Around a ring: when the
 * wait begins (early), and while it lasts, the signal leaping over the value (leap). Signal 0: what
 * is awaited, 1: never raised, 2: the reader is about to wait. */
enum { AWAITED = 0, NEVER = 1, ABOUT_TO_WAIT = 2 };

static tg_status wait_for_less(tg_world* world, tg_symmetric* s, int from, uint64_t here) {
  const tg_symmetric_source both[] = {{NEVER, from}, {AWAITED, from}};
  for (uint64_t value = here - 2; value <= here; value++) {
    int which = -1;
    TG_TRY(tg_symmetric_wait(s, both[1], value));
    TG_TRY(tg_symmetric_wait_any(s, both, 2, value, &which));
    CHECK(which == 1);
  }
  CHECK(tg_symmetric_read(s, AWAITED) == here);
  return TG_OK;
}

static tg_status further_on(tg_world* world, void* context) {
  (void)context;
  int pe = tg_world_pe(world), count = tg_world_pe_count(world), which = -1;
  int to = (pe + 1) % count, from = (pe + count - 1) % count;
  const tg_symmetric_source both[] = {{NEVER, from}, {AWAITED, from}};
  tg_symmetric* s = NULL;
  TG_TRY(tg_symmetric_create(world, 8, 3, &s));
  TG_TRY(tg_symmetric_signal(s, to, AWAITED, TG_SIGNAL_SET, 7)); /* early */
  TG_TRY(tg_symmetric_wait(s, both[1], 7));
  TG_TRY(wait_for_less(world, s, from, 7));
  for (uint64_t n = 1; n <= 4 && count > 1; n++) { /* leap; even PEs raise first, odd ones wait */
    uint64_t seen = 7 + 10 * (n - 1), next = seen + 10;
    for (int half = 0; half < 2; half++)
      if (half == pe % 2) {
        TG_TRY(tg_symmetric_wait(s, (tg_symmetric_source){ABOUT_TO_WAIT, to}, n));
        usleep(2000); /* so that it sleeps by then; right whatever it does */
        TG_TRY(tg_symmetric_signal(s, to, AWAITED, n % 2 ? TG_SIGNAL_SET : TG_SIGNAL_ADD,
                                   n % 2 ? next : 10));
      } else {
        TG_TRY(tg_symmetric_signal(s, from, ABOUT_TO_WAIT, TG_SIGNAL_SET, n));
        if (n < 3)
          TG_TRY(tg_symmetric_wait(s, both[1], seen + 1));
        else
          TG_TRY(tg_symmetric_wait_any(s, both, 2, seen + 1, &which));
        CHECK(which == (n < 3 ? -1 : 1));
        TG_TRY(wait_for_less(world, s, from, next));
      }
  }
  TG_TRY(tg_world_barrier(world));
  tg_symmetric_destroy(&s);
  return TG_OK;
}

static void a_signal_may_be_further_on(void** state) {
  (void)state;
  assert_int_equal(on_all_worlds(further_on, NULL), TG_OK);
}

/* The counters of transport loop's messages and barriers. */
static tg_status counter_ahead(tg_world* world, void* context) {
  (void)context;
  _Atomic uint64_t counter = 9;
  for (uint64_t value = 7; value <= 9; value++)
    TG_TRY(tg_loop_wait(world, &counter, value, tg_world_pe(world), "a counter"));
  return TG_OK;
}

static void a_counter_may_be_further_on(void** state) {
  (void)state;
  if (worlds_launched()) skip(); /* transport loop alone has such waits */
  assert_int_equal(on_all_worlds(counter_ahead, NULL), TG_OK);
}

static void everyone_to_everyone(void** state) {
  (void)state;
  assert_int_equal(on_all_worlds(all_to_all, NULL), TG_OK);
}

static tg_status reach(tg_world* world, void* context) {
  (void)context;
  const char* node_size = getenv("TG_NODE_SIZE");
  int size = node_size && strcmp(tg_world_transport(world), "mpi") == 0 ? atoi(node_size) : 1000;
  if (strcmp(tg_world_transport(world), "socket") == 0) size = 1;
  tg_symmetric* s = NULL;
  TG_TRY(tg_symmetric_create(world, 100, 1, &s));
  for (int p = 0; p < tg_world_pe_count(world); p++)
    CHECK((tg_symmetric_peer(s, p) != NULL) == (p / size == tg_world_pe(world) / size));
  tg_symmetric_destroy(&s);
  CHECK(tg_symmetric_create(world, tg_world_pe(world) ? 100 : 101, 1, &s) ==
        (tg_world_pe_count(world) > 1 ? TG_ERR_INTERNAL : TG_OK));
  tg_symmetric_destroy(&s);
  return TG_OK;
}

static void stores_reach_the_node(void** state) {
  (void)state;
  assert_int_equal(on_all_worlds(reach, NULL), TG_OK);
}

/* PE 1 sends nothing until the others have given up; PE 0 waits for it, the rest for PE 0. */
static tg_status stall(tg_world* world, void* context) {
  (void)context;
  int pe = tg_world_pe(world);
  tg_symmetric* s = NULL;
  TG_TRY(tg_symmetric_create(world, 8, 1, &s));
  tg_status status = TG_OK;
  if (pe == 1) {
    TG_TRY(tg_symmetric_signal(s, 0, 0, TG_SIGNAL_SET, 41));
    double start = tg_time_now();
    while (tg_time_now() - start < 20 && world->ops->aborted(world) == TG_OK) usleep(10000);
    status = world->ops->aborted(world);
  } else {
    /* only PE 0 shall meet its deadline first */
    if (pe != 0) world->deadline_s = 30;
    tg_world_note(world, "test, part", 7, 42);
    status = tg_symmetric_wait(s, (tg_symmetric_source){0, pe == 0}, 42);
  }
  CHECK(status == TG_ERR_MACHINE);
  CHECK(strstr(tg_last_error(), "for PE 1 in signal 0 (it is 41, at least 42 was expected)"));
  CHECK(strstr(tg_last_error(), "test, part 7, exchange 42"));
  TG_TRY(tg_symmetric_wait(s, (tg_symmetric_source){0, 1}, 0)); /* what is here may be used */
  tg_status again = tg_symmetric_wait(s, (tg_symmetric_source){0, 1}, 1000);
  tg_symmetric_destroy(&s);
  CHECK(again == TG_ERR_MACHINE); /* sticky */
  return again;
}

static void a_stalled_pe_is_named(void** state) {
  (void)state;
  int launched = worlds_launched();
  tg_world_params params = {.pe_count = launched ? 0 : 3, .deadline_s = 0.3};
  assert_int_equal(tg_world_run(&params, stall, NULL), TG_ERR_MACHINE);
  assert_non_null(strstr(tg_last_error(), "PE 0 waited"));
  assert_non_null(strstr(tg_last_error(), "for PE 1 in signal 0"));
}

int main(int argc, char** argv) {
  worlds_begin(&argc, &argv);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(puts_around_a_ring),         cmocka_unit_test(everyone_to_everyone),
      cmocka_unit_test(a_signal_may_be_further_on), cmocka_unit_test(a_counter_may_be_further_on),
      cmocka_unit_test(stores_reach_the_node),      cmocka_unit_test(a_stalled_pe_is_named),
  };
  return worlds_end(cmocka_run_group_tests(tests, NULL, NULL));
}
