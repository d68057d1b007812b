/* SPDX-License-Identifier: Apache-2.0 */
/** @file eigen/vectors.h  What is done to tall, narrow matrices: n rows, some columns.
 *
 * Column i of a matrix is at i * ld. Where it lies, in the host's memory or a GPU's, is the
 * business of a table of functions: vectors.c has the host's, cuda/ that of NVIDIA's GPUs, acc/
 * OpenACC's. Small matrices (coefficients) are the host's in any case. Rows are cut into segments
 * whose size depends on n alone; sums are formed within a segment and then over the segments in
 * order, so they are the same bits for any number of threads. n is a multiple of 8 here: rows that
 * pad a column hold zeros.
 *
 * What it costs is reading the basis from memory once for each call, so each call does as much as
 * it can for the columns it is at. On a GPU each answer costs a wait besides, some 10 us: there a
 * step of Lanczos is a call of its own.
 *
 * On a GPU, functions without a status only queue work; what went wrong is said by the next call
 * that has one. */
#ifndef TG_EIGEN_VECTORS_H
#define TG_EIGEN_VECTORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "eigen/eigen.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tg_rows_ops tg_rows_ops;

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
  const tg_rows_ops* ops;
  void* device; /* what a GPU's functions keep */
} tg_rows;

enum { TG_ROWS_PANEL = 64 }; /* rows multiplied at once by tg_rows_times */

enum { TG_ROWS_STEP = 4 }; /* most columns that one tg_rows_ops::step makes orthonormal */

/** A step of Lanczos: the products y, columns `at` to at + c - 1 of the basis, are made orthogonal
 * first to the columns from `begin` on, then to all `at` before them, and then among themselves.
 * Where a column loses half of its length in the second half of this, or becomes no more than
 * rounding of `scale` (or of the longest product), `done` is false and y is what the two passes
 * left: columns of y are not orthonormal then. Where the problem has an outlet, y may go there,
 * too, done or not. */
typedef struct tg_rows_step {
  double* basis;
  int begin, at, c;
  double scale;
  double *first, *second;    /* out: [at - begin, c], [at, c]: coefficients of either pass */
  double norm[TG_ROWS_STEP]; /* of the products */
  double size[TG_ROWS_STEP]; /* after the first pass */
  double r[TG_ROWS_STEP * TG_ROWS_STEP]; /* done: [c, c], upper triangular: what was left = y r */
  bool done;
  bool out; /* y went to the problem's outlet */
} tg_rows_step;

struct tg_rows_ops {
  /** Scratch for inner products of `room` numbers and multiplications by up to `most` columns. */
  tg_status (*open)(tg_rows* rows, size_t room, int most);
  void (*close)(tg_rows* rows); /* accepts what was never opened */
  /** Columns of zeros. */
  tg_status (*allocate)(const tg_rows* rows, size_t columns, const char* what, double** out);
  void (*release)(const tg_rows* rows, double* columns);
  tg_status (*inner)(const tg_rows* rows, const double* v, int p, const double* w, int c, double* h,
                     int ldh);
  tg_status (*norms)(const tg_rows* rows, const double* w, int c, double* norm);
  void (*subtract)(const tg_rows* rows, double* w, int c, const double* v, int p, const double* h,
                   int ldh);
  void (*times)(const tg_rows* rows, const double* v, int p, const double* s, int lds, int q,
                double* out);
  void (*scale)(const tg_rows* rows, double* w, double factor);
  void (*copy)(const tg_rows* rows, const double* v, double* w);
  void (*random)(const tg_rows* rows, uint64_t seed, uint64_t number, double* w);
  int64_t (*find_nan)(const tg_rows* rows, const double* w);
  tg_status (*bounds)(const tg_rows* rows, const double* d, double* low, double* high);
  void (*favour)(const tg_rows* rows, const double* d, double low, double width, double* x);
  void (*divide)(const tg_rows* rows, const double* d, double value, double least, double* r);
  tg_status (*get)(const tg_rows* rows, const double* from, size_t count, double* to);
  tg_status (*put)(const tg_rows* rows, const double* from, size_t count, double* to);
  tg_status (*step)(const tg_rows* rows, tg_rows_step* step); /* NULL: there is none */
  void (*mark)(const tg_rows* rows, int which);               /* NULL: a clock on the host does */
  double (*between)(
      const tg_rows* rows); /* seconds from mark 0 to mark 1, both of which are over */
};

extern const tg_rows_ops tg_rows_host;

/** The functions for NVIDIA's GPUs. TG_ERR_MACHINE in a throng that was built without them. */
tg_status tg_rows_cuda(const tg_rows_ops** out);

/** Bytes of scratch that a GPU's functions take for so many sums, and for a basis of `most`. */
size_t tg_rows_cuda_bytes(const tg_rows* rows, size_t room, int most);

/** The functions by OpenACC, of the module acc: on a GPU, or on the host where that has none. They
 * wait for their work. TG_ERR_MACHINE, with the reason, where the module does not run here. */
tg_status tg_rows_acc(const tg_rows_ops** out);
size_t tg_rows_acc_bytes(const tg_rows* rows, size_t room, int most);

/** What a module exports under the name tg_module_rows: its functions, and that which counts bytes;
 * NULL where structures are of other sizes. */
typedef size_t tg_rows_bytes(const tg_rows* rows, size_t room, int most);
typedef const tg_rows_ops* tg_rows_entry(const size_t sizes[2], tg_rows_bytes** bytes);
#define TG_ROWS_SIZES                                                                              \
  { sizeof(tg_rows), sizeof(tg_rows_ops) }

/** Fills in n, ld and the segments. */
void tg_rows_shape(size_t used, tg_rows* rows);

/** h: [p, c], column i at i * ldh, = V^T W, summed over the PEs. p * c <= room. */
static inline tg_status tg_rows_inner(const tg_rows* rows, const double* v, int p, const double* w,
                                      int c, double* h, int ldh) {
  return rows->ops->inner(rows, v, p, w, c, h, ldh);
}

/** W -= V h, h: [p, c]. */
static inline void tg_rows_subtract(const tg_rows* rows, double* w, int c, const double* v, int p,
                                    const double* h, int ldh) {
  rows->ops->subtract(rows, w, c, v, p, h, ldh);
}

/** out = V s, s: [p, q]. out may be V, or apart from it. p <= columns the panel was made for. */
static inline void tg_rows_times(const tg_rows* rows, const double* v, int p, const double* s,
                                 int lds, int q, double* out) {
  rows->ops->times(rows, v, p, s, lds, q, out);
}

/** w = factor * w, one column. */
static inline void tg_rows_scale(const tg_rows* rows, double* w, double factor) {
  rows->ops->scale(rows, w, factor);
}

/** w = v, one column. */
static inline void tg_rows_copy(const tg_rows* rows, const double* v, double* w) {
  rows->ops->copy(rows, v, w);
}

/** w: independent normal numbers, a function of seed, number and the row alone (on a GPU to a few
 * units of the last digit, as far as its logarithms and cosines are the host's). */
static inline void tg_rows_random(const tg_rows* rows, uint64_t seed, uint64_t number, double* w) {
  rows->ops->random(rows, seed, number, w);
}

/** Norms of c columns. c <= room. */
static inline tg_status tg_rows_norms(const tg_rows* rows, const double* w, int c, double* norm) {
  return rows->ops->norms(rows, w, c, norm);
}

/** The first row at which w is no number, among all; -1: none on this PE. */
static inline int64_t tg_rows_find_nan(const tg_rows* rows, const double* w) {
  return rows->ops->find_nan(rows, w);
}

/** Least and largest number of d: [used] of this PE; INFINITY and -INFINITY where it has no rows.
 * TG_ERR_NUMERICS, with the row, where one is not finite. */
static inline tg_status tg_rows_bounds(const tg_rows* rows, const double* d, double* low,
                                       double* high) {
  return rows->ops->bounds(rows, d, low, high);
}

/** x *= (width / (d - low + width))^4. */
static inline void tg_rows_favour(const tg_rows* rows, const double* d, double low, double width,
                                  double* x) {
  rows->ops->favour(rows, d, low, width, x);
}

/** r /= d - value, where that is at least `least` from 0, else by that with its sign. */
static inline void tg_rows_divide(const tg_rows* rows, const double* d, double value, double least,
                                  double* r) {
  rows->ops->divide(rows, d, value, least, r);
}

/** Numbers from where columns lie to the host's memory, and back; any count from any place. */
static inline tg_status tg_rows_get(const tg_rows* rows, const double* from, size_t count,
                                    double* to) {
  return rows->ops->get(rows, from, count, to);
}
static inline tg_status tg_rows_put(const tg_rows* rows, const double* from, size_t count,
                                    double* to) {
  return rows->ops->put(rows, from, count, to);
}

#ifdef __cplusplus
}
#endif
#endif
