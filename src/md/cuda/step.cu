/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a tg_device_step: memory, the start, and what is read back. */
#include "md/cuda/stages.cuh"
#include "md/cuda/step_host.cuh"

#include <math.h>
#include <string.h>

#include <algorithm>
#include <new>

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

/* An array of the view, and what the host has for it. */
template <typename T, typename U>
static tg_status fill(const tg_device_step* p, room* r, size_t count, const U* from,
                      const T** out) {
  static_assert(sizeof(T) == sizeof(U), "the same elements on both sides");
  T* to = nullptr;
  carve(r, count, &to);
  *out = to;
  if (!to || count == 0) return TG_OK;
  return tg_cuda_status(
      cudaMemcpyAsync(to, from, count * sizeof(T), cudaMemcpyHostToDevice, p->md->stream),
      p->md->device, "copying to it");
}

static tg_status carve_lists(tg_device_step* p, room* r, const tg_device_step_params* params) {
  const tg_device_work* w = params->work;
  tg_step_view* s = &p->view;
  TG_TRY(fill(p, r, w->atom_count, w->bin, &s->bin));
  TG_TRY(fill(p, r, w->water_count, (const int4*)w->waters, &s->water));
  TG_TRY(fill(p, r, w->settle_count, w->settles, &s->settle));
  TG_TRY(fill(p, r, w->single_count, w->single, &s->single));
  for (int i = 0; i < TG_DEVICE_WIDTHS; i++) {
    const tg_device_groups* g = &w->groups[i];
    s->groups[i].count = (uint32_t)g->count;
    TG_TRY(fill(p, r, g->count << (2 + i), g->atom, &s->groups[i].atom));
    TG_TRY(fill(p, r, g->count, g->table, &s->groups[i].table));
  }
  TG_TRY(fill(p, r, w->lane_count, w->lanes, &s->lanes));
  TG_TRY(fill(p, r, w->kind_start[TG_DEVICE_KINDS], (const int4*)w->items, &s->item));
  TG_TRY(fill(p, r, w->kind_start[TG_DEVICE_KINDS], w->item_parameters, &s->item_parameters));
  TG_TRY(fill(p, r, w->parameter_count, w->parameters, &s->parameters));
  TG_TRY(fill(p, r, 1, &p->thermostat, &s->thermostat));
  if (!params->reference) return TG_OK;
  return fill(p, r, w->atom_count, params->reference, &s->reference);
}

/* Lists of what a domain owns may have all there is. */
static void carve_home(const tg_device_work* w, room* r, tg_step_home* h) {
  carve(r, w->water_count, &h->water);
  carve(r, w->single_count, &h->single);
  for (int i = 0; i < TG_DEVICE_WIDTHS; i++) {
    carve(r, w->groups[i].count << (2 + i), &h->atom[i]);
    carve(r, w->groups[i].count, &h->table[i]);
  }
  carve(r, w->kind_start[TG_DEVICE_KINDS], &h->item);
}

/* The atom whose domain each atom is in. */
static std::vector<uint32_t> first_of_groups(const tg_device_work* w) {
  std::vector<uint32_t> first(w->atom_count);
  for (size_t i = 0; i < first.size(); i++) first[i] = (uint32_t)i;
  for (size_t i = 0; i < w->water_count; i++)
    for (int k = 0; k < 3; k++) first[(size_t)w->waters[i][k]] = (uint32_t)w->waters[i][0];
  for (int width = 0; width < TG_DEVICE_WIDTHS; width++) {
    const size_t lanes = (size_t)4 << width;
    const int* atom = w->groups[width].atom;
    for (size_t i = 0; i < w->groups[width].count * lanes; i++)
      if (atom[i] >= 0) first[(size_t)atom[i]] = (uint32_t)atom[i - i % lanes];
  }
  return first;
}

static tg_status carve_homes(tg_device_step* p, room* r, const tg_device_work* w) {
  const int domains = p->md->domain_count;
  if (!tg_md_is_many(p->md)) return TG_OK;
  tg_step_home_counts* count = nullptr;
  carve(r, (size_t)domains, &count);
  for (int d = 0; d < domains; d++) {
    carve_home(w, r, &p->homes.item[d]);
    p->homes.item[d].count = count + d;
  }
  const std::vector<uint32_t> first = first_of_groups(w);
  const uint32_t* to = nullptr;
  TG_TRY(fill(p, r, first.size(), first.data(), &to));
  for (int d = 0; d < domains; d++) p->md->views.item[d].first_of_group = to;
  return tg_cuda_status(cudaStreamSynchronize(p->md->stream), p->md->device, "copying to it");
}

static void carve_state(tg_device_step* p, room* r, const tg_device_work* w) {
  tg_step_view* s = &p->view;
  const size_t n = w->atom_count;
  s->v = p->md->steps.v;
  s->frame_x = p->md->steps.frame_x;
  s->frame_v = p->md->steps.frame_v;
  s->frame_f = p->md->steps.frame_f;
  carve(r, n, &s->kept_x);
  carve(r, n, &s->kept_v);
  carve(r, (size_t)w->bin_count, &s->scale);
  carve(r, (size_t)TG_STEP_ROWS * TG_STEP_BONDED_TERMS, &s->bonded_sum);
  carve(r, (size_t)TG_STEP_ROWS * TG_STEP_MOVE_TERMS, &s->move_sum);
  carve(r, (size_t)TG_STEP_ROWS * TG_STEP_KINETIC_TERMS * w->bin_count, &s->kinetic_sum);
  carve(r, 1, &s->state);
}

/* Memory of the host that kernels read and write. */
template <typename T>
static tg_status allocate_shared(size_t count, T** out) {
  TG_TRY(tg_cuda_host_status(cudaHostAlloc((void**)out, count * sizeof(T), cudaHostAllocMapped),
                             count * sizeof(T)));
  memset(*out, 0, count * sizeof(T));
  return TG_OK;
}

template <typename T, typename U>
static tg_status seen_from_device(const tg_device_step* p, T* host, U** out) {
  void* device = nullptr;
  TG_TRY(tg_cuda_status(cudaHostGetDevicePointer(&device, host, 0), p->md->device,
                        "reaching memory of the host"));
  *out = (T*)device;
  return TG_OK;
}

static tg_status allocate(tg_device_step* p, const tg_device_step_params* params) {
  room r = {};
  carve_state(p, &r, params->work);
  TG_TRY(carve_lists(p, &r, params));
  TG_TRY(carve_homes(p, &r, params->work));
  TG_TRY(tg_cuda_allocate(p->md->device, r.used, "memory for steps", &p->memory));
  TG_TRY(tg_cuda_status(cudaMemsetAsync(p->memory, 0, r.used, p->md->stream), p->md->device,
                        "clearing memory"));
  r.memory = (char*)p->memory;
  r.used = 0;
  carve_state(p, &r, params->work);
  TG_TRY(carve_lists(p, &r, params));
  TG_TRY(carve_homes(p, &r, params->work));
  TG_TRY(allocate_shared(TG_STEP_RECORDS, &p->record));
  TG_TRY(allocate_shared(TG_DEVICE_IN_FLIGHT, &p->report));
  TG_TRY(allocate_shared((size_t)TG_STEP_NOISE * TG_MAX_GROUPS * 2, &p->noise));
  if (!tg_md_has_graphs(p->md)) TG_TRY(allocate_shared(1, &p->messages));
  TG_TRY(seen_from_device(p, p->record, &p->view.record));
  TG_TRY(seen_from_device(p, p->report, &p->view.report));
  return seen_from_device(p, p->noise, &p->view.noise);
}

/* Of `threads`, those that a domain may need: its part of the box, where things stand evenly, and
 * some more. */
static size_t room_for(const tg_device_md* md, size_t threads, size_t slack) {
  const tg_md_view* v = &md->views.item[0];
  const double part = (double)v->row_capacity * TG_MD_CLUSTER / std::max(v->atom_count, 1U);
  return std::min(threads, (size_t)(part * (double)threads) + slack);
}

static void share_out_blocks(tg_device_step* p, const tg_device_work* w) {
  tg_step_view* s = &p->view;
  tg_step_homes* h = &p->homes;
  size_t threads[TG_DEVICE_WIDTHS + 2] = {w->water_count};
  for (int i = 0; i < TG_DEVICE_WIDTHS; i++) threads[1 + i] = w->groups[i].count << (2 + i);
  threads[TG_DEVICE_WIDTHS + 1] = w->single_count;
  for (int i = 0; i < TG_DEVICE_WIDTHS + 2; i++) {
    const size_t home = room_for(p->md, threads[i], 16 * TG_STEP_THREADS);
    s->first_block[i + 1] = s->first_block[i] + tg_md_blocks(threads[i], TG_STEP_THREADS);
    h->first_block[i + 1] = h->first_block[i] + tg_md_blocks(home, TG_STEP_THREADS);
  }
  const size_t slack = 64 * TG_DEVICE_WARP;
  for (int full = 0; full < 2; full++)
    h->item_room[full] = (uint32_t)room_for(
        p->md, w->kind_start[full ? TG_DEVICE_KINDS : TG_DEVICE_EXCLUDED_RIGID], slack);
}

static void choose_constants(tg_device_step* p, const tg_device_step_params* params) {
  const tg_device_work* w = params->work;
  tg_step_view* s = &p->view;
  for (int d = 0; d < 3; d++) {
    s->nm[d] = params->box[d] * 0x1p-32;
    s->units[d] = 0x1p32 / params->box[d];
  }
  s->dt = params->dt;
  s->inverse_dt = 1 / params->dt;
  const double limit = 0.5 * params->cutoff / params->dt; /* as leap_frog_run.c */
  s->speed_limit2 = limit * limit;
  s->cutoff2 = params->cutoff * params->cutoff;
  s->rf_k = params->rf_k;
  s->rf_c = params->rf_c;
  s->coulomb_scale = params->coulomb_scale;
  s->pair_scale = params->pair_scale;
  s->lincs_order = params->lincs_order;
  s->lincs_iterations = params->lincs_iterations;
  s->bin_count = (uint32_t)w->bin_count;
  s->couple_period = (uint32_t)std::max(params->nsttcouple, 1);
  s->water_count = (uint32_t)w->water_count;
  s->single_count = (uint32_t)w->single_count;
  for (int k = 0; k <= TG_DEVICE_KINDS; k++) s->kind_start[k] = (uint32_t)w->kind_start[k];
  share_out_blocks(p, w);
  s->pair_halves = tg_md_is_many(p->md) ? 2 : 1;
  tg_step_thermostat* t = &p->thermostat;
  p->coupling = params->thermostat;
  t->kind = params->thermostat.kind;
  t->temperature_count = w->temperature_count;
  t->comm_count = w->comm_count;
  t->bin_count = w->bin_count;
  t->period = params->thermostat.period;
  memcpy(t->tau_t, params->thermostat.tau_t, sizeof t->tau_t);
  memcpy(t->ref_t, params->thermostat.ref_t, sizeof t->ref_t);
  memcpy(t->degrees_of_freedom, params->thermostat.degrees_of_freedom,
         sizeof t->degrees_of_freedom);
  memcpy(t->bin_temperature, w->bin_temperature, sizeof t->bin_temperature);
  memcpy(t->bin_comm, w->bin_comm, sizeof t->bin_comm);
  memcpy(t->bin_mass, w->bin_mass, sizeof t->bin_mass);
}

static tg_status make_streams(tg_device_step* p) {
  const int device = p->md->device;
  int least = 0, most = 0; /* one block among the forces' many must not be the last */
  TG_TRY(tg_cuda_status(cudaDeviceGetStreamPriorityRange(&least, &most), device,
                        "asking for priorities"));
  TG_TRY(tg_cuda_status(cudaStreamCreateWithPriority(&p->side, cudaStreamNonBlocking, most), device,
                        "making a stream"));
  TG_TRY(tg_cuda_status(cudaStreamCreateWithFlags(&p->copy, cudaStreamNonBlocking), device,
                        "making a stream"));
  const unsigned untimed = cudaEventDisableTiming;
  for (cudaEvent_t* event : {&p->fork, &p->join, &p->sent})
    TG_TRY(tg_cuda_status(cudaEventCreateWithFlags(event, untimed), device, "making an event"));
  for (int i = 0; i < TG_DEVICE_IN_FLIGHT; i++)
    TG_TRY(tg_cuda_status(cudaEventCreateWithFlags(&p->done[i], untimed | cudaEventBlockingSync),
                          device, "making an event"));
  return TG_OK;
}

static tg_status create_card(tg_device_md* md, const tg_device_step_params* params,
                             tg_device_step** out) {
  tg_device_step* p = new (std::nothrow) tg_device_step();
  if (!p) return tg_fail(TG_ERR_MACHINE, "no memory for steps on a GPU");
  *out = p;
  p->md = md;
  p->atom_count = params->work->atom_count;
  p->inverse_mass.assign(params->work->inverse_mass,
                         params->work->inverse_mass + params->work->atom_count);
  choose_constants(p, params);
  TG_TRY(tg_md_select(md));
  TG_TRY(make_streams(p));
  TG_TRY(allocate(p, params));
  return tg_cuda_status(cudaStreamSynchronize(md->stream), md->device, "copying to it");
}

tg_status tg_device_step_create(const tg_device_step_params* params, tg_device_step** out) {
  tg_device_step *first = nullptr, **next = &first;
  tg_status status = TG_OK;
  for (tg_device_md* md = params->md; md && status == TG_OK; md = md->next) {
    status = create_card(md, params, next);
    if (*next) next = &(*next)->next;
  }
  if (status == TG_OK)
    *out = first;
  else
    tg_device_step_destroy(&first);
  return status;
}

static void destroy_card(tg_device_step* p) {
  cudaSetDevice(p->md->device);
  cudaStreamSynchronize(p->md->stream);
  tg_step_forget_graphs(p);
  for (cudaStream_t stream : {p->side, p->copy})
    if (stream) cudaStreamDestroy(stream);
  for (cudaEvent_t event : {p->fork, p->join})
    if (event) cudaEventDestroy(event);
  for (cudaEvent_t event : p->done)
    if (event) cudaEventDestroy(event);
  if (p->sent) cudaEventDestroy(p->sent);
  cudaFreeHost(p->messages);
  cudaFreeHost(p->record);
  cudaFreeHost(p->report);
  cudaFreeHost(p->noise);
  tg_cuda_release(p->memory);
  for (int d = 0; d < p->md->domain_count; d++) p->md->views.item[d].first_of_group = nullptr;
  delete p;
}

void tg_device_step_destroy(tg_device_step** step) {
  if (step == nullptr || *step == nullptr) return;
  for (const tg_device_step* p = *step; p; p = p->next) { /* none may store into what is gone */
    cudaSetDevice(p->md->device);
    cudaStreamSynchronize(p->md->stream);
  }
  for (tg_device_step *p = *step, *next; p; p = next) {
    next = p->next;
    destroy_card(p);
  }
  *step = nullptr;
}

/* Each card has all velocities; one of them sums them up. */
static tg_status start_card(tg_device_step* p, const double (*v)[3], long long first,
                            unsigned char flags) {
  const int device = p->md->device;
  const cudaStream_t stream = p->md->stream;
  TG_TRY(tg_md_select(p->md));
  std::vector<float4> velocity(p->atom_count);
  for (size_t i = 0; i < velocity.size(); i++)
    velocity[i] = make_float4((float)v[i][0], (float)v[i][1], (float)v[i][2], p->inverse_mass[i]);
  TG_TRY(tg_cuda_status(
      cudaMemcpyAsync(p->view.v, velocity.data(), velocity.size() * sizeof velocity[0],
                      cudaMemcpyHostToDevice, stream),
      device, "copying to it"));
  tg_step_state state = {};
  state.base = first;
  state.fast_atom = state.bad_group = ~0ULL;
  state.prepared_step = first - 1;
  memcpy(state.given, p->coupling.given, sizeof state.given);
  TG_TRY(tg_cuda_status(
      cudaMemcpyAsync(p->view.state, &state, sizeof state, cudaMemcpyHostToDevice, stream), device,
      "copying to it"));
  TG_TRY(tg_md_clear_forces(p->md));
  TG_TRY(tg_md_clear_energies(p->md));
  tg_step_draw_noise(p, first, &flags, 1);
  /* before what is on the stack goes, and before another card may wait for this one */
  return tg_cuda_status(cudaStreamSynchronize(stream), device, "copying to it");
}

tg_status tg_device_step_start(tg_device_step* step, const double (*v)[3], long long first,
                               unsigned char flags) {
  step->next_step = first;
  step->queued = step->collected = 0;
  step->records_read = 0;
  for (tg_device_step* p = step; p; p = p->next) TG_TRY(start_card(p, v, first, flags));
  for (tg_device_step* p = step; p && tg_step_prepares(flags); p = p->next) {
    TG_TRY(tg_md_select(p->md));
    if (p->md->card == 0) TG_TRY(tg_step_queue_sums(p->md, &p->view, p->md->stream));
    TG_TRY(tg_step_queue_reduce(p->md, &p->view, p->md->stream, tg_step_prepares(flags), 0));
  }
  for (tg_device_step* p = step; p; p = p->next) {
    TG_TRY(tg_md_select(p->md));
    TG_TRY(tg_cuda_status(cudaStreamSynchronize(p->md->stream), p->md->device, "starting"));
  }
  return tg_md_peers_check(step->md->peers);
}

/* Blocks until all queued steps are done. */
static tg_status download(const tg_device_step* p, void* to, const void* from, size_t bytes) {
  TG_TRY(tg_cuda_status(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, p->md->stream),
                        p->md->device, "copying from it"));
  return tg_cuda_status(cudaStreamSynchronize(p->md->stream), p->md->device, "computing");
}

/* Of the atoms at home on the card; of one with all of them, all. */
static tg_status get_card(const tg_device_step* p, double (*x)[3], double (*v)[3]) {
  const tg_device_md* md = p->md;
  const tg_md_view* view = &md->views.item[0];
  const uint32_t first = md->views.grid.first, count = (uint32_t)md->domain_count;
  const bool some = md->card_count > 1;
  std::vector<uint8_t> owner(some ? p->atom_count : 0);
  std::vector<uint4> at(x ? p->atom_count : 0);
  std::vector<float4> speed(v ? p->atom_count : 0);
  TG_TRY(tg_md_select(md));
  if (some) TG_TRY(download(p, owner.data(), view->owner, owner.size()));
  if (x) TG_TRY(download(p, at.data(), view->atom_x, at.size() * sizeof at[0]));
  if (v) TG_TRY(download(p, speed.data(), p->view.v, speed.size() * sizeof speed[0]));
  for (size_t i = 0; i < p->atom_count; i++) {
    if (some && owner[i] - first >= count) continue;
    if (x) tg_step_positions(&at[i], 1, p->view.nm, x + i);
    if (v) tg_step_velocities(&speed[i], 1, v + i);
  }
  return TG_OK;
}

tg_status tg_device_step_get(tg_device_step* p, double (*x)[3], double (*v)[3]) {
  for (; p; p = p->next) TG_TRY(get_card(p, x, v));
  return TG_OK;
}

void tg_device_step_launches(const tg_device_step* p, long long* kernels, long long* waits) {
  *kernels = p->kernels;
  *waits = p->waits;
}
