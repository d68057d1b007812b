/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/rdm.h  Reduced density matrices of a state, or between two states.
 *
 * With a for spin up (protons) and b for spin down (neutrons), bra and ket real:
 *
 *   one[s][p,q]       = <bra| a+_p a_q |ket>                         of species s
 *   two[AA][pq, rs]   = <bra| a+_p a+_q a_s a_r |ket>, p < q, r < s, pairs as in ci/removal.h; BB
 *   two[AB][pq, rs]   = <bra| a+_p b+_q b_s a_r |ket>, p * n_B + q
 *
 * so that <O> of a two-body operator is the sum of products with the elements of
 * ci/hamiltonian.h, each once. Spin-summed matrices have the order and the factors of
 * PySCF: dm1[p,q] = sum over spins of <a+_q a_p>, dm2[p,q,r,s] = <a+_p a+_r a_s a_q>. */
#ifndef TG_CI_RDM_H
#define TG_CI_RDM_H

#include <stdbool.h>
#include <stddef.h>

#include "ci/hamiltonian.h"
#include "ci/space.h"

typedef struct tg_ci_rdm {
  size_t orbitals[2], pairs[2];
  int particles[2];
  double overlap; /* <bra|ket> */
  double* one[2]; /* [orbitals, orbitals] */
  double* two[3]; /* by TG_CI_AA, TG_CI_BB, TG_CI_AB of ci/integrals.h; NULL: not made */
} tg_ci_rdm;

/** A state in its space: [dimension]. */
typedef struct tg_ci_state_vector {
  const tg_ci_space* space;
  const double* x;
} tg_ci_state_vector;

/** Makes them, the two-body ones where asked for. States of different symmetry are allowed. h gives
 * the orbitals. threads 0: all of OpenMP's. */
tg_status tg_ci_rdm_make(const tg_ci_hamiltonian* h, tg_ci_state_vector bra, tg_ci_state_vector ket,
                         bool two, int threads, tg_ci_rdm* out);
/** Accepts a zeroed or half-built one. */
void tg_ci_rdm_free(tg_ci_rdm* rdm);
/** Bytes of the matrices of so many orbitals. */
double tg_ci_rdm_bytes(const tg_ci_hamiltonian* h, bool two);

/** <bra|O|ket> from the matrices, both kinds of which must be there. */
double tg_ci_rdm_expectation(const tg_ci_hamiltonian* o, const tg_ci_rdm* rdm);

/** What a state's matrices must be, as largest differences. */
typedef struct tg_ci_rdm_check {
  double trace_one, trace_two; /* from N_s, and from the numbers of pairs */
  double partial_trace;        /* of two over a particle, from (N - 1) one */
  double asymmetry;            /* from the transposed */
} tg_ci_rdm_check;

tg_ci_rdm_check tg_ci_rdm_verify(const tg_ci_rdm* rdm);

/** <x+_p y+_q y_s x_r> for orbitals in any order, kind by TG_CI_AA, TG_CI_BB, TG_CI_AB: x, y. */
double tg_ci_rdm_two(const tg_ci_rdm* rdm, int kind, size_t p, size_t q, size_t r, size_t s);

/** Spin-summed; both spins must have as many orbitals, and mean the same ones. dm1: [n, n]. */
void tg_ci_rdm_sum_one(const tg_ci_rdm* rdm, double* dm1);
/** dm2: [n, n, n, n], PySCF's order. */
void tg_ci_rdm_sum_two(const tg_ci_rdm* rdm, double* dm2);

#endif
