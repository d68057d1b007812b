/* SPDX-License-Identifier: Apache-2.0 */
/** @file base/text.h  Reading text with places: every message can name file, line and column. */
#ifndef TG_BASE_TEXT_H
#define TG_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/** A place in an input: 1-based line and column; column 0 means the whole line, line 0 the whole
 * file. */
typedef struct tg_place {
  const char* file; /* not owned */
  int line;
  int column;
} tg_place;

/** TG_ERR_INPUT with the message "file:line:column: ...". */
tg_status tg_fail_at(tg_place place, const char* format, ...) __attribute__((format(printf, 2, 3)));

/** A whole text file in memory, cut into lines (without their ends; a carriage return is dropped).
 */
typedef struct tg_text_file {
  char* path;
  char* bytes;  /* owned; lines point into it */
  char** lines; /* [line_count] */
  size_t line_count;
} tg_text_file;

/** Reads a file. TG_ERR_INPUT if it cannot be read, is a folder, or holds a zero byte (binary). */
tg_status tg_text_file_read(const char* path, tg_text_file* out);
/** Releases; accepts a zeroed or half-built one. */
void tg_text_file_free(tg_text_file* file);

/** One white-space separated word of a line. */
typedef struct tg_word {
  const char* start;
  int length;
  int column; /* 1-based */
} tg_word;

/** Takes the next word at *cursor (a pointer into line, moved on). False at the end of the line. */
bool tg_next_word(const char* line, const char** cursor, tg_word* word);

/** Splits a line into at most limit words; returns how many there are (it may exceed limit). */
int tg_split_words(const char* line, tg_word* words, int limit);

/** Word equals text, exactly / ignoring case. */
bool tg_word_is(tg_word word, const char* text);
bool tg_word_is_nocase(tg_word word, const char* text);

/** Strict numbers: the whole of the length characters must be one finite number, else false.
 * Neither sets an error: the caller knows what was expected. tg_parse_int64 takes decimal only. */
bool tg_parse_double(const char* text, int length, double* value);
bool tg_parse_int64(const char* text, int length, long long* value);
bool tg_parse_int(const char* text, int length, int* value);

/** Compares ignoring case, as strcmp does. */
int tg_compare_nocase(const char* a, const char* b);

/** Cuts white space off both ends in place; returns the new start. */
char* tg_trim(char* text);

#endif
