/* SPDX-License-Identifier: Apache-2.0 */
/* What every program that tests the halo on GPUs needs: expectations, their count, and numbers that
 * look random but are the same each time. */
#ifndef TG_TESTS_HALO_GPU_CHECK_CUH
#define TG_TESTS_HALO_GPU_CHECK_CUH

#include <stdint.h>
#include <stdio.h>

#include <string>

#include "base/status.h"

static int passed, failed;

/* One failed expectation fails the running case. */
static bool expect(bool right, const char* what) {
  if (!right) printf("    not so: %s\n", what);
  return right;
}

#define EXPECT(condition)                                                                          \
  if (!expect((condition), #condition)) return false
#define RUN(call)                                                                                  \
  do {                                                                                             \
    if ((call) != TG_OK) {                                                                         \
      printf("    %s: %s\n", #call, tg_last_error());                                              \
      return false;                                                                                \
    }                                                                                              \
  } while (0)

static void report(bool right, const std::string& name) {
  right ? passed++ : failed++;
  if (!right) printf("FAILED %s\n", name.c_str());
  fflush(stdout);
}

[[maybe_unused]] static double uniform(uint64_t a, uint64_t b) {
  uint64_t z = a * 0x9e3779b97f4a7c15u + b * 0xbf58476d1ce4e5b9u + 1;
  z = (z ^ (z >> 30)) * 0x94d049bb133111ebu;
  z = (z ^ (z >> 27)) * 0xbf58476d1ce4e5b9u;
  return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

typedef double vector3[3];

typedef struct layout {
  int grid[3];
  double reach;
  int atoms;
  double filled; /* the fraction of the box along each edge that holds atoms */
} layout;

#endif
