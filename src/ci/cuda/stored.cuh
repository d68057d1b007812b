/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/cuda/stored.cuh  A stored matrix in device memory: its arrays, shared by the builders
 * and the product.
 *
 * Slice s has the rows at the places 32 s ... 32 s + 31, a row to a lane. Its coded elements are
 * word_at[s] ... word_at[s + 1] - 1 quads of 32 lanes: lane l's next four words are words[32 q +
 * l]. A word is
 *
 *   bits shift ... 31   how many columns on (signed) from the word before
 *   bits 1 ... shift-1  number of the value; 0: zero, for steps too long for one word, and padding
 *   bit 0               a minus
 *
 * Valued elements likewise, in groups of four: steps[32 g + l] four steps of 16 or 32 bits, the
 * values 4 floats at (32 g + l), or twice two doubles, at (64 g + l) and (64 g + 32 + l).
 *
 * Where columns are kept apart there are two of these, whose sums are added.
 *
 * A slice's elements are cut into `parts` equal runs of quads, each the work of a warp; *_start is
 * the column before the first step of each part, for each lane. Sums of parts are added in order.
 */
#ifndef TG_CI_CUDA_STORED_CUH
#define TG_CI_CUDA_STORED_CUH

#include <stdint.h>

#include "device/cuda/check.h"

extern "C" {
#include "ci/device_stored.h"
}

enum { STORED_LANES = 32, STORED_MOST_PARTS = 8 };

/** One of the two kinds of elements. */
typedef struct stored_stream {
  uint64_t* at;   /* [slices + 1], quads */
  int32_t* start; /* [slices, parts, 32] */
} stored_stream;

typedef struct stored_matrix {
  uint64_t rows, first; /* the first row's state */
  uint64_t slices;
  int parts;
  const uint32_t* row_of; /* [rows] row at a place; NULL: its own number */
  stored_stream word, step;
  uint4* words;
  void* steps;  /* int16_t, or int32_t where wide */
  void* amount; /* values: double, or float */
  bool wide, floats;
  int shift;
  uint32_t value_count;
  const double* values;   /* [value_count] */
  const double* diagonal; /* [rows]; NULL: its products are added to y */
} stored_matrix;

/** What building finds out; in device memory while it goes on. */
typedef struct stored_tally {
  unsigned long long coded, valued;  /* elements */
  unsigned long long words, steps;   /* with long steps */
  unsigned long long norm, rounding; /* bits of a double: largest sum over a row of |element|, and
                                        of what floats round away */
} stored_tally;

struct tg_ci_device_stored {
  int device;
  cudaStream_t stream;
  uint64_t dimension;
  bool half, coded, apart;
  tg_ci_device_rows own; /* columns that are kept apart; all */
  stored_matrix m, rest; /* of these columns; of the others, where there are any */
  bool rest_empty;
  double* packed;   /* [TG_CI_DEVICE_STORED_WIDTH / 2, dimension, 2] vectors of a product */
  long long* fixed; /* half: [dimension] what is added to other rows */
  double* largest;  /* half: [1] */
  int multiprocessors;
  uint64_t bytes;
  tg_ci_device_stored_facts facts;
};

/** Device memory of an object, counted; *out is NULL for 0 bytes. */
tg_status stored_allocate(tg_ci_device_stored* s, size_t bytes, const char* what, void** out);
#define STORED_ALLOCATE(s, count, what, out)                                                       \
  stored_allocate((s), (size_t)(count) * sizeof **(out), (what), (void**)(out))

/** Checks an enqueued kernel. */
static inline tg_status stored_queued(const tg_ci_device_stored* s, const char* what) {
  return tg_cuda_status(cudaGetLastError(), s->device, what);
}

/** Counts, scans and fills, from the jumps; and by comparisons of states. m.rows, m.first and the
 * choices of kinds are set before. On the default stream; waits. */
tg_status stored_build_jumps(tg_ci_device_stored* s, const tg_ci_device_stored_params* p);
tg_status stored_build_motifs(tg_ci_device_stored* s, const tg_ci_device_stored_params* p);

#endif
