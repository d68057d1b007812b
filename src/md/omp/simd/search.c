/* SPDX-License-Identifier: Apache-2.0 */
/* The list of cluster pairs: from boxes around clusters to rows of entries.
 *
 * For each i-cluster and each periodic shift that brings it near the atoms:
 * 1. the columns within reach, from the i-cluster's own on (half list: slot i < slot j);
 * 2. in a long column, whose blocks are sorted along z, the blocks within reach in z;
 * 3. of these the blocks whose boxes are near, and that hold a pair of atoms within the radius;
 * 4. masks: slot order, domain offsets, exclusions; entries with masks first. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "md/omp/cluster.h"
#include "md/omp/simd/simd.h"
#include "md/omp/simd/variant.h"

enum { REGISTERS = TG_CLUSTER_SIZE / V_ROWS };
#define FULL_MASK ((uint32_t)((1ULL << (TG_CLUSTER_SIZE * V_WIDTH)) - 1))

/* An i-cluster as seen through one shift. */
typedef struct tg_probe {
  size_t cluster, block, lane;
  int8_t shift[3];
  tg_cluster_box box;
  vreal x[REGISTERS][3];
  vreal origin[3];
} tg_probe;

static void probe_load(const tg_clusters* c, tg_probe* probe) {
  for (int d = 0; d < 3; d++) {
    real origin, x[TG_CLUSTER_SIZE];
    const real rest =
        TG_VARIANT_NAME(tg_cluster_shift)(c, probe->block, probe->shift[d], d, &origin);
    TG_VARIANT_NAME(tg_cluster_load)(c, probe->block, probe->lane, d, rest, x);
    probe->origin[d] = v_set(origin);
    for (int n = 0; n < REGISTERS; n++) probe->x[n][d] = v_rows(x + n * V_ROWS);
  }
}

static inline bool any_within(const tg_clusters* c, const tg_probe* probe, size_t block,
                              vreal radius2) {
  const real* xj = (const real*)c->x + block * 3 * V_WIDTH;
  const real* origin = (const real*)c->origin + block * 4;
  vreal j[3];
  for (int d = 0; d < 3; d++) {
    j[d] = v_load_j(xj + d * V_WIDTH);
    if (!c->one_origin) j[d] += v_set(origin[d]) - probe->origin[d];
  }
  vmask any = {0};
  for (int n = 0; n < REGISTERS; n++) {
    const vreal x = probe->x[n][0] - j[0], y = probe->x[n][1] - j[1], z = probe->x[n][2] - j[2];
    any |= v_less(x * x + y * y + z * z, radius2);
  }
  return v_any(any);
}

static inline float gap2(float low_a, float high_a, float low_b, float high_b) {
  /* not fmaxf, which is a call unless NaN is ruled out */
  const float above = low_b - high_a, below = low_a - high_b;
  float gap = above > below ? above : below;
  gap = gap > 0 ? gap : 0;
  return gap * gap;
}

static int column_clamp(double value, int count) {
  if (!(value > 0)) return 0;
  return value < count ? (int)value : count - 1;
}

/* Squared distances of blocks [first, first + count) from the probe, by their boxes. */
static void box_distances(const tg_clusters* c, const tg_probe* probe, size_t first, size_t count,
                          float* restrict out) {
  const float* restrict bound = c->j_bound + first;
  const size_t stride = c->bound_stride;
  const tg_cluster_box box = probe->box;
  for (size_t b = 0; b < count; b++) {
    out[b] = gap2(box.low[0], box.high[0], bound[b], bound[3 * stride + b]) +
             gap2(box.low[1], box.high[1], bound[stride + b], bound[4 * stride + b]) +
             gap2(box.low[2], box.high[2], bound[2 * stride + b], bound[5 * stride + b]);
  }
}

/* Adds those of the blocks [first, last) that are near. Branches here would be guessed wrong half
 * of the time, so entries are always written and the count tells which stay. */
static bool add_blocks(const tg_clusters* c, const tg_probe* probe, size_t first, size_t last,
                       float reach, tg_cluster_list* list) {
  if (first >= last) return true;
  const size_t count = last - first, begin = list->entry_count;
  const vreal radius2 = v_set((real)reach * (real)reach);
  list->status =
      TG_RESERVE(count, "scratch of the pair search", &list->distance2, &list->distance_capacity);
  if (list->status == TG_OK) list->status = tg_cluster_list_reserve(list, 0, begin + count);
  if (list->status != TG_OK) return false;
  box_distances(c, probe, first, count, list->distance2);
  tg_cluster_entry* entries = list->entries + begin;
  size_t near = 0, kept = 0;
  for (size_t b = 0; b < count; b++) {
    entries[near].block = (int32_t)(first + b);
    near += list->distance2[b] <= reach * reach ? 1 : 0;
  }
  for (size_t e = 0; e < near; e++) {
    const int32_t block = entries[e].block;
    entries[kept] = (tg_cluster_entry){block, FULL_MASK};
    kept += any_within(c, probe, (size_t)block, radius2) ? 1 : 0;
  }
  list->entry_count = begin + kept;
  return true;
}

/* The blocks of a long column that are within reach along z, by halving. */
static void narrow_column(const tg_clusters* c, const tg_probe* probe, float reach, size_t* first,
                          size_t* last) {
  const float* low = c->j_bound + 2 * c->bound_stride;
  const float* high = c->j_bound + 5 * c->bound_stride;
  const size_t end = *last;
  size_t a = *first, b = end;
  while (a < b) {
    const size_t middle = (a + b) / 2;
    if (high[middle] < probe->box.low[2] - reach) {
      a = middle + 1;
    } else {
      b = middle;
    }
  }
  *first = a;
  b = end;
  while (a < b) {
    const size_t middle = (a + b) / 2;
    if (low[middle] > probe->box.high[2] + reach) {
      b = middle;
    } else {
      a = middle + 1;
    }
  }
  *last = a;
}

static bool add_columns(const tg_clusters* c, const tg_probe* probe, double radius,
                        size_t own_column, tg_cluster_list* list) {
  /* a margin for the rounding of the boxes and of the radius itself */
  const float reach = (float)radius + 1e-5F;
  int first[2], last[2];
  for (int d = 0; d < 2; d++) {
    const double low = ((double)(probe->box.low[d] - reach) - c->low[d]) / c->column_size[d];
    const double high = ((double)(probe->box.high[d] + reach) - c->low[d]) / c->column_size[d];
    if (high < -1e-3 || low > c->columns[d] + 1e-3) return true;
    first[d] = column_clamp(low - 1e-3, c->columns[d]);
    last[d] = column_clamp(high + 1e-3, c->columns[d]);
  }
  /* Columns of one cx follow each other, and short ones are cheaper to scan in one go. */
  const bool is_short = c->block_count <= 32 * (size_t)c->columns[0] * (size_t)c->columns[1];
  for (int cx = first[0]; cx <= last[0]; cx++) {
    const float left = (float)(c->low[0] + cx * c->column_size[0]);
    const float x2 = gap2(probe->box.low[0], probe->box.high[0], left - 1e-4F,
                          left + (float)c->column_size[0] + 1e-4F);
    if (x2 > reach * reach) continue;
    const size_t row = (size_t)cx * (size_t)c->columns[1];
    if (row + (size_t)last[1] < own_column) continue;
    if (is_short) {
      size_t begin = c->column_block[row + (size_t)first[1]];
      if (begin < probe->block) begin = probe->block;
      if (!add_blocks(c, probe, begin, c->column_block[row + (size_t)last[1] + 1], reach, list)) {
        return false;
      }
      continue;
    }
    for (int cy = first[1]; cy <= last[1]; cy++) {
      const size_t column = row + (size_t)cy;
      if (column < own_column) continue;
      const float front = (float)(c->low[1] + cy * c->column_size[1]);
      const float y2 = gap2(probe->box.low[1], probe->box.high[1], front - 1e-4F,
                            front + (float)c->column_size[1] + 1e-4F);
      if (x2 + y2 > reach * reach) continue;
      size_t begin = c->column_block[column], end = c->column_block[column + 1];
      if (begin < probe->block) begin = probe->block;
      narrow_column(c, probe, reach, &begin, &end);
      if (!add_blocks(c, probe, begin, end, reach, list)) return false;
    }
  }
  return true;
}

/* Slot order in the i-cluster's own block, and the rule on domain offsets. */
static inline void mask_order_and_zones(const tg_clusters* c, const tg_probe* probe,
                                        tg_cluster_entry* e) {
  const size_t block = (size_t)e->block;
  if (block != probe->block && !c->has_zones) return;
  for (size_t i = 0; i < TG_CLUSTER_SIZE; i++) {
    const size_t slot_i = probe->cluster * TG_CLUSTER_SIZE + i;
    for (size_t k = 0; k < V_WIDTH; k++) {
      const size_t slot_j = block * V_WIDTH + k;
      if (slot_i >= slot_j || (c->zone[slot_i] & c->zone[slot_j]) != 0) {
        e->mask &= ~(1U << (i * V_WIDTH + k));
      }
    }
  }
}

static void mask_exclusions(const tg_cluster_search* search, const tg_probe* probe, size_t begin,
                            tg_cluster_list* list) {
  const tg_clusters* c = search->clusters;
  if (search->exclusion_start == NULL) return;
  for (size_t i = 0; i < TG_CLUSTER_SIZE; i++) {
    const int atom = c->atom[probe->cluster * TG_CLUSTER_SIZE + i];
    if (atom < 0) continue;
    for (int n = search->exclusion_start[atom]; n < search->exclusion_start[atom + 1]; n++) {
      const size_t slot = (size_t)c->slot[search->exclusion[n]], block = slot / V_WIDTH;
      const size_t at = list->place[block];
      if (at < begin || at >= list->entry_count || (size_t)list->entries[at].block != block)
        continue;
      list->entries[at].mask &= ~(1U << (i * V_WIDTH + slot % V_WIDTH));
    }
  }
}

/* Masked entries first, empty ones out; adds the row unless nothing is left. */
static void close_row(const tg_clusters* c, const tg_probe* probe, size_t begin,
                      tg_cluster_list* list) {
  const size_t count = list->entry_count - begin;
  list->status =
      TG_RESERVE(count, "scratch of the pair list", &list->scratch, &list->scratch_capacity);
  if (list->status == TG_OK) list->status = tg_cluster_list_reserve(list, list->row_count + 1, 0);
  if (list->status != TG_OK) return;
  size_t masked = begin, plain = 0;
  for (size_t e = begin; e < list->entry_count; e++) {
    const tg_cluster_entry entry = list->entries[e];
    if (entry.mask == FULL_MASK) {
      list->scratch[plain++] = entry;
    } else if (entry.mask != 0) {
      list->entries[masked++] = entry;
    }
  }
  memcpy(list->entries + masked, list->scratch, plain * sizeof *list->scratch);
  list->entry_count = masked + plain;
  if (list->entry_count == begin) return;
  tg_cluster_row row = {.cluster = (int32_t)probe->cluster,
                        .lj_count = c->lj_count[probe->cluster],
                        .begin = (uint32_t)begin,
                        .plain = (uint32_t)masked,
                        .end = (uint32_t)list->entry_count};
  memcpy(row.shift, probe->shift, sizeof row.shift);
  list->rows[list->row_count++] = row;
}

/* Whether a shift along d brings the cluster near the atoms; sets that side of the probe's box. */
static bool shift_is_near(const tg_clusters* c, tg_probe* probe, int d, int shift, double radius) {
  const tg_cluster_box* home = &c->i_box[probe->cluster];
  const float length = (float)(shift * c->box[d]);
  probe->shift[d] = (int8_t)shift;
  probe->box.low[d] = home->low[d] + length;
  probe->box.high[d] = home->high[d] + length;
  return (double)probe->box.high[d] + radius >= c->low[d] - 1e-4 &&
         (double)probe->box.low[d] - radius <= c->high[d] + 1e-4;
}

static void search_shift(const tg_cluster_search* search, tg_probe* probe, size_t own_column,
                         tg_cluster_list* list) {
  const tg_clusters* c = search->clusters;
  const size_t begin = list->entry_count;
  probe_load(c, probe);
  if (!add_columns(c, probe, search->radius, own_column, list)) return;
  if (list->entry_count == begin) return;
  for (size_t e = begin; e < list->entry_count; e++) {
    list->place[list->entries[e].block] = (uint32_t)e;
    mask_order_and_zones(c, probe, &list->entries[e]);
  }
  mask_exclusions(search, probe, begin, list);
  close_row(c, probe, begin, list);
}

void TG_VARIANT_NAME(tg_cluster_search)(const tg_cluster_search* search, size_t begin, size_t end,
                                        tg_cluster_list* list) {
  const tg_clusters* c = search->clusters;
  list->row_count = list->entry_count = 0;
  list->status =
      TG_RESERVE(c->block_count, "places in the pair list", &list->place, &list->place_capacity);
  size_t column = 0;
  int most[3];
  for (int d = 0; d < 3; d++) most[d] = c->periodic[d] ? 1 : 0;
  for (size_t i = begin; i < end && list->status == TG_OK; i++) {
    if (c->i_box[i].low[0] > c->i_box[i].high[0]) continue;
    tg_probe probe = {.cluster = i,
                      .block = i * TG_CLUSTER_SIZE / V_WIDTH,
                      .lane = i * TG_CLUSTER_SIZE % V_WIDTH};
    while (c->column_block[column + 1] <= probe.block) column++;
    for (int sx = -most[0]; sx <= most[0]; sx++) {
      if (!shift_is_near(c, &probe, 0, sx, search->radius)) continue;
      for (int sy = -most[1]; sy <= most[1]; sy++) {
        if (!shift_is_near(c, &probe, 1, sy, search->radius)) continue;
        for (int sz = -most[2]; sz <= most[2] && list->status == TG_OK; sz++) {
          if (!shift_is_near(c, &probe, 2, sz, search->radius)) continue;
          search_shift(search, &probe, column, list);
        }
      }
    }
  }
}

/* Copies those of the entries [begin, end) that hold a pair within the radius to place `kept` and
 * on; returns where they end. Without branches, as in add_blocks. */
static inline size_t keep_near(const tg_clusters* c, const tg_probe* probe, vreal radius2,
                               const tg_cluster_list* from, size_t begin, size_t end,
                               tg_cluster_list* to, size_t kept) {
  tg_cluster_entry* entries = to->entries;
  for (size_t e = begin; e < end; e++) {
    const tg_cluster_entry entry = from->entries[e];
    entries[kept] = entry;
    kept += any_within(c, probe, (size_t)entry.block, radius2) ? 1 : 0;
  }
  return kept;
}

void TG_VARIANT_NAME(tg_cluster_prune)(const tg_clusters* c, double radius,
                                       const tg_cluster_list* from, tg_cluster_list* to) {
  const real reach = (real)radius + (real)1e-5;
  const vreal radius2 = v_set(reach * reach);
  to->row_count = to->entry_count = 0;
  to->status = tg_cluster_list_reserve(to, from->row_count, from->entry_count);
  if (to->status != TG_OK) return;
  for (size_t r = 0; r < from->row_count; r++) {
    tg_cluster_row row = from->rows[r];
    tg_probe probe = {.cluster = (size_t)row.cluster,
                      .block = (size_t)row.cluster * TG_CLUSTER_SIZE / V_WIDTH,
                      .lane = (size_t)row.cluster * TG_CLUSTER_SIZE % V_WIDTH};
    memcpy(probe.shift, row.shift, sizeof probe.shift);
    probe_load(c, &probe);
    const size_t begin = to->entry_count;
    const size_t plain = keep_near(c, &probe, radius2, from, row.begin, row.plain, to, begin);
    to->entry_count = keep_near(c, &probe, radius2, from, row.plain, row.end, to, plain);
    if (to->entry_count == begin) continue;
    row.begin = (uint32_t)begin;
    row.plain = (uint32_t)plain;
    row.end = (uint32_t)to->entry_count;
    to->rows[to->row_count++] = row;
  }
}
