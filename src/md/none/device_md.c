/* SPDX-License-Identifier: Apache-2.0 */
/* Molecular dynamics on GPUs of a throng without CUDA: it cannot be created, and says so. */
#include "md/device_md.h"

#include "device/device.h"

static tg_status missing(void) {
  return tg_fail(TG_ERR_MACHINE, "molecular dynamics on a GPU: %s", tg_device_reason());
}

tg_status tg_device_md_create(const tg_device_md_params* params, tg_device_md** out) {
  (void)params, (void)out;
  return missing();
}

void tg_device_md_destroy(tg_device_md** md) { (void)md; }

tg_status tg_device_md_set_positions(tg_device_md* md, const double (*x)[3]) {
  (void)md, (void)x;
  return missing();
}

tg_status tg_device_md_search(tg_device_md* md) {
  (void)md;
  return missing();
}

tg_status tg_device_md_prune(tg_device_md* md) {
  (void)md;
  return missing();
}

tg_status tg_device_md_forces(tg_device_md* md, bool want_energy) {
  (void)md, (void)want_energy;
  return missing();
}

tg_status tg_device_md_get_forces(tg_device_md* md, double (*f)[3],
                                  tg_device_md_energies* energies) {
  (void)md, (void)f, (void)energies;
  return missing();
}

tg_status tg_device_md_count(tg_device_md* md, tg_device_md_counts* out) {
  (void)md, (void)out;
  return missing();
}

tg_status tg_device_md_measure(tg_device_md* md, tg_device_md_stage stage, int launches,
                               int repeats, double* microseconds) {
  (void)md, (void)stage, (void)launches, (void)repeats, (void)microseconds;
  return missing();
}

tg_status tg_device_md_get_balance(const tg_device_md* md, tg_device_balance* out) {
  (void)md, (void)out;
  return missing();
}
