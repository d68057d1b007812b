/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/overlap.h  Overlaps of states with particles taken away.
 *
 * R_P of a side takes removed[0] particles from A and then removed[1] from B: of A's set P_A (as in
 * ci/removal.h) and B's set P_B, numbered P = P_A * (sets of B) + P_B. In operators: R_P = a_p,
 * a_q a_p, b_p, b_q b_p or b_q a_p (the right one first). So the densities of two states with equal
 * removals, <bra|R+_P R_Q|ket>, the amplitudes <f|a_p|i> and those of charge exchange
 * <f|a+_p b_q|i> are all this one function. */
#ifndef TG_CI_OVERLAP_H
#define TG_CI_OVERLAP_H

#include <stddef.h>

#include "ci/hamiltonian.h"
#include "ci/space.h"

typedef struct tg_ci_side {
  const tg_ci_space* space;
  const double* x; /* [dimension]; NULL where it is not read */
  int removed[2];  /* from A and from B, 0 to 2 */
} tg_ci_side;

/** Number of sets of a side: the sizes of the matrices below. */
size_t tg_ci_side_sets(const tg_ci_hamiltonian* h, const tg_ci_side* side);

/** out[P, Q] = <R_P bra | R_Q ket>: [sets of bra, sets of ket]. h gives the orbitals of both
 * spaces, nothing else. Zero where the particles left are not as many. The same bits for any number
 * of threads (0: all of OpenMP's). */
tg_status tg_ci_overlaps(const tg_ci_hamiltonian* h, const tg_ci_side* bra, const tg_ci_side* ket,
                         int threads, double* out);

/** The tables of two spaces, for many pairs of states. */
typedef struct tg_ci_overlap_plan tg_ci_overlap_plan;

/** x of the sides are not read; the spaces must stay. */
tg_status tg_ci_overlap_plan_make(const tg_ci_hamiltonian* h, const tg_ci_side* bra,
                                  const tg_ci_side* ket, tg_ci_overlap_plan** out);
void tg_ci_overlap_plan_free(tg_ci_overlap_plan* plan);
/** tg_ci_overlaps of these two states. */
tg_status tg_ci_overlap_plan_compute(const tg_ci_overlap_plan* plan, const double* bra,
                                     const double* ket, int threads, double* out);

#endif
