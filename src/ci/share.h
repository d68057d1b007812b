/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/share.h  The Hamiltonian on the states that one of several PEs has.
 *
 * A product pushes this PE's rows of x to those who need them (ci/exchange.h), makes what its own
 * rows give, and then adds what each other's slice gives, as they come: in the order of the PEs
 * behind this one, whoever is first, so that its bits are the same in every run. */
#ifndef TG_CI_SHARE_H
#define TG_CI_SHARE_H

#include "ci/exchange.h"
#include "ci/operator.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tg_ci_share tg_ci_share;

typedef struct tg_ci_share_params {
  tg_ci_operator* op; /* made for several PEs; shared by those of a process, and may be freed when
                         all of them are created if it is stored */
  int block;          /* vectors exchanged at once; more are taken in turn */
  int threads;        /* of this PE */
} tg_ci_share_params;

/** What a PE's share is, and how its products went. */
typedef struct tg_ci_share_facts {
  uint64_t rows;    /* states */
  double elements;  /* matrix elements of these rows */
  uint64_t stored;  /* of them in memory */
  uint64_t bytes;   /* of memory, the exchange's included */
  double product_s; /* in products, the exchange included */
  tg_ci_exchange_facts exchange;
} tg_ci_share_facts;

/** Collective. */
tg_status tg_ci_share_create(tg_world* world, const tg_ci_share_params* params, tg_ci_share** out);
/** Local, null-safe. */
void tg_ci_share_destroy(tg_ci_share** share);

/** Collective: y = H x of this PE's rows for k vectors: [rows, k], column i at i * ld, apart. */
tg_status tg_ci_share_apply(tg_ci_share* share, int k, const double* x, double* y, size_t ld);
/** <state|H|state> of this PE's rows. */
const double* tg_ci_share_diagonal(const tg_ci_share* share);
tg_ci_share_facts tg_ci_share_facts_of(const tg_ci_share* share);

/** Collective: this PE's rows of a vector to PE 0, which has all of it in the numbering of the
 * space, in out: [dimension]; the others' out is not looked at. */
tg_status tg_ci_rows_gather(tg_world* world, const tg_ci_distribution* distribution,
                            const double* x, double* out);

#ifdef __cplusplus
}
#endif
#endif
