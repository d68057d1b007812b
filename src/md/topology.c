/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a topology: sections, their order, and the whole. */
#include "md/topology.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "md/topology_reader.h"

static const struct {
  int atoms, parameters;
  const char* term;
} interactions[] = {
#define TG_INTERACTION_ROW(name, atoms, parameters, term) {atoms, parameters, term},
    TG_INTERACTION_LIST(TG_INTERACTION_ROW)
#undef TG_INTERACTION_ROW
};

int tg_interaction_atoms(tg_interaction_kind kind) { return interactions[kind].atoms; }
int tg_interaction_parameters(tg_interaction_kind kind) { return interactions[kind].parameters; }
const char* tg_interaction_term(tg_interaction_kind kind) { return interactions[kind].term; }

/* When a section may come. */
enum {
  RULE_DEFAULTS,     /* before all others */
  RULE_ATOM_TYPES,   /* after defaults, before molecules */
  RULE_TYPES,        /* after atom types, before molecules */
  RULE_MOLECULE,     /* after atom types, before system */
  RULE_ATOMS,        /* in a molecule */
  RULE_INTERACTIONS, /* in a molecule, after its atoms */
  RULE_SYSTEM,       /* after a molecule */
  RULE_MOLECULES,    /* after system */
  RULE_REFUSED       /* anywhere, as it is an error */
};

static tg_status skip(tg_topology_reader* reader) {
  (void)reader;
  return TG_OK;
}

static tg_status refuse(tg_topology_reader* reader) {
  return tg_fail_at(tg_reader_place(reader, 0), "[ %s ] is not supported yet%s%s%s",
                    reader->directive->name, reader->molecule ? ": used by molecule '" : "",
                    reader->molecule ? reader->molecule->name : "", reader->molecule ? "'" : "");
}

static const tg_directive directives[] = {
    {"defaults", RULE_DEFAULTS, tg_reader_defaults, TG_TABLE_NONE, 0},
    {"atomtypes", RULE_ATOM_TYPES, tg_reader_atom_type, TG_TABLE_NONE, 0},
    {"bondtypes", RULE_TYPES, tg_reader_type, TG_TABLE_BOND, 2},
    {"constrainttypes", RULE_TYPES, tg_reader_type, TG_TABLE_CONSTRAINT, 2},
    {"pairtypes", RULE_TYPES, tg_reader_type, TG_TABLE_PAIR, 2},
    {"angletypes", RULE_TYPES, tg_reader_type, TG_TABLE_ANGLE, 3},
    {"dihedraltypes", RULE_TYPES, tg_reader_type, TG_TABLE_DIHEDRAL, 4},
    {"nonbond_params", RULE_TYPES, tg_reader_type, TG_TABLE_NONBONDED, 2},
    /* implicit solvent is gone from the format; grids of [ cmaptypes ] do nothing without [ cmap ]
     */
    {"implicit_genborn_params", RULE_TYPES, skip, TG_TABLE_NONE, 0},
    {"implicit_surface_params", RULE_TYPES, skip, TG_TABLE_NONE, 0},
    {"cmaptypes", RULE_TYPES, skip, TG_TABLE_NONE, 0},
    {"moleculetype", RULE_MOLECULE, tg_reader_molecule_type, TG_TABLE_NONE, 0},
    {"atoms", RULE_ATOMS, tg_reader_atom_line, TG_TABLE_NONE, 0},
    {"bonds", RULE_INTERACTIONS, tg_reader_interaction, TG_TABLE_BOND, 2},
    {"pairs", RULE_INTERACTIONS, tg_reader_interaction, TG_TABLE_PAIR, 2},
    {"angles", RULE_INTERACTIONS, tg_reader_interaction, TG_TABLE_ANGLE, 3},
    {"dihedrals", RULE_INTERACTIONS, tg_reader_interaction, TG_TABLE_DIHEDRAL, 4},
    {"constraints", RULE_INTERACTIONS, tg_reader_interaction, TG_TABLE_CONSTRAINT, 2},
    {"settles", RULE_INTERACTIONS, tg_reader_settle, TG_TABLE_NONE, 0},
    {"exclusions", RULE_INTERACTIONS, tg_reader_exclusion_line, TG_TABLE_NONE, 0},
    {"position_restraints", RULE_INTERACTIONS, tg_reader_restraint, TG_TABLE_NONE, 0},
    {"system", RULE_SYSTEM, tg_reader_system, TG_TABLE_NONE, 0},
    {"molecules", RULE_MOLECULES, tg_reader_molecules, TG_TABLE_NONE, 0},
    {"pairs_nb", RULE_REFUSED, refuse, TG_TABLE_NONE, 0},
    {"cmap", RULE_REFUSED, refuse, TG_TABLE_NONE, 0},
    {"virtual_sites1", RULE_REFUSED, refuse, TG_TABLE_NONE, 0},
    {"virtual_sites2", RULE_REFUSED, refuse, TG_TABLE_NONE, 0},
    {"virtual_sites3", RULE_REFUSED, refuse, TG_TABLE_NONE, 0},
    {"virtual_sites4", RULE_REFUSED, refuse, TG_TABLE_NONE, 0},
    {"virtual_sitesn", RULE_REFUSED, refuse, TG_TABLE_NONE, 0},
    {"dummies1", RULE_REFUSED, refuse, TG_TABLE_NONE, 0},
    {"dummies2", RULE_REFUSED, refuse, TG_TABLE_NONE, 0},
    {"dummies3", RULE_REFUSED, refuse, TG_TABLE_NONE, 0},
    {"dummies4", RULE_REFUSED, refuse, TG_TABLE_NONE, 0},
    {"dummiesn", RULE_REFUSED, refuse, TG_TABLE_NONE, 0},
    {"polarization", RULE_REFUSED, refuse, TG_TABLE_NONE, 0},
    {"water_polarization", RULE_REFUSED, refuse, TG_TABLE_NONE, 0},
    {"thole_polarization", RULE_REFUSED, refuse, TG_TABLE_NONE, 0},
    {"distance_restraints", RULE_REFUSED, refuse, TG_TABLE_NONE, 0},
    {"orientation_restraints", RULE_REFUSED, refuse, TG_TABLE_NONE, 0},
    {"angle_restraints", RULE_REFUSED, refuse, TG_TABLE_NONE, 0},
    {"angle_restraints_z", RULE_REFUSED, refuse, TG_TABLE_NONE, 0},
    {"dihedral_restraints", RULE_REFUSED, refuse, TG_TABLE_NONE, 0},
    {"intermolecular_interactions", RULE_REFUSED, refuse, TG_TABLE_NONE, 0},
};

/* Names are alike if they differ in case, '_' and '-' only. */
static bool same_name(const char* name, const char* text, size_t length) {
  size_t at = 0;
  for (;;) {
    while (*name == '_') name++;
    while (at < length && (text[at] == '_' || text[at] == '-')) at++;
    if (at == length || !*name) return at == length && !*name;
    if (*name != tolower((unsigned char)text[at])) return false;
    name++;
    at++;
  }
}

/* NULL if the section may come now, otherwise what it needs. */
static const char* check_order(const tg_topology_reader* reader, const tg_directive* next) {
  size_t types = reader->topology->type_count;
  switch (next->rule) {
    case RULE_DEFAULTS: return types ? "must come before [ atomtypes ]" : NULL;
    case RULE_ATOM_TYPES:
    case RULE_TYPES:
      if (reader->parameters_closed)
        return "must come before the first [ moleculetype ]; parameters cannot change after it";
      if (!reader->defaults) return "must come after [ defaults ]";
      return next->rule == RULE_TYPES && !types ? "must come after [ atomtypes ]" : NULL;
    case RULE_MOLECULE:
      if (reader->system) return "must come before [ system ]";
      return types ? NULL : "must come after [ defaults ] and [ atomtypes ]";
    case RULE_ATOMS:
    case RULE_INTERACTIONS:
      if (reader->system) return "must come before [ system ]";
      if (!reader->molecule) return "must come after a [ moleculetype ]";
      return next->rule == RULE_INTERACTIONS && reader->molecule->atom_count == 0
                 ? "must come after the [ atoms ] of its molecule"
                 : NULL;
    case RULE_SYSTEM:
      if (reader->system) return "stands here a second time";
      return reader->parameters_closed ? NULL : "must come after a [ moleculetype ]";
    case RULE_MOLECULES: return reader->system ? NULL : "must come after [ system ]";
    default: return NULL;
  }
}

static tg_status begin_directive(tg_topology_reader* reader) {
  tg_place place = tg_reader_place(reader, 0);
  const char* start = reader->words[0].start + 1;
  const char* end = strchr(start, ']');
  if (!end) return tg_fail_at(place, "'[' without ']': expected a section such as [ atoms ]");
  if (end[1 + strspn(end + 1, " \t")])
    return tg_fail_at(place, "found '%s' after ']'; start a new line there", end + 1);
  while (start < end && isspace((unsigned char)*start)) start++;
  while (end > start && isspace((unsigned char)end[-1])) end--;
  size_t length = (size_t)(end - start);
  const tg_directive* next = NULL;
  for (size_t i = 0; i < sizeof directives / sizeof *directives && !next; i++)
    if (same_name(directives[i].name, start, length)) next = &directives[i];
  if (!next) return tg_fail_at(place, "unknown section [ %.*s ]", (int)length, start);
  const char* problem = check_order(reader, next);
  if (problem) return tg_fail_at(place, "[ %s ] %s", next->name, problem);
  reader->directive = next;
  reader->directive_lines = 0;
  if (next->rule == RULE_MOLECULE || next->rule == RULE_SYSTEM) {
    TG_TRY(tg_reader_finish_molecule(reader));
    reader->molecule = NULL;
  }
  if (next->rule == RULE_SYSTEM) reader->system = true;
  if (next->rule == RULE_MOLECULES) reader->molecules = true;
  if (strcmp(next->name, "intermolecular_interactions") == 0) return refuse(reader);
  return TG_OK;
}

static tg_status read_line(tg_topology_reader* reader) {
  TG_TRY(TG_RESERVE(strlen(reader->text) / 2 + 1, "words", &reader->words, &reader->word_capacity));
  reader->word_count = tg_split_words(reader->text, reader->words, (int)reader->word_capacity);
  if (reader->word_count == 0) return TG_OK;
  if (*reader->words[0].start == '[') return begin_directive(reader);
  if (!reader->directive)
    return tg_fail_at(tg_reader_place(reader, 0),
                      "found '%.*s' before the first section; expected [ defaults ]",
                      reader->words[0].length, reader->words[0].start);
  reader->directive_lines++;
  return reader->directive->read(reader);
}

static tg_status finish(const tg_topology_reader* reader) {
  tg_place whole = {reader->path, 0, 0};
  const tg_topology* topology = reader->topology;
  const char* lacking = !reader->defaults            ? "defaults"
                        : !reader->parameters_closed ? "moleculetype"
                        : !reader->system            ? "system"
                        : !reader->molecules         ? "molecules"
                                                     : NULL;
  if (lacking) return tg_fail_at(whole, "the topology has no [ %s ]", lacking);
  if (topology->block_count == 0)
    return tg_fail_at(whole, "[ molecules ] lists no molecules: the system is empty");
  double charge = 0;
  for (size_t i = 0; i < topology->block_count; i++) {
    const tg_molecule_type* type = &topology->molecule_types[topology->blocks[i].molecule_type];
    double one = 0;
    for (size_t k = 0; k < type->atom_count; k++) one += type->atoms[k].charge;
    charge += one * topology->blocks[i].count;
  }
  if (charge > 0.01 || charge < -0.01)
    tg_log_note(reader->log, "%s: the system has a charge of %.6g e", reader->path, charge);
  return TG_OK;
}

static tg_status read_all(tg_topology_reader* reader) {
  for (;;) {
    TG_TRY(tg_preprocessor_next(reader->preprocessor, &reader->text));
    if (!reader->text) break;
    TG_TRY(read_line(reader));
  }
  if (!reader->topology->title) TG_TRY(tg_copy_text("", &reader->topology->title));
  return finish(reader);
}

static void free_reader(tg_topology_reader* reader) {
  tg_free(reader->words);
  tg_free(reader->bonded_names);
  tg_free(reader->type_bonded);
  tg_free(reader->type_pair);
  for (int i = 0; i < TG_TABLES; i++) tg_free(reader->tables[i].items);
  tg_free(reader->pair_c6);
  tg_free(reader->pair_c12);
  tg_free(reader->pair_known);
  tg_free(reader->bonds.items);
  tg_free(reader->exclusions.items);
  tg_preprocessor_destroy(&reader->preprocessor);
}

tg_status tg_topology_read(const char* path, const tg_topology_options* options, const tg_log* log,
                           tg_topology* out) {
  tg_topology topology = {0};
  const tg_log silent = {0};
  tg_topology_reader reader = {.topology = &topology, .path = path, .log = log ? log : &silent};
  tg_preprocessor_parameters parameters = {.path = path, .log = reader.log};
  if (options) {
    parameters.include_folders = options->include_folders;
    parameters.include_count = options->include_count;
    parameters.defines = options->defines;
    parameters.define_count = options->define_count;
  }
  tg_status status = tg_preprocessor_create(&parameters, &reader.preprocessor);
  if (status == TG_OK) status = read_all(&reader);
  if (status == TG_OK) tg_preprocessor_warn_unused(reader.preprocessor);
  if (status == TG_OK)
    tg_preprocessor_take_names(reader.preprocessor, &topology.files, &topology.file_count);
  free_reader(&reader);
  if (status == TG_OK)
    *out = topology;
  else
    tg_topology_free(&topology);
  return status;
}

void tg_topology_free(tg_topology* topology) {
  if (!topology) return;
  for (size_t i = 0; i < topology->molecule_type_count; i++) {
    tg_molecule_type* type = &topology->molecule_types[i];
    tg_free(type->name);
    tg_free(type->atoms);
    for (int k = 0; k < TG_INTERACTION_KINDS; k++) tg_free(type->interactions[k].items);
    tg_free(type->exclusion_start);
    tg_free(type->restraint_file);
    tg_free(type->exclusion);
  }
  tg_free(topology->title);
  tg_free(topology->atom_types);
  tg_free(topology->c6);
  tg_free(topology->c12);
  tg_free(topology->molecule_types);
  tg_free(topology->blocks);
  for (size_t i = 0; i < topology->file_count; i++) tg_free(topology->files[i]);
  tg_free(topology->files);
  memset(topology, 0, sizeof *topology);
}

size_t tg_topology_atoms(const tg_topology* topology) {
  size_t count = 0;
  for (size_t i = 0; i < topology->block_count; i++)
    count += (size_t)topology->blocks[i].count *
             topology->molecule_types[topology->blocks[i].molecule_type].atom_count;
  return count;
}
