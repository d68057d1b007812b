/* SPDX-License-Identifier: Apache-2.0 */
/* A particle of each species moves, in the large blocks: a block of threads makes a row i' of y.
 *
 * For each pair of links (ci/sheets.h) and each chunk of the source's strings of B:
 *   1. V[b, j] = sum over k of w_k[b] x[i_k, j], w_k[b] = phase_k w(a_k, b), of up to 16 jumps k of
 *      A: a small dense product by tensor instructions, which add up in double precision as any
 *      other. Columns of x are their 16 rows, operators b their 8 columns. x comes from global
 *      memory, each number once; w_k from shared memory, V goes there.
 *   2. y[j'] += sum of phase V[b, j]: a thread a string j', jumps as the sheet says.
 * Three out of four to six numbers of V are not needed; a number of V that is stands for as many
 * matrix elements as there are jumps k, 7 to 11 in the large valence spaces. Limits: shared memory
 * (a write of every V, a read of those needed) and the tensor units, about evenly. */
#include "ci/cuda/fly.cuh"

enum {
  JUMPS = 16, /* of A at a time */
  OPERATORS = TG_CI_SHEET_OPERATORS,
  W_STRIDE = OPERATORS + 4, /* four rows of eight numbers without conflicts */
  UNIT = TG_CI_SHEET_UNIT,
  LANES = 32
};

/* c[column, operator] += a[column, jump] b[jump, operator], 16 x 8 x 4, of a warp: with g = lane /
 * 4 and t = lane % 4 a lane holds a of columns g and g + 8 and jump t, b of jump t and operator g,
 * c of columns g (c[0], c[1]) and g + 8 and operators 2t and 2t + 1. */
static __device__ __forceinline__ void multiply_add(double c[4], double a0, double a1, double b) {
#if __CUDA_ARCH__ >= 900
  asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5}, {%6}, "
      "{%0,%1,%2,%3};"
      : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
      : "d"(a0), "d"(a1), "d"(b));
#elif __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
      : "+d"(c[0]), "+d"(c[1])
      : "d"(a0), "d"(b));
  asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
      : "+d"(c[2]), "+d"(c[3])
      : "d"(a1), "d"(b));
#else
  const int g = (int)threadIdx.x % LANES / 4, t = (int)threadIdx.x % 4;
  for (int k = 0; k < 4; k++) {
    const double low = __shfl_sync(~0u, a0, 4 * g + k), high = __shfl_sync(~0u, a1, 4 * g + k);
    for (int n = 0; n < 2; n++) {
      const double w = __shfl_sync(~0u, b, 4 * (2 * t + n) + k);
      c[n] += low * w;
      c[2 + n] += high * w;
    }
  }
#endif
}

/* What a block of threads has in shared memory. */
struct shared {
  double* values;      /* V: [room] */
  double* y;           /* [strings] */
  uint32_t strings;    /* of the tile */
  double* w;           /* [JUMPS, W_STRIDE] */
  const double** from; /* [JUMPS] rows of x */
};

/* A warp makes 16 columns of V; what it needs of x stays in registers. */
template <int STEPS>
static __device__ __forceinline__ void make_values(const tg_ci_sheet& sheet, uint32_t start,
                                                   const uint8_t* units, const shared& s) {
  const uint32_t lane = threadIdx.x % LANES, g = lane / 4, t = lane % 4;
  const uint32_t stride = sheet.width + TG_CI_SHEET_PAD, high = (sheet.operator_count + 7) / 8;
  for (uint32_t u = threadIdx.x / LANES; u < sheet.width / UNIT; u += blockDim.x / LANES) {
    const uint32_t wanted = units[u], column = u * UNIT + g, j = start + column;
    if (!wanted) continue;
    double a[STEPS][2];
#pragma unroll
    for (int k = 0; k < STEPS; k++) {
      const double* row = s.from[4 * k + t];
      a[k][0] = j < sheet.columns ? __ldg(row + j) : 0.;
      a[k][1] = j + 8 < sheet.columns ? __ldg(row + j + 8) : 0.;
    }
    for (uint32_t o = 0; o < high; o++) {
      if (!(wanted >> o & 1)) continue;
      double c[4] = {0, 0, 0, 0};
#pragma unroll
      for (int k = 0; k < STEPS; k++)
        multiply_add(c, a[k][0], a[k][1], s.w[(4 * k + t) * W_STRIDE + o * 8 + g]);
      double* to = s.values + (o * 8 + 2 * t) * stride + column;
      to[0] = c[0];
      to[stride] = c[1];
      to[8] = c[2];
      to[stride + 8] = c[3];
    }
  }
}

static __device__ __forceinline__ double value_of(const double* values, uint32_t jump) {
  const double value = values[jump & 0x7fff];
  return __hiloint2double(__double2hiint(value) ^ (int)((jump & 0x8000) << 16),
                          __double2loint(value));
}

static __device__ __forceinline__ void add_jumps(const tg_ci_sheets& sheets,
                                                 const tg_ci_chunk& chunk, const shared& s) {
  const uint32_t lane = threadIdx.x % LANES;
  for (uint32_t n = threadIdx.x / LANES; n < chunk.group_count; n += blockDim.x / LANES) {
    const uint32_t begin = sheets.group_begin[chunk.groups + n];
    const uint32_t lines = sheets.group_begin[chunk.groups + n + 1] - begin;
    const uint32_t* words = sheets.words + (uint64_t)begin * LANES + lane;
    const uint32_t word = __ldg(words);
    const uint32_t string = word & 0xffff;
    double sum = value_of(s.values, word >> 16);
#pragma unroll 4
    for (uint32_t l = 1; l < lines; l++) {
      const uint32_t two = __ldg(words + l * LANES);
      sum += value_of(s.values, two & 0xffff);
      sum += value_of(s.values, two >> 16);
    }
    if (string != s.strings) s.y[string] += sum;
  }
}

template <int STEPS>
static __device__ __forceinline__ void do_sheet(const tg_ci_sheets& sheets,
                                                const tg_ci_sheet& sheet, const shared& s) {
  for (uint32_t c = 0; c < sheet.chunk_count; c++) {
    const tg_ci_chunk chunk = sheets.chunks[sheet.chunks + c];
    make_values<STEPS>(sheet, c * sheet.width, sheets.units + chunk.units, s);
    __syncthreads();
    add_jumps(sheets, chunk, s);
    __syncthreads();
  }
}

/* Up to 16 jumps of A, from number first of `total`: the last one may be the string that stays. */
struct jump_list {
  uint32_t begin, moving, total;
};

static __device__ void load_jumps(const tg_fly_view& v, const tg_fly_block& block, uint32_t row,
                                  const tg_ci_sheet_pair& pair, const tg_ci_sheet& sheet,
                                  const jump_list& list, uint32_t first, uint32_t count,
                                  const double* x, const shared& s) {
  const uint32_t wide = (count + 3) / 4 * 4 * OPERATORS;
  for (uint32_t n = threadIdx.x; n < wide; n += blockDim.x) {
    const uint32_t k = n / OPERATORS, o = n % OPERATORS;
    double value = 0;
    if (k < count && o < sheet.operator_count) {
      const uint32_t op = v.sheets.operators[sheet.operators + o];
      if (first + k < list.moving) {
        const uint32_t at = v.steps.row[list.begin + first + k];
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
    const uint64_t from = k < list.moving ? v.steps.from[list.begin + k] : row;
    s.from[threadIdx.x] = x + pair.offset + from * sheet.columns;
  }
}

/* Jumps of A in the field of B's particles, and the diagonal. */
static __device__ double stays(const tg_fly_view& v, const tg_fly_block& block, uint32_t row,
                               uint32_t column, const double* field, const double* x) {
  const uint32_t i = block.first_a + row, j = block.first_b + column;
  double factor = v.constant + v.alone_diagonal[0][i] + v.alone_diagonal[1][j];
  const uint16_t* list = v.strings[1] + (size_t)j * v.particles[1];
  for (uint32_t q = 0; q < v.particles[1]; q++) factor += field[list[q]];
  double sum = factor * x[block.offset + (uint64_t)row * block.columns + column];
  const tg_fly_links& links = v.steps_links;
  const uint32_t first = links.of[block.a], count = links.of[block.a + 1] - first;
  const uint32_t* begin = v.steps.begin + v.steps.base[block.a] + (uint64_t)row * (count + 1);
  for (uint32_t l = 0; l < count; l++) {
    if (links.link[first + l].channel != v.still) continue;
    const tg_fly_block* source = tg_fly_block_of(v, links.link[first + l].source, block.b);
    if (!source) continue;
    for (uint32_t e = begin[l]; e < begin[l + 1]; e++) {
      const uint32_t code = v.steps.code[e], number = v.fields[0].row[code >> 1];
      if (number == 0) continue; /* zeros */
      const double value = v.field_sums ? v.field_sums[(size_t)number * v.string_count[1] + j]
                                        : tg_fly_field_of(v, v.fields[0], code >> 1, 1, j);
      sum += (code & 1 ? -value : value) *
             x[source->offset + (uint64_t)v.steps.from[e] * block.columns + column];
    }
  }
  return sum;
}

static __device__ void finish(const tg_fly_view& v, const tg_fly_block& block, uint32_t row,
                              const tg_ci_tile& tile, const double* x, double* y, const shared& s) {
  double* field = s.values; /* of the particles of A on B's orbitals */
  const uint16_t* list = v.strings[0] + (size_t)(block.first_a + row) * v.particles[0];
  for (uint32_t q = threadIdx.x; q < v.orbitals[1]; q += blockDim.x) {
    double sum = 0;
    for (uint32_t p = 0; p < v.particles[0]; p++) sum += v.pairs[list[p] * v.orbitals[1] + q];
    field[q] = sum;
  }
  __syncthreads();
  double* out = y + (int64_t)(block.offset + (uint64_t)row * block.columns + tile.first - v.first);
  for (uint32_t c = threadIdx.x; c < tile.count; c += blockDim.x)
    out[c] += s.y[c] + stays(v, block, row, tile.first + c, field, x);
}

template <int THREADS, int BLOCKS>
static __global__ void __launch_bounds__(THREADS, BLOCKS)
    cross_product(const __grid_constant__ tg_fly_view v, int size, const double* __restrict__ x,
                  size_t ldx, double* __restrict__ y, size_t ldy) {
  extern __shared__ double memory[];
  const tg_fly_row at = v.rows[size][blockIdx.x];
  const tg_fly_block block = v.blocks[at.block];
  const tg_ci_tile tile = v.sheets.tiles[at.tile];
  shared s;
  s.from = (const double**)memory;
  s.w = memory + JUMPS;
  s.values = s.w + JUMPS * W_STRIDE;
  s.y = s.values + tile.room;
  s.strings = tile.count;
  x += blockIdx.y * ldx;
  y += blockIdx.y * ldy;
  for (uint32_t c = threadIdx.x; c < tile.count; c += THREADS) s.y[c] = 0;
  if (threadIdx.x == 0) s.values[tile.room - 1] = 0; /* what empty places read */
  const uint32_t links = v.steps_links.of[block.a + 1] - v.steps_links.of[block.a];
  const uint32_t* begin = v.steps.begin + v.steps.base[block.a] + (uint64_t)at.row * (links + 1);
  for (uint32_t p = v.sheet_pairs.begin[at.block]; p < v.sheet_pairs.begin[at.block + 1]; p++) {
    const tg_ci_sheet_pair pair = v.sheet_pairs.pairs[p];
    const tg_ci_sheet sheet = v.sheets.sheets[tile.sheets + pair.sheet];
    jump_list list = {0, 0, pair.still};
    if (pair.link != UINT32_MAX) {
      list.begin = begin[pair.link];
      list.moving = begin[pair.link + 1] - list.begin;
      list.total += list.moving;
    }
    for (uint32_t first = 0; first < list.total; first += JUMPS) {
      const uint32_t rest = list.total - first, count = rest < JUMPS ? rest : JUMPS;
      load_jumps(v, block, at.row, pair, sheet, list, first, count, x, s);
      __syncthreads();
      switch ((count + 3) / 4) {
        case 1: do_sheet<1>(v.sheets, sheet, s); break;
        case 2: do_sheet<2>(v.sheets, sheet, s); break;
        case 3: do_sheet<3>(v.sheets, sheet, s); break;
        default: do_sheet<4>(v.sheets, sheet, s); break;
      }
    }
  }
  __syncthreads(); /* where there was no pair */
  finish(v, block, at.row, tile, x, y, s);
}

/* As many blocks of threads as fit a multiprocessor by the room of V and y. */
typedef void (*kernel)(const tg_fly_view, int, const double*, size_t, double*, size_t);
static const kernel kernels[TG_FLY_SIZES] = {cross_product<256, 3>, cross_product<384, 2>,
                                             cross_product<768, 1>};
static const unsigned threads[TG_FLY_SIZES] = {256, 384, 768};
static const uint64_t strings[TG_FLY_SIZES] = {1, 1025, 4097};

static size_t shared_bytes(int size, uint32_t columns) {
  return sizeof(double) * (JUMPS + JUMPS * W_STRIDE + tg_ci_sheet_room(strings[size]) + columns);
}

size_t tg_fly_cross_shared(void) { return shared_bytes(TG_FLY_SIZES - 1, TG_CI_TILE_MOST); }

tg_status tg_fly_cross_prepare(tg_ci_device_fly* fly) {
  for (int size = 0; size < TG_FLY_SIZES; size++)
    if (fly->view.row_count[size]) TG_TRY(tg_cuda_allow_shared(kernels[size], fly->device));
  return TG_OK;
}

void tg_fly_queue_cross(tg_ci_device_fly* fly, int k, const double* x, size_t ldx, double* y,
                        size_t ldy) {
  for (int size = TG_FLY_SIZES - 1; size >= 0; size--) {
    const dim3 grid((unsigned)fly->view.row_count[size], (unsigned)k);
    if (grid.x)
      kernels
          [size]<<<grid, threads[size], shared_bytes(size, fly->view.columns[size]), fly->stream>>>(
              fly->view, size, x, ldx, y, ldy);
  }
}
