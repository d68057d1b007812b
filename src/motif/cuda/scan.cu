/* SPDX-License-Identifier: Apache-2.0 */
/* Scan: exclusive, of any length; the last of count + 1 sums is the total.
 *
 *   serial       one thread of the device
 *   sweep        sums of pairs, of pairs of pairs, ... up to one; then back, a kernel a level
 *   single_pass  a block takes the next tile, publishes the tile's sum, and looks back over the
 *                tiles before it until one says the sum of all up to it (decoupled look-back:
 *                D. Merrill and M. Garland, NVR-2016-002): each element is read and written once
 *   library      CUB */
#include "motif/cuda/internal.cuh"

template <class IN, class OUT>
static __global__ void scan_serial(size_t count, const IN* in, OUT* out) {
  OUT sum = 0;
  for (size_t i = 0; i < count; i++) {
    out[i] = sum;
    sum += in[i];
  }
  out[count] = sum;
}

template <class IN, class OUT>
static tg_status serial(size_t count, const IN* in, OUT* out, void* scratch, int threads) {
  (void)scratch;
  (void)threads;
  scan_serial<<<1, 1>>>(count, in, out);
  return tg_cuda_queued("a scan");
}

/* Level l + 1 of the tree: sums of two of level l, of which the last may be alone. */
template <class IN, class OUT>
static __global__ void sweep_up(size_t count, const IN* in, OUT* pairs) {
  const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (2 * i >= count) return;
  OUT sum = in[2 * i];
  if (2 * i + 1 < count) sum += in[2 * i + 1];
  pairs[i] = sum;
}

/* before[i]: what comes before the pair i. in and out may be the same. */
template <class IN, class OUT>
static __global__ void sweep_down(size_t count, const IN* in, const OUT* before, OUT* out) {
  const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (2 * i >= count) return;
  const OUT sum = before[i], left = in[2 * i];
  out[2 * i] = sum;
  if (2 * i + 1 < count) out[2 * i + 1] = sum + left;
}

/* The top of the tree is the total. */
template <class OUT>
static __global__ void sweep_top(OUT* top, OUT* total) {
  *total = *top;
  *top = 0;
}

enum { SWEEP_THREADS = 256, SWEEP_LEVELS = 64 };

static size_t scratch_sweep(size_t count, size_t width) {
  size_t elements = 0;
  for (size_t n = count; n > 1; n = (n + 1) / 2) elements += (n + 1) / 2;
  return (elements + 1) * width;
}

template <class IN, class OUT>
static tg_status sweep(size_t count, const IN* in, OUT* out, void* scratch, int threads) {
  OUT* level[SWEEP_LEVELS];
  size_t length[SWEEP_LEVELS];
  int levels = 0;
  (void)threads;
  if (count == 0) return tg_cuda_zero(out, sizeof *out);
  if (count == 1) return serial(count, in, out, NULL, 1);
  OUT* room = (OUT*)scratch;
  for (size_t n = count; n > 1; n = length[levels - 1]) {
    level[levels] = room;
    length[levels] = (n + 1) / 2;
    room += length[levels++];
  }
  sweep_up<<<(unsigned)tg_cuda_blocks(length[0], SWEEP_THREADS), SWEEP_THREADS>>>(count, in,
                                                                                  level[0]);
  for (int l = 1; l < levels; l++)
    sweep_up<<<(unsigned)tg_cuda_blocks(length[l], SWEEP_THREADS), SWEEP_THREADS>>>(
        length[l - 1], (const OUT*)level[l - 1], level[l]);
  sweep_top<<<1, 1>>>(level[levels - 1], out + count);
  for (int l = levels - 1; l > 0; l--)
    sweep_down<<<(unsigned)tg_cuda_blocks(length[l], SWEEP_THREADS), SWEEP_THREADS>>>(
        length[l - 1], (const OUT*)level[l - 1], (const OUT*)level[l], level[l - 1]);
  sweep_down<<<(unsigned)tg_cuda_blocks(length[0], SWEEP_THREADS), SWEEP_THREADS>>>(
      count, in, (const OUT*)level[0], out);
  return tg_cuda_queued("a scan");
}

/* What a tile says. A word holds a state and 32 bits of a sum, so that it is read whole; sums of
 * 64 bits have two words, which count where their states agree. The tile's own sum is written once,
 * and once after it the sum of all up to it: states that agree are of the same sum. */
enum { SAYS_NOTHING = 0, SAYS_OWN = 1, SAYS_ALL = 2 };

template <class OUT>
struct tile_word {
  unsigned long long half[sizeof(OUT) / 4];
};

template <class OUT>
static __device__ __forceinline__ void say(tile_word<OUT>* word, uint32_t state, OUT sum) {
#pragma unroll
  for (int h = 0; h < (int)(sizeof(OUT) / 4); h++) {
    const unsigned long long bits = (uint32_t)((uint64_t)sum >> 32 * h);
    *(volatile unsigned long long*)&word->half[h] = (unsigned long long)state << 32 | bits;
  }
}

/* Waits until the tile says something. */
template <class OUT>
static __device__ __forceinline__ uint32_t hear(const tile_word<OUT>* word, OUT* sum) {
  for (;;) {
    const unsigned long long low = *(const volatile unsigned long long*)&word->half[0];
    uint32_t state = (uint32_t)(low >> 32);
    uint64_t all = (uint32_t)low;
    if (sizeof(OUT) == 8) {
      const unsigned long long high =
          *(const volatile unsigned long long*)&word->half[sizeof(OUT) / 4 - 1];
      if ((uint32_t)(high >> 32) != state) state = SAYS_NOTHING;
      all |= high << 32;
    }
    if (state == SAYS_NOTHING) continue;
    *sum = (OUT)all;
    return state;
  }
}

/* Warp 0: the sum of all tiles before this one, 32 of them at a time. */
template <class OUT>
static __device__ __forceinline__ OUT look_back(const tile_word<OUT>* words, uint32_t tile,
                                                int lane) {
  OUT before = 0;
  for (int64_t last = (int64_t)tile - 1;; last -= 32) {
    OUT sum = 0;
    uint32_t state = SAYS_ALL; /* before the first tile there is nothing */
    if (last - lane >= 0) state = hear(words + (last - lane), &sum);
    const uint32_t whole = __ballot_sync(~0u, state == SAYS_ALL);
    const int stop = whole ? __ffs((int)whole) - 1 : 31;
    if (lane > stop) sum = 0;
#pragma unroll
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
    before += sum;
    if (whole) return before;
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

enum { TILE_THREADS = 512, TILE_VECTORS = 8, TILE_WARPS = TILE_THREADS / 32 };
enum { WARP_ITEMS = 32 * 4 * TILE_VECTORS, TILE_ITEMS = TILE_WARPS * WARP_ITEMS };

/* next: the counter that tiles are taken from, so that a tile's predecessors run already. */
template <class IN, class OUT>
static __global__ void __launch_bounds__(TILE_THREADS)
    scan_tiles(size_t count, const IN* in, OUT* out, tile_word<OUT>* words, uint32_t* next,
               bool aligned) {
  __shared__ uint32_t my_tile;
  __shared__ OUT of_warp[TILE_WARPS], before_tile;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (threadIdx.x == 0) my_tile = atomicAdd(next, 1);
  __syncthreads();
  const uint32_t tile = my_tile;
  const size_t first = (size_t)tile * TILE_ITEMS + (size_t)warp * WARP_ITEMS + 4 * lane;
  const bool whole = aligned && (size_t)(tile + 1) * TILE_ITEMS <= count;
  IN item[TILE_VECTORS][4];
#pragma unroll
  for (int v = 0; v < TILE_VECTORS; v++) {
    const size_t at = first + 128 * v;
    if (whole) load4(in + at, item[v]);
    if (!whole)
      for (int i = 0; i < 4; i++) item[v][i] = at + i < count ? in[at + i] : 0;
  }
  /* what comes before the lane's four of each vector, within the warp */
  OUT before[TILE_VECTORS], sum_of_warp = 0;
#pragma unroll
  for (int v = 0; v < TILE_VECTORS; v++) {
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
  for (int w = 0; w < TILE_WARPS; w++) {
    if (w == warp) base = sum_of_tile;
    sum_of_tile += of_warp[w];
  }
  if (warp == 0) {
    if (lane == 0) say(words + tile, tile == 0 ? SAYS_ALL : SAYS_OWN, sum_of_tile);
    const OUT all = tile == 0 ? 0 : look_back(words, tile, lane);
    if (lane == 0) {
      if (tile > 0) say(words + tile, SAYS_ALL, (OUT)(all + sum_of_tile));
      before_tile = all;
    }
  }
  __syncthreads();
  base += before_tile;
#pragma unroll
  for (int v = 0; v < TILE_VECTORS; v++) {
    const size_t at = first + 128 * v;
    OUT sum[4];
    sum[0] = base + before[v];
#pragma unroll
    for (int i = 1; i < 4; i++) sum[i] = sum[i - 1] + item[v][i - 1];
    if (whole) store4(sum, out + at);
    if (!whole)
      for (int i = 0; i < 4; i++)
        if (at + i < count) out[at + i] = sum[i];
  }
  if (threadIdx.x == 0 && (size_t)(tile + 1) * TILE_ITEMS >= count)
    out[count] = before_tile + sum_of_tile;
}

static size_t scratch_single_pass(size_t count, size_t width) {
  return tg_cuda_blocks(count, TILE_ITEMS) * 2 * width + 64;
}

template <class IN, class OUT>
static tg_status single_pass(size_t count, const IN* in, OUT* out, void* scratch, int threads) {
  const size_t tiles = tg_cuda_blocks(count, TILE_ITEMS);
  const bool aligned = ((uintptr_t)in | (uintptr_t)out) % 16 == 0;
  (void)threads;
  if (count == 0) return tg_cuda_zero(out, sizeof *out);
  TG_TRY(tg_cuda_zero(scratch, scratch_single_pass(count, sizeof *out)));
  scan_tiles<<<(unsigned)tiles, TILE_THREADS>>>(
      count, in, out, (tile_word<OUT>*)((char*)scratch + 64), (uint32_t*)scratch, aligned);
  return tg_cuda_queued("a scan");
}

extern const tg_scan_version tg_cuda_scans[] = {
    {"serial", NULL, NULL, serial<uint32_t, uint32_t>, serial<uint64_t, uint64_t>,
     serial<uint32_t, uint64_t>},
    {"sweep", NULL, scratch_sweep, sweep<uint32_t, uint32_t>, sweep<uint64_t, uint64_t>,
     sweep<uint32_t, uint64_t>},
    {"single_pass", NULL, scratch_single_pass, single_pass<uint32_t, uint32_t>,
     single_pass<uint64_t, uint64_t>, single_pass<uint32_t, uint64_t>},
    {"library", NULL, tg_cuda_library_scratch, tg_cuda_library_u32, tg_cuda_library_u64,
     tg_cuda_library_offsets},
    {NULL, NULL, NULL, NULL, NULL, NULL},
};
