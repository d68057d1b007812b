/* SPDX-License-Identifier: Apache-2.0 */
/* The checks between .mdp keys, and the values that follow from several of them. */
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "md/parameters_table.h"

static tg_status check_steps(tg_mdp_reading* reading) {
  const tg_parameters* p = &reading->p;
  if (!(p->dt > 0))
    return tg_fail_at(tg_mdp_place(reading, "dt"),
                      "dt = %g: a time step above 0 ps was expected, usually 0.001 or 0.002",
                      p->dt);
  if (p->nstlist <= 0)
    return tg_fail_at(tg_mdp_place(reading, "nstlist"),
                      "nstlist = %d: the pair list must be renewed every 1 or more steps; use 10 "
                      "or 20",
                      p->nstlist);
  if (p->steps >= 0 && p->steps > INT64_MAX - p->init_step)
    return tg_fail_at(tg_mdp_place(reading, "nsteps"), "init-step + nsteps is too large");
  if (p->steps == -1) TG_TRY(tg_mdp_amend(reading, "nsteps", "runs until it is stopped"));
  return TG_OK;
}

static tg_status check_cutoffs(tg_mdp_reading* reading) {
  tg_parameters* p = &reading->p;
  if (reading->rcoulomb != reading->rvdw) {
    tg_place place = tg_mdp_place(reading, "rvdw");
    if (place.line <= 0) place = tg_mdp_place(reading, "rcoulomb");
    return tg_fail_at(place,
                      "rcoulomb = %g and rvdw = %g differ; this version has one cut-off: make them "
                      "equal",
                      reading->rcoulomb, reading->rvdw);
  }
  p->cutoff = reading->rvdw;
  bool buffered = p->verlet_buffer_tolerance > 0;
  if (p->verlet_buffer_tolerance == 0)
    return tg_fail_at(tg_mdp_place(reading, "verlet-buffer-tolerance"),
                      "verlet-buffer-tolerance = 0: a tolerance above 0 was expected, or -1 to use "
                      "rlist as it is");
  if (!buffered && p->rlist < p->cutoff)
    return tg_fail_at(tg_mdp_place(reading, "rlist"),
                      "rlist = %g is smaller than the cut-off %g; enlarge rlist, or set "
                      "verlet-buffer-tolerance = 0.005 and leave rlist out",
                      p->rlist, p->cutoff);
  if (buffered)
    return tg_mdp_amend(reading, "rlist", "not used: verlet-buffer-tolerance decides the radius");
  return tg_mdp_amend(reading, "verlet-buffer-tolerance", "off: the list radius is rlist");
}

static tg_status check_electrostatics(tg_mdp_reading* reading) {
  tg_parameters* p = &reading->p;
  if (p->coulomb_type == TG_COULOMB_CUT_OFF)
    return tg_mdp_amend(reading, "epsilon-rf", "not used: it belongs to Reaction-Field");
  if (p->coulomb_modifier == TG_MODIFIER_NONE) {
    /* the reaction field's constant makes the potential zero at the cut-off by its definition */
    p->coulomb_modifier = TG_MODIFIER_POTENTIAL_SHIFT;
    TG_TRY(tg_mdp_amend(reading, "coulomb-modifier",
                        "no effect: a reaction field is zero at the cut-off in any case"));
  }
  if (p->epsilon_rf == 0)
    return tg_mdp_amend(reading, "epsilon-rf", "permittivity beyond the cut-off: infinite");
  if (p->epsilon_rf < p->epsilon_r)
    return tg_fail_at(tg_mdp_place(reading, "epsilon-rf"),
                      "epsilon-rf = %g is smaller than epsilon-r = %g; use a larger one, or 0 for "
                      "infinity",
                      p->epsilon_rf, p->epsilon_r);
  return TG_OK;
}

/* GROMACS's rule for nsttcouple = -1: every 10 steps. Berendsen's thermostat with a coupling time
 * of up to 10 steps acts 5 times in that time, at a period that divides 10. */
static int choose_nsttcouple(const tg_parameters* p) {
  enum { USUAL = 10, LEAST_PER_TAU = 5 };
  double shortest = HUGE_VAL;
  for (int i = 0; i < p->temperature_group_count; i++)
    if (p->tau_t[i] > 0) shortest = fmin(shortest, p->tau_t[i]);
  if (p->thermostat != TG_THERMOSTAT_BERENDSEN || shortest > USUAL * p->dt) return USUAL;
  int period = (int)floor(shortest / (p->dt * LEAST_PER_TAU));
  if (period < 1) period = 1;
  while (USUAL % period) period--;
  return period;
}

static tg_status check_thermostat(tg_mdp_reading* reading) {
  tg_parameters* p = &reading->p;
  int groups = p->temperature_group_count;
  if (reading->tau_count != groups || reading->ref_count != groups)
    return tg_fail_at(tg_mdp_place(reading, reading->tau_count != groups ? "tau-t" : "ref-t"),
                      "tc-grps names %d group%s, but there are values of tau-t: %d, of ref-t: %d; "
                      "give one of each per group",
                      groups, groups == 1 ? "" : "s", reading->tau_count, reading->ref_count);
  for (int i = 0; i < groups; i++)
    if (p->ref_t[i] < 0)
      return tg_fail_at(tg_mdp_place(reading, "ref-t"), "ref-t = %g: 0 K or more was expected",
                        p->ref_t[i]);
  if (p->thermostat != TG_THERMOSTAT_NONE && p->integrator == TG_INTEGRATOR_STEEPEST_DESCENT) {
    tg_log_warning(reading->log, "%s: tcoupl has no effect with integrator = steep", p->path);
    p->thermostat = TG_THERMOSTAT_NONE;
    TG_TRY(tg_mdp_amend(reading, "tcoupl", "no effect with integrator = steep"));
  }
  if (p->thermostat == TG_THERMOSTAT_NONE) {
    for (int i = 0; i < 3; i++) {
      static const char* const keys[] = {"tc-grps", "tau-t", "ref-t"};
      TG_TRY(tg_mdp_amend(reading, keys[i], "not used: there is no thermostat"));
    }
    p->nsttcouple = reading->nsttcouple > 0 ? reading->nsttcouple : 10;
    return tg_mdp_amend(reading, "nsttcouple", "not used: there is no thermostat");
  }
  if (groups == 0)
    return tg_fail_at(tg_mdp_place(reading, "tcoupl"),
                      "tcoupl is on but tc-grps names no group; add, for one group of all atoms: "
                      "tc-grps = System, tau-t = 0.1, ref-t = 300");
  for (int i = 0; i < groups; i++) {
    /* -1 and 0 mean: this group is not coupled */
    if (p->tau_t[i] <= 0) continue;
    if (p->thermostat == TG_THERMOSTAT_BERENDSEN && p->tau_t[i] < p->dt)
      return tg_fail_at(tg_mdp_place(reading, "tau-t"),
                        "tau-t = %g ps is shorter than the time step; 0.1 or more is usual",
                        p->tau_t[i]);
  }
  if (p->thermostat == TG_THERMOSTAT_BERENDSEN)
    tg_log_warning(reading->log,
                   "%s: the Berendsen thermostat gives no proper ensemble; v-rescale does",
                   p->path);
  p->nsttcouple = reading->nsttcouple > 0 ? reading->nsttcouple : choose_nsttcouple(p);
  return tg_mdp_amend(reading, "nsttcouple", "thermostat acts every %d steps", p->nsttcouple);
}

/* Rounds a period up to a multiple of nstcalcenergy, as GROMACS does. */
static tg_status round_up(tg_mdp_reading* reading, const char* key, int* period) {
  int unit = reading->p.nstcalcenergy;
  if (*period <= 0 || unit <= 0 || *period % unit == 0) return TG_OK;
  long long rounded = ((long long)*period / unit + 1) * unit;
  if (rounded > INT32_MAX)
    return tg_fail_at(tg_mdp_place(reading, key), "%s = %d is too large", key, *period);
  tg_log_warning(reading->log, "%s: %s = %d is not a multiple of nstcalcenergy = %d; %lld is used",
                 reading->p.path, key, *period, unit, rounded);
  *period = (int)rounded;
  return tg_mdp_amend(reading, key, "every %d steps, the next multiple of nstcalcenergy", *period);
}

static tg_status check_output(tg_mdp_reading* reading) {
  tg_parameters* p = &reading->p;
  if (p->nstenergy > 0 && p->nstcalcenergy > p->nstenergy) {
    p->nstcalcenergy = p->nstenergy;
    TG_TRY(tg_mdp_amend(reading, "nstcalcenergy", "energies computed every: %d steps (nstenergy)",
                        p->nstcalcenergy));
  }
  TG_TRY(round_up(reading, "nstenergy", &p->nstenergy));
  return round_up(reading, "nstlog", &p->nstlog);
}

static tg_status check_centre_of_mass(tg_mdp_reading* reading) {
  tg_parameters* p = &reading->p;
  if (p->nstcomm < 0)
    return tg_fail_at(tg_mdp_place(reading, "nstcomm"), "nstcomm = %d: 0 or more was expected",
                      p->nstcomm);
  if (p->nstcomm == 0 || p->comm_mode == TG_COMM_NONE) {
    p->comm_mode = TG_COMM_NONE;
    TG_TRY(tg_mdp_amend(reading, "comm-mode", "the motion of the centre of mass is kept"));
    return tg_mdp_amend(reading, "nstcomm", "never");
  }
  return TG_OK;
}

static tg_status draw_seed(tg_mdp_reading* reading, const char* key, bool used, const char* why_not,
                           long long* seed) {
  if (!used) TG_TRY(tg_mdp_amend(reading, key, "not used: %s", why_not));
  if (*seed != -1) return TG_OK;
  unsigned long long chance = (unsigned long long)reading->chance_seed;
  if (chance == 0) {
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    chance = (unsigned long long)now.tv_sec ^ (unsigned long long)now.tv_nsec << 20;
  }
  *seed = (long long)((chance ^ (unsigned long long)(key[0] << 8)) * 2654435761u & INT32_MAX);
  if (!used) return TG_OK;
  tg_log_note(reading->log, "%s = -1: the seed %lld was drawn from the clock", key, *seed);
  return tg_mdp_amend(reading, key, "seed %lld, drawn from the clock", *seed);
}

/* The expansion converges geometrically: more than this many terms is a slip of the pen. */
static tg_status check_lincs(tg_mdp_reading* reading) {
  const tg_parameters* p = &reading->p;
  if (p->lincs_order > 64)
    return tg_fail_at(tg_mdp_place(reading, "lincs-order"),
                      "lincs-order = %d: 1 to 64 was expected; 4 is usual, 8 for minimisation",
                      p->lincs_order);
  if (p->lincs_iterations > 64)
    return tg_fail_at(tg_mdp_place(reading, "lincs-iter"),
                      "lincs-iter = %d: 1 to 64 was expected; 1 is usual, 2 for exact energies",
                      p->lincs_iterations);
  return TG_OK;
}

tg_status tg_mdp_check(tg_mdp_reading* reading) {
  tg_parameters* p = &reading->p;
  TG_TRY(check_steps(reading));
  TG_TRY(check_cutoffs(reading));
  TG_TRY(check_electrostatics(reading));
  TG_TRY(check_thermostat(reading));
  TG_TRY(check_lincs(reading));
  TG_TRY(check_output(reading));
  TG_TRY(check_centre_of_mass(reading));
  if (p->generate_velocities && p->continuation)
    tg_log_warning(reading->log,
                   "%s: gen-vel = yes with continuation = yes: the velocities drawn "
                   "replace those that are continued from",
                   p->path);
  if (!p->generate_velocities) TG_TRY(tg_mdp_amend(reading, "gen-temp", "not used: gen-vel = no"));
  if (p->continuation)
    TG_TRY(tg_mdp_amend(reading, "continuation", "the start is kept as it is"));
  else
    TG_TRY(tg_mdp_amend(reading, "continuation", "the start is moved onto the constraints first"));
  if (p->comm_mode == TG_COMM_NONE)
    TG_TRY(
        tg_mdp_amend(reading, "comm-grps", "not used: the motion of the centre of mass is kept"));
  else if (p->comm_group_count == 0)
    TG_TRY(tg_mdp_amend(reading, "comm-grps", "groups: System, all atoms together"));
  TG_TRY(draw_seed(reading, "gen-seed", p->generate_velocities, "gen-vel = no", &p->gen_seed));
  return draw_seed(reading, "ld-seed", p->thermostat == TG_THERMOSTAT_V_RESCALE,
                   "tcoupl is not v-rescale", &p->ld_seed);
}
