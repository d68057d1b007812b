/* SPDX-License-Identifier: Apache-2.0 */
/* Bins of atoms, and interactions kind by kind; device_groups.c has the constraint groups. */
#include "md/device_work.h"

#include <limits.h>
#include <string.h>

#include "base/memory.h"
#include "md/device_work_internal.h"

_Static_assert((int)TG_DEVICE_RESTRAINT == (int)TG_POSITION_RESTRAINT &&
                   (int)TG_DEVICE_PAIR_14 == (int)TG_PAIR_14 &&
                   (int)TG_DEVICE_EXCLUDED == (int)TG_CONSTRAINT,
               "interactions have the topology's numbers");

void tg_device_work_free(tg_device_work* w) {
  TG_FREE(w->inverse_mass);
  TG_FREE(w->bin);
  TG_FREE(w->items);
  TG_FREE(w->item_parameters);
  TG_FREE(w->parameters);
  TG_FREE(w->waters);
  TG_FREE(w->settles);
  for (int i = 0; i < TG_DEVICE_WIDTHS; i++) {
    TG_FREE(w->groups[i].atom);
    TG_FREE(w->groups[i].table);
  }
  TG_FREE(w->lanes);
  TG_FREE(w->single);
  memset(w, 0, sizeof *w);
}

/* The number of the pair of groups, a new one where it is met for the first time; -1: too many. */
static int bin_of(tg_device_work* w, int temperature, int comm) {
  for (int b = 0; b < w->bin_count; b++)
    if (w->bin_temperature[b] == temperature && w->bin_comm[b] == comm) return b;
  if (w->bin_count == TG_DEVICE_BINS) return -1;
  w->bin_temperature[w->bin_count] = temperature;
  w->bin_comm[w->bin_count] = comm;
  return w->bin_count++;
}

static tg_status sort_into_bins(const tg_md_system* system, tg_device_work* w) {
  TG_TRY(TG_ALLOCATE(w->atom_count, "masses", &w->inverse_mass));
  TG_TRY(TG_ALLOCATE(w->atom_count, "atom groups", &w->bin));
  w->temperature_count = system->temperature_group_count;
  w->comm_count = system->comm_group_count;
  for (size_t i = 0; i < w->atom_count; i++) {
    const int temperature = system->temperature_group ? system->temperature_group[i] : 0;
    int comm = system->comm_group_count > 0 ? 0 : -1;
    if (system->comm_group) comm = system->comm_group[i];
    if (comm >= system->comm_group_count) comm = -1;
    const int bin = bin_of(w, temperature, comm);
    if (bin < 0)
      return tg_fail(TG_ERR_INPUT,
                     "tc-grps and comm-grps divide the atoms into more than %d parts: more than a "
                     "GPU's update has room for; use fewer groups or --backend omp",
                     TG_DEVICE_BINS);
    w->bin[i] = (unsigned char)bin;
    w->inverse_mass[i] = (float)(1 / tg_md_atom(system, i)->mass);
    w->bin_mass[bin] += 1 / (double)w->inverse_mass[i];
  }
  return TG_OK;
}

static tg_status add_item(tg_device_work* w, const int* atoms, int count, size_t first,
                          size_t parameters) {
  const size_t at = w->kind_start[TG_DEVICE_KINDS]; /* so far */
  TG_TRY(TG_RESERVE(at + 1, "bonded interactions", &w->items, &w->items_capacity));
  TG_TRY(
      TG_RESERVE(at + 1, "bonded interactions", &w->item_parameters, &w->item_parameters_capacity));
  for (int i = 0; i < 4; i++) w->items[at][i] = i < count ? (int)first + atoms[i] : -1;
  w->item_parameters[at] = (int)parameters;
  w->kind_start[TG_DEVICE_KINDS]++;
  return TG_OK;
}

static tg_status fill_warp(tg_device_work* w) {
  while (w->kind_start[TG_DEVICE_KINDS] % TG_DEVICE_WARP != 0) TG_TRY(add_item(w, NULL, 0, 0, 0));
  return TG_OK;
}

/* Parameters of this kind in all molecule types; first[m]: where type m's begin. */
static tg_status list_parameters(const tg_md_system* system, int kind, tg_device_work* w,
                                 size_t* first) {
  for (size_t m = 0; m < system->topology.molecule_type_count; m++) {
    const tg_interactions* list = &system->topology.molecule_types[m].interactions[kind];
    first[m] = w->parameter_count;
    TG_TRY(TG_RESERVE(w->parameter_count + list->count, "bonded parameters", &w->parameters,
                      &w->parameters_capacity));
    for (size_t i = 0; i < list->count; i++)
      memcpy(w->parameters[w->parameter_count++], list->items[i].parameters,
             sizeof w->parameters[0]);
  }
  return TG_OK;
}

static tg_status list_kind(const tg_md_system* system, int kind, size_t* first_parameter,
                           tg_device_work* w) {
  w->kind_start[kind] = w->kind_start[TG_DEVICE_KINDS];
  TG_TRY(list_parameters(system, kind, w, first_parameter));
  const int width = tg_interaction_atoms((tg_interaction_kind)kind);
  for (size_t m = 0; m < system->molecule_count; m++) {
    const int type = system->molecule_type[m];
    const tg_interactions* list = &system->topology.molecule_types[type].interactions[kind];
    for (size_t i = 0; i < list->count; i++)
      TG_TRY(add_item(w, list->items[i].atoms, width, system->molecule_first[m],
                      first_parameter[type] + i));
  }
  return fill_warp(w);
}

/* Whether both atoms are in the same of the molecule's rigid waters. */
static bool in_one_water(const tg_molecule_type* type, int a, int b) {
  const tg_interactions* waters = &type->interactions[TG_SETTLE];
  for (size_t i = 0; i < waters->count; i++) {
    int found = 0;
    for (int k = 0; k < 3; k++)
      found += waters->items[i].atoms[k] == a || waters->items[i].atoms[k] == b;
    if (found == 2) return true;
  }
  return false;
}

/* Without rigid waters all of an atom's excluded pairs are to be computed, by the atom: one force
 * is added instead of two a pair. */
static bool is_by_atom(const tg_molecule_type* type) {
  return type->interactions[TG_SETTLE].count == 0;
}

static bool has_excluded_charge(const tg_molecule_type* type, int a) {
  if (type->atoms[a].charge == 0) return false;
  for (int e = type->exclusion_start[a]; e < type->exclusion_start[a + 1]; e++)
    if (type->exclusion[e] != a && type->atoms[type->exclusion[e]].charge != 0) return true;
  return false;
}

static tg_status list_excluded_by_atom(const tg_md_system* system, tg_device_work* w) {
  w->kind_start[TG_DEVICE_EXCLUDED_BY_ATOM] = w->kind_start[TG_DEVICE_KINDS];
  for (size_t m = 0; m < system->molecule_count; m++) {
    const tg_molecule_type* type = &system->topology.molecule_types[system->molecule_type[m]];
    if (!is_by_atom(type)) continue;
    for (int a = 0; a < (int)type->atom_count; a++)
      if (has_excluded_charge(type, a)) TG_TRY(add_item(w, &a, 1, system->molecule_first[m], 0));
  }
  return fill_warp(w);
}

static tg_status list_excluded(const tg_md_system* system, bool rigid, tg_device_work* w) {
  const int kind = rigid ? TG_DEVICE_EXCLUDED_RIGID : TG_DEVICE_EXCLUDED;
  w->kind_start[kind] = w->kind_start[TG_DEVICE_KINDS];
  for (size_t m = 0; m < system->molecule_count; m++) {
    const tg_molecule_type* type = &system->topology.molecule_types[system->molecule_type[m]];
    for (int a = 0; a < (int)type->atom_count; a++)
      for (int e = type->exclusion_start[a]; e < type->exclusion_start[a + 1]; e++) {
        const int pair[2] = {a, type->exclusion[e]};
        if (pair[1] <= a || is_by_atom(type) || in_one_water(type, a, pair[1]) != rigid) continue;
        if (type->atoms[a].charge == 0 || type->atoms[pair[1]].charge == 0) continue;
        TG_TRY(add_item(w, pair, 2, system->molecule_first[m], 0));
      }
  }
  return fill_warp(w);
}

static tg_status list_interactions(const tg_md_system* system, tg_device_work* w) {
  size_t* first = NULL;
  TG_TRY(TG_ALLOCATE(system->topology.molecule_type_count, "bonded parameters", &first));
  tg_status status = TG_OK;
  for (int kind = 0; kind < TG_DEVICE_EXCLUDED && status == TG_OK; kind++)
    status = list_kind(system, kind, first, w);
  tg_free(first);
  TG_TRY(status);
  TG_TRY(list_excluded(system, false, w));
  TG_TRY(list_excluded_by_atom(system, w));
  return list_excluded(system, true, w);
}

tg_status tg_device_work_make(const tg_md_system* system, tg_device_work* out) {
  memset(out, 0, sizeof *out);
  out->atom_count = system->atom_count;
  if (system->atom_count > INT_MAX / 8)
    return tg_fail(TG_ERR_INPUT, "%zu atoms are more than fit on one GPU", system->atom_count);
  TG_TRY(sort_into_bins(system, out));
  TG_TRY(list_interactions(system, out));
  return tg_device_groups_make(system, out);
}
