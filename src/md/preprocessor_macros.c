/* SPDX-License-Identifier: Apache-2.0 */
#include "md/preprocessor_macros.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

#include "base/memory.h"

tg_status tg_mapped_append(tg_mapped_line* line, char character, int from_line, int from_column) {
  TG_TRY(TG_RESERVE(line->length + 2, "a line", &line->text, &line->text_capacity));
  TG_TRY(TG_RESERVE(line->length + 2, "a line", &line->origins, &line->origins_capacity));
  line->text[line->length] = character;
  line->origins[line->length++] = (tg_origin){from_line, from_column};
  return TG_OK;
}

tg_status tg_mapped_end(tg_mapped_line* line) {
  TG_TRY(TG_RESERVE(line->length + 1, "a line", &line->text, &line->text_capacity));
  line->text[line->length] = '\0';
  return TG_OK;
}

void tg_mapped_free(tg_mapped_line* line) {
  tg_free(line->text);
  tg_free(line->origins);
  memset(line, 0, sizeof *line);
}

static bool is_name_character(char c) { return isalnum((unsigned char)c) || c == '_'; }

int tg_macro_name_length(const char* text) {
  if (!is_name_character(*text) || isdigit((unsigned char)*text)) return 0;
  int length = 0;
  while (is_name_character(text[length])) length++;
  return length;
}

/* FNV-1a, 32 bits */
static size_t hash_name(const char* name, int length) {
  uint32_t hash = 2166136261u;
  for (int i = 0; i < length; i++) hash = (hash ^ (unsigned char)name[i]) * 16777619u;
  return hash;
}

static tg_macro* look_up(const tg_macro_table* table, const char* name, int length) {
  if (length <= 0 || table->bucket_count == 0) return NULL;
  for (int i = table->buckets[hash_name(name, length) % table->bucket_count]; i >= 0;
       i = table->next[i]) {
    tg_macro* macro = &table->items[i];
    if (strlen(macro->name) == (size_t)length && memcmp(macro->name, name, (size_t)length) == 0)
      return macro;
  }
  return NULL;
}

tg_macro* tg_macro_find(tg_macro_table* table, const char* name, int length) {
  tg_macro* macro = look_up(table, name, length);
  if (macro) macro->used = true;
  return macro;
}

static tg_status rebuild(tg_macro_table* table) {
  if (table->bucket_count < table->capacity) {
    TG_FREE(table->buckets);
    TG_FREE(table->next);
    table->bucket_count = 0;
    TG_TRY(TG_ALLOCATE(table->capacity, "macros", &table->buckets));
    TG_TRY(TG_ALLOCATE(table->capacity, "macros", &table->next));
    table->bucket_count = table->capacity;
  }
  for (size_t i = 0; i < table->bucket_count; i++) table->buckets[i] = -1;
  for (size_t i = 0; i < table->count; i++) {
    const char* name = table->items[i].name;
    int* bucket = &table->buckets[hash_name(name, (int)strlen(name)) % table->bucket_count];
    table->next[i] = *bucket;
    *bucket = (int)i;
  }
  return TG_OK;
}

tg_status tg_macro_set(tg_macro_table* table, const char* name, int length, const char* value,
                       bool given) {
  tg_macro* macro = look_up(table, name, length);
  if (macro) {
    char* copy = NULL;
    TG_TRY(tg_copy_text(value, &copy));
    tg_free(macro->value);
    macro->value = copy;
    return TG_OK;
  }
  TG_TRY(TG_RESERVE(table->count + 1, "macros", &table->items, &table->capacity));
  tg_macro added = {.given = given};
  TG_TRY(TG_ALLOCATE((size_t)length + 1, "a macro", &added.name));
  memcpy(added.name, name, (size_t)length);
  tg_status status = tg_copy_text(value, &added.value);
  if (status != TG_OK) {
    tg_free(added.name);
    return status;
  }
  table->items[table->count++] = added;
  if (table->bucket_count < table->capacity) return rebuild(table);
  int* bucket = &table->buckets[hash_name(name, length) % table->bucket_count];
  table->next[table->count - 1] = *bucket;
  *bucket = (int)table->count - 1;
  return TG_OK;
}

void tg_macro_remove(tg_macro_table* table, const char* name, int length) {
  tg_macro* macro = look_up(table, name, length);
  if (!macro) return;
  tg_free(macro->name);
  tg_free(macro->value);
  *macro = table->items[--table->count];
  rebuild(table); /* only refills what is there: cannot fail */
}

void tg_macro_table_free(tg_macro_table* table) {
  for (size_t i = 0; i < table->count; i++) {
    tg_free(table->items[i].name);
    tg_free(table->items[i].value);
  }
  tg_free(table->items);
  tg_free(table->buckets);
  tg_free(table->next);
  memset(table, 0, sizeof *table);
}

/* Appends text with its macros replaced. origins: one for each character, or (shared) one for all.
 */
static tg_status expand_text(tg_macro_table* table, const char* text, const tg_origin* origins,
                             bool shared, tg_mapped_line* out, const char** circle) {
  for (size_t i = 0; text[i] && !*circle;) {
    const tg_origin* origin = shared ? origins : &origins[i];
    size_t length = 0;
    while (is_name_character(text[i + length])) length++;
    tg_macro* macro = tg_macro_find(table, text + i, (int)length);
    if (macro && macro->value[0]) {
      if (macro->open) {
        *circle = macro->name;
        return TG_OK;
      }
      macro->open = true;
      tg_status status = expand_text(table, macro->value, origin, true, out, circle);
      macro->open = false;
      TG_TRY(status);
      i += length;
      continue;
    }
    for (size_t end = i + (length ? length : 1); i < end; i++) {
      origin = shared ? origins : &origins[i];
      TG_TRY(tg_mapped_append(out, text[i], origin->line, origin->column));
    }
  }
  return TG_OK;
}

tg_status tg_macro_expand(tg_macro_table* table, const tg_mapped_line* in, tg_mapped_line* out,
                          const char** circle) {
  *circle = NULL;
  out->length = 0;
  TG_TRY(expand_text(table, in->text, in->origins, false, out, circle));
  return tg_mapped_end(out);
}
