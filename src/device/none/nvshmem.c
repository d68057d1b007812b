/* SPDX-License-Identifier: Apache-2.0 */
/* The answers of a throng that was built without NVSHMEM. */
#include "device/nvshmem.h"

bool tg_nvshmem_built(void) { return false; }
const char* tg_nvshmem_version(void) { return ""; }

tg_status tg_nvshmem_check(void) {
  return tg_fail(TG_ERR_MACHINE,
                 "throng was built without NVSHMEM; configure it with the preset nvshmem "
                 "(TG_NVSHMEM=ON)");
}
