/* SPDX-License-Identifier: Apache-2.0 */
#include "base/status.h"

#include <stdio.h>
#include <string.h>

enum { MESSAGE_SIZE = 2048 };
static _Thread_local char message[MESSAGE_SIZE];

const char* tg_status_text(tg_status status) {
  switch (status) {
#define TG_STATUS_CASE(name, code, text)                                                           \
  case name: return text;
    TG_STATUS_LIST(TG_STATUS_CASE)
#undef TG_STATUS_CASE
  }
  return "unknown status";
}

const char* tg_last_error(void) { return message; }

tg_status tg_vfail(tg_status status, const char* format, va_list args) {
  vsnprintf(message, sizeof message, format, args);
  return status;
}

tg_status tg_fail(tg_status status, const char* format, ...) {
  va_list args;
  va_start(args, format);
  tg_vfail(status, format, args);
  va_end(args);
  return status;
}

tg_status tg_fail_context(tg_status status, const char* format, ...) {
  char before[MESSAGE_SIZE];
  memcpy(before, message, sizeof before);
  va_list args;
  va_start(args, format);
  int length = vsnprintf(message, sizeof message, format, args);
  va_end(args);
  if (length >= 0 && length < MESSAGE_SIZE)
    snprintf(message + length, sizeof message - (size_t)length, "%s", before);
  return status;
}

void tg_set_last_error(const char* text) { snprintf(message, sizeof message, "%s", text); }
