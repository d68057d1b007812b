/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"

tg_status tg_fail_at(tg_place place, const char* format, ...) {
  va_list args;
  va_start(args, format);
  tg_vfail(TG_ERR_INPUT, format, args);
  va_end(args);
  if (place.line <= 0) return tg_fail_context(TG_ERR_INPUT, "%s: ", place.file);
  if (place.column <= 0) return tg_fail_context(TG_ERR_INPUT, "%s:%d: ", place.file, place.line);
  return tg_fail_context(TG_ERR_INPUT, "%s:%d:%d: ", place.file, place.line, place.column);
}

static tg_status read_bytes(const char* path, char** bytes, size_t* size) {
  struct stat info;
  if (stat(path, &info) != 0)
    return tg_fail(TG_ERR_INPUT, "%s: cannot be read: %s", path, strerror(errno));
  if (S_ISDIR(info.st_mode))
    return tg_fail(TG_ERR_INPUT, "%s: is a folder; a file was expected", path);
  FILE* stream = fopen(path, "rb");
  if (!stream) return tg_fail(TG_ERR_INPUT, "%s: cannot be read: %s", path, strerror(errno));
  /* read until the end rather than trust st_size: pipes and /dev/stdin have none */
  tg_status status = TG_OK;
  char* buffer = NULL;
  size_t capacity = 0, used = 0;
  for (;;) {
    TG_TRY_GOTO(TG_RESERVE(used + 65536, path, &buffer, &capacity), close_stream);
    size_t got = fread(buffer + used, 1, capacity - used - 1, stream);
    used += got;
    if (got == 0) break;
    /* looked for at once: a device such as /dev/zero has no end */
    if (memchr(buffer + used - got, '\0', got)) {
      status = tg_fail(TG_ERR_INPUT, "%s: holds a zero byte; a text file was expected", path);
      goto close_stream;
    }
  }
  if (ferror(stream)) status = tg_fail(TG_ERR_INPUT, "%s: reading failed", path);
close_stream:
  fclose(stream);
  if (status != TG_OK) {
    tg_free(buffer);
    return status;
  }
  /* the mark that some editors put before UTF-8 is no text */
  const size_t mark = used >= 3 && memcmp(buffer, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
  used -= mark;
  memmove(buffer, buffer + mark, used);
  buffer[used] = '\0';
  *bytes = buffer;
  *size = used;
  return TG_OK;
}

tg_status tg_text_file_read(const char* path, tg_text_file* out) {
  memset(out, 0, sizeof *out);
  tg_text_file file = {0};
  size_t size = 0, capacity = 0;
  tg_status status = TG_OK;
  TG_TRY_GOTO(tg_copy_text(path, &file.path), fail);
  TG_TRY_GOTO(read_bytes(path, &file.bytes, &size), fail);
  for (char* at = file.bytes; at < file.bytes + size;) {
    TG_TRY_GOTO(TG_RESERVE(file.line_count + 1, path, &file.lines, &capacity), fail);
    file.lines[file.line_count++] = at;
    char* end = strchr(at, '\n');
    char* next = end ? end + 1 : file.bytes + size;
    if (!end) end = next;
    if (end > at && end[-1] == '\r') end[-1] = '\0';
    *end = '\0';
    at = next;
  }
  *out = file;
  return TG_OK;
fail:
  tg_text_file_free(&file);
  return status;
}

void tg_text_file_free(tg_text_file* file) {
  if (!file) return;
  tg_free(file->path);
  tg_free(file->bytes);
  tg_free(file->lines);
  memset(file, 0, sizeof *file);
}

bool tg_next_word(const char* line, const char** cursor, tg_word* word) {
  const char* at = *cursor;
  while (isspace((unsigned char)*at)) at++;
  if (!*at) {
    *cursor = at;
    return false;
  }
  const char* end = at;
  while (*end && !isspace((unsigned char)*end)) end++;
  word->start = at;
  word->length = (int)(end - at);
  word->column = (int)(at - line) + 1;
  *cursor = end;
  return true;
}

int tg_split_words(const char* line, tg_word* words, int limit) {
  const char* cursor = line;
  tg_word word;
  int count = 0;
  while (tg_next_word(line, &cursor, &word)) {
    if (count < limit) words[count] = word;
    count++;
  }
  return count;
}

bool tg_word_is(tg_word word, const char* text) {
  return strlen(text) == (size_t)word.length && memcmp(word.start, text, (size_t)word.length) == 0;
}

bool tg_word_is_nocase(tg_word word, const char* text) {
  if (strlen(text) != (size_t)word.length) return false;
  for (int i = 0; i < word.length; i++)
    if (tolower((unsigned char)word.start[i]) != tolower((unsigned char)text[i])) return false;
  return true;
}

enum { NUMBER_SIZE = 64 };

static bool copy_number(const char* text, int length, char* buffer) {
  if (length <= 0 || length >= NUMBER_SIZE || isspace((unsigned char)text[0])) return false;
  memcpy(buffer, text, (size_t)length);
  buffer[length] = '\0';
  return true;
}

bool tg_parse_double(const char* text, int length, double* value) {
  char buffer[NUMBER_SIZE];
  if (!copy_number(text, length, buffer)) return false;
  /* strtod would also take hexadecimal, inf and nan */
  if (strspn(buffer, "+-.0123456789eE") != (size_t)length) return false;
  char* end = NULL;
  double number = strtod(buffer, &end);
  if (end == buffer || *end || !isfinite(number)) return false;
  *value = number;
  return true;
}

bool tg_parse_int64(const char* text, int length, long long* value) {
  char buffer[NUMBER_SIZE];
  if (!copy_number(text, length, buffer)) return false;
  char* end = NULL;
  errno = 0;
  long long number = strtoll(buffer, &end, 10);
  if (end == buffer || *end || errno == ERANGE) return false;
  *value = number;
  return true;
}

bool tg_parse_int(const char* text, int length, int* value) {
  long long number = 0;
  if (!tg_parse_int64(text, length, &number) || number < INT_MIN || number > INT_MAX) return false;
  *value = (int)number;
  return true;
}

int tg_compare_nocase(const char* a, const char* b) {
  for (; *a && tolower((unsigned char)*a) == tolower((unsigned char)*b); a++) b++;
  return tolower((unsigned char)*a) - tolower((unsigned char)*b);
}

char* tg_trim(char* text) {
  while (isspace((unsigned char)*text)) text++;
  char* end = text + strlen(text);
  while (end > text && isspace((unsigned char)end[-1])) end--;
  *end = '\0';
  return text;
}
