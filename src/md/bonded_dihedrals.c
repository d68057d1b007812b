/* SPDX-License-Identifier: Apache-2.0 */
/* Interactions of four atoms, all functions of one angle phi between the planes ijk and jkl (IUPAC:
 * 0 is cis, 180 degrees is trans).
 *
 *   proper, periodic improper  V = k (1 + cos(n phi - phi0))
 *   Ryckaert-Bellemans         V = sum_n C_n cos^n(phi - 180 degrees)
 *   improper                   V = k/2 (phi - phi0)^2, the difference taken within +-180 degrees
 *
 * Angle and gradient after A. Blondel and M. Karplus, J. Comput. Chem. 17, 1132 (1996), eq. 27:
 * with F = r_i - r_j, G = r_j - r_k, H = r_l - r_k, A = F x G, B = H x G nothing is divided by
 * sin(phi). Where three atoms are in line the angle does not exist and there is no force. */
#include <float.h>
#include <math.h>

#include "base/units.h"
#include "md/bonded_internal.h"

typedef struct dihedral {
  double F[3], G[3], H[3], A[3], B[3];
  double A2, B2, G1;
  double cosine, sine; /* of phi */
  int defined;
} dihedral;

static void measure(const tg_bonded_input* in, const int* atom, dihedral* t) {
  /* A cross product of vectors in line is rounding: a few units of |F||G| epsilon. */
  const double smallest = 64 * DBL_EPSILON * 64 * DBL_EPSILON;
  double BxA[3];
  tg_bonded_vector(in, in->x[atom[0]], in->x[atom[1]], t->F);
  tg_bonded_vector(in, in->x[atom[1]], in->x[atom[2]], t->G);
  tg_bonded_vector(in, in->x[atom[3]], in->x[atom[2]], t->H);
  tg_cross(t->F, t->G, t->A);
  tg_cross(t->H, t->G, t->B);
  double G2 = tg_dot(t->G, t->G);
  t->A2 = tg_dot(t->A, t->A);
  t->B2 = tg_dot(t->B, t->B);
  t->G1 = sqrt(G2);
  t->defined =
      t->A2 > smallest * G2 * tg_dot(t->F, t->F) && t->B2 > smallest * G2 * tg_dot(t->H, t->H);
  t->cosine = 1;
  t->sine = 0;
  if (!t->defined) return;
  tg_cross(t->B, t->A, BxA);
  double cosine = tg_dot(t->A, t->B), sine = tg_dot(BxA, t->G) / t->G1;
  double inverse = 1 / sqrt(cosine * cosine + sine * sine); /* 1 / (|A||B|) */
  t->cosine = cosine * inverse;
  t->sine = sine * inverse;
}

static double angle_of(const dihedral* t) { return atan2(t->sine, t->cosine); }

/* Adds the forces for dV/dphi = slope. */
static void push(const dihedral* t, const int* atom, double slope, tg_bonded_sum* sum) {
  if (!t->defined) return;
  double a = t->G1 / t->A2, b = t->G1 / t->B2;
  double fg = tg_dot(t->F, t->G) / (t->A2 * t->G1), hg = tg_dot(t->H, t->G) / (t->B2 * t->G1);
  double on_i[3], on_k[3], on_l[3], r_k[3], r_l[3];
  for (int d = 0; d < 3; d++) {
    double twist = fg * t->A[d] - hg * t->B[d];
    on_i[d] = slope * a * t->A[d];
    on_l[d] = -slope * b * t->B[d];
    on_k[d] = slope * (twist + b * t->B[d]);
    r_k[d] = -t->G[d];
    r_l[d] = t->H[d] - t->G[d];
    sum->f[atom[0]][d] += on_i[d];
    sum->f[atom[1]][d] -= on_i[d] + on_k[d] + on_l[d];
    sum->f[atom[2]][d] += on_k[d];
    sum->f[atom[3]][d] += on_l[d];
  }
  if (!sum->want_energy) return;
  tg_virial_add(sum->virial, t->F, on_i); /* positions relative to j */
  tg_virial_add(sum->virial, r_k, on_k);
  tg_virial_add(sum->virial, r_l, on_l);
}

static void periodic(const tg_bonded_input* in, tg_interaction_kind kind, tg_energy_term term,
                     size_t first, size_t last, tg_bonded_sum* sum) {
  const tg_bonded_list* list = &in->bonded->lists[kind];
  for (size_t n = first; n < last; n++) {
    const double* p = list->parameters[n];
    dihedral t;
    measure(in, list->atoms + 4 * n, &t);
    double angle = p[2] * angle_of(&t) - p[0] * TG_DEGREE;
    sum->term[term] += p[1] * (1 + cos(angle));
    push(&t, list->atoms + 4 * n, -p[1] * p[2] * sin(angle), sum);
  }
}

void tg_bonded_propers(const tg_bonded_input* in, size_t first, size_t last, tg_bonded_sum* sum) {
  periodic(in, TG_DIHEDRAL_PROPER, TG_E_PROPER, first, last, sum);
}

void tg_bonded_impropers_periodic(const tg_bonded_input* in, size_t first, size_t last,
                                  tg_bonded_sum* sum) {
  periodic(in, TG_DIHEDRAL_IMPROPER_PERIODIC, TG_E_IMPROPER_PERIODIC, first, last, sum);
}

void tg_bonded_ryckaert(const tg_bonded_input* in, size_t first, size_t last, tg_bonded_sum* sum) {
  const tg_bonded_list* list = &in->bonded->lists[TG_DIHEDRAL_RYCKAERT];
  for (size_t n = first; n < last; n++) {
    const double* p = list->parameters[n];
    dihedral t;
    measure(in, list->atoms + 4 * n, &t);
    double c = -t.cosine, value = p[5], slope = 0; /* Horner, with the derivative by c */
    for (int k = 4; k >= 0; k--) {
      slope = slope * c + value;
      value = value * c + p[k];
    }
    sum->term[TG_E_RYCKAERT] += value;
    push(&t, list->atoms + 4 * n, slope * t.sine, sum);
  }
}

void tg_bonded_impropers(const tg_bonded_input* in, size_t first, size_t last, tg_bonded_sum* sum) {
  const tg_bonded_list* list = &in->bonded->lists[TG_DIHEDRAL_IMPROPER];
  for (size_t n = first; n < last; n++) {
    const double* p = list->parameters[n];
    dihedral t;
    measure(in, list->atoms + 4 * n, &t);
    double bend = angle_of(&t) - p[0] * TG_DEGREE;
    bend -= 2 * TG_PI * tg_nearest(bend / (2 * TG_PI));
    sum->term[TG_E_IMPROPER] += 0.5 * p[1] * bend * bend;
    push(&t, list->atoms + 4 * n, p[1] * bend, sum);
  }
}
