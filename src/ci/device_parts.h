/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/device_parts.h  Within src/ci: a sector's states shared out among GPUs of this machine.
 *
 * A thread for each part (a PE of a loop world), several of which may be on one GPU. Part p has the
 * rows of y and of the vectors that ci/distribution.h gives it, dealt out by matrix elements.
 * A product:
 *
 *   | step | what                                                                               |
 *   |------|------------------------------------------------------------------------------------|
 *   | 1    | each part tells where its rows of x lie, once they are made                        |
 *   | 2    | all meet                                                                           |
 *   | 3    | each copies all rows into its own whole x, its own first, then those behind it     |
 *   | 4    | each makes its rows of y                                                           |
 *
 * Nobody writes over the rows that others copy before the next sum over the parts, which comes
 * after each product (its norms) and for which each has waited for its copies. */
#ifndef TG_CI_DEVICE_PARTS_H
#define TG_CI_DEVICE_PARTS_H

#include "ci/solve_device.h"

typedef struct tg_ci_device_parts {
  const tg_ci_device_sector* sector;
  const tg_ci_hamiltonian* h;
  const tg_ci_device_operator_params* params; /* of each; with tables, without rows */
  const tg_eigen_params* eigen;               /* of each; block is set */
} tg_ci_device_parts;

/** Finds the sector's states. facts: of the part with the largest operator. */
tg_status tg_ci_device_parts_solve(const tg_ci_device_parts* parts, tg_ci_sector* out,
                                   tg_ci_device_operator_facts* facts);

#endif
