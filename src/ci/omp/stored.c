/* SPDX-License-Identifier: Apache-2.0 */
/* The product of a stored matrix, by rounds of tiles that share no chunk (ci/stored.h). */
#include <sched.h>
#include <string.h>

#include "base/simd.h"
#include "ci/stored.h"

enum { WIDTH = TG_CI_STORED_WIDTH };
typedef double lanes __attribute__((vector_size(WIDTH * sizeof(double)), may_alias));

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

/* The same for WIDTH vectors at once, packed: numbers of one state side by side. The matrix is read
 * once, and an element takes two loads, two products and sums of whole SIMD registers, and a store.
 */
TG_SIMD_CLONES
static void tile_both_packed(const tg_ci_tile* t, size_t rows, const lanes* x_row,
                             const lanes* x_column, lanes* y_row, lanes* y_column) {
  const uint16_t* restrict column = t->column;
  const double* restrict value = t->value;
  for (size_t r = 0; r < rows; r++) {
    const lanes here = x_row[r];
    lanes sum[PARTS] = {{0}};
    uint32_t e = t->begin[r];
    const uint32_t end = t->begin[r + 1];
    for (; e + PARTS <= end; e += PARTS)
      for (uint32_t p = 0; p < PARTS; p++) {
        const size_t c = column[e + p];
        const lanes old = y_column[c]; /* before the store of the last one is waited for */
        sum[p] += value[e + p] * x_column[c];
        y_column[c] = old + value[e + p] * here;
      }
    for (; e < end; e++) {
      sum[0] += value[e] * x_column[column[e]];
      y_column[column[e]] += value[e] * here;
    }
    y_row[r] += (sum[0] + sum[1]) + (sum[2] + sum[3]);
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
  bool packed;
} product;

static size_t rows_of(const tg_ci_stored* s, size_t chunk) {
  const uint64_t rest = s->dimension - (uint64_t)chunk * s->chunk;
  return rest < s->chunk ? (size_t)rest : s->chunk;
}

static lanes* packed_x(const tg_ci_stored* s) { return (lanes*)(void*)s->work; }
static lanes* packed_y(const tg_ci_stored* s) { return packed_x(s) + s->dimension; }

static void meet(const product* p, size_t row, size_t column) {
  const tg_ci_stored* s = p->s;
  const tg_ci_tile* t = tg_ci_stored_tile(s, row, column);
  if (!t->count) return;
  const size_t rows = rows_of(s, row), i = row * s->chunk, j = column * s->chunk;
  if (p->packed)
    tile_both_packed(t, rows, packed_x(s) + i, packed_x(s) + j, packed_y(s) + i, packed_y(s) + j);
  else
    tile_both(t, rows, p->x + i, p->x + j, p->y + i, p->y + j);
}

/* x of a chunk side by side, and y with the diagonal's part. */
static void pack(const product* p, size_t chunk) {
  const tg_ci_stored* s = p->s;
  const size_t first = chunk * s->chunk, end = first + rows_of(s, chunk);
  lanes *x = packed_x(s), *y = packed_y(s);
  for (size_t r = first; r < end; r++) {
    lanes all = {0};
    for (int v = 0; v < p->k; v++) all[v] = p->x[(size_t)v * p->ld + r];
    x[r] = all;
    y[r] = s->diagonal[r] * all;
  }
}

static void unpack(const product* p, size_t chunk) {
  const size_t first = chunk * p->s->chunk, end = first + rows_of(p->s, chunk);
  const lanes* y = packed_y(p->s);
  for (int v = 0; v < p->k; v++)
    for (size_t r = first; r < end; r++) p->y[(size_t)v * p->ld + r] = y[r][v];
}

/* y of a chunk is the diagonal's part. */
static void start(const product* p, size_t chunk) {
  const size_t first = chunk * p->s->chunk, rows = rows_of(p->s, chunk);
  if (p->packed) {
    pack(p, chunk);
    return;
  }
  for (int v = 0; v < p->k; v++)
    for (size_t r = first; r < first + rows; r++)
      p->y[(size_t)v * p->ld + r] = p->s->diagonal[r] * p->x[(size_t)v * p->ld + r];
}

static void apply_full(const product* p, int threads) {
  const tg_ci_stored* s = p->s;
#pragma omp parallel for schedule(dynamic) num_threads(threads)
  for (size_t i = 0; i < s->chunks; i++) {
    start(p, i);
    for (size_t j = 0; j < s->chunks; j++) {
      const tg_ci_tile* t = tg_ci_stored_tile(s, i, j);
      for (int v = 0; t->count && v < p->k; v++)
        tile_rows(t, rows_of(s, i), p->x + (size_t)v * p->ld + j * s->chunk,
                  p->y + (size_t)v * p->ld + i * s->chunk);
    }
  }
}

/* Until so many rounds of a chunk are over. Whoever is at work on it holds an earlier ticket. */
static void wait_for(const product* p, size_t chunk, uint32_t rounds) {
  for (int turn = 1; __atomic_load_n(&p->s->over[chunk], __ATOMIC_ACQUIRE) < rounds; turn++)
    if (turn % 64 == 0) sched_yield();
}

static void is_over(const product* p, size_t chunk, uint32_t rounds) {
  if (chunk < p->s->chunks) __atomic_store_n(&p->s->over[chunk], rounds, __ATOMIC_RELEASE);
}

/* A ticket's work. Round 0: x of a chunk, and its tile on the diagonal. Rounds 1 ... n - 1 (n
 * even): in each, number n - 1 meets the round's, and the others those that are as far from the
 * round's number on the other side of the circle of n - 1; where the number of chunks is odd,
 * number n - 1 is none. Round n: y. Each waits for the round before of its own chunks, not for all.
 */
static void ticket_half(const product* p, size_t ticket) {
  const tg_ci_stored* s = p->s;
  const size_t n = s->chunks + s->chunks % 2, circle = n - 1;
  if (ticket < s->chunks) {
    start(p, ticket);
    meet(p, ticket, ticket);
    is_over(p, ticket, 1);
    return;
  }
  ticket -= s->chunks;
  if (ticket >= circle * (n / 2)) {
    const size_t chunk = ticket - circle * (n / 2);
    wait_for(p, chunk, (uint32_t)n);
    if (p->packed) unpack(p, chunk);
    return;
  }
  const size_t round = ticket / (n / 2), k = ticket % (n / 2);
  const size_t a = (round + k) % circle, b = k ? (round + circle - k) % circle : circle;
  if (a < s->chunks) wait_for(p, a, (uint32_t)round + 1);
  if (b < s->chunks) wait_for(p, b, (uint32_t)round + 1);
  if (a < s->chunks && b < s->chunks) meet(p, a < b ? a : b, a < b ? b : a);
  is_over(p, a, (uint32_t)round + 2);
  is_over(p, b, (uint32_t)round + 2);
}

static void apply_half(const product* p, int threads) {
  const tg_ci_stored* s = p->s;
  const size_t n = s->chunks + s->chunks % 2;
  const size_t tickets = s->chunks + (n - 1) * (n / 2) + s->chunks;
  memset(s->over, 0, s->chunks * sizeof *s->over);
  size_t next = 0;
#pragma omp parallel num_threads(threads)
  for (size_t mine; (mine = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED)) < tickets;)
    ticket_half(p, mine);
}

void tg_ci_stored_apply(const tg_ci_stored* s, int threads, int k, const double* x, double* y,
                        size_t ld) {
  if (s->full) {
    const product p = {.s = s, .k = k, .x = x, .y = y, .ld = ld};
    apply_full(&p, threads);
    return;
  }
  for (int v = 0; v < k; v += WIDTH) {
    const int count = k - v < WIDTH ? k - v : WIDTH;
    const product p = {.s = s,
                       .k = count,
                       .x = x + (size_t)v * ld,
                       .y = y + (size_t)v * ld,
                       .ld = ld,
                       .packed = count > 1};
    apply_half(&p, threads);
  }
}
