/* SPDX-License-Identifier: Apache-2.0 */
/* The product of some rows of a stored matrix. */
#include "ci/stored_part.h"

#include "ci/stored_internal.h"

/* A row's sum is kept in parts, as in omp/stored.c. */
enum { PARTS = 4, WIDTH = TG_CI_STORED_WIDTH };

#define INLINE static inline __attribute__((always_inline))

/* y += the tile times x, for k vectors; an element is read once for all. */
INLINE void tile_times(const tg_ci_tile* t, size_t rows, int k, const double* restrict x,
                       size_t ldx, double* restrict y, size_t ldy) {
  const uint16_t* restrict column = t->column;
  const double* restrict value = t->value;
  for (size_t r = 0; r < rows; r++) {
    double sum[WIDTH][PARTS] = {{0}};
    uint32_t e = t->begin[r];
    const uint32_t end = t->begin[r + 1];
    for (; e + PARTS <= end; e += PARTS)
      for (uint32_t p = 0; p < PARTS; p++)
        for (int v = 0; v < k; v++) sum[v][p] += value[e + p] * x[(size_t)v * ldx + column[e + p]];
    for (; e < end; e++)
      for (int v = 0; v < k; v++) sum[v][0] += value[e] * x[(size_t)v * ldx + column[e]];
    for (int v = 0; v < k; v++)
      y[(size_t)v * ldy + r] += (sum[v][0] + sum[v][1]) + (sum[v][2] + sum[v][3]);
  }
}

static void tile_add(const tg_ci_tile* t, size_t rows, int k, const double* x, size_t ldx,
                     double* y, size_t ldy) {
  if (!t->count) return;
  switch (k) { /* numbers the compiler knows, so that sums stay in registers */
    case 1: tile_times(t, rows, 1, x, ldx, y, ldy); break;
    case 2: tile_times(t, rows, 2, x, ldx, y, ldy); break;
    case 3: tile_times(t, rows, 3, x, ldx, y, ldy); break;
    default: tile_times(t, rows, WIDTH, x, ldx, y, ldy);
  }
}

void tg_ci_stored_part_own(const tg_ci_stored_part* s, int threads, int k, const double* x,
                           double* y, size_t ld) {
  if (s->own.dimension > 0) tg_ci_stored_apply(&s->own, threads, k, x, y, ld);
}

void tg_ci_stored_part_add(const tg_ci_stored_part* s, int threads, int pe,
                           const tg_ci_fly_vectors* v) {
  const tg_ci_stored_beside* b = &s->beside[pe];
  if (!b->chunks) return;
#pragma omp parallel for schedule(dynamic) num_threads(threads)
  for (size_t c = 0; c < s->own.chunks; c++) {
    const size_t rows = tg_ci_stored_rows(&s->own, c);
    double* y = v->y + c * s->own.chunk;
    for (size_t i = 0; i < b->chunks; i++) {
      const double* x = v->x + b->first + (i << TG_CI_MOST_SHIFT);
      for (int k = 0; k < v->k; k += WIDTH)
        tile_add(&b->tiles[c * b->chunks + i], rows, v->k - k < WIDTH ? v->k - k : WIDTH,
                 x + (size_t)k * v->ldx, v->ldx, y + (size_t)k * v->ldy, v->ldy);
    }
  }
}
