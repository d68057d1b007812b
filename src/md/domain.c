/* SPDX-License-Identifier: Apache-2.0 */
/* Life of a domain: arrays, the start, and the forces of a step. */
#include "md/domain.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/timer.h"
#include "base/units.h"
#include "md/domain_internal.h"

const char* tg_md_part_name(tg_md_part part) {
  static const char* const names[TG_PART_COUNT] = {"pair search",   "halo exchange", "pair forces",
                                                   "bonded forces", "update",        "constraints",
                                                   "output",        "other"};
  return names[part];
}

void tg_domain_name_atom(const tg_md_system* system, int global, char* out, size_t size) {
  const tg_atom* atom = tg_md_atom(system, (size_t)global);
  snprintf(out, size, "atom %d (%s of %s, molecule %d)", global + 1, atom->name, atom->residue,
           system->atom_molecule[global] + 1);
}

tg_status tg_domain_reserve(tg_domain* domain, size_t count) {
  if (count <= domain->capacity) return TG_OK;
  size_t wanted = count + count / 8 + 64;
#define GROW(array, what)                                                                          \
  do {                                                                                             \
    size_t capacity_ = domain->capacity;                                                           \
    TG_TRY(TG_RESERVE(wanted, what, &domain->array, &capacity_));                                  \
    if (capacity_ < room) room = capacity_;                                                        \
  } while (0)
  size_t room = (size_t)-1;
  GROW(global, "atom numbers");
  GROW(x, "positions");
  GROW(v, "velocities");
  GROW(f, "forces");
  GROW(x_new, "positions");
  GROW(centre, "group centres");
  GROW(type, "atom types");
  GROW(charge, "charges");
  GROW(mass, "masses");
  GROW(inverse_mass, "masses");
  GROW(temperature_group, "temperature groups");
  GROW(comm_group, "centre-of-mass groups");
  if (domain->system->restraint_x) GROW(restraint_x, "reference positions");
#undef GROW
  domain->capacity = room;
  return TG_OK;
}

static tg_status create_nonbonded(tg_domain* domain) {
  const tg_md_system* system = domain->system;
  const tg_parameters* parameters = &system->parameters;
  tg_md_reaction_field(parameters, &domain->rf_k, &domain->rf_c, &domain->coulomb_scale);
  if (parameters->coulomb_modifier != TG_MODIFIER_POTENTIAL_SHIFT) domain->rf_c = 0;
  tg_nonbonded_params params = {
      .cutoff = parameters->cutoff,
      .rf_k = domain->rf_k,
      .rf_c = domain->rf_c,
      .coulomb_scale = domain->coulomb_scale,
      .lj_shift = parameters->vdw_modifier == TG_MODIFIER_POTENTIAL_SHIFT,
      .coulomb_shift = parameters->coulomb_modifier == TG_MODIFIER_POTENTIAL_SHIFT,
      .type_count = (int)system->topology.type_count,
      .c6 = system->topology.c6,
      .c12 = system->topology.c12,
      .backend = domain->params.backend,
      .mixed = domain->params.mixed,
      .threads = domain->params.threads,
  };
  return tg_nonbonded_create(&params, &domain->nonbonded);
}

static long long count_bonded(const tg_md_system* system) {
  long long count = 0;
  for (size_t b = 0; b < system->topology.block_count; b++) {
    const tg_molecule_block* block = &system->topology.blocks[b];
    const tg_molecule_type* type = &system->topology.molecule_types[block->molecule_type];
    for (int kind = 0; kind < TG_CONSTRAINT; kind++)
      count += (long long)type->interactions[kind].count * block->count;
  }
  return count;
}

static tg_status create_parts(tg_domain* domain) {
  const tg_md_system* system = domain->system;
  const tg_parameters* parameters = &system->parameters;
  TG_TRY(TG_ALLOCATE(1, "domain", &domain->scratch));
  TG_TRY(TG_ALLOCATE(system->molecule_count, "molecule marks", &domain->scratch->molecule_stamp));
  TG_TRY(TG_ALLOCATE(system->atom_count, "atom numbers", &domain->local_of_global));
  for (size_t i = 0; i < system->atom_count; i++) domain->local_of_global[i] = -1;
  TG_TRY(tg_group_trees_build(system, &domain->scratch->trees));
  domain->scratch->bonded_expected = count_bonded(system);
  tg_constraints_params constraints = {.lincs_order = parameters->lincs_order,
                                       .lincs_iterations = parameters->lincs_iterations,
                                       .warn_angle = parameters->lincs_warn_angle,
                                       .threads = domain->params.threads};
  TG_TRY(tg_constraints_create(&constraints, &domain->constraints));
  return create_nonbonded(domain);
}

tg_status tg_domain_create(const tg_md_system* system, tg_world* world,
                           const tg_domain_params* params, tg_domain** out) {
  *out = NULL;
  tg_domain* domain = NULL;
  tg_status status = TG_ALLOCATE(1, "domain", &domain);
  if (status == TG_OK) {
    domain->system = system;
    domain->world = world;
    domain->params = *params;
    status = create_parts(domain);
    int* grid = domain->params.grid;
    if (status == TG_OK && grid[0] == 0)
      status = tg_halo_choose_grid(tg_world_pe_count(world), system->box,
                                   params->list_radius + 2 * system->group_radius, grid);
  }
  status = tg_world_agree(world, status);
  if (status == TG_OK) {
    tg_halo_params halo = {.schedule = params->halo};
    memcpy(halo.grid, domain->params.grid, sizeof halo.grid);
    status = tg_halo_create(world, &halo, &domain->halo);
  }
  if (status != TG_OK)
    tg_domain_destroy(&domain);
  else
    *out = domain;
  return status;
}

static void free_scratch(const tg_md_system* system, struct tg_domain_scratch* s) {
  if (!s) return;
  tg_group_trees_free(system, s->trees);
  tg_free(s->stay);
  tg_free(s->send[0]);
  tg_free(s->send[1]);
  tg_free(s->received);
  tg_free(s->exclusion_start);
  tg_free(s->exclusion);
  tg_free(s->molecule_stamp);
  tg_free(s->pairs);
  tg_free(s->lengths);
  tg_free(s->settles);
  tg_free(s->settle_distances);
  tg_free(s->gathered);
  tg_free(s->outgoing);
  tg_free(s);
}

void tg_domain_destroy(tg_domain** pointer) {
  tg_domain* domain = *pointer;
  if (!domain) return;
  tg_halo_destroy(&domain->halo);
  tg_nonbonded_destroy(&domain->nonbonded);
  tg_constraints_destroy(&domain->constraints);
  tg_bonded_free(&domain->bonded);
  tg_trace_destroy(&domain->trace);
  tg_free(domain->global);
  tg_free(domain->x);
  tg_free(domain->v);
  tg_free(domain->f);
  tg_free(domain->x_new);
  tg_free(domain->centre);
  tg_free(domain->type);
  tg_free(domain->charge);
  tg_free(domain->mass);
  tg_free(domain->inverse_mass);
  tg_free(domain->temperature_group);
  tg_free(domain->comm_group);
  tg_free(domain->restraint_x);
  tg_free(domain->local_of_global);
  free_scratch(domain->system, domain->scratch);
  tg_free(domain);
  *pointer = NULL;
}

void tg_domain_part_done(tg_domain* domain, tg_md_part part, const char* name, double* since) {
  double now = tg_time_now();
  domain->part_s[part] += now - *since;
  if (domain->trace) {
    tg_trace_event event = tg_trace_span(TG_HALO_TRACE_CPU, name, (int64_t)(*since * 1e9));
    event.end_ns = (int64_t)(now * 1e9);
    tg_trace_add(domain->trace, &event);
  }
  *since = now;
}

static bool prune_due(const tg_domain* domain) {
  int interval = domain->params.prune_interval;
  return interval > 0 && domain->list_age > 0 && domain->list_age % interval == 0;
}

tg_status tg_domain_forces(tg_domain* domain, bool want_energy, tg_energies* energies) {
  const tg_md_system* system = domain->system;
  double clock = tg_time_now();
  TG_TRY(tg_halo_positions(domain->halo, domain->x));
  tg_domain_part_done(domain, TG_PART_HALO, "halo positions", &clock);

  if (prune_due(domain)) { /* cannot fail: the pruning of the partition has made room */
    TG_TRY(tg_nonbonded_prune(domain->nonbonded, (const double(*)[3])domain->x,
                              domain->params.inner_radius));
    tg_domain_part_done(domain, TG_PART_SEARCH, "prune the pair list", &clock);
  }
  domain->list_age++;

  memset(domain->f, 0, domain->local_count * sizeof *domain->f);
  tg_nonbonded_result result = {.want_energy = want_energy};
  if (domain->pair_forces)
    TG_TRY(domain->pair_forces(domain->pair_context, domain, &result));
  else
    tg_nonbonded_compute(domain->nonbonded, (const double(*)[3])domain->x, domain->f, &result);
  domain->pairs_in_list = result.pairs_in_list;
  tg_domain_part_done(domain, TG_PART_NONBONDED, "pair forces", &clock);

  tg_bonded_environment environment = {
      .cutoff = system->parameters.cutoff,
      .rf_k = domain->rf_k,
      .rf_c = domain->rf_c,
      .coulomb_scale = domain->coulomb_scale,
      .fudge_qq = system->topology.fudge_qq,
      .pair_scale = TG_COULOMB / system->parameters.epsilon_r,
      .charge = domain->charge,
      .restraint_x = (const double(*)[3])domain->restraint_x,
      .threads = domain->params.threads,
  };
  memcpy(environment.box, system->box, sizeof environment.box);
  if (want_energy) {
    memset(energies->term, 0, TG_E_POTENTIAL_TERMS * sizeof(double));
    memset(energies->virial, 0, sizeof energies->virial);
  }
  TG_TRY(tg_bonded_compute(&domain->bonded, &environment, domain->local_count,
                           (const double(*)[3])domain->x, domain->f, want_energy, energies));
  if (want_energy) {
    energies->term[TG_E_LJ] += result.lj;
    energies->term[TG_E_COULOMB] += result.coulomb + domain->self_energy;
    for (int d = 0; d < 3; d++)
      for (int e = 0; e < 3; e++) energies->virial[d][e] += result.virial[d][e];
  }
  tg_domain_part_done(domain, TG_PART_BONDED, "bonded forces", &clock);

  TG_TRY(tg_halo_forces(domain->halo, domain->f));
  tg_domain_part_done(domain, TG_PART_HALO, "halo forces", &clock);
  return TG_OK;
}
