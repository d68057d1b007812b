/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/domain.h  The atoms of one PE: who owns them, where they are, and what acts between
 * them.
 *
 * Layout: local atoms = home atoms, sorted by global number, then halo atoms in the order of the
 * halo plan (halo.h). The order depends on positions alone, never on history, so that a run
 * continued from any list step is bit-identical to one that was never interrupted.
 *
 * Constraint groups stay whole: a group lives where its centre (the mean of its atoms) lies, and
 * its atoms carry that centre through the plan. The halo therefore reaches list radius + 2 x the
 * largest distance of an atom from its group's centre. */
#ifndef TG_MD_DOMAIN_H
#define TG_MD_DOMAIN_H

#include <stdbool.h>

#include "comm/world.h"
#include "halo/halo.h"
#include "md/bonded.h"
#include "md/constraints.h"
#include "md/nonbonded.h"
#include "md/system.h"

typedef struct tg_domain_params {
  int grid[3];         /* product = PE count; 0 0 0: choose */
  const char* backend; /* "ref" or "omp" */
  bool mixed;
  int threads;        /* of this PE */
  double list_radius; /* nm, >= cutoff */
  /* Every so many calls of tg_domain_forces since the partition the list is pruned to inner_radius
   * (cutoff <= inner_radius <= list_radius); 0: never. */
  int prune_interval;
  double inner_radius;
  const char* halo; /* schedule of the exchange; NULL: the default */
} tg_domain_params;

typedef enum tg_md_part {
  TG_PART_SEARCH, /* migration, halo plan, local topology, pair search */
  TG_PART_HALO,
  TG_PART_NONBONDED,
  TG_PART_BONDED,
  TG_PART_UPDATE,
  TG_PART_CONSTRAINTS,
  TG_PART_OUTPUT,
  TG_PART_OTHER,
  TG_PART_COUNT
} tg_md_part;
const char* tg_md_part_name(tg_md_part part);

typedef struct tg_domain {
  const tg_md_system* system; /* not owned */
  tg_world* world;            /* not owned */
  tg_domain_params params;
  tg_halo* halo;
  tg_nonbonded* nonbonded;
  tg_constraints* constraints;
  tg_bonded bonded;
  double rf_k, rf_c, coulomb_scale;

  size_t home_count, local_count;
  size_t capacity;                  /* atoms that fit in the arrays below */
  int* global;                      /* [local] */
  double (*x)[3];                   /* [local] nm */
  double (*v)[3];                   /* [home] nm/ps */
  double (*f)[3];                   /* [local] kJ mol^-1 nm^-1 */
  double (*x_new)[3];               /* [home] positions after an update, before they replace x */
  double (*centre)[3];              /* [home] centre of the atom's group */
  int* type;                        /* [local] */
  double* charge;                   /* [local] e */
  double* mass;                     /* [home] amu */
  double* inverse_mass;             /* [home] */
  unsigned char* temperature_group; /* [home] */
  unsigned char* comm_group;        /* [home] whose centre-of-mass motion is removed */
  double (*restraint_x)[3];         /* [local], or NULL */
  int* local_of_global;             /* [system.atom_count], -1: not here */

  /* Pair forces and energies in place of nonbonded's, added to f; NULL: nonbonded's. Set by whoever
   * has a GPU for them (device_pairs.h). */
  tg_status (*pair_forces)(void* context, struct tg_domain* domain, tg_nonbonded_result* result);
  void* pair_context;

  double self_energy; /* reaction field of the home atoms with themselves, kJ/mol */
  int64_t pairs_in_list;
  int list_age;                 /* calls of tg_domain_forces since the partition */
  double part_s[TG_PART_COUNT]; /* wall seconds */
  tg_trace* trace;              /* NULL: nothing is recorded */
  struct tg_domain_scratch* scratch;
} tg_domain;

/** Counts the time since *since (tg_time_now) for a part of the step, records it under name, and
 * sets *since to now. */
void tg_domain_part_done(tg_domain* domain, tg_md_part part, const char* name, double* since);

/** Collective. */
tg_status tg_domain_create(const tg_md_system* system, tg_world* world,
                           const tg_domain_params* params, tg_domain** out);
/** Local, null-safe, sets NULL. */
void tg_domain_destroy(tg_domain** domain);

/** Collective: takes the home atoms out of whole arrays x, v: [atom_count][3] (v may be NULL:
 * zero), the same on every PE, makes groups whole, and partitions. */
tg_status tg_domain_take(tg_domain* domain, const double (*x)[3], const double (*v)[3]);

/** Collective: wraps groups into the box, migrates them to their owners, plans the halo, and
 * rebuilds local topology, constraints and pair list. TG_ERR_NUMERICS names an atom that is not
 * finite or left its neighbourhood. */
tg_status tg_domain_partition(tg_domain* domain);

/** Collective: forces at x into f (home part complete, summed over PEs). With want_energy also this
 * PE's share of the potential terms and of the virial into *energies (other fields untouched). */
tg_status tg_domain_forces(tg_domain* domain, bool want_energy, tg_energies* energies);

/** Collective: whole arrays at PE 0 in file order (x, v, f: [atom_count][3]; NULL where not wanted;
 * ignored on other PEs, but all PEs must ask for the same). */
typedef struct tg_domain_whole {
  double (*x)[3];
  double (*v)[3];
  double (*f)[3];
} tg_domain_whole;
tg_status tg_domain_gather(tg_domain* domain, const double (*home_x)[3], const double (*home_v)[3],
                           const double (*home_f)[3], const int* home_global, size_t home_count,
                           const tg_domain_whole* whole);

/** "atom 12 (HW1 of SOL 4, molecule 4)": a global atom, for messages. */
void tg_domain_name_atom(const tg_md_system* system, int global, char* out, size_t size);

#endif
