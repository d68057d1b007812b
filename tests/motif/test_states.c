/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of states: the three forms agree, and the law of the random ones is what states.h says. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <math.h>
#include <string.h>

#include "motif/states.h"

static void forms_agree(void** state) {
  (void)state;
  const tg_states_params params = {130, 9, 200, 25, 3};
  tg_states s;
  assert_int_equal(tg_states_random(&params, &s), TG_OK);
  assert_int_equal(s.words, 4);
  assert_int_equal(s.stride % 128, 64);
  for (size_t i = 0; i < s.count; i++) {
    uint32_t k = 0;
    for (uint32_t o = 0; o < 200; o++) {
      if (!(s.bits[o / 64 * s.stride + i] >> o % 64 & 1)) continue;
      assert_true(k < 9);
      assert_int_equal(s.orbital[k++ * s.stride + i], o);
    }
    assert_int_equal(k, 9);
    assert_true(s.low[i] == s.bits[i]);
  }
  /* a state depends on its number and the seed alone */
  const tg_states_params fewer = {50, 9, 200, 25, 3};
  tg_states t;
  assert_int_equal(tg_states_random(&fewer, &t), TG_OK);
  for (size_t i = 0; i < 50; i++) assert_true(s.low[i] == t.low[i]);
  tg_states_free(&t);
  tg_states_free(&s);
  assert_null(s.bits);
}

/* For one particle the law is P(o) itself: chi squared of the counts in 10 classes of orbitals is
 * below 28 with probability 0.999 for 9 degrees of freedom. The seed is fixed, so this repeats. */
static void the_bias_follows_its_law(void** state) {
  (void)state;
  enum { COUNT = 20000, CLASS = 10 };
  const double spread = 40, orbitals = 100;
  const tg_states_params params = {COUNT, 1, 100, spread, 11};
  tg_states s;
  assert_int_equal(tg_states_random(&params, &s), TG_OK);
  double seen[CLASS] = {0}, chi2 = 0;
  for (size_t i = 0; i < COUNT; i++) seen[s.orbital[i] / 10] += 1;
  for (int k = 0; k < CLASS; k++) {
    const double share =
        (exp(-10 * k / spread) - exp(-10 * (k + 1) / spread)) / (1 - exp(-orbitals / spread));
    chi2 += (seen[k] - COUNT * share) * (seen[k] - COUNT * share) / (COUNT * share);
  }
  assert_true(chi2 < 28);
  tg_states_free(&s);
}

/* Orbitals of COUNT states of 4 that differ between two spreads with the same draws. */
static int changed(double spread, double other) {
  enum { COUNT = 1000 };
  const tg_states_params a = {COUNT, 4, 100, spread, 7}, b = {COUNT, 4, 100, other, 7};
  tg_states s, t;
  int sum = 0;
  assert_int_equal(tg_states_random(&a, &s), TG_OK);
  assert_int_equal(tg_states_random(&b, &t), TG_OK);
  for (uint32_t k = 0; k < 4; k++)
    for (size_t i = 0; i < COUNT; i++)
      sum += s.orbital[k * s.stride + i] != t.orbital[k * t.stride + i];
  tg_states_free(&s);
  tg_states_free(&t);
  return sum;
}

/* A spread of s moves a draw by less than M^2 / 2s orbitals from that without bias, by 5e-5 at most
 * here: one of 4000 crosses to the next orbital with a probability of 0.2. */
static void a_wide_spread_is_no_bias(void** state) {
  (void)state;
  assert_true(changed(0.99e8, 1.01e8) <= 3); /* on both sides of the change of formula */
  assert_true(changed(1e8, 0) <= 3);
  assert_int_equal(changed(1e300, 1e30), 0);
  assert_true(changed(1e300, 0) <= 1);
  assert_true(changed(1.7e308, 0) <= 1);
  assert_true(changed(30, 0) > 100);
}

/* The published density (states.h) for 8 particles in 128 orbitals, d = 2: 6e-6. 8,000 states
 * have 3.2e7 pairs and so about 192 hits, with a standard deviation of 14 if they were independent;
 * six of them are allowed, as hits of one state are a little correlated. */
static void the_density_is_the_published_one(void** state) {
  (void)state;
  const tg_states_params params = {8000, 8, 128, TG_STATES_SPREAD, 1};
  tg_states s;
  assert_int_equal(tg_states_random(&params, &s), TG_OK);
  const uint64_t* high = s.bits + s.stride;
  int hits = 0;
  for (size_t i = 0; i < s.count; i++)
    for (size_t j = 0; j < i; j++)
      hits +=
          __builtin_popcountll(s.low[i] ^ s.low[j]) + __builtin_popcountll(high[i] ^ high[j]) <= 4;
  assert_true(hits > 192 - 6 * 14 && hits < 192 + 6 * 14);
  tg_states_free(&s);
}

static void mistakes_are_named(void** state) {
  (void)state;
  tg_states s = {0};
  tg_states_params params = {10, 5, 4, 3, 1};
  assert_int_equal(tg_states_random(&params, &s), TG_ERR_INPUT);
  assert_non_null(strstr(tg_last_error(), "5 particles in 4 orbitals"));
  params = (tg_states_params){10, 5, 4000, -1, 1};
  assert_int_equal(tg_states_random(&params, &s), TG_ERR_INPUT);
  params = (tg_states_params){1, 30, 64, 0.5, 1};
  assert_int_equal(tg_states_random(&params, &s), TG_ERR_INPUT);
  assert_non_null(strstr(tg_last_error(), "too small"));
  const uint16_t falls[] = {1, 2, 3, 3}, far[] = {1, 9};
  assert_int_equal(tg_states_from_lists(2, 2, 8, falls, &s), TG_ERR_INPUT);
  assert_non_null(strstr(tg_last_error(), "state 1"));
  assert_int_equal(tg_states_from_lists(1, 2, 9, far, &s), TG_ERR_INPUT);
  const uint16_t right[] = {1, 2, 0, 70};
  assert_int_equal(tg_states_from_lists(2, 2, 71, right, &s), TG_OK);
  assert_true(s.low[0] == 6 && s.low[1] == 1 && s.bits[s.stride + 1] == 1 << 6);
  tg_states_free(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(forms_agree),
      cmocka_unit_test(the_bias_follows_its_law),
      cmocka_unit_test(a_wide_spread_is_no_bias),
      cmocka_unit_test(the_density_is_the_published_one),
      cmocka_unit_test(mistakes_are_named),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
