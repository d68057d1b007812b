/* SPDX-License-Identifier: Apache-2.0 */
/* Which bonds are constraints, and which atoms constraints tie together. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "md/system_parts.h"

static bool is_hydrogen(const tg_atom* atom) {
  return atom->name[0] == 'H' || atom->name[0] == 'h'; /* by its name, as GROMACS decides it */
}

static tg_status add_interaction(tg_interactions* list, const tg_interaction* item) {
  TG_TRY(TG_RESERVE(list->count + 1, "constraints", &list->items, &list->capacity));
  list->items[list->count++] = *item;
  return TG_OK;
}

/* True where both atoms belong to one rigid water, which SETTLE keeps already. */
static bool in_settle(const tg_molecule_type* type, const int atoms[2]) {
  const tg_interactions* settles = &type->interactions[TG_SETTLE];
  for (size_t s = 0; s < settles->count; s++) {
    int inside = 0;
    for (int a = 0; a < 3; a++)
      for (int b = 0; b < 2; b++) inside += settles->items[s].atoms[a] == atoms[b];
    if (inside == 2) return true;
  }
  return false;
}

static tg_status convert_type(tg_molecule_type* type, tg_constrain constraints, const char* path) {
  tg_interactions* bonds = &type->interactions[TG_BOND];
  size_t kept = 0;
  for (size_t i = 0; i < bonds->count; i++) {
    tg_interaction bond = bonds->items[i];
    const tg_atom* a = &type->atoms[bond.atoms[0]];
    const tg_atom* b = &type->atoms[bond.atoms[1]];
    if (constraints != TG_CONSTRAIN_ALL_BONDS && !is_hydrogen(a) && !is_hydrogen(b)) {
      bonds->items[kept++] = bond;
      continue;
    }
    if (in_settle(type, bond.atoms))
      return tg_fail(
          TG_ERR_INPUT,
          "%s: molecule type %s: the bond %s-%s would be constrained twice, by SETTLE and "
          "by constraints; remove it, or define FLEXIBLE",
          path, type->name, a->name, b->name);
    if (!(bond.parameters[0] > 0))
      return tg_fail(TG_ERR_INPUT,
                     "%s: molecule type %s: the bond %s-%s has length %g nm and cannot be "
                     "constrained; use constraints = none",
                     path, type->name, a->name, b->name, bond.parameters[0]);
    bond.parameters[1] = 0; /* a constraint has a length alone */
    TG_TRY(add_interaction(&type->interactions[TG_CONSTRAINT], &bond));
  }
  bonds->count = kept;
  return TG_OK;
}

tg_status tg_md_convert_bonds(tg_topology* topology, tg_constrain constraints, const char* path) {
  if (constraints == TG_CONSTRAIN_NONE) return TG_OK;
  for (size_t t = 0; t < topology->molecule_type_count; t++)
    TG_TRY(convert_type(&topology->molecule_types[t], constraints, path));
  return TG_OK;
}

/* Constraints as edges: every atom's neighbours one after the other. */
typedef struct edges {
  int* start; /* [atom_count + 1] */
  int* other;
  double* length;
} edges;

static void free_edges(edges* e) {
  tg_free(e->start);
  tg_free(e->other);
  tg_free(e->length);
}

typedef void edge_visitor(edges* e, int a, int b, double length);

static void for_each_edge(const tg_molecule_type* type, edges* e, edge_visitor* visit) {
  const tg_interactions* constraints = &type->interactions[TG_CONSTRAINT];
  for (size_t i = 0; i < constraints->count; i++) {
    const tg_interaction* c = &constraints->items[i];
    visit(e, c->atoms[0], c->atoms[1], c->parameters[0]);
  }
  const tg_interactions* settles = &type->interactions[TG_SETTLE];
  for (size_t i = 0; i < settles->count; i++) {
    const tg_interaction* s = &settles->items[i];
    visit(e, s->atoms[0], s->atoms[1], s->parameters[0]);
    visit(e, s->atoms[0], s->atoms[2], s->parameters[0]);
    visit(e, s->atoms[1], s->atoms[2], s->parameters[1]);
  }
}

static void count_edge(edges* e, int a, int b, double length) {
  (void)length;
  e->start[a + 1]++;
  e->start[b + 1]++;
}

/* start[a] is moved on while filling, and moved back afterwards */
static void fill_edge(edges* e, int a, int b, double length) {
  e->other[e->start[a]] = b;
  e->length[e->start[a]++] = length;
  e->other[e->start[b]] = a;
  e->length[e->start[b]++] = length;
}

static tg_status make_edges(const tg_molecule_type* type, edges* e) {
  size_t n = type->atom_count;
  TG_TRY(TG_ALLOCATE(n + 1, "constraint neighbours", &e->start));
  for_each_edge(type, e, count_edge);
  for (size_t i = 0; i < n; i++) e->start[i + 1] += e->start[i];
  size_t total = (size_t)e->start[n];
  TG_TRY(TG_ALLOCATE(total, "constraint neighbours", &e->other));
  TG_TRY(TG_ALLOCATE(total, "constraint lengths", &e->length));
  for_each_edge(type, e, fill_edge);
  for (size_t i = n; i > 0; i--) e->start[i] = e->start[i - 1];
  e->start[0] = 0;
  return TG_OK;
}

/* Walks the group of `from` along constraints, nearest by number of bonds first. queue: the atoms
 * reached; distance: a bound of each one's distance from `from`, the way there; -1 before. */
static size_t walk(const edges* e, int from, int* queue, double* distance) {
  size_t count = 1;
  queue[0] = from;
  distance[from] = 0;
  for (size_t next = 0; next < count; next++) {
    int a = queue[next];
    for (int i = e->start[a]; i < e->start[a + 1]; i++) {
      int b = e->other[i];
      if (distance[b] >= 0) continue;
      distance[b] = distance[a] + e->length[i];
      queue[count++] = b;
    }
  }
  return count;
}

static int ascending(const void* a, const void* b) {
  int x = *(const int*)a, y = *(const int*)b;
  return (x > y) - (x < y);
}

/* The distance of atom a from the mean position of its group is at most the mean of its distances
 * from the group's atoms; each of those at most a way along constraints. */
static double bound_radius(const edges* e, const int* atoms, size_t count, int* queue,
                           double* distance) {
  double radius = 0;
  for (size_t i = 0; i < count; i++) {
    walk(e, atoms[i], queue, distance);
    double sum = 0;
    for (size_t j = 0; j < count; j++) {
      sum += distance[atoms[j]];
      distance[atoms[j]] = -1;
    }
    if (sum / (double)count > radius) radius = sum / (double)count;
  }
  return radius;
}

tg_status tg_md_find_groups(const tg_molecule_type* type, tg_constraint_groups* out) {
  size_t n = type->atom_count;
  tg_constraint_groups groups = {0};
  edges e = {0};
  int* queue = NULL;
  double* distance = NULL;
  bool* done = NULL;
  tg_status status = TG_OK;
  TG_TRY_GOTO(make_edges(type, &e), clean);
  TG_TRY_GOTO(TG_ALLOCATE(n + 1, "constraint groups", &groups.start), clean);
  TG_TRY_GOTO(TG_ALLOCATE(n, "constraint groups", &groups.atoms), clean);
  TG_TRY_GOTO(TG_ALLOCATE(n, "constraint groups", &queue), clean);
  TG_TRY_GOTO(TG_ALLOCATE(n, "constraint groups", &distance), clean);
  TG_TRY_GOTO(TG_ALLOCATE(n, "constraint groups", &done), clean);
  for (size_t i = 0; i < n; i++) distance[i] = -1;
  int used = 0;
  for (size_t first = 0; first < n; first++) {
    if (done[first]) continue;
    size_t count = walk(&e, (int)first, queue, distance);
    int* atoms = groups.atoms + used;
    memcpy(atoms, queue, count * sizeof *atoms);
    qsort(atoms, count, sizeof *atoms, ascending);
    for (size_t i = 0; i < count; i++) {
      done[atoms[i]] = true;
      distance[atoms[i]] = -1;
    }
    double radius = count > 1 ? bound_radius(&e, atoms, count, queue, distance) : 0;
    if (radius > groups.radius) groups.radius = radius;
    used += (int)count;
    groups.start[++groups.group_count] = used;
  }
clean:
  free_edges(&e);
  tg_free(queue);
  tg_free(distance);
  tg_free(done);
  if (status != TG_OK) tg_md_free_groups(&groups);
  *out = groups;
  return status;
}

void tg_md_free_groups(tg_constraint_groups* groups) {
  tg_free(groups->start);
  tg_free(groups->atoms);
  memset(groups, 0, sizeof *groups);
}
