/* SPDX-License-Identifier: Apache-2.0 */
/* A particle of each species moves, in the large blocks: a block of threads makes a row i' of y.
 *
 * For each pair of links (ci/sheets.h) and each chunk of the source's strings of B:
 *   1. V[b, j] = sum over k of w_k[b] x[i_k, j], w_k[b] = phase_k w(a_k, b), of up to 16 jumps k of
 *      A: a small dense product by tensor instructions, which add up in double precision as any
 *      other. Columns of x are their 16 rows, operators b their 8 columns. x comes from global
 *      memory, each number once; w_k from shared memory. What is needed of V goes there, one number
 *      behind the other.
 *   2. y[j'] += sum of phase V[b, j]: a thread a string j', jumps as the sheet says.
 * Three out of four to six numbers of V are not needed; a number of V that is stands for as many
 * matrix elements as there are jumps k, 7 to 11 in the large valence spaces. Limits: shared memory
 * (w_k once for 16 columns, a write and a read of the numbers needed) and the tensor units. */
#include "ci/cuda/fly_tensor.cuh"

enum {
  JUMPS = TG_CI_SHEET_JUMPS,
  STAYS = 32, /* jumps in a field, at a time */
  JOBS = 16,  /* pairs of links whose tables are at hand */
  OPERATORS = TG_CI_SHEET_OPERATORS,
  JUMPS_OF_THREAD = JUMPS * OPERATORS / 256, /* at most, with so many threads or more */
  W_STRIDE = OPERATORS + 4,                  /* four rows of eight numbers without conflicts */
  UNIT = TG_CI_SHEET_UNIT,
  LANES = 32
};

/* A pair of links, and the jumps of A that lead to the row: the string that stays, if it counts, is
 * one more behind them. */
struct job {
  tg_ci_sheet_pair pair;
  tg_ci_sheet sheet;
  tg_ci_chunk chunk; /* the sheet's first */
  uint32_t begin, moving;
};

/* What a block of threads has in shared memory. */
struct shared {
  double* values;      /* V: [room] */
  double* y;           /* [strings] */
  uint32_t strings;    /* of the tile */
  double* w;           /* [JUMPS, W_STRIDE] */
  const double** from; /* [JUMPS] rows of x */
  job* jobs;           /* [JOBS] */
};

/* What a warp needs of x and the tables for 16 columns of V. */
template <int STEPS>
struct unit {
  double a[STEPS][2];
  uint32_t eights, first, mask;
};

/* Behind the source's last column it is read again: such numbers of V are never kept. */
template <int STEPS>
static __device__ __forceinline__ void load_unit(const tg_ci_sheets& sheets,
                                                 const tg_ci_sheet& sheet, const tg_ci_chunk& chunk,
                                                 uint32_t number, const shared& s,
                                                 unit<STEPS>* out) {
  const uint32_t lane = threadIdx.x % LANES, g = lane / 4, t = lane % 4, last = sheet.columns - 1;
  const uint32_t j = chunk.column + number * UNIT + g;
  const uint32_t low = j < last ? j : last, high = j + 8 < last ? j + 8 : last;
  const size_t at = (size_t)(chunk.units + number) * LANES + lane;
  out->eights = __ldg(sheets.units + chunk.units + number);
  out->mask = __ldg(sheets.masks + at);
  out->first = __ldg(sheets.first + at);
#pragma unroll
  for (int k = 0; k < STEPS; k++) {
    const double* row = s.from[4 * k + t];
    out->a[k][0] = __ldg(row + low);
    out->a[k][1] = __ldg(row + high);
  }
}

/* Stores a number and moves on if there is this bit. */
static __device__ __forceinline__ void keep(uint32_t bit, double value, uint32_t* to) {
  asm volatile(
      "{\n\t.reg .pred p;\n\tsetp.ne.u32 p, %1, 0;\n\t@p st.shared.f64 [%0], %2;\n\t"
      "@p add.u32 %0, %0, 8;\n\t}"
      : "+r"(*to)
      : "r"(bit), "d"(value)
      : "memory");
}

template <int STEPS>
static __device__ __forceinline__ void make_values(const unit<STEPS>& u, const shared& s) {
  const uint32_t lane = threadIdx.x % LANES, g = lane / 4, t = lane % 4;
  uint32_t to = (uint32_t)__cvta_generic_to_shared(s.values + u.first);
  const double* w = s.w + t * W_STRIDE + g;
  uint32_t kept = u.mask;
  uint32_t eights = u.eights;
#pragma unroll 1
  do { /* without a way around it, all that is asked for is asked for at once */
    if (eights & 1) {
      double c[4] = {0, 0, 0, 0};
#pragma unroll
      for (int k = 0; k < STEPS; k++)
        tg_fly_multiply_add(c, u.a[k][0], u.a[k][1], w[4 * k * W_STRIDE]);
#pragma unroll
      for (int n = 0; n < 4; n++) keep(kept & 1u << n, c[n], &to);
    }
    eights >>= 1;
    kept >>= 4;
    w += 8;
  } while (eights);
}

static __device__ __forceinline__ double value_of(const double* values, uint32_t jump) {
  const double value = values[jump & 0x7fff];
  return __hiloint2double(__double2hiint(value) ^ (int)((jump & 0x8000) << 16),
                          __double2loint(value));
}

static __device__ __forceinline__ uint32_t word_of(const tg_ci_sheets& sheets, uint32_t line) {
  return __ldg(sheets.words + (uint64_t)line * LANES + threadIdx.x % LANES);
}

/* The groups of a warp: lane n has where its n-th one begins and ends. */
struct group_list {
  uint32_t begin, end, count;
  uint32_t word[2]; /* the first ones of the next group */
};

static __device__ __forceinline__ void load_words(const tg_ci_sheets& sheets, uint32_t number,
                                                  group_list* list) {
  if (number >= list->count) return;
  const uint32_t begin = __shfl_sync(~0u, list->begin, (int)number);
  const uint32_t end = __shfl_sync(~0u, list->end, (int)number);
  list->word[0] = word_of(sheets, begin);
  if (begin + 1 < end) list->word[1] = word_of(sheets, begin + 1);
}

static __device__ __forceinline__ void load_groups(const tg_ci_sheets& sheets,
                                                   const tg_ci_chunk& chunk, group_list* list) {
  const uint32_t lane = threadIdx.x % LANES, warp = threadIdx.x / LANES;
  const uint32_t warps = blockDim.x / LANES, mine = lane * warps + warp;
  list->begin = list->end = 0;
  list->count = chunk.group_count > warp ? (chunk.group_count - warp + warps - 1) / warps : 0;
  if (mine < chunk.group_count) {
    list->begin = __ldg(sheets.group_begin + chunk.groups + mine);
    list->end = __ldg(sheets.group_begin + chunk.groups + mine + 1);
  }
}

static __device__ __forceinline__ void add_jumps(const tg_ci_sheets& sheets, group_list list,
                                                 const shared& s) {
  for (uint32_t n = 0; n < list.count; n++) {
    const uint32_t begin = __shfl_sync(~0u, list.begin, (int)n);
    const uint32_t end = __shfl_sync(~0u, list.end, (int)n);
    const uint32_t first = list.word[0], second = list.word[1], string = first & 0xffff;
    load_words(sheets, n + 1, &list);
    double sum = value_of(s.values, first >> 16);
    if (begin + 1 < end) {
      sum += value_of(s.values, second & 0xffff);
      sum += value_of(s.values, second >> 16);
    }
#pragma unroll 4
    for (uint32_t l = begin + 2; l < end; l++) {
      const uint32_t two = word_of(sheets, l);
      sum += value_of(s.values, two & 0xffff);
      sum += value_of(s.values, two >> 16);
    }
    if (string != s.strings) s.y[string] += sum;
  }
}

/* V of a chunk. */
template <int STEPS>
static __device__ __forceinline__ void do_units(const tg_ci_sheets& sheets,
                                                const tg_ci_sheet& sheet, const tg_ci_chunk& chunk,
                                                const shared& s) {
  const uint32_t warp = threadIdx.x / LANES, warps = blockDim.x / LANES;
  for (uint32_t number = warp; number < chunk.unit_count; number += warps) {
    unit<STEPS> u;
    load_unit(sheets, sheet, chunk, number, s, &u);
    make_values(u, s);
  }
}

/* Several at a time, for all threads. */
static __device__ void load_jobs(const tg_fly_view& v, const tg_fly_block& block, uint32_t row,
                                 const tg_ci_tile& tile, uint32_t first, uint32_t count,
                                 job* jobs) {
  if (threadIdx.x >= count) return;
  job* out = &jobs[threadIdx.x];
  const uint32_t links = v.steps_links.of[block.a + 1] - v.steps_links.of[block.a];
  const uint32_t* begin = v.steps.begin + v.steps.base[block.a] + (uint64_t)row * (links + 1);
  const tg_ci_sheet_pair pair = v.sheet_pairs.pairs[first + threadIdx.x];
  out->pair = pair;
  out->sheet = v.sheets.sheets[tile.sheets + pair.sheet];
  out->chunk = v.sheets.chunks[out->sheet.chunks];
  out->begin = pair.link == UINT32_MAX ? 0 : begin[pair.link];
  out->moving = pair.link == UINT32_MAX ? 0 : begin[pair.link + 1] - out->begin;
}

/* Up to 16 jumps of A from number first: what they multiply x by, and where that is. A thread has
 * an operator of B, and asks for all it needs before it waits. */
static __device__ void load_jumps(const tg_fly_view& v, const tg_fly_block& block, uint32_t row,
                                  const job& j, uint32_t first, uint32_t count, const double* x,
                                  const shared& s) {
  const uint32_t o = threadIdx.x % OPERATORS, k0 = threadIdx.x / OPERATORS;
  const uint32_t step = blockDim.x / OPERATORS, rows = (count + 3) / 4 * 4;
  const uint32_t moving = j.moving - first < count ? j.moving - first : count;
  const bool there = o < j.sheet.operator_count;
  const uint32_t op = there ? __ldg(v.sheets.operators + j.sheet.operators + o) : 0;
  uint32_t at[JUMPS_OF_THREAD];
  double value[JUMPS_OF_THREAD];
#pragma unroll
  for (int n = 0; n < JUMPS_OF_THREAD; n++) {
    const uint32_t k = k0 + (uint32_t)n * step;
    at[n] = there && k < moving ? __ldg(v.steps.row + j.begin + first + k) : 0;
  }
#pragma unroll
  for (int n = 0; n < JUMPS_OF_THREAD; n++) {
    const uint32_t k = k0 + (uint32_t)n * step;
    value[n] = there && k < moving ? __ldg(v.cross + (at[n] & 0x7fffffff) + op) : 0.;
    if (at[n] >> 31) value[n] = -value[n];
  }
#pragma unroll
  for (int n = 0; n < JUMPS_OF_THREAD; n++) {
    const uint32_t k = k0 + (uint32_t)n * step;
    if (k < rows) s.w[k * W_STRIDE + o] = value[n];
  }
  if (there && moving < count && k0 == moving % step) /* the string that stays */
    s.w[moving * W_STRIDE + o] = tg_fly_field_of(v, v.fields[1], op, 0, block.first_a + row);
  if (threadIdx.x < JUMPS) {
    const uint32_t k = threadIdx.x < count ? threadIdx.x : 0; /* others have w = 0 */
    const uint64_t from = k < moving ? v.steps.from[j.begin + first + k] : row;
    s.from[threadIdx.x] = x + j.pair.offset + from * j.sheet.columns;
  }
}

/* Up to 16 jumps of a job. */
struct batch {
  uint32_t at, first, count;
};

/* The first batch at or behind this place; false: there is none. */
static __device__ __forceinline__ bool find_batch(const job* jobs, uint32_t count, batch* b) {
  for (; b->at < count; b->at++, b->first = 0) {
    const uint32_t total = jobs[b->at].moving + jobs[b->at].pair.still;
    if (b->first >= total) continue;
    b->count = total - b->first < JUMPS ? total - b->first : JUMPS;
    return true;
  }
  return false;
}

/* Batch after batch, chunk after chunk. What the next batch multiplies x by comes while the last
 * jumps of this one are added. */
static __device__ __forceinline__ void do_jobs(const tg_fly_view& v, const tg_fly_block& block,
                                               uint32_t row, uint32_t count, const double* x,
                                               const shared& s) {
  batch now = {0, 0, 0};
  bool there = find_batch(s.jobs, count, &now);
  if (there) load_jumps(v, block, row, s.jobs[now.at], now.first, now.count, x, s);
  __syncthreads();
  while (there) {
    const job& j = s.jobs[now.at];
    batch next = {now.at, now.first + JUMPS, 0};
    there = find_batch(s.jobs, count, &next);
    for (uint32_t c = 0; c < j.sheet.chunk_count; c++) {
      const tg_ci_chunk chunk = c == 0 ? j.chunk : v.sheets.chunks[j.sheet.chunks + c];
      group_list groups;
      load_groups(v.sheets, chunk, &groups);
      switch ((now.count + 3) / 4) {
        case 1: do_units<1>(v.sheets, j.sheet, chunk, s); break;
        case 2: do_units<2>(v.sheets, j.sheet, chunk, s); break;
        case 3: do_units<3>(v.sheets, j.sheet, chunk, s); break;
        default: do_units<4>(v.sheets, j.sheet, chunk, s); break;
      }
      load_words(v.sheets, 0, &groups);
      __syncthreads();
      if (there && c + 1 == j.sheet.chunk_count)
        load_jumps(v, block, row, s.jobs[next.at], next.first, next.count, x, s);
      add_jumps(v.sheets, groups, s);
      __syncthreads();
    }
    now = next;
  }
}

/* A jump of A in the field of B's particles: sums of the field and x, by strings of the block. */
struct stay {
  const double* field; /* NULL: not tabulated */
  const double* x;
  double sign;
  uint32_t op;
};

/* Up to STAYS jumps of a link to the row. */
static __device__ void load_stays(const tg_fly_view& v, const tg_fly_block& block,
                                  const tg_fly_block& source, uint32_t first, uint32_t count,
                                  const double* x, stay* list) {
  if (threadIdx.x >= count) return;
  const uint32_t code = v.steps.code[first + threadIdx.x], number = v.fields[0].row[code >> 1];
  stay* out = &list[threadIdx.x];
  out->field =
      v.field_sums ? v.field_sums + (size_t)number * v.string_count[1] + block.first_b : nullptr;
  out->x = x + source.offset + (uint64_t)v.steps.from[first + threadIdx.x] * block.columns;
  out->sign = code & 1 ? -1. : 1.;
  out->op = code >> 1;
}

static __device__ double add_stays(const tg_fly_view& v, const tg_fly_block& block, uint32_t column,
                                   uint32_t count, const stay* list) {
  double sum = 0;
  if (!v.field_sums) {
    for (uint32_t e = 0; e < count; e++)
      sum += list[e].sign * __ldg(list[e].x + column) *
             tg_fly_field_of(v, v.fields[0], list[e].op, 1, block.first_b + column);
    return sum;
  }
#pragma unroll 4
  for (uint32_t e = 0; e < count; e++)
    sum += list[e].sign * __ldg(list[e].field + column) * __ldg(list[e].x + column);
  return sum;
}

static __device__ void do_stays(const tg_fly_view& v, const tg_fly_block& block, uint32_t row,
                                const tg_ci_tile& tile, const double* x, const shared& s) {
  stay* list = (stay*)s.values;
  const tg_fly_links& links = v.steps_links;
  const uint32_t first = links.of[block.a], count = links.of[block.a + 1] - first;
  const uint32_t* begin = v.steps.begin + v.steps.base[block.a] + (uint64_t)row * (count + 1);
  for (uint32_t l = 0; l < count; l++) {
    if (links.link[first + l].channel != v.still) continue;
    const tg_fly_block* source = tg_fly_block_of(v, links.link[first + l].source, block.b);
    if (!source) continue;
    for (uint32_t e = begin[l]; e < begin[l + 1]; e += STAYS) {
      const uint32_t rest = begin[l + 1] - e, here = rest < STAYS ? rest : STAYS;
      load_stays(v, block, *source, e, here, x, list);
      __syncthreads();
      for (uint32_t c = threadIdx.x; c < tile.count; c += blockDim.x)
        s.y[c] += add_stays(v, block, tile.first + c, here, list);
      __syncthreads();
    }
  }
}

/* Adds the row to y, with its diagonal. */
static __device__ void finish(const tg_fly_view& v, const tg_fly_block& block, uint32_t row,
                              const tg_ci_tile& tile, const double* x, double* y, const shared& s) {
  double* field = s.values; /* of the particles of A on B's orbitals */
  const uint32_t i = block.first_a + row;
  const uint16_t* list = v.strings[0] + (size_t)i * v.particles[0];
  for (uint32_t q = threadIdx.x; q < v.orbitals[1]; q += blockDim.x) {
    double sum = 0;
    for (uint32_t p = 0; p < v.particles[0]; p++) sum += v.pairs[list[p] * v.orbitals[1] + q];
    field[q] = sum;
  }
  __syncthreads();
  tg_fly_wait_for_last();
  const uint64_t at = block.offset + (uint64_t)row * block.columns + tile.first;
  double* out = y + (int64_t)(at - v.first);
  for (uint32_t c = threadIdx.x; c < tile.count; c += blockDim.x) {
    const uint32_t j = block.first_b + tile.first + c;
    const uint16_t* others = v.strings[1] + (size_t)j * v.particles[1];
    double factor = v.constant + v.alone_diagonal[0][i] + v.alone_diagonal[1][j];
    for (uint32_t q = 0; q < v.particles[1]; q++) factor += field[others[q]];
    out[c] += s.y[c] + factor * x[at + c];
  }
}

template <int THREADS, int BLOCKS>
static __global__ void __launch_bounds__(THREADS, BLOCKS)
    cross_product(const __grid_constant__ tg_fly_view v, int size, const double* __restrict__ x,
                  size_t ldx, double* y, size_t ldy) {
  extern __shared__ double memory[];
  __shared__ job jobs[JOBS];
  const tg_fly_row at = v.rows[size][blockIdx.x];
  const tg_fly_block block = v.blocks[at.block];
  const tg_ci_tile tile = v.sheets.tiles[at.tile];
  shared s;
  s.from = (const double**)memory;
  s.w = memory + JUMPS;
  s.jobs = jobs;
  s.values = s.w + JUMPS * W_STRIDE;
  s.y = s.values + tile.room;
  s.strings = tile.count;
  x += blockIdx.y * ldx;
  y += blockIdx.y * ldy;
  tg_fly_let_next_begin();
  for (uint32_t c = threadIdx.x; c < tile.count; c += THREADS) s.y[c] = 0;
  if (threadIdx.x == 0) s.values[tile.room - 1] = 0; /* what empty places read */
  const uint32_t end = v.sheet_pairs.begin[at.block + 1];
  for (uint32_t p = v.sheet_pairs.begin[at.block]; p < end; p += JOBS) {
    const uint32_t count = end - p < JOBS ? end - p : JOBS;
    load_jobs(v, block, at.row, tile, p, count, s.jobs);
    __syncthreads();
    do_jobs(v, block, at.row, count, x, s);
    __syncthreads();
  }
  __syncthreads(); /* where there was no pair */
  do_stays(v, block, at.row, tile, x, s);
  finish(v, block, at.row, tile, x, y, s);
}

/* As many blocks of threads as fit a multiprocessor by the room of V and y. */
typedef void (*kernel)(const tg_fly_view, int, const double*, size_t, double*, size_t);
static const kernel kernels[TG_FLY_SIZES] = {cross_product<256, 4>, cross_product<512, 2>,
                                             cross_product<1024, 1>};
static const unsigned threads[TG_FLY_SIZES] = {256, 512, 1024};
static const uint64_t strings[TG_FLY_SIZES] = {1, 1025, 4097};

static size_t shared_bytes(int size, uint32_t columns) {
  return sizeof(double) * (JUMPS + JUMPS * W_STRIDE + tg_ci_sheet_room(strings[size]) + columns);
}

size_t tg_fly_cross_shared(void) {
  return shared_bytes(TG_FLY_SIZES - 1, TG_CI_TILE_MOST) + JOBS * sizeof(job);
}

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
      tg_fly_launch(fly, kernels[size], grid, threads[size],
                    shared_bytes(size, fly->view.columns[size]), fly->view, size, x, ldx, y, ldy);
  }
}
