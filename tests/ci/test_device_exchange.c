/* SPDX-License-Identifier: Apache-2.0 */
/* Exchanges and sums of PEs with streams, whose order is the protocol's alone: threads do what is
 * queued, with pauses. Hosts run ahead as far as the protocol lets them; each vector, and each part
 * of a sum, is made and looked at within the streams. Whoever reads too early or writes too soon
 * meets numbers of another turn. Vectors are pushed, or go out as they are made; some of these are
 * void, as when the eigen-solver is not content with what it made: they are wrong numbers, which
 * nobody is to meet. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ci/device_exchange.h"
#include "ci/thread_queue.h"
#include "support.h"

enum { STATES = 21000, MOST = 2, TURNS = 60, FEW_PES = 5, MOST_PES = 36, MOST_SUM = 9000 };

enum { CHUNK = 256 }; /* states that go out together or not at all */

static const double LOCAL_S = 2e-4;

typedef struct scene {
  tg_ci_distribution d;
  bool lonely;  /* PE 0 has states that nobody needs */
  int fails_at; /* PE 1's turn; -1: never */
  atomic_int wrong;
  uint64_t sent[MOST_PES], needed[MOST_PES];
  uint64_t expected[MOST_PES]; /* of sent, by the reader */
} scene;

/* A PE's side of a turn, within its stream. */
typedef struct side {
  scene* s;
  int pe, pes;
  uint64_t first, end;
  tg_ci_range needed[4];
  size_t needed_count;
  const double* all; /* x of the exchange */
  tg_eigen_targets targets[2 * TURNS];
  double x[MOST * STATES], sum[MOST_SUM];
} side;

static double value_of(int64_t turn, int v, uint64_t state) {
  return (double)(turn * 1000003 + v * 500009) + (double)state / 65536;
}

static int width_of(int64_t turn) { return 1 + (int)(turn % MOST); }

static void fill(void* context, int64_t turn) {
  side* p = context;
  const uint64_t rows = p->end - p->first;
  for (int v = 0; v < width_of(turn); v++)
    for (uint64_t i = 0; i < rows; i++)
      p->x[(uint64_t)v * rows + i] = value_of(turn, v, p->first + i);
}

/* What a kernel does that makes vectors, number `which` of all: a void one has wrong numbers. */
static void make(void* context, int64_t which) {
  side* p = context;
  const tg_eigen_targets* t = &p->targets[which];
  const int64_t turn = which / 2;
  const uint64_t rows = p->end - p->first;
  fill(p, turn);
  for (int v = 0; which % 2 && v < width_of(turn); v++)
    for (uint64_t i = 0; i < rows; i++) p->x[(uint64_t)v * rows + i] *= -1;
  for (int v = 0; v < width_of(turn); v++)
    for (int n = 0; n < t->count; n++)
      for (uint64_t i = 0; i < rows; i++)
        if (t->masks[i / t->chunk] >> n & 1)
          t->to[n][(size_t)v * t->ld + i] = p->x[(uint64_t)v * rows + i];
}

static tg_status make_vectors(tg_ci_device_exchange* e, const tg_ci_queue* q, side* p, int which) {
  const int k = width_of(which / 2);
  TG_TRY(tg_ci_device_exchange_open(e, k, &p->targets[which]));
  thread_call(q, make, p, which);
  return tg_ci_device_exchange_close(e, k, p->x, (size_t)(p->end - p->first));
}

/* How x of a turn comes: pushed; as it is made; and either after void vectors. */
static bool is_made(int64_t turn) { return turn % 4 % 2 == 1; }
static bool is_void(int64_t turn) { return turn % 4 >= 2; }

static tg_status send_out(tg_ci_device_exchange* e, const tg_ci_queue* q, side* p, int turn) {
  const int k = width_of(turn);
  if (is_void(turn)) TG_TRY(make_vectors(e, q, p, 2 * turn + 1));
  if (is_made(turn)) {
    TG_TRY(make_vectors(e, q, p, 2 * turn));
    return tg_ci_device_exchange_take(e, k);
  }
  thread_call(q, fill, p, turn);
  return tg_ci_device_exchange_push(e, k, p->x, (size_t)(p->end - p->first));
}

static void look(void* context, int64_t turn) {
  side* p = context;
  for (int v = 0; v < width_of(turn); v++) {
    for (size_t r = 0; r < p->needed_count; r++)
      for (uint64_t i = p->needed[r].first; i < p->needed[r].end; i++)
        if (p->all[(uint64_t)v * STATES + i] != value_of(turn, v, i)) p->s->wrong++;
  }
}

static size_t count_of(int64_t turn) {
  static const size_t counts[] = {1, 130, 8192, MOST_SUM};
  return counts[turn % 4];
}

static void fill_sum(void* context, int64_t turn) {
  side* p = context;
  for (size_t i = 0; i < count_of(turn); i++)
    p->sum[i] = (double)((turn + 1) * (p->pe + 1)) * (double)(i + 1);
}

static void look_at_sum(void* context, int64_t turn) {
  side* p = context;
  const double all = 0.5 * (double)((turn + 1) * p->pes * (p->pes + 1));
  for (size_t i = 0; i < count_of(turn); i++)
    if (p->sum[i] != all * (double)(i + 1)) p->s->wrong++;
}

/* All of the next PE's states, and a few of the others'. */
static void choose_needs(const scene* s, side* p) {
  for (int q = 0; q < p->pes; q++) {
    const uint64_t first = s->d.first[q], end = s->d.first[q + 1];
    if (q == p->pe || end == first || p->needed_count == 4 || p->end == p->first) continue;
    if (q == 0 && s->lonely) continue;
    p->needed[p->needed_count++] = q == (p->pe + 1) % p->pes
                                       ? (tg_ci_range){first, end}
                                       : (tg_ci_range){first + 7, first + 7 + (end - first) / 3};
  }
}

/* What a PE does before the others' rows have come: its own are there. It takes LOCAL_S at least,
 * which is not exposed. */
static void look_at_own(void* context, int64_t turn) {
  side* p = context;
  const struct timespec pause = {0, (long)(1e9 * LOCAL_S)};
  struct timespec left = pause;
  for (int v = 0; v < width_of(turn); v++)
    for (uint64_t i = p->first; i < p->end; i++)
      if (p->all[(uint64_t)v * STATES + i] != value_of(turn, v, i)) p->s->wrong++;
  while (nanosleep(&left, &left) != 0) continue;
}

/* Where many read a PE's rows, some of them get copies when rows are made. */
static bool gets_copies(const side* p, int from) {
  return (from + p->pes - p->pe) % p->pes >= TG_EIGEN_TARGETS;
}

/* Bytes that are sent for this PE to read: exactly, and by chunks. */
static uint64_t bytes_for(const side* p) {
  uint64_t exact = 0, chunked = 0, sum = 0;
  for (size_t r = 0; r < p->needed_count; r++) {
    int q = 0;
    while (p->s->d.first[q + 1] <= p->needed[r].first) q++;
    const uint64_t first = p->s->d.first[q], rows = p->s->d.first[q + 1] - first;
    const uint64_t begin = (p->needed[r].first - first) / CHUNK * CHUNK;
    const uint64_t end = (p->needed[r].end - first + CHUNK - 1) / CHUNK * CHUNK;
    const uint64_t count = p->needed[r].end - p->needed[r].first;
    exact += count;
    chunked += gets_copies(p, q) ? count : (end < rows ? end : rows) - begin;
  }
  for (int turn = 0; turn < TURNS; turn++)
    sum += (uint64_t)width_of(turn) * sizeof(double) *
           (is_void(turn) * chunked + (is_made(turn) ? chunked : exact));
  return sum + (uint64_t)width_of(0) * sizeof(double) * chunked;
}

static tg_status turns(tg_ci_device_exchange* e, const tg_ci_queue* q, side* p) {
  p->all = tg_ci_device_exchange_x(e);
  for (int turn = 0; turn < TURNS; turn++) {
    TG_TRY(send_out(e, q, p, turn));
    thread_call(q, look_at_own, p, turn);
    TG_TRY(tg_ci_device_exchange_wait(e));
    thread_call(q, look, p, turn);
    TG_TRY(tg_ci_device_exchange_done(e));
    if (turn % 3 == 0) continue;
    thread_call(q, fill_sum, p, turn);
    TG_TRY(tg_ci_device_exchange_sum(e, p->sum, count_of(turn)));
    thread_call(q, look_at_sum, p, turn);
    if (p->pe == 1 && turn >= p->s->fails_at && p->s->fails_at >= 0)
      return tg_fail(TG_ERR_NUMERICS, "PE 1 has had enough");
  }
  /* void to the end: neither timed, nor waited for by who ends */
  TG_TRY(make_vectors(e, q, p, 1));
  double product_s;
  const tg_ci_exchange_facts facts = tg_ci_device_exchange_facts_of(e, &product_s);
  p->s->sent[p->pe] = facts.sent;
  p->s->needed[p->pe] = facts.needed;
  p->s->expected[p->pe] = bytes_for(p);
  if (facts.turns != TURNS + TURNS / 2 + 1 || !(facts.push_s > 0) ||
      !(facts.exposed_s >= facts.push_s) || !(product_s >= facts.exposed_s + TURNS * LOCAL_S))
    return tg_fail(TG_ERR_NUMERICS, "the facts are wrong");
  return TG_OK;
}

static tg_status on_pe(tg_world* world, void* context) {
  scene* s = context;
  const int pe = tg_world_pe(world);
  side* p = calloc(1, sizeof *p);
  *p = (side){.s = s,
              .pe = pe,
              .pes = tg_world_pe_count(world),
              .first = s->d.first[pe],
              .end = s->d.first[pe + 1]};
  choose_needs(s, p);
  tg_ci_queue q = thread_queue_open((uint64_t)pe * 77 + 1);
  const tg_ci_exchange_params params = {
      .distribution = &s->d, .needed = p->needed, .needed_count = p->needed_count, .most = MOST};
  tg_ci_device_exchange* e = NULL;
  tg_status status = tg_ci_device_exchange_create(world, &q, &params, &e);
  if (status == TG_OK) status = turns(e, &q, p);
  tg_ci_device_exchange_destroy(&e);
  thread_queue_close(&q);
  free(p);
  return status;
}

static uint64_t first_of(int pe, int pes) {
  if (pe == 0) return 0;
  return pes <= FEW_PES ? STATES / 2 + (uint64_t)pe * 1500
                        : STATES / 4 + (uint64_t)pe * (STATES * 3 / 4) / (uint64_t)pes;
}

/* The last PE but one of five has no states; rows are not equally many. */
static tg_status run(scene* s, int pes, int fails_at, bool lonely) {
  uint64_t first[MOST_PES + 1] = {0};
  for (int p = 1; p < pes; p++) first[p] = first_of(p, pes);
  if (pes == 5) first[4] = first[3];
  first[pes] = STATES;
  *s = (scene){.d = {.pe_count = pes, .first = first}, .lonely = lonely, .fails_at = fails_at};
  const tg_world_params params = {.transport = "loop", .pe_count = pes, .deadline_s = 30};
  const tg_status status = tg_world_run(&params, on_pe, s);
  s->d.first = NULL;
  return status;
}

static void meet(int pes, bool lonely) {
  scene s;
  if (run(&s, pes, -1, lonely) != TG_OK) fail_msg("%d PEs: %s", pes, tg_last_error());
  assert_int_equal(s.wrong, 0);
  uint64_t sent = 0, needed = 0, expected = 0;
  for (int p = 0; p < pes; p++) {
    sent += s.sent[p];
    needed += s.needed[p];
    expected += s.expected[p];
  }
  assert_true(needed > 0);
  assert_int_equal(sent, expected);
  if (lonely) assert_int_equal(s.sent[0], 0);
}

static void streams_meet(void** state) {
  (void)state;
  for (int pes = 2; pes <= FEW_PES; pes++) meet(pes, false);
}

/* All need rows of the first four: these have more readers than a kernel has targets. */
static void more_readers_than_targets(void** state) {
  (void)state;
  meet(MOST_PES, false);
}

static void nobody_needs_some(void** state) {
  (void)state;
  for (int pes = 2; pes <= 3; pes++) meet(pes, true);
}

/* Nobody waits for ever, and nothing is freed that a stream still stores into. */
static void a_failure_ends_all(void** state) {
  (void)state;
  scene s;
  for (int pes = 2; pes <= 4; pes++) {
    assert_int_equal(run(&s, pes, 10 + pes, false), TG_ERR_NUMERICS);
    assert_non_null(strstr(tg_last_error(), "PE 1 has had enough"));
    assert_int_equal(s.wrong, 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(streams_meet),
      cmocka_unit_test(more_readers_than_targets),
      cmocka_unit_test(nobody_needs_some),
      cmocka_unit_test(a_failure_ends_all),
  };
  return cmocka_run_group_tests_name("ci.test_device_exchange", tests, NULL, NULL);
}
