/* SPDX-License-Identifier: Apache-2.0 */
/* The dense reduction on the host's threads: sums of each thread, or of blocks of rows that do not
 * depend on the threads, joined in order; atomic updates; and what the compiler makes of reduction
 * clauses, with the array or with scalars. */
#include <string.h>

#include "motif/omp/parts.h"
#include "motif/omp/table.h"

enum {
  FEWEST_ROWS = 16, /* of a block */
  MOST_BLOCKS = 512,
  MOST_CLAUSE = 4096,
  MOST_SCALARS = 512
};

/* Rows begin ... end - 1 into mine, which it clears. */
static void add_rows(const tg_dense* what, size_t begin, size_t end, double* mine) {
  const size_t columns = what->columns;
  const uint32_t m = what->m, *q = what->q;
  const double* y = what->y;
  memset(mine, 0, m * sizeof *mine);
  for (size_t row = begin; row < end; row++) {
    const uint32_t p = what->p[row];
    const double x = what->x[row];
    for (size_t j = 0; j < columns; j++) {
      const uint32_t sum = p + q[j];
      mine[sum >= m ? sum - m : sum] += x * y[j];
    }
  }
}

/* Sums of one part, a multiple of a cache line. */
static size_t part_room(const tg_dense* what) { return ((size_t)what->m + 7) / 8 * 8; }

static tg_status by_parts(const tg_dense* what, int parts) {
  const size_t room = part_room(what);
  double* scratch = what->scratch;
  const int threads = what->threads;
  (void)threads;
#pragma omp parallel for schedule(static, 1) num_threads(threads) default(none)                    \
    shared(what, room, parts, scratch)
  for (int k = 0; k < parts; k++)
    add_rows(what, part_begin(what->rows, k, parts), part_begin(what->rows, k + 1, parts),
             scratch + (size_t)k * room);
  memset(what->sums, 0, what->m * sizeof *what->sums);
  for (int k = 0; k < parts; k++)
    for (size_t b = 0; b < what->m; b++) what->sums[b] += scratch[(size_t)k * room + b];
  return TG_OK;
}

static int block_count(const tg_dense* what) {
  const size_t blocks = (what->rows + FEWEST_ROWS - 1) / FEWEST_ROWS;
  return blocks < MOST_BLOCKS ? (int)blocks : MOST_BLOCKS;
}

static size_t scratch_private(const tg_dense* what) {
  return (size_t)what->threads * part_room(what) * sizeof(double);
}
static size_t scratch_chunks(const tg_dense* what) {
  return (size_t)block_count(what) * part_room(what) * sizeof(double);
}

static tg_status private_sums(const tg_dense* what) { return by_parts(what, what->threads); }
static tg_status chunks(const tg_dense* what) { return by_parts(what, block_count(what)); }

static tg_status atomic(const tg_dense* what) {
  const size_t rows = what->rows, columns = what->columns;
  const uint32_t m = what->m;
  double* sums = what->sums;
  const int threads = what->threads;
  (void)threads;
  memset(sums, 0, m * sizeof *sums);
#pragma omp parallel for schedule(static) num_threads(threads) default(none)                       \
    shared(what, rows, columns, m, sums)
  for (size_t row = 0; row < rows; row++)
    for (size_t j = 0; j < columns; j++) {
      const uint32_t sum = what->p[row] + what->q[j];
      const double product = what->x[row] * what->y[j];
#pragma omp atomic update
      sums[sum >= m ? sum - m : sum] += product;
    }
  return TG_OK;
}

/* Every thread has a copy of the array on its stack. */
static tg_status clause(const tg_dense* what) {
  const size_t rows = what->rows, columns = what->columns;
  const uint32_t m = what->m;
  double* sums = what->sums;
  const int threads = what->threads;
  (void)threads;
  memset(sums, 0, m * sizeof *sums);
#pragma omp parallel for schedule(static) num_threads(threads) default(none) \
    shared(what, rows, columns, m) reduction(+ : sums[:m])
  for (size_t row = 0; row < rows; row++)
    for (size_t j = 0; j < columns; j++) {
      const uint32_t sum = what->p[row] + what->q[j];
      sums[sum >= m ? sum - m : sum] += what->x[row] * what->y[j];
    }
  return TG_OK;
}

static const char* refuses_clause(uint32_t m) {
  return m > MOST_CLAUSE ? "an array of more than 4,096 sums on each thread's stack" : NULL;
}

/* One scalar reduction per sum, eight in a pass over the pairs. */
static void eight_scalars(const tg_dense* what, uint32_t first, double out[8]) {
  const size_t rows = what->rows, columns = what->columns;
  const uint32_t m = what->m, *q = what->q;
  const double* y = what->y;
  const int threads = what->threads;
  (void)threads;
  double s0 = 0, s1 = 0, s2 = 0, s3 = 0, s4 = 0, s5 = 0, s6 = 0, s7 = 0;
#pragma omp parallel for schedule(static) num_threads(threads) default(none) \
    shared(what, rows, columns, m, q, y, first) reduction(+ : s0, s1, s2, s3, s4, s5, s6, s7)
  for (size_t row = 0; row < rows; row++) {
    const uint32_t p = what->p[row];
    const double x = what->x[row];
#pragma omp simd reduction(+ : s0, s1, s2, s3, s4, s5, s6, s7)
    for (size_t j = 0; j < columns; j++) {
      const uint32_t sum = p + q[j];
      const uint32_t bin = (sum >= m ? sum - m : sum) - first; /* those below first wrap */
      const double product = x * y[j];
      s0 += bin == 0 ? product : 0;
      s1 += bin == 1 ? product : 0;
      s2 += bin == 2 ? product : 0;
      s3 += bin == 3 ? product : 0;
      s4 += bin == 4 ? product : 0;
      s5 += bin == 5 ? product : 0;
      s6 += bin == 6 ? product : 0;
      s7 += bin == 7 ? product : 0;
    }
  }
  const double sums[8] = {s0, s1, s2, s3, s4, s5, s6, s7};
  memcpy(out, sums, sizeof sums);
}

static tg_status scalars(const tg_dense* what) {
  for (uint32_t first = 0; first < what->m; first += 8) {
    double eight[8];
    eight_scalars(what, first, eight);
    const uint32_t left = what->m - first < 8 ? what->m - first : 8;
    memcpy(what->sums + first, eight, left * sizeof *eight);
  }
  return TG_OK;
}

static const char* refuses_scalars(uint32_t m) {
  return m > MOST_SCALARS ? "more than 512 scalars, at eight in a pass" : NULL;
}

const tg_dense_version tg_omp_denses[] = {
    {"clause", false, refuses_clause, NULL, clause},
    {"scalars", false, refuses_scalars, NULL, scalars},
    {"private", false, NULL, scratch_private, private_sums},
    {"chunks", true, NULL, scratch_chunks, chunks},
    {"atomic", false, NULL, NULL, atomic},
    {NULL, false, NULL, NULL, NULL},
};
