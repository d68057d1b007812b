/* SPDX-License-Identifier: Apache-2.0 */
/** @file device/cuda/check.h  CUDA's errors as statuses, and memory of a GPU; for .cu files only.
 */
#ifndef TG_DEVICE_CUDA_CHECK_H
#define TG_DEVICE_CUDA_CHECK_H

#include <cuda_runtime.h>

#include "device/fault.h"

/** What an error is a case of. */
tg_device_fault tg_cuda_fault(cudaError_t error);

/** TG_ERR_MACHINE with a message that says what is the matter and what to do (fault.h); wanted: the
 * bytes that were asked for, or 0. Clears the error. */
tg_status tg_cuda_fail(cudaError_t error, int device, const char* what, size_t wanted);

/** TG_OK, or what tg_cuda_fail says. */
static inline tg_status tg_cuda_status(cudaError_t error, int device, const char* what) {
  return error == cudaSuccess ? TG_OK : tg_cuda_fail(error, device, what, 0);
}

/** The same for pinned memory of the host: the GPU's own has nothing to do with it. */
tg_status tg_cuda_host_status(cudaError_t error, size_t bytes);

/** Lets a kernel have as much dynamic shared memory as the current GPU, number `device`, has for a
 * block. The limit is the kernel's, not a launch's: set to what one object needs it would fail
 * another's launches, also between a thread's setting it and its launch. */
template <class KERNEL>
static inline tg_status tg_cuda_allow_shared(KERNEL kernel, int device) {
  int most = 0;
  cudaFuncAttributes has;
  TG_TRY(
      tg_cuda_status(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
                     device, "a kernel's shared memory"));
  TG_TRY(tg_cuda_status(cudaFuncGetAttributes(&has, kernel), device, "a kernel's shared memory"));
  return tg_cuda_status(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                             most - (int)has.sharedSizeBytes),
                        device, "a kernel's shared memory");
}

/** Memory of the current GPU, which is number `device`; *out is NULL after a failure. */
tg_status tg_cuda_allocate(int device, size_t bytes, const char* what, void** out);
/** Null-safe: NULL is let be. */
void tg_cuda_release(void* memory);
/** For tests: tg_cuda_allocate fails, as a full GPU would make it, where this program would hold
 * more; 0: no limit. */
void tg_cuda_limit(size_t bytes);

#endif
