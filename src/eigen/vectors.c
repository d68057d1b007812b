/* SPDX-License-Identifier: Apache-2.0 */
#include "eigen/vectors.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/rng.h"
#include "base/simd.h"

enum {
  LANES = 8,
  BLOCK = 512,
  MOST_SEGMENTS = 256,
  LEAST_ROWS = 1024,
  FOR_A_TEAM = 1 << 16 /* numbers to read: some 50 us, of which waking others takes up to 20 */
};

/* A vector of the compiler's: each lane rounds as a scalar does, so all instruction sets agree. */
typedef double lanes __attribute__((vector_size(LANES * sizeof(double)), aligned(8), may_alias));

#define INLINE static inline __attribute__((always_inline))

void tg_rows_shape(size_t used, tg_rows* rows) {
  rows->used = used;
  rows->n = (used + LANES - 1) / LANES * LANES;
  rows->ld = rows->n;
  /* columns a multiple of a page apart would share few lines of the caches */
  if (rows->ld % 512 == 0) rows->ld += LANES;
  size_t segment = (rows->n + MOST_SEGMENTS - 1) / MOST_SEGMENTS;
  if (segment < LEAST_ROWS) segment = LEAST_ROWS;
  rows->segment = (segment + LANES - 1) / LANES * LANES;
  rows->segments = rows->n > 0 ? (int)((rows->n + rows->segment - 1) / rows->segment) : 1;
}

/* Threads worth waking for so many columns. */
static int team(const tg_rows* rows, int columns) {
  return rows->n * (size_t)columns < FOR_A_TEAM ? 1 : rows->threads;
}

static size_t segment_end(const tg_rows* rows, int segment) {
  size_t end = ((size_t)segment + 1) * rows->segment;
  return end < rows->n ? end : rows->n;
}

INLINE double sum_lanes(const lanes* a) {
  const lanes x = *a;
  return ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7]));
}

/* Four columns of V with one or two of W. */
INLINE void inner_tile(size_t count, const double* v, size_t ld, const double* w, int two,
                       double* h, int p) {
  const double *v0 = v, *v1 = v + ld, *v2 = v + 2 * ld, *v3 = v + 3 * ld;
  const double* u = two ? w + ld : w;
  lanes a0 = {0}, a1 = {0}, a2 = {0}, a3 = {0}, b0 = {0}, b1 = {0}, b2 = {0}, b3 = {0};
  for (size_t i = 0; i < count; i += LANES) {
    const lanes x = *(const lanes*)(w + i), y = *(const lanes*)(u + i);
    const lanes q0 = *(const lanes*)(v0 + i), q1 = *(const lanes*)(v1 + i);
    const lanes q2 = *(const lanes*)(v2 + i), q3 = *(const lanes*)(v3 + i);
    a0 += q0 * x, a1 += q1 * x, a2 += q2 * x, a3 += q3 * x;
    if (two) b0 += q0 * y, b1 += q1 * y, b2 += q2 * y, b3 += q3 * y;
  }
  h[0] += sum_lanes(&a0), h[1] += sum_lanes(&a1), h[2] += sum_lanes(&a2), h[3] += sum_lanes(&a3);
  if (!two) return;
  h += p;
  h[0] += sum_lanes(&b0), h[1] += sum_lanes(&b1), h[2] += sum_lanes(&b2), h[3] += sum_lanes(&b3);
}

INLINE double inner_one(size_t count, const double* v, const double* w) {
  lanes a = {0};
  for (size_t i = 0; i < count; i += LANES) a += *(const lanes*)(v + i) * *(const lanes*)(w + i);
  return sum_lanes(&a);
}

TG_SIMD_CLONES
static void inner_segment(size_t begin, size_t end, size_t ld, const double* v, int p,
                          const double* w, int c, double* h) {
  memset(h, 0, (size_t)p * (size_t)c * sizeof *h);
  for (size_t row = begin; row < end; row += BLOCK) {
    const size_t count = end - row < BLOCK ? end - row : BLOCK;
    int i = 0;
    for (; i + 4 <= p; i += 4) {
      const double* from = v + (size_t)i * ld + row;
      int j = 0;
      for (; j + 2 <= c; j += 2)
        inner_tile(count, from, ld, w + (size_t)j * ld + row, 1, h + (size_t)j * (size_t)p + i, p);
      if (j < c)
        inner_tile(count, from, ld, w + (size_t)j * ld + row, 0, h + (size_t)j * (size_t)p + i, p);
    }
    for (; i < p; i++)
      for (int j = 0; j < c; j++)
        h[(size_t)j * (size_t)p + (size_t)i] +=
            inner_one(count, v + (size_t)i * ld + row, w + (size_t)j * ld + row);
  }
}

static tg_status rows_inner(const tg_rows* rows, const double* v, int p, const double* w, int c,
                            double* h, int ldh) {
  if (p == 0 || c == 0) return TG_OK;
  const size_t count = (size_t)p * (size_t)c;
  double* sum = rows->partial;
#pragma omp parallel for num_threads(team(rows, p* c)) schedule(static)
  for (int s = 0; s < rows->segments; s++)
    inner_segment((size_t)s * rows->segment, segment_end(rows, s), rows->ld, v, p, w, c,
                  sum + (size_t)s * rows->room);
  for (int s = 1; s < rows->segments; s++) {
    const double* part = sum + (size_t)s * rows->room;
    for (size_t i = 0; i < count; i++) sum[i] += part[i];
  }
  if (rows->problem->reduce)
    TG_TRY(rows->problem->reduce(rows->problem->context, TG_EIGEN_SUM, sum, count));
  for (int j = 0; j < c; j++)
    memcpy(h + (size_t)j * (size_t)ldh, sum + (size_t)j * (size_t)p, (size_t)p * sizeof *h);
  return TG_OK;
}

TG_SIMD_CLONES
static void subtract_segment(size_t begin, size_t end, size_t ld, double* w, int c, const double* v,
                             int p, const double* h, int ldh) {
  for (size_t row = begin; row < end; row += BLOCK) {
    const size_t count = end - row < BLOCK ? end - row : BLOCK;
    int i = 0;
    for (; i + 4 <= p; i += 4) {
      const double *v0 = v + (size_t)i * ld + row, *v1 = v0 + ld, *v2 = v1 + ld, *v3 = v2 + ld;
      for (int j = 0; j < c; j++) {
        const double* g = h + (size_t)j * (size_t)ldh + i;
        const double g0 = g[0], g1 = g[1], g2 = g[2], g3 = g[3];
        double* to = w + (size_t)j * ld + row;
        for (size_t k = 0; k < count; k += LANES) {
          lanes sum = *(const lanes*)(v0 + k) * g0 + *(const lanes*)(v1 + k) * g1;
          sum += *(const lanes*)(v2 + k) * g2 + *(const lanes*)(v3 + k) * g3;
          *(lanes*)(to + k) -= sum;
        }
      }
    }
    for (; i < p; i++)
      for (int j = 0; j < c; j++) {
        const double g = h[(size_t)j * (size_t)ldh + (size_t)i];
        const double* from = v + (size_t)i * ld + row;
        double* to = w + (size_t)j * ld + row;
        for (size_t k = 0; k < count; k += LANES)
          *(lanes*)(to + k) -= *(const lanes*)(from + k) * g;
      }
  }
}

static void rows_subtract(const tg_rows* rows, double* w, int c, const double* v, int p,
                          const double* h, int ldh) {
#pragma omp parallel for num_threads(team(rows, p* c)) schedule(static)
  for (int s = 0; s < rows->segments; s++)
    subtract_segment((size_t)s * rows->segment, segment_end(rows, s), rows->ld, w, c, v, p, h, ldh);
}

/* A panel of rows, [p][TG_ROWS_PANEL], times two columns of s; 16 rows at a time. */
INLINE void times_tile(const double* panel, int p, const double* s, int lds, int two, double* out,
                       size_t ld, size_t count) {
  const double* t = two ? s + lds : s;
  lanes a0 = {0}, a1 = {0}, b0 = {0}, b1 = {0};
  for (int k = 0; k < p; k++) {
    const double* x = panel + (size_t)k * TG_ROWS_PANEL;
    const lanes x0 = *(const lanes*)x, x1 = *(const lanes*)(x + LANES);
    a0 += x0 * s[k], a1 += x1 * s[k];
    b0 += x0 * t[k], b1 += x1 * t[k];
  }
  *(lanes*)out = a0;
  if (count > LANES) *(lanes*)(out + LANES) = a1;
  if (!two) return;
  *(lanes*)(out + ld) = b0;
  if (count > LANES) *(lanes*)(out + ld + LANES) = b1;
}

TG_SIMD_CLONES
static void times_segment(size_t begin, size_t end, size_t ld, const double* v, int p,
                          const double* s, int lds, int q, double* out, double* panel) {
  for (size_t row = begin; row < end; row += TG_ROWS_PANEL) {
    const size_t count = end - row < TG_ROWS_PANEL ? end - row : TG_ROWS_PANEL;
    for (int k = 0; k < p; k++)
      memcpy(panel + (size_t)k * TG_ROWS_PANEL, v + (size_t)k * ld + row, count * sizeof *v);
    for (int j = 0; j < q; j += 2)
      for (size_t i = 0; i < count; i += 2 * LANES)
        times_tile(panel + i, p, s + (size_t)j * (size_t)lds, lds, j + 1 < q,
                   out + (size_t)j * ld + row + i, ld, count - i);
  }
}

static void rows_times(const tg_rows* rows, const double* v, int p, const double* s, int lds, int q,
                       double* out) {
#pragma omp parallel for num_threads(rows->threads) schedule(static)
  for (int t = 0; t < rows->threads; t++) {
    double* panel = rows->panel + (size_t)t * rows->panel_size;
    for (int k = rows->segments * t / rows->threads; k < rows->segments * (t + 1) / rows->threads;
         k++)
      times_segment((size_t)k * rows->segment, segment_end(rows, k), rows->ld, v, p, s, lds, q, out,
                    panel);
  }
}

static void rows_scale(const tg_rows* rows, double* w, double factor) {
#pragma omp parallel for num_threads(team(rows, 1)) schedule(static)
  for (int s = 0; s < rows->segments; s++)
    for (size_t i = (size_t)s * rows->segment; i < segment_end(rows, s); i++) w[i] *= factor;
}

static void rows_copy(const tg_rows* rows, const double* v, double* w) {
#pragma omp parallel for num_threads(team(rows, 1)) schedule(static)
  for (int s = 0; s < rows->segments; s++)
    memcpy(w + (size_t)s * rows->segment, v + (size_t)s * rows->segment,
           (segment_end(rows, s) - (size_t)s * rows->segment) * sizeof *w);
}

/* Two normal numbers (Box and Muller 1958) for each pair of rows. */
static void random_pair(const uint64_t key[2], uint64_t pair, uint64_t number, double out[2]) {
  const double unit = 0x1p-53, turn = 6.283185307179586;
  const uint64_t counter[2] = {pair, number};
  uint64_t bits[2];
  tg_threefry(key, counter, bits);
  const double radius = sqrt(-2.0 * log((double)((bits[0] >> 11) + 1) * unit));
  const double angle = turn * ((double)(bits[1] >> 11) * unit);
  out[0] = radius * cos(angle);
  out[1] = radius * sin(angle);
}

static void rows_random(const tg_rows* rows, uint64_t seed, uint64_t number, double* w) {
  const uint64_t key[2] = {seed, TG_RNG_START_VECTOR};
#pragma omp parallel for num_threads(team(rows, 8)) schedule(static)
  for (int s = 0; s < rows->segments; s++) {
    size_t end = segment_end(rows, s);
    if (end > rows->used) end = rows->used;
    for (size_t i = (size_t)s * rows->segment; i < end;) {
      const size_t global = rows->first + i;
      double two[2];
      random_pair(key, global / 2, number, two);
      w[i++] = two[global % 2];
      if (global % 2 == 0 && i < end) w[i++] = two[1];
    }
  }
}

static tg_status rows_norms(const tg_rows* rows, const double* w, int c, double* norm) {
  for (int i = 0; i < c; i++) {
    const double* column = w + (size_t)i * rows->ld;
    TG_TRY(rows_inner(rows, column, 1, column, 1, norm + i, 1));
    norm[i] = sqrt(norm[i]);
  }
  return TG_OK;
}

static int64_t rows_find_nan(const tg_rows* rows, const double* w) {
  for (size_t i = 0; i < rows->used; i++)
    if (!isfinite(w[i])) return (int64_t)(rows->first + i);
  return -1;
}

static tg_status rows_bounds(const tg_rows* rows, const double* d, double* low, double* high) {
  *low = INFINITY;
  *high = -INFINITY;
  for (size_t i = 0; i < rows->used; i++) {
    if (!isfinite(d[i]))
      return tg_fail(TG_ERR_NUMERICS,
                     "the diagonal has a value in row %zu that is no finite number",
                     rows->first + i);
    *low = fmin(*low, d[i]);
    *high = fmax(*high, d[i]);
  }
  return TG_OK;
}

static void rows_favour(const tg_rows* rows, const double* d, double low, double width, double* x) {
#pragma omp parallel for num_threads(rows->threads) schedule(static)
  for (size_t i = 0; i < rows->used; i++) {
    const double weight = width / (d[i] - low + width);
    const double square = weight * weight;
    x[i] *= square * square;
  }
}

static void rows_divide(const tg_rows* rows, const double* d, double value, double least,
                        double* r) {
#pragma omp parallel for num_threads(rows->threads) schedule(static)
  for (size_t i = 0; i < rows->used; i++) {
    const double distance = d[i] - value;
    r[i] /= fabs(distance) > least ? distance : copysign(least, distance);
  }
}

static tg_status rows_move(const tg_rows* rows, const double* from, size_t count, double* to) {
  (void)rows;
  if (count > 0) memcpy(to, from, count * sizeof *to);
  return TG_OK;
}

/* ---- memory ---- */

static tg_status rows_open(tg_rows* rows, size_t room, int most) {
  const char* what = "the eigen-solver's small matrices";
  rows->room = room;
  TG_TRY(TG_ALLOCATE((size_t)rows->segments * room, what, &rows->partial));
  rows->panel_size = (size_t)most * TG_ROWS_PANEL;
  return TG_ALLOCATE((size_t)rows->threads * rows->panel_size, what, &rows->panel);
}

static void rows_close(tg_rows* rows) {
  TG_FREE(rows->partial);
  TG_FREE(rows->panel);
}

static tg_status rows_allocate(const tg_rows* rows, size_t columns, const char* what,
                               double** out) {
  return TG_ALLOCATE(columns * rows->ld + 1, what, out); /* never NULL */
}

static void rows_release(const tg_rows* rows, double* columns) {
  (void)rows;
  tg_free(columns);
}

const tg_rows_ops tg_rows_host = {.open = rows_open,
                                  .close = rows_close,
                                  .allocate = rows_allocate,
                                  .release = rows_release,
                                  .inner = rows_inner,
                                  .norms = rows_norms,
                                  .subtract = rows_subtract,
                                  .times = rows_times,
                                  .scale = rows_scale,
                                  .copy = rows_copy,
                                  .random = rows_random,
                                  .find_nan = rows_find_nan,
                                  .bounds = rows_bounds,
                                  .favour = rows_favour,
                                  .divide = rows_divide,
                                  .get = rows_move,
                                  .put = rows_move};
