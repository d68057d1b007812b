/* SPDX-License-Identifier: Apache-2.0 */
/** @file input.h  Small input files for the tests of the readers, and what the readers said. */
#ifndef TG_TESTS_MD_INPUT_H
#define TG_TESTS_MD_INPUT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/status.h"

/** Writes text as a file in the test's folder; returns its path (one of a few static buffers). */
static inline const char* input_file(const char* name, const char* text) {
  static char paths[8][512];
  static int next;
  char* path = paths[next++ % 8];
  snprintf(path, sizeof paths[0], "%s/input-%d-%s", TG_BUILD_DIR, (int)getpid(), name);
  FILE* stream = fopen(path, "w");
  assert_non_null(stream);
  fputs(text, stream);
  assert_int_equal(fclose(stream), 0);
  return path;
}

/** Checks the status and that the message holds each of the parts ('|' between them). */
static inline void expect_refusal(const char* what, tg_status status, const char* parts) {
  char list[256];
  snprintf(list, sizeof list, "%s", parts);
  if (status != TG_ERR_INPUT) fail_msg("%s: status %d, not TG_ERR_INPUT", what, (int)status);
  char* rest = NULL;
  for (char* part = strtok_r(list, "|", &rest); part; part = strtok_r(NULL, "|", &rest))
    if (!strstr(tg_last_error(), part))
      fail_msg("%s: '%s' is not in '%s'", what, part, tg_last_error());
}

/** Collects what is logged. */
typedef struct input_log {
  char text[8192];
  int warnings;
} input_log;

static inline void input_sink(void* context, tg_log_level level, const char* line) {
  input_log* all = context;
  size_t used = strlen(all->text);
  snprintf(all->text + used, sizeof all->text - used, "%s\n", line);
  all->warnings += level == TG_LOG_WARNING;
}

#endif
