/* SPDX-License-Identifier: Apache-2.0 */
/* Small blocks of the factorised product, and the diagonal, from the tables as they are on the
 * host. Some threads, from one to a warp, make an element of y, as each lookup has to wait for the
 * one before: the more, the more work a state has, and the fewer states there are. Each thread
 * takes every n-th jump, and their sums are added up in pairs; how many threads they are depends on
 * the tables of the whole space alone (fly_work.cu), so neither rows nor vectors change bits.
 * Neighbouring states have neighbouring strings, so what the threads of a warp look up is mostly in
 * the same lines of the first-level cache. */
#include "ci/cuda/fly.cuh"

enum { THREADS = TG_FLY_PIECE, MOST_VECTORS = 4 };

static __device__ double diagonal_of(const tg_fly_view& v, uint32_t i, uint32_t j) {
  double sum = v.constant + v.alone_diagonal[0][i] + v.alone_diagonal[1][j];
  for (uint32_t p = 0; p < v.particles[0]; p++) {
    const double* pairs = v.pairs + v.strings[0][(size_t)i * v.particles[0] + p] * v.orbitals[1];
    for (uint32_t q = 0; q < v.particles[1]; q++)
      sum += pairs[v.strings[1][(size_t)j * v.particles[1] + q]];
  }
  return sum;
}

/* The share of a thread: of each list, number first and every n-th behind it. Of pairs of jumps, of
 * B by up to eight threads, and of A by the others. */
struct share {
  uint32_t first, n;
  uint32_t first_a, n_a, first_b, n_b;
};

static __device__ share share_of(uint32_t number, uint32_t n) {
  const uint32_t n_b = n < 8 ? n : 8;
  share s = {number, n, number / n_b, n / n_b, number % n_b, n_b};
  return s;
}

template <int K>
struct sums {
  double y[K];
  __device__ void add(double factor, const double* x, size_t ld) {
#pragma unroll
    for (int k = 0; k < K; k++) y[k] += factor * x[k * ld];
  }
};

template <int K>
static __device__ void diagonal(const tg_fly_view& v, uint32_t i, uint32_t j, const share& s,
                                const double* x, size_t ld, sums<K>* sum) {
  double factor = s.first ? 0. : v.constant + v.alone_diagonal[0][i] + v.alone_diagonal[1][j];
  for (uint32_t q = s.first; q < v.particles[1]; q += s.n) {
    const double* pairs = v.pairs + v.strings[1][(size_t)j * v.particles[1] + q];
#pragma unroll 4
    for (uint32_t p = 0; p < v.particles[0]; p++)
      factor += pairs[v.strings[0][(size_t)i * v.particles[0] + p] * v.orbitals[1]];
  }
  sum->add(factor, x, ld);
}

/* A species moves by its own elements, or in the field of the other. */
template <int K>
static __device__ void one_species(const tg_fly_view& v, const tg_fly_block& block, uint32_t row,
                                   uint32_t column, int species, bool field, const share& s,
                                   const double* x, size_t ld, sums<K>* sum) {
  const uint32_t target = species ? block.b : block.a, string = species ? column : row;
  const tg_fly_links& links = field ? v.jumps[species] : v.alone[species];
  for (uint32_t l = links.of[target]; l < links.of[target + 1]; l++) {
    const tg_fly_link link = links.link[l];
    if (field && link.channel != v.still) continue;
    const uint32_t begin = links.begin[link.row + string], end = links.begin[link.row + string + 1];
    if (begin == end) continue;
    const tg_fly_block* source = species ? tg_fly_block_of(v, block.a, link.source)
                                         : tg_fly_block_of(v, link.source, block.b);
    if (!source) continue;
    for (uint32_t e = begin + s.first; e < end; e += s.n) {
      const uint64_t i = species ? row : links.from[e], j = species ? links.from[e] : column;
      double factor;
      if (field) {
        factor = tg_fly_field_of(v, v.fields[species], links.code[e] >> 1, 1 - species,
                                 species ? block.first_a + row : block.first_b + column);
        if (links.code[e] & 1) factor = -factor;
      } else {
        factor = links.value[e];
      }
      sum->add(factor, x + source->offset + i * source->columns + j, ld);
    }
  }
}

template <int K>
static __device__ void cross(const tg_fly_view& v, const tg_fly_block& block, uint32_t row,
                             uint32_t column, const share& s, const double* x, size_t ld,
                             sums<K>* sum) {
  const tg_fly_links &a = v.jumps[0], &b = v.jumps[1];
  const uint32_t end_b = b.of[block.b + 1];
  uint32_t first_b = b.of[block.b];
  for (uint32_t l = a.of[block.a]; l < a.of[block.a + 1]; l++) {
    const tg_fly_link la = a.link[l];
    const uint32_t begin_a = a.begin[la.row + row], end_a = a.begin[la.row + row + 1];
    while (first_b < end_b && b.link[first_b].channel < la.channel) first_b++;
    if (begin_a == end_a) continue;
    const uint64_t* rows = v.cross_row + v.channel_begin[la.channel];
    for (uint32_t m = first_b; m < end_b && b.link[m].channel == la.channel; m++) {
      const tg_fly_link lb = b.link[m];
      const uint32_t begin_b = b.begin[lb.row + column], next_b = b.begin[lb.row + column + 1];
      if (begin_b == next_b) continue;
      const tg_fly_block* source = tg_fly_block_of(v, la.source, lb.source);
      if (!source) continue;
      for (uint32_t d = begin_a + s.first_a; d < end_a; d += s.n_a) {
        const uint32_t code = a.code[d];
        const double* w = v.cross + rows[code >> 1];
        const double* from = x + source->offset + (uint64_t)a.from[d] * source->columns;
        for (uint32_t e = begin_b + s.first_b; e < next_b; e += s.n_b) {
          const double factor = w[b.code[e] >> 1];
          sum->add((b.code[e] ^ code) & 1 ? -factor : factor, from + b.from[e], ld);
        }
      }
    }
  }
}

/* Those of the n threads of a state: all of them have all of it. */
template <int K>
static __device__ void add_shares(uint32_t n, sums<K>* sum) {
  for (uint32_t other = n / 2; other > 0; other /= 2)
#pragma unroll
    for (int k = 0; k < K; k++) sum->y[k] += __shfl_xor_sync(~0u, sum->y[k], (int)other);
}

template <int K>
static __global__ void __launch_bounds__(THREADS)
    states_product(const __grid_constant__ tg_fly_view v, const double* __restrict__ x, size_t ldx,
                   double* __restrict__ y, size_t ldy) {
  const tg_fly_piece piece = v.pieces[blockIdx.x];
  const tg_fly_block block = v.blocks[piece.block];
  const uint32_t n = piece.lanes;
  const share s = share_of(threadIdx.x % n, n);
  const uint64_t at = (uint64_t)piece.number * (THREADS / n) + threadIdx.x / n;
  const uint64_t state = block.offset + at;
  const bool made = at < (uint64_t)block.rows * block.columns && state >= v.first && state < v.end;
  sums<K> sum = {};
  tg_fly_let_next_begin();
  if (made) {
    const uint32_t row = (uint32_t)(at / block.columns), column = (uint32_t)(at % block.columns);
    diagonal<K>(v, block.first_a + row, block.first_b + column, s, x + state, ldx, &sum);
    for (int t = 0; t < 2; t++) {
      one_species<K>(v, block, row, column, t, false, s, x, ldx, &sum);
      one_species<K>(v, block, row, column, t, true, s, x, ldx, &sum);
    }
    cross<K>(v, block, row, column, s, x, ldx, &sum);
  }
  __syncwarp();
  add_shares<K>(n, &sum);
  tg_fly_wait_for_last();
  if (made && s.first == 0)
    for (int k = 0; k < K; k++) y[state - v.first + k * ldy] = sum.y[k];
}

template <int K>
static void queue(tg_ci_device_fly* fly, bool side, const double* x, size_t ldx, double* y,
                  size_t ldy) {
  const dim3 grid((unsigned)fly->view.piece_count);
  if (side)
    states_product<K><<<grid, THREADS, 0, fly->side>>>(fly->view, x, ldx, y, ldy);
  else
    tg_fly_launch(fly, states_product<K>, grid, THREADS, 0, fly->view, x, ldx, y, ldy);
}

void tg_fly_queue_states(tg_ci_device_fly* fly, bool side, int k, const double* x, size_t ldx,
                         double* y, size_t ldy) {
  if (fly->view.piece_count == 0) return;
  for (int v = 0; v < k;) {
    const int count = k - v >= MOST_VECTORS ? MOST_VECTORS : k - v >= 2 ? 2 : 1;
    const double* from = x + (size_t)v * ldx;
    double* to = y + (size_t)v * ldy;
    if (count == MOST_VECTORS)
      queue<MOST_VECTORS>(fly, side, from, ldx, to, ldy);
    else if (count == 2)
      queue<2>(fly, side, from, ldx, to, ldy);
    else
      queue<1>(fly, side, from, ldx, to, ldy);
    v += count;
  }
}

static __global__ void __launch_bounds__(THREADS)
    states_diagonal(const __grid_constant__ tg_fly_view v, double* d) {
  const uint64_t step = (uint64_t)gridDim.x * THREADS;
  for (uint64_t state = v.first + (uint64_t)blockIdx.x * THREADS + threadIdx.x; state < v.end;
       state += step) {
    uint32_t low = 0, high = v.block_count; /* the last block at or before it */
    while (high - low > 1) {
      const uint32_t middle = low + (high - low) / 2;
      if (v.blocks[middle].offset <= state)
        low = middle;
      else
        high = middle;
    }
    const tg_fly_block block = v.blocks[low];
    const uint64_t at = state - block.offset;
    d[state - v.first] = diagonal_of(v, block.first_a + (uint32_t)(at / block.columns),
                                     block.first_b + (uint32_t)(at % block.columns));
  }
}

void tg_fly_queue_diagonal(tg_ci_device_fly* fly, double* d) {
  const uint64_t states = fly->view.end - fly->view.first, most = 1 << 16;
  const uint64_t blocks = (states + THREADS - 1) / THREADS;
  if (states == 0) return;
  states_diagonal<<<(unsigned)(blocks < most ? blocks : most), THREADS, 0, fly->stream>>>(fly->view,
                                                                                          d);
}

static __global__ void __launch_bounds__(THREADS)
    sum_fields(const __grid_constant__ tg_fly_view v) {
  const uint32_t string = blockIdx.x * THREADS + threadIdx.x, row = blockIdx.y;
  if (string >= v.string_count[1]) return;
  const double* value = v.fields[0].value + (size_t)row * v.fields[0].stride;
  const uint16_t* list = v.strings[1] + (size_t)string * v.particles[1];
  double sum = 0;
  for (uint32_t p = 0; p < v.particles[1]; p++) sum += value[list[p]];
  v.field_sums[(size_t)row * v.string_count[1] + string] = sum;
}

void tg_fly_queue_field_sums(tg_ci_device_fly* fly) {
  const tg_fly_view* v = &fly->view;
  if (!v->field_sums) return;
  const dim3 grid((v->string_count[1] + THREADS - 1) / THREADS, v->field_rows);
  sum_fields<<<grid, THREADS, 0, fly->stream>>>(*v);
}
