/* SPDX-License-Identifier: Apache-2.0 */
/* Constraint groups of a GPU's update: once for each group of a molecule type, then for all its
 * molecules. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "md/device_work_internal.h"

/* What all copies of a group have in common. */
typedef struct pattern {
  int width; /* number of the width; -1: a water; -2: an atom by itself */
  int table; /* first lane, or number of the water's shape */
  int water[3];
} pattern;

enum { WATER = -1, SINGLE = -2 };

static int lane_of(const tg_constraint_groups* groups, size_t g, int atom) {
  for (int i = groups->start[g]; i < groups->start[g + 1]; i++)
    if (groups->atoms[i] == atom) return i - groups->start[g];
  return -1;
}

static tg_status refuse(const tg_molecule_type* type, const char* what, int most) {
  return tg_fail(TG_ERR_INPUT,
                 "molecule %s: a group of its constraints has more than %d %s: more than the GPU "
                 "update takes; use --backend omp, or constraints = h-bonds",
                 type->name, most, what);
}

/* The constraints' ends and lengths, a lane each; returns how many, -1 for too many. */
static int list_constraints(const tg_molecule_type* type, const tg_constraint_groups* groups,
                            size_t g, tg_device_lane* lanes) {
  const tg_interactions* list = &type->interactions[TG_CONSTRAINT];
  int count = 0;
  for (size_t i = 0; i < list->count; i++) {
    const int* atoms = list->items[i].atoms;
    const int a = lane_of(groups, g, atoms[0]), b = lane_of(groups, g, atoms[1]);
    if (a < 0 || b < 0) continue;
    if (count == TG_DEVICE_WARP) return -1;
    tg_device_lane* lane = &lanes[count++];
    lane->a = (unsigned char)a;
    lane->b = (unsigned char)b;
    lane->length = list->items[i].parameters[0];
    lane->scale = 1 / sqrt(1 / type->atoms[atoms[0]].mass + 1 / type->atoms[atoms[1]].mass);
  }
  return count;
}

/* Couplings of constraint i, as lincs.c has them; false: too many. */
static bool couple(tg_device_lane* lanes, int count, int i, const double* inverse_mass) {
  int found = 0;
  for (int k = 0; k < 2; k++) {
    const int atom = k == 0 ? lanes[i].a : lanes[i].b;
    for (int j = 0; j < count; j++) {
      if (j == i || (lanes[j].a != atom && lanes[j].b != atom)) continue;
      if (found == TG_DEVICE_NEIGHBOURS) return false;
      const bool same_end = (k == 0 ? lanes[j].a : lanes[j].b) == atom;
      lanes[i].neighbour[found] = (unsigned char)j;
      lanes[i].coefficient[found++] =
          (same_end ? -1 : 1) * inverse_mass[atom] * lanes[i].scale * lanes[j].scale;
    }
  }
  return true;
}

static bool list_own(tg_device_lane* lanes, int count, int atom) {
  int found = 0;
  for (int j = 0; j < count; j++) {
    if (lanes[j].a != atom && lanes[j].b != atom) continue;
    if (found == TG_DEVICE_OWN) return false;
    lanes[atom].own[found] = (unsigned char)j;
    lanes[atom].sign[found++] = lanes[j].a == atom ? 1 : -1;
  }
  return true;
}

static tg_status make_lanes(const tg_molecule_type* type, const tg_constraint_groups* groups,
                            size_t g, tg_device_work* w, pattern* out) {
  tg_device_lane lanes[TG_DEVICE_WARP];
  double inverse_mass[TG_DEVICE_WARP];
  memset(lanes, 0, sizeof lanes);
  const int atoms = groups->start[g + 1] - groups->start[g];
  if (atoms > TG_DEVICE_WARP) return refuse(type, "atoms", TG_DEVICE_WARP);
  const int count = list_constraints(type, groups, g, lanes);
  if (count < 0) return refuse(type, "members", TG_DEVICE_WARP);
  for (int i = 0; i < atoms; i++)
    lanes[i].inverse_mass = inverse_mass[i] =
        1 / type->atoms[groups->atoms[groups->start[g] + i]].mass;
  for (int i = 0; i < count; i++)
    if (!couple(lanes, count, i, inverse_mass))
      return refuse(type, "neighbours of one constraint", TG_DEVICE_NEIGHBOURS);
  for (int i = 0; i < atoms; i++)
    if (!list_own(lanes, count, i)) return refuse(type, "constraints of one atom", TG_DEVICE_OWN);
  out->width = 0;
  while (4 << out->width < atoms || 4 << out->width < count) out->width++;
  const size_t width = (size_t)4 << out->width;
  TG_TRY(TG_RESERVE(w->lane_count + width, "constraint tables", &w->lanes, &w->lanes_capacity));
  out->table = (int)w->lane_count;
  memcpy(w->lanes + w->lane_count, lanes, width * sizeof lanes[0]);
  w->lane_count += width;
  return TG_OK;
}

static tg_status make_water(const tg_molecule_type* type, const tg_interaction* settle,
                            tg_device_work* w, pattern* out) {
  static const int atoms[3] = {0, 1, 2};
  double inverse_mass[3];
  tg_settle shape;
  for (int k = 0; k < 3; k++) inverse_mass[k] = 1 / type->atoms[settle->atoms[k]].mass;
  TG_TRY(tg_settle_make(atoms, settle->parameters, inverse_mass, &shape));
  TG_TRY(TG_RESERVE(w->settle_count + 1, "water shapes", &w->settles, &w->settles_capacity));
  out->width = WATER;
  out->table = (int)w->settle_count;
  memcpy(out->water, settle->atoms, sizeof out->water);
  w->settles[w->settle_count++] = shape;
  return TG_OK;
}

static tg_status make_pattern(const tg_molecule_type* type, const tg_constraint_groups* groups,
                              size_t g, tg_device_work* w, pattern* out) {
  const int atoms = groups->start[g + 1] - groups->start[g];
  const tg_interactions* settles = &type->interactions[TG_SETTLE];
  for (size_t i = 0; i < settles->count; i++) {
    const int lane = lane_of(groups, g, settles->items[i].atoms[0]);
    if (lane < 0) continue;
    if (atoms != 3)
      return tg_fail(TG_ERR_INPUT,
                     "molecule %s: a rigid water is joined to other atoms by constraints: the GPU "
                     "update cannot do that; use --backend omp",
                     type->name);
    return make_water(type, &settles->items[i], w, out);
  }
  if (atoms > 1) return make_lanes(type, groups, g, w, out);
  out->width = SINGLE;
  return TG_OK;
}

static tg_status add_group(const pattern* p, const int* atoms, int count, size_t first,
                           tg_device_work* w) {
  if (p->width == SINGLE) {
    TG_TRY(TG_RESERVE(w->single_count + 1, "single atoms", &w->single, &w->single_capacity));
    w->single[w->single_count++] = (int)first + atoms[0];
    return TG_OK;
  }
  if (p->width == WATER) {
    TG_TRY(TG_RESERVE(w->water_count + 1, "waters", &w->waters, &w->waters_capacity));
    int* water = w->waters[w->water_count++];
    for (int k = 0; k < 3; k++) water[k] = (int)first + p->water[k];
    water[3] = p->table;
    return TG_OK;
  }
  tg_device_groups* groups = &w->groups[p->width];
  const size_t width = (size_t)4 << p->width;
  TG_TRY(TG_RESERVE((groups->count + 1) * width, "constraint groups", &groups->atom,
                    &groups->atom_capacity));
  TG_TRY(
      TG_RESERVE(groups->count + 1, "constraint groups", &groups->table, &groups->table_capacity));
  for (size_t k = 0; k < width; k++)
    groups->atom[groups->count * width + k] = (int)k < count ? (int)first + atoms[k] : -1;
  groups->table[groups->count++] = p->table;
  return TG_OK;
}

/* All molecules of one type. */
static tg_status add_molecules(const tg_md_system* system, size_t t, tg_device_work* w) {
  const tg_molecule_type* type = &system->topology.molecule_types[t];
  const tg_constraint_groups* groups = &system->groups[t];
  pattern* patterns = NULL;
  tg_status status = TG_ALLOCATE(groups->group_count, "constraint groups", &patterns);
  for (size_t g = 0; g < groups->group_count && status == TG_OK; g++)
    status = make_pattern(type, groups, g, w, &patterns[g]);
  for (size_t m = 0; m < system->molecule_count && status == TG_OK; m++) {
    if ((size_t)system->molecule_type[m] != t) continue;
    for (size_t g = 0; g < groups->group_count && status == TG_OK; g++)
      status = add_group(&patterns[g], groups->atoms + groups->start[g],
                         groups->start[g + 1] - groups->start[g], system->molecule_first[m], w);
  }
  tg_free(patterns);
  return status;
}

tg_status tg_device_groups_make(const tg_md_system* system, tg_device_work* work) {
  for (size_t t = 0; t < system->topology.molecule_type_count; t++)
    TG_TRY(add_molecules(system, t, work));
  return TG_OK;
}
