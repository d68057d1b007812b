/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/bonded.h  Bonds, angles, dihedrals, 1-4 pairs, restraints, and excluded pairs' field.
 */
#ifndef TG_MD_BONDED_H
#define TG_MD_BONDED_H

#include <stddef.h>

#include "base/status.h"
#include "md/energies.h"
#include "md/topology.h"

/** A kind of interaction between local atoms. */
typedef struct tg_bonded_list {
  int* atoms; /* [count * tg_interaction_atoms(kind)] local numbers */
  const double**
      parameters; /* [count], each [tg_interaction_parameters(kind)], owned by the topology */
  size_t count, atoms_capacity, parameters_capacity;
} tg_bonded_list;

/** All zero is a valid, empty value. */
typedef struct tg_bonded {
  tg_bonded_list lists[TG_INTERACTION_KINDS]; /* constraint kinds stay empty here */
  /* Excluded pairs (i < j), which still feel the reaction field inside the cut-off. */
  int* excluded; /* [excluded_count * 2] local numbers */
  size_t excluded_count, excluded_capacity;
  /* Where threads other than the first gather forces, and which blocks of atoms they touched; kept
   * from call to call so that a step allocates nothing. */
  double (*thread_force)[3];
  unsigned char* thread_touched;
  size_t thread_force_capacity, thread_touched_capacity;
} tg_bonded;

typedef struct tg_bonded_environment {
  double box[3];
  double cutoff, rf_k, rf_c, coulomb_scale; /* as nonbonded.h; rf_c = 0 without the shift */
  double fudge_qq;
  double pair_scale;              /* f / epsilon_r for 1-4 pairs */
  const double* charge;           /* [local_count] */
  const double (*restraint_x)[3]; /* [local_count] reference positions by local number, or NULL */
  int threads;                    /* 1: serial (backend ref) */
} tg_bonded_environment;

/** Adds forces to f and energies to energies->term (and the virial, where want_energy). All
 * distances take the nearest periodic image. x: [local_count][3], nm. Local, deterministic for a
 * given thread count. The self terms of the reaction field are added by the caller. Fails only
 * where memory for the threads' forces cannot be had (the first call, or a larger local_count),
 * before f is touched.
 *
 * The virial is the sum of -1/2 r (outer) F over vectors r between atoms, so that it does not
 * depend on the origin. Position restraints are tied to points that do not move with the box
 * (GROMACS's refcoord-scaling = no), and there the absolute position counts: -1/2 x_d F_d on the
 * diagonal only, with the image of x nearest to the reference. */
tg_status tg_bonded_compute(tg_bonded* bonded, const tg_bonded_environment* environment,
                            size_t local_count, const double (*x)[3], double (*f)[3],
                            int want_energy, tg_energies* energies);

void tg_bonded_free(tg_bonded* bonded);

#endif
