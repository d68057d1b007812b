/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/nonbonded.h  Pair search and pair forces: Lennard-Jones plus reaction field.
 *
 * V(r) = C12/r^12 - C6/r^6 - shift + f q_i q_j (1/r + k r^2 - c) for r < cutoff, pairs that are not
 * excluded. The excluded pairs' reaction-field part and the self terms are NOT in here (bonded.h
 * has the pairs). Two backends behind one table: `ref`, the specification: plain serial double
 * precision; `omp`: clusters of atoms, SIMD, threads; float or double. */
#ifndef TG_MD_NONBONDED_H
#define TG_MD_NONBONDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct tg_nonbonded tg_nonbonded;

typedef struct tg_nonbonded_params {
  double cutoff;        /* nm */
  double rf_k, rf_c;    /* nm^-3, nm^-1 (reaction field) */
  double coulomb_scale; /* f / epsilon_r, kJ mol^-1 nm e^-2 */
  bool lj_shift;        /* subtract V_LJ(cutoff) */
  bool coulomb_shift;   /* keep the constant c (false: c = 0) */
  int type_count;
  const double* c6; /* [type_count * type_count], kept by reference */
  const double* c12;
  const char* backend; /* "ref" or "omp" */
  bool mixed;          /* omp: pair arithmetic in float, positions relative to the list's cells */
  int threads;         /* omp: threads to use */
} tg_nonbonded_params;

/** The atoms of this PE at a pair search; arrays are copied where they are needed later. */
typedef struct tg_nonbonded_atoms {
  size_t home_count, local_count;
  const double (*x)[3]; /* [local_count] nm. Home atoms inside or near the brick, unwrapped groups;
                           in a periodic dimension (below) anywhere; halo atoms already shifted */
  const int* type;      /* [local_count] */
  const double* charge; /* [local_count] e */
  const int* global;    /* [local_count] global numbers, each at most once */
  const uint8_t (*offset)[3]; /* [local_count] domain offsets (halo.h); NULL: all zero */
  double box[3];              /* nm */
  bool periodic[3];           /* true: this PE spans the whole box in this dimension, pairs take the
                                 nearest image; false: positions are used as they are */
  /* Excluded partners of local atom i: exclusion[exclusion_start[i]..exclusion_start[i+1]), local
   * numbers, both directions. */
  const int* exclusion_start; /* [local_count + 1] */
  const int* exclusion;
} tg_nonbonded_atoms;

/** What to compute, and where it goes. */
typedef struct tg_nonbonded_result {
  bool want_energy;      /* energies and virial */
  double lj, coulomb;    /* out, kJ/mol (0 if not wanted) */
  double virial[3][3];   /* out, -1/2 sum r_ij (outer) F_ij, kJ/mol */
  int64_t pairs_in_list; /* out: pairs whose distance the kernel evaluates */
} tg_nonbonded_result;

tg_status tg_nonbonded_create(const tg_nonbonded_params* params, tg_nonbonded** out);
void tg_nonbonded_destroy(tg_nonbonded** nonbonded);

/** Builds the pair list with all pairs closer than list_radius (>= cutoff) that belong to this PE:
 * those with min(offset_i[d], offset_j[d]) == 0 for every d. Local. The positions' order is kept as
 * the caller's; the backend sorts its own copies, in an order that depends on positions and global
 * numbers alone. */
tg_status tg_nonbonded_search(tg_nonbonded* nonbonded, const tg_nonbonded_atoms* atoms,
                              double list_radius);

/** Drops from the list in use what is farther than inner_radius (cutoff <= inner_radius <=
 * list_radius) at positions x: [local_count][3]. The list of the search is kept: the next prune
 * starts from it again, and clusters of atoms are dropped as a whole, so pairs beyond inner_radius
 * may stay. Local. */
tg_status tg_nonbonded_prune(tg_nonbonded* nonbonded, const double (*x)[3], double inner_radius);

/** Adds pair forces to f: [local_count][3], kJ mol^-1 nm^-1, for positions x: [local_count][3] (the
 * same atoms, in the same order as at the search; must not have been re-wrapped since).
 * Deterministic for a given thread count. Local. */
void tg_nonbonded_compute(tg_nonbonded* nonbonded, const double (*x)[3], double (*f)[3],
                          tg_nonbonded_result* result);

/** "omp: AVX-512, 4x8 float" or the like: what runs. Owned by the object. The environment's TG_SIMD
 * ("AVX-512", "AVX2", "portable") chooses among what this machine can run; else the fastest is
 * taken. */
const char* tg_nonbonded_describe(const tg_nonbonded* nonbonded);

#endif
