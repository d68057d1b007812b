/* SPDX-License-Identifier: Apache-2.0 */
/* Who owns which atom: wrapping, migration, and what follows from a new layout.
 *
 * 1. Each group is shifted by whole box edges until its centre lies in the box (so often that doing
 * it again changes nothing: continued runs depend on that).
 * 2. Groups travel to the neighbour that owns their centre, dimension by dimension.
 * 3. Home atoms are sorted by global number, the halo is planned, copies of numbers and positions
 *    arrive, and the local interactions and the pair list are built. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/timer.h"
#include "md/domain_internal.h"

enum { DOWN, UP };

static void wrap_group(const double box[3], double (*x)[3], const int* atoms, int count,
                       double centre[3]) {
  for (int d = 0; d < 3; d++) {
    for (int attempt = 0; attempt < 8; attempt++) {
      double sum = 0;
      for (int i = 0; i < count; i++) sum += x[atoms[i]][d];
      centre[d] = sum / count;
      double shift = -box[d] * floor(centre[d] / box[d]);
      if (shift == 0 || !isfinite(shift)) break;
      for (int i = 0; i < count; i++) x[atoms[i]][d] += shift;
    }
    /* a centre a rounding error below zero can end up exactly on the upper face */
    if (centre[d] >= box[d]) centre[d] = nextafter(box[d], 0);
    if (centre[d] < 0) centre[d] = 0;
  }
}

static tg_status not_finite(const tg_domain* domain, int local) {
  char name[96];
  tg_domain_name_atom(domain->system, domain->global[local], name, sizeof name);
  return tg_fail(
      TG_ERR_NUMERICS,
      "the position of %s is not a finite number: the system blew up; minimise its energy "
      "first (integrator = steep) or use a shorter time step",
      name);
}

/* Groups are found through their atoms' local numbers: the home atoms are whole groups. */
static tg_status wrap_home(tg_domain* domain) {
  const tg_md_system* system = domain->system;
  for (size_t i = 0; i < domain->home_count; i++) {
    int global = domain->global[i];
    int molecule = system->atom_molecule[global];
    size_t first = system->molecule_first[molecule];
    int kind = system->molecule_type[molecule];
    const tg_constraint_groups* groups = &system->groups[kind];
    int group = domain->scratch->trees[kind].group_of[(size_t)global - first];
    int begin = groups->start[group], count = groups->start[group + 1] - begin;
    if ((size_t)global != first + (size_t)groups->atoms[begin]) continue; /* not its first atom */
    double centre[3];
    int few[64];
    int* atoms = few;
    if (count > 64) TG_TRY(TG_ALLOCATE((size_t)count, "group atoms", &atoms));
    for (int k = 0; k < count; k++)
      atoms[k] = domain->local_of_global[first + (size_t)groups->atoms[begin + k]];
    wrap_group(system->box, domain->x, atoms, count, centre);
    for (int k = 0; k < count; k++) memcpy(domain->centre[atoms[k]], centre, sizeof centre);
    if (atoms != few) tg_free(atoms);
    if (!isfinite(centre[0]) || !isfinite(centre[1]) || !isfinite(centre[2]))
      return not_finite(domain, (int)i);
  }
  return TG_OK;
}

/* The grid cell of a PE, from its number (halo.h's order). */
static int cell_of(const tg_domain* domain, int pe, int d) {
  const int* grid = domain->params.grid;
  if (d == 2) return pe % grid[2];
  if (d == 1) return pe / grid[2] % grid[1];
  return pe / grid[2] / grid[1];
}

static int neighbour(const tg_domain* domain, int d, int step) {
  const int* grid = domain->params.grid;
  int cell[3];
  memcpy(cell, tg_halo_cell(domain->halo), sizeof cell);
  cell[d] = (cell[d] + step + grid[d]) % grid[d];
  return (cell[0] * grid[1] + cell[1]) * grid[2] + cell[2];
}

/* How many bricks away in dimension d the traveller's owner is: -1, 0, 1, or more when it ran too
 * far. */
static int bricks_away(const tg_domain* domain, const tg_traveller* traveller, int d) {
  int n = domain->params.grid[d];
  int owner = tg_halo_owner(domain->halo, domain->system->box, traveller->centre);
  int away = cell_of(domain, owner, d) - tg_halo_cell(domain->halo)[d];
  if (away > n / 2) away -= n;
  if (away < -((n - 1) / 2)) away += n;
  return away;
}

static tg_status ran_too_far(const tg_domain* domain, int global) {
  char name[96];
  tg_domain_name_atom(domain->system, global, name, sizeof name);
  return tg_fail(
      TG_ERR_NUMERICS,
      "%s moved more than one domain since the last pair search: the system blew up, or the "
      "domains are too thin; use fewer processing elements or a shorter time step",
      name);
}

/* Sorts the stayers of one dimension from those who go down or up. */
static tg_status part_ways(tg_domain* domain, int d) {
  struct tg_domain_scratch* s = domain->scratch;
  size_t kept = 0;
  s->send_count[DOWN] = s->send_count[UP] = 0;
  for (size_t i = 0; i < s->stay_count; i++) {
    int away = bricks_away(domain, &s->stay[i], d);
    if (away == 0) {
      s->stay[kept++] = s->stay[i];
      continue;
    }
    if (abs(away) > 1) return ran_too_far(domain, s->stay[i].global);
    int way = away < 0 ? DOWN : UP;
    TG_TRY(TG_RESERVE(s->send_count[way] + 1, "migrating atoms", &s->send[way],
                      &s->send_capacity[way]));
    s->send[way][s->send_count[way]++] = s->stay[i];
  }
  s->stay_count = kept;
  return TG_OK;
}

static tg_status migrate_dimension(tg_domain* domain, int d) {
  struct tg_domain_scratch* s = domain->scratch;
  TG_TRY(tg_world_agree(domain->world, part_ways(domain, d)));
  for (int way = DOWN; way <= UP; way++) {
    if (way == DOWN && domain->params.grid[d] == 2) continue; /* the same neighbour as UP */
    int to = neighbour(domain, d, way == UP ? 1 : -1),
        from = neighbour(domain, d, way == UP ? -1 : 1);
    size_t bytes = 0;
    TG_TRY(tg_world_exchange_any(domain->world, to, s->send[way],
                                 s->send_count[way] * sizeof(tg_traveller), from, &s->received,
                                 &s->received_capacity, &bytes));
    size_t count = bytes / sizeof(tg_traveller);
    TG_TRY(TG_RESERVE(s->stay_count + count, "migrating atoms", &s->stay, &s->stay_capacity));
    if (count) memcpy(s->stay + s->stay_count, s->received, count * sizeof(tg_traveller));
    s->stay_count += count;
  }
  return TG_OK;
}

static int by_global(const void* a, const void* b) {
  const tg_traveller *first = a, *second = b;
  return (first->global > second->global) - (first->global < second->global);
}

static tg_status migrate(tg_domain* domain) {
  struct tg_domain_scratch* s = domain->scratch;
  if (tg_world_pe_count(domain->world) == 1) return TG_OK;
  TG_TRY(TG_RESERVE(domain->home_count, "migrating atoms", &s->stay, &s->stay_capacity));
  for (size_t i = 0; i < domain->home_count; i++) {
    tg_traveller* t = &s->stay[i];
    t->global = domain->global[i];
    memcpy(t->x, domain->x[i], sizeof t->x);
    memcpy(t->v, domain->v[i], sizeof t->v);
    memcpy(t->centre, domain->centre[i], sizeof t->centre);
  }
  s->stay_count = domain->home_count;
  for (int d = 2; d >= 0; d--)
    if (domain->params.grid[d] > 1) TG_TRY(migrate_dimension(domain, d));
  if (s->stay_count) qsort(s->stay, s->stay_count, sizeof *s->stay, by_global);
  TG_TRY(tg_domain_reserve(domain, s->stay_count));
  for (size_t i = 0; i < s->stay_count; i++) {
    const tg_traveller* t = &s->stay[i];
    domain->global[i] = t->global;
    memcpy(domain->x[i], t->x, sizeof t->x);
    memcpy(domain->v[i], t->v, sizeof t->v);
    memcpy(domain->centre[i], t->centre, sizeof t->centre);
  }
  domain->home_count = s->stay_count;
  return TG_OK;
}

/* What each atom is, from its global number. */
static void fill_properties(tg_domain* domain) {
  const tg_md_system* system = domain->system;
  double charge_squares = 0;
  for (size_t i = 0; i < domain->local_count; i++) {
    int global = domain->global[i];
    const tg_atom* atom = tg_md_atom(system, (size_t)global);
    domain->local_of_global[global] = (int)i;
    domain->type[i] = atom->type;
    domain->charge[i] = atom->charge;
    if (domain->restraint_x)
      memcpy(domain->restraint_x[i], system->restraint_x[global], sizeof domain->restraint_x[i]);
    if (i >= domain->home_count) continue;
    domain->mass[i] = atom->mass;
    domain->inverse_mass[i] = 1 / atom->mass;
    domain->temperature_group[i] =
        system->temperature_group ? system->temperature_group[global] : 0;
    domain->comm_group[i] = system->comm_group ? system->comm_group[global] : 0;
    charge_squares += atom->charge * atom->charge;
  }
  domain->self_energy = -0.5 * domain->coulomb_scale * domain->rf_c * charge_squares;
}

static tg_status search_pairs(tg_domain* domain) {
  tg_nonbonded_atoms atoms = {
      .home_count = domain->home_count,
      .local_count = domain->local_count,
      .x = (const double(*)[3])domain->x,
      .type = domain->type,
      .charge = domain->charge,
      .global = domain->global,
      .offset = tg_halo_offsets(domain->halo),
      .exclusion_start = domain->scratch->exclusion_start,
      .exclusion = domain->scratch->exclusion,
  };
  for (int d = 0; d < 3; d++) {
    atoms.box[d] = domain->system->box[d];
    atoms.periodic[d] = domain->params.grid[d] == 1;
  }
  TG_TRY(tg_nonbonded_search(domain->nonbonded, &atoms, domain->params.list_radius));
  if (domain->params.prune_interval == 0) return TG_OK;
  return tg_nonbonded_prune(domain->nonbonded, atoms.x, domain->params.inner_radius);
}

static tg_status check_bonded(tg_domain* domain, long long listed) {
  int64_t total = listed;
  TG_TRY(tg_world_sum_int64(domain->world, &total, 1));
  long long expected = domain->scratch->bonded_expected;
  if (total == expected) return TG_OK;
  return tg_fail(
      TG_ERR_NUMERICS,
      "%lld of %lld bonded interactions have atoms further apart than the halo reaches: the "
      "system blew up, or molecules are larger than the cut-off; use fewer processing "
      "elements",
      (long long)(expected - total), expected);
}

static tg_status rebuild(tg_domain* domain, long long* listed) {
  TG_TRY(tg_domain_reserve(domain, domain->local_count));
  TG_TRY(tg_halo_copy(domain->halo, domain->global, sizeof *domain->global));
  TG_TRY(tg_halo_positions(domain->halo, domain->x));
  fill_properties(domain);
  TG_TRY(tg_domain_localise(domain, listed));
  return search_pairs(domain);
}

tg_status tg_domain_partition(tg_domain* domain) {
  double start = tg_time_now();
  TG_TRY(tg_world_agree(domain->world, wrap_home(domain)));
  for (size_t i = 0; i < domain->local_count; i++) domain->local_of_global[domain->global[i]] = -1;
  TG_TRY(migrate(domain));
  double reach = domain->params.list_radius + 2 * domain->system->group_radius;
  tg_status status = tg_halo_plan(domain->halo, domain->system->box, reach, domain->home_count,
                                  (const double(*)[3])domain->centre);
  if (status == TG_ERR_INPUT)
    tg_fail_context(status,
                    "domains must hold a pair list of %.4g nm and constraint groups of up to %.4g "
                    "nm across: ",
                    domain->params.list_radius, 2 * domain->system->group_radius);
  TG_TRY(status);
  domain->local_count = domain->home_count + tg_halo_halo_count(domain->halo);
  domain->list_age = 0;
  long long listed = 0;
  TG_TRY(tg_world_agree(domain->world, rebuild(domain, &listed)));
  TG_TRY(check_bonded(domain, listed));
  tg_domain_part_done(domain, TG_PART_SEARCH, "pair search", &start);
  return TG_OK;
}

/* 1. every PE makes the whole system's groups whole, one molecule at a time, 2. keeps those whose
 * centre it owns. */
static tg_status take_groups(tg_domain* domain, const double (*x)[3], const double (*v)[3],
                             double (*whole)[3]) {
  const tg_md_system* system = domain->system;
  int self = tg_world_pe(domain->world);
  domain->home_count = 0;
  for (size_t m = 0; m < system->molecule_count; m++) {
    size_t first = system->molecule_first[m], count = system->molecule_first[m + 1] - first;
    const tg_constraint_groups* groups = &system->groups[system->molecule_type[m]];
    const int* group_of = domain->scratch->trees[system->molecule_type[m]].group_of;
    tg_group_make_whole(system, domain->scratch->trees, (int)m, x, whole);
    TG_TRY(tg_domain_reserve(domain, domain->home_count + count));
    int owner = -1, last = -1;
    for (size_t a = 0; a < count; a++) {
      int g = group_of[a];
      if (g != last) { /* groups of neighbours in the file: decided once */
        double centre[3];
        int begin = groups->start[g], size = groups->start[g + 1] - begin;
        wrap_group(system->box, whole, groups->atoms + begin, size, centre);
        owner = tg_halo_owner(domain->halo, system->box, centre);
        last = g;
      }
      if (owner != self) continue;
      size_t i = domain->home_count++;
      domain->global[i] = (int)(first + a);
      memcpy(domain->x[i], whole[a], sizeof domain->x[i]);
      if (v)
        memcpy(domain->v[i], v[first + a], sizeof domain->v[i]);
      else
        memset(domain->v[i], 0, sizeof domain->v[i]);
    }
  }
  return TG_OK;
}

tg_status tg_domain_take(tg_domain* domain, const double (*x)[3], const double (*v)[3]) {
  const tg_md_system* system = domain->system;
  size_t largest = 0;
  for (size_t m = 0; m < system->topology.molecule_type_count; m++)
    if (system->topology.molecule_types[m].atom_count > largest)
      largest = system->topology.molecule_types[m].atom_count;
  for (size_t i = 0; i < domain->local_count; i++) domain->local_of_global[domain->global[i]] = -1;
  domain->local_count = 0;
  double(*whole)[3] = NULL;
  tg_status status = TG_ALLOCATE(largest, "a molecule", &whole);
  if (status == TG_OK) status = take_groups(domain, x, v, whole);
  tg_free(whole);
  TG_TRY(tg_world_agree(domain->world, status));
  for (size_t i = 0; i < domain->home_count; i++)
    domain->local_of_global[domain->global[i]] = (int)i;
  domain->local_count = domain->home_count;
  return tg_domain_partition(domain);
}
