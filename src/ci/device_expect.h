/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/device_expect.h  Within src/ci: expectation values of operators in states of the host,
 * each by one of the GPUs of this process. */
#ifndef TG_CI_DEVICE_EXPECT_H
#define TG_CI_DEVICE_EXPECT_H

#include "ci/device_operator.h"

/** <v|O|v> of each state, value[i * stride]. */
typedef struct tg_ci_expected {
  const tg_ci_hamiltonian* o;
  const tg_ci_fly* tables;   /* of it */
  tg_ci_device_operator* op; /* and it on this device; NULL: is made */
  int device;
  double* value;
} tg_ci_expected;

/** Of the states v: [dimension, count], column i at i * ld; the same bits for any number of GPUs.
 * params: of each operator but its tables. gpus: 0 ... gpus - 1 where it is more than one, else
 * that of params. Operators are dealt out to GPUs first, as making one takes as long as some
 * products. */
tg_status tg_ci_device_expect(const tg_ci_expected* list, int count, const tg_ci_space* space,
                              const tg_ci_device_operator_params* params, int gpus,
                              const tg_eigen_result* states, size_t stride);

#endif
