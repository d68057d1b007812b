/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/jumps.h  Jumps: how one-body operators connect the strings of one species.
 *
 * The operator a+_i a_j, i != j, takes a string that holds j and not i to one that holds i and not
 * j, with the phase (-1)^(occupied orbitals strictly between i and j). Two strings are connected by
 * one such operator at most. The jumps from one class of strings to another are a *link*; all its
 * operators change 2m and the label by the same, so they are of one *channel*, and a jump of A goes
 * with one of B where their changes of 2m are opposite and those of the label the same. Channels
 * have the number they have for A, for both species:
 *
 *   channel = (change of 2m of A + reach) * labels + change of label
 *
 * Operators are numbered within their channel; only those that occur in a jump have a number. A
 * link has its jumps in two orders: by the string they lead to (for matrices in compressed rows),
 * and by the operator (for the same work on many strings at once).
 *
 * The part of H that acts on one species alone is a matrix between strings of equal 2m and label
 * that differ in one or two particles (ci/jumps.h: tg_ci_alone): a row holds every such string,
 * also where the value is zero, so that pairs of states can be counted. */
#ifndef TG_CI_JUMPS_H
#define TG_CI_JUMPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ci/hamiltonian.h"
#include "ci/space.h"

typedef struct tg_ci_link {
  uint32_t source;  /* class; the class that owns the link is the target */
  uint32_t channel; /* of one-body operators; 0 in tg_ci_alone */
  size_t rows;      /* the target's rows are begin[rows] ... begin[rows + strings] of its arrays */
  size_t first, count;              /* jumps first ... first + count - 1 of the arrays below */
  size_t operators, operator_count; /* its part of op and op_begin */
} tg_ci_link;

/** The links to one class, in the order of (channel, source class). */
typedef struct tg_ci_target {
  size_t link_count;
  tg_ci_link* links;
  uint32_t* begin; /* per link [strings of the target + 1] into from and code; absolute */
  uint32_t* from;  /* [jumps] string within the source class; rises in a row */
  uint32_t* code;  /* [jumps] 2 * operator, + 1 for a minus; NULL in tg_ci_alone */
  double* value;   /* [jumps] element of H; NULL in tg_ci_jumps */
  /* by operator, then by the string they lead to; tg_ci_jumps only */
  uint32_t* op;       /* [operators of the links] numbers, rising in a link */
  uint32_t* op_begin; /* [operators of the links] first jump; the next one's first ends it */
  uint32_t* op_of;    /* [jumps] number of the operator */
  uint32_t* op_to;    /* [jumps] string within the target */
  uint32_t* op_from;  /* [jumps] 2 * string within the source, + 1 for a minus */
} tg_ci_target;

typedef struct tg_ci_jumps {
  size_t class_count;
  tg_ci_target* targets; /* [class_count] */
  int reach;             /* changes of 2m are -reach ... reach */
  unsigned labels;
  size_t channel_count;
  size_t* channel_begin; /* [channel_count + 1] into operators */
  uint32_t* operators;   /* i * orbitals + j, rising in a channel */
  size_t count, bytes;
} tg_ci_jumps;

/** The jumps of a species (0: A). threads >= 1. */
tg_status tg_ci_jumps_make(const tg_ci_hamiltonian* h, const tg_ci_space* space, int species,
                           int threads, tg_ci_jumps* out);
/** The same for some of the operators: those a+_i a_j with useful[i * orbitals + j]. */
tg_status tg_ci_jumps_make_some(const tg_ci_hamiltonian* h, const tg_ci_space* space, int species,
                                int threads, const bool* useful, tg_ci_jumps* out);
void tg_ci_jumps_free(tg_ci_jumps* jumps);

/** The part of H that acts on one species alone, without the constant. */
typedef struct tg_ci_alone {
  size_t class_count;
  tg_ci_target* targets; /* [class_count] */
  double* diagonal;      /* [strings] <s|H|s> */
  size_t count, bytes;
} tg_ci_alone;

tg_status tg_ci_alone_make(const tg_ci_hamiltonian* h, const tg_ci_space* space, int species,
                           int threads, tg_ci_alone* out);
/** The same without elements that are zero. */
tg_status tg_ci_alone_make_nonzero(const tg_ci_hamiltonian* h, const tg_ci_space* space,
                                   int species, int threads, tg_ci_alone* out);
void tg_ci_alone_free(tg_ci_alone* alone);

/** Links of a target in this channel: *first and the number of them. */
size_t tg_ci_links_of(const tg_ci_target* target, uint32_t channel, size_t* first);

/** The channel of operators that change nothing. */
static inline uint32_t tg_ci_channel_still(const tg_ci_jumps* jumps) {
  return (uint32_t)jumps->reach * jumps->labels;
}

#endif
