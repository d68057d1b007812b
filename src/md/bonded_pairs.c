/* SPDX-License-Identifier: Apache-2.0 */
/* Interactions of one, two and three atoms.
 *
 *   bond          V = k/2 (r - b)^2
 *   angle         V = k/2 (theta - theta0)^2
 *   1-4 pair      V = C12/r^12 - C6/r^6 + f fudge q_i q_j / r         (no cut-off, no shift, no
 * field) restraint     V = 1/2 sum_d k_d (x_d - X_d)^2 excluded pair V = f q_i q_j (k r^2 - c) for
 * r < cutoff: what the reaction field does to a pair whose direct Coulomb interaction is excluded
 *
 * Where a direction does not exist (two atoms in one place, a straight angle) there is no force
 * along it. */
#include <math.h>

#include "base/simd.h"
#include "base/units.h"
#include "md/bonded_internal.h"

/* A force f along d on atom i, and its opposite on j. */
static inline void add_pair(tg_bonded_sum* sum, int i, int j, const double d[3], double scale) {
  double force[3] = {scale * d[0], scale * d[1], scale * d[2]};
  for (int k = 0; k < 3; k++) {
    sum->f[i][k] += force[k];
    sum->f[j][k] -= force[k];
  }
  if (sum->want_energy) tg_virial_add(sum->virial, d, force);
}

void tg_bonded_bonds(const tg_bonded_input* in, size_t first, size_t last, tg_bonded_sum* sum) {
  const tg_bonded_list* list = &in->bonded->lists[TG_BOND];
  for (size_t n = first; n < last; n++) {
    int i = list->atoms[2 * n], j = list->atoms[2 * n + 1];
    const double* p = list->parameters[n];
    double d[3];
    tg_bonded_vector(in, in->x[i], in->x[j], d);
    double r = sqrt(tg_dot(d, d)), stretch = r - p[0];
    sum->term[TG_E_BOND] += 0.5 * p[1] * stretch * stretch;
    if (r > 0) add_pair(sum, i, j, d, -p[1] * stretch / r);
  }
}

void tg_bonded_angles(const tg_bonded_input* in, size_t first, size_t last, tg_bonded_sum* sum) {
  const tg_bonded_list* list = &in->bonded->lists[TG_ANGLE];
  for (size_t n = first; n < last; n++) {
    const int* atom = list->atoms + 3 * n;
    const double* p = list->parameters[n];
    double a[3], b[3], normal[3], on_i[3], on_k[3];
    tg_bonded_vector(in, in->x[atom[0]], in->x[atom[1]], a);
    tg_bonded_vector(in, in->x[atom[2]], in->x[atom[1]], b);
    tg_cross(a, b, normal);
    double a2 = tg_dot(a, a), b2 = tg_dot(b, b), area = sqrt(tg_dot(normal, normal));
    double bend =
        atan2(area, tg_dot(a, b)) - p[0] * TG_DEGREE; /* precise near 0 and 180, unlike acos */
    sum->term[TG_E_ANGLE] += 0.5 * p[1] * bend * bend;
    if (!(area > 0)) continue;
    /* d theta/d r_i = a x n / (a^2 |n|), d theta/d r_k = n x b / (b^2 |n|) */
    tg_cross(a, normal, on_i);
    tg_cross(normal, b, on_k);
    double scale_i = -p[1] * bend / (a2 * area), scale_k = -p[1] * bend / (b2 * area);
    for (int d = 0; d < 3; d++) {
      on_i[d] *= scale_i;
      on_k[d] *= scale_k;
      sum->f[atom[0]][d] += on_i[d];
      sum->f[atom[1]][d] -= on_i[d] + on_k[d];
      sum->f[atom[2]][d] += on_k[d];
    }
    if (!sum->want_energy) continue;
    tg_virial_add(sum->virial, a, on_i);
    tg_virial_add(sum->virial, b, on_k);
  }
}

void tg_bonded_pairs(const tg_bonded_input* in, size_t first, size_t last, tg_bonded_sum* sum) {
  const tg_bonded_list* list = &in->bonded->lists[TG_PAIR_14];
  const double* charge = in->environment->charge;
  double scale = in->environment->pair_scale * in->environment->fudge_qq;
  for (size_t n = first; n < last; n++) {
    int i = list->atoms[2 * n], j = list->atoms[2 * n + 1];
    const double* p = list->parameters[n];
    double d[3];
    tg_bonded_vector(in, in->x[i], in->x[j], d);
    double u2 = 1 / tg_dot(d, d), u6 = u2 * u2 * u2;
    double dispersion = p[0] * u6, repulsion = p[1] * u6 * u6;
    double coulomb = scale * charge[i] * charge[j] * sqrt(u2);
    sum->term[TG_E_LJ_14] += repulsion - dispersion;
    sum->term[TG_E_COULOMB_14] += coulomb;
    add_pair(sum, i, j, d, (12 * repulsion - 6 * dispersion + coulomb) * u2);
  }
}

void tg_bonded_restraints(const tg_bonded_input* in, size_t first, size_t last,
                          tg_bonded_sum* sum) {
  const tg_bonded_list* list = &in->bonded->lists[TG_POSITION_RESTRAINT];
  const double(*reference)[3] = in->environment->restraint_x;
  if (!reference) return;
  for (size_t n = first; n < last; n++) {
    int i = list->atoms[n];
    const double* p = list->parameters[n];
    double d[3];
    tg_bonded_vector(in, in->x[i], reference[i], d);
    for (int k = 0; k < 3; k++) {
      double force = -p[k] * d[k];
      sum->term[TG_E_RESTRAINT] += 0.5 * p[k] * d[k] * d[k];
      sum->f[i][k] += force;
      if (sum->want_energy) sum->virial[k][k] -= 0.5 * (reference[i][k] + d[k]) * force;
    }
  }
}

enum { STRIP = 64 }; /* excluded pairs whose vectors are computed side by side */

typedef struct strip {
  double d[3][STRIP], qq[STRIP], scale[STRIP];
} strip;

/* Forces (as factors of d), energy and virial of one strip; straight-line code for SIMD. */
TG_SIMD_CLONES static void excluded_strip(const tg_bonded_input* in, int count, strip* s,
                                          tg_bonded_sum* sum) {
  const double cut2 = in->environment->cutoff * in->environment->cutoff;
  const double k = in->environment->rf_k, c = in->environment->rf_c;
  const double f = in->environment->coulomb_scale;
  for (int axis = 0; axis < 3; axis++) {
    const double box = in->box[axis], inverse = in->inverse_box[axis];
    for (int n = 0; n < count; n++) s->d[axis][n] -= box * tg_nearest(s->d[axis][n] * inverse);
  }
  for (int n = 0; n < count; n++) {
    double r2 = s->d[0][n] * s->d[0][n] + s->d[1][n] * s->d[1][n] + s->d[2][n] * s->d[2][n];
    s->qq[n] = r2 < cut2 ? f * s->qq[n] : 0;
    s->scale[n] = -2 * k * s->qq[n];
  }
  if (!sum->want_energy) return;
  double energy = 0, w[3][3] = {{0}};
  for (int n = 0; n < count; n++) {
    double r2 = 0;
    for (int a = 0; a < 3; a++) {
      r2 += s->d[a][n] * s->d[a][n];
      for (int b = 0; b < 3; b++) w[a][b] += s->d[a][n] * s->d[b][n] * s->scale[n];
    }
    energy += s->qq[n] * (k * r2 - c);
  }
  sum->term[TG_E_COULOMB] += energy;
  for (int a = 0; a < 3; a++)
    for (int b = 0; b < 3; b++) sum->virial[a][b] -= 0.5 * w[a][b];
}

void tg_bonded_excluded(const tg_bonded_input* in, size_t first, size_t last, tg_bonded_sum* sum) {
  const double* charge = in->environment->charge;
  if (in->environment->rf_k == 0 && in->environment->rf_c == 0) return;
  strip s;
  for (size_t start = first; start < last; start += STRIP) {
    const int* pairs = in->bonded->excluded + 2 * start;
    int count = last - start < STRIP ? (int)(last - start) : STRIP;
    for (int n = 0; n < count; n++) {
      const double *a = in->x[pairs[2 * n]], *b = in->x[pairs[2 * n + 1]];
      for (int k = 0; k < 3; k++) s.d[k][n] = a[k] - b[k];
      s.qq[n] = charge[pairs[2 * n]] * charge[pairs[2 * n + 1]];
    }
    excluded_strip(in, count, &s, sum);
    for (int n = 0; n < count; n++) {
      double *a = sum->f[pairs[2 * n]], *b = sum->f[pairs[2 * n + 1]];
      for (int k = 0; k < 3; k++) {
        double force = s.scale[n] * s.d[k][n];
        a[k] += force;
        b[k] -= force;
      }
    }
  }
}
