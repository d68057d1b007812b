/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/cuda/constrain.cuh  Rigid waters by a thread and LINCS by some lanes of a warp, in
 * registers.
 *
 * Vectors within a group are differences of fixed-point positions, exact; what they become is
 * double. LINCS and the meaning of its numbers are lincs.c's. The waters' equations are SETTLE's
 * (settle.c): forces along the old bonds b, c, e = c - b that bring the new ones p, q, q - p to
 * their lengths. Here Newton's method solves them, whose chain of dependent operations is a third
 * as long: what is missing in a squared length is double, the matrix that says how to mend it
 * float, so that four turns take an error of a tenth below 1e-14. */
#ifndef TG_MD_CUDA_CONSTRAIN_CUH
#define TG_MD_CUDA_CONSTRAIN_CUH

#include "md/cuda/step.cuh"

static __device__ __forceinline__ float tg_step_dotf(const float (&a)[3], const double (&b)[3]) {
  return a[0] * (float)b[0] + a[1] * (float)b[1] + a[2] * (float)b[2];
}

/** From old b, c and new p, q vectors from the oxygen to the hydrogens to the displacements that
 * bring the three atoms onto the constraints. Returns whether there is a solution. */
static __device__ __forceinline__ bool tg_step_settle(const tg_settle& w, const double (&b)[3],
                                                      const double (&c)[3], double (&p)[3],
                                                      double (&q)[3], double (&move)[3][3]) {
  const int most_turns = 12;
  const double io = w.inverse_mass[0], ih = w.inverse_mass[1];
  const double oh2 = w.distance[0] * w.distance[0], hh2 = w.distance[1] * w.distance[1];
  const double enough = 1e-13 * oh2;
  const float fo = (float)io, fh = (float)ih;
  float bf[3], cf[3], ef[3];
  double e[3], lambda[3] = {0, 0, 0};
#pragma unroll
  for (int d = 0; d < 3; d++) {
    e[d] = c[d] - b[d];
    bf[d] = (float)b[d];
    cf[d] = (float)c[d];
    ef[d] = (float)e[d];
  }
  bool solved = false;
#pragma unroll 1
  for (int turn = 0; turn < most_turns; turn++) {
    const double t[3] = {q[0] - p[0], q[1] - p[1], q[2] - p[2]};
    const double lack[3] = {oh2 - tg_step_dot(p, p), oh2 - tg_step_dot(q, q),
                            hh2 - tg_step_dot(t, t)};
    solved = fabs(lack[0]) <= enough && fabs(lack[1]) <= enough && fabs(lack[2]) <= enough;
    if (solved) break;
    /* half the derivatives of the squared lengths by the multipliers of b, c, e */
    const float a00 = (fh + fo) * tg_step_dotf(bf, p), a01 = fo * tg_step_dotf(cf, p);
    const float a02 = -fh * tg_step_dotf(ef, p), a10 = fo * tg_step_dotf(bf, q);
    const float a11 = (fh + fo) * tg_step_dotf(cf, q), a12 = fh * tg_step_dotf(ef, q);
    const float a20 = -fh * tg_step_dotf(bf, t), a21 = fh * tg_step_dotf(cf, t);
    const float a22 = 2 * fh * tg_step_dotf(ef, t);
    const float m00 = a11 * a22 - a12 * a21, m01 = a02 * a21 - a01 * a22;
    const float m02 = a01 * a12 - a02 * a11, m10 = a12 * a20 - a10 * a22;
    const float m11 = a00 * a22 - a02 * a20, m12 = a02 * a10 - a00 * a12;
    const float m20 = a10 * a21 - a11 * a20, m21 = a01 * a20 - a00 * a21;
    const float m22 = a00 * a11 - a01 * a10;
    const float half = 0.5F / (a00 * m00 + a01 * m10 + a02 * m20);
    const float l0 = (float)lack[0], l1 = (float)lack[1], l2 = (float)lack[2];
    const double more[3] = {half * (m00 * l0 + m01 * l1 + m02 * l2),
                            half * (m10 * l0 + m11 * l1 + m12 * l2),
                            half * (m20 * l0 + m21 * l1 + m22 * l2)};
#pragma unroll
    for (int d = 0; d < 3; d++) {
      const double on_b = more[0] * b[d], on_c = more[1] * c[d], on_e = ih * more[2] * e[d];
      p[d] += (ih + io) * on_b + io * on_c - on_e;
      q[d] += io * on_b + (ih + io) * on_c + on_e;
      lambda[d] += more[d];
    }
  }
#pragma unroll
  for (int d = 0; d < 3; d++) {
    const double on_b = lambda[0] * b[d], on_c = lambda[1] * c[d], on_e = lambda[2] * e[d];
    move[0][d] = -io * (on_b + on_c);
    move[1][d] = ih * (on_b - on_e);
    move[2][d] = ih * (on_c + on_e);
  }
  /* the other solution, bonds turned round, is none */
  return solved && tg_step_dot(b, p) > 0 && tg_step_dot(c, q) > 0;
}

/** What a lane knows of its constraint after tg_step_lincs. */
typedef struct tg_step_bond {
  double u[3];            /* along the old bond */
  double old_length, sum; /* nm; the multipliers' sum */
  double now[3];          /* the new bond */
} tg_step_bond;

template <int W>
static __device__ __forceinline__ void tg_step_between(const double (&x)[3], int a, int b,
                                                       double (&out)[3]) {
#pragma unroll
  for (int d = 0; d < 3; d++) out[d] = __shfl_sync(~0U, x[d], a, W) - __shfl_sync(~0U, x[d], b, W);
}

/** All lanes of a warp, W of them a group. x: old position relative to any point of the group's,
 * to: the same after free flight; both in the group's lanes. Adds to `to` what constraints do. */
template <int W>
static __device__ __forceinline__ void tg_step_lincs(const tg_device_lane& lane, int order,
                                                     int iterations, const double (&x)[3],
                                                     double (&to)[3], tg_step_bond& bond) {
  int neighbours = 0, owned = 0;
#pragma unroll
  for (int n = 0; n < TG_DEVICE_NEIGHBOURS; n++) neighbours += lane.coefficient[n] != 0;
#pragma unroll
  for (int o = 0; o < TG_DEVICE_OWN; o++) owned += lane.sign[o] != 0;
  neighbours = __reduce_max_sync(~0U, neighbours);
  owned = __reduce_max_sync(~0U, owned);
  /* 1. directions and couplings */
  tg_step_between<W>(x, lane.a, lane.b, bond.u);
  const double r2 = tg_step_dot(bond.u, bond.u);
  const double inverse = lane.scale > 0 ? rsqrt(r2) : 0;
  bond.old_length = r2 * inverse;
#pragma unroll
  for (int d = 0; d < 3; d++) bond.u[d] *= inverse;
  double coupling[TG_DEVICE_NEIGHBOURS];
#pragma unroll
  for (int n = 0; n < TG_DEVICE_NEIGHBOURS; n++) {
    coupling[n] = 0;
    if (n >= neighbours) continue;
    double u[3];
#pragma unroll
    for (int d = 0; d < 3; d++) u[d] = __shfl_sync(~0U, bond.u[d], lane.neighbour[n], W);
    coupling[n] = lane.coefficient[n] * tg_step_dot(bond.u, u);
  }
  bond.sum = 0;
  for (int round = 0; round <= iterations; round++) {
    /* 2. the change along the old bond; 3., later, what turning has lengthened */
    tg_step_between<W>(to, lane.a, lane.b, bond.now);
    double term = tg_step_dot(bond.u, bond.now) - lane.length;
    if (round > 0) {
      const double p2 = 2 * lane.length * lane.length - tg_step_dot(bond.now, bond.now);
      term = lane.length - sqrt(fmax(p2, 0.0));
    }
    term *= lane.scale;
    double sum = term;
    for (int k = 0; k < order; k++) {
      double next = 0;
#pragma unroll
      for (int n = 0; n < TG_DEVICE_NEIGHBOURS; n++)
        if (n < neighbours) next += coupling[n] * __shfl_sync(~0U, term, lane.neighbour[n], W);
      term = next;
      sum += next;
    }
    bond.sum += sum;
#pragma unroll
    for (int o = 0; o < TG_DEVICE_OWN; o++) {
      if (o >= owned) continue;
      const double factor = -lane.sign[o] * lane.inverse_mass;
      const double amount = __shfl_sync(~0U, lane.scale * sum, lane.own[o], W);
#pragma unroll
      for (int d = 0; d < 3; d++)
        to[d] += factor * amount * __shfl_sync(~0U, bond.u[d], lane.own[o], W);
    }
  }
  tg_step_between<W>(to, lane.a, lane.b, bond.now);
}

#endif
