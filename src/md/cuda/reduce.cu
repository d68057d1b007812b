/* SPDX-License-Identifier: Apache-2.0 */
/* Between two steps: sums become a record of energies, and the factors that scale velocities; and
 * copies of the state. The host has no part in it but the random numbers, which depend on the step
 * alone and lie ready. */
#include "base/units.h"
#include "md/cuda/step.cuh"

enum { THREADS = 256, COPY_THREADS = 128, PAIR_TERMS = TG_MD_ENERGY_TERMS };

/* One column of a table of sums; the column is empty afterwards. */
static __device__ long long take_column(int64_t* table, uint32_t columns, uint32_t column,
                                        uint32_t rows) {
  long long sum = 0;
#pragma unroll 16
  for (uint32_t r = 0; r < rows; r++) sum += table[r * columns + column];
  for (uint32_t r = 0; r < rows; r++) table[r * columns + column] = 0;
  return sum;
}

typedef struct taken {
  double kinetic[TG_DEVICE_BINS][TG_STEP_KINETIC_TERMS];
  double pair[PAIR_TERMS], bonded[TG_STEP_BONDED_TERMS], move[TG_STEP_MOVE_TERMS];
} taken;

/* Numbers in the order that cards send them. */
enum {
  PAIR_AT = TG_DEVICE_BINS * TG_STEP_KINETIC_TERMS,
  BONDED_AT = PAIR_AT + PAIR_TERMS,
  MOVE_AT = BONDED_AT + TG_STEP_BONDED_TERMS,
  SUM_TERMS = MOVE_AT + TG_STEP_MOVE_TERMS
};
static_assert((int)SUM_TERMS <= (int)TG_MD_SUM_TERMS && (int)SUM_TERMS <= (int)THREADS,
              "a thread a number");

/* A thread a column; numbers that are not asked for are 0. */
static __device__ void take_sums(const tg_md_view& v, const tg_step_view& s, bool record,
                                 long long* sum) {
  const uint32_t i = threadIdx.x, kinetic = s.bin_count * TG_STEP_KINETIC_TERMS;
  long long mine = 0;
  if (i < kinetic)
    mine = take_column(s.kinetic_sum, kinetic, i, TG_STEP_ROWS);
  else if (record && i >= PAIR_AT && i < BONDED_AT)
    mine = take_column(v.energy, PAIR_TERMS, i - PAIR_AT, TG_MD_ENERGY_ROWS);
  else if (record && i >= BONDED_AT && i < MOVE_AT)
    mine = take_column(s.bonded_sum, TG_STEP_BONDED_TERMS, i - BONDED_AT, TG_STEP_ROWS);
  else if (record && i >= MOVE_AT && i < SUM_TERMS)
    mine = take_column(s.move_sum, TG_STEP_MOVE_TERMS, i - MOVE_AT, TG_STEP_ROWS);
  if (i < SUM_TERMS) sum[i] = mine;
  __syncthreads();
}

/* Of all cards: each sends its numbers to the others, so that all have the same. Two places for
 * them in turns: who sends again has heard from all, and they have read the time before. */
static __device__ void add_cards(const tg_md_views& views, long long* sum) {
  const tg_md_peers_view& p = views.peers;
  tg_md_exchange* e = views.exchange;
  const uint32_t i = threadIdx.x;
  const uint64_t number = e->number[TG_MD_FLAG_SUMS] + 1, turn = number % 2;
  for (uint32_t c = 0; c < p.card_count; c++)
    if (c != p.card && i < SUM_TERMS) tg_md_peer(p, e->sums[turn][p.card], c)[i] = sum[i];
  __syncthreads();
  if (i < p.card_count && i != p.card) {
    tg_md_raise(p, i, TG_MD_FLAG_SUMS, number);
    if (!tg_md_wait(p, i, TG_MD_FLAG_SUMS, number))
      atomicOr(views.item[0].trouble, TG_MD_PEER_LOST);
  }
  __syncthreads();
  for (uint32_t c = 0; c < p.card_count; c++)
    if (c != p.card && i < SUM_TERMS) sum[i] += *(volatile int64_t*)&e->sums[turn][c][i];
  if (i == 0) e->number[TG_MD_FLAG_SUMS] = number;
  __syncthreads();
}

/* One thread a number: from units, but for energies of pairs. */
static __device__ void convert(const tg_step_view& s, const long long* sum, taken* out) {
  const uint32_t i = threadIdx.x;
  if (i >= SUM_TERMS) return;
  const double value = (double)sum[i];
  if (i < s.bin_count * TG_STEP_KINETIC_TERMS)
    out->kinetic[i / TG_STEP_KINETIC_TERMS][i % TG_STEP_KINETIC_TERMS] =
        value / TG_STEP_KINETIC_UNITS;
  else if (i >= MOVE_AT)
    out->move[i - MOVE_AT] = value;
  else if (i >= BONDED_AT)
    out->bonded[i - BONDED_AT] = value / TG_MD_ENERGY_UNITS;
  else if (i >= PAIR_AT)
    out->pair[i - PAIR_AT] = value;
}

static __device__ void write_record(const tg_step_view& s, const taken& t, long long step) {
  tg_step_state* state = s.state;
  tg_device_record* r = &s.record[state->record_count % TG_STEP_RECORDS];
  r->step = step;
  for (int i = 0; i < TG_DEVICE_TERMS; i++) r->term[i] = t.bonded[i];
  r->term[9] += t.pair[0] / TG_MD_ENERGY_UNITS; /* LJ, Coulomb */
  r->term[10] += t.pair[1] / TG_MD_ENERGY_UNITS;
  for (int i = 0; i < 6; i++) {
    double kinetic = 0;
    for (uint32_t b = 0; b < s.bin_count; b++) kinetic += t.kinetic[b][3 + i];
    r->virial[i] = t.pair[2 + i] / TG_MD_ENERGY_UNITS + t.bonded[TG_DEVICE_TERMS + i] +
                   t.move[i] / TG_MD_ENERGY_UNITS;
    r->kinetic[i] = 0.5 * (state->kinetic_old[i] + kinetic);
  }
  r->pairs = (long long)t.pair[PAIR_TERMS - 1] / s.pair_halves;
  r->deviation_squares = t.move[6] / TG_STEP_DEVIATION_UNITS;
  r->heat = 0;
  for (int g = 0; g < s.thermostat->temperature_count; g++) r->heat += state->given[g];
  state->record_count++;
}

/* Velocities relative to those of their centre-of-mass groups. */
static __device__ void remove_drift(const tg_step_view& s, taken& t) {
  const tg_step_thermostat* h = s.thermostat;
  for (int c = 0; c < h->comm_count; c++) {
    double p[3] = {0, 0, 0}, mass = 0;
    for (uint32_t b = 0; b < s.bin_count; b++) {
      if (h->bin_comm[b] != c) continue;
      for (int d = 0; d < 3; d++) p[d] += t.kinetic[b][d];
      mass += h->bin_mass[b];
    }
    double u[3];
    for (int d = 0; d < 3; d++) u[d] = mass > 0 ? p[d] / mass : 0;
    for (uint32_t b = 0; b < s.bin_count; b++) {
      if (h->bin_comm[b] != c) continue;
      double* k = t.kinetic[b];
      const int first[6] = {0, 1, 2, 0, 0, 1}, second[6] = {0, 1, 2, 1, 2, 2};
      for (int i = 0; i < 6; i++) {
        const int x = first[i], y = second[i];
        k[3 + i] += 0.5 * (h->bin_mass[b] * u[x] * u[y] - k[x] * u[y] - u[x] * k[y]);
      }
      for (int d = 0; d < 3; d++) s.scale[b].u[d] = u[d];
    }
  }
}

/* As tg_thermostat_scale, of one group. */
static __device__ double factor_of(const tg_step_view& s, int g, double kinetic, long long step) {
  const tg_step_thermostat* h = s.thermostat;
  const double tau = h->tau_t[g], degrees = h->degrees_of_freedom[g];
  const double reference = 0.5 * degrees * TG_BOLTZMANN * h->ref_t[g];
  if (!(tau >= 0) || !(degrees > 0) || !(kinetic > 0)) return 1;
  if (h->kind == TG_THERMOSTAT_BERENDSEN && tau > 0) {
    const double square = 1 + h->period / tau * (reference / kinetic - 1);
    return fmin(1.25, fmax(0.8, sqrt(fmax(0.0, square))));
  }
  if (h->kind != TG_THERMOSTAT_V_RESCALE) return 1;
  const long long draw = step / s.couple_period % TG_STEP_NOISE;
  const double* noise = s.noise + (draw * TG_MAX_GROUPS + g) * 2;
  const double keep = tau > 0 ? exp(-h->period / tau) : 0, one = noise[0], rest = noise[1];
  const double per_degree = (1 - keep) * reference / degrees;
  const double energy = keep * kinetic + per_degree * (one * one + rest) +
                        2 * one * sqrt(keep * kinetic * per_degree);
  return sqrt(fmax(0.0, energy) / kinetic);
}

static __device__ void prepare(const tg_step_view& s, taken& t, int flags, long long step) {
  const tg_step_thermostat* h = s.thermostat;
  s.state->prepared_step = step;
  for (uint32_t b = 0; b < s.bin_count; b++) s.scale[b] = {1, {0, 0, 0}};
  if (flags & TG_REDUCE_COMM) remove_drift(s, t);
  double old[6] = {};
  for (int g = 0; g < h->temperature_count; g++) {
    double tensor[6] = {};
    for (uint32_t b = 0; b < s.bin_count; b++)
      for (int i = 0; i < 6; i++)
        if (h->bin_temperature[b] == g) tensor[i] += t.kinetic[b][3 + i];
    const double kinetic = tensor[0] + tensor[1] + tensor[2];
    const double lambda = flags & TG_REDUCE_COUPLE ? factor_of(s, g, kinetic, step) : 1;
    s.state->before[g] = s.state->given[g];
    s.state->given[g] += (lambda * lambda - 1) * kinetic;
    for (int i = 0; i < 6; i++) old[i] += lambda * lambda * tensor[i];
    for (uint32_t b = 0; b < s.bin_count; b++)
      if (h->bin_temperature[b] == g) s.scale[b].lambda = lambda;
  }
  for (int i = 0; i < 6; i++) s.state->kinetic_old[i] = old[i];
}

static __device__ void use_sums(const tg_step_view& s, const long long* sum, taken* t, int flags,
                                int offset) {
  convert(s, sum, t);
  __syncthreads();
  if (threadIdx.x != 0) return;
  const long long step = s.state->base + offset;
  if (flags & TG_REDUCE_RECORD) write_record(s, *t, step - 1);
  if (flags & TG_REDUCE_PREPARE) prepare(s, *t, flags, step);
}

/* From tables of sums to a record and to the next step's factors. Launch: one block; bound by
 * latency, while the pair forces run. */
static __global__ void __launch_bounds__(THREADS)
    reduce(const __grid_constant__ tg_md_view v, const __grid_constant__ tg_step_view s, int flags,
           int offset) {
  __shared__ taken t;
  __shared__ long long sum[SUM_TERMS];
  take_sums(v, s, flags & TG_REDUCE_RECORD, sum);
  use_sums(s, sum, &t, flags, offset);
}

/* The same of several cards, in each of them. */
static __global__ void __launch_bounds__(THREADS)
    reduce_cards(const __grid_constant__ tg_md_views views, const __grid_constant__ tg_step_view s,
                 int flags, int offset) {
  __shared__ taken t;
  __shared__ long long sum[SUM_TERMS];
  take_sums(views.item[0], s, flags & TG_REDUCE_RECORD, sum);
  add_cards(views, sum);
  use_sums(s, sum, &t, flags, offset);
}

static __device__ __forceinline__ bool in_trouble(const tg_md_view& v, const tg_step_view& s) {
  return *v.trouble != 0 || s.state->fast_atom != ~0ULL || s.state->bad_group != ~0ULL;
}

/* From the state to its copy, unless it has gone bad. Launch: a thread an atom; bound by memory. */
static __global__ void keep(const __grid_constant__ tg_md_view v,
                            const __grid_constant__ tg_step_view s) {
  const uint32_t i = blockIdx.x * COPY_THREADS + threadIdx.x;
  if (in_trouble(v, s)) return;
  if (i == 0) s.state->kept_step = s.state->base;
  const bool prepared = s.state->prepared_step == s.state->base;
  if (i < TG_MAX_GROUPS) s.state->kept_given[i] = prepared ? s.state->before[i] : s.state->given[i];
  if (i >= v.atom_count) return;
  s.kept_x[i] = v.atom_x[i];
  s.kept_v[i] = s.v[i];
}

static __global__ void frame(const __grid_constant__ tg_md_views views,
                             const __grid_constant__ tg_step_view s) {
  const uint32_t i = blockIdx.x * COPY_THREADS + threadIdx.x;
  if (i >= views.item[0].atom_count) return;
  const uint32_t domain = views.grid.domains > 1 ? views.item[0].owner[i] - views.grid.first : 0;
  const tg_md_view& v = views.item[domain];
  s.frame_x[i] = v.atom_x[i];
  s.frame_v[i] = s.v[i];
  int force[3] = {0, 0, 0};
  const uint32_t slot = v.slot_of_atom[i];
  if (slot != TG_MD_NO_SLOT) tg_step_read_force(v, slot, force);
  for (size_t d = 0; d < 3; d++) s.frame_f[3 * (size_t)i + d] = force[d];
}

static __global__ void end_stretch(const __grid_constant__ tg_md_view v,
                                   const __grid_constant__ tg_step_view s, int count) {
  tg_step_report* r = &s.report[s.state->stretch_count++ % TG_DEVICE_IN_FLIGHT];
  r->record_count = s.state->record_count;
  r->fast_atom = s.state->fast_atom;
  r->bad_group = s.state->bad_group;
  r->lists = *v.trouble;
  s.state->base += count;
}

tg_status tg_step_queue_reduce(const tg_device_md* md, const tg_step_view* s, cudaStream_t stream,
                               int flags, int offset) {
  if (md->card_count > 1)
    reduce_cards<<<1, THREADS, 0, stream>>>(md->views, *s, flags, offset);
  else
    reduce<<<1, THREADS, 0, stream>>>(md->views.item[0], *s, flags, offset);
  return tg_md_queued(md, "summing energies");
}

tg_status tg_step_queue_keep(const tg_device_md* md, const tg_step_view* s, cudaStream_t stream) {
  const tg_md_view* v = &md->views.item[0];
  keep<<<tg_md_blocks(v->atom_count, COPY_THREADS), COPY_THREADS, 0, stream>>>(*v, *s);
  return tg_md_queued(md, "keeping the state");
}

tg_status tg_step_queue_frame(const tg_device_md* md, const tg_step_view* s, cudaStream_t stream) {
  const tg_md_view* v = &md->views.item[0];
  frame<<<tg_md_blocks(v->atom_count, COPY_THREADS), COPY_THREADS, 0, stream>>>(md->views, *s);
  return tg_md_queued(md, "keeping a frame");
}

tg_status tg_step_queue_end(const tg_device_md* md, const tg_step_view* s, cudaStream_t stream,
                            int count) {
  end_stretch<<<1, 1, 0, stream>>>(md->views.item[0], *s, count);
  return tg_md_queued(md, "ending a stretch of steps");
}
