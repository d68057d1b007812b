/* SPDX-License-Identifier: Apache-2.0 */
#include "ci/jumps.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "ci/links.h"
#include "ci/table_jobs.h"

void tg_ci_jumps_free(tg_ci_jumps* j) {
  tg_ci_targets_free(j->targets, j->class_count);
  TG_FREE(j->channel_begin);
  TG_FREE(j->operators);
  *j = (tg_ci_jumps){0};
}

/* The range of changes, the same for both species. */
static void channel_range(const tg_ci_hamiltonian* h, tg_ci_jumps* out) {
  out->labels = 1;
  for (int t = 0; t < 2; t++) {
    const tg_ci_orbital* o;
    const size_t n = tg_ci_hamiltonian_orbitals(h, t, &o);
    int least = 0, most = 0;
    for (size_t i = 0; i < n; i++) {
      if (i == 0 || o[i].two_m < least) least = o[i].two_m;
      if (i == 0 || o[i].two_m > most) most = o[i].two_m;
      while (out->labels <= o[i].symmetry) out->labels *= 2;
    }
    if (most - least > out->reach) out->reach = most - least;
  }
  out->channel_count = (size_t)(2 * out->reach + 1) * out->labels;
}

static uint32_t channel_of(const tg_ci_jumps* j, int species, const tg_ci_orbital* to,
                           const tg_ci_orbital* from) {
  const int change = species ? from->two_m - to->two_m : to->two_m - from->two_m;
  return (uint32_t)(change + j->reach) * j->labels + (uint32_t)(to->symmetry ^ from->symmetry);
}

/* All jumps to one string: it lost j and got i. */
static tg_status jumps_to(const tg_ci_strings* s, const tg_ci_orbital* orbitals, int species,
                          const tg_ci_jumps* j, const bool* useful, size_t number,
                          const tg_ci_class* of, uint16_t* source, tg_ci_connections* found) {
  const uint16_t* list = tg_ci_string(s, number);
  const uint64_t mark = tg_ci_strings_mark(s, list), bits = s->low[number];
  const bool by_bits = s->orbitals <= 64;
  for (int k = 0; k < s->particles; k++) {
    int below = 0; /* particles below the orbital looked at */
    for (uint16_t from = 0; from < s->orbitals; from++) {
      if (below < s->particles && list[below] == from) {
        below++;
        continue;
      }
      if (useful && !useful[list[k] * s->orbitals + from]) continue;
      if (s->heaviest > 0 &&
          of->weight + orbitals[from].weight > s->heaviest + orbitals[list[k]].weight)
        continue;
      const uint64_t moved = mark ^ s->marks[list[k]] ^ s->marks[from];
      if (!by_bits) tg_ci_replace(list, s->particles, &list[k], &from, 1, source);
      const size_t there = by_bits
                               ? tg_ci_strings_find_bits(
                                     s, bits ^ UINT64_C(1) << list[k] ^ UINT64_C(1) << from, moved)
                               : tg_ci_strings_find(s, source, moved);
      if (there == SIZE_MAX) continue;
      const size_t class = tg_ci_strings_class(s, there);
      const int between = from > list[k] ? below - k - 1 : k - below;
      TG_TRY(tg_ci_connect(
          found,
          (tg_ci_connection){
              .channel = channel_of(j, species, &orbitals[list[k]], &orbitals[from]),
              .source = (uint32_t) class,
              .row = (uint32_t)(number - of->begin),
              .from = (uint32_t)(there - s->classes[class].begin),
              .code = 2 * (uint32_t)(list[k] * s->orbitals + from) + (uint32_t)(between & 1)}));
    }
  }
  return TG_OK;
}

tg_status tg_ci_jumps_begin(const tg_ci_hamiltonian* h, const tg_ci_space* space,
                            tg_ci_table_job* job) {
  const tg_ci_strings* s = &space->strings[job->species];
  job->jumps->class_count = s->class_count;
  channel_range(h, job->jumps);
  TG_TRY(TG_ALLOCATE(s->class_count, "targets of jumps", &job->jumps->targets));
  return TG_ALLOCATE(s->orbitals * s->orbitals, "numbers of operators", &job->number);
}

/* Those that occur: 1. Threads write the same, and mostly need not. */
static void mark_operators(const tg_ci_target* t, uint32_t* number) {
  for (size_t l = 0; l < t->link_count; l++)
    for (size_t e = 0; e < t->links[l].count; e++) {
      uint32_t* mark = &number[t->code[t->links[l].first + e] / 2];
      if (!__atomic_load_n(mark, __ATOMIC_RELAXED)) __atomic_store_n(mark, 1, __ATOMIC_RELAXED);
    }
}

tg_status tg_ci_jumps_class(const tg_ci_hamiltonian* h, const tg_ci_space* space,
                            const tg_ci_table_job* job, size_t class, tg_ci_connections* found,
                            size_t* bytes) {
  const tg_ci_strings* s = &space->strings[job->species];
  const tg_ci_class* c = &s->classes[class];
  tg_ci_target* target = &job->jumps->targets[class];
  const tg_ci_orbital* orbitals;
  uint16_t* source = NULL;
  tg_status status = TG_OK;
  tg_ci_hamiltonian_orbitals(h, job->species, &orbitals);
  TG_TRY(TG_ALLOCATE((size_t)s->particles + 1, "string", &source));
  found->rows = c->count;
  found->count = 0;
  for (size_t i = 0; i < c->count; i++)
    TG_TRY_GOTO(jumps_to(s, orbitals, job->species, job->jumps, job->useful, c->begin + i, c,
                         source, found),
                done);
  TG_TRY_GOTO(tg_ci_target_make(found, c->count, true, target, bytes), done);
  mark_operators(target, job->number);
done:
  tg_free(source);
  return status;
}

tg_status tg_ci_jumps_sample(const tg_ci_hamiltonian* h, const tg_ci_space* space, int species,
                             const bool* useful, size_t class, tg_ci_sample* out) {
  tg_status status = TG_OK;
  const tg_ci_strings* s = &space->strings[species];
  const tg_ci_class* c = &s->classes[class];
  const size_t step = tg_ci_sample_step(c->count);
  const tg_ci_orbital* orbitals;
  size_t sampled = 0;
  tg_ci_jumps j = {0};
  tg_ci_connections found = {0};
  uint16_t* source = NULL;
  channel_range(h, &j);
  tg_ci_hamiltonian_orbitals(h, species, &orbitals);
  TG_TRY(TG_ALLOCATE((size_t)s->particles + 1, "string", &source));
  for (size_t i = 0; i < c->count; i += step, sampled++)
    TG_TRY_GOTO(jumps_to(s, orbitals, species, &j, useful, c->begin + i, c, source, &found), done);
  status = tg_ci_sample_take(&found, sampled, c->count, out);
done:
  tg_ci_connections_free(&found);
  tg_free(source);
  return status;
}

/* Numbers the operators that occur, channel by channel. */
tg_status tg_ci_jumps_number(const tg_ci_hamiltonian* h, const tg_ci_space* space,
                             tg_ci_table_job* job) {
  tg_ci_jumps* j = job->jumps;
  const int species = job->species;
  const size_t n = space->strings[species].orbitals;
  const tg_ci_orbital* orbitals;
  uint32_t* number = job->number;
  size_t count = 0;
  tg_ci_hamiltonian_orbitals(h, species, &orbitals);
  TG_TRY(TG_ALLOCATE(j->channel_count + 2, "channels", &j->channel_begin));
  for (size_t o = 0; o < n * n; o++)
    if (number[o]) {
      j->channel_begin[channel_of(j, species, &orbitals[o / n], &orbitals[o % n]) + 2]++;
      count++;
    }
  TG_TRY(TG_ALLOCATE(count, "operators", &j->operators));
  size_t* next = j->channel_begin + 1;
  for (size_t c = 0; c < j->channel_count; c++) next[c + 1] += next[c];
  for (size_t o = 0; o < n * n; o++)
    if (number[o])
      j->operators[next[channel_of(j, species, &orbitals[o / n], &orbitals[o % n])]++] =
          (uint32_t)o;
  for (size_t c = 0; c < j->channel_count; c++)
    for (size_t o = j->channel_begin[c]; o < j->channel_begin[c + 1]; o++)
      number[j->operators[o]] = (uint32_t)(o - j->channel_begin[c]);
  j->bytes += count * sizeof *j->operators + (j->channel_count + 2) * sizeof *j->channel_begin;
  return TG_OK;
}

static void renumber(tg_ci_target* t, const uint32_t* number) {
  for (size_t l = 0; l < t->link_count; l++)
    for (size_t e = 0; e < t->links[l].count; e++) {
      uint32_t* code = &t->code[t->links[l].first + e];
      *code = 2 * number[*code / 2] + (*code & 1);
    }
}

/* The second order of a target's jumps. next: [operators of a channel + 1], zeroed. */
static tg_status order_by_operator(tg_ci_target* t, size_t rows, uint32_t* next, size_t* bytes) {
  size_t jumps = 0, operators = 0;
  for (size_t l = 0; l < t->link_count; l++) {
    tg_ci_link* link = &t->links[l];
    link->operators = operators;
    for (size_t e = 0; e < link->count; e++)
      if (!next[t->code[link->first + e] / 2]++) link->operator_count++;
    for (size_t e = 0; e < link->count; e++) next[t->code[link->first + e] / 2] = 0;
    operators += link->operator_count + 1;
    jumps += link->count;
  }
  TG_TRY(TG_ALLOCATE(operators, "operators of links", &t->op));
  TG_TRY(TG_ALLOCATE(operators, "operators of links", &t->op_begin));
  TG_TRY(TG_ALLOCATE(jumps, "jumps", &t->op_of));
  TG_TRY(TG_ALLOCATE(jumps, "jumps", &t->op_to));
  TG_TRY(TG_ALLOCATE(jumps, "jumps", &t->op_from));
  *bytes += operators * 2 * sizeof *t->op + jumps * 3 * sizeof *t->op_to;
  for (size_t l = 0; l < t->link_count; l++) {
    const tg_ci_link* link = &t->links[l];
    uint32_t *op = t->op + link->operators, *begin = t->op_begin + link->operators;
    uint32_t last = 0, place = (uint32_t)link->first, k = 0;
    for (size_t e = 0; e < link->count; e++) {
      const uint32_t o = t->code[link->first + e] / 2;
      next[o]++;
      if (o > last) last = o;
    }
    for (uint32_t o = 0; link->count && o <= last; o++) {
      const uint32_t count = next[o];
      if (!count) continue;
      op[k] = o;
      begin[k++] = next[o] = place;
      place += count;
    }
    begin[k] = place;
    for (size_t r = 0; r < rows; r++)
      for (uint32_t e = t->begin[link->rows + r]; e < t->begin[link->rows + r + 1]; e++) {
        const uint32_t at = next[t->code[e] / 2]++;
        t->op_of[at] = t->code[e] / 2;
        t->op_to[at] = (uint32_t)r;
        t->op_from[at] = 2 * t->from[e] + (t->code[e] & 1);
      }
    for (uint32_t o = 0; o < k; o++) next[op[o]] = 0;
  }
  return TG_OK;
}

tg_status tg_ci_jumps_order(const tg_ci_space* space, const tg_ci_table_job* job, size_t class,
                            size_t* bytes) {
  const tg_ci_jumps* j = job->jumps;
  tg_ci_target* target = &j->targets[class];
  size_t most = 0;
  uint32_t* next = NULL;
  for (size_t c = 0; c < j->channel_count; c++)
    if (j->channel_begin[c + 1] - j->channel_begin[c] > most)
      most = j->channel_begin[c + 1] - j->channel_begin[c];
  renumber(target, job->number);
  TG_TRY(TG_ALLOCATE(most + 1, "operators", &next));
  const tg_status status =
      order_by_operator(target, space->strings[job->species].classes[class].count, next, bytes);
  tg_free(next);
  return status;
}

void tg_ci_jumps_end(tg_ci_table_job* job, size_t bytes) {
  tg_ci_jumps* j = job->jumps;
  j->bytes += bytes + j->class_count * sizeof *j->targets;
  for (size_t c = 0; c < j->class_count; c++)
    for (size_t l = 0; l < j->targets[c].link_count; l++) j->count += j->targets[c].links[l].count;
}

tg_status tg_ci_jumps_make(const tg_ci_hamiltonian* h, const tg_ci_space* space, int species,
                           int threads, tg_ci_jumps* out) {
  return tg_ci_jumps_make_some(h, space, species, threads, NULL, out);
}

tg_status tg_ci_jumps_make_some(const tg_ci_hamiltonian* h, const tg_ci_space* space, int species,
                                int threads, const bool* useful, tg_ci_jumps* out) {
  tg_ci_jumps j = {0};
  tg_ci_table_job job = {.species = species, .useful = useful, .jumps = &j};
  const tg_status status = tg_ci_table_jobs_run(h, space, threads, &job, 1);
  if (status != TG_OK) {
    tg_ci_jumps_free(&j);
    return status;
  }
  *out = j;
  return TG_OK;
}
