/* SPDX-License-Identifier: Apache-2.0 */
#include "ci/input/namelist.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

enum { MOST_REPEATS = 4096 };

void tg_ci_namelist_free(tg_ci_namelist* list) {
  for (size_t i = 0; i < list->count; i++) {
    for (size_t k = 0; k < list->entry[i].count; k++) tg_free(list->entry[i].value[k]);
    tg_free(list->entry[i].value);
  }
  tg_free(list->entry);
  memset(list, 0, sizeof *list);
}

static bool is_separator(char c) { return c == ',' || c == ';' || isspace((unsigned char)c); }

/* Where the scan stands; words end at separators, '=', '&', '$' and '/'. */
typedef struct cursor {
  const tg_text_file* file;
  size_t line;
  size_t column;
} cursor;

static tg_place place_of(const cursor* at) {
  return (tg_place){at->file->path, (int)at->line + 1, (int)at->column + 1};
}

/* Moves to the next character that is no separator; false at the end of the file. */
static bool skip(cursor* at) {
  while (at->line < at->file->line_count) {
    const char* text = at->file->lines[at->line] + at->column;
    while (*text && *text != '!' && is_separator(*text)) text++;
    at->column = (size_t)(text - at->file->lines[at->line]);
    if (*text && *text != '!') return true;
    at->line++;
    at->column = 0;
  }
  return false;
}

static char peek(const cursor* at) { return at->file->lines[at->line][at->column]; }

/* Copies the word here; its length is 0 at one of "=&$/". */
static size_t take_word(cursor* at, char* word, size_t size) {
  const char* text = at->file->lines[at->line] + at->column;
  size_t length = 0;
  while (text[length] && !is_separator(text[length]) && !strchr("=&$/!", text[length])) length++;
  const size_t kept = length < size - 1 ? length : size - 1;
  memcpy(word, text, kept);
  word[kept] = '\0';
  at->column += length;
  return length;
}

static tg_status add_value(tg_ci_namelist_entry* entry, const char* word) {
  TG_TRY(TG_RESERVE(entry->count + 1, "values of a namelist", &entry->value, &entry->capacity));
  TG_TRY(tg_copy_text(word, &entry->value[entry->count]));
  entry->count++;
  return TG_OK;
}

/* `3*1` is 1 1 1. */
static tg_status add_values(tg_ci_namelist_entry* entry, const char* word, tg_place place) {
  const char* star = strchr(word, '*');
  int repeats = 1;
  if (star &&
      (!tg_parse_int(word, (int)(star - word), &repeats) || repeats < 1 || repeats > MOST_REPEATS))
    return tg_fail_at(place, "found '%s'; expected a value, or a repeated one such as 8*1", word);
  for (int i = 0; i < repeats; i++) TG_TRY(add_value(entry, star ? star + 1 : word));
  return TG_OK;
}

static tg_status add_entry(tg_ci_namelist* list, const char* key, tg_place place) {
  TG_TRY(TG_RESERVE(list->count + 1, "keys of a namelist", &list->entry, &list->capacity));
  tg_ci_namelist_entry* entry = &list->entry[list->count];
  memset(entry, 0, sizeof *entry);
  size_t length = strlen(key);
  if (length >= sizeof entry->key)
    return tg_fail_at(place, "found '%.40s'; expected a key such as NORB", key);
  for (size_t i = 0; i <= length; i++) entry->key[i] = (char)toupper((unsigned char)key[i]);
  entry->place = place;
  for (size_t i = 0; i < list->count; i++)
    if (strcmp(list->entry[i].key, entry->key) == 0)
      return tg_fail_at(place, "the key %s is there twice; expected it once", entry->key);
  list->count++;
  return TG_OK;
}

/* `&FCI` */
static tg_status read_begin(cursor* at) {
  char word[32];
  if (!skip(at))
    return tg_fail_at((tg_place){at->file->path, 0, 0}, "the file is empty; expected `&FCI`");
  const tg_place place = place_of(at);
  const char first = peek(at);
  if (first == '&' || first == '$') at->column++;
  take_word(at, word, sizeof word);
  if ((first != '&' && first != '$') || tg_compare_nocase(word, "FCI") != 0)
    return tg_fail_at(place, "found '%.20s'; expected `&FCI`", at->file->lines[place.line - 1]);
  return TG_OK;
}

static tg_status unexpected(const cursor* at) {
  return tg_fail_at(place_of(at), "found '%.20s'; expected KEY = value, or the end &END or /",
                    at->file->lines[at->line] + at->column);
}

static tg_status read_entries(cursor* at, tg_ci_namelist* list) {
  char word[128];
  tg_ci_namelist_entry* entry = NULL;
  for (;;) {
    if (!skip(at))
      return tg_fail_at((tg_place){at->file->path, (int)at->file->line_count, 0},
                        "the file ends within the namelist; expected its end, &END or /");
    const tg_place place = place_of(at);
    const char first = peek(at);
    if (first == '/') {
      at->column++;
      break;
    }
    if (first == '&' || first == '$') {
      at->column++;
      take_word(at, word, sizeof word);
      if (tg_compare_nocase(word, "END") != 0 && *word)
        return tg_fail_at(place, "found '%c%s'; expected &END or /", first, word);
      break;
    }
    if (take_word(at, word, sizeof word) == 0) return unexpected(at);
    /* a word before an equals sign is a key; the sign may stand on its own */
    cursor ahead = *at;
    if (skip(&ahead) && peek(&ahead) == '=') {
      *at = ahead;
      at->column++;
      TG_TRY(add_entry(list, word, place));
      entry = &list->entry[list->count - 1];
    } else if (entry) {
      TG_TRY(add_values(entry, word, place));
    } else {
      return tg_fail_at(place, "found '%s'; expected KEY = value", word);
    }
  }
  /* what follows on this line would be lost */
  const size_t end_line = at->line;
  if (skip(at) && at->line == end_line)
    return tg_fail_at(place_of(at), "found '%.20s' behind the namelist's end; expected a new line",
                      at->file->lines[at->line] + at->column);
  list->next_line = end_line + 1;
  return TG_OK;
}

tg_status tg_ci_namelist_read(const tg_text_file* file, tg_ci_namelist* out) {
  cursor at = {.file = file};
  tg_ci_namelist list = {0};
  tg_status status = read_begin(&at);
  if (status == TG_OK) status = read_entries(&at, &list);
  if (status != TG_OK) {
    tg_ci_namelist_free(&list);
    return status;
  }
  *out = list;
  return TG_OK;
}

const tg_ci_namelist_entry* tg_ci_namelist_find(const tg_ci_namelist* list, const char* key) {
  for (size_t i = 0; i < list->count; i++)
    if (strcmp(list->entry[i].key, key) == 0) return &list->entry[i];
  return NULL;
}

static tg_status one_value(const tg_ci_namelist_entry* entry, const char** value) {
  if (entry->count != 1)
    return tg_fail_at(entry->place, "found %zu values of %s; expected one", entry->count,
                      entry->key);
  *value = entry->value[0];
  return TG_OK;
}

tg_status tg_ci_namelist_int(const tg_ci_namelist* list, const char* key, int least, int most,
                             int* out) {
  const tg_ci_namelist_entry* entry = tg_ci_namelist_find(list, key);
  const char* value = NULL;
  int number = 0;
  if (!entry) return TG_OK;
  TG_TRY(one_value(entry, &value));
  if (!tg_parse_int(value, (int)strlen(value), &number) || number < least || number > most)
    return tg_fail_at(entry->place, "found %s = '%s'; expected a whole number from %d to %d", key,
                      value, least, most);
  *out = number;
  return TG_OK;
}

tg_status tg_ci_namelist_logical(const tg_ci_namelist* list, const char* key, bool* out) {
  const tg_ci_namelist_entry* entry = tg_ci_namelist_find(list, key);
  const char* value = NULL;
  if (!entry) return TG_OK;
  TG_TRY(one_value(entry, &value));
  const char* letter = value + (*value == '.');
  const int first = toupper((unsigned char)*letter);
  if (first == 'T' || strcmp(value, "1") == 0)
    *out = true;
  else if (first == 'F' || strcmp(value, "0") == 0)
    *out = false;
  else
    return tg_fail_at(entry->place, "found %s = '%s'; expected .TRUE. or .FALSE.", key, value);
  return TG_OK;
}
