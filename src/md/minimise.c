/* SPDX-License-Identifier: Apache-2.0 */
/* Steepest descent. x_try = x + (step / F_max) F, moved onto the constraints; where the energy
 * falls the step grows by 1.2, else the try is taken back and the step is halved. F_max is the
 * largest force left after its components along constraints are removed. Ends when F_max < emtol,
 * after nsteps, or when the step is too small to change a position.
 *
 * The pair list has a buffer; it is rebuilt before atoms can have moved half of it.
 *
 * With the backend cuda a GPU computes pair forces while no force is large (device_pairs.h); the
 * end is looked at once more with the host's. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/interrupt.h"
#include "base/memory.h"
#include "base/timer.h"
#include "md/device_pairs.h"
#include "md/list_choice.h"
#include "md/run.h"
#include "md/run_trace.h"

static const double buffer = TG_MINIMISE_BUFFER;
static const double largest_step = 0.025; /* nm: two atoms towards each other use half the buffer */

typedef struct descent {
  tg_run* run;
  double energy, force, step, moved;
  int force_atom; /* global number of the atom with the largest force, at PE 0 */
  double (*kept_f)[3];
  size_t kept_capacity;
  tg_energies energies;
  tg_device_pairs* pairs; /* NULL: the host computes */
  bool on_gpu, at_end;
} descent;

/* Largest force over all PEs, and its atom. */
static tg_status largest_force(descent* d) {
  tg_domain* domain = d->run->domain;
  double best = 0;
  int atom = -1;
  /* v is free in a minimisation: it carries F/m through the projection */
  for (size_t i = 0; i < domain->home_count; i++)
    for (int k = 0; k < 3; k++) domain->v[i][k] = domain->f[i][k] * domain->inverse_mass[i];
  if (d->run->system->constraint_count)
    TG_TRY(tg_constraints_project(domain->constraints, (const double(*)[3])domain->x, domain->v));
  for (size_t i = 0; i < domain->home_count; i++) {
    double f2 = 0;
    for (int k = 0; k < 3; k++) {
      double f = domain->v[i][k] * domain->mass[i];
      f2 += f * f;
    }
    if (f2 <= best && atom >= 0) continue;
    best = isnan(f2) ? INFINITY : f2;
    atom = domain->global[i];
  }
  /* the larger force wins, then the lower atom number: the maximum of (force, -atom) in two steps
   */
  double force = sqrt(best);
  int64_t bits, number;
  memcpy(&bits, &force, sizeof bits); /* positive doubles order like their bits */
  int64_t mine = bits;
  TG_TRY(tg_world_max_int64(domain->world, &bits, 1));
  number = mine == bits && atom >= 0 ? -(int64_t)atom : INT64_MIN;
  TG_TRY(tg_world_max_int64(domain->world, &number, 1));
  memcpy(&d->force, &bits, sizeof bits);
  d->force_atom = (int)-number;
  return TG_OK;
}

static tg_status evaluate(descent* d, double* energy) {
  TG_TRY(tg_domain_forces(d->run->domain, true, &d->energies));
  TG_TRY(tg_run_sum_energies(d->run, &d->energies));
  *energy = d->energies.term[TG_E_POTENTIAL];
  return TG_OK;
}

static tg_status repartition(descent* d) {
  TG_TRY(tg_domain_partition(d->run->domain));
  if (d->pairs) tg_device_pairs_renew(d->pairs);
  d->moved = 0;
  TG_TRY(tg_run_take_snapshot(d->run));
  return evaluate(d, &d->energy);
}

static tg_status keep_forces(descent* d) {
  const tg_domain* domain = d->run->domain;
  TG_TRY(TG_RESERVE(domain->local_count, "forces", &d->kept_f, &d->kept_capacity));
  if (domain->local_count) memcpy(d->kept_f, domain->f, domain->local_count * sizeof *d->kept_f);
  return TG_OK;
}

static void swap_positions(tg_domain* domain) {
  double(*swap)[3] = domain->x;
  domain->x = domain->x_new;
  domain->x_new = swap;
}

/* One try; *accepted says how it ended. */
static tg_status try_step(descent* d, bool* accepted) {
  tg_domain* domain = d->run->domain;
  double scale = d->step / d->force, energy = 0;
  TG_TRY(tg_world_agree(domain->world, keep_forces(d)));
  for (size_t i = 0; i < domain->home_count; i++)
    for (int k = 0; k < 3; k++)
      domain->x_new[i][k] = domain->x[i][k] + scale * domain->v[i][k] * domain->mass[i];
  tg_constraints_failure failure = {.local_atom = -1};
  bool failed = false;
  if (d->run->system->constraint_count)
    failed = tg_constraints_apply(domain->constraints, (const double(*)[3])domain->x, domain->x_new,
                                  NULL, 1, NULL, &failure) != TG_OK;
  int64_t any = failed;
  TG_TRY(tg_world_max_int64(domain->world, &any, 1));
  if (!any) {
    swap_positions(domain);
    TG_TRY(evaluate(d, &energy));
    *accepted = energy < d->energy; /* false for NaN */
    if (*accepted) {
      d->energy = energy;
      d->moved += d->step;
      return TG_OK;
    }
    swap_positions(domain);
    if (domain->local_count) memcpy(domain->f, d->kept_f, domain->local_count * sizeof *domain->f);
  }
  *accepted = false;
  return TG_OK;
}

static tg_status log_step(descent* d, double pressure[3][3]) {
  tg_run* run = d->run;
  d->energies.term[TG_E_POTENTIAL] = d->energy;
  d->energies.term[TG_E_TOTAL] = d->energies.term[TG_E_CONSERVED] = d->energy;
  tg_output_log(
      run->output,
      "step %6lld  potential %.8g kJ/mol  largest force %.5g kJ/mol/nm (atom %d)  step %.3g nm",
      run->step, d->energy, d->force, d->force_atom + 1, d->step);
  return tg_output_energies(run->output, run->step, (double)run->step, &d->energies,
                            (const double(*)[3])pressure);
}

static tg_status report(descent* d, bool accepted, double* last_progress) {
  tg_run* run = d->run;
  const double* box = run->system->box;
  tg_status status = TG_OK;
  if (run->output) {
    double pressure[3][3];
    tg_pressure(&d->energies, box[0] * box[1] * box[2], pressure);
    d->energies.term[TG_E_PRESSURE] = (pressure[0][0] + pressure[1][1] + pressure[2][2]) / 3;
    if (accepted) status = log_step(d, pressure);
    double now = tg_time_now();
    if (run->job->progress && now - *last_progress > 0.5) {
      tg_md_progress progress = {
          .step = run->step, .last_step = run->last_step, .seconds_left = -1};
      run->job->progress(run->job->context, &progress);
      *last_progress = now;
    }
  }
  int64_t interrupted = tg_interrupt_requested();
  TG_TRY(tg_world_max_int64(run->domain->world, &interrupted, 1));
  if (interrupted && status == TG_OK)
    status = tg_fail(TG_ERR_INTERRUPTED,
                     "interrupted at step %lld; the best positions so far are kept", run->step);
  return tg_world_agree(run->domain->world, status);
}

static tg_status not_finite(const descent* d) {
  char name[96];
  tg_domain_name_atom(d->run->system, d->force_atom, name, sizeof name);
  return tg_fail(
      TG_ERR_NUMERICS,
      "step %lld: the force on %s is not a finite number: it overlaps another atom; move the atoms "
      "apart in the start configuration",
      d->run->step, name);
}

/* Who computes pair forces from here on. The energy to fall below is always from the same side. */
static tg_status choose_side(descent* d) {
  const bool wanted = d->pairs && d->force < TG_DEVICE_PAIRS_FORCE && !d->at_end;
  if (wanted == d->on_gpu) return TG_OK;
  d->on_gpu = wanted;
  d->run->domain->pair_context = d->pairs;
  d->run->domain->pair_forces = wanted ? tg_device_pairs_compute : NULL;
  if (wanted) tg_device_pairs_renew(d->pairs);
  TG_TRY(evaluate(d, &d->energy));
  return largest_force(d);
}

/* Whether this is the end; where it looks so on the GPU, the host looks, too. */
static tg_status look(descent* d, bool* end) {
  tg_run* run = d->run;
  const double tolerance = run->system->parameters.em_tolerance;
  TG_TRY(choose_side(d));
  *end = d->force < tolerance || d->force == 0 || run->step == run->last_step;
  if (*end && d->on_gpu) {
    d->at_end = true; /* for good: what is left is little */
    TG_TRY(choose_side(d));
    *end = d->force < tolerance || d->force == 0 || run->step == run->last_step;
  }
  run->result.largest_force = d->force;
  run->result.converged = d->force < tolerance;
  return TG_OK;
}

static tg_status descend(descent* d) {
  tg_run* run = d->run;
  const tg_parameters* p = &run->system->parameters;
  double last_progress = tg_time_now();
  d->step = p->em_step < largest_step ? p->em_step : largest_step;
  TG_TRY(repartition(d));
  bool accepted = true;
  for (;; run->step++) {
    int64_t begin = tg_trace_now(run->domain->trace);
    TG_TRY(largest_force(d));
    if (!isfinite(d->force)) return not_finite(d);
    bool end;
    TG_TRY(look(d, &end));
    TG_TRY(report(d, accepted, &last_progress));
    if (end) return TG_OK;
    if (d->moved + d->step > buffer / 2) {
      TG_TRY(repartition(d));
      TG_TRY(largest_force(d));
    }
    TG_TRY(try_step(d, &accepted));
    run->steps_done++;
    tg_run_trace_step(run, begin);
    d->step *= accepted ? 1.2 : 0.5;
    if (d->step > largest_step) d->step = largest_step;
    if (d->step < 1e-9) return TG_OK; /* nm: no coordinate file would show it */
  }
}

static tg_status write_result(descent* d) {
  tg_run* run = d->run;
  tg_domain_whole whole = {run->whole_x, NULL, NULL};
  TG_TRY(tg_domain_gather(run->domain, (const double(*)[3])run->domain->x, NULL, NULL,
                          run->domain->global, run->domain->home_count, &whole));
  tg_status status = TG_OK;
  if (run->output)
    status =
        tg_run_write_gro(run, "confout.gro", run->step, (const double(*)[3])run->whole_x, NULL);
  return tg_world_agree(run->domain->world, status);
}

static tg_status use_gpu(descent* d) {
  const tg_run* run = d->run;
  if (strcmp(run->job->backend, "cuda") != 0) return TG_OK;
  tg_output_log(
      run->output,
      "pair forces by the GPU while no force exceeds %g kJ/mol/nm, else and at the end by "
      "the host",
      TG_DEVICE_PAIRS_FORCE);
  return tg_device_pairs_create(run->system, run->domain->params.list_radius, &d->pairs);
}

tg_status tg_run_minimise(tg_run* run) {
  descent d = {.run = run};
  double started = tg_time_now();
  memset(run->domain->part_s, 0, sizeof run->domain->part_s); /* the split is of wall_s alone */
  tg_status status = use_gpu(&d);
  if (status == TG_OK) status = descend(&d);
  if (status == TG_OK || status == TG_ERR_INTERRUPTED) {
    char message[512];
    snprintf(message, sizeof message, "%s", tg_last_error());
    tg_status written = write_result(&d);
    status = written != TG_OK ? written : status == TG_OK ? TG_OK : tg_fail(status, "%s", message);
  }
  run->domain->pair_forces = NULL;
  tg_device_pairs_destroy(&d.pairs);
  tg_free(d.kept_f);
  run->result.wall_s = tg_time_now() - started;
  return status;
}
