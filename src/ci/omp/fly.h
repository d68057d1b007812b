/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/omp/fly.h  What the parts of the factorised product share. */
#ifndef TG_CI_OMP_FLY_H
#define TG_CI_OMP_FLY_H

#include "ci/omp/kernels.h"
#include "ci/product_fly.h"

enum {
  LANES = TG_CI_LANES,
  TILE_BYTES = 384 * 1024, /* of a tile, so that it stays in a core's second-level cache */
};

/* What a thread works in. */
typedef struct tg_fly_workspace {
  double *xt, *yt; /* tiles */
  double* table;   /* [2 * operators of a channel]; [columns] */
  int64_t to[LANES * TG_CI_MOST_VECTORS], from[LANES * TG_CI_MOST_VECTORS];
  double* sign; /* [LANES * TG_CI_MOST_VECTORS] */
} tg_fly_workspace;

/** One task with what it looks up all the time. */
typedef struct tg_fly_job {
  const tg_ci_fly* f;
  const tg_ci_kernels* kernels;
  int k; /* vectors, each ldx and ldy behind the one before */
  size_t ldx, ldy;
  const double* x;        /* of the first vector */
  double* y;              /* row `begin` of the block in the first vector */
  const double* diagonal; /* of that row */
  const tg_ci_block* block;
  size_t begin, end; /* rows */
  tg_fly_workspace* w;
  const tg_ci_distribution* slices; /* of x; NULL: all of it at once */
  int own, turn; /* with slices: what was made of those that came in this turn is added */
} tg_fly_job;

/** x of the block of these classes; NULL: there is none, or it is not its turn. */
const double* tg_fly_x(const tg_fly_job* j, size_t a, size_t b);
/** Vectors of the next tile of so many rows and columns left: all tiles about as wide. */
int tg_fly_vectors(size_t rows, size_t columns);
/** The jumps of A by operator o of a target that lead to the task's rows. */
void tg_fly_jumps(const tg_fly_job* j, const tg_ci_target* ta, size_t o, uint32_t* begin,
                  uint32_t* end);
/** The part of H that moves a particle of each species (fly_cross.c). */
void tg_fly_cross(const tg_fly_job* j);

#endif
