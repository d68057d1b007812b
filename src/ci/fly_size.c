/* SPDX-License-Identifier: Apache-2.0 */
/* How large the tables of the factorised product will be: connections of a few strings of each
 * class are found and thrown away again; orbitals that some strings hold and others do not give the
 * operators. */
#include <math.h>
#include <stdbool.h>

#include "base/memory.h"
#include "ci/links.h"
#include "ci/product_fly.h"

/* Bytes of a connection that stays: of jumps from, code, three numbers by operator, and at most one
 * operator each; of a species alone from and value. */
static const double jump_bytes = 5 * sizeof(uint32_t) + 2 * sizeof(uint32_t);
static const double alone_bytes = sizeof(uint32_t) + sizeof(double);
/* and while its class is made: the list, which is up to a quarter longer than it must be (links.c),
 * and the number of the link */
static const double making_bytes = 1.25 * sizeof(tg_ci_connection) + sizeof(uint32_t);

typedef struct sums {
  double bytes;   /* of all classes */
  double largest; /* connections of the largest class */
} sums;

static void add_sample(const tg_ci_sample* sample, size_t rows, double each, sums* s) {
  s->bytes += each * sample->connections +
              (double)sample->links *
                  (sizeof(tg_ci_link) + ((double)rows + 1) * sizeof(uint32_t) + sizeof(uint32_t));
  s->largest = fmax(s->largest, sample->connections);
}

static tg_status size_species(const tg_ci_hamiltonian* h, const tg_ci_space* space, int species,
                              int threads, bool nonzero, const bool* useful, sums* out) {
  tg_status status = TG_OK;
  const tg_ci_strings* s = &space->strings[species];
  const bool moves = space->strings[1 - species].particles > 0;
#pragma omp parallel for schedule(dynamic) num_threads(threads)
  for (size_t c = 0; c < s->class_count; c++) {
    tg_ci_sample alone = {0}, jumps = {0};
    tg_status mine = tg_ci_alone_sample(h, space, species, nonzero, c, &alone);
    if (mine == TG_OK && moves) mine = tg_ci_jumps_sample(h, space, species, useful, c, &jumps);
#pragma omp critical(tg_ci_fly_size)
    {
      add_sample(&alone, s->classes[c].count, alone_bytes, out);
      add_sample(&jumps, s->classes[c].count, jump_bytes, out);
      if (mine != TG_OK) status = mine;
    }
  }
  if (status != TG_OK) /* the words are with another thread */
    return tg_fail(status, "no memory to look at a few strings of each class");
  out->bytes +=
      (double)s->class_count * 2 * sizeof(tg_ci_target) + (double)s->count * sizeof(double);
  return TG_OK;
}

/* Those that some strings hold and others do not. */
static tg_status moving_orbitals(const tg_ci_strings* s, bool** out) {
  size_t* held = NULL;
  TG_TRY(TG_ALLOCATE(s->orbitals + 1, "orbitals", out));
  TG_TRY(TG_ALLOCATE(s->orbitals + 1, "orbitals", &held));
  for (size_t e = 0; e < s->count * (size_t)s->particles; e++) held[s->orbital[e]]++;
  for (size_t o = 0; o < s->orbitals; o++) (*out)[o] = held[o] > 0 && held[o] < s->count;
  tg_free(held);
  return TG_OK;
}

/* Operators of B that change 2m and the label by this. */
static size_t operators_of(const tg_ci_hamiltonian* h, const bool* moving, const bool* useful,
                           int change, unsigned label) {
  const uint32_t* members;
  const size_t n = tg_ci_hamiltonian_orbitals(h, 1, NULL);
  const size_t all = tg_ci_hamiltonian_transitions(h, 1, change, label, &members);
  size_t count = 0;
  for (size_t m = 0; m < all; m++) {
    const uint32_t i = members[m] / (uint32_t)n, j = members[m] % (uint32_t)n;
    count += i != j && moving[i] && moving[j] && useful[members[m]];
  }
  return count;
}

/* w(a,b) of the operators of A. */
static tg_status size_rows(const tg_ci_hamiltonian* h, const tg_ci_space* space,
                           bool* const useful[2], double* bytes) {
  bool* moving[2] = {NULL, NULL};
  size_t* operators = NULL; /* by channel; SIZE_MAX: not counted yet */
  tg_status status = TG_OK;
  const tg_ci_orbital* o;
  const size_t n = tg_ci_hamiltonian_orbitals(h, 0, &o);
  int least = 0, most = 0;
  unsigned labels = 1;
  for (size_t i = 0; i < n; i++) {
    least = o[i].two_m < least ? o[i].two_m : least;
    most = o[i].two_m > most ? o[i].two_m : most;
    while (labels <= o[i].symmetry) labels *= 2;
  }
  const size_t channels = (size_t)(2 * (most - least) + 1) * labels;
  for (int t = 0; t < 2; t++) TG_TRY_GOTO(moving_orbitals(&space->strings[t], &moving[t]), done);
  TG_TRY_GOTO(TG_ALLOCATE(channels, "channels", &operators), done);
  for (size_t c = 0; c < channels; c++) operators[c] = SIZE_MAX;
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++) {
      const double* values;
      const uint32_t* places;
      if (i == j || !moving[0][i] || !moving[0][j] || !useful[0][i * n + j]) continue;
      *bytes += sizeof(size_t) + sizeof(uint32_t);
      if (!tg_ci_hamiltonian_cross_row(h, (int)i, (int)j, &values, &places)) continue;
      const int change = o[i].two_m - o[j].two_m;
      const unsigned label = (unsigned)(o[i].symmetry ^ o[j].symmetry);
      size_t* count = &operators[(size_t)(change + most - least) * labels + label];
      if (*count == SIZE_MAX) *count = operators_of(h, moving[1], useful[1], -change, label);
      *bytes += (double)*count * sizeof(double);
      if (change == 0 && label == 0) /* fields, of both species about as many */
        *bytes += (double)(n + space->strings[1].orbitals) * sizeof(double);
    }
done:
  tg_free(operators);
  for (int t = 0; t < 2; t++) tg_free(moving[t]);
  return status;
}

tg_status tg_ci_fly_estimate(const tg_ci_hamiltonian* h, const tg_ci_space* space, int threads,
                             bool nonzero, tg_ci_fly_size* out) {
  tg_status status = TG_OK;
  bool* useful[2] = {NULL, NULL};
  sums s = {0};
  const size_t orbitals[2] = {space->strings[0].orbitals, space->strings[1].orbitals};
  for (int t = 0; t < 2; t++)
    TG_TRY_GOTO(TG_ALLOCATE(orbitals[t] * orbitals[t] + 1, "operators", &useful[t]), done);
  tg_ci_fly_useful(h, space, nonzero, useful);
  for (int t = 0; t < 2; t++)
    TG_TRY_GOTO(size_species(h, space, t, threads, nonzero, useful[t], &s), done);
  TG_TRY_GOTO(size_rows(h, space, useful, &s.bytes), done);
  s.bytes += (double)(orbitals[0] * orbitals[1]) * sizeof(double) +
             (double)space->block_count * sizeof(double) +
             (double)space->dimension * sizeof(double);
  *out = (tg_ci_fly_size){.bytes = (uint64_t)s.bytes,
                          .peak = (uint64_t)(s.bytes + making_bytes * s.largest)};
done:
  for (int t = 0; t < 2; t++) tg_free(useful[t]);
  return status;
}
