/* SPDX-License-Identifier: Apache-2.0 */
/** @file motif/directives_blocks.h  Filter and fill by directives where a team or a thread has
 * more, or less, than one row: the loops of motif/directives.h, cut another way.
 *
 *   four   a team has four rows, so that a column is loaded once for four pairs
 *   lanes  a thread has four rows and a part of the columns: many independent pairs for one thread,
 *          threads enough where rows are few, and one column for all lanes of a warp
 *
 * LEAST is what is counted first, a lower bound of the differing orbitals: TG_LEAST_word64 all bits
 * of the low word, TG_LEAST_folded those of its halves, or-ed: half the work, and a few pairs more
 * that are looked at again. */
#ifndef TG_MOTIF_DIRECTIVES_BLOCKS_H
#define TG_MOTIF_DIRECTIVES_BLOCKS_H

#include "motif/directives.h"

#define TG_LEAST_word64(x) ((uint32_t)__builtin_popcountll(x))
#define TG_LEAST_folded(x) ((uint32_t)__builtin_popcount((uint32_t)(x) | (uint32_t)((x) >> 32)))

#define TG_LESSER(a, b) ((a) < (b) ? (a) : (b))

/** Counts of rows, four to a team. Hits are rare, so all four pairs are tested at once, and looked
 * at one by one after that: with the comparison of lists written out four times, GCC's kernel held
 * twice the registers, and half the warps fitted. A group that ends a tile, or the rows, has its
 * last row several times, and those counts are dropped. `once` has cut the columns for the group's
 * first row alone. */
#define TG_COUNT_FOUR(id, OUTER, MIDDLE, INNER, LEAST, few)                                        \
  static tg_status id(const tg_pairs* pairs, uint32_t* counts) {                                   \
    TG_PAIRS_LOCALS(pairs)                                                                         \
    const uint32_t group_count = row_count / 4 + (row_count % 4 > 0);                              \
    OUTER(counts)                                                                                  \
    for (uint32_t g = 0; g < group_count; g++) {                                                   \
      uint32_t r = 4 * g;                                                                          \
      const uint32_t stop = row_count - r < 4 ? row_count : r + 4;                                 \
      while (r < stop) {                                                                           \
        TG_ROW_SPANS                                                                               \
        uint32_t last = stop - 1;                                                                  \
        if (tile_count > 0) last = tg_last_in_tile(tile_rows, tile_count, r, last);                \
        const uint32_t r1 = TG_LESSER(r + 1, last), r2 = TG_LESSER(r + 2, last);                   \
        const uint32_t r3 = TG_LESSER(r + 3, last);                                                \
        const uint64_t w0 = row_low[r], w1 = row_low[r1], w2 = row_low[r2], w3 = row_low[r3];      \
        uint32_t total0 = 0, total1 = 0, total2 = 0, total3 = 0;                                   \
        MIDDLE                                                                                     \
        for (uint32_t s = first_span; s < last_span; s++) {                                        \
          TG_ROW_SPAN                                                                              \
          uint32_t found0 = 0, found1 = 0, found2 = 0, found3 = 0;                                 \
          INNER(reduction(+ : found0, found1, found2, found3))                                     \
          for (uint32_t c = begin; c < end; c++) {                                                 \
            const uint64_t column = column_low[c];                                                 \
            const uint32_t p0 = LEAST(w0 ^ column), p1 = LEAST(w1 ^ column);                       \
            const uint32_t p2 = LEAST(w2 ^ column), p3 = LEAST(w3 ^ column);                       \
            const uint32_t p01 = TG_LESSER(p0, p1), p23 = TG_LESSER(p2, p3);                       \
            if (TG_LESSER(p01, p23) > differ) continue;                                            \
            uint32_t near =                                                                        \
                (p0 <= differ) + 2u * (p1 <= differ) + 4u * (p2 <= differ) + 8u * (p3 <= differ);  \
            for (; near > 0; near &= near - 1) {                                                   \
              const uint32_t k = (uint32_t)__builtin_ctz(near), row = TG_LESSER(r + k, last);      \
              if (once && (int64_t)c <= (int64_t)row + shift) continue;                            \
              if ((uint32_t)__builtin_popcountll(row_low[row] ^ column) > differ) continue;        \
              if (!few(row_orbital + row, row_stride, column_orbital + c, column_stride,           \
                       particles, differ))                                                         \
                continue;                                                                          \
              found0 += k == 0, found1 += k == 1, found2 += k == 2, found3 += k == 3;              \
            }                                                                                      \
          }                                                                                        \
          total0 += found0, total1 += found1, total2 += found2, total3 += found3;                  \
        }                                                                                          \
        counts[r] = total0;                                                                        \
        if (r1 > r) counts[r1] = total1;                                                           \
        if (r2 > r1) counts[r2] = total2;                                                          \
        if (r3 > r2) counts[r3] = total3;                                                          \
        r = last + 1;                                                                              \
      }                                                                                            \
    }                                                                                              \
    TG_END                                                                                         \
    return TG_OK;                                                                                  \
  }

/* Items of a loop over blocks of four rows x parts of the columns: several times as many as a large
 * GPU has lanes at once, so that the last of them are few, but parts no shorter than PART_COLUMNS.
 */
enum { TG_LANE_ITEMS = 1 << 20, TG_PART_COLUMNS = 1024 };
static inline uint32_t tg_parts_for(uint32_t groups, uint32_t columns) {
  uint32_t parts = groups > 0 ? (TG_LANE_ITEMS + groups - 1) / groups : 1;
  const uint32_t most = columns / TG_PART_COLUMNS;
  if (parts > most) parts = most;
  return parts > 0 ? parts : 1;
}

/* LEAST of four rows and the column of offset k, and the least of them; the last columns of a block
 * may be beyond the end, which repeats the last one. */
#define TG_LANE_COLUMN(k, LEAST)                                                                   \
  const uint64_t column##k = column_low[TG_LESSER(c + k, end - 1)];                                \
  const uint32_t a##k = LEAST(w0 ^ column##k), b##k = LEAST(w1 ^ column##k);                       \
  const uint32_t e##k = LEAST(w2 ^ column##k), f##k = LEAST(w3 ^ column##k);                       \
  const uint32_t ab##k = TG_LESSER(a##k, b##k), ef##k = TG_LESSER(e##k, f##k);                     \
  const uint32_t least##k = TG_LESSER(ab##k, ef##k);

/** The body of a loop over items k: a thread has four rows of a tile, in registers, and goes along
 * the columns of a part by fours. Sixteen pairs are independent of each other, so that few warps
 * keep a processor busy, and all lanes of a warp load the same columns. Rows that end a tile are
 * repeated. START and FINISH stand before and after the columns; HIT(i, row, c) is what
 * a hit does, i the row's place among the four. */
#define TG_LANE_BLOCK(LEAST, few, START, HIT, FINISH)                                              \
  const uint32_t q = (uint32_t)(k / group_count), g = (uint32_t)(k % group_count);                 \
  const uint32_t part_begin = (uint32_t)((uint64_t)column_count * q / parts);                      \
  const uint32_t part_end = (uint32_t)((uint64_t)column_count * (q + 1) / parts);                  \
  const uint32_t stop = row_count - 4 * g < 4 ? row_count : 4 * g + 4;                             \
  uint32_t r = 4 * g;                                                                              \
  while (r < stop) {                                                                               \
    TG_ROW_SPANS                                                                                   \
    uint32_t last = stop - 1;                                                                      \
    if (tile_count > 0) last = tg_last_in_tile(tile_rows, tile_count, r, last);                    \
    const uint32_t r1 = TG_LESSER(r + 1, last), r2 = TG_LESSER(r + 2, last);                       \
    const uint64_t w0 = row_low[r], w1 = row_low[r1], w2 = row_low[r2], w3 = row_low[last];        \
    START                                                                                          \
    for (uint32_t s = first_span; s < last_span; s++) {                                            \
      uint32_t begin = tile_count > 0 ? spans[2 * (size_t)s] : 0;                                  \
      uint32_t end = tile_count > 0 ? spans[2 * (size_t)s + 1] : column_count;                     \
      if (once) begin = tg_begin_after(begin, end, (int64_t)r + shift);                            \
      if (begin < part_begin) begin = part_begin;                                                  \
      if (end > part_end) end = part_end;                                                          \
      for (uint32_t c = begin; c < end; c += 4) {                                                  \
        TG_LANE_COLUMN(0, LEAST)                                                                   \
        TG_LANE_COLUMN(1, LEAST)                                                                   \
        TG_LANE_COLUMN(2, LEAST)                                                                   \
        TG_LANE_COLUMN(3, LEAST)                                                                   \
        const uint32_t least01 = TG_LESSER(least0, least1), least23 = TG_LESSER(least2, least3);   \
        if (TG_LESSER(least01, least23) > differ) continue;                                        \
        uint32_t near = (least0 <= differ) + 2u * (least1 <= differ) + 4u * (least2 <= differ) +   \
                        8u * (least3 <= differ);                                                   \
        for (; near > 0; near &= near - 1) {                                                       \
          const uint32_t column = c + (uint32_t)__builtin_ctz(near);                               \
          if (column >= end) break;                                                                \
          const uint64_t low = column_low[column];                                                 \
          for (uint32_t row = r; row <= last; row++) {                                             \
            if ((uint32_t)__builtin_popcountll(row_low[row] ^ low) > differ) continue;             \
            if (once && (int64_t)column <= (int64_t)row + shift) continue;                         \
            if (!few(row_orbital + row, row_stride, column_orbital + column, column_stride,        \
                     particles, differ))                                                           \
              continue;                                                                            \
            HIT(row - r, row, column)                                                              \
          }                                                                                        \
        }                                                                                          \
      }                                                                                            \
    }                                                                                              \
    FINISH                                                                                         \
    r = last + 1;                                                                                  \
  }

#define TG_LANE_LOCALS(parts_)                                                                     \
  const uint32_t group_count = row_count / 4 + (row_count % 4 > 0);                                \
  const uint32_t parts = parts_;                                                                   \
  const uint64_t item_count = (uint64_t)group_count * parts;

#define TG_LANE_FOUNDS                                                                             \
  uint32_t found0 = 0;                                                                             \
  uint32_t found1 = 0;                                                                             \
  uint32_t found2 = 0;                                                                             \
  uint32_t found3 = 0;
#define TG_LANE_FOUND(i, row, column)                                                              \
  found0 += (i) == 0, found1 += (i) == 1, found2 += (i) == 2, found3 += (i) == 3;
#define TG_LANE_ADD(ADD, i)                                                                        \
  if (found##i > 0) {                                                                              \
    ADD counts[r + i] += found##i;                                                                 \
  }

/** Counts of rows by such blocks. ADD makes an update atomic. */
#define TG_COUNT_LANES(id, FLAT, ITEMS, ADD, parts, LEAST, few)                                    \
  static tg_status id(const tg_pairs* pairs, uint32_t* counts) {                                   \
    TG_PAIRS_LOCALS(pairs)                                                                         \
    TG_LANE_LOCALS(parts)                                                                          \
    FLAT(row_count, counts)                                                                        \
    for (uint32_t r = 0; r < row_count; r++) counts[r] = 0;                                        \
    ITEMS(item_count, TG_PAIRS_POINTERS, counts)                                                   \
    for (uint64_t k = 0; k < item_count; k++) {                                                    \
      TG_LANE_BLOCK(LEAST, few, TG_LANE_FOUNDS, TG_LANE_FOUND,                                     \
                    TG_LANE_ADD(ADD, 0) TG_LANE_ADD(ADD, 1) TG_LANE_ADD(ADD, 2)                    \
                        TG_LANE_ADD(ADD, 3))                                                       \
    }                                                                                              \
    TG_END                                                                                         \
    return TG_OK;                                                                                  \
  }

/* Method bits by the same blocks: the first word of the bits is the low word, and all of them are
 * counted where it passes. */
#define TG_FEW_BITS(...)                                                                           \
  tg_few_bits_differ(row_bits + row, row_stride, column_bits + column, column_stride, words, differ)
static inline tg_pairs tg_pairs_by_first_word(const tg_pairs* pairs) {
  tg_pairs same = *pairs;
  same.rows.low = same.rows.bits;
  same.columns.low = same.columns.bits;
  return same;
}
#define TG_COUNT_BY_FIRST_WORD(id, count)                                                          \
  static tg_status id(const tg_pairs* pairs, uint32_t* counts) {                                   \
    const tg_pairs same = tg_pairs_by_first_word(pairs);                                           \
    return count(&same, counts);                                                                   \
  }
#define TG_FILL_BY_FIRST_WORD(id, fill)                                                            \
  static tg_status id(const tg_pairs* pairs, const uint64_t* offsets, uint32_t* cursor,            \
                      uint32_t* hits) {                                                            \
    const tg_pairs same = tg_pairs_by_first_word(pairs);                                           \
    return fill(&same, offsets, cursor, hits);                                                     \
  }

#define TG_LANE_NOTHING
/** Fill by such blocks. HIT(i, row, column) takes the next slot of the row and stores the column
 * there. In order where there is one part: a thread meets a row's columns as they rise. */
#define TG_FILL_LANES(id, FLAT, ITEMS, HIT, parts, LEAST, few)                                     \
  static tg_status id(const tg_pairs* pairs, const uint64_t* offsets, uint32_t* cursor,            \
                      uint32_t* hits) {                                                            \
    TG_PAIRS_LOCALS(pairs)                                                                         \
    TG_LANE_LOCALS(parts)                                                                          \
    FLAT(row_count, cursor)                                                                        \
    for (uint32_t r = 0; r < row_count; r++) cursor[r] = 0;                                        \
    ITEMS(item_count, TG_PAIRS_POINTERS, offsets, cursor, hits)                                    \
    for (uint64_t k = 0; k < item_count; k++) {                                                    \
      TG_LANE_BLOCK(LEAST, few, TG_LANE_NOTHING, HIT, TG_LANE_NOTHING)                             \
    }                                                                                              \
    TG_END                                                                                         \
    return TG_OK;                                                                                  \
  }

/* A slot taken by the row's only thread. */
#define TG_TAKE_ALONE(i, row, column) hits[offsets[row] + cursor[row]++] = column;

#endif
