/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/device_exchange.h  Between PEs that each work on a GPU: a vector's rows on their way to
 * those whose product reads them, and sums over all PEs. Two worlds: of threads (loop), where
 * several PEs may be on one GPU, and of processes with a GPU each (nvshmem).
 *
 * An exchange, number s, follows the steps of ci/exchange.h, by streams in place of hosts:
 *
 *   | step | writer of a slice                          | its reader                              |
 *   |------|--------------------------------------------|-----------------------------------------|
 *   | 1    | waits for the reader's consumed >= s-1     |                                         |
 *   | 2    | queues what stores into the reader's x     | queues what reads its own rows alone    |
 *   | 3    | queues the raising of the reader's arrived | waits for arrived >= s                  |
 *   | 4    |                                            | queues the rest of its product          |
 *   | 5    |                                            | queues the raising of consumed          |
 *
 * A push queues a kernel for step 2. The other way is to open the exchange, to queue the kernel
 * that makes the vectors, which stores them, and to close it; the product then takes what is there.
 * Where the next exchange begins before that, nobody wanted those vectors: they are void, and steps
 * 3 and 5 follow each other. Which it is depends on nothing but the order of calls, the same on all
 * PEs.
 *
 * No kernel ever spins. Of threads, a flag tells the other's host that an event has been recorded
 * behind the stores (or the product), and the waiting stream is made to wait for that event; an
 * event is recorded again only after all who wait for it have said the opposite. Of processes the
 * flags lie on the GPUs and are raised in the stream's order, and the host looks at them. */
#ifndef TG_CI_DEVICE_EXCHANGE_H
#define TG_CI_DEVICE_EXCHANGE_H

#include "ci/device_queue.h"
#include "ci/exchange.h"
#include "eigen/eigen.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tg_ci_device_exchange tg_ci_device_exchange;

/** Bytes of a GPU's memory that a PE's takes. */
uint64_t tg_ci_device_exchange_bytes(uint64_t dimension, int most, int pe_count);

/** Collective; params as tg_ci_exchange_create has them (threads: not used). The queue, copied, is
 * this PE's alone. */
tg_status tg_ci_device_exchange_create(tg_world* world, const tg_ci_queue* queue,
                                       const tg_ci_exchange_params* params,
                                       tg_ci_device_exchange** out);
/** Local, null-safe; waits for what this PE has queued. */
void tg_ci_device_exchange_destroy(tg_ci_device_exchange** exchange);

/** x: [dimension, most], a column at i * dimension, of the device. */
const double* tg_ci_device_exchange_x(const tg_ci_device_exchange* exchange);
/** Every PE is to do so: queues this PE's rows of k vectors, [rows, k] at a distance of ld, into
 * its own x and to those who need them. */
tg_status tg_ci_device_exchange_push(tg_ci_device_exchange* exchange, int k, const double* x,
                                     size_t ld);
/** In place of a push, every PE: what is queued next may store its rows of k vectors at *out, those
 * of this PE's own x among them, and this after it; x as for a push, the same numbers. */
tg_status tg_ci_device_exchange_open(tg_ci_device_exchange* exchange, int k, tg_eigen_targets* out);
tg_status tg_ci_device_exchange_close(tg_ci_device_exchange* exchange, int k, const double* x,
                                      size_t ld);
/** Then where a product begins, every PE. */
tg_status tg_ci_device_exchange_take(tg_ci_device_exchange* exchange, int k);
/** What is queued after this finds all that it needs in x; before it, this PE's own rows. */
tg_status tg_ci_device_exchange_wait(tg_ci_device_exchange* exchange);
/** After all uses of x have been queued; the others may store the next one when they are done. */
tg_status tg_ci_device_exchange_done(tg_ci_device_exchange* exchange);

/** Every PE is to do so: values: [count], of the device, become their sums over the PEs in the
 * order of these, the same bits on all. Queued. */
tg_status tg_ci_device_exchange_sum(tg_ci_device_exchange* exchange, double* values, size_t count);

/** Seconds are those of the GPU, by events, from a product's begin: push_s until what it stores is
 * there; exposed_s that, and from what is queued before tg_ci_device_exchange_wait being done until
 * all that it reads has come; *product_s until its rows are made. Vectors that were void are among
 * the exchanges and bytes. Waits for the last one. */
tg_ci_exchange_facts tg_ci_device_exchange_facts_of(tg_ci_device_exchange* exchange,
                                                    double* product_s);

#ifdef __cplusplus
}
#endif
#endif
