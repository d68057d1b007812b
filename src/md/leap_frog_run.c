/* SPDX-License-Identifier: Apache-2.0 */
/* The leap-frog loop. At the start of step s: x(t), v(t - dt/2), t = tinit + s dt.
 *
 * 1. every nstlist steps: migrate, rebuild the pair list, keep a snapshot
 * 2. forces F(t)
 * 3. output of x(t), v(t - dt/2), F(t)
 * 4. centre-of-mass motion removed, thermostat factors lambda
 * 5. v(t + dt/2) = lambda v(t - dt/2) + dt F/m, x(t + dt) = x + dt v(t + dt/2), constraints
 * 6. energies of t: kinetic energy is the mean of the two half steps' (the earlier one after
 * scaling)
 * 7. all PEs agree how the step went */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/interrupt.h"
#include "base/timer.h"
#include "base/units.h"
#include "md/leap_frog.h"
#include "md/run.h"
#include "md/run_trace.h"
#include "md/run_write.h"

typedef struct loop {
  tg_run* run;
  tg_leap_frog_atoms atoms;
  double started, last_progress, last_checkpoint;
  long long first_step;
  bool checkpoint_due;
  double kinetic_old[TG_MAX_GROUPS][3][3]; /* of v(t - dt/2), summed over PEs */
  double lambda[TG_MAX_GROUPS];
  tg_energies energies;
} loop;

static void refresh_atoms(loop* l) {
  const tg_domain* domain = l->run->domain;
  l->atoms = (tg_leap_frog_atoms){
      .home_count = domain->home_count,
      .mass = domain->mass,
      .inverse_mass = domain->inverse_mass,
      .group = domain->system->temperature_group_count > 1 ? domain->temperature_group : NULL,
      .group_count = domain->system->temperature_group_count,
      .threads = domain->params.threads,
  };
}

static tg_status sum_kinetic(loop* l, double (*kinetic)[3][3]) {
  tg_domain* domain = l->run->domain;
  tg_leap_frog_kinetic(&l->atoms, (const double(*)[3])domain->v, kinetic);
  return tg_world_sum_doubles(domain->world, &kinetic[0][0][0], 9 * (size_t)l->atoms.group_count);
}

static double trace(double tensor[3][3]) { return tensor[0][0] + tensor[1][1] + tensor[2][2]; }

/* Of each group of comm-grps by itself. */
static tg_status remove_drift(loop* l) {
  tg_domain* domain = l->run->domain;
  tg_leap_frog_atoms groups = l->atoms;
  groups.group = domain->system->comm_group ? domain->comm_group : NULL;
  groups.group_count = domain->system->comm_group ? domain->system->comm_group_count : 1;
  double momentum[TG_MAX_GROUPS][4], velocity[TG_MAX_GROUPS][3];
  tg_leap_frog_momentum(&groups, (const double(*)[3])domain->v, momentum);
  TG_TRY(tg_world_sum_doubles(domain->world, momentum[0], 4 * (size_t)groups.group_count));
  for (int g = 0; g < groups.group_count; g++)
    for (int d = 0; d < 3; d++)
      velocity[g][d] = momentum[g][3] > 0 ? momentum[g][d] / momentum[g][3] : 0;
  tg_leap_frog_remove_velocity(&groups, (const double(*)[3])velocity, domain->v);
  return TG_OK;
}

/* Steps 4 and the kinetic energy before the update, where it is needed. */
static tg_status prepare_velocities(loop* l, bool want_energy) {
  tg_run* run = l->run;
  const tg_parameters* p = &run->system->parameters;
  if (p->comm_mode == TG_COMM_LINEAR && tg_run_due(p->nstcomm, run->step)) TG_TRY(remove_drift(l));
  bool couple = p->thermostat != TG_THERMOSTAT_NONE && tg_run_due(p->nsttcouple, run->step);
  for (int g = 0; g < l->atoms.group_count; g++) l->lambda[g] = 1;
  if (!couple && !want_energy) return TG_OK;
  TG_TRY(sum_kinetic(l, l->kinetic_old));
  if (couple) {
    double kinetic[TG_MAX_GROUPS];
    for (int g = 0; g < l->atoms.group_count; g++) kinetic[g] = trace(l->kinetic_old[g]);
    tg_thermostat_scale(&run->thermostat, run->step, kinetic, l->lambda);
  }
  return TG_OK;
}

/* Nothing moves half the cut-off in one step unless the system has blown up. */
static tg_status check_speed(const tg_run* run) {
  const tg_domain* domain = run->domain;
  double limit = 0.5 * run->system->parameters.cutoff / run->system->parameters.dt;
  double limit2 = limit * limit;
  int bad = 0;
  for (size_t i = 0; i < domain->home_count; i++) {
    const double* v = domain->v[i];
    bad += !(v[0] * v[0] + v[1] * v[1] + v[2] * v[2] <= limit2); /* true for NaN as well */
  }
  if (!bad) return TG_OK;
  for (size_t i = 0; i < domain->home_count; i++) {
    const double* v = domain->v[i];
    double speed2 = v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
    if (speed2 <= limit2) continue;
    char name[96];
    tg_domain_name_atom(run->system, domain->global[i], name, sizeof name);
    char fact[96] = "its velocity is not a finite number";
    if (isfinite(speed2)) snprintf(fact, sizeof fact, "it moves at %g nm/ps", sqrt(speed2));
    return tg_fail(TG_ERR_NUMERICS,
                   "step %lld: %s: %s (atoms faster than half a cut-off per step: %d): the system "
                   "blew up; minimise its energy first (integrator = steep) or use a shorter time "
                   "step",
                   run->step, name, fact, bad);
  }
  return TG_OK;
}

static tg_status describe_constraint_failure(const tg_run* run, tg_constraints_failure failure,
                                             tg_status status) {
  if (failure.local_atom < 0) return status;
  char where[32];
  snprintf(where, sizeof where, "step %lld", run->step);
  if (status != TG_OK) return tg_run_constraint_failure(run, where, failure, status);
  char name[96], line[256];
  tg_domain_name_atom(run->system, run->domain->global[failure.local_atom], name, sizeof name);
  snprintf(line, sizeof line, "%s: a constrained bond of %s turned by %.1f degrees", where, name,
           failure.angle);
  if (run->job->message) run->job->message(run->job->context, 1, line);
  return TG_OK;
}

static tg_status update(loop* l, bool want_energy) {
  tg_run* run = l->run;
  tg_domain* domain = run->domain;
  double dt = run->system->parameters.dt, clock = tg_time_now();
  tg_leap_frog_step(&l->atoms, dt, l->lambda, (const double(*)[3])domain->x,
                    (const double(*)[3])domain->f, domain->v, domain->x_new);
  TG_TRY(check_speed(run));
  tg_domain_part_done(domain, TG_PART_UPDATE, "update", &clock);
  if (run->system->constraint_count) {
    tg_constraints_failure failure = {.local_atom = -1};
    tg_status status =
        tg_constraints_apply(domain->constraints, (const double(*)[3])domain->x, domain->x_new,
                             domain->v, 1 / dt, want_energy ? l->energies.virial : NULL, &failure);
    tg_domain_part_done(domain, TG_PART_CONSTRAINTS, "constraints", &clock);
    TG_TRY(describe_constraint_failure(run, failure, status));
  }
  double(*swap)[3] = domain->x;
  domain->x = domain->x_new;
  domain->x_new = swap;
  return TG_OK;
}

/* Step 6. */
static tg_status finish_energies(loop* l) {
  tg_run* run = l->run;
  tg_energies* e = &l->energies;
  double kinetic_new[TG_MAX_GROUPS][3][3];
  TG_TRY(sum_kinetic(l, kinetic_new));
  memset(e->kinetic_tensor, 0, sizeof e->kinetic_tensor);
  for (int g = 0; g < l->atoms.group_count; g++)
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 3; j++)
        e->kinetic_tensor[i][j] +=
            0.5 * (l->lambda[g] * l->lambda[g] * l->kinetic_old[g][i][j] + kinetic_new[g][i][j]);
  TG_TRY(tg_run_sum_energies(run, e));
  return tg_run_put_energies(run, run->step, -tg_thermostat_conserved(&run->thermostat), e);
}

/* Step 3. */
static tg_status write_frames(loop* l, long long step, bool last) {
  tg_run* run = l->run;
  if (!tg_run_wants_frame(run, step)) return TG_OK;
  const tg_parameters* p = &run->system->parameters;
  double clock = tg_time_now();
  tg_domain* domain = run->domain;
  bool x = last || tg_run_due(p->nstxout, step) || tg_run_due(p->nstxout_compressed, step);
  bool v = last || tg_run_due(p->nstvout, step), f = tg_run_due(p->nstfout, step);
  tg_domain_whole whole = {run->whole_x, run->whole_v, run->whole_f};
  TG_TRY(tg_domain_gather(
      domain, x ? (const double(*)[3])domain->x : NULL, v ? (const double(*)[3])domain->v : NULL,
      f ? (const double(*)[3])domain->f : NULL, domain->global, domain->home_count, &whole));
  tg_status status = run->output ? tg_run_put_frame(run, step) : TG_OK;
  tg_domain_part_done(domain, TG_PART_OUTPUT, "output", &clock);
  return tg_world_agree(domain->world, status);
}

/* Step 7: one small maximum over the PEs says whether all is well, whether somebody was
 * interrupted, and whether PE 0 finds that a checkpoint is due. */
static tg_status agree(loop* l, tg_status status) {
  tg_run* run = l->run;
  double now = tg_time_now();
  tg_run_report_progress(run, run->step + 1 - l->first_step, l->started, &l->last_progress);
  bool due_now = run->output && now - l->last_checkpoint > 60 * run->job->checkpoint_minutes;
  int64_t word[3] = {status != TG_OK, tg_interrupt_requested(), due_now};
  TG_TRY(tg_world_max_int64(run->domain->world, word, 3));
  if (word[0]) return tg_world_agree(run->domain->world, status);
  if (word[2]) l->checkpoint_due = true;
  if (word[1])
    return tg_fail(TG_ERR_INTERRUPTED, "interrupted at step %lld; --continue goes on from there",
                   run->step);
  return TG_OK;
}

static tg_status list_step(loop* l) {
  tg_run* run = l->run;
  TG_TRY(tg_domain_partition(run->domain));
  refresh_atoms(l);
  double clock = tg_time_now();
  TG_TRY(tg_run_take_snapshot(run));
  if (l->checkpoint_due) {
    TG_TRY(tg_run_write_checkpoint(run));
    l->last_checkpoint = tg_time_now();
    l->checkpoint_due = false;
  }
  tg_domain_part_done(run->domain, TG_PART_OUTPUT, "snapshot", &clock);
  return TG_OK;
}

/* What one PE does between two agreements; collective calls inside are matched on all PEs. */
static tg_status one_step(loop* l, bool last) {
  tg_run* run = l->run;
  bool want = tg_run_wants_energies(run, run->step);
  TG_TRY(tg_domain_forces(run->domain, want, &l->energies));
  TG_TRY(write_frames(l, run->step, last));
  TG_TRY(prepare_velocities(l, want));
  tg_status status = update(l, want);
  if (!want) return status;
  /* a PE in trouble must not leave the others waiting in the sums */
  TG_TRY(tg_world_agree(run->domain->world, status));
  if (run->system->constraint_count) TG_TRY(tg_run_constraint_rmsd(run, &l->energies));
  return finish_energies(l);
}

static tg_status run_steps(loop* l) {
  tg_run* run = l->run;
  for (bool first = true;; first = false) {
    bool last = run->step == run->last_step;
    int64_t begin = tg_trace_now(run->domain->trace);
    if (first || run->step % run->nstlist == 0) TG_TRY(list_step(l));
    tg_status status = one_step(l, last);
    int64_t waiting = tg_trace_now(run->domain->trace);
    status = agree(l, status);
    tg_trace_end(run->domain->trace, tg_trace_span(TG_HALO_TRACE_CPU, "agree", waiting));
    tg_run_trace_step(run, begin);
    if (status == TG_OK || status == TG_ERR_INTERRUPTED) run->steps_done++;
    if (last || status != TG_OK) return status;
    TG_TRY(tg_run_trace_write(run, false));
    run->step++;
  }
}

tg_status tg_run_leap_frog(tg_run* run) {
  /* a continued run has the checkpoint of its start already */
  loop l = {.run = run, .first_step = run->step, .checkpoint_due = !run->job->continue_run};
  l.started = l.last_progress = l.last_checkpoint = tg_time_now();
  memset(run->domain->part_s, 0, sizeof run->domain->part_s); /* the split is of wall_s alone */
  tg_status status = run_steps(&l);
  run->result.wall_s = tg_time_now() - l.started;
  return status;
}
