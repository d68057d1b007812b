/* SPDX-License-Identifier: Apache-2.0 */
/** @file motif/directives.h  The loops of the motifs that are parallelised by directives, once for
 * every model: acc/ and offload/ differ in the pragmas that they hand to these macros.
 *
 * A loop nest is written as plain C, which is right without any pragma. It has up to three levels:
 *
 *   OUTER   over rows: gangs (OpenACC), teams (OpenMP), thread blocks (the hardware)
 *   middle  over the spans of a row's tile (one without tiles), in order
 *   INNER   over columns: workers and vectors, threads and lanes
 *
 * or one level, FLAT, over rows or items, with all parallelism there (blocks of several rows or of
 * parts of rows: motif/directives_blocks.h). What a region reads are local variables
 * (TG_PAIRS_LOCALS): pointers are the device's already, scalars are copied to it. */
#ifndef TG_MOTIF_DIRECTIVES_H
#define TG_MOTIF_DIRECTIVES_H

#include "motif/pairs.h"

/* Before and after the regions of a function; a model that has to, defines them. */
#ifndef TG_BEGIN
#define TG_BEGIN(threads)
#define TG_END
#endif

#define TG_PRAGMA_TEXT(...) _Pragma(#__VA_ARGS__)
#define TG_PRAGMA(...) TG_PRAGMA_TEXT(__VA_ARGS__)

/** The pairs as local variables. c is a candidate of row r where c > r + shift, if once. */
#define TG_PAIRS_LOCALS(pairs)                                                                     \
  TG_BEGIN((pairs)->threads)                                                                       \
  const uint64_t *row_low = (pairs)->rows.low, *column_low = (pairs)->columns.low;                 \
  const uint64_t *row_bits = (pairs)->rows.bits, *column_bits = (pairs)->columns.bits;             \
  const uint16_t *row_orbital = (pairs)->rows.orbital, *column_orbital = (pairs)->columns.orbital; \
  const uint32_t *tile_rows = (pairs)->tile_rows, *tile_spans = (pairs)->tile_spans;               \
  const uint32_t* spans = (pairs)->spans;                                                          \
  const size_t row_stride = (pairs)->rows.stride, column_stride = (pairs)->columns.stride;         \
  const uint32_t row_count = (uint32_t)(pairs)->rows.count;                                        \
  const uint32_t column_count = (uint32_t)(pairs)->columns.count;                                  \
  const uint32_t tile_count = (pairs)->tile_count;                                                 \
  const uint32_t particles = (pairs)->rows.particles, words = (pairs)->rows.words;                 \
  const uint32_t differ = 2 * (uint32_t)(pairs)->d;                                                \
  const bool once = (pairs)->once;                                                                 \
  const int64_t shift = (int64_t)((pairs)->first_row - (pairs)->first_column);                     \
  (void)row_low, (void)column_low, (void)row_bits, (void)column_bits, (void)row_orbital;           \
  (void)column_orbital, (void)tile_rows, (void)tile_spans, (void)spans, (void)row_stride;          \
  (void)column_stride, (void)row_count, (void)column_count, (void)tile_count, (void)particles;     \
  (void)words, (void)differ, (void)once, (void)shift;

#define TG_PAIRS_POINTERS                                                                          \
  row_low, column_low, row_bits, column_bits, row_orbital, column_orbital, tile_rows, tile_spans,  \
      spans

/* The spans of row r: first_span ... last_span - 1. Without tiles there is one, of all columns. */
#define TG_ROW_SPANS                                                                               \
  uint32_t first_span = 0, last_span = 1;                                                          \
  if (tile_count > 0) {                                                                            \
    const uint32_t tile = tg_tile_of(tile_rows, tile_count, r);                                    \
    first_span = tile_spans[tile];                                                                 \
    last_span = tile_spans[tile + 1];                                                              \
  }

/* The columns begin ... end - 1 of span s that row r meets. */
#define TG_ROW_SPAN                                                                                \
  uint32_t begin = tile_count > 0 ? spans[2 * (size_t)s] : 0;                                      \
  const uint32_t end = tile_count > 0 ? spans[2 * (size_t)s + 1] : column_count;                   \
  if (once) begin = tg_begin_after(begin, end, (int64_t)r + shift);

/* Methods. ROW loads what stays the same along row r; HIT says whether column c is a hit. few is
 * the function that compares the lists. */
#define TG_ROW_array const uint64_t w = 0, v = 0;
#define TG_HIT_array(few)                                                                          \
  few(row_orbital + r, row_stride, column_orbital + c, column_stride, particles, differ)

#define TG_ROW_word64 const uint64_t w = row_low[r], v = 0;
#define TG_HIT_word64(few)                                                                         \
  ((uint32_t)__builtin_popcountll(w ^ column_low[c]) <= differ && TG_HIT_array(few))

/* The first two words at once; of one word, the second is the first again, masked away. */
#define TG_ROW_bits                                                                                \
  const uint64_t mask = words > 1 ? ~(uint64_t)0 : 0;                                              \
  const size_t second = words > 1 ? column_stride : 0;                                             \
  const uint64_t w = row_bits[r], v = words > 1 ? row_bits[row_stride + r] : 0;
#define TG_HIT_bits(few)                                                                           \
  ((uint32_t)__builtin_popcountll(w ^ column_bits[c]) +                                            \
           (uint32_t)__builtin_popcountll((v ^ column_bits[second + c]) & mask) <=                 \
       differ &&                                                                                   \
   (words <= 2 ||                                                                                  \
    tg_few_bits_differ(row_bits + r, row_stride, column_bits + c, column_stride, words, differ)))

/** Counts of rows: a row to a team, its columns to the team's threads. */
#define TG_COUNT(id, OUTER, MIDDLE, INNER, method, few)                                            \
  static tg_status id(const tg_pairs* pairs, uint32_t* counts) {                                   \
    TG_PAIRS_LOCALS(pairs)                                                                         \
    OUTER(counts)                                                                                  \
    for (uint32_t r = 0; r < row_count; r++) {                                                     \
      TG_ROW_##method;                                                                             \
      TG_ROW_SPANS                                                                                 \
      uint32_t total = 0;                                                                          \
      (void)w, (void)v;                                                                            \
      MIDDLE                                                                                       \
      for (uint32_t s = first_span; s < last_span; s++) {                                          \
        TG_ROW_SPAN                                                                                \
        uint32_t found = 0;                                                                        \
        INNER(reduction(+ : found))                                                                \
        for (uint32_t c = begin; c < end; c++) found += TG_HIT_##method(few) ? 1 : 0;              \
        total += found;                                                                            \
      }                                                                                            \
      counts[r] = total;                                                                           \
    }                                                                                              \
    TG_END                                                                                         \
    return TG_OK;                                                                                  \
  }

/** Counts of rows, a row to a thread. */
#define TG_COUNT_FLAT(id, FLAT, method, few)                                                       \
  static tg_status id(const tg_pairs* pairs, uint32_t* counts) {                                   \
    TG_PAIRS_LOCALS(pairs)                                                                         \
    FLAT(row_count, TG_PAIRS_POINTERS, counts)                                                     \
    for (uint32_t r = 0; r < row_count; r++) {                                                     \
      TG_ROW_##method;                                                                             \
      TG_ROW_SPANS                                                                                 \
      uint32_t found = 0;                                                                          \
      (void)w, (void)v;                                                                            \
      for (uint32_t s = first_span; s < last_span; s++) {                                          \
        TG_ROW_SPAN                                                                                \
        for (uint32_t c = begin; c < end; c++) found += TG_HIT_##method(few) ? 1 : 0;              \
      }                                                                                            \
      counts[r] = found;                                                                           \
    }                                                                                              \
    TG_END                                                                                         \
    return TG_OK;                                                                                  \
  }

/** Fill with a cursor: CAPTURE makes `slot = cursor[r]++` atomic. Any thread may find a hit. */
#define TG_FILL_CURSOR(id, OUTER, MIDDLE, INNER, CAPTURE, method, few)                             \
  static tg_status id(const tg_pairs* pairs, const uint64_t* offsets, uint32_t* cursor,            \
                      uint32_t* hits) {                                                            \
    TG_PAIRS_LOCALS(pairs)                                                                         \
    OUTER(offsets, cursor, hits)                                                                   \
    for (uint32_t r = 0; r < row_count; r++) {                                                     \
      TG_ROW_##method;                                                                             \
      TG_ROW_SPANS                                                                                 \
      const uint64_t offset = offsets[r];                                                          \
      (void)w, (void)v;                                                                            \
      cursor[r] = 0;                                                                               \
      MIDDLE                                                                                       \
      for (uint32_t s = first_span; s < last_span; s++) {                                          \
        TG_ROW_SPAN                                                                                \
        INNER()                                                                                    \
        for (uint32_t c = begin; c < end; c++) {                                                   \
          if (TG_HIT_##method(few)) {                                                              \
            uint32_t slot;                                                                         \
            CAPTURE                                                                                \
            slot = cursor[r]++;                                                                    \
            hits[offset + slot] = c;                                                               \
          }                                                                                        \
        }                                                                                          \
      }                                                                                            \
    }                                                                                              \
    TG_END                                                                                         \
    return TG_OK;                                                                                  \
  }

/** Fill in order: a row to a thread, which meets its columns as they rise. */
#define TG_FILL_RANKED(id, FLAT, method, few)                                                      \
  static tg_status id(const tg_pairs* pairs, const uint64_t* offsets, uint32_t* cursor,            \
                      uint32_t* hits) {                                                            \
    TG_PAIRS_LOCALS(pairs)                                                                         \
    (void)cursor;                                                                                  \
    FLAT(row_count, TG_PAIRS_POINTERS, offsets, hits)                                              \
    for (uint32_t r = 0; r < row_count; r++) {                                                     \
      TG_ROW_##method;                                                                             \
      TG_ROW_SPANS                                                                                 \
      uint64_t slot = offsets[r];                                                                  \
      (void)w, (void)v;                                                                            \
      for (uint32_t s = first_span; s < last_span; s++) {                                          \
        TG_ROW_SPAN                                                                                \
        for (uint32_t c = begin; c < end; c++)                                                     \
          if (TG_HIT_##method(few)) hits[slot++] = c;                                              \
      }                                                                                            \
    }                                                                                              \
    TG_END                                                                                         \
    return TG_OK;                                                                                  \
  }

#endif
