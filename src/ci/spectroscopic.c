/* SPDX-License-Identifier: Apache-2.0 */
#include "ci/spectroscopic.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "ci/angular.h"

struct tg_ci_spectroscopic {
  const tg_ci_model* model;
  const tg_ci_orbital* orbitals; /* of the species */
  size_t count;
  tg_ci_overlap_plan* plan;
  double* amplitude; /* [count] */
  int species, two_m[2];
};

void tg_ci_spectroscopic_free(tg_ci_spectroscopic* s) {
  if (!s) return;
  tg_ci_overlap_plan_free(s->plan);
  tg_free(s->amplitude);
  tg_free(s);
}

int tg_ci_spectroscopic_species(const tg_ci_spectroscopic* s) { return s->species; }

/* The species that the larger space has one more of; -1: none. */
static int species_of(const tg_ci_space* smaller, const tg_ci_space* larger) {
  int more[2];
  for (int t = 0; t < 2; t++)
    more[t] = larger->strings[t].particles - smaller->strings[t].particles;
  if (more[0] == 1 && more[1] == 0) return 0;
  return more[0] == 0 && more[1] == 1 ? 1 : -1;
}

tg_status tg_ci_spectroscopic_make(const tg_ci_hamiltonian* h, const tg_ci_model* model,
                                   const tg_ci_space* smaller, const tg_ci_space* larger,
                                   tg_ci_spectroscopic** out) {
  const int species = species_of(smaller, larger);
  tg_ci_spectroscopic* s = NULL;
  tg_status status = TG_OK;
  if (species < 0)
    return tg_fail(TG_ERR_INPUT,
                   "spectroscopic factors are between nuclei that differ by one nucleon; found %d "
                   "protons and %d neutrons, and %d and %d",
                   larger->strings[0].particles, larger->strings[1].particles,
                   smaller->strings[0].particles, smaller->strings[1].particles);
  const tg_ci_side bra = {.space = smaller};
  const tg_ci_side ket = {.space = larger, .removed = {species == 0, species == 1}};
  TG_TRY(TG_ALLOCATE(1, "spectroscopic factors", &s));
  s->model = model;
  s->species = species;
  s->two_m[0] = smaller->two_m;
  s->two_m[1] = larger->two_m;
  s->count = tg_ci_hamiltonian_orbitals(h, species, &s->orbitals);
  TG_TRY_GOTO(TG_ALLOCATE(s->count + 1, "amplitudes", &s->amplitude), failed);
  TG_TRY_GOTO(tg_ci_overlap_plan_make(h, &bra, &ket, &s->plan), failed);
  *out = s;
  return TG_OK;
failed:
  tg_ci_spectroscopic_free(s);
  return status;
}

/* <J M|a+_jm|J' M'> = <J' M' j m|J M> / sqrt(2J + 1) <J||a+_j||J'>, and <J' M'|a_jm|J M> is the
 * same number. */
tg_status tg_ci_spectroscopic_reduced(const tg_ci_spectroscopic* s, tg_ci_good_state smaller,
                                      tg_ci_good_state larger, int threads, double* reduced) {
  const tg_ci_shells* shells = &s->model->shells;
  const int two_m = s->two_m[1] - s->two_m[0];
  const size_t first = s->species ? shells->proton_count : 0;
  TG_TRY(tg_ci_overlap_plan_compute(s->plan, smaller.x, larger.x, threads, s->amplitude));
  for (size_t a = 0; a < shells->count; a++) {
    const tg_ci_shell* shell = &shells->shell[a];
    reduced[a] = shell->species == s->species && abs(two_m) > shell->two_j ? NAN : 0;
  }
  for (size_t o = 0; o < s->count; o++) {
    if (s->orbitals[o].two_m != two_m) continue;
    const size_t a = first + s->orbitals[o].shell;
    const int two_j = shells->shell[a].two_j;
    if (!tg_ci_triangle(smaller.two_j, two_j, larger.two_j)) continue;
    const double clebsch =
        tg_ci_clebsch(smaller.two_j, s->two_m[0], two_j, two_m, larger.two_j, s->two_m[1]);
    reduced[a] = fabs(clebsch) < 1e-10 ? NAN : s->amplitude[o] * sqrt(larger.two_j + 1.0) / clebsch;
  }
  return TG_OK;
}
