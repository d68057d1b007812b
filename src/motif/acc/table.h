/* SPDX-License-Identifier: Apache-2.0 */
/** @file motif/acc/table.h  The lists behind the table "acc", by file, and its memory. */
#ifndef TG_MOTIF_ACC_TABLE_H
#define TG_MOTIF_ACC_TABLE_H

#include "motif/table.h"

extern const tg_filter_version tg_acc_filters[];
extern const tg_fill_version tg_acc_fills[];
extern const tg_scan_version tg_acc_scans[];
extern const tg_reduce_version tg_acc_reduces[];
extern const tg_expect_version tg_acc_expects[];
extern const tg_dense_version tg_acc_denses[];

extern const tg_motif_memory tg_acc_memory;

/** No GPU is used: regions run on the host, on one thread. */
bool tg_acc_on_host(void);

/** Gangs of eight warps for a loop of so many items: enough for each to have a lane, and no more
 * than a large GPU holds a few times over. */
int tg_acc_gangs(size_t items);

#endif
