/* SPDX-License-Identifier: Apache-2.0 */
#include "base/timer.h"

#include <time.h>

static double seconds(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int64_t tg_time_now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

double tg_time_now(void) { return seconds(CLOCK_MONOTONIC); }
double tg_time_thread_cpu(void) { return seconds(CLOCK_THREAD_CPUTIME_ID); }
