/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/label_tables.h  Within src/ci: tables of the operators that label levels, and these
 * operators on GPUs, made by a thread of their own while GPUs look for the states. */
#ifndef TG_CI_LABEL_TABLES_H
#define TG_CI_LABEL_TABLES_H

#include "ci/device_operator.h"
#include "ci/problem.h"

typedef struct tg_ci_label_tables tg_ci_label_tables;

/** Who makes them, and for which GPUs. */
typedef struct tg_ci_label_place {
  int threads; /* of the host, of which half are taken; 0: all of OpenMP's */
  int gpus;    /* more than 1: label number n of those there are goes to GPU n % gpus; 0: none */
  int device;  /* of one */
  uint64_t memory; /* of the host, that is left to the run, a small part of it for these; 0: what is
                      free */
} tg_ci_label_place;

/** Begins; NULL where there are few threads. The problem and the space must stay. Very small and
 * very large tables are left to the caller. */
tg_ci_label_tables* tg_ci_label_tables_begin(const tg_ci_problem* problem, const tg_ci_space* space,
                                             const tg_ci_label_place* place);
/** Waits for them; the tables of label k, or NULL: there are none, and it is for the caller to make
 * them. tables may be NULL. */
const tg_ci_fly* tg_ci_label_tables_of(tg_ci_label_tables* tables, int k);
/** The same for its operator on a GPU, which has a stream of its own; NULL if that is on another
 * GPU, too. It goes with the tables. */
tg_ci_device_operator* tg_ci_label_tables_operator(tg_ci_label_tables* tables, int k, int device);
/** Null-safe; begins no more of them, and waits for what is being made. */
void tg_ci_label_tables_free(tg_ci_label_tables** tables);

#endif
