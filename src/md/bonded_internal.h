/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/bonded_internal.h  What the kernels of bonded interactions share. */
#ifndef TG_MD_BONDED_INTERNAL_H
#define TG_MD_BONDED_INTERNAL_H

#include "md/bonded.h"

/** What a kernel reads. */
typedef struct tg_bonded_input {
  const tg_bonded* bonded;
  const tg_bonded_environment* environment;
  const double (*x)[3];
  double box[3], inverse_box[3]; /* inverse 0 where the box is 0: no periodicity */
} tg_bonded_input;

/** What a kernel adds to: one per thread. */
typedef struct tg_bonded_sum {
  double (*f)[3];
  int want_energy;
  double term[TG_E_POTENTIAL_TERMS];
  double virial[3][3];
} tg_bonded_sum;

/** Works on interactions [first, last) of one kind. */
typedef void tg_bonded_kernel(const tg_bonded_input* in, size_t first, size_t last,
                              tg_bonded_sum* sum);

tg_bonded_kernel tg_bonded_bonds, tg_bonded_angles, tg_bonded_pairs, tg_bonded_restraints,
    tg_bonded_excluded;
tg_bonded_kernel tg_bonded_propers, tg_bonded_ryckaert, tg_bonded_impropers,
    tg_bonded_impropers_periodic;

/** Nearest integer (ties to even) in a way that every instruction set can vectorise: adding 1.5 *
 * 2^52 leaves no bits for the fraction. Right for |value| < 2^51. */
static inline double tg_nearest(double value) {
  const double magic = 6755399441055744.0;
  return (value + magic) - magic;
}

/** d = nearest image of a - b. */
static inline void tg_bonded_vector(const tg_bonded_input* in, const double a[3], const double b[3],
                                    double d[3]) {
  for (int k = 0; k < 3; k++) {
    double raw = a[k] - b[k];
    d[k] = raw - in->box[k] * tg_nearest(raw * in->inverse_box[k]);
  }
}

static inline double tg_dot(const double a[3], const double b[3]) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static inline void tg_cross(const double a[3], const double b[3], double out[3]) {
  out[0] = a[1] * b[2] - a[2] * b[1];
  out[1] = a[2] * b[0] - a[0] * b[2];
  out[2] = a[0] * b[1] - a[1] * b[0];
}

/** Adds -1/2 r (outer) f. */
static inline void tg_virial_add(double virial[3][3], const double r[3], const double f[3]) {
  for (int a = 0; a < 3; a++)
    for (int b = 0; b < 3; b++) virial[a][b] -= 0.5 * r[a] * f[b];
}

#endif
