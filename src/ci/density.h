/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/density.h  One-body densities <f|a+_p a_q|i> in the m-scheme, and one-body operators
 * applied to states.
 *
 * Final and initial states may be of the same space, of spaces of another M or parity, or of
 * neighbouring nuclei (a proton made of a neutron, or the other way round); orbitals are the same.
 * Both M are fixed, so only operators with m_p - m_q = M_f - M_i (and the change of the label,
 * where both spaces have one) occur: they are the plan's operators.
 *
 * Cost: for each final state the operators that lead to it, about N times (orbitals of the same m
 * and parity that are empty, and one), times final states times initial states. The strings of the
 * species that does not change are the inner loop of dot products, in tiles that stay in cache.
 * Sums are made in an order that does not depend on the number of threads. */
#ifndef TG_CI_DENSITY_H
#define TG_CI_DENSITY_H

#include "ci/moves.h"

/** a+ of an orbital, a of another; species 0 is A (protons, spin up). */
typedef struct tg_ci_pair {
  uint16_t create, destroy; /* orbitals, in their species' numbers */
  uint8_t create_species, destroy_species;
} tg_ci_pair;

typedef struct tg_ci_density {
  const tg_ci_space *final, *initial;
  int charge_change; /* particles of A gained: 0; +1: a+_A a_B; -1: a+_B a_A */
  size_t orbitals[2];
  size_t count;
  tg_ci_pair* pairs;    /* [count], rising in (species, create, destroy) */
  uint32_t* number[2];  /* change 0: of species s at p * orbitals[s] + q; else number[0] at
                           create * orbitals of the other species + destroy; UINT32_MAX: none */
  tg_ci_moves moves[2]; /* of species A, B */
} tg_ci_density;

/** Plans the densities between two spaces over the orbitals of h, which must stay. TG_ERR_INPUT
 * where the numbers of particles do not differ by this change of charge. threads >= 1. */
tg_status tg_ci_density_plan(const tg_ci_hamiltonian* h, const tg_ci_space* final,
                             const tg_ci_space* initial, int charge_change, int threads,
                             tg_ci_density* out);
/** Accepts a zeroed or half-built one; leaves it zeroed. */
void tg_ci_density_free(tg_ci_density* density);

/** States side by side: state i at vectors + i * ld. */
typedef struct tg_ci_vectors {
  size_t count, ld;
  const double* vectors;
} tg_ci_vectors;

/** rho: [final.count, initial.count, operators], <f|a+_p a_q|i>. Where final and initial are the
 * same vectors (the same pointer, count and space) half of the work is saved. */
tg_status tg_ci_density_compute(const tg_ci_density* density, tg_ci_vectors final,
                                tg_ci_vectors initial, int threads, double* rho);

/** y = sum over operators of coefficient a+_p a_q x. coefficient: [operators]; x: [dimension of
 * initial]; y: [dimension of final], apart. */
void tg_ci_density_apply(const tg_ci_density* density, const double* coefficient, const double* x,
                         int threads, double* y);

/** Coefficients of J+ (M_f = M_i + 1) or J- (M_f = M_i - 1) for tg_ci_density_apply: orbitals are
 * the model's, shell after shell, 2m rising. */
void tg_ci_density_ladder(const tg_ci_density* density, const tg_ci_hamiltonian* h,
                          double* coefficient);

#endif
