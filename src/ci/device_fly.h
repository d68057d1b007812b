/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/device_fly.h  y = H x without a stored matrix, on a GPU: the factorised product
 * (ci/product_fly.h) with its tables and vectors in the device's memory. docs/ci-gpu.md says how.
 *
 * The same sums as on the host in another order: results agree to rounding. Each element of y is
 * summed by one thread in an order that the tables fix, so a product repeated gives the same bits,
 * also for other row ranges; of several vectors each has the bits that it has alone.
 *
 * Calls are local, and not to be made for one object by two threads at once. Without CUDA all of
 * them answer TG_ERR_MACHINE. */
#ifndef TG_CI_DEVICE_FLY_H
#define TG_CI_DEVICE_FLY_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "ci/device_rows.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tg_ci_fly;

typedef struct tg_ci_device_fly tg_ci_device_fly;

/** Copies the tables of fly (tg_ci_fly_tables, _make or _make_nonzero) to the device; fly and its
 * space may go afterwards. rows NULL: all; others are TG_ERR_INPUT where they cut a row. stream: a
 * cudaStream_t of that device, on which all later work is queued; it must outlive the object. */
tg_status tg_ci_device_fly_create(const struct tg_ci_fly* fly, int device, void* stream,
                                  const tg_ci_device_rows* rows, tg_ci_device_fly** out);
/** Accepts NULL and a half-built one; waits for the stream. */
void tg_ci_device_fly_destroy(tg_ci_device_fly** fly);
/** Device memory it will take at most, before anything is made, without the vectors. */
uint64_t tg_ci_device_fly_bytes(const struct tg_ci_fly* fly);

/** y = H x for k >= 1 vectors. x: [dimension, k], column i at i * ldx; y: [end - first, k], column
 * i at i * ldy; device memory, apart. Queued on the stream: both may be touched when it is done. */
tg_status tg_ci_device_fly_apply(tg_ci_device_fly* fly, int k, const double* x, size_t ldx,
                                 double* y, size_t ldy);
/** The same in two steps, the same bits: what reads x in the rows of y alone, then the others. y is
 * whole after both, and not to be touched between them. */
tg_status tg_ci_device_fly_apply_local(tg_ci_device_fly* fly, int k, const double* x, size_t ldx,
                                       double* y, size_t ldy);
tg_status tg_ci_device_fly_apply_rest(tg_ci_device_fly* fly, int k, const double* x, size_t ldx,
                                      double* y, size_t ldy);
/** <state|H|state>: [end - first] device memory. Queued. */
tg_status tg_ci_device_fly_diagonal(tg_ci_device_fly* fly, double* d);

#ifdef __cplusplus
}
#endif
#endif
