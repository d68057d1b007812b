/* SPDX-License-Identifier: Apache-2.0 */
/** @file motif/omp/table.h  The lists behind the table "omp", by file. */
#ifndef TG_MOTIF_OMP_TABLE_H
#define TG_MOTIF_OMP_TABLE_H

#include "motif/table.h"

extern const tg_filter_version tg_omp_filters[];
extern const tg_fill_version tg_omp_fills[];
extern const tg_collect_version tg_omp_collects[];
extern const tg_scan_version tg_omp_scans[];
extern const tg_reduce_version tg_omp_reduces[];
extern const tg_expect_version tg_omp_expects[];
extern const tg_dense_version tg_omp_denses[];

/** The scans of the version two_pass, which the engines' table and other backends have too. */
tg_status tg_omp_two_pass_u32(size_t count, const uint32_t* in, uint32_t* out, void* scratch,
                              int threads);
tg_status tg_omp_two_pass_u64(size_t count, const uint64_t* in, uint64_t* out, void* scratch,
                              int threads);
tg_status tg_omp_two_pass_offsets(size_t count, const uint32_t* in, uint64_t* out, void* scratch,
                                  int threads);

#endif
