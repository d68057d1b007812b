/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/omp/kernels.h  The inner loops of the factorised product, by instruction set.
 *
 * A tile is [rows, 8 * vectors], row after row, aligned to a cache line; vectors is 1 ... 8. A
 * matrix is in compressed rows: begin[r] ... begin[r + 1] - 1 are row r's entries. */
#ifndef TG_CI_OMP_KERNELS_H
#define TG_CI_OMP_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct tg_ci_fly;

enum { TG_CI_LANES = 8, TG_CI_MOST_VECTORS = 8 };

typedef struct tg_ci_kernels {
  const char* name;
  bool (*runs)(void);
  /** yt[r,:] += sum of value[e] xt[from[e],:] */
  void (*multiply)(size_t rows, const uint32_t* begin, const uint32_t* from, const double* value,
                   int vectors, const double* xt, double* yt);

  /* Jumps between columns of a row-major x and y; lanes may be of different vectors, as index is 64
   * bits wide: */

  /** xt[r,k] = sign[k] x[r * stride + index[k]]; index, sign: [8 * vectors], any index where the
   * sign is 0. */
  void (*gather)(size_t rows, size_t stride, const double* x, int vectors, const int64_t* index,
                 const double* sign, double* xt);
  /** y[r * stride + index[k]] += sum of table[code[e]] xt[from[e],k], k < count */
  void (*jump)(size_t rows, const uint32_t* begin, const uint32_t* from, const uint32_t* code,
               const double* table, const double* xt, int count, const int64_t* index,
               size_t stride, double* y);

  /* Jumps between rows: the same with x and y transposed. */

  /** xt[c,k] = sign[k] x[index[k] + c] */
  void (*gather_rows)(size_t columns, const double* x, int vectors, const int64_t* index,
                      const double* sign, double* xt);
  /** y[index[k] + c] += sum of table[code[e]] xt[from[e],k] over the entries of row c, k
   * < count */
  void (*jump_rows)(size_t columns, const uint32_t* begin, const uint32_t* from,
                    const uint32_t* code, const double* table, const double* xt, int count,
                    const int64_t* index, double* y);
} tg_ci_kernels;

/** All that were compiled, best first; NULL ends. */
const tg_ci_kernels* const* tg_ci_kernel_variants(void);
/** The best that runs here. */
const tg_ci_kernels* tg_ci_kernels_best(void);

/** tg_ci_fly_apply_block with these kernels. */
tg_status tg_ci_fly_apply_by(const tg_ci_kernels* kernels, const struct tg_ci_fly* fly, int threads,
                             int k, const double* x, double* y, size_t ld);

#endif
