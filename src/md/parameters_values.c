/* SPDX-License-Identifier: Apache-2.0 */
/* Names and values of .mdp keys: comparing, looking up, storing. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "md/parameters_table.h"

static int next_letter(const char** at) {
  while (**at == '-' || **at == '_') (*at)++;
  int letter = tolower((unsigned char)**at);
  if (letter) (*at)++;
  return letter;
}

bool tg_mdp_same(const char* a, const char* b) {
  for (;;) {
    int x = next_letter(&a), y = next_letter(&b);
    if (x != y) return false;
    if (!x) return true;
  }
}

/* name is longer than, and starts with, what stands before the '*' of pattern */
static bool in_family(const char* name, const char* pattern) {
  for (;;) {
    int y = next_letter(&pattern), x = next_letter(&name);
    if (y == '*') return x != 0;
    if (x != y || !x) return false;
  }
}

const tg_mdp_key* tg_mdp_find_key(const char* name) {
  for (size_t i = 0; i < tg_mdp_key_count; i++)
    if (tg_mdp_same(name, tg_mdp_keys[i].name)) return &tg_mdp_keys[i];
  return NULL;
}

const tg_mdp_other* tg_mdp_find_other(const char* name) {
  for (size_t i = 0; i < tg_mdp_other_count; i++)
    if (tg_mdp_same(name, tg_mdp_others[i].name)) return &tg_mdp_others[i];
  for (size_t i = 0; i < tg_mdp_other_count; i++)
    if (strchr(tg_mdp_others[i].name, '*') && in_family(name, tg_mdp_others[i].name))
      return &tg_mdp_others[i];
  return NULL;
}

enum { NAME_SIZE = 64 };

/* Number of insertions, deletions and replacements that turn one name into the other. */
static int edit_distance(const char* a, const char* b) {
  int row[NAME_SIZE + 1];
  int length = (int)strlen(b);
  if (length > NAME_SIZE || strlen(a) > NAME_SIZE) return NAME_SIZE;
  for (int j = 0; j <= length; j++) row[j] = j;
  for (int i = 0; a[i]; i++) {
    int diagonal = row[0];
    row[0] = i + 1;
    for (int j = 0; j < length; j++) {
      int replaced = diagonal + (tolower((unsigned char)a[i]) != tolower((unsigned char)b[j]));
      diagonal = row[j + 1];
      int shorter = (row[j] < diagonal ? row[j] : diagonal) + 1;
      row[j + 1] = replaced < shorter ? replaced : shorter;
    }
  }
  return row[length];
}

const char* tg_mdp_nearest(const char* name) {
  const char* best = NULL;
  int limit = 1 + (int)strlen(name) / 4; /* further away it would be a guess */
  int least = limit + 1;
  for (size_t i = 0; i < tg_mdp_key_count + tg_mdp_other_count; i++) {
    const char* known =
        i < tg_mdp_key_count ? tg_mdp_keys[i].name : tg_mdp_others[i - tg_mdp_key_count].name;
    int distance = strchr(known, '*') ? NAME_SIZE : edit_distance(name, known);
    if (distance < least) {
      least = distance;
      best = known;
    }
  }
  return best;
}

static tg_status wrong_number(const tg_mdp_key* key, tg_word word, tg_place place,
                              const char* what) {
  char range[64];
  snprintf(range, sizeof range, key->low < -1e299 ? "" : " %s %g%s",
           key->above ? ">" : ">=", key->low, key->or_minus_one ? ", or -1" : "");
  return tg_fail_at(place, "%s = %.*s: %s%s was expected (default: %s)", key->name, word.length,
                    word.start, what, range, key->default_text[0] ? key->default_text : "none");
}

static bool in_range(const tg_mdp_key* key, double value) {
  if (key->or_minus_one && value == -1) return true;
  return key->above ? value > key->low : value >= key->low;
}

static tg_status store_number(const tg_mdp_key* key, tg_word word, tg_place place, void* field) {
  long long whole = 0;
  double real = 0;
  int small = 0;
  if (key->kind == TG_MDP_REAL || key->kind == TG_MDP_REALS) {
    if (!tg_parse_double(word.start, word.length, &real) || !in_range(key, real))
      return wrong_number(key, word, place, "a number");
    *(double*)field = real;
  } else if (key->kind == TG_MDP_INT64) {
    if (!tg_parse_int64(word.start, word.length, &whole) || !in_range(key, (double)whole))
      return wrong_number(key, word, place, "a whole number");
    *(long long*)field = whole;
  } else {
    if (!tg_parse_int(word.start, word.length, &small) || !in_range(key, small))
      return wrong_number(key, word, place, "a whole number");
    *(int*)field = small;
  }
  return TG_OK;
}

static void list_choices(const tg_mdp_choice* choices, char* text, size_t size) {
  text[0] = '\0';
  for (; choices->name; choices++) {
    if (choices->refusal) continue;
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%s%s", used ? ", " : "", choices->name);
  }
}

static tg_status store_choice(const tg_mdp_key* key, const char* text, tg_place place, int* field,
                              const char** effect) {
  char supported[256];
  list_choices(key->choices, supported, sizeof supported);
  for (const tg_mdp_choice* choice = key->choices; choice->name; choice++) {
    if (!tg_mdp_same(text, choice->name)) continue;
    if (choice->refusal)
      return tg_fail_at(place, "%s = %s is not supported (supported: %s); %s", key->name, text,
                        supported, choice->refusal);
    *field = choice->value;
    *effect = choice->effect;
    return TG_OK;
  }
  return tg_fail_at(place, "%s = %s: unknown value; expected one of: %s", key->name, text,
                    supported);
}

static tg_status store_bool(const tg_mdp_key* key, const char* text, tg_place place, bool* field) {
  static const char* const yes[] = {"yes", "true", "on", "1"};
  static const char* const no[] = {"no", "false", "off", "0"};
  for (int i = 0; i < 4; i++) {
    if (tg_mdp_same(text, yes[i]) || tg_mdp_same(text, no[i])) {
      *field = tg_mdp_same(text, yes[i]);
      return TG_OK;
    }
  }
  return tg_fail_at(place, "%s = %s: yes or no was expected", key->name, text);
}

void tg_mdp_clear_words(char** words, int* count) {
  for (int i = 0; i < *count; i++) TG_FREE(words[i]);
  *count = 0;
}

static tg_status copy_word(const char* start, int length, char** out) {
  char* copy = NULL;
  TG_TRY(TG_ALLOCATE((size_t)length + 1, "a word of the .mdp file", &copy));
  memcpy(copy, start, (size_t)length);
  *out = copy;
  return TG_OK;
}

/* The part of a word that is kept: -DNAME and -Ifolder lose their option letters. */
static tg_status strip_option(const tg_mdp_key* key, tg_word* word, tg_place place) {
  if (key->kind != TG_MDP_DEFINES && key->kind != TG_MDP_INCLUDES) return TG_OK;
  char letter = key->kind == TG_MDP_DEFINES ? 'D' : 'I';
  if (word->length < 3 || word->start[0] != '-' || word->start[1] != letter)
    return tg_fail_at(place, "%s: found '%.*s'; expected words that start with -%c, as in %s",
                      key->name, word->length, word->start, letter,
                      letter == 'D' ? "-DPOSRES" : "-I../otherlib");
  word->start += 2;
  word->length -= 2;
  return TG_OK;
}

static tg_status store_list(tg_mdp_reading* reading, const tg_mdp_key* key, const char* text,
                            tg_place place) {
  char* base = (char*)reading + key->offset;
  int* count = (int*)((char*)reading + key->count_offset);
  bool wide = key->kind == TG_MDP_DEFINES || key->kind == TG_MDP_INCLUDES;
  int limit = wide ? TG_MAX_DEFINES : TG_MAX_GROUPS;
  if (key->kind == TG_MDP_REALS)
    *count = 0;
  else
    tg_mdp_clear_words((char**)base, count);
  const char* cursor = text;
  tg_word word;
  int first_column = place.column;
  while (tg_next_word(text, &cursor, &word)) {
    if (place.line > 0) place.column = first_column + word.column - 1;
    if (*count == limit)
      return tg_fail_at(place, "%s: more than %d words; this version holds no more", key->name,
                        limit);
    TG_TRY(strip_option(key, &word, place));
    if (key->kind == TG_MDP_REALS)
      TG_TRY(store_number(key, word, place, (double*)(void*)base + *count));
    else
      TG_TRY(copy_word(word.start, word.length, (char**)(void*)base + *count));
    ++*count;
  }
  return TG_OK;
}

tg_status tg_mdp_store(tg_mdp_reading* reading, const tg_mdp_key* key, const char* text,
                       tg_place place, char* effect, size_t size) {
  void* field = (char*)reading + key->offset;
  const char* unit = key->unit;
  if (key->kind >= TG_MDP_WORDS) {
    TG_TRY(store_list(reading, key, text, place));
    const char* shown = text[0] ? text : "none named";
    snprintf(effect, size, "%s: %s%s%s", key->meaning, shown, unit[0] && text[0] ? " " : "",
             text[0] ? unit : "");
    return TG_OK;
  }
  tg_word word, more;
  const char* cursor = text;
  if (!tg_next_word(text, &cursor, &word)) word = (tg_word){text, 0, 1};
  if (tg_next_word(text, &cursor, &more)) {
    if (place.line > 0) place.column += more.column - 1;
    return tg_fail_at(place, "%s takes one value; found '%.*s' after it", key->name, more.length,
                      more.start);
  }
  if (key->kind == TG_MDP_CHOICE) {
    const char* words = NULL;
    TG_TRY(store_choice(key, text, place, field, &words));
    snprintf(effect, size, "%s", words);
  } else if (key->kind == TG_MDP_BOOL) {
    TG_TRY(store_bool(key, text, place, field));
    snprintf(effect, size, "%s: %s", key->meaning, *(bool*)field ? "yes" : "no");
  } else {
    TG_TRY(store_number(key, word, place, field));
    bool never = key->kind == TG_MDP_INT && strcmp(unit, "steps") == 0 && *(int*)field == 0;
    if (never)
      snprintf(effect, size, "%s: never", key->meaning);
    else
      snprintf(effect, size, "%s: %s%s%s", key->meaning, text, unit[0] ? " " : "", unit);
  }
  return TG_OK;
}
