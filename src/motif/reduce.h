/* SPDX-License-Identifier: Apache-2.0 */
/** @file motif/reduce.h  Reduce: many values into few sums, sums[b] = sum of values[i] where
 * bins[i] = b.
 *
 * Names: serial; clause (a reduction clause with an array); atomic (an update of the element, by
 * each item); scalars (one scalar reduction per element, generated); private (sums of each thread
 * or block, joined at the end); private atomic (sums of a block, by atomics); chunks (sums of
 * chunks of fixed length, joined in order: the same bits for any number of threads).
 *
 * Any order of adding is within the bound (n - 1) u / (1 - (n - 1) u) * sum |values| of a bin's
 * exact sum, with n its number of items and u = 2^-53 (N. J. Higham, Accuracy and Stability of
 * Numerical Algorithms, section 4.2), so two versions differ by at most twice that. */
#ifndef TG_MOTIF_REDUCE_H
#define TG_MOTIF_REDUCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct tg_reduction {
  size_t count;
  const uint32_t* bins; /* [count], < m */
  const double* values; /* [count] */
  uint32_t m;           /* >= 1 */
  double* sums;         /* [m], written (not added to) */
  void* scratch;        /* of what the version's scratch says, aligned to a cache line */
  int threads;          /* of host backends */
} tg_reduction;

typedef struct tg_reduce_version {
  const char* name;
  bool deterministic;                 /* the same bits each time, whatever the number of threads */
  const char* (*refuses)(uint32_t m); /* words where it cannot, on this machine (m = 0) or for m */
  size_t (*scratch)(size_t count, uint32_t m, int threads); /* bytes; NULL: none */
  tg_status (*reduce)(const tg_reduction* what);
} tg_reduce_version;

#endif
