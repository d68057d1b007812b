/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include <assert.h>
#include <math.h>

enum { MOST_DEPTH = sizeof((tg_json*)0)->first / sizeof(bool) };

/* Bytes of the well-formed UTF-8 sequence at text (Unicode table 3-7), 0 if it is not one. */
static int utf8_length(const unsigned char* text) {
  unsigned char lead = text[0];
  if (lead < 0x80) return 1;
  int length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  unsigned char low = 0x80, high = 0xBF; /* of the second byte: no over-long forms, no surrogates */
  if (lead == 0xE0) low = 0xA0;
  if (lead == 0xED) high = 0x9F;
  if (lead == 0xF0) low = 0x90;
  if (lead == 0xF4) high = 0x8F;
  if (text[1] < low || text[1] > high) return 0;
  for (int i = 2; i < length; i++)
    if (text[i] < 0x80 || text[i] > 0xBF) return 0;
  return length;
}

static void write_quoted(FILE* stream, const char* text) {
  fputc('"', stream);
  for (const unsigned char* at = (const unsigned char*)text; *at;) {
    int length = utf8_length(at);
    if (length == 0) {
      fputs("\\ufffd", stream); /* a byte that is no text */
      at++;
      continue;
    }
    if (length == 1 && (*at < 0x20 || *at == 0x7F || *at == '"' || *at == '\\')) {
      switch (*at) {
        case '"': fputs("\\\"", stream); break;
        case '\\': fputs("\\\\", stream); break;
        case '\n': fputs("\\n", stream); break;
        case '\t': fputs("\\t", stream); break;
        case '\r': fputs("\\r", stream); break;
        default: fprintf(stream, "\\u%04x", *at);
      }
    } else {
      fwrite(at, 1, (size_t)length, stream);
    }
    at += length;
  }
  fputc('"', stream);
}

static void new_line(const tg_json* json) {
  if (!json->pretty) return;
  fprintf(json->stream, "\n%*s", 2 * json->depth, "");
}

/* Comma, line and key in front of a value. */
static void begin_value(tg_json* json, const char* key) {
  if (json->depth == 0) return;
  assert(json->array[json->depth] == (key == NULL));
  if (!json->first[json->depth]) fputs(json->pretty ? "," : ", ", json->stream);
  json->first[json->depth] = false;
  new_line(json);
  if (key) {
    write_quoted(json->stream, key);
    fputs(": ", json->stream);
  }
}

/* A whole value at the top ends its line: JSON Lines. */
static void end_value(const tg_json* json) {
  if (json->depth == 0) fputc('\n', json->stream);
}

static void open_level(tg_json* json, const char* key, bool array) {
  begin_value(json, key);
  fputc(array ? '[' : '{', json->stream);
  assert(json->depth + 1 < MOST_DEPTH);
  json->depth++;
  json->first[json->depth] = true;
  json->array[json->depth] = array;
}

static void close_level(tg_json* json, bool array) {
  assert(json->depth > 0 && json->array[json->depth] == array);
  bool empty = json->first[json->depth];
  json->depth--;
  if (!empty) new_line(json);
  fputc(array ? ']' : '}', json->stream);
  end_value(json);
}

static void write_number(FILE* stream, double value) {
  if (isfinite(value))
    fprintf(stream, "%.17g", value);
  else
    fputs("null", stream);
}

tg_json tg_json_on(FILE* stream, bool pretty) {
  return (tg_json){.stream = stream, .pretty = pretty};
}

void tg_json_open_object(tg_json* json, const char* key) { open_level(json, key, false); }
void tg_json_close_object(tg_json* json) { close_level(json, false); }
void tg_json_open_array(tg_json* json, const char* key) { open_level(json, key, true); }
void tg_json_close_array(tg_json* json) { close_level(json, true); }

void tg_json_double(tg_json* json, const char* key, double value) {
  begin_value(json, key);
  write_number(json->stream, value);
  end_value(json);
}

void tg_json_int(tg_json* json, const char* key, long long value) {
  begin_value(json, key);
  fprintf(json->stream, "%lld", value);
  end_value(json);
}

void tg_json_bool(tg_json* json, const char* key, bool value) {
  begin_value(json, key);
  fputs(value ? "true" : "false", json->stream);
  end_value(json);
}

void tg_json_text(tg_json* json, const char* key, const char* value) {
  begin_value(json, key);
  if (value)
    write_quoted(json->stream, value);
  else
    fputs("null", json->stream);
  end_value(json);
}

void tg_json_doubles(tg_json* json, const char* key, const double* values, size_t count) {
  begin_value(json, key);
  fputc('[', json->stream);
  for (size_t i = 0; i < count; i++) {
    if (i) fputs(", ", json->stream);
    write_number(json->stream, values[i]);
  }
  fputc(']', json->stream);
  end_value(json);
}
