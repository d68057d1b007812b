/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/cuda/constrain.cuh  SETTLE by a thread and LINCS by some lanes of a warp, in registers.
 *
 * The algorithms and the meaning of all numbers are those of settle.c and lincs.c. Vectors within a
 * group are differences of fixed-point positions, exact; all else is double. */
#ifndef TG_MD_CUDA_CONSTRAIN_CUH
#define TG_MD_CUDA_CONSTRAIN_CUH

#include "md/cuda/step.cuh"

/** From old b, c and new p, q vectors from the oxygen to the hydrogens to the displacements that
 * bring the three atoms onto the constraints. Returns whether there is a solution. */
static __device__ __forceinline__ bool tg_step_settle(const tg_settle& w, const double (&b)[3],
                                                      const double (&c)[3], const double (&p)[3],
                                                      const double (&q)[3], double (&move)[3][3]) {
  double A[3], B[3], C[3], x[3], y[3], z[3];
#pragma unroll
  for (int d = 0; d < 3; d++) {
    A[d] = -w.weight[1] * (p[d] + q[d]);
    B[d] = p[d] + A[d];
    C[d] = q[d] + A[d];
  }
  /* the frame: z normal to the old plane, x in it and normal to the new oxygen's direction */
  tg_step_cross(b, c, z);
  tg_step_cross(A, z, x);
  const double iz = rsqrt(tg_step_dot(z, z)), ix = rsqrt(tg_step_dot(x, x));
#pragma unroll
  for (int d = 0; d < 3; d++) {
    z[d] *= iz;
    x[d] *= ix;
  }
  tg_step_cross(z, x, y);
  const double old_bx = tg_step_dot(b, x), old_by = tg_step_dot(b, y);
  const double old_cx = tg_step_dot(c, x), old_cy = tg_step_dot(c, y);
  const double new_bx = tg_step_dot(B, x), new_by = tg_step_dot(B, y);
  const double new_cx = tg_step_dot(C, x), new_cy = tg_step_dot(C, y);
  /* phi and psi turn the rigid triangle out of the old plane */
  const double sin_phi = tg_step_dot(A, z) / w.ra, cos2_phi = 1 - sin_phi * sin_phi;
  const double cos_phi = sqrt(fmax(cos2_phi, 0.0));
  const double sin_psi = (tg_step_dot(B, z) - tg_step_dot(C, z)) / (2 * w.rc * cos_phi);
  const double cos2_psi = 1 - sin_psi * sin_psi, cos_psi = sqrt(fmax(cos2_psi, 0.0));
  const double ay = w.ra * cos_phi, bx = -w.rc * cos_psi;
  const double mean = -w.rb * cos_phi, tilt = w.rc * sin_psi * sin_phi;
  const double by = mean - tilt, cy = mean + tilt;
  /* theta turns it within the plane, so that the forces lie along the old bonds */
  const double alpha = bx * (old_bx - old_cx) + old_by * by + old_cy * cy;
  const double beta = bx * (old_cy - old_by) + old_bx * by + old_cx * cy;
  const double gamma = old_bx * new_by - new_bx * old_by + old_cx * new_cy - new_cx * old_cy;
  const double square = alpha * alpha + beta * beta, rest = square - gamma * gamma;
  const double root = sqrt(fmax(rest, 0.0)), inverse = 1 / square;
  const double sine = (alpha * gamma - beta * root) * inverse;
  const double cosine = (beta * gamma + alpha * root) * inverse;
  const double dax = -ay * sine - tg_step_dot(A, x), day = ay * cosine - tg_step_dot(A, y);
  const double dbx = bx * cosine - by * sine - new_bx, dby = bx * sine + by * cosine - new_by;
  const double dcx = -bx * cosine - cy * sine - new_cx, dcy = -bx * sine + cy * cosine - new_cy;
#pragma unroll
  for (int d = 0; d < 3; d++) {
    move[0][d] = dax * x[d] + day * y[d];
    move[1][d] = dbx * x[d] + dby * y[d];
    move[2][d] = dcx * x[d] + dcy * y[d];
  }
  const double low = fmin(fmin(cos2_phi, cos2_psi), fmin(rest, cosine)); /* NaN: see below */
  return low + 0 * (dax + day + dbx + dby + dcx + dcy) >= 0;
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
