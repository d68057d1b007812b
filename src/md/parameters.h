/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/parameters.h  The run parameters of a GROMACS .mdp file.
 *
 * Keys: '-' and '_' and case are interchangeable. Unknown keys are warned about by name. A known
 * key whose feature is missing is an error that names the key, the value, and what to use instead;
 * a value that switches such a feature off is accepted. Nothing is ignored silently. */
#ifndef TG_MD_PARAMETERS_H
#define TG_MD_PARAMETERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"
#include "base/status.h"

typedef enum { TG_INTEGRATOR_LEAP_FROG, TG_INTEGRATOR_STEEPEST_DESCENT } tg_integrator;
typedef enum { TG_COULOMB_REACTION_FIELD, TG_COULOMB_CUT_OFF } tg_coulomb_type;
typedef enum { TG_MODIFIER_NONE, TG_MODIFIER_POTENTIAL_SHIFT } tg_modifier;
typedef enum { TG_CONSTRAIN_NONE, TG_CONSTRAIN_H_BONDS, TG_CONSTRAIN_ALL_BONDS } tg_constrain;
typedef enum { TG_THERMOSTAT_NONE, TG_THERMOSTAT_BERENDSEN, TG_THERMOSTAT_V_RESCALE } tg_thermostat;
typedef enum { TG_COMM_NONE, TG_COMM_LINEAR } tg_comm_mode;

enum { TG_MAX_GROUPS = 32, TG_MAX_DEFINES = 64 };

/** What became of one line of the file, for `throng md check`. */
typedef struct tg_parameter_line {
  char* key;    /* as GROMACS spells it */
  char* value;  /* as given, or the default */
  char* effect; /* what it became, in words */
  int line;     /* 0: not in the file, a default */
} tg_parameter_line;

typedef struct tg_parameters {
  char* path; /* for messages */
  tg_integrator integrator;
  double dt, tinit; /* ps */
  long long steps;  /* nsteps; -1: no end */
  long long init_step;
  tg_comm_mode comm_mode;
  int nstcomm;
  int nstxout, nstvout, nstfout, nstlog, nstcalcenergy, nstenergy,
      nstxout_compressed;      /* 0: never */
  double compressed_precision; /* 1/nm, 1000 by default */
  int nstlist;
  bool nstlist_given;
  double verlet_buffer_tolerance; /* kJ/mol/ps per atom; -1: use rlist as given */
  double rlist;                   /* nm; used where the tolerance is -1 */
  double cutoff;                  /* rcoulomb = rvdw, nm */
  tg_coulomb_type coulomb_type;
  tg_modifier coulomb_modifier, vdw_modifier;
  double epsilon_r, epsilon_rf; /* epsilon_rf 0: infinity */
  tg_constrain constraints;
  int lincs_order, lincs_iterations;
  double lincs_warn_angle; /* degrees */
  bool continuation;       /* the start is on the constraint surface: do not constrain it */
  tg_thermostat thermostat;
  int nsttcouple;
  int temperature_group_count;
  char* temperature_groups[TG_MAX_GROUPS];           /* tc-grps */
  double tau_t[TG_MAX_GROUPS], ref_t[TG_MAX_GROUPS]; /* ps, K */
  int comm_group_count;
  char* comm_groups[TG_MAX_GROUPS];
  int compressed_group_count;
  char* compressed_groups[TG_MAX_GROUPS]; /* compressed-x-grps */
  bool generate_velocities;
  double gen_temp;              /* K */
  long long gen_seed, ld_seed;  /* -1 was replaced by a seed drawn from the clock, and reported */
  double em_tolerance, em_step; /* kJ/mol/nm, nm */
  int define_count;
  char* defines[TG_MAX_DEFINES]; /* from -DNAME[=value] */
  int include_count;
  char* includes[TG_MAX_DEFINES]; /* from -Ifolder */
  tg_parameter_line* lines; /* [line_count]: every key of the file, and the defaults that matter */
  int line_count;
} tg_parameters;

/** Reads and checks an .mdp file. chance_seed stands for a seed of -1 (0: the clock decides).
 * Release with tg_parameters_free. */
tg_status tg_parameters_read(const char* path, long long chance_seed, const tg_log* log,
                             tg_parameters* out);
/** The defaults alone, as for an empty file. */
tg_status tg_parameters_default(tg_parameters* out);
void tg_parameters_free(tg_parameters* parameters);

#endif
