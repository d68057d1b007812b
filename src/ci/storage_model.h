/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/storage_model.h  How long a product of H and a vector takes a GPU, stored and on the
 * fly, before anything is on the GPU: what --storage auto goes by.
 *
 * Work is counted in the tables of the strings, kind by kind, and each kind has a rate that was
 * measured on an H200 (docs/ci-gpu.md, "Which storage"). So the same tables give the same choice
 * wherever and whenever they are looked at; the clock has no say. Other GPUs have other rates, but
 * what matters here is only how the two times compare. */
#ifndef TG_CI_STORAGE_MODEL_H
#define TG_CI_STORAGE_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tg_ci_fly;

/** Kinds of work; of a product on the fly, "large" are blocks with at least 16 rows and columns. */
typedef enum tg_ci_storage_term {
  TG_CI_TERM_TABLES, /* bytes of the host's tables, which go to the GPU in another order */
  /* stored */
  TG_CI_TERM_CODED,  /* elements of four bytes (ci/device_stored.h) */
  TG_CI_TERM_VALUED, /* and those with a value of their own */
  TG_CI_TERM_ROWS,   /* of the matrix */
  /* on the fly (ci/device_fly.h) */
  TG_CI_TERM_MEETINGS, /* large: a row of y meets a sheet of B, with up to 16 jumps of A */
  TG_CI_TERM_TENSOR,   /* large: tensor instructions in them */
  TG_CI_TERM_ALONE,    /* large: elements of one species alone */
  TG_CI_TERM_SMALL,    /* small: elements */
  TG_CI_TERM_LONGEST,  /* small: elements, and pairs of links, of the longest row */
  TG_CI_TERMS
} tg_ci_storage_term;

typedef struct tg_ci_storage_work {
  double count[TG_CI_TERMS];
} tg_ci_storage_work;

/** Of the rows of y of states first ... end - 1: of each block a share of what all its rows have.
 */
void tg_ci_storage_count(const struct tg_ci_fly* fly, uint64_t first, uint64_t end,
                         tg_ci_storage_work* out);

/** Seconds. All zero: nothing was estimated. */
typedef struct tg_ci_storage_times {
  double fly_s, stored_s;           /* of each vector, of so many multiplied at once */
  double make_fly_s, make_stored_s; /* getting tables, or the matrix, onto the GPU */
  double products;                  /* vectors that are expected to be multiplied */
} tg_ci_storage_times;

/** width: vectors multiplied at once, from 1 on. products: vectors that will be multiplied; 0:
 * nobody knows, and only products count. */
tg_ci_storage_times tg_ci_storage_estimate(const tg_ci_storage_work* work, int width,
                                           double products);
/** Whether all of it takes less time on the fly. */
bool tg_ci_storage_prefers_fly(const tg_ci_storage_times* times);

#ifdef __cplusplus
}
#endif
#endif
