/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/device_queue.h  Within src/ci: a stream of a GPU as exchanges use it
 * (ci/device_exchange.h). A table of functions: CUDA's streams, or a test's own, which have the
 * same order and less patience.
 *
 * What is queued on a stream is done in order, beside all other streams. An event stands for what
 * was queued before its last recording; streams of any GPU of the process may wait for it, which
 * the host does not notice. */
#ifndef TG_CI_DEVICE_QUEUE_H
#define TG_CI_DEVICE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tg_ci_queue_ops tg_ci_queue_ops;

typedef struct tg_ci_queue {
  const tg_ci_queue_ops* ops;
  int device;
  void* stream; /* a cudaStream_t of it */
} tg_ci_queue;

/** States first ... first + count - 1. */
typedef struct tg_ci_piece {
  uint64_t first, count;
} tg_ci_piece;

/** Rows of k vectors into as many columns of another matrix. */
typedef struct tg_ci_rows_copy {
  const tg_ci_piece* pieces; /* [count], of the device */
  size_t count;
  int k;
  const double* x; /* its first row is state `first`; a column at i * ld */
  size_t ld;
  uint64_t first;
  double* to; /* its first row is state 0; a column at i * dimension */
  uint64_t dimension;
} tg_ci_rows_copy;

/** Numbers into a place in the memory of each PE in reach. */
typedef struct tg_ci_spread {
  const double* values; /* [count] */
  size_t count;
  char* const* blocks; /* [pes] of the device: addresses; NULL: out of reach */
  int pes;
  size_t offset; /* doubles */
} tg_ci_spread;

struct tg_ci_queue_ops {
  /** Zeros; there before it returns, as is what `upload` copies. */
  tg_status (*allocate)(const tg_ci_queue* queue, size_t bytes, void** out);
  void (*release)(const tg_ci_queue* queue, void* memory); /* null-safe */
  tg_status (*upload)(const tg_ci_queue* queue, const void* from, size_t bytes, void* to);
  /** Returns when all that was queued is done. */
  tg_status (*finish)(const tg_ci_queue* queue);
  tg_status (*event_make)(const tg_ci_queue* queue, bool timed, void** out);
  void (*event_free)(void* event); /* null-safe */
  tg_status (*record)(const tg_ci_queue* queue, void* event);
  tg_status (*wait_for)(const tg_ci_queue* queue, void* event);
  /** Of timed ones of this queue, the last of which is waited for. */
  tg_status (*between)(const tg_ci_queue* queue, void* first, void* last, double* seconds);
  tg_status (*copy_rows)(const tg_ci_queue* queue, const tg_ci_rows_copy* copy);
  tg_status (*spread)(const tg_ci_queue* queue, const tg_ci_spread* spread);
  /** values: [count] = the sum of `parts` slots, a distance of `stride` apart, in their order. */
  tg_status (*add)(const tg_ci_queue* queue, const double* slots, int parts, size_t stride,
                   double* values, size_t count);
};

/** TG_ERR_MACHINE in a throng that was built without CUDA. */
tg_status tg_ci_queue_cuda(const tg_ci_queue_ops** out);

#ifdef __cplusplus
}
#endif
#endif
