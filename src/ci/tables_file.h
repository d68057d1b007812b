/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/tables_file.h  What observables gave (ci/tables.h) as an HDF5 file: each column of each
 * table an array with its unit, and the arrays that are too large for tables. docs/formats.md
 * describes the file. */
#ifndef TG_CI_TABLES_FILE_H
#define TG_CI_TABLES_FILE_H

#include "ci/results_file.h"
#include "ci/tables.h"

#define TG_CI_TABLES_FORMAT "throng observables"
enum { TG_CI_TABLES_VERSION = 1 };

/** command: what made them, for the record; NULL: none. */
tg_status tg_ci_tables_write(const char* path, const tg_ci_tables* tables, const char* command);

#endif
