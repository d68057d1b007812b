/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/cuda/fly.cuh  What the parts of the factorised product on a GPU share: the tables as
 * they lie in device memory. */
#ifndef TG_CI_CUDA_FLY_CUH
#define TG_CI_CUDA_FLY_CUH

#include <cuda_runtime.h>
#include <stdint.h>

#include <vector>

#include "ci/device_fly.h"
#include "device/cuda/check.h"

/* product_fly.h is C: in C++ it is included by way of this file only. */
extern "C" {
#include "ci/product_fly.h"
}

/** A link of ci/jumps.h: the entries of row r are begin[row + r] ... begin[row + r + 1] - 1. */
typedef struct tg_fly_link {
  uint32_t source, channel;
  uint64_t row;
} tg_fly_link;

/** Links of all classes of a species: of jumps, or of the part of H that acts on it alone. */
typedef struct tg_fly_links {
  uint32_t* of;      /* [classes + 1] first link of a class */
  tg_fly_link* link; /* a class's links in the order of (channel, source) */
  uint32_t* begin;
  uint32_t* from;
  uint32_t* code;      /* of jumps: 2 * operator + minus */
  double* value;       /* of a species alone */
  const char* failure; /* NULL; else what is too large */
} tg_fly_links;

typedef struct tg_fly_block {
  uint32_t a, b; /* classes */
  uint32_t columns;
  uint32_t first_a, first_b; /* numbers of the classes' first strings */
  uint64_t offset;
} tg_fly_block;

/** One row of y: of a string of A. */
typedef struct tg_fly_row {
  uint32_t block, row;
} tg_fly_row;

typedef struct tg_fly_fields {
  uint32_t stride;
  uint32_t* row; /* as tg_ci_fields */
  double* value;
} tg_fly_fields;

/** All that kernels read. */
typedef struct tg_fly_view {
  tg_fly_links jumps[2], alone[2];
  tg_fly_block* blocks;
  uint32_t* block_begin; /* [classes of A + 1] */
  tg_fly_row* rows;      /* [row_count] the rows of y that are made, costly ones first */
  size_t row_count;
  uint64_t first; /* state of y's first element */
  double constant;
  double* alone_diagonal[2];                 /* [strings] */
  uint16_t* strings[2];                      /* [strings, particles] */
  uint32_t particles[2], orbitals[2], still; /* still: the channel */
  double* cross;                             /* w(a,b), tg_ci_fly::rows */
  uint64_t* cross_row;                       /* [operators of A] */
  uint32_t* channel_begin;                   /* [channels + 1] into cross_row */
  tg_fly_fields fields[2];
  double* pairs; /* [orbitals of A, orbitals of B] w(pp,qq) */
} tg_fly_view;

struct tg_ci_device_fly {
  int device;
  cudaStream_t stream;
  uint64_t states; /* of y */
  tg_fly_view view;
  void* memory; /* of all tables */
};

/** The tables (fly_tables.cu). */
tg_status tg_fly_tables_make(tg_ci_device_fly* fly, const tg_ci_fly* from,
                             const tg_ci_device_rows* rows);

#endif
