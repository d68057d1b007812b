/* SPDX-License-Identifier: Apache-2.0 */
/* Scan: exclusive, of any length; the last of count + 1 sums is the total.
 *
 *   serial       one thread of the device
 *   sweep        sums of pairs, of pairs of pairs, ... up to one; then back, a kernel a level. A
 *                level lies packed, so its sums are neighbours: 8 numbers an element go through
 *                memory (tg_scan_bytes), where a sweep in place touches a sector for each number
 *   single_pass  decoupled look-back (motif/cuda/single_pass.cuh)
 *   library      CUB
 *   host         there and back over the link, added up by the host's threads; pinned: through
 *                memory that the device copies from and to by itself (motif/cuda/host_scan.cu) */
#include "motif/cuda/single_pass.cuh"

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

/* Four neighbouring pairs at a time where all eight elements are there and aligned. */
enum { SWEEP_THREADS = 256, SWEEP_LEVELS = 64, SWEEP_PAIRS = 4 };

template <class T>
static __device__ __forceinline__ void load8(const T* from, T (&to)[8]) {
  T half[4];
#pragma unroll
  for (int h = 0; h < 2; h++) {
    load4(from + 4 * h, half);
#pragma unroll
    for (int i = 0; i < 4; i++) to[4 * h + i] = half[i];
  }
}

/* Level l + 1 of the tree: sums of two of level l, of which the last may be alone. */
template <class IN, class OUT>
static __global__ void sweep_up(size_t count, const IN* in, OUT* pairs, bool aligned) {
  const size_t i = ((size_t)blockIdx.x * blockDim.x + threadIdx.x) * SWEEP_PAIRS;
  if (aligned && 2 * (i + SWEEP_PAIRS) <= count) {
    IN item[8];
    OUT sum[4];
    load8(in + 2 * i, item);
#pragma unroll
    for (int k = 0; k < 4; k++) sum[k] = (OUT)item[2 * k] + item[2 * k + 1];
    store4(sum, pairs + i);
    return;
  }
  for (size_t k = i; k < i + SWEEP_PAIRS && 2 * k < count; k++) {
    OUT sum = in[2 * k];
    if (2 * k + 1 < count) sum += in[2 * k + 1];
    pairs[k] = sum;
  }
}

/* before[i]: what comes before the pair i. in and out may be the same. */
template <class IN, class OUT>
static __global__ void sweep_down(size_t count, const IN* in, const OUT* before, OUT* out,
                                  bool aligned) {
  const size_t i = ((size_t)blockIdx.x * blockDim.x + threadIdx.x) * SWEEP_PAIRS;
  if (aligned && 2 * (i + SWEEP_PAIRS) <= count) {
    IN item[8];
    OUT sum[4];
    load8(in + 2 * i, item);
    load4(before + i, sum);
#pragma unroll
    for (int h = 0; h < 2; h++) {
      const OUT four[4] = {sum[2 * h], sum[2 * h] + item[4 * h], sum[2 * h + 1],
                           sum[2 * h + 1] + item[4 * h + 2]};
      store4(four, out + 2 * i + 4 * h);
    }
    return;
  }
  for (size_t k = i; k < i + SWEEP_PAIRS && 2 * k < count; k++) {
    const OUT sum = before[k], left = in[2 * k];
    out[2 * k] = sum;
    if (2 * k + 1 < count) out[2 * k + 1] = sum + left;
  }
}

/* The top of the tree is the total. */
template <class OUT>
static __global__ void sweep_top(OUT* top, OUT* total) {
  *total = *top;
  *top = 0;
}

/* Elements of the level above one of n, and the room they take: levels begin aligned. */
static size_t level_length(size_t n) { return (n + 1) / 2; }
static size_t level_room(size_t n) { return (level_length(n) + 3) / 4 * 4; }

static size_t scratch_sweep(size_t count, size_t width) {
  size_t elements = 0;
  for (size_t n = count; n > 1; n = level_length(n)) elements += level_room(n);
  return elements * width;
}

static unsigned sweep_blocks(size_t pairs) {
  return (unsigned)tg_cuda_blocks(pairs, SWEEP_THREADS * SWEEP_PAIRS);
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
    length[levels++] = level_length(n);
    room += level_room(n);
  }
  const bool aligned = ((uintptr_t)in | (uintptr_t)out) % 16 == 0;
  sweep_up<<<sweep_blocks(length[0]), SWEEP_THREADS>>>(count, in, level[0], aligned);
  for (int l = 1; l < levels; l++)
    sweep_up<<<sweep_blocks(length[l]), SWEEP_THREADS>>>(length[l - 1], (const OUT*)level[l - 1],
                                                         level[l], true);
  sweep_top<<<1, 1>>>(level[levels - 1], out + count);
  for (int l = levels - 1; l > 0; l--)
    sweep_down<<<sweep_blocks(length[l]), SWEEP_THREADS>>>(
        length[l - 1], (const OUT*)level[l - 1], (const OUT*)level[l], level[l - 1], true);
  sweep_down<<<sweep_blocks(length[0]), SWEEP_THREADS>>>(count, in, (const OUT*)level[0], out,
                                                         aligned);
  return tg_cuda_queued("a scan");
}

/* 64 bytes of a lane are as much as there are registers for in two blocks of a multiprocessor. */
template <class IN>
struct tile_of {
  static constexpr int THREADS = 512, VECTORS = sizeof(IN) == 4 ? 8 : 4, BLOCKS = 2;
};

static size_t scratch_single_pass(size_t count, size_t width) {
  /* the smaller tiles, of which there are more; words are two sums long */
  const size_t tiles = tg_cuda_blocks(count, tile_shape<512, tile_of<uint64_t>::VECTORS>::ITEMS);
  return SINGLE_PASS_HEAD + tiles * SPREAD * 2 * width;
}

template <class IN, class OUT>
static tg_status single_pass(size_t count, const IN* in, OUT* out, void* scratch, int threads) {
  using tile = tile_of<IN>;
  const size_t tiles = tg_cuda_blocks(count, tile_shape<tile::THREADS, tile::VECTORS>::ITEMS);
  (void)threads;
  if (count == 0) return tg_cuda_zero(out, sizeof *out);
  return single_pass_queue<tile::THREADS, tile::VECTORS, tile::BLOCKS>(count, in, out, scratch,
                                                                       spread_of(tiles));
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
    {"host", NULL, NULL, tg_cuda_host_u32, tg_cuda_host_u64, tg_cuda_host_offsets},
    {"host pinned", NULL, NULL, tg_cuda_pinned_u32, tg_cuda_pinned_u64, tg_cuda_pinned_offsets},
    {NULL, NULL, NULL, NULL, NULL, NULL},
};
