/* SPDX-License-Identifier: Apache-2.0 */
#include "md/preprocessor.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "md/preprocessor_macros.h"

enum { MAX_DEPTH = 64, MAX_FILES = 20000, PATH_SIZE = 4096 };

/* A file that is being read, and the one that includes it below. */
typedef struct source {
  tg_text_file file;
  const char* name; /* owned by the preprocessor: places outlive the file */
  size_t next;      /* line to read next */
  size_t open;      /* conditions open when the file began; it must close its own */
  dev_t device;
  ino_t inode;
} source;

/* One #ifdef or #ifndef. */
typedef struct condition {
  tg_place place;
  bool outer; /* the text around it is in use */
  bool holds; /* what the condition says */
  bool after_else;
} condition;

struct tg_preprocessor {
  tg_preprocessor_parameters parameters;
  source stack[MAX_DEPTH];
  int depth;
  condition* conditions;
  size_t condition_count, condition_capacity;
  char** names;
  size_t name_count, name_capacity;
  tg_macro_table macros;
  tg_mapped_line raw, expanded;
  const char* file; /* of the last line */
  int first_line;
};

static source* top(tg_preprocessor* self) { return &self->stack[self->depth - 1]; }

static tg_status push_file(tg_preprocessor* self, const char* path) {
  source next = {.open = self->condition_count};
  TG_TRY(TG_RESERVE(self->name_count + 1, "file names", &self->names, &self->name_capacity));
  TG_TRY(tg_copy_text(path, &self->names[self->name_count]));
  next.name = self->names[self->name_count++];
  TG_TRY(tg_text_file_read(path, &next.file));
  struct stat info;
  if (stat(path, &info) == 0) {
    next.device = info.st_dev;
    next.inode = info.st_ino;
  }
  self->stack[self->depth++] = next;
  return TG_OK;
}

static bool is_file(const char* path) {
  struct stat info;
  return stat(path, &info) == 0 && !S_ISDIR(info.st_mode);
}

/* folder/name is a file; path gets it. */
static bool try_folder(const char* folder, size_t length, const char* name, char* path) {
  const char* between = length == 0 || folder[length - 1] == '/' ? "" : "/";
  int written = snprintf(path, PATH_SIZE, "%.*s%s%s", (int)length, folder, between, name);
  return written < PATH_SIZE && is_file(path);
}

static bool find_include(tg_preprocessor* self, const char* name, char* path) {
  if (name[0] == '/') return try_folder("", 0, name, path);
  const char* here = top(self)->name;
  const char* slash = strrchr(here, '/');
  if (try_folder(here, slash ? (size_t)(slash - here) + 1 : 0, name, path)) return true;
  if (try_folder("", 0, name, path)) return true;
  for (int i = 0; i < self->parameters.include_count; i++) {
    const char* folder = self->parameters.include_folders[i];
    if (strncmp(folder, "-I", 2) == 0) folder += 2;
    if (try_folder(folder, strlen(folder), name, path)) return true;
  }
  for (const char* at = getenv("GMXLIB"); at && *at;) {
    size_t length = strcspn(at, ":");
    if (length && try_folder(at, length, name, path)) return true;
    at += length + (at[length] == ':');
  }
  const char* data = getenv("GMXDATA");
  char folder[PATH_SIZE];
  if (data && snprintf(folder, sizeof folder, "%s/top", data) < PATH_SIZE &&
      try_folder(folder, strlen(folder), name, path))
    return true;
  const char* const installed[] = {"/usr/share/gromacs/top",
                                   "/usr/local/gromacs/share/gromacs/top"};
  for (size_t i = 0; i < sizeof installed / sizeof *installed; i++)
    if (try_folder(installed[i], strlen(installed[i]), name, path)) return true;
  return false;
}

/* "a.top includes b.itp includes a.top" */
static tg_status fail_recursion(tg_preprocessor* self, tg_place place, int from, const char* path) {
  char chain[1024];
  size_t used = 0;
  for (int i = from; i < self->depth && used < sizeof chain; i++)
    used +=
        (size_t)snprintf(chain + used, sizeof chain - used, "%s includes ", self->stack[i].name);
  return tg_fail_at(place, "#include goes in a circle: %s%s; take one of them out", chain, path);
}

static tg_status include(tg_preprocessor* self, const char* rest, int column) {
  tg_place place = tg_preprocessor_place(self, column);
  char close = *rest == '<' ? '>' : '"';
  const char* end = *rest == '<' || *rest == '"' ? strchr(rest + 1, close) : NULL;
  if (!end || end == rest + 1)
    return tg_fail_at(place, "#include needs a file name as \"name\" or <name>, found '%s'", rest);
  if (strspn(end + 1, " \t") != strlen(end + 1))
    return tg_fail_at(place, "found '%s' after the file name of #include; remove it", end + 1);
  char name[PATH_SIZE], path[PATH_SIZE];
  if (end - rest >= PATH_SIZE) return tg_fail_at(place, "the file name of #include is too long");
  snprintf(name, sizeof name, "%.*s", (int)(end - rest - 1), rest + 1);
  if (!find_include(self, name, path))
    return tg_fail_at(place,
                      "#include file '%s' was not found beside %s, in the working folder, in the "
                      "-I folders, in $GMXLIB or in the installed gromacs/top; add its folder with "
                      "-I or set GMXLIB",
                      name, top(self)->name);
  struct stat info;
  if (stat(path, &info) != 0) return tg_fail_at(place, "#include file '%s' cannot be read", path);
  for (int i = 0; i < self->depth; i++)
    if (self->stack[i].device == info.st_dev && self->stack[i].inode == info.st_ino)
      return fail_recursion(self, place, i, path);
  if (self->depth == MAX_DEPTH)
    return tg_fail_at(place, "#include is nested more than %d files deep", MAX_DEPTH);
  if (self->name_count == MAX_FILES) /* files that include each other twice grow without end */
    return tg_fail_at(place, "more than %d files are included; is one included again and again?",
                      MAX_FILES);
  tg_status status = push_file(self, path);
  if (status == TG_ERR_INPUT)
    return tg_fail_context(status, "%s:%d:%d: #include: ", place.file, place.line, place.column);
  return status;
}

static bool in_use(const tg_preprocessor* self) {
  if (self->condition_count == 0) return true;
  const condition* last = &self->conditions[self->condition_count - 1];
  return last->outer && last->holds;
}

static tg_status open_condition(tg_preprocessor* self, const char* rest, bool wanted,
                                tg_place place) {
  int length = tg_macro_name_length(rest);
  bool outer = in_use(self);
  if (outer && (length == 0 || strspn(rest + length, " \t") != strlen(rest + length)))
    return tg_fail_at(place, "#%s needs one macro name, found '%s'", wanted ? "ifdef" : "ifndef",
                      rest);
  TG_TRY(TG_RESERVE(self->condition_count + 1, "conditions", &self->conditions,
                    &self->condition_capacity));
  bool defined = outer && tg_macro_find(&self->macros, rest, length) != NULL;
  self->conditions[self->condition_count++] =
      (condition){.place = place, .outer = outer, .holds = defined == wanted};
  return TG_OK;
}

/* #else and #endif answer an #ifdef of the same file. */
static tg_status own_condition(tg_preprocessor* self, const char* word, const char* rest,
                               tg_place place) {
  if (self->condition_count <= top(self)->open)
    return tg_fail_at(place, "#%s without an #ifdef or #ifndef before it in this file", word);
  if (*rest) return tg_fail_at(place, "found '%s' after #%s; remove it", rest, word);
  return TG_OK;
}

static tg_status else_or_endif(tg_preprocessor* self, const char* word, const char* rest,
                               tg_place place) {
  TG_TRY(own_condition(self, word, rest, place));
  if (strcmp(word, "endif") == 0) {
    self->condition_count--;
    return TG_OK;
  }
  condition* last = &self->conditions[self->condition_count - 1];
  if (last->after_else)
    return tg_fail_at(place, "second #else for the condition of line %d", last->place.line);
  last->after_else = true;
  last->holds = !last->holds;
  return TG_OK;
}

static tg_status define(tg_preprocessor* self, const char* rest, tg_place place) {
  int length = tg_macro_name_length(rest);
  if (length == 0 || (rest[length] && !isspace((unsigned char)rest[length])))
    return tg_fail_at(
        place,
        "#define needs a name of letters, digits and _ (macros with arguments are not "
        "supported), found '%s'",
        rest);
  const char* value = rest + length + strspn(rest + length, " \t");
  const tg_macro* old = tg_macro_find(&self->macros, rest, length);
  if (old && strcmp(old->value, value) != 0)
    tg_log_warning(self->parameters.log, "%s:%d: '%s' was defined as '%s' and is now '%s'",
                   place.file, place.line, old->name, old->value, value);
  return tg_macro_set(&self->macros, rest, length, value, false);
}

static tg_status undefine(tg_preprocessor* self, const char* rest, tg_place place) {
  int length = tg_macro_name_length(rest);
  if (length == 0 || rest[length])
    return tg_fail_at(place, "#undef needs one macro name, found '%s'", rest);
  tg_macro_remove(&self->macros, rest, length);
  return TG_OK;
}

/* A line that starts with '#'. hash points at it within raw.text. */
static tg_status directive(tg_preprocessor* self, const char* hash) {
  tg_place place = tg_preprocessor_place(self, (int)(hash - self->raw.text) + 1);
  const char* at = hash + 1 + strspn(hash + 1, " \t");
  size_t length = strspn(at, "abcdefghijklmnopqrstuvwxyz");
  char word[16];
  snprintf(word, sizeof word, "%.*s", length < sizeof word ? (int)length : 0, at);
  const char* rest = at + length + strspn(at + length, " \t");
  int column = (int)(rest - self->raw.text) + 1;
  if (strcmp(word, "ifdef") == 0) return open_condition(self, rest, true, place);
  if (strcmp(word, "ifndef") == 0) return open_condition(self, rest, false, place);
  if (strcmp(word, "else") == 0 || strcmp(word, "endif") == 0)
    return else_or_endif(self, word, rest, place);
  if (strcmp(word, "if") == 0 || strcmp(word, "elif") == 0)
    return tg_fail_at(place, "#%s is not supported; use #ifdef and #ifndef", word);
  if (!in_use(self)) return TG_OK;
  if (strcmp(word, "include") == 0) return include(self, rest, column);
  if (strcmp(word, "define") == 0) return define(self, rest, place);
  if (strcmp(word, "undef") == 0) return undefine(self, rest, place);
  if (strcmp(word, "error") == 0) return tg_fail_at(place, "#error %s", rest);
  return tg_fail_at(place,
                    "unknown preprocessor line '%s'; expected #include, #define, #undef, #ifdef, "
                    "#ifndef, #else, #endif or #error",
                    hash);
}

/* The end of text without white space. */
static size_t trimmed_length(const char* text) {
  size_t length = strlen(text);
  while (length && isspace((unsigned char)text[length - 1])) length--;
  return length;
}

/* Joins a physical line and its continuations into raw, and cuts off the comment. */
static tg_status read_logical_line(tg_preprocessor* self) {
  source* from = top(self);
  self->raw.length = 0;
  self->file = from->name;
  self->first_line = (int)from->next + 1;
  bool more = true;
  while (more) {
    const char* text = from->file.lines[from->next++];
    int line = (int)from->next;
    size_t length = trimmed_length(text);
    more = length && text[length - 1] == '\\';
    for (size_t i = 0; i < length; i++)
      TG_TRY(
          tg_mapped_append(&self->raw, more && i + 1 == length ? ' ' : text[i], line, (int)i + 1));
    if (!more) break;
    tg_place place = {self->file, line, (int)length};
    if (from->next == from->file.line_count)
      return tg_fail_at(place, "the file ends in a line that '\\' continues");
    if (memchr(text, ';', length))
      tg_log_warning(self->parameters.log,
                     "%s:%d: a comment ends in '\\', so the next line belongs to the comment",
                     self->file, line);
    const char* next = from->file.lines[from->next];
    if (next[strspn(next, " \t")] == '#')
      return tg_fail_at(place, "'\\' continues this line, but the next one is a preprocessor line");
  }
  TG_TRY(tg_mapped_end(&self->raw));
  char* comment = strchr(self->raw.text, ';');
  if (comment) *comment = '\0';
  size_t length = trimmed_length(self->raw.text);
  self->raw.text[length] = '\0';
  if (length && self->raw.text[length - 1] == '\\')
    return tg_fail_at(tg_preprocessor_place(self, (int)length),
                      "'\\' continues a line only as its last character; move the comment");
  return TG_OK;
}

static tg_status pop_file(tg_preprocessor* self) {
  source* done = top(self);
  if (self->condition_count > done->open) {
    const condition* last = &self->conditions[self->condition_count - 1];
    return tg_fail_at(last->place, "this condition is not closed by #endif before %s ends",
                      done->name);
  }
  tg_text_file_free(&done->file);
  self->depth--;
  return TG_OK;
}

tg_status tg_preprocessor_next(tg_preprocessor* self, const char** text) {
  *text = NULL;
  while (self->depth > 0) {
    if (top(self)->next >= top(self)->file.line_count) {
      TG_TRY(pop_file(self));
      continue;
    }
    self->expanded.length = 0; /* places are those of raw until the macros are replaced */
    TG_TRY(read_logical_line(self));
    const char* start = self->raw.text + strspn(self->raw.text, " \t\r\f\v");
    if (!*start || *start == '*') continue; /* headings of shipped force fields begin with '*' */
    if (*start == '#') {
      TG_TRY(directive(self, start));
      continue;
    }
    if (!in_use(self)) continue;
    const char* circle = NULL;
    TG_TRY(tg_macro_expand(&self->macros, &self->raw, &self->expanded, &circle));
    if (circle)
      return tg_fail_at((tg_place){self->file, self->first_line, 0},
                        "the value of macro '%s' leads back to itself", circle);
    *text = self->expanded.text;
    return TG_OK;
  }
  return TG_OK;
}

tg_place tg_preprocessor_place(const tg_preprocessor* self, int column) {
  const tg_mapped_line* line = self->expanded.length ? &self->expanded : &self->raw;
  if (column <= 0 || (size_t)column > line->length)
    return (tg_place){self->file ? self->file : self->parameters.path, self->first_line, 0};
  const tg_origin* origin = &line->origins[column - 1];
  return (tg_place){self->file, origin->line, origin->column};
}

static tg_status add_define(tg_preprocessor* self, const char* text) {
  if (strncmp(text, "-D", 2) == 0) text += 2;
  int length = tg_macro_name_length(text);
  if (length == 0 || (text[length] && text[length] != '='))
    return tg_fail(TG_ERR_INPUT, "define '%s': expected NAME or NAME=value", text);
  return tg_macro_set(&self->macros, text, length, text[length] ? text + length + 1 : "", true);
}

tg_status tg_preprocessor_create(const tg_preprocessor_parameters* parameters,
                                 tg_preprocessor** out) {
  *out = NULL;
  tg_preprocessor* self = NULL;
  tg_status status = TG_OK;
  TG_TRY(TG_ALLOCATE(1, "preprocessor", &self));
  self->parameters = *parameters;
  for (int i = 0; i < parameters->define_count; i++)
    TG_TRY_GOTO(add_define(self, parameters->defines[i]), fail);
  TG_TRY_GOTO(push_file(self, parameters->path), fail);
  *out = self;
  return TG_OK;
fail:
  tg_preprocessor_destroy(&self);
  return status;
}

void tg_preprocessor_take_names(tg_preprocessor* self, char*** names, size_t* count) {
  *names = self->names;
  *count = self->name_count;
  self->names = NULL;
  self->name_count = self->name_capacity = 0;
}

void tg_preprocessor_destroy(tg_preprocessor** preprocessor) {
  tg_preprocessor* self = *preprocessor;
  if (!self) return;
  while (self->depth > 0) tg_text_file_free(&self->stack[--self->depth].file);
  for (size_t i = 0; i < self->name_count; i++) tg_free(self->names[i]);
  tg_free(self->names);
  tg_free(self->conditions);
  tg_macro_table_free(&self->macros);
  tg_mapped_free(&self->raw);
  tg_mapped_free(&self->expanded);
  TG_FREE(*preprocessor);
}

void tg_preprocessor_warn_unused(const tg_preprocessor* self) {
  for (size_t i = 0; i < self->macros.count; i++) {
    const tg_macro* macro = &self->macros.items[i];
    if (macro->given && !macro->used)
      tg_log_warning(self->parameters.log, "%s: nothing in the topology asks for the define '%s'",
                     self->parameters.path, macro->name);
  }
}
