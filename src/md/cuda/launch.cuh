/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/cuda/launch.cuh  Kernels that begin before the one ahead of them has ended.
 *
 * An *early* launch may begin when all blocks of the kernel ahead have called tg_launch_next or
 * have ended; what that kernel writes is there after tg_launch_wait. What the kernel ahead of that
 * one writes is there from the start only if the kernel ahead calls tg_launch_next after its own
 * tg_launch_wait, and is then to be loaded past the first-level cache. In a launch that is not
 * early both calls do nothing. */
#ifndef TG_MD_CUDA_LAUNCH_CUH
#define TG_MD_CUDA_LAUNCH_CUH

#include "md/cuda/state.cuh"

static __device__ __forceinline__ void tg_launch_wait(void) {
#if __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
}

static __device__ __forceinline__ void tg_launch_next(void) {
#if __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}

template <typename... Parameters, typename... Arguments>
static tg_status tg_launch(const tg_device_md* md, void (*kernel)(Parameters...), dim3 grid,
                           unsigned threads, size_t shared_bytes, cudaStream_t stream, bool early,
                           const char* what, const Arguments&... arguments) {
  cudaLaunchAttribute attribute;
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = grid;
  config.blockDim = dim3(threads, 1, 1);
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = early ? 1 : 0;
  return tg_cuda_status(cudaLaunchKernelEx(&config, kernel, arguments...), md->device, what);
}

#endif
