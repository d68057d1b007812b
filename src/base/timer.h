/* SPDX-License-Identifier: Apache-2.0 */
/** @file base/timer.h  Monotonic wall time, and the split of a step by part. */
#ifndef TG_BASE_TIMER_H
#define TG_BASE_TIMER_H

#ifdef __cplusplus
extern "C" {
#endif

/** Seconds since some fixed moment, monotonic. */
double tg_time_now(void);
/** CPU seconds of this thread. */
double tg_time_thread_cpu(void);

#ifdef __cplusplus
}
#endif
#endif
