/* SPDX-License-Identifier: Apache-2.0 */
/** @file motif/cuda/single_pass.cuh  A scan that reads and writes each element once.
 *
 * A block takes the next tile, adds it up, publishes the tile's sum, and looks back over the tiles
 * before it until one says the sum of all up to it (decoupled look-back: D. Merrill and M. Garland,
 * NVR-2016-002). Tiles are taken from a counter, so those that a block waits for run already,
 * whatever order blocks start in. What a tile says is one word, read and written whole: a state and
 * the sum, so no order between two words is needed and the accesses are relaxed. */
#ifndef TG_MOTIF_CUDA_SINGLE_PASS_CUH
#define TG_MOTIF_CUDA_SINGLE_PASS_CUH

#include "motif/cuda/internal.cuh"

/** 64 bits for sums of 32, 128 for sums of 64. Zeroed memory says nothing. */
enum { SAYS_NOTHING = 0, SAYS_OWN = 1, SAYS_ALL = 2 };

template <class OUT>
struct __align__(2 * sizeof(OUT)) tile_word {
  OUT sum, state;
};

static __device__ __forceinline__ void say(tile_word<uint32_t>* word, uint32_t state,
                                           uint32_t sum) {
  asm volatile("st.relaxed.gpu.global.b64 [%0], %1;" ::"l"(word), "l"((uint64_t)state << 32 | sum)
               : "memory");
}
static __device__ __forceinline__ void say(tile_word<uint64_t>* word, uint32_t state,
                                           uint64_t sum) {
  asm volatile(
      "{ .reg .b128 whole; mov.b128 whole, {%1, %2}; st.relaxed.gpu.global.b128 [%0], whole; }" ::
          "l"(word),
      "l"(sum), "l"((uint64_t)state)
      : "memory");
}

static __device__ __forceinline__ uint32_t hear(const tile_word<uint32_t>* word, uint32_t* sum) {
  uint64_t whole;
  asm volatile("ld.relaxed.gpu.global.b64 %0, [%1];" : "=l"(whole) : "l"(word) : "memory");
  *sum = (uint32_t)whole;
  return (uint32_t)(whole >> 32);
}
static __device__ __forceinline__ uint32_t hear(const tile_word<uint64_t>* word, uint64_t* sum) {
  uint64_t low, state;
  asm volatile(
      "{ .reg .b128 whole; ld.relaxed.gpu.global.b128 whole, [%2]; mov.b128 {%0, %1}, whole; }"
      : "=l"(low), "=l"(state)
      : "l"(word)
      : "memory");
  *sum = low;
  return (uint32_t)state;
}

/* A warp: the sum of all tiles before this one, 32 of them at a time, the nearest first. */
template <class OUT>
static __device__ __forceinline__ OUT look_back(const tile_word<OUT>* words, uint32_t tile,
                                                uint32_t spread, int lane) {
  OUT before = 0;
  for (int64_t last = (int64_t)tile - 1;;) {
    OUT sum = 0;
    uint32_t state = SAYS_ALL; /* before the first tile there is nothing */
    if (last >= lane) state = hear(words + spread * (last - lane), &sum);
    const uint32_t whole = __ballot_sync(~0u, state == SAYS_ALL);
    const uint32_t nothing = __ballot_sync(~0u, state == SAYS_NOTHING);
    const uint32_t wanted = whole ? whole ^ (whole - 1) : ~0u; /* up to the nearest whole */
    if (nothing & wanted) continue;
    if (!(wanted >> lane & 1)) sum = 0;
#pragma unroll
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
    before += sum;
    if (whole) return before;
    last -= 32;
  }
}

template <class T>
static __device__ __forceinline__ void load4(const T* from, T (&to)[4]) {
  if constexpr (sizeof(T) == 4) {
    const uint4 v = __ldcs((const uint4*)from);
    to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
  } else {
    const ulonglong2 v = __ldcs((const ulonglong2*)from), w = __ldcs((const ulonglong2*)from + 1);
    to[0] = v.x, to[1] = v.y, to[2] = w.x, to[3] = w.y;
  }
}
template <class T>
static __device__ __forceinline__ void store4(const T (&from)[4], T* to) {
  if constexpr (sizeof(T) == 4) {
    __stcs((uint4*)to, make_uint4(from[0], from[1], from[2], from[3]));
  } else {
    __stcs((ulonglong2*)to, make_ulonglong2(from[0], from[1]));
    __stcs((ulonglong2*)to + 1, make_ulonglong2(from[2], from[3]));
  }
}

/* The four sums of each lane, to the 128 places at to. Of 64 bits, two lanes exchange halves, so
 * that a sector is written by one instruction. */
template <class T>
static __device__ __forceinline__ void store_vector(const T (&from)[4], T* to, int lane) {
  if constexpr (sizeof(T) == 4) {
    __stcs((uint4*)to + lane, make_uint4(from[0], from[1], from[2], from[3]));
  } else {
    const bool odd = lane & 1;
    const T send0 = odd ? from[0] : from[2], send1 = odd ? from[1] : from[3];
    const T got0 = __shfl_xor_sync(~0u, send0, 1), got1 = __shfl_xor_sync(~0u, send1, 1);
    ulonglong2* pair = (ulonglong2*)(to + 4 * (lane & ~1)) + odd;
    __stcs(pair, odd ? make_ulonglong2(got0, got1) : make_ulonglong2(from[0], from[1]));
    __stcs(pair + 2, odd ? make_ulonglong2(from[2], from[3]) : make_ulonglong2(got0, got1));
  }
}

/* A tile: WARPS warps have 128 VECTORS elements in a row each, a lane four of each 128. */
template <int THREADS, int VECTORS>
struct tile_shape {
  static constexpr int WARPS = THREADS / 32, WARP_ITEMS = 128 * VECTORS, ITEMS = WARPS * WARP_ITEMS;
};

/* next: the counter that tiles are taken from. BLOCKS: that a multiprocessor is to have room for.
 */
template <int THREADS, int VECTORS, int BLOCKS, class IN, class OUT>
static __global__ void __launch_bounds__(THREADS, BLOCKS)
    scan_tiles(size_t count, const IN* in, OUT* out, tile_word<OUT>* words, uint32_t spread,
               uint32_t* next, bool aligned) {
  using shape = tile_shape<THREADS, VECTORS>;
  __shared__ uint32_t my_tile;
  __shared__ OUT of_warp[shape::WARPS], before_tile;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (threadIdx.x == 0) my_tile = atomicAdd(next, 1);
  __syncthreads();
  const uint32_t tile = my_tile;
  const size_t first = (size_t)tile * shape::ITEMS + (size_t)warp * shape::WARP_ITEMS;
  const size_t end = (size_t)(tile + 1) * shape::ITEMS;
  const bool whole = aligned && end <= count;
  IN item[VECTORS][4];
#pragma unroll
  for (int v = 0; v < VECTORS; v++) {
    const size_t at = first + 128 * v + 4 * lane;
    if (whole) load4(in + at, item[v]);
    if (!whole)
      for (int i = 0; i < 4; i++) item[v][i] = at + i < count ? in[at + i] : 0;
  }
  /* what comes before the lane's four of each vector, within the warp */
  OUT before[VECTORS], sum_of_warp = 0;
#pragma unroll
  for (int v = 0; v < VECTORS; v++) {
    const OUT own = (OUT)item[v][0] + item[v][1] + item[v][2] + item[v][3];
    OUT sum = own;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
      const OUT other = __shfl_up_sync(~0u, sum, step);
      if (lane >= step) sum += other;
    }
    before[v] = sum_of_warp + sum - own;
    sum_of_warp += __shfl_sync(~0u, sum, 31);
  }
  if (lane == 0) of_warp[warp] = sum_of_warp;
  __syncthreads();
  OUT base = 0, sum_of_tile = 0;
#pragma unroll
  for (int w = 0; w < shape::WARPS; w++) {
    if (w == warp) base = sum_of_tile;
    sum_of_tile += of_warp[w];
  }
  if (warp == 0) {
    tile_word<OUT>* word = words + (size_t)spread * tile;
    if (lane == 0) say(word, tile == 0 ? SAYS_ALL : SAYS_OWN, sum_of_tile);
    const OUT all = tile == 0 ? 0 : look_back(words, tile, spread, lane);
    if (lane == 0) {
      if (tile > 0) say(word, SAYS_ALL, (OUT)(all + sum_of_tile));
      before_tile = all;
      if (end >= count) out[count] = all + sum_of_tile;
    }
  }
  __syncthreads();
  base += before_tile;
#pragma unroll
  for (int v = 0; v < VECTORS; v++) {
    const size_t at = first + 128 * v;
    OUT sum[4];
    sum[0] = base + before[v];
#pragma unroll
    for (int i = 1; i < 4; i++) sum[i] = sum[i - 1] + item[v][i - 1];
    if (whole) store_vector(sum, out + at, lane);
    if (!whole)
      for (int i = 0; i < 4; i++)
        if (at + 4 * lane + i < count) out[at + 4 * lane + i] = sum[i];
  }
}

enum { SINGLE_PASS_HEAD = 64 }; /* bytes before the words: the counter */

/* Words between those of neighbouring tiles. Hundreds of warps read the same few words again and
 * again; side by side they lie in one or two lines, that is in one or two slices of the cache,
 * where those that write them wait in the same queue. Where all tiles run at once, nobody waits
 * long, and reading fewer sectors counts more. */
enum { SPREAD = 4, SPREAD_TILES = 1024 };

static inline uint32_t spread_of(size_t tiles) { return tiles < SPREAD_TILES ? 1 : SPREAD; }

/** count > 0; scratch has SINGLE_PASS_HEAD bytes and spread words for each tile. */
template <int THREADS, int VECTORS, int BLOCKS, class IN, class OUT>
static tg_status single_pass_queue(size_t count, const IN* in, OUT* out, void* scratch,
                                   uint32_t spread) {
  using shape = tile_shape<THREADS, VECTORS>;
  const size_t tiles = tg_cuda_blocks(count, shape::ITEMS);
  const bool aligned = ((uintptr_t)in | (uintptr_t)out) % 16 == 0;
  TG_TRY(tg_cuda_zero(scratch, SINGLE_PASS_HEAD + tiles * spread * sizeof(tile_word<OUT>)));
  scan_tiles<THREADS, VECTORS, BLOCKS><<<(unsigned)tiles, THREADS>>>(
      count, in, out, (tile_word<OUT>*)((char*)scratch + SINGLE_PASS_HEAD), spread,
      (uint32_t*)scratch, aligned);
  return tg_cuda_queued("a scan");
}

#endif
