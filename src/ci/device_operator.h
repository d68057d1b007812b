/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/device_operator.h  The Hamiltonian on a space, multiplying vectors in a GPU's memory,
 * by CUDA, or by OpenACC (TG_EIGEN_ACC), which stores the matrix in any case (ci/slices.h).
 *
 * Stored: a sparse matrix, made on the GPU (ci/device_stored.h). Fly: factorised jumps
 * (ci/device_fly.h). Both give the same vector up to rounding, and each the same bits every time.
 * Tables of the strings are made on the host; nothing here has the size of the space there.
 *
 * Auto takes what a model of both times (ci/storage_model.h) says is the faster one for all
 * products together, the matrix's making included; on the fly where the matrix does not fit beside
 * the vectors that the eigen-solver usually has. */
#ifndef TG_CI_DEVICE_OPERATOR_H
#define TG_CI_DEVICE_OPERATOR_H

#include "ci/device_rows.h"
#include "ci/operator.h"
#include "ci/product_fly.h"
#include "ci/storage_model.h"
#include "eigen/vectors.h"

typedef struct tg_ci_device_operator tg_ci_device_operator;

typedef struct tg_ci_device_operator_params {
  tg_eigen_place place; /* TG_EIGEN_ACC, or else CUDA; OpenACC has no rows, device and stream */
  tg_ci_storage storage;
  bool float_elements; /* of a stored matrix, as tg_ci_device_stored_params; not OpenACC's */
  int device;
  void* stream;         /* a cudaStream_t of it; NULL: the default one */
  uint64_t memory;      /* bytes of the device that vectors and operator may take together */
  uint64_t fewest;      /* bytes of the fewest vectors that are needed */
  uint64_t usual;       /* and of those that are wanted */
  uint64_t host_memory; /* bytes of the host that the tables may take; 0: 80 % of what is free */
  int threads;          /* of the host; 0: all of OpenMP's */
  int width;            /* vectors multiplied at once, for the model of auto; 0: one */
  double products;      /* and about how many in all; 0: their number is not known */
  bool few;             /* most elements are zero, as of J^2; always on the fly */
  const tg_ci_device_rows* rows; /* of y that are made; NULL: all */
  const tg_ci_fly* fly;          /* the tables, which several share; NULL: makes them */
} tg_ci_device_operator_params;

typedef struct tg_ci_device_operator_facts {
  tg_ci_operator_facts host; /* pairs, dimension, storage; tables are those in the host's memory */
  uint64_t fly_bytes;        /* of the device: tables of the factorised product */
  uint64_t stored_bytes;     /* of the matrix, at most; where it is used what it takes. 0: it is out
                                of the question */
  uint64_t making_bytes;     /* that making the matrix takes besides, for a while */
  uint64_t product_bytes;    /* of the matrix, that a product reads; 0 for fly */
  uint64_t stored_elements;  /* off the diagonal; 0 for fly */
  double rounding;           /* no eigenvalue moves farther by float elements; 0: none is one */
  tg_ci_storage_work work;   /* counted for the model; zero where nothing could be stored */
  tg_ci_storage_times times; /* by the model */
  double tables_s, device_s; /* seconds: the host's tables; what is made on the device */
} tg_ci_device_operator_facts;

/** The tables on the host, for several operators; free them with tg_ci_fly_free. */
tg_status tg_ci_device_tables(const tg_ci_hamiltonian* h, const tg_ci_space* space,
                              const tg_ci_device_operator_params* params, tg_ci_fly* out);

/** TG_ERR_MACHINE, with the bytes and what would fit, where there is not memory enough; before
 * anything is made on the device. The space must stay. */
tg_status tg_ci_device_operator_create(const tg_ci_hamiltonian* h, const tg_ci_space* space,
                                       const tg_ci_device_operator_params* params,
                                       tg_ci_device_operator** out);
/** What create would find and choose: makes the host's tables where they are not there, nothing on
 * the device. */
tg_status tg_ci_device_operator_estimate(const tg_ci_hamiltonian* h, const tg_ci_space* space,
                                         const tg_ci_device_operator_params* params,
                                         tg_ci_device_operator_facts* out);
/** Tells apart, for restart files, matrices whose elements were rounded: 0 where none was. The same
 * on all PEs. */
uint64_t tg_ci_device_operator_mark(const tg_ci_device_operator_facts* facts,
                                    const tg_ci_device_operator_params* params);
/** Null-safe. */
void tg_ci_device_operator_free(tg_ci_device_operator* op);

/** y = H x for k vectors: x: [dimension, k], column i at i * ldx, y: [rows, k], column i at i *
 * ldy, of the device, apart. Queued on the stream. */
tg_status tg_ci_device_operator_apply(tg_ci_device_operator* op, int k, const double* x, size_t ldx,
                                      double* y, size_t ldy);
/** The same in two steps, of the same bits: what reads x in the rows of y alone, and what reads it
 * elsewhere, so that it may come while the first goes on. y is whole after both, and not to be
 * touched between them. */
tg_status tg_ci_device_operator_apply_local(tg_ci_device_operator* op, int k, const double* x,
                                            size_t ldx, double* y, size_t ldy);
tg_status tg_ci_device_operator_apply_rest(tg_ci_device_operator* op, int k, const double* x,
                                           size_t ldx, double* y, size_t ldy);
/** A product for one vector of the host, all rows; waits. */
tg_status tg_ci_device_operator_apply_here(tg_ci_device_operator* op, const double* x, double* y);
/** <v|H|v> and, where spread is not NULL, |H v - <v|H|v> v|, of a vector of the host; waits. */
tg_status tg_ci_device_operator_expect(tg_ci_device_operator* op, const double* v, double* value,
                                       double* spread);
/** <state|H|state>: [rows], of the device, made at the first call; freed with op. */
tg_status tg_ci_device_operator_diagonal(tg_ci_device_operator* op, const double** out);
tg_ci_device_operator_facts tg_ci_device_operator_facts_of(const tg_ci_device_operator* op);
/** Vectors of the whole space on the device, as its functions have them. */
const tg_rows* tg_ci_device_operator_rows(const tg_ci_device_operator* op);

#endif
