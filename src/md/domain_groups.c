/* SPDX-License-Identifier: Apache-2.0 */
/* Constraint groups: how they hang together, and how they are made whole across the box's faces. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "md/domain_internal.h"

/* Adds to partner lists: every constraint and every SETTLE ties its atoms. */
typedef struct tie {
  int a, b;
} tie;

static tg_status collect_ties(const tg_molecule_type* type, tie** ties, size_t* count) {
  const tg_interactions* pairs = &type->interactions[TG_CONSTRAINT];
  const tg_interactions* settles = &type->interactions[TG_SETTLE];
  *count = pairs->count + 2 * settles->count;
  TG_TRY(TG_ALLOCATE(*count, "constraint ties", ties));
  size_t used = 0;
  for (size_t i = 0; i < pairs->count; i++)
    (*ties)[used++] = (tie){pairs->items[i].atoms[0], pairs->items[i].atoms[1]};
  for (size_t i = 0; i < settles->count; i++)
    for (int h = 1; h <= 2; h++)
      (*ties)[used++] = (tie){settles->items[i].atoms[0], settles->items[i].atoms[h]};
  return TG_OK;
}

/* Breadth first from the first atom of each group. */
static void grow_tree(const tie* ties, size_t tie_count, const tg_constraint_groups* groups,
                      size_t group, tg_group_tree* tree, int* placed) {
  int start = groups->start[group], end = groups->start[group + 1];
  int filled = start;
  for (int i = start; i < end; i++) {
    int atom = groups->atoms[i];
    tree->group_of[atom] = (int)group;
  }
  tree->order[filled] = groups->atoms[start];
  tree->parent[filled] = -1;
  placed[groups->atoms[start]] = 1;
  filled++;
  for (int at = start; at < filled; at++)
    for (size_t t = 0; t < tie_count; t++) {
      int here = tree->order[at], other;
      if (ties[t].a == here)
        other = ties[t].b;
      else if (ties[t].b == here)
        other = ties[t].a;
      else
        continue;
      if (placed[other]) continue;
      placed[other] = 1;
      tree->order[filled] = other;
      tree->parent[filled] = here;
      filled++;
    }
}

/* Constraint numbers group by group, in file order within each. */
static tg_status order_constraints(const tg_molecule_type* type, size_t group_count,
                                   tg_group_tree* tree) {
  const tg_interactions* pairs = &type->interactions[TG_CONSTRAINT];
  int* next = NULL;
  TG_TRY(TG_ALLOCATE(pairs->count, "constraint order", &tree->constraint_order));
  TG_TRY(TG_ALLOCATE(group_count + 1, "constraint counts", &next));
  for (size_t i = 0; i < pairs->count; i++) next[tree->group_of[pairs->items[i].atoms[0]] + 1]++;
  for (size_t g = 0; g < group_count; g++) next[g + 1] += next[g];
  for (size_t i = 0; i < pairs->count; i++)
    tree->constraint_order[next[tree->group_of[pairs->items[i].atoms[0]]]++] = (int)i;
  tg_free(next);
  return TG_OK;
}

static tg_status build_tree(const tg_molecule_type* type, const tg_constraint_groups* groups,
                            tg_group_tree* tree) {
  tie* ties = NULL;
  int* placed = NULL;
  size_t tie_count = 0;
  tg_status status = TG_OK;
  TG_TRY_GOTO(TG_ALLOCATE(type->atom_count, "group numbers", &tree->group_of), free_ties);
  TG_TRY_GOTO(TG_ALLOCATE(type->atom_count, "group order", &tree->order), free_ties);
  TG_TRY_GOTO(TG_ALLOCATE(type->atom_count, "group parents", &tree->parent), free_ties);
  TG_TRY_GOTO(TG_ALLOCATE(type->atom_count, "group marks", &placed), free_ties);
  TG_TRY_GOTO(collect_ties(type, &ties, &tie_count), free_ties);
  for (size_t g = 0; g < groups->group_count; g++)
    grow_tree(ties, groups->start[g + 1] - groups->start[g] > 1 ? tie_count : 0, groups, g, tree,
              placed);
  status = order_constraints(type, groups->group_count, tree);
free_ties:
  tg_free(ties);
  tg_free(placed);
  return status;
}

tg_status tg_group_trees_build(const tg_md_system* system, tg_group_tree** out) {
  size_t count = system->topology.molecule_type_count;
  *out = NULL;
  tg_group_tree* trees = NULL;
  TG_TRY(TG_ALLOCATE(count, "constraint groups", &trees));
  for (size_t i = 0; i < count; i++) {
    tg_status status =
        build_tree(&system->topology.molecule_types[i], &system->groups[i], &trees[i]);
    if (status != TG_OK) {
      tg_group_trees_free(system, trees);
      return status;
    }
  }
  *out = trees;
  return TG_OK;
}

void tg_group_trees_free(const tg_md_system* system, tg_group_tree* trees) {
  if (!trees) return;
  for (size_t i = 0; i < system->topology.molecule_type_count; i++) {
    tg_free(trees[i].group_of);
    tg_free(trees[i].order);
    tg_free(trees[i].parent);
    tg_free(trees[i].constraint_order);
  }
  tg_free(trees);
}

void tg_group_make_whole(const tg_md_system* system, const tg_group_tree* trees, int molecule,
                         const double (*x)[3], double (*whole)[3]) {
  size_t first = system->molecule_first[molecule];
  size_t count = system->molecule_first[molecule + 1] - first;
  const tg_group_tree* tree = &trees[system->molecule_type[molecule]];
  for (size_t k = 0; k < count; k++) {
    int atom = tree->order[k], parent = tree->parent[k];
    for (int d = 0; d < 3; d++) {
      double position = x[first + (size_t)atom][d];
      if (parent >= 0) {
        double box = system->box[d];
        position -= box * rint((position - whole[parent][d]) / box);
      }
      whole[atom][d] = position;
    }
  }
}
