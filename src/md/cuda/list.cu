/* SPDX-License-Identifier: Apache-2.0 */
/* From clusters to the list of pairs, and from the list to a shorter one.
 *
 * A row holds the atoms within the list radius of any atom of its cluster, one entry each, in the
 * order of slots seen from the cluster: neighbours in a column stand together, so that the forces'
 * kernel gathers and adds whole sectors. A search is a filter and a fill in one pass: rows have
 * fixed room, so that no scan stands between them.
 *
 * Of two clusters the row belongs to the one from which the other is forward: in a column further
 * on in x by less than half the box, or beside it in y, or further on in the same column. */
#include "md/cuda/domains.cuh"
#include "md/cuda/launch.cuh"

enum { THREADS = 32 * TG_MD_WARPS, PRUNE_BLOCKS = 10 /* of a multiprocessor */ };

/* Sheets of a search: all there is, of one domain; of many, what is at home, and halo. */
enum { ALL, HOME, HALO };

/* The atoms of a row's cluster: -2 a, a relative to the cluster's centre, nm, and a a; fillers are
 * far away. So the distance from p is (p p) + (a a - 2 a p): three multiplications an atom instead
 * of six operations. */
typedef struct row_atoms {
  float4 of[TG_MD_CLUSTER];
} row_atoms;

/* Of squared radii: more than what the sum above is rounded by, some 2^-22 of p p. */
static const float ROUNDED = 1 + 1e-5F;

static __device__ __forceinline__ float4 load_atom(const tg_md_constants& c, const tg_md_view& v,
                                                   uint32_t cluster, const uint4& centre,
                                                   uint32_t atoms, uint32_t k) {
  const uint4 x = v.x[cluster * TG_MD_CLUSTER + k];
  const float ax = tg_md_apart(x.x, centre.x, c.nm[0]), ay = tg_md_apart(x.y, centre.y, c.nm[1]);
  const float az = tg_md_apart(x.z, centre.z, c.nm[2]);
  if (k >= atoms) return make_float4(0, 0, 0, 1e12F);
  return make_float4(-2 * ax, -2 * ay, -2 * az, ax * ax + ay * ay + az * az);
}

static __device__ __forceinline__ row_atoms load_row(const tg_md_constants& c, const tg_md_view& v,
                                                     uint32_t cluster, const uint4& centre,
                                                     uint32_t atoms) {
  row_atoms a;
#pragma unroll
  for (uint32_t k = 0; k < TG_MD_CLUSTER; k++) a.of[k] = load_atom(c, v, cluster, centre, atoms, k);
  return a;
}

/* The least squared distance of atom x from the row's atoms. */
static __device__ __forceinline__ float least_distance2(const tg_md_constants& c,
                                                        const row_atoms& a, const uint4& centre,
                                                        const uint4& x) {
  const float px = tg_md_apart(x.x, centre.x, c.nm[0]);
  const float py = tg_md_apart(x.y, centre.y, c.nm[1]);
  const float pz = tg_md_apart(x.z, centre.z, c.nm[2]);
  float least = 1e12F;
#pragma unroll
  for (int k = 0; k < TG_MD_CLUSTER; k++)
    least = fminf(least, a.of[k].x * px + (a.of[k].y * py + (a.of[k].z * pz + a.of[k].w)));
  return least + (px * px + py * py + pz * pz);
}

/* A row being written by a warp. */
typedef struct row_writer {
  uint32_t* entries;
  uint32_t count, room;
} row_writer;

static __device__ __forceinline__ void append(row_writer& w, bool keep, uint32_t entry) {
  const unsigned kept = __ballot_sync(~0U, keep);
  const uint32_t at = w.count + __popc(kept & ((1U << threadIdx.x % 32) - 1));
  if (keep && at < w.room) w.entries[at] = entry;
  w.count += __popc(kept);
}

/* Pads the row to whole warps; returns its length. */
static __device__ uint32_t finish(const tg_md_view& v, row_writer& w, uint32_t cluster) {
  if (w.count > w.room) {
    if (threadIdx.x % 32 == 0) atomicOr(v.trouble, TG_MD_LIST_FULL);
    w.count = w.room;
  }
  const uint32_t whole = (w.count + 31) / 32 * 32, at = w.count + threadIdx.x % 32;
  if (at < whole) w.entries[at] = cluster * TG_MD_CLUSTER << 8;
  return whole;
}

/* What a warp of the search has in shared memory. */
typedef struct search_scratch {
  uint32_t partner[TG_MD_PARTNERS]; /* slot << 8 | bit of the row's atom that it is excluded from */
  uint32_t partner_count;
  uint32_t queue[TG_MD_QUEUE]; /* clusters to look at */
} search_scratch;

/* The excluded partners of the row's atoms, a few lanes an atom; returns which clusters modulo 64
 * have any. */
static __device__ uint64_t load_partners(const tg_md_view& v, uint32_t cluster, uint32_t atoms,
                                         search_scratch* s) {
  const uint32_t lane = threadIdx.x % 32, k = lane / 4;
  uint64_t with = 0;
  if (lane == 0) s->partner_count = 0;
  __syncwarp();
  if (v.exclusion_start != nullptr && k < atoms) {
    const uint32_t atom = (uint32_t)v.atom[cluster * TG_MD_CLUSTER + k];
    for (uint32_t e = v.exclusion_start[atom] + lane % 4; e < v.exclusion_start[atom + 1]; e += 4) {
      const uint32_t slot = v.slot_of_atom[v.exclusion[e]];
      if (slot == TG_MD_NO_SLOT) continue; /* further than a list radius */
      const uint32_t at = atomicAdd(&s->partner_count, 1);
      if (at < TG_MD_PARTNERS) s->partner[at] = slot << 8 | 1U << k;
      with |= 1ULL << (slot / TG_MD_CLUSTER % 64);
    }
  }
  for (int step = 1; step < 32; step *= 2) with |= __shfl_xor_sync(~0U, with, step);
  if (lane == 0 && s->partner_count > TG_MD_PARTNERS) {
    atomicOr(v.trouble, TG_MD_PARTNERS_FULL);
    s->partner_count = TG_MD_PARTNERS;
  }
  __syncwarp();
  return with;
}

/* What stays the same while a row is searched. */
typedef struct row_search {
  uint32_t cluster, atoms;
  uint4 centre;
  float4 half;
  uint64_t with_partners;
  tg_md_columns home[2]; /* of many domains, in x and y */
  uint32_t origin;
} row_search;

/* Whether column (bx, by) is forward of (ax, ay); same: neither, it is the same. */
static __device__ __forceinline__ bool is_forward(const tg_md_view& v, uint32_t ax, uint32_t ay,
                                                  uint32_t bx, uint32_t by) {
  const uint32_t a = ax != bx ? ax : ay, b = ax != bx ? bx : by;
  const uint32_t count = ax != bx ? v.columns[0] : v.columns[1];
  const uint32_t ahead = b >= a ? b - a : b + count - a;
  return 2 * ahead < count || (2 * ahead == count && a < b);
}

/* How far a cluster's box is from a column, along one dimension. */
static __device__ __forceinline__ float column_gap(uint32_t centre, float half, uint32_t column,
                                                   uint32_t columns, float nm) {
  const uint32_t width = ~0U / columns; /* the middle need not be exact: a unit is far less than */
  const uint32_t middle = column * width + width / 2; /* the 1e-4 nm taken off below */
  return fmaxf(fabsf(tg_md_apart(centre, middle, nm)) - half - (float)width * 0.5F * nm - 1e-4F, 0);
}

static __device__ __forceinline__ float box_gap2(const tg_md_constants& c, const row_search& r,
                                                 const uint4& centre, const float4& half) {
  const float x = fabsf(tg_md_apart(centre.x, r.centre.x, c.nm[0])) - half.x - r.half.x;
  const float y = fabsf(tg_md_apart(centre.y, r.centre.y, c.nm[1])) - half.y - r.half.y;
  const float z = fabsf(tg_md_apart(centre.z, r.centre.z, c.nm[2])) - half.z - r.half.z;
  const float px = fmaxf(x, 0), py = fmaxf(y, 0), pz = fmaxf(z, 0);
  return px * px + py * py + pz * pz;
}

/* Up to two runs of clusters of one column: the box is periodic. */
typedef struct runs {
  uint32_t first[2], end[2];
} runs;

/* How many of the column's clusters [first, end) begin at z or lower. */
static __device__ __forceinline__ uint32_t not_above(const tg_md_view& v, uint32_t first,
                                                     uint32_t end, uint32_t z) {
  uint32_t low = first;
  while (low < end) {
    const uint32_t middle = (low + end) / 2;
    const bool below = v.bottom[middle] <= z;
    low = below ? middle + 1 : low;
    end = below ? end : middle;
  }
  return low - first;
}

/* The column's clusters that may be within reach of the row's in z, given how far the column is in
 * x and y; of its own column, at home, those from the row's own on. */
template <int SHEET>
static __device__ __forceinline__ runs runs_of(const tg_md_constants& c, const tg_md_view& v,
                                               const row_search& r, uint32_t column, uint32_t sheet,
                                               float gap2) {
  const uint32_t at = SHEET == HALO ? sheet * v.columns[0] * v.columns[1] + column : column;
  const uint32_t first = v.slab_cluster[at * v.slabs];
  const uint32_t end = v.slab_cluster[(at + 1) * v.slabs];
  const float reach2 = c.list_radius * c.list_radius * 1.0001F;
  const float radius = sqrtf(reach2 - gap2) + r.half.z + 1e-4F;
  runs out = {{first, first}, {end, first}};
  if (radius < c.half_box[2]) {
    const uint32_t units = (uint32_t)(radius / c.nm[2]);
    const uint32_t height = SHEET == ALL ? r.centre.z : r.centre.z - r.origin, low = height - units,
                   high = height + units;
    /* the one before the first that begins above low may still reach into it */
    const uint32_t begun = not_above(v, first, end, low);
    const uint32_t from = first + (begun > 0 ? begun - 1 : 0);
    const uint32_t to = first + not_above(v, first, end, high);
    if (low <= high || to <= from) out.first[0] = from;
    if (low <= high)
      out.end[0] = to;
    else if (to <= from)
      out.end[1] = to;
  }
  if (SHEET != HALO && column == __float_as_uint(r.half.w)) {
    for (int i = 0; i < 2; i++) out.first[i] = max(out.first[i], r.cluster);
  }
  return out;
}

/* The column that is number t around the row's, in the order of x, then y; false where its clusters
 * are not this row's. At home only the forward ones are. */
template <int SHEET>
static __device__ __forceinline__ bool column_around(const tg_md_constants& c, const tg_md_view& v,
                                                     const row_search& r, uint32_t t,
                                                     uint32_t* column, float* gap2) {
  const uint32_t own = __float_as_uint(r.half.w), nx = v.columns[0], ny = v.columns[1];
  const uint32_t cx = own / ny, cy = own % ny;
  const uint32_t below = min(v.range[1], (ny - 1) / 2);
  const uint32_t width = below + min(v.range[1], ny / 2) + 1;
  const uint32_t behind = SHEET == HALO ? min(v.range[0], (nx - 1) / 2) : 0, dx = t / width;
  const uint32_t ax = cx + nx - behind + dx;
  const uint32_t bx = ax >= 2 * nx ? ax - 2 * nx : ax >= nx ? ax - nx : ax;
  const uint32_t by = (cy + ny - below + t % width) % ny;
  if (dx > behind + min(v.range[0], nx / 2)) return false;
  *column = bx * ny + by;
  if (SHEET != HALO && *column != own && !is_forward(v, cx, cy, bx, by)) return false;
  float x = column_gap(r.centre.x, r.half.x, bx, nx, c.nm[0]);
  float y = column_gap(r.centre.y, r.half.y, by, ny, c.nm[1]);
  if (SHEET == HOME) {
    x = fmaxf(x - tg_md_columns_stand_out(r.home[0], bx, c.nm[0]), 0);
    y = fmaxf(y - tg_md_columns_stand_out(r.home[1], by, c.nm[1]), 0);
  }
  *gap2 = x * x + y * y;
  return *gap2 < c.list_radius * c.list_radius;
}

/* Clusters of 32 columns, one a lane, into the queue, or of as many columns as it has room for:
 * where atoms stand dense, or columns are wide, that is not all. Returns how many clusters; *taken:
 * of how many columns. */
template <int SHEET>
static __device__ __forceinline__ uint32_t queue_columns(const tg_md_constants& c,
                                                         const tg_md_view& v, const row_search& r,
                                                         uint32_t base, uint32_t sheet,
                                                         uint32_t* queue, uint32_t* taken) {
  const uint32_t lane = threadIdx.x % 32;
  uint32_t column = 0, count = 0;
  float gap2 = 0;
  runs of = {};
  if (column_around<SHEET>(c, v, r, base + lane, &column, &gap2))
    of = runs_of<SHEET>(c, v, r, column, sheet, gap2);
  for (int i = 0; i < 2; i++) count += of.end[i] > of.first[i] ? of.end[i] - of.first[i] : 0;
  uint32_t sum = count;
  for (uint32_t step = 1; step < 32; step *= 2) {
    const uint32_t below = __shfl_up_sync(~0U, sum, step);
    if (lane >= step) sum += below;
  }
  *taken = __popc(__ballot_sync(~0U, sum <= TG_MD_QUEUE)); /* sums grow from lane to lane */
  if (*taken == 0) {
    if (lane == 0) atomicOr(v.trouble, TG_MD_QUEUE_FULL);
    *taken = 1;
    return 0;
  }
  uint32_t at = sum - count;
  for (int i = 0; i < 2 && lane < *taken; i++)
    for (uint32_t k = of.first[i]; k < of.end[i]; k++) queue[at++] = k;
  __syncwarp();
  return __shfl_sync(~0U, sum, *taken - 1);
}

/* Keeps of the queue's clusters the near ones, each with the number of its atoms << 24; returns how
 * many. */
static __device__ __forceinline__ uint32_t keep_near(const tg_md_constants& c, const tg_md_view& v,
                                                     const row_search& r, uint32_t count,
                                                     uint32_t* queue) {
  const uint32_t lane = threadIdx.x % 32;
  const float reach2 = c.list_radius * c.list_radius * 1.0001F;
  uint32_t kept = 0;
  for (uint32_t base = 0; base < count; base += 32) {
    const uint32_t other = queue[min(base + lane, count - 1)];
    const uint4 centre = v.centre[other];
    const bool near = base + lane < count && box_gap2(c, r, centre, v.half[other]) < reach2;
    const unsigned hits = __ballot_sync(~0U, near);
    __syncwarp(); /* all lanes have read theirs */
    if (near) queue[kept + __popc(hits & ((1U << lane) - 1))] = other | (centre.w & 0xFF) << 24;
    kept += __popc(hits);
    __syncwarp();
  }
  return kept;
}

/* The atoms of the queue's clusters into the row, four clusters at a time; the next four's atoms
 * are on their way meanwhile. */
static __device__ __forceinline__ void append_near(const tg_md_constants& c, const tg_md_view& v,
                                                   const row_search& r, const row_atoms& a,
                                                   const search_scratch* s, uint32_t count,
                                                   row_writer& w) {
  const uint32_t lane = threadIdx.x % 32, part = lane / TG_MD_CLUSTER, k = lane % TG_MD_CLUSTER;
  if (count == 0) return;
  uint32_t item = s->queue[min(part, count - 1)];
  uint4 x = v.x[(item & 0xFFFFFF) * TG_MD_CLUSTER + k];
  for (uint32_t base = 0; base < count; base += 4) {
    const uint32_t other = item & 0xFFFFFF, slot = other * TG_MD_CLUSTER + k;
    bool keep = base + part < count && k < item >> 24;
    const uint4 now = x;
    if (base + 4 < count) {
      item = s->queue[min(base + 4 + part, count - 1)];
      x = v.x[(item & 0xFFFFFF) * TG_MD_CLUSTER + k];
    }
    keep = keep && least_distance2(c, a, r.centre, now) < c.list_radius * c.list_radius * ROUNDED;
    uint32_t mask = (1U << r.atoms) - 1;
    if (other == r.cluster) mask &= (1U << k) - 1; /* each pair once */
    if (keep && r.with_partners >> (other % 64) & 1) {
      for (uint32_t p = 0; p < s->partner_count; p++) {
        if (s->partner[p] >> 8 == slot) mask &= ~s->partner[p];
      }
    }
    append(w, keep && mask != 0, slot << 8 | mask);
  }
}

/* What is near in a sheet. */
template <int SHEET>
static __device__ __forceinline__ void search_sheet(const tg_md_constants& c, const tg_md_view& v,
                                                    const row_search& r, const row_atoms& a,
                                                    uint32_t sheet, search_scratch* s,
                                                    row_writer& w) {
  const uint32_t behind = SHEET == HALO ? min(v.range[0], (v.columns[0] - 1) / 2) : 0;
  const uint32_t around =
      (behind + min(v.range[0], v.columns[0] / 2) + 1) *
      (min(v.range[1], (v.columns[1] - 1) / 2) + min(v.range[1], v.columns[1] / 2) + 1);
  for (uint32_t base = 0, taken; base < around; base += taken) {
    const uint32_t queued = queue_columns<SHEET>(c, v, r, base, sheet, s->queue, &taken);
    const uint32_t near = keep_near(c, v, r, queued, s->queue);
    append_near(c, v, r, a, s, near, w);
    __syncwarp();
  }
}

/* From clusters to rows of the list. Launch: a warp a row; bound by instructions, most of them
 * distances of atoms. */
template <bool MANY>
static __global__ void __launch_bounds__(THREADS, 6)
    search(const __grid_constant__ tg_md_views views) {
  const tg_md_constants& c = views.all;
  const tg_md_view& v = views.item[blockIdx.z];
  __shared__ search_scratch scratch[TG_MD_WARPS];
  search_scratch* s = &scratch[threadIdx.x / 32];
  row_search r;
  r.cluster = blockIdx.x * TG_MD_WARPS + threadIdx.x / 32;
  if (r.cluster >= v.totals->home_clusters) return;
  r.centre = v.centre[r.cluster];
  r.half = v.half[r.cluster];
  r.atoms = r.centre.w & 0xFF;
  if (MANY) {
    for (int d = 0; d < 2; d++) r.home[d] = tg_md_columns_of(views.grid, v, d);
    r.origin = tg_md_origin_of(v);
  }
  r.with_partners = load_partners(v, r.cluster, r.atoms, s);
  const row_atoms a = load_row(c, v, r.cluster, r.centre, r.atoms);
  row_writer w = {v.list[0] + (size_t)r.cluster * v.row_room[0], 0, v.row_room[0]};
  search_sheet<MANY ? HOME : ALL>(c, v, r, a, 0, s, w);
  if (MANY)
    for (uint32_t sheet = 1; sheet < v.sheets; sheet++) search_sheet<HALO>(c, v, r, a, sheet, s, w);
  const uint32_t count = finish(v, w, r.cluster);
  if (threadIdx.x % 32 == 0) v.count[0][r.cluster] = count;
}

/* A lane's two entries of a turn of the pruning; 0: none. */
static __device__ __forceinline__ void load_entries(const uint32_t* from, uint32_t at,
                                                    uint32_t count, uint32_t (&entry)[2]) {
#pragma unroll
  for (uint32_t i = 0; i < 2; i++) entry[i] = at + 32 * i < count ? from[at + 32 * i] : 0;
}

/* The least squared distances of two atoms from the row's, which are in shared memory. */
static __device__ __forceinline__ void least_distances2(const tg_md_constants& c,
                                                        const float4* atoms, const uint4& centre,
                                                        const uint4 (&x)[2], float (&least)[2]) {
  float p[2][3];
#pragma unroll
  for (int i = 0; i < 2; i++) {
    p[i][0] = tg_md_apart(x[i].x, centre.x, c.nm[0]);
    p[i][1] = tg_md_apart(x[i].y, centre.y, c.nm[1]);
    p[i][2] = tg_md_apart(x[i].z, centre.z, c.nm[2]);
    least[i] = 1e12F;
  }
#pragma unroll
  for (int k = 0; k < TG_MD_CLUSTER; k++) {
    const float4 a = atoms[k];
#pragma unroll
    for (int i = 0; i < 2; i++)
      least[i] = fminf(least[i], a.x * p[i][0] + (a.y * p[i][1] + (a.z * p[i][2] + a.w)));
  }
#pragma unroll
  for (int i = 0; i < 2; i++) least[i] += p[i][0] * p[i][0] + p[i][1] * p[i][1] + p[i][2] * p[i][2];
}

/* From the search's list to that of the forces: what is within the inner radius now. Launch: a warp
 * a row, two entries a lane and turn; waits for positions, so many warps: the row's atoms are in
 * shared memory. */
template <bool MANY>
static __global__ void __launch_bounds__(THREADS, PRUNE_BLOCKS)
    prune(const __grid_constant__ tg_md_views views) {
  const tg_md_constants& c = views.all;
  const tg_md_view& v = views.item[blockIdx.z];
  __shared__ float4 shared[TG_MD_WARPS][TG_MD_CLUSTER];
  float4* atoms = shared[threadIdx.x / 32];
  const uint32_t cluster = blockIdx.x * TG_MD_WARPS + threadIdx.x / 32, lane = threadIdx.x % 32;
  const uint32_t* from = v.list[0] + (size_t)cluster * v.row_room[0] + lane;
  const uint32_t clusters = v.totals->home_clusters;
  bool with_halo = false;
  uint32_t entry[2] = {from[0], from[32]}, next[2];
  const uint32_t count = cluster < clusters ? v.count[0][cluster] : 0;
  load_entries(from, 64, count, next);
  tg_launch_wait(); /* the search's list is older than the kernel ahead, positions are its */
  tg_launch_next();
  if (MANY && views.peers.card_count > 1) tg_md_await_positions(views);
  const uint4 centre = v.centre[cluster];
  if (lane < TG_MD_CLUSTER) atoms[lane] = load_atom(c, v, cluster, centre, centre.w & 0xFF, lane);
  __syncwarp();
  row_writer w = {v.list[1] + (size_t)cluster * v.row_room[1], 0, v.row_room[1]};
  uint4 x[2] = {v.x[count > 0 ? entry[0] >> 8 : 0], v.x[count > 32 ? entry[1] >> 8 : 0]};
  for (uint32_t at = 0; at < count; at += 64) {
    const uint4 x_now[2] = {x[0], x[1]};
    const uint32_t now[2] = {entry[0], at + 32 < count ? entry[1] : 0};
    if (at + 64 < count) {
      x[0] = v.x[next[0] >> 8];
      x[1] = v.x[next[1] >> 8];
    }
    entry[0] = next[0];
    entry[1] = next[1];
    load_entries(from, at + 128, count, next);
    float distance2[2];
    least_distances2(c, atoms, centre, x_now, distance2);
#pragma unroll
    for (int i = 0; i < 2; i++) {
      const bool keep =
          (now[i] & 0xFF) != 0 && distance2[i] < c.inner_radius * c.inner_radius * ROUNDED;
      with_halo = with_halo || (MANY && keep && now[i] >> 8 >= clusters * TG_MD_CLUSTER);
      append(w, keep, now[i]);
    }
  }
  const uint32_t kept = finish(v, w, cluster);
  with_halo = MANY && __any_sync(~0U, with_halo);
  if (lane == 0 && cluster < clusters)
    v.count[1][cluster] = kept | (with_halo ? TG_MD_ROW_WAITS : 0);
}

static dim3 rows(const tg_device_md* md) {
  return dim3(md->views.item[0].row_capacity / TG_MD_WARPS, 1, (unsigned)md->domain_count);
}

tg_status tg_md_queue_list(tg_device_md* md) {
  if (tg_md_is_many(md))
    search<true><<<rows(md), THREADS, 0, md->stream>>>(md->views);
  else
    search<false><<<rows(md), THREADS, 0, md->stream>>>(md->views);
  return tg_md_queued(md, "searching pairs");
}

tg_status tg_md_queue_prune(tg_device_md* md, bool early) {
  return tg_launch(md, tg_md_is_many(md) ? prune<true> : prune<false>, rows(md), THREADS, 0,
                   md->stream, early, "pruning the pair list", md->views);
}
