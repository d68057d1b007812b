/* SPDX-License-Identifier: Apache-2.0 */
/* SETTLE: a rigid water put back into shape in closed form (S. Miyamoto and P. A. Kollman, J.
 * Comput. Chem. 13, 952 (1992)).
 *
 * Constraint forces lie in the plane of the old triangle, and leave the centre of mass and the
 * component across that plane where they are. In the frame of the old plane (z its normal, y the
 * in-plane part of the direction from the centre to the oxygen, which makes x of the oxygen zero)
 * the rigid triangle is turned by phi about x, psi about y: fixed by the three z components, which
 * are known; theta about z: fixed by the condition that forces along the old bonds exert no torque
 * across the plane, alpha sin(theta) + beta cos(theta) = gamma. The cosine of theta comes from
 * alpha, beta and gamma themselves, not from sqrt(1 - sin^2), so that no digits are lost at small
 * angles. No solution: a triangle that left its plane by more than a quarter turn.
 *
 * Waters are taken STRIP at a time: gather, straight-line arithmetic that the compiler turns into
 * SIMD, scatter. */
#include <float.h>
#include <math.h>

#include "base/simd.h"
#include "md/constraints_internal.h"

enum { STRIP = 32, O = 0, H1 = 1, H2 = 2 };

typedef struct strip {
  double b[3][STRIP], c[3][STRIP];              /* old O-H vectors */
  double o[3][STRIP], p[3][STRIP], q[3][STRIP]; /* new O; new H relative to it */
  double d[3][3][STRIP];                        /* displacements, [atom][axis] */
  double ra[STRIP], rb[STRIP], rc[STRIP], weight[STRIP];
  double valid[STRIP]; /* smallest of the radicands; negative or NaN: no solution */
} strip;

tg_status tg_settle_make(const int atoms[3], const double distance[2], const double* inverse_mass,
                         tg_settle* out) {
  double io = inverse_mass[atoms[O]], ih = inverse_mass[atoms[H1]], other = inverse_mass[atoms[H2]];
  double height2 = distance[0] * distance[0] - 0.25 * distance[1] * distance[1];
  if (!(io > 0) || !(ih > 0) || fabs(ih - other) > 8 * DBL_EPSILON * ih)
    return tg_fail(
        TG_ERR_INPUT,
        "SETTLE of local atoms %d %d %d: found inverse masses %g %g %g, expected positive "
        "ones with equal hydrogens; use constraints for such a molecule",
        atoms[O], atoms[H1], atoms[H2], io, ih, other);
  if (!(height2 > 0) || !(distance[1] > 0))
    return tg_fail(TG_ERR_INPUT,
                   "SETTLE of local atoms %d %d %d: no triangle has sides %g %g %g nm; correct "
                   "[ settles ]",
                   atoms[O], atoms[H1], atoms[H2], distance[0], distance[0], distance[1]);
  double mo = 1 / io, mh = 1 / ih, total = mo + 2 * mh, height = sqrt(height2);
  *out = (tg_settle){{atoms[O], atoms[H1], atoms[H2]},
                     {io, ih},
                     {mo / total, mh / total},
                     2 * mh * height / total,
                     mo * height / total,
                     0.5 * distance[1],
                     {distance[0], distance[1]}};
  return TG_OK;
}

static void load(const tg_settle* settles, int count, const tg_constraints_move* move, strip* s) {
  for (int n = 0; n < STRIP; n++) { /* a short last strip repeats its last water */
    const tg_settle* w = &settles[n < count ? n : count - 1];
    const double *o = move->x_old[w->atoms[O]], *no = move->x_new[w->atoms[O]];
    const double *h1 = move->x_old[w->atoms[H1]], *n1 = move->x_new[w->atoms[H1]];
    const double *h2 = move->x_old[w->atoms[H2]], *n2 = move->x_new[w->atoms[H2]];
    for (int d = 0; d < 3; d++) {
      s->b[d][n] = h1[d] - o[d];
      s->c[d][n] = h2[d] - o[d];
      s->p[d][n] = n1[d] - no[d];
      s->q[d][n] = n2[d] - no[d];
    }
    s->ra[n] = w->ra, s->rb[n] = w->rb, s->rc[n] = w->rc;
    s->weight[n] = w->weight[1];
  }
}

#define DOT(u, v) (u##0 * v##0 + u##1 * v##1 + u##2 * v##2)

/* Displacements of one strip. The numbers follow the paper's: 0 old, 1 new, 2 after phi and psi, 3
 * after theta. */
TG_SIMD_CLONES static void solve(strip* restrict s) {
  for (int n = 0; n < STRIP; n++) {
    double b0 = s->b[0][n], b1 = s->b[1][n], b2 = s->b[2][n];
    double c0 = s->c[0][n], c1 = s->c[1][n], c2 = s->c[2][n];
    /* New positions relative to their centre of mass. */
    double wh = s->weight[n];
    double A0 = -wh * (s->p[0][n] + s->q[0][n]), A1 = -wh * (s->p[1][n] + s->q[1][n]),
           A2 = -wh * (s->p[2][n] + s->q[2][n]);
    double B0 = s->p[0][n] + A0, B1 = s->p[1][n] + A1, B2 = s->p[2][n] + A2;
    double C0 = s->q[0][n] + A0, C1 = s->q[1][n] + A1, C2 = s->q[2][n] + A2;
    /* The frame. */
    double z0 = b1 * c2 - b2 * c1, z1 = b2 * c0 - b0 * c2, z2 = b0 * c1 - b1 * c0;
    double x0 = A1 * z2 - A2 * z1, x1 = A2 * z0 - A0 * z2, x2 = A0 * z1 - A1 * z0;
    double iz = 1 / sqrt(DOT(z, z)), ix = 1 / sqrt(DOT(x, x));
    z0 *= iz, z1 *= iz, z2 *= iz;
    x0 *= ix, x1 *= ix, x2 *= ix;
    double y0 = z1 * x2 - z2 * x1, y1 = z2 * x0 - z0 * x2, y2 = z0 * x1 - z1 * x0;
    double old_bx = DOT(b, x), old_by = DOT(b, y), old_cx = DOT(c, x), old_cy = DOT(c, y);
    double new_ax = DOT(A, x), new_ay = DOT(A, y), new_az = DOT(A, z);
    double new_bx = DOT(B, x), new_by = DOT(B, y), new_bz = DOT(B, z);
    double new_cx = DOT(C, x), new_cy = DOT(C, y), new_cz = DOT(C, z);
    /* phi and psi. */
    double ra = s->ra[n], rb = s->rb[n], rc = s->rc[n];
    double sin_phi = new_az / ra, cos2_phi = 1 - sin_phi * sin_phi;
    double cos_phi = sqrt(cos2_phi > 0 ? cos2_phi : 0);
    double sin_psi = (new_bz - new_cz) / (2 * rc * cos_phi), cos2_psi = 1 - sin_psi * sin_psi;
    double cos_psi = sqrt(cos2_psi > 0 ? cos2_psi : 0);
    double ay = ra * cos_phi, bx = -rc * cos_psi, mean = -rb * cos_phi,
           tilt = rc * sin_psi * sin_phi;
    double by = mean - tilt, cy = mean + tilt;
    /* theta. */
    double alpha = bx * (old_bx - old_cx) + old_by * by + old_cy * cy;
    double beta = bx * (old_cy - old_by) + old_bx * by + old_cx * cy;
    double gamma = old_bx * new_by - new_bx * old_by + old_cx * new_cy - new_cx * old_cy;
    double square = alpha * alpha + beta * beta, rest = square - gamma * gamma;
    double root = sqrt(rest > 0 ? rest : 0);
    double inverse = 1 / square, sine = (alpha * gamma - beta * root) * inverse;
    double cosine = (beta * gamma + alpha * root) * inverse;
    /* Displacements in the plane, and back to the laboratory. */
    double dax = -ay * sine - new_ax, day = ay * cosine - new_ay;
    double dbx = bx * cosine - by * sine - new_bx, dby = bx * sine + by * cosine - new_by;
    double dcx = -bx * cosine - cy * sine - new_cx, dcy = -bx * sine + cy * cosine - new_cy;
    s->d[0][0][n] = dax * x0 + day * y0;
    s->d[0][1][n] = dax * x1 + day * y1;
    s->d[0][2][n] = dax * x2 + day * y2;
    s->d[1][0][n] = dbx * x0 + dby * y0;
    s->d[1][1][n] = dbx * x1 + dby * y1;
    s->d[1][2][n] = dbx * x2 + dby * y2;
    s->d[2][0][n] = dcx * x0 + dcy * y0;
    s->d[2][1][n] = dcx * x1 + dcy * y1;
    s->d[2][2][n] = dcx * x2 + dcy * y2;
    /* NaN passes through the sum; a missing solution shows in the smallest radicand. The old
     * vectors must still point roughly the same way (cosine > 0). */
    double low = cos2_phi < cos2_psi ? cos2_phi : cos2_psi;
    low = low < rest ? low : rest;
    low = low < cosine ? low : cosine;
    s->valid[n] = low + 0 * (dax + day + dbx + dby + dcx + dcy);
  }
}

/* Returns the first water without a solution, or count. */
static int store(const tg_settle* settles, int count, const strip* s,
                 const tg_constraints_move* move) {
  int failed = count;
  for (int n = 0; n < count; n++) {
    const tg_settle* w = &settles[n];
    if (!(s->valid[n] >= 0) && failed == count) failed = n;
    for (int k = 0; k < 3; k++)
      for (int d = 0; d < 3; d++) move->x_new[w->atoms[k]][d] += s->d[k][d][n];
    if (!move->v) continue;
    for (int k = 0; k < 3; k++)
      for (int d = 0; d < 3; d++) move->v[w->atoms[k]][d] += s->d[k][d][n] * move->inverse_dt;
  }
  return failed;
}

/* Forces add up to zero in a molecule: positions count from the oxygen. */
static void add_virial(const tg_settle* settles, int count, const strip* s, double inverse_dt,
                       double virial[3][3]) {
  double half = 0.5 * inverse_dt * inverse_dt;
  for (int n = 0; n < count; n++) {
    double mass_half = half / settles[n].inverse_mass[1];
    for (int a = 0; a < 3; a++)
      for (int b = 0; b < 3; b++)
        virial[a][b] -= mass_half * (s->b[a][n] * s->d[1][b][n] + s->c[a][n] * s->d[2][b][n]);
  }
}

void tg_settle_apply(const tg_settle* settles, size_t count, const tg_constraints_move* move,
                     tg_constraints_found* found) {
  strip s;
  for (size_t first = 0; first < count; first += STRIP) {
    int size = count - first < STRIP ? (int)(count - first) : STRIP;
    load(settles + first, size, move, &s);
    solve(&s);
    int failed = store(settles + first, size, &s, move);
    if (failed < size && found->cosine >= -1) {
      found->failed_atom = settles[first + (size_t)failed].atoms[O];
      found->cosine = -2;
    }
    if (move->want_virial) add_virial(settles + first, size, &s, move->inverse_dt, found->virial);
  }
}

/* One water's velocities. Along the bonds b, c and e = c - b the relative velocities must vanish:
 * multipliers l solve K l = u, K = G M^-1 G^T (symmetric, 3x3, by cofactors). */
static inline void project_one(const tg_settle* w, const double (*x)[3], double (*v)[3]) {
  const double *o = x[w->atoms[O]], *h1 = x[w->atoms[H1]], *h2 = x[w->atoms[H2]];
  double *vo = v[w->atoms[O]], *v1 = v[w->atoms[H1]], *v2 = v[w->atoms[H2]];
  double b[3], c[3], e[3], u0 = 0, u1 = 0, u2 = 0, bb = 0, cc = 0, ee = 0, bc = 0, be = 0, ce = 0;
  for (int d = 0; d < 3; d++) {
    b[d] = h1[d] - o[d], c[d] = h2[d] - o[d], e[d] = h2[d] - h1[d];
    u0 += b[d] * (v1[d] - vo[d]), u1 += c[d] * (v2[d] - vo[d]), u2 += e[d] * (v2[d] - v1[d]);
    bb += b[d] * b[d], cc += c[d] * c[d], ee += e[d] * e[d];
    bc += b[d] * c[d], be += b[d] * e[d], ce += c[d] * e[d];
  }
  double io = w->inverse_mass[0], ih = w->inverse_mass[1];
  double k00 = (io + ih) * bb, k11 = (io + ih) * cc, k22 = 2 * ih * ee;
  double k01 = io * bc, k02 = -ih * be, k12 = ih * ce;
  double m00 = k11 * k22 - k12 * k12, m01 = k02 * k12 - k01 * k22, m02 = k01 * k12 - k02 * k11;
  double m11 = k00 * k22 - k02 * k02, m12 = k01 * k02 - k00 * k12, m22 = k00 * k11 - k01 * k01;
  double inverse = 1 / (k00 * m00 + k01 * m01 + k02 * m02);
  double l0 = (m00 * u0 + m01 * u1 + m02 * u2) * inverse;
  double l1 = (m01 * u0 + m11 * u1 + m12 * u2) * inverse;
  double l2 = (m02 * u0 + m12 * u1 + m22 * u2) * inverse;
  for (int d = 0; d < 3; d++) {
    vo[d] += io * (l0 * b[d] + l1 * c[d]);
    v1[d] -= ih * (l0 * b[d] - l2 * e[d]);
    v2[d] -= ih * (l1 * c[d] + l2 * e[d]);
  }
}

void tg_settle_project(const tg_settle* settles, size_t count, const double (*x)[3],
                       double (*v)[3]) {
  for (size_t n = 0; n < count; n++) project_one(&settles[n], x, v);
}
