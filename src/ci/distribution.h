/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/distribution.h  Which states each PE has, where several share a space.
 *
 * PE p has the states first[p] ... first[p + 1] - 1 in the numbering of the space: whole rows of
 * blocks (a string of A with all strings of B), so that a product's rows, and what they read, are
 * rows everywhere. Rows are dealt out by their numbers of matrix elements, which are counted, not
 * by their states. Each PE knows all bounds, and they follow from the tables alone. A space of
 * fewer rows than PEs leaves some of them empty. */
#ifndef TG_CI_DISTRIBUTION_H
#define TG_CI_DISTRIBUTION_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "ci/jumps.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tg_ci_fly;

typedef struct tg_ci_distribution {
  int pe_count;
  uint64_t* first;  /* [pe_count + 1] */
  double* elements; /* [pe_count] matrix elements of a PE's rows, the diagonal included */
} tg_ci_distribution;

/** Local; the same on all PEs. pe_count >= 1. */
tg_status tg_ci_distribution_make(const struct tg_ci_fly* fly, int pe_count,
                                  tg_ci_distribution* out);
/** Accepts a zeroed one. */
void tg_ci_distribution_free(tg_ci_distribution* distribution);

/** The PE that has a state; it is none of the empty ones. */
int tg_ci_distribution_owner(const tg_ci_distribution* distribution, uint64_t state);
/** By how much the PE with most elements has more than the mean: 0.02 is 2 %. */
double tg_ci_distribution_imbalance(const tg_ci_distribution* distribution);

/** Matrix elements of row i of a block. */
double tg_ci_row_elements(const struct tg_ci_fly* fly, size_t block, size_t i);

/** States first ... end - 1. */
typedef struct tg_ci_range {
  uint64_t first, end;
} tg_ci_range;

/** The states of x that rows of y, states first ... end - 1, are made of: ranges that rise and do
 * not touch. Short gaps are not left out. Release with tg_free. */
tg_status tg_ci_needed(const struct tg_ci_fly* fly, uint64_t first, uint64_t end, tg_ci_range** out,
                       size_t* out_count);

#ifdef __cplusplus
}
#endif
#endif
