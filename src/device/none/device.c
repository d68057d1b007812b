/* SPDX-License-Identifier: Apache-2.0 */
/* The answers of a throng that was built without CUDA. */
#include "device/device.h"

static const char REASON[] = "throng was built without CUDA; build it with ./dev build cuda";

bool tg_device_built(void) { return false; }
int tg_device_count(void) { return 0; }
const char* tg_device_reason(void) { return REASON; }
int tg_device_driver_version(void) { return 0; }
int tg_device_runtime_version(void) { return 0; }

tg_status tg_device_query(int device, tg_device_info* out) {
  (void)out;
  return tg_fail(TG_ERR_MACHINE, "GPU %d: %s", device, REASON);
}

tg_status tg_device_query_link(int from, int to, tg_device_link* out) {
  (void)out;
  return tg_fail(TG_ERR_MACHINE, "GPUs %d and %d: %s", from, to, REASON);
}

tg_status tg_device_self_test(int device) {
  return tg_fail(TG_ERR_MACHINE, "GPU %d: %s", device, REASON);
}
