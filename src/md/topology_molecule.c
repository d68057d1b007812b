/* SPDX-License-Identifier: Apache-2.0 */
/* [ moleculetype ], [ atoms ], [ exclusions ], and what the system is made of. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "md/topology_reader.h"

static tg_status copy_word(tg_word word, char** out) {
  TG_TRY(TG_ALLOCATE((size_t)word.length + 1, "a name", out));
  memcpy(*out, word.start, (size_t)word.length);
  return TG_OK;
}

tg_status tg_reader_molecule_type(tg_topology_reader* reader) {
  tg_topology* topology = reader->topology;
  TG_TRY(tg_reader_columns(reader, 2, 2, "the molecule's name and nrexcl"));
  if (reader->directive_lines > 1)
    return tg_fail_at(
        tg_reader_place(reader, 0),
        "second line of [ moleculetype ]; each molecule needs its own [ moleculetype ]");
  int depth = 0;
  TG_TRY(tg_reader_int(reader, 1, "nrexcl", &depth));
  if (depth < 0)
    return tg_fail_at(tg_reader_place(reader, 1), "nrexcl must not be negative, found %d", depth);
  for (size_t i = 0; i < topology->molecule_type_count; i++)
    if (tg_word_is(reader->words[0], topology->molecule_types[i].name))
      return tg_fail_at(tg_reader_place(reader, 0),
                        "molecule type '%s' is defined a second time; is a file included twice?",
                        topology->molecule_types[i].name);
  if (!reader->parameters_closed) TG_TRY(tg_reader_close_parameters(reader));
  TG_TRY(TG_RESERVE(topology->molecule_type_count + 1, "molecule types", &topology->molecule_types,
                    &topology->molecule_type_capacity));
  tg_molecule_type* molecule = &topology->molecule_types[topology->molecule_type_count];
  TG_TRY(copy_word(reader->words[0], &molecule->name));
  topology->molecule_type_count++;
  molecule->exclusion_bonds = depth;
  reader->molecule = molecule;
  reader->molecule_place = tg_reader_place(reader, 0);
  reader->bonds.count = reader->exclusions.count = 0;
  return TG_OK;
}

/* "52", or "52A" with an insertion code, which is left out. */
static tg_status read_residue_number(const tg_topology_reader* reader, int index, int* out) {
  tg_word word = reader->words[index];
  char last = word.start[word.length - 1];
  bool code = word.length > 1 && ((last >= 'A' && last <= 'Z') || (last >= 'a' && last <= 'z'));
  if (tg_parse_int(word.start, word.length - code, out)) return TG_OK;
  return tg_reader_int(reader, index, "the residue number", out);
}

static tg_status check_b_state(const tg_topology_reader* reader, const tg_atom* atom) {
  if (reader->word_count <= 8) return TG_OK;
  int type = tg_reader_find_atom_type(reader, reader->words[8]);
  if (type < 0)
    return tg_fail_at(tg_reader_place(reader, 8), "[ atoms ]: type '%.*s' is not in [ atomtypes ]",
                      reader->words[8].length, reader->words[8].start);
  double charge = reader->topology->atom_types[type].charge;
  double mass = reader->topology->atom_types[type].mass;
  if (type == atom->type) { /* the same type without numbers means the same atom */
    charge = atom->charge;
    mass = atom->mass;
  }
  if (reader->word_count > 9) TG_TRY(tg_reader_double(reader, 9, "the charge of state B", &charge));
  if (reader->word_count > 10) TG_TRY(tg_reader_double(reader, 10, "the mass of state B", &mass));
  if (type == atom->type && charge == atom->charge && mass == atom->mass) return TG_OK;
  return tg_fail_at(tg_reader_place(reader, 8),
                    "[ atoms ]: the B state of this atom differs from its A state; free-energy "
                    "perturbation is not supported");
}

/* nr type resnr residue atom cgnr [charge [mass [B: type charge mass]]] */
tg_status tg_reader_atom_line(tg_topology_reader* reader) {
  TG_TRY(tg_reader_columns(
      reader, 6, 11, "nr type resnr residue atom cgnr [charge [mass [B: type charge mass]]]"));
  tg_molecule_type* molecule = reader->molecule;
  tg_atom atom = {0};
  int number = 0;
  TG_TRY(tg_reader_int(reader, 0, "the atom's number", &number));
  if (number < 1 || (size_t)number != molecule->atom_count + 1)
    return tg_fail_at(tg_reader_place(reader, 0),
                      "[ atoms ]: atoms are numbered 1, 2, ... in order; expected %zu, found %d",
                      molecule->atom_count + 1, number);
  atom.type = tg_reader_find_atom_type(reader, reader->words[1]);
  if (atom.type < 0)
    return tg_fail_at(tg_reader_place(reader, 1), "[ atoms ]: type '%.*s' is not in [ atomtypes ]",
                      reader->words[1].length, reader->words[1].start);
  const tg_atom_type* type = &reader->topology->atom_types[atom.type];
  if (type->particle == 'V' || type->particle == 'D')
    return tg_fail_at(tg_reader_place(reader, 1),
                      "[ atoms ]: '%s' is a virtual site, which is not supported yet", type->name);
  if (type->particle == 'S')
    return tg_fail_at(tg_reader_place(reader, 1),
                      "[ atoms ]: '%s' is a shell particle, which is not supported yet",
                      type->name);
  TG_TRY(read_residue_number(reader, 2, &atom.residue_number));
  TG_TRY(tg_reader_name(reader, 3, "the residue name", atom.residue, sizeof atom.residue));
  TG_TRY(tg_reader_name(reader, 4, "the atom name", atom.name, sizeof atom.name));
  TG_TRY(tg_reader_int(reader, 5, "the charge group", &atom.charge_group));
  atom.charge = type->charge;
  atom.mass = type->mass;
  if (reader->word_count > 6) TG_TRY(tg_reader_double(reader, 6, "the charge", &atom.charge));
  if (reader->word_count > 7) TG_TRY(tg_reader_double(reader, 7, "the mass", &atom.mass));
  if (!(atom.mass > 0))
    return tg_fail_at(tg_reader_place(reader, 7),
                      "[ atoms ]: the mass of atom %d must be above 0, found %g%s", number,
                      atom.mass, reader->word_count > 7 ? "" : " (from its type)");
  TG_TRY(check_b_state(reader, &atom));
  TG_TRY(TG_RESERVE(molecule->atom_count + 1, "atoms", &molecule->atoms, &molecule->atom_capacity));
  molecule->atoms[molecule->atom_count++] = atom;
  return TG_OK;
}

tg_status tg_reader_exclusion_line(tg_topology_reader* reader) {
  int first = 0, other = 0;
  TG_TRY(tg_reader_atom(reader, 0, &first));
  if (reader->word_count == 1) {
    tg_place place = tg_reader_place(reader, 0);
    tg_log_warning(reader->log, "%s:%d: [ exclusions ]: atom %d excludes nothing", place.file,
                   place.line, first + 1);
  }
  for (int i = 1; i < reader->word_count; i++) {
    TG_TRY(tg_reader_atom(reader, i, &other));
    if (other != first) TG_TRY(tg_reader_add_pair(&reader->exclusions, first, other));
  }
  return TG_OK;
}

/* Charges are written with three to six decimals, each off by up to half a unit of the last, so
 * that even thousands of atoms sum to a whole number within this; a wrong residue or a lost atom
 * does not. */
static const double charge_tolerance = 0.01;

tg_status tg_reader_finish_molecule(tg_topology_reader* reader) {
  tg_molecule_type* molecule = reader->molecule;
  if (!molecule) return TG_OK;
  if (molecule->atom_count == 0)
    return tg_fail_at(reader->molecule_place, "molecule type '%s' has no atoms", molecule->name);
  double charge = 0;
  for (size_t i = 0; i < molecule->atom_count; i++) charge += molecule->atoms[i].charge;
  if (fabs(charge - nearbyint(charge)) > charge_tolerance)
    tg_log_warning(reader->log, "%s:%d: the charge of molecule '%s', %.6g e, is not a whole number",
                   reader->molecule_place.file, reader->molecule_place.line, molecule->name,
                   charge);
  return tg_topology_exclude(molecule, &reader->bonds, &reader->exclusions);
}

tg_status tg_reader_system(tg_topology_reader* reader) {
  if (reader->title) {
    tg_place place = tg_reader_place(reader, 0);
    tg_log_warning(reader->log, "%s:%d: [ system ] has one line, the title; this one is left out",
                   place.file, place.line);
    return TG_OK;
  }
  reader->title = true;
  TG_FREE(reader->topology->title);
  TG_TRY(tg_copy_text(reader->words[0].start, &reader->topology->title));
  char* title = reader->topology->title;
  size_t length = strlen(title);
  while (length && (title[length - 1] == ' ' || title[length - 1] == '\t')) title[--length] = '\0';
  return TG_OK;
}

/* The molecule of that name; if there is none, the only one that differs in case. */
static tg_status find_molecule(const tg_topology_reader* reader, int* out) {
  const tg_topology* topology = reader->topology;
  tg_word word = reader->words[0];
  int alike = 0;
  for (size_t i = 0; i < topology->molecule_type_count; i++) {
    const char* name = topology->molecule_types[i].name;
    if (tg_word_is_nocase(word, name)) {
      alike++;
      *out = (int)i;
    }
    if (tg_word_is(word, name)) return TG_OK;
  }
  tg_place place = tg_reader_place(reader, 0);
  if (alike == 1) {
    tg_log_warning(reader->log, "%s:%d: molecule '%.*s' taken for '%s'", place.file, place.line,
                   word.length, word.start, topology->molecule_types[*out].name);
    return TG_OK;
  }
  char names[512] = "";
  size_t used = 0;
  for (size_t i = 0; i < topology->molecule_type_count && used < sizeof names; i++)
    used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "",
                             topology->molecule_types[i].name);
  return tg_fail_at(place, "[ molecules ]: '%.*s' is %s; [ moleculetype ] has %s", word.length,
                    word.start, alike ? "ambiguous" : "not defined", names);
}

tg_status tg_reader_molecules(tg_topology_reader* reader) {
  tg_topology* topology = reader->topology;
  TG_TRY(tg_reader_columns(reader, 2, 2, "a molecule's name and how many there are"));
  tg_molecule_block block = {0};
  TG_TRY(find_molecule(reader, &block.molecule_type));
  TG_TRY(tg_reader_int(reader, 1, "the number of molecules", &block.count));
  if (block.count < 0)
    return tg_fail_at(tg_reader_place(reader, 1),
                      "[ molecules ]: the number of molecules must not be negative, found %d",
                      block.count);
  const tg_molecule_type* type = &topology->molecule_types[block.molecule_type];
  if (block.count == 0) {
    tg_place place = tg_reader_place(reader, 0);
    tg_log_warning(reader->log, "%s:%d: [ molecules ] has 0 of '%s'", place.file, place.line,
                   type->name);
    return TG_OK;
  }
  if (tg_topology_atoms(topology) + (size_t)block.count * type->atom_count > INT_MAX)
    return tg_fail_at(tg_reader_place(reader, 1), "[ molecules ]: more than %d atoms in all",
                      INT_MAX);
  TG_TRY(TG_RESERVE(topology->block_count + 1, "molecules", &topology->blocks,
                    &topology->block_capacity));
  topology->blocks[topology->block_count++] = block;
  return TG_OK;
}
