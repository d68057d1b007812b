/* SPDX-License-Identifier: Apache-2.0 */
/** @file base/json.h  Writes JSON (never reads it): objects, arrays, numbers that read back
 * exactly. */
#ifndef TG_BASE_JSON_H
#define TG_BASE_JSON_H

#include <stdbool.h>
#include <stdio.h>

/** A writer onto a stream. Keys are given inside objects and NULL inside arrays. Doubles are
 * written with 17 significant digits; NaN and infinities as null. Text is taken as UTF-8 and
 * escaped. */
typedef struct tg_json {
  FILE* stream; /* not owned */
  int depth;
  bool pretty;    /* indented by two, or all on one line (JSON Lines) */
  bool first[32]; /* per depth: nothing written yet */
  bool array[32];
} tg_json;

tg_json tg_json_on(FILE* stream, bool pretty);
void tg_json_open_object(tg_json* json, const char* key);
/** The outermost object ends its line. */
void tg_json_close_object(tg_json* json);
void tg_json_open_array(tg_json* json, const char* key);
void tg_json_close_array(tg_json* json);
void tg_json_double(tg_json* json, const char* key, double value);
void tg_json_int(tg_json* json, const char* key, long long value);
void tg_json_bool(tg_json* json, const char* key, bool value);
void tg_json_text(tg_json* json, const char* key, const char* value); /* NULL writes null */
/** An array of count doubles. */
void tg_json_doubles(tg_json* json, const char* key, const double* values, size_t count);

#endif
