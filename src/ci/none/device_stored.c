/* SPDX-License-Identifier: Apache-2.0 */
/* The stored matrix on a GPU of a throng without CUDA: it cannot be made, and says so. */
#include "ci/device_stored.h"

#include <string.h>

#include "device/device.h"

static tg_status missing(void) {
  return tg_fail(TG_ERR_MACHINE, "a stored Hamiltonian on a GPU: %s", tg_device_reason());
}

tg_status tg_ci_device_stored_create(const tg_ci_device_stored_params* params,
                                     tg_ci_device_stored** out) {
  (void)params, (void)out;
  return missing();
}

void tg_ci_device_stored_destroy(tg_ci_device_stored** stored) { (void)stored; }

tg_status tg_ci_device_stored_apply(tg_ci_device_stored* stored, int k, const double* x, size_t ldx,
                                    double* y, size_t ldy) {
  (void)stored, (void)k, (void)x, (void)ldx, (void)y, (void)ldy;
  return missing();
}

tg_status tg_ci_device_stored_apply_local(tg_ci_device_stored* stored, int k, const double* x,
                                          size_t ldx, double* y, size_t ldy) {
  return tg_ci_device_stored_apply(stored, k, x, ldx, y, ldy);
}

tg_status tg_ci_device_stored_apply_rest(tg_ci_device_stored* stored, int k, const double* x,
                                         size_t ldx, double* y, size_t ldy) {
  return tg_ci_device_stored_apply(stored, k, x, ldx, y, ldy);
}

tg_status tg_ci_device_stored_diagonal(tg_ci_device_stored* stored, double* d) {
  (void)stored, (void)d;
  return missing();
}

void tg_ci_device_stored_query(const tg_ci_device_stored* stored, tg_ci_device_stored_facts* out) {
  (void)stored;
  memset(out, 0, sizeof *out);
}
