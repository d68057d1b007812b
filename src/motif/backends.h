/* SPDX-License-Identifier: Apache-2.0 */
/** @file motif/backends.h  The tables behind tg_motif_backend and tg_motif_tables. */
#ifndef TG_MOTIF_BACKENDS_H
#define TG_MOTIF_BACKENDS_H

#include "motif/motif.h"
#include "motif/table.h"

extern const tg_motif_ops tg_motif_ref;
extern const tg_motif_ops tg_motif_omp;

extern const tg_motif_table tg_motif_table_ref;
extern const tg_motif_table tg_motif_table_omp;
extern const tg_motif_table tg_motif_table_cuda;

#endif
