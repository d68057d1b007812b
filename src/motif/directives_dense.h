/* SPDX-License-Identifier: Apache-2.0 */
/** @file motif/directives_dense.h  The dense reduction (motif/dense.h) as motif/directives_sums.h
 * has reduce: plain C loops, with the pragmas handed in.
 *
 * An item is a strip of rows (r, r + strips, ...) with a part of the columns: items enough for the
 * lanes of a large GPU, and few, since each of them ends in a join of its sums. All lanes of a warp
 * have one part, so they load the same columns.
 *
 *   FLAT(n, pointers)   before a loop of n short items: all parallelism over it
 *   ITEMS(n, pointers)  the same, of long ones */
#ifndef TG_MOTIF_DIRECTIVES_DENSE_H
#define TG_MOTIF_DIRECTIVES_DENSE_H

#include "motif/dense.h"
#include "motif/directives_sums.h"

enum { TG_DENSE_STRIPS = 32768, TG_DENSE_ITEMS = 131072, TG_DENSE_COLUMNS = 64 /* of a part */ };

/** Strips of the rows: at most `most`, none empty. */
static inline size_t tg_dense_strips(size_t rows, size_t most) { return rows < most ? rows : most; }
/** Parts of the columns, so that there are about so many items; of at least `fewest` columns. */
static inline size_t tg_dense_parts(size_t strips, size_t columns, size_t items, size_t fewest) {
  size_t parts = strips > 0 ? items / strips : 1;
  if (parts > columns / fewest) parts = columns / fewest;
  return parts > 0 ? parts : 1;
}
static inline size_t tg_dense_items(const tg_dense* what) {
  const size_t strips = tg_dense_strips(what->rows, TG_DENSE_STRIPS);
  return strips * tg_dense_parts(strips, what->columns, TG_DENSE_ITEMS, TG_DENSE_COLUMNS);
}

#define TG_DENSE_LOCALS(what)                                                                      \
  TG_BEGIN((what)->threads)                                                                        \
  const size_t row_count = (what)->rows, column_count = (what)->columns;                           \
  const uint32_t m = (what)->m, *p = (what)->p, *q = (what)->q;                                    \
  const double *x = (what)->x, *y = (what)->y;                                                     \
  const size_t strips = tg_dense_strips(row_count, TG_DENSE_STRIPS);                               \
  const size_t item_count = tg_dense_items(what);                                                  \
  const size_t parts = strips > 0 ? item_count / strips : 1;

/* The sum that a pair adds to, and what it adds. */
#define TG_DENSE_PAIR(key, factor)                                                                 \
  const uint32_t sum_key = (key) + q[c];                                                           \
  const uint32_t bin = sum_key >= m ? sum_key - m : sum_key;                                       \
  const double product = (factor)*y[c];

/* The pairs of item k. EACH is what a pair does with bin and product. */
#define TG_DENSE_ITEM(EACH)                                                                        \
  const size_t part = k / strips, begin = column_count * part / parts;                             \
  const size_t end = column_count * (part + 1) / parts;                                            \
  for (size_t r = k % strips; r < row_count; r += strips) {                                        \
    const uint32_t key = p[r];                                                                     \
    const double factor = x[r];                                                                    \
    for (size_t c = begin; c < end; c++) {                                                         \
      TG_DENSE_PAIR(key, factor)                                                                   \
      EACH                                                                                         \
    }                                                                                              \
  }

/** ADD makes the update atomic. */
#define TG_DENSE_ATOMIC(id, FLAT, ITEMS, ADD)                                                      \
  static tg_status id(const tg_dense* what) {                                                      \
    TG_DENSE_LOCALS(what)                                                                          \
    double* sums = what->sums;                                                                     \
    FLAT(m, sums)                                                                                  \
    for (uint32_t b = 0; b < m; b++) sums[b] = 0;                                                  \
    ITEMS(item_count, p, q, x, y, sums)                                                            \
    for (size_t k = 0; k < item_count; k++) {                                                      \
      TG_DENSE_ITEM(ADD sums[bin] += product;)                                                     \
    }                                                                                              \
    TG_END                                                                                         \
    return TG_OK;                                                                                  \
  }

/** By atomic updates of a team's sums, then of the sums: a team's threads share out the columns of
 * its part, and each walks along the strip of rows. BLOCKS and INNER as of TG_REDUCE_PRIVATE. */
#define TG_DENSE_PRIVATE(id, FLAT, BLOCKS, INNER, ADD)                                             \
  static tg_status id(const tg_dense* what) {                                                      \
    TG_BEGIN(what->threads)                                                                        \
    const size_t row_count = what->rows, column_count = what->columns;                             \
    const uint32_t m = what->m, *p = what->p, *q = what->q;                                        \
    const double *x = what->x, *y = what->y;                                                       \
    const size_t strips = tg_dense_strips(row_count, TG_PRIVATE_BLOCKS);                           \
    const size_t parts = tg_dense_parts(strips, column_count, TG_PRIVATE_BLOCKS, 1024);            \
    const uint32_t blocks = (uint32_t)(strips * parts);                                            \
    double* sums = what->sums;                                                                     \
    FLAT(m, sums)                                                                                  \
    for (uint32_t b = 0; b < m; b++) sums[b] = 0;                                                  \
    if (blocks > 0) {                                                                              \
      BLOCKS(blocks, p, q, x, y, sums)                                                             \
      for (uint32_t k = 0; k < blocks; k++) {                                                      \
        double own[TG_PRIVATE_SUMS];                                                               \
        const size_t part = k / strips, begin = column_count * part / parts;                       \
        const size_t end = column_count * (part + 1) / parts;                                      \
        INNER()                                                                                    \
        for (uint32_t b = 0; b < m; b++) own[b] = 0;                                               \
        INNER()                                                                                    \
        for (size_t c = begin; c < end; c++) {                                                     \
          for (size_t r = k % strips; r < row_count; r += strips) {                                \
            TG_DENSE_PAIR(p[r], x[r])                                                              \
            ADD own[bin] += product;                                                               \
          }                                                                                        \
        }                                                                                          \
        INNER()                                                                                    \
        for (uint32_t b = 0; b < m; b++) {                                                         \
          ADD sums[b] += own[b];                                                                   \
        }                                                                                          \
      }                                                                                            \
    }                                                                                              \
    TG_END                                                                                         \
    return TG_OK;                                                                                  \
  }

/** Eight scalar reductions in a pass over the pairs. SUMS as ITEMS, of scalars to add up, and has
 * waited. */
#define TG_DENSE_SCALARS(id, SUMS, memory)                                                         \
  static tg_status id(const tg_dense* what) {                                                      \
    TG_DENSE_LOCALS(what)                                                                          \
    tg_status status = TG_OK;                                                                      \
    for (uint32_t first = 0; first < m && status == TG_OK; first += 8) {                           \
      const uint32_t left = m - first < 8 ? m - first : 8;                                         \
      double s0 = 0, s1 = 0, s2 = 0, s3 = 0, s4 = 0, s5 = 0, s6 = 0, s7 = 0;                       \
      SUMS(item_count, s0, s1, s2, s3, s4, s5, s6, s7)                                             \
      for (size_t k = 0; k < item_count; k++) {                                                    \
        TG_DENSE_ITEM(const uint32_t which = bin - first; /* those below first wrap */             \
                      s0 += which == 0 ? product : 0; s1 += which == 1 ? product : 0;              \
                      s2 += which == 2 ? product : 0; s3 += which == 3 ? product : 0;              \
                      s4 += which == 4 ? product : 0; s5 += which == 5 ? product : 0;              \
                      s6 += which == 6 ? product : 0; s7 += which == 7 ? product : 0;)             \
      }                                                                                            \
      const double eight[8] = {s0, s1, s2, s3, s4, s5, s6, s7};                                    \
      status = (memory)->upload(what->sums + first, eight, left * sizeof(double));                 \
    }                                                                                              \
    TG_END                                                                                         \
    return status;                                                                                 \
  }

/** A reduction clause with an array of fixed length, for up to so many sums: Clang has no arrays of
 * variable length on a device. CLAUSE(n) names `sums` in the clause, which it maps. */
#define TG_DENSE_CLAUSE(id, CLAUSE, length, memory)                                                \
  static tg_status id(const tg_dense* what) {                                                      \
    TG_DENSE_LOCALS(what)                                                                          \
    double sums[length] = {0};                                                                     \
    CLAUSE(item_count)                                                                             \
    for (size_t k = 0; k < item_count; k++) {                                                      \
      TG_DENSE_ITEM(sums[bin] += product;)                                                         \
    }                                                                                              \
    TG_END                                                                                         \
    return (memory)->upload(what->sums, sums, what->m * sizeof *sums);                             \
  }

/** Sums of parts of the items, whose number depends on the sizes alone, joined in order. */
#define TG_DENSE_CHUNKS(id, ITEMS, join)                                                           \
  static tg_status id(const tg_dense* what) {                                                      \
    TG_DENSE_LOCALS(what)                                                                          \
    const uint32_t chunks = tg_parts_of(item_count, m);                                            \
    double *of_chunks = what->scratch, *of_groups = of_chunks + (size_t)m * chunks;                \
    ITEMS(chunks, p, q, x, y, of_chunks)                                                           \
    for (uint32_t chunk = 0; chunk < chunks; chunk++) {                                            \
      double* mine = of_chunks + chunk;                                                            \
      for (uint32_t b = 0; b < m; b++) mine[(size_t)b * chunks] = 0;                               \
      for (size_t k = chunk; k < item_count; k += chunks) {                                        \
        TG_DENSE_ITEM(mine[(size_t)bin * chunks] += product;)                                      \
      }                                                                                            \
    }                                                                                              \
    join(m, chunks, of_chunks, of_groups, what->sums);                                             \
    TG_END                                                                                         \
    return TG_OK;                                                                                  \
  }
static inline size_t tg_dense_chunk_bytes(const tg_dense* what) {
  return tg_parts_bytes(tg_dense_items(what), what->m);
}

#endif
