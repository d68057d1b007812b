/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/omp/simd/variant.h  What the files of one variant share. */
#ifndef TG_MD_OMP_SIMD_VARIANT_H
#define TG_MD_OMP_SIMD_VARIANT_H

#include "md/omp/cluster.h"
#include "md/omp/simd/simd.h"

extern const tg_cluster_kernels TG_VARIANT_NAME(tg_cluster_kernels);

void TG_VARIANT_NAME(tg_cluster_search)(const tg_cluster_search* search, size_t begin, size_t end,
                                        tg_cluster_list* list);
void TG_VARIANT_NAME(tg_cluster_prune)(const tg_clusters* clusters, double radius,
                                       const tg_cluster_list* from, tg_cluster_list* to);

/** A periodic shift cut in two: what goes into the origin (a multiple of 1/2 nm: exact) and what is
 * added to the relative positions (returned); with one origin for all, everything. */
static inline real TG_VARIANT_NAME(tg_cluster_shift)(const tg_clusters* c, size_t block, int shift,
                                                     int d, real* origin) {
  const double whole = shift * c->box[d];
  const double coarse = c->one_origin ? 0 : rint(2 * whole) / 2;
  *origin = (real)((double)((const real*)c->origin)[block * 4 + (size_t)d] + coarse);
  return (real)(whole - coarse);
}

/** One coordinate of an i-cluster's atoms; fillers go to the far side of where j-fillers are. */
static inline void TG_VARIANT_NAME(tg_cluster_load)(const tg_clusters* c, size_t block, size_t lane,
                                                    int d, real rest, real x[TG_CLUSTER_SIZE]) {
  const real* from = (const real*)c->x + (block * 3 + (size_t)d) * V_WIDTH + lane;
  for (int k = 0; k < TG_CLUSTER_SIZE; k++) {
    x[k] = c->atom[block * V_WIDTH + lane + (size_t)k] < 0 ? -from[k] : from[k] + rest;
  }
}

#endif
