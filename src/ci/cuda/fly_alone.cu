/* SPDX-License-Identifier: Apache-2.0 */
/* The part of H that acts on one species alone, times the large blocks of x: a sparse matrix
 * between strings times a dense one.
 *
 * A block of threads makes up to 16 panels of 16 strings of the target, a warp each, for 64 columns
 * of the dense matrix (species 0: columns of x; species 1: rows): sums stay in registers. Where
 * strips are low (ci/strips.h) it is up to 8, two blocks to a multiprocessor, so that the last ones
 * take less time. Strips of x come one after the other, the next one while the last is multiplied.
 * A tile of elements (ci/strips.h) is one side of tensor instructions, which multiply its zeros,
 * too: 5 to 15 products an element, at 128 a clock. Limits: the tensor units, then shared memory
 * (16 numbers a clock, half as many clocks). */
#include <cuda_pipeline.h>

#include <algorithm>

#include "ci/cuda/fly_tensor.cuh"

enum {
  LANES = 32,
  WIDE = TG_FLY_STRIP_LANES,
  PAD = 4,      /* four rows of a strip without conflicts */
  TOGETHER = 4, /* tiles whose elements are asked for at a time */
  PARTS = WIDE / 8,
  RESIDENT = 16 /* warps of a multiprocessor, for their registers */
};

/* Numbers of a strip of species 0: [height, WIDE + PAD]; of species 1: [WIDE, height + PAD]. */
static __host__ __device__ constexpr uint32_t strip_numbers(int species, uint32_t height) {
  return species ? WIDE * (height + PAD) : height * (WIDE + PAD);
}

static size_t shared_bytes(int species, uint32_t height) {
  return 2 * strip_numbers(species, height) * sizeof(double);
}

/* A strip of a link whose source has a block of x. */
struct place {
  uint32_t link, strip;
  const tg_fly_block* source;
};

/* The first such at or behind a place; false: there is none. */
template <int SPECIES>
static __device__ bool find_strip(const tg_fly_view& v, const tg_fly_block& block, uint32_t end,
                                  place* p) {
  const tg_ci_strips& strips = v.strips[SPECIES];
  for (; p->link < end; p->link++, p->strip = 0) {
    const tg_ci_strip_link& link = strips.links[p->link];
    if (p->strip >= link.count) continue;
    p->source = SPECIES ? tg_fly_block_of(v, block.a, link.source)
                        : tg_fly_block_of(v, link.source, block.b);
    if (p->source) return true;
  }
  return false;
}

static __device__ __forceinline__ void fetch(double* to, const double* from) {
  __pipeline_memcpy_async(to, from, sizeof(double));
}

/* Asks for a strip; strings that fill up its last tile are zeros. */
template <int SPECIES, int HEIGHT>
static __device__ void load_strip(const tg_fly_view& v, const tg_fly_strip& item, const place& p,
                                  const double* x, double* tile) {
  const uint32_t warp = threadIdx.x / LANES, lane = threadIdx.x % LANES;
  constexpr uint32_t WARPS = tg_fly_strip_panels(HEIGHT);
  const uint32_t start = p.strip * HEIGHT, rest = v.strips[SPECIES].links[p.link].columns - start;
  const uint32_t height = rest < HEIGHT ? rest : HEIGHT;
  const uint32_t filled = (height + TG_CI_TILE_SIDE - 1) / TG_CI_TILE_SIDE * TG_CI_TILE_SIDE;
  const uint64_t columns = p.source->columns;
  x += p.source->offset;
  if constexpr (SPECIES == 0) {
    for (uint32_t i = warp; i < filled; i += WARPS)
      for (uint32_t c = lane; c < item.lanes; c += LANES) {
        double* to = tile + i * (WIDE + PAD) + c;
        if (i < height)
          fetch(to, x + (start + i) * columns + item.lane + c);
        else
          *to = 0;
      }
  } else {
    for (uint32_t r = warp; r < item.lanes; r += WARPS)
      for (uint32_t j = lane; j < filled; j += LANES) {
        double* to = tile + r * (HEIGHT + PAD) + j;
        if (j < height)
          fetch(to, x + (item.lane + r) * columns + start + j);
        else
          *to = 0;
      }
  }
}

/* What a lane holds of a tile of elements. */
struct elements {
  double a[2];
  uint32_t from;
};

static __device__ __forceinline__ elements load_tile(const tg_ci_strips& strips, const int4& tile,
                                                     int number) {
  const uint32_t lane = threadIdx.x % LANES;
  const uint32_t low = (uint32_t)__shfl_sync(~0u, tile.x, number);
  const uint32_t high = (uint32_t)__shfl_sync(~0u, tile.y, number);
  const uint32_t first = (uint32_t)__shfl_sync(~0u, tile.z, number);
  elements out = {{0, 0}, (uint32_t)__shfl_sync(~0u, tile.w, number)};
  const uint64_t mask = (uint64_t)high << 32 | low;
  const uint64_t below = mask & (((uint64_t)1 << (2 * lane)) - 1);
  const uint32_t here = (uint32_t)(mask >> (2 * lane)) & 3;
  const double* value = strips.values + first + __popcll(below);
  if (here & 1) out.a[0] = __ldg(value);
  if (here & 2) out.a[1] = __ldg(value + (here & 1));
  return out;
}

/* One strip's part of a panel's sums. */
template <int SPECIES, int HEIGHT>
static __device__ __forceinline__ void add_tiles(const tg_ci_strips& strips, uint32_t begin,
                                                 uint32_t end, uint32_t parts, const double* tile,
                                                 double sums[PARTS][4]) {
  const uint32_t lane = threadIdx.x % LANES, g = lane / 4, t = lane % 4;
  const double* mine = SPECIES ? tile + g * (HEIGHT + PAD) + t : tile + t * (WIDE + PAD) + g;
  for (uint32_t base = begin; base < end; base += LANES) {
    const uint32_t rest = end - base, count = rest < LANES ? rest : LANES;
    int4 header = make_int4(0, 0, 0, 0);
    if (lane < count) header = __ldg((const int4*)(strips.tiles + base + lane));
    for (uint32_t n = 0; n < count; n += TOGETHER) {
      elements e[TOGETHER]; /* zeros behind the last tile */
#pragma unroll
      for (int d = 0; d < TOGETHER; d++) e[d] = load_tile(strips, header, (int)n + d);
#pragma unroll
      for (int d = 0; d < TOGETHER; d++) {
        if (n + d >= count) break;
        const double* row = mine + e[d].from * (SPECIES ? 1 : WIDE + PAD);
#pragma unroll
        for (int p = 0; p < PARTS; p++)
          if (p < parts)
            tg_fly_multiply_add(sums[p], e[d].a[0], e[d].a[1],
                                row[p * 8 * (SPECIES ? HEIGHT + PAD : 1)]);
      }
    }
  }
}

/* y: of the block. */
template <int SPECIES>
static __device__ __forceinline__ void store_panel(const tg_fly_strip& item, uint32_t panel,
                                                   uint64_t columns, bool add,
                                                   double sums[PARTS][4], double* y) {
  const uint32_t lane = threadIdx.x % LANES, g = lane / 4, t = lane % 4;
#pragma unroll
  for (int p = 0; p < PARTS; p++)
#pragma unroll
    for (int c = 0; c < 4; c++) {
      const uint32_t target = panel * TG_CI_PANEL + g + c / 2 * 8, at = p * 8 + 2 * t + c % 2;
      if (target < item.target || target >= item.end || at >= item.lanes) continue;
      double* to =
          SPECIES ? &y[(item.lane + at) * columns + target] : &y[target * columns + item.lane + at];
      *to = add ? *to + sums[p][c] : sums[p][c];
    }
}

template <int SPECIES, int HEIGHT>
static __global__ void __launch_bounds__(tg_fly_strip_panels(HEIGHT) * LANES,
                                         RESIDENT / tg_fly_strip_panels(HEIGHT))
    alone_product(const __grid_constant__ tg_fly_view v, bool second, const double* __restrict__ x,
                  size_t ldx, double* y, size_t ldy) {
  constexpr uint32_t NUMBERS = strip_numbers(SPECIES, HEIGHT);
  extern __shared__ double buffers[];
  const tg_fly_strip item = v.strip_list[SPECIES][blockIdx.x];
  const tg_fly_block block = v.blocks[item.block];
  const tg_ci_strips& strips = v.strips[SPECIES];
  const uint32_t target = SPECIES ? block.b : block.a;
  const uint32_t panels = ((SPECIES ? block.columns : block.rows) + TG_CI_PANEL - 1) / TG_CI_PANEL;
  const uint32_t panel = item.target / TG_CI_PANEL + threadIdx.x / LANES;
  const bool busy = panel * TG_CI_PANEL < item.end;
  const uint32_t parts = (item.lanes + 7) / 8, end = strips.link_begin[target + 1];
  double sums[PARTS][4] = {};
  place now = {strips.link_begin[target], 0, nullptr};
  x += blockIdx.y * ldx;
  tg_fly_let_next_begin();
  bool there = find_strip<SPECIES>(v, block, end, &now);
  if (there) load_strip<SPECIES, HEIGHT>(v, item, now, x, buffers);
  __pipeline_commit();
  for (uint32_t b = 0; there; b ^= 1) {
    place next = {now.link, now.strip + 1, nullptr};
    const bool more = find_strip<SPECIES>(v, block, end, &next);
    if (more) load_strip<SPECIES, HEIGHT>(v, item, next, x, buffers + (b ^ 1) * NUMBERS);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    if (busy) {
      const uint32_t* begin =
          strips.begin + strips.links[now.link].begin + (uint64_t)now.strip * panels + panel;
      add_tiles<SPECIES, HEIGHT>(strips, begin[0], begin[1], parts, buffers + b * NUMBERS, sums);
    }
    __syncthreads();
    now = next;
    there = more;
  }
  /* that of the block's first element, which may lie before y's */
  double* of_block = y + blockIdx.y * ldy + (int64_t)(block.offset - v.first);
  tg_fly_wait_for_last();
  if (busy) store_panel<SPECIES>(item, panel, block.columns, second, sums, of_block);
}

typedef void (*kernel)(const tg_fly_view, bool, const double*, size_t, double*, size_t);

static kernel kernel_of(int species, uint32_t height) {
  if (height == TG_CI_STRIP_HIGH)
    return species ? alone_product<1, TG_CI_STRIP_HIGH> : alone_product<0, TG_CI_STRIP_HIGH>;
  return species ? alone_product<1, TG_CI_STRIP_LOW> : alone_product<0, TG_CI_STRIP_LOW>;
}

size_t tg_fly_alone_shared(void) {
  return std::max(shared_bytes(0, TG_CI_STRIP_HIGH), shared_bytes(1, TG_CI_STRIP_HIGH));
}

tg_status tg_fly_alone_prepare(tg_ci_device_fly* fly) {
  for (int t = 0; t < 2; t++)
    TG_TRY(tg_cuda_allow_shared(kernel_of(t, fly->view.strips[t].height), fly->device));
  return TG_OK;
}

/* Strips first ... first + count - 1. */
static void queue(tg_ci_device_fly* fly, int species, bool second, size_t first, size_t count,
                  int k, const double* x, size_t ldx, double* y, size_t ldy) {
  const uint32_t height = fly->view.strips[species].height;
  const dim3 grid((unsigned)count, (unsigned)k);
  tg_fly_view view = fly->view;
  view.strip_list[species] += first;
  if (count == 0) return;
  tg_fly_launch(fly, kernel_of(species, height), grid, tg_fly_strip_panels(height) * LANES,
                shared_bytes(species, height), view, second, x, ldx, y, ldy);
}

void tg_fly_queue_alone(tg_ci_device_fly* fly, int species, bool second, int k, const double* x,
                        size_t ldx, double* y, size_t ldy) {
  queue(fly, species, second, 0, fly->view.strip_count[species], k, x, ldx, y, ldy);
}

void tg_fly_queue_own(tg_ci_device_fly* fly, bool own, int k, const double* x, size_t ldx,
                      double* y, size_t ldy) {
  const size_t count = fly->view.own_strips;
  if (own)
    queue(fly, 1, false, 0, count, k, x, ldx, y, ldy);
  else
    queue(fly, 1, false, count, fly->view.strip_count[1] - count, k, x, ldx, y, ldy);
}
