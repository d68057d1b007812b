/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/strength.h  Strength functions: how an operator's strength from a state spreads over
 * energies, by Lanczos.
 *
 * With v = O|i>, |v|^2 is the strength to all states together. n steps of Lanczos from v / |v|
 * give n energies theta_k and the first components s_k of their vectors, and
 *
 *   strength at theta_k = |v|^2 s_k^2
 *
 * has the exact moments sum of strength energy^m up to m = 2n - 1; the lowest lines become
 * levels, the others stand for the many levels near them (R. Whitehead, in Theory and Applications
 * of Moment Methods in Many-Fermion Systems (1980) 235).
 *
 * O is the component O_K0 at a fixed M, so v is a sum of states of all J_f between |J_i - K| and
 * J_i + K, each with its own Clebsch-Gordan coefficient. They are parted by projection with J^2,
 * and each has its own recursion; B(i -> f) = |<f||O||i>|^2 / (2 J_i + 1). */
#ifndef TG_CI_STRENGTH_H
#define TG_CI_STRENGTH_H

#include <stdbool.h>
#include <stddef.h>

#include "ci/model.h"
#include "ci/operator.h"
#include "ci/transitions.h"

enum { TG_CI_MOST_PARTS = 2 * TG_CI_MOST_RANK + 1 };

/** What is asked. All is the caller's. */
typedef struct tg_ci_strength_question {
  const tg_ci_hamiltonian *h, *j2; /* in the final space: H and J^2 */
  const tg_ci_model* model;
  const tg_ci_transition* op;
  const tg_ci_space* initial;
  const double* x; /* [dimension of initial] */
  int two_j;       /* of x */
  const tg_ci_space* final;
  int steps;   /* of Lanczos, for each J_f */
  int threads; /* 0: all of OpenMP's */
} tg_ci_strength_question;

/** The strength to states of one J_f. */
typedef struct tg_ci_strength_part {
  int two_j;
  bool seen;      /* false: the Clebsch-Gordan coefficient at this M is 0 */
  double total;   /* sum of B(i -> f) over all f of this J_f in the space */
  size_t count;   /* lines: steps, or fewer where there are no more states */
  bool complete;  /* the lines are levels, all that have strength */
  double* energy; /* [count] rising */
  double* b;      /* [count] B at that energy */
} tg_ci_strength_part;

typedef struct tg_ci_strength {
  size_t count;
  tg_ci_strength_part part[TG_CI_MOST_PARTS]; /* by rising J_f */
  double total;                               /* of the parts */
} tg_ci_strength;

/** TG_ERR_NUMERICS where x is not a state of this J. The part of O_00 that stays in the state
 * itself is taken out of v. */
tg_status tg_ci_strength_make(const tg_ci_strength_question* question, tg_ci_strength* out);
/** Accepts a zeroed or half-built one. */
void tg_ci_strength_free(tg_ci_strength* strength);

/** y = O_Kq x as far as it is in the final space, whose 2M is 2q more: [dimension of final]. h
 * gives the orbitals. */
tg_status tg_ci_strength_apply(const tg_ci_hamiltonian* h, const tg_ci_model* model,
                               const tg_ci_transition* op, const tg_ci_space* initial,
                               const double* x, const tg_ci_space* final, int threads, double* y);

/** n steps of Lanczos from start (norm 1): the tridiagonal matrix's diagonal: [n] and side: [n]
 * (side[k] connects k and k + 1). *used: steps that were possible. start: [dimension] of op.
 * Full reorthogonalisation: n + 1 vectors are kept. TG_ERR_INTERRUPTED between two steps where that
 * is asked for (base/interrupt.h). */
tg_status tg_ci_lanczos(const tg_ci_operator* op, size_t dimension, const double* start, int steps,
                        int threads, double* diagonal, double* side, int* used);

#endif
