/* SPDX-License-Identifier: Apache-2.0 */
/** @file device/cuda/check.h  CUDA's errors as statuses; for .cu files only. */
#ifndef TG_DEVICE_CUDA_CHECK_H
#define TG_DEVICE_CUDA_CHECK_H

#include <cuda_runtime.h>

#include "base/status.h"

/** TG_OK, or TG_ERR_MACHINE with "GPU <device>: <what>: <CUDA's words>". */
static inline tg_status tg_cuda_status(cudaError_t error, int device, const char* what) {
  if (error == cudaSuccess) return TG_OK;
  cudaGetLastError(); /* or the next, innocent call would report it again */
  return tg_fail(TG_ERR_MACHINE, "GPU %d: %s: %s (%s)", device, what, cudaGetErrorString(error),
                 cudaGetErrorName(error));
}

#endif
