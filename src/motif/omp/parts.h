/* SPDX-License-Identifier: Apache-2.0 */
/** @file motif/omp/parts.h  How the host's threads share so many items: a part each, in order. */
#ifndef TG_MOTIF_OMP_PARTS_H
#define TG_MOTIF_OMP_PARTS_H

#include <stddef.h>

enum { MOST_PARTS = 256, SMALL = 4096 /* items that are not worth sharing */ };

static inline int part_count(size_t count, int threads) {
  if (count < SMALL || threads < 2) return 1;
  return threads < MOST_PARTS ? threads : MOST_PARTS;
}

/** The first item of a part; that of part number parts is count. */
static inline size_t part_begin(size_t count, int part, int parts) {
  return count / (size_t)parts * (size_t)part +
         (count % (size_t)parts) * (size_t)part / (size_t)parts;
}

#endif
