/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/topology.h  Molecules and the force field, as read from GROMACS .top and .itp files.
 *
 * Units: nm, kJ/mol, amu, e; angles in degrees as in the files (converted by who evaluates them).
 */
#ifndef TG_MD_TOPOLOGY_H
#define TG_MD_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "base/status.h"
#include "base/text.h"

/** Interactions between the atoms of one molecule. name, atoms, parameters, energy term */
#define TG_INTERACTION_LIST(X)                                                                     \
  X(TG_BOND, 2, 2, "Bond")                   /* length nm, force constant kJ mol^-1 nm^-2 */       \
  X(TG_ANGLE, 3, 2, "Angle")                 /* degrees, kJ mol^-1 rad^-2 */                       \
  X(TG_DIHEDRAL_PROPER, 4, 3, "Proper Dih.") /* degrees, kJ/mol, multiplicity (functions 1, 9) */  \
  X(TG_DIHEDRAL_RYCKAERT, 4, 6, "Ryckaert-Bell.") /* C0..C5 kJ/mol (function 3) */                 \
  X(TG_DIHEDRAL_IMPROPER, 4, 2, "Improper Dih.")  /* degrees, kJ mol^-1 rad^-2 (function 2) */     \
  X(TG_DIHEDRAL_IMPROPER_PERIODIC, 4, 3, "Per. Imp. Dih.") /* as proper (function 4) */            \
  X(TG_PAIR_14, 2, 2, "LJ-14")                     /* C6 kJ mol^-1 nm^6, C12 kJ mol^-1 nm^12 */    \
  X(TG_POSITION_RESTRAINT, 1, 3, "Position Rest.") /* force constants x y z, kJ mol^-1 nm^-2 */    \
  X(TG_CONSTRAINT, 2, 1, "Constraint")             /* length nm */                                 \
  X(TG_SETTLE, 3, 2, "Settle")                     /* dOH, dHH nm; atoms O H H */

typedef enum tg_interaction_kind {
#define TG_INTERACTION_ENUM(name, atoms, parameters, term) name,
  TG_INTERACTION_LIST(TG_INTERACTION_ENUM)
#undef TG_INTERACTION_ENUM
      TG_INTERACTION_KINDS
} tg_interaction_kind;

enum { TG_INTERACTION_MAX_ATOMS = 4, TG_INTERACTION_MAX_PARAMETERS = 6 };
int tg_interaction_atoms(tg_interaction_kind kind);
int tg_interaction_parameters(tg_interaction_kind kind);
const char* tg_interaction_term(tg_interaction_kind kind);

typedef struct tg_interaction {
  int atoms[TG_INTERACTION_MAX_ATOMS]; /* numbers within the molecule, from 0 */
  double parameters[TG_INTERACTION_MAX_PARAMETERS];
} tg_interaction;

typedef struct tg_interactions {
  tg_interaction* items; /* [count] */
  size_t count, capacity;
} tg_interactions;

typedef struct tg_atom {
  char name[8];
  char residue[8];
  int residue_number;
  int type; /* index into topology.atom_types */
  int charge_group;
  double charge; /* e */
  double mass;   /* amu */
} tg_atom;

typedef struct tg_molecule_type {
  char* name;
  int exclusion_bonds; /* nrexcl */
  tg_atom* atoms;      /* [atom_count] */
  size_t atom_count, atom_capacity;
  tg_interactions interactions[TG_INTERACTION_KINDS];
  char* restraint_file; /* where [ position_restraints ] has its first line; NULL: nowhere */
  int restraint_line;
  /* Excluded partners of atom i: exclusion[exclusion_start[i] .. exclusion_start[i+1]), sorted, in
   * both directions, without i itself. */
  int* exclusion_start; /* [atom_count + 1] */
  int* exclusion;
} tg_molecule_type;

typedef struct tg_molecule_block {
  int molecule_type;
  int count;
} tg_molecule_block;

typedef struct tg_atom_type {
  char name[24];
  char bonded[24];
  int atomic_number;
  double mass, charge;
  char particle;         /* A, or S V D */
  double sigma, epsilon; /* nm, kJ/mol (0 where C6 or C12 is 0); for printing */
} tg_atom_type;

typedef struct tg_topology {
  char* title;          /* [ system ] */
  int combination_rule; /* 1, 2, 3 */
  bool generate_pairs;
  double fudge_lj, fudge_qq;
  tg_atom_type* atom_types; /* [type_count] */
  size_t type_count, type_capacity;
  /* Lennard-Jones V = C12/r^12 - C6/r^6 for every pair of types, [type_count * type_count],
   * symmetric: the combination rule with [ nonbond_params ] put in its place. */
  double* c6;                       /* kJ mol^-1 nm^6 */
  double* c12;                      /* kJ mol^-1 nm^12 */
  tg_molecule_type* molecule_types; /* [molecule_type_count] */
  size_t molecule_type_count, molecule_type_capacity;
  tg_molecule_block* blocks; /* [block_count], in the order of [ molecules ] */
  size_t block_count, block_capacity;
  char** files; /* [file_count]: names of the .top and all that it includes */
  size_t file_count;
} tg_topology;

typedef struct tg_topology_options {
  const char* const* include_folders; /* [include_count]: -I and the .mdp's include */
  int include_count;
  const char* const* defines; /* [define_count]: "NAME" or "NAME=value" (.mdp define, -D) */
  int define_count;
} tg_topology_options;

/** Reads a topology with its preprocessor. Every rule of the format that scope allows; anything
 * else is TG_ERR_INPUT with file:line:column of the file it stands in (the include, not the
 * includer). Unusual but legal things are warned about through log. Release with tg_topology_free.
 */
tg_status tg_topology_read(const char* path, const tg_topology_options* options, const tg_log* log,
                           tg_topology* out);
void tg_topology_free(tg_topology* topology);
/** Total number of atoms. */
size_t tg_topology_atoms(const tg_topology* topology);

#endif
