/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA's errors as faults with their facts: those that can be had on a healthy GPU (memory that
 * others hold, a GPU that is not there, a kernel that reads nowhere), and the table of the rest.
 *
 * No test framework: it runs on machines that have none. Prints what failed and "N passed, M
 * failed"; without a GPU it says so and exits 77 (skipped). */
#include <stdio.h>
#include <string.h>

#include "device/cuda/check.h"
#include "device/device.h"
#include "halo/gpu_check.cuh"
#include "md/device_md.h"

static bool says(const char* words) {
  const bool right = strstr(tg_last_error(), words) != NULL;
  if (!right) printf("    no \"%s\" in: %s\n", words, tg_last_error());
  return right;
}

static bool errors_have_their_faults() {
  EXPECT(tg_cuda_fault(cudaErrorMemoryAllocation) == TG_FAULT_MEMORY);
  EXPECT(tg_cuda_fault(cudaErrorNoDevice) == TG_FAULT_NO_GPU);
  EXPECT(tg_cuda_fault(cudaErrorInsufficientDriver) == TG_FAULT_OLD_DRIVER);
  EXPECT(tg_cuda_fault(cudaErrorNoKernelImageForDevice) == TG_FAULT_NO_KERNEL);
  EXPECT(tg_cuda_fault(cudaErrorDevicesUnavailable) == TG_FAULT_BUSY);
  EXPECT(tg_cuda_fault(cudaErrorECCUncorrectable) == TG_FAULT_LOST);
  EXPECT(tg_cuda_fault(cudaErrorIllegalAddress) == TG_FAULT_KERNEL);
  EXPECT(tg_cuda_fault(cudaErrorInvalidValue) == TG_FAULT_OTHER);
  tg_device_info info;
  RUN(tg_device_query(0, &info));
  EXPECT(tg_cuda_fail(cudaErrorInsufficientDriver, 0, "starting", 0) == TG_ERR_MACHINE);
  char version[32];
  const int built = tg_device_runtime_version();
  snprintf(version, sizeof version, "built with %d.%d", built / 1000, built % 1000 / 10);
  EXPECT(says(version) && says(info.name));
  tg_cuda_fail(cudaErrorNoKernelImageForDevice, 0, "starting", 0);
  snprintf(version, sizeof version, "ARCHITECTURES=%d%d", info.compute_major, info.compute_minor);
  EXPECT(says(version));
  return true;
}

static bool a_missing_gpu_is_named() {
  EXPECT(tg_cuda_status(cudaSetDevice(1000), 1000, "selecting it") == TG_ERR_MACHINE);
  EXPECT(says("GPU 1000: selecting it: ") && says("CUDA_VISIBLE_DEVICES"));
  EXPECT(cudaGetLastError() == cudaSuccess); /* nothing is left behind */
  return true;
}

/* 64,000 atoms without interactions. */
static tg_status make_atoms(tg_device_md** md) {
  enum { COUNT = 64000 };
  static int type[COUNT];
  static double charge[COUNT];
  static const double none = 0;
  tg_device_md_params params = {};
  for (double& edge : params.box) edge = 9;
  params.atom_count = COUNT;
  params.type = type;
  params.charge = charge;
  params.type_count = 1;
  params.c6 = params.c12 = &none;
  params.cutoff = 0.9;
  params.list_radius = params.inner_radius = 1;
  return tg_device_md_create(&params, md);
}

static bool a_limit_is_kept() {
  tg_device_md* md = nullptr;
  tg_cuda_limit(1 << 20);
  EXPECT(make_atoms(&md) == TG_ERR_MACHINE && md == nullptr);
  tg_cuda_limit(0);
  EXPECT(says("memory for atoms and lists: ") && says("are wanted") &&
         says("throng holds 0 bytes"));
  RUN(make_atoms(&md));
  tg_device_md_destroy(&md);
  return true;
}

/* Another's memory: all but 16 MiB, in ever smaller pieces. */
static bool a_full_gpu_is_told_of() {
  void* taken[64];
  int pieces = 0;
  size_t free_bytes = 0, total = 0;
  EXPECT(cudaMemGetInfo(&free_bytes, &total) == cudaSuccess);
  for (size_t piece = free_bytes; piece > (16 << 20) && pieces < 64;) {
    if (cudaMalloc(&taken[pieces], piece) == cudaSuccess)
      pieces++;
    else
      piece = piece / 4 * 3;
    cudaGetLastError();
  }
  tg_device_md* md = nullptr;
  const tg_status status = make_atoms(&md);
  for (int i = 0; i < pieces; i++) cudaFree(taken[i]);
  printf("    %d pieces taken of %zu bytes; %s\n", pieces, free_bytes, tg_last_error());
  EXPECT(status == TG_ERR_MACHINE && md == nullptr);
  EXPECT(says("other programs") && says("nvidia-smi") && says("fewer atoms"));
  RUN(make_atoms(&md)); /* and nothing was lost on the way */
  tg_device_md_destroy(&md);
  return true;
}

static __global__ void read_nowhere(const int* at, int* to) { *to = *at; }

/* The last case: after it this process's context is lost. */
static bool a_stopped_kernel_is_told_of() {
  int* to = nullptr;
  RUN(tg_cuda_allocate(0, sizeof *to, "a number", (void**)&to));
  read_nowhere<<<1, 1>>>((const int*)(~(size_t)0xFFF), to);
  EXPECT(tg_cuda_status(cudaDeviceSynchronize(), 0, "computing") == TG_ERR_MACHINE);
  printf("    %s\n", tg_last_error());
  EXPECT(says("a kernel was stopped") && says("report it"));
  return true;
}

int main() {
  if (tg_device_count() == 0) {
    printf("skipped: %s\n", tg_device_reason());
    return 77;
  }
  report(errors_have_their_faults(), "errors and faults");
  report(a_missing_gpu_is_named(), "a GPU that is not there");
  report(a_limit_is_kept(), "a limit");
  report(a_full_gpu_is_told_of(), "a full GPU");
  report(a_stopped_kernel_is_told_of(), "a stopped kernel");
  printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}
