/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/removal.h  Strings with particles taken away: what two spaces have in common.
 *
 * A string of N particles without d of them is a *remainder*. Matrix elements of products of
 * creation and annihilation operators are overlaps of such remainders,
 *
 *   <bra| a+_p a+_q a_s a_r |ket> = < a_q a_p bra | a_s a_r ket >,
 *
 * so all that they need is, for each remainder, the strings of the bra and those of the ket that
 * turn into it. This holds in truncated spaces, too: what is taken away from a state of a space
 * is always at hand, whereas a+_i a_j leads out of it.
 *
 * Sets of d orbitals of one species have numbers: d = 0: 0; d = 1: the orbital; d = 2, p < q:
 * q (q - 1) / 2 + p, and then a_q a_p |string> = sign |remainder>. */
#ifndef TG_CI_REMOVAL_H
#define TG_CI_REMOVAL_H

#include <stddef.h>
#include <stdint.h>

#include "ci/hamiltonian.h"
#include "ci/strings.h"

enum { TG_CI_BRA = 0, TG_CI_KET = 1, TG_CI_MOST_REMOVED = 2 };

/** A string that turns into a remainder. */
typedef struct tg_ci_removal {
  uint32_t string, class;
  uint32_t set; /* of orbitals that are taken away */
  int32_t sign;
} tg_ci_removal;

/** Remainders begin ... end - 1 have this sum of 2m and product of labels. */
typedef struct tg_ci_remainder_class {
  int32_t two_m;
  uint32_t symmetry;
  size_t begin, end;
} tg_ci_remainder_class;

/** The remainders that strings of both sides have, class by class. */
typedef struct tg_ci_removals {
  size_t count, class_count;
  tg_ci_remainder_class* classes; /* [class_count] */
  size_t* begin[2];               /* [count + 1] into list, of the bra and of the ket */
  tg_ci_removal* list[2];         /* by remainder, then by string */
  size_t most[2];                 /* removals of a remainder */
  size_t sets[2];                 /* numbers of sets are smaller */
  int32_t* set_two_m[2];          /* [sets] */
  uint32_t* set_symmetry[2];      /* [sets] */
} tg_ci_removals;

/** One side: its strings and how many particles are taken away, 0 to TG_CI_MOST_REMOVED. */
typedef struct tg_ci_removed {
  const tg_ci_strings* strings;
  int count;
} tg_ci_removed;

/** Numbers of sets: 1, n, n (n - 1) / 2. */
size_t tg_ci_sets(size_t orbitals, int count);

/** The common remainders of one species; none where the particles left are not as many. Orbitals
 * are those of the operators that the strings were made for. */
tg_status tg_ci_removals_make(const tg_ci_hamiltonian* h, int species, tg_ci_removed bra,
                              tg_ci_removed ket, tg_ci_removals* out);
/** Accepts a zeroed or half-built one. */
void tg_ci_removals_free(tg_ci_removals* removals);

#endif
