/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/halo_device.h"

tg_status tg_bench_halo_device_open(tg_world* world, const tg_bench_halo_case* what, bool forces,
                                    const tg_device_plan* plan, tg_device_halo** out) {
  tg_device_halo_params params = {.gpus = what->gpus,
                                  .schedule = what->schedule,
                                  .force_return = what->force_return,
                                  .bulk = what->bulk,
                                  .double_precision = what->double_precision,
                                  .returns_forces = forces,
                                  .deadline_s = what->deadline_s,
                                  .path = what->path};
  return world ? tg_device_halo_open(world, &params, plan, out)
               : tg_device_halo_create(&params, plan, out);
}
