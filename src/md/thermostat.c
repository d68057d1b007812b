/* SPDX-License-Identifier: Apache-2.0 */
#include "md/thermostat.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "base/units.h"

void tg_thermostat_start(const tg_parameters* parameters, const double* degrees_of_freedom,
                         tg_thermostat_state* out) {
  memset(out, 0, sizeof *out);
  out->kind = parameters->thermostat;
  out->group_count = parameters->temperature_group_count;
  out->period = parameters->dt * parameters->nsttcouple;
  out->seed = (uint64_t)parameters->ld_seed;
  for (int g = 0; g < out->group_count; g++) {
    out->tau_t[g] = parameters->tau_t[g];
    out->ref_t[g] = parameters->ref_t[g];
    out->degrees_of_freedom[g] = degrees_of_freedom[g];
  }
}

double tg_berendsen_factor(double kinetic, double kinetic_reference, double ratio) {
  double square = 1 + ratio * (kinetic_reference / kinetic - 1);
  return fmin(1.25, fmax(0.8, sqrt(fmax(0, square))));
}

void tg_v_rescale_noise(double degrees, uint64_t seed, uint64_t index, double noise[2]) {
  tg_rng rng = tg_rng_stream(seed, TG_RNG_THERMOSTAT, index);
  noise[0] = tg_rng_gaussian(&rng);
  noise[1] = degrees > 1 ? 2 * tg_rng_gamma(&rng, 0.5 * (degrees - 1)) : 0;
}

double tg_v_rescale_energy(double kinetic, double kinetic_reference, double degrees, double ratio,
                           uint64_t seed, uint64_t index) {
  double noise[2];
  tg_v_rescale_noise(degrees, seed, index, noise);
  double keep = exp(-ratio), one = noise[0], rest = noise[1];
  double per_degree = (1 - keep) * kinetic_reference / degrees;
  double energy = keep * kinetic + per_degree * (one * one + rest) +
                  2 * one * sqrt(keep * kinetic * per_degree);
  return fmax(0, energy); /* a square by construction, up to rounding */
}

void tg_thermostat_scale(tg_thermostat_state* thermostat, long long step, const double* kinetic,
                         double* lambda) {
  for (int g = 0; g < thermostat->group_count; g++) {
    double tau = thermostat->tau_t[g], degrees = thermostat->degrees_of_freedom[g];
    double reference = 0.5 * degrees * TG_BOLTZMANN * thermostat->ref_t[g];
    lambda[g] = 1;
    if (!(tau >= 0) || !(degrees > 0) || !(kinetic[g] > 0)) continue;
    if (thermostat->kind == TG_THERMOSTAT_BERENDSEN && tau > 0) {
      lambda[g] = tg_berendsen_factor(kinetic[g], reference, thermostat->period / tau);
    } else if (thermostat->kind == TG_THERMOSTAT_V_RESCALE) {
      uint64_t index = tg_v_rescale_index(step, g);
      double ratio = tau > 0 ? thermostat->period / tau : HUGE_VAL;
      double energy =
          tg_v_rescale_energy(kinetic[g], reference, degrees, ratio, thermostat->seed, index);
      lambda[g] = sqrt(energy / kinetic[g]);
    }
    thermostat->given[g] += (lambda[g] * lambda[g] - 1) * kinetic[g];
  }
}

double tg_thermostat_conserved(const tg_thermostat_state* thermostat) {
  double sum = 0;
  for (int g = 0; g < thermostat->group_count; g++) sum += thermostat->given[g];
  return -sum;
}
