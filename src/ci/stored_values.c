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

/* Elements of one species that one thread looks at. */
typedef struct part {
  tg_ci_flat_species* of;
  size_t begin, end;
  occurrence* list; /* values without a number, in the order of their first occurrences */
  size_t count, room;
  uint32_t* place; /* [count] in the list of all; TG_CI_NO_WORD: that is full */
} part;

static void parts_free(part* parts, size_t count) {
  for (size_t n = 0; parts && n < count; n++) {
    tg_free(parts[n].list);
    tg_free(parts[n].place);
  }
  tg_free(parts);
}

/* All elements in parts that do not depend on the number of threads. */
static tg_status parts_make(tg_ci_flat* f, part** out, size_t* out_count) {
  enum { PART = 1 << 12 };
  size_t count = 0, n = 0;
  for (int t = 0; t < 2; t++) count += (f->species[t].alone.count + PART - 1) / PART;
  TG_TRY(TG_ALLOCATE(count, "values of matrix elements", out));
  for (int t = 0; t < 2; t++)
    for (size_t e = 0; e < f->species[t].alone.count; e += PART) {
      const size_t left = f->species[t].alone.count - e;
      (*out)[n++] =
          (part){.of = &f->species[t], .begin = e, .end = e + (left < PART ? left : PART)};
    }
  *out_count = count;
  return TG_OK;
}

/* Numbers of a part's elements, that the other species does not change, into their words: those of
 * `numbers`, and from `first` on one for each value that is not there, in the part's own order. */
static tg_status look_at_part(const tg_ci_key_table* numbers, uint32_t first, part* p) {
  tg_status status = TG_OK;
  tg_ci_key_table own = {0};
  const tg_ci_flat_species* s = p->of;
  for (size_t e = p->begin; e < p->end; e++) {
    s->word[e] = TG_CI_NO_WORD;
    if (s->field[e]) continue;
    int64_t at = find(numbers, s->value[e]);
    if (at == TG_CI_NO_KEY) {
      int64_t place = find(&own, s->value[e]);
      if (place == TG_CI_NO_KEY) {
        place = (int64_t)p->count;
        TG_TRY_GOTO(TG_RESERVE(p->count + 1, "values of matrix elements", &p->list, &p->room),
                    done);
        p->list[p->count++] = (occurrence){fabs(s->value[e]), 0, 0};
        TG_TRY_GOTO(tg_ci_key_table_add(&own, bits_of(s->value[e]), (uint32_t)place), done);
      }
      p->list[place].count++;
      at = first + place;
    }
    s->word[e] = (uint32_t)at;
  }
done:
  tg_ci_key_table_free(&own);
  return status;
}

/* Their values in the order in which they come in all, as many as are looked at. */
static tg_status join_parts(part* parts, size_t part_count, occurrence* list, size_t* count) {
  tg_status status = TG_OK;
  tg_ci_key_table places = {0};
  for (size_t n = 0; n < part_count; n++) {
    part* p = &parts[n];
    TG_TRY_GOTO(TG_ALLOCATE(p->count, "values of matrix elements", &p->place), done);
    for (size_t i = 0; i < p->count; i++) {
      const double value = p->list[i].value;
      int64_t at = find(&places, value);
      p->place[i] = TG_CI_NO_WORD;
      if (at == TG_CI_NO_KEY && *count == MOST_LOOKED_AT) continue;
      if (at == TG_CI_NO_KEY) {
        at = (int64_t)*count;
        list[*count] = (occurrence){value, 0, (uint32_t)at};
        *count += 1;
        TG_TRY_GOTO(tg_ci_key_table_add(&places, bits_of(value), (uint32_t)at), done);
      }
      list[at].count += p->list[i].count;
      p->place[i] = (uint32_t)at;
    }
  }
done:
  tg_ci_key_table_free(&places);
  return status;
}

static void give_words_of_part(const part* p, uint32_t first, const uint32_t* number) {
  const tg_ci_flat_species* s = p->of;
  for (size_t e = p->begin; e < p->end; e++) {
    uint32_t at = s->word[e];
    if (at != TG_CI_NO_WORD && at >= first) {
      const uint32_t place = p->place[at - first];
      at = place == TG_CI_NO_WORD ? place : number[place];
    }
    if (at && at != TG_CI_NO_WORD) at = 2 * at + (s->value[e] < 0);
    s->word[e] = at;
  }
}

/* Those that occur often get a number; words follow. */
static tg_status give_words_alone(tg_ci_flat* f, const tg_ci_key_table* numbers) {
  tg_status status = TG_OK;
  const uint32_t first = (uint32_t)f->value_count;
  occurrence* list = NULL;
  uint32_t* number = NULL;
  part* parts = NULL;
  size_t count = 0, part_count = 0;
  TG_TRY_GOTO(parts_make(f, &parts, &part_count), done);
  TG_TRY_GOTO(TG_ALLOCATE(MOST_LOOKED_AT, "values of matrix elements", &list), done);
  TG_TRY_GOTO(TG_ALLOCATE(MOST_LOOKED_AT, "values of matrix elements", &number), done);
#pragma omp parallel for schedule(dynamic)
  for (size_t n = 0; n < part_count; n++) {
    const tg_status mine = look_at_part(numbers, first, &parts[n]);
    if (mine != TG_OK) {
#pragma omp critical(tg_ci_stored_values)
      status = mine;
    }
  }
  if (status != TG_OK) { /* the words are with another thread */
    tg_fail(status, "no memory for the values of matrix elements");
    goto done;
  }
  TG_TRY_GOTO(join_parts(parts, part_count, list, &count), done);
  if (count) qsort(list, count, sizeof *list, by_count);
  for (size_t i = 0; i < count; i++) {
    const bool often = list[i].count >= TG_CI_OFTEN && f->value_count < TG_CI_MOST_VALUES;
    number[list[i].place] = often ? (uint32_t)f->value_count : TG_CI_NO_WORD;
    if (often) f->values[f->value_count++] = list[i].value;
  }
#pragma omp parallel for schedule(dynamic)
  for (size_t n = 0; n < part_count; n++) give_words_of_part(&parts[n], first, number);
done:
  parts_free(parts, part_count);
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
#pragma omp parallel for
  for (size_t e = 0; e < f->row_count; e++) f->row_words[e] = word_of(&numbers, f->rows[e]);
  for (int t = 0; t < 2; t++) {
    tg_ci_flat_species* s = &f->species[t];
    TG_TRY_GOTO(TG_ALLOCATE_UNTOUCHED(s->alone.count, "words of matrix elements", &s->word), done);
  }
  status = give_words_alone(f, &numbers);
done:
  tg_ci_key_table_free(&numbers);
  return status;
}
