/* SPDX-License-Identifier: Apache-2.0 */
/** @file motif/dense.h  The dense reduction: the fused chain without its filter, and without the
 * operators' elements.
 *
 * What the reduce motif is in place: a double loop over rows and columns in which the index of a
 * sum is computed for each pair, and something is added to it; nothing but two vectors is read. All
 * pairs count, so this measures adding, where the fused chain measures finding:
 *
 *   sums[(p[row] + q[column]) mod m] += x[row] y[column]
 *
 * Names and bounds are those of motif/reduce.h; the product rounds once more. */
#ifndef TG_MOTIF_DENSE_H
#define TG_MOTIF_DENSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct tg_dense {
  size_t rows, columns;
  const uint32_t *p, *q; /* [rows], [columns], < m */
  const double *x, *y;   /* [rows], [columns] */
  uint32_t m;            /* 1 to 2^30 */
  double* sums;          /* [m], written (not added to) */
  void* scratch;         /* of what the version's scratch says, aligned to a cache line */
  int threads;           /* of host backends */
} tg_dense;

typedef struct tg_dense_version {
  const char* name;
  bool deterministic;                      /* the same bits each time, for any number of threads */
  const char* (*refuses)(uint32_t m);      /* as of tg_reduce_version */
  size_t (*scratch)(const tg_dense* what); /* bytes; NULL: none */
  tg_status (*reduce)(const tg_dense* what);
} tg_dense_version;

#endif
