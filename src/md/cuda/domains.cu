/* SPDX-License-Identifier: Apache-2.0 */
/* From positions to domains: an atom belongs to the brick in which its group's first atom lies, a
 * function of positions alone. Atoms of a group may stand out of the brick, so how far home atoms
 * reach is found, too: what is within a list radius of that is halo. */
#include "md/cuda/domains.cuh"

enum { THREADS = 256 };

/* One end of where home atoms are: the largest of `value` becomes the word's, if larger. */
static __device__ __forceinline__ void raise(int32_t* word, int32_t value) {
  value = __reduce_max_sync(~0U, value);
  if (threadIdx.x % 32 == 0 && value > *(volatile int32_t*)word) atomicMax(word, value);
}

static __device__ __forceinline__ void lower(int32_t* word, int32_t value) {
  value = __reduce_min_sync(~0U, value);
  if (threadIdx.x % 32 == 0 && value < *(volatile int32_t*)word) atomicMin(word, value);
}

/* From positions to owners and the reach of home atoms. Launch: a thread an atom and domain; bound
 * by memory. */
static __global__ void __launch_bounds__(THREADS)
    owners(const __grid_constant__ tg_md_views views) {
  const tg_md_grid& g = views.grid;
  const tg_md_view& v = views.item[blockIdx.z];
  const uint32_t i = blockIdx.x * THREADS + threadIdx.x;
  bool home = false;
  uint4 x = {};
  if (i < v.atom_count) {
    x = v.atom_x[i];
    const uint32_t first = v.first_of_group ? v.first_of_group[i] : i;
    const uint32_t owner = tg_md_domain_of(g, first == i ? x : v.atom_x[first]);
    home = owner == v.domain;
    /* halo atoms' domains set it after this kernel; other cards' perhaps before (share.cu) */
    if (home && views.peers.card_count == 1) v.send_mask[i] = 0;
    if (blockIdx.z == 0) v.owner[i] = (uint8_t)owner;
  }
  if (!__any_sync(~0U, home)) return;
  const uint32_t at[3] = {x.x, x.y, x.z};
  for (int d = 0; d < 3; d++) {
    const int32_t apart = (int32_t)(at[d] - tg_md_middle_of(g, v.domain, d));
    lower(v.totals->low + d, home ? apart : INT32_MAX);
    raise(v.totals->high + d, home ? apart : INT32_MIN);
  }
}

tg_status tg_md_queue_owners(tg_device_md* md) {
  const dim3 grid(tg_md_blocks(md->views.item[0].atom_count, THREADS), 1,
                  (unsigned)md->domain_count);
  owners<<<grid, THREADS, 0, md->stream>>>(md->views);
  return tg_md_queued(md, "dealing atoms to domains");
}
