/* SPDX-License-Identifier: Apache-2.0 */
/** @file motif/omp/simd/group_portable.h  A group of 64 columns in plain C; included by block.c
 * alone. Bits are counted in ever wider fields of a word, which a compiler can do in vectors. */
#ifndef TG_MOTIF_OMP_SIMD_GROUP_PORTABLE_H
#define TG_MOTIF_OMP_SIMD_GROUP_PORTABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TG_BLOCK_NAME "portable"
enum { LIST_BYTES = 16 };

typedef struct group {
  const uint64_t* columns;
  size_t stride;
} group;

static inline bool set_runs(void) { return true; }

static inline void group_load(group* g, const uint64_t* columns, size_t stride, int lead) {
  (void)lead;
  *g = (group){columns, stride};
}

static inline int count_bits(uint64_t x) {
  x -= x >> 1 & 0x5555555555555555U;
  x = (x & 0x3333333333333333U) + (x >> 2 & 0x3333333333333333U);
  x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fU;
  return (int)(x * 0x0101010101010101U >> 56);
}

/* Bit j: at most most bits of the leading words differ between the row and column j. */
static inline uint64_t group_test(const group* g, const uint64_t* row, size_t stride, int lead,
                                  int most) {
  uint64_t mask = 0;
  for (int j = 0; j < 64; j++) {
    int count = count_bits(row[0] ^ g->columns[j]);
    if (lead == 2) count += count_bits(row[stride] ^ g->columns[g->stride + (size_t)j]);
    mask |= (uint64_t)(count <= most) << j;
  }
  return mask;
}

#endif
