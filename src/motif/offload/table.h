/* SPDX-License-Identifier: Apache-2.0 */
/** @file motif/offload/table.h  The lists behind the table "offload", by file, and its memory. */
#ifndef TG_MOTIF_OFFLOAD_TABLE_H
#define TG_MOTIF_OFFLOAD_TABLE_H

#include "motif/table.h"

extern const tg_filter_version tg_offload_filters[];
extern const tg_fill_version tg_offload_fills[];
extern const tg_scan_version tg_offload_scans[];
extern const tg_reduce_version tg_offload_reduces[];
extern const tg_expect_version tg_offload_expects[];
extern const tg_dense_version tg_offload_denses[];

extern const tg_motif_memory tg_offload_memory;

/** No GPU is used: regions run on the host. */
bool tg_offload_on_host(void);

/** Teams for a loop of so many short items. By GCC 12 on an H200 a region takes 60 us and 3 us for
 * each team, whose threads are made one team after the other, and an item about 0.5 us, 256 at a
 * time in a team: that is least with sqrt(items / 1500) teams. The most is what is cached
 * (motif/offload/loops.h). On the host one: it has all threads. */
enum { TG_OFFLOAD_TEAMS = 128, TG_OFFLOAD_LANE_ITEMS = 1500 };
int tg_offload_teams(size_t items);

/** Items of one of a thousand teams; on the host all. */
size_t tg_offload_piece(size_t items);

/** On the host a parallel region has as many threads as the caller asked for: returns the number
 * before, for restore; 0 where nothing was set. */
int tg_offload_use_threads(int threads);
void tg_offload_restore_threads(int threads);

#endif
