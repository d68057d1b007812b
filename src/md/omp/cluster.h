/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/omp/cluster.h  Atoms in clusters, and lists of pairs of clusters.
 *
 * The method is that of S. Pall and B. Hess, Comput. Phys. Commun. 184, 2641 (2013),
 * doi:10.1016/j.cpc.2013.06.003: atoms are sorted into columns in x and y and along z in each
 * column, and cut into *i-clusters* of 4 and *blocks* (j-clusters) of `width`, 4 or 8, the lanes of
 * a vector. The list names pairs (i-cluster, block) that hold a pair of atoms nearer than the list
 * radius; the kernel evaluates all 4 x width pairs of each and keeps those inside the cut-off. A
 * pair (i, j) of atoms is in the half list where slot i < slot j.
 *
 * A *slot* is a place in the sorted order: slot = block * width + lane. Columns are filled up to
 * whole blocks with *fillers*, which have no charge, no LJ, and a place far outside: x = -FILLER -
 * lane as a j-atom, mirrored as an i-atom, so no two of them meet and no mask is needed.
 *
 * Positions are stored relative to their block's origin, a multiple of 1/2 nm. Differences of
 * origins are exact in float, so the error of a distance does not grow with the box: it is that of
 * a float of the size of the cut-off. Where all atoms are within TG_CLUSTER_ONE_ORIGIN nm of a
 * common origin, floats relative to that are about as good, and a pair costs less. */
#ifndef TG_MD_OMP_CLUSTER_H
#define TG_MD_OMP_CLUSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "md/nonbonded.h"

enum {
  TG_CLUSTER_SIZE = 4,  /* atoms of an i-cluster */
  TG_CLUSTER_GROUP = 4, /* blocks that share a flag "this thread added forces here" */
  TG_CLUSTER_FILLER = 1000,
  TG_CLUSTER_ONE_ORIGIN = 4, /* nm */
};

/** A box around the atoms of an i-cluster or a block, nm, in the wrapped positions of the search;
 * of fillers alone: low > high. */
typedef struct tg_cluster_box {
  float low[3], high[3];
} tg_cluster_box;

/** The sorted atoms. `real` is float or double, as the variant of the kernels says. */
typedef struct tg_clusters {
  int width; /* atoms of a block */
  size_t real_size;
  size_t local_count;
  size_t slot_count, block_count;
  double box[3];
  bool periodic[3];
  /* the grid of columns: column (cx, cy) is number cx * columns[1] + cy */
  int columns[2];
  double low[3], high[3]; /* bounds of the wrapped positions; [0, box] in periodic dimensions */
  double column_size[2];
  uint32_t* column_block; /* [columns + 1] first block of each column */
  int* atom;              /* [slot_count] local number; -1: filler */
  int* slot;              /* [local_count] */
  uint8_t* zone;          /* [slot_count] bit d: offset in dimension d is not 0; NULL: all home */
  double (*base)[3];      /* [slot_count] what to add to a position: wrapping minus origin, nm */
  int32_t* type;          /* [slot_count] fillers have the extra type type_count */
  void* x;                /* real [block_count][3][width] */
  void* charge;           /* real [slot_count] */
  void* root6;            /* real [slot_count] sqrt(6 C6_ii), sqrt(12 C12_ii) */
  void* root12;
  void* origin;          /* real [block_count][4] */
  tg_cluster_box* i_box; /* [slot_count / 4] */
  float* j_bound;        /* [6][bound_stride] boxes around blocks, lowest x, y, z, then highest */
  size_t bound_stride;
  uint8_t* lj_count; /* [slot_count / 4] atoms with LJ; they come first in their cluster */
  size_t slot_capacity, atom_capacity, column_capacity;
  bool has_zones;
  bool one_origin; /* all blocks have the same origin */
} tg_clusters;

/** A block in the list of an i-cluster. */
typedef struct tg_cluster_entry {
  int32_t block;
  uint32_t mask; /* bit (i * width + lane): this pair of atoms interacts */
} tg_cluster_entry;

/** The blocks of one i-cluster, seen through one periodic shift of the i-cluster. */
typedef struct tg_cluster_row {
  int32_t cluster;
  int8_t shift[3];
  uint8_t lj_count;
  uint32_t begin, plain, end; /* entries [begin, plain) need their masks, [plain, end) do not */
} tg_cluster_row;

/** Part of a list, of consecutive i-clusters. */
typedef struct tg_cluster_list {
  tg_cluster_row* rows;
  size_t row_count, row_capacity;
  tg_cluster_entry* entries;
  size_t entry_count, entry_capacity;
  tg_cluster_entry* scratch;
  float* distance2; /* scratch of the search, [distance_capacity] */
  size_t distance_capacity;
  uint32_t* place; /* [block_count] where the current row holds a block */
  size_t scratch_capacity, place_capacity;
  tg_status status;
} tg_cluster_list;

/** Constants of the pair functions. */
typedef struct tg_cluster_constants {
  double cutoff, rf_k, rf_c, coulomb_scale;
  double lj_edge6;   /* 1 / cutoff^6 with LJ shift, else 0 */
  bool geometric;    /* root6, root12 give the table exactly */
  int type_count;    /* without the fillers' type */
  const void* table; /* real [(type_count + 1)^2][2]: 6 C6, 12 C12 */
} tg_cluster_constants;

/** Sums of one thread. */
typedef struct tg_cluster_sums {
  double lj, coulomb;
  double virial[6]; /* -1/2 (xx, yy, zz, xy, xz, yz) */
} tg_cluster_sums;

/** What a search needs beyond the clusters. */
typedef struct tg_cluster_search {
  const tg_clusters* clusters;
  const int* exclusion_start; /* [local_count + 1], local numbers; NULL: none */
  const int* exclusion;
  double radius;
} tg_cluster_search;

/** The kernels of one instruction set and precision. */
typedef struct tg_cluster_kernels {
  const char* text;
  int width;
  size_t real_size;
  double column_factor; /* side of a column in units of density^(-1/3) */
  bool (*runs_here)(void);
  /** Positions of blocks [begin, end) from x: [local_count][3]. */
  void (*pack)(tg_clusters* clusters, const double (*x)[3], size_t begin, size_t end);
  /** The rows of i-clusters [begin, end) into an empty list; its status tells of missing memory. */
  void (*search)(const tg_cluster_search* search, size_t begin, size_t end, tg_cluster_list* list);
  /** The part of one list that is within radius at the packed positions. */
  void (*prune)(const tg_clusters* clusters, double radius, const tg_cluster_list* from,
                tg_cluster_list* to);
  /** Adds the forces of rows [begin, end) to force: real [block_count][3][width]. */
  void (*compute)(const tg_clusters* clusters, const tg_cluster_constants* constants,
                  const tg_cluster_list* list, size_t begin, size_t end, bool want_energy,
                  void* force, tg_cluster_sums* sums);
  /** f of the atoms of one group of blocks += the sum over the threads that used it. */
  void (*collect)(const tg_clusters* clusters, size_t group, int threads, void* const* force,
                  uint8_t* const* used, double (*f)[3]);
} tg_cluster_kernels;

/** Every variant that was compiled, fastest first within a precision; NULL at the end. */
const tg_cluster_kernels* const* tg_cluster_variants(void);

/** Sorts the atoms into clusters of width `width`; x is not packed yet. root6, root12:
 * [type_count]; an atom has LJ where has_lj[type]. */
tg_status tg_clusters_build(tg_clusters* clusters, const tg_nonbonded_atoms* atoms,
                            const tg_cluster_kernels* kernels, int type_count, const double* root6,
                            const double* root12, const bool* has_lj, int threads);
void tg_clusters_free(tg_clusters* clusters);

/** Room for one more entry or row. */
tg_status tg_cluster_list_reserve(tg_cluster_list* list, size_t rows, size_t entries);
void tg_cluster_list_free(tg_cluster_list* list);

#endif
