/* SPDX-License-Identifier: Apache-2.0 */
/* Places of PEs on GPUs in a throng without CUDA: there are none, and that is said. */
#include "ci/device_place.h"

#include "device/device.h"

static tg_status missing(void) {
  return tg_fail(TG_ERR_MACHINE, "configuration interaction on a GPU: %s", tg_device_reason());
}

tg_status tg_ci_queue_cuda(const tg_ci_queue_ops** out) {
  (void)out;
  return missing();
}

tg_status tg_ci_device_place_open(tg_world* world, int gpus, int device, tg_ci_device_place** out) {
  (void)world, (void)gpus, (void)device, (void)out;
  return missing();
}

void tg_ci_device_place_close(tg_ci_device_place** place) { (void)place; }

tg_status tg_ci_device_place_settle(const tg_ci_device_place* place) {
  (void)place;
  return missing();
}

const tg_ci_queue* tg_ci_device_place_queue(const tg_ci_device_place* place) {
  (void)place;
  return NULL;
}

tg_status tg_ci_device_places_meet(int gpus) {
  (void)gpus;
  return missing();
}

tg_status tg_ci_device_stream_make(int device, void** out) {
  (void)device, (void)out;
  return missing();
}

void tg_ci_device_stream_free(int device, void* stream) { (void)device, (void)stream; }

bool tg_ci_device_pin(int device, void* memory, size_t bytes) {
  (void)device, (void)memory, (void)bytes;
  return false;
}

void tg_ci_device_unpin(int device, void* memory) { (void)device, (void)memory; }
