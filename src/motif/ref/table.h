/* SPDX-License-Identifier: Apache-2.0 */
/** @file motif/ref/table.h  The lists behind the table "ref", by file. */
#ifndef TG_MOTIF_REF_TABLE_H
#define TG_MOTIF_REF_TABLE_H

#include "motif/table.h"

extern const tg_filter_version tg_ref_filters[];
extern const tg_fill_version tg_ref_fills[];
extern const tg_collect_version tg_ref_collects[];
extern const tg_scan_version tg_ref_scans[];
extern const tg_reduce_version tg_ref_reduces[];
extern const tg_expect_version tg_ref_expects[];
extern const tg_dense_version tg_ref_denses[];

#endif
