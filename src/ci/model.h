/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/model.h  A nucleus' Hamiltonian as its inputs give it: orbits, core, and J-coupled
 * parts that add up; and the m-scheme operators made from it.
 *
 * Orbitals of the m-scheme: species A the protons, B the neutrons; orbit by orbit in the model's
 * order, 2m from -2j to 2j. Symmetry label: the parity of l. Shell: the orbit's number within its
 * species. */
#ifndef TG_CI_MODEL_H
#define TG_CI_MODEL_H

#include <stdbool.h>
#include <stddef.h>

#include "ci/couplings.h"
#include "ci/hamiltonian.h"

/** Two-body elements times (mass / A)^power; one-body elements are never scaled by mass. */
typedef struct tg_ci_scaling {
  bool on;
  double mass, power;
} tg_ci_scaling;

/** What one input gives. */
typedef struct tg_ci_part {
  char* path;
  const char* format; /* static */
  tg_ci_couplings couplings;
  tg_ci_scaling scaling;
  int pair_weight_most[TG_CI_PAIR_KINDS]; /* pairs of larger weight are cut off; -1: none is */
  bool kinetic;                           /* the kinetic energy is in it */
} tg_ci_part;

typedef struct tg_ci_model {
  tg_ci_shells shells;
  int core_protons, core_neutrons; /* -1: the inputs do not say */
  double core_mass;                /* -1: the inputs do not say; 0: no core */
  double hw;                       /* MeV; 0: the inputs do not say */
  tg_ci_part* parts;
  size_t part_count;
} tg_ci_model;

/** Which nucleus: the particles outside the core. */
typedef struct tg_ci_nucleus {
  int protons, neutrons;
  double hw;             /* MeV; 0: the model's, and where that says none, see the call */
  bool relative_kinetic; /* add T_rel, the kinetic energy without that of the centre of mass */
} tg_ci_nucleus;

/** A model with nothing in it (unknown core). */
tg_ci_model tg_ci_model_empty(void);
void tg_ci_model_free(tg_ci_model* model);

/** Adds a part for an input; owned by the model. The pointer is good until the next call. */
tg_status tg_ci_model_add_part(tg_ci_model* model, const char* path, const char* format,
                               tg_ci_part** part);

/** Moves the parts of other, whose orbits must be the same ones in any order, and whose core and hw
 * must not contradict, into model; an empty model takes other as it is. Other is empty afterwards;
 * on failure both are as before. */
tg_status tg_ci_model_merge(tg_ci_model* model, tg_ci_model* other);

/** The mass number, core included. TG_ERR_INPUT where the inputs do not say the core's. */
tg_status tg_ci_model_mass(const tg_ci_model* model, const tg_ci_nucleus* nucleus, double* mass);
/** hw in MeV: the nucleus', else the model's, else 41 A^(-1/3) around a core. TG_ERR_INPUT without
 * a core: the basis of such inputs may have any hw, and a guess would give wrong lengths silently.
 */
tg_status tg_ci_model_oscillator(const tg_ci_model* model, const tg_ci_nucleus* nucleus,
                                 double* hw);

/** Elements of all parts together for this nucleus, scaled (and without T_rel). */
tg_status tg_ci_model_couplings(const tg_ci_model* model, const tg_ci_nucleus* nucleus,
                                tg_ci_couplings* out);

/** The orbitals of a species, orbitals: [tg_ci_model_orbital_count]. */
size_t tg_ci_model_orbital_count(const tg_ci_model* model, int species);
void tg_ci_model_orbitals(const tg_ci_model* model, int species, tg_ci_orbital* orbitals);

/** H of this nucleus. hw must be given, by the nucleus or the model, where elements are in units of
 * it or T_rel is asked for. */
tg_status tg_ci_model_hamiltonian(const tg_ci_model* model, const tg_ci_nucleus* nucleus,
                                  tg_ci_hamiltonian** out);

/* Operators by formula; they take numbers of particles from the nucleus where they need them. */
typedef enum tg_ci_quantity {
  TG_CI_J2,   /* the total angular momentum squared */
  TG_CI_T2,   /* the isospin squared: each orbit for both species, and a core with N = Z */
  TG_CI_HCM,  /* P^2/2Am + Am w^2 R^2/2, MeV; its lowest value is 3/2 hw */
  TG_CI_TREL, /* sum over pairs of (p_i - p_j)^2 / 2Am, MeV; pairs as far as the inputs' go */
  /* mean square distances from the centre of mass, fm^2, without a core: of all nucleons, of
   * protons, of neutrons (the mean already: divide by nothing) */
  TG_CI_RADIUS_MATTER,
  TG_CI_RADIUS_PROTON,
  TG_CI_RADIUS_NEUTRON,
} tg_ci_quantity;

tg_status tg_ci_model_quantity(const tg_ci_model* model, tg_ci_quantity kind,
                               const tg_ci_nucleus* nucleus, tg_ci_hamiltonian** out);

/** The same as J-coupled elements. */
tg_status tg_ci_quantity_couplings(const tg_ci_model* model, tg_ci_quantity kind,
                                   const tg_ci_nucleus* nucleus, tg_ci_couplings* out);

/** The number of particles in one orbit. */
tg_status tg_ci_model_number(const tg_ci_model* model, size_t shell, tg_ci_hamiltonian** out);

/** J-coupled elements (their fixed values) as an m-scheme operator. */
tg_status tg_ci_couplings_uncouple(const tg_ci_couplings* couplings, const tg_ci_model* model,
                                   tg_ci_hamiltonian** out);

/** How far the elements are from isospin symmetry: the largest |V_pp - V_nn|, |e_p - e_n|, and
 * |V_pn(T=1) - V_pp| among all parts; -1 where protons and neutrons have different orbits. */
double tg_ci_model_isospin_breaking(const tg_ci_model* model);

#endif
