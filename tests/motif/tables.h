/* SPDX-License-Identifier: Apache-2.0 */
/** @file tests/motif/tables.h  Walks over every backend's table, and memory of theirs with guards.
 * Include after cmocka.h. */
#ifndef TG_TESTS_MOTIF_TABLES_H
#define TG_TESTS_MOTIF_TABLES_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "motif/table.h"

static const uint8_t TABLES_GUARD = 0xA5;
enum { TABLES_GUARD_BYTES = 64 };

/* The tables that run here (TG_TEST_BACKEND: that one alone); those that do not are named once. */
static inline const tg_motif_table* tables_next(int* index) {
  static bool said[64]; /* by place */
  const char* only = getenv("TG_TEST_BACKEND");
  for (;;) {
    const tg_motif_table* table = tg_motif_tables()[(*index)++];
    if (only != NULL && table != NULL && strcmp(only, table->name) != 0) continue;
    if (table == NULL || table->check == NULL || table->check() == TG_OK) return table;
    if (*index < 64 && !said[*index])
      fprintf(stderr, "skipped: backend %s: %s\n", table->name, tg_last_error());
    if (*index < 64) said[*index] = true;
  }
}

/* TG_TEST_VERSION: only versions with these words in their names; several are parted by commas, and
 * "=word64 simd" is the whole name. TG_TEST_NAMES=1 names each version before it runs, so that one
 * that ends the program, or never does, is known. */
static inline bool tables_left_out(const char* version) {
  const char* rest = getenv("TG_TEST_VERSION");
  bool wanted = rest == NULL;
  while (!wanted && *rest != '\0') {
    char words[100];
    const size_t length = strcspn(rest, ",");
    snprintf(words, sizeof words, "%.*s", (int)length, rest);
    rest += length + (rest[length] == ',');
    wanted = words[0] == '=' ? strcmp(version, words + 1) == 0 : words[0] && strstr(version, words);
  }
  if (wanted && getenv("TG_TEST_NAMES") != NULL) {
    printf("  %s\n", version);
    fflush(stdout);
  }
  return !wanted;
}

/* TG_TEST_MOST: the most elements of a scan, items or pairs of a reduction; for checkers that slow
 * everything down. */
static inline bool tables_too_many(size_t count) {
  const char* most = getenv("TG_TEST_MOST");
  return most != NULL && count > strtoull(most, NULL, 10);
}

/* bytes of the backend's memory, filled with the guard's byte, and as many more behind. */
static inline void* tables_room(const tg_motif_table* table, size_t bytes) {
  void* out = NULL;
  uint8_t* pattern = malloc(bytes + TABLES_GUARD_BYTES);
  assert_non_null(pattern);
  memset(pattern, TABLES_GUARD, bytes + TABLES_GUARD_BYTES);
  assert_int_equal(table->memory->allocate(bytes + TABLES_GUARD_BYTES, "a test", &out), TG_OK);
  assert_int_equal(table->memory->upload(out, pattern, bytes + TABLES_GUARD_BYTES), TG_OK);
  free(pattern);
  return out;
}

static inline void* tables_copy(const tg_motif_table* table, const void* from, size_t bytes) {
  void* out = tables_room(table, bytes);
  assert_int_equal(table->memory->upload(out, from, bytes), TG_OK);
  return out;
}

/* Reads back into to (bytes long), checks that the guard is whole, and releases. */
static inline void tables_take(const tg_motif_table* table, void* room, size_t bytes, void* to) {
  uint8_t* all = malloc(bytes + TABLES_GUARD_BYTES);
  assert_non_null(all);
  assert_int_equal(table->memory->synchronize(), TG_OK);
  assert_int_equal(table->memory->download(all, room, bytes + TABLES_GUARD_BYTES), TG_OK);
  for (size_t i = 0; i < TABLES_GUARD_BYTES; i++) assert_int_equal(all[bytes + i], TABLES_GUARD);
  if (bytes > 0) memcpy(to, all, bytes);
  free(all);
  table->memory->release(room);
}

static inline uint64_t tables_random(uint64_t* state) {
  *state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
  return *state >> 33;
}

#endif
