/* SPDX-License-Identifier: Apache-2.0 */
/** @file base/log.h  Words for people on their way to a file or a callback: the library never
 * prints. */
#ifndef TG_BASE_LOG_H
#define TG_BASE_LOG_H

#include <stdio.h>

typedef enum tg_log_level { TG_LOG_NOTE, TG_LOG_WARNING } tg_log_level;

/** Receives one line, without its end. */
typedef void (*tg_log_sink)(void* context, tg_log_level level, const char* line);

typedef struct tg_log {
  tg_log_sink sink; /* NULL: silent */
  void* context;
} tg_log;

void tg_log_note(const tg_log* log, const char* format, ...) __attribute__((format(printf, 2, 3)));
void tg_log_warning(const tg_log* log, const char* format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
