/* SPDX-License-Identifier: Apache-2.0 */
#include "md/list_choice.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/memory.h"
#include "base/units.h"
#include "md/verlet_buffer.h"

/* What a list step, a search and a pruning cost, in force evaluations without a buffer and, the
 * last two, per pair of the outer list. They set how rare a search should be, not whether the
 * result is right. */
typedef struct costs {
  double list_step, search, prune;
  double padding; /* what whole clusters add to the radius of the pairs that are evaluated, nm */
} costs;
/* measured: the log of docs/performance.md; and on an H200, with 45,000 atoms */
static const costs costs_of_cpu = {0.8, 0.7, 0.25, 0.15}, costs_of_gpu = {2.5, 0.7, 0.42, 0.08};

/* Half the longest edge of a GPU's clusters of 8 atoms in a liquid, with some room, nm. */
static const double wide_cluster = 0.8;

enum { CANDIDATES = 7, INTERVALS = 10 };
_Static_assert(CANDIDATES + 3 <= TG_LIST_ALTERNATIVES, "parts of the .mdp file's come on top");
static const int candidates[CANDIDATES] = {10, 20, 25, 40, 50, 80, 100};
static const int intervals[INTERVALS] = {2, 3, 4, 5, 6, 8, 10, 12, 16, 20};

typedef struct types {
  tg_verlet_buffer_type* items;
  size_t count, capacity;
} types;

static tg_status add_type(types* list, const tg_verlet_buffer_type* type) {
  for (size_t i = 0; i < list->count; i++) {
    tg_verlet_buffer_type* known = &list->items[i];
    if (known->mass == type->mass && known->charge == type->charge &&
        known->lj_type == type->lj_type && known->constraint_mass == type->constraint_mass &&
        known->constraint_length == type->constraint_length) {
      known->count += type->count;
      return TG_OK;
    }
  }
  TG_TRY(TG_RESERVE(list->count + 1, "atom kinds", &list->items, &list->capacity));
  list->items[list->count++] = *type;
  return TG_OK;
}

/* Takes note that `atom` is constrained to `partner`; the heaviest partner counts. */
static void tie(const tg_molecule_type* molecule, tg_verlet_buffer_type* kinds, int atom,
                int partner, double length) {
  double mass = molecule->atoms[partner].mass;
  if (mass <= kinds[atom].constraint_mass) return;
  kinds[atom].constraint_mass = mass;
  kinds[atom].constraint_length = length;
}

static tg_status add_molecule(types* list, const tg_molecule_type* molecule, int count) {
  tg_verlet_buffer_type* kinds = NULL;
  TG_TRY(TG_ALLOCATE(molecule->atom_count, "atom kinds", &kinds));
  for (size_t a = 0; a < molecule->atom_count; a++) {
    const tg_atom* atom = &molecule->atoms[a];
    kinds[a] = (tg_verlet_buffer_type){
        .count = count, .mass = atom->mass, .charge = atom->charge, .lj_type = atom->type};
  }
  const tg_interactions* pairs = &molecule->interactions[TG_CONSTRAINT];
  for (size_t i = 0; i < pairs->count; i++) {
    const tg_interaction* pair = &pairs->items[i];
    tie(molecule, kinds, pair->atoms[0], pair->atoms[1], pair->parameters[0]);
    tie(molecule, kinds, pair->atoms[1], pair->atoms[0], pair->parameters[0]);
  }
  const tg_interactions* settles = &molecule->interactions[TG_SETTLE];
  for (size_t i = 0; i < settles->count; i++)
    for (int h = 1; h <= 2; h++) {
      const tg_interaction* water = &settles->items[i];
      tie(molecule, kinds, water->atoms[h], water->atoms[0], water->parameters[0]);
      tie(molecule, kinds, water->atoms[0], water->atoms[h], water->parameters[0]);
    }
  tg_status status = TG_OK;
  for (size_t a = 0; a < molecule->atom_count && status == TG_OK; a++)
    status = add_type(list, &kinds[a]);
  tg_free(kinds);
  return status;
}

/* The thermostat's temperature, or that of the start. */
static double temperature_of(const tg_md_system* system) {
  const tg_parameters* p = &system->parameters;
  double highest = 0;
  if (p->thermostat != TG_THERMOSTAT_NONE)
    for (int g = 0; g < p->temperature_group_count; g++) highest = fmax(highest, p->ref_t[g]);
  if (highest > 0) return highest;
  double kinetic = 0;
  for (size_t i = 0; i < system->atom_count && system->start.v; i++) {
    const double* v = system->start.v[i];
    kinetic += 0.5 * tg_md_atom(system, i)->mass * (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
  }
  double degrees = system->total_degrees_of_freedom;
  if (kinetic > 0 && degrees > 0) return 2 * kinetic / (degrees * TG_BOLTZMANN);
  return 300; /* nothing says how hot it will get */
}

/* Of a list that serves `steps` steps and may use this share of the tolerance. */
static tg_status radius_for(const tg_verlet_buffer_params* params, double dt, int steps,
                            double share, double* radius) {
  tg_verlet_buffer_params list = *params;
  list.list_time = (steps - 1) * dt;
  list.drift_time = steps * dt;
  list.tolerance *= share;
  if (steps > 1) return tg_verlet_buffer_radius(&list, radius);
  *radius = params->cutoff;
  return TG_OK;
}

/* Pairs within a radius, in those within the cut-off. */
static double pairs_within(double radius, double cutoff, double padding) {
  return pow((radius + padding) / (cutoff + padding), 3);
}

static double cost_of(const tg_list_choice* choice, double cutoff, const costs* c) {
  const double outer = pairs_within(choice->radius, cutoff, c->padding);
  const double search = (c->list_step + c->search * outer) / choice->nstlist;
  if (choice->prune_interval == 0) return outer + search;
  return pairs_within(choice->inner_radius, cutoff, c->padding) + search +
         c->prune * outer / choice->prune_interval;
}

static void take_cheaper(const tg_list_choice* choice, double cutoff, const costs* c, double* best,
                         tg_list_choice* out) {
  const double cost = cost_of(choice, cutoff, c);
  if (cost >= *best) return;
  *best = cost;
  *out = *choice;
}

/* One nstlist without pruning and with each interval. Fails where no radius serves. */
static tg_status try_nstlist(const tg_verlet_buffer_params* params, double dt, int nstlist,
                             double longest, const costs* c, double* best, tg_list_choice* out) {
  tg_list_choice plain = {.nstlist = nstlist}, pruned = {.nstlist = nstlist};
  TG_TRY(radius_for(params, dt, nstlist, 1, &plain.radius));
  if (plain.radius <= longest || out->nstlist == 0)
    take_cheaper(&plain, params->cutoff, c, best, out);
  if (radius_for(params, dt, nstlist, 0.5, &pruned.radius) != TG_OK || pruned.radius > longest)
    return TG_OK;
  for (int k = 0; k < INTERVALS && intervals[k] < nstlist; k++) {
    pruned.prune_interval = intervals[k];
    TG_TRY(radius_for(params, dt, intervals[k], 0.5, &pruned.inner_radius));
    take_cheaper(&pruned, params->cutoff, c, best, out);
  }
  return TG_OK;
}

/* How far nstlist may be raised: the longest radius that this box has room for. */
static double longest_radius(const tg_md_system* system, bool on_gpu) {
  const double half_box = fmin(system->box[0], fmin(system->box[1], system->box[2])) / 2;
  if (!on_gpu) return half_box;
  /* room for clusters, and to move: sort.cu */
  return fmin(half_box, (half_box + system->parameters.cutoff) / 2 - wide_cluster / 2);
}

/* Pairs grow with the cube of the radius, searches get rarer: the cheapest of the candidates, never
 * more often than the .mdp file says. */
static tg_status cheapest(const tg_md_system* system, tg_verlet_buffer_params* params,
                          const costs* c, tg_list_choice* out) {
  const tg_parameters* p = &system->parameters;
  double half_box = longest_radius(system, false);
  double longest = longest_radius(system, c == &costs_of_gpu);
  double best = INFINITY;
  for (int i = -1; i < CANDIDATES; i++) {
    int nstlist = i < 0 ? p->nstlist : candidates[i];
    if (i >= 0 && nstlist <= p->nstlist) continue;
    tg_status status = try_nstlist(params, p->dt, nstlist, longest, c, &best, out);
    if (i < 0) TG_TRY(status);
  }
  for (int n = p->nstlist / 2; c == &costs_of_gpu && n >= 5 && out->radius > longest; n /= 2) {
    *out = (tg_list_choice){0};
    best = INFINITY;
    TG_TRY(try_nstlist(params, p->dt, n, longest, c, &best, out));
  }
  out->reason = out->nstlist == p->nstlist ? "nstlist as given, radius from verlet-buffer-tolerance"
                : out->nstlist > p->nstlist
                    ? "nstlist raised, radius from verlet-buffer-tolerance"
                    : "nstlist lowered, as the box is small for a GPU; radius from "
                      "verlet-buffer-tolerance";
  if (out->radius > half_box) {
    double largest = half_box;
    return tg_fail(
        TG_ERR_INPUT,
        "%s: nstlist = %d needs a pair list of %.4f nm within verlet-buffer-tolerance, more than "
        "half the shortest box edge (%.4f nm); use a smaller nstlist or dt, or a larger box",
        p->path ? p->path : "the run parameters", p->nstlist, out->radius, largest);
  }
  return TG_OK;
}

/* What radii follow from. types: to be freed, also after a failure. */
static tg_status buffer_params(const tg_md_system* system, types* list,
                               tg_verlet_buffer_params* out) {
  const tg_parameters* p = &system->parameters;
  for (size_t b = 0; b < system->topology.block_count; b++) {
    const tg_molecule_block* block = &system->topology.blocks[b];
    TG_TRY(
        add_molecule(list, &system->topology.molecule_types[block->molecule_type], block->count));
  }
  double shift;
  *out = (tg_verlet_buffer_params){
      .types = list->items,
      .count = (int)list->count,
      .c6 = system->topology.c6,
      .c12 = system->topology.c12,
      .lj_type_count = (int)system->topology.type_count,
      .cutoff = p->cutoff,
      .temperature = temperature_of(system),
      .volume = system->box[0] * system->box[1] * system->box[2],
      .tolerance = p->verlet_buffer_tolerance,
  };
  tg_md_reaction_field(p, &out->rf_k, &shift, &out->coulomb_scale);
  return TG_OK;
}

static bool on_gpu(const tg_md_job* job) { return strcmp(job->backend, "cuda") == 0; }

/* Radii for intervals that the caller has chosen. */
static tg_status fix(const tg_md_system* system, const tg_verlet_buffer_params* params,
                     bool for_gpu, tg_list_choice* out) {
  const double dt = system->parameters.dt, longest = longest_radius(system, for_gpu);
  const bool pruned = out->prune_interval > 0;
  TG_TRY(radius_for(params, dt, out->nstlist, pruned ? 0.5 : 1, &out->radius));
  if (pruned) TG_TRY(radius_for(params, dt, out->prune_interval, 0.5, &out->inner_radius));
  if (out->radius <= longest) return TG_OK;
  return tg_fail(TG_ERR_INPUT,
                 "a pair list for %d steps needs a radius of %.4f nm within "
                 "verlet-buffer-tolerance; this box has room for %.4f nm: search more often",
                 out->nstlist, out->radius, longest);
}

tg_status tg_list_fix(const tg_md_system* system, const tg_md_job* job, int nstlist,
                      int prune_interval, tg_list_choice* out) {
  types list = {0};
  tg_verlet_buffer_params params;
  tg_list_choice choice = {
      .nstlist = nstlist, .prune_interval = prune_interval, .reason = "intervals as asked for"};
  tg_status status = buffer_params(system, &list, &params);
  if (status == TG_OK) status = fix(system, &params, on_gpu(job), &choice);
  tg_free(list.items);
  if (status == TG_OK) *out = choice;
  return status;
}

/* Every nstlist that is worth a try, in order: the .mdp file's, longer ones, and for boxes that are
 * small for a GPU its half and quarter. */
static int list_intervals(int given, int* out) {
  int count = 0;
  for (int part = 4; part >= 1; part /= 2)
    if (part == 1 || given / part >= 5) out[count++] = given / part;
  for (int i = 0; i < CANDIDATES; i++)
    if (candidates[i] > given) out[count++] = candidates[i];
  return count;
}

tg_status tg_list_alternatives(const tg_md_system* system, const tg_md_job* job,
                               tg_list_choice* out, int* count) {
  types list = {0};
  tg_verlet_buffer_params params;
  int tried[TG_LIST_ALTERNATIVES];
  const int tries = list_intervals(system->parameters.nstlist, tried);
  const costs* c = on_gpu(job) ? &costs_of_gpu : &costs_of_cpu;
  const double longest = longest_radius(system, on_gpu(job));
  *count = 0;
  tg_status status = buffer_params(system, &list, &params);
  for (int i = 0; i < tries && status == TG_OK; i++) {
    double best = INFINITY;
    tg_list_choice choice = {0};
    if (try_nstlist(&params, system->parameters.dt, tried[i], longest, c, &best, &choice) !=
            TG_OK ||
        choice.radius > longest)
      continue; /* it is one of several */
    choice.reason = "measured: the fastest within verlet-buffer-tolerance";
    out[(*count)++] = choice;
  }
  tg_free(list.items);
  return status;
}

int tg_list_next_interval(int interval, int by) {
  for (int i = 0; i < INTERVALS; i++)
    if (intervals[i] == interval && i + by >= 0 && i + by < INTERVALS) return intervals[i + by];
  return 0;
}

tg_status tg_list_choose(const tg_md_system* system, const tg_md_job* job,
                         const tg_restart* restart, tg_list_choice* out) {
  const tg_parameters* p = &system->parameters;
  memset(out, 0, sizeof *out);
  if (restart->x) {
    *out = (tg_list_choice){.nstlist = restart->nstlist,
                            .radius = restart->list_radius,
                            .prune_interval = restart->prune_interval,
                            .inner_radius = restart->inner_radius,
                            .reason = "as in the checkpoint"};
    return TG_OK;
  }
  if (p->integrator == TG_INTEGRATOR_STEEPEST_DESCENT) {
    *out = (tg_list_choice){.nstlist = p->nstlist,
                            .radius = p->cutoff + TG_MINIMISE_BUFFER,
                            .reason = "rebuilt as atoms move (minimisation)"};
    return TG_OK;
  }
  if (p->verlet_buffer_tolerance < 0) {
    *out = (tg_list_choice){.nstlist = p->nstlist,
                            .radius = fmax(p->rlist, p->cutoff),
                            .reason = "nstlist and rlist as given (verlet-buffer-tolerance = -1)"};
    return TG_OK;
  }
  if (job->nstlist > 0) return tg_list_fix(system, job, job->nstlist, job->prune_interval, out);
  types list = {0};
  tg_verlet_buffer_params params;
  tg_status status = buffer_params(system, &list, &params);
  if (status == TG_OK)
    status = cheapest(system, &params, on_gpu(job) ? &costs_of_gpu : &costs_of_cpu, out);
  tg_free(list.items);
  return status;
}
