/* SPDX-License-Identifier: Apache-2.0 */
/* The arrays of a tg_device_md: making them, filling them, reading them. */
#include "md/cuda/domains.cuh"
#include "md/cuda/stages.cuh"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <new>
#include <vector>

#include "device/device.h"

/* Where the next array begins in the one allocation; with memory NULL it only counts. */
typedef struct room {
  char* memory;
  size_t used;
} room;

template <typename T>
static void carve(room* r, size_t count, T** out) {
  const size_t bytes = (std::max<size_t>(count, 1) * sizeof(T) + 255) / 256 * 256;
  *out = r->memory ? (T*)(r->memory + r->used) : nullptr;
  r->used += bytes;
}

/* What a card's domains share. */
static void carve_card(tg_device_md* md, room* r, const tg_device_md_params* p) {
  tg_md_view* v = &md->views.item[0];
  const size_t n = v->atom_count, types = md->views.all.type_count;
  const size_t exclusions = p->exclusion_start ? (size_t)p->exclusion_start[n] : 0;
  uint32_t *start = nullptr, *partner = nullptr, *plane = nullptr;
  float2* lj = nullptr;
  carve(r, n, &v->atom_x);
  carve(r, n, &v->atom_type);
  carve(r, p->exclusion_start ? n + 1 : 0, &start);
  carve(r, exclusions, &partner);
  carve(r, types * types, &lj);
  carve(r, (size_t)TG_MD_ENERGY_ROWS * TG_MD_ENERGY_TERMS, &v->energy);
  carve(r, 1, &v->trouble);
  carve(r, 1, &md->views.exchange);
  carve(r, n, &md->steps.v);
  carve(r, n, &md->steps.frame_x);
  carve(r, n, &md->steps.frame_v);
  carve(r, 3 * n, &md->steps.frame_f);
  v->exclusion_start = p->exclusion_start ? start : nullptr;
  v->exclusion = partner;
  md->views.all.lj = lj;
  if (!tg_md_is_many(md)) return;
  carve(r, n, &v->owner);
  carve(r, n, &v->send_mask);
  carve(r, n * md->views.grid.domains, &v->send_slot);
  carve(r, (size_t)3 * TG_MD_MOST_DOMAINS, &plane);
  md->views.grid.plane = plane;
}

static void carve_domain(tg_md_view* v, int turns, room* r) {
  const size_t n = v->atom_count, clusters = v->cluster_capacity, rows = v->row_capacity;
  const size_t slots = clusters * TG_MD_CLUSTER,
               slabs = (size_t)v->columns[0] * v->columns[1] * v->slabs * v->sheets;
  const size_t bins = slabs * v->bins;
  carve(r, n, &v->slot_of_atom);
  carve(r, n, &v->rank);
  carve(r, n, &v->key);
  carve(r, n, &v->sorted);
  carve(r, bins, &v->bin_count);
  carve(r, bins + 1, &v->bin_atom);
  carve(r, slabs + 1, &v->slab_cluster);
  carve(r, slots * (size_t)turns, &v->x);
  carve(r, slots, &v->row);
  carve(r, slots, &v->atom);
  carve(r, slots, &v->force_xy);
  carve(r, slots, &v->force_z);
  carve(r, clusters, &v->bottom);
  carve(r, clusters, &v->centre);
  carve(r, clusters, &v->half);
  for (int i = 0; i < 2; i++) {
    carve(r, rows * v->row_room[i], &v->list[i]);
    carve(r, rows, &v->count[i]);
  }
  carve(r, rows, &v->order);
  carve(r, 1, &v->totals);
}

/* Of schedules other than direct: behind all the rest. */
static void carve_stages(tg_device_md* md, room* r) {
  tg_md_stages* s = &md->stages;
  const size_t room = tg_md_stages_room(&md->views.item[0]);
  const bool mail = !tg_md_has_graphs(md);
  if (!tg_md_is_staged(md)) return;
  s->room = (uint32_t)room;
  carve(r, 1, &s->messages);
  carve(r, TG_STAGES, &s->blocks_done);
  for (int d = 0; d < md->domain_count; d++) carve(r, room, &s->entry[d]); /* cleared at once */
  for (int d = 0; d < md->domain_count; d++) {
    carve(r, mail ? room : 0, &s->sent[d]);
    carve(r, mail ? room : 0, &s->mail[d]);
  }
}

/* All cards' windows are alike. */
static void carve_all(tg_device_md* md, room* r, const tg_device_md_params* p) {
  carve_card(md, r, p);
  for (int d = md->domain_count - 1; d >= 0; d--) {
    tg_md_view* v = &md->views.item[d];
    *v = md->views.item[0];
    v->domain = md->views.grid.first + (uint32_t)d;
    carve_domain(v, md->card_count > 1 ? 2 : 1, r);
    md->x[d] = v->x;
  }
  carve_stages(md, r);
}

static void choose_constants(tg_device_md* md, const tg_device_md_params* p) {
  tg_md_constants* c = &md->views.all;
  for (int d = 0; d < 3; d++) {
    c->nm[d] = (float)(p->box[d] * 0x1p-32);
    c->half_box[d] = (float)(p->box[d] / 2);
    md->box[d] = p->box[d];
  }
  c->list_radius = (float)p->list_radius;
  c->inner_radius = (float)p->inner_radius;
  c->cutoff2 = (float)(p->cutoff * p->cutoff);
  c->rf_2k = (float)(2 * p->rf_k);
  c->rf_k = (float)p->rf_k;
  c->rf_c = p->coulomb_shift ? (float)p->rf_c : 0;
  c->coulomb_scale = (float)(TG_MD_FORCE_UNITS * p->coulomb_scale);
  c->edge6 = p->lj_shift ? (float)pow(p->cutoff, -6) : 0;
  c->type_count = (uint32_t)p->type_count;
}

static tg_status upload(const tg_device_md* md, void* to, const void* from, size_t bytes) {
  if (bytes == 0) return TG_OK;
  return tg_cuda_status(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, md->stream),
                        md->device, "copying to it");
}

static tg_status download(const tg_device_md* md, void* to, const void* from, size_t bytes) {
  if (bytes == 0) return TG_OK;
  TG_TRY(tg_cuda_status(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, md->stream),
                        md->device, "copying from it"));
  return tg_cuda_status(cudaStreamSynchronize(md->stream), md->device, "computing");
}

static bool has_lj(const tg_device_md_params* p, size_t type) {
  const size_t types = (size_t)p->type_count;
  for (size_t i = type * types; i < (type + 1) * types; i++)
    if (p->c6[i] != 0 || p->c12[i] != 0) return true;
  return false;
}

static tg_status fill_planes(tg_device_md* md) {
  const tg_md_grid* g = &md->views.grid;
  for (int i = 0; i < md->domain_count; i++) {
    tg_md_view* v = &md->views.item[i];
    tg_md_totals totals = {};
    totals.origin = tg_md_origin_between(*g, md->planes.at[2], v->domain);
    for (int d = 0; d < 3; d++) {
      totals.low[d] = INT32_MAX;
      totals.high[d] = INT32_MIN;
    }
    TG_TRY(upload(md, v->totals, &totals, sizeof totals));
  }
  TG_TRY(upload(md, (void*)g->plane, &md->planes, sizeof md->planes));
  return tg_cuda_status(cudaStreamSynchronize(md->stream), md->device, "copying to it");
}

static tg_status fill_tables(tg_device_md* md, const tg_device_md_params* p) {
  const size_t n = p->atom_count, types = (size_t)p->type_count;
  tg_md_view* v = &md->views.item[0];
  std::vector<float2> table(types * types);
  for (size_t i = 0; i < types * types; i++)
    table[i] = make_float2((float)(6 * TG_MD_FORCE_UNITS * p->c6[i]),
                           (float)(12 * TG_MD_FORCE_UNITS * p->c12[i]));
  TG_TRY(upload(md, (void*)md->views.all.lj, table.data(), table.size() * sizeof table[0]));
  std::vector<uint4> x(n);
  for (size_t i = 0; i < n; i++) {
    const float charge = (float)p->charge[i];
    memcpy(&x[i].w, &charge, sizeof charge);
  }
  TG_TRY(upload(md, v->atom_x, x.data(), n * sizeof x[0]));
  std::vector<uint32_t> type(n);
  for (size_t i = 0; i < n; i++)
    type[i] = (uint32_t)p->type[i] | (has_lj(p, (size_t)p->type[i]) ? TG_MD_HAS_LJ : 0);
  TG_TRY(upload(md, v->atom_type, type.data(), n * sizeof type[0]));
  if (p->exclusion_start) {
    TG_TRY(upload(md, (void*)v->exclusion_start, p->exclusion_start, (n + 1) * sizeof(uint32_t)));
    TG_TRY(upload(md, (void*)v->exclusion, p->exclusion,
                  (size_t)p->exclusion_start[n] * sizeof(uint32_t)));
  }
  if (tg_md_is_many(md)) return fill_planes(md);
  return tg_cuda_status(cudaStreamSynchronize(md->stream), md->device, "copying to it");
}

void tg_md_take_turn(tg_device_md* md, int turn) {
  tg_md_grid* g = &md->views.grid;
  const uint32_t count = (uint32_t)md->domain_count;
  md->turn = md->card_count > 1 ? turn % 2 : 0;
  const size_t slots = (size_t)md->views.item[0].cluster_capacity * TG_MD_CLUSTER;
  const size_t next = md->card_count > 1 ? (size_t)(1 - md->turn) * slots : 0;
  for (int d = 0; d < md->domain_count; d++) {
    md->views.item[d].x = md->x[d] + (size_t)md->turn * slots;
    md->views.item[d].x_next = md->x[d] + next;
  }
  for (uint32_t d = 0; d < g->domains; d++)
    g->x[d] = tg_md_peer(md->views.peers, md->views.item[d % count].x_next, d / count);
}

static tg_status fill_window(tg_device_md* md, const tg_device_md_params* p) {
  room r = {};
  md->memory = tg_md_peers_base(md->peers, md->card);
  md->views.peers = tg_md_peers_view_of(md->peers, md->card);
  r.memory = (char*)md->memory;
  carve_all(md, &r, p);
  tg_md_take_turn(md, 0);
  TG_TRY(tg_md_select(md));
  TG_TRY(fill_tables(md, p));
  if (tg_md_is_staged(md)) TG_TRY(tg_md_prepare_exchange(md));
  return tg_md_prepare_forces(md);
}

static tg_status check_params(const tg_device_md_params* p) {
  if (p->atom_count > TG_MD_MOST_SLOTS)
    return tg_fail(TG_ERR_INPUT, "GPU %d: %zu atoms; a GPU has room for %d", p->device,
                   p->atom_count, TG_MD_MOST_SLOTS);
  for (int d = 0; d < 3; d++)
    if (!(p->box[d] > 2 * p->list_radius))
      return tg_fail(TG_ERR_INPUT,
                     "GPU %d: the box is %g nm long in %c; more than twice the list radius of %g "
                     "nm is needed; use --backend omp, which is fast enough for so few atoms",
                     p->device, p->box[d], "xyz"[d], p -> list_radius);
  return TG_OK;
}

/* A card of this process, but for its memory. */
static tg_status create_card(tg_md_peers* peers, int card, const tg_device_md_params* params,
                             tg_device_md** out) {
  tg_device_md* md = new (std::nothrow) tg_device_md();
  if (!md) return tg_fail(TG_ERR_MACHINE, "no memory for a simulation on a GPU");
  *out = md;
  md->peers = peers;
  md->card = card;
  md->card_count = tg_md_peers_card_count(peers);
  TG_TRY(tg_md_schedule_of(params->halo, &md->schedule));
  md->device = tg_md_peers_device(peers, card);
  md->stream = tg_md_peers_stream(peers, card);
  md->views.item[0].atom_count = (uint32_t)params->atom_count;
  choose_constants(md, params);
  return tg_md_choose_shapes(md, params);
}

static tg_status create_cards(tg_md_peers* peers, const tg_device_md_params* params,
                              tg_device_md** first) {
  room r = {};
  tg_device_md** next = first;
  for (int i = 0; i < tg_md_peers_own_count(peers); i++) {
    TG_TRY(create_card(peers, tg_md_peers_first(peers) + i, params, next));
    next = &(*next)->next;
  }
  carve_all(*first, &r, params);
  TG_TRY(tg_md_peers_allocate(peers, r.used));
  for (tg_device_md* md = *first; md; md = md->next) TG_TRY(fill_window(md, params));
  return TG_OK;
}

static void destroy_cards(tg_device_md* md) {
  while (md) {
    tg_device_md* next = md->next;
    delete md;
    md = next;
  }
}

tg_status tg_device_md_create(const tg_device_md_params* params, tg_device_md** out) {
  if (tg_device_count() == 0)
    return tg_fail(TG_ERR_MACHINE, "molecular dynamics on a GPU: %s", tg_device_reason());
  TG_TRY(check_params(params));
  tg_md_peers_params cards = {};
  cards.world = params->world;
  cards.device = params->device;
  cards.card_count = params->card_count;
  cards.deadline_s = params->deadline_s;
  tg_md_peers* peers = nullptr;
  tg_device_md* md = nullptr;
  TG_TRY(tg_md_peers_open(&cards, &peers));
  const tg_status status = create_cards(peers, params, &md);
  if (status == TG_OK) {
    *out = md;
    return TG_OK;
  }
  destroy_cards(md);
  tg_md_peers_close(&peers);
  return status;
}

void tg_device_md_destroy(tg_device_md** md) {
  if (md == nullptr || *md == nullptr) return;
  tg_md_peers* peers = (*md)->peers;
  destroy_cards(*md);
  tg_md_peers_close(&peers); /* waits for the cards first */
  *md = nullptr;
}

static uint32_t fixed(double x, double box) {
  const double part = x / box - floor(x / box);
  return (uint32_t)(uint64_t)llrint(part * 0x1p32); /* 2^32, a whole box, becomes 0 */
}

static tg_status set_positions(tg_device_md* md, const double (*x)[3]) {
  tg_md_view* v = &md->views.item[0];
  std::vector<uint4> to(v->atom_count);
  TG_TRY(tg_md_select(md));
  TG_TRY(download(md, to.data(), v->atom_x, to.size() * sizeof to[0]));
  for (size_t i = 0; i < to.size(); i++) {
    to[i].x = fixed(x[i][0], md->box[0]);
    to[i].y = fixed(x[i][1], md->box[1]);
    to[i].z = fixed(x[i][2], md->box[2]);
  }
  TG_TRY(upload(md, v->atom_x, to.data(), to.size() * sizeof to[0]));
  TG_TRY(tg_cuda_status(cudaStreamSynchronize(md->stream), md->device, "copying to it"));
  return tg_md_queue_place(md);
}

tg_status tg_device_md_set_positions(tg_device_md* md, const double (*x)[3]) {
  for (; md; md = md->next) TG_TRY(set_positions(md, x));
  return TG_OK;
}

tg_status tg_device_md_search(tg_device_md* md) {
  for (; md; md = md->next) {
    TG_TRY(tg_md_select(md));
    TG_TRY(tg_md_queue_sort(md));
    TG_TRY(tg_md_queue_list(md));
  }
  return TG_OK;
}

tg_status tg_device_md_prune(tg_device_md* md) {
  for (; md; md = md->next) {
    TG_TRY(tg_md_select(md));
    TG_TRY(tg_md_queue_prune(md, false));
    TG_TRY(tg_md_queue_order(md));
  }
  return TG_OK;
}

tg_status tg_md_clear_forces(const tg_device_md* md) {
  for (int d = 0; d < md->domain_count; d++) {
    const tg_md_view* v = &md->views.item[d];
    const size_t slots = (size_t)v->cluster_capacity * TG_MD_CLUSTER;
    TG_TRY(tg_cuda_status(cudaMemsetAsync(v->force_xy, 0, slots * sizeof *v->force_xy, md->stream),
                          md->device, "clearing forces"));
    TG_TRY(tg_cuda_status(cudaMemsetAsync(v->force_z, 0, slots * sizeof *v->force_z, md->stream),
                          md->device, "clearing forces"));
  }
  return TG_OK;
}

tg_status tg_md_clear_energies(const tg_device_md* md) {
  const size_t bytes = sizeof(int64_t) * TG_MD_ENERGY_ROWS * TG_MD_ENERGY_TERMS;
  return tg_cuda_status(cudaMemsetAsync(md->views.item[0].energy, 0, bytes, md->stream), md->device,
                        "clearing energies");
}

tg_status tg_device_md_forces(tg_device_md* md, bool want_energy) {
  for (; md; md = md->next) {
    TG_TRY(tg_md_select(md));
    TG_TRY(tg_md_clear_forces(md));
    if (want_energy) TG_TRY(tg_md_clear_energies(md));
    TG_TRY(tg_md_queue_forces(md, want_energy));
  }
  return TG_OK;
}

/* Of any card; the message names the first. */
static tg_status check_trouble(tg_device_md* md) {
  uint32_t trouble = 0;
  for (const tg_device_md* m = md; m; m = m->next) {
    uint32_t one;
    TG_TRY(tg_md_select(m));
    TG_TRY(download(m, &one, m->views.item[0].trouble, sizeof one));
    trouble |= one;
  }
  TG_TRY(tg_md_peers_check(md->peers));
  if (trouble & TG_MD_CLUSTER_WIDE)
    return tg_fail(TG_ERR_MACHINE,
                   "GPU %d: in this box clusters of 8 atoms and their neighbours span more than "
                   "half of it; use --backend omp, or a larger box",
                   md->device);
  if (trouble & TG_MD_PARTNERS_FULL)
    return tg_fail(TG_ERR_MACHINE,
                   "GPU %d: 8 neighbouring atoms have more than %d excluded partners; use "
                   "--backend omp",
                   md->device, TG_MD_PARTNERS);
  if (trouble & TG_MD_BONDED_FAR)
    return tg_fail(TG_ERR_MACHINE,
                   "GPU %d: atoms with a bonded interaction are further apart than the list radius "
                   "and in different domains; use one domain or --backend omp",
                   md->device);
  if (trouble & TG_MD_DOMAIN_FULL)
    return tg_fail(TG_ERR_MACHINE,
                   "GPU %d: a domain has more atoms than it has room for: the atoms stand too "
                   "unevenly; use fewer domains or --backend omp",
                   md->device);
  if (trouble)
    return tg_fail(TG_ERR_MACHINE,
                   "GPU %d: the pair list has outgrown its room: somewhere the atoms stand more "
                   "than twice as dense as on average; use --backend omp",
                   md->device);
  return TG_OK;
}

static tg_status read_energies(tg_device_md* md, tg_device_md_energies* out) {
  std::vector<int64_t> rows((size_t)TG_MD_ENERGY_ROWS * TG_MD_ENERGY_TERMS);
  int64_t sum[TG_MD_ENERGY_TERMS] = {};
  for (const tg_device_md* m = md; m; m = m->next) {
    TG_TRY(tg_md_select(m));
    TG_TRY(download(m, rows.data(), m->views.item[0].energy, rows.size() * sizeof rows[0]));
    for (size_t i = 0; i < rows.size(); i++) sum[i % TG_MD_ENERGY_TERMS] += rows[i];
  }
  double value[TG_MD_ENERGY_TERMS];
  for (int i = 0; i < TG_MD_ENERGY_TERMS; i++) value[i] = (double)sum[i] / TG_MD_ENERGY_UNITS;
  out->lj = value[0];
  out->coulomb = value[1];
  static const int place[3][3] = {{2, 5, 6}, {5, 3, 7}, {6, 7, 4}};
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) out->virial[i][j] = value[place[i][j]];
  out->pairs = sum[TG_MD_ENERGY_TERMS - 1] / (tg_md_is_many(md) ? 2 : 1);
  return TG_OK;
}

/* Of the domain's home atoms. */
static tg_status read_forces(tg_device_md* md, const tg_md_view* v,
                             const std::vector<uint8_t>& owner, double (*f)[3]) {
  const size_t slots = (size_t)v->cluster_capacity * TG_MD_CLUSTER;
  std::vector<uint64_t> xy(slots);
  std::vector<int32_t> z(slots);
  std::vector<uint32_t> slot(v->atom_count);
  TG_TRY(download(md, xy.data(), v->force_xy, slots * sizeof xy[0]));
  TG_TRY(download(md, z.data(), v->force_z, slots * sizeof z[0]));
  TG_TRY(download(md, slot.data(), v->slot_of_atom, slot.size() * sizeof slot[0]));
  for (size_t i = 0; i < slot.size(); i++) {
    if (!owner.empty() && owner[i] != v->domain) continue;
    const int32_t x = (int32_t)xy[slot[i]];
    const int32_t y = (int32_t)((xy[slot[i]] - (uint64_t)(int64_t)x) >> 32);
    const int32_t units[3] = {x, y, z[slot[i]]};
    for (int d = 0; d < 3; d++) f[i][d] = units[d] / TG_MD_FORCE_UNITS;
  }
  return TG_OK;
}

tg_status tg_device_md_get_forces(tg_device_md* md, double (*f)[3],
                                  tg_device_md_energies* energies) {
  TG_TRY(check_trouble(md));
  if (energies) TG_TRY(read_energies(md, energies));
  if (!f) return TG_OK;
  std::vector<uint8_t> owner(tg_md_is_many(md) ? md->views.item[0].atom_count : 0);
  for (; md; md = md->next) {
    TG_TRY(tg_md_select(md));
    TG_TRY(download(md, owner.data(), md->views.item[0].owner, owner.size()));
    for (int d = 0; d < md->domain_count; d++)
      TG_TRY(read_forces(md, &md->views.item[d], owner, f));
  }
  return TG_OK;
}

static tg_status count_rows(tg_device_md* md, const tg_md_view* v, tg_device_md_counts* out) {
  tg_md_totals totals;
  TG_TRY(download(md, &totals, v->totals, sizeof totals));
  out->clusters += totals.clusters;
  out->slots = out->clusters * TG_MD_CLUSTER;
  for (int i = 0; i < 2; i++) {
    std::vector<uint32_t> count(totals.home_clusters);
    TG_TRY(download(md, count.data(), v->count[i], count.size() * sizeof count[0]));
    int64_t sum = 0, *most = i == 0 ? &out->listed_most : &out->kept_most;
    for (uint32_t c : count) {
      c &= ~TG_MD_ROW_WAITS;
      sum += c;
      *most = std::max<int64_t>(*most, c);
    }
    (i == 0 ? out->listed : out->kept) += sum * TG_MD_CLUSTER;
  }
  return TG_OK;
}

tg_status tg_device_md_count(tg_device_md* md, tg_device_md_counts* out) {
  TG_TRY(check_trouble(md));
  memset(out, 0, sizeof *out);
  for (; md; md = md->next) {
    TG_TRY(tg_md_select(md));
    for (int d = 0; d < md->domain_count; d++) TG_TRY(count_rows(md, &md->views.item[d], out));
  }
  return TG_OK;
}
