/* SPDX-License-Identifier: Apache-2.0 */
/* The filter on binary tensor cores by wgmma, of four warps: for compute capability 9.0a, for which
 * alone this file is compiled (wgmma.cmake).
 *
 * A warpgroup keeps 4 times 64 rows in registers; the block's columns come through a ring of stages
 * in shared memory. wgmma counts 64 x 128 pairs of 256 bits while the warps look at the counts of
 * the one before it, in the other half of the registers. For a tile the tensor cores take 64
 * clocks, and looking, a maximum of three for each two counts, 74 of a multiprocessor's four
 * schedulers; both together take 198. No tile is on its way at the end of a loop: the compiler
 * would make every tile wait for the one before.
 *
 * States of up to 256 bits are copied as they are, by asynchronous copies; longer ones are folded
 * to 224 bits and 32 ones (tensor.cuh), and what passes is counted by all words, pair by pair.
 *
 * Shared memory of 128 columns and 256 bits: pieces of 8 columns x 16 bytes (128 bytes: column n %
 * 8 after the other), for each 8 columns two, the lower 128 bits first. In the descriptor's words,
 * the leading offset (along the bits) is 128 bytes, the stride (along the columns) 256. */
#include "motif/cuda/pairs.cuh"
#include "motif/cuda/tensor.cuh"

enum {
  TILE = 128, /* columns */
  TILE_BYTES = 32 * TILE,
  TILES = 8, /* of a stage */
  COLUMNS = TILES * TILE,
  STAGE_BYTES = TILES * TILE_BYTES,
  STAGES = 3,
  PARTS = 4, /* of 64 rows, of a warpgroup */
  GROUPS = 2,
  ROWS = 64 * PARTS * GROUPS, /* of a block */
  THREADS = 128 * GROUPS,
};

#if defined(__CUDA_ARCH__) && !defined(__CUDA_ARCH_FEAT_SM90_ALL)
#error "this file is for compute_90a alone"
#endif

static __device__ __forceinline__ uint64_t describe(const void* tile) {
  const uint64_t address = __cvta_generic_to_shared(tile);
  return (address & 0x3ffff) >> 4 | (uint64_t)(128 >> 4) << 16 | (uint64_t)(256 >> 4) << 32;
}

/* c = counts of 64 rows (a: four half words a lane) and 128 columns; queued as a group. */
static __device__ __forceinline__ void count_tile(int (&c)[64], const uint32_t (&a)[4],
                                                  uint64_t columns) {
  asm volatile(
      "wgmma.fence.sync.aligned;\n{\n.reg .pred add;\nsetp.ne.b32 add, %69, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k256.s32.b1.b1.and.popc "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
      "{%64, %65, %66, %67}, %68, add;\n}\n"
      "wgmma.commit_group.sync.aligned;"
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
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(columns), "r"(0)
      : "memory");
}

/* Waits until no more than LEFT of the queued tiles are on their way; c is of one that is not. */
template <int LEFT>
static __device__ __forceinline__ void wait_for(int (&c)[64]) {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(LEFT) : "memory");
#pragma unroll
  for (int i = 0; i < 64; i++) asm volatile("" : "+r"(c[i])::"memory"); /* not read before */
}

/* Where word w of column n lies in a stage. */
static __device__ __forceinline__ uint32_t place_of(uint32_t n, uint32_t w) {
  return n / 8 * 256 + w / 2 * 128 + n % 8 * 16 + w % 2 * 8;
}

/* Queues the copy of columns begin ... end - 1 into a stage; zeros behind the end. */
static __device__ __forceinline__ void copy_stage(const tg_states& s, char* stage, uint32_t begin,
                                                  uint32_t end) {
  const uint32_t to = (uint32_t)__cvta_generic_to_shared(stage);
#pragma unroll
  for (uint32_t n = threadIdx.x; n < COLUMNS; n += THREADS) {
    const bool there = begin + n < end;
    const uint64_t* from = s.bits + (there ? begin + n : begin);
    for (uint32_t w = 0; w < s.words; w++, from += s.stride)
      asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(to + place_of(n, w)),
                   "l"(from), "r"(there ? 8 : 0)
                   : "memory");
  }
}

static __device__ __forceinline__ void fold_stage(const tg_states& s, char* stage, uint32_t begin,
                                                  uint32_t end) {
  for (uint32_t n = threadIdx.x; n < COLUMNS && begin + n < end; n += THREADS) {
    uint32_t fold[8];
    fold_state<7>(s, begin + n, fold);
    *(uint4*)(stage + place_of(n, 0)) = make_uint4(fold[0], fold[1], fold[2], fold[3]);
    *(uint4*)(stage + place_of(n, 2)) = make_uint4(fold[4], fold[5], fold[6], fold[7]);
  }
}

template <bool FOLDED>
static __device__ __forceinline__ void fill_stage(const tg_states& s, char* stage, uint32_t begin,
                                                  uint32_t end) {
  if (FOLDED)
    fold_stage(s, stage, begin, end);
  else
    copy_stage(s, stage, begin, end);
}

/* Half words t and t + 4 of row and of row + 8, t = lane % 4, as wgmma wants them. */
template <bool FOLDED>
static __device__ __forceinline__ void load_rows(const tg_states& s, uint32_t row, uint32_t limit,
                                                 int t, uint32_t (&a)[4]) {
#pragma unroll
  for (int k = 0; k < 2; k++) {
    const uint32_t r = row + 8 * k;
    if (FOLDED) {
      uint32_t fold[8];
      fold_state<7>(s, min(r, limit - 1), fold);
      a[k] = t == 0 ? fold[0] : t == 1 ? fold[1] : t == 2 ? fold[2] : fold[3];
      a[k + 2] = t == 0 ? fold[4] : t == 1 ? fold[5] : t == 2 ? fold[6] : fold[7];
    } else {
      a[k] = half_word(s, r, r < limit, t);
      a[k + 2] = half_word(s, r, r < limit, t + 4);
    }
  }
}

/* The hits of a warp among 16 rows (word of row and of row + 8: 32 columns from column on). */
template <bool FOLDED>
static __device__ __forceinline__ void take_rows(const tg_pairs& p, const pair_sink& sink,
                                                 uint32_t (&word)[2], uint32_t row,
                                                 uint32_t row_end, uint32_t column, uint32_t end,
                                                 uint32_t* found) {
  const int lane = threadIdx.x % 32, t = lane % 4;
  uint32_t own[2], before[2], base[2] = {0, 0};
#pragma unroll
  for (int k = 0; k < 2; k++) {
    const uint32_t r = row + 8 * k;
    word[k] = kept_word(p, word[k], r, row_end, column, end);
    if (FOLDED) word[k] = exact_word(p, word[k], r, column);
    own[k] = (uint32_t)__popc(word[k]);
  }
  __syncwarp();
#pragma unroll
  for (int k = 0; k < 2; k++) { /* a row's four lanes get neighbouring slots, by one atomic */
    uint32_t sum = own[k];
    const uint32_t one = __shfl_up_sync(~0u, sum, 1);
    if (t >= 1) sum += one;
    const uint32_t two = __shfl_up_sync(~0u, sum, 2);
    if (t >= 2) sum += two;
    before[k] = sum - own[k];
    if (t < 3 || sum == 0) continue;
    if (sink.kind == SINK_COUNT)
      found[8 * k] += sum;
    else
      base[k] = atomicAdd(sink.counts + row + 8 * k, sum);
  }
  __syncwarp();
  if (sink.kind == SINK_COUNT) return;
#pragma unroll
  for (int k = 0; k < 2; k++) {
    base[k] = __shfl_sync(~0u, base[k], lane | 3);
    if (word[k] == 0) continue;
    write_word(sink.hits + sink.offsets[row + 8 * k] + base[k] + before[k], word[k], column);
  }
}

/* What a warp does with the counts of its 16 rows and a tile. */
template <bool FOLDED>
static __device__ __forceinline__ void look_at(const int (&c)[64], const tg_pairs& p,
                                               const pair_sink& sink, int needed, uint32_t row,
                                               uint32_t row_end, uint32_t column, uint32_t end,
                                               uint32_t* found) {
  int most[4] = {0, 0, 0, 0};
#pragma unroll
  for (int i = 0; i < 64; i += 2) most[i / 2 % 4] = max(max(most[i / 2 % 4], c[i]), c[i + 1]);
  if (!__any_sync(~0u, max(max(most[0], most[1]), max(most[2], most[3])) >= needed)) return;
  const int t = threadIdx.x % 4;
  const uint32_t bias = byte_bias(needed);
  uint32_t word[2];
#pragma unroll
  for (int k = 0; k < 2; k++) {
    uint32_t bits[4];
#pragma unroll
    for (int j = 0; j < 4; j++) {
      const int* from = c + 16 * j + 2 * k;
      bits[j] = lane_bits(four_bytes(from[0], from[4], from[8], from[12], bias),
                          four_bytes(from[1], from[5], from[9], from[13], bias), t);
    }
    word[k] = exchange(bits, t);
  }
  take_rows<FOLDED>(p, sink, word, row, row_end, column + 32 * t, end, found);
}

template <bool FOLDED>
__global__ void __launch_bounds__(THREADS, 1)
    sweep_wgmma(const __grid_constant__ tg_pairs p, const __grid_constant__ pair_sink sink,
                int needed) {
  extern __shared__ __align__(128) char stages[];
  __shared__ uint32_t found[ROWS];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, t = lane % 4;
  const int place = warp / 4 * 64 * PARTS + warp % 4 * 16 + lane / 4; /* first row of the lane */
  for (uint32_t i = threadIdx.x; i < STAGES * STAGE_BYTES / 16; i += THREADS)
    ((uint4*)stages)[i] = make_uint4(0, 0, 0, 0);
  for (row_walk rows = row_walk_start(p, ROWS); rows.begin < rows.limit; rows.begin += ROWS) {
    __syncthreads();
    for (uint32_t r = threadIdx.x; r < ROWS; r += THREADS) found[r] = 0;
    const uint32_t row = rows.begin + place, limit = rows.limit;
    uint32_t a[PARTS][4];
#pragma unroll
    for (int part = 0; part < PARTS; part++)
      load_rows<FOLDED>(p.rows, row + 64 * part, limit, t, a[part]);
    column_walk ahead = column_walk_start(p, rows, rows.begin, COLUMNS, 1, 0), walk = ahead;
    uint32_t begin, end;
    for (int s = 0; s < STAGES - 1; s++) {
      if (column_walk_next(p, &ahead, &begin, &end))
        fill_stage<FOLDED>(p.columns, stages + s * STAGE_BYTES, begin, end);
      asm volatile("cp.async.commit_group;" ::: "memory");
    }
    for (int s = 0; column_walk_next(p, &walk, &begin, &end); s = (s + 1) % STAGES) {
      asm volatile("cp.async.wait_group %0;\nfence.proxy.async.shared::cta;" ::"n"(STAGES - 2)
                   : "memory");
      __syncthreads();
      uint32_t next, stop;
      if (column_walk_next(p, &ahead, &next, &stop))
        fill_stage<FOLDED>(p.columns, stages + (s + STAGES - 1) % STAGES * STAGE_BYTES, next, stop);
      asm volatile("cp.async.commit_group;" ::: "memory");
      const uint64_t columns = describe(stages + s * STAGE_BYTES);
#pragma unroll 1
      for (uint32_t column = begin; column < end; column += TILE) {
        const uint64_t tile = columns + (column - begin) / TILE * (TILE_BYTES >> 4);
        int even[64], odd[64]; /* of parts 0 and 2, 1 and 3 */
        count_tile(even, a[0], tile);
        count_tile(odd, a[1], tile);
        wait_for<1>(even);
        look_at<FOLDED>(even, p, sink, needed, row, limit, column, end, found + place);
        count_tile(even, a[2], tile);
        wait_for<1>(odd);
        look_at<FOLDED>(odd, p, sink, needed, row + 64, limit, column, end, found + place + 64);
        count_tile(odd, a[3], tile);
        wait_for<1>(even);
        look_at<FOLDED>(even, p, sink, needed, row + 128, limit, column, end, found + place + 128);
        wait_for<0>(odd);
        look_at<FOLDED>(odd, p, sink, needed, row + 192, limit, column, end, found + place + 192);
      }
    }
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    if (sink.kind == SINK_COUNT)
      for (uint32_t r = threadIdx.x; r < ROWS && rows.begin + r < limit; r += THREADS)
        if (found[r] > 0) atomicAdd(sink.counts + rows.begin + r, found[r]);
  }
}

template <bool FOLDED>
static tg_status launch(const tg_pairs* pairs, const pair_sink* sink) {
  bool work;
  TG_TRY(sweep_begin(pairs, sink->counts, &work));
  if (!work) return TG_OK;
  static bool known; /* of this instance */
  if (!known)
    TG_TRY(tg_cuda_status(
        cudaFuncSetAttribute(sweep_wgmma<FOLDED>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             STAGES * STAGE_BYTES),
        0, "asking for shared memory"));
  known = true;
  const dim3 grid = sweep_grid(pairs, ROWS, COLUMNS, (size_t)tg_cuda_multiprocessors() * 8);
  sweep_wgmma<FOLDED><<<grid, THREADS, STAGES * STAGE_BYTES>>>(
      *pairs, *sink, (int)pairs->rows.particles - pairs->d);
  return tg_cuda_queued("a filter on tensor cores");
}

tg_status tg_cuda_sweep_wgmma(const tg_pairs* pairs, const pair_sink* sink) {
  return pairs->rows.words <= 4 ? launch<false>(pairs, sink) : launch<true>(pairs, sink);
}

const char* tg_cuda_refuses_wgmma(const tg_pairs* pairs) {
  if (tg_cuda_capability() / 10 != 9) return "wgmma needs a GPU of compute capability 9.0";
  if (tg_cuda_shared_limit() < STAGES * STAGE_BYTES + (int)(ROWS * sizeof(uint32_t)))
    return "wgmma needs 98 KiB of shared memory a block";
  if (pairs && pairs->d > TENSOR_BODIES) return "tensor cores' versions take up to 127 bodies";
  if (pairs && pairs->rows.particles > 128) return "wgmma takes up to 128 particles";
  if (pairs && pairs->rows.words > 4 && pairs->rows.particles > FOLD_PARTICLES)
    return "wgmma takes more than 256 orbitals of up to 33 particles only";
  return tg_pairs_need_bits(pairs);
}
