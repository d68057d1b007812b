/* SPDX-License-Identifier: Apache-2.0 */
#include "ci/moves.h"

#include <stdbool.h>
#include <string.h>

#include "base/memory.h"
#include "ci/links.h"

void tg_ci_moves_free(tg_ci_moves* m) {
  if (!m) return;
  tg_ci_targets_free(m->targets, m->class_count);
  tg_free(m->same_begin);
  tg_free(m->same);
  memset(m, 0, sizeof *m);
}

/* A class of final strings at work. */
typedef struct search {
  const tg_ci_strings *final, *initial;
  const uint32_t* number;
  size_t row;
  const uint16_t* list; /* of the final string */
  uint64_t mark;        /* by the marks of the initial strings */
  uint16_t* source;     /* [particles + 1] room */
  tg_ci_connections found;
} search;

/* Adds the connection to the string in s->source, if it is one of the initial ones. */
static tg_status connect(search* s, uint64_t mark, uint32_t code) {
  const size_t there = tg_ci_strings_find(s->initial, s->source, mark);
  if (there == SIZE_MAX) return TG_OK;
  const size_t class = tg_ci_strings_class(s->initial, there);
  return tg_ci_connect(
      &s->found, (tg_ci_connection){.source = (uint32_t) class,
                                    .row = (uint32_t)s->row,
                                    .from = (uint32_t)(there - s->initial->classes[class].begin),
                                    .code = code});
}

/* The string has p and came from one that had q in its place. */
static tg_status within(search* s) {
  const size_t n = s->final->orbitals;
  for (int k = 0; k < s->final->particles; k++) {
    const uint16_t p = s->list[k];
    int below = 0; /* particles below q */
    for (uint16_t q = 0; q < n; q++) {
      const bool there = below < s->final->particles && s->list[below] == q;
      if (there) below++;
      const uint32_t number = s->number[p * n + q];
      if (number == UINT32_MAX || (there && q != p)) continue;
      const int between = q == p ? 0 : q > p ? below - k - 1 : k - below;
      tg_ci_replace(s->list, s->final->particles, &p, &q, 1, s->source);
      TG_TRY(connect(s, s->mark ^ s->initial->marks[p] ^ s->initial->marks[q],
                     2 * number + (uint32_t)(between & 1)));
    }
  }
  return TG_OK;
}

static tg_status created(search* s) {
  for (int k = 0; k < s->final->particles; k++) {
    const uint16_t p = s->list[k];
    memcpy(s->source, s->list, (size_t)k * sizeof p);
    memcpy(s->source + k, s->list + k + 1, (size_t)(s->final->particles - k - 1) * sizeof p);
    TG_TRY(connect(s, s->mark ^ s->initial->marks[p], 2 * (uint32_t)p + (uint32_t)(k & 1)));
  }
  return TG_OK;
}

static tg_status destroyed(search* s) {
  int below = 0;
  for (uint16_t q = 0; q < s->final->orbitals; q++) {
    if (below < s->final->particles && s->list[below] == q) {
      below++;
      continue;
    }
    for (int k = 0; k < s->final->particles; k++) s->source[k + (k >= below)] = s->list[k];
    s->source[below] = q;
    TG_TRY(connect(s, s->mark ^ s->initial->marks[q], 2 * (uint32_t)q + (uint32_t)(below & 1)));
  }
  return TG_OK;
}

static tg_status class_moves(const tg_ci_strings* final, const tg_ci_strings* initial,
                             tg_ci_move move, const uint32_t* number, size_t class,
                             tg_ci_target* out) {
  tg_status status = TG_OK;
  size_t bytes = 0;
  search s = {.final = final, .initial = initial, .number = number};
  const tg_ci_class* c = &final->classes[class];
  TG_TRY(TG_ALLOCATE((size_t) final->particles + 2, "string", &s.source));
  for (s.row = 0; s.row < c->count; s.row++) {
    s.list = tg_ci_string(final, c->begin + s.row);
    s.mark = 0;
    for (int k = 0; k < final->particles; k++) s.mark ^= initial->marks[s.list[k]];
    if (move != TG_CI_MOVE_CREATE && move != TG_CI_MOVE_DESTROY)
      TG_TRY_GOTO(within(&s), done);
    else
      TG_TRY_GOTO(move == TG_CI_MOVE_CREATE ? created(&s) : destroyed(&s), done);
  }
  status = tg_ci_target_make(&s.found, c->count, true, out, &bytes);
done:
  tg_ci_connections_free(&s.found);
  tg_free(s.source);
  return status;
}

/* The same strings in both spaces, in runs. */
static tg_status find_same(const tg_ci_strings* final, const tg_ci_strings* initial,
                           tg_ci_moves* out) {
  size_t count = 0, room = 0;
  TG_TRY(TG_ALLOCATE(final->class_count + 1, "classes", &out->same_begin));
  for (size_t c = 0; c < final->class_count; c++) {
    const tg_ci_class* class = &final->classes[c];
    for (size_t i = 0; i < class->count; i++) {
      const uint16_t* list = tg_ci_string(final, class->begin + i);
      const size_t there = tg_ci_strings_find(initial, list, tg_ci_strings_mark(initial, list));
      if (there == SIZE_MAX) continue;
      const size_t source = tg_ci_strings_class(initial, there);
      const size_t from = there - initial->classes[source].begin;
      tg_ci_same* last = count > out->same_begin[c] ? &out->same[count - 1] : NULL;
      if (last && last->source == source && last->from + last->count == from &&
          last->first + last->count == i) {
        last->count++;
        continue;
      }
      TG_TRY(TG_RESERVE(count + 1, "strings in common", &out->same, &room));
      out->same[count] =
          (tg_ci_same){.source = (uint32_t)source, .first = i, .count = 1, .from = from};
      count++;
    }
    out->same_begin[c + 1] = count;
  }
  return TG_OK;
}

tg_status tg_ci_moves_make(const tg_ci_strings* final, const tg_ci_strings* initial,
                           tg_ci_move move, const uint32_t* number, int threads, tg_ci_moves* out) {
  tg_status status = TG_OK;
  tg_ci_moves m = {.class_count = final->class_count};
  TG_TRY(TG_ALLOCATE(final->class_count, "targets of moves", &m.targets));
#pragma omp parallel for schedule(dynamic) num_threads(threads)
  for (size_t c = 0; c < final->class_count; c++) {
    const tg_status mine = class_moves(final, initial, move, number, c, &m.targets[c]);
    if (mine != TG_OK) {
#pragma omp critical(tg_ci_moves_status)
      status = mine;
    }
  }
  if (status != TG_OK) /* the words are with another thread */
    tg_fail(status, "no memory for the moves between strings, or too many of one class");
  else if (move == TG_CI_MOVE_WITHIN)
    status = find_same(final, initial, &m);
  if (status != TG_OK) {
    tg_ci_moves_free(&m);
    return status;
  }
  *out = m;
  return TG_OK;
}
