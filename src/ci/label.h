/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/label.h  Within src/ci: the levels of a sector that was solved, with J, T or S of each
 * from its expectation values. */
#ifndef TG_CI_LABEL_H
#define TG_CI_LABEL_H

#include "ci/label_tables.h"
#include "ci/solve.h"

/** Makes the problem's operators of labels on the sector's space, one after the other, and adds the
 * sector's levels to the list, which has room. States of levels that are too close to tell apart
 * are turned among themselves into states of J^2 (S^2); energies, residuals and errors with them.
 * Of params the backend, its GPUs and the threads count. tables: of a GPU's operators; NULL: they
 * are made here. */
tg_status tg_ci_label_levels(const tg_ci_problem* problem, const tg_ci_solve_params* params,
                             tg_ci_label_tables* tables, size_t sector, tg_ci_spectrum* spectrum);

#endif
