/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/device_share.h  The Hamiltonian on the states that one of several PEs has, on its GPU.
 *
 * A product stores this PE's rows of x into the memory of those GPUs that need them
 * (ci/device_exchange.h), unless the kernel that made them has; it begins with what its own rows
 * give, waits for what it needs of others, and goes on with that. On the fly its rows of y are
 * those that one GPU would make: each has the same bits for any number of PEs. Nothing of it waits
 * on the host for a GPU. */
#ifndef TG_CI_DEVICE_SHARE_H
#define TG_CI_DEVICE_SHARE_H

#include "ci/device_operator.h"
#include "ci/share.h"

typedef struct tg_ci_device_share tg_ci_device_share;

typedef struct tg_ci_device_share_params {
  const tg_ci_hamiltonian* h;
  const tg_ci_space* space;
  const tg_ci_distribution* distribution; /* must stay */
  const tg_ci_device_operator_params* op; /* of each PE: with tables; neither rows nor stream */
  int gpus;                               /* that PEs of one process are dealt out to */
  int block;                              /* vectors exchanged at once; more are taken in turn */
} tg_ci_device_share_params;

/** Collective. Storage: stored where all asked for is that or auto, and it fits every PE's room. */
tg_status tg_ci_device_share_create(tg_world* world, const tg_ci_device_share_params* params,
                                    tg_ci_device_share** out);
/** Local, null-safe. */
void tg_ci_device_share_destroy(tg_ci_device_share** share);

/** Collective: y = H x of this PE's rows for k vectors: [rows, k], column i at i * ld, apart, of
 * the device. Queued. A failure aborts the world. */
tg_status tg_ci_device_share_apply(tg_ci_device_share* share, int k, const double* x, double* y,
                                   size_t ld);
/** Collective, as tg_eigen_outlet has them: x goes out as it is made, up to `block` vectors. */
tg_status tg_ci_device_share_open(tg_ci_device_share* share, int k, tg_eigen_targets* out);
tg_status tg_ci_device_share_close(tg_ci_device_share* share, int k, const double* x, size_t ld);
tg_status tg_ci_device_share_apply_made(tg_ci_device_share* share, int k, double* y, size_t ld);
/** Collective: values of the device become their sums over all PEs, the same bits on all. Queued.
 */
tg_status tg_ci_device_share_sum(tg_ci_device_share* share, double* values, size_t count);
/** <state|H|state> of this PE's rows, of the device. */
tg_status tg_ci_device_share_diagonal(tg_ci_device_share* share, const double** out);

/** Seconds are the GPU's, as tg_ci_device_exchange_facts_of has them. Waits for it. */
tg_ci_share_facts tg_ci_device_share_facts_of(tg_ci_device_share* share);
/** Collective: of the operators; bytes and seconds those of the PE with most, elements of all. */
tg_status tg_ci_device_share_operators(const tg_ci_device_share* share,
                                       tg_ci_device_operator_facts* out);
/** Bytes of the GPU's memory that this takes. */
uint64_t tg_ci_device_share_bytes(const tg_ci_device_share* share);
/** As tg_ci_device_operator_mark. */
uint64_t tg_ci_device_share_mark(const tg_ci_device_share* share,
                                 const tg_ci_device_operator_params* params);
/** The GPU, and its stream. */
int tg_ci_device_share_device(const tg_ci_device_share* share);
void* tg_ci_device_share_stream(const tg_ci_device_share* share);

#endif
