/* SPDX-License-Identifier: Apache-2.0 */
/** @file eigen/restart_rows.h  Columns of all PEs' rows in a restart file; not for callers.
 *
 * A column is stored as the rows of all PEs, one after the other and without padding, so each PE
 * writes and reads its own at their places, and the file does not tell how many PEs there were. The
 * checksum is a sum over the numbers, each mixed with its place: PEs add up theirs. */
#ifndef TG_EIGEN_RESTART_ROWS_H
#define TG_EIGEN_RESTART_ROWS_H

#include <stdio.h>

#include "eigen/solver.h"

/** Columns of a matrix of vectors: [rows of this PE, count] at a distance of rows.ld. */
typedef struct tg_eigen_matrix {
  double* data;
  size_t count;
  const char* what; /* for messages */
} tg_eigen_matrix;

/** Bytes in the file. */
uint64_t tg_eigen_columns_size(const tg_eigen_solver* solver, const tg_eigen_matrix* columns);

/** Collective: the checksum of all PEs' numbers. */
tg_status tg_eigen_columns_sum(const tg_eigen_solver* solver, const tg_eigen_matrix* columns,
                               uint64_t* sum);
/** Collective: the sum of all PEs' sums. */
tg_status tg_eigen_sum_of_all(const tg_eigen_solver* solver, uint64_t* sum);

/** Local: writes this PE's rows; the content of the columns begins at byte `at`. Write errors are
 * the stream's. A PE that has all rows needs no stream that can be positioned. */
tg_status tg_eigen_columns_write(const tg_eigen_solver* solver, const tg_eigen_matrix* columns,
                                 FILE* stream, uint64_t at);
/** Local: reads this PE's rows; *whole: false where the file ends early. sum: this PE's part of the
 * checksum is put there, and data stays as it is; NULL: into data. */
tg_status tg_eigen_columns_read(const tg_eigen_solver* solver, const tg_eigen_matrix* columns,
                                FILE* stream, uint64_t at, uint64_t* sum, bool* whole);

#endif
