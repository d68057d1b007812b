/* SPDX-License-Identifier: Apache-2.0 */
/* The factorised product on GPUs of a throng without CUDA: it cannot be created, and says so. */
#include "ci/device_fly.h"

#include "device/device.h"

static tg_status missing(void) {
  return tg_fail(TG_ERR_MACHINE, "configuration interaction on a GPU: %s", tg_device_reason());
}

tg_status tg_ci_device_fly_create(const struct tg_ci_fly* fly, int device, void* stream,
                                  const tg_ci_device_rows* rows, tg_ci_device_fly** out) {
  (void)fly, (void)device, (void)stream, (void)rows, (void)out;
  return missing();
}

void tg_ci_device_fly_destroy(tg_ci_device_fly** fly) { (void)fly; }

uint64_t tg_ci_device_fly_bytes(const struct tg_ci_fly* fly) {
  (void)fly;
  return 0;
}

tg_status tg_ci_device_fly_apply(tg_ci_device_fly* fly, int k, const double* x, size_t ldx,
                                 double* y, size_t ldy) {
  (void)fly, (void)k, (void)x, (void)ldx, (void)y, (void)ldy;
  return missing();
}

tg_status tg_ci_device_fly_apply_local(tg_ci_device_fly* fly, int k, const double* x, size_t ldx,
                                       double* y, size_t ldy) {
  return tg_ci_device_fly_apply(fly, k, x, ldx, y, ldy);
}

tg_status tg_ci_device_fly_apply_rest(tg_ci_device_fly* fly, int k, const double* x, size_t ldx,
                                      double* y, size_t ldy) {
  return tg_ci_device_fly_apply(fly, k, x, ldx, y, ldy);
}

tg_status tg_ci_device_fly_diagonal(tg_ci_device_fly* fly, double* d) {
  (void)fly, (void)d;
  return missing();
}
