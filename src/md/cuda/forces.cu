/* SPDX-License-Identifier: Apache-2.0 */
/* Pair forces: Lennard-Jones plus reaction field (nonbonded.h) of the pairs in the pruned list.
 *
 * A warp has a row: an atom of the list in each lane, and with it all 8 atoms of the row's cluster,
 * so that the force on a lane's atom needs no exchange between lanes; the forces on the 8 stay in
 * registers to the end of the row, where the lanes' sums are added once. Atoms with LJ come first
 * in a cluster: where there are at most 4, the other 4 skip it, hydrogens of water for the most
 * part.
 *
 * In shared memory a warp has its cluster's atoms, and LJ parameters of each with every type, in a
 * row of 80 bytes a type, so that one 16-byte load serves two pairs. Everything that a force is
 * made of is scaled beforehand, so that sums come out in units of TG_MD_FORCE_UNITS.
 *
 * Cost: some 210 to 235 instructions for 8 pairs a lane, and 300 a row. */
#include <limits.h>

#include <algorithm>

#include "md/cuda/bonded.cuh"
#include "md/cuda/domains.cuh"
#include "md/cuda/launch.cuh"

enum { THREADS = 32 * TG_MD_WARPS, LJ_FEW = 4, ATOM_BYTES = TG_MD_CLUSTER * sizeof(float4) };

typedef struct row_forces {
  float x[TG_MD_CLUSTER], y[TG_MD_CLUSTER], z[TG_MD_CLUSTER];
} row_forces;

/* A lane's sums, in units of force. */
typedef struct row_energies {
  float lj, coulomb, virial[6];
  int pairs;
} row_energies;

/* What a warp works on: addresses are in shared memory. */
typedef struct row_place {
  uint32_t cluster, count;
  uint32_t home_slots; /* of many domains: halo atoms are beyond */
  uint4 centre;
  uint32_t atoms; /* float4[8]: relative to the centre, nm; charge in units of force */
  uint32_t lj;
} row_place;

static __device__ __forceinline__ float inverse_root(float a) {
  float out;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(out) : "f"(a));
  return out;
}

static __device__ __forceinline__ float4 load_shared(uint32_t address) {
  float4 out;
  asm("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
      : "=f"(out.x), "=f"(out.y), "=f"(out.z), "=f"(out.w)
      : "r"(address));
  return out;
}

/* As load_shared, in each turn of a loop: kept in registers, the 8 atoms would cost a fifth of the
 * warps. */
static __device__ __forceinline__ float4 load_shared_again(uint32_t address) {
  float4 out;
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(out.x), "=f"(out.y), "=f"(out.z), "=f"(out.w)
               : "r"(address));
  return out;
}

static __device__ __forceinline__ void add_force(const tg_md_view& v, uint32_t slot, float x,
                                                 float y, float z) {
  tg_md_add_force(v, slot, __float2int_rn(x), __float2int_rn(y), __float2int_rn(z));
}

/* Energies and virial of one pair. scale: the force over the distance. share: 1, or 1/2 where the
 * other half is in another domain's sums; pairs: 1, or of many domains in halves. */
static __device__ __forceinline__ void add_pair(const tg_md_constants& c, float2 lj, float inverse6,
                                                float coulomb, float scale, const float d[3],
                                                float share, int pairs, row_energies* e) {
  e->lj += share * ((1 / 12.F) * lj.y * (inverse6 * inverse6 - c.edge6 * c.edge6) -
                    (1 / 6.F) * lj.x * (inverse6 - c.edge6));
  e->coulomb += share * coulomb;
  scale *= share;
  e->virial[0] += scale * d[0] * d[0];
  e->virial[1] += scale * d[1] * d[1];
  e->virial[2] += scale * d[2] * d[2];
  e->virial[3] += scale * d[0] * d[1];
  e->virial[4] += scale * d[0] * d[2];
  e->virial[5] += scale * d[1] * d[2];
  e->pairs += pairs;
}

/* One atom of the list, p with charge, with the row's atoms, of which the first LJ have that. lj:
 * the table's row for its type. on: the force on it. home: it is this domain's. */
template <bool ENERGY, int LJ, bool MANY>
static __device__ __forceinline__ void pairs_of(const tg_md_constants& c, const row_place& r,
                                                const float4& p, uint32_t lj, uint32_t mask,
                                                bool home, row_forces& f, float (&on)[3],
                                                row_energies& e) {
  float4 two = {};
#pragma unroll
  for (int k = 0; k < TG_MD_CLUSTER; k++) {
    const float4 a = load_shared_again(r.atoms + k * (uint32_t)sizeof(float4));
    const float d[3] = {a.x - p.x, a.y - p.y, a.z - p.z};
    const float r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
    const float inverse = inverse_root(r2), inverse2 = inverse * inverse, qq = a.w * p.w;
    float scale = qq * (inverse * inverse2 - c.rf_2k), inverse6 = 0;
    float2 own = {};
    if (k < LJ) {
      if (k % 2 == 0) two = load_shared(lj + k * (uint32_t)sizeof(float2));
      own = k % 2 == 0 ? make_float2(two.x, two.y) : make_float2(two.z, two.w);
      inverse6 = inverse2 * inverse2 * inverse2;
      scale += (own.y * inverse6 - own.x) * (inverse6 * inverse2);
    }
    if (r2 < c.cutoff2 && (mask >> k & 1)) {
      f.x[k] += scale * d[0];
      f.y[k] += scale * d[1];
      f.z[k] += scale * d[2];
      on[0] -= scale * d[0];
      on[1] -= scale * d[1];
      on[2] -= scale * d[2];
      if (ENERGY)
        add_pair(c, own, inverse6, qq * (inverse + c.rf_k * r2 - c.rf_c), scale, d,
                 !MANY || home ? 1.F : 0.5F, MANY && home ? 2 : 1, &e);
    }
  }
}

/* What a row begins with: the lane's first two entries, and the first's atom. */
typedef struct row_start {
  uint32_t entry, next;
  uint4 x;
  uint32_t type_row;
} row_start;

/* A warp's row. Atoms are loaded one turn ahead, entries two. */
template <bool ENERGY, int LJ, bool MANY>
static __device__ __forceinline__ void pairs_of_row(const tg_md_constants& c, const tg_md_view& v,
                                                    const row_place& r, const row_start& start,
                                                    row_forces& f, row_energies& e) {
  const uint32_t* list = v.list[1] + (size_t)r.cluster * v.row_room[1] + threadIdx.x % 32;
  uint32_t entry = start.entry, next = start.next, type_row = start.type_row;
  uint4 x = start.x;
  for (uint32_t at = 0; at < r.count; at += 32) {
    const float4 p =
        make_float4(tg_md_apart(x.x, r.centre.x, c.nm[0]), tg_md_apart(x.y, r.centre.y, c.nm[1]),
                    tg_md_apart(x.z, r.centre.z, c.nm[2]), __uint_as_float(x.w));
    const uint32_t lj = r.lj + type_row, now = entry;
    if (at + 32 < r.count) {
      x = v.x[next >> 8];
      type_row = v.row[next >> 8];
    }
    entry = next;
    if (at + 64 < r.count) next = list[at + 64];
    float on[3] = {0, 0, 0};
    const bool home = !MANY || now >> 8 < r.home_slots;
    pairs_of<ENERGY, LJ, MANY>(c, r, p, lj, now, home, f, on, e);
    if (home) add_force(v, now >> 8, on[0], on[1], on[2]);
  }
}

/* One step of the sums over lanes: of 2 N values a lane gives half to the lane `apart` from it. */
template <int N>
static __device__ __forceinline__ void halve(float* values, int apart) {
  const bool upper = (threadIdx.x & apart) != 0;
#pragma unroll
  for (int i = 0; i < N; i++) {
    const float mine = upper ? values[N + i] : values[i], other = upper ? values[i] : values[N + i];
    values[i] = mine + __shfl_xor_sync(~0U, other, apart);
  }
}

static __device__ __forceinline__ void sum_lanes(float* values) {
  halve<4>(values, 16);
  halve<2>(values, 8);
  halve<1>(values, 4);
  values[0] += __shfl_xor_sync(~0U, values[0], 2);
  values[0] += __shfl_xor_sync(~0U, values[0], 1);
}

/* Adds the lanes' sums, always in the same order, and these to the forces: lanes 4 k .. 4 k + 3
 * end with atom k. */
static __device__ __forceinline__ void add_row(const tg_md_view& v, uint32_t cluster,
                                               row_forces& f) {
  sum_lanes(f.x);
  sum_lanes(f.y);
  sum_lanes(f.z);
  const uint32_t lane = threadIdx.x % 32;
  if (lane % 4 == 0) add_force(v, cluster * TG_MD_CLUSTER + lane / 4, f.x[0], f.y[0], f.z[0]);
}

static __device__ void add_energy(int64_t* to, double value) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(~0U, value, step);
  if (threadIdx.x % 32 == 0)
    atomicAdd((unsigned long long*)to, (unsigned long long)__double2ll_rn(value));
}

static __device__ void add_energies(const tg_md_view& v, const row_energies& e) {
  const double units = TG_MD_ENERGY_UNITS / TG_MD_FORCE_UNITS;
  int64_t* to = v.energy + blockIdx.x % TG_MD_ENERGY_ROWS * TG_MD_ENERGY_TERMS;
  add_energy(to, e.lj * units);
  add_energy(to + 1, e.coulomb * units);
  for (int i = 0; i < 6; i++) add_energy(to + 2 + i, -0.5 * e.virial[i] * units);
  add_energy(to + 8, e.pairs);
}

/* The cluster's atoms, x that of number lane % 8, and the LJ parameters of this atom with all types
 * into the warp's shared memory. */
static __device__ __forceinline__ void fill_tables(const tg_md_constants& c, const uint4& centre,
                                                   const uint4& x, uint32_t type_row, char* table) {
  const uint32_t lane = threadIdx.x % 32;
  ((float4*)table)[lane % TG_MD_CLUSTER] =
      make_float4(tg_md_apart(x.x, centre.x, c.nm[0]), tg_md_apart(x.y, centre.y, c.nm[1]),
                  tg_md_apart(x.z, centre.z, c.nm[2]), __uint_as_float(x.w) * c.coulomb_scale);
  const float2* own = c.lj + type_row / TG_MD_ROW_BYTES * c.type_count;
  char* to = table + ATOM_BYTES + lane % TG_MD_CLUSTER * sizeof(float2);
  for (uint32_t type = lane / TG_MD_CLUSTER; type < c.type_count; type += 32 / TG_MD_CLUSTER)
    *(float2*)(to + type * TG_MD_ROW_BYTES) = own[type];
  __syncwarp();
}

/* Blocks of bonded interactions, spread among the others: their latencies want company. */
typedef struct bonded_share {
  uint32_t blocks, period, end; /* a block in each period, while there are any; interactions */
  bool pruning_ahead;           /* the list is the kernel's ahead, too */
} bonded_share;

/* From positions and the pruned list to forces (and energies). Launch: a warp a row; 6 blocks a
 * multiprocessor; bound by instructions issued. What a row begins with is loaded before
 * it is known whether there is one, so that latencies overlap. */
template <bool ENERGY, bool MANY, bool STAMPED = false>
static __global__ void __launch_bounds__(THREADS, ENERGY ? 4 : TG_MD_FORCE_WARPS / TG_MD_WARPS)
    forces(const __grid_constant__ tg_md_views views, const __grid_constant__ tg_step_view steps,
           const __grid_constant__ bonded_share bonded,
           const __grid_constant__ tg_step_homes_of<MANY> homes) {
  const tg_md_constants& c = views.all;
  const tg_md_view& v = views.item[blockIdx.z];
  const uint32_t turn = blockIdx.x / bonded.period;
  const bool is_bonded = turn < bonded.blocks && blockIdx.x == turn * bonded.period;
  if (is_bonded) {
    tg_launch_wait();
    tg_launch_next();
    if (MANY && views.peers.card_count > 1) tg_md_await_positions(views);
    const uint64_t since = STAMPED ? tg_md_clock_ns() : 0;
    if constexpr (MANY)
      tg_step_bonded_home<ENERGY>(v, steps, homes.item[blockIdx.z], turn * THREADS + threadIdx.x,
                                  bonded.end);
    else
      tg_step_bonded<ENERGY>(v, steps, turn * THREADS + threadIdx.x, bonded.end);
    if (STAMPED && threadIdx.x % 32 == 0)
      tg_md_worked(views, TG_STAMP_BONDED, TG_MD_WORK_BONDED, since);
    return;
  }
  if (bonded.pruning_ahead) tg_launch_wait();
  extern __shared__ __align__(16) char tables[];
  const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  row_place r;
  r.cluster = (blockIdx.x - min(turn + 1, bonded.blocks)) * TG_MD_WARPS + warp;
  const uint32_t clusters = v.totals->home_clusters;
  r.home_slots = clusters * TG_MD_CLUSTER;
  const bool has_row = r.cluster < clusters;
  if (has_row) r.cluster = v.order[r.cluster];
  const uint32_t* list = v.list[1] + (size_t)r.cluster * v.row_room[1] + lane;
  const uint32_t own = r.cluster * TG_MD_CLUSTER + lane % TG_MD_CLUSTER;
  const uint32_t type_row = v.row[own];
  r.centre = v.centre[r.cluster];
  r.count = v.count[1][r.cluster];
  row_start start = {list[0], list[32]};
  if (!has_row) r.count = 0;
  /* one block waits for all cards whatever it has to do, so that no card is a step ahead */
  const bool waits = MANY && ((r.count & TG_MD_ROW_WAITS) != 0 || blockIdx.x == gridDim.x - 1);
  r.count &= ~TG_MD_ROW_WAITS;
  const uint32_t slot = r.count > 0 ? start.entry >> 8 : 0;
  start.type_row = v.row[slot];
  tg_launch_wait(); /* lists are older than an update ahead, positions are its */
  tg_launch_next();
  if (STAMPED && threadIdx.x == 0) tg_md_stamp(views, TG_STAMP_BEGIN);
  if (waits && views.peers.card_count > 1) {
    const bool had_come = STAMPED && lane == 0 && tg_md_positions_have_come(views);
    const uint64_t looked = STAMPED ? tg_md_clock_ns() : 0;
    tg_md_await_positions(views);
    if (STAMPED && lane == 0) tg_md_stamp_wait(views, looked, had_come);
  }
  const uint64_t since = STAMPED ? tg_md_clock_ns() : 0;
  const uint4 x = v.x[own];
  start.x = v.x[slot];
  char* table = tables + warp * (ATOM_BYTES + c.type_count * TG_MD_ROW_BYTES);
  fill_tables(c, r.centre, x, type_row, table);
  if (r.count == 0) return;
  r.atoms = (uint32_t)__cvta_generic_to_shared(table);
  asm volatile("" : "+r"(r.atoms)); /* or its making is repeated in each turn */
  r.lj = r.atoms + ATOM_BYTES;
  row_forces f = {};
  row_energies e = {};
  if (r.centre.w >> 8 <= LJ_FEW)
    pairs_of_row<ENERGY, LJ_FEW, MANY>(c, v, r, start, f, e);
  else
    pairs_of_row<ENERGY, TG_MD_CLUSTER, MANY>(c, v, r, start, f, e);
  add_row(v, r.cluster, f);
  if (ENERGY) add_energies(v, e);
  if (STAMPED && lane == 0)
    tg_md_worked(views, waits ? TG_STAMP_HALO : TG_STAMP_LOCAL,
                 waits ? TG_MD_WORK_HALO : TG_MD_WORK_LOCAL, since);
}

static size_t shared_bytes(const tg_device_md* md) {
  return TG_MD_WARPS * (ATOM_BYTES + (size_t)md->views.all.type_count * TG_MD_ROW_BYTES);
}

tg_status tg_md_prepare_forces(tg_device_md* md) {
  const int device = md->device;
  const size_t bytes = shared_bytes(md);
  int most = 0;
  TG_TRY(
      tg_cuda_status(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
                     device, "asking for its shared memory"));
  if (bytes > (size_t)most)
    return tg_fail(TG_ERR_INPUT,
                   "GPU %d: %u atom types; its multiprocessors have room for the parameters of %d; "
                   "use --backend omp",
                   device, md->views.all.type_count,
                   (most / TG_MD_WARPS - (int)ATOM_BYTES) / TG_MD_ROW_BYTES);
  for (const void* kernel :
       {(const void*)forces<true, false>, (const void*)forces<false, false>,
        (const void*)forces<true, true>, (const void*)forces<false, true>,
        (const void*)forces<false, false, true>, (const void*)forces<false, true, true>})
    TG_TRY(tg_cuda_status(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes),
        device, "asking for shared memory"));
  return TG_OK;
}

/* Interactions up to which kind there is room for; of many domains `end` is a kind. */
static bonded_share share_of(const tg_device_md* md, const tg_step_view* steps,
                             const tg_step_homes* homes, bool full) {
  const int kind = full ? TG_DEVICE_KINDS : TG_DEVICE_EXCLUDED_RIGID;
  if (!tg_md_is_many(md))
    return {tg_md_blocks(steps->kind_start[kind], THREADS), 1, steps->kind_start[kind], false};
  return {homes ? tg_md_blocks(homes->item_room[full], THREADS) : 0, 1, (uint32_t)kind, false};
}

tg_status tg_step_queue_forces(const tg_device_md* md, const tg_step_view* steps,
                               const tg_step_homes* homes, int launch, bool energy, bool full) {
  const bool early = launch != TG_STEP_ALONE, many = tg_md_is_many(md);
  bonded_share share = share_of(md, steps, homes, full);
  share.pruning_ahead = launch == TG_STEP_BEHIND_PRUNING;
  const uint32_t blocks = share.blocks + md->views.item[0].row_capacity / TG_MD_WARPS;
  /* of many domains not all the others that there is room for have rows */
  const uint32_t within = many ? std::max(share.blocks, blocks / 4 * 3) : blocks;
  if (share.blocks > 0) share.period = within / share.blocks;
  const dim3 grid(blocks, 1, (unsigned)md->domain_count);
  const char* what = "computing forces";
  if (!many) {
    auto* alone = energy        ? forces<true, false>
                  : md->stamped ? forces<false, false, true>
                                : forces<false, false>;
    return tg_launch(md, alone, grid, THREADS, shared_bytes(md), md->stream, early, what, md->views,
                     *steps, share, tg_step_homes_of<false>{});
  }
  const tg_step_homes none = {};
  auto* kernel = energy        ? forces<true, true>
                 : md->stamped ? forces<false, true, true>
                               : forces<false, true>;
  return tg_launch(md, kernel, grid, THREADS, shared_bytes(md), md->stream, early, what, md->views,
                   *steps, share, homes ? *homes : none);
}

tg_status tg_md_queue_forces(tg_device_md* md, bool want_energy) {
  const tg_step_view none = {};
  return tg_step_queue_forces(md, &none, nullptr, TG_STEP_ALONE, want_energy, want_energy);
}
