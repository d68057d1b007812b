/* SPDX-License-Identifier: Apache-2.0 */
#include "motif/omp/table.h"

#include <stdio.h>

#include "motif/backends.h"
#include "motif/omp/block.h"

static void describe(char* out, size_t size) {
#ifdef _OPENMP
  const char* threads = "OpenMP threads";
#else
  const char* threads = "one thread";
#endif
  snprintf(out, size, "host, %s, %s", threads, tg_omp_best()->name);
}

const tg_motif_table tg_motif_table_omp = {
    .name = "omp",
    .describe = describe,
    .host = true,
    .memory = &tg_motif_host_memory,
    .filters = tg_omp_filters,
    .fills = tg_omp_fills,
    .collects = tg_omp_collects,
    .scans = tg_omp_scans,
    .reduces = tg_omp_reduces,
    .expects = tg_omp_expects,
    .denses = tg_omp_denses,
};
