/* SPDX-License-Identifier: Apache-2.0 */
/** @file bench/halo_device.h  Where the halo between GPUs comes from. */
#ifndef TG_BENCH_HALO_DEVICE_H
#define TG_BENCH_HALO_DEVICE_H

#include "bench/halo.h"

/** Makes the halo of a case between the GPUs of this process (world NULL; local), or between
 * processes (collective). forces: every positions is followed by a forces. */
tg_status tg_bench_halo_device_open(tg_world* world, const tg_bench_halo_case* what, bool forces,
                                    const tg_device_plan* plan, tg_device_halo** out);

#endif
