/* SPDX-License-Identifier: Apache-2.0 */
/** @file motif/omp/block.h  A block of rows against a run of columns, by SIMD: the inner loops of
 * filter and fill on the host.
 *
 * 64 columns are held in registers where they fit (a group), and all rows of the block go past
 * them; a row whose smallest count in the group is above 2d goes on after one comparison. So a
 * column is loaded once per block, and the block's rows stay in the first-level cache. Groups rise,
 * so the hits of each row rise.
 *
 * Compiled once per instruction set (motif/omp/variants.cmake): the folder simd/. */
#ifndef TG_MOTIF_OMP_BLOCK_H
#define TG_MOTIF_OMP_BLOCK_H

#include "motif/pairs.h"

enum { TG_OMP_BLOCK = 256 }; /* rows of a block, at most */

/* How candidates are found. lead1, lead2: the sum over the first one or two words, then all words
 * of the few that are left. */
typedef enum tg_omp_method {
  TG_OMP_ARRAY,
  TG_OMP_WORD64,
  TG_OMP_BITS_LEAD1,
  TG_OMP_BITS_LEAD2,
  TG_OMP_METHODS
} tg_omp_method;

/* What is done with a hit. */
typedef enum tg_omp_sink {
  TG_OMP_COUNT, /* found[row]++ */
  TG_OMP_STORE, /* hits[offsets[row] + found[row]++] = column */
  TG_OMP_CLAIM, /* the same with an atomic capture of found[row] */
  TG_OMP_VISIT, /* visit(context, row, column) */
  TG_OMP_SINKS
} tg_omp_sink;

typedef struct tg_omp_block {
  const tg_pairs* pairs;
  size_t row, row_count; /* the block, row_count <= TG_OMP_BLOCK */
  size_t column_begin, column_end;
  const uint64_t* sets;  /* word64: [row_count, set_words], the bits of the rows' lists */
  size_t set_words;      /* W, whether the states keep bits or not */
  const uint16_t* lists; /* array: [row_count, N] */
  uint32_t* found;       /* [rows] of the pairs */
  const uint64_t* offsets;
  uint32_t* hits;
  void (*visit)(void* context, size_t row, size_t column);
  void* context;
} tg_omp_block;

typedef struct tg_omp_kernels {
  const char* name; /* "AVX-512", "AVX2", "portable" */
  bool (*runs)(void);
  void (*block[TG_OMP_METHODS][TG_OMP_SINKS])(const tg_omp_block* what);
} tg_omp_kernels;

/** Every set that is compiled, the fastest first; NULL ends. */
const tg_omp_kernels* const* tg_omp_variants(void);
/** The fastest that runs here. */
const tg_omp_kernels* tg_omp_best(void);

#endif
