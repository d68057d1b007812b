/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/space.h  Spaces: the basis of many-body states, as blocks of strings of A x strings of
 * B.
 *
 * A state is a string of species A and one of species B (ci/strings.h). A space holds the states
 * with a given sum M of both (as 2M) and, if asked for, a given product of labels, a weight of both
 * within a limit, and an allowed pair of partitions. All of this depends on the classes of the two
 * strings alone, so the space is a list of *blocks*, each a class of A and a class of B, in the
 * order of (class of A, class of B). A vector is the blocks one after the other, each a dense
 * matrix [strings of A, strings of B], row after row:
 *
 *   element  block.offset + row * block.columns + column
 *
 * of the strings classes[a].begin + row of A and classes[b].begin + column of B. As an occupied
 * state, the orbitals of A come first: |state> = product of a+ (rising) product of b+ (rising) |0>.
 *
 * Counting needs no strings (tg_ci_space_count), so it is exact for spaces that no machine holds.
 */
#ifndef TG_CI_SPACE_H
#define TG_CI_SPACE_H

#include <stddef.h>
#include <stdint.h>

#include "ci/hamiltonian.h"
#include "ci/strings.h"

typedef struct tg_ci_space_params {
  tg_ci_limits limits[2]; /* weight_most of one species may stay -1: the space's sets it */
  const char* names[2];   /* for messages: "protons", "spin-up electrons"; NULL: of species A, B */
  int two_m;
  int symmetry;                    /* product of labels; -1: any */
  int weight_most;                 /* of both species together; -1: no limit */
  size_t partition_pair_count;     /* 0: every pair */
  const uint32_t* partition_pairs; /* [partition_pair_count, 2] of A and of B */
} tg_ci_space_params;

/** How many states there are of one 2M and product of labels. */
typedef struct tg_ci_dimension {
  int32_t two_m;
  uint32_t symmetry;
  uint64_t states; /* UINT64_MAX: at least as many */
} tg_ci_dimension;

/** Dimensions of every (2M, label) that has states, whatever the two_m and symmetry of params, in
 * the order of (2M, label). Release with tg_free. TG_ERR_INPUT for impossible numbers of particles,
 * or where the limits leave no state at all. */
tg_status tg_ci_space_count(const tg_ci_hamiltonian* h, const tg_ci_space_params* params,
                            tg_ci_dimension** out, size_t* out_count);

/** The least weight of both species together that these limits allow (weight_most is not looked
 * at): Nmax counts from here. */
tg_status tg_ci_space_least_weight(const tg_ci_hamiltonian* h, const tg_ci_space_params* params,
                                   int* out);

typedef struct tg_ci_block {
  uint32_t a, b; /* classes */
  size_t rows, columns;
  uint64_t offset;
} tg_ci_block;

typedef struct tg_ci_space {
  tg_ci_strings strings[2]; /* of the classes that blocks use, no others */
  size_t block_count;
  tg_ci_block* blocks; /* [block_count] */
  size_t* block_begin; /* [classes of A + 1]: first block of each class of A */
  uint64_t dimension;
  int two_m, symmetry;
} tg_ci_space;

/** TG_ERR_INPUT, with what would be possible, where there is no state: 2M of the wrong evenness or
 * too large, a label that no state has. */
tg_status tg_ci_space_make(const tg_ci_hamiltonian* h, const tg_ci_space_params* params,
                           tg_ci_space** out);
void tg_ci_space_free(tg_ci_space* space);
/** Bytes that tg_ci_space_make will need, and the dimension. Nothing of that size is allocated. */
tg_status tg_ci_space_estimate(const tg_ci_hamiltonian* h, const tg_ci_space_params* params,
                               uint64_t* dimension, size_t* bytes);

/** Number of the block of these classes; SIZE_MAX: there is none. */
size_t tg_ci_space_block(const tg_ci_space* space, size_t class_a, size_t class_b);
/** The block that holds state number. */
size_t tg_ci_space_block_of(const tg_ci_space* space, uint64_t state);
/** The strings of a state. */
void tg_ci_space_strings(const tg_ci_space* space, uint64_t state, size_t* a, size_t* b);
/** The state of two strings; UINT64_MAX: not in the space. */
uint64_t tg_ci_space_state(const tg_ci_space* space, size_t a, size_t b);

#endif
