/* SPDX-License-Identifier: Apache-2.0 */
#include "md/report.h"

#include <math.h>

#include "base/units.h"

/* What is counted over all atoms. */
typedef struct totals {
  double charge, mass, twice_kinetic;
} totals;

static totals add_up(const tg_md_system* system) {
  totals sum = {0};
  for (size_t i = 0; i < system->atom_count; i++) {
    const tg_atom* atom = tg_md_atom(system, i);
    const double* v = system->start.v[i];
    sum.charge += atom->charge;
    sum.mass += atom->mass;
    sum.twice_kinetic += atom->mass * (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
  }
  return sum;
}

static double volume(const tg_md_system* system) {
  return system->box[0] * system->box[1] * system->box[2];
}

static double start_temperature(const tg_md_system* system, const totals* sum) {
  if (!(system->total_degrees_of_freedom > 0)) return 0;
  return sum->twice_kinetic / (system->total_degrees_of_freedom * TG_BOLTZMANN);
}

static size_t settles_of(const tg_md_system* system) {
  size_t count = 0;
  for (size_t m = 0; m < system->molecule_count; m++)
    count +=
        system->topology.molecule_types[system->molecule_type[m]].interactions[TG_SETTLE].count;
  return count;
}

static const char* temperature_group_name(const tg_md_system* system, int group) {
  bool thermostat = system->parameters.thermostat != TG_THERMOSTAT_NONE;
  return thermostat ? system->parameters.temperature_groups[group] : "all atoms";
}

static void report_molecules(const tg_md_system* system, FILE* stream) {
  fprintf(stream, "Molecules\n");
  for (size_t b = 0; b < system->topology.block_count; b++) {
    const tg_molecule_block* block = &system->topology.blocks[b];
    const tg_molecule_type* type = &system->topology.molecule_types[block->molecule_type];
    fprintf(stream, "  %8d  %-16s %zu atom%s each\n", block->count, type->name, type->atom_count,
            type->atom_count == 1 ? "" : "s");
  }
}

static void report_cutoffs(const tg_md_system* system, FILE* stream) {
  const tg_parameters* p = &system->parameters;
  double k = 0, c = 0, scale = 0;
  tg_md_reaction_field(p, &k, &c, &scale);
  fprintf(stream, "Interactions\n  cut-off %g nm; Lennard-Jones %s\n", p->cutoff,
          p->vdw_modifier == TG_MODIFIER_NONE ? "not shifted" : "shifted to zero at the cut-off");
  fprintf(stream, "  Coulomb: %s, f/epsilon-r = %.9g, k = %.9g nm^-3, c = %.9g nm^-1\n",
          p->coulomb_type == TG_COULOMB_CUT_OFF ? "cut off" : "reaction field", scale, k, c);
  fprintf(stream, "  pair list renewed every %d steps%s\n", p->nstlist,
          p->nstlist_given ? "" : " (the default)");
}

static void report_freedom(const tg_md_system* system, FILE* stream) {
  const tg_parameters* p = &system->parameters;
  size_t waters = settles_of(system);
  fprintf(stream, "Motion\n  constraints         %zu", system->constraint_count);
  if (waters)
    fprintf(stream, ", of which %zu in %zu rigid water%s", 3 * waters, waters,
            waters == 1 ? "" : "s");
  fputc('\n', stream);
  if (system->group_radius > 0)
    fprintf(stream, "  constraint groups   within %.3f nm of their centre\n", system->group_radius);
  fprintf(stream, "  degrees of freedom  %.2f\n", system->total_degrees_of_freedom);
  for (int g = 0; g < system->temperature_group_count; g++) {
    fprintf(stream, "    %-17s %.2f", temperature_group_name(system, g),
            system->degrees_of_freedom[g]);
    if (p->thermostat != TG_THERMOSTAT_NONE)
      fprintf(stream, ", %g K, tau %g ps", p->ref_t[g], p->tau_t[g]);
    fputc('\n', stream);
  }
  if (system->restraint_x) fprintf(stream, "  position restraints on\n");
}

void tg_md_system_report(const tg_md_system* system, FILE* stream) {
  const tg_parameters* p = &system->parameters;
  totals sum = add_up(system);
  fprintf(stream, "%s\n", system->topology.title ? system->topology.title : "");
  fprintf(stream, "System\n  atoms        %zu in %zu molecules\n", system->atom_count,
          system->molecule_count);
  fprintf(stream, "  net charge   %.4f e\n  box          %g x %g x %g nm\n",
          fabs(sum.charge) < 5e-5 ? 0.0 : sum.charge, system->box[0], system->box[1],
          system->box[2]);
  fprintf(stream, "  density      %.2f kg/m^3\n  temperature  %.2f K at the start\n",
          sum.mass / volume(system) * TG_DENSITY_SI, start_temperature(system, &sum));
  report_molecules(system, stream);
  report_cutoffs(system, stream);
  report_freedom(system, stream);
  fprintf(stream, "Groups\n");
  for (size_t g = 0; g < system->index.group_count; g++)
    fprintf(stream, "  %8zu  %s\n", system->index.groups[g].count, system->index.groups[g].name);
  fprintf(stream, "Parameters of %s\n", p->path[0] ? p->path : "no file");
  for (int pass = 0; pass < 2; pass++) {
    if (pass == 1) fprintf(stream, "Defaults\n");
    for (int i = 0; i < p->line_count; i++) {
      const tg_parameter_line* line = &p->lines[i];
      if ((line->line == 0) != (pass == 1)) continue;
      char place[16] = "";
      if (line->line) snprintf(place, sizeof place, "%d", line->line);
      fprintf(stream, "  %4s  %-23s = %-16s  %s\n", place, line->key, line->value, line->effect);
    }
  }
}

static void json_molecules(const tg_md_system* system, tg_json* json) {
  tg_json_open_array(json, "molecules");
  for (size_t b = 0; b < system->topology.block_count; b++) {
    const tg_molecule_block* block = &system->topology.blocks[b];
    const tg_molecule_type* type = &system->topology.molecule_types[block->molecule_type];
    tg_json_open_object(json, NULL);
    tg_json_text(json, "name", type->name);
    tg_json_int(json, "count", block->count);
    tg_json_int(json, "atoms_each", (long long)type->atom_count);
    tg_json_close_object(json);
  }
  tg_json_close_array(json);
}

static void json_groups(const tg_md_system* system, tg_json* json) {
  tg_json_open_array(json, "temperature_groups");
  for (int g = 0; g < system->temperature_group_count; g++) {
    tg_json_open_object(json, NULL);
    tg_json_text(json, "name", temperature_group_name(system, g));
    tg_json_double(json, "degrees_of_freedom", system->degrees_of_freedom[g]);
    tg_json_close_object(json);
  }
  tg_json_close_array(json);
  tg_json_open_array(json, "groups");
  for (size_t g = 0; g < system->index.group_count; g++) {
    tg_json_open_object(json, NULL);
    tg_json_text(json, "name", system->index.groups[g].name);
    tg_json_int(json, "atoms", (long long)system->index.groups[g].count);
    tg_json_close_object(json);
  }
  tg_json_close_array(json);
}

static void json_parameters(const tg_parameters* p, tg_json* json) {
  tg_json_open_array(json, "parameters");
  for (int i = 0; i < p->line_count; i++) {
    tg_json_open_object(json, NULL);
    tg_json_text(json, "key", p->lines[i].key);
    tg_json_text(json, "value", p->lines[i].value);
    tg_json_text(json, "effect", p->lines[i].effect);
    tg_json_int(json, "line", p->lines[i].line);
    tg_json_close_object(json);
  }
  tg_json_close_array(json);
}

void tg_md_system_report_json(const tg_md_system* system, tg_json* json) {
  totals sum = add_up(system);
  double k = 0, c = 0, scale = 0;
  tg_md_reaction_field(&system->parameters, &k, &c, &scale);
  tg_json_text(json, "title", system->topology.title);
  tg_json_int(json, "atoms", (long long)system->atom_count);
  json_molecules(system, json);
  tg_json_double(json, "net_charge_e", sum.charge);
  tg_json_doubles(json, "box_nm", system->box, 3);
  tg_json_double(json, "density_kg_m3", sum.mass / volume(system) * TG_DENSITY_SI);
  tg_json_double(json, "temperature_K", start_temperature(system, &sum));
  tg_json_double(json, "cutoff_nm", system->parameters.cutoff);
  tg_json_double(json, "coulomb_scale", scale);
  tg_json_double(json, "reaction_field_k", k);
  tg_json_double(json, "reaction_field_c", c);
  tg_json_int(json, "constraints", (long long)system->constraint_count);
  tg_json_int(json, "rigid_waters", (long long)settles_of(system));
  tg_json_double(json, "constraint_group_radius_nm", system->group_radius);
  tg_json_double(json, "degrees_of_freedom", system->total_degrees_of_freedom);
  tg_json_bool(json, "position_restraints", system->restraint_x != NULL);
  json_groups(system, json);
  json_parameters(&system->parameters, json);
}
