/* SPDX-License-Identifier: Apache-2.0 */
/* Scans by CUB, which writes count sums; the total is added behind them. */
#include <cub/device/device_scan.cuh>
#include <cuda/std/functional>

#include "motif/cuda/internal.cuh"

/* scratch NULL: says its bytes. Sums are of the type of the first, 0. */
template <class IN, class OUT>
static cudaError_t scan(void* scratch, size_t* bytes, size_t count, const IN* in, OUT* out) {
  return cub::DeviceScan::ExclusiveScan(scratch, *bytes, in, out, cuda::std::plus<>{}, (OUT)0,
                                        count);
}

template <class IN, class OUT>
static __global__ void add_total(size_t count, const IN* in, OUT* out) {
  out[count] = count > 0 ? (OUT)(out[count - 1] + in[count - 1]) : (OUT)0;
}

size_t tg_cuda_library_scratch(size_t count, size_t width) {
  size_t narrow = 0, wide = 0, mixed = 0;
  if (count == 0) return 0;
  if (width == 4)
    scan(NULL, &narrow, count, (const uint32_t*)NULL, (uint32_t*)NULL);
  else {
    scan(NULL, &wide, count, (const uint64_t*)NULL, (uint64_t*)NULL);
    scan(NULL, &mixed, count, (const uint32_t*)NULL, (uint64_t*)NULL);
  }
  if (wide > narrow) narrow = wide;
  return mixed > narrow ? mixed : narrow;
}

template <class IN, class OUT>
static tg_status run(size_t count, const IN* in, OUT* out, void* scratch) {
  if (count > 0) {
    size_t bytes = tg_cuda_library_scratch(count, sizeof *out);
    TG_TRY(tg_cuda_status(scan(scratch, &bytes, count, in, out), 0, "CUB's scan"));
  }
  add_total<<<1, 1>>>(count, in, out);
  return tg_cuda_queued("a scan");
}

tg_status tg_cuda_library_u32(size_t count, const uint32_t* in, uint32_t* out, void* scratch,
                              int threads) {
  (void)threads;
  return run(count, in, out, scratch);
}
tg_status tg_cuda_library_u64(size_t count, const uint64_t* in, uint64_t* out, void* scratch,
                              int threads) {
  (void)threads;
  return run(count, in, out, scratch);
}
tg_status tg_cuda_library_offsets(size_t count, const uint32_t* in, uint64_t* out, void* scratch,
                                  int threads) {
  (void)threads;
  return run(count, in, out, scratch);
}
