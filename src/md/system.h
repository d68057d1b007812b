/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/system.h  What is simulated: topology, parameters, start and what follows from them.
 *
 * Read once, then constant; all PEs of a process share it. Atoms are numbered from 0 in file order
 * (the *global* number). */
#ifndef TG_MD_SYSTEM_H
#define TG_MD_SYSTEM_H

#include "md/configuration.h"
#include "md/index.h"
#include "md/parameters.h"
#include "md/topology.h"

/** The files of one run; NULL where there is none. */
typedef struct tg_md_files {
  const char* configuration; /* -c */
  const char* topology;      /* -p */
  const char* parameters;    /* -f; NULL: the defaults */
  const char* index;         /* -n */
  const char* restraints;    /* -r: reference positions; required where there are restraints */
  const char* const* include_folders; /* -I, [include_count] */
  int include_count;
  long long chance_seed; /* where gen-seed or ld-seed is -1; 0: from the clock */
} tg_md_files;

/** Atoms joined by constraints; always on one PE. Single atoms are groups too. Per molecule type.
 */
typedef struct tg_constraint_groups {
  int* start; /* [group_count + 1] into atoms */
  int* atoms; /* [atom_count]: numbers within the molecule, ascending in each group; groups ordered
                 by their first atom */
  size_t group_count;
  double radius; /* largest possible distance of an atom from its group's centre, nm, estimated from
                    constraint lengths; 0 for single atoms */
} tg_constraint_groups;

typedef struct tg_md_system {
  tg_topology topology; /* bonds that `constraints` turned into constraints are moved to
                           TG_CONSTRAINT; water with SETTLE keeps TG_SETTLE */
  tg_parameters parameters;
  tg_configuration start; /* with velocities generated where gen-vel asks; atoms as in the file */
  tg_index index;
  double (*restraint_x)[3]; /* [atom_count], nm; NULL without restraints */
  double box[3];            /* rectangular, nm */
  size_t atom_count;
  size_t molecule_count;
  int* molecule_type;           /* [molecule_count] */
  size_t* molecule_first;       /* [molecule_count + 1] first global atom */
  int* atom_molecule;           /* [atom_count] */
  tg_constraint_groups* groups; /* [topology.molecule_type_count] */
  double group_radius;          /* the largest of them, nm */
  size_t constraint_count;      /* SETTLE counts 3 */
  /* Temperature groups: group of each atom, or NULL where one group holds all. */
  int temperature_group_count;      /* at least 1 */
  unsigned char* temperature_group; /* [atom_count] */
  double degrees_of_freedom[TG_MAX_GROUPS];
  double total_degrees_of_freedom;
  /* Groups whose centre-of-mass motion is removed each by itself: group of each atom,
   * comm_group_count for an atom in none; NULL where one group holds all. 0 groups with comm-mode
   * none. */
  int comm_group_count;
  unsigned char* comm_group; /* [atom_count] */
} tg_md_system;

/** Reads everything, checks that it fits together (atom counts and names, box against cut-off,
 * groups that do not cover the atoms, ...), converts bonds to constraints, draws velocities. */
tg_status tg_md_system_read(const tg_md_files* files, const tg_log* log, tg_md_system** out);
void tg_md_system_destroy(tg_md_system** system);

/** The atom's record. */
static inline const tg_atom* tg_md_atom(const tg_md_system* system, size_t atom) {
  int molecule = system->atom_molecule[atom];
  const tg_molecule_type* type = &system->topology.molecule_types[system->molecule_type[molecule]];
  return &type->atoms[atom - system->molecule_first[molecule]];
}

/** Reaction field f q_i q_j (1/r + k r^2 - c) in these parameters' terms: k in nm^-3 and c in
 * nm^-1, both divided by epsilon_r, as is *scale = f / epsilon_r. Coulomb cut-off is epsilon_rf
 * = 1. */
void tg_md_reaction_field(const tg_parameters* parameters, double* k, double* c, double* scale);

#endif
