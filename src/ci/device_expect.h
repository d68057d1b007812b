/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/device_expect.h  Within src/ci: expectation values of an operator in states of the
 * host, each by one of the GPUs of this process. */
#ifndef TG_CI_DEVICE_EXPECT_H
#define TG_CI_DEVICE_EXPECT_H

#include "ci/device_operator.h"

/** <v|O|v> of the states v: [dimension, count], column i at i * ld, into value[i * stride]; the
 * same bits for any number of GPUs. params: with tables; of GPUs 0 ... gpus - 1 where gpus is more
 * than one, else of its own. */
tg_status tg_ci_device_expect(const tg_ci_hamiltonian* o, const tg_ci_space* space,
                              const tg_ci_device_operator_params* params, int gpus,
                              const tg_eigen_result* states, double* value, size_t stride);

#endif
