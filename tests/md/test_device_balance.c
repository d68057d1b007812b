/* SPDX-License-Identifier: Apache-2.0 */
/* Planes between domains (md/device_balance.h), with times that follow from a density. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <math.h>
#include <string.h>

#include "md/device_balance.h"

enum { SLICES = 4096 };

/* Of the box's slices along each edge; a domain's time is the product of its sums. */
typedef struct density {
  double of[3][SLICES];
} density;

static void fill(density* s, int d, double from, double to, double value) {
  for (int i = 0; i < SLICES; i++)
    if (i >= from * SLICES && i < to * SLICES) s->of[d][i] = value;
}

static double between(const density* s, int d, uint64_t from, uint64_t to) {
  double sum = 0;
  for (uint64_t i = 0; i < SLICES; i++) {
    const double low = fmax((double)i, (double)from * SLICES / 0x1p32);
    const double high = fmin((double)i + 1, (double)to * SLICES / 0x1p32);
    if (high > low) sum += s->of[d][i] * (high - low);
  }
  return sum;
}

/* Of each domain, in units of 1e-9 of all; returns the largest by the mean. */
static double times_of(const density* s, const uint32_t count[3], const tg_device_planes* p,
                       uint64_t* time) {
  const uint32_t domains = count[0] * count[1] * count[2];
  double most = 0, sum = 0;
  for (uint32_t i = 0; i < domains; i++) {
    const uint32_t at[3] = {i / count[2] / count[1], i / count[2] % count[1], i % count[2]};
    double one = 1;
    for (int d = 0; d < 3; d++)
      one *= between(s, d, p->at[d][at[d]], tg_balance_end(p->at[d], count[d], at[d])) /
             between(s, d, 0, (uint64_t)1 << 32);
    time[i] = (uint64_t)(1e9 * one);
    most = fmax(most, one);
    sum += one;
  }
  return most * domains / sum;
}

static void check_planes(const uint32_t count[3], const uint32_t least[3],
                         const tg_device_planes* p) {
  for (int d = 0; d < 3; d++) {
    assert_int_equal(p->at[d][0], 0);
    for (uint32_t k = 0; k < count[d]; k++)
      assert_true(tg_balance_end(p->at[d], count[d], k) - p->at[d][k] >= least[d]);
  }
}

/* Moves until nothing moves; at most `most` times. */
static double settle(const density* s, const uint32_t count[3], int most, tg_device_planes* p) {
  uint32_t least[3];
  uint64_t time[TG_BALANCE_LAYERS];
  for (int d = 0; d < 3; d++) least[d] = tg_balance_least(count[d], 1, 20);
  tg_balance_equal(count, p);
  check_planes(count, least, p);
  for (int i = 0; i < most; i++) {
    times_of(s, count, p, time);
    const bool moved = tg_balance_planes(count, time, least, p);
    check_planes(count, least, p);
    if (!moved) return times_of(s, count, p, time);
  }
  fail_msg("planes still move after %d times", most);
  return 0;
}

static void even_times_move_nothing(void** state) {
  (void)state;
  const uint32_t count[3] = {2, 3, 2};
  const uint64_t time[12] = {100, 101, 99, 100, 100, 101, 100, 99, 101, 100, 101, 99};
  const uint64_t none[12] = {0};
  const uint32_t least[3] = {1, 1, 1};
  tg_device_planes p, equal;
  tg_balance_equal(count, &p);
  equal = p;
  assert_false(tg_balance_planes(count, time, least, &p));
  assert_false(tg_balance_planes(count, none, least, &p));
  assert_memory_equal(&p, &equal, sizeof p);
  const uint32_t one[3] = {1, 1, 1};
  assert_false(tg_balance_planes(one, time, least, &p));
}

static void a_slab_is_shared(void** state) {
  (void)state;
  static density s;
  tg_device_planes p;
  for (int d = 0; d < 3; d++) fill(&s, d, 0, 1, 1);
  fill(&s, 0, 0, 1, 0.001);
  fill(&s, 0, 0.05, 0.4, 1);
  for (uint32_t n = 2; n <= 4; n++) {
    const uint32_t count[3] = {n, 1, 1};
    assert_true(settle(&s, count, 25, &p) <= 1.021);
  }
  /* two layers: half of the slab each */
  const uint32_t two[3] = {2, 1, 1};
  settle(&s, two, 25, &p);
  assert_true(fabs(p.at[0][1] / 0x1p32 - 0.225) < 0.01);
}

static void all_dimensions_move(void** state) {
  (void)state;
  static density s;
  tg_device_planes p;
  for (int d = 0; d < 3; d++) {
    fill(&s, d, 0, 1, 0.05);
    fill(&s, d, 0.6, 0.85 + 0.05 * d, 1);
  }
  const uint32_t eight[3] = {2, 2, 2}, sixteen[3] = {4, 2, 2};
  assert_true(settle(&s, eight, 30, &p) <= 1.021 * 1.021 * 1.021);
  assert_true(settle(&s, sixteen, 30, &p) <= 1.021 * 1.021 * 1.021);
}

/* All of the work in less than a layer's least thickness: as near as it may get. */
static void layers_stay_thick_enough(void** state) {
  (void)state;
  static density s;
  tg_device_planes p;
  for (int d = 0; d < 3; d++) fill(&s, d, 0, 1, 1);
  fill(&s, 2, 0, 1, 0);
  fill(&s, 2, 0.99, 1, 1);
  const uint32_t four[3] = {1, 1, 4}, least[3] = {0, 0, tg_balance_least(4, 1, 20)};
  uint64_t time[4];
  tg_balance_equal(four, &p);
  for (int i = 0; i < 40; i++) {
    times_of(&s, four, &p, time);
    tg_balance_planes(four, time, least, &p);
    check_planes(four, least, &p);
  }
  assert_true(p.at[2][3] == 0xFFFFFFFFU - least[2] + 1);
  assert_int_equal(tg_balance_least(4, 1, 3), 1U << 29); /* a small box: half of a layer */
}

/* The largest times that 64 bits hold, and the smallest. */
static void any_unit_will_do(void** state) {
  (void)state;
  const uint32_t count[3] = {2, 1, 1}, least[3] = {1 << 20, 1 << 20, 1 << 20};
  const uint64_t small[2] = {3, 1}, large[2] = {3ULL << 60, 1ULL << 60};
  tg_device_planes a, b;
  tg_balance_equal(count, &a);
  tg_balance_equal(count, &b);
  assert_true(tg_balance_planes(count, small, least, &a));
  assert_true(tg_balance_planes(count, large, least, &b));
  assert_true(a.at[0][1] < 1U << 31);
  assert_int_equal(a.at[0][1], b.at[0][1]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(even_times_move_nothing), cmocka_unit_test(a_slab_is_shared),
      cmocka_unit_test(all_dimensions_move),     cmocka_unit_test(layers_stay_thick_enough),
      cmocka_unit_test(any_unit_will_do),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
