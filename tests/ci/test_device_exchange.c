/* SPDX-License-Identifier: Apache-2.0 */
/* Exchanges and sums of PEs with streams, whose order is the protocol's alone: threads do what is
 * queued, with pauses. Hosts run ahead as far as the protocol lets them; each vector, and each part
 * of a sum, is made and looked at within the streams. Whoever reads too early or writes too soon
 * meets numbers of another turn. */
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

#include "ci/device_exchange.h"
#include "ci/thread_queue.h"
#include "support.h"

enum { STATES = 21000, MOST = 2, TURNS = 60, MOST_PES = 5, MOST_SUM = 9000 };

typedef struct scene {
  tg_ci_distribution d;
  int fails_at; /* PE 1's turn; -1: never */
  atomic_int wrong;
  uint64_t sent[MOST_PES], needed[MOST_PES];
} scene;

/* A PE's side of a turn, within its stream. */
typedef struct side {
  scene* s;
  int pe, pes;
  uint64_t first, end;
  tg_ci_range needed[4];
  size_t needed_count;
  const double* all; /* x of the exchange */
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

static void look(void* context, int64_t turn) {
  side* p = context;
  for (int v = 0; v < width_of(turn); v++) {
    for (size_t r = 0; r < p->needed_count; r++)
      for (uint64_t i = p->needed[r].first; i < p->needed[r].end; i++)
        if (p->all[(uint64_t)v * STATES + i] != value_of(turn, v, i)) p->s->wrong++;
    for (uint64_t i = p->first; i < p->end; i++)
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
    p->needed[p->needed_count++] = q == (p->pe + 1) % p->pes
                                       ? (tg_ci_range){first, end}
                                       : (tg_ci_range){first + 7, first + 7 + (end - first) / 3};
  }
}

static tg_status turns(tg_ci_device_exchange* e, const tg_ci_queue* q, side* p) {
  const uint64_t rows = p->end - p->first;
  p->all = tg_ci_device_exchange_x(e);
  for (int turn = 0; turn < TURNS; turn++) {
    thread_call(q, fill, p, turn);
    TG_TRY(tg_ci_device_exchange_push(e, width_of(turn), p->x, (size_t)rows));
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
  double product_s;
  const tg_ci_exchange_facts facts = tg_ci_device_exchange_facts_of(e, &product_s);
  p->s->sent[p->pe] = facts.sent;
  p->s->needed[p->pe] = facts.needed;
  if (facts.turns != TURNS || !(facts.push_s > 0) || !(facts.exposed_s >= facts.push_s) ||
      !(product_s >= facts.exposed_s))
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

/* The last PE but one of five has no states; rows are not equally many. */
static tg_status run(scene* s, int pes, int fails_at) {
  uint64_t first[MOST_PES + 1] = {0};
  for (int p = 1; p < pes; p++) first[p] = STATES / 2 + (uint64_t)p * 1500;
  if (pes == 5) first[4] = first[3];
  first[pes] = STATES;
  *s = (scene){.d = {.pe_count = pes, .first = first}, .fails_at = fails_at};
  const tg_world_params params = {.transport = "loop", .pe_count = pes, .deadline_s = 30};
  const tg_status status = tg_world_run(&params, on_pe, s);
  s->d.first = NULL;
  return status;
}

static void streams_meet(void** state) {
  (void)state;
  scene s;
  for (int pes = 2; pes <= MOST_PES; pes++) {
    if (run(&s, pes, -1) != TG_OK) fail_msg("%d PEs: %s", pes, tg_last_error());
    assert_int_equal(s.wrong, 0);
    uint64_t sent = 0, needed = 0;
    for (int p = 0; p < pes; p++) {
      sent += s.sent[p];
      needed += s.needed[p];
    }
    assert_true(needed > 0);
    /* 1 and 2 vectors in turn */
    assert_int_equal(sent, needed * 8 * (TURNS / 2 + TURNS));
  }
}

/* Nobody waits for ever, and nothing is freed that a stream still stores into. */
static void a_failure_ends_all(void** state) {
  (void)state;
  scene s;
  for (int pes = 2; pes <= 4; pes++) {
    assert_int_equal(run(&s, pes, 10 + pes), TG_ERR_NUMERICS);
    assert_non_null(strstr(tg_last_error(), "PE 1 has had enough"));
    assert_int_equal(s.wrong, 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(streams_meet),
      cmocka_unit_test(a_failure_ends_all),
  };
  return cmocka_run_group_tests_name("ci.test_device_exchange", tests, NULL, NULL);
}
