/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/key_table.h  A hash table from 64-bit keys to whole numbers: where an element stands.
 */
#ifndef TG_CI_KEY_TABLE_H
#define TG_CI_KEY_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/** Zero it before use. Keys are never 0. */
typedef struct tg_ci_key_table {
  uint64_t* keys; /* [size], 0: free */
  uint32_t* values;
  size_t size; /* a power of two, or 0 */
  size_t count;
} tg_ci_key_table;

enum { TG_CI_NO_KEY = -1 };

/** The value of a key, or TG_CI_NO_KEY. */
int64_t tg_ci_key_table_find(const tg_ci_key_table* table, uint64_t key);
/** Adds a key that is not there yet. */
tg_status tg_ci_key_table_add(tg_ci_key_table* table, uint64_t key, uint32_t value);
void tg_ci_key_table_free(tg_ci_key_table* table);

#endif
