/* SPDX-License-Identifier: Apache-2.0 */
/* The product of a stored matrix, by rounds of tiles that share no chunk (ci/stored.h). */
#include "ci/stored.h"

/* A row's sum is kept in parts, as an addition waits for the one before; their order is fixed. */
enum { PARTS = 4 };

/* A tile above the diagonal, or on it: both triangles, for one vector. y_row and y_column may be
 * the same chunk; columns of a row differ from each other and from the row. */
static void tile_both(const tg_ci_tile* t, size_t rows, const double* restrict x_row,
                      const double* restrict x_column, double* y_row, double* y_column) {
  const uint16_t* restrict column = t->column;
  const double* restrict value = t->value;
  for (size_t r = 0; r < rows; r++) {
    const double here = x_row[r];
    double sum[PARTS] = {0};
    uint32_t e = t->begin[r];
    const uint32_t end = t->begin[r + 1];
    for (; e + PARTS <= end; e += PARTS)
      for (uint32_t p = 0; p < PARTS; p++) {
        const size_t c = column[e + p];
        sum[p] += value[e + p] * x_column[c];
        y_column[c] += value[e + p] * here;
      }
    for (; e < end; e++) {
      sum[0] += value[e] * x_column[column[e]];
      y_column[column[e]] += value[e] * here;
    }
    y_row[r] += (sum[0] + sum[1]) + (sum[2] + sum[3]);
  }
}

/* The same for two vectors at once: the matrix is read once. */
static void tile_both_2(const tg_ci_tile* t, size_t rows, const double* restrict x_row,
                        const double* restrict x_column, double* y_row, double* y_column,
                        size_t ld) {
  const uint16_t* restrict column = t->column;
  const double* restrict value = t->value;
  for (size_t r = 0; r < rows; r++) {
    const double here[2] = {x_row[r], x_row[r + ld]};
    double sum[2][PARTS] = {{0}};
    uint32_t e = t->begin[r];
    const uint32_t end = t->begin[r + 1];
    for (; e + PARTS <= end; e += PARTS)
      for (uint32_t p = 0; p < PARTS; p++) {
        const size_t c = column[e + p];
        sum[0][p] += value[e + p] * x_column[c];
        sum[1][p] += value[e + p] * x_column[c + ld];
        y_column[c] += value[e + p] * here[0];
        y_column[c + ld] += value[e + p] * here[1];
      }
    for (; e < end; e++) {
      const size_t c = column[e];
      sum[0][0] += value[e] * x_column[c];
      sum[1][0] += value[e] * x_column[c + ld];
      y_column[c] += value[e] * here[0];
      y_column[c + ld] += value[e] * here[1];
    }
    y_row[r] += (sum[0][0] + sum[0][1]) + (sum[0][2] + sum[0][3]);
    y_row[r + ld] += (sum[1][0] + sum[1][1]) + (sum[1][2] + sum[1][3]);
  }
}

static void tile_rows(const tg_ci_tile* t, size_t rows, const double* restrict x_column,
                      double* restrict y_row) {
  for (size_t r = 0; r < rows; r++) {
    double sum[PARTS] = {0};
    uint32_t e = t->begin[r];
    const uint32_t end = t->begin[r + 1];
    for (; e + PARTS <= end; e += PARTS)
      for (uint32_t p = 0; p < PARTS; p++) sum[p] += t->value[e + p] * x_column[t->column[e + p]];
    for (; e < end; e++) sum[0] += t->value[e] * x_column[t->column[e]];
    y_row[r] += (sum[0] + sum[1]) + (sum[2] + sum[3]);
  }
}

typedef struct product {
  const tg_ci_stored* s;
  int k;
  const double* x;
  double* y;
  size_t ld;
} product;

static size_t rows_of(const tg_ci_stored* s, size_t chunk) {
  const uint64_t rest = s->dimension - (uint64_t)chunk * s->chunk;
  return rest < s->chunk ? (size_t)rest : s->chunk;
}

static void meet(const product* p, size_t row, size_t column) {
  const tg_ci_stored* s = p->s;
  const tg_ci_tile* t = tg_ci_stored_tile(s, row, column);
  if (!t->count) return;
  const size_t rows = rows_of(s, row), i = row * s->chunk, j = column * s->chunk;
  int v = 0;
  for (; v + 2 <= p->k; v += 2) {
    const size_t at = (size_t)v * p->ld;
    tile_both_2(t, rows, p->x + at + i, p->x + at + j, p->y + at + i, p->y + at + j, p->ld);
  }
  for (; v < p->k; v++) {
    const size_t at = (size_t)v * p->ld;
    tile_both(t, rows, p->x + at + i, p->x + at + j, p->y + at + i, p->y + at + j);
  }
}

static void diagonal(const product* p, size_t chunk) {
  const size_t first = chunk * p->s->chunk, rows = rows_of(p->s, chunk);
  for (int v = 0; v < p->k; v++)
    for (size_t r = first; r < first + rows; r++)
      p->y[(size_t)v * p->ld + r] = p->s->diagonal[r] * p->x[(size_t)v * p->ld + r];
}

static void apply_full(const product* p, int threads) {
  const tg_ci_stored* s = p->s;
#pragma omp parallel for schedule(dynamic) num_threads(threads)
  for (size_t i = 0; i < s->chunks; i++) {
    diagonal(p, i);
    for (size_t j = 0; j < s->chunks; j++) {
      const tg_ci_tile* t = tg_ci_stored_tile(s, i, j);
      for (int v = 0; t->count && v < p->k; v++)
        tile_rows(t, rows_of(s, i), p->x + (size_t)v * p->ld + j * s->chunk,
                  p->y + (size_t)v * p->ld + i * s->chunk);
    }
  }
}

/* In each of n - 1 rounds (n even) number n - 1 meets the round's, and the others those that are as
 * far from the round's number on the other side of the circle of n - 1. */
static void apply_half(const product* p, int threads) {
  const tg_ci_stored* s = p->s;
  const size_t n = s->chunks + s->chunks % 2, circle = n - 1;
#pragma omp parallel num_threads(threads)
  {
#pragma omp for schedule(dynamic)
    for (size_t i = 0; i < s->chunks; i++) {
      diagonal(p, i);
      meet(p, i, i);
    }
    for (size_t round = 0; round < circle; round++) {
#pragma omp for schedule(dynamic)
      for (size_t k = 0; k < n / 2; k++) {
        const size_t a = (round + k) % circle, b = k ? (round + circle - k) % circle : circle;
        if (a < s->chunks && b < s->chunks) meet(p, a < b ? a : b, a < b ? b : a);
      }
    }
  }
}

void tg_ci_stored_apply(const tg_ci_stored* s, int threads, int k, const double* x, double* y,
                        size_t ld) {
  const product p = {.s = s, .k = k, .x = x, .y = y, .ld = ld};
  if (s->full)
    apply_full(&p, threads);
  else
    apply_half(&p, threads);
}
