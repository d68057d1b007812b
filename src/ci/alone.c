/* SPDX-License-Identifier: Apache-2.0 */
/* The part of H that acts on one species alone, between its strings.
 *
 * With r(q) the particles below orbital q that both strings hold, a string that got i (and k) for j
 * (and l) has the phase (-1)^(r(i) + r(j)) [+ r(k) + r(l)], for operators in the order of
 * ci/hamiltonian.h: the two that are taken away, or put in, are ordered, so that they do not count
 * each other an odd number of times. */
#include <stdbool.h>
#include <string.h>

#include "base/memory.h"
#include "ci/jumps.h"
#include "ci/links.h"
#include "ci/table_jobs.h"

void tg_ci_alone_free(tg_ci_alone* a) {
  tg_ci_targets_free(a->targets, a->class_count);
  TG_FREE(a->diagonal);
  *a = (tg_ci_alone){0};
}

typedef struct search {
  const tg_ci_hamiltonian* h;
  const tg_ci_strings* s;
  const tg_ci_orbital* orbitals;
  int species;
  const uint16_t* list; /* the string led to */
  uint64_t mark, bits;  /* bits: where all orbitals have one */
  size_t class;         /* its own */
  uint32_t row, weight;
  uint16_t* source; /* [particles] */
  uint16_t* below;  /* [orbitals + 1] particles of list below each orbital */
  bool* occupied;   /* [orbitals] */
  bool nonzero;     /* elements that are zero are left out */
  bool pairs;       /* two particles may move: otherwise H has no such element at all */
  tg_ci_connections* found;
} search;

static double diagonal(const search* f) {
  double sum = 0;
  for (int k = 0; k < f->s->particles; k++) {
    sum += tg_ci_hamiltonian_one(f->h, f->species, f->list[k], f->list[k]);
    for (int l = k + 1; l < f->s->particles; l++)
      sum +=
          tg_ci_hamiltonian_two(f->h, f->species, f->list[k], f->list[l], f->list[k], f->list[l]);
  }
  return sum;
}

/* Number of the string with in (now there) back to out. */
static size_t find(const search* f, const uint16_t* in, const uint16_t* out, int count,
                   uint64_t mark) {
  if (f->s->orbitals <= 64) {
    uint64_t bits = f->bits;
    for (int c = 0; c < count; c++) bits ^= UINT64_C(1) << in[c] ^ UINT64_C(1) << out[c];
    return tg_ci_strings_find_bits(f->s, bits, mark);
  }
  tg_ci_replace(f->list, f->s->particles, in, out, count, f->source);
  return tg_ci_strings_find(f->s, f->source, mark);
}

/* The connection that leads there. */
static tg_status connect(search* f, const uint16_t* in, const uint16_t* out, int count,
                         double (*value)(const search*, const uint16_t*, const uint16_t*)) {
  if (f->s->heaviest > 0) { /* too heavy for any class */
    uint32_t more = f->weight, less = f->s->heaviest;
    for (int c = 0; c < count; c++) {
      more += f->orbitals[out[c]].weight;
      less += f->orbitals[in[c]].weight;
    }
    if (more > less) return TG_OK;
  }
  const double element = value(f, in, out);
  if (f->nonzero && element == 0) return TG_OK;
  uint64_t mark = f->mark;
  int parity = 0;
  for (int c = 0; c < count; c++) {
    mark ^= f->s->marks[in[c]] ^ f->s->marks[out[c]];
    parity += f->below[in[c]] + f->below[out[c]];
    for (int d = 0; d < count; d++) parity += (in[d] < in[c]) + (in[d] < out[c]);
  }
  const size_t there = find(f, in, out, count, mark);
  if (there == SIZE_MAX) return TG_OK;
  const tg_ci_class* own = &f->s->classes[f->class]; /* mostly, as few spaces have weights */
  const bool stays = there >= own->begin && there - own->begin < own->count;
  const size_t class = stays ? f->class : tg_ci_strings_class(f->s, there);
  return tg_ci_connect(f->found,
                       (tg_ci_connection){.source = (uint32_t) class,
                                          .row = f->row,
                                          .from = (uint32_t)(there - f->s->classes[class].begin),
                                          .value = parity & 1 ? -element : element});
}

static double single_value(const search* f, const uint16_t* in, const uint16_t* out) {
  double sum = tg_ci_hamiltonian_one(f->h, f->species, *in, *out);
  for (int k = 0; k < f->s->particles; k++)
    sum += tg_ci_hamiltonian_two(f->h, f->species, *in, f->list[k], *out, f->list[k]);
  return sum;
}

static double double_value(const search* f, const uint16_t* in, const uint16_t* out) {
  return tg_ci_hamiltonian_two(f->h, f->species, in[0], in[1], out[0], out[1]);
}

static tg_status singles(search* f) {
  for (int k = 0; k < f->s->particles; k++) {
    const uint16_t in = f->list[k];
    for (uint16_t out = 0; out < f->s->orbitals; out++)
      if (!f->occupied[out] && f->orbitals[out].two_m == f->orbitals[in].two_m &&
          f->orbitals[out].symmetry == f->orbitals[in].symmetry)
        TG_TRY(connect(f, &in, &out, 1, single_value));
  }
  return TG_OK;
}

static tg_status doubles(search* f) {
  if (!f->pairs) return TG_OK;
  for (int k = 0; k < f->s->particles; k++)
    for (int l = k + 1; l < f->s->particles; l++) {
      const uint16_t in[2] = {f->list[k], f->list[l]};
      const uint32_t* members;
      const size_t count = tg_ci_hamiltonian_pairs(
          f->h, f->species, f->orbitals[in[0]].two_m + f->orbitals[in[1]].two_m,
          (unsigned)(f->orbitals[in[0]].symmetry ^ f->orbitals[in[1]].symmetry), &members);
      for (size_t m = 0; m < count; m++) {
        const uint32_t orbitals = (uint32_t)f->s->orbitals;
        const uint16_t out[2] = {(uint16_t)(members[m] / orbitals),
                                 (uint16_t)(members[m] % orbitals)};
        if (!f->occupied[out[0]] && !f->occupied[out[1]])
          TG_TRY(connect(f, in, out, 2, double_value));
      }
    }
  return TG_OK;
}

/* All that string i of a class is connected to. */
static tg_status connect_string(search* f, const tg_ci_class* c, size_t i) {
  f->list = tg_ci_string(f->s, c->begin + i);
  f->bits = f->s->low[c->begin + i];
  f->class = (size_t)(c - f->s->classes);
  f->mark = tg_ci_strings_mark(f->s, f->list);
  f->row = (uint32_t)i;
  f->weight = c->weight;
  memset(f->occupied, 0, f->s->orbitals * sizeof *f->occupied);
  for (int k = 0; k < f->s->particles; k++) f->occupied[f->list[k]] = true;
  uint16_t below = 0;
  for (size_t o = 0; o < f->s->orbitals; o++) {
    f->below[o] = below;
    below += f->occupied[o];
  }
  TG_TRY(singles(f));
  return doubles(f);
}

static void search_end(search* f) {
  TG_FREE(f->source);
  TG_FREE(f->below);
  TG_FREE(f->occupied);
}

static tg_status search_begin(const tg_ci_hamiltonian* h, const tg_ci_strings* s, int species,
                              bool nonzero, tg_ci_connections* found, search* f) {
  *f = (search){.h = h, .s = s, .species = species, .nonzero = nonzero, .found = found};
  f->pairs = !nonzero || tg_ci_hamiltonian_has_pairs(h, species);
  tg_ci_hamiltonian_orbitals(h, species, &f->orbitals);
  TG_TRY(TG_ALLOCATE((size_t)s->particles + 1, "string", &f->source));
  TG_TRY(TG_ALLOCATE(s->orbitals + 1, "orbitals", &f->below));
  return TG_ALLOCATE(s->orbitals + 1, "orbitals", &f->occupied);
}

tg_status tg_ci_alone_sample(const tg_ci_hamiltonian* h, const tg_ci_space* space, int species,
                             bool nonzero, size_t class, tg_ci_sample* out) {
  tg_status status = TG_OK;
  const tg_ci_strings* s = &space->strings[species];
  const tg_ci_class* c = &s->classes[class];
  const size_t step = tg_ci_sample_step(c->count);
  size_t sampled = 0;
  search f;
  tg_ci_connections found = {0};
  TG_TRY_GOTO(search_begin(h, s, species, nonzero, &found, &f), done);
  for (size_t i = 0; i < c->count; i += step, sampled++)
    TG_TRY_GOTO(connect_string(&f, c, i), done);
  status = tg_ci_sample_take(&found, sampled, c->count, out);
done:
  search_end(&f);
  tg_ci_connections_free(&found);
  return status;
}

tg_status tg_ci_alone_begin(const tg_ci_space* space, tg_ci_table_job* job) {
  const tg_ci_strings* s = &space->strings[job->species];
  job->alone->class_count = s->class_count;
  TG_TRY(TG_ALLOCATE(s->class_count, "targets", &job->alone->targets));
  return TG_ALLOCATE(s->count, "energies of strings", &job->alone->diagonal);
}

tg_status tg_ci_alone_class(const tg_ci_hamiltonian* h, const tg_ci_space* space,
                            const tg_ci_table_job* job, size_t class, tg_ci_connections* found,
                            size_t* bytes) {
  const tg_ci_strings* s = &space->strings[job->species];
  const tg_ci_class* c = &s->classes[class];
  tg_status status = TG_OK;
  search f;
  TG_TRY_GOTO(search_begin(h, s, job->species, job->nonzero, found, &f), done);
  found->rows = c->count;
  found->count = 0;
  for (size_t i = 0; i < c->count; i++) {
    TG_TRY_GOTO(connect_string(&f, c, i), done);
    job->alone->diagonal[c->begin + i] = diagonal(&f);
  }
  status = tg_ci_target_make(found, c->count, false, &job->alone->targets[class], bytes);
done:
  search_end(&f);
  return status;
}

void tg_ci_alone_end(const tg_ci_space* space, tg_ci_table_job* job, size_t bytes) {
  tg_ci_alone* a = job->alone;
  a->bytes = bytes + a->class_count * sizeof *a->targets +
             space->strings[job->species].count * sizeof *a->diagonal;
  for (size_t c = 0; c < a->class_count; c++)
    for (size_t l = 0; l < a->targets[c].link_count; l++) a->count += a->targets[c].links[l].count;
}

static tg_status make(const tg_ci_hamiltonian* h, const tg_ci_space* space, int species,
                      int threads, bool nonzero, tg_ci_alone* out) {
  tg_ci_alone a = {0};
  tg_ci_table_job job = {.species = species, .nonzero = nonzero, .alone = &a};
  const tg_status status = tg_ci_table_jobs_run(h, space, threads, &job, 1);
  if (status != TG_OK) {
    tg_ci_alone_free(&a);
    return status;
  }
  *out = a;
  return TG_OK;
}

tg_status tg_ci_alone_make(const tg_ci_hamiltonian* h, const tg_ci_space* space, int species,
                           int threads, tg_ci_alone* out) {
  return make(h, space, species, threads, false, out);
}

tg_status tg_ci_alone_make_nonzero(const tg_ci_hamiltonian* h, const tg_ci_space* space,
                                   int species, int threads, tg_ci_alone* out) {
  return make(h, space, species, threads, true, out);
}
