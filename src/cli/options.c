/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/options.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/threads.h"

enum { WORD_SIZE = 64, MOST_OPTIONS = 64, MOST_THREADS_TRIED = 4096 };

/* Edits (insert, delete, replace, swap neighbours) from a to b; words longer than WORD_SIZE are
 * far. */
static int edit_distance(const char* a, const char* b) {
  int m = (int)strlen(a), n = (int)strlen(b);
  if (m >= WORD_SIZE || n >= WORD_SIZE) return WORD_SIZE;
  int rows[3][WORD_SIZE + 1]; /* of this letter of a, the one before, the one before that */
  for (int j = 0; j <= n; j++) rows[0][j] = j;
  for (int i = 1; i <= m; i++) {
    int *row = rows[i % 3], *before = rows[(i + 2) % 3], *older = rows[(i + 1) % 3];
    row[0] = i;
    for (int j = 1; j <= n; j++) {
      int best =
          before[j - 1] + (tolower((unsigned char)a[i - 1]) != tolower((unsigned char)b[j - 1]));
      if (before[j] + 1 < best) best = before[j] + 1;
      if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && older[j - 2] + 1 < best)
        best = older[j - 2] + 1;
      row[j] = best;
    }
  }
  return rows[m % 3][n];
}

const char* tg_cli_nearest(const char* word, const char* const* candidates, int count) {
  /* a third of the letters wrong is a slip, more is another word */
  int limit = 1 + (int)strlen(word) / 3;
  const char* nearest = NULL;
  for (int i = 0; i < count; i++) {
    int distance = edit_distance(word, candidates[i]);
    if (distance >= limit + (nearest == NULL) || distance >= (int)strlen(candidates[i])) continue;
    limit = distance;
    nearest = candidates[i];
  }
  return nearest;
}

/* "-c, --conf" or "--name" for messages. */
static const char* spelled(const tg_cli_option* option, char* out, size_t size) {
  if (option->letter)
    snprintf(out, size, "-%c (--%s)", option->letter, option->name);
  else
    snprintf(out, size, "--%s", option->name);
  return out;
}

static tg_status unknown_option(const tg_cli_option* options, const char* word, size_t length) {
  const char* names[MOST_OPTIONS] = {"help"};
  int count = 1;
  for (; options->name && count < MOST_OPTIONS; options++) names[count++] = options->name;
  char given[WORD_SIZE];
  snprintf(given, sizeof given, "%.*s", (int)length, word);
  const char* bare = given + strspn(given, "-");
  const char* nearest = strlen(bare) > 1 ? tg_cli_nearest(bare, names, count) : NULL;
  if (nearest)
    return tg_fail(TG_ERR_INPUT, "unknown option %s; did you mean --%s?", given, nearest);
  return tg_fail(TG_ERR_INPUT, "unknown option %s; --help lists them", given);
}

/* The option that word names; *value is set to what follows '=' or to NULL. NULL if there is none.
 */
static const tg_cli_option* find_option(const tg_cli_option* options, const char* word,
                                        const char** value) {
  *value = NULL;
  for (; options->name; options++) {
    if (word[1] != '-') {
      if (options->letter && word[1] == options->letter && !word[2]) return options;
      continue;
    }
    size_t length = strlen(options->name);
    if (strncmp(word + 2, options->name, length) != 0) continue;
    if (word[2 + length] == '=') *value = word + 3 + length;
    if (*value || !word[2 + length]) return options;
  }
  return NULL;
}

/* A dash starts an option, unless a number follows or nothing does ("-" is standard input). */
static bool looks_like_option(const char* word) {
  double number = 0;
  return word[0] == '-' && word[1] && !tg_parse_double(word, (int)strlen(word), &number);
}

static tg_status store_choice(const tg_cli_option* option, const char* value, const char** field) {
  char spelling[WORD_SIZE * 2];
  size_t length = strlen(value);
  for (const char* at = option->value; at; at = strchr(at, '|'), at = at ? at + 1 : NULL)
    if (length && strcspn(at, "|") == length && strncmp(at, value, length) == 0) {
      *field = value;
      return TG_OK;
    }
  return tg_fail(TG_ERR_INPUT, "option %s: found '%s', expected one of %s",
                 spelled(option, spelling, sizeof spelling), value, option->value);
}

static tg_status store_value(const tg_cli_option* option, const char* value, void* fields) {
  void* field = (char*)fields + option->offset;
  int length = (int)strlen(value);
  char spelling[WORD_SIZE * 2];
  spelled(option, spelling, sizeof spelling);
  const char* expected = NULL;
  switch (option->kind) {
    case TG_CLI_FLAG: *(bool*)field = true; return TG_OK;
    case TG_CLI_TEXT:
      *(const char**)field = value;
      expected = length ? NULL : "a word that is not empty";
      break;
    case TG_CLI_LIST: {
      tg_cli_list* list = field;
      if (list->count == TG_CLI_LIST_SIZE)
        return tg_fail(TG_ERR_INPUT, "option %s is given more than %d times", spelling,
                       TG_CLI_LIST_SIZE);
      list->items[list->count++] = value;
      expected = length ? NULL : "a word that is not empty";
      break;
    }
    case TG_CLI_CHOICE: return store_choice(option, value, field);
    case TG_CLI_INT: /* verbs take INT_MIN for an option that is not given */
      expected =
          tg_parse_int(value, length, field) && *(int*)field != INT_MIN ? NULL : "a whole number";
      break;
    case TG_CLI_INT64:
      expected = tg_parse_int64(value, length, field) ? NULL : "a whole number";
      break;
    case TG_CLI_DOUBLE: expected = tg_parse_double(value, length, field) ? NULL : "a number"; break;
  }
  if (expected)
    return tg_fail(TG_ERR_INPUT, "option %s: found '%s', expected %s", spelling, value, expected);
  return TG_OK;
}

/* Takes the option at argv[*at] and its value, and moves *at to the last word used. */
static tg_status take_option(const tg_cli_option* options, int argc, char** argv, int* at,
                             void* fields, bool* given) {
  const char* word = argv[*at];
  const char* value = NULL;
  const tg_cli_option* option = find_option(options, word, &value);
  if (!option) return unknown_option(options, word, strcspn(word, "="));
  char spelling[WORD_SIZE * 2];
  spelled(option, spelling, sizeof spelling);
  if (given[option - options] && option->kind != TG_CLI_LIST)
    return tg_fail(TG_ERR_INPUT, "option %s is given twice; give it once", spelling);
  given[option - options] = true;
  if (option->kind == TG_CLI_FLAG) {
    if (value)
      return tg_fail(TG_ERR_INPUT, "option %s takes no value; found '%s'", spelling, value);
    return store_value(option, "", fields);
  }
  if (!value) {
    const char* what = option->kind == TG_CLI_CHOICE ? "one of " : "";
    if (*at + 1 >= argc)
      return tg_fail(TG_ERR_INPUT, "option %s needs a value: %s%s", spelling, what, option->value);
    value = argv[*at + 1];
    if (looks_like_option(value))
      return tg_fail(TG_ERR_INPUT, "option %s needs a value (%s%s) but is followed by %s", spelling,
                     what, option->value, value);
    (*at)++;
  }
  return store_value(option, value, fields);
}

/* Of every verb: whether the machine has as many threads, before any work. Numbers that no verb
 * takes are left to it to refuse. */
static tg_status try_threads(const tg_cli_option* option, const void* fields) {
  if (option->kind != TG_CLI_INT || strcmp(option->name, "threads") != 0) return TG_OK;
  int threads = 0;
  memcpy(&threads, (const char*)fields + option->offset, sizeof threads);
  return threads <= MOST_THREADS_TRIED ? tg_threads_try(threads) : TG_OK;
}

tg_status tg_cli_options_parse(const tg_cli_option* options, int argc, char** argv, void* fields,
                               tg_cli_list* rest) {
  bool given[MOST_OPTIONS] = {false};
  int count = 0;
  while (options[count].name) count++;
  if (count >= MOST_OPTIONS)
    return tg_fail(TG_ERR_INTERNAL, "a verb has more than %d options", MOST_OPTIONS - 1);
  bool options_end = false;
  for (int at = 1; at < argc; at++) {
    if (!options_end && strcmp(argv[at], "--") == 0) {
      options_end = true;
    } else if (!options_end && looks_like_option(argv[at])) {
      TG_TRY(take_option(options, argc, argv, &at, fields, given));
    } else if (!rest) {
      return tg_fail(TG_ERR_INPUT, "unexpected word '%s'; only options are taken here", argv[at]);
    } else if (rest->count == TG_CLI_LIST_SIZE) {
      return tg_fail(TG_ERR_INPUT, "more than %d words are given", TG_CLI_LIST_SIZE);
    } else {
      rest->items[rest->count++] = argv[at];
    }
  }
  for (int i = 0; i < count; i++) {
    char spelling[WORD_SIZE * 2];
    if (options[i].required && !given[i])
      return tg_fail(TG_ERR_INPUT, "option %s %s is missing; throng %s --help lists the options",
                     spelled(&options[i], spelling, sizeof spelling), options[i].value, argv[0]);
  }
  for (int i = 0; i < count; i++)
    if (given[i]) TG_TRY(try_threads(&options[i], fields));
  return TG_OK;
}
