/* SPDX-License-Identifier: Apache-2.0 */
/* One particle may carry all nmax quanta: the highest of a species then sits nmax above the highest
 * orbit that the species fills in its lowest configuration, and a pair as far above its two highest
 * particles. Orbits or elements that end below that cut the space, or the interaction in it,
 * without a word, and give an energy that belongs to no nmax. */
#include "ci/reach.h"

#include <limits.h>
#include <stdio.h>

#include "ci/input/readers.h"

enum { TOPS = 2 };

/* How far the inputs go. */
typedef struct reach {
  int shells[2];               /* all orbits of a species are there up to this shell; -1: none */
  int pairs[TG_CI_PAIR_KINDS]; /* most quanta of pairs with elements; INT_MAX: no element at all */
} reach;

/* Quanta of the two highest particles of each species in the lowest configuration; -1: none. */
typedef struct needed {
  int top[2][TOPS];
} needed;

static int quanta(const tg_ci_shell* shell) { return 2 * shell->n + shell->l; }

static int larger(int a, int b) { return a > b ? a : b; }

static bool weights_are_quanta(const tg_ci_shells* shells) {
  for (size_t i = 0; i < shells->count; i++)
    if (shells->shell[i].weight != quanta(&shells->shell[i])) return false;
  return true;
}

/* An oscillator shell holds j = l +- 1/2 of each l of its evenness. */
static bool shell_is_whole(const tg_ci_shells* shells, int species, int shell) {
  for (int l = shell % 2; l <= shell; l += 2)
    for (int two_j = l ? 2 * l - 1 : 1; two_j <= 2 * l + 1; two_j += 2) {
      const tg_ci_shell like = {.n = (shell - l) / 2, .l = l, .two_j = two_j, .species = species};
      if (tg_ci_shells_find(shells, &like) < 0) return false;
    }
  return true;
}

static reach find_reach(const tg_ci_model* model) {
  reach r = {{-1, -1}, {INT_MAX, INT_MAX, INT_MAX}};
  const tg_ci_shells* s = &model->shells;
  for (int t = 0; t < 2; t++)
    while (shell_is_whole(s, t, r.shells[t] + 1)) r.shells[t]++;
  for (size_t i = 0; i < model->part_count; i++) {
    const tg_ci_couplings* c = &model->parts[i].couplings;
    for (size_t k = 0; k < c->two_count; k++) {
      const tg_ci_two_element* e = &c->two[k];
      int* most = &r.pairs[tg_ci_pair_kind(s, e->a, e->b)];
      const int bra = quanta(&s->shell[e->a]) + quanta(&s->shell[e->b]);
      const int ket = quanta(&s->shell[e->c]) + quanta(&s->shell[e->d]);
      *most = larger(*most == INT_MAX ? 0 : *most, larger(bra, ket));
    }
  }
  return r;
}

static needed find_needed(const tg_ci_problem* p) {
  needed n = {{{-1, -1}, {-1, -1}}};
  for (int t = 0; t < 2; t++) {
    int left = p->particles[t];
    for (int shell = 0; left > 0; left -= (shell + 1) * (shell + 2), shell++) {
      n.top[t][1] = left > 1 ? shell : n.top[t][0];
      n.top[t][0] = shell;
    }
  }
  return n;
}

/* Most quanta of a pair at nmax; -1: there is none. */
static int pair_needed(const needed* n, int kind, int nmax) {
  const int t = kind == TG_CI_NN;
  const int a = kind == TG_CI_PN ? n->top[0][0] : n->top[t][0];
  const int b = kind == TG_CI_PN ? n->top[1][0] : n->top[t][1];
  return a < 0 || b < 0 ? -1 : a + b + nmax;
}

/* Whether nmax is reached; where it is not, *words say what is there and what was needed. */
static bool reaches(const reach* r, const needed* n, int nmax, char* words, size_t size) {
  static const char* const species[] = {"protons", "neutrons"};
  static const char* const pairs[] = {"of two protons", "of two neutrons",
                                      "of a proton and a neutron"};
  for (int t = 0; t < 2; t++)
    if (n->top[t][0] >= 0 && r->shells[t] < n->top[t][0] + nmax) {
      snprintf(words, size,
               "the orbits of %s are whole up to the shell N = %d, and N = %d is needed",
               species[t], r->shells[t], n->top[t][0] + nmax);
      return false;
    }
  for (int k = 0; k < TG_CI_PAIR_KINDS; k++)
    if (r->pairs[k] < pair_needed(n, k, nmax)) {
      snprintf(words, size, "the elements %s go up to pairs of %d quanta, and %d are needed",
               pairs[k], r->pairs[k], pair_needed(n, k, nmax));
      return false;
    }
  return true;
}

tg_status tg_ci_reach_check(int nmax, bool accept, tg_ci_problem* p) {
  const tg_ci_model* model = &p->input->model;
  char words[160], unused[160], good[64];
  if (model->core_mass != 0 || !weights_are_quanta(&model->shells)) return TG_OK;
  const reach r = find_reach(model);
  const needed n = find_needed(p);
  if (larger(r.shells[0], r.shells[1]) < 0 || reaches(&r, &n, nmax, words, sizeof words))
    return TG_OK;
  int most = nmax;
  while (most >= 0 && !reaches(&r, &n, most, unused, sizeof unused))
    most = most > 64 ? 64 : most - 1;
  if (most >= 0)
    snprintf(good, sizeof good, "it is good for --nmax %d at most", most);
  else
    snprintf(good, sizeof good, "it is good for no nmax of this nucleus");
  if (accept)
    return tg_ci_note(&p->notes, "the input is cut: for nmax = %d %s; %s", nmax, words, good);
  return tg_fail(
      TG_ERR_INPUT,
      "%s: for --nmax %d %s; %s. Take an input that goes further, or accept a space that "
      "is cut there (--allow-cut)",
      p->input->facts[0].path, nmax, words, good);
}
