/* SPDX-License-Identifier: Apache-2.0 */
/* Reduce: 12 bytes an item are read, so memory is the limit where the adding is spread enough.
 *
 *   atomic          an update in memory by each item: items of one bin wait for each other
 *   scalars         every thread has all m sums in registers, generated for m = 8, 16, 32, 64
 *   private         copies of all sums of a warp in shared memory: no atomic
 * (motif/cuda/private.cu) private atomic  copies of the sums of a block in shared memory, by
 * atomics chunks          the sums of a warp, whose lanes take turns where they must: any m
 *
 * Grids are of a fixed size and the partial sums are joined in order, so that all but the atomics
 * give the same bits each time on one GPU. */
#include "motif/cuda/items.cuh"
#include "motif/cuda/join.cuh"

enum { BLOCKS = 528, VECTOR = 4 };

/* add(bin, value) for the thread's share of all items, four at a time where the arrays are aligned
 */
template <class ADD>
static __device__ __forceinline__ void each_item(const tg_reduction& r, ADD add) {
  const size_t thread = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  const size_t threads = (size_t)gridDim.x * blockDim.x;
  const bool aligned = ((uintptr_t)r.bins | (uintptr_t)r.values) % 16 == 0;
  const size_t vectors = aligned ? r.count / VECTOR : 0;
  const uint4* bins = (const uint4*)r.bins;
  const double2* values = (const double2*)r.values;
  size_t v = thread;
  for (; v + threads < vectors; v += 2 * threads) {
    const uint4 b = __ldcs(bins + v), c = __ldcs(bins + v + threads);
    const double2 x = __ldcs(values + 2 * v), y = __ldcs(values + 2 * v + 1);
    const double2 z = __ldcs(values + 2 * (v + threads)),
                  w = __ldcs(values + 2 * (v + threads) + 1);
    add(b.x, x.x);
    add(b.y, x.y);
    add(b.z, y.x);
    add(b.w, y.y);
    add(c.x, z.x);
    add(c.y, z.y);
    add(c.z, w.x);
    add(c.w, w.y);
  }
  for (; v < vectors; v += threads) {
    const uint4 b = bins[v];
    const double2 x = values[2 * v], y = values[2 * v + 1];
    add(b.x, x.x);
    add(b.y, x.y);
    add(b.z, y.x);
    add(b.w, y.y);
  }
  for (size_t i = vectors * VECTOR + thread; i < r.count; i += threads) add(r.bins[i], r.values[i]);
}

static __global__ void __launch_bounds__(256) add_atomic(const tg_reduction r) {
  each_item(r, [&](uint32_t bin, double value) { atomicAdd(r.sums + bin, value); });
}

static tg_status reduce_atomic(const tg_reduction* what) {
  TG_TRY(tg_cuda_zero(what->sums, what->m * sizeof(double)));
  add_atomic<<<BLOCKS, 256>>>(*what);
  return tg_cuda_queued("a reduction");
}

template <int M>
static __global__ void __launch_bounds__(256) add_scalars(const tg_reduction r, double* partial) {
  __shared__ double of_warp[8][M];
  double sum[M];
#pragma unroll
  for (int b = 0; b < M; b++) sum[b] = 0;
  each_item(r, [&](uint32_t bin, double value) {
#pragma unroll
    for (int b = 0; b < M; b++)
      if (bin == b) sum[b] += value;
  });
#pragma unroll
  for (int b = 0; b < M; b++) {
    const double all = warp_sum(sum[b]);
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32][b] = all;
  }
  __syncthreads();
  for (uint32_t b = threadIdx.x; b < r.m; b += blockDim.x) {
    double all = 0;
    for (int w = 0; w < 8; w++) all += of_warp[w][b];
    partial[(size_t)blockIdx.x * r.m + b] = all;
  }
}

static tg_status join(const tg_reduction* what) {
  join_partials<<<what->m, JOIN_THREADS>>>(BLOCKS, what->m, (const double*)what->scratch,
                                           what->sums);
  return tg_cuda_queued("a reduction");
}

static size_t scratch_of_blocks(size_t count, uint32_t m, int threads) {
  (void)count;
  (void)threads;
  return (size_t)BLOCKS * m * sizeof(double);
}

static tg_status reduce_scalars(const tg_reduction* what) {
  double* partial = (double*)what->scratch;
  if (what->m <= 8)
    add_scalars<8><<<BLOCKS, 256>>>(*what, partial);
  else if (what->m <= 16)
    add_scalars<16><<<BLOCKS, 256>>>(*what, partial);
  else if (what->m <= 32)
    add_scalars<32><<<BLOCKS, 256>>>(*what, partial);
  else
    add_scalars<64><<<BLOCKS, 256>>>(*what, partial);
  return join(what);
}

static const char* refuses_scalars(uint32_t m) {
  return m > 64 ? "generated for at most 64 sums" : NULL;
}

/* sums: [m, copies], side by side, so that threads which share a copy are far apart, and none do
 * where there are as many copies as threads. copies is a power of two. */
static __global__ void __launch_bounds__(512)
    add_block(const __grid_constant__ tg_reduction r, uint32_t copies) {
  extern __shared__ double own[];
  for (uint32_t i = threadIdx.x; i < r.m * copies; i += blockDim.x) own[i] = 0;
  __syncthreads();
  double* mine = own + threadIdx.x % copies;
  each_item(r, [&](uint32_t bin, double value) { atomicAdd(mine + bin * copies, value); });
  __syncthreads();
  if (copies <= 32) /* a thread for each sum */
    for (uint32_t b = threadIdx.x; b < r.m; b += blockDim.x) {
      double sum = 0;
      for (uint32_t c = 0; c < copies; c++) sum += own[b * copies + (c + b) % copies];
      if (sum != 0) atomicAdd(r.sums + b, sum);
    }
  else /* a warp */
    for (uint32_t b = threadIdx.x / 32; b < r.m; b += blockDim.x / 32) {
      double sum = 0;
      for (uint32_t c = threadIdx.x % 32; c < copies; c += 32) sum += own[b * copies + c];
      sum = warp_sum(sum);
      if (threadIdx.x % 32 == 0 && sum != 0) atomicAdd(r.sums + b, sum);
    }
}

static const char* refuses_block(uint32_t m) {
  return m > tg_cuda_shared_bytes() / sizeof(double) ? "shared memory does not hold so many sums"
                                                     : NULL;
}

/* The most copies of which two blocks have room: of few sums one for each thread, as many would
 * meet. */
static uint32_t copies_of_block(uint32_t m) {
  const size_t room = tg_cuda_shared_bytes() / 2 - 2048;
  uint32_t copies = m < 64 ? 512 : 32;
  while (copies > 1 && (size_t)m * copies * sizeof(double) > room) copies /= 2;
  return copies;
}

static tg_status reduce_block(const tg_reduction* what) {
  const uint32_t copies = copies_of_block(what->m);
  TG_TRY(tg_cuda_zero(what->sums, what->m * sizeof(double)));
  TG_TRY(tg_cuda_status(cudaFuncSetAttribute(add_block, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                             (int)tg_cuda_shared_bytes()),
                        0, "asking for shared memory"));
  add_block<<<BLOCKS, 512, (size_t)what->m * copies * sizeof(double)>>>(*what, copies);
  return tg_cuda_queued("a reduction");
}

extern const tg_reduce_version tg_cuda_reduces[] = {
    {"atomic", false, NULL, NULL, reduce_atomic},
    {"scalars", true, refuses_scalars, scratch_of_blocks, reduce_scalars},
    {"private", true, tg_cuda_refuses_private, tg_cuda_scratch_private, tg_cuda_reduce_private},
    {"private atomic", false, refuses_block, NULL, reduce_block},
    {"chunks", true, NULL, tg_cuda_scratch_chunks, tg_cuda_reduce_chunks},
    {NULL, false, NULL, NULL, NULL},
};

/* Reads all, and keeps what depends on all. */
static __global__ void __launch_bounds__(512) read_all(const tg_reduction r) {
  double sum = 0;
  uint32_t bits = 0;
  each_group(r, [&](const item_group& g) {
#pragma unroll
    for (int k = 0; k < GROUP_LANE; k++) {
      sum += g.value[k];
      bits ^= g.bin[k];
    }
  });
  sum = warp_sum(sum + bits);
  if (threadIdx.x % 32 == 0) atomicAdd(r.sums, sum);
}

tg_status tg_cuda_stream(const tg_reduction* what) {
  read_all<<<2 * (unsigned)tg_cuda_multiprocessors(), 512>>>(*what);
  return tg_cuda_queued("reading");
}

static __global__ void __launch_bounds__(512)
    copy_all(size_t count, const uint32_t* from, uint32_t* to) {
  const size_t threads = (size_t)gridDim.x * blockDim.x;
  const size_t first = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  const size_t vectors = ((uintptr_t)from | (uintptr_t)to) % 16 == 0 ? count / 4 : 0;
  for (size_t v = first; v < vectors; v += threads)
    __stcs((uint4*)to + v, __ldcs((const uint4*)from + v));
  for (size_t i = 4 * vectors + first; i < count; i += threads) to[i] = from[i];
}

tg_status tg_cuda_copy(size_t count, const uint32_t* from, uint32_t* to) {
  copy_all<<<8 * BLOCKS, 512>>>(count, from, to);
  return tg_cuda_queued("copying");
}
