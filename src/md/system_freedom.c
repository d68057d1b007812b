/* SPDX-License-Identifier: Apache-2.0 */
/* Degrees of freedom, per temperature group.
 *
 * An atom has 3; a constraint takes 1/2 from each of its two atoms, SETTLE 1 from each of its
 * three. Removing the motion of the centre of mass of a group takes 3 from it, in proportion to
 * what its atoms have: with n_c the degrees of freedom of centre-of-mass group c, temperature group
 * t, which has n_t and N_tc of its N_t atoms in c, keeps n_t sum_c (N_tc/N_t) (n_c - 3)/n_c
 * (GROMACS's rule). */
#include <string.h>

#include "base/memory.h"
#include "md/system_parts.h"

/* Puts the atoms of the named groups into out: [atom_count]; atoms in none get `count`. *missing:
 * one such atom, or atom_count. */
static tg_status assign_groups(const tg_md_system* system, const char* key, int count,
                               char* const* names, unsigned char* out, size_t* missing) {
  tg_place place = {system->parameters.path, 0, 0};
  for (int i = 0; i < system->parameters.line_count; i++)
    if (strcmp(system->parameters.lines[i].key, key) == 0)
      place.line = system->parameters.lines[i].line;
  memset(out, count, system->atom_count);
  for (int g = 0; g < count; g++) {
    const tg_index_group* group = tg_index_find(&system->index, names[g]);
    if (!group)
      return tg_fail_at(place,
                        "%s: there is no group %s; name one of the .ndx file (-n), a residue "
                        "or molecule name, or System",
                        key, names[g]);
    if (group->count == 0) return tg_fail_at(place, "%s: the group %s is empty", key, names[g]);
    for (size_t i = 0; i < group->count; i++) {
      int atom = group->atoms[i];
      if (out[atom] != count && out[atom] != g)
        return tg_fail_at(place, "%s: atom %d is in %s and in %s; groups must not overlap", key,
                          atom + 1, names[out[atom]], names[g]);
      out[atom] = (unsigned char)g;
    }
  }
  const unsigned char* rest = memchr(out, count, system->atom_count);
  *missing = rest ? (size_t)(rest - out) : system->atom_count;
  return TG_OK;
}

static tg_status assign_temperature(tg_md_system* system) {
  const tg_parameters* p = &system->parameters;
  system->temperature_group_count = 1;
  if (p->thermostat == TG_THERMOSTAT_NONE) return TG_OK;
  size_t missing = 0;
  TG_TRY(TG_ALLOCATE(system->atom_count, "temperature groups", &system->temperature_group));
  TG_TRY(assign_groups(system, "tc-grps", p->temperature_group_count, p->temperature_groups,
                       system->temperature_group, &missing));
  if (missing < system->atom_count)
    return tg_fail(TG_ERR_INPUT,
                   "%s: tc-grps: atom %zu is in none of the groups; they must cover all atoms",
                   p->path, missing + 1);
  system->temperature_group_count = p->temperature_group_count;
  if (p->temperature_group_count == 1) TG_FREE(system->temperature_group);
  return TG_OK;
}

static tg_status assign_comm(tg_md_system* system, const tg_log* log) {
  const tg_parameters* p = &system->parameters;
  system->comm_group_count = 0;
  if (p->comm_mode == TG_COMM_NONE) return TG_OK;
  system->comm_group_count = p->comm_group_count > 0 ? p->comm_group_count : 1;
  if (p->comm_group_count == 0) return TG_OK;
  size_t missing = 0;
  TG_TRY(TG_ALLOCATE(system->atom_count, "centre-of-mass groups", &system->comm_group));
  TG_TRY(assign_groups(system, "comm-grps", p->comm_group_count, p->comm_groups, system->comm_group,
                       &missing));
  if (missing < system->atom_count)
    tg_log_warning(log, "%s: comm-grps: atom %zu is in none of the groups; its motion is kept",
                   p->path, missing + 1);
  else if (p->comm_group_count == 1)
    TG_FREE(system->comm_group);
  return TG_OK;
}

/* The degrees of freedom of each atom of a molecule, before the centre of mass. */
static void molecule_freedom(const tg_molecule_type* type, double* freedom) {
  for (size_t a = 0; a < type->atom_count; a++) freedom[a] = 3;
  const tg_interactions* constraints = &type->interactions[TG_CONSTRAINT];
  for (size_t i = 0; i < constraints->count; i++)
    for (int k = 0; k < 2; k++) freedom[constraints->items[i].atoms[k]] -= 0.5;
  const tg_interactions* settles = &type->interactions[TG_SETTLE];
  for (size_t i = 0; i < settles->count; i++)
    for (int k = 0; k < 3; k++) freedom[settles->items[i].atoms[k]] -= 1;
}

typedef struct tally {
  double temperature[TG_MAX_GROUPS];
  double comm[TG_MAX_GROUPS + 1];
  double atoms[TG_MAX_GROUPS][TG_MAX_GROUPS + 1]; /* temperature group, centre-of-mass group */
} tally;

static tg_status count_groups(const tg_md_system* system, tally* sums) {
  size_t largest = 0;
  const tg_topology* topology = &system->topology;
  for (size_t t = 0; t < topology->molecule_type_count; t++)
    if (topology->molecule_types[t].atom_count > largest)
      largest = topology->molecule_types[t].atom_count;
  double* freedom = NULL;
  TG_TRY(TG_ALLOCATE(largest, "degrees of freedom", &freedom));
  for (size_t m = 0; m < system->molecule_count; m++) {
    const tg_molecule_type* type = &topology->molecule_types[system->molecule_type[m]];
    molecule_freedom(type, freedom);
    for (size_t a = 0; a < type->atom_count; a++) {
      size_t atom = system->molecule_first[m] + a;
      int t = system->temperature_group ? system->temperature_group[atom] : 0;
      int c = system->comm_group ? system->comm_group[atom] : 0;
      sums->temperature[t] += freedom[a];
      sums->comm[c] += freedom[a];
      sums->atoms[t][c] += 1;
    }
  }
  tg_free(freedom);
  return TG_OK;
}

tg_status tg_md_count_freedom(tg_md_system* system, const tg_log* log) {
  TG_TRY(assign_temperature(system));
  TG_TRY(assign_comm(system, log));
  tally* sums = NULL;
  TG_TRY(TG_ALLOCATE((size_t)1, "degrees of freedom", &sums));
  tg_status status = count_groups(system, sums);
  system->total_degrees_of_freedom = 0;
  for (int t = 0; t < system->temperature_group_count; t++) {
    double atoms = 0, kept = 0;
    for (int c = 0; c <= system->comm_group_count; c++) {
      double removed = c < system->comm_group_count ? 3 : 0;
      atoms += sums->atoms[t][c];
      if (sums->comm[c] > removed)
        kept += sums->atoms[t][c] * (sums->comm[c] - removed) / sums->comm[c];
    }
    system->degrees_of_freedom[t] = atoms > 0 ? sums->temperature[t] * kept / atoms : 0;
    system->total_degrees_of_freedom += system->degrees_of_freedom[t];
  }
  tg_free(sums);
  return status;
}
