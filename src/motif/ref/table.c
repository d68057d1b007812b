/* SPDX-License-Identifier: Apache-2.0 */
#include "motif/ref/table.h"

#include <stdio.h>

#include "motif/backends.h"

static void describe(char* out, size_t size) { snprintf(out, size, "host, serial"); }

const tg_motif_table tg_motif_table_ref = {
    .name = "ref",
    .describe = describe,
    .host = true,
    .memory = &tg_motif_host_memory,
    .filters = tg_ref_filters,
    .fills = tg_ref_fills,
    .collects = tg_ref_collects,
    .scans = tg_ref_scans,
    .reduces = tg_ref_reduces,
    .expects = tg_ref_expects,
    .denses = tg_ref_denses,
};
