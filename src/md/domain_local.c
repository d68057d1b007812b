/* SPDX-License-Identifier: Apache-2.0 */
/* From the molecules of the whole system to the interactions of this PE. An interaction belongs to
 * the PE at the component-wise minimum of its atoms' domain offsets (halo.h), as pairs do. */
#include <string.h>

#include "base/memory.h"
#include "md/domain_internal.h"

static bool lowest_here(const uint8_t (*offset)[3], const int* atoms, int count) {
  for (int d = 0; d < 3; d++) {
    int lowest = offset[atoms[0]][d];
    for (int i = 1; i < count; i++)
      if (offset[atoms[i]][d] < lowest) lowest = offset[atoms[i]][d];
    if (lowest != 0) return false;
  }
  return true;
}

/* Local numbers of an interaction's atoms; false where one is not here or the interaction is
 * another's. */
static bool localise_atoms(const tg_domain* domain, size_t first, const int* atoms, int count,
                           int* local) {
  for (int i = 0; i < count; i++) {
    local[i] = domain->local_of_global[first + (size_t)atoms[i]];
    if (local[i] < 0) return false;
  }
  return lowest_here(tg_halo_offsets(domain->halo), local, count);
}

static tg_status list_molecule(tg_domain* domain, int molecule, long long* listed) {
  const tg_md_system* system = domain->system;
  size_t first = system->molecule_first[molecule];
  const tg_molecule_type* type = &system->topology.molecule_types[system->molecule_type[molecule]];
  for (int kind = 0; kind < TG_CONSTRAINT; kind++) {
    const tg_interactions* items = &type->interactions[kind];
    tg_bonded_list* list = &domain->bonded.lists[kind];
    int width = tg_interaction_atoms((tg_interaction_kind)kind);
    for (size_t i = 0; i < items->count; i++) {
      int local[TG_INTERACTION_MAX_ATOMS];
      if (!localise_atoms(domain, first, items->items[i].atoms, width, local)) continue;
      TG_TRY(TG_RESERVE((list->count + 1) * (size_t)width, "bonded atoms", &list->atoms,
                        &list->atoms_capacity));
      TG_TRY(TG_RESERVE(list->count + 1, "bonded parameters", &list->parameters,
                        &list->parameters_capacity));
      memcpy(list->atoms + list->count * (size_t)width, local, (size_t)width * sizeof(int));
      list->parameters[list->count++] = items->items[i].parameters;
      (*listed)++;
    }
  }
  for (size_t a = 0; a < type->atom_count; a++)
    for (int e = type->exclusion_start[a]; e < type->exclusion_start[a + 1]; e++) {
      int pair[2] = {(int)a, type->exclusion[e]}, local[2];
      if (pair[1] <= pair[0] || !localise_atoms(domain, first, pair, 2, local)) continue;
      tg_bonded* bonded = &domain->bonded;
      TG_TRY(TG_RESERVE(2 * (bonded->excluded_count + 1), "excluded pairs", &bonded->excluded,
                        &bonded->excluded_capacity));
      memcpy(bonded->excluded + 2 * bonded->excluded_count++, local, sizeof local);
    }
  return TG_OK;
}

static tg_status list_exclusions(tg_domain* domain) {
  struct tg_domain_scratch* scratch = domain->scratch;
  const tg_md_system* system = domain->system;
  TG_TRY(TG_RESERVE(domain->local_count + 1, "exclusions", &scratch->exclusion_start,
                    &scratch->exclusion_start_capacity));
  size_t used = 0;
  for (size_t i = 0; i < domain->local_count; i++) {
    scratch->exclusion_start[i] = (int)used;
    int molecule = system->atom_molecule[domain->global[i]];
    size_t first = system->molecule_first[molecule];
    const tg_molecule_type* type =
        &system->topology.molecule_types[system->molecule_type[molecule]];
    size_t atom = (size_t)domain->global[i] - first;
    int begin = type->exclusion_start[atom], end = type->exclusion_start[atom + 1];
    TG_TRY(TG_RESERVE(used + (size_t)(end - begin), "exclusions", &scratch->exclusion,
                      &scratch->exclusion_capacity));
    for (int e = begin; e < end; e++) {
      int local = domain->local_of_global[first + (size_t)type->exclusion[e]];
      if (local >= 0) scratch->exclusion[used++] = local;
    }
  }
  scratch->exclusion_start[domain->local_count] = (int)used;
  return TG_OK;
}

/* Constraints of the groups whose first atom is home: then all of the group is. */
static tg_status list_constraints(tg_domain* domain) {
  struct tg_domain_scratch* s = domain->scratch;
  const tg_md_system* system = domain->system;
  size_t pair_count = 0, settle_count = 0;
  int last = -1;
  for (size_t i = 0; i < domain->home_count; i++) {
    int molecule = system->atom_molecule[domain->global[i]];
    if (molecule == last) continue; /* home atoms are sorted: a molecule's atoms stand together */
    last = molecule;
    size_t first = system->molecule_first[molecule];
    const tg_molecule_type* type =
        &system->topology.molecule_types[system->molecule_type[molecule]];
    const tg_interactions* pairs = &type->interactions[TG_CONSTRAINT];
    const int* order = s->trees[system->molecule_type[molecule]].constraint_order;
    for (size_t k = 0; k < pairs->count; k++) {
      const tg_interaction* constraint = &pairs->items[order[k]];
      int a = domain->local_of_global[first + (size_t)constraint->atoms[0]];
      int b = domain->local_of_global[first + (size_t)constraint->atoms[1]];
      if (a < 0 || (size_t)a >= domain->home_count) continue;
      TG_TRY(TG_RESERVE(pair_count + 1, "constraints", &s->pairs, &s->pairs_capacity));
      TG_TRY(TG_RESERVE(pair_count + 1, "constraints", &s->lengths, &s->lengths_capacity));
      s->pairs[pair_count][0] = a;
      s->pairs[pair_count][1] = b;
      s->lengths[pair_count++] = constraint->parameters[0];
    }
    const tg_interactions* settles = &type->interactions[TG_SETTLE];
    for (size_t c = 0; c < settles->count; c++) {
      int local[3];
      for (int k = 0; k < 3; k++)
        local[k] = domain->local_of_global[first + (size_t)settles->items[c].atoms[k]];
      if (local[0] < 0 || (size_t)local[0] >= domain->home_count) continue;
      TG_TRY(TG_RESERVE(settle_count + 1, "settles", &s->settles, &s->settles_capacity));
      TG_TRY(TG_RESERVE(settle_count + 1, "settles", &s->settle_distances,
                        &s->settle_distances_capacity));
      memcpy(s->settles[settle_count], local, sizeof local);
      memcpy(s->settle_distances[settle_count++], settles->items[c].parameters, 2 * sizeof(double));
    }
  }
  return tg_constraints_set(domain->constraints, domain->home_count, domain->inverse_mass,
                            pair_count, (const int(*)[2])s->pairs, s->lengths, settle_count,
                            (const int(*)[3])s->settles, (const double(*)[2])s->settle_distances);
}

tg_status tg_domain_localise(tg_domain* domain, long long* listed) {
  struct tg_domain_scratch* scratch = domain->scratch;
  *listed = 0;
  for (int kind = 0; kind < TG_INTERACTION_KINDS; kind++) domain->bonded.lists[kind].count = 0;
  domain->bonded.excluded_count = 0;
  scratch->stamp++;
  for (size_t i = 0; i < domain->local_count; i++) {
    int molecule = domain->system->atom_molecule[domain->global[i]];
    if (scratch->molecule_stamp[molecule] == scratch->stamp) continue;
    scratch->molecule_stamp[molecule] = scratch->stamp;
    TG_TRY(list_molecule(domain, molecule, listed));
  }
  TG_TRY(list_exclusions(domain));
  return list_constraints(domain);
}
