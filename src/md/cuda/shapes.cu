/* SPDX-License-Identifier: Apache-2.0 */
/* Columns, domains, and the room that lists and clusters get: decided once, from the box and the
 * number of atoms. */
#include <math.h>

#include <algorithm>

#include "base/units.h"
#include "md/cuda/state.cuh"

enum { LIQUID = 110 /* atoms a nm^3 */, MOST_COLUMNS = 4096 };

static const uint32_t NEVER = 0xFFFFFFFFU;

/* How far atoms stand out of the brick that owns them: the length of a group. */
static const double STANDS_OUT = 0.3; /* nm */

/* By how much bricks may thicken before the lists need more room (tg_device_md_params.row_room). */
static const double THICKENS = 1.2;

static double density_of(const tg_device_md_params* p) {
  return (double)std::max<size_t>(p->atom_count, 1) / (p->box[0] * p->box[1] * p->box[2]);
}

static double row_share(const tg_device_md_params* p) { return p->row_room > 0 ? p->row_room : 1; }

/* The thickness of the thickest brick. */
static double thickest(const tg_device_md* md, const tg_device_md_params* p, int d) {
  const uint32_t n = md->views.grid.count[d];
  uint64_t most = 0;
  if (p->balance && n > 1) return std::min(p->box[d], THICKENS * p->box[d] / n);
  if (!p->planes) return p->box[d] / n;
  const uint32_t* at = p->planes->at[d];
  for (uint32_t k = 0; k < n; k++) most = std::max(most, tg_balance_end(at, n, k) - at[k]);
  return (double)most * 0x1p-32 * p->box[d];
}

static tg_status choose_grid(tg_device_md* md, const tg_device_md_params* p) {
  tg_md_grid* g = &md->views.grid;
  long long domains = 1;
  for (int d = 0; d < 3; d++) {
    g->count[d] = (uint32_t)std::max(p->domains[d], 1);
    domains *= g->count[d];
  }
  const long long most = std::min(TG_MD_DOMAINS * md->card_count, (int)TG_MD_MOST_DOMAINS);
  if (domains > most || domains % md->card_count != 0)
    return tg_fail(
        TG_ERR_INPUT,
        "%u x %u x %u domains on %d GPU%s: %s%d to %lld were expected; give --pe another "
        "number",
        g->count[0], g->count[1], g->count[2], md->card_count, md->card_count == 1 ? "" : "s",
        md->card_count == 1 ? "" : "multiples of their number, ", md->card_count, most);
  g->domains = (uint32_t)domains;
  md->domain_count = (int)(domains / md->card_count);
  g->first = (uint32_t)(md->card * md->domain_count);
  return TG_OK;
}

/* Atoms at home in the largest brick and in its halo, where the box is as dense as a liquid; and
 * the clusters that need not be full: one a slab, or one a column that is filled as a whole. */
typedef struct brick {
  double home, around, home_slabs, around_slabs;
} brick;

static brick measure_brick(const tg_device_md* md, const tg_device_md_params* p) {
  const tg_md_view* v = &md->views.item[0];
  const double n = (double)p->atom_count, room = row_share(p), reach = p->list_radius + STANDS_OUT;
  const double dense = std::max(density_of(p), (double)LIQUID) * 1.15 * room;
  double inner = 1, outer = 1;
  const double all = (double)v->columns[0] * v->columns[1];
  double across[2], around[2];
  brick b;
  for (int d = 0; d < 3; d++) {
    const double edge = thickest(md, p, d);
    inner *= edge;
    outer *= std::min(p->box[d], edge + 2 * reach);
    if (d == 2) continue;
    const double column = p->box[d] / v->columns[d];
    across[d] = std::min((double)v->columns[d], ceil((edge + 2 * STANDS_OUT) / column) + 1);
    around[d] = std::min((double)v->columns[d], ceil((edge + 2 * reach) / column) + 1);
  }
  b.home = std::min(n, inner * dense + 64);
  b.around = std::min(n, (outer - inner) * dense + 64);
  double cut = across[0] * across[1];
  if (v->dense != NEVER) {
    double faces = 0;
    for (int d = 0; d < 2; d++)
      if (md->views.grid.count[d] > 1) faces += 4 * across[1 - d];
    cut = std::min(cut, faces);
  }
  b.home_slabs = std::min(all * v->slabs, (across[0] * across[1] + (v->slabs - 1) * cut) * room);
  b.around_slabs = std::min(all, around[0] * around[1] * room) * (v->sheets - 1);
  return b;
}

static uint32_t whole_blocks(double clusters) {
  return ((uint32_t)clusters + TG_MD_WARPS - 1) / TG_MD_WARPS * TG_MD_WARPS;
}

/* A slab's last cluster need not be full. */
static void choose_clusters(tg_device_md* md, const tg_device_md_params* p) {
  tg_md_view* v = &md->views.item[0];
  if (!tg_md_is_many(md)) {
    v->cluster_capacity = v->row_capacity =
        whole_blocks((uint32_t)(p->atom_count / TG_MD_CLUSTER) +
                     (double)v->columns[0] * v->columns[1] * v->slabs);
    return;
  }
  const brick b = measure_brick(md, p);
  v->row_capacity = whole_blocks(b.home / TG_MD_CLUSTER + b.home_slabs);
  v->cluster_capacity = whole_blocks(v->row_capacity + b.around / TG_MD_CLUSTER + b.around_slabs);
}

/* All atoms within the radius of a cube, of which a row has half: twice the room, for places that
 * are denser than a liquid. At a corner of a brick a row has nearly all of them. */
static void choose_rows(tg_device_md* md, const tg_device_md_params* p, double edge) {
  tg_md_view* v = &md->views.item[0];
  const double radius[2] = {p->list_radius, p->inner_radius};
  const double dense = std::max(density_of(p), (double)LIQUID);
  for (int i = 0; i < 2; i++) {
    const double r = radius[i];
    const double reach = edge * edge * edge + 6 * edge * edge * r + 3 * TG_PI * edge * r * r +
                         4 / 3. * TG_PI * r * r * r;
    const double wanted = dense * reach * row_share(p) * (tg_md_is_many(md) ? 2 : 1);
    const double most = std::min(wanted, (double)p->atom_count + 64);
    v->row_room[i] = ((uint32_t)most / 32 + 2) * 32;
  }
}

/* So many that a cluster in a column of few atoms is no higher than a list radius or so, which a
 * row has room for, and the box wide enough. */
static uint32_t low_slabs(const tg_device_md_params* p, uint32_t least) {
  const double edge = p->box[2], span = 2 * (2 * p->list_radius - p->cutoff) + 0.04;
  const double narrow = edge > span ? ceil(edge / (edge - span)) : 1;
  return std::max(least, (uint32_t)std::min(std::max(ceil(edge / 1.2), narrow), 64.));
}

/* Bricks of equal size, or those that are asked for. */
static tg_status choose_planes(tg_device_md* md, const tg_device_md_params* p) {
  const tg_md_grid* g = &md->views.grid;
  md->balanced = p->balance && tg_md_is_many(md);
  tg_balance_equal(g->count, &md->planes);
  if (!p->planes) return TG_OK;
  for (int d = 0; d < 3; d++)
    for (uint32_t k = 0; k < g->count[d]; k++) {
      const uint32_t at = p->planes->at[d][k];
      if (k == 0 ? at != 0 : at <= p->planes->at[d][k - 1])
        return tg_fail(TG_ERR_INTERNAL, "plane %u in %c is at %u: they are to ascend from 0", k,
                       "xyz"[d], at);
      md->planes.at[d][k] = at;
    }
  return TG_OK;
}

tg_status tg_md_choose_shapes(tg_device_md* md, const tg_device_md_params* p) {
  tg_md_view* v = &md->views.item[0];
  TG_TRY(choose_grid(md, p));
  TG_TRY(choose_planes(md, p));
  const double density = density_of(p);
  /* columns in which 8 atoms are about as high as wide */
  const double side = std::clamp(cbrt(TG_MD_CLUSTER / density), 0.05, 1.5);
  for (int d = 0; d < 2; d++) {
    v->columns[d] = (uint32_t)std::clamp(rint(p->box[d] / side), 1., (double)MOST_COLUMNS);
    /* home atoms stand out of their columns by up to 3/4 (domains.cuh), at both ends of a range */
    v->range[d] = (uint32_t)ceil(p->list_radius / (p->box[d] / v->columns[d])) +
                  (md->views.grid.count[d] > 1 ? 2 : 0);
  }
  const bool is_vacuum = density < 0.65 * LIQUID;
  v->slabs = is_vacuum ? 3 : 1;
  if (tg_md_is_many(md)) v->slabs = low_slabs(p, v->slabs);
  /* a plane between bricks may leave half of a column; what stands out by far, less */
  const double full = (double)p->atom_count / v->columns[0] / v->columns[1];
  v->dense = is_vacuum ? NEVER : (uint32_t)(0.8 * full / md->views.grid.count[2]);
  v->sheets = !tg_md_is_many(md) ? 1 : md->views.grid.count[2] > 1 ? 3 : 2;
  const uint32_t slabs = v->columns[0] * v->columns[1] * v->slabs;
  v->bins = (uint32_t)std::max<size_t>(1, p->atom_count / 32 / slabs); /* a warp's worth of atoms */
  choose_clusters(md, p);
  choose_rows(md, p, std::max(side, 0.3));
  const size_t slots = (size_t)v->cluster_capacity * TG_MD_CLUSTER;
  if (slots <= TG_MD_MOST_SLOTS) return TG_OK;
  return tg_fail(TG_ERR_INPUT,
                 "GPU %d: %zu atoms need room for up to %zu in clusters of 8; a domain has %d",
                 md->device, p->atom_count, slots, TG_MD_MOST_SLOTS);
}
