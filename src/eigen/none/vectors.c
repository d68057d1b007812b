/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors on GPUs of a throng without CUDA: there are none, and this says so. */
#include "eigen/vectors.h"

#include "device/device.h"

tg_status tg_rows_cuda(const tg_rows_ops** out) {
  (void)out;
  return tg_fail(TG_ERR_MACHINE, "the eigen-solver on a GPU: %s", tg_device_reason());
}

size_t tg_rows_cuda_bytes(const tg_rows* rows, size_t room, int most) {
  (void)rows, (void)room, (void)most;
  return 0;
}
