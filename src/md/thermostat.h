/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/thermostat.h  Velocity scaling: Berendsen, and the canonical v-rescale.
 *
 * Every PE calls with the same (summed) kinetic energies and gets the same factors: random numbers
 * depend on the seed, the step and the group alone. */
#ifndef TG_MD_THERMOSTAT_H
#define TG_MD_THERMOSTAT_H

#include <stdint.h>

#include "base/status.h"
#include "md/parameters.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A plain value; a checkpoint needs `given` alone, the rest follows from the input. */
typedef struct tg_thermostat_state {
  tg_thermostat kind;
  int group_count;
  double period; /* ps: dt * nsttcouple */
  double tau_t[TG_MAX_GROUPS], ref_t[TG_MAX_GROUPS], degrees_of_freedom[TG_MAX_GROUPS];
  uint64_t seed;
  double given[TG_MAX_GROUPS]; /* kJ/mol that scaling has put into each group so far */
} tg_thermostat_state;

/** degrees_of_freedom: [temperature groups]. Uses thermostat, nsttcouple, dt, tau_t, ref_t,
 * ld_seed. */
void tg_thermostat_start(const tg_parameters* parameters, const double* degrees_of_freedom,
                         tg_thermostat_state* out);

/** Factors for the velocities of step `step`, for a step that couples (a multiple of nsttcouple),
 * and their heat added to `given`. kinetic: [group_count] kJ/mol of the velocities that are scaled
 * (the half step before). A group with tau_t < 0, no degrees of freedom or no kinetic energy keeps
 * factor 1 (for Berendsen tau_t = 0 too). lambda: [group_count]. */
void tg_thermostat_scale(tg_thermostat_state* thermostat, long long step, const double* kinetic,
                         double* lambda);

/** What to add to potential + kinetic energy for the conserved energy: -(sum of given), kJ/mol. */
double tg_thermostat_conserved(const tg_thermostat_state* thermostat);

/** Squared factor of Berendsen et al., J. Chem. Phys. 81, 3684 (1984): 1 + (ratio) (T0/T - 1),
 * ratio = period/tau; the factor itself is kept within [0.8, 1.25], as in GROMACS. */
double tg_berendsen_factor(double kinetic, double kinetic_reference, double ratio);

/** New kinetic energy of Bussi, Donadio and Parrinello, J. Chem. Phys. 126, 014101 (2007), eq. A7,
 * for `degrees` degrees of freedom and reference kinetic energy kinetic_reference; ratio =
 * period/tau (infinity: drawn afresh). Drawn from the stream (seed, thermostat, index). */
double tg_v_rescale_energy(double kinetic, double kinetic_reference, double degrees, double ratio,
                           uint64_t seed, uint64_t index);
/** What that draws: noise[0] a normal number, noise[1] the sum of degrees - 1 squared ones. */
void tg_v_rescale_noise(double degrees, uint64_t seed, uint64_t index, double noise[2]);
/** The index of a step's draw for a group. */
static inline uint64_t tg_v_rescale_index(long long step, int group) {
  return (uint64_t)step * TG_MAX_GROUPS + (uint64_t)group;
}

#ifdef __cplusplus
}
#endif
#endif
