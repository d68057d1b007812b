/* SPDX-License-Identifier: Apache-2.0 */
/* The dense reduction: nothing but two vectors is read, so adding is the limit, that is shared
 * memory: a sum of each lane is read and written by 2 x 2 passes over the banks, 8 pairs a clock
 * and multiprocessor.
 *
 *   private  copies of the sums of a warp, as those of motif/cuda/private.cu
 *   atomic   an update in memory by each pair */
#include "motif/cuda/private.cuh"

/* A tile of pairs is a warp's: eight columns of each lane, in registers, and so many rows. */
enum { TILE_ROWS = 256, LANE_COLUMNS = 8, TILE_COLUMNS = 32 * LANE_COLUMNS };

typedef struct lane_columns {
  uint32_t q[LANE_COLUMNS];
  double y[LANE_COLUMNS];
  uint32_t there; /* bit k: column k is one */
} lane_columns;

static __device__ __forceinline__ void load_columns(const tg_dense& d, size_t first, int lane,
                                                    lane_columns* c) {
  c->there = 0;
#pragma unroll
  for (int k = 0; k < LANE_COLUMNS; k++) {
    const size_t at = first + 32 * k + lane;
    const bool there = at < d.columns;
    c->q[k] = there ? d.q[at] : 0;
    c->y[k] = there ? d.y[at] : 0;
    c->there |= (uint32_t)there << k;
  }
}

/* take(bins, values) for each row of each tile of the warp, by all its lanes together. Where a lane
 * has no column its value is -0.0, whose addition changes nothing. */
template <class TAKE>
static __device__ __forceinline__ void each_row(const tg_dense& d, TAKE take) {
  const int lane = threadIdx.x % 32;
  const size_t warp = ((size_t)blockIdx.x * blockDim.x + threadIdx.x) / 32;
  const size_t warps = (size_t)gridDim.x * blockDim.x / 32;
  const size_t across = (d.columns + TILE_COLUMNS - 1) / TILE_COLUMNS;
  const size_t tiles = across * ((d.rows + TILE_ROWS - 1) / TILE_ROWS);
  for (size_t tile = warp; tile < tiles; tile += warps) {
    const size_t begin = tile / across * TILE_ROWS;
    const size_t end = begin + TILE_ROWS < d.rows ? begin + TILE_ROWS : d.rows;
    lane_columns c;
    load_columns(d, tile % across * TILE_COLUMNS, lane, &c);
    for (size_t first = begin; first < end; first += 32) {
      const int rows = (int)(end - first < 32 ? end - first : 32);
      const uint32_t my_p = lane < rows ? d.p[first + lane] : 0;
      const double my_x = lane < rows ? d.x[first + lane] : 0;
      for (int r = 0; r < rows; r++) {
        const uint32_t p = __shfl_sync(~0u, my_p, r);
        const double x = __shfl_sync(~0u, my_x, r);
        uint32_t bin[LANE_COLUMNS];
        double value[LANE_COLUMNS];
#pragma unroll
        for (int k = 0; k < LANE_COLUMNS; k++) {
          const uint32_t sum = p + c.q[k];
          bin[k] = sum >= d.m ? sum - d.m : sum;
          value[k] = c.there >> k & 1 ? x * c.y[k] : -0.0;
        }
        take(bin, value, c.there);
      }
    }
  }
}

template <int COPIES>
static __global__ void __launch_bounds__(32 * BLOCK_WARPS)
    dense_copies(const __grid_constant__ tg_dense d, double* partial) {
  extern __shared__ double sums[];
  const int warp = threadIdx.x / 32, warps = blockDim.x / 32, lane = threadIdx.x % 32;
  for (uint32_t i = threadIdx.x; i < d.m * COPIES * warps; i += blockDim.x) sums[i] = 0;
  __syncthreads();
  double* mine = sums + (size_t)warp * d.m * COPIES + lane % COPIES;
  each_row(d, [&](const uint32_t(&bin)[LANE_COLUMNS], const double(&value)[LANE_COLUMNS],
                  uint32_t) { add_copies_in_turns<COPIES, LANE_COLUMNS>(mine, bin, value, lane); });
  __syncthreads();
  join_block<COPIES>(sums, d.m, partial + (size_t)blockIdx.x * d.m);
}

static __global__ void __launch_bounds__(256) dense_atomic(const __grid_constant__ tg_dense d) {
  each_row(d, [&](const uint32_t(&bin)[LANE_COLUMNS], const double(&value)[LANE_COLUMNS],
                  uint32_t there) {
#pragma unroll
    for (int k = 0; k < LANE_COLUMNS; k++)
      if (there >> k & 1) atomicAdd(d.sums + bin[k], value[k]);
  });
}

template <int COPIES>
static tg_status queue_copies(const tg_dense* what) {
  const plan p = plan_of((size_t)what->m * COPIES * sizeof(double));
  TG_TRY(allow_shared((const void*)dense_copies<COPIES>));
  dense_copies<COPIES><<<p.blocks, 32 * p.warps, p.shared>>>(*what, (double*)what->scratch);
  join_partials<<<what->m, JOIN_THREADS>>>(p.blocks, what->m, (const double*)what->scratch,
                                           what->sums);
  return tg_cuda_queued("a dense reduction");
}

static tg_status dense_private(const tg_dense* what) {
  switch (copies_of_private(what->m)) {
    case 32: return queue_copies<32>(what);
    case 16: return queue_copies<16>(what);
    case 8: return queue_copies<8>(what);
    default: return queue_copies<4>(what);
  }
}

static size_t scratch_private(const tg_dense* what) {
  return tg_cuda_scratch_private(0, what->m, 0);
}

static tg_status reduce_atomic(const tg_dense* what) {
  TG_TRY(tg_cuda_zero(what->sums, what->m * sizeof(double)));
  dense_atomic<<<(unsigned)tg_cuda_multiprocessors() * 8, 256>>>(*what);
  return tg_cuda_queued("a dense reduction");
}

extern const tg_dense_version tg_cuda_denses[] = {
    {"private", true, tg_cuda_refuses_private, scratch_private, dense_private},
    {"atomic", false, NULL, NULL, reduce_atomic},
    {NULL, false, NULL, NULL, NULL},
};
