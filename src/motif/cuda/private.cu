/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions whose sums belong to a warp, without atomics and in a fixed order, so that the bits
 * are the same each time on one GPU (not on another: the number of warps is the GPU's).
 *
 *   private  the warp has so many copies of all sums, side by side in the banks of shared memory,
 *            and lanes that share a copy take turns. Few sums: a copy for each lane
 *   chunks   as many copies as there is room for, down to one; of the lanes that share a copy only
 *            those with the same bin take turns, which is rare where there are many bins. Beyond
 *            shared memory the copy lies in memory. Any m
 *
 * What limits: an addition reads a sum, adds and writes it, some hundred clocks, before the lane's
 * next one may read it. So four additions of a lane are done at once (add_four), and there are
 * fewer copies for the sake of more warps where m is large. */
#include "motif/cuda/items.cuh"
#include "motif/cuda/private.cuh"

/* partial: [blocks, m] */
template <int COPIES>
static __global__ void __launch_bounds__(32 * BLOCK_WARPS)
    add_copies(const __grid_constant__ tg_reduction r, double* partial) {
  extern __shared__ double sums[];
  const int warp = threadIdx.x / 32, warps = blockDim.x / 32, lane = threadIdx.x % 32;
  for (uint32_t i = threadIdx.x; i < r.m * COPIES * warps; i += blockDim.x) sums[i] = 0;
  __syncthreads();
  double* mine = sums + (size_t)warp * r.m * COPIES + lane % COPIES;
  each_group(r, [&](const item_group& g) {
    add_copies_in_turns<COPIES, GROUP_LANE>(mine, g.bin, g.value, lane);
  });
  __syncthreads();
  join_block<COPIES>(sums, r.m, partial + (size_t)blockIdx.x * r.m);
}

enum { AT_ONCE = 4 }; /* items of a lane whose peers are looked for together */

/* The lanes of which so many lowest bits of their bins are the same, by a vote for each bit. (The
 * instruction that matches whole words takes some 200 clocks for 32 different ones.) */
static __device__ __forceinline__ void find_peers(const uint32_t* bin, int bits,
                                                  uint32_t (&peers)[AT_ONCE]) {
  for (int bit = 0; bit < bits; bit++)
#pragma unroll
    for (int k = 0; k < AT_ONCE; k++) {
      const bool set = bin[k] >> bit & 1;
      const uint32_t votes = __ballot_sync(~0u, set);
      peers[k] &= set ? votes : ~votes;
    }
}

/* partial: [blocks, m], or where the sums are not in shared memory [warps of all blocks, m], which
 * is where they are (one copy). bits: of m - 1. */
template <int COPIES>
static __global__ void __launch_bounds__(32 * BLOCK_WARPS)
    add_ranked(const __grid_constant__ tg_reduction r, double* partial, bool shared, int bits) {
  extern __shared__ double sums[];
  const int warp = threadIdx.x / 32, warps = blockDim.x / 32, lane = threadIdx.x % 32;
  double* of_warp = shared ? sums + (size_t)warp * r.m * COPIES
                           : partial + ((size_t)blockIdx.x * warps + warp) * r.m;
  for (uint32_t i = lane; i < r.m * COPIES; i += 32) of_warp[i] = 0;
  __syncwarp();
  double* mine = of_warp + lane % COPIES;
  uint32_t sharers = 0; /* of the lane's copy */
#pragma unroll
  for (int k = 0; k < 32 / COPIES; k++) sharers |= 1u << (k * COPIES + lane % COPIES);
  const uint32_t below = (1u << lane) - 1;
  each_group(r, [&](const item_group& g) {
#pragma unroll
    for (int first = 0; first < GROUP_LANE; first += AT_ONCE) {
      uint32_t peers[AT_ONCE];
#pragma unroll
      for (int k = 0; k < AT_ONCE; k++) peers[k] = sharers & below;
      if (COPIES < 32) find_peers(g.bin + first, bits, peers);
#pragma unroll
      for (int k = 0; k < AT_ONCE; k++) {
        double* sum = mine + (size_t)g.bin[first + k] * COPIES;
        const double value = g.value[first + k];
        const int rank = __popc(peers[k]);
        if (rank == 0) *sum += value;
        __syncwarp();
        for (int turn = 1; COPIES < 32 && __any_sync(~0u, rank >= turn); turn++) {
          if (rank == turn) *sum += value;
          __syncwarp();
        }
      }
    }
  });
  if (!shared) return;
  __syncthreads();
  join_block<COPIES>(sums, r.m, partial + (size_t)blockIdx.x * r.m);
}

static tg_status join(const tg_reduction* what, size_t rows) {
  join_partials<<<what->m, JOIN_THREADS>>>(rows, what->m, (const double*)what->scratch, what->sums);
  return tg_cuda_queued("a reduction");
}

template <int COPIES>
static tg_status queue_copies(const tg_reduction* what) {
  const plan p = plan_of((size_t)what->m * COPIES * sizeof(double));
  TG_TRY(allow_shared((const void*)add_copies<COPIES>));
  add_copies<COPIES><<<p.blocks, 32 * p.warps, p.shared>>>(*what, (double*)what->scratch);
  return join(what, p.blocks);
}

const char* tg_cuda_refuses_private(uint32_t m) {
  return m > 0 && copies_of_private(m) == 0
             ? "shared memory does not hold four copies for each warp"
             : NULL;
}

static size_t rows_most(void) { return (size_t)tg_cuda_multiprocessors() * MOST_BLOCKS; }

size_t tg_cuda_scratch_private(size_t count, uint32_t m, int threads) {
  (void)count;
  (void)threads;
  return rows_most() * m * sizeof(double);
}

tg_status tg_cuda_reduce_private(const tg_reduction* what) {
  switch (copies_of_private(what->m)) {
    case 32: return queue_copies<32>(what);
    case 16: return queue_copies<16>(what);
    case 8: return queue_copies<8>(what);
    default: return queue_copies<4>(what);
  }
}

/* In memory: as many warps as stay in the second-level cache, and one for each multiprocessor while
 * that takes no more than a gigabyte. */
static plan plan_in_memory(uint32_t m) {
  const size_t bytes = (size_t)m * sizeof(double), cached = (size_t)24 << 20,
               most = (size_t)1 << 30;
  const size_t wanted = (size_t)tg_cuda_multiprocessors();
  size_t warps = cached / bytes;
  if (warps > MOST_WARPS * wanted) warps = MOST_WARPS * wanted;
  if (warps < wanted) warps = wanted;
  if (warps > most / bytes) warps = most / bytes;
  if (warps < 1) warps = 1;
  return {(unsigned)warps, 1, 0};
}

/* Shared memory holds one copy for a few warps; else the sums are in memory. */
static bool chunks_in_shared(uint32_t m) {
  enum { FEW_WARPS = 4 };
  return plan_of((size_t)m * sizeof(double)).warps >= FEW_WARPS;
}

/* One for each lane needs no turns; else warps are worth more than copies. */
static int copies_of_chunks(uint32_t m) {
  int copies = copies_of(m, 32, 32, ENOUGH_WARPS);
  if (copies == 0) copies = copies_of(m, 16, 1, MOST_WARPS);
  return copies > 0 ? copies : 1;
}

static plan plan_of_chunks(uint32_t m) {
  if (!chunks_in_shared(m)) return plan_in_memory(m);
  return plan_of((size_t)m * copies_of_chunks(m) * sizeof(double));
}

size_t tg_cuda_scratch_chunks(size_t count, uint32_t m, int threads) {
  (void)count;
  (void)threads;
  return (size_t)plan_of_chunks(m).blocks * m * sizeof(double);
}

template <int COPIES>
static tg_status queue_ranked(const tg_reduction* what, const plan& p, bool shared) {
  int bits = 0;
  while ((what->m - 1) >> bits) bits++;
  TG_TRY(allow_shared((const void*)add_ranked<COPIES>));
  add_ranked<COPIES>
      <<<p.blocks, 32 * p.warps, p.shared>>>(*what, (double*)what->scratch, shared, bits);
  return join(what, p.blocks);
}

tg_status tg_cuda_reduce_chunks(const tg_reduction* what) {
  const plan p = plan_of_chunks(what->m);
  if (!chunks_in_shared(what->m)) return queue_ranked<1>(what, p, false);
  switch (copies_of_chunks(what->m)) {
    case 32: return queue_ranked<32>(what, p, true);
    case 16: return queue_ranked<16>(what, p, true);
    case 8: return queue_ranked<8>(what, p, true);
    case 4: return queue_ranked<4>(what, p, true);
    case 2: return queue_ranked<2>(what, p, true);
    default: return queue_ranked<1>(what, p, true);
  }
}
