/* SPDX-License-Identifier: Apache-2.0 */
/** @file motif/cuda/items.cuh  A warp's share of the items of a reduction. */
#ifndef TG_MOTIF_CUDA_ITEMS_CUH
#define TG_MOTIF_CUDA_ITEMS_CUH

#include "motif/cuda/internal.cuh"

enum { GROUP_PAIRS = 4, GROUP_LANE = 2 * GROUP_PAIRS, GROUP_ITEMS = 32 * GROUP_LANE };

typedef struct item_group {
  uint32_t bin[GROUP_LANE];
  double value[GROUP_LANE];
} item_group;

/* The lane's items of the group at first. Where there are none any more it gets items of bin 0 and
 * value -0.0, whose addition changes nothing, so all lanes can go on together. */
static __device__ __forceinline__ void load_group(const tg_reduction& r, size_t first, int lane,
                                                  bool aligned, item_group* g) {
  if (aligned && first + GROUP_ITEMS <= r.count) {
#pragma unroll
    for (int k = 0; k < GROUP_PAIRS; k++) {
      const size_t at = first + 64 * k + 2 * lane;
      const uint2 bins = __ldcs((const uint2*)(r.bins + at));
      const double2 values = __ldcs((const double2*)(r.values + at));
      g->bin[2 * k] = bins.x;
      g->bin[2 * k + 1] = bins.y;
      g->value[2 * k] = values.x;
      g->value[2 * k + 1] = values.y;
    }
    return;
  }
#pragma unroll
  for (int k = 0; k < GROUP_LANE; k++) {
    const size_t at = first + 64 * (k / 2) + 2 * lane + k % 2;
    g->bin[k] = at < r.count ? r.bins[at] : 0;
    g->value[k] = at < r.count ? r.values[at] : -0.0;
  }
}

/** add(group) by all lanes of the warp together, for each group of the warp; the next group is
 * asked for before this one is added. */
template <class ADD>
static __device__ __forceinline__ void each_group(const tg_reduction& r, ADD add) {
  const int lane = threadIdx.x % 32;
  const size_t warp = ((size_t)blockIdx.x * blockDim.x + threadIdx.x) / 32;
  const size_t step = (size_t)gridDim.x * blockDim.x / 32 * GROUP_ITEMS;
  const bool aligned = (uintptr_t)r.bins % 8 == 0 && (uintptr_t)r.values % 16 == 0;
  item_group now, next;
  size_t first = warp * GROUP_ITEMS;
  if (first < r.count) load_group(r, first, lane, aligned, &now);
  while (first < r.count) {
    const size_t then = first + step;
    if (then < r.count) load_group(r, then, lane, aligned, &next);
    add(now);
    now = next;
    first = then;
  }
}

#endif
