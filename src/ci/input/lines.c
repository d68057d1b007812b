/* SPDX-License-Identifier: Apache-2.0 */
#include "ci/input/lines.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

static void cut_comments(tg_text_file* file, const char* comment_characters) {
  for (size_t i = 0; i < file->line_count; i++)
    file->lines[i][strcspn(file->lines[i], comment_characters)] = '\0';
}

tg_status tg_ci_lines_open(const char* path, const char* comment_characters, tg_ci_lines* out) {
  memset(out, 0, sizeof *out);
  TG_TRY(tg_text_file_read(path, &out->file));
  cut_comments(&out->file, comment_characters);
  return TG_OK;
}

tg_status tg_ci_lines_of_text(const char* name, const char* text, const char* comment_characters,
                              tg_ci_lines* out) {
  memset(out, 0, sizeof *out);
  tg_text_file file = {0};
  size_t capacity = 0;
  tg_status status = TG_OK;
  TG_TRY_GOTO(tg_copy_text(name, &file.path), failed);
  TG_TRY_GOTO(tg_copy_text(text, &file.bytes), failed);
  for (char* at = file.bytes; *at;) {
    TG_TRY_GOTO(TG_RESERVE(file.line_count + 1, name, &file.lines, &capacity), failed);
    file.lines[file.line_count++] = at;
    at += strcspn(at, "\n");
    if (*at) *at++ = '\0';
  }
  cut_comments(&file, comment_characters);
  out->file = file;
  return TG_OK;
failed:
  tg_text_file_free(&file);
  return status;
}

void tg_ci_lines_close(tg_ci_lines* lines) {
  tg_text_file_free(&lines->file);
  tg_free(lines->words);
  memset(lines, 0, sizeof *lines);
}

static tg_status split(tg_ci_lines* lines, const char* text) {
  const char* cursor = text;
  tg_word word;
  lines->count = 0;
  while (tg_next_word(text, &cursor, &word)) {
    TG_TRY(TG_RESERVE(lines->count + 1, "words of a line", &lines->words, &lines->capacity));
    lines->words[lines->count++] = word;
  }
  return TG_OK;
}

tg_status tg_ci_lines_next(tg_ci_lines* lines, bool* found) {
  *found = false;
  lines->count = 0;
  while (!*found && lines->next < lines->file.line_count) {
    TG_TRY(split(lines, lines->file.lines[lines->next++]));
    *found = lines->count > 0;
    lines->line = (int)lines->next;
  }
  return TG_OK;
}

tg_status tg_ci_lines_need(tg_ci_lines* lines, const char* what) {
  bool found = false;
  TG_TRY(tg_ci_lines_next(lines, &found));
  if (found) return TG_OK;
  return tg_fail_at((tg_place){lines->file.path, (int)lines->file.line_count, 0},
                    "the file ends here; expected %s: is it complete?", what);
}

void tg_ci_lines_back(tg_ci_lines* lines) {
  if (lines->count) lines->next = (size_t)lines->line - 1;
}

tg_status tg_ci_lines_need_end(tg_ci_lines* lines, const char* after) {
  bool found = false;
  TG_TRY(tg_ci_lines_next(lines, &found));
  if (!found) return TG_OK;
  return tg_fail_at(tg_ci_lines_place(lines, 0),
                    "found '%.*s' after %s; expected the end of the file: is the number of lines "
                    "announced too small?",
                    lines->words[0].length, lines->words[0].start, after);
}

tg_place tg_ci_lines_place(const tg_ci_lines* lines, size_t k) {
  tg_place place = {lines->file.path, lines->line, 0};
  if (k < lines->count) place.column = lines->words[k].column;
  return place;
}

tg_status tg_ci_lines_words(const tg_ci_lines* lines, size_t least, size_t most, const char* what) {
  if (lines->count >= least && lines->count <= most) return TG_OK;
  return tg_fail_at(tg_ci_lines_place(lines, lines->count > most ? most : lines->count),
                    "found %zu words; expected %s", lines->count, what);
}

static tg_status missing(const tg_ci_lines* lines, size_t k, const char* what) {
  return tg_fail_at(tg_ci_lines_place(lines, k), "the line ends after %zu words; expected %s",
                    lines->count, what);
}

bool tg_ci_word_int(tg_word word, int* out) { return tg_parse_int(word.start, word.length, out); }

bool tg_ci_word_real(tg_word word, double* out) {
  char text[64];
  if (word.length >= (int)sizeof text) return false;
  for (int i = 0; i < word.length; i++) {
    const char c = word.start[i];
    text[i] = c == 'D' || c == 'd' ? 'e' : c; /* Fortran's double precision */
  }
  return tg_parse_double(text, word.length, out);
}

tg_status tg_ci_lines_int(const tg_ci_lines* lines, size_t k, const char* what, int least, int most,
                          int* out) {
  if (k >= lines->count) return missing(lines, k, what);
  const tg_word word = lines->words[k];
  int value = 0;
  if (!tg_ci_word_int(word, &value))
    return tg_fail_at(tg_ci_lines_place(lines, k), "found '%.*s'; expected %s, a whole number",
                      word.length, word.start, what);
  if (value < least || value > most)
    return tg_fail_at(tg_ci_lines_place(lines, k), "found %d; expected %s from %d to %d", value,
                      what, least, most);
  *out = value;
  return TG_OK;
}

tg_status tg_ci_lines_real(const tg_ci_lines* lines, size_t k, const char* what, double* out) {
  if (k >= lines->count) return missing(lines, k, what);
  const tg_word word = lines->words[k];
  if (!tg_ci_word_real(word, out))
    return tg_fail_at(tg_ci_lines_place(lines, k), "found '%.*s'; expected %s, a number",
                      word.length, word.start, what);
  return TG_OK;
}

tg_status tg_ci_lines_half(const tg_ci_lines* lines, size_t k, const char* what, int* two_j) {
  if (k >= lines->count) return missing(lines, k, what);
  const tg_word word = lines->words[k];
  const char* slash = memchr(word.start, '/', (size_t)word.length);
  double value = 0;
  int top = 0;
  if (slash && word.start + word.length == slash + 2 && slash[1] == '2' &&
      tg_parse_int(word.start, (int)(slash - word.start), &top) && top >= 0 && top < 1000) {
    *two_j = top;
    return TG_OK;
  }
  if (!tg_ci_word_real(word, &value) || fabs(value) > 1000 ||
      fabs(2 * value - round(2 * value)) > 1e-9)
    return tg_fail_at(tg_ci_lines_place(lines, k), "found '%.*s'; expected %s, such as 2.5",
                      word.length, word.start, what);
  *two_j = (int)lround(2 * value);
  return TG_OK;
}

/* MeV: a number with fewer digits is meant as it stands */
static const double coarsest = 5e-4;

double tg_ci_lines_resolution(const tg_ci_lines* lines, size_t k) {
  const tg_word word = lines->words[k];
  int decimals = 0, exponent = 0;
  bool after_point = false;
  for (int i = 0; i < word.length; i++) {
    const char c = word.start[i];
    if (c == '.') {
      after_point = true;
    } else if (strchr("eEdD", c)) {
      (void)tg_parse_int(word.start + i + 1, word.length - i - 1, &exponent);
      break;
    } else if (after_point) {
      decimals++;
    }
  }
  return fmin(0.5 * pow(10.0, exponent - decimals), coarsest);
}
