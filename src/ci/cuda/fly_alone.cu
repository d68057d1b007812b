/* SPDX-License-Identifier: Apache-2.0 */
/* The part of H that acts on one species alone, times the large blocks of x: a sparse matrix
 * between strings times a dense one.
 *
 * A block of threads holds 32 columns of the dense matrix (species 0: columns of x; species 1:
 * rows) for a strip of the source's strings in shared memory. A warp makes a string of the target,
 * a lane one of the 32: elements and strings are the same for all lanes, x comes from 32
 * neighbouring places. Limit: shared memory, 256 bytes for 32 elements. */
#include "ci/cuda/fly.cuh"

enum {
  WARPS = 32,
  LANES = 32,
  STRIDE = LANES + 1, /* without conflicts along either side */
  BATCH = 8           /* targets of a warp at a time */
};

/* of a strip, and of species 1 what the warps turn */
static size_t shared_bytes(int species) {
  const size_t strip = (size_t)TG_CI_STRIP_HEIGHT * STRIDE;
  return (strip + (species ? WARPS * BATCH * STRIDE : 0)) * sizeof(double);
}

/* tile[i, lane] of strings start ... start + height - 1 */
template <int SPECIES>
static __device__ void load_strip(const tg_fly_strip& item, const double* x, uint64_t stride,
                                  uint32_t start, uint32_t height, double* tile) {
  const uint32_t warp = threadIdx.x / LANES, lane = threadIdx.x % LANES;
  if constexpr (SPECIES == 0) {
    for (uint32_t i = warp; i < height; i += WARPS)
      tile[i * STRIDE + lane] = lane < item.lanes ? x[(start + i) * stride + item.lane + lane] : 0.;
  } else {
    for (uint32_t row = warp; row < LANES; row += WARPS)
      for (uint32_t j = lane; j < height; j += LANES)
        tile[j * STRIDE + row] = row < item.lanes ? x[(item.lane + row) * stride + start + j] : 0.;
  }
}

static __device__ __forceinline__ double sum_entries(const tg_ci_strip_entry* entries,
                                                     uint32_t begin, uint32_t end,
                                                     const double* column, double sum) {
#pragma unroll 4
  for (uint32_t e = begin; e < end; e++) {
    const int4 entry = __ldg((const int4*)entries + e);
    sum += __hiloint2double(entry.y, entry.x) * column[entry.z * STRIDE];
  }
  return sum;
}

/* Eight targets of a warp; y: of the block. fresh: nothing is in y yet. */
template <int SPECIES>
static __device__ void do_batch(const tg_ci_strips& strips, const uint32_t* begin, uint32_t target,
                                const tg_fly_strip& item, const double* tile, double* turn,
                                double* y, uint64_t columns, bool fresh) {
  const uint32_t lane = threadIdx.x % LANES;
  const uint32_t last = target + lane < item.end ? target + lane : item.end;
  const uint32_t at = begin[last];
#pragma unroll
  for (uint32_t r = 0; r < BATCH; r++) {
    const uint32_t from = __shfl_sync(~0u, at, (int)r), to = __shfl_sync(~0u, at, (int)r + 1);
    if (SPECIES == 0) {
      if (target + r >= item.end) return;
      double* out = y + (target + r) * columns + item.lane + lane;
      const bool mine = lane < item.lanes;
      const double sum = !fresh && mine ? *out : 0.;
      const double all = sum_entries(strips.entries, from, to, tile + lane, sum);
      if (mine) *out = all;
    } else {
      turn[r * STRIDE + lane] = sum_entries(strips.entries, from, to, tile + lane, 0.);
    }
  }
  if (SPECIES == 0) return;
  __syncwarp();
#pragma unroll
  for (uint32_t q = 0; q < BATCH; q++) {
    const uint32_t row = q * (LANES / BATCH) + lane / BATCH, r = lane % BATCH;
    if (row < item.lanes && target + r < item.end)
      y[(item.lane + row) * columns + target + r] += turn[r * STRIDE + row];
  }
  __syncwarp();
}

template <int SPECIES>
static __global__ void __launch_bounds__(WARPS* LANES, 1)
    alone_product(const __grid_constant__ tg_fly_view v, const double* __restrict__ x, size_t ldx,
                  double* __restrict__ y, size_t ldy) {
  extern __shared__ double tile[];
  const uint32_t warp = threadIdx.x / LANES, lane = threadIdx.x % LANES;
  double* turn = tile + TG_CI_STRIP_HEIGHT * STRIDE + warp * BATCH * STRIDE;
  const tg_fly_strip item = v.strip_list[SPECIES][blockIdx.x];
  const tg_fly_block block = v.blocks[item.block];
  const tg_ci_strips& strips = v.strips[SPECIES];
  const uint32_t target = SPECIES ? block.b : block.a, size = SPECIES ? block.columns : block.rows;
  x += blockIdx.y * ldx;
  y += blockIdx.y * ldy;
  /* that of the block's first element, which may lie before y's */
  double* of_block = y + (int64_t)(block.offset - v.first);
  bool fresh = SPECIES == 0;
  for (uint32_t l = strips.link_begin[target]; l < strips.link_begin[target + 1]; l++) {
    const tg_ci_strip_link link = strips.links[l];
    const tg_fly_block* source = SPECIES ? tg_fly_block_of(v, block.a, link.source)
                                         : tg_fly_block_of(v, link.source, block.b);
    if (!source) continue;
    for (uint32_t s = 0; s < link.count; s++) {
      const uint32_t start = s * link.height, rest = link.columns - start;
      const uint32_t* begin = strips.begin + link.begin + (uint64_t)s * (size + 1);
      __syncthreads();
      load_strip<SPECIES>(item, x + source->offset, source->columns, start,
                          rest < link.height ? rest : link.height, tile);
      __syncthreads();
      for (uint32_t t = item.target + warp * BATCH; t < item.end; t += WARPS * BATCH)
        do_batch<SPECIES>(strips, begin, t, item, tile, turn, of_block, block.columns, fresh);
      fresh = false;
    }
  }
  if (fresh)
    for (uint32_t t = item.target + warp; t < item.end; t += WARPS)
      if (lane < item.lanes) of_block[(uint64_t)t * block.columns + item.lane + lane] = 0;
}

size_t tg_fly_alone_shared(void) { return shared_bytes(1); }

tg_status tg_fly_alone_prepare(tg_ci_device_fly* fly) {
  TG_TRY(tg_cuda_allow_shared(alone_product<0>, fly->device));
  return tg_cuda_allow_shared(alone_product<1>, fly->device);
}

void tg_fly_queue_alone(tg_ci_device_fly* fly, int species, int k, const double* x, size_t ldx,
                        double* y, size_t ldy) {
  const dim3 grid((unsigned)fly->view.strip_count[species], (unsigned)k);
  if (grid.x == 0) return;
  if (species)
    alone_product<1>
        <<<grid, WARPS * LANES, shared_bytes(1), fly->stream>>>(fly->view, x, ldx, y, ldy);
  else
    alone_product<0>
        <<<grid, WARPS * LANES, shared_bytes(0), fly->stream>>>(fly->view, x, ldx, y, ldy);
}
