/* SPDX-License-Identifier: Apache-2.0 */
#include "base/rng.h"

#include <math.h>

#include "base/threefry.h"
#include "base/units.h"

void tg_threefry(const uint64_t key[2], const uint64_t counter[2], uint64_t out[2]) {
  tg_threefry_block(key, counter, out);
}

tg_rng tg_rng_stream(uint64_t seed, tg_rng_purpose purpose, uint64_t index) {
  /* index sits in the high counter word: a stream has 2^64 blocks before it could meet the next */
  return (tg_rng){.key = {seed, (uint64_t)purpose}, .counter = {0, index}, .used = 2};
}

uint64_t tg_rng_bits(tg_rng* rng) {
  if (rng->used >= 2) {
    tg_threefry(rng->key, rng->counter, rng->block);
    rng->counter[0]++;
    rng->used = 0;
  }
  return rng->block[rng->used++];
}

double tg_rng_uniform(tg_rng* rng) {
  /* 53 bits k = 0 .. 2^53 - 1 become (k + 1) / 2^53: exact, and never 0, so a logarithm is safe */
  return (double)((tg_rng_bits(rng) >> 11) + 1) * 0x1p-53;
}

double tg_rng_gaussian(tg_rng* rng) {
  if (rng->has_spare) {
    rng->has_spare = 0;
    return rng->spare;
  }
  double radius = sqrt(-2.0 * log(tg_rng_uniform(rng)));
  double angle = 2.0 * TG_PI * tg_rng_uniform(rng);
  rng->spare = radius * sin(angle);
  rng->has_spare = 1;
  return radius * cos(angle);
}

double tg_rng_gamma(tg_rng* rng, double shape) {
  /* below 1 the method does not apply: Gamma(a) = Gamma(a + 1) U^(1/a) */
  double boost = 1.0;
  if (shape < 1.0) {
    boost = pow(tg_rng_uniform(rng), 1.0 / shape);
    shape += 1.0;
  }
  /* d (1 + c z)^3 is nearly gamma distributed; accept with the ratio of the true density to it */
  double d = shape - 1.0 / 3.0;
  double c = 1.0 / sqrt(9.0 * d);
  for (;;) {
    double z = tg_rng_gaussian(rng);
    double root = 1.0 + c * z;
    if (root <= 0.0) continue;
    double cube = root * root * root;
    if (log(tg_rng_uniform(rng)) < 0.5 * z * z + d * (1.0 - cube + log(cube)))
      return boost * d * cube;
  }
}
