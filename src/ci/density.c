/* SPDX-License-Identifier: Apache-2.0 */
/* The plan of densities between two spaces: which operators there are, and how they take strings
 * to strings. */
#include "ci/density.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

void tg_ci_density_free(tg_ci_density* d) {
  if (!d) return;
  for (int t = 0; t < 2; t++) {
    tg_ci_moves_free(&d->moves[t]);
    tg_free(d->number[t]);
  }
  tg_free(d->pairs);
  memset(d, 0, sizeof *d);
}

/* p <- q has the change of 2m and label that the spaces have. */
static bool is_wanted(const tg_ci_density* d, const tg_ci_orbital* p, const tg_ci_orbital* q) {
  if (p->two_m - q->two_m != d->final->two_m - d->initial->two_m) return false;
  if (d->final->symmetry < 0 || d->initial->symmetry < 0) return true;
  return (p->symmetry ^ q->symmetry) == (d->final->symmetry ^ d->initial->symmetry);
}

/* The operators of one kind: creating in species c, destroying in species s. */
static tg_status list_pairs(const tg_ci_hamiltonian* h, int c, int s, uint32_t* number,
                            size_t* room, tg_ci_density* d) {
  const tg_ci_orbital *of_c, *of_s;
  const size_t nc = tg_ci_hamiltonian_orbitals(h, c, &of_c);
  const size_t ns = tg_ci_hamiltonian_orbitals(h, s, &of_s);
  for (size_t p = 0; p < nc; p++)
    for (size_t q = 0; q < ns; q++) {
      number[p * ns + q] = UINT32_MAX;
      if (!is_wanted(d, &of_c[p], &of_s[q])) continue;
      TG_TRY(TG_RESERVE(d->count + 1, "one-body operators", &d->pairs, room));
      number[p * ns + q] = (uint32_t)d->count;
      d->pairs[d->count++] = (tg_ci_pair){.create = (uint16_t)p,
                                          .destroy = (uint16_t)q,
                                          .create_species = (uint8_t)c,
                                          .destroy_species = (uint8_t)s};
    }
  return TG_OK;
}

static tg_status check_particles(const tg_ci_density* d) {
  for (int t = 0; t < 2; t++) {
    const int gained = d->final->strings[t].particles - d->initial->strings[t].particles;
    const int wanted = t ? -d->charge_change : d->charge_change;
    if (gained != wanted)
      return tg_fail(TG_ERR_INPUT,
                     "one-body operators that change the numbers of particles by %d and %d do not "
                     "connect %d and %d particles with %d and %d",
                     d->charge_change, -d->charge_change, d->initial->strings[0].particles,
                     d->initial->strings[1].particles, d->final->strings[0].particles,
                     d->final->strings[1].particles);
  }
  return TG_OK;
}

/* Moves of both species within their numbers, or one made and one taken away. */
static tg_status make_moves(tg_ci_density* d, int threads) {
  for (int t = 0; t < 2; t++) {
    const int gained = t ? -d->charge_change : d->charge_change;
    const tg_ci_move move = gained == 0  ? TG_CI_MOVE_WITHIN
                            : gained > 0 ? TG_CI_MOVE_CREATE
                                         : TG_CI_MOVE_DESTROY;
    TG_TRY(tg_ci_moves_make(&d->final->strings[t], &d->initial->strings[t], move,
                            gained == 0 ? d->number[t] : NULL, threads, &d->moves[t]));
  }
  return TG_OK;
}

tg_status tg_ci_density_plan(const tg_ci_hamiltonian* h, const tg_ci_space* final,
                             const tg_ci_space* initial, int charge_change, int threads,
                             tg_ci_density* out) {
  tg_status status = TG_OK;
  size_t room = 0;
  tg_ci_density d = {.final = final, .initial = initial, .charge_change = charge_change};
  if (abs(charge_change) > 1)
    return tg_fail(TG_ERR_INPUT, "one-body operators change the charge by 1 at most, not by %d",
                   charge_change);
  TG_TRY(check_particles(&d));
  for (int t = 0; t < 2; t++) d.orbitals[t] = tg_ci_hamiltonian_orbitals(h, t, NULL);
  if (charge_change) {
    const int c = charge_change > 0 ? 0 : 1;
    TG_TRY_GOTO(TG_ALLOCATE(d.orbitals[0] * d.orbitals[1], "one-body operators", &d.number[0]),
                failed);
    TG_TRY_GOTO(list_pairs(h, c, 1 - c, d.number[0], &room, &d), failed);
  }
  for (int t = 0; charge_change == 0 && t < 2; t++) {
    TG_TRY_GOTO(TG_ALLOCATE(d.orbitals[t] * d.orbitals[t], "one-body operators", &d.number[t]),
                failed);
    TG_TRY_GOTO(list_pairs(h, t, t, d.number[t], &room, &d), failed);
  }
  TG_TRY_GOTO(make_moves(&d, threads), failed);
  *out = d;
  return TG_OK;
failed:
  tg_ci_density_free(&d);
  return status;
}

void tg_ci_density_ladder(const tg_ci_density* d, const tg_ci_hamiltonian* h, double* coefficient) {
  for (size_t o = 0; o < d->count; o++) {
    const tg_ci_pair* pair = &d->pairs[o];
    const tg_ci_orbital* of;
    coefficient[o] = 0;
    if (pair->create_species != pair->destroy_species) continue;
    const size_t n = tg_ci_hamiltonian_orbitals(h, pair->create_species, &of);
    if (of[pair->create].shell != of[pair->destroy].shell) continue;
    int two_j = 0; /* the largest 2m of the shell */
    for (size_t i = 0; i < n; i++)
      if (of[i].shell == of[pair->create].shell && of[i].two_m > two_j) two_j = of[i].two_m;
    const double m = 0.5 * of[pair->create].two_m, from = 0.5 * of[pair->destroy].two_m;
    const double j = 0.5 * two_j;
    coefficient[o] = sqrt(fmax(j * (j + 1) - m * from, 0)); /* of m = from + 1, or from - 1 */
  }
}
