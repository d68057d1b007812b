/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/device_stored.h  The Hamiltonian as a sparse matrix, made and kept on a GPU.
 *
 * Nothing of the size of the space or of the matrix is ever in the host's memory: tables of the
 * strings go to the device (ci/product_fly.h, made by tg_ci_fly_tables or tg_ci_fly_make), where
 * each row is counted, the counts are scanned, and the rows are filled. Two builders, as on the
 * host (ci/stored.h): from the jumps, or by the motifs filter, scan and fill over the states,
 * followed by the Slater-Condon rules; the same elements by both.
 *
 * Layout. 32 rows make a *slice*, a row to a lane; elements that lanes use together lie side by
 * side. Elements are of two kinds:
 *
 *   coded   32 bits: how many columns on from the row's element before, and the number of the value
 *           in a table of those that occur often (two-body elements, without their sign), with the
 *           sign. Exact: the table has doubles. Only where the table is small enough for a
 *           multiprocessor's shared memory: valence spaces, where a few thousand values make nearly
 *           all elements.
 *   valued  16 bits: columns on; and the value, 64 bits, or 32 where floats are asked for.
 *
 * Each row is added up in one order, whatever else runs: same bits each time.
 *
 * With columns kept apart these are two matrices of the same rows, each in slices and orders of its
 * own; values and diagonal are kept once. */
#ifndef TG_CI_DEVICE_STORED_H
#define TG_CI_DEVICE_STORED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "ci/device_rows.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tg_ci_fly tg_ci_fly;                 /* ci/product_fly.h */
typedef struct tg_ci_hamiltonian tg_ci_hamiltonian; /* ci/hamiltonian.h */

enum { TG_CI_DEVICE_STORED_WIDTH = 4 }; /* vectors multiplied at once */

typedef enum tg_ci_device_stored_builder {
  TG_CI_DEVICE_BY_JUMPS,
  TG_CI_DEVICE_BY_MOTIFS, /* compares states; of fewer than 2^32, with at least one particle */
} tg_ci_device_stored_builder;

typedef struct tg_ci_device_stored_params {
  const tg_ci_fly* fly;       /* not made by tg_ci_fly_make_nonzero; read by create only */
  const tg_ci_hamiltonian* h; /* for BY_MOTIFS only: may be NULL otherwise */
  tg_ci_device_stored_builder builder;
  /* Elements above the diagonal alone, each used for both triangles, in half the memory: what it
   * adds to other rows is added in fixed point, so that bits do not depend on the order. For all
   * rows only (rows NULL). Takes more time than a whole matrix. */
  bool half;
  bool float_elements; /* of the valued kind; sums are of doubles */
  bool plain;          /* no coded elements: all are valued */
  int device;
  void* stream;                  /* a cudaStream_t of device; NULL: the default one */
  const tg_ci_device_rows* rows; /* NULL: all */
  /* Columns, these rows among them, whose elements are kept apart from the others', so that a
   * product can begin with them: whole rows of blocks. NULL: all are kept together. Not with half.
   */
  const tg_ci_device_rows* own;
} tg_ci_device_stored_params;

typedef struct tg_ci_device_stored tg_ci_device_stored;

typedef struct tg_ci_device_stored_facts {
  uint64_t rows, elements; /* without the diagonal */
  uint64_t coded;          /* of them */
  uint64_t values;         /* in the table of the coded */
  uint64_t padding;        /* places that hold no element, as slices are as wide as their longest */
  uint64_t bytes;          /* of device memory, the diagonal and a product's scratch included */
  uint64_t product_bytes;  /* of the matrix that a product reads */
  /* Largest sum of |elements| over a row, without the diagonal; where columns are kept apart the
   * largest of one part and of the other, added. So is the rounding. */
  double norm;
  /* No eigenvalue is farther than this from that of the matrix with doubles: the largest sum over
   * a row of how far its elements were rounded. 0 where none is a float. */
  double rounding;
  double seconds; /* create took */
} tg_ci_device_stored_facts;

/** Makes it; waits until it is made. TG_ERR_MACHINE, before anything is allocated, where it would
 * not fit the device's free memory. */
tg_status tg_ci_device_stored_create(const tg_ci_device_stored_params* params,
                                     tg_ci_device_stored** out);
/** Accepts NULL and a half-built one; sets NULL. */
void tg_ci_device_stored_destroy(tg_ci_device_stored** stored);
/** Device memory that it will take, at most, before anything is made; what only making it takes
 * is in *making where that is not NULL. Of params device and stream are not looked at. */
uint64_t tg_ci_device_stored_bytes(const tg_ci_device_stored_params* params, uint64_t* making);

/** y = H x for k vectors. x: [dimension, k], column i at i * ldx; y: [rows, k], column i at
 * i * ldy, its first element is that of row `first`. Device memory, apart. Queued on the stream. A
 * vector's bits do not depend on the others. */
tg_status tg_ci_device_stored_apply(tg_ci_device_stored* stored, int k, const double* x, size_t ldx,
                                    double* y, size_t ldy);
/** The same in two steps, the same bits: the diagonal and the columns kept apart, then all others.
 * y is whole after both, and not to be touched between them. With no columns kept apart the first
 * does nothing. */
tg_status tg_ci_device_stored_apply_local(tg_ci_device_stored* stored, int k, const double* x,
                                          size_t ldx, double* y, size_t ldy);
tg_status tg_ci_device_stored_apply_rest(tg_ci_device_stored* stored, int k, const double* x,
                                         size_t ldx, double* y, size_t ldy);
/** <state|H|state>: [rows], device memory. Queued on the stream. */
tg_status tg_ci_device_stored_diagonal(tg_ci_device_stored* stored, double* d);
void tg_ci_device_stored_query(const tg_ci_device_stored* stored, tg_ci_device_stored_facts* out);

#ifdef __cplusplus
}
#endif
#endif
