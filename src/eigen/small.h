/* SPDX-License-Identifier: Apache-2.0 */
/** @file eigen/small.h  The dense eigenproblem of the basis, by LAPACK. */
#ifndef TG_EIGEN_SMALL_H
#define TG_EIGEN_SMALL_H

#include "base/status.h"

/** All eigenpairs of the symmetric a: [p, p], column i at i * lda, replaced by the eigenvectors;
 * values: [p] rising. TG_ERR_MACHINE where throng was built without LAPACK, TG_ERR_NUMERICS where
 * LAPACK gives up. */
tg_status tg_small_eigen(int p, double* a, int lda, double* values);

#endif
