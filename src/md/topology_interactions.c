/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of a molecule that join atoms: [ bonds ], [ pairs ], [ angles ], [ dihedrals ],
 * [ constraints ], [ settles ] and [ position_restraints ]. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "md/topology_reader.h"

/* What the functions that are not supported are called, so that a message can say it. */
static const struct {
  tg_type_table table;
  int function;
  const char* name;
} unsupported[] = {
    {TG_TABLE_BOND, 2, "fourth-power bond"},
    {TG_TABLE_BOND, 3, "Morse bond"},
    {TG_TABLE_BOND, 4, "cubic bond"},
    {TG_TABLE_BOND, 6, "harmonic potential"},
    {TG_TABLE_BOND, 7, "FENE bond"},
    {TG_TABLE_BOND, 8, "tabulated bond"},
    {TG_TABLE_BOND, 9, "tabulated bond"},
    {TG_TABLE_BOND, 10, "restraint potential"},
    {TG_TABLE_PAIR, 2, "pair with its own charges"},
    {TG_TABLE_ANGLE, 2, "cosine angle"},
    {TG_TABLE_ANGLE, 3, "bond-bond cross term"},
    {TG_TABLE_ANGLE, 4, "bond-angle cross term"},
    {TG_TABLE_ANGLE, 5, "Urey-Bradley"},
    {TG_TABLE_ANGLE, 6, "quartic angle"},
    {TG_TABLE_ANGLE, 8, "tabulated angle"},
    {TG_TABLE_ANGLE, 9, "linear angle"},
    {TG_TABLE_ANGLE, 10, "restricted bending"},
    {TG_TABLE_DIHEDRAL, 5, "Fourier dihedral"},
    {TG_TABLE_DIHEDRAL, 8, "tabulated dihedral"},
    {TG_TABLE_DIHEDRAL, 10, "restricted dihedral"},
    {TG_TABLE_DIHEDRAL, 11, "combined bending-torsion"},
};

static const char* supported_text(tg_type_table table) {
  switch (table) {
    case TG_TABLE_BOND: return "1 (harmonic) and 5 (connection)";
    case TG_TABLE_PAIR: return "1 (Lennard-Jones and Coulomb)";
    case TG_TABLE_ANGLE: return "1 (harmonic)";
    case TG_TABLE_DIHEDRAL: return "1, 2, 3, 4 and 9";
    default: return "1 and 2";
  }
}

static tg_status fail_function(const tg_topology_reader* reader, int index, int function) {
  tg_type_table table = reader->directive->table;
  const char* name = NULL;
  for (size_t i = 0; i < sizeof unsupported / sizeof *unsupported; i++)
    if (unsupported[i].table == table && unsupported[i].function == function)
      name = unsupported[i].name;
  if (!name)
    return tg_fail_at(tg_reader_place(reader, index),
                      "[ %s ]: there is no function %d; supported: %s", reader->directive->name,
                      function, supported_text(table));
  return tg_fail_at(tg_reader_place(reader, index),
                    "[ %s ]: function %d (%s) is not supported yet; supported: %s",
                    reader->directive->name, function, name, supported_text(table));
}

static tg_status read_atoms(const tg_topology_reader* reader, int count, int* atoms) {
  for (int i = 0; i < count; i++) {
    TG_TRY(tg_reader_atom(reader, i, &atoms[i]));
    for (int j = 0; j < i; j++)
      if (atoms[i] == atoms[j])
        return tg_fail_at(tg_reader_place(reader, i), "[ %s ]: atom %d stands twice in one line",
                          reader->directive->name, atoms[i] + 1);
  }
  return TG_OK;
}

static tg_status add(tg_topology_reader* reader, tg_interaction_kind kind,
                     const tg_interaction* item) {
  tg_interactions* list = &reader->molecule->interactions[kind];
  TG_TRY(TG_RESERVE(list->count + 1, "interactions", &list->items, &list->capacity));
  list->items[list->count++] = *item;
  return TG_OK;
}

/* "atoms 1 2 3 (CT CT HC)" */
static void describe(const tg_topology_reader* reader, const int* atoms, bool bonded, char* out,
                     size_t size) {
  size_t used = (size_t)snprintf(out, size, "atoms");
  int count = reader->directive->atoms;
  for (int i = 0; i < count && used < size; i++)
    used += (size_t)snprintf(out + used, size - used, " %d", atoms[i] + 1);
  for (int i = 0; i < count && used < size; i++) {
    const tg_atom_type* type =
        &reader->topology->atom_types[reader->molecule->atoms[atoms[i]].type];
    used += (size_t)snprintf(out + used, size - used, "%s%s%s", i ? " " : " (",
                             bonded ? type->bonded : type->name, i + 1 == count ? ")" : "");
  }
}

static tg_status look_up_pair(tg_topology_reader* reader, tg_interaction* item) {
  size_t a = (size_t)reader->molecule->atoms[item->atoms[0]].type;
  size_t b = (size_t)reader->molecule->atoms[item->atoms[1]].type;
  size_t at = a * reader->topology->type_count + b;
  if (!reader->pair_known[at]) {
    char text[160];
    describe(reader, item->atoms, false, text, sizeof text);
    return tg_fail_at(tg_reader_place(reader, 0),
                      "[ pairs ]: [ pairtypes ] has no parameters for %s, and gen-pairs is no; add "
                      "them there or on this line",
                      text);
  }
  item->parameters[0] = reader->pair_c6[at];
  item->parameters[1] = reader->pair_c12[at];
  return add(reader, TG_PAIR_14, item);
}

static tg_status look_up(tg_topology_reader* reader, tg_interaction_kind kind, int function,
                         tg_interaction* item) {
  tg_type_table table = reader->directive->table;
  int types[4] = {0};
  for (int i = 0; i < reader->directive->atoms; i++)
    types[i] = reader->type_bonded[reader->molecule->atoms[item->atoms[i]].type];
  size_t first, terms;
  tg_reader_find_types(reader, table, function, types, reader->directive->atoms, &first, &terms);
  if (terms == 0) {
    const char* const names[TG_TABLES] = {"bondtypes",  "pairtypes",     "nonbond_params",
                                          "angletypes", "dihedraltypes", "constrainttypes"};
    char text[256];
    describe(reader, item->atoms, true, text, sizeof text);
    return tg_fail_at(tg_reader_place(reader, 0),
                      "[ %s ]: [ %s ] has no function %d parameters for %s; add them there or on "
                      "this line",
                      reader->directive->name, names[table], function, text);
  }
  for (size_t i = first; i < first + terms; i++) {
    const tg_type_entry* entry = &reader->tables[table].items[i];
    TG_TRY(tg_reader_reduce(reader->topology, entry->place, kind, entry->count, entry->parameters,
                            item));
    TG_TRY(add(reader, kind, item));
  }
  return TG_OK;
}

tg_status tg_reader_interaction(tg_topology_reader* reader) {
  int atoms = reader->directive->atoms, function = 0, count = 0;
  tg_type_table table = reader->directive->table;
  tg_interaction item = {0};
  double parameters[TG_TYPE_MAX_PARAMETERS];
  TG_TRY(read_atoms(reader, atoms, item.atoms));
  TG_TRY(tg_reader_int(reader, atoms, "the function", &function));
  bool connection = table == TG_TABLE_BOND && function == 5;
  tg_interaction_kind kind = tg_reader_kind(table, function);
  if (kind == TG_INTERACTION_KINDS && !connection) return fail_function(reader, atoms, function);
  if (table == TG_TABLE_BOND || (table == TG_TABLE_CONSTRAINT && function == 1))
    TG_TRY(tg_reader_add_pair(&reader->bonds, item.atoms[0], item.atoms[1]));
  if (connection)
    return tg_reader_columns(reader, 3, 3, "two atoms and function 5, which has no parameters");
  TG_TRY(tg_reader_numbers(reader, atoms + 1, TG_TYPE_MAX_PARAMETERS, parameters, &count));
  if (count == 0)
    return kind == TG_PAIR_14 ? look_up_pair(reader, &item)
                              : look_up(reader, kind, function, &item);
  TG_TRY(tg_reader_reduce(reader->topology, tg_reader_place(reader, atoms + 1), kind, count,
                          parameters, &item));
  return add(reader, kind, &item);
}

tg_status tg_reader_settle(tg_topology_reader* reader) {
  TG_TRY(tg_reader_columns(reader, 4, 4, "the oxygen's number, function 1, dOH and dHH"));
  tg_interaction item = {0};
  int function = 0;
  TG_TRY(tg_reader_atom(reader, 0, &item.atoms[0]));
  TG_TRY(tg_reader_int(reader, 1, "the function", &function));
  if (function != 1)
    return tg_fail_at(tg_reader_place(reader, 1), "[ settles ]: function must be 1, found %d",
                      function);
  TG_TRY(tg_reader_double(reader, 2, "dOH", &item.parameters[0]));
  TG_TRY(tg_reader_double(reader, 3, "dHH", &item.parameters[1]));
  double oh = item.parameters[0], hh = item.parameters[1];
  if (!(oh > 0) || !(hh > 0) || hh >= 2 * oh)
    return tg_fail_at(tg_reader_place(reader, 2),
                      "[ settles ]: dOH = %g and dHH = %g nm make no triangle", oh, hh);
  int oxygen = item.atoms[0];
  if ((size_t)oxygen + 2 >= reader->molecule->atom_count)
    return tg_fail_at(tg_reader_place(reader, 0),
                      "[ settles ]: atom %d must be followed by its two hydrogens in [ atoms ]",
                      oxygen + 1);
  const tg_atom* atoms = reader->molecule->atoms;
  if (atoms[oxygen + 1].mass != atoms[oxygen + 2].mass)
    return tg_fail_at(tg_reader_place(reader, 0),
                      "[ settles ]: the two hydrogens must have the same mass, found %g and %g",
                      atoms[oxygen + 1].mass, atoms[oxygen + 2].mass);
  for (int i = 1; i < 3; i++) {
    item.atoms[i] = oxygen + i;
    TG_TRY(tg_reader_add_pair(&reader->bonds, oxygen, oxygen + i));
  }
  return add(reader, TG_SETTLE, &item);
}

tg_status tg_reader_restraint(tg_topology_reader* reader) {
  tg_interaction item = {0};
  double parameters[TG_TYPE_MAX_PARAMETERS];
  int function = 0, count = 0;
  TG_TRY(tg_reader_atom(reader, 0, &item.atoms[0]));
  TG_TRY(tg_reader_int(reader, 1, "the function", &function));
  if (function != 1)
    return tg_fail_at(tg_reader_place(reader, 1),
                      "[ position_restraints ]: function %d%s is not supported yet; supported: 1 "
                      "(harmonic)",
                      function, function == 2 ? " (flat-bottomed)" : "");
  TG_TRY(tg_reader_numbers(reader, 2, TG_TYPE_MAX_PARAMETERS, parameters, &count));
  TG_TRY(tg_reader_reduce(reader->topology, tg_reader_place(reader, 2), TG_POSITION_RESTRAINT,
                          count, parameters, &item));
  tg_molecule_type* type = reader->molecule;
  if (!type->restraint_file) {
    tg_place place = tg_reader_place(reader, 0);
    TG_TRY(tg_copy_text(place.file, &type->restraint_file));
    type->restraint_line = place.line;
  }
  return add(reader, TG_POSITION_RESTRAINT, &item);
}
