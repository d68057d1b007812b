/* SPDX-License-Identifier: Apache-2.0 */
/** @file base/timer.h  Monotonic wall time, and the split of a step by part. */
#ifndef TG_BASE_TIMER_H
#define TG_BASE_TIMER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Seconds since some fixed moment, monotonic. */
double tg_time_now(void);
/** The same clock in nanoseconds: CLOCK_MONOTONIC, one for all processes of a machine. */
int64_t tg_time_now_ns(void);
/** CPU seconds of this thread. */
double tg_time_thread_cpu(void);

#ifdef __cplusplus
}
#endif
#endif
