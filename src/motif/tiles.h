/* SPDX-License-Identifier: Apache-2.0 */
/** @file motif/tiles.h  Tiles: blocks of rows x columns that cannot hold a hit are not looked at.
 *
 * The orbitals are cut into groups, and a state's *distribution* is the number of its particles in
 * each. Two states with the distributions a and b differ in at least sum over groups |a_g - b_g|
 * orbitals. The states are parted in two by the group whose number varies most, as near to halves
 * as it goes, each half again, and so on until a part fits into a tile; within a tile they keep
 * their order. A tile keeps the least and most of each group, so that the states of two tiles
 * differ in at least
 *
 *   sum over groups of max(0, least_g of one - most_g of the other, and the other way round)
 *
 * orbitals. Pairs of tiles where that passes 2d are skipped; the result is exact.
 *
 * More groups bound a pair of states better, but tiles of so many states vary more in each. Small
 * tiles skip more, but their bounds cost time, and their spans are short. TG_TILES_GROUPS and
 * TG_TILES_SIZE served best for 30,000 to 260,000 states of 8 and 16 particles (docs/motifs.md). */
#ifndef TG_MOTIF_TILES_H
#define TG_MOTIF_TILES_H

#include "motif/pairs.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TG_TILES_MOST_GROUPS = 16, TG_TILES_GROUPS = 6, TG_TILES_SIZE = 128 };

typedef struct tg_tiling {
  int group_count;
  uint32_t group_end[TG_TILES_MOST_GROUPS]; /* first orbital behind each group, rising */
  uint32_t tile_count;
  uint32_t* order; /* [states]: number in the given set of each state, tile after tile */
  uint32_t* start; /* [tile_count + 1]: first state of each tile, in that order */
  uint8_t* least;  /* [tile_count, group_count], of the particles in the group; at most 255 */
  uint8_t* most;   /* [tile_count, group_count] */
} tg_tiling;

/** Sorts states (in host memory, with lists of orbitals) into tiles of at most tile_size >= 1.
 * group_count groups are cut so that they hold about as many particles each. */
tg_status tg_tiling_make(const tg_states* states, int group_count, size_t tile_size,
                         tg_tiling* out);
/** As above with the groups of another tiling: for the columns of a rectangular problem. */
tg_status tg_tiling_make_like(const tg_states* states, const tg_tiling* like, size_t tile_size,
                              tg_tiling* out);
void tg_tiling_free(tg_tiling* tiling);

/** At least so many orbitals differ between any state of tile a and any of tile b. */
uint32_t tg_tiling_bound(const tg_tiling* rows, uint32_t a, const tg_tiling* columns, uint32_t b);

/** The lists that tg_pairs takes, for states gathered in the orders of the two tilings (which have
 * the same groups). Host memory. */
typedef struct tg_spans {
  uint32_t tile_count;
  uint32_t* tile_rows;  /* [tile_count + 1] */
  uint32_t* tile_spans; /* [tile_count + 1] */
  uint32_t* spans;      /* [2, tile_spans[tile_count]] */
  double pairs;         /* rows x columns that are left, before once */
} tg_spans;

tg_status tg_spans_make(const tg_tiling* rows, const tg_tiling* columns, int d, tg_spans* out);
void tg_spans_free(tg_spans* spans);

#ifdef __cplusplus
}
#endif
#endif
