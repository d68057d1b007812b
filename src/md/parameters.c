/* SPDX-License-Identifier: Apache-2.0 */
/* Reads an .mdp file: lines of `key = value ; comment`, each by the tables of parameters_table.h.
 */
#include "md/parameters.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "md/parameters_table.h"

enum { EFFECT_SIZE = 512 };

tg_status tg_mdp_record(tg_mdp_reading* reading, const char* key, const char* value,
                        const char* effect, int line) {
  size_t capacity = (size_t)reading->line_capacity;
  TG_TRY(TG_RESERVE((size_t)reading->p.line_count + 1, "the record of parameters",
                    &reading->p.lines, &capacity));
  reading->line_capacity = (int)capacity;
  tg_parameter_line* record = &reading->p.lines[reading->p.line_count];
  *record = (tg_parameter_line){.line = line};
  reading->p.line_count++; /* counted at once, so that a failure below is cleaned up */
  TG_TRY(tg_copy_text(key, &record->key));
  TG_TRY(tg_copy_text(value, &record->value));
  return tg_copy_text(effect, &record->effect);
}

static tg_parameter_line* find_record(const tg_mdp_reading* reading, const char* key) {
  for (int i = 0; i < reading->p.line_count; i++)
    if (tg_mdp_same(reading->p.lines[i].key, key)) return &reading->p.lines[i];
  return NULL;
}

tg_status tg_mdp_amend(tg_mdp_reading* reading, const char* key, const char* format, ...) {
  tg_parameter_line* record = find_record(reading, key);
  if (!record) return TG_OK;
  char effect[EFFECT_SIZE];
  va_list args;
  va_start(args, format);
  vsnprintf(effect, sizeof effect, format, args);
  va_end(args);
  TG_FREE(record->effect);
  return tg_copy_text(effect, &record->effect);
}

tg_place tg_mdp_place(const tg_mdp_reading* reading, const char* key) {
  const tg_parameter_line* record = find_record(reading, key);
  const char* path = reading->p.path[0] ? reading->p.path : "default parameters";
  return (tg_place){path, record ? record->line : 0, 0};
}

/* A value switches a feature off if each of its words is one of the off words. */
static bool is_off(const char* value, const char* off) {
  const char* cursor = value;
  tg_word word;
  while (tg_next_word(value, &cursor, &word)) {
    char text[64], list[128];
    if ((size_t)word.length >= sizeof text) return false;
    snprintf(text, sizeof text, "%.*s", word.length, word.start);
    snprintf(list, sizeof list, "%s", off);
    bool found = false;
    char* rest = NULL;
    for (char* item = strtok_r(list, "|", &rest); item; item = strtok_r(NULL, "|", &rest)) {
      double a = 0, b = 1;
      bool numbers =
          tg_parse_double(text, word.length, &a) && tg_parse_double(item, (int)strlen(item), &b);
      found = found || tg_mdp_same(text, item) || (numbers && a == b);
    }
    if (!found) return false;
  }
  return true;
}

static tg_status store_other(tg_mdp_reading* reading, const tg_mdp_other* other, const char* key,
                             const char* value, tg_place place) {
  char effect[EFFECT_SIZE];
  if (other->rule == TG_MDP_OFF) {
    if (!is_off(value, other->words)) {
      char supported[128];
      snprintf(supported, sizeof supported, "%s", other->words[0] ? other->words : "no value");
      for (char* at = supported; *at; at++)
        if (*at == '|') *at = '/';
      return tg_fail_at(place, "%s = %s is not supported (supported: %s); %s", key, value,
                        supported, other->advice);
    }
    snprintf(effect, sizeof effect, "accepted: what this version does");
  } else if (other->rule == TG_MDP_UNUSED) {
    snprintf(effect, sizeof effect, "not used: it belongs to %s", other->words);
  } else {
    tg_log_warning(reading->log, "%s:%d: %s is obsolete and has no effect: %s", place.file,
                   place.line, key, other->words);
    snprintf(effect, sizeof effect, "obsolete, no effect: %s", other->words);
  }
  return tg_mdp_record(reading, key, value, effect, place.line);
}

static tg_status store_unknown(tg_mdp_reading* reading, const char* key, const char* value,
                               int line) {
  const char* nearest = tg_mdp_nearest(key);
  tg_log_warning(reading->log, "%s:%d: %s is not a known parameter and has no effect%s%s%s",
                 reading->p.path, line, key, nearest ? "; did you mean " : "",
                 nearest ? nearest : "", nearest ? "?" : "");
  return tg_mdp_record(reading, key, value, "unknown, no effect", line);
}

static tg_status store_entry(tg_mdp_reading* reading, const char* name, const char* value,
                             tg_place name_place, tg_place value_place) {
  const char* key = name;
  const tg_mdp_other* other = tg_mdp_find_other(name);
  if (other && other->rule == TG_MDP_RENAMED) {
    tg_log_warning(reading->log, "%s:%d: %s is the old name of %s", name_place.file,
                   name_place.line, name, other->words);
    key = other->words;
    other = tg_mdp_find_other(key);
  }
  const tg_mdp_key* known = tg_mdp_find_key(key);
  if (known) key = known->name;
  const tg_parameter_line* before = find_record(reading, key);
  if (before)
    return tg_fail_at(name_place, "%s is given twice, first in line %d; keep one of the two", name,
                      before->line);
  if (!known && other) return store_other(reading, other, key, value, value_place);
  if (!known) return store_unknown(reading, name, value, name_place.line);
  char effect[EFFECT_SIZE];
  bool list = known->kind >= TG_MDP_WORDS;
  const char* used = value[0] || list ? value : known->default_text; /* empty: the default */
  TG_TRY(tg_mdp_store(reading, known, used, value_place, effect, sizeof effect));
  return tg_mdp_record(reading, key, used, effect, name_place.line);
}

static tg_status read_line(tg_mdp_reading* reading, char* line, int number) {
  tg_place place = {reading->p.path, number, 0};
  char* comment = strchr(line, ';');
  if (comment) *comment = '\0';
  char* start = tg_trim(line); /* cuts the end; columns below still count from line */
  if (!*start) return TG_OK;
  char* equals = strchr(start, '=');
  place.column = (int)(start - line) + 1;
  if (!equals)
    return tg_fail_at(place, "found '%s'; expected `key = value` (or ';' before a comment)", start);
  *equals = '\0';
  char* value = tg_trim(equals + 1);
  char* name = tg_trim(start);
  if (!*name) return tg_fail_at(place, "there is no key before '='; expected `key = value`");
  tg_place value_place = {place.file, number, (int)(value - line) + 1};
  return store_entry(reading, name, value, place, value_place);
}

/* Gives every implemented key its default, by the same way as a file's value. */
static tg_status store_defaults(tg_mdp_reading* reading) {
  char effect[EFFECT_SIZE];
  tg_place place = {"default parameters", 0, 0};
  for (size_t i = 0; i < tg_mdp_key_count; i++)
    TG_TRY(tg_mdp_store(reading, &tg_mdp_keys[i], tg_mdp_keys[i].default_text, place, effect,
                        sizeof effect));
  return TG_OK;
}

/* Records the defaults of the keys the file did not give. */
static tg_status record_defaults(tg_mdp_reading* reading) {
  char effect[EFFECT_SIZE];
  tg_place place = {"default parameters", 0, 0};
  for (size_t i = 0; i < tg_mdp_key_count; i++) {
    const tg_mdp_key* key = &tg_mdp_keys[i];
    if (find_record(reading, key->name)) continue;
    TG_TRY(tg_mdp_store(reading, key, key->default_text, place, effect, sizeof effect));
    TG_TRY(tg_mdp_record(reading, key->name, key->default_text, effect, 0));
  }
  return TG_OK;
}

static tg_status read_parameters(const char* path, long long chance_seed, const tg_log* log,
                                 tg_parameters* out) {
  static const tg_log silent = {NULL, NULL};
  tg_mdp_reading reading;
  memset(&reading, 0, sizeof reading);
  reading.log = log ? log : &silent;
  reading.chance_seed = chance_seed;
  tg_text_file file = {0};
  tg_status status = TG_OK;
  TG_TRY_GOTO(tg_copy_text(path, &reading.p.path), done);
  TG_TRY_GOTO(store_defaults(&reading), done);
  if (path) TG_TRY_GOTO(tg_text_file_read(path, &file), done);
  for (size_t i = 0; i < file.line_count; i++)
    TG_TRY_GOTO(read_line(&reading, file.lines[i], (int)i + 1), done);
  reading.p.nstlist_given = find_record(&reading, "nstlist") != NULL;
  TG_TRY_GOTO(record_defaults(&reading), done);
  TG_TRY_GOTO(tg_mdp_check(&reading), done);
done:
  tg_text_file_free(&file);
  if (status != TG_OK) tg_parameters_free(&reading.p);
  *out = reading.p;
  return status;
}

tg_status tg_parameters_read(const char* path, long long chance_seed, const tg_log* log,
                             tg_parameters* out) {
  return read_parameters(path, chance_seed, log, out);
}

tg_status tg_parameters_default(tg_parameters* out) { return read_parameters(NULL, 0, NULL, out); }

void tg_parameters_free(tg_parameters* parameters) {
  if (!parameters) return;
  tg_mdp_clear_words(parameters->temperature_groups, &parameters->temperature_group_count);
  tg_mdp_clear_words(parameters->comm_groups, &parameters->comm_group_count);
  tg_mdp_clear_words(parameters->compressed_groups, &parameters->compressed_group_count);
  tg_mdp_clear_words(parameters->defines, &parameters->define_count);
  tg_mdp_clear_words(parameters->includes, &parameters->include_count);
  for (int i = 0; i < parameters->line_count; i++) {
    tg_free(parameters->lines[i].key);
    tg_free(parameters->lines[i].value);
    tg_free(parameters->lines[i].effect);
  }
  tg_free(parameters->lines);
  tg_free(parameters->path);
  memset(parameters, 0, sizeof *parameters);
}
