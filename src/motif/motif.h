/* SPDX-License-Identifier: Apache-2.0 */
/** @file motif/motif.h  The four motifs of irregular work: filter, scan, fill, reduce.
 *
 * Which pairs interact? *Filter* counts the hits of each row. *Scan* turns counts into offsets.
 * *Fill* lets each hit claim its slot. *Reduce* adds many contributions into a small array. An
 * algorithm names a motif and a backend ("ref", "omp"), never a programming model.
 *
 * Filter and fill need a predicate that inlines, so they are generic: the header of a backend
 * (motif/ref/..., motif/omp/...) holds them as macros that define a function for one predicate;
 * scan and reduce are plain functions behind the table below. The motifs for many-fermion states,
 * in many versions, are behind the tables of motif/table.h. */
#ifndef TG_MOTIF_MOTIF_H
#define TG_MOTIF_MOTIF_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct tg_motif_ops {
  const char* name;
  /** offsets: [count + 1]; offsets[0] = 0, offsets[i+1] = offsets[i] + counts[i]. The arrays do not
   * overlap. threads >= 1. */
  void (*scan32)(size_t count, const uint32_t* counts, uint64_t* offsets, int threads);
  void (*scan64)(size_t count, const uint64_t* counts, uint64_t* offsets, int threads);
  /** sums: [m] += for each i: values[i] into bin[i] (bin[i] < m). Deterministic for given threads.
   */
  void (*reduce)(size_t count, const uint32_t* bins, const double* values, size_t m, double* sums,
                 int threads);
  /** Stable counting sort: order: [count], the numbers of the items by rising key, equal keys in
   * rising number (filter = key equality, scan, ranked fill). start: [key_count + 1] or NULL. */
  tg_status (*sort_by_key)(size_t count, const uint32_t* keys, size_t key_count, uint32_t* order,
                           uint64_t* start, int threads);
} tg_motif_ops;

/** The table of a backend; NULL for an unknown name. */
const tg_motif_ops* tg_motif_backend(const char* name);

#endif
