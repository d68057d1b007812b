/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/verlet_buffer.h  How far a pair list must reach beyond the cut-off.
 *
 * A list is made every few steps. Pairs beyond its radius r_l that come inside the cut-off r_c
 * before the next search are missed. With a displacement of a pair that is normal with variance
 * sigma^2 along the pair's axis, and a potential V that is Taylor-expanded inside the cut-off, the
 * mean missed energy of one atom with all pairs of number density rho is, with b = r_l - r_c, G the
 * unit normal density and E(x) = erfc(x / sqrt 2) / 2:
 *
 *   dV = 4 pi (r_l + s)^2 rho {  V'/2  [ b s G(b/s) - (b^2 + s^2) E(b/s) ]
 *                              + V''/6 [ s (b^2 + 2 s^2) G - b (b^2 + 3 s^2) E ]
 *                              + V'''/24 [ b s (b^2 + 5 s^2) G - (b^4 + 6 b^2 s^2 + 3 s^4) E ] }
 *
 * (GROMACS reference manual, "Verlet cut-off scheme: buffer size"). The drift is the sum over pairs
 * of types, each by its absolute value, per atom and time. s^2 = k_B T t^2 (1/m_1 + 1/m_2) in free
 * flight over the list's life t. An atom held by a constraint to a heavier one turns around it and
 * moves less (verlet_buffer.c).
 */
#ifndef TG_MD_VERLET_BUFFER_H
#define TG_MD_VERLET_BUFFER_H

#include "base/status.h"

/** Atoms that are alike. */
typedef struct tg_verlet_buffer_type {
  double count;             /* atoms of this type */
  double mass;              /* amu; 0 for an atom that does not move */
  double charge;            /* e */
  int lj_type;              /* row of c6, c12 */
  double constraint_mass;   /* amu, of the heaviest atom it is constrained to; 0: it is free */
  double constraint_length; /* nm */
} tg_verlet_buffer_type;

typedef struct tg_verlet_buffer_params {
  const tg_verlet_buffer_type* types; /* [count] */
  int count;
  const double* c6; /* [lj_type_count * lj_type_count] */
  const double* c12;
  int lj_type_count;
  double cutoff;        /* nm */
  double rf_k;          /* nm^-3 */
  double coulomb_scale; /* f / epsilon_r */
  double temperature;   /* K: the highest of the groups */
  double volume;        /* nm^3 */
  double list_time;     /* ps: (nstlist - 1) * dt, how old the list gets */
  double drift_time;    /* ps: nstlist * dt, over which the missed energy is spread; 0: list_time */
  double tolerance;     /* kJ/mol/ps per atom */
} tg_verlet_buffer_params;

/** The expected drift at a list radius, kJ/mol/ps per atom (>= 0). */
double tg_verlet_buffer_drift(const tg_verlet_buffer_params* params, double radius);

/** The smallest radius (to 0.1 pm, at least the cut-off) whose drift is within the tolerance.
 * TG_ERR_INPUT where the tolerance, temperature or volume are no positive numbers or no radius up
 * to three cut-offs will do. */
tg_status tg_verlet_buffer_radius(const tg_verlet_buffer_params* params, double* radius);

/** The braces of the formula: derivative: V', V'', V''' at the cut-off; b and s in nm. */
double tg_verlet_buffer_shell(const double derivative[3], double b, double s);

#endif
