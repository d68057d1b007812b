/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/moves.h  How operators take the strings of one space to those of another.
 *
 * ci/jumps.h connects strings within one space, for H. Densities also connect spaces of different
 * M, parity or numbers of particles, and count a+_p a_p; so the strings of a species in the final
 * space are looked up in the initial one, where numbers and classes may be others. The links have
 * the form of ci/jumps.h, all of channel 0, and their rows are in the order of the strings they
 * come from. */
#ifndef TG_CI_MOVES_H
#define TG_CI_MOVES_H

#include "ci/jumps.h"

typedef enum tg_ci_move {
  TG_CI_MOVE_WITHIN,  /* a+_p a_q, p = q included: code 2 * number(p, q), + 1 for a minus */
  TG_CI_MOVE_CREATE,  /* a+_p: code 2 p, + 1 for a minus */
  TG_CI_MOVE_DESTROY, /* a_q: code 2 q, + 1 for a minus */
} tg_ci_move;

/** Strings first ... first + count - 1 of a final class are the same lists of orbitals as strings
 * from ... of the source class. */
typedef struct tg_ci_same {
  uint32_t source;
  size_t first, count, from;
} tg_ci_same;

typedef struct tg_ci_moves {
  size_t class_count;    /* of the final space */
  tg_ci_target* targets; /* [class_count] */
  size_t* same_begin;    /* [class_count + 1] into same; of WITHIN only */
  tg_ci_same* same;
} tg_ci_moves;

/** number: [orbitals, orbitals] of a+_p a_q at p * orbitals + q, UINT32_MAX where it is not wanted;
 * NULL for CREATE and DESTROY. A minus counts the occupied orbitals of the species that an operator
 * passes, strictly between p and q, or below the one that is made or taken away. threads >= 1. */
tg_status tg_ci_moves_make(const tg_ci_strings* final, const tg_ci_strings* initial,
                           tg_ci_move move, const uint32_t* number, int threads, tg_ci_moves* out);
/** Accepts a zeroed or half-built one; leaves it zeroed. */
void tg_ci_moves_free(tg_ci_moves* moves);

#endif
