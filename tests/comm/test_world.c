/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/timer.h"
#include "comm/transport.h"
#include "comm/worlds.h"
#include "device/nvshmem.h"
#ifdef TG_HAVE_MPI
#include "comm/mpi/channel.h"
#endif

static uint64_t mix(uint64_t a, uint64_t b) {
  uint64_t z = a * 0x9e3779b97f4a7c15u + b * 0xbf58476d1ce4e5b9u + 1;
  z = (z ^ (z >> 30)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

static unsigned char byte_of(int pe, size_t i, int round) {
  return (unsigned char)mix((uint64_t)pe * 1000 + (uint64_t)round, i);
}

/* Messages of every kind of size, to and from every distance, known and unknown sizes. */
static tg_status exchange_all(tg_world* world, void* context) {
  (void)context;
  enum { LARGEST = 70000 };
  static const size_t sizes[] = {0, 1, 1023, 1024, 1025, 4096, LARGEST};
  static _Thread_local unsigned char send[LARGEST], receive[LARGEST + 1];
  void* grown = NULL;
  size_t capacity = 0;
  int pe = tg_world_pe(world), count = tg_world_pe_count(world);
  for (int k = 0; k < 7 * count; k++) {
    int distance = k / 7, to = (pe + distance) % count, from = (pe - distance + count) % count;
    size_t bytes = sizes[(k + pe * (distance > 0)) % 7];
    size_t coming = sizes[(k + from * (distance > 0)) % 7];
    for (size_t i = 0; i < bytes; i++) send[i] = byte_of(pe, i, k);
    receive[coming] = 99;
    TG_TRY(tg_world_exchange(world, to, send, bytes, from, receive, coming));
    for (size_t i = 0; i < coming; i++) CHECK(receive[i] == byte_of(from, i, k));
    CHECK(receive[coming] == 99);
    size_t got = 12345678;
    TG_TRY(tg_world_exchange_any(world, to, send, bytes, from, &grown, &capacity, &got));
    CHECK(got == coming && capacity >= got);
    for (size_t i = 0; i < got; i++) CHECK(((unsigned char*)grown)[i] == byte_of(from, i, k));
    memset(send, 0, bytes); /* ours again: the partner must have its copy */
  }
  tg_free(grown);
  return TG_OK;
}

static void messages_arrive_whole(void** state) {
  (void)state;
  assert_int_equal(on_all_worlds(exchange_all, NULL), TG_OK);
}

#ifdef TG_HAVE_MPI
static void messages_arrive_in_pieces(void** state) {
  (void)state;
  if (!tg_world_under_launcher()) skip(); /* pieces are a matter of transport mpi */
  size_t usual = tg_mpi_piece;
  tg_mpi_piece = 1024; /* sizes below, at, above and many times a piece */
  tg_status status = on_all_worlds(exchange_all, NULL);
  tg_mpi_piece = usual;
  assert_int_equal(status, TG_OK);
}
#endif

static double term(int pe, size_t i) {
  return (double)mix((uint64_t)pe, i) * (pe % 2 ? -1e-19 : 1e-3);
}

static tg_status collectives(tg_world* world, void* context) {
  (void)context;
  enum { COUNT = 1300 };
  static _Thread_local double values[COUNT];
  static _Thread_local int64_t sums[COUNT], maxima[COUNT];
  int pe = tg_world_pe(world), count = tg_world_pe_count(world);
  for (size_t n = 0; n <= COUNT; n = n ? n * 36 : 1) {
    for (size_t i = 0; i < n; i++) {
      values[i] = term(pe, i);
      sums[i] = maxima[i] = (int64_t)(mix((uint64_t)pe, i) >> 8) - ((int64_t)1 << 54);
    }
    TG_TRY(tg_world_sum_doubles(world, values, n));
    TG_TRY(tg_world_sum_int64(world, sums, n));
    TG_TRY(tg_world_max_int64(world, maxima, n));
    for (size_t i = 0; i < n; i++) {
      double value = term(0, i);
      int64_t sum = 0, most = INT64_MIN;
      for (int p = 0; p < count; p++) {
        int64_t whole = (int64_t)(mix((uint64_t)p, i) >> 8) - ((int64_t)1 << 54);
        if (p) value += term(p, i);
        sum += whole;
        if (whole > most) most = whole;
      }
      CHECK(values[i] == value); /* in PE order, so to the last bit */
      CHECK(sums[i] == sum && maxima[i] == most);
    }
  }
  for (int root = 0; root < count; root++) {
    static _Thread_local unsigned char data[20000];
    for (size_t n = 1; n <= sizeof data; n = n * 7 + 1) {
      for (size_t i = 0; i < n; i++) data[i] = byte_of(pe, i, root);
      TG_TRY(tg_world_broadcast(world, root, data, n));
      for (size_t i = 0; i < n; i++) CHECK(data[i] == byte_of(root, i, root));
    }
  }
  return TG_OK;
}

static void collectives_agree_to_the_bit(void** state) {
  (void)state;
  assert_int_equal(on_all_worlds(collectives, NULL), TG_OK);
}

static tg_status gather(tg_world* world, void* context) {
  (void)context;
  int pe = tg_world_pe(world), count = tg_world_pe_count(world);
  void* all = NULL;
  size_t capacity = 0, sizes[64], bytes = (size_t)(pe * pe) * 300;
  static _Thread_local unsigned char mine[300 * 64];
  for (size_t i = 0; i < bytes; i++) mine[i] = byte_of(pe, i, 0);
  for (int root = 0; root < count; root++) {
    TG_TRY(tg_world_gather(world, root, mine, bytes, &all, &capacity, root % 2 ? NULL : sizes));
    if (pe != root) continue;
    unsigned char* at = all;
    for (int p = 0; p < count; p++) {
      size_t theirs = (size_t)(p * p) * 300;
      if (root % 2 == 0) CHECK(sizes[p] == theirs);
      for (size_t i = 0; i < theirs; i++) CHECK(*at++ == byte_of(p, i, 0));
    }
  }
  tg_free(all);
  return TG_OK;
}

static void gather_keeps_pe_order(void** state) {
  (void)state;
  assert_int_equal(on_all_worlds(gather, NULL), TG_OK);
}

static tg_status many_barriers(tg_world* world, void* context) {
  (void)context;
  for (int64_t i = 0; i < 300; i++) {
    TG_TRY(tg_world_barrier(world));
    int64_t latest = i * (tg_world_pe(world) + 1);
    TG_TRY(tg_world_max_int64(world, &latest, 1));
    CHECK(latest == i * tg_world_pe_count(world));
  }
  return TG_OK;
}

static void barriers_keep_step(void** state) {
  (void)state;
  assert_int_equal(on_all_worlds(many_barriers, NULL), TG_OK);
}

/* The last and, where there are more than two, the middle PE fail: the middle one's words count. */
static tg_status agree(tg_world* world, void* context) {
  (void)context;
  int pe = tg_world_pe(world), count = tg_world_pe_count(world);
  TG_TRY(tg_world_agree(world, TG_OK));
  tg_status mine = TG_OK;
  if (pe == count / 2) mine = tg_fail(TG_ERR_INPUT, "PE %d is wrong", pe);
  if (pe == count - 1 && count > 2) mine = tg_fail(TG_ERR_NUMERICS, "PE %d is last", pe);
  char expected[64];
  snprintf(expected, sizeof expected, "PE %d is wrong", count / 2);
  CHECK(tg_world_agree(world, mine) == TG_ERR_INPUT);
  CHECK(strcmp(tg_last_error(), expected) == 0);
  return tg_world_barrier(world); /* an agreed failure leaves the world whole */
}

static void a_failure_is_agreed(void** state) {
  (void)state;
  assert_int_equal(on_all_worlds(agree, NULL), TG_OK);
}

static tg_status agree_and_end(tg_world* world, void* context) {
  (void)context;
  tg_status mine = TG_OK;
  if (tg_world_pe(world) == 1) mine = tg_fail(TG_ERR_INPUT, "one PE read a bad file");
  return tg_world_agree(world, mine);
}

static tg_status fail_alone(tg_world* world, void* context) {
  (void)context;
  if (tg_world_pe(world) == 1) return tg_fail(TG_ERR_NUMERICS, "one PE blew up");
  for (;;) TG_TRY(tg_world_barrier(world));
}

static tg_status abort_and_go_on(tg_world* world, void* context) {
  (void)context;
  static _Thread_local char large[100000], other[100000];
  int pe = tg_world_pe(world), count = tg_world_pe_count(world);
  if (pe == 1) {
    tg_fail(TG_ERR_MACHINE, "one PE gives up");
    tg_world_abort(world, TG_ERR_MACHINE);
  }
  tg_status status = TG_OK;
  while (status == TG_OK)
    status = tg_world_exchange(world, (pe + 1) % count, large, sizeof large,
                               (pe + count - 1) % count, other, sizeof other);
  CHECK(status == TG_ERR_MACHINE && strcmp(tg_last_error(), "one PE gives up") == 0);
  double start = tg_time_now(); /* sticky: every later call fails at once, with the first words */
  CHECK(tg_world_barrier(world) == TG_ERR_MACHINE);
  CHECK(tg_world_agree(world, TG_OK) == TG_ERR_MACHINE);
  CHECK(tg_time_now() - start < 5);
  CHECK(strcmp(tg_last_error(), "one PE gives up") == 0);
  return TG_OK;
}

static void failures_end_the_world(void** state) {
  (void)state;
  int launched = worlds_launched();
  for (int count = 2; count <= (launched ? 2 : 8); count += 3) {
    tg_world_params params = {.pe_count = launched ? 0 : count, .deadline_s = 30};
    assert_int_equal(tg_world_run(&params, agree_and_end, NULL), TG_ERR_INPUT);
    assert_string_equal(tg_last_error(), "one PE read a bad file");
    assert_int_equal(tg_world_run(&params, fail_alone, NULL), TG_ERR_NUMERICS);
    assert_string_equal(tg_last_error(), "one PE blew up");
    assert_int_equal(tg_world_run(&params, abort_and_go_on, NULL), TG_ERR_MACHINE);
    assert_string_equal(tg_last_error(), "one PE gives up");
  }
}

/* PE 1 does nothing until the others have given up, however long a loaded machine takes for that;
 * that they do while it stalls is the point. All start together: a PE that came late would find PE
 * 1 stalled for less than its deadline. */
static tg_status stall(tg_world* world, void* context) {
  const int use_barrier = *(const int*)context;
  const double longest_s = 30;
  int pe = tg_world_pe(world), count = tg_world_pe_count(world);
  int out = pe, in = -1;
  TG_TRY(tg_world_barrier(world));
  if (pe == 1) {
    double start = tg_time_now();
    while (tg_time_now() - start < longest_s && world->ops->aborted(world) == TG_OK) usleep(20000);
  }
  tg_status status = use_barrier ? tg_world_barrier(world)
                                 : tg_world_exchange(world, (pe + count - 1) % count, &out,
                                                     sizeof out, (pe + 1) % count, &in, sizeof in);
  /* in a ring not everyone waits for the PE that stalls, but PE 0 does */
  if (pe <= 1 || use_barrier) CHECK(status == TG_ERR_MACHINE);
  if (status != TG_OK)
    CHECK(strstr(tg_last_error(), "waited") && strstr(tg_last_error(), "for PE"));
  return status;
}

static void a_stalled_pe_is_named(void** state) {
  (void)state;
  int launched = worlds_launched();
  for (int use_barrier = 0; use_barrier < 2; use_barrier++) {
    tg_world_params params = {.pe_count = launched ? 0 : 3, .deadline_s = 0.3};
    tg_status status = tg_world_run(&params, stall, &use_barrier);
    if (status != TG_ERR_MACHINE) fail_msg("%s", tg_last_error());
    assert_non_null(strstr(tg_last_error(), "longer than the deadline of 0.3 s"));
    if (!launched) assert_non_null(strstr(tg_last_error(), "for PE 1 in"));
  }
}

static tg_status wrong_size(tg_world* world, void* context) {
  (void)context;
  int pe = tg_world_pe(world), count = tg_world_pe_count(world);
  char out[8] = {0}, in[16];
  return tg_world_exchange(world, (pe + 1) % count, out, sizeof out, (pe + count - 1) % count, in,
                           pe == 1 ? 4 : sizeof out);
}

static void wrong_sizes_are_refused(void** state) {
  (void)state;
  tg_world_params params = {.pe_count = worlds_launched() ? 0 : 2, .deadline_s = 30};
  assert_int_equal(tg_world_run(&params, wrong_size, NULL), TG_ERR_INTERNAL);
  assert_non_null(strstr(tg_last_error(), "expected 4 bytes"));
}

static void bad_worlds_are_refused(void** state) {
  (void)state;
  tg_world_params params = {.transport = "pigeon"};
  assert_int_equal(tg_world_run(&params, agree, NULL), TG_ERR_INPUT);
  params = (tg_world_params){.transport = "loop", .pe_count = -1};
  assert_int_equal(tg_world_run(&params, agree, NULL), TG_ERR_INPUT);
  params = (tg_world_params){.transport = "mpi", .pe_count = 1000};
  assert_int_equal(tg_world_run(&params, agree, NULL),
                   tg_world_under_launcher() ? TG_ERR_INPUT : TG_ERR_MACHINE);
}

/* Where there is no GPU, or no NVSHMEM, in this process or at all. */
static void a_transport_that_is_not_there_says_so(void** state) {
  (void)state;
  if (tg_nvshmem_check() == TG_OK) skip(); /* gpu_nvshmem.cu tests it then */
  tg_world_params params = {.transport = "nvshmem", .deadline_s = 30};
  tg_world* world = NULL;
  const char* why = tg_nvshmem_built() ? "no GPU to share memory with" : "without NVSHMEM";
  assert_int_equal(tg_world_open(&params, &world), TG_ERR_MACHINE);
  assert_null(world);
  assert_non_null(strstr(tg_last_error(), why));
  assert_int_equal(tg_world_run(&params, many_barriers, NULL), TG_ERR_MACHINE);
  assert_non_null(strstr(tg_last_error(), why));
  params.transport = "pigeon";
  assert_int_equal(tg_world_open(&params, &world), TG_ERR_INPUT);
  assert_non_null(strstr(tg_last_error(), "'pigeon'"));
}

static tg_status node(tg_world* world, void* context) {
  (void)context;
  int pe = tg_world_pe(world), count = tg_world_pe_count(world), device = 0;
  void* stream = NULL;
  /* tests run on one machine */
  CHECK(tg_world_node_pe(world) == pe && tg_world_node_pe_count(world) == count);
  CHECK(tg_world_device(world, &device, &stream) == TG_ERR_INPUT);
  CHECK(strstr(tg_last_error(), tg_world_transport(world)));
  CHECK(tg_world_alarm(world) == NULL);
  int all[64] = {0};
  TG_TRY(tg_world_all_gather(world, &pe, sizeof pe, all));
  for (int p = 0; p < count; p++) CHECK(all[p] == p);
  return TG_OK;
}

static void a_node_counts_its_pes(void** state) {
  (void)state;
  assert_int_equal(on_all_worlds(node, NULL), TG_OK);
}

int main(int argc, char** argv) {
  worlds_begin(&argc, &argv);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(messages_arrive_whole),
#ifdef TG_HAVE_MPI
      cmocka_unit_test(messages_arrive_in_pieces),
#endif
      cmocka_unit_test(collectives_agree_to_the_bit),
      cmocka_unit_test(gather_keeps_pe_order),
      cmocka_unit_test(barriers_keep_step),
      cmocka_unit_test(a_failure_is_agreed),
      cmocka_unit_test(failures_end_the_world),
      cmocka_unit_test(a_stalled_pe_is_named),
      cmocka_unit_test(wrong_sizes_are_refused),
      cmocka_unit_test(bad_worlds_are_refused),
      cmocka_unit_test(a_transport_that_is_not_there_says_so),
      cmocka_unit_test(a_node_counts_its_pes),
  };
  return worlds_end(cmocka_run_group_tests(tests, NULL, NULL));
}
