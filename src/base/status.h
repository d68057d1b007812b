/* SPDX-License-Identifier: Apache-2.0 */
/** @file base/status.h  How code inside throng reports a failure. */
#ifndef TG_BASE_STATUS_H
#define TG_BASE_STATUS_H

#include <stdarg.h>
#include <throng/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Composes this thread's error message (printf style) and returns status, so that a function can
 * write `return tg_fail(TG_ERR_INPUT, "...")`. A message says where, what was found, what was
 * expected, what to do. */
tg_status tg_fail(tg_status status, const char* format, ...) __attribute__((format(printf, 2, 3)));

/** As tg_fail, with a va_list. */
tg_status tg_vfail(tg_status status, const char* format, va_list args)
    __attribute__((format(printf, 2, 0)));

/** Puts words in front of this thread's message ("while reading ...: "); returns status. */
tg_status tg_fail_context(tg_status status, const char* format, ...)
    __attribute__((format(printf, 2, 3)));

/** Sets this thread's message to a copy of text (used to hand on another PE's message). */
void tg_set_last_error(const char* text);

/** Passes a failure on to the caller. */
#define TG_TRY(expression)                                                                         \
  do {                                                                                             \
    tg_status tg_try_status_ = (expression);                                                       \
    if (tg_try_status_ != TG_OK) return tg_try_status_;                                            \
  } while (0)

/** Passes a failure on by way of a clean-up label; needs a variable `status`. */
#define TG_TRY_GOTO(expression, label)                                                             \
  do {                                                                                             \
    status = (expression);                                                                         \
    if (status != TG_OK) goto label;                                                               \
  } while (0)

#ifdef __cplusplus
}
#endif
#endif
