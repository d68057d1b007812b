/* SPDX-License-Identifier: Apache-2.0 */
/* From owners of atoms to lists of what each domain moves and computes: filter and fill in one
 * pass, as no sum depends on the order. A domain owns a group with its first atom, and computes the
 * interactions of which any atom is its own. */
#include "md/cuda/step.cuh"

enum { THREADS = TG_STEP_THREADS };

/* Places in a list for the lanes that want one. Whole warps call. */
static __device__ __forceinline__ uint32_t claim(uint32_t* cursor, bool want) {
  const unsigned all = __ballot_sync(~0U, want);
  uint32_t at = 0;
  if (threadIdx.x % 32 == 0 && all != 0) at = atomicAdd(cursor, (uint32_t)__popc(all));
  return __shfl_sync(~0U, at, 0) + __popc(all & ((1U << threadIdx.x % 32) - 1));
}

static __device__ __forceinline__ bool is_home(const tg_md_view& v, int atom) {
  return atom >= 0 && v.owner[atom] == v.domain;
}

static __device__ void list_water(const tg_md_view& v, const tg_step_view& s,
                                  const tg_step_home& home, uint32_t i) {
  const int4 water = i < s.water_count ? s.water[i] : make_int4(-1, -1, -1, 0);
  const bool own = is_home(v, water.x);
  const uint32_t at = claim(&home.count->group[0], own);
  if (own) home.water[at] = water;
}

/* A lane of a group; its first lane claims. */
static __device__ void list_group(const tg_md_view& v, const tg_step_view& s,
                                  const tg_step_home& home, int width, uint32_t i) {
  const uint32_t lanes = 4U << width, group = i / lanes, lane = i % lanes;
  const tg_step_groups& all = s.groups[width];
  const bool own = group < all.count && is_home(v, all.atom[group * lanes]);
  const uint32_t mine = claim(&home.count->group[1 + width], own && lane == 0);
  const uint32_t at = __shfl_sync(~0U, mine, (int)(threadIdx.x % 32 / lanes * lanes));
  if (!own) return;
  home.atom[width][at * lanes + lane] = all.atom[i];
  if (lane == 0) home.table[width][at] = all.table[group];
}

static __device__ void list_single(const tg_md_view& v, const tg_step_view& s,
                                   const tg_step_home& home, uint32_t i) {
  const int atom = i < s.single_count ? s.single[i] : -1;
  const bool own = is_home(v, atom);
  const uint32_t at = claim(&home.count->group[TG_DEVICE_WIDTHS + 1], own);
  if (own) home.single[at] = atom;
}

/* A warp's interactions are of one kind. */
static __device__ void list_item(const tg_md_view& v, const tg_step_view& s,
                                 const tg_step_home& home, uint32_t i) {
  if (i >= s.kind_start[TG_DEVICE_KINDS]) return;
  int kind = 0;
  for (int k = 1; k < TG_DEVICE_KINDS; k++) kind += i >= s.kind_start[k];
  const int4 atom = s.item[i];
  const bool own =
      is_home(v, atom.x) || is_home(v, atom.y) || is_home(v, atom.z) || is_home(v, atom.w);
  const uint32_t at = claim(&home.count->kind[kind], own);
  if (own) home.item[s.kind_start[kind] + at] = (int)i;
}

/* From owners to lists. Launch: blocks as the update of one domain has them, then interactions;
 * bound by memory. */
static __global__ void __launch_bounds__(THREADS)
    list_homes(const __grid_constant__ tg_md_views views, const __grid_constant__ tg_step_view s,
               const __grid_constant__ tg_step_homes homes) {
  const tg_md_view& v = views.item[blockIdx.z];
  const tg_step_home& home = homes.item[blockIdx.z];
  const uint32_t* first = s.first_block;
  int part = 0;
  while (part < TG_DEVICE_WIDTHS + 2 && blockIdx.x >= first[part + 1]) part++;
  const uint32_t i = (blockIdx.x - first[part]) * THREADS + threadIdx.x;
  if (part == 0)
    list_water(v, s, home, i);
  else if (part <= TG_DEVICE_WIDTHS)
    list_group(v, s, home, part - 1, i);
  else if (part == TG_DEVICE_WIDTHS + 1)
    list_single(v, s, home, i);
  else
    list_item(v, s, home, i);
}

/* Where kinds begin, in whole warps, and whether all has room. Launch: a thread a domain. */
static __global__ void end_homes(const __grid_constant__ tg_md_views views,
                                 const __grid_constant__ tg_step_homes homes) {
  const tg_md_view& v = views.item[blockIdx.z];
  tg_step_home_counts* c = homes.item[blockIdx.z].count;
  bool full = false;
  for (int part = 0; part < TG_DEVICE_WIDTHS + 2; part++) {
    const bool wide = part > 0 && part <= TG_DEVICE_WIDTHS;
    const uint32_t threads = c->group[part] << (wide ? 1 + part : 0);
    full = full || threads > (homes.first_block[part + 1] - homes.first_block[part]) * THREADS;
  }
  uint32_t start = 0;
  for (int k = 0; k < TG_DEVICE_KINDS; k++) {
    c->kind_start[k] = start;
    start += (c->kind[k] + TG_DEVICE_WARP - 1) / TG_DEVICE_WARP * TG_DEVICE_WARP;
  }
  c->kind_start[TG_DEVICE_KINDS] = start;
  full = full || start > homes.item_room[1] ||
         c->kind_start[TG_DEVICE_EXCLUDED_RIGID] > homes.item_room[0];
  if (full) atomicOr(v.trouble, TG_MD_DOMAIN_FULL);
  /* without clusters atoms have no slots: nothing moves any more */
  if (full || (*(volatile uint32_t*)v.trouble & TG_MD_DOMAIN_FULL) != 0) memset(c, 0, sizeof *c);
}

tg_status tg_step_queue_homes(const tg_device_md* md, const tg_step_view* s,
                              const tg_step_homes* homes) {
  const unsigned z = (unsigned)md->domain_count;
  const unsigned blocks =
      s->first_block[TG_DEVICE_WIDTHS + 2] + tg_md_blocks(s->kind_start[TG_DEVICE_KINDS], THREADS);
  /* counts of a card's domains lie side by side */
  TG_TRY(tg_cuda_status(
      cudaMemsetAsync(homes->item[0].count, 0, z * sizeof(tg_step_home_counts), md->stream),
      md->device, "clearing counts"));
  list_homes<<<dim3(blocks, 1, z), THREADS, 0, md->stream>>>(md->views, *s, *homes);
  end_homes<<<dim3(1, 1, z), 1, 0, md->stream>>>(md->views, *homes);
  return tg_md_queued(md, "listing what domains own");
}
