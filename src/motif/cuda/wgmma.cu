/* SPDX-License-Identifier: Apache-2.0 */
/* The filter on binary tensor cores by wgmma, of four warps: for compute capability 9.0a, for which
 * alone this file is compiled (wgmma.cmake).
 *
 * A warpgroup keeps 64 rows in registers; the block's columns come through a ring of stages in
 * shared memory, by asynchronous copies. wgmma counts 64 x 128 pairs of 256 bits; while one
 * warpgroup of a multiprocessor looks at its counts, others count.
 *
 * States of up to 128 bits leave half of the 256 free, and there both sides have so many common
 * ones that a hit is a count with the bit P set, P a power of two: an OR of all counts, one
 * operation for two, says whether there is one. Without free bits the largest count decides: one
 * for one.
 *
 * Shared memory of 128 columns and 256 bits: pieces of 8 columns x 16 bytes (128 bytes: column n %
 * 8 after the other), for each 8 columns two, the lower 128 bits first. In the descriptor's words,
 * the leading offset (along the bits) is 128 bytes, the stride (along the columns) 256. */
#include "motif/cuda/pairs.cuh"
#include "motif/cuda/tensor.cuh"

enum { TILE = 128 /* columns */, TILE_BYTES = 32 * TILE, STAGES = 4 };

#if defined(__CUDA_ARCH__) && !defined(__CUDA_ARCH_FEAT_SM90_ALL)
#error "this file is for compute_90a alone"
#endif

static __device__ __forceinline__ uint64_t describe(const void* tile) {
  const uint64_t address = __cvta_generic_to_shared(tile);
  return (address & 0x3ffff) >> 4 | (uint64_t)(128 >> 4) << 16 | (uint64_t)(256 >> 4) << 32;
}

/* c = (add ? c : 0) + counts of 64 rows (a: four half words a lane) and 128 columns. */
static __device__ __forceinline__ void count_tile(int (&c)[64], const uint32_t (&a)[4],
                                                  uint64_t columns, bool add) {
  asm volatile(
      "{\n.reg .pred add;\nsetp.ne.b32 add, %69, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k256.s32.b1.b1.and.popc "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
      "{%64, %65, %66, %67}, %68, add;\n}"
      : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3]), "+r"(c[4]), "+r"(c[5]), "+r"(c[6]),
        "+r"(c[7]), "+r"(c[8]), "+r"(c[9]), "+r"(c[10]), "+r"(c[11]), "+r"(c[12]), "+r"(c[13]),
        "+r"(c[14]), "+r"(c[15]), "+r"(c[16]), "+r"(c[17]), "+r"(c[18]), "+r"(c[19]), "+r"(c[20]),
        "+r"(c[21]), "+r"(c[22]), "+r"(c[23]), "+r"(c[24]), "+r"(c[25]), "+r"(c[26]), "+r"(c[27]),
        "+r"(c[28]), "+r"(c[29]), "+r"(c[30]), "+r"(c[31]), "+r"(c[32]), "+r"(c[33]), "+r"(c[34]),
        "+r"(c[35]), "+r"(c[36]), "+r"(c[37]), "+r"(c[38]), "+r"(c[39]), "+r"(c[40]), "+r"(c[41]),
        "+r"(c[42]), "+r"(c[43]), "+r"(c[44]), "+r"(c[45]), "+r"(c[46]), "+r"(c[47]), "+r"(c[48]),
        "+r"(c[49]), "+r"(c[50]), "+r"(c[51]), "+r"(c[52]), "+r"(c[53]), "+r"(c[54]), "+r"(c[55]),
        "+r"(c[56]), "+r"(c[57]), "+r"(c[58]), "+r"(c[59]), "+r"(c[60]), "+r"(c[61]), "+r"(c[62]),
        "+r"(c[63])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(columns), "r"((int)add));
}

static __device__ __forceinline__ void before_counting() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
static __device__ __forceinline__ void wait_for_counts(int (&c)[64]) {
  asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
#pragma unroll
  for (int i = 0; i < 64; i++) asm volatile("" : "+r"(c[i])::"memory"); /* not read before */
}

/* Where word w of column n lies in a stage of COLUMNS. */
template <int COLUMNS>
static __device__ __forceinline__ uint32_t place_of(uint32_t n, uint32_t w) {
  return ((w / 4) * (COLUMNS / TILE) + n / TILE) * TILE_BYTES + n % TILE / 8 * 256 +
         w % 4 / 2 * 128 + n % 8 * 16 + w % 2 * 8;
}

/* Queues the copy of columns begin ... end - 1 into a stage; zeros behind the end. */
template <int COLUMNS>
static __device__ __forceinline__ void copy_stage(const tg_states& s, char* stage, uint32_t begin,
                                                  uint32_t end) {
  for (uint32_t e = threadIdx.x; e < COLUMNS * s.words; e += blockDim.x) {
    const uint32_t n = e % COLUMNS, w = e / COLUMNS;
    const bool there = begin + n < end;
    const uint64_t* from = s.bits + w * s.stride + (there ? begin + n : begin);
    const uint32_t to = (uint32_t)__cvta_generic_to_shared(stage + place_of<COLUMNS>(n, w));
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(to), "l"(from),
                 "r"(there ? 8 : 0)
                 : "memory");
  }
}

/* KC: pieces of 256 bits; TILES: of a stage. limit: what a hit reaches; ones: of a row in its free
 * half (PADDED). */
template <int KC, bool PADDED, int GROUPS, int TILES>
__global__ void __launch_bounds__(128 * GROUPS, 4 / GROUPS)
    sweep_wgmma(const __grid_constant__ tg_pairs p, const __grid_constant__ pair_sink sink,
                int limit, int ones) {
  constexpr int COLUMNS = TILES * TILE, STAGE_BYTES = 32 * COLUMNS * KC;
  extern __shared__ __align__(128) char stages[];
  __shared__ uint32_t found[64 * GROUPS];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (uint32_t i = threadIdx.x; i < STAGES * STAGE_BYTES / 8; i += blockDim.x) {
    const bool upper = i / 16 % 2 == 1; /* 128 bytes of lower bits, 128 of upper */
    ((uint64_t*)stages)[i] = PADDED && upper ? ~0ull : 0;
  }
  for (row_walk rows = row_walk_start(p, 64 * GROUPS); rows.begin < rows.limit;
       rows.begin += 64 * GROUPS) {
    const uint32_t first = rows.begin + 16 * warp;
    __syncthreads();
    for (uint32_t r = threadIdx.x; r < 64 * GROUPS; r += blockDim.x) found[r] = 0;
    uint32_t a[KC][4];
#pragma unroll
    for (int kc = 0; kc < KC; kc++)
#pragma unroll
      for (int k = 0; k < 4; k++) {
        const uint32_t row = first + lane / 4 + 8 * (k % 2);
        a[kc][k] = half_word(p.rows, row, row < rows.limit, 8 * kc + 4 * (k / 2) + lane % 4);
        const int mine = ones - 32 * (lane % 4);
        if (PADDED && k >= 2) a[kc][k] = mine >= 32 ? ~0u : mine > 0 ? (1u << mine) - 1 : 0;
      }
    column_walk ahead = column_walk_start(p, rows, rows.begin, COLUMNS), walk = ahead;
    uint32_t begin, end;
    for (int s = 0; s < STAGES - 1; s++) {
      if (column_walk_next(p, &ahead, &begin, &end))
        copy_stage<COLUMNS>(p.columns, stages + s * STAGE_BYTES, begin, end);
      asm volatile("cp.async.commit_group;" ::: "memory");
    }
    for (int s = 0; column_walk_next(p, &walk, &begin, &end); s = (s + 1) % STAGES) {
      asm volatile("cp.async.wait_group %0;\nfence.proxy.async.shared::cta;" ::"n"(STAGES - 2)
                   : "memory");
      __syncthreads();
      uint32_t next, stop;
      if (column_walk_next(p, &ahead, &next, &stop))
        copy_stage<COLUMNS>(p.columns, stages + (s + STAGES - 1) % STAGES * STAGE_BYTES, next,
                            stop);
      asm volatile("cp.async.commit_group;" ::: "memory");
#pragma unroll 1
      for (uint32_t tile = 0; tile < COLUMNS / TILE && begin + tile * TILE < end; tile++) {
        const char* columns = stages + s * STAGE_BYTES + tile * TILE_BYTES;
        int c[64];
        before_counting();
#pragma unroll
        for (int kc = 0; kc < KC; kc++)
          count_tile(c, a[kc], describe(columns + kc * (COLUMNS / TILE) * TILE_BYTES), kc > 0);
        wait_for_counts(c);
        bool near;
        if (PADDED) {
          uint32_t bits = 0;
#pragma unroll
          for (int i = 0; i < 64; i += 2) bits |= (uint32_t)c[i] | (uint32_t)c[i + 1];
          near = bits & (uint32_t)limit;
        } else {
          int most = c[0];
#pragma unroll
          for (int i = 1; i < 64; i++) most = max(most, c[i]);
          near = most >= limit;
        }
        if (!__any_sync(~0u, near)) continue;
        uint64_t mask = 0;
#pragma unroll
        for (int i = 0; i < 64; i++) mask |= (uint64_t)(c[i] >= limit) << i;
        take_masks(p, sink, mask, first, rows.limit, begin + tile * TILE, end, TILE,
                   found + 16 * warp);
      }
    }
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    if (sink.kind == SINK_COUNT)
      for (uint32_t r = threadIdx.x; r < 64 * GROUPS && rows.begin + r < rows.limit;
           r += blockDim.x)
        if (found[r] > 0) atomicAdd(sink.counts + rows.begin + r, found[r]);
  }
}

template <int KC, bool PADDED, int GROUPS, int TILES>
static tg_status launch(const tg_pairs* pairs, const pair_sink* sink) {
  constexpr int COLUMNS = TILES * TILE, BYTES = STAGES * 32 * COLUMNS * KC;
  bool work;
  TG_TRY(sweep_begin(pairs, sink->counts, &work));
  if (!work) return TG_OK;
  const int needed = (int)pairs->rows.particles - pairs->d;
  int limit = needed, ones = 0;
  if (PADDED) { /* counts reach N + ones < 2 limit, so that one bit tells */
    for (limit = 1; limit < needed || limit <= pairs->d;) limit *= 2;
    ones = limit - needed;
  }
  static bool known; /* of this instance */
  if (!known)
    TG_TRY(tg_cuda_status(cudaFuncSetAttribute(sweep_wgmma<KC, PADDED, GROUPS, TILES>,
                                               cudaFuncAttributeMaxDynamicSharedMemorySize, BYTES),
                          0, "asking for shared memory"));
  known = true;
  const dim3 grid = sweep_grid(pairs, 64 * GROUPS, COLUMNS, sink->kind == SINK_RANKED,
                               (size_t)tg_cuda_multiprocessors() * 4 / GROUPS * 8);
  sweep_wgmma<KC, PADDED, GROUPS, TILES><<<grid, 128 * GROUPS, BYTES>>>(*pairs, *sink, limit, ones);
  return tg_cuda_queued("a filter on tensor cores");
}

tg_status tg_cuda_sweep_wgmma(const tg_pairs* pairs, const pair_sink* sink) {
  const uint32_t words = pairs->rows.words;
  /* at most 128 ones fit; more bodies than that are rare */
  if (words <= 2 && pairs->d < 32 && pairs->rows.particles <= 128)
    return launch<1, true, 2, 4>(pairs, sink);
  if (words <= 4) return launch<1, false, 4, 4>(pairs, sink);
  if (words <= 8) return launch<2, false, 2, 2>(pairs, sink);
  return launch<4, false, 2, 1>(pairs, sink);
}

const char* tg_cuda_refuses_wgmma(const tg_pairs* pairs) {
  if (tg_cuda_capability() / 10 != 9) return "wgmma needs a GPU of compute capability 9.0";
  if (pairs && pairs->rows.words > 16) return "wgmma holds states of up to 1,024 orbitals";
  return tg_pairs_need_bits(pairs);
}
