/* SPDX-License-Identifier: Apache-2.0 */
#include "md/device_setup.h"

#include <string.h>

#include "base/units.h"

static void list_params(const tg_device_setup* s, tg_device_md_params* out) {
  tg_device_atoms_params(s->atoms, s->system, out);
  out->device = s->device;
  if (s->devices) {
    out->card_count = s->devices->card_count;
    out->halo = s->devices->halo;
    memcpy(out->domains, s->devices->grid, sizeof out->domains);
  }
  out->world = s->world;
  out->deadline_s = s->deadline_s;
  out->list_radius = s->lists.radius;
  out->inner_radius = s->lists.prune_interval > 0 ? s->lists.inner_radius : s->lists.radius;
  out->row_room = s->row_room;
  out->planes = s->planes;
  out->balance = s->balance;
}

tg_status tg_device_setup_lists(const tg_device_setup* s, tg_device_md** md) {
  tg_device_md_params params;
  list_params(s, &params);
  TG_TRY(tg_device_md_create(&params, md));
  return tg_device_md_set_positions(*md, s->x);
}

tg_status tg_device_setup_steps(const tg_device_setup* s, tg_device_md** md,
                                tg_device_step** step) {
  const tg_md_system* system = s->system;
  const tg_parameters* p = &system->parameters;
  tg_device_md_params lists;
  list_params(s, &lists);
  TG_TRY(tg_device_setup_lists(s, md));
  tg_device_step_params params = {
      .md = *md,
      .work = s->work,
      .dt = p->dt,
      .lincs_order = p->lincs_order,
      .lincs_iterations = p->lincs_iterations,
      .cutoff = p->cutoff,
      .rf_k = lists.rf_k,
      .rf_c = lists.coulomb_shift ? lists.rf_c : 0,
      .coulomb_scale = lists.coulomb_scale,
      .pair_scale = TG_COULOMB / p->epsilon_r * system->topology.fudge_qq,
      .reference = (const double(*)[3])system->restraint_x,
      .thermostat = s->thermostat,
      .nsttcouple = p->nsttcouple,
  };
  memcpy(params.box, system->box, sizeof params.box);
  return tg_device_step_create(&params, step);
}
