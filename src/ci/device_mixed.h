/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/device_mixed.h  y = H x on a GPU whose memory holds a part of the matrix only: the
 * first rows are stored (ci/device_stored.h), the others formed on the fly (ci/device_fly.h).
 *
 * Rows are shared out, not elements, so each element of y is made by one of the two, and nothing is
 * added twice. Stored rows begin with the first: the classes at the end of the list are the small
 * ones, in which the factorised product leaves most threads idle. */
#ifndef TG_CI_DEVICE_MIXED_H
#define TG_CI_DEVICE_MIXED_H

#include "ci/device_stored.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tg_ci_device_mixed tg_ci_device_mixed;

typedef struct tg_ci_device_mixed_facts {
  uint64_t stored_rows, fly_rows;
  tg_ci_device_stored_facts stored; /* zero where no row is stored */
  uint64_t bytes;                   /* of device memory, both together, at most */
} tg_ci_device_mixed_facts;

/** params: of the stored part; not half. memory: bytes that both parts may take, and making them.
 * TG_ERR_MACHINE where not even the tables of the factorised product fit. */
tg_status tg_ci_device_mixed_create(const tg_ci_device_stored_params* params, uint64_t memory,
                                    tg_ci_device_mixed** out);
/** Accepts NULL and a half-built one; sets NULL. */
void tg_ci_device_mixed_destroy(tg_ci_device_mixed** mixed);
/** As tg_ci_device_stored_apply, tg_ci_device_operator_apply_local and _rest, and
 * tg_ci_device_stored_diagonal. */
tg_status tg_ci_device_mixed_apply(tg_ci_device_mixed* mixed, int k, const double* x, size_t ldx,
                                   double* y, size_t ldy);
tg_status tg_ci_device_mixed_apply_local(tg_ci_device_mixed* mixed, int k, const double* x,
                                         size_t ldx, double* y, size_t ldy);
tg_status tg_ci_device_mixed_apply_rest(tg_ci_device_mixed* mixed, int k, const double* x,
                                        size_t ldx, double* y, size_t ldy);
tg_status tg_ci_device_mixed_diagonal(tg_ci_device_mixed* mixed, double* d);
void tg_ci_device_mixed_query(const tg_ci_device_mixed* mixed, tg_ci_device_mixed_facts* out);

#ifdef __cplusplus
}
#endif
#endif
