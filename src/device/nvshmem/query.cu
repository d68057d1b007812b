/* SPDX-License-Identifier: Apache-2.0 */
/* The one file compiled relocatable: NVSHMEM's device half is a library of device code, linked
 * here. */
#include "device/nvshmem.h"

#include <nvshmem.h>
#include <nvshmemx.h>
#include <stdio.h>

#include "device/cuda/check.h"
#include "device/device.h"

/* From nothing to this PE's number in *pe: its presence shows that the device half is linked. */
static __global__ void store_pe(int* pe) { *pe = nvshmem_my_pe(); }

bool tg_nvshmem_built(void) { return true; }

const char* tg_nvshmem_version(void) {
  static thread_local char version[32];
  snprintf(version, sizeof version, "%d.%d.%d", NVSHMEM_VENDOR_MAJOR_VERSION,
           NVSHMEM_VENDOR_MINOR_VERSION, NVSHMEM_VENDOR_PATCH_VERSION);
  return version;
}

tg_status tg_nvshmem_check(void) {
  int major = 0, minor = 0, patch = 0;
  nvshmemx_vendor_get_version_info(&major, &minor, &patch);
  if (major != NVSHMEM_VENDOR_MAJOR_VERSION || minor < NVSHMEM_VENDOR_MINOR_VERSION)
    return tg_fail(TG_ERR_MACHINE,
                   "libnvshmem_host is of version %d.%d.%d but throng was built with %s; load that "
                   "one (LD_LIBRARY_PATH)",
                   major, minor, patch, tg_nvshmem_version());
  if (tg_device_count() == 0)
    return tg_fail(TG_ERR_MACHINE, "no GPU to share memory with: %s", tg_device_reason());
  int before = 0;
  TG_TRY(tg_cuda_status(cudaGetDevice(&before), 0, "asking for the current device"));
  tg_status status = TG_OK;
  for (int device = 0; status == TG_OK && device < tg_device_count(); device++) {
    cudaFuncAttributes attributes;
    status = tg_cuda_status(cudaSetDevice(device), device, "selecting it");
    if (status == TG_OK)
      status = tg_cuda_status(cudaFuncGetAttributes(&attributes, store_pe), device,
                              "loading a kernel that calls NVSHMEM");
  }
  cudaSetDevice(before);
  return status;
}
