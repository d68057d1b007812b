/* SPDX-License-Identifier: Apache-2.0 */
/** @file base/rng.h  Counter-based random numbers: a value depends on its key and counter alone.
 *
 * Threefry-2x64-20 (J. K. Salmon et al., SC'11, doi:10.1145/2063384.2063405). No state: the numbers
 * of atom i at step s are the same on any number of PEs and after any restart. */
#ifndef TG_BASE_RNG_H
#define TG_BASE_RNG_H

#include <stdint.h>

/** What the numbers are for; part of the key, so that streams do not overlap. */
typedef enum tg_rng_purpose {
  TG_RNG_VELOCITIES = 1,
  TG_RNG_THERMOSTAT = 2,
  TG_RNG_BUILD = 3,
  TG_RNG_TEST = 4,
  TG_RNG_START_VECTOR = 5,
  TG_RNG_STATES = 6,
} tg_rng_purpose;

typedef struct tg_rng {
  uint64_t key[2];
  uint64_t counter[2];
  uint64_t block[2];
  int used;
  double spare; /* the second value of the last Box-Muller pair */
  int has_spare;
} tg_rng;

/** The raw block cipher: out = threefry2x64-20(key, counter). */
void tg_threefry(const uint64_t key[2], const uint64_t counter[2], uint64_t out[2]);

/** A stream for (seed, purpose, index): index is, e.g., the atom number or the step. */
tg_rng tg_rng_stream(uint64_t seed, tg_rng_purpose purpose, uint64_t index);

uint64_t tg_rng_bits(tg_rng* rng);
/** Uniform in (0, 1], 53 bits. */
double tg_rng_uniform(tg_rng* rng);
/** Standard normal (Box-Muller, both values used). */
double tg_rng_gaussian(tg_rng* rng);
/** Gamma with integer-or-real shape > 0 and scale 1 (Marsaglia and Tsang 2000). */
double tg_rng_gamma(tg_rng* rng, double shape);

#endif
