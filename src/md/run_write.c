/* SPDX-License-Identifier: Apache-2.0 */
#include "md/run_write.h"

#include <math.h>
#include <string.h>

#include "base/timer.h"
#include "base/units.h"

bool tg_run_wants_energies(const tg_run* run, long long step) {
  const tg_parameters* p = &run->system->parameters;
  return step == run->last_step || tg_run_due(p->nstcalcenergy, step) ||
         tg_run_due(p->nstenergy, step) || tg_run_due(p->nstlog, step);
}

bool tg_run_wants_frame(const tg_run* run, long long step) {
  const tg_parameters* p = &run->system->parameters;
  return step == run->last_step || tg_run_due(p->nstxout, step) || tg_run_due(p->nstvout, step) ||
         tg_run_due(p->nstfout, step) || tg_run_due(p->nstxout_compressed, step);
}

tg_status tg_run_put_energies(tg_run* run, long long step, double heat, tg_energies* e) {
  const double* box = run->system->box;
  double pressure[3][3], kinetic = 0;
  for (int d = 0; d < 3; d++) kinetic += e->kinetic_tensor[d][d];
  tg_pressure(e, box[0] * box[1] * box[2], pressure);
  e->term[TG_E_POTENTIAL] = 0;
  for (int term = 0; term < TG_E_POTENTIAL_TERMS; term++) e->term[TG_E_POTENTIAL] += e->term[term];
  e->term[TG_E_KINETIC] = kinetic;
  e->term[TG_E_TOTAL] = e->term[TG_E_POTENTIAL] + kinetic;
  e->term[TG_E_CONSERVED] = e->term[TG_E_TOTAL] - heat;
  double degrees = run->system->total_degrees_of_freedom;
  e->term[TG_E_TEMPERATURE] = degrees > 0 ? 2 * kinetic / (degrees * TG_BOLTZMANN) : 0;
  e->term[TG_E_PRESSURE] = (pressure[0][0] + pressure[1][1] + pressure[2][2]) / 3;
  if (!isfinite(e->term[TG_E_TOTAL]))
    return tg_fail(
        TG_ERR_NUMERICS,
        "step %lld: the energy is not a finite number: atoms overlap; minimise the energy first "
        "(integrator = steep)",
        step);
  if (!run->output) return TG_OK;
  const tg_parameters* p = &run->system->parameters;
  double time = p->tinit + (double)step * p->dt;
  bool last = step == run->last_step;
  if (tg_run_due(p->nstcalcenergy, step) || tg_run_due(p->nstenergy, step))
    tg_output_count(run->output, time, e);
  if (tg_run_due(p->nstlog, step) || last) tg_output_log_energies(run->output, step, time, e);
  if (tg_run_due(p->nstenergy, step) || last)
    return tg_output_energies(run->output, step, time, e, (const double(*)[3])pressure);
  return TG_OK;
}

tg_status tg_run_put_frame(tg_run* run, long long step) {
  const tg_parameters* p = &run->system->parameters;
  const double* box = run->system->box;
  bool x = tg_run_due(p->nstxout, step), v = tg_run_due(p->nstvout, step);
  bool f = tg_run_due(p->nstfout, step);
  tg_frame frame = {.step = step,
                    .time = p->tinit + (double)step * p->dt,
                    .box = {box[0], 0, 0, 0, box[1], 0, 0, 0, box[2]},
                    .count = run->system->atom_count,
                    .x = x ? (const double(*)[3])run->whole_x : NULL,
                    .v = v ? (const double(*)[3])run->whole_v : NULL,
                    .f = f ? (const double(*)[3])run->whole_f : NULL};
  if (x || v || f) TG_TRY(tg_output_frame_trr(run->output, &frame));
  frame.v = frame.f = NULL;
  frame.x = (const double(*)[3])run->whole_x;
  if (tg_run_due(p->nstxout_compressed, step)) TG_TRY(tg_run_write_compressed(run, &frame));
  if (step != run->last_step) return TG_OK;
  return tg_run_write_gro(run, "confout.gro", step, frame.x, (const double(*)[3])run->whole_v);
}

void tg_run_report_progress(tg_run* run, long long done, double started, double* last) {
  const tg_md_job* job = run->job;
  double now = tg_time_now();
  if (!run->output || !job->progress || now - *last < 0.5 || done < 1) return;
  *last = now;
  double per_step = (now - started) / (double)done;
  tg_md_progress progress = {
      .step = run->step,
      .last_step = run->last_step,
      .ns_per_day = run->system->parameters.dt * 1e-3 * 86400 / per_step,
      .seconds_left = run->last_step < 0 ? -1 : (double)(run->last_step - run->step) * per_step};
  job->progress(job->context, &progress);
}
