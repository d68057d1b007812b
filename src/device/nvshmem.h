/* SPDX-License-Identifier: Apache-2.0 */
/** @file device/nvshmem.h  Whether the nvshmem transport can work here. */
#ifndef TG_DEVICE_NVSHMEM_H
#define TG_DEVICE_NVSHMEM_H

#include <stdbool.h>

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** True when throng was built with NVSHMEM. */
bool tg_nvshmem_built(void);
/** The version throng was built with, "3.4.5"; "" for none. */
const char* tg_nvshmem_version(void);
/** TG_OK where nvshmem can run in this process; else TG_ERR_MACHINE saying what is missing. Starts
 * nothing: the check looks at the library, the driver, the GPUs and their kernels. */
tg_status tg_nvshmem_check(void);

#ifdef __cplusplus
}
#endif
#endif
