/* SPDX-License-Identifier: Apache-2.0 */
/* Assembles a system from its files, and checks that they fit together. */
#include "md/system.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/units.h"
#include "md/system_parts.h"
#include "md/velocities.h"

void tg_md_reaction_field(const tg_parameters* parameters, double* k, double* c, double* scale) {
  double rc = parameters->cutoff, er = parameters->epsilon_r, erf = parameters->epsilon_rf;
  *scale = TG_COULOMB / er;
  if (parameters->coulomb_type == TG_COULOMB_CUT_OFF) {
    /* outside the cut-off as inside: no response; the shift alone remains */
    *k = 0;
    *c = parameters->coulomb_modifier == TG_MODIFIER_POTENTIAL_SHIFT ? 1 / rc : 0;
    return;
  }
  *k = erf == 0 ? 1 / (2 * rc * rc * rc) : (erf - er) / ((2 * erf + er) * rc * rc * rc);
  *c = 1 / rc + *k * rc * rc;
}

void tg_md_system_destroy(tg_md_system** system) {
  if (!system || !*system) return;
  tg_md_system* s = *system;
  for (size_t t = 0; s->groups && t < s->topology.molecule_type_count; t++)
    tg_md_free_groups(&s->groups[t]);
  tg_free(s->groups);
  tg_topology_free(&s->topology);
  tg_parameters_free(&s->parameters);
  tg_configuration_free(&s->start);
  tg_index_free(&s->index);
  tg_free(s->restraint_x);
  tg_free(s->molecule_type);
  tg_free(s->molecule_first);
  tg_free(s->atom_molecule);
  tg_free(s->temperature_group);
  tg_free(s->comm_group);
  tg_free(s);
  *system = NULL;
}

static tg_status read_parameters(const tg_md_files* files, const tg_log* log, tg_md_system* s) {
  if (!files->parameters) return tg_parameters_default(&s->parameters);
  return tg_parameters_read(files->parameters, files->chance_seed, log, &s->parameters);
}

/* The folders of -I, then those of the .mdp file. */
static tg_status read_topology(const tg_md_files* files, const tg_log* log, tg_md_system* s) {
  const tg_parameters* p = &s->parameters;
  int count = files->include_count + p->include_count;
  const char** folders = NULL;
  TG_TRY(TG_ALLOCATE((size_t)count, "include folders", &folders));
  for (int i = 0; i < count; i++)
    folders[i] = i < files->include_count ? files->include_folders[i]
                                          : p->includes[i - files->include_count];
  tg_topology_options options = {folders, count, (const char* const*)p->defines, p->define_count};
  tg_status status = tg_topology_read(files->topology, &options, log, &s->topology);
  tg_free(folders);
  return status;
}

static tg_status list_molecules(const tg_md_files* files, tg_md_system* s) {
  const tg_topology* topology = &s->topology;
  s->atom_count = tg_topology_atoms(topology);
  if (s->atom_count == 0)
    return tg_fail(TG_ERR_INPUT, "%s: [ molecules ] holds no atom", files->topology);
  if (s->atom_count > INT32_MAX)
    return tg_fail(TG_ERR_INPUT, "%s: %zu atoms are more than this version can number (%d)",
                   files->topology, s->atom_count, INT32_MAX);
  for (size_t b = 0; b < topology->block_count; b++)
    s->molecule_count += (size_t)topology->blocks[b].count;
  TG_TRY(TG_ALLOCATE(s->molecule_count, "molecules", &s->molecule_type));
  TG_TRY(TG_ALLOCATE(s->molecule_count + 1, "molecules", &s->molecule_first));
  TG_TRY(TG_ALLOCATE(s->atom_count, "molecules", &s->atom_molecule));
  size_t molecule = 0, atom = 0;
  for (size_t b = 0; b < topology->block_count; b++) {
    int type = topology->blocks[b].molecule_type;
    for (int i = 0; i < topology->blocks[b].count; i++, molecule++) {
      s->molecule_type[molecule] = type;
      for (size_t a = 0; a < topology->molecule_types[type].atom_count; a++)
        s->atom_molecule[atom++] = (int)molecule;
      s->molecule_first[molecule + 1] = atom;
    }
  }
  return TG_OK;
}

/* The line of an atom in a .gro file; a .g96 file is named as a whole. */
static tg_place atom_place(const char* path, size_t atom) {
  size_t length = strlen(path);
  bool gro = length > 4 && tg_compare_nocase(path + length - 4, ".gro") == 0;
  return (tg_place){path, gro ? (int)atom + 3 : 0, 0};
}

static tg_status check_count(const char* path, size_t found, const tg_md_files* files,
                             const tg_md_system* s) {
  if (found == s->atom_count) return TG_OK;
  tg_place place = {path, 0, 0};
  size_t length = strlen(path);
  if (length > 4 && tg_compare_nocase(path + length - 4, ".gro") == 0) place.line = 2;
  return tg_fail_at(place,
                    "%zu atoms, but the topology %s has %zu; compare its [ molecules ] with "
                    "the file",
                    found, files->topology, s->atom_count);
}

static int first_letter(const char* name) {
  while (*name && !isalpha((unsigned char)*name)) name++;
  return toupper((unsigned char)*name);
}

/* Names that begin with the same letter are taken as two spellings and warned about; others mean
 * that the molecules stand in another order. */
static tg_status check_names(const tg_md_files* files, const tg_log* log, const tg_md_system* s) {
  size_t differing = 0, example = 0;
  for (size_t i = 0; s->start.names && i < s->atom_count; i++) {
    const tg_atom* atom = tg_md_atom(s, i);
    const char* found = s->start.names[i];
    if (tg_compare_nocase(found, atom->name) == 0) continue;
    if (first_letter(found) != first_letter(atom->name))
      return tg_fail_at(
          atom_place(files->configuration, i),
          "atom %zu is %s of residue %s, but in the topology %s it is %s of residue %s; "
          "the molecules must stand in the order of [ molecules ]",
          i + 1, found, s->start.residues[i], files->topology, atom->name, atom->residue);
    if (differing++ == 0) example = i;
  }
  if (differing > 0)
    tg_log_warning(
        log,
        "%zu atom names of %s differ from %s, the first is atom %zu: %s and %s; those of "
        "the topology are used",
        differing, files->configuration, files->topology, example + 1, s->start.names[example],
        tg_md_atom(s, example)->name);
  return TG_OK;
}

static tg_status check_box(const tg_md_files* files, tg_md_system* s) {
  const double* box = s->start.box;
  tg_place place = atom_place(files->configuration, s->atom_count);
  for (int i = 0; i < 9; i++)
    if (i % 4 != 0 && box[i] != 0)
      return tg_fail_at(place,
                        "the box is triclinic; this version takes rectangular boxes only: "
                        "place the molecules in one");
  for (int d = 0; d < 3; d++) {
    s->box[d] = box[4 * d];
    if (!(s->box[d] > 0))
      return tg_fail_at(place, "the box is %g nm long in %c; a periodic box was expected",
                        s->box[d], "xyz"[d]);
    if (s->box[d] < 2 * s->parameters.cutoff)
      return tg_fail_at(place,
                        "the box is %g nm long in %c, less than twice the cut-off of %g nm; use a "
                        "larger box or a smaller cut-off",
                        s->box[d], "xyz"[d], s -> parameters.cutoff);
  }
  return TG_OK;
}

static tg_status check_masses(const tg_md_files* files, const tg_log* log, const tg_md_system* s) {
  double charge = 0;
  for (size_t i = 0; i < s->atom_count; i++) {
    const tg_atom* atom = tg_md_atom(s, i);
    charge += atom->charge;
    if (!(atom->mass > 0))
      return tg_fail(
          TG_ERR_INPUT,
          "%s: atom %zu (%s of %s) has mass %g; a mass above 0 was expected (virtual sites "
          "are not supported)",
          files->topology, i + 1, atom->name, atom->residue, atom->mass);
  }
  if (fabs(charge) > 1e-4)
    tg_log_warning(log, "%s: the net charge is %.4f e%s", files->topology, charge,
                   fabs(charge - round(charge)) > 1e-3 ? ", not a whole number" : "");
  return TG_OK;
}

static tg_status find_constraints(const tg_md_files* files, tg_md_system* s) {
  tg_topology* topology = &s->topology;
  TG_TRY(tg_md_convert_bonds(topology, s->parameters.constraints, files->topology));
  TG_TRY(TG_ALLOCATE(topology->molecule_type_count, "constraint groups", &s->groups));
  for (size_t t = 0; t < topology->molecule_type_count; t++)
    TG_TRY(tg_md_find_groups(&topology->molecule_types[t], &s->groups[t]));
  for (size_t m = 0; m < s->molecule_count; m++) {
    int t = s->molecule_type[m];
    const tg_interactions* lists = topology->molecule_types[t].interactions;
    s->constraint_count += lists[TG_CONSTRAINT].count + 3 * lists[TG_SETTLE].count;
    s->group_radius = fmax(s->group_radius, s->groups[t].radius);
  }
  return TG_OK;
}

static tg_status read_restraints(const tg_md_files* files, const tg_log* log, tg_md_system* s) {
  const tg_molecule_type* restrained = NULL;
  for (size_t m = 0; m < s->molecule_count && !restrained; m++) {
    const tg_molecule_type* type = &s->topology.molecule_types[s->molecule_type[m]];
    if (type->interactions[TG_POSITION_RESTRAINT].count > 0) restrained = type;
  }
  if (!restrained && !files->restraints) return TG_OK;
  if (!files->restraints)
    return tg_fail_at((tg_place){restrained->restraint_file, restrained->restraint_line, 0},
                      "there are position restraints (of %s), but no reference positions; add -r "
                      "FILE (it may be the file of -c)",
                      restrained->name);
  tg_configuration reference;
  TG_TRY(tg_configuration_read(files->restraints, &reference));
  tg_status status = check_count(files->restraints, reference.count, files, s);
  if (!restrained)
    tg_log_warning(log, "%s (-r) is not used: the topology %s has no position restraints",
                   files->restraints, files->topology);
  if (status == TG_OK && restrained) {
    s->restraint_x = reference.x;
    reference.x = NULL;
  }
  tg_configuration_free(&reference);
  if (status == TG_OK && restrained && s->parameters.comm_mode != TG_COMM_NONE)
    tg_log_warning(log, "%s: comm-mode = Linear works against position restraints; consider None",
                   s->parameters.path);
  return status;
}

/* gen-vel: with exactly gen-temp over the total degrees of freedom. */
static tg_status draw_velocities(tg_md_system* s) {
  if (!s->start.v) TG_TRY(TG_ALLOCATE(s->atom_count, "velocities", &s->start.v));
  tg_velocities draw = {.topology = &s->topology,
                        .copies = 1,
                        .x = (const double(*)[3])s->start.x,
                        .temperature = s->parameters.gen_temp,
                        .seed = (uint64_t)s->parameters.gen_seed,
                        .degrees_of_freedom = s->total_degrees_of_freedom,
                        .v = s->start.v};
  memcpy(draw.box, s->start.box, sizeof draw.box);
  tg_velocities_draw(&draw);
  return TG_OK;
}

static tg_status set_velocities(const tg_md_files* files, const tg_log* log, tg_md_system* s) {
  if (s->parameters.generate_velocities) return draw_velocities(s);
  if (s->start.v) return TG_OK;
  if (s->parameters.integrator == TG_INTEGRATOR_LEAP_FROG)
    tg_log_warning(log, "%s has no velocities: the run starts at rest (gen-vel = yes draws them)",
                   files->configuration);
  return TG_ALLOCATE(s->atom_count, "velocities", &s->start.v);
}

static tg_status check_groups(const tg_md_system* s) {
  const tg_parameters* p = &s->parameters;
  for (int i = 0; i < p->compressed_group_count; i++)
    if (!tg_index_find(&s->index, p->compressed_groups[i]))
      return tg_fail(TG_ERR_INPUT, "%s: compressed-x-grps: there is no group %s", p->path,
                     p->compressed_groups[i]);
  return TG_OK;
}

static tg_status assemble(const tg_md_files* files, const tg_log* log, tg_md_system* s) {
  TG_TRY(read_parameters(files, log, s));
  TG_TRY(read_topology(files, log, s));
  TG_TRY(list_molecules(files, s));
  TG_TRY(tg_configuration_read(files->configuration, &s->start));
  TG_TRY(check_count(files->configuration, s->start.count, files, s));
  TG_TRY(check_names(files, log, s));
  TG_TRY(check_box(files, s));
  TG_TRY(check_masses(files, log, s));
  TG_TRY(find_constraints(files, s));
  TG_TRY(tg_index_read(files->index, &s->topology, &s->index));
  TG_TRY(check_groups(s));
  TG_TRY(tg_md_count_freedom(s, log));
  TG_TRY(read_restraints(files, log, s));
  return set_velocities(files, log, s);
}

tg_status tg_md_system_read(const tg_md_files* files, const tg_log* log, tg_md_system** out) {
  static const tg_log silent = {NULL, NULL};
  *out = NULL;
  if (!files->configuration || !files->topology)
    return tg_fail(TG_ERR_INPUT, "a configuration (-c) and a topology (-p) are needed");
  tg_md_system* system = NULL;
  TG_TRY(TG_ALLOCATE((size_t)1, "the system", &system));
  tg_status status = assemble(files, log ? log : &silent, system);
  if (status != TG_OK) tg_md_system_destroy(&system);
  *out = system;
  return status;
}
