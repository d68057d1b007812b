/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/cuda/fly.cuh  What the parts of the factorised product on a GPU share: the tables as
 * they lie in device memory, and the queueing of their kernels. docs/ci-gpu.md has the essay. */
#ifndef TG_CI_CUDA_FLY_CUH
#define TG_CI_CUDA_FLY_CUH

#include <cuda_runtime.h>
#include <stdint.h>

#include "ci/device_fly.h"
#include "device/cuda/check.h"
extern "C" {
#include "ci/product_fly.h"
#include "ci/sheets.h"
#include "ci/strips.h"
}

/** A link of ci/jumps.h: the entries of row r are begin[row + r] ... begin[row + r + 1] - 1. */
typedef struct tg_fly_link {
  uint32_t source, channel;
  uint64_t row;
} tg_fly_link;

/** Links of the classes that small blocks need, as on the host: of jumps, or of the part of H that
 * acts on one species alone. */
typedef struct tg_fly_links {
  uint32_t* of;      /* [classes + 1] first link of a class */
  tg_fly_link* link; /* a class's links in the order of (channel, source) */
  uint32_t* begin;
  uint32_t* from;
  uint32_t* code; /* of jumps: 2 * operator + minus */
  double* value;  /* of a species alone */
  bool overflows; /* the entries' numbers */
} tg_fly_links;

typedef struct tg_fly_block {
  uint32_t a, b; /* classes */
  uint32_t rows, columns;
  uint32_t first_a, first_b; /* numbers of the classes' first strings */
  uint64_t offset;
} tg_fly_block;

/** States of a small block. */
typedef struct tg_fly_piece {
  uint32_t block, number; /* of TG_FLY_PIECE threads */
  uint32_t lanes; /* threads for a state: a power of two, at most 32; the same for all rows */
} tg_fly_piece;

/** A row of a large block, of a tile of B's strings. */
typedef struct tg_fly_row {
  uint32_t block, row, tile;
} tg_fly_row;

/** Most lanes of a block of threads. */
enum { TG_FLY_STRIP_LANES = 64 };
/** And most panels of targets, by the height of strips. */
static __host__ __device__ constexpr uint32_t tg_fly_strip_panels(uint32_t height) {
  return height == TG_CI_STRIP_HIGH ? 16 : 8;
}

/** Lanes and targets of strips: of species 0, lanes are columns and targets rows. */
typedef struct tg_fly_strip {
  uint32_t block, lane, lanes, target, end;
} tg_fly_strip;

/** Rows in a launch: all of tiles with the same room. */
enum { TG_FLY_SIZES = 3, TG_FLY_PIECE = 128 };

typedef struct tg_fly_fields {
  uint32_t stride;
  uint32_t* row; /* as tg_ci_fields */
  double* value;
} tg_fly_fields;

/** All that kernels read. */
typedef struct tg_fly_view {
  tg_fly_block* blocks;
  uint32_t block_count;
  uint32_t* block_at; /* [classes of A, classes of B] number of the block + 1; 0: there is none */
  uint32_t classes_b;
  uint64_t first, end; /* the states of y */
  double constant;
  double* alone_diagonal[2]; /* [strings] */
  uint16_t* strings[2];      /* [strings, particles] */
  uint32_t particles[2], orbitals[2], string_count[2];
  uint32_t still;          /* the channel */
  double* cross;           /* w(a,b): tg_ci_fly::rows */
  uint64_t* cross_row;     /* [operators of A] */
  uint32_t* channel_begin; /* [channels + 1] into cross_row */
  tg_fly_fields fields[2];
  double*
      field_sums; /* [rows of fields[0], strings of B] sums over B's particles; NULL: too large */
  uint32_t field_rows;
  double* pairs; /* [orbitals of A, orbitals of B] w(pp,qq) */

  /* small blocks */
  tg_fly_links jumps[2], alone[2];
  tg_fly_piece* pieces;
  size_t piece_count;

  /* large blocks */
  tg_fly_links steps_links; /* of A: `of` and `link` alone */
  tg_ci_steps steps;
  tg_ci_sheets sheets;
  tg_ci_sheet_pairs sheet_pairs;
  tg_ci_strips strips[2];
  tg_fly_row* rows[TG_FLY_SIZES]; /* costly ones first */
  size_t row_count[TG_FLY_SIZES];
  uint32_t columns[TG_FLY_SIZES]; /* the widest tile */
  tg_fly_strip* strip_list[2];
  size_t strip_count[2], own_strips; /* of B's, those in front read x in the rows of y alone */
} tg_fly_view;

struct tg_ci_device_fly {
  int device;
  cudaStream_t stream;
  bool overlaps; /* the device lets a kernel begin while the one before ends */
  bool follows;  /* the stream's last kernel is of the product that is being queued */
  bool beside;   /* small blocks are so much work that they have a stream of their own */
  cudaStream_t side;
  cudaEvent_t fork, join;
  tg_fly_view view;
  void* memory; /* of all tables */
};

/** The tables (fly_tables.cu). */
tg_status tg_fly_tables_make(tg_ci_device_fly* fly, const tg_ci_fly* from,
                             const tg_ci_device_rows* rows);

/** Shared memory that the largest block of threads takes. */
size_t tg_fly_alone_shared(void);
size_t tg_fly_cross_shared(void);
/** Tells the driver how much shared memory kernels take. */
tg_status tg_fly_cross_prepare(tg_ci_device_fly* fly);
tg_status tg_fly_alone_prepare(tg_ci_device_fly* fly);
/** Where small blocks have a stream of their own: makes it. */
tg_status tg_fly_side_make(tg_ci_device_fly* fly);
/** What comes next begins when all before it is done: x is there then. Kernels of a product that
 * follow each other without anything else between them begin while the last blocks of threads of
 * the one before run; they wait for it before they touch y. */
static inline void tg_fly_begin(tg_ci_device_fly* fly) { fly->follows = false; }
/** Small blocks; k vectors. In the stream of the product, as one of its kernels, or in side. */
void tg_fly_queue_states(tg_ci_device_fly* fly, bool side, int k, const double* x, size_t ldx,
                         double* y, size_t ldy);
/** Large blocks: y = the part of one species, then y += that of the other (second), then y += the
 * rest. A sum of two has the same bits in either order. */
void tg_fly_queue_alone(tg_ci_device_fly* fly, int species, bool second, int k, const double* x,
                        size_t ldx, double* y, size_t ldy);
/** Two parts of tg_fly_queue_alone for B, as the first species: what reads x in the rows of y
 * alone, and what reads it elsewhere, too. */
void tg_fly_queue_own(tg_ci_device_fly* fly, bool own, int k, const double* x, size_t ldx,
                      double* y, size_t ldy);
void tg_fly_queue_cross(tg_ci_device_fly* fly, int k, const double* x, size_t ldx, double* y,
                        size_t ldy);
void tg_fly_queue_field_sums(tg_ci_device_fly* fly);
void tg_fly_queue_diagonal(tg_ci_device_fly* fly, double* d);

#ifdef __CUDACC__

/** The next kernel of the product may begin as soon as all blocks of threads of this one have. */
static __device__ __forceinline__ void tg_fly_let_next_begin(void) {
#if __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}

/** Until the kernels of the product before this one are done, and what they wrote is there. */
static __device__ __forceinline__ void tg_fly_wait_for_last(void) {
#if __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
}

/** A kernel of the product: it lets the next one begin and waits for the last one. Errors:
 * cudaGetLastError. */
template <typename... Parameters, typename... Arguments>
static void tg_fly_launch(tg_ci_device_fly* fly, void (*kernel)(Parameters...), dim3 grid,
                          unsigned threads, size_t shared, Arguments... arguments) {
  cudaLaunchAttribute attribute = {};
  cudaLaunchConfig_t config = {};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  config.gridDim = grid;
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = shared;
  config.stream = fly->stream;
  config.attrs = &attribute;
  config.numAttrs = fly->follows && fly->overlaps ? 1 : 0;
  fly->follows = true;
  cudaLaunchKernelEx(&config, kernel, (Parameters)arguments...);
}

/** The block of these classes; NULL: there is none. */
static __device__ __forceinline__ const tg_fly_block* tg_fly_block_of(const tg_fly_view& v,
                                                                      uint32_t a, uint32_t b) {
  const uint32_t number = v.block_at[(size_t)a * v.classes_b + b];
  return number ? &v.blocks[number - 1] : nullptr;
}

/** The sum of a field over the particles of a string of species. */
static __device__ __forceinline__ double tg_fly_field_of(const tg_fly_view& v,
                                                         const tg_fly_fields& fields, uint32_t op,
                                                         int species, uint32_t string) {
  const double* value = fields.value + (size_t)fields.row[op] * fields.stride;
  const uint16_t* list = v.strings[species] + (size_t)string * v.particles[species];
  double sum = 0;
  for (uint32_t p = 0; p < v.particles[species]; p++) sum += value[list[p]];
  return sum;
}

#endif
#endif
