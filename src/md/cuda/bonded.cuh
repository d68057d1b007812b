/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/cuda/bonded.cuh  Bonded forces: formulas as in bonded_pairs.c and bonded_dihedrals.c, a
 * thread an interaction, in blocks of the pair forces' launch.
 *
 * Interactions stand kind by kind in whole warps, so that a warp takes one branch. Differences of
 * fixed-point positions are exact, and all else is double: the units for it idle while the pair
 * forces, which run at the same time, use the others. */
#ifndef TG_MD_CUDA_BONDED_CUH
#define TG_MD_CUDA_BONDED_CUH

#include <float.h>

#include "base/units.h"
#include "md/cuda/step.cuh"

/* A thread's sums. Every interaction has one energy but the 1-4 pair, which has two. */
typedef struct tg_step_bonded_sums {
  double energy[2], virial[6];
} tg_step_bonded_sums;

/* Adds -1/2 r (outer) f. */
static __device__ __forceinline__ void tg_step_add_virial(tg_step_bonded_sums& s,
                                                          const double (&r)[3],
                                                          const double (&f)[3]) {
  s.virial[0] -= 0.5 * r[0] * f[0];
  s.virial[1] -= 0.5 * r[1] * f[1];
  s.virial[2] -= 0.5 * r[2] * f[2];
  s.virial[3] -= 0.5 * r[0] * f[1];
  s.virial[4] -= 0.5 * r[0] * f[2];
  s.virial[5] -= 0.5 * r[1] * f[2];
}

/* What one interaction reads and writes. */
typedef struct tg_step_bonded_place {
  const tg_md_view& v;
  const tg_step_view& s;
  int4 atom;
  const double* p;
  int first; /* atom */

  __device__ __forceinline__ uint4 x(int a) const { return v.atom_x[a]; }
  __device__ __forceinline__ int place_of(uint32_t atom) const { return (int)atom; }
  __device__ __forceinline__ void push(int a, const double (&f)[3]) const {
    tg_step_add_force(v, v.slot_of_atom[a], f);
  }
} tg_step_bonded_place;

/* The same of many domains: `atom` has slots, and only home atoms take forces. */
typedef struct tg_step_bonded_slots {
  const tg_md_view& v;
  const tg_step_view& s;
  int4 atom;
  const double* p;
  int first; /* atom */
  int home_slots;

  __device__ __forceinline__ uint4 x(int a) const { return v.x[a]; }
  __device__ __forceinline__ int place_of(uint32_t atom) const { return (int)v.slot_of_atom[atom]; }
  __device__ __forceinline__ void push(int a, const double (&f)[3]) const {
    if (a < home_slots) tg_step_add_force(v, (uint32_t)a, f);
  }
} tg_step_bonded_slots;

/* A force scale * d on the first atom, and its opposite on the second. */
template <typename place>
static __device__ __forceinline__ void tg_step_push_pair(const place& at, const double (&d)[3],
                                                         double scale, tg_step_bonded_sums& e) {
  const double on[3] = {scale * d[0], scale * d[1], scale * d[2]};
  const double back[3] = {-on[0], -on[1], -on[2]};
  at.push(at.atom.x, on);
  at.push(at.atom.y, back);
  tg_step_add_virial(e, d, on);
}

template <typename place>
static __device__ __forceinline__ void tg_step_bond_of(const place& at, tg_step_bonded_sums& e) {
  double d[3];
  tg_step_apart(at.s, at.x(at.atom.x), at.x(at.atom.y), d);
  const double r = sqrt(tg_step_dot(d, d)), stretch = r - at.p[0];
  e.energy[0] += 0.5 * at.p[1] * stretch * stretch;
  if (r > 0) tg_step_push_pair(at, d, -at.p[1] * stretch / r, e);
}

template <typename place>
static __device__ __forceinline__ void tg_step_angle(const place& at, tg_step_bonded_sums& e) {
  double a[3], b[3], normal[3], on_i[3], on_j[3], on_k[3];
  const uint4 middle = at.x(at.atom.y);
  tg_step_apart(at.s, at.x(at.atom.x), middle, a);
  tg_step_apart(at.s, at.x(at.atom.z), middle, b);
  tg_step_cross(a, b, normal);
  const double a2 = tg_step_dot(a, a), b2 = tg_step_dot(b, b);
  const double area = sqrt(tg_step_dot(normal, normal));
  const double bend = atan2(area, tg_step_dot(a, b)) - at.p[0] * TG_DEGREE;
  e.energy[0] += 0.5 * at.p[1] * bend * bend;
  if (!(area > 0)) return;
  tg_step_cross(a, normal, on_i);
  tg_step_cross(normal, b, on_k);
  const double slope = -at.p[1] * bend / area, scale_i = slope / a2, scale_k = slope / b2;
#pragma unroll
  for (int d = 0; d < 3; d++) {
    on_i[d] *= scale_i;
    on_k[d] *= scale_k;
    on_j[d] = -(on_i[d] + on_k[d]);
  }
  at.push(at.atom.x, on_i);
  at.push(at.atom.y, on_j);
  at.push(at.atom.z, on_k);
  tg_step_add_virial(e, a, on_i);
  tg_step_add_virial(e, b, on_k);
}

typedef struct tg_step_torsion {
  double F[3], G[3], H[3], A[3], B[3];
  double A2, B2, G1, cosine, sine;
  bool defined;
} tg_step_torsion;

template <typename place>
static __device__ __forceinline__ void tg_step_measure(const place& at, tg_step_torsion& t) {
  const double smallest = 64 * DBL_EPSILON * 64 * DBL_EPSILON;
  double across[3];
  const uint4 j = at.x(at.atom.y), k = at.x(at.atom.z);
  tg_step_apart(at.s, at.x(at.atom.x), j, t.F);
  tg_step_apart(at.s, j, k, t.G);
  tg_step_apart(at.s, at.x(at.atom.w), k, t.H);
  tg_step_cross(t.F, t.G, t.A);
  tg_step_cross(t.H, t.G, t.B);
  const double G2 = tg_step_dot(t.G, t.G);
  t.A2 = tg_step_dot(t.A, t.A);
  t.B2 = tg_step_dot(t.B, t.B);
  t.G1 = sqrt(G2);
  t.defined =
      t.A2 > smallest * G2 * tg_step_dot(t.F, t.F) && t.B2 > smallest * G2 * tg_step_dot(t.H, t.H);
  t.cosine = 1;
  t.sine = 0;
  if (!t.defined) return;
  tg_step_cross(t.B, t.A, across);
  const double cosine = tg_step_dot(t.A, t.B), sine = tg_step_dot(across, t.G) / t.G1;
  const double inverse = rsqrt(cosine * cosine + sine * sine);
  t.cosine = cosine * inverse;
  t.sine = sine * inverse;
}

/* Forces for dV/dphi = slope. */
template <typename place>
static __device__ __forceinline__ void tg_step_twist(const place& at, const tg_step_torsion& t,
                                                     double slope, tg_step_bonded_sums& e) {
  if (!t.defined) return;
  const double ia = 1 / (t.A2 * t.G1), ib = 1 / (t.B2 * t.G1), G2 = t.G1 * t.G1;
  const double a = G2 * ia, b = G2 * ib;
  const double fg = tg_step_dot(t.F, t.G) * ia, hg = tg_step_dot(t.H, t.G) * ib;
  double on_i[3], on_j[3], on_k[3], on_l[3], r_k[3], r_l[3];
#pragma unroll
  for (int d = 0; d < 3; d++) {
    on_i[d] = slope * a * t.A[d];
    on_l[d] = -slope * b * t.B[d];
    on_k[d] = slope * (fg * t.A[d] - hg * t.B[d] + b * t.B[d]);
    on_j[d] = -(on_i[d] + on_k[d] + on_l[d]);
    r_k[d] = -t.G[d];
    r_l[d] = t.H[d] - t.G[d];
  }
  at.push(at.atom.x, on_i);
  at.push(at.atom.y, on_j);
  at.push(at.atom.z, on_k);
  at.push(at.atom.w, on_l);
  tg_step_add_virial(e, t.F, on_i);
  tg_step_add_virial(e, r_k, on_k);
  tg_step_add_virial(e, r_l, on_l);
}

template <typename place>
static __device__ __forceinline__ void tg_step_periodic(const place& at, tg_step_bonded_sums& e) {
  tg_step_torsion t;
  tg_step_measure(at, t);
  double sine, cosine;
  sincos(at.p[2] * atan2(t.sine, t.cosine) - at.p[0] * TG_DEGREE, &sine, &cosine);
  e.energy[0] += at.p[1] * (1 + cosine);
  tg_step_twist(at, t, -at.p[1] * at.p[2] * sine, e);
}

template <typename place>
static __device__ __forceinline__ void tg_step_ryckaert(const place& at, tg_step_bonded_sums& e) {
  tg_step_torsion t;
  tg_step_measure(at, t);
  const double c = -t.cosine;
  double value = at.p[5], slope = 0;
#pragma unroll
  for (int k = 4; k >= 0; k--) {
    slope = slope * c + value;
    value = value * c + at.p[k];
  }
  e.energy[0] += value;
  tg_step_twist(at, t, slope * t.sine, e);
}

template <typename place>
static __device__ __forceinline__ void tg_step_improper(const place& at, tg_step_bonded_sums& e) {
  tg_step_torsion t;
  tg_step_measure(at, t);
  double bend = atan2(t.sine, t.cosine) - at.p[0] * TG_DEGREE;
  bend -= 2 * TG_PI * rint(bend / (2 * TG_PI));
  e.energy[0] += 0.5 * at.p[1] * bend * bend;
  tg_step_twist(at, t, at.p[1] * bend, e);
}

template <typename place>
static __device__ __forceinline__ void tg_step_pair_14(const place& at, tg_step_bonded_sums& e) {
  double d[3];
  const uint4 x = at.x(at.atom.x), y = at.x(at.atom.y);
  tg_step_apart(at.s, x, y, d);
  const double u2 = 1 / tg_step_dot(d, d), u6 = u2 * u2 * u2;
  const double dispersion = at.p[0] * u6, repulsion = at.p[1] * u6 * u6;
  const double qq = (double)__uint_as_float(x.w) * (double)__uint_as_float(y.w);
  const double coulomb = at.s.pair_scale * qq * sqrt(u2);
  e.energy[0] += repulsion - dispersion;
  e.energy[1] += coulomb;
  tg_step_push_pair(at, d, (12 * repulsion - 6 * dispersion + coulomb) * u2, e);
}

/* The absolute position counts for the virial: bonded.h. */
template <typename place>
static __device__ __forceinline__ void tg_step_restraint(const place& at, tg_step_bonded_sums& e) {
  const uint4 x = at.x(at.atom.x);
  const uint32_t units[3] = {x.x, x.y, x.z};
  double on[3];
#pragma unroll
  for (int k = 0; k < 3; k++) {
    const double reference = at.s.reference[at.first][k], box = at.s.nm[k] * 0x1p32;
    double d = (double)units[k] * at.s.nm[k] - reference;
    d -= box * rint(d / box);
    on[k] = -at.p[k] * d;
    e.energy[0] += 0.5 * at.p[k] * d * d;
    e.virial[k] -= 0.5 * (reference + d) * on[k];
  }
  at.push(at.atom.x, on);
}

template <typename place>
static __device__ __forceinline__ void tg_step_excluded(const place& at, tg_step_bonded_sums& e) {
  double d[3];
  const uint4 x = at.x(at.atom.x), y = at.x(at.atom.y);
  tg_step_apart(at.s, x, y, d);
  const double r2 = tg_step_dot(d, d);
  if (!(r2 < at.s.cutoff2)) return;
  const double qq =
      at.s.coulomb_scale * (double)__uint_as_float(x.w) * (double)__uint_as_float(y.w);
  e.energy[0] += qq * (at.s.rf_k * r2 - at.s.rf_c);
  tg_step_push_pair(at, d, -2 * at.s.rf_k * qq, e);
}

/* Of an atom with all that it is excluded from, half of each energy and virial. What the domain
 * does not have is further than the list radius. */
template <typename place>
static __device__ __forceinline__ void tg_step_excluded_by_atom(const place& at,
                                                                tg_step_bonded_sums& e) {
  const uint4 x = at.x(at.atom.x);
  const uint32_t end = at.v.exclusion_start[at.first + 1];
  const double charge = at.s.coulomb_scale * (double)__uint_as_float(x.w);
  double sum[3] = {0, 0, 0};
  for (uint32_t k = at.v.exclusion_start[at.first]; k < end; k++) {
    const uint32_t other = at.v.exclusion[k];
    const int there = at.place_of(other);
    if (there == (int)TG_MD_NO_SLOT || (int)other == at.first) continue;
    const uint4 y = at.x(there);
    double d[3];
    tg_step_apart(at.s, x, y, d);
    const double r2 = tg_step_dot(d, d);
    if (!(r2 < at.s.cutoff2)) continue;
    const double qq = charge * (double)__uint_as_float(y.w), scale = -2 * at.s.rf_k * qq;
    const double half[3] = {0.5 * scale * d[0], 0.5 * scale * d[1], 0.5 * scale * d[2]};
    e.energy[0] += 0.5 * qq * (at.s.rf_k * r2 - at.s.rf_c);
    tg_step_add_virial(e, d, half);
#pragma unroll
    for (int i = 0; i < 3; i++) sum[i] += 2 * half[i];
  }
  at.push(at.atom.x, sum);
}

static __device__ __forceinline__ int tg_step_kind_of(const uint32_t* kind_start, uint32_t item) {
  int kind = 0;
#pragma unroll
  for (int k = 1; k < TG_DEVICE_KINDS; k++) kind += item >= kind_start[k];
  return kind;
}

static __device__ __forceinline__ void tg_step_add_sums(const tg_step_view& s, int kind,
                                                        const tg_step_bonded_sums& e) {
  /* kinds have the energy terms' numbers up to LJ-14; then Coulomb-14, restraint, LJ, Coulomb */
  const int term = kind <= TG_DEVICE_PAIR_14 ? kind : kind == TG_DEVICE_RESTRAINT ? 8 : 10;
  int64_t* to = s.bonded_sum + blockIdx.x % TG_STEP_ROWS * TG_STEP_BONDED_TERMS;
  tg_step_add_warp(to + term, __double2ll_rn(e.energy[0] * TG_MD_ENERGY_UNITS));
  if (kind == TG_DEVICE_PAIR_14)
    tg_step_add_warp(to + 7, __double2ll_rn(e.energy[1] * TG_MD_ENERGY_UNITS));
  for (int i = 0; i < 6; i++)
    tg_step_add_warp(to + TG_DEVICE_TERMS + i, __double2ll_rn(e.virial[i] * TG_MD_ENERGY_UNITS));
}

template <typename place>
static __device__ __forceinline__ void tg_step_interact(const place& at, int kind,
                                                        tg_step_bonded_sums& e) {
  switch (kind) {
    case TG_DEVICE_BOND: tg_step_bond_of(at, e); break;
    case TG_DEVICE_ANGLE: tg_step_angle(at, e); break;
    case TG_DEVICE_PROPER: tg_step_periodic(at, e); break;
    case TG_DEVICE_RYCKAERT: tg_step_ryckaert(at, e); break;
    case TG_DEVICE_IMPROPER: tg_step_improper(at, e); break;
    case TG_DEVICE_IMPROPER_PERIODIC: tg_step_periodic(at, e); break;
    case TG_DEVICE_PAIR_14: tg_step_pair_14(at, e); break;
    case TG_DEVICE_RESTRAINT: tg_step_restraint(at, e); break;
    case TG_DEVICE_EXCLUDED_BY_ATOM: tg_step_excluded_by_atom(at, e); break;
    default: tg_step_excluded(at, e); break;
  }
}

/** The interaction of number `item` below `end`; whole warps call. */
template <bool ENERGY>
static __device__ __forceinline__ void tg_step_bonded(const tg_md_view& v, const tg_step_view& s,
                                                      uint32_t item, uint32_t end) {
  if (item >= end) return;
  const int kind = tg_step_kind_of(s.kind_start, item);
  const int4 atom = s.item[item];
  const tg_step_bonded_place at = {v, s, atom, s.parameters[s.item_parameters[item]], atom.x};
  tg_step_bonded_sums e = {};
  if (at.atom.x >= 0) tg_step_interact(at, kind, e);
  __syncwarp();
  if (ENERGY) tg_step_add_sums(s, kind, e);
}

/* An atom's slot; -1: none is asked for. */
static __device__ __forceinline__ int tg_step_slot_of(const tg_md_view& v, int atom) {
  return atom < 0 ? -1 : (int)v.slot_of_atom[atom];
}

/* The slots of an interaction's atoms; false where the domain lacks one. It has all that are within
 * the list radius of one at home: a bonded one must be, an excluded one beyond has no force. */
static __device__ __forceinline__ bool tg_step_slots(const tg_md_view& v, const int4& atom,
                                                     int kind, int4* slot) {
  const int none = (int)TG_MD_NO_SLOT;
  *slot = make_int4(tg_step_slot_of(v, atom.x), tg_step_slot_of(v, atom.y),
                    tg_step_slot_of(v, atom.z), tg_step_slot_of(v, atom.w));
  static_assert((int)TG_MD_NO_SLOT == -1, "no slot and no atom are the same");
  const bool all = slot->x != none && (atom.y < 0 || slot->y != none) &&
                   (atom.z < 0 || slot->z != none) && (atom.w < 0 || slot->w != none);
  if (!all && kind != TG_DEVICE_EXCLUDED) atomicOr(v.trouble, TG_MD_BONDED_FAR);
  return all;
}

/** The interaction of number `item` among those with a home atom, of a kind before end_kind; whole
 * warps call. Energy and virial are counted where the first atom is at home. */
template <bool ENERGY>
static __device__ __forceinline__ void tg_step_bonded_home(const tg_md_view& v,
                                                           const tg_step_view& s,
                                                           const tg_step_home& home, uint32_t item,
                                                           uint32_t end_kind) {
  const tg_step_home_counts& count = *home.count;
  if (item >= count.kind_start[end_kind]) return;
  const int kind = tg_step_kind_of(count.kind_start, item);
  const uint32_t place = item - count.kind_start[kind];
  tg_step_bonded_sums e = {};
  if (place < count.kind[kind]) {
    const int number = home.item[s.kind_start[kind] + place];
    const int4 atom = s.item[number];
    const int home_slots = (int)(v.totals->home_clusters * TG_MD_CLUSTER);
    tg_step_bonded_slots at = {v,      s,         {}, s.parameters[s.item_parameters[number]],
                               atom.x, home_slots};
    if (tg_step_slots(v, atom, kind, &at.atom)) tg_step_interact(at, kind, e);
    if (at.atom.x >= home_slots) e = {};
  }
  __syncwarp();
  if (ENERGY) tg_step_add_sums(s, kind, e);
}

#endif
