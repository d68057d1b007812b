/* SPDX-License-Identifier: Apache-2.0 */
/* A table of the values that make most elements, and each element's place in it. */
#include "ci/stored_values.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "ci/key_table.h"

enum { MOST_LOOKED_AT = 1 << 16 /* different values of which occurrences are counted */ };

static uint64_t bits_of(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits & (UINT64_MAX >> 1);
}

/* Number of a value; TG_CI_NO_KEY: it has none yet. */
static int64_t find(const tg_ci_key_table* numbers, double value) {
  const uint64_t bits = bits_of(value);
  return bits ? tg_ci_key_table_find(numbers, bits) : 0;
}

static uint32_t word_of(const tg_ci_key_table* numbers, double value) {
  const int64_t number = find(numbers, value);
  if (number == TG_CI_NO_KEY) return TG_CI_NO_WORD;
  return number ? 2 * (uint32_t)number + (value < 0) : 0;
}

static tg_status add(tg_ci_flat* f, tg_ci_key_table* numbers, double value) {
  TG_TRY(tg_ci_key_table_add(numbers, bits_of(value), (uint32_t)f->value_count));
  f->values[f->value_count++] = fabs(value);
  return TG_OK;
}

typedef struct occurrence {
  double value;
  uint32_t count, place; /* in the order of their first occurrences */
} occurrence;

static int by_count(const void* p, const void* q) {
  const occurrence *a = p, *b = q;
  if (a->count != b->count) return a->count > b->count ? -1 : 1;
  return a->value < b->value ? -1 : a->value > b->value;
}

/* Numbers of elements of one species that the other does not change, into their words: those of
 * `numbers`, and behind them one for each value that is not there, in the order in which they come.
 */
static tg_status look_at_alone(tg_ci_flat* f, tg_ci_key_table* numbers, occurrence* list,
                               size_t* count) {
  const uint32_t first = (uint32_t)f->value_count;
  for (int t = 0; t < 2; t++) {
    tg_ci_flat_species* s = &f->species[t];
    for (size_t e = 0; e < s->alone.count; e++) {
      s->word[e] = TG_CI_NO_WORD;
      if (s->field[e]) continue;
      int64_t at = find(numbers, s->value[e]);
      if (at == TG_CI_NO_KEY) {
        if (*count == MOST_LOOKED_AT) continue;
        at = first + (int64_t)*count;
        list[*count] = (occurrence){fabs(s->value[e]), 0, (uint32_t)*count};
        *count += 1;
        TG_TRY(tg_ci_key_table_add(numbers, bits_of(s->value[e]), (uint32_t)at));
      }
      if (at >= first) list[at - first].count++;
      s->word[e] = (uint32_t)at;
    }
  }
  return TG_OK;
}

/* Those that occur often get a number; words follow. */
static tg_status give_words_alone(tg_ci_flat* f, tg_ci_key_table* numbers) {
  tg_status status = TG_OK;
  const uint32_t first = (uint32_t)f->value_count;
  occurrence* list = NULL;
  uint32_t* number = NULL;
  size_t count = 0;
  TG_TRY_GOTO(TG_ALLOCATE(MOST_LOOKED_AT, "values of matrix elements", &list), done);
  TG_TRY_GOTO(TG_ALLOCATE(MOST_LOOKED_AT, "values of matrix elements", &number), done);
  TG_TRY_GOTO(look_at_alone(f, numbers, list, &count), done);
  if (count) qsort(list, count, sizeof *list, by_count);
  for (size_t i = 0; i < count; i++) {
    const bool often = list[i].count >= TG_CI_OFTEN && f->value_count < TG_CI_MOST_VALUES;
    number[list[i].place] = often ? (uint32_t)f->value_count : TG_CI_NO_WORD;
    if (often) f->values[f->value_count++] = list[i].value;
  }
  for (int t = 0; t < 2; t++) {
    const tg_ci_flat_species* s = &f->species[t];
    for (size_t e = 0; e < s->alone.count; e++) {
      uint32_t at = s->word[e];
      if (at != TG_CI_NO_WORD && at >= first) at = number[at - first];
      if (at && at != TG_CI_NO_WORD) at = 2 * at + (s->value[e] < 0);
      s->word[e] = at;
    }
  }
done:
  tg_free(list);
  tg_free(number);
  return status;
}

/* All of w(a,b); *fits: there was room. */
static tg_status add_rows(tg_ci_flat* f, tg_ci_key_table* numbers, bool* fits) {
  *fits = true;
  for (size_t e = 0; e < f->row_count; e++) {
    if (find(numbers, f->rows[e]) != TG_CI_NO_KEY) continue;
    *fits = f->value_count < TG_CI_MOST_VALUES;
    if (!*fits) return TG_OK;
    TG_TRY(add(f, numbers, f->rows[e]));
  }
  return TG_OK;
}

bool tg_ci_flat_few_values(const tg_ci_flat* f) {
  tg_ci_flat trial = {.row_count = f->row_count, .rows = f->rows, .value_count = 1};
  tg_ci_key_table numbers = {0};
  bool fits = TG_ALLOCATE(TG_CI_MOST_VALUES, "values of matrix elements", &trial.values) == TG_OK;
  if (fits && add_rows(&trial, &numbers, &fits) != TG_OK) fits = false;
  tg_ci_key_table_free(&numbers);
  tg_free(trial.values);
  return fits;
}

tg_status tg_ci_flat_give_words(tg_ci_flat* f) {
  tg_status status = TG_OK;
  tg_ci_key_table numbers = {0};
  bool fits;
  TG_TRY_GOTO(TG_ALLOCATE(TG_CI_MOST_VALUES, "values of matrix elements", &f->values), done);
  f->value_count = 1; /* zero */
  TG_TRY_GOTO(add_rows(f, &numbers, &fits), done);
  if (!fits) {
    TG_FREE(f->values);
    f->value_count = 0;
    goto done;
  }
  TG_TRY_GOTO(TG_ALLOCATE(f->row_count, "words of matrix elements", &f->row_words), done);
  for (size_t e = 0; e < f->row_count; e++) f->row_words[e] = word_of(&numbers, f->rows[e]);
  for (int t = 0; t < 2; t++) {
    tg_ci_flat_species* s = &f->species[t];
    TG_TRY_GOTO(TG_ALLOCATE(s->alone.count, "words of matrix elements", &s->word), done);
  }
  status = give_words_alone(f, &numbers);
done:
  tg_ci_key_table_free(&numbers);
  return status;
}
