/* SPDX-License-Identifier: Apache-2.0 */
/* Which atoms of a molecule do not see each other. */
#include <stdlib.h>

#include "base/memory.h"
#include "md/topology_reader.h"

tg_status tg_reader_add_pair(tg_atom_pairs* pairs, int a, int b) {
  TG_TRY(TG_RESERVE(pairs->count + 1, "pairs of atoms", &pairs->items, &pairs->capacity));
  pairs->items[pairs->count++] = (tg_atom_pair){a, b};
  return TG_OK;
}

/* Partners of each atom, in both directions. */
typedef struct neighbours {
  size_t* start; /* [atoms + 1] */
  int* partner;
} neighbours;

static tg_status build_neighbours(size_t atoms, const tg_atom_pairs* pairs, neighbours* out) {
  TG_TRY(TG_ALLOCATE(atoms + 2, "neighbours in a molecule", &out->start));
  TG_TRY(TG_ALLOCATE(2 * pairs->count, "neighbours in a molecule", &out->partner));
  for (size_t i = 0; i < pairs->count; i++) {
    out->start[pairs->items[i].a + 2]++;
    out->start[pairs->items[i].b + 2]++;
  }
  for (size_t i = 2; i < atoms + 2; i++) out->start[i] += out->start[i - 1];
  /* start[i + 1] is where atom i's next partner goes, and its end when all are placed */
  for (size_t i = 0; i < pairs->count; i++) {
    out->partner[out->start[pairs->items[i].a + 1]++] = pairs->items[i].b;
    out->partner[out->start[pairs->items[i].b + 1]++] = pairs->items[i].a;
  }
  return TG_OK;
}

static void free_neighbours(neighbours* lists) {
  tg_free(lists->start);
  tg_free(lists->partner);
}

static int compare(const void* a, const void* b) {
  int x = *(const int*)a, y = *(const int*)b;
  return (x > y) - (x < y);
}

/* Puts the atoms that atom excludes into found, unsorted; each is marked with the atom's number. */
static size_t collect(int atom, int depth, const neighbours* bonds, const neighbours* extra,
                      int* mark, int* found) {
  size_t count = 0, level = 0;
  mark[atom] = atom + 1;
  for (int step = 0; step < depth; step++) {
    size_t end = count; /* atoms found in the step before are found[level .. end) */
    if (step > 0 && level == end) break;
    for (size_t k = level; k < (step ? end : level + 1); k++) {
      int from = step ? found[k] : atom;
      for (size_t n = bonds->start[from]; n < bonds->start[from + 1]; n++) {
        int to = bonds->partner[n];
        if (mark[to] == atom + 1) continue;
        mark[to] = atom + 1;
        found[count++] = to;
      }
    }
    level = end;
  }
  for (size_t n = extra->start[atom]; n < extra->start[atom + 1]; n++) {
    int to = extra->partner[n];
    if (mark[to] == atom + 1) continue;
    mark[to] = atom + 1;
    found[count++] = to;
  }
  return count;
}

tg_status tg_topology_exclude(tg_molecule_type* molecule, const tg_atom_pairs* bonds,
                              const tg_atom_pairs* extra) {
  size_t atoms = molecule->atom_count, used = 0, capacity = 0;
  neighbours bonded = {0}, listed = {0};
  int *mark = NULL, *found = NULL;
  tg_status status = TG_OK;
  TG_TRY_GOTO(build_neighbours(atoms, bonds, &bonded), done);
  TG_TRY_GOTO(build_neighbours(atoms, extra, &listed), done);
  TG_TRY_GOTO(TG_ALLOCATE(atoms, "exclusion search", &mark), done);
  TG_TRY_GOTO(TG_ALLOCATE(atoms, "exclusion search", &found), done);
  TG_TRY_GOTO(TG_ALLOCATE(atoms + 1, "exclusions", &molecule->exclusion_start), done);
  for (size_t i = 0; i < atoms; i++) {
    size_t count = collect((int)i, molecule->exclusion_bonds, &bonded, &listed, mark, found);
    if (count) qsort(found, count, sizeof *found, compare);
    TG_TRY_GOTO(TG_RESERVE(used + count, "exclusions", &molecule->exclusion, &capacity), done);
    for (size_t k = 0; k < count; k++) molecule->exclusion[used++] = found[k];
    molecule->exclusion_start[i + 1] = (int)used;
  }
done:
  tg_free(found);
  tg_free(mark);
  free_neighbours(&listed);
  free_neighbours(&bonded);
  return status;
}
