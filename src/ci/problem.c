/* SPDX-License-Identifier: Apache-2.0 */
#include "ci/problem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

tg_ci_problem_params tg_ci_problem_defaults(void) {
  return (tg_ci_problem_params){.protons = TG_CI_UNSET,
                                .neutrons = TG_CI_UNSET,
                                .two_m = TG_CI_UNSET,
                                .parity = TG_CI_UNSET,
                                .nmax = TG_CI_UNSET,
                                .electrons = TG_CI_UNSET,
                                .two_sz = TG_CI_UNSET,
                                .irrep = TG_CI_UNSET};
}

void tg_ci_problem_free(tg_ci_problem* p) {
  if (!p) return;
  tg_ci_hamiltonian_free(p->h);
  for (int k = 0; k < TG_CI_LABELS; k++) tg_ci_hamiltonian_free(p->label[k]);
  tg_free(p->dimensions);
  tg_free(p->sectors);
  memset(p, 0, sizeof *p);
}

const char* tg_ci_problem_unit(const tg_ci_problem* p) {
  return p->kind == TG_CI_NUCLEUS ? "MeV" : "Ha";
}

uint64_t tg_ci_problem_dimension(const tg_ci_problem* p, unsigned symmetry) {
  for (size_t i = 0; i < p->dimension_count; i++)
    if (p->dimensions[i].two_m == p->space.two_m && p->dimensions[i].symmetry == symmetry)
      return p->dimensions[i].states;
  return 0;
}

static tg_status not_for(const tg_ci_input* input, bool given, const char* option,
                         const char* instead) {
  if (!given) return TG_OK;
  return tg_fail(TG_ERR_INPUT, "%s: this is the input of a %s, which has no %s; %s",
                 input->facts[0].path, input->kind == TG_CI_NUCLEUS ? "nucleus" : "molecule",
                 option, instead);
}

/* Twice M that was asked for, or the least; TG_ERR_INPUT for the wrong evenness. */
static tg_status choose_two_m(int given, int particles, const char* what, int* out) {
  *out = given == TG_CI_UNSET ? particles % 2 : given;
  if (abs(*out) % 2 != particles % 2)
    return tg_fail(TG_ERR_INPUT, "%s %d does not go with %d particles: it must be %s", what, given,
                   particles, particles % 2 ? "odd" : "even");
  return TG_OK;
}

/* ---- nuclei ---- */

/* A label's operator, or the reason why there is none. */
static tg_status keep_label(tg_ci_problem* p, tg_ci_label kind, tg_status status,
                            tg_ci_hamiltonian* made) {
  p->label[kind] = status == TG_OK ? made : NULL;
  if (status == TG_ERR_INPUT) {
    strncpy(p->unknown[kind], tg_last_error(), sizeof p->unknown[kind] - 1);
    return TG_OK;
  }
  return status;
}

/* Hcm - 3/2 hw; and H + beta times it, which lifts states whose centre of mass is excited. */
static tg_status make_cm(tg_ci_problem* p, const tg_ci_nucleus* nucleus, double beta) {
  const tg_ci_model* model = &p->input->model;
  tg_ci_hamiltonian* cm = NULL;
  if (model->core_mass != 0) {
    if (beta != 0)
      return tg_fail(TG_ERR_INPUT,
                     "%s: the centre of mass can be held (beta-cm) only in inputs without a core",
                     p->input->facts[0].path);
    return TG_OK;
  }
  tg_status status = tg_ci_model_quantity(model, TG_CI_HCM, nucleus, &cm);
  if (status == TG_OK)
    tg_ci_hamiltonian_set_constant(cm, tg_ci_hamiltonian_constant(cm) - 1.5 * p->hw);
  TG_TRY(keep_label(p, TG_CI_LABEL_CM, status, cm));
  if (beta == 0) return TG_OK;
  if (status != TG_OK) return tg_fail(TG_ERR_INPUT, "%s", p->unknown[TG_CI_LABEL_CM]);
  return tg_ci_hamiltonian_add(p->h, beta, cm);
}

static tg_status make_nuclear_operators(const tg_ci_problem_params* params, tg_ci_problem* p) {
  const tg_ci_model* model = &p->input->model;
  tg_ci_nucleus nucleus = {.protons = p->particles[0],
                           .neutrons = p->particles[1],
                           .hw = params->hw,
                           .relative_kinetic = params->relative_kinetic};
  TG_TRY(tg_ci_model_hamiltonian(model, &nucleus, &p->h));
  if (model->core_mass >= 0) {
    TG_TRY(tg_ci_model_mass(model, &nucleus, &p->mass));
    TG_TRY(tg_ci_model_oscillator(model, &nucleus, &p->hw));
  }
  for (int k = TG_CI_LABEL_J; k <= TG_CI_LABEL_T; k++) {
    tg_ci_hamiltonian* o = NULL;
    const tg_status status =
        tg_ci_model_quantity(model, k == TG_CI_LABEL_J ? TG_CI_J2 : TG_CI_T2, &nucleus, &o);
    TG_TRY(keep_label(p, (tg_ci_label)k, status, o));
  }
  return make_cm(p, &nucleus, params->beta_cm);
}

static tg_status take_nucleus(const tg_ci_problem_params* params, tg_ci_problem* p) {
  const tg_ci_input* input = p->input;
  static const char instead[] = "give --protons and --neutrons";
  TG_TRY(not_for(input, params->electrons != TG_CI_UNSET, "electrons of its own", instead));
  TG_TRY(not_for(input, params->two_sz != TG_CI_UNSET, "Sz of electrons", "give --two-m"));
  TG_TRY(not_for(input, params->irrep != TG_CI_UNSET, "irreps", "give --parity"));
  if (params->protons == TG_CI_UNSET && params->neutrons == TG_CI_UNSET)
    return tg_fail(TG_ERR_INPUT,
                   "%s: how many protons and neutrons are outside the core? Give --protons and "
                   "--neutrons",
                   input->facts[0].path);
  p->particles[0] = params->protons == TG_CI_UNSET ? 0 : params->protons;
  p->particles[1] = params->neutrons == TG_CI_UNSET ? 0 : params->neutrons;
  if (p->particles[0] < 0 || p->particles[1] < 0 || p->particles[0] + p->particles[1] < 1)
    return tg_fail(TG_ERR_INPUT,
                   "%d protons and %d neutrons outside the core; at least one particle is needed, "
                   "and no negative number",
                   p->particles[0], p->particles[1]);
  if (params->parity != TG_CI_UNSET && params->parity != 1 && params->parity != -1)
    return tg_fail(TG_ERR_INPUT, "parity %d; it must be 1 or -1", params->parity);
  if (!(params->hw >= 0) || !isfinite(params->hw))
    return tg_fail(TG_ERR_INPUT, "the oscillator energy hw is %g MeV; it must be above 0",
                   params->hw);
  TG_TRY(choose_two_m(params->two_m, p->particles[0] + p->particles[1], "2M", &p->two_m));
  p->space.names[0] = "protons";
  p->space.names[1] = "neutrons";
  return make_nuclear_operators(params, p);
}

/* ---- molecules ---- */

static tg_status take_molecule(const tg_ci_problem_params* params, tg_ci_problem* p) {
  const tg_ci_input* input = p->input;
  const tg_ci_integrals* g = &input->integrals;
  TG_TRY(not_for(input, params->protons != TG_CI_UNSET || params->neutrons != TG_CI_UNSET,
                 "protons and neutrons to place", "give --electrons and --two-sz"));
  TG_TRY(not_for(input, params->two_m != TG_CI_UNSET, "M", "give --two-sz"));
  TG_TRY(not_for(input, params->parity != TG_CI_UNSET, "parity", "give --irrep"));
  TG_TRY(not_for(input, params->nmax != TG_CI_UNSET, "oscillator quanta", "leave --nmax away"));
  TG_TRY(not_for(input, params->hw != 0 || params->beta_cm != 0 || params->relative_kinetic,
                 "oscillator energy", "leave --hw, --beta-cm and --trel away"));
  const int electrons = params->electrons == TG_CI_UNSET ? g->electrons : params->electrons;
  const int usual = electrons == g->electrons ? g->two_sz : TG_CI_UNSET;
  if (electrons < 1)
    return tg_fail(TG_ERR_INPUT, "%d electrons; at least one is needed", electrons);
  TG_TRY(choose_two_m(params->two_sz == TG_CI_UNSET ? usual : params->two_sz, electrons, "2Sz",
                      &p->two_m));
  if (abs(p->two_m) > electrons)
    return tg_fail(TG_ERR_INPUT, "2Sz %d is more than %d electrons can have", p->two_m, electrons);
  if (params->irrep != TG_CI_UNSET && (params->irrep < 1 || params->irrep > 8))
    return tg_fail(TG_ERR_INPUT, "irrep %d; Molpro's numbers go from 1 to 8", params->irrep);
  if (params->irrep > 1 && !g->symmetry)
    return tg_fail(TG_ERR_INPUT,
                   "irrep %d: the integrals of %s do not have the symmetry of its ORBSYM, so all "
                   "states are in irrep 1",
                   params->irrep, input->facts[0].path);
  p->particles[0] = (electrons + p->two_m) / 2;
  p->particles[1] = (electrons - p->two_m) / 2;
  p->space.names[0] = "electrons with spin up";
  p->space.names[1] = "electrons with spin down";
  TG_TRY(tg_ci_integrals_hamiltonian(g, &p->h));
  tg_ci_hamiltonian* spin = NULL;
  const tg_status status = tg_ci_integrals_spin_squared(g, p->particles[0], p->particles[1], &spin);
  return keep_label(p, TG_CI_LABEL_J, status, spin);
}

/* ---- the space ---- */

/* Weights are 2n + l, so that a configuration's evenness is its parity. */
static bool weights_tell_parity(const tg_ci_hamiltonian* h) {
  for (int s = 0; s < 2; s++) {
    const tg_ci_orbital* orbital;
    const size_t count = tg_ci_hamiltonian_orbitals(h, s, &orbital);
    for (size_t i = 0; i < count; i++)
      if ((orbital[i].weight + orbital[i].symmetry) % 2) return false;
  }
  return true;
}

static tg_status choose_space(const tg_ci_problem_params* params, tg_ci_problem* p) {
  const bool nucleus = p->kind == TG_CI_NUCLEUS;
  for (int s = 0; s < 2; s++)
    p->space.limits[s] = (tg_ci_limits){.particles = p->particles[s], .weight_most = -1};
  p->space.two_m = nucleus ? p->two_m : 0; /* of molecules the numbers of electrons say it */
  p->space.weight_most = -1;
  p->least_weight = -1;
  p->space.symmetry = -1;
  if (nucleus && params->parity != TG_CI_UNSET) p->space.symmetry = params->parity < 0;
  if (!nucleus && params->irrep != TG_CI_UNSET) p->space.symmetry = params->irrep - 1;
  if (params->nmax == TG_CI_UNSET) return TG_OK;
  if (params->nmax < 0) return tg_fail(TG_ERR_INPUT, "nmax %d; it must be 0 or more", params->nmax);
  TG_TRY(tg_ci_space_least_weight(p->h, &p->space, &p->least_weight));
  p->space.weight_most = params->nmax > INT_MAX / 2 ? -1 : p->least_weight + params->nmax;
  if (p->space.symmetry < 0 && p->space.weight_most >= 0 && weights_tell_parity(p->h))
    p->space.symmetry = p->space.weight_most % 2;
  return TG_OK;
}

/* TG_ERR_INPUT where states of this M have other symmetries than the one asked for. */
static tg_status other_symmetries(const tg_ci_problem* p) {
  char list[64] = "";
  size_t used = 0;
  for (size_t i = 0; i < p->dimension_count && used < sizeof list; i++) {
    const tg_ci_dimension* d = &p->dimensions[i];
    if (d->two_m != p->space.two_m) continue;
    if (p->kind == TG_CI_NUCLEUS)
      return tg_fail(TG_ERR_INPUT, "no state of these orbits has %s parity; give --parity %c",
                     d->symmetry ? "positive" : "negative", d->symmetry ? '-' : '+');
    used += (size_t)snprintf(list + used, sizeof list - used, "%s%u", used ? ", " : "",
                             d->symmetry + 1);
  }
  if (used == 0) return TG_OK;
  return tg_fail(TG_ERR_INPUT, "no state is of irrep %d; there are states of irreps %s",
                 p->space.symmetry + 1, list);
}

static tg_status list_sectors(tg_ci_problem* p) {
  TG_TRY(tg_ci_space_count(p->h, &p->space, &p->dimensions, &p->dimension_count));
  TG_TRY(TG_ALLOCATE(p->dimension_count + 1, "sectors", &p->sectors));
  for (size_t i = 0; i < p->dimension_count; i++)
    if (p->dimensions[i].two_m == p->space.two_m &&
        (p->space.symmetry < 0 || p->dimensions[i].symmetry == (unsigned)p->space.symmetry))
      p->sectors[p->sector_count++] = p->dimensions[i].symmetry;
  if (p->sector_count) {
    p->space.symmetry = -1;
    return TG_OK;
  }
  TG_TRY(other_symmetries(p));
  /* no state of this M: it says what would be possible */
  uint64_t dimension;
  size_t bytes;
  TG_TRY(tg_ci_space_estimate(p->h, &p->space, &dimension, &bytes));
  return tg_fail(TG_ERR_INTERNAL, "states of 2M = %d are counted in two ways", p->space.two_m);
}

tg_status tg_ci_problem_make(const tg_ci_input* input, const tg_ci_problem_params* params,
                             tg_ci_problem* out) {
  tg_status status = TG_OK;
  tg_ci_problem p = {.input = input, .kind = input->kind};
  TG_TRY_GOTO(input->kind == TG_CI_NUCLEUS ? take_nucleus(params, &p) : take_molecule(params, &p),
              failed);
  TG_TRY_GOTO(choose_space(params, &p), failed);
  TG_TRY_GOTO(list_sectors(&p), failed);
  *out = p;
  return TG_OK;
failed:
  tg_ci_problem_free(&p);
  return status;
}
