/* SPDX-License-Identifier: Apache-2.0 */
#include "md/verlet_buffer.h"

#include <math.h>

#include "base/units.h"

double tg_verlet_buffer_shell(const double derivative[3], double b, double s) {
  if (s <= 0) return 0;
  const double x = b / s, b2 = b * b, s2 = s * s;
  const double g = exp(-x * x / 2) / sqrt(2 * TG_PI), e = erfc(x / sqrt(2)) / 2;
  return derivative[0] / 2 * (b * s * g - (b2 + s2) * e) +
         derivative[1] / 6 * (s * (b2 + 2 * s2) * g - b * (b2 + 3 * s2) * e) +
         derivative[2] / 24 *
             (b * s * (b2 + 5 * s2) * g - (b2 * b2 + 6 * b2 * s2 + 3 * s2 * s2) * e);
}

/* Variance along one axis of one atom over the list's life. An atom of mass m on a constraint to a
 * heavier atom M moves with the pair's centre, and around it at distance L = length * M / (m + M):
 * in free flight of the relative motion in two of three dimensions, which a chord never exceeds,
 * until it has lost its direction: 2 L^2 / 3, the variance between two independent points of the
 * sphere. */
static double variance(const tg_verlet_buffer_params* p, const tg_verlet_buffer_type* type) {
  if (!(type->mass > 0)) return 0;
  const double kt_time2 = TG_BOLTZMANN * p->temperature * p->list_time * p->list_time;
  const double heavy = type->constraint_mass, light = type->mass;
  if (!(heavy > 0)) return kt_time2 / light;
  const double total = light + heavy;
  const double arm = type->constraint_length * heavy / total;
  const double turning = 2.0 / 3 * kt_time2 * heavy / (light * total);
  const double most = 2.0 / 3 * arm * arm;
  return kt_time2 / total + (turning < most ? turning : most);
}

static double pair_drift(const tg_verlet_buffer_params* p, const tg_verlet_buffer_type* a,
                         const tg_verlet_buffer_type* b, double radius) {
  const double s = sqrt(variance(p, a) + variance(p, b));
  const double rc = p->cutoff, r6 = pow(rc, -6);
  const double c6 = p->c6[a->lj_type * p->lj_type_count + b->lj_type];
  const double c12 = p->c12[a->lj_type * p->lj_type_count + b->lj_type];
  const double qq = p->coulomb_scale * a->charge * b->charge;
  const double derivative[3] = {
      (-12 * c12 * r6 + 6 * c6) * r6 / rc + qq * (-1 / (rc * rc) + 2 * p->rf_k * rc),
      (156 * c12 * r6 - 42 * c6) * r6 / (rc * rc) + qq * (2 / (rc * rc * rc) + 2 * p->rf_k),
      (-2184 * c12 * r6 + 336 * c6) * r6 / (rc * rc * rc) + qq * (-6 / (rc * rc * rc * rc)),
  };
  const double shell = tg_verlet_buffer_shell(derivative, radius - rc, s);
  return 4 * TG_PI * (radius + s) * (radius + s) * fabs(shell) / p->volume;
}

double tg_verlet_buffer_drift(const tg_verlet_buffer_params* p, double radius) {
  double sum = 0, atoms = 0;
  for (int i = 0; i < p->count; i++) {
    atoms += p->types[i].count;
    for (int j = i; j < p->count; j++) {
      const double pairs = i == j ? p->types[i].count * (p->types[i].count - 1) / 2
                                  : p->types[i].count * p->types[j].count;
      sum += fmax(pairs, 0) * pair_drift(p, &p->types[i], &p->types[j], radius);
    }
  }
  const double time = p->drift_time > 0 ? p->drift_time : p->list_time;
  if (atoms <= 0 || time <= 0) return 0;
  return sum / (atoms * time);
}

tg_status tg_verlet_buffer_radius(const tg_verlet_buffer_params* p, double* radius) {
  if (!(p->tolerance > 0) || !(p->temperature >= 0) || !(p->volume > 0) || !(p->cutoff > 0)) {
    return tg_fail(
        TG_ERR_INPUT,
        "verlet buffer: tolerance %g kJ/mol/ps, temperature %g K, volume %g nm^3, cut-off "
        "%g nm: all must be positive; set verlet-buffer-tolerance = -1 and rlist instead",
        p->tolerance, p->temperature, p->volume, p->cutoff);
  }
  double low = p->cutoff, high = 3 * p->cutoff;
  if (tg_verlet_buffer_drift(p, low) <= p->tolerance) {
    *radius = low;
    return TG_OK;
  }
  if (tg_verlet_buffer_drift(p, high) > p->tolerance) {
    return tg_fail(TG_ERR_INPUT,
                   "verlet buffer: no list radius up to %g nm keeps the drift within %g kJ/mol/ps; "
                   "use a smaller dt or nstlist",
                   high, p->tolerance);
  }
  while (high - low > 1e-4) { /* the drift falls with the radius */
    const double middle = (low + high) / 2;
    if (tg_verlet_buffer_drift(p, middle) <= p->tolerance) {
      high = middle;
    } else {
      low = middle;
    }
  }
  *radius = high;
  return TG_OK;
}
