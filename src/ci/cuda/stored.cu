/* SPDX-License-Identifier: Apache-2.0 */
/* A stored matrix on a GPU: making it, what it takes, what it is. */
#include "ci/cuda/stored.cuh"

#include <string.h>

#include <algorithm>
#include <new>

#include "base/timer.h"

extern "C" {
#include "ci/stored_tables.h"
}

tg_status stored_allocate(tg_ci_device_stored* s, size_t bytes, const char* what, void** out) {
  *out = NULL;
  if (bytes == 0) return TG_OK;
  const cudaError_t error = cudaMalloc(out, bytes);
  if (error != cudaSuccess) {
    cudaGetLastError();
    *out = NULL;
    return tg_fail(TG_ERR_MACHINE, "GPU %d: no memory for the %s: %zu bytes were asked for (%s)",
                   s->device, what, bytes, cudaGetErrorString(error));
  }
  s->bytes += bytes;
  return TG_OK;
}

/* Enough warps to fill a GPU, as a fixed rule: sums do not depend on the GPU. */
static int parts_for(uint64_t slices) {
  int parts = 1;
  while (parts < STORED_MOST_PARTS && slices * (uint64_t)parts < 8192) parts *= 2;
  return parts;
}

static tg_status check_rows(const tg_ci_device_stored_params* p, uint64_t dimension,
                            stored_matrix* m) {
  const uint64_t first = p->rows ? p->rows->first : 0, end = p->rows ? p->rows->end : dimension;
  if (dimension > INT32_MAX)
    return tg_fail(TG_ERR_MACHINE,
                   "%llu states are too many for a stored matrix on a GPU; use --storage fly",
                   (unsigned long long)dimension);
  if (first >= end || end > dimension)
    return tg_fail(TG_ERR_INPUT, "rows %llu to %llu of %llu: there are none such",
                   (unsigned long long)first, (unsigned long long)end,
                   (unsigned long long)dimension);
  if (p->half && (first > 0 || end < dimension))
    return tg_fail(TG_ERR_INPUT,
                   "half of a matrix is stored for all rows only; store all of it for a part");
  m->first = first;
  m->rows = end - first;
  m->slices = (m->rows + STORED_LANES - 1) / STORED_LANES;
  m->parts = parts_for(m->slices);
  return TG_OK;
}

/* Columns that are kept apart; all where they are not. */
static tg_status check_own(const tg_ci_device_stored_params* p, tg_ci_device_stored* s) {
  s->own = {0, s->dimension};
  if (!p->own) return TG_OK;
  const uint64_t first = p->own->first, end = p->own->end;
  if (first > s->m.first || end < s->m.first + s->m.rows || end > s->dimension ||
      !tg_ci_flat_begins_row(p->fly, first) || !tg_ci_flat_begins_row(p->fly, end))
    return tg_fail(TG_ERR_INPUT,
                   "columns %llu to %llu of %llu are to be kept apart: whole rows of blocks are "
                   "expected, with all rows of the matrix among them",
                   (unsigned long long)first, (unsigned long long)end,
                   (unsigned long long)s->dimension);
  s->own = *p->own;
  s->apart = first > 0 || end < s->dimension;
  return TG_OK;
}

/* What products work in. */
static tg_status make_scratch(tg_ci_device_stored* s) {
  if (!s->half)
    return STORED_ALLOCATE(s, TG_CI_DEVICE_STORED_WIDTH * s->dimension, "vectors of a product",
                           &s->packed);
  TG_TRY(STORED_ALLOCATE(s, s->dimension, "sums of a product", &s->fixed));
  return STORED_ALLOCATE(s, 1, "sums of a product", &s->largest);
}

tg_status tg_ci_device_stored_create(const tg_ci_device_stored_params* p,
                                     tg_ci_device_stored** out) {
  tg_status status = TG_OK;
  const double begin = tg_time_now();
  uint64_t needed, making = 0;
  size_t free_bytes = 0, all;
  tg_ci_device_stored* s = new (std::nothrow) tg_ci_device_stored();
  if (!s) return tg_fail(TG_ERR_MACHINE, "no memory for a stored matrix");
  memset(s, 0, sizeof *s);
  s->device = p->device;
  s->stream = (cudaStream_t)p->stream;
  s->half = p->half;
  s->m.floats = p->float_elements;
  s->m.shift = 1;
  s->dimension = tg_ci_flat_dimension(p->fly);
  TG_TRY_GOTO(check_rows(p, s->dimension, &s->m), failed);
  TG_TRY_GOTO(check_own(p, s), failed);
  TG_TRY_GOTO(tg_cuda_status(cudaSetDevice(s->device), s->device, "choosing the GPU"), failed);
  TG_TRY_GOTO(
      tg_cuda_status(cudaMemGetInfo(&free_bytes, &all), s->device, "asking for free memory"),
      failed);
  needed = tg_ci_device_stored_bytes(p, &making);
  if (needed + making > free_bytes) {
    status = tg_fail(TG_ERR_MACHINE,
                     "GPU %d: the stored matrix needs about %.3g GB, and %.3g GB are free; use "
                     "--storage fly, or more GPUs",
                     s->device, 1e-9 * (double)(needed + making), 1e-9 * (double)free_bytes);
    goto failed;
  }
  TG_TRY_GOTO(tg_cuda_status(cudaDeviceGetAttribute(&s->multiprocessors,
                                                    cudaDevAttrMultiProcessorCount, s->device),
                             s->device, "asking for multiprocessors"),
              failed);
  TG_TRY_GOTO(tg_cuda_status(cudaStreamSynchronize(s->stream), s->device, "waiting for the stream"),
              failed);
  TG_TRY_GOTO(make_scratch(s), failed);
  TG_TRY_GOTO(
      p->builder == TG_CI_DEVICE_BY_MOTIFS ? stored_build_motifs(s, p) : stored_build_jumps(s, p),
      failed);
  s->facts.rows = s->m.rows;
  s->facts.values = s->m.value_count;
  s->facts.bytes = s->bytes;
  s->facts.seconds = tg_time_now() - begin;
  *out = s;
  return TG_OK;
failed:
  tg_ci_device_stored_destroy(&s);
  return status;
}

/* All but what both have in common. */
static void free_matrix(const stored_matrix* m) {
  cudaFree((void*)m->row_of);
  cudaFree(m->word.at);
  cudaFree(m->word.start);
  cudaFree(m->step.at);
  cudaFree(m->step.start);
  cudaFree(m->words);
  cudaFree(m->steps);
  cudaFree(m->amount);
}

void tg_ci_device_stored_destroy(tg_ci_device_stored** stored) {
  tg_ci_device_stored* s = *stored;
  if (!s) return;
  cudaSetDevice(s->device);
  cudaStreamSynchronize(s->stream);
  free_matrix(&s->m);
  free_matrix(&s->rest);
  cudaFree((void*)s->m.values);
  cudaFree((void*)s->m.diagonal);
  cudaFree(s->packed);
  cudaFree(s->fixed);
  cudaFree(s->largest);
  delete s;
  *stored = NULL;
}

tg_status tg_ci_device_stored_diagonal(tg_ci_device_stored* s, double* d) {
  return tg_cuda_status(
      cudaMemcpyAsync(d, s->m.diagonal, s->m.rows * sizeof *d, cudaMemcpyDeviceToDevice, s->stream),
      s->device, "copying the diagonal");
}

void tg_ci_device_stored_query(const tg_ci_device_stored* s, tg_ci_device_stored_facts* out) {
  *out = s->facts;
}
