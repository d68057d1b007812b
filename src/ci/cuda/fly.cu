/* SPDX-License-Identifier: Apache-2.0 */
/* The factorised product on a GPU: a block of threads makes a row of y, a thread some of its
 * columns. */
#include "ci/cuda/fly.cuh"

#include <new>

#include "device/device.h"

enum { THREADS = 128, MOST_VECTORS = 4 };

/* Where the block of these classes begins; UINT64_MAX: there is none. */
static __device__ uint64_t offset_of(const tg_fly_view& v, uint32_t a, uint32_t b) {
  uint32_t low = v.block_begin[a], high = v.block_begin[a + 1];
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (v.blocks[middle].b < b)
      low = middle + 1;
    else
      high = middle;
  }
  return low < v.block_begin[a + 1] && v.blocks[low].b == b ? v.blocks[low].offset : UINT64_MAX;
}

static __device__ double diagonal_of(const tg_fly_view& v, const tg_fly_block& block, uint32_t row,
                                     uint32_t column) {
  const uint32_t i = block.first_a + row, j = block.first_b + column;
  double sum = v.constant + v.alone_diagonal[0][i] + v.alone_diagonal[1][j];
  for (uint32_t p = 0; p < v.particles[0]; p++) {
    const double* pairs = v.pairs + v.strings[0][(size_t)i * v.particles[0] + p] * v.orbitals[1];
    for (uint32_t q = 0; q < v.particles[1]; q++)
      sum += pairs[v.strings[1][(size_t)j * v.particles[1] + q]];
  }
  return sum;
}

/* The sum of a field over the particles of a string of species. */
static __device__ double field_of(const tg_fly_view& v, const tg_fly_fields& fields, uint32_t op,
                                  int species, uint32_t string) {
  const double* value = fields.value + (size_t)fields.row[op] * fields.stride;
  const uint16_t* list = v.strings[species] + (size_t)string * v.particles[species];
  double sum = 0;
  for (uint32_t p = 0; p < v.particles[species]; p++) sum += value[list[p]];
  return sum;
}

template <int K>
struct sums {
  double y[K];
  __device__ void add(double factor, const double* x, size_t ld) {
#pragma unroll
    for (int k = 0; k < K; k++) y[k] += factor * x[k * ld];
  }
};

/* One species moves, by its own elements and in the field of the other. */
template <int K>
static __device__ void alone(const tg_fly_view& v, const tg_fly_block& block, uint32_t row,
                             uint32_t column, const double* x, size_t ld, sums<K>* sum) {
  for (int t = 0; t < 2; t++) {
    const uint32_t target = t ? block.b : block.a, string = t ? column : row;
    for (int part = 0; part < 2; part++) {
      const tg_fly_links& links = part ? v.jumps[t] : v.alone[t];
      for (uint32_t l = links.of[target]; l < links.of[target + 1]; l++) {
        const tg_fly_link link = links.link[l];
        if (part && link.channel != v.still) continue;
        const uint64_t offset =
            t ? offset_of(v, block.a, link.source) : offset_of(v, link.source, block.b);
        if (offset == UINT64_MAX) continue;
        const uint32_t begin = links.begin[link.row + string];
        const uint32_t end = links.begin[link.row + string + 1];
        if (begin == end) continue;
        uint64_t columns = block.columns;
        if (t) /* of the block that x comes from */
          for (uint32_t n = v.block_begin[block.a]; n < v.block_begin[block.a + 1]; n++)
            if (v.blocks[n].b == link.source) columns = v.blocks[n].columns;
        for (uint32_t e = begin; e < end; e++) {
          const uint64_t at = t ? row * columns + links.from[e] : links.from[e] * columns + column;
          double factor;
          if (part) {
            factor = field_of(v, v.fields[t], links.code[e] >> 1, 1 - t,
                              t ? block.first_a + row : block.first_b + column);
            if (links.code[e] & 1) factor = -factor;
          } else {
            factor = links.value[e];
          }
          sum->add(factor, x + offset + at, ld);
        }
      }
    }
  }
}

template <int K>
static __device__ void cross(const tg_fly_view& v, const tg_fly_block& block, uint32_t row,
                             uint32_t column, const double* x, size_t ld, sums<K>* sum) {
  const tg_fly_links &a = v.jumps[0], &b = v.jumps[1];
  const uint32_t end_b = b.of[block.b + 1];
  uint32_t first_b = b.of[block.b];
  for (uint32_t l = a.of[block.a]; l < a.of[block.a + 1]; l++) {
    const tg_fly_link la = a.link[l];
    const uint32_t begin_a = a.begin[la.row + row], end_a = a.begin[la.row + row + 1];
    while (first_b < end_b && b.link[first_b].channel < la.channel) first_b++;
    if (begin_a == end_a) continue;
    for (uint32_t m = first_b; m < end_b && b.link[m].channel == la.channel; m++) {
      const tg_fly_link lb = b.link[m];
      const uint64_t offset = offset_of(v, la.source, lb.source);
      if (offset == UINT64_MAX) continue;
      const uint32_t begin_b = b.begin[lb.row + column], next_b = b.begin[lb.row + column + 1];
      uint64_t columns = 0;
      for (uint32_t n = v.block_begin[la.source]; n < v.block_begin[la.source + 1]; n++)
        if (v.blocks[n].b == lb.source) columns = v.blocks[n].columns;
      for (uint32_t d = begin_a; d < end_a; d++) {
        const uint32_t code = a.code[d];
        const double* w = v.cross + v.cross_row[v.channel_begin[la.channel] + (code >> 1)];
        const double* from = x + offset + a.from[d] * columns;
        for (uint32_t e = begin_b; e < next_b; e++) {
          const double factor = w[b.code[e] >> 1];
          sum->add((b.code[e] ^ code) & 1 ? -factor : factor, from + b.from[e], ld);
        }
      }
    }
  }
}

template <int K>
static __global__ void __launch_bounds__(THREADS)
    row_product(tg_fly_view v, const double* __restrict__ x, size_t ldx, double* __restrict__ y,
                size_t ldy) {
  const tg_fly_row at = v.rows[blockIdx.x];
  const tg_fly_block block = v.blocks[at.block];
  const uint64_t state = block.offset + (uint64_t)at.row * block.columns;
  for (uint32_t column = threadIdx.x; column < block.columns; column += THREADS) {
    sums<K> sum = {};
    sum.add(diagonal_of(v, block, at.row, column), x + state + column, ldx);
    alone<K>(v, block, at.row, column, x, ldx, &sum);
    cross<K>(v, block, at.row, column, x, ldx, &sum);
    for (int k = 0; k < K; k++) y[state - v.first + column + k * ldy] = sum.y[k];
  }
}

static __global__ void __launch_bounds__(THREADS) row_diagonal(tg_fly_view v, double* d) {
  const tg_fly_row at = v.rows[blockIdx.x];
  const tg_fly_block block = v.blocks[at.block];
  const uint64_t state = block.offset + (uint64_t)at.row * block.columns - v.first;
  for (uint32_t column = threadIdx.x; column < block.columns; column += THREADS)
    d[state + column] = diagonal_of(v, block, at.row, column);
}

/* The rows are whole ones of blocks. */
static tg_status check_rows(const tg_ci_fly* f, int device, const tg_ci_device_rows* rows) {
  const uint64_t edges[2] = {rows->first, rows->end};
  bool right = rows->first <= rows->end && rows->end <= f->space->dimension;
  for (int e = 0; right && e < 2; e++) {
    if (edges[e] == f->space->dimension) continue;
    const tg_ci_block* b = &f->space->blocks[tg_ci_space_block_of(f->space, edges[e])];
    right = (edges[e] - b->offset) % b->columns == 0;
  }
  if (right) return TG_OK;
  return tg_fail(TG_ERR_INPUT,
                 "GPU %d: states %llu to %llu of %llu are not whole rows of the space's blocks",
                 device, (unsigned long long)rows->first, (unsigned long long)rows->end,
                 (unsigned long long)f->space->dimension);
}

tg_status tg_ci_device_fly_create(const tg_ci_fly* from, int device, void* stream,
                                  const tg_ci_device_rows* rows, tg_ci_device_fly** out) {
  const tg_ci_device_rows all = {0, from->space->dimension};
  if (tg_device_count() == 0)
    return tg_fail(TG_ERR_MACHINE, "configuration interaction on a GPU: %s", tg_device_reason());
  if (!rows) rows = &all;
  TG_TRY(check_rows(from, device, rows));
  TG_TRY(tg_cuda_status(cudaSetDevice(device), device, "selecting it"));
  tg_ci_device_fly* fly = new (std::nothrow) tg_ci_device_fly();
  if (!fly) return tg_fail(TG_ERR_MACHINE, "no memory for a Hamiltonian on a GPU");
  fly->device = device;
  fly->stream = (cudaStream_t)stream;
  fly->states = rows->end - rows->first;
  const tg_status status = tg_fly_tables_make(fly, from, rows);
  if (status != TG_OK) {
    tg_ci_device_fly_destroy(&fly);
    return status;
  }
  *out = fly;
  return TG_OK;
}

void tg_ci_device_fly_destroy(tg_ci_device_fly** fly) {
  if (fly == nullptr || *fly == nullptr) return;
  cudaSetDevice((*fly)->device);
  cudaStreamSynchronize((*fly)->stream);
  cudaFree((*fly)->memory);
  delete *fly;
  *fly = nullptr;
}

template <int K>
static void queue(tg_ci_device_fly* fly, const double* x, size_t ldx, double* y, size_t ldy) {
  row_product<K>
      <<<(unsigned)fly->view.row_count, THREADS, 0, fly->stream>>>(fly->view, x, ldx, y, ldy);
}

tg_status tg_ci_device_fly_apply(tg_ci_device_fly* fly, int k, const double* x, size_t ldx,
                                 double* y, size_t ldy) {
  if (fly->view.row_count == 0) return TG_OK;
  TG_TRY(tg_cuda_status(cudaSetDevice(fly->device), fly->device, "selecting it"));
  for (int v = 0; v < k;) {
    const int count = k - v >= MOST_VECTORS ? MOST_VECTORS : k - v >= 2 ? 2 : 1;
    const double* from = x + (size_t)v * ldx;
    double* to = y + (size_t)v * ldy;
    if (count == MOST_VECTORS)
      queue<MOST_VECTORS>(fly, from, ldx, to, ldy);
    else if (count == 2)
      queue<2>(fly, from, ldx, to, ldy);
    else
      queue<1>(fly, from, ldx, to, ldy);
    v += count;
  }
  return tg_cuda_status(cudaGetLastError(), fly->device, "starting the product");
}

tg_status tg_ci_device_fly_diagonal(tg_ci_device_fly* fly, double* d) {
  if (fly->view.row_count == 0) return TG_OK;
  TG_TRY(tg_cuda_status(cudaSetDevice(fly->device), fly->device, "selecting it"));
  row_diagonal<<<(unsigned)fly->view.row_count, THREADS, 0, fly->stream>>>(fly->view, d);
  return tg_cuda_status(cudaGetLastError(), fly->device, "starting the diagonal");
}
