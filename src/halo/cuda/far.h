/* SPDX-License-Identifier: Apache-2.0 */
/** @file halo/cuda/far.h  Exchanges with PEs of other processes by other means than stores.
 *
 * A table serves halos whose kernels are not those of schedules.cu: staged through the host
 * (far_host.cu), by NVSHMEM's puts in kernels, or by puts queued on the stream (../nvshmem). */
#ifndef TG_HALO_CUDA_FAR_H
#define TG_HALO_CUDA_FAR_H

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tg_device_halo;

typedef struct tg_device_far {
  /** Local, once: loads kernels and chooses grids. */
  tg_status (*prepare)(struct tg_device_halo* halo);
  /** As tg_device_halo_positions and tg_device_halo_forces; there are channels. */
  tg_status (*positions)(struct tg_device_halo* halo);
  tg_status (*forces)(struct tg_device_halo* halo);
  /** Sends what a kernel of the caller has pushed; NULL: none can. */
  tg_status (*pushed)(struct tg_device_halo* halo);
} tg_device_far;

const tg_device_far* tg_device_far_host(void);
/** Schedules pulse, fused and direct; schedule stream. NULL: throng was built without NVSHMEM. */
const tg_device_far* tg_device_far_put(void);
const tg_device_far* tg_device_far_queue(void);

#ifdef __cplusplus
}
#endif
#endif
