/* SPDX-License-Identifier: Apache-2.0 */
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

/* A sample mean is off by more than 6 standard errors with probability 2e-9; seeds are fixed
 * besides. */
enum { SAMPLES = 200000 };
static const double SIGMAS = 6.0;

/* Known answers published with the generator: zeros, ones, and the digits of pi. */
static void cipher_gives_the_known_answers(void** state) {
  (void)state;
  static const struct {
    uint64_t key[2], counter[2], out[2];
  } known[] = {
      {{0, 0}, {0, 0}, {0xc2b6e3a8c2c69865u, 0x6f81ed42f350084du}},
      {{~0ull, ~0ull}, {~0ull, ~0ull}, {0xe02cb7c4d95d277au, 0xd06633d0893b8b68u}},
      {{0xa4093822299f31d0u, 0x082efa98ec4e6c89u},
       {0x243f6a8885a308d3u, 0x13198a2e03707344u},
       {0x263c7d30bb0f0af1u, 0x56be8361d3311526u}},
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    uint64_t out[2];
    tg_threefry(known[i].key, known[i].counter, out);
    assert_true(out[0] == known[i].out[0] && out[1] == known[i].out[1]);
  }
}

static void streams_repeat_and_differ(void** state) {
  (void)state;
  tg_rng a = tg_rng_stream(1, TG_RNG_TEST, 5), again = tg_rng_stream(1, TG_RNG_TEST, 5);
  tg_rng others[] = {tg_rng_stream(2, TG_RNG_TEST, 5), tg_rng_stream(1, TG_RNG_BUILD, 5),
                     tg_rng_stream(1, TG_RNG_TEST, 6)};
  for (int i = 0; i < 1000; i++) {
    uint64_t bits = tg_rng_bits(&a);
    assert_true(bits == tg_rng_bits(&again));
    for (size_t o = 0; o < 3; o++) assert_true(bits != tg_rng_bits(&others[o]));
  }
}

/* The mean of the first powers of samples against their expectations; variance of x^k is E x^2k -
 * (E x^k)^2. */
static void check_moments(const double* values, const double* expected, int powers) {
  for (int k = 1; k <= powers; k++) {
    double sum = 0;
    for (int i = 0; i < SAMPLES; i++) sum += pow(values[i], k);
    double error = sqrt((expected[2 * k] - expected[k] * expected[k]) / SAMPLES);
    assert_true(fabs(sum / SAMPLES - expected[k]) < SIGMAS * error);
  }
}

static double values[SAMPLES];

static void uniform_has_its_moments(void** state) {
  (void)state;
  tg_rng rng = tg_rng_stream(7, TG_RNG_TEST, 0);
  for (int i = 0; i < SAMPLES; i++) {
    values[i] = tg_rng_uniform(&rng);
    assert_true(values[i] > 0.0 && values[i] <= 1.0);
  }
  double expected[9];
  for (int k = 0; k <= 8; k++) expected[k] = 1.0 / (k + 1);
  check_moments(values, expected, 4);
  /* neighbours are uncorrelated: E xy = 1/4, var xy = 1/9 - 1/16 */
  double sum = 0;
  for (int i = 0; i + 1 < SAMPLES; i += 2) sum += values[i] * values[i + 1];
  double mean = sum / (SAMPLES / 2.0);
  assert_true(fabs(mean - 0.25) < SIGMAS * sqrt((1.0 / 9 - 1.0 / 16) / (SAMPLES / 2.0)));
}

static void gaussian_has_its_moments(void** state) {
  (void)state;
  tg_rng rng = tg_rng_stream(8, TG_RNG_TEST, 0);
  double product = 0;
  for (int i = 0; i < SAMPLES; i++) values[i] = tg_rng_gaussian(&rng);
  const double expected[] = {1, 0, 1, 0, 3, 0, 15, 0, 105};
  check_moments(values, expected, 4);
  /* the two of a Box-Muller pair are independent: E xy = 0, var xy = 1 */
  for (int i = 0; i + 1 < SAMPLES; i += 2) product += values[i] * values[i + 1];
  assert_true(fabs(product / (SAMPLES / 2.0)) < SIGMAS / sqrt(SAMPLES / 2.0));
}

static void gamma_has_its_moments(void** state) {
  (void)state;
  const double shapes[] = {0.5, 1.0, 3.5, 400.0};
  for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
    tg_rng rng = tg_rng_stream(9, TG_RNG_TEST, s);
    for (int i = 0; i < SAMPLES; i++) {
      values[i] = tg_rng_gamma(&rng, shapes[s]);
      assert_true(values[i] >= 0.0);
    }
    double expected[7] = {1}; /* E x^k = a (a + 1) ... (a + k - 1) */
    for (int k = 1; k <= 6; k++) expected[k] = expected[k - 1] * (shapes[s] + k - 1);
    check_moments(values, expected, 3);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(cipher_gives_the_known_answers), cmocka_unit_test(streams_repeat_and_differ),
      cmocka_unit_test(uniform_has_its_moments),        cmocka_unit_test(gaussian_has_its_moments),
      cmocka_unit_test(gamma_has_its_moments),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
