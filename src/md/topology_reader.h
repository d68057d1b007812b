/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/topology_reader.h  What the parts of the topology reader share. Internal to
 * topology*.c. */
#ifndef TG_MD_TOPOLOGY_READER_H
#define TG_MD_TOPOLOGY_READER_H

#include "md/preprocessor.h"
#include "md/topology.h"

/** Tables of parameters that interactions are looked up in. */
typedef enum tg_type_table {
  TG_TABLE_BOND,
  TG_TABLE_PAIR,      /* by atom type; the others by bonded type */
  TG_TABLE_NONBONDED, /* by atom type */
  TG_TABLE_ANGLE,
  TG_TABLE_DIHEDRAL,
  TG_TABLE_CONSTRAINT,
  TG_TABLES,
  TG_TABLE_NONE = TG_TABLES
} tg_type_table;

enum { TG_TYPE_MAX_PARAMETERS = 16, TG_ANY_TYPE = -1 };

/** One line of such a table. */
typedef struct tg_type_entry {
  int types[4]; /* TG_ANY_TYPE: X */
  int function; /* 9 is kept as 1: both are the periodic proper dihedral */
  bool several; /* function 9: lines of the same types that follow are further terms */
  int count;
  double parameters[TG_TYPE_MAX_PARAMETERS];
  tg_place place;
} tg_type_entry;

typedef struct tg_type_list {
  tg_type_entry* items;
  size_t count, capacity;
} tg_type_list;

typedef struct tg_atom_pair {
  int a, b;
} tg_atom_pair;

typedef struct tg_atom_pairs {
  tg_atom_pair* items;
  size_t count, capacity;
} tg_atom_pairs;

typedef struct tg_topology_reader tg_topology_reader;

/** A section of the file: its name, when it may come, what reads its lines. */
typedef struct tg_directive {
  const char* name;
  int rule; /* one of topology.c's */
  tg_status (*read)(tg_topology_reader* reader);
  tg_type_table table;
  int atoms; /* names or atom numbers at the start of a line */
} tg_directive;

struct tg_topology_reader {
  tg_topology* topology;
  tg_preprocessor* preprocessor;
  const char* path;
  const tg_log* log;
  /* the line */
  const tg_directive* directive;
  const char* text;
  tg_word* words; /* [word_count] */
  int word_count;
  size_t word_capacity;
  /* what has been seen */
  bool defaults, parameters_closed, system, title, molecules;
  size_t directive_lines;   /* lines of the present section so far */
  char (*bonded_names)[24]; /* [bonded_count]: a type entry's types point here */
  size_t bonded_count, bonded_capacity;
  int* type_bonded; /* [type_count] */
  size_t type_bonded_capacity;
  double (*type_pair)[2]; /* [type_count] the two numbers of [ atomtypes ] */
  size_t type_pair_capacity;
  tg_type_list tables[TG_TABLES];
  /* 1-4 parameters by pair of types, once the parameters are complete; NULL before */
  double* pair_c6;
  double* pair_c12;
  bool* pair_known;
  /* of the molecule that is being read; NULL outside */
  tg_molecule_type* molecule;
  tg_place molecule_place;
  tg_atom_pairs bonds, exclusions;
};

/* fields: topology_fields.c */
/** Where word number index stands; the whole line if there is no such word. */
tg_place tg_reader_place(const tg_topology_reader* reader, int index);
/** One word as a number; what names it in the message. */
tg_status tg_reader_int(const tg_topology_reader* reader, int index, const char* what, int* out);
tg_status tg_reader_double(const tg_topology_reader* reader, int index, const char* what,
                           double* out);
/** One word as a name of less than size characters. */
tg_status tg_reader_name(const tg_topology_reader* reader, int index, const char* what, char* out,
                         size_t size);
/** All words from first on as numbers. Fails for more than limit. */
tg_status tg_reader_numbers(const tg_topology_reader* reader, int first, int limit, double* out,
                            int* count);
/** Fails unless the line has between least and most words; columns describes them. */
tg_status tg_reader_columns(const tg_topology_reader* reader, int least, int most,
                            const char* columns);
/** An atom number of the file (from 1) as one of the program (from 0). */
tg_status tg_reader_atom(const tg_topology_reader* reader, int index, int* out);

/* sections of the force field: topology_force_field.c */
tg_status tg_reader_defaults(tg_topology_reader* reader);
tg_status tg_reader_atom_type(tg_topology_reader* reader);
int tg_reader_find_atom_type(const tg_topology_reader* reader, tg_word word);
/** Fills the tables of Lennard-Jones and 1-4 parameters; called at the first [ moleculetype ]. */
tg_status tg_reader_close_parameters(tg_topology_reader* reader);
/** The two Lennard-Jones numbers of a file, by its combination rule, as C6 and C12. */
void tg_reader_to_c6_c12(const tg_topology* topology, const double pair[2], double* c6,
                         double* c12);

/* parameter tables: topology_types.c */
tg_status tg_reader_type(tg_topology_reader* reader);
/** Finds the parameters of bonded types. *first and *terms (0: nothing found) into the table. */
void tg_reader_find_types(const tg_topology_reader* reader, tg_type_table table, int function,
                          const int types[4], int count, size_t* first, size_t* terms);
/** The function's interaction, or TG_INTERACTION_KINDS if it is not supported or not one. */
tg_interaction_kind tg_reader_kind(tg_type_table table, int function);
/** Fails if so many parameters cannot be those of kind (with or without a B state). */
tg_status tg_reader_check_count(tg_place place, tg_interaction_kind kind, int count);
/** Reduces parameters as in the file to those of kind: the B state must be the A state. */
tg_status tg_reader_reduce(const tg_topology* topology, tg_place place, tg_interaction_kind kind,
                           int count, const double* parameters, tg_interaction* out);

/* sections of a molecule: topology_molecule.c and topology_interactions.c */
tg_status tg_reader_molecule_type(tg_topology_reader* reader);
tg_status tg_reader_atom_line(tg_topology_reader* reader);
tg_status tg_reader_exclusion_line(tg_topology_reader* reader);
tg_status tg_reader_system(tg_topology_reader* reader);
tg_status tg_reader_molecules(tg_topology_reader* reader);
tg_status tg_reader_finish_molecule(tg_topology_reader* reader);
tg_status tg_reader_interaction(tg_topology_reader* reader);
tg_status tg_reader_settle(tg_topology_reader* reader);
tg_status tg_reader_restraint(tg_topology_reader* reader);
tg_status tg_reader_add_pair(tg_atom_pairs* pairs, int a, int b);

/** Sets a molecule's exclusion lists: everything within its exclusion_bonds bonds, and extra. */
tg_status tg_topology_exclude(tg_molecule_type* molecule, const tg_atom_pairs* bonds,
                              const tg_atom_pairs* extra);

#endif
