/* SPDX-License-Identifier: Apache-2.0 */
/* Steps on GPUs of a throng without CUDA: they cannot be created, and say so. */
#include "md/device_step.h"

#include "device/device.h"

static tg_status missing(void) {
  return tg_fail(TG_ERR_MACHINE, "molecular dynamics on a GPU: %s", tg_device_reason());
}

tg_status tg_device_step_create(const tg_device_step_params* params, tg_device_step** out) {
  (void)params, (void)out;
  return missing();
}

void tg_device_step_destroy(tg_device_step** step) { (void)step; }

tg_status tg_device_step_start(tg_device_step* step, const double (*v)[3], long long first,
                               unsigned char flags) {
  (void)step, (void)v, (void)first, (void)flags;
  return missing();
}

tg_status tg_device_step_queue(tg_device_step* step, const unsigned char* flags, int count) {
  (void)step, (void)flags, (void)count;
  return missing();
}

tg_status tg_device_step_collect(tg_device_step* step, int* steps, const tg_device_record** records,
                                 int* count, tg_device_trouble* trouble) {
  (void)step, (void)steps, (void)records, (void)count, (void)trouble;
  return missing();
}

tg_status tg_device_step_get(tg_device_step* step, double (*x)[3], double (*v)[3]) {
  (void)step, (void)x, (void)v;
  return missing();
}

tg_status tg_device_copy_create(const tg_device_step* step, bool forces, tg_device_copy** out) {
  (void)step, (void)forces, (void)out;
  return missing();
}

void tg_device_copy_destroy(tg_device_copy** copy) { (void)copy; }

tg_status tg_device_step_copy_kept(tg_device_step* step, tg_device_copy* copy) {
  (void)step, (void)copy;
  return missing();
}

tg_status tg_device_step_copy_frame(tg_device_step* step, tg_device_copy* copy) {
  (void)step, (void)copy;
  return missing();
}

long long tg_device_copy_step(const tg_device_copy* copy, double* heat) {
  (void)copy, (void)heat;
  return 0;
}

void tg_device_copy_read(const tg_device_copy* copy, double (*x)[3], double (*v)[3],
                         double (*f)[3]) {
  (void)copy, (void)x, (void)v, (void)f;
}

tg_status tg_device_step_measure(tg_device_step* step, tg_device_step_stage stage,
                                 double* microseconds) {
  (void)step, (void)stage, (void)microseconds;
  return missing();
}

tg_status tg_device_step_time(tg_device_step* step, int every) {
  (void)step, (void)every;
  return missing();
}

tg_status tg_device_step_times_of(tg_device_step* step, tg_device_step_times* out) {
  (void)step, (void)out;
  return missing();
}

void tg_device_step_rush(tg_device_step* step, bool rush) { (void)step, (void)rush; }

void tg_device_step_launches(const tg_device_step* step, long long* kernels, long long* waits) {
  (void)step;
  *kernels = *waits = 0;
}
