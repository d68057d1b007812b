/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/cuda/domains.cuh  Where atoms belong: bricks, owners, halo. */
#ifndef TG_MD_CUDA_DOMAINS_CUH
#define TG_MD_CUDA_DOMAINS_CUH

#include "md/cuda/state.cuh"

#ifdef __CUDACC__
/** The number of planes at or below x, less one. */
static __device__ __forceinline__ uint32_t tg_md_layer_of(const tg_md_grid& g, int d, uint32_t x) {
  uint32_t layer = 0;
  for (uint32_t k = 1; k < g.count[d]; k++) layer += g.plane[d * TG_MD_MOST_DOMAINS + k] <= x;
  return layer;
}

static __device__ __forceinline__ uint32_t tg_md_domain_of(const tg_md_grid& g, const uint4& x) {
  return (tg_md_layer_of(g, 0, x.x) * g.count[1] + tg_md_layer_of(g, 1, x.y)) * g.count[2] +
         tg_md_layer_of(g, 2, x.z);
}

/** The middle of a domain's brick along one dimension. */
static __device__ __forceinline__ uint32_t tg_md_middle_of(const tg_md_grid& g, uint32_t domain,
                                                           int d) {
  const uint32_t layer = d == 0   ? domain / g.count[2] / g.count[1]
                         : d == 1 ? domain / g.count[2] % g.count[1]
                                  : domain % g.count[2];
  const uint32_t* plane = g.plane + d * TG_MD_MOST_DOMAINS;
  const uint32_t begin = plane[layer], end = layer + 1 < g.count[d] ? plane[layer + 1] : 0;
  return begin + (end - begin - (g.count[d] == 1)) / 2; /* all of the box: 2^32 is 0 */
}

/** Of a box cut in z: heights of a domain are counted from opposite its brick, so that no column of
 * it begins in the middle; else from 0. */
static __host__ __device__ __forceinline__ uint32_t tg_md_origin_between(const tg_md_grid& g,
                                                                         const uint32_t* plane,
                                                                         uint32_t domain) {
  const uint32_t n = g.count[2], layer = domain % n;
  if (n == 1) return 0;
  const uint32_t begin = plane[layer], end = layer + 1 < n ? plane[layer + 1] : 0;
  return begin + (end - begin) / 2 + 0x80000000U;
}

static __device__ __forceinline__ uint32_t tg_md_origin_of(const tg_md_view& v) {
  return v.sheets == 3 ? v.totals->origin : 0;
}

/** The columns that a domain's brick has along x or y: those that are its own by half or more. What
 * of the brick, and of the groups that stand out of it, lies up to 3/4 of a column beyond is put
 * into the outermost; by itself it would fill few clusters, and those badly. */
typedef struct tg_md_columns {
  uint32_t first, last;
  uint32_t width; /* units; 0: the box is not cut here */
} tg_md_columns;

static __device__ __forceinline__ tg_md_columns tg_md_columns_of(const tg_md_grid& g,
                                                                 const tg_md_view& v, int d) {
  const uint32_t layer =
      d == 0 ? v.domain / g.count[2] / g.count[1] : v.domain / g.count[2] % g.count[1];
  const uint32_t* plane = g.plane + d * TG_MD_MOST_DOMAINS;
  const uint32_t n = v.columns[d], begin = plane[layer];
  const uint32_t end = layer + 1 < g.count[d] ? plane[layer + 1] : 0;
  if (g.count[d] == 1) return {0, n - 1, 0};
  const uint32_t first = __umulhi(begin, n) + (begin * n >> 31); /* the nearest edge */
  const uint32_t past = end == 0 ? n : __umulhi(end, n) + (end * n >> 31);
  return {min(first, n - 1), max(past, min(first, n - 1) + 1) - 1, ~0U / n};
}

/** How far, nm, atoms may stand out of a column at home. */
static __device__ __forceinline__ float tg_md_columns_stand_out(const tg_md_columns& home,
                                                                uint32_t column, float nm) {
  return column == home.first || column == home.last ? 0.75F * (float)home.width * nm : 0;
}

/** The column into which a home atom at x is put. */
static __device__ __forceinline__ uint32_t tg_md_column_at(const tg_md_columns& home, uint32_t n,
                                                           uint32_t x) {
  const uint32_t column = __umulhi(x, n), most = home.width / 4 * 3;
  if (home.width == 0 || (home.first <= column && column <= home.last)) return column;
  if (home.first * home.width - x <= most) return home.first;
  return x - (home.last + 1) * home.width <= most ? home.last : column;
}

/** How far x is from the home atoms along one dimension, in units. */
static __device__ __forceinline__ float tg_md_beyond(int32_t x, int32_t low, int32_t high) {
  if (low <= x && x <= high) return 0;
  const uint32_t above = (uint32_t)x - (uint32_t)high, below = (uint32_t)low - (uint32_t)x;
  return (float)min(above, below);
}

/** Until the positions of this step have come from all other cards. Whole warps call, past whatever
 * counts them: positions are sent by the kernel before. */
static __device__ __forceinline__ void tg_md_await_positions(const tg_md_views& views) {
  const tg_md_peers_view& p = views.peers;
  if (threadIdx.x % 32 == 0) {
    const uint64_t number = *(volatile uint64_t*)&views.exchange->number[TG_MD_FLAG_X];
    for (uint32_t c = 0; c < p.card_count; c++)
      if (c != p.card) tg_md_wait(p, c, TG_MD_FLAG_X, number);
  }
  __syncwarp();
}

/** Whether these have come: a look, which orders nothing. */
static __device__ __forceinline__ bool tg_md_positions_have_come(const tg_md_views& views) {
  const tg_md_peers_view& p = views.peers;
  const uint64_t number = *(volatile uint64_t*)&views.exchange->number[TG_MD_FLAG_X];
  bool all = true;
  for (uint32_t c = 0; c < p.card_count; c++)
    if (c != p.card)
      all = all && tg_md_load_relaxed(tg_md_flag(p, p.card, c, TG_MD_FLAG_X)) >= number;
  return all;
}

/** The sheet in which a domain has atom i at x; sheets: it has not. */
static __device__ __forceinline__ uint32_t tg_md_sheet_of(const tg_md_views& views,
                                                          const tg_md_view& v, uint32_t i,
                                                          const uint4& x) {
  const tg_md_grid& g = views.grid;
  if (v.owner[i] == v.domain) return 0;
  const tg_md_totals& t = *v.totals;
  if (t.low[0] > t.high[0]) return v.sheets;
  const uint32_t at[3] = {x.x, x.y, x.z};
  float gap2 = 0;
  int32_t height = 0;
  for (int d = 0; d < 3; d++) {
    if (g.count[d] == 1) continue;
    const int32_t apart = (int32_t)(at[d] - tg_md_middle_of(g, v.domain, d));
    const float gap = tg_md_beyond(apart, t.low[d], t.high[d]) * views.all.nm[d];
    gap2 += gap * gap;
    if (d == 2) height = apart;
  }
  if (gap2 > views.all.list_radius * views.all.list_radius * 1.0001F) return v.sheets;
  return v.sheets == 3 && height >= 0 ? 2 : 1;
}
#endif

#endif
