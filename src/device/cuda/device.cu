/* SPDX-License-Identifier: Apache-2.0 */
#include "device/device.h"

#include <stdio.h>
#include <string.h>

#include "device/cuda/check.h"

/* The oldest compute capability that throng's kernels are compiled for. */
enum { LEAST_MAJOR = 8 };

static thread_local char reason[512];

bool tg_device_built(void) { return true; }

int tg_device_count(void) {
  int count = 0;
  cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count > 0) {
    reason[0] = '\0';
    return count;
  }
  cudaGetLastError();
  if (tg_device_driver_version() == 0)
    snprintf(reason, sizeof reason,
             "no NVIDIA driver was found on this machine; install one that serves CUDA %d.%d",
             CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
  else if (error == cudaErrorInsufficientDriver)
    snprintf(reason, sizeof reason,
             "the NVIDIA driver serves CUDA %d.%d but throng was built with %d.%d; install a newer "
             "driver",
             tg_device_driver_version() / 1000, tg_device_driver_version() % 1000 / 10,
             CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
  else if (error == cudaErrorNoDevice || error == cudaSuccess)
    snprintf(reason, sizeof reason,
             "the driver shows no GPU; look at nvidia-smi and at CUDA_VISIBLE_DEVICES");
  else
    snprintf(reason, sizeof reason, "CUDA cannot start: %s (%s)", cudaGetErrorString(error),
             cudaGetErrorName(error));
  return 0;
}

const char* tg_device_reason(void) { return tg_device_count() > 0 ? "" : reason; }

int tg_device_driver_version(void) {
  int version = 0;
  if (cudaDriverGetVersion(&version) != cudaSuccess) {
    cudaGetLastError();
    return 0;
  }
  return version;
}

int tg_device_runtime_version(void) { return CUDART_VERSION; }

/* device is a number this machine has. */
static tg_status check_number(int device) {
  int count = tg_device_count();
  if (count == 0) return tg_fail(TG_ERR_MACHINE, "GPU %d: %s", device, reason);
  if (device < 0 || device >= count)
    return tg_fail(TG_ERR_MACHINE, "GPU %d does not exist: there are %d, numbered from 0", device,
                   count);
  return TG_OK;
}

/* An attribute; 0 where the driver does not know it. */
static int attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  if (cudaDeviceGetAttribute(&value, which, device) == cudaSuccess) return value;
  cudaGetLastError();
  return 0;
}

/* Free memory needs a context on the device; the caller's current device is put back. */
static tg_status query_memory(int device, size_t* free_bytes, size_t* total_bytes) {
  int before = 0;
  TG_TRY(tg_cuda_status(cudaGetDevice(&before), device, "asking for the current device"));
  tg_status status = tg_cuda_status(cudaSetDevice(device), device, "selecting it");
  if (status == TG_OK)
    status = tg_cuda_status(cudaMemGetInfo(free_bytes, total_bytes), device, "asking for memory");
  cudaSetDevice(before);
  return status;
}

tg_status tg_device_query(int device, tg_device_info* out) {
  TG_TRY(check_number(device));
  tg_device_info info;
  memset(&info, 0, sizeof info);
  cudaDeviceProp properties;
  TG_TRY(tg_cuda_status(cudaGetDeviceProperties(&properties, device), device, "asking for facts"));
  TG_TRY(query_memory(device, &info.memory_free_bytes, &info.memory_bytes));
  snprintf(info.name, sizeof info.name, "%.127s", properties.name);
  TG_TRY(tg_cuda_status(cudaDeviceGetPCIBusId(info.bus, sizeof info.bus, device), device,
                        "asking for its PCI address"));
  info.compute_major = properties.major;
  info.compute_minor = properties.minor;
  info.multiprocessor_count = properties.multiProcessorCount;
  info.l2_bytes = (size_t)properties.l2CacheSize;
  info.clock_khz = attribute(cudaDevAttrClockRate, device);
  info.memory_clock_khz = attribute(cudaDevAttrMemoryClockRate, device);
  info.memory_bus_bits = attribute(cudaDevAttrGlobalMemoryBusWidth, device);
  info.cooperative_launch = attribute(cudaDevAttrCooperativeLaunch, device) != 0;
  *out = info;
  return TG_OK;
}

tg_status tg_device_query_link(int from, int to, tg_device_link* out) {
  TG_TRY(check_number(from));
  TG_TRY(check_number(to));
  if (from == to) return tg_fail(TG_ERR_INTERNAL, "GPU %d has no link to itself", from);
  int access = 0, atomics = 0, rank = 0;
  TG_TRY(tg_cuda_status(cudaDeviceCanAccessPeer(&access, from, to), from, "asking for its links"));
  TG_TRY(tg_cuda_status(
      cudaDeviceGetP2PAttribute(&atomics, cudaDevP2PAttrNativeAtomicSupported, from, to), from,
      "asking for its links"));
  TG_TRY(tg_cuda_status(cudaDeviceGetP2PAttribute(&rank, cudaDevP2PAttrPerformanceRank, from, to),
                        from, "asking for its links"));
  out->peer_access = access != 0;
  out->native_atomics = atomics != 0;
  out->performance_rank = rank;
  return TG_OK;
}

/* From nothing to values: values: [count], element i a hash of i. Bound by memory stores. */
static __host__ __device__ unsigned mixed(unsigned i) {
  i = (i ^ i >> 16) * 0x7feb352du;
  i = (i ^ i >> 15) * 0x846ca68bu;
  return i ^ i >> 16;
}

static __global__ void fill(unsigned count, unsigned* values) {
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
    values[i] = mixed(i);
}

/* From values to the number of right ones in *right. Bound by memory loads; an atomic per block. */
static __global__ void count_right(unsigned count, const unsigned* values, unsigned* right) {
  __shared__ unsigned block_right;
  if (threadIdx.x == 0) block_right = 0;
  __syncthreads();
  unsigned mine = 0;
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
    mine += values[i] == mixed(i);
  atomicAdd(&block_right, mine);
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(right, block_right);
}

static tg_status run_self_test(int device, unsigned* memory, unsigned count) {
  unsigned* right = memory + count;
  unsigned found = 0, damaged = 0;
  /* the second pass spoils one element first: the check must notice, or it proves nothing */
  for (int pass = 0; pass < 2; pass++) {
    TG_TRY(tg_cuda_status(cudaMemset(right, 0, sizeof *right), device, "clearing memory"));
    if (pass == 0) {
      fill<<<64, 256>>>(count, memory);
      TG_TRY(tg_cuda_status(cudaGetLastError(), device, "launching a kernel"));
    } else {
      unsigned wrong = ~mixed(count / 2);
      TG_TRY(tg_cuda_status(
          cudaMemcpy(memory + count / 2, &wrong, sizeof wrong, cudaMemcpyHostToDevice), device,
          "copying to it"));
    }
    count_right<<<64, 256>>>(count, memory, right);
    TG_TRY(tg_cuda_status(cudaGetLastError(), device, "launching a kernel"));
    TG_TRY(tg_cuda_status(
        cudaMemcpy(pass == 0 ? &found : &damaged, right, sizeof found, cudaMemcpyDeviceToHost),
        device, "running a kernel"));
  }
  if (found != count || damaged != count - 1)
    return tg_fail(TG_ERR_MACHINE,
                   "GPU %d: the self-test found %u and %u right elements where %u and %u were "
                   "expected; the device or its driver is faulty",
                   device, found, damaged, count, count - 1);
  return TG_OK;
}

tg_status tg_device_self_test(int device) {
  TG_TRY(check_number(device));
  const unsigned count = 1000003; /* prime: no block divides it */
  int before = 0;
  unsigned* memory = NULL;
  tg_status status = TG_OK;
  if (attribute(cudaDevAttrComputeCapabilityMajor, device) < LEAST_MAJOR)
    return tg_fail(TG_ERR_MACHINE, "GPU %d: compute capability %d.%d, at least %d.0 is needed",
                   device, attribute(cudaDevAttrComputeCapabilityMajor, device),
                   attribute(cudaDevAttrComputeCapabilityMinor, device), LEAST_MAJOR);
  TG_TRY(tg_cuda_status(cudaGetDevice(&before), device, "asking for the current device"));
  TG_TRY_GOTO(tg_cuda_status(cudaSetDevice(device), device, "selecting it"), select_before);
  TG_TRY_GOTO(tg_cuda_allocate(device, (count + 1) * sizeof *memory, "memory for the self-test",
                               (void**)&memory),
              select_before);
  status = run_self_test(device, memory, count);
  tg_cuda_release(memory);
select_before:
  cudaSetDevice(before);
  return status;
}
