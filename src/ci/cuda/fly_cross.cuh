/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/cuda/fly_cross.cuh  What the two ways to move a particle of each species share
 * (fly_cross.cu, fly_ahead.cu): the tensor instruction, and what is added at the end of a row. */
#ifndef TG_CI_CUDA_FLY_CROSS_CUH
#define TG_CI_CUDA_FLY_CROSS_CUH

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

static __device__ __forceinline__ double value_of(const double* values, uint32_t jump) {
  const double value = values[jump & 0x7fff];
  return __hiloint2double(__double2hiint(value) ^ (int)((jump & 0x8000) << 16),
                          __double2loint(value));
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

#endif
