/* SPDX-License-Identifier: Apache-2.0 */
/** @file motif/cuda/internal.cuh  The lists behind the table "cuda", by file, and what its files
 * share. Work is queued on the default stream of GPU 0. */
#ifndef TG_MOTIF_CUDA_INTERNAL_CUH
#define TG_MOTIF_CUDA_INTERNAL_CUH

#include "device/cuda/check.h"
#include "motif/table.h"

extern const tg_filter_version tg_cuda_filters[];
extern const tg_fill_version tg_cuda_fills[];
extern const tg_scan_version tg_cuda_scans[];
extern const tg_reduce_version tg_cuda_reduces[];
extern const tg_expect_version tg_cuda_expects[];
extern const tg_dense_version tg_cuda_denses[];

/** Whether the kernels that were just queued could be. */
static inline tg_status tg_cuda_queued(const char* what) {
  return tg_cuda_status(cudaGetLastError(), 0, what);
}

/** Zeroes queued behind what is queued already. */
static inline tg_status tg_cuda_zero(void* what, size_t bytes) {
  if (bytes == 0) return TG_OK;
  return tg_cuda_status(cudaMemsetAsync(what, 0, bytes), 0, "zeroing");
}

int tg_cuda_multiprocessors(void);
/** Bytes of shared memory: that a block may ask for, and that a multiprocessor has. */
size_t tg_cuda_shared_bytes(void);
size_t tg_cuda_shared_bytes_of_multiprocessor(void);
/** 10 * major + minor of GPU 0; 0 where there is none. */
int tg_cuda_capability(void);
/** The most shared memory that a block of GPU 0 may ask for, bytes; 0 where there is none. */
int tg_cuda_shared_limit(void);

static inline size_t tg_cuda_blocks(size_t items, size_t of_each) {
  return (items + of_each - 1) / of_each;
}

/** Library versions (motif/cuda/library.cu). */
size_t tg_cuda_library_scratch(size_t count, size_t width);
tg_status tg_cuda_library_u32(size_t count, const uint32_t* in, uint32_t* out, void* scratch,
                              int threads);
tg_status tg_cuda_library_u64(size_t count, const uint64_t* in, uint64_t* out, void* scratch,
                              int threads);
tg_status tg_cuda_library_offsets(size_t count, const uint32_t* in, uint64_t* out, void* scratch,
                                  int threads);
/** Scans on the host, over the link (motif/cuda/host_scan.cu). They wait for what is queued. */
tg_status tg_cuda_host_u32(size_t count, const uint32_t* in, uint32_t* out, void* scratch,
                           int threads);
tg_status tg_cuda_host_u64(size_t count, const uint64_t* in, uint64_t* out, void* scratch,
                           int threads);
tg_status tg_cuda_host_offsets(size_t count, const uint32_t* in, uint64_t* out, void* scratch,
                               int threads);
tg_status tg_cuda_pinned_u32(size_t count, const uint32_t* in, uint32_t* out, void* scratch,
                             int threads);
tg_status tg_cuda_pinned_u64(size_t count, const uint64_t* in, uint64_t* out, void* scratch,
                             int threads);
tg_status tg_cuda_pinned_offsets(size_t count, const uint32_t* in, uint64_t* out, void* scratch,
                                 int threads);
/** Reductions with sums of a warp (motif/cuda/private.cu). */
const char* tg_cuda_refuses_private(uint32_t m);
size_t tg_cuda_scratch_private(size_t count, uint32_t m, int threads);
tg_status tg_cuda_reduce_private(const tg_reduction* what);
size_t tg_cuda_scratch_chunks(size_t count, uint32_t m, int threads);
tg_status tg_cuda_reduce_chunks(const tg_reduction* what);
/** Yardsticks (motif/cuda/reduce.cu): copy; read both arrays of a reduction once. */
tg_status tg_cuda_copy(size_t count, const uint32_t* from, uint32_t* to);
tg_status tg_cuda_stream(const tg_reduction* what);

#endif
