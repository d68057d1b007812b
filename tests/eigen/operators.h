/* SPDX-License-Identifier: Apache-2.0 */
/* Operators whose eigenvalues are known, or can be had from LAPACK. */
#ifndef TG_TEST_EIGEN_OPERATORS_H
#define TG_TEST_EIGEN_OPERATORS_H

#include <lapacke.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "eigen/eigen.h"

typedef struct dense_operator {
  size_t n;
  double* a; /* [n, n] */
} dense_operator;

static inline tg_status dense_apply(void* context, int k, const double* x, double* y, size_t ld) {
  const dense_operator* op = context;
  for (int j = 0; j < k; j++) {
    double* to = y + (size_t)j * ld;
    for (size_t i = 0; i < op->n; i++) to[i] = 0;
    for (size_t l = 0; l < op->n; l++) {
      const double factor = x[(size_t)j * ld + l];
      for (size_t i = 0; i < op->n; i++) to[i] += op->a[l * op->n + i] * factor;
    }
  }
  return TG_OK;
}

/* Q diag(values) Q^T, Q a product of three random reflections. */
static inline dense_operator dense_of_spectrum(size_t n, const double* values, uint64_t seed) {
  dense_operator op = {n, calloc(n * n, sizeof(double))};
  for (size_t i = 0; i < n; i++) op.a[i * n + i] = values[i];
  double* u = calloc(2 * n, sizeof *u);
  double* w = u + n;
  tg_rng rng = tg_rng_stream(seed, TG_RNG_TEST, n);
  for (int round = 0; round < 3; round++) {
    double norm = 0, inner = 0;
    for (size_t i = 0; i < n; i++) {
      u[i] = tg_rng_gaussian(&rng);
      norm += u[i] * u[i];
    }
    for (size_t i = 0; i < n; i++) u[i] /= sqrt(norm);
    dense_apply(&op, 1, u, w, n);
    for (size_t i = 0; i < n; i++) inner += u[i] * w[i];
    /* (1 - 2 u u^T) A (1 - 2 u u^T) */
    for (size_t i = 0; i < n; i++)
      for (size_t j = 0; j < n; j++)
        op.a[i * n + j] += 4 * inner * u[i] * u[j] - 2 * u[i] * w[j] - 2 * w[i] * u[j];
  }
  free(u);
  return op;
}

static inline dense_operator dense_random(size_t n, uint64_t seed) {
  dense_operator op = {n, calloc(n * n, sizeof(double))};
  tg_rng rng = tg_rng_stream(seed, TG_RNG_TEST, n);
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j <= i; j++) op.a[i * n + j] = op.a[j * n + i] = tg_rng_gaussian(&rng);
  return op;
}

/* All eigenvalues, rising; free() them. */
static inline double* dense_spectrum(const dense_operator* op) {
  const size_t n = op->n;
  double* a = malloc(n * n * sizeof *a);
  double* values = malloc(n * sizeof *values);
  memcpy(a, op->a, n * n * sizeof *a);
  if (LAPACKE_dsyev(LAPACK_COL_MAJOR, 'N', 'U', (int)n, a, (int)n, values) != 0) abort();
  free(a);
  return values;
}

/* Tridiagonal in `blocks` blocks that do not know of each other: diagonal d, off-diagonal e; block
 * b is shifted by b * shift. One block, d = 2, e = -1: the Laplacian in one dimension. */
typedef struct chain_operator {
  size_t n, blocks;
  double d, e, shift;
  int64_t products;
  int64_t poison; /* the product in which row n / 2 becomes no number; 0: none */
  double skew;    /* added above the diagonal only */
} chain_operator;

static inline double chain_element(const chain_operator* op, size_t i, size_t j) {
  const size_t length = op->n / op->blocks;
  const size_t block = i / length, other = j / length;
  if (i == j) return op->d + (double)block * op->shift;
  return block == other || op->blocks == 1 ? op->e : 0;
}

static inline tg_status chain_apply(void* context, int k, const double* x, double* y, size_t ld) {
  chain_operator* op = context;
  for (int j = 0; j < k; j++) {
    const double* u = x + (size_t)j * ld;
    double* v = y + (size_t)j * ld;
    for (size_t i = 0; i < op->n; i++) {
      double sum = chain_element(op, i, i) * u[i];
      if (i > 0) sum += chain_element(op, i, i - 1) * u[i - 1];
      if (i + 1 < op->n) sum += (chain_element(op, i, i + 1) + op->skew) * u[i + 1];
      v[i] = sum;
    }
    if (++op->products == op->poison) v[op->n / 2] = NAN;
  }
  return TG_OK;
}

/* Eigenvalue number i = 0, 1, ... of a chain of that length. */
static inline double chain_value(const chain_operator* op, size_t length, size_t i) {
  const double angle = 3.14159265358979323846 * (double)(i + 1) / (double)(length + 1);
  return op->d - 2 * fabs(op->e) * cos(angle);
}

/* Sum over five directions of strength * the Laplacian of a chain of ten points: 100,000 rows. */
enum { GRID_DIMENSIONS = 5, GRID_SIDE = 10, GRID_ROWS = 100000 };

typedef struct grid_operator {
  double strength[GRID_DIMENSIONS];
} grid_operator;

static inline tg_status grid_apply(void* context, int k, const double* x, double* y, size_t ld) {
  const grid_operator* op = context;
  for (int j = 0; j < k; j++) {
    const double* u = x + (size_t)j * ld;
    double* v = y + (size_t)j * ld;
    memset(v, 0, GRID_ROWS * sizeof *v);
    size_t stride = 1;
    for (int d = 0; d < GRID_DIMENSIONS; d++, stride *= GRID_SIDE)
      for (size_t line = 0; line < GRID_ROWS; line += stride)
        for (size_t i = line, place = line / stride % GRID_SIDE; i < line + stride; i++) {
          double sum = 2 * u[i];
          if (place > 0) sum -= u[i - stride];
          if (place + 1 < GRID_SIDE) sum -= u[i + stride];
          v[i] += op->strength[d] * sum;
        }
  }
  return TG_OK;
}

static inline int compare_doubles(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

/* Largest |V^T V - 1|. */
static inline double not_orthonormal(const tg_eigen_result* r, size_t n) {
  double worst = 0;
  for (int i = 0; i < r->states; i++)
    for (int j = 0; j <= i; j++) {
      double sum = 0;
      for (size_t k = 0; k < n; k++)
        sum += r->vectors[(size_t)i * r->ld + k] * r->vectors[(size_t)j * r->ld + k];
      worst = fmax(worst, fabs(sum - (i == j)));
    }
  return worst;
}

/* Largest norm of A x - value x. */
static inline double worst_residual(const tg_eigen_problem* problem, const tg_eigen_result* r) {
  double worst = 0;
  double* y = calloc(r->ld, sizeof *y);
  for (int i = 0; i < r->states; i++) {
    const double* x = r->vectors + (size_t)i * r->ld;
    double sum = 0;
    if (problem->apply(problem->context, 1, x, y, r->ld) != TG_OK) abort();
    for (size_t k = 0; k < problem->n; k++)
      sum += (y[k] - r->values[i] * x[k]) * (y[k] - r->values[i] * x[k]);
    worst = fmax(worst, sqrt(sum));
  }
  free(y);
  return worst;
}

#endif
