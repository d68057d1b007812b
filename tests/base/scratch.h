/* SPDX-License-Identifier: Apache-2.0 */
/** @file scratch.h  A fresh folder for a test's files, and reading them back. */
#ifndef TG_TESTS_BASE_SCRATCH_H
#define TG_TESTS_BASE_SCRATCH_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Makes a fresh folder below the build folder; returns its path (static). */
static inline const char* scratch_make(void) {
  static char folder[512];
  snprintf(folder, sizeof folder, "%s/scratch-XXXXXX", TG_BUILD_DIR);
  assert_non_null(mkdtemp(folder));
  return folder;
}

/** Removes the folder and all in it. */
static inline void scratch_remove(const char* folder) {
  char command[600];
  snprintf(command, sizeof command, "rm -rf '%s'", folder);
  assert_int_equal(system(command), 0);
}

/** "folder/name", in one of a few static buffers, so that results may be folders of others. */
static inline const char* scratch_path(const char* folder, const char* name) {
  static char paths[8][1024];
  static int next;
  char joined[sizeof paths[0]]; /* apart: folder may itself lie in paths */
  snprintf(joined, sizeof joined, "%s/%s", folder, name);
  char* path = paths[next++ % 8];
  memcpy(path, joined, sizeof joined);
  return path;
}

/** The first bytes of a file as text (static); NULL if it cannot be read. */
static inline const char* scratch_read(const char* path) {
  static char bytes[1 << 18];
  FILE* stream = fopen(path, "rb");
  if (!stream) return NULL;
  size_t size = fread(bytes, 1, sizeof bytes - 1, stream);
  bytes[size] = '\0';
  fclose(stream);
  return bytes;
}

#endif
