/* SPDX-License-Identifier: Apache-2.0 */
#include "ci/transitions.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/units.h"
#include "ci/angular.h"
#include "ci/oscillator.h"

/* A neutron becomes a proton, or the other way round. */
static bool is_beta(tg_ci_transition_kind kind) {
  return kind == TG_CI_GAMOW_TELLER || kind == TG_CI_FERMI;
}

static int rank_of(tg_ci_transition_kind kind, int electric) {
  return kind == TG_CI_ELECTRIC ? electric : kind == TG_CI_FERMI ? 0 : 1;
}

tg_ci_transition_parameters tg_ci_transition_defaults(tg_ci_transition_kind kind, int rank,
                                                      double hw) {
  return (tg_ci_transition_parameters){.kind = kind,
                                       .rank = rank_of(kind, rank),
                                       .charge = {1.5, 0.5},
                                       .g_orbital = {1, 0},
                                       .g_spin = {TG_G_SPIN_PROTON, TG_G_SPIN_NEUTRON},
                                       .hw = hw,
                                       .charge_change = is_beta(kind) ? 1 : 0};
}

void tg_ci_transition_free(tg_ci_transition* transition) {
  if (!transition) return;
  tg_free(transition->element);
  memset(transition, 0, sizeof *transition);
}

static double electric(const tg_ci_shell* a, const tg_ci_shell* b,
                       const tg_ci_transition_parameters* p) {
  const double length = sqrt(tg_ci_oscillator_length2(p->hw));
  const double charge = p->charge[a->species];
  if (p->rank == 0) {
    if (a->l != b->l || a->two_j != b->two_j) return 0;
    return charge * sqrt(a->two_j + 1) * length * length * tg_ci_radial(a->n, a->l, 2, b->n, b->l);
  }
  const double angular = tg_ci_harmonic_reduced(a->l, a->two_j, p->rank, b->l, b->two_j);
  if (angular == 0) return 0;
  return charge * angular * pow(length, p->rank) * tg_ci_radial(a->n, a->l, p->rank, b->n, b->l);
}

static double element(const tg_ci_shell* a, const tg_ci_shell* b,
                      const tg_ci_transition_parameters* p) {
  /* +1 ends in a proton orbit and starts from a neutron orbit */
  const int change = b->species - a->species;
  const int wanted = is_beta(p->kind) ? p->charge_change : 0;
  if (change != wanted) return 0;
  if (p->kind == TG_CI_ELECTRIC) return electric(a, b, p);
  if (a->n != b->n) return 0;
  if (p->kind == TG_CI_FERMI) return a->l == b->l && a->two_j == b->two_j ? sqrt(a->two_j + 1) : 0;
  const double spin = tg_ci_spin_reduced(a->l, a->two_j, b->l, b->two_j);
  if (p->kind == TG_CI_GAMOW_TELLER) return 2 * spin; /* sigma = 2 s */
  return sqrt(3 / (4 * TG_PI)) *
         (p->g_orbital[a->species] * tg_ci_orbital_reduced(a->l, a->two_j, b->l, b->two_j) +
          p->g_spin[a->species] * spin);
}

static tg_status check(const tg_ci_transition_parameters* p) {
  if (p->kind == TG_CI_ELECTRIC && (p->rank < 0 || p->rank > TG_CI_MOST_RANK))
    return tg_fail(TG_ERR_INPUT, "an electric operator of rank %d; 0 to %d are supported", p->rank,
                   TG_CI_MOST_RANK);
  if (p->kind == TG_CI_ELECTRIC && !(p->hw > 0))
    return tg_fail(TG_ERR_INPUT,
                   "an electric operator needs an oscillator energy above 0, found %g MeV; give "
                   "--hw",
                   p->hw);
  if (p->kind == TG_CI_MAGNETIC && p->rank != 1)
    return tg_fail(TG_ERR_INPUT, "a magnetic operator of rank %d; only M1 is supported", p->rank);
  if (is_beta(p->kind) && p->charge_change != 1 && p->charge_change != -1)
    return tg_fail(TG_ERR_INPUT,
                   "a %s operator that changes the number of protons by %d; 1 and -1 are possible",
                   p->kind == TG_CI_FERMI ? "Fermi" : "Gamow-Teller", p->charge_change);
  return TG_OK;
}

tg_status tg_ci_transition_create(const tg_ci_shells* shells,
                                  const tg_ci_transition_parameters* parameters,
                                  tg_ci_transition* out) {
  TG_TRY(check(parameters));
  const size_t n = shells->count;
  const bool beta = is_beta(parameters->kind);
  tg_ci_transition made = {.rank = rank_of(parameters->kind, parameters->rank),
                           .charge_change = beta ? parameters->charge_change : 0,
                           .shells = n};
  made.parity = parameters->kind == TG_CI_ELECTRIC && parameters->rank % 2 ? -1 : 1;
  if (beta)
    snprintf(made.name, sizeof made.name, "%s%c", parameters->kind == TG_CI_FERMI ? "F" : "GT",
             made.charge_change > 0 ? '+' : '-');
  else if (parameters->kind == TG_CI_MAGNETIC)
    snprintf(made.name, sizeof made.name, "M1");
  else if (made.rank == 0)
    snprintf(made.name, sizeof made.name, "r^2");
  else
    snprintf(made.name, sizeof made.name, "E%d", made.rank);
  TG_TRY(TG_ALLOCATE(n * n, "elements of a one-body operator", &made.element));
  for (size_t a = 0; a < n; a++)
    for (size_t b = 0; b < n; b++)
      made.element[a * n + b] = element(&shells->shell[a], &shells->shell[b], parameters);
  *out = made;
  return TG_OK;
}
