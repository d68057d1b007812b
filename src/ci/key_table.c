/* SPDX-License-Identifier: Apache-2.0 */
/* Open addressing with linear probing, at most half full. */
#include "ci/key_table.h"

#include <string.h>

#include "base/memory.h"

static size_t place_of(const tg_ci_key_table* table, uint64_t key) {
  uint64_t mixed = (key ^ (key >> 29)) * UINT64_C(0x9E3779B97F4A7C15);
  size_t at = (size_t)(mixed >> 20) & (table->size - 1);
  while (table->keys[at] && table->keys[at] != key) at = (at + 1) & (table->size - 1);
  return at;
}

int64_t tg_ci_key_table_find(const tg_ci_key_table* table, uint64_t key) {
  if (table->size == 0) return TG_CI_NO_KEY;
  size_t at = place_of(table, key);
  return table->keys[at] ? (int64_t)table->values[at] : TG_CI_NO_KEY;
}

static tg_status grow(tg_ci_key_table* table) {
  tg_ci_key_table larger = {.size = table->size ? 2 * table->size : 64, .count = table->count};
  TG_TRY(TG_ALLOCATE(larger.size, "the index of matrix elements", &larger.keys));
  tg_status status = TG_ALLOCATE(larger.size, "the index of matrix elements", &larger.values);
  if (status != TG_OK) {
    tg_free(larger.keys);
    return status;
  }
  for (size_t i = 0; i < table->size; i++) {
    if (!table->keys[i]) continue;
    size_t at = place_of(&larger, table->keys[i]);
    larger.keys[at] = table->keys[i];
    larger.values[at] = table->values[i];
  }
  tg_ci_key_table_free(table);
  *table = larger;
  return TG_OK;
}

tg_status tg_ci_key_table_add(tg_ci_key_table* table, uint64_t key, uint32_t value) {
  if (2 * (table->count + 1) > table->size) TG_TRY(grow(table));
  size_t at = place_of(table, key);
  table->keys[at] = key;
  table->values[at] = value;
  table->count++;
  return TG_OK;
}

void tg_ci_key_table_free(tg_ci_key_table* table) {
  tg_free(table->keys);
  tg_free(table->values);
  memset(table, 0, sizeof *table);
}
