/* SPDX-License-Identifier: Apache-2.0 */
/** @file eigen/vectors.h  What is done to tall, narrow matrices: n rows, some columns.
 *
 * Column i of a matrix is at i * ld. Rows are cut into segments whose size depends on n alone;
 * sums are formed within a segment and then over the segments in order, so they are the same bits
 * for any number of threads. n is a multiple of 8 here: rows that pad a column hold zeros.
 *
 * What it costs is reading the basis from memory once for each call, so each call does as much as
 * it can for the columns it is at. */
#ifndef TG_EIGEN_VECTORS_H
#define TG_EIGEN_VECTORS_H

#include <stddef.h>
#include <stdint.h>

#include "eigen/eigen.h"

typedef struct tg_rows {
  size_t n, ld; /* rows with their padding, a multiple of 8; ld >= n */
  size_t used;  /* rows without padding */
  size_t first; /* number of the first among those of all PEs */
  size_t segment;
  int segments, threads;
  size_t room;     /* sums that `partial` has room for in each segment */
  double* partial; /* [segments, room] */
  double* panel;   /* [threads, panel_size], rows of a matrix being multiplied */
  size_t panel_size;
  const tg_eigen_problem* problem;
} tg_rows;

enum { TG_ROWS_PANEL = 64 }; /* rows multiplied at once by tg_rows_times */

/** Fills in n, ld and the segments. */
void tg_rows_shape(size_t used, tg_rows* rows);

/** h: [p, c], column i at i * ldh, = V^T W, summed over the PEs. p * c <= room. */
tg_status tg_rows_inner(const tg_rows* rows, const double* v, int p, const double* w, int c,
                        double* h, int ldh);

/** W -= V h, h: [p, c]. */
void tg_rows_subtract(const tg_rows* rows, double* w, int c, const double* v, int p,
                      const double* h, int ldh);

/** out = V s, s: [p, q]. out may be V, or apart from it. p <= columns the panel was made for. */
void tg_rows_times(const tg_rows* rows, const double* v, int p, const double* s, int lds, int q,
                   double* out);

/** w = factor * w, one column. */
void tg_rows_scale(const tg_rows* rows, double* w, double factor);

/** w = v, one column. */
void tg_rows_copy(const tg_rows* rows, const double* v, double* w);

/** w: independent normal numbers, a function of seed, number and the row alone. */
void tg_rows_random(const tg_rows* rows, uint64_t seed, uint64_t number, double* w);

/** Norms of c columns. c <= room. */
tg_status tg_rows_norms(const tg_rows* rows, const double* w, int c, double* norm);

/** The first row at which w is no number, among all; -1: none on this PE. */
int64_t tg_rows_find_nan(const tg_rows* rows, const double* w);

#endif
