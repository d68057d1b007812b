/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/slices.h  The Hamiltonian as a sparse matrix in slices of 32 rows, whose loops are
 * written once (ci/slices_loops.h) and made parallel by directives: OpenMP's on the host, OpenACC's
 * for a GPU.
 *
 * All rows and all elements but the diagonal's, which is an array of its own. A row is one lane of
 * its slice: the elements that the 32 lanes use together lie side by side, and a slice is as wide
 * as its longest row. Two kinds, as in ci/device_stored.h:
 *
 *   coded    32 bits: how many columns on from the row's coded element before (signed), the number
 *            of its value in a table, a sign. Exact. Steps too long for their bits are taken in
 *            several, by elements that are zero.
 *   amounts  a column and a double: what the table does not have
 *
 * Rows come from the tables of jumps as flat arrays (ci/stored_tables.h), each walked twice: to
 * count, and, after a scan of the slices' widths (motif/scan.h), to fill. A row is added up by one
 * thread in the order of its elements, each by one fused operation: the same bits on every backend.
 */
#ifndef TG_CI_SLICES_H
#define TG_CI_SLICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ci/stored_tables.h"
#include "motif/table.h"

enum { TG_CI_SLICE_LANES = 32, TG_CI_SLICES_WIDTH = 4 /* vectors multiplied at once */ };

/** tg_ci_flat in a backend's memory. */
typedef struct tg_ci_slices_links {
  const uint32_t* of_class;
  const tg_ci_flat_link* links;
  const uint32_t *begin, *from;
} tg_ci_slices_links;

typedef struct tg_ci_slices_species {
  tg_ci_slices_links jumps, alone;
  const uint32_t *first, *code, *field, *word;
  const uint16_t* orbitals;
  const double *diagonal, *value, *fields;
  uint32_t particles, field_stride;
} tg_ci_slices_species;

typedef struct tg_ci_slices_tables {
  const uint32_t *block_a, *block_b, *columns, *block_of, *channel_link;
  const uint64_t* offset;
  tg_ci_slices_species species[2];
  const uint32_t *row_begin, *row_words;
  const double *rows, *still, *values;
  uint32_t block_count, classes_b, channel_count, still_stride;
  uint32_t shift; /* a word's bits below the step */
  int32_t most;   /* longest step */
  uint32_t coded; /* 0: there are no words */
  double constant;
} tg_ci_slices_tables;

/** The matrix; pointers are of the backend's memory. */
typedef struct tg_ci_slices_matrix {
  uint64_t rows, slices;
  uint32_t shift, value_count;
  uint64_t *quad_at, *amount_at; /* [slices + 1] */
  uint64_t* pairs;  /* [quad_at[slices], 2, lanes] two words each, the first in the low half */
  uint32_t* column; /* [amount_at[slices], lanes] */
  double* amount;   /* likewise */
  double *values, *diagonal; /* the table; [rows] */
} tg_ci_slices_matrix;

/** What was found of elements, by kind, and the places that words take. */
typedef struct tg_ci_slices_tally {
  uint64_t coded, amounts, places;
} tg_ci_slices_tally;

/** The loops by one model. Functions return when their work is done. */
typedef struct tg_ci_slices_ops {
  /** words, amounts: [rows] places that each takes; and the diagonal: [rows]. */
  void (*count)(const tg_ci_slices_tables* tables, uint64_t rows, uint32_t* words,
                uint32_t* amounts, double* diagonal, tg_ci_slices_tally* tally);
  /** widths: [slices + 1], of each slice the most of its rows' counts in units of `unit`, rounded
   * up; the last is 0. */
  void (*widths)(uint64_t rows, const uint32_t* counts, uint32_t unit, uint32_t* widths);
  void (*fill)(const tg_ci_slices_tables* tables, const tg_ci_slices_matrix* matrix);
  /** y = H x for one vector, or for k = 2 ... 4, whose numbers are side by side: x: [rows, 2], or
   * [rows, 4] from 3 on. */
  void (*multiply)(const tg_ci_slices_matrix* matrix, int k, const double* x, double* y,
                   size_t ldy);
  /** packed: [rows, width] of k columns; zeros beyond. */
  void (*pack)(uint64_t rows, int k, int width, const double* x, size_t ldx, double* packed);
  /** Bytes of its memory that are free; 0: it is the host's. */
  uint64_t (*free_bytes)(void);
} tg_ci_slices_ops;

/** Loops and memory. */
typedef struct tg_ci_slices_backend {
  const tg_motif_table* motifs; /* of memory and scans */
  const tg_ci_slices_ops* ops;
} tg_ci_slices_backend;

/** OpenMP's, on the host. */
extern const tg_ci_slices_ops tg_ci_slices_omp;

/** name: "omp", or "acc": OpenACC's, of the module acc (motif/module.h). TG_ERR_MACHINE, with the
 * reason, where that does not run here. */
tg_status tg_ci_slices_find(const char* name, tg_ci_slices_backend* out);
/** What a module exports under the name tg_module_slices. sizes: of the structures above, tables
 * first; NULL where they are others. */
typedef const tg_ci_slices_ops* tg_ci_slices_entry(const size_t sizes[3]);
#define TG_CI_SLICES_SIZES                                                                         \
  { sizeof(tg_ci_slices_tables), sizeof(tg_ci_slices_matrix), sizeof(tg_ci_slices_ops) }

typedef struct tg_ci_slices tg_ci_slices;

typedef struct tg_ci_slices_facts {
  uint64_t rows, elements;        /* without the diagonal */
  uint64_t coded, values;         /* of them; in the table */
  uint64_t places;                /* lanes' places for elements, those that hold none with them */
  uint64_t bytes;                 /* of the backend's memory, a product's scratch included */
  uint64_t product_bytes;         /* of the matrix that a product reads */
  double flat_s, count_s, fill_s; /* seconds: tables; counting and scans; filling */
} tg_ci_slices_facts;

typedef struct tg_ci_slices_params {
  const struct tg_ci_fly* fly; /* not made by tg_ci_fly_make_nonzero; read by create only */
  bool plain;                  /* no coded elements */
  uint64_t memory;             /* bytes that it may take; 0: what is free */
  int32_t most_step;           /* of words, for tests of longer steps; 0: what their bits allow */
} tg_ci_slices_params;

/** TG_ERR_MACHINE where it would not fit: before the matrix, whose size is counted first, is
 * allocated. */
tg_status tg_ci_slices_create(const tg_ci_slices_backend* backend,
                              const tg_ci_slices_params* params, tg_ci_slices** out);
/** Accepts NULL and a half-built one; sets NULL. */
void tg_ci_slices_destroy(tg_ci_slices** slices);
/** Bytes that it will take, roughly, and in *making those that only making it takes. */
uint64_t tg_ci_slices_bytes(const struct tg_ci_fly* fly, bool plain, uint64_t* making);

/** y = H x for k vectors: [rows, k], column i at i * ldx, i * ldy, of the backend's memory, apart.
 * A vector's bits do not depend on the others. */
tg_status tg_ci_slices_apply(tg_ci_slices* slices, int k, const double* x, size_t ldx, double* y,
                             size_t ldy);
/** <state|H|state>: [rows], of the backend's memory. */
const double* tg_ci_slices_diagonal(const tg_ci_slices* slices);
tg_ci_slices_facts tg_ci_slices_query(const tg_ci_slices* slices);

/* ---- within it (ci/slices_tables.c) ---- */

/** Copies the tables, and their structure with them, to one allocation of the backend's: *out,
 * which begins with the structure. most_step: 0, or the longest step of a word. */
tg_status tg_ci_slices_upload(const tg_motif_memory* memory, const tg_ci_flat* flat,
                              int32_t most_step, void** out);

#endif
