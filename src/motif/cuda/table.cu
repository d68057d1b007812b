/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "device/device.h"
#include "motif/cuda/internal.cuh"

extern "C" {
#include "motif/backends.h"
}

static tg_status check(void) {
  if (tg_device_count() > 0) return TG_OK;
  return tg_fail(TG_ERR_MACHINE, "%s", tg_device_reason());
}

static void describe(char* out, size_t size) {
  tg_device_info info;
  if (check() == TG_OK && tg_device_query(0, &info) == TG_OK)
    snprintf(out, size, "GPU 0, %s, %d multiprocessors, up to %d MHz", info.name,
             info.multiprocessor_count, info.clock_khz / 1000);
  else
    snprintf(out, size, "GPU, CUDA");
}

static int attribute(cudaDeviceAttr which) {
  int value = 0;
  if (cudaDeviceGetAttribute(&value, which, 0) == cudaSuccess) return value;
  cudaGetLastError();
  return 0;
}

int tg_cuda_multiprocessors(void) {
  static int count;
  if (count == 0) count = attribute(cudaDevAttrMultiProcessorCount);
  return count;
}

size_t tg_cuda_shared_bytes(void) {
  static int bytes;
  if (bytes == 0) bytes = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  return (size_t)bytes;
}

size_t tg_cuda_shared_bytes_of_multiprocessor(void) {
  static int bytes;
  if (bytes == 0) bytes = attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
  return (size_t)bytes;
}

int tg_cuda_capability(void) {
  return 10 * attribute(cudaDevAttrComputeCapabilityMajor) +
         attribute(cudaDevAttrComputeCapabilityMinor);
}

int tg_cuda_shared_limit(void) { return attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin); }

static tg_status allocate(size_t bytes, const char* what, void** out) {
  *out = NULL;
  if (bytes == 0) return TG_OK;
  return tg_cuda_allocate(0, bytes, what, out);
}

static void release(void* pointer) { tg_cuda_release(pointer); }

static tg_status synchronize(void) {
  return tg_cuda_status(cudaDeviceSynchronize(), 0, "waiting for the motifs' kernels");
}

static tg_status copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  TG_TRY(synchronize());
  if (bytes == 0) return TG_OK;
  return tg_cuda_status(cudaMemcpy(to, from, bytes, kind), 0, "copying");
}
static tg_status upload(void* to, const void* from, size_t bytes) {
  return copy(to, from, bytes, cudaMemcpyHostToDevice);
}
static tg_status download(void* to, const void* from, size_t bytes) {
  return copy(to, from, bytes, cudaMemcpyDeviceToHost);
}

static const tg_motif_memory memory = {allocate, release, upload, download, synchronize};

extern const tg_motif_table tg_motif_table_cuda = {
    "cuda",          check,         describe,       false,          &memory,
    tg_cuda_filters, tg_cuda_fills, NULL,           tg_cuda_scans,  tg_cuda_reduces,
    tg_cuda_expects, tg_cuda_copy,  tg_cuda_stream, tg_cuda_denses,
};
