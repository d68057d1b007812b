/* SPDX-License-Identifier: Apache-2.0 */
/** @file motif/omp/filter.h  Filter and fill for one predicate, rows shared out among threads; the
 * result does not depend on their number.
 *
 * TG_OMP_FILTER(name, context_type, first, last, accepts) defines two static functions. Row r has
 * the candidates first(context, r) <= c < last(context, r); a candidate is a hit where
 * accepts(context, r, c). All three are static inline functions, so that they vanish into the loop.
 *
 *   name_filter(context, row_count, counts, threads)         counts[r] = number of hits of row r
 *   name_fill(context, row_count, offsets, hits, threads)    hits[offsets[r] ...] = hits, rising
 *
 * offsets is the scan of counts. Rows write to slots of their own. */
#ifndef TG_MOTIF_OMP_FILTER_H
#define TG_MOTIF_OMP_FILTER_H

#include <stddef.h>
#include <stdint.h>

#define TG_OMP_FILTER(name, context_type, first, last, accepts)                                    \
  static void name##_filter(const context_type* context, size_t row_count, uint32_t* counts,       \
                            int threads) {                                                         \
    (void)threads;                                                                                 \
    _Pragma("omp parallel for schedule(dynamic, 64) num_threads(threads)") for (size_t r = 0;      \
                                                                                r < row_count;     \
                                                                                r++) {             \
      uint32_t hits = 0;                                                                           \
      const size_t end = last(context, r);                                                         \
      for (size_t c = first(context, r); c < end; c++) hits += accepts(context, r, c) ? 1 : 0;     \
      counts[r] = hits;                                                                            \
    }                                                                                              \
  }                                                                                                \
  static void name##_fill(const context_type* context, size_t row_count, const uint64_t* offsets,  \
                          uint32_t* hits, int threads) {                                           \
    (void)threads;                                                                                 \
    _Pragma("omp parallel for schedule(dynamic, 64) num_threads(threads)") for (size_t r = 0;      \
                                                                                r < row_count;     \
                                                                                r++) {             \
      uint64_t slot = offsets[r];                                                                  \
      const size_t end = last(context, r);                                                         \
      for (size_t c = first(context, r); c < end; c++) {                                           \
        if (accepts(context, r, c)) hits[slot++] = (uint32_t)c;                                    \
      }                                                                                            \
    }                                                                                              \
  }

#endif
