/* SPDX-License-Identifier: Apache-2.0 */
/* The stored matrix from the tables of jumps. */
#include "ci/cuda/stored_encode.cuh"
#include "ci/cuda/stored_walk.cuh"

struct jumps_source {
  stored_tables t;
  stored_columns kept;
  template <class SINK>
  __device__ __forceinline__ void walk(uint64_t state, SINK* sink) const {
    stored_walk(&t, kept, state, sink);
  }
};

static __global__ void diagonal_rows(jumps_source source, uint64_t first, uint64_t rows,
                                     double* diagonal) {
  const uint64_t row = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (row < rows) diagonal[row] = stored_diagonal(&source.t, first + row);
}

/* Bits of a value's number. */
static int bits_for(size_t count) {
  int bits = 0;
  while ((size_t)1 << bits < count) bits++;
  return bits;
}

static tg_status set_values(tg_ci_device_stored* s, const tg_ci_flat* flat) {
  double* values = NULL;
  s->coded = flat->value_count > 0;
  s->m.value_count = (uint32_t)flat->value_count;
  s->m.shift = 1 + bits_for(flat->value_count);
  s->m.wide = s->coded;
  if (!s->coded) return TG_OK;
  TG_TRY(STORED_ALLOCATE(s, flat->value_count, "values of matrix elements", &values));
  s->m.values = values;
  return tg_cuda_status(
      cudaMemcpy(values, flat->values, flat->value_count * sizeof *values, cudaMemcpyHostToDevice),
      s->device, "copying values of matrix elements");
}

tg_status stored_build_jumps(tg_ci_device_stored* s, const tg_ci_device_stored_params* p) {
  enum { THREADS = 256 };
  tg_status status = TG_OK;
  tg_ci_flat flat;
  void* memory = NULL;
  jumps_source source = {};
  double* diagonal = NULL;
  TG_TRY(tg_ci_flat_make(p->fly, !p->plain, &flat));
  TG_TRY_GOTO(stored_upload_tables(s, &flat, &memory, &source.t), done);
  TG_TRY_GOTO(set_values(s, &flat), done);
  TG_TRY_GOTO(STORED_ALLOCATE(s, s->m.rows, "diagonal", &diagonal), done);
  s->m.diagonal = diagonal;
  diagonal_rows<<<(unsigned)((s->m.rows + THREADS - 1) / THREADS), THREADS>>>(source, s->m.first,
                                                                              s->m.rows, diagonal);
  TG_TRY_GOTO(stored_queued(s, "the diagonal"), done);
  status = encode(s, source);
done:
  tg_ci_flat_free(&flat);
  cudaFree(memory);
  return status;
}
