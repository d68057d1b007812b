/* SPDX-License-Identifier: Apache-2.0 */
/* Snapshots, single files, and sums that the loops share. */
#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/units.h"
#include "md/run.h"

static tg_status fill_snapshot(tg_run* run) {
  tg_snapshot* s = &run->snapshot;
  const tg_domain* domain = run->domain;
  size_t wanted = domain->home_count + domain->home_count / 8 + 64;
  if (domain->home_count > s->capacity) {
    size_t a = s->capacity, b = s->capacity, c = s->capacity;
    TG_TRY(TG_RESERVE(wanted, "snapshot", &s->global, &a));
    TG_TRY(TG_RESERVE(wanted, "snapshot", &s->x, &b));
    TG_TRY(TG_RESERVE(wanted, "snapshot", &s->v, &c));
    s->capacity = wanted;
  }
  s->step = run->step;
  s->home_count = domain->home_count;
  if (domain->home_count) {
    memcpy(s->global, domain->global, domain->home_count * sizeof *s->global);
    memcpy(s->x, domain->x, domain->home_count * sizeof *s->x);
    memcpy(s->v, domain->v, domain->home_count * sizeof *s->v);
  }
  memcpy(s->heat, run->thermostat.given, sizeof s->heat);
  return run->output ? tg_output_mark(run->output, &s->marks) : TG_OK;
}

tg_status tg_run_take_snapshot(tg_run* run) {
  TG_TRY(tg_world_agree(run->domain->world, fill_snapshot(run)));
  run->snapshot.taken = true;
  return TG_OK;
}

void tg_snapshot_free(tg_snapshot* s) {
  tg_free(s->global);
  tg_free(s->x);
  tg_free(s->v);
  memset(s, 0, sizeof *s);
}

tg_status tg_run_write_gro(tg_run* run, const char* name, long long step, const double (*x)[3],
                           const double (*v)[3]) {
  char path[4096], title[256];
  const tg_parameters* p = &run->system->parameters;
  TG_TRY(tg_path_join(tg_output_folder(run->output), name, path, sizeof path));
  tg_configuration frame = run->system->start; /* names and numbers; nothing of it is changed */
  char time[40] = "";                          /* a minimisation has none */
  if (p->integrator == TG_INTEGRATOR_LEAP_FROG)
    snprintf(time, sizeof time, " t= %.5f", p->tinit + (double)step * p->dt);
  snprintf(title, sizeof title, "%.150s%s step= %lld", run->system->topology.title, time, step);
  frame.title = title;
  frame.x = (double(*)[3])x;
  frame.v = (double(*)[3])v;
  return tg_configuration_save_gro(&frame, 3, path);
}

tg_status tg_run_write_snapshot_gro(tg_run* run, const char* name) {
  tg_snapshot* s = &run->snapshot;
  tg_domain_whole whole = {run->whole_x, run->whole_v, NULL};
  TG_TRY(tg_domain_gather(run->domain, (const double(*)[3])s->x, (const double(*)[3])s->v, NULL,
                          s->global, s->home_count, &whole));
  tg_status status = TG_OK;
  if (run->output)
    status = tg_run_write_gro(run, name, s->step, (const double(*)[3])run->whole_x,
                              (const double(*)[3])run->whole_v);
  return tg_world_agree(run->domain->world, status);
}

tg_status tg_run_write_compressed(tg_run* run, const tg_frame* frame) {
  const tg_parameters* p = &run->system->parameters;
  if (p->compressed_group_count == 0) return tg_output_frame_xtc(run->output, frame);
  /* the members of all groups named, each once, in file order */
  size_t count = 0;
  unsigned char* chosen = NULL;
  double(*x)[3] = NULL;
  tg_status status = TG_OK;
  TG_TRY_GOTO(TG_ALLOCATE(frame->count, "output group", &chosen), free_arrays);
  for (int g = 0; g < p->compressed_group_count; g++) {
    const tg_index_group* group = tg_index_find(&run->system->index, p->compressed_groups[g]);
    for (size_t i = 0; group && i < group->count; i++) chosen[group->atoms[i]] = 1;
  }
  TG_TRY_GOTO(TG_ALLOCATE(frame->count, "output group", &x), free_arrays);
  for (size_t i = 0; i < frame->count; i++)
    if (chosen[i]) memcpy(x[count++], frame->x[i], sizeof *x);
  tg_frame part = *frame;
  part.count = count;
  part.x = (const double(*)[3])x;
  status = tg_output_frame_xtc(run->output, &part);
free_arrays:
  tg_free(chosen);
  tg_free(x);
  return status;
}

tg_status tg_run_constraint_rmsd(tg_run* run, tg_energies* energies) {
  double sum = 0, largest = 0;
  size_t count = 0;
  tg_constraints_deviation(run->domain->constraints, (const double(*)[3])run->domain->x, &sum,
                           &count, &largest);
  double both[2] = {sum, (double)count};
  TG_TRY(tg_world_sum_doubles(run->domain->world, both, 2));
  energies->term[TG_E_CONSTRAINT_RMSD] = both[1] > 0 ? sqrt(both[0] / both[1]) : 0;
  return TG_OK;
}

tg_status tg_run_constraint_failure(const tg_run* run, const char* where,
                                    tg_constraints_failure failure, tg_status status) {
  char name[96], fact[96] = "have no solution, or its position is not a finite number";
  tg_domain_name_atom(run->system, run->domain->global[failure.local_atom], name, sizeof name);
  if (failure.angle < 180)
    snprintf(fact, sizeof fact, "turned by %.1f degrees, 90 or more, in one step", failure.angle);
  return tg_fail(status,
                 "%s: constraints of %s %s: the system blew up; minimise its energy first "
                 "(integrator = steep) or use a shorter time step",
                 where, name, fact);
}

tg_status tg_run_sum_energies(tg_run* run, tg_energies* energies) {
  double sums[TG_E_POTENTIAL_TERMS + 9];
  memcpy(sums, energies->term, TG_E_POTENTIAL_TERMS * sizeof(double));
  memcpy(sums + TG_E_POTENTIAL_TERMS, energies->virial, 9 * sizeof(double));
  TG_TRY(tg_world_sum_doubles(run->domain->world, sums, TG_E_POTENTIAL_TERMS + 9));
  memcpy(energies->term, sums, TG_E_POTENTIAL_TERMS * sizeof(double));
  memcpy(energies->virial, sums + TG_E_POTENTIAL_TERMS, 9 * sizeof(double));
  energies->term[TG_E_POTENTIAL] = 0;
  for (int term = 0; term < TG_E_POTENTIAL_TERMS; term++)
    energies->term[TG_E_POTENTIAL] += energies->term[term];
  return TG_OK;
}

void tg_pressure(const tg_energies* energies, double volume, double pressure[3][3]) {
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      pressure[i][j] =
          2 * (energies->kinetic_tensor[i][j] - energies->virial[i][j]) / volume * TG_PRESSURE_BAR;
}
