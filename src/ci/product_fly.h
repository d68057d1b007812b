/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/product_fly.h  y = H x without a stored matrix: factorised into the two species.
 *
 * With strings i of A and j of B, and H = constant + H_A + H_B + sum of w(a,b) a b over one-body
 * operators a of A and b of B,
 *
 *   y[i',j'] += H_A[i',i] x[i,j']                     rows of A's matrix times rows of x
 *             + H_B[j',j] x[i',j]                     the same with x transposed, tile by tile
 *             + sum over a: i -> i' and b: j -> j' of w(a,b) phase(a) phase(b) x[i,j]
 *
 * The last part is nearly all the work. For one a, its jumps i_k -> i'_k of a class are taken
 * together, k being the SIMD direction: a tile xt[j,k] = phase_k x[i_k,j] is gathered (pieces of
 * rows, turned in registers), multiplied by the sparse matrix W_a[j',j] = w(a, b(j -> j'))
 * phase(b), which has the structure of B's link and takes its values from a table by the operators'
 * numbers, and added to y[i'_k,j']. So a matrix element costs one lane of a fused multiply-add.
 * Where A has few jumps for an operator and B has more, the two change places (with gathers and
 * scatters within rows); where both have few, jumps are combined one by one.
 *
 * Operators a+_p a_p change no string. They make the diagonal, which is tabulated, and add to
 * single jumps of one species a factor that depends on the other's string.
 *
 * Threads own rows of blocks of y and add in the same order whatever their number, so the result
 * is the same bit by bit. */
#ifndef TG_CI_PRODUCT_FLY_H
#define TG_CI_PRODUCT_FLY_H

#include <stdbool.h>

#include "ci/distribution.h"
#include "ci/jumps.h"

/** How the jumps of two links are combined. */
typedef enum tg_ci_way {
  TG_CI_WAY_ROWS,    /* those of an operator of A together */
  TG_CI_WAY_COLUMNS, /* those of an operator of B together */
  TG_CI_WAY_SINGLE,  /* one by one */
} tg_ci_way;

tg_ci_way tg_ci_fly_way(const tg_ci_link* link_a, const tg_ci_link* link_b);

/** What the particles of the other species add to single jumps of one, by the operators of the
 * still channel: w(a,qq) for an operator a of A and an orbital q of B, or w(pp,b). Operators
 * without any such element share a row of zeros, so that the many of large sparse integrals cost
 * nothing. */
typedef struct tg_ci_fields {
  size_t stride; /* orbitals of the other species */
  uint32_t* row; /* [operators of the still channel] number of their row; 0: zeros */
  size_t rows;
  double* value; /* [rows, stride] */
} tg_ci_fields;

/** All that the product needs; reads the space, which must stay, but no more the Hamiltonian. */
typedef struct tg_ci_fly {
  const tg_ci_space* space;
  double constant;
  bool few; /* made by tg_ci_fly_make_nonzero */
  tg_ci_jumps jumps[2];
  tg_ci_alone alone[2];
  size_t* row_begin;      /* [operators of A]: where w(a,b) starts in rows; 0: all are zero */
  double* rows;           /* [operators of B in the channel] each; the first one is zero */
  tg_ci_fields fields[2]; /* on jumps of A by the particles of B, and the other way round */
  double* still;          /* [orbitals of A, orbitals of B]: w(pp,qq) */
  size_t orbitals[2];
  bool twins;          /* alone[1] is a copy of alone[0] */
  double* diagonal;    /* [dimension] */
  double* elements;    /* [blocks]: matrix elements of the block's rows, the diagonal included */
  uint64_t lane_pairs; /* those done for many jumps of an operator together */
  uint64_t pairs;      /* of states that differ in at most two particles: the sum of elements */
  size_t bytes;
} tg_ci_fly;

/** w(a,b) of operator a of A of a channel with all b of B: [operators of B in the channel]. */
static inline const double* tg_ci_fly_row(const tg_ci_fly* fly, uint32_t channel, uint32_t a) {
  return fly->rows + fly->row_begin[fly->jumps[0].channel_begin[channel] + a];
}

/** What operator `number` of a species' still channel gets from the other's orbitals: [orbitals];
 * NULL: zeros.
 */
static inline const double* tg_ci_fly_field(const tg_ci_fly* fly, int species, uint32_t number) {
  const tg_ci_fields* f = &fly->fields[species];
  return f->row[number] ? f->value + f->row[number] * f->stride : NULL;
}

/** Bytes of the tables. */
typedef struct tg_ci_fly_size {
  uint64_t bytes; /* as tg_ci_fly::bytes, the diagonal included */
  uint64_t peak;  /* and what making them takes besides, at its highest */
} tg_ci_fly_size;

/** What the tables will need, roughly, from a few strings of each class: nothing of their size is
 * allocated. nonzero: those of tg_ci_fly_make_nonzero. */
tg_status tg_ci_fly_estimate(const tg_ci_hamiltonian* h, const tg_ci_space* space, int threads,
                             bool nonzero, tg_ci_fly_size* out);
/** [orbitals, orbitals] of each species, zeroed before: which a+_i a_j, i != j, can meet one of the
 * other species: none where that has no particles; nonzero: those with an element that is not zero.
 */
void tg_ci_fly_useful(const tg_ci_hamiltonian* h, const tg_ci_space* space, bool nonzero,
                      bool* const useful[2]);

/** All but the diagonal, for estimates: what is of the size of the strings, not of the states.
 * bytes counts the diagonal all the same. */
tg_status tg_ci_fly_tables(const tg_ci_hamiltonian* h, const tg_ci_space* space, int threads,
                           bool nonzero, tg_ci_fly* out);
tg_status tg_ci_fly_make(const tg_ci_hamiltonian* h, const tg_ci_space* space, int threads,
                         tg_ci_fly* out);
/** The same for an operator of few elements, such as J^2: those that are zero take no time, and are
 * not counted in pairs. Not for ci/stored.h. */
tg_status tg_ci_fly_make_nonzero(const tg_ci_hamiltonian* h, const tg_ci_space* space, int threads,
                                 tg_ci_fly* out);
void tg_ci_fly_free(tg_ci_fly* fly);

/** y = H x: [dimension] each, apart. */
tg_status tg_ci_fly_apply(const tg_ci_fly* fly, int threads, const double* x, double* y);
/** The same for k vectors, ld from one to the next: tables are looked up once for all, and lanes
 * that one vector's jumps leave empty are filled. A vector's bits do not depend on the others. */
tg_status tg_ci_fly_apply_block(const tg_ci_fly* fly, int threads, int k, const double* x,
                                double* y, size_t ld);

/** Some rows of y, and how x comes. */
typedef struct tg_ci_fly_part {
  uint64_t first, end;              /* states; whole rows of blocks */
  const double* diagonal;           /* [end - first] */
  const tg_ci_distribution* slices; /* x is shared out like this; NULL: all of it is there */
  int own;                          /* with slices: the PE whose slice is there at once */
  /* with slices: called before anything is made of the slice of a PE, by the calling thread, in the
   * order own + 1, own + 2 ...: returns when it is there. What needs several waits for the last. */
  tg_status (*ready)(void* context, int pe);
  void* context;
} tg_ci_fly_part;

typedef struct tg_ci_fly_vectors {
  int k;
  const double* x; /* [dimension, k], column i at i * ldx */
  size_t ldx;
  double* y; /* [end - first, k], column i at i * ldy */
  size_t ldy;
} tg_ci_fly_vectors;

/** The rows of a part of y = H x. The bits depend on the slices (what comes later is added later)
 * but neither on when they come nor on the number of threads. Needs no diagonal in fly. */
tg_status tg_ci_fly_apply_part(const tg_ci_fly* fly, const tg_ci_fly_part* part, int threads,
                               const tg_ci_fly_vectors* vectors);
/** <state|H|state> of states first ... end - 1, whole rows of blocks: [end - first]. */
tg_status tg_ci_fly_diagonal(const tg_ci_fly* fly, int threads, uint64_t first, uint64_t end,
                             double* out);

#endif
