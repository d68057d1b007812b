/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/label_tables.h  Within src/ci: tables of the operators that label levels, made on the
 * host by a thread of their own while GPUs look for the states. */
#ifndef TG_CI_LABEL_TABLES_H
#define TG_CI_LABEL_TABLES_H

#include "ci/device_operator.h"
#include "ci/problem.h"

typedef struct tg_ci_label_tables tg_ci_label_tables;

/** Begins; NULL where there are few threads. The problem and the space must stay. threads: of the
 * host, of which half are taken. Very small and very large tables are left to the caller. */
tg_ci_label_tables* tg_ci_label_tables_begin(const tg_ci_problem* problem, const tg_ci_space* space,
                                             int threads);
/** Waits for them; the tables of label k, or NULL: there are none, and it is for the caller to make
 * them. tables may be NULL. */
const tg_ci_fly* tg_ci_label_tables_of(tg_ci_label_tables* tables, int k);
/** Waits, null-safe. */
void tg_ci_label_tables_free(tg_ci_label_tables** tables);

#endif
