/* SPDX-License-Identifier: Apache-2.0 */
/** @file tests/md/support.h  Random geometries and comparisons; include after cmocka.h. */
#ifndef TG_TESTS_MD_SUPPORT_H
#define TG_TESTS_MD_SUPPORT_H

#include <math.h>
#include <stdint.h>

/** Fails unless |found - expected| <= tolerance; NaN fails. */
#define assert_near(found, expected, tolerance)                                                    \
  do {                                                                                             \
    double found_ = (found), expected_ = (expected), tolerance_ = (tolerance);                     \
    if (!(fabs(found_ - expected_) <= tolerance_))                                                 \
      fail_msg("%s: found %.17g, expected %.17g within %.3g", #found, found_, expected_,           \
               tolerance_);                                                                        \
  } while (0)

/** Uniform in [low, high) (splitmix64, S. Vigna), apart from the generator of the library. */
static inline double random_between(uint64_t* seed, double low, double high) {
  uint64_t z = (*seed += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return low + (high - low) * ((double)((z ^ (z >> 31)) >> 11) * 0x1p-53);
}

#endif
