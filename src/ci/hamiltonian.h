/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/hamiltonian.h  Two-body operators of two species of fermions, in the m-scheme.
 *
 * The species are protons and neutrons, or spin-up and spin-down electrons; here A and B, numbers 0
 * and 1. Each has its own orbitals; the one global order of all orbitals is those of A in their
 * order, then those of B. An operator that conserves the number of each species is
 *
 *   O = constant + sum over s of [ sum_ij h(s,ij) a+_i a_j
 *                                 + sum_{i<j,k<l} v(s,ij,kl) a+_i a+_j a_l a_k ]
 *       + sum_{ij of A, kl of B} w(ij,kl) a+_i a_j  b+_k b_l
 *
 * with v antisymmetric in ij and in kl (only i < j, k < l are kept), and everything real and
 * symmetric: h(ij) = h(ji), v(ij,kl) = v(kl,ij), w(ij,kl) = w(ji,lk). J^2, T^2, S^2 and the
 * centre-of-mass Hamiltonian are operators of this kind, and the same code applies them.
 *
 * Each orbital has 2m and a symmetry label, combined by exclusive or (bit 0 the parity of nuclei;
 * a point group's irrep, 0 ... 7, of molecules); an operator conserves the sum of 2m and the
 * product of labels. Elements that do not are refused. So v is kept as one symmetric matrix for
 * each channel (2m, label) of pairs, and w as one matrix for each channel (change of 2m, change of
 * label) of transitions i <- j; a row of a matrix has memory once an element of it is set, and of a
 * row that is mostly zero only the others are kept, so that a few elements among thousands of
 * orbitals do not take the memory of all. */
#ifndef TG_CI_HAMILTONIAN_H
#define TG_CI_HAMILTONIAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { TG_CI_MOST_ORBITALS = 4096 }; /* of one species */

/** One single-particle state. */
typedef struct tg_ci_orbital {
  int16_t two_m;    /* twice the projection of the angular momentum; 0 for molecules */
  uint8_t symmetry; /* label, combined by exclusive or */
  uint8_t weight;   /* for truncations: 2n + l of no-core calculations */
  uint16_t shell; /* which j-orbit or spatial orbital it belongs to, in the species' own numbers */
} tg_ci_orbital;

typedef struct tg_ci_hamiltonian tg_ci_hamiltonian;

/** An operator with all elements zero. orbitals_s: [count_s], copied; count_s may be 0. */
tg_status tg_ci_hamiltonian_create(size_t count_a, const tg_ci_orbital* orbitals_a, size_t count_b,
                                   const tg_ci_orbital* orbitals_b, tg_ci_hamiltonian** out);
void tg_ci_hamiltonian_free(tg_ci_hamiltonian* h);

/** Set an element and those equal to it by symmetry. TG_ERR_INPUT where symmetry forbids it (and
 * the value is not 0) or an orbital does not exist. set_two takes i, j, k, l in any order, with
 * signs. */
void tg_ci_hamiltonian_set_constant(tg_ci_hamiltonian* h, double value);
tg_status tg_ci_hamiltonian_set_one(tg_ci_hamiltonian* h, int species, int i, int j, double value);
tg_status tg_ci_hamiltonian_set_two(tg_ci_hamiltonian* h, int species, int i, int j, int k, int l,
                                    double value);
tg_status tg_ci_hamiltonian_set_cross(tg_ci_hamiltonian* h, int i, int j, int k, int l,
                                      double value);

/** Read an element; 0 where there is none. */
double tg_ci_hamiltonian_constant(const tg_ci_hamiltonian* h);
double tg_ci_hamiltonian_one(const tg_ci_hamiltonian* h, int species, int i, int j);
double tg_ci_hamiltonian_two(const tg_ci_hamiltonian* h, int species, int i, int j, int k, int l);
double tg_ci_hamiltonian_cross(const tg_ci_hamiltonian* h, int i, int j, int k, int l);

size_t tg_ci_hamiltonian_orbitals(const tg_ci_hamiltonian* h, int species,
                                  const tg_ci_orbital** out);
/** Gives the orbitals of a species other weights or shells, which matter to truncations alone.
 * weights, shells: [orbitals], or NULL: as they are. */
void tg_ci_hamiltonian_relabel(tg_ci_hamiltonian* h, int species, const uint8_t* weights,
                               const uint16_t* shells);
size_t tg_ci_hamiltonian_bytes(const tg_ci_hamiltonian* h);
/** Whether fewer than one in 64 pairs of orbitals and operators a+_i a_j, i != j, have any two-body
 * element, as of lattice models. */
bool tg_ci_hamiltonian_is_sparse(const tg_ci_hamiltonian* h);

/** Whether the elements that act on one species alone are the same bits for both, and kept in the
 * same way. */
bool tg_ci_hamiltonian_same_species(const tg_ci_hamiltonian* h);
/** Whether a species has any two-body element of its own. */
bool tg_ci_hamiltonian_has_pairs(const tg_ci_hamiltonian* h, int species);

/** The pairs i < j of a species with this sum of 2m and product of labels, or the transitions
 * i <- j with this change of both: members[c] = i * orbitals + j, rising. Returns how many. */
size_t tg_ci_hamiltonian_pairs(const tg_ci_hamiltonian* h, int species, int two_m,
                               unsigned symmetry, const uint32_t** members);
size_t tg_ci_hamiltonian_transitions(const tg_ci_hamiltonian* h, int species, int two_m,
                                     unsigned symmetry, const uint32_t** members);

/** The elements w(ij,kl) of one transition i <- j of A with those k <- l of B that balance it;
 * returns how many there are. places NULL: all, in the order of tg_ci_hamiltonian_transitions;
 * otherwise element e is of the transition at places[e] in that order, rising, and the others are
 * zero. 0: all are. */
size_t tg_ci_hamiltonian_cross_row(const tg_ci_hamiltonian* h, int i, int j, const double** values,
                                   const uint32_t** places);

/** h += factor * other, of the same orbitals: H + beta (Hcm - 3/2 hw). */
tg_status tg_ci_hamiltonian_add(tg_ci_hamiltonian* h, double factor,
                                const tg_ci_hamiltonian* other);

#endif
