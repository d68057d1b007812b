/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <stdarg.h>
#include <string.h>

#include "base/memory.h"

/* Hands text to the sink line by line. */
static void give_lines(const tg_log* log, tg_log_level level, char* text) {
  for (char* line = text; line;) {
    char* end = strchr(line, '\n');
    if (end) *end = '\0';
    log->sink(log->context, level, line);
    line = end && end[1] ? end + 1 : NULL;
  }
}

__attribute__((format(printf, 3, 0))) static void write_words(const tg_log* log, tg_log_level level,
                                                              const char* format, va_list args) {
  if (!log || !log->sink) return;
  char buffer[1024];
  char* text = buffer;
  char* longer = NULL;
  va_list again;
  va_copy(again, args);
  int length = vsnprintf(buffer, sizeof buffer, format, args);
  if (length >= (int)sizeof buffer) {
    /* without memory for all of it the start is still worth saying, and no error of its own */
    char kept[sizeof buffer];
    snprintf(kept, sizeof kept, "%s", tg_last_error());
    if (TG_ALLOCATE((size_t)length + 1, "a log line", &longer) == TG_OK) {
      vsnprintf(longer, (size_t)length + 1, format, again);
      text = longer;
    } else {
      tg_set_last_error(kept);
    }
  }
  va_end(again);
  if (length >= 0) give_lines(log, level, text);
  tg_free(longer);
}

void tg_log_note(const tg_log* log, const char* format, ...) {
  va_list args;
  va_start(args, format);
  write_words(log, TG_LOG_NOTE, format, args);
  va_end(args);
}

void tg_log_warning(const tg_log* log, const char* format, ...) {
  va_list args;
  va_start(args, format);
  write_words(log, TG_LOG_WARNING, format, args);
  va_end(args);
}
