/* SPDX-License-Identifier: Apache-2.0 */
/* From atoms to clusters of 8: columns in x and y, in each along z, cut every 8 atoms. Where much
 * of the box is empty a column has slabs, so that no cluster reaches across half the box.
 *
 * 1. count: each atom claims a place in its bin, a piece of a slab with some 32 atoms.
 * 2. scan: where bins begin, and slabs in whole clusters.
 * 3. scatter: atoms into their bins.
 * 4. sort: in each bin by height, then number, by counting who comes before: the clusters depend on
 *    positions and numbers alone, not on who claimed first.
 * 5. fill_slots: each slot takes its atom; in a cluster atoms with LJ come first, fillers last.
 *
 * Of many domains each does this with the atoms that it has, sheet by sheet (state.cuh), so that
 * its home clusters come first; and tells the owners of its halo atoms where it has them. */
#include "md/cuda/domains.cuh"

enum { THREADS = 256, SCAN_THREADS = 1024, SCAN_EACH = 4 };

static __device__ __forceinline__ uint32_t slabs_of_sheet(const tg_md_view& v) {
  return v.columns[0] * v.columns[1] * v.slabs;
}

static __device__ __forceinline__ uint32_t bin_in(const tg_md_view& v, uint32_t cx, uint32_t cy,
                                                  uint32_t z) {
  const uint32_t bins = v.slabs * v.bins;
  return (cx * v.columns[1] + cy) * bins + __umulhi(z - tg_md_origin_of(v), bins);
}

static __device__ __forceinline__ uint32_t bin_of(const tg_md_view& v, const uint4& x) {
  return bin_in(v, __umulhi(x.x, v.columns[0]), __umulhi(x.y, v.columns[1]), x.z);
}

/* Of an atom that a domain has in one of its sheets. */
static __device__ __forceinline__ uint32_t bin_in_sheet(const tg_md_grid& g, const tg_md_view& v,
                                                        const uint4& x, uint32_t sheet) {
  if (sheet > 0) return sheet * slabs_of_sheet(v) * v.bins + bin_of(v, x);
  return bin_in(v, tg_md_column_at(tg_md_columns_of(g, v, 0), v.columns[0], x.x),
                tg_md_column_at(tg_md_columns_of(g, v, 1), v.columns[1], x.y), x.z);
}

/* From positions to ranks in bins. Launch: a thread an atom; bound by atomics. */
static __global__ void __launch_bounds__(THREADS) count(const __grid_constant__ tg_md_views views) {
  const tg_md_view& v = views.item[blockIdx.z];
  const uint32_t i = blockIdx.x * THREADS + threadIdx.x;
  if (i < v.atom_count) v.rank[i] = atomicAdd(v.bin_count + bin_of(v, v.atom_x[i]), 1);
}

/* The same of the atoms that a domain has. */
static __global__ void __launch_bounds__(THREADS)
    count_domain(const __grid_constant__ tg_md_views views) {
  const tg_md_view& v = views.item[blockIdx.z];
  const uint32_t i = blockIdx.x * THREADS + threadIdx.x;
  if (i >= v.atom_count) return;
  const uint4 x = v.atom_x[i];
  const uint32_t sheet = tg_md_sheet_of(views, v, i, x);
  v.slot_of_atom[i] = TG_MD_NO_SLOT;
  v.rank[i] = TG_MD_NO_SLOT;
  if (sheet == v.sheets) return;
  const uint32_t bin = bin_in_sheet(views.grid, v, x, sheet);
  v.rank[i] = atomicAdd(v.bin_count + bin, 1) | sheet << TG_MD_SHEET_SHIFT;
}

/* The sum of what the block's earlier threads have, and that of all in *whole. */
static __device__ uint32_t scan_block(uint32_t mine, uint32_t* warp_sum, uint32_t* whole) {
  const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  uint32_t sum = mine;
  for (uint32_t step = 1; step < 32; step *= 2) {
    const uint32_t below = __shfl_up_sync(~0U, sum, step);
    if (lane >= step) sum += below;
  }
  if (lane == 31) warp_sum[warp] = sum;
  __syncthreads();
  uint32_t warps = warp_sum[lane];
  for (uint32_t step = 1; step < 32; step *= 2) {
    const uint32_t below = __shfl_up_sync(~0U, warps, step);
    if (lane >= step) warps += below;
  }
  *whole = __shfl_sync(~0U, warps, 31);
  const uint32_t left = __shfl_sync(~0U, warps, (warp + 31) % 32);
  __syncthreads(); /* warp_sum may be written again */
  return sum - mine + (warp > 0 ? left : 0);
}

/* Whether the column's slabs are filled as one. Halo clusters may be as high as they like: they
 * have no rows. */
static __device__ __forceinline__ bool is_whole(const tg_md_view& v, uint32_t column) {
  const uint32_t bins = v.slabs * v.bins;
  return column >= v.columns[0] * v.columns[1] ||
         v.bin_atom[(column + 1) * bins] - v.bin_atom[column * bins] >= v.dense;
}

/* Where the atoms end that a slab's clusters have. */
static __device__ __forceinline__ uint32_t end_of(const tg_md_view& v, uint32_t slab) {
  if (v.slabs == 1) return v.bin_atom[(slab + 1) * v.bins];
  const uint32_t column = slab / v.slabs;
  if (!is_whole(v, column)) return v.bin_atom[(slab + 1) * v.bins];
  return v.bin_atom[(slab % v.slabs == 0 ? (column + 1) * v.slabs : slab) * v.bins];
}

/* Whole clusters of a slab. */
static __device__ __forceinline__ uint32_t clusters_of(const tg_md_view& v, uint32_t slab) {
  const uint32_t atoms = end_of(v, slab) - v.bin_atom[slab * v.bins];
  return (atoms + TG_MD_CLUSTER - 1) / TG_MD_CLUSTER;
}

/* One domain has room for every cluster there can be: each slab's last is counted in it. */
static __device__ void end_scan(const tg_md_view& v, uint32_t clusters, uint32_t home_clusters) {
  tg_md_totals* t = v.totals;
  const bool full = clusters > v.cluster_capacity || home_clusters > v.row_capacity;
  if (full) atomicOr(v.trouble, TG_MD_DOMAIN_FULL);
  t->clusters = full ? 0 : clusters;
  t->home_clusters = full ? 0 : home_clusters;
  for (int d = 0; d < 3; d++) { /* for the next search */
    t->low[d] = INT32_MAX;
    t->high[d] = INT32_MIN;
  }
}

/* From counts to where bins and slabs begin; the counts become 0. Launch: one block a domain, which
 * goes through them in turns; bound by latency. */
static __global__ void __launch_bounds__(SCAN_THREADS)
    scan(const __grid_constant__ tg_md_views views) {
  const tg_md_view& v = views.item[blockIdx.z];
  __shared__ uint32_t warp_sum[SCAN_THREADS / 32];
  const uint32_t slabs = v.sheets * slabs_of_sheet(v), bins = slabs * v.bins;
  uint32_t before = 0, whole;
  for (uint32_t base = 0; base < bins; base += SCAN_THREADS * SCAN_EACH) {
    const uint32_t first = base + threadIdx.x * SCAN_EACH;
    uint32_t own[SCAN_EACH], mine = 0;
    for (uint32_t i = 0; i < SCAN_EACH; i++) {
      own[i] = first + i < bins ? v.bin_count[first + i] : 0;
      mine += own[i];
    }
    uint32_t at = before + scan_block(mine, warp_sum, &whole);
    for (uint32_t i = 0; i < SCAN_EACH && first + i < bins; i++) {
      v.bin_count[first + i] = 0;
      v.bin_atom[first + i] = at;
      at += own[i];
    }
    before += whole;
  }
  if (threadIdx.x == 0) v.bin_atom[bins] = before;
  __syncthreads();
  before = 0;
  for (uint32_t base = 0; base < slabs; base += SCAN_THREADS) {
    const uint32_t slab = base + threadIdx.x;
    const uint32_t mine = slab < slabs ? clusters_of(v, slab) : 0;
    const uint32_t at = before + scan_block(mine, warp_sum, &whole);
    if (slab < slabs) v.slab_cluster[slab] = at;
    before += whole;
  }
  if (threadIdx.x == 0) v.slab_cluster[slabs] = before;
  __syncthreads();
  if (threadIdx.x == 0) end_scan(v, before, v.slab_cluster[slabs_of_sheet(v)]);
}

/* From atoms to bins. Launch: a thread an atom; bound by scattered stores. */
static __global__ void __launch_bounds__(THREADS)
    scatter(const __grid_constant__ tg_md_views views) {
  const tg_md_view& v = views.item[blockIdx.z];
  const uint32_t i = blockIdx.x * THREADS + threadIdx.x;
  if (i >= v.atom_count) return;
  const uint4 x = v.atom_x[i];
  uint32_t rank = v.rank[i], bin;
  if (v.sheets > 1) {
    if (rank == TG_MD_NO_SLOT) return;
    bin = bin_in_sheet(views.grid, v, x, rank >> TG_MD_SHEET_SHIFT);
    rank &= (1U << TG_MD_SHEET_SHIFT) - 1;
  } else {
    bin = bin_of(v, x);
  }
  v.key[v.bin_atom[bin] + rank] = (uint64_t)(x.z - tg_md_origin_of(v)) << 32 | i;
}

/* In each bin, from any order to that of keys. Launch: a warp a bin; bound by instructions, the
 * square of the atoms in a bin. */
static __global__ void __launch_bounds__(THREADS) sort(const __grid_constant__ tg_md_views views) {
  const tg_md_view& v = views.item[blockIdx.z];
  const uint32_t bin = (blockIdx.x * THREADS + threadIdx.x) / 32;
  if (bin >= v.sheets * slabs_of_sheet(v) * v.bins) return;
  const uint32_t first = v.bin_atom[bin], end = v.bin_atom[bin + 1];
  for (uint32_t i = first + threadIdx.x % 32; i < end; i += 32) {
    const uint64_t own = v.key[i];
    uint32_t rank = 0;
#pragma unroll 8
    for (uint32_t j = first; j < end; j++) rank += v.key[j] < own;
    v.sorted[first + rank] = (uint32_t)own;
  }
}

static __device__ uint32_t slab_of(const tg_md_view& v, uint32_t cluster) {
  uint32_t low = 0, high = v.sheets * slabs_of_sheet(v);
  while (high - low > 1) {
    const uint32_t middle = (low + high) / 2;
    const bool after = v.slab_cluster[middle] <= cluster;
    low = after ? middle : low;
    high = after ? high : middle;
  }
  return low;
}

static __device__ uint32_t least_of_8(uint32_t a) {
  for (int step = 1; step < TG_MD_CLUSTER; step *= 2) a = min(a, __shfl_xor_sync(~0U, a, step));
  return a;
}

static __device__ uint32_t most_of_8(uint32_t a) {
  for (int step = 1; step < TG_MD_CLUSTER; step *= 2) a = max(a, __shfl_xor_sync(~0U, a, step));
  return a;
}

/* Where positions are counted from, so that no cluster's atoms have 0 between them: opposite the
 * brick for those at home, which may stand out of it; halo atoms' columns end at the box's faces.
 */
static __device__ void origin_of(const tg_md_grid& g, const tg_md_view& v, bool at_home,
                                 uint32_t (&origin)[3]) {
  for (int d = 0; d < 2; d++)
    origin[d] = at_home && g.count[d] > 1 ? tg_md_middle_of(g, v.domain, d) + 0x80000000U : 0;
  origin[2] = tg_md_origin_of(v);
}

/* The box around a cluster's atoms, which do not cross the origin. */
static __device__ void bound(const tg_md_constants& c, const tg_md_view& v, uint32_t cluster,
                             uint32_t column, bool has_row, bool real, const uint4& x,
                             const uint32_t (&origin)[3], uint32_t atoms, uint32_t with_lj) {
  const uint32_t at[3] = {x.x - origin[0], x.y - origin[1], x.z - origin[2]};
  uint32_t centre[3];
  float half[3];
  uint32_t bottom = 0;
  bool wide = false;
  for (int d = 0; d < 3; d++) {
    const uint32_t low = least_of_8(real ? at[d] : ~0U), high = most_of_8(real ? at[d] : 0);
    const uint32_t radius = (high - low + 1) / 2;
    centre[d] = low + radius;
    bottom = low; /* the last dimension's stays */
    half[d] = (float)radius * c.nm[d];
    /* as much room again as the buffer has, for atoms that move before the next search */
    wide = wide || half[d] + 2 * c.list_radius - sqrtf(c.cutoff2) > c.half_box[d];
  }
  if (threadIdx.x % TG_MD_CLUSTER != 0 || atoms == 0) return;
  v.bottom[cluster] = bottom;
  v.centre[cluster] = make_uint4(centre[0] + origin[0], centre[1] + origin[1],
                                 centre[2] + origin[2], atoms | with_lj << 8);
  v.half[cluster] = make_float4(half[0], half[1], half[2], __uint_as_float(column));
  if (wide && has_row) atomicOr(v.trouble, TG_MD_CLUSTER_WIDE);
}

/* Where this domain has another's atom. */
static __device__ void tell_owner(const tg_md_views& views, const tg_md_view& v, uint32_t atom,
                                  uint32_t slot) {
  const tg_md_peers_view& p = views.peers;
  const uint32_t card = v.owner[atom] / (views.grid.domains / p.card_count);
  tg_md_peer(p, v.send_slot, card)[(size_t)v.domain * v.atom_count + atom] = slot;
  uint32_t* mask = tg_md_peer(p, v.send_mask, card) + atom;
  if (card == p.card)
    atomicOr(mask, 1U << v.domain);
  else
    atomicOr_system(mask, 1U << v.domain);
}

/* From sorted atoms to slots and clusters. Launch: a thread a slot of all there is room for; bound
 * by gathering. */
static __global__ void __launch_bounds__(THREADS)
    fill_slots(const __grid_constant__ tg_md_views views) {
  const tg_md_constants& c = views.all;
  const tg_md_view& v = views.item[blockIdx.z];
  const uint32_t slot = blockIdx.x * THREADS + threadIdx.x, cluster = slot / TG_MD_CLUSTER;
  const uint32_t clusters = v.totals->clusters;
  if (blockIdx.x * THREADS / TG_MD_CLUSTER >= clusters) return;
  const bool used = cluster < clusters;
  const uint32_t slab = used ? slab_of(v, cluster) : 0, lane = slot % TG_MD_CLUSTER;
  const uint32_t sorted =
      v.bin_atom[slab * v.bins] + (cluster - v.slab_cluster[slab]) * TG_MD_CLUSTER + lane;
  const bool real = used && sorted < end_of(v, slab);
  const uint32_t atom = real ? v.sorted[sorted] : 0;
  uint4 x = make_uint4(0, 0, 0, 0);
  uint32_t type = 0;
  if (real) {
    x = v.atom_x[atom];
    type = v.atom_type[atom];
  }
  const bool has_lj = (type & TG_MD_HAS_LJ) != 0;
  const uint32_t shift = threadIdx.x % 32 / TG_MD_CLUSTER * TG_MD_CLUSTER;
  const uint32_t lj = __ballot_sync(~0U, has_lj) >> shift & 0xFF;
  const uint32_t all = __ballot_sync(~0U, real) >> shift & 0xFF, below = (1U << lane) - 1;
  const uint32_t place = has_lj ? __popc(lj & below) : lane + __popc(lj & ~below);
  const uint32_t to = cluster * TG_MD_CLUSTER + place;
  const bool at_home = cluster < v.totals->home_clusters;
  uint32_t origin[3];
  origin_of(views.grid, v, at_home, origin);
  bound(c, v, cluster, slab / v.slabs % (v.columns[0] * v.columns[1]), at_home, real, x, origin,
        __popc(all), __popc(lj));
  if (!used) return;
  v.x[to] = x;
  v.row[to] = (type & ~TG_MD_HAS_LJ) * TG_MD_ROW_BYTES;
  v.atom[to] = real ? (int32_t)atom : -1;
  if (real) v.slot_of_atom[atom] = to;
  if (real && !at_home) tell_owner(views, v, atom, to);
}

static __global__ void place(const __grid_constant__ tg_md_views views) {
  const tg_md_view& v = views.item[blockIdx.z];
  const uint32_t i = blockIdx.x * THREADS + threadIdx.x;
  const uint32_t slot = i < v.atom_count ? v.slot_of_atom[i] : TG_MD_NO_SLOT;
  if (slot != TG_MD_NO_SLOT) v.x[slot] = v.atom_x[i];
}

tg_status tg_md_queue_sort(tg_device_md* md) {
  const tg_md_view* v = &md->views.item[0];
  const unsigned z = (unsigned)md->domain_count;
  const size_t bins = (size_t)v->columns[0] * v->columns[1] * v->slabs * v->bins * v->sheets;
  const dim3 atoms(tg_md_blocks(v->atom_count, THREADS), 1, z);
  if (tg_md_is_many(md)) {
    TG_TRY(tg_md_queue_owners(md));
    count_domain<<<atoms, THREADS, 0, md->stream>>>(md->views);
  } else {
    count<<<atoms, THREADS, 0, md->stream>>>(md->views);
  }
  scan<<<dim3(1, 1, z), SCAN_THREADS, 0, md->stream>>>(md->views);
  scatter<<<atoms, THREADS, 0, md->stream>>>(md->views);
  sort<<<dim3(tg_md_blocks(bins * 32, THREADS), 1, z), THREADS, 0, md->stream>>>(md->views);
  fill_slots<<<dim3(tg_md_blocks((size_t)v->cluster_capacity * TG_MD_CLUSTER, THREADS), 1, z),
               THREADS, 0, md->stream>>>(md->views);
  return tg_md_queued(md, "sorting atoms into clusters");
}

tg_status tg_md_queue_place(tg_device_md* md) {
  const tg_md_view* v = &md->views.item[0];
  place<<<dim3(tg_md_blocks(v->atom_count, THREADS), 1, (unsigned)md->domain_count), THREADS, 0,
          md->stream>>>(md->views);
  return tg_md_queued(md, "placing atoms");
}
