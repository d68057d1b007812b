/* SPDX-License-Identifier: Apache-2.0 */
/** @file motif/table.h  What each backend offers of the motifs for many-fermion states.
 *
 * A backend lists its versions of each motif; a list ends with a name of NULL, and one of NULL is
 * empty. A program or a test that takes its memory from the table runs unchanged on every backend.
 * Functions may be called from one thread at a time. The engines' own motifs are in motif/motif.h.
 */
#ifndef TG_MOTIF_TABLE_H
#define TG_MOTIF_TABLE_H

#include "motif/dense.h"
#include "motif/operators.h"
#include "motif/pairs.h"
#include "motif/reduce.h"
#include "motif/scan.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Memory that the backend's functions work on. */
typedef struct tg_motif_memory {
  /** Aligned to a cache line, of any content. *out is NULL for 0 bytes, and on failure. */
  tg_status (*allocate)(size_t bytes, const char* what, void** out);
  void (*release)(void* pointer); /* NULL is allowed */
  /** Copies from and to host memory; both have waited for what was queued, and for the copy. */
  tg_status (*upload)(void* to, const void* from, size_t bytes);
  tg_status (*download)(void* to, const void* from, size_t bytes);
  /** Waits for all that is queued; reports what failed in it. */
  tg_status (*synchronize)(void);
} tg_motif_memory;

typedef struct tg_motif_table {
  const char* name; /* "ref", "omp", ... */
  /** TG_OK, or TG_ERR_MACHINE and a message that says why it does not run here; NULL: it does. */
  tg_status (*check)(void);
  /** Words on what it runs on, into out: "host, 2 threads, AVX-512". */
  void (*describe)(char* out, size_t size);
  bool host; /* pointers are host pointers, and the number of threads counts */
  const tg_motif_memory* memory;
  const tg_filter_version* filters;
  const tg_fill_version* fills;
  const tg_collect_version* collects;
  const tg_scan_version* scans;
  const tg_reduce_version* reduces;
  const tg_expect_version* expects;
  /* Yardsticks for benchmarks: copies count numbers; reads both arrays of a reduction once (m >= 1;
   * what is in sums then is not defined). NULL: none. */
  tg_status (*copy)(size_t count, const uint32_t* from, uint32_t* to);
  tg_status (*stream)(const tg_reduction* what);
  const tg_dense_version* denses;
} tg_motif_table;

/** All that are built in, in the order of the help; NULL ends. */
const tg_motif_table* const* tg_motif_tables(void);
/** Before the first call of tg_motif_tables: modules (motif/module.h) other than these are not
 * loaded, and say so in their check. names: parted by commas, kept; NULL or "all": no limit. */
void tg_motif_tables_limit(const char* names);
/** By name; NULL for an unknown one. */
const tg_motif_table* tg_motif_table_find(const char* name);

/** Functions that find all hits of pairs in host memory, row by row, each row's in the order of its
 * columns. */
typedef struct tg_motif_way {
  const tg_filter_version* filter;
  const tg_fill_version* fill; /* ordered; of the filter's method */
  const tg_scan_version* scan; /* of counts into offsets */
} tg_motif_way;

/** The fastest such way of backend omp: by the bits where they are one word, else by the low word
 * (docs/motifs.md). No module is loaded for it. TG_ERR_INPUT where the pairs lack what it takes. */
tg_status tg_motif_choose_way(const tg_pairs* pairs, tg_motif_way* out);

/** Host memory, for the tables of host backends. */
extern const tg_motif_memory tg_motif_host_memory;

/** A copy of host states (a whole set, no slice) in the backend's memory. The copy has the forms
 * that the set has. tg_motif_states_free accepts a zeroed or half-built one. */
tg_status tg_motif_states_upload(const tg_motif_table* table, const tg_states* host,
                                 tg_states* out);
void tg_motif_states_free(const tg_motif_table* table, tg_states* states);

#ifdef __cplusplus
}
#endif
#endif
