/* SPDX-License-Identifier: Apache-2.0 */
/* The work of fly_cross.cu with what is read from global memory asked for a phase before it is
 * used: x of the next chunk and the first words of groups, before the threads wait for each other;
 * pairs of links and the numbers of jumps, 16 at a time. Sums have the same order, so bits are the
 * same. Not measured yet: TG_CI_FLY=ahead takes it. */
#include "ci/cuda/fly_cross.cuh"

enum { JOBS = 16 /* pairs of links whose tables are at hand */ };

/* What a warp needs of x for 16 columns of V, and which operators are needed there. */
template <int STEPS>
struct unit {
  double a[STEPS][2];
  uint32_t wanted;
};

template <int STEPS>
static __device__ __forceinline__ void load_unit(const tg_ci_sheet& sheet, const uint8_t* units,
                                                 uint32_t chunk, uint32_t number, const shared& s,
                                                 unit<STEPS>* out) {
  const uint32_t lane = threadIdx.x % LANES, g = lane / 4, t = lane % 4;
  const uint32_t each = sheet.width / UNIT, j = chunk * sheet.width + number * UNIT + g;
  out->wanted = 0;
  if (chunk >= sheet.chunk_count || number >= each) return;
  out->wanted = units[chunk * each + number];
#pragma unroll
  for (int k = 0; k < STEPS; k++) {
    const double* row = s.from[4 * k + t];
    out->a[k][0] = j < sheet.columns ? __ldg(row + j) : 0.;
    out->a[k][1] = j + 8 < sheet.columns ? __ldg(row + j + 8) : 0.;
  }
}

/* Sixteen operators at a time, as one product waits for the one before in the same sum. */
template <int STEPS>
static __device__ __forceinline__ void make_values(const tg_ci_sheet& sheet, uint32_t number,
                                                   const unit<STEPS>& u, const shared& s) {
  const uint32_t lane = threadIdx.x % LANES, g = lane / 4, t = lane % 4;
  const uint32_t stride = sheet.width + TG_CI_SHEET_PAD, column = number * UNIT + g;
  for (uint32_t o = 0; u.wanted >> o; o += 2) {
    if (!(u.wanted >> o & 3)) continue;
    double c[2][4] = {{0, 0, 0, 0}, {0, 0, 0, 0}};
#pragma unroll
    for (int k = 0; k < STEPS; k++) {
      const double* w = s.w + (4 * k + t) * W_STRIDE + o * 8 + g;
      multiply_add(c[0], u.a[k][0], u.a[k][1], w[0]);
      multiply_add(c[1], u.a[k][0], u.a[k][1], w[8]);
    }
#pragma unroll
    for (uint32_t n = 0; n < 2; n++) {
      if (!(u.wanted >> (o + n) & 1)) continue;
      double* to = s.values + ((o + n) * 8 + 2 * t) * stride + column;
      to[0] = c[n][0];
      to[stride] = c[n][1];
      to[8] = c[n][2];
      to[stride + 8] = c[n][3];
    }
  }
}

static __device__ __forceinline__ uint32_t word_of(const tg_ci_sheets& sheets, uint32_t line) {
  return __ldg(sheets.words + (uint64_t)line * LANES + threadIdx.x % LANES);
}

/* The first words of a group. */
struct group {
  uint32_t line, end, word[2];
};

static __device__ __forceinline__ void load_group(const tg_ci_sheets& sheets,
                                                  const tg_ci_chunk& chunk, uint32_t number,
                                                  group* out) {
  out->line = out->end = 0;
  if (number >= chunk.group_count) return;
  out->line = sheets.group_begin[chunk.groups + number];
  out->end = sheets.group_begin[chunk.groups + number + 1];
  out->word[0] = word_of(sheets, out->line);
  out->word[1] = out->line + 1 < out->end ? word_of(sheets, out->line + 1) : 0;
}

static __device__ __forceinline__ void add_jumps(const tg_ci_sheets& sheets, const group& n,
                                                 const shared& s) {
  const uint32_t string = n.word[0] & 0xffff;
  double sum = value_of(s.values, n.word[0] >> 16);
  if (n.line + 1 < n.end) {
    sum += value_of(s.values, n.word[1] & 0xffff);
    sum += value_of(s.values, n.word[1] >> 16);
  }
#pragma unroll 2
  for (uint32_t l = n.line + 2; l < n.end; l++) {
    const uint32_t two = word_of(sheets, l);
    sum += value_of(s.values, two & 0xffff);
    sum += value_of(s.values, two >> 16);
  }
  if (string != s.strings) s.y[string] += sum; /* not an empty place */
}

/* Chunk after chunk. What is read from global memory is asked for a phase before it is used. */
template <int STEPS>
static __device__ __forceinline__ void do_sheet(const tg_ci_sheets& sheets, const tg_ci_sheet sheet,
                                                const shared& s) {
  const uint32_t warp = threadIdx.x / LANES, warps = blockDim.x / LANES;
  tg_ci_chunk chunk = sheets.chunks[sheet.chunks];
  const uint8_t* units = sheets.units + chunk.units; /* of all chunks, one behind the other */
  unit<STEPS> u;
  load_unit(sheet, units, 0, warp, s, &u);
  for (uint32_t c = 0; c < sheet.chunk_count; c++) {
    group n;
    load_group(sheets, chunk, warp, &n);
    for (uint32_t number = warp; number < sheet.width / UNIT; number += warps) {
      if (number > warp) load_unit(sheet, units, c, number, s, &u);
      make_values(sheet, number, u, s);
    }
    load_unit(sheet, units, c + 1, warp, s, &u);
    const tg_ci_chunk now = chunk;
    if (c + 1 < sheet.chunk_count) chunk = sheets.chunks[sheet.chunks + c + 1];
    __syncthreads();
    for (uint32_t number = warp; number < now.group_count; number += warps) {
      const group here = n;
      load_group(sheets, now, number + warps, &n);
      add_jumps(sheets, here, s);
    }
    __syncthreads();
  }
}

/* A pair of links, and the jumps of A that lead to the row: the string that stays, if it counts, is
 * one more behind them. */
struct job {
  tg_ci_sheet_pair pair;
  tg_ci_sheet sheet;
  uint32_t begin, moving;
};

/* Several at a time, for all threads. */
static __device__ void load_jobs(const tg_fly_view& v, const tg_fly_block& block, uint32_t row,
                                 const tg_ci_tile& tile, uint32_t first, uint32_t count,
                                 job* jobs) {
  if (threadIdx.x >= count) return;
  job* out = &jobs[threadIdx.x];
  const uint32_t links = v.steps_links.of[block.a + 1] - v.steps_links.of[block.a];
  const uint32_t* begin = v.steps.begin + v.steps.base[block.a] + (uint64_t)row * (links + 1);
  out->pair = v.sheet_pairs.pairs[first + threadIdx.x];
  out->sheet = v.sheets.sheets[tile.sheets + out->pair.sheet];
  out->begin = out->moving = 0;
  if (out->pair.link != UINT32_MAX) {
    out->begin = begin[out->pair.link];
    out->moving = begin[out->pair.link + 1] - out->begin;
  }
}

/* Up to 16 jumps of A from number first: what they multiply x by, and where that is. */
static __device__ void load_jumps(const tg_fly_view& v, const tg_fly_block& block, uint32_t row,
                                  const job& j, uint32_t first, uint32_t count, const double* x,
                                  const shared& s) {
  const uint32_t wide = (count + 3) / 4 * 4 * OPERATORS;
  for (uint32_t n = threadIdx.x; n < wide; n += blockDim.x) {
    const uint32_t k = n / OPERATORS, o = n % OPERATORS;
    double value = 0;
    if (k < count && o < j.sheet.operator_count) {
      const uint32_t op = v.sheets.operators[j.sheet.operators + o];
      if (first + k < j.moving) {
        const uint32_t at = v.steps.row[j.begin + first + k];
        value = v.cross[(at & 0x7fffffff) + op];
        if (at >> 31) value = -value;
      } else {
        value = tg_fly_field_of(v, v.fields[1], op, 0, block.first_a + row);
      }
    }
    s.w[k * W_STRIDE + o] = value;
  }
  if (threadIdx.x < JUMPS) {
    const uint32_t k = first + (threadIdx.x < count ? threadIdx.x : 0); /* others have w = 0 */
    const uint64_t from = k < j.moving ? v.steps.from[j.begin + k] : row;
    s.from[threadIdx.x] = x + j.pair.offset + from * j.sheet.columns;
  }
}

static __device__ __forceinline__ void do_job(const tg_fly_view& v, const tg_fly_block& block,
                                              uint32_t row, const job& j, const double* x,
                                              const shared& s) {
  const uint32_t total = j.moving + j.pair.still;
  for (uint32_t first = 0; first < total; first += JUMPS) {
    const uint32_t rest = total - first, count = rest < JUMPS ? rest : JUMPS;
    load_jumps(v, block, row, j, first, count, x, s);
    __syncthreads();
    switch ((count + 3) / 4) {
      case 1: do_sheet<1>(v.sheets, j.sheet, s); break;
      case 2: do_sheet<2>(v.sheets, j.sheet, s); break;
      case 3: do_sheet<3>(v.sheets, j.sheet, s); break;
      default: do_sheet<4>(v.sheets, j.sheet, s); break;
    }
  }
}

template <int THREADS, int BLOCKS>
static __global__ void __launch_bounds__(THREADS, BLOCKS)
    ahead_product(const __grid_constant__ tg_fly_view v, int size, const double* __restrict__ x,
                  size_t ldx, double* __restrict__ y, size_t ldy) {
  extern __shared__ double memory[];
  const tg_fly_row at = v.rows[size][blockIdx.x];
  const tg_fly_block block = v.blocks[at.block];
  const tg_ci_tile tile = v.sheets.tiles[at.tile];
  shared s;
  job* jobs = (job*)memory;
  s.from = (const double**)(jobs + JOBS);
  s.w = (double*)(s.from + JUMPS);
  s.values = s.w + JUMPS * W_STRIDE;
  s.y = s.values + tile.room;
  s.strings = tile.count;
  x += blockIdx.y * ldx;
  y += blockIdx.y * ldy;
  for (uint32_t c = threadIdx.x; c < tile.count; c += THREADS) s.y[c] = 0;
  if (threadIdx.x == 0) s.values[tile.room - 1] = 0; /* what empty places read */
  const uint32_t end = v.sheet_pairs.begin[at.block + 1];
  for (uint32_t p = v.sheet_pairs.begin[at.block]; p < end; p += JOBS) {
    const uint32_t count = end - p < JOBS ? end - p : JOBS;
    load_jobs(v, block, at.row, tile, p, count, jobs);
    __syncthreads();
    for (uint32_t n = 0; n < count; n++) do_job(v, block, at.row, jobs[n], x, s);
    __syncthreads();
  }
  finish(v, block, at.row, tile, x, y, s);
}

/* As many blocks of threads as fit a multiprocessor by the room of V and y. */
typedef void (*kernel)(const tg_fly_view, int, const double*, size_t, double*, size_t);
static const kernel kernels[TG_FLY_SIZES] = {ahead_product<256, 3>, ahead_product<384, 2>,
                                             ahead_product<768, 1>};
static const unsigned threads[TG_FLY_SIZES] = {256, 384, 768};
static const uint64_t strings[TG_FLY_SIZES] = {1, 1025, 4097};

static size_t shared_bytes(int size, uint32_t columns) {
  return JOBS * sizeof(job) +
         sizeof(double) * (JUMPS + JUMPS * W_STRIDE + tg_ci_sheet_room(strings[size]) + columns);
}

tg_status tg_fly_ahead_prepare(tg_ci_device_fly* fly) {
  for (int size = 0; size < TG_FLY_SIZES; size++)
    if (fly->view.row_count[size]) TG_TRY(tg_cuda_allow_shared(kernels[size], fly->device));
  return TG_OK;
}

void tg_fly_queue_ahead(tg_ci_device_fly* fly, int k, const double* x, size_t ldx, double* y,
                        size_t ldy) {
  for (int size = TG_FLY_SIZES - 1; size >= 0; size--) {
    const dim3 grid((unsigned)fly->view.row_count[size], (unsigned)k);
    if (grid.x)
      kernels
          [size]<<<grid, threads[size], shared_bytes(size, fly->view.columns[size]), fly->stream>>>(
              fly->view, size, x, ldx, y, ldy);
  }
}
