/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/operator.h  The Hamiltonian on a space, as something that multiplies vectors.
 *
 * Stored: a sparse matrix, half of it (ci/stored.h). Fly: factorised jumps (ci/product_fly.h). Both
 * give the same vector up to rounding, and each the same bits for any number of threads.
 *
 * Auto takes fly where most matrix elements are of operators with enough jumps in a link to fill
 * SIMD lanes (valence spaces): fly then does an element faster than a stored one is read, and needs
 * no memory. Otherwise (no-core spaces with their many small classes) it takes stored if that fits.
 */
#ifndef TG_CI_OPERATOR_H
#define TG_CI_OPERATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ci/distribution.h"
#include "ci/hamiltonian.h"
#include "ci/space.h"

typedef enum tg_ci_storage {
  TG_CI_STORAGE_AUTO,
  TG_CI_STORAGE_STORED,
  TG_CI_STORAGE_FLY,
  TG_CI_STORAGE_MIXED, /* on a GPU alone: rows are stored as far as its memory goes */
  TG_CI_STORAGES
} tg_ci_storage;

typedef struct tg_ci_operator_params {
  tg_ci_storage storage;
  uint64_t memory; /* bytes the operator may take; 0: 80 % of what the machine has free */
  uint64_t later;  /* further bytes that are free until it is made */
  int threads;     /* 0: all of OpenMP's */
  bool few;        /* most elements are zero, as of J^2: those take no time; always on the fly */
  int pes;   /* PEs that share the rows, each with a tg_ci_share made of this; 0, 1: none. Then
                there are the tables alone, and what one PE does is not to be called */
  int local; /* of them in this process, whose memory they share; 0: all */
  tg_ci_distribution* split; /* an estimate for PEs leaves theirs here, the caller's; NULL: not */
} tg_ci_operator_params;

typedef struct tg_ci_operator tg_ci_operator;

typedef struct tg_ci_operator_facts {
  tg_ci_storage storage; /* what is used */
  uint64_t dimension;
  uint64_t pairs;        /* of states that differ in at most two particles, both ways, each state
                            with itself */
  uint64_t lane_pairs;   /* those that fly does with full lanes */
  uint64_t stored;       /* elements in memory, the diagonal included; 0 for fly */
  uint64_t tables;       /* bytes of the tables of jumps, which both need, and the diagonal; where
                            the matrix is stored they go once it is made */
  uint64_t making;       /* bytes while the tables are made, roughly */
  uint64_t stored_bytes; /* bytes that the stored matrix takes, or would, beyond the tables */
} tg_ci_operator_facts;

/** Bytes of the tables, roughly: needs next to no memory. making of params' operator's facts is
 * the other number. */
tg_status tg_ci_operator_tables(const tg_ci_hamiltonian* h, const tg_ci_space* space,
                                const tg_ci_operator_params* params, uint64_t* bytes,
                                uint64_t* making);

/** What tg_ci_operator_create would find and take, for checks: needs the memory of the tables, but
 * nothing of the size of the space. stored is what would be stored. TG_ERR_MACHINE, before they are
 * made, where the tables would not fit. */
tg_status tg_ci_operator_estimate(const tg_ci_hamiltonian* h, const tg_ci_space* space,
                                  const tg_ci_operator_params* params, tg_ci_operator_facts* out);

/** Makes the tables and, if it is to be stored, the matrix. The space must stay, the Hamiltonian
 * need not. TG_ERR_MACHINE, with the bytes, where the tables do not fit, or stored is asked for and
 * does not: before they are made. */
tg_status tg_ci_operator_create(const tg_ci_hamiltonian* h, const tg_ci_space* space,
                                const tg_ci_operator_params* params, tg_ci_operator** out);
void tg_ci_operator_free(tg_ci_operator* op);

/** y = H x for k vectors: [dimension, k], column i at i * ld. x and y are apart. */
tg_status tg_ci_operator_apply(const tg_ci_operator* op, int k, const double* x, double* y,
                               size_t ld);
/** <state|H|state>: [dimension]. */
const double* tg_ci_operator_diagonal(const tg_ci_operator* op);
tg_ci_operator_facts tg_ci_operator_facts_of(const tg_ci_operator* op);
const char* tg_ci_storage_name(tg_ci_storage storage);
/** What becomes of matrix elements: "stored", "computed on the fly". */
const char* tg_ci_storage_words(tg_ci_storage storage);

/* ---- for several PEs ---- */

const tg_ci_distribution* tg_ci_operator_distribution(const tg_ci_operator* op);
struct tg_ci_fly;
const struct tg_ci_fly* tg_ci_operator_fly(const tg_ci_operator* op);
/** Another storage than was chosen: processes with less memory have none for the matrix. */
void tg_ci_operator_set_storage(tg_ci_operator* op, tg_ci_storage storage);
/** Once each PE has stored its rows. */
void tg_ci_operator_drop_tables(tg_ci_operator* op);

#endif
