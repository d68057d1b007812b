/* SPDX-License-Identifier: Apache-2.0 */
/* Sorts atoms into columns and clusters (see cluster.h).
 *
 * 1. Wrap the positions of periodic dimensions; choose the columns from the mean density.
 * 2. Counting sort by (column, bin along z), then a comparison sort by (z, global number) in each
 * bin, so the order depends on positions and global numbers alone.
 * 3. In each run of four atoms put those with LJ first: most water clusters then need LJ arithmetic
 * for half of their rows only.
 * 4. Lay the columns out in whole blocks, fillers at the end of each. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "md/omp/cluster.h"
#include "motif/motif.h"

/* An atom on its way to its slot. */
typedef struct tg_sorted_atom {
  double x[3];    /* wrapped */
  double wrap[3]; /* what was added */
  int global, local;
} tg_sorted_atom;

typedef struct tg_sort {
  tg_sorted_atom* atoms;  /* [n] in the caller's order */
  tg_sorted_atom* sorted; /* [n] */
  uint32_t* key;
  uint32_t* order;
  uint64_t* start; /* [columns * bins + 1] */
  int bins;
} tg_sort;

static void sort_free(tg_sort* sort) {
  TG_FREE(sort->atoms);
  TG_FREE(sort->sorted);
  TG_FREE(sort->key);
  TG_FREE(sort->order);
  TG_FREE(sort->start);
}

static int by_height(const void* a, const void* b) {
  const tg_sorted_atom *p = a, *q = b;
  if (p->x[2] != q->x[2]) return p->x[2] < q->x[2] ? -1 : 1;
  return (p->global > q->global) - (p->global < q->global);
}

static void wrap_atoms(tg_clusters* c, const tg_nonbonded_atoms* atoms, tg_sorted_atom* out) {
  for (int d = 0; d < 3; d++) {
    c->low[d] = c->periodic[d] ? 0 : INFINITY;
    c->high[d] = c->periodic[d] ? c->box[d] : -INFINITY;
  }
  for (size_t i = 0; i < atoms->local_count; i++) {
    out[i].global = atoms->global[i];
    out[i].local = (int)i;
    for (int d = 0; d < 3; d++) {
      const double x = atoms->x[i][d];
      out[i].wrap[d] = c->periodic[d] ? -c->box[d] * floor(x / c->box[d]) : 0;
      out[i].x[d] = x + out[i].wrap[d];
      if (c->periodic[d]) continue;
      if (x < c->low[d]) c->low[d] = x;
      if (x > c->high[d]) c->high[d] = x;
    }
  }
}

static int clamp(double value, int count) {
  if (!(value > 0)) return 0;
  return value < count ? (int)value : count - 1;
}

/* Columns of a side that makes clusters about as high as wide at the mean density; never more
 * columns than atoms, whatever the shape. */
static void choose_columns(tg_clusters* c, size_t n, double column_factor, int* bins) {
  double size[3], volume = 1;
  for (int d = 0; d < 3; d++) {
    size[d] = fmax(c->high[d] - c->low[d], 0.1);
    volume *= size[d];
  }
  const double side = column_factor * cbrt(volume / (double)n);
  for (int d = 0; d < 2; d++) {
    const double most = d == 0 ? (double)n : (double)n / c->columns[0];
    c->columns[d] = (int)fmax(1, fmin(rint(size[d] / side), fmin(most, 1 << 14)));
    c->column_size[d] = size[d] / c->columns[d];
  }
  *bins = (int)fmax(1, (double)n / ((double)c->columns[0] * c->columns[1]));
}

static tg_status sort_atoms(tg_clusters* c, const tg_nonbonded_atoms* atoms, double column_factor,
                            int threads, tg_sort* sort) {
  const size_t n = atoms->local_count;
  TG_TRY(TG_ALLOCATE(n, "sorted atoms", &sort->atoms));
  TG_TRY(TG_ALLOCATE(n, "sorted atoms", &sort->sorted));
  TG_TRY(TG_ALLOCATE(n, "sort keys", &sort->key));
  TG_TRY(TG_ALLOCATE(n, "sort order", &sort->order));
  wrap_atoms(c, atoms, sort->atoms);
  c->one_origin = true;
  for (int d = 0; d < 3; d++)
    if (c->high[d] - c->low[d] > 2 * TG_CLUSTER_ONE_ORIGIN - 1) c->one_origin = false;
  choose_columns(c, n, column_factor, &sort->bins);
  const size_t keys = (size_t)c->columns[0] * (size_t)c->columns[1] * (size_t)sort->bins;
  TG_TRY(TG_ALLOCATE(keys + 1, "sort bins", &sort->start));
  const double height = fmax(c->high[2] - c->low[2], 0.1);
  for (size_t i = 0; i < n; i++) {
    const double* x = sort->atoms[i].x;
    const int cx = clamp((x[0] - c->low[0]) / c->column_size[0], c->columns[0]);
    const int cy = clamp((x[1] - c->low[1]) / c->column_size[1], c->columns[1]);
    const int bin = clamp((x[2] - c->low[2]) / height * sort->bins, sort->bins);
    sort->key[i] = (uint32_t)((cx * c->columns[1] + cy) * sort->bins + bin);
  }
  TG_TRY(
      tg_motif_backend("omp")->sort_by_key(n, sort->key, keys, sort->order, sort->start, threads));
  for (size_t i = 0; i < n; i++) sort->sorted[i] = sort->atoms[sort->order[i]];
  for (size_t k = 0; k < keys; k++) {
    const size_t count = sort->start[k + 1] - sort->start[k];
    tg_sorted_atom* bin = sort->sorted + sort->start[k];
    if (count > 16) {
      qsort(bin, count, sizeof *bin, by_height);
      continue;
    }
    for (size_t i = 1; i < count; i++) {
      if (by_height(&bin[i - 1], &bin[i]) <= 0) continue;
      const tg_sorted_atom moved = bin[i];
      size_t j = i;
      for (; j > 0 && by_height(&bin[j - 1], &moved) > 0; j--) bin[j] = bin[j - 1];
      bin[j] = moved;
    }
  }
  return TG_OK;
}

static tg_status reserve_slots(tg_clusters* c) {
  const size_t slots = c->slot_count, real = c->real_size;
  if (slots > c->slot_capacity) {
    const size_t room = slots + slots / 8 + (size_t)c->width;
    const size_t blocks = room / (size_t)c->width + 1;
    const size_t clusters = room / TG_CLUSTER_SIZE + 1;
    c->slot_capacity = 0;
    c->bound_stride = blocks;
    struct {
      void** array;
      size_t count, size;
    } arrays[] = {
        {(void**)&c->atom, room, sizeof *c->atom},
        {(void**)&c->zone, room, 1},
        {(void**)&c->base, room, sizeof *c->base},
        {(void**)&c->type, room, sizeof *c->type},
        {&c->x, blocks * (size_t)c->width * 3, real},
        {&c->charge, room, real},
        {&c->root6, room, real},
        {&c->root12, room, real},
        {&c->origin, blocks * 4, real},
        {(void**)&c->i_box, clusters, sizeof *c->i_box},
        {(void**)&c->j_bound, blocks * 6, sizeof *c->j_bound},
        {(void**)&c->lj_count, clusters, 1},
    };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
      tg_free(*arrays[i].array);
      *arrays[i].array = NULL;
      TG_TRY(tg_allocate(arrays[i].count, arrays[i].size, "clusters of atoms", arrays[i].array));
    }
    c->slot_capacity = room;
  }
  return TG_OK;
}

static void put(const tg_clusters* c, void* array, size_t index, double value) {
  if (c->real_size == sizeof(float)) {
    ((float*)array)[index] = (float)value;
  } else {
    ((double*)array)[index] = value;
  }
}

static void grow_box(tg_cluster_box* box, const double x[3]) {
  for (int d = 0; d < 3; d++) {
    const float here = (float)x[d];
    if (here < box->low[d]) box->low[d] = here;
    if (here > box->high[d]) box->high[d] = here;
  }
}

static const tg_cluster_box EMPTY_BOX = {{1e9F, 1e9F, 1e9F}, {-1e9F, -1e9F, -1e9F}};

typedef struct tg_slot_data {
  const tg_nonbonded_atoms* atoms;
  int type_count;
  const double *root6, *root12;
  const bool* has_lj;
} tg_slot_data;

/* Fills one block with atoms[0..count), the rest with fillers. */
static void fill_block(tg_clusters* c, const tg_slot_data* data, size_t block,
                       const tg_sorted_atom* atoms, size_t count) {
  const size_t width = (size_t)c->width;
  tg_cluster_box around = EMPTY_BOX;
  for (size_t k = 0; k < count; k++) grow_box(&around, atoms[k].x);
  double origin[3];
  for (size_t d = 0; d < 3; d++) {
    c->j_bound[d * c->bound_stride + block] = around.low[d];
    c->j_bound[(d + 3) * c->bound_stride + block] = around.high[d];
    origin[d] = c->one_origin ? rint(c->low[d] + c->high[d]) / 2
                              : rint((double)around.low[d] + (double)around.high[d]) / 2;
    put(c, c->origin, block * 4 + d, origin[d]);
  }
  for (size_t k = 0; k < width; k++) {
    const size_t slot = block * width + k, cluster = slot / TG_CLUSTER_SIZE;
    if (slot % TG_CLUSTER_SIZE == 0) {
      c->i_box[cluster] = EMPTY_BOX;
      c->lj_count[cluster] = 0;
    }
    const tg_sorted_atom* a = k < count ? &atoms[k] : NULL;
    const int type = a != NULL ? data->atoms->type[a->local] : data->type_count;
    c->atom[slot] = a != NULL ? a->local : -1;
    c->type[slot] = type;
    c->zone[slot] = 0;
    put(c, c->charge, slot, a != NULL ? data->atoms->charge[a->local] : 0);
    put(c, c->root6, slot, a != NULL ? data->root6[type] : 0);
    put(c, c->root12, slot, a != NULL ? data->root12[type] : 0);
    if (a == NULL) {
      for (size_t d = 0; d < 3; d++) {
        put(c, c->x, (block * 3 + d) * width + k, d == 0 ? -TG_CLUSTER_FILLER - (double)k : 0);
      }
      continue;
    }
    c->slot[a->local] = (int)slot;
    if (data->has_lj[type]) c->lj_count[cluster]++;
    grow_box(&c->i_box[cluster], a->x);
    for (int d = 0; d < 3; d++) {
      c->base[slot][d] = a->wrap[d] - origin[d];
      if (c->has_zones && data->atoms->offset[a->local][d] != 0) {
        c->zone[slot] |= (uint8_t)(1U << d);
      }
    }
  }
}

/* Stable: atoms with LJ first in each run of four. */
static void lj_first(tg_sorted_atom* atoms, size_t count, const tg_slot_data* data) {
  for (size_t begin = 0; begin < count; begin += TG_CLUSTER_SIZE) {
    const size_t end = begin + TG_CLUSTER_SIZE < count ? begin + TG_CLUSTER_SIZE : count;
    size_t next = begin;
    for (size_t i = begin; i < end; i++) {
      if (!data->has_lj[data->atoms->type[atoms[i].local]]) continue;
      const tg_sorted_atom moved = atoms[i];
      for (size_t j = i; j > next; j--) atoms[j] = atoms[j - 1];
      atoms[next++] = moved;
    }
  }
}

tg_status tg_clusters_build(tg_clusters* c, const tg_nonbonded_atoms* atoms,
                            const tg_cluster_kernels* kernels, int type_count, const double* root6,
                            const double* root12, const bool* has_lj, int threads) {
  tg_status status = TG_OK;
  tg_sort sort = {0};
  c->width = kernels->width;
  c->real_size = kernels->real_size;
  c->has_zones = atoms->offset != NULL;
  c->local_count = atoms->local_count;
  c->slot_count = c->block_count = 0;
  memcpy(c->box, atoms->box, sizeof c->box);
  memcpy(c->periodic, atoms->periodic, sizeof c->periodic);
  if (atoms->local_count == 0) return TG_OK;
  TG_TRY_GOTO(TG_RESERVE(atoms->local_count, "slots of atoms", &c->slot, &c->atom_capacity),
              free_sort);
  TG_TRY_GOTO(sort_atoms(c, atoms, kernels->column_factor, threads, &sort), free_sort);
  const size_t columns = (size_t)c->columns[0] * (size_t)c->columns[1];
  TG_TRY_GOTO(TG_RESERVE(columns + 1, "columns", &c->column_block, &c->column_capacity), free_sort);
  size_t blocks = 0;
  for (size_t k = 0; k < columns; k++) {
    const uint64_t* start = sort.start + k * (size_t)sort.bins;
    c->column_block[k] = (uint32_t)blocks;
    blocks += (start[sort.bins] - start[0] + (size_t)c->width - 1) / (size_t)c->width;
  }
  c->column_block[columns] = (uint32_t)blocks;
  c->slot_count = blocks * (size_t)c->width;
  TG_TRY_GOTO(reserve_slots(c), free_sort);
  c->block_count = blocks;
  const tg_slot_data data = {atoms, type_count, root6, root12, has_lj};
#pragma omp parallel for schedule(static) num_threads(threads) default(none)                       \
    shared(c, sort, data, columns)
  for (size_t k = 0; k < columns; k++) {
    const uint64_t* start = sort.start + k * (size_t)sort.bins;
    tg_sorted_atom* first = sort.sorted + start[0];
    const size_t count = start[sort.bins] - start[0], width = (size_t)c->width;
    lj_first(first, count, &data);
    for (size_t done = 0; done < count; done += width) {
      const size_t left = count - done;
      fill_block(c, &data, c->column_block[k] + done / width, first + done,
                 left < width ? left : width);
    }
  }
free_sort:
  if (status != TG_OK) c->slot_count = c->block_count = 0;
  sort_free(&sort);
  return status;
}

void tg_clusters_free(tg_clusters* c) {
  TG_FREE(c->column_block);
  TG_FREE(c->atom);
  TG_FREE(c->slot);
  TG_FREE(c->zone);
  TG_FREE(c->base);
  TG_FREE(c->type);
  TG_FREE(c->x);
  TG_FREE(c->charge);
  TG_FREE(c->root6);
  TG_FREE(c->root12);
  TG_FREE(c->origin);
  TG_FREE(c->i_box);
  TG_FREE(c->j_bound);
  TG_FREE(c->lj_count);
  c->slot_capacity = c->atom_capacity = c->column_capacity = 0;
}

tg_status tg_cluster_list_reserve(tg_cluster_list* list, size_t rows, size_t entries) {
  TG_TRY(TG_RESERVE(rows, "rows of the pair list", &list->rows, &list->row_capacity));
  return TG_RESERVE(entries, "the pair list", &list->entries, &list->entry_capacity);
}

void tg_cluster_list_free(tg_cluster_list* list) {
  TG_FREE(list->rows);
  TG_FREE(list->entries);
  TG_FREE(list->scratch);
  TG_FREE(list->distance2);
  TG_FREE(list->place);
  *list = (tg_cluster_list){0};
}
