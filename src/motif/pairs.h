/* SPDX-License-Identifier: Apache-2.0 */
/** @file motif/pairs.h  Filter and fill: which pairs of states may a d-body operator connect?
 *
 * <x|O|y> of a d-body operator is zero where more than 2d orbitals are occupied in one of the
 * states x and y but not in both. A pair with at most 2d such orbitals is a *hit*; a state is a hit
 * with itself and its equals. How a version tells (its method):
 *
 *   array    compares the lists of orbitals
 *   word64   popcount(low ^ low) first, which is a lower bound, then the lists where it is <= 2d
 *   bits     popcount over all W words; no lists. With N particles in both states,
 *            popcount(x ^ y) = 2 (N - popcount(x & y)), so an AND serves as well as an XOR
 *
 * All pointers of a call are the backend's: host memory for host backends, device memory for
 * device ones (motif/table.h). Device work is queued; tg_motif_memory::synchronize waits for it. */
#ifndef TG_MOTIF_PAIRS_H
#define TG_MOTIF_PAIRS_H

#include "motif/states.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The hits to look for: rows x columns, less what is left out below. */
typedef struct tg_pairs {
  tg_states rows, columns; /* of as many particles and orbitals; fewer than 2^32 of each */
  int d;                   /* >= 1: hits differ in at most 2d orbitals */
  /* once: only the pairs with first_column + column > first_row + row: each pair of one set once,
   * and no state with itself. Otherwise all pairs, which for one set gives each pair both ways, and
   * the diagonal. */
  bool once;
  uint64_t first_row, first_column;
  /* Tiles (motif/tiles.h): rows tile_rows[t] ... tile_rows[t + 1] - 1 meet the columns of the spans
   * tile_spans[t] ... tile_spans[t + 1] - 1 alone; span s is the columns spans[2 s] ...
   * spans[2 s + 1] - 1. Spans of a tile rise and do not overlap. tile_count 0: every column. */
  uint32_t tile_count;
  const uint32_t* tile_rows;  /* [tile_count + 1] */
  const uint32_t* tile_spans; /* [tile_count + 1] */
  const uint32_t* spans;      /* [2, tile_spans[tile_count]], begin and end of each */
  int threads;                /* >= 1, of host backends */
} tg_pairs;

/** Why a version cannot do something: words for people, NULL where it can. pairs may be NULL: on
 * this machine, whatever the pairs. */
typedef const char* (*tg_pairs_refuses)(const tg_pairs* pairs);

/** The refusals of the three methods themselves: a form of the states that they need is not kept.
 */
const char* tg_pairs_need_array(const tg_pairs* pairs);
const char* tg_pairs_need_word64(const tg_pairs* pairs);
const char* tg_pairs_need_bits(const tg_pairs* pairs);

typedef struct tg_filter_version {
  const char* name;   /* unique in the backend, begins with its method: "word64", "bits mma" */
  const char* method; /* "array", "word64", "bits" */
  tg_pairs_refuses refuses; /* NULL: refuses nothing */
  /** counts: [rows], the number of hits of each row, written (not added to). */
  tg_status (*count)(const tg_pairs* pairs, uint32_t* counts);
} tg_filter_version;

typedef struct tg_fill_version {
  const char* name;   /* as of a filter, and how a hit gets its slot: "word64 cursor" */
  const char* method; /* finds what the filters of this method count */
  bool ordered;       /* hits of a row rise; else in no order, and not the same each time */
  tg_pairs_refuses refuses;
  /** hits: [offsets[rows]]; hits[offsets[r]] ... hits[offsets[r + 1] - 1] become the columns that
   * row r hits. offsets: [rows + 1], the exclusive scan of the counts. cursor: [rows], scratch, of
   * any content. */
  tg_status (*fill)(const tg_pairs* pairs, const uint64_t* offsets, uint32_t* cursor,
                    uint32_t* hits);
} tg_fill_version;

/** Filter, scan and fill in one pass over the pairs, with private arrays that grow. */
typedef struct tg_collect_version {
  const char* name;
  const char* method;
  bool ordered;
  tg_pairs_refuses refuses;
  /** offsets: [rows + 1]; hits: [capacity], what fits of offsets[rows] hits. The caller reads
   * offsets[rows] (of the backend's memory) to see whether all fitted; where they did not, hits
   * holds nothing of use. */
  tg_status (*collect)(const tg_pairs* pairs, uint64_t capacity, uint64_t* offsets, uint32_t* hits);
} tg_collect_version;

#ifdef __cplusplus
}
#endif
#endif
