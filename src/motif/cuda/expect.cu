/* SPDX-License-Identifier: Apache-2.0 */
/* The fused chain filter -> element -> reduce: sweep_words with another taker. A hit's lists are
 * compared once more, for the orbitals that differ, and every operator adds its element. */
#include "motif/cuda/join.cuh"
#include "motif/cuda/words.cuh"

typedef struct elements {
  uint32_t bin[TG_OPERATOR_COUNT];
  double value[TG_OPERATOR_COUNT];
} elements;

static __device__ __forceinline__ elements elements_of(const tg_pairs& p, const double* x,
                                                       const double* y, uint32_t m, uint32_t row,
                                                       uint32_t column) {
  tg_difference f;
  elements e;
  int k = 0;
  tg_difference_find(p.rows.orbital + row, p.rows.stride, p.columns.orbital + column,
                     p.columns.stride, (int)p.rows.particles, p.d, &f);
  const double weight = x[row] * y[column];
#define ADD(name)                                                                                  \
  e.bin[k] = tg_##name##_bin(&f, m);                                                               \
  e.value[k++] = weight * tg_##name##_value(&f);
  TG_OPERATORS(ADD)
#undef ADD
  return e;
}

/* Atomics into sums of the block in shared memory, or straight into the sums where they do not fit.
 */
struct atomic_taker {
  const double *x, *y;
  uint32_t m;
  bool shared;
  double* sums;

  __device__ __forceinline__ double* mine() const {
    extern __shared__ double block_sums[];
    return shared ? block_sums : sums;
  }
  __device__ __forceinline__ void start(int) const {
    if (!shared) return;
    for (uint32_t i = threadIdx.x; i < TG_OPERATOR_COUNT * m; i += blockDim.x) mine()[i] = 0;
    __syncthreads();
  }
  __device__ __forceinline__ void take(const tg_pairs& p, uint32_t row, uint32_t column, bool hit,
                                       uint32_t, int, uint32_t*) const {
    if (!hit) return;
    const elements e = elements_of(p, x, y, m, row, column);
    for (int k = 0; k < TG_OPERATOR_COUNT; k++)
      atomicAdd(mine() + (size_t)k * m + e.bin[k], e.value[k]);
  }
  __device__ __forceinline__ void row_done(uint32_t, uint32_t) const {}
  __device__ __forceinline__ void finish(int) const {
    if (!shared) return;
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < TG_OPERATOR_COUNT * m; i += blockDim.x)
      if (mine()[i] != 0) atomicAdd(sums + i, mine()[i]);
  }
};

static tg_status check_array(const tg_expectation* what, bool* work) {
  *work = what->pairs.rows.count > 0 && what->pairs.columns.count > 0;
  return tg_cuda_zero(what->sums, (size_t)TG_OPERATOR_COUNT * what->m * sizeof(double));
}

static tg_status expect_atomic(const tg_expectation* what, void* scratch) {
  const tg_pairs* p = &what->pairs;
  bool work;
  (void)scratch;
  TG_TRY(check_array(what, &work));
  if (!work) return TG_OK;
  const size_t bytes = (size_t)TG_OPERATOR_COUNT * what->m * sizeof(double);
  const bool shared = bytes <= 32768;
  const atomic_taker taker = {what->x, what->y, what->m, shared, what->sums};
  const dim3 grid = sweep_grid(p, (size_t)SWEEP_ROWS * SWEEP_WARPS, 32 * 8,
                               (size_t)tg_cuda_multiprocessors() * 48);
  sweep_words<METHOD_WORD64, 1, 8, true>
      <<<grid, 32 * SWEEP_WARPS, shared ? bytes : 0>>>(*p, taker, SWEEP_ROWS);
  return tg_cuda_queued("the fused chain");
}

enum { CHUNK_ROWS = 16 /* of a warp */ };

static size_t chunks_of(const tg_pairs* p) {
  return SWEEP_WARPS * (p->tile_count > 0
                            ? p->tile_count
                            : tg_cuda_blocks(p->rows.count, (size_t)CHUNK_ROWS * SWEEP_WARPS));
}

static size_t scratch_chunks(const tg_expectation* what) {
  return chunks_of(&what->pairs) * TG_OPERATOR_COUNT * what->m * sizeof(double);
}

/* A warp adds its hits in their order (lane k those of operator k) to sums of its own. */
struct chunk_taker {
  const double *x, *y;
  uint32_t m;
  double* partial; /* [warps, operators, m], zeroed */

  __device__ __forceinline__ void start(int) const {}
  __device__ __forceinline__ void take(const tg_pairs& p, uint32_t row, uint32_t column, bool hit,
                                       uint32_t votes, int lane, uint32_t*) const {
    elements e = {};
    if (hit) e = elements_of(p, x, y, m, row, column);
    __syncwarp();
    double* mine =
        partial + ((size_t)blockIdx.x * SWEEP_WARPS + threadIdx.x / 32) * TG_OPERATOR_COUNT * m;
    for (; votes; votes &= votes - 1) {
      const int from = __ffs((int)votes) - 1;
#pragma unroll
      for (int k = 0; k < TG_OPERATOR_COUNT; k++) {
        const uint32_t bin = __shfl_sync(~0u, e.bin[k], from);
        const double value = __shfl_sync(~0u, e.value[k], from);
        if (lane == k) mine[(size_t)k * m + bin] += value;
      }
    }
  }
  __device__ __forceinline__ void row_done(uint32_t, uint32_t) const {}
  __device__ __forceinline__ void finish(int) const {}
};

static tg_status expect_chunks(const tg_expectation* what, void* scratch) {
  const tg_pairs* p = &what->pairs;
  bool work;
  TG_TRY(check_array(what, &work));
  if (!work) return TG_OK;
  const size_t chunks = chunks_of(p);
  TG_TRY(tg_cuda_zero(scratch, scratch_chunks(what)));
  const chunk_taker taker = {what->x, what->y, what->m, (double*)scratch};
  sweep_words<METHOD_WORD64, 1, 8, true>
      <<<(unsigned)(chunks / SWEEP_WARPS), 32 * SWEEP_WARPS>>>(*p, taker, CHUNK_ROWS);
  join_partials<<<TG_OPERATOR_COUNT * what->m, JOIN_THREADS>>>(chunks, TG_OPERATOR_COUNT * what->m,
                                                               (const double*)scratch, what->sums);
  return tg_cuda_queued("the fused chain");
}

static const char* refuses_expect(const tg_pairs* pairs) {
  if (pairs && pairs->d > TG_DIFFERENCE_MOST) return "more than 8 particles may have moved";
  return tg_pairs_need_word64(pairs);
}

extern const tg_expect_version tg_cuda_expects[] = {
    {"word64 private", "word64", false, refuses_expect, NULL, expect_atomic},
    {"word64 chunks", "word64", true, refuses_expect, scratch_chunks, expect_chunks},
    {NULL, NULL, false, NULL, NULL, NULL},
};
