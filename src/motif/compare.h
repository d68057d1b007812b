/* SPDX-License-Identifier: Apache-2.0 */
/** @file motif/compare.h  Functions that loops parallelised by directives call, compiled into each
 * unit. TG_ROUTINE, which the unit defines before, is the directive that makes them callable there
 * (`routine seq`, `declare target`) and the linkage. */
#ifndef TG_MOTIF_COMPARE_H
#define TG_MOTIF_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef TG_ROUTINE
#define TG_ROUTINE static inline
#endif

/** Do at most `most` orbitals occur in one of two lists of n but not in both? Lists lie in planes;
 * the walk along both ends as soon as the answer is no. */
TG_ROUTINE bool tg_few_differ(const uint16_t* row, size_t row_stride, const uint16_t* column,
                              size_t column_stride, uint32_t n, uint32_t most) {
  uint32_t i = 0, j = 0, alone = 0;
  while (i < n && j < n) {
    const uint16_t a = row[i * row_stride], b = column[j * column_stride];
    alone += a != b;
    if (alone > most) return false;
    i += a <= b;
    j += b <= a;
  }
  return alone + (n - i) + (n - j) <= most;
}

/** The same of bit strings of some words. */
TG_ROUTINE bool tg_few_bits_differ(const uint64_t* row, size_t row_stride, const uint64_t* column,
                                   size_t column_stride, uint32_t words, uint32_t most) {
  uint32_t differing = 0;
  for (uint32_t w = 0; w < words; w++)
    differing += (uint32_t)__builtin_popcountll(row[w * row_stride] ^ column[w * column_stride]);
  return differing <= most;
}

/** The tile that holds a row: tile_rows rises, [tile_count + 1]. */
TG_ROUTINE uint32_t tg_tile_of(const uint32_t* tile_rows, uint32_t tile_count, uint32_t row) {
  uint32_t low = 0, high = tile_count;
  while (high - low > 1) {
    const uint32_t middle = low + (high - low) / 2;
    if (tile_rows[middle] <= row)
      low = middle;
    else
      high = middle;
  }
  return low;
}

/** The last of the rows row ... last that is in the tile of row. */
TG_ROUTINE uint32_t tg_last_in_tile(const uint32_t* tile_rows, uint32_t tile_count, uint32_t row,
                                    uint32_t last) {
  const uint32_t end = tile_rows[tg_tile_of(tile_rows, tile_count, row) + 1];
  return end - 1 < last ? end - 1 : last;
}

/** The first of begin ... end - 1 that is above a number, or end. */
TG_ROUTINE uint32_t tg_begin_after(uint32_t begin, uint32_t end, int64_t number) {
  if (number < (int64_t)begin) return begin;
  return number + 1 < (int64_t)end ? (uint32_t)(number + 1) : end;
}

#endif
