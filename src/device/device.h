/* SPDX-License-Identifier: Apache-2.0 */
/** @file device/device.h  The GPUs of this machine: how many, which, how they are linked.
 *
 * All calls are local and may be made on any machine: where there is no GPU, or throng was built
 * without CUDA, the count is 0 and tg_device_reason says why. */
#ifndef TG_DEVICE_DEVICE_H
#define TG_DEVICE_DEVICE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tg_device_info {
  char name[128];
  char bus[32]; /* PCI address, "0000:18:00.0" */
  int compute_major, compute_minor;
  int multiprocessor_count;
  size_t memory_bytes, memory_free_bytes;
  size_t l2_bytes;
  int clock_khz, memory_clock_khz; /* highest; 0 where the driver does not say */
  int memory_bus_bits;
  bool cooperative_launch;
} tg_device_info;

/** What device `from` can do with the memory of device `to`. */
typedef struct tg_device_link {
  bool peer_access;     /* loads and stores reach it directly */
  bool native_atomics;  /* atomics too; on one host this means NVLink or the like */
  int performance_rank; /* 0 is the fastest kind of link on this machine */
} tg_device_link;

/** True when throng was built with CUDA. */
bool tg_device_built(void);
/** Number of usable GPUs; 0 when there is none. */
int tg_device_count(void);
/** Why there is no usable GPU, and what to do; "" when there is one. Static text of this thread. */
const char* tg_device_reason(void);

/** Facts about device 0 <= device < count. */
tg_status tg_device_query(int device, tg_device_info* out);
/** The link between two different devices. */
tg_status tg_device_query_link(int from, int to, tg_device_link* out);

/** Versions as 1000 * major + 10 * minor: of CUDA that the driver serves and that throng was built
 * with; 0 for none. */
int tg_device_driver_version(void);
int tg_device_runtime_version(void);

/** Fills a vector on the device by a kernel, checks it by another, and compares the count of right
 * elements. TG_ERR_MACHINE if the device cannot run throng's kernels or answers wrongly. Takes
 * milliseconds. */
tg_status tg_device_self_test(int device);

#ifdef __cplusplus
}
#endif
#endif
