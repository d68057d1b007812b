/* SPDX-License-Identifier: Apache-2.0 */
/* The order in which the forces take rows, made once in the life of a search's list: lengths hardly
 * change meanwhile. A sort by counting, in blocks of rows. */
#include "md/cuda/state.cuh"

enum {
  LENGTHS = 32,   /* turns of a row that are told apart */
  SEGMENT = 8192, /* rows of a block */
  ARRANGE_THREADS = 512,
  MOST_BY_LENGTH = 65536 /* rows of one domain */
};

/* A row's place among others: those without halo atoms first, so that those are on their way
 * meanwhile; longer ones first, so that the four of a block end together, and the last ones soon.
 */
static __device__ __forceinline__ uint32_t class_of(uint32_t count) {
  const uint32_t turns = min((count & ~TG_MD_ROW_WAITS) / 32, LENGTHS - 1U);
  return LENGTHS - 1 - turns + ((count & TG_MD_ROW_WAITS) != 0 ? LENGTHS : 0);
}

/* From the rows of a first pruning to the order in which the forces take them. Launch: a block for
 * SEGMENT rows, within which they are sorted: what is near stays near. Where one domain has so many
 * rows that their ends do not matter, they stay as they are. Bound by latency. */
static __global__ void __launch_bounds__(ARRANGE_THREADS)
    arrange(const __grid_constant__ tg_md_views views) {
  const tg_md_view& v = views.item[blockIdx.z];
  __shared__ uint32_t place[2 * LENGTHS];
  const uint32_t clusters = v.totals->home_clusters, first = blockIdx.x * SEGMENT;
  const uint32_t end = min(first + SEGMENT, clusters), lane = threadIdx.x;
  if (first >= clusters) return;
  if (v.sheets == 1 && clusters > MOST_BY_LENGTH) {
    for (uint32_t row = first + lane; row < end; row += ARRANGE_THREADS) v.order[row] = row;
    return;
  }
  if (lane < 2 * LENGTHS) place[lane] = 0;
  __syncthreads();
  for (uint32_t row = first + lane; row < end; row += ARRANGE_THREADS)
    atomicAdd(&place[class_of(v.count[1][row])], 1);
  __syncthreads();
  if (lane < 32) { /* lane: a length; sums over longer ones, and where the block's rows go */
    const uint32_t local = place[lane], halo = place[LENGTHS + lane];
    uint32_t locals = local, halos = halo;
    for (uint32_t step = 1; step < 32; step *= 2) {
      const uint32_t a = __shfl_up_sync(~0U, locals, step), b = __shfl_up_sync(~0U, halos, step);
      if (lane >= step) {
        locals += a;
        halos += b;
      }
    }
    unsigned long long before = 0;
    if (lane == 31) {
      const unsigned long long mine = (unsigned long long)halos << 32 | locals;
      before = atomicAdd(&v.totals->rows, mine);
      const unsigned long long all = before + mine;
      if ((uint32_t)all + (uint32_t)(all >> 32) == clusters) v.totals->rows = 0; /* the last */
    }
    before = __shfl_sync(~0U, before, 31);
    const uint32_t all_halos = __shfl_sync(~0U, halos, 31);
    place[lane] = (uint32_t)before + locals - local;
    place[LENGTHS + lane] = clusters - (uint32_t)(before >> 32) - all_halos + halos - halo;
  }
  __syncthreads();
  for (uint32_t row = first + lane; row < end; row += ARRANGE_THREADS)
    v.order[atomicAdd(&place[class_of(v.count[1][row])], 1)] = row;
}

tg_status tg_md_queue_order(tg_device_md* md) {
  const unsigned segments = tg_md_blocks(md->views.item[0].row_capacity, SEGMENT);
  arrange<<<dim3(segments, 1, (unsigned)md->domain_count), ARRANGE_THREADS, 0, md->stream>>>(
      md->views);
  return tg_md_queued(md, "putting rows in order");
}
