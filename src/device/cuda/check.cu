/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA's errors, and the facts that make a message of them. Whatever asks for facts may fail as
 * well, most of all on a GPU that is lost: then the message does without. */
#include "device/cuda/check.h"

#include <stdio.h>

#include <map>
#include <mutex>

#include "device/device.h"

/* What this program holds, by address; several threads may ask for memory. */
static std::mutex lock;
static std::map<void*, size_t> blocks;
static size_t held, limit;

tg_device_fault tg_cuda_fault(cudaError_t error) {
  switch (error) {
    case cudaErrorMemoryAllocation: return TG_FAULT_MEMORY;
    case cudaErrorNoDevice:
    case cudaErrorInvalidDevice: return TG_FAULT_NO_GPU;
    case cudaErrorInsufficientDriver:
    case cudaErrorCompatNotSupportedOnDevice:
    case cudaErrorSystemDriverMismatch: return TG_FAULT_OLD_DRIVER;
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorInvalidKernelImage:
    case cudaErrorUnsupportedPtxVersion:
    case cudaErrorJitCompilerNotFound: return TG_FAULT_NO_KERNEL;
    case cudaErrorDevicesUnavailable:
    case cudaErrorDeviceAlreadyInUse:
    case cudaErrorMpsServerNotReady:
    case cudaErrorMpsMaxClientsReached:
    case cudaErrorMpsMaxConnectionsReached: return TG_FAULT_BUSY;
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorSystemNotReady:
    case cudaErrorUnknown: return TG_FAULT_LOST;
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure: return TG_FAULT_KERNEL;
    default: return TG_FAULT_OTHER;
  }
}

static int attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  return cudaDeviceGetAttribute(&value, which, device) == cudaSuccess ? value : 0;
}

tg_status tg_cuda_fail(cudaError_t error, int device, const char* what, size_t wanted) {
  char words[256];
  cudaDeviceProp properties = {};
  tg_device_facts facts = {};
  snprintf(words, sizeof words, "%s (%s)", cudaGetErrorString(error), cudaGetErrorName(error));
  facts.device = device;
  facts.what = what;
  facts.words = words;
  facts.wanted_bytes = wanted;
  lock.lock();
  facts.own_bytes = held;
  lock.unlock();
  const tg_device_fault fault = tg_cuda_fault(error);
  if (cudaGetDeviceProperties(&properties, device) == cudaSuccess) facts.name = properties.name;
  facts.compute_major = properties.major;
  facts.compute_minor = properties.minor;
  facts.total_bytes = properties.totalGlobalMem;
  if (fault == TG_FAULT_MEMORY &&
      cudaMemGetInfo(&facts.free_bytes, &facts.total_bytes) != cudaSuccess)
    facts.free_bytes = 0; /* not even a context has room */
  const int mode = attribute(cudaDevAttrComputeMode, device);
  facts.exclusive = mode == cudaComputeModeExclusiveProcess || mode == cudaComputeModeProhibited;
  facts.driver = tg_device_driver_version();
  facts.runtime = tg_device_runtime_version();
  cudaGetLastError(); /* or the next, innocent call would report it again */
  return tg_device_fail(fault, &facts);
}

tg_status tg_cuda_host_status(cudaError_t error, size_t bytes) {
  if (error == cudaSuccess) return TG_OK;
  cudaGetLastError();
  return tg_fail(
      TG_ERR_MACHINE,
      "%.1f MiB of the host's memory, pinned for a GPU, cannot be had: %s (%s); end other "
      "programs on this machine, or look at its limits (ulimit -l, a container's memory)",
      (double)bytes / (1 << 20), cudaGetErrorString(error), cudaGetErrorName(error));
}

/* Whether a test's limit, if any, allows so much more. */
static bool within_limit(size_t bytes) {
  std::lock_guard<std::mutex> guard(lock);
  return limit == 0 || held + bytes <= limit;
}

tg_status tg_cuda_allocate(int device, size_t bytes, const char* what, void** out) {
  *out = nullptr;
  cudaError_t error = cudaErrorMemoryAllocation;
  if (within_limit(bytes)) error = cudaMalloc(out, bytes);
  if (error != cudaSuccess) {
    *out = nullptr;
    return tg_cuda_fail(error, device, what, bytes);
  }
  std::lock_guard<std::mutex> guard(lock);
  blocks[*out] = bytes;
  held += bytes;
  return TG_OK;
}

void tg_cuda_release(void* memory) {
  if (memory == nullptr) return;
  cudaFree(memory);
  std::lock_guard<std::mutex> guard(lock);
  const auto block = blocks.find(memory);
  if (block == blocks.end()) return;
  held -= block->second;
  blocks.erase(block);
}

void tg_cuda_limit(size_t bytes) {
  std::lock_guard<std::mutex> guard(lock);
  limit = bytes;
}
