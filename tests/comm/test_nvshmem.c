/* SPDX-License-Identifier: Apache-2.0 */
/* Transport nvshmem's own part, on pretended GPUs: with one PE, and under mpirun with several. On
 * real ones: gpu_nvshmem.cu. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/timer.h"
#include "comm/nvshmem/nvshmem.h"
#include "comm/pretend_gpu.h"
#include "comm/worlds.h"

enum { LARGE = 3 * TG_NVSHMEM_STAGE_BYTES / 8 + 100 };

static tg_world_params params_of(double deadline_s) {
  return (tg_world_params){.transport = "nvshmem", .deadline_s = deadline_s};
}

static tg_status run(tg_world_main main, double deadline_s) {
  tg_world_params params = params_of(deadline_s);
  tg_status status = tg_world_run(&params, main, NULL);
  if (status != TG_OK) print_message("%s\n", tg_last_error());
  return status;
}

static uint64_t word_of(int pe, uint64_t round, size_t i) {
  return ((uint64_t)pe << 48) ^ (round << 24) ^ (i * 0x9e3779b97f4a7c15u);
}

static tg_status facts(tg_world* world, void* context) {
  (void)context;
  int device = -1, pe = tg_world_pe(world), count = tg_world_pe_count(world);
  void* stream = NULL;
  CHECK(strcmp(tg_world_transport(world), "nvshmem") == 0);
  CHECK(tg_world_node_pe_count(world) == count && tg_world_node_pe(world) == pe);
  TG_TRY(tg_world_device(world, &device, &stream));
  CHECK(device == pe && stream);
  CHECK(tg_world_alarm(world) && tg_symmetric_read(tg_world_alarm(world), 0) == 0);
  CHECK(tg_world_heed_alarm(world) == TG_OK);
  int64_t sum = pe + 1;
  TG_TRY(tg_world_sum_int64(world, &sum, 1));
  CHECK(sum == (int64_t)count * (count + 1) / 2);
  int all[64] = {0};
  TG_TRY(tg_world_all_gather(world, &pe, sizeof pe, all));
  for (int p = 0; p < count; p++) CHECK(all[p] == p);
  return tg_world_barrier(world);
}

static void a_world_has_a_device_each(void** state) {
  (void)state;
  assert_int_equal(run(facts, 30), TG_OK);
  assert_int_equal(run(facts, 30), TG_OK);
  assert_int_equal(pretend.start_count, 1); /* NVSHMEM is started once */
}

/* By turns from the host and from the GPU, by less and more than the stage holds. */
static tg_status ring(tg_world* world, void* context) {
  (void)context;
  static uint64_t data[LARGE];
  int pe = tg_world_pe(world), count = tg_world_pe_count(world);
  int to = (pe + 1) % count, from = (pe + count - 1) % count;
  tg_symmetric *s = NULL, *own = NULL;
  TG_TRY(tg_symmetric_create(world, sizeof data, 2, &s));
  TG_TRY(tg_symmetric_create(world, sizeof data, 1, &own));
  const uint64_t* mine = pretend_at(tg_symmetric_local(s), -1);
  for (size_t i = 0; i < LARGE; i++) CHECK(mine[i] == 0);
  for (int p = 0; p < count; p++)
    CHECK((tg_symmetric_peer(s, p) != NULL) == (p == pe || !pretend.far));
  TG_TRY(tg_world_barrier(world));
  for (uint64_t n = 1; n <= 40; n++) {
    size_t words = n % 5 ? n * 977 : 0; /* some are empty, and signal all the same */
    if (n > 36) words = LARGE - n % 2;
    TG_TRY(tg_symmetric_wait(s, (tg_symmetric_source){1, to}, n - 1));
    for (size_t i = 0; i < words; i++) data[i] = word_of(pe, n, i);
    const void* source = data;
    if (n % 2) {
      source = tg_symmetric_local(own);
      memcpy(pretend_at(source, -1), data, words * 8);
    }
    TG_TRY(tg_symmetric_put(s, to, 0, source, words * 8, 0, n % 3 ? TG_SIGNAL_SET : TG_SIGNAL_ADD,
                            n % 3 ? n : 1));
    memset(data, 0, sizeof data); /* ours again */
    TG_TRY(tg_symmetric_wait(s, (tg_symmetric_source){0, from}, n));
    CHECK(tg_symmetric_read(s, 0) == n);
    for (size_t i = 0; i < words; i++) CHECK(mine[i] == word_of(from, n, i));
    TG_TRY(tg_symmetric_signal(s, from, 1, TG_SIGNAL_SET, n));
  }
  tg_symmetric_destroy(&s);
  tg_symmetric_destroy(&own);
  return TG_OK;
}

static void puts_around_a_ring(void** state) {
  (void)state;
  assert_int_equal(run(ring, 30), TG_OK);
  pretend.far = true; /* as between machines without a common memory */
  assert_int_equal(run(ring, 30), TG_OK);
  pretend.far = false;
}

/* What a kernel would do: stores through the peer's pointer, signals at the distance promised. */
static tg_status stores(tg_world* world, void* context) {
  (void)context;
  int pe = tg_world_pe(world), count = tg_world_pe_count(world);
  tg_symmetric* s = NULL;
  size_t stride = 0;
  TG_TRY(tg_symmetric_create(world, (size_t)count * 8, count, &s));
  char *signals = (char*)tg_symmetric_signals(s, &stride), *local = tg_symmetric_local(s);
  CHECK(stride >= 64 && stride % 8 == 0);
  for (int p = 0; p < count; p++) {
    char* theirs = tg_symmetric_peer(s, p);
    *(uint64_t*)pretend_at(theirs + 8 * pe, -1) = word_of(pe, 0, (size_t)p);
    char* signal = theirs + (signals - local) + (size_t)pe * stride;
    atomic_store((_Atomic uint64_t*)pretend_at(signal, -1), 7);
  }
  for (int p = 0; p < count; p++) {
    TG_TRY(tg_symmetric_wait(s, (tg_symmetric_source){p, p}, 7));
    CHECK(*(uint64_t*)pretend_at(local + 8 * p, -1) == word_of(p, 0, (size_t)pe));
  }
  tg_symmetric_destroy(&s);
  return TG_OK;
}

static void peers_are_reached_by_stores(void** state) {
  (void)state;
  assert_int_equal(run(stores, 30), TG_OK);
}

static tg_status create_and_destroy(tg_world* world, void* context) {
  (void)context;
  int freed = pretend.free_count;
  tg_symmetric *kept = NULL, *s = NULL;
  TG_TRY(tg_symmetric_create(world, 100, 3, &kept));
  for (int i = 0; i < 100; i++) { /* more than the pretended heap holds at once */
    TG_TRY(tg_symmetric_create(world, 100, 3, &s));
    tg_symmetric_destroy(&s);
    CHECK(!s);
  }
  CHECK(pretend.free_count - freed == 99);
  pretend.free_bytes = 1000;
  CHECK(tg_symmetric_create(world, 2000, 1, &s) == TG_ERR_MACHINE && !s);
  pretend.free_bytes = (size_t)1 << 30;
  CHECK(strstr(tg_last_error(), "has 1000 free; use more PEs"));
  TG_TRY(tg_symmetric_create(world, 2000, 1, &s)); /* the world is as it was */
  return TG_OK;                                    /* without having destroyed them */
}

static void memory_comes_back(void** state) {
  (void)state;
  int freed = pretend.free_count;
  assert_int_equal(run(create_and_destroy, 30), TG_OK);
  assert_int_equal(pretend.free_count - freed, 103); /* and the alarm's */
}

/* The last PE signals 41 where 42 is waited for. */
static tg_status stall(tg_world* world, void* context) {
  (void)context;
  int pe = tg_world_pe(world), last = tg_world_pe_count(world) - 1;
  tg_symmetric* s = NULL;
  TG_TRY(tg_symmetric_create(world, 8, 1, &s));
  if (pe == last) TG_TRY(tg_symmetric_signal(s, 0, 0, TG_SIGNAL_SET, 41));
  if (pe != 0) world->deadline_s = 30; /* only PE 0 shall meet its deadline first */
  tg_world_note(world, "test, part", 7, 42);
  double start = tg_time_now();
  tg_status status = tg_symmetric_wait(s, (tg_symmetric_source){0, pe == 0 ? last : 0}, 42);
  CHECK(status == TG_ERR_MACHINE && tg_time_now() - start < 5);
  char expected[128];
  snprintf(expected, sizeof expected, "for PE %d in signal 0 (it is 41, at least 42 was expected)",
           last);
  CHECK(strstr(tg_last_error(), "PE 0 waited") && strstr(tg_last_error(), expected));
  CHECK(strstr(tg_last_error(), "test, part 7, exchange 42"));
  tg_status again = tg_symmetric_wait(s, (tg_symmetric_source){0, 0}, 1000);
  CHECK(again == TG_ERR_MACHINE);
  /* kernels that spin here would have seen it: on the last PE perhaps a moment later */
  CHECK(tg_symmetric_value(tg_world_alarm(world), 0) == 1);
  tg_symmetric_destroy(&s);
  return again;
}

static void a_stalled_pe_is_named(void** state) {
  (void)state;
  assert_int_equal(run(stall, 0.3), TG_ERR_MACHINE);
  assert_non_null(strstr(tg_last_error(), "PE 0 waited"));
  assert_int_equal(run(facts, 30), TG_OK); /* the next world is whole again */
}

/* A message that does not come: the deadline is the host world's, the alarm is raised all the same.
 */
static tg_status no_message(tg_world* world, void* context) {
  (void)context;
  int pe = tg_world_pe(world), count = tg_world_pe_count(world);
  char byte = 0, sent = 0;
  if (count == 1) return tg_fail(TG_ERR_MACHINE, "alone, for PE 0");
  tg_status status = TG_OK;
  if (pe == 0) {
    double start = tg_time_now();
    while (tg_symmetric_value(tg_world_alarm(world), 0) == 0 && tg_time_now() - start < 10)
      usleep(5000); /* as a kernel would, without a look at messages */
    CHECK(tg_symmetric_value(tg_world_alarm(world), 0) == 1);
    status = tg_world_heed_alarm(world);
    CHECK(status == TG_ERR_MACHINE && strstr(tg_last_error(), "for PE 0 in a message"));
    return status;
  }
  status = tg_world_exchange(world, 0, &sent, 1, 0, &byte, 1);
  CHECK(status == TG_ERR_MACHINE);
  return status;
}

static void a_late_message_raises_the_alarm(void** state) {
  (void)state;
  assert_int_equal(run(no_message, 0.3), TG_ERR_MACHINE);
  assert_non_null(strstr(tg_last_error(), "for PE 0"));
}

/* PE 0's kernel gives up: it stores into all alarms; context: its host says why, or does not. */
static tg_status give_up(tg_world* world, void* context) {
  tg_symmetric *s = NULL, *alarm = tg_world_alarm(world);
  size_t stride = 0;
  TG_TRY(tg_symmetric_create(world, 8, 1, &s));
  ptrdiff_t distance =
      (char*)tg_symmetric_signals(alarm, &stride) - (char*)tg_symmetric_local(alarm);
  if (tg_world_pe(world) == 0) {
    for (int p = 0; p < tg_world_pe_count(world); p++)
      atomic_store((_Atomic uint64_t*)pretend_at((char*)tg_symmetric_peer(alarm, p) + distance, -1),
                   1);
    if (context) {
      usleep(200000);
      tg_fail(TG_ERR_NUMERICS, "%s", (const char*)context);
      tg_world_abort(world, TG_ERR_NUMERICS);
    }
  }
  double start = tg_time_now();
  tg_status status = tg_symmetric_wait(s, (tg_symmetric_source){0, 0}, 1);
  CHECK(tg_time_now() - start < 10);
  tg_symmetric_destroy(&s);
  return status;
}

static void a_kernel_gives_up(void** state) {
  (void)state;
  static char why[] = "a kernel of PE 0 blew up";
  tg_world_params params = params_of(30);
  assert_int_equal(tg_world_run(&params, give_up, why), TG_ERR_NUMERICS);
  assert_string_equal(tg_last_error(), why);
  assert_int_equal(tg_world_run(&params, give_up, NULL), TG_ERR_MACHINE);
  assert_non_null(strstr(tg_last_error(), "raised the alarm, and no PE has said why"));
}

static tg_status lose_a_device(tg_world* world, void* context) {
  (void)context;
  tg_symmetric* s = NULL;
  TG_TRY(tg_symmetric_create(world, 8, 1, &s));
  pretend.no_fetch = tg_world_pe(world) == 0;
  tg_status status = tg_symmetric_wait(s, (tg_symmetric_source){0, 0}, 1);
  pretend.no_fetch = false;
  CHECK(status == TG_ERR_MACHINE);
  return status;
}

static void a_lost_device_ends_the_world(void** state) {
  (void)state;
  assert_int_equal(run(lose_a_device, 30), TG_ERR_MACHINE);
  assert_non_null(strstr(tg_last_error(), "GPU 0 fell off the bus"));
}

static tg_status has_the_stream(tg_world* world, void* context) {
  int device = 0;
  void* stream = NULL;
  TG_TRY(tg_world_device(world, &device, &stream));
  CHECK(stream == context);
  return TG_OK;
}

static void the_stream_is_the_callers(void** state) {
  (void)state;
  int stream = 0;
  tg_world_params params = params_of(30);
  params.stream = &stream;
  assert_int_equal(tg_world_run(&params, has_the_stream, &stream), TG_OK);
}

static void refused(tg_world_params params, const char* words) {
  tg_world* world = NULL;
  assert_int_equal(tg_world_open(&params, &world), TG_ERR_MACHINE);
  assert_null(world);
  if (!strstr(tg_last_error(), words)) fail_msg("not \"%s\" but: %s", words, tg_last_error());
}

static void what_cannot_be_is_refused(void** state) {
  (void)state;
  tg_world* world = NULL;
  tg_world_params params = params_of(30);
  int device = 99, count = 1;
  assert_int_equal(tg_world_open(&params, &world), TG_OK);
  count = tg_world_pe_count(world);
  int pe = tg_world_pe(world);
  assert_int_equal(tg_world_close(&world, TG_OK), TG_OK);
  params.device = &device;
  refused(params, "PE 0 asks for GPU 99; there are 64, numbered from 0");
  device = -1;
  refused(params, "PE 0 asks for GPU -1");
  device = count - 1 - pe + (count == 1); /* not the one of the first start */
  refused(params, "NVSHMEM keeps the processes, their order and the GPUs of its first start");
  params.device = NULL;
  if (count > 1) {
    device = 5;
    params.device = &device;
    refused(params, "PEs 0 and 1 would share one GPU (number 5, at 0000:05:00.0)");
    params.device = NULL;
    pretend.device_count = count - 1;
    char words[64];
    snprintf(words, sizeof words, "PEs 0 and %d would share one GPU (number 0", count - 1);
    refused(params, words);
  }
  pretend.device_count = pe ? 64 : 0; /* on one machine of several */
  refused(params, "no GPU to share memory with: all were taken away");
  pretend.device_count = 64;
  params.pe_count = count + 1;
  assert_int_equal(tg_world_open(&params, &world), TG_ERR_INPUT);
  assert_non_null(strstr(tg_last_error(), "processing elements asked for"));
  if (count == 1) assert_non_null(strstr(tg_last_error(), "start them with mpirun -n 2"));
}

/* The last PE's NVSHMEM never comes back from a creation. Must be the last test. */
static tg_status hang(tg_world* world, void* context) {
  (void)context;
  tg_symmetric* s = NULL;
  pretend.hang = tg_world_pe(world) == tg_world_pe_count(world) - 1;
  if (!pretend.hang) world->deadline_s = 30;
  tg_nvshmem_allowance_s = 0;
  double start = tg_time_now();
  tg_status status = tg_symmetric_create(world, 8, 1, &s);
  CHECK(status == TG_ERR_MACHINE && !s && tg_time_now() - start < 10);
  CHECK(strstr(tg_last_error(), "for the other PEs in making symmetric memory"));
  return status;
}

static void a_hanging_nvshmem_is_left_behind(void** state) {
  (void)state;
  assert_int_equal(run(hang, 0.3), TG_ERR_MACHINE);
  assert_int_equal(run(facts, 30), TG_ERR_MACHINE);
  assert_non_null(strstr(tg_last_error(), "NVSHMEM hung in an earlier world"));
  /* the thread is still there: the program must end with its own exit code all the same */
}

int main(int argc, char** argv) {
  worlds_begin(&argc, &argv);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_world_has_a_device_each),
      cmocka_unit_test(puts_around_a_ring),
      cmocka_unit_test(peers_are_reached_by_stores),
      cmocka_unit_test(memory_comes_back),
      cmocka_unit_test(a_stalled_pe_is_named),
      cmocka_unit_test(a_late_message_raises_the_alarm),
      cmocka_unit_test(a_kernel_gives_up),
      cmocka_unit_test(a_lost_device_ends_the_world),
      cmocka_unit_test(the_stream_is_the_callers),
      cmocka_unit_test(what_cannot_be_is_refused),
      cmocka_unit_test(a_hanging_nvshmem_is_left_behind),
  };
  int failures = cmocka_run_group_tests(tests, NULL, NULL);
  pretend_end();
  return worlds_end(failures);
}
