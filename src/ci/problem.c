/* SPDX-License-Identifier: Apache-2.0 */
#include "ci/problem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "ci/input/readers.h"
#include "ci/reach.h"
#include "ci/restrict.h"

enum { MOST_FOR_SPIN = 64, MOST_FOR_ONE_SPIN = 100 }; /* orbitals */

tg_ci_problem_params tg_ci_problem_defaults(void) {
  return (tg_ci_problem_params){.protons = TG_CI_UNSET,
                                .neutrons = TG_CI_UNSET,
                                .two_m = TG_CI_UNSET,
                                .parity = TG_CI_UNSET,
                                .nmax = TG_CI_UNSET,
                                .electrons = TG_CI_UNSET,
                                .two_sz = TG_CI_UNSET,
                                .irrep = TG_CI_UNSET,
                                .two_j = TG_CI_UNSET,
                                .excitations = TG_CI_UNSET};
}

void tg_ci_problem_free(tg_ci_problem* p) {
  if (!p) return;
  tg_ci_hamiltonian_free(p->h);
  for (int k = 0; k < TG_CI_LABELS; k++) tg_ci_hamiltonian_free(p->label[k]);
  tg_free(p->dimensions);
  tg_free(p->sectors);
  tg_free(p->levels);
  tg_ci_restrictions_free(&p->restrictions);
  for (size_t i = 0; i < p->notes.count; i++) tg_free(p->notes.line[i]);
  tg_free(p->notes.line);
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

const tg_ci_integrals* tg_ci_problem_integrals(const tg_ci_problem* p) {
  return p->restrictions.folded.orbitals ? &p->restrictions.folded : &p->input->integrals;
}

static tg_status not_for(const tg_ci_input* input, bool given, const char* option,
                         const char* instead) {
  if (!given) return TG_OK;
  return tg_fail(TG_ERR_INPUT, "%s: this is the input of a %s, which has no %s; %s",
                 input->facts[0].path, input->kind == TG_CI_NUCLEUS ? "nucleus" : "molecule",
                 option, instead);
}

/* "2", "5/2" */
static const char* half(int twice) {
  static _Thread_local char text[16];
  snprintf(text, sizeof text, twice % 2 ? "%d/2" : "%d", twice % 2 ? twice : twice / 2);
  return text;
}

/* Twice M that was asked for, or the least; TG_ERR_INPUT for the wrong evenness. With two_j, M is
 * that J: no state of a lower one is there. usual: where neither is given. */
static tg_status choose_two_m(int given, int two_j, int usual, int particles, const char* what,
                              tg_ci_problem* p) {
  const bool nucleus = p->kind == TG_CI_NUCLEUS;
  p->two_j = two_j == TG_CI_UNSET ? -1 : two_j;
  if (two_j != TG_CI_UNSET) {
    if (two_j < 0 || two_j % 2 != particles % 2)
      return tg_fail(TG_ERR_INPUT, "%s = %s does not go with %d particles: it must be %s",
                     nucleus ? "J" : "S", half(two_j), particles,
                     particles % 2 ? "half an odd number" : "a whole number from 0");
    if (given != TG_CI_UNSET && given != two_j)
      return tg_fail(TG_ERR_INPUT,
                     "%s %d does not go with %s = %s: states of one %s are looked for at %s = %s; "
                     "leave %s away",
                     what, given, nucleus ? "J" : "S", half(two_j), nucleus ? "J" : "S",
                     nucleus ? "M" : "Sz", nucleus ? "J" : "S", nucleus ? "--two-m" : "--two-sz");
    given = two_j;
  }
  p->two_m = given != TG_CI_UNSET ? given : usual != TG_CI_UNSET ? usual : particles % 2;
  if (abs(p->two_m) % 2 != particles % 2)
    return tg_fail(TG_ERR_INPUT, "%s %d does not go with %d particles: it must be %s", what,
                   p->two_m, particles, particles % 2 ? "odd" : "even");
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
  if (status != TG_OK && beta != 0) return tg_fail_context(status, "--beta-cm: ");
  if (status != TG_OK) tg_fail_context(status, "c.m. is left out: ");
  TG_TRY(keep_label(p, TG_CI_LABEL_CM, status, cm));
  if (beta == 0) return TG_OK;
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
    p->hw = params->hw > 0 ? params->hw : model->hw; /* 0, not known: what needs it says so */
    if (model->core_mass > 0) TG_TRY(tg_ci_model_oscillator(model, &nucleus, &p->hw));
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
  TG_TRY(not_for(input, params->active != NULL, "active orbitals of electrons",
                 "give --occupation and --frozen"));
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
  TG_TRY(choose_two_m(params->two_m, params->two_j, TG_CI_UNSET, p->particles[0] + p->particles[1],
                      "2M", p));
  p->space.names[0] = "protons";
  p->space.names[1] = "neutrons";
  return make_nuclear_operators(params, p);
}

/* ---- molecules ---- */

static tg_status molecular_options(const tg_ci_input* input, const tg_ci_problem_params* params) {
  TG_TRY(not_for(input, params->protons != TG_CI_UNSET || params->neutrons != TG_CI_UNSET,
                 "protons and neutrons to place", "give --electrons and --two-sz"));
  TG_TRY(not_for(input, params->two_m != TG_CI_UNSET, "M", "give --two-sz"));
  TG_TRY(not_for(input, params->parity != TG_CI_UNSET, "parity", "give --irrep"));
  TG_TRY(not_for(input, params->nmax != TG_CI_UNSET, "oscillator quanta", "leave --nmax away"));
  return not_for(input, params->hw != 0 || params->beta_cm != 0 || params->relative_kinetic,
                 "oscillator energy", "leave --hw, --beta-cm and --trel away");
}

/* An irrep is a question only where the integrals have the symmetry that the labels say. */
static tg_status check_irrep(const tg_ci_input* input, int irrep) {
  const tg_ci_integrals* g = &input->integrals;
  const tg_ci_integral* e = &g->forbidden;
  const char* path = input->facts[0].path;
  if (irrep == TG_CI_UNSET) return TG_OK;
  if (irrep < 1 || irrep > 8)
    return tg_fail(TG_ERR_INPUT, "irrep %d; Molpro's numbers go from 1 to 8", irrep);
  if (g->symmetry) return TG_OK;
  if (e->line && e->k < 0)
    return tg_fail_at((tg_place){path, e->line, 0},
                      "the integral h(%d,%d) = %.3g is between orbitals of irreps %d and %d by "
                      "ORBSYM, and must be 0 then: ORBSYM is wrong, or its numbers are not "
                      "Molpro's; correct it, or leave --irrep away",
                      e->i + 1, e->j + 1, e->value, g->forbidden_label[0] + 1,
                      g->forbidden_label[1] + 1);
  if (e->line)
    return tg_fail_at((tg_place){path, e->line, 0},
                      "the integral (%d %d|%d %d) = %.3g is of orbitals of irreps %d, %d, %d and "
                      "%d by ORBSYM, and must be 0 then: ORBSYM is wrong, or its numbers are not "
                      "Molpro's; correct it, or leave --irrep away",
                      e->i + 1, e->j + 1, e->k + 1, e->l + 1, e->value, g->forbidden_label[0] + 1,
                      g->forbidden_label[1] + 1, g->forbidden_label[2] + 1,
                      g->forbidden_label[3] + 1);
  if (g->foreign_labels)
    return tg_fail(
        TG_ERR_INPUT,
        "irrep %d: ORBSYM of %s has numbers other than Molpro's 1 to 8, so no symmetry is "
        "used; correct it (PySCF: from_scf(mf, name, molpro_orbsym=True)), or leave --irrep away",
        irrep, path);
  if (irrep == 1) return TG_OK;
  return tg_fail(TG_ERR_INPUT,
                 "irrep %d: %s has no ORBSYM, so all states are in irrep 1; leave --irrep away",
                 irrep, path);
}

static tg_status take_molecule(const tg_ci_problem_params* params, tg_ci_problem* p) {
  const tg_ci_input* input = p->input;
  const tg_ci_integrals* g = &input->integrals;
  TG_TRY(molecular_options(input, params));
  const int electrons = params->electrons == TG_CI_UNSET ? g->electrons : params->electrons;
  const int usual = electrons == g->electrons ? g->two_sz : TG_CI_UNSET;
  if (electrons < 1)
    return tg_fail(TG_ERR_INPUT, "%d electrons; at least one is needed", electrons);
  TG_TRY(choose_two_m(params->two_sz, params->two_j, usual, electrons, "2Sz", p));
  if (abs(p->two_m) > electrons)
    return tg_fail(TG_ERR_INPUT, "2Sz %d is more than %d electrons can have", p->two_m, electrons);
  TG_TRY(check_irrep(input, params->irrep));
  p->particles[0] = (electrons + p->two_m) / 2;
  p->particles[1] = (electrons - p->two_m) / 2;
  p->space.names[0] = "electrons with spin up";
  p->space.names[1] = "electrons with spin down";
  TG_TRY(tg_ci_restrict_orbitals(params, p));
  g = tg_ci_problem_integrals(p);
  TG_TRY(tg_ci_integrals_hamiltonian(g, &p->h));
  tg_ci_hamiltonian* spin = NULL;
  /* an operator S^2 takes orbitals^4 numbers */
  if (g->orbitals > (size_t)(p->two_j < 0 ? MOST_FOR_SPIN : MOST_FOR_ONE_SPIN)) {
    if (p->two_j >= 0)
      return tg_fail(
          TG_ERR_INPUT,
          "--spin: %zu orbitals are active, and states of one S can be asked for in %d at "
          "most; give --two-sz and look at the column S",
          g->orbitals, MOST_FOR_ONE_SPIN);
    p->spin_by_lookup = !g->unrestricted;
    if (g->unrestricted)
      snprintf(p->unknown[TG_CI_LABEL_J], sizeof p->unknown[0],
               "S is not known for unrestricted orbitals");
    return TG_OK;
  }
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

static tg_status choose_space(const tg_ci_problem_params* params, const tg_ci_partition* partition,
                              tg_ci_problem* p) {
  const bool nucleus = p->kind == TG_CI_NUCLEUS;
  for (int s = 0; s < 2; s++)
    p->space.limits[s] = (tg_ci_limits){.particles = p->particles[s], .weight_most = -1};
  p->space.two_m = nucleus ? p->two_m : 0; /* of molecules the numbers of electrons say it */
  p->space.weight_most = -1;
  p->least_weight = -1;
  p->space.symmetry = -1;
  if (nucleus && params->parity != TG_CI_UNSET) p->space.symmetry = params->parity < 0;
  if (!nucleus && params->irrep != TG_CI_UNSET) p->space.symmetry = params->irrep - 1;
  TG_TRY(nucleus ? tg_ci_restrict_nucleus(params, partition, p)
                 : tg_ci_restrict_molecule(params, p));
  if (params->excitations != TG_CI_UNSET) {
    if (params->nmax != TG_CI_UNSET)
      return tg_fail(TG_ERR_INPUT,
                     "--nmax and --excitations both limit the weight of configurations; give one");
    TG_TRY(tg_ci_restrict_excitations(params->excitations, p));
    TG_TRY(tg_ci_space_least_weight(p->h, &p->space, &p->least_weight));
    if (params->excitations <= p->particles[0] + p->particles[1])
      p->space.weight_most = p->least_weight + params->excitations;
    return TG_OK;
  }
  if (params->nmax == TG_CI_UNSET) return TG_OK;
  if (params->nmax < 0) return tg_fail(TG_ERR_INPUT, "nmax %d; it must be 0 or more", params->nmax);
  TG_TRY(tg_ci_space_least_weight(p->h, &p->space, &p->least_weight));
  if (nucleus && !params->partition && !params->occupation) /* these say which orbits there are */
    TG_TRY(tg_ci_reach_check(params->nmax, params->allow_cut, p));
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

/* How many states of J (S) = M there are in each symmetry: those at M less those at M + 1. */
static tg_status count_levels(const tg_ci_problem_params* params, tg_ci_problem* p) {
  tg_ci_dimension* above = p->dimensions;
  size_t count = p->dimension_count;
  int two_m = p->space.two_m + 2;
  TG_TRY(TG_ALLOCATE(p->sector_count + 1, "numbers of levels", &p->levels));
  for (size_t s = 0; s < p->sector_count; s++)
    p->levels[s] = tg_ci_problem_dimension(p, p->sectors[s]);
  if (p->two_j < 0) return TG_OK;
  if (p->kind == TG_CI_MOLECULE) { /* one more electron with spin up */
    const size_t n = tg_ci_problem_integrals(p)->orbitals;
    if (p->particles[1] == 0 || (size_t)p->particles[0] == n) return TG_OK;
    TG_TRY(tg_ci_count_higher_spin(params, p, &above, &count));
    two_m = p->space.two_m;
  }
  for (size_t s = 0; s < p->sector_count; s++)
    for (size_t i = 0; i < count; i++)
      if (above[i].two_m == two_m && above[i].symmetry == p->sectors[s] &&
          p->levels[s] != UINT64_MAX)
        p->levels[s] -= above[i].states;
  if (above != p->dimensions) tg_free(above);
  return TG_OK;
}

/* Sectors without a state of that J are dropped. */
static tg_status drop_empty(tg_ci_problem* p) {
  size_t kept = 0;
  for (size_t s = 0; s < p->sector_count; s++) {
    if (!p->levels[s]) continue;
    p->sectors[kept] = p->sectors[s];
    p->levels[kept++] = p->levels[s];
  }
  p->sector_count = kept;
  if (kept) return TG_OK;
  return tg_fail(TG_ERR_INPUT,
                 "no state%s has %s = %s; throng ci check counts the states of each M without it",
                 p->space.symmetry >= 0 ? " of this symmetry" : "",
                 p->kind == TG_CI_NUCLEUS ? "J" : "S", half(p->two_j));
}

static tg_status list_sectors(const tg_ci_problem_params* params, tg_ci_problem* p) {
  TG_TRY(tg_ci_space_count(p->h, &p->space, &p->dimensions, &p->dimension_count));
  TG_TRY(TG_ALLOCATE(p->dimension_count + 1, "sectors", &p->sectors));
  for (size_t i = 0; i < p->dimension_count; i++)
    if (p->dimensions[i].two_m == p->space.two_m &&
        (p->space.symmetry < 0 || p->dimensions[i].symmetry == (unsigned)p->space.symmetry))
      p->sectors[p->sector_count++] = p->dimensions[i].symmetry;
  if (p->sector_count) {
    TG_TRY(count_levels(params, p));
    TG_TRY(drop_empty(p));
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

static tg_status describe_spin(tg_ci_problem* p) {
  const bool nucleus = p->kind == TG_CI_NUCLEUS;
  if (p->two_j < 0) return TG_OK;
  if (!p->label[TG_CI_LABEL_J])
    return tg_fail(TG_ERR_INPUT, "states of one %s cannot be told: %s", nucleus ? "J" : "S",
                   p->unknown[TG_CI_LABEL_J]);
  return tg_ci_note(&p->notes, "only states with %s = %s", nucleus ? "J" : "S", half(p->two_j));
}

tg_status tg_ci_problem_make(const tg_ci_input* input, const tg_ci_problem_params* given,
                             tg_ci_problem* out) {
  tg_status status = TG_OK;
  tg_ci_problem p = {.input = input, .kind = input->kind};
  tg_ci_problem_params params = *given;
  tg_ci_partition partition = {0};
  TG_TRY_GOTO(tg_ci_restrict_read(input, &params, &partition), failed);
  TG_TRY_GOTO(input->kind == TG_CI_NUCLEUS ? take_nucleus(&params, &p) : take_molecule(&params, &p),
              failed);
  TG_TRY_GOTO(describe_spin(&p), failed);
  TG_TRY_GOTO(choose_space(&params, &partition, &p), failed);
  TG_TRY_GOTO(list_sectors(&params, &p), failed);
  tg_ci_partition_free(&partition);
  *out = p;
  return TG_OK;
failed:
  tg_ci_partition_free(&partition);
  tg_ci_problem_free(&p);
  return status;
}
