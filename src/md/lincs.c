/* SPDX-License-Identifier: Apache-2.0 */
/* LINCS (B. Hess, H. Bekker, H. J. C. Berendsen, J. G. E. M. Fraaije, J. Comput. Chem. 18, 1463
 * (1997)).
 *
 *   1. B: unit vectors of the old bonds; S = 1/sqrt(1/m_a + 1/m_b); A = 1 - S B M^-1 B^T S, whose
 * elements couple constraints that share an atom.
 *   2. Project out the change along the old bonds: (1 - A)^-1 S (B (x'_a - x'_b) - length), the
 * inverse by its series 1 + A + A^2 + ... up to A^order.
 *   3. Turned bonds are now too long; take the length along the old direction to p = sqrt(2
 * length^2 - l^2). Repeat `iterations` times.
 *
 * Blocks of whole groups (connected constraints) are done one after the other, with all arrays of a
 * block in the first-level cache; a group never straddles a block, so blocks are independent. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "md/constraints_internal.h"

enum { BLOCK_CONSTRAINTS = 64 };

static tg_status reserve(tg_lincs* l, size_t home_count, size_t n) {
  TG_TRY(TG_RESERVE(n, "constraints", &l->pairs, &l->pair_capacity));
  TG_TRY(TG_RESERVE(n, "constraints", &l->length, &l->length_capacity));
  TG_TRY(TG_RESERVE(2 * n, "constraints", &l->inverse_mass, &l->mass_capacity));
  TG_TRY(TG_RESERVE(n, "constraints", &l->scale, &l->scale_capacity));
  TG_TRY(TG_RESERVE(n + 1, "constraints", &l->neighbour_start, &l->start_capacity));
  TG_TRY(TG_RESERVE(n, "constraints", &l->direction, &l->direction_capacity));
  TG_TRY(TG_RESERVE(n, "constraints", &l->old_length, &l->old_capacity));
  TG_TRY(TG_RESERVE(n, "constraints", &l->sum, &l->sum_capacity));
  TG_TRY(TG_RESERVE(n, "constraints", &l->term[0], &l->term_capacity[0]));
  TG_TRY(TG_RESERVE(n, "constraints", &l->term[1], &l->term_capacity[1]));
  TG_TRY(TG_RESERVE(n, "constraints", &l->multiplier, &l->multiplier_capacity));
  TG_TRY(TG_RESERVE(n + 1, "constraints", &l->block_start, &l->block_capacity));
  TG_TRY(TG_RESERVE(home_count + 2, "constraints", &l->atom_start, &l->atom_start_capacity));
  return TG_RESERVE(2 * n, "constraints", &l->atom_constraint, &l->atom_constraint_capacity);
}

/* Lists the constraints of each atom: atom_constraint[atom_start[a] .. atom_start[a+1]). */
static void list_by_atom(tg_lincs* l, size_t home_count) {
  memset(l->atom_start, 0, (home_count + 2) * sizeof *l->atom_start);
  int* next = l->atom_start + 1; /* becomes atom_start when the fill below has moved it on */
  for (size_t i = 0; i < l->count; i++)
    for (int k = 0; k < 2; k++) next[l->pairs[i][k] + 1]++;
  for (size_t a = 0; a < home_count; a++) next[a + 1] += next[a];
  for (size_t i = 0; i < l->count; i++)
    for (int k = 0; k < 2; k++) l->atom_constraint[next[l->pairs[i][k]]++] = (int)i;
}

static tg_status couple(tg_lincs* l) {
  size_t total = 0;
  for (int pass = 0; pass < 2; pass++) {
    size_t n = 0;
    for (size_t i = 0; i < l->count; i++) {
      if (pass) l->neighbour_start[i] = (int)n;
      for (int k = 0; k < 2; k++) {
        int atom = l->pairs[i][k];
        for (int at = l->atom_start[atom]; at < l->atom_start[atom + 1]; at++) {
          int j = l->atom_constraint[at];
          if ((size_t)j == i) continue;
          if (pass) {
            double sign = l->pairs[j][k] == atom ? -1 : 1; /* the same end of both? */
            l->neighbour[n] = j;
            l->coefficient[n] =
                sign * l->inverse_mass[2 * i + (size_t)k] * l->scale[i] * l->scale[j];
          }
          n++;
        }
      }
    }
    total = n;
    if (pass) break;
    TG_TRY(TG_RESERVE(total, "constraint couplings", &l->neighbour, &l->neighbour_capacity));
    TG_TRY(TG_RESERVE(total, "constraint couplings", &l->coefficient, &l->coefficient_capacity));
    TG_TRY(TG_RESERVE(total, "constraint couplings", &l->coupling, &l->coupling_capacity));
  }
  l->neighbour_start[l->count] = (int)total;
  return TG_OK;
}

/* Cuts where no coupling reaches across. */
static void cut_blocks(tg_lincs* l) {
  size_t reach = 0;
  l->block_count = 0;
  l->block_start[0] = 0;
  for (size_t i = 0; i < l->count; i++) {
    for (int at = l->neighbour_start[i]; at < l->neighbour_start[i + 1]; at++)
      if ((size_t)l->neighbour[at] > reach) reach = (size_t)l->neighbour[at];
    int full = i + 1 - l->block_start[l->block_count] >= BLOCK_CONSTRAINTS;
    if (reach <= i && (full || i + 1 == l->count)) l->block_start[++l->block_count] = i + 1;
  }
}

tg_status tg_lincs_set(tg_lincs* l, size_t home_count, const double* inverse_mass, size_t count,
                       const int (*pairs)[2], const double* lengths) {
  l->count = 0;
  l->block_count = 0;
  TG_TRY(reserve(l, home_count, count));
  for (size_t i = 0; i < count; i++) {
    int a = pairs[i][0], b = pairs[i][1];
    if (a < 0 || b < 0 || a == b || (size_t)a >= home_count || (size_t)b >= home_count)
      return tg_fail(TG_ERR_INTERNAL, "constraint %zu joins local atoms %d and %d of %zu", i, a, b,
                     home_count);
    double sum = inverse_mass[a] + inverse_mass[b];
    if (!(sum > 0) || !(lengths[i] > 0))
      return tg_fail(
          TG_ERR_INPUT,
          "constraint of local atoms %d and %d: found length %g nm and inverse masses %g "
          "and %g, expected a positive length and a movable atom; correct the topology",
          a, b, lengths[i], inverse_mass[a], inverse_mass[b]);
    l->pairs[i][0] = a, l->pairs[i][1] = b;
    l->length[i] = lengths[i];
    l->inverse_mass[2 * i] = inverse_mass[a];
    l->inverse_mass[2 * i + 1] = inverse_mass[b];
    l->scale[i] = 1 / sqrt(sum);
  }
  l->count = count;
  list_by_atom(l, home_count);
  TG_TRY(couple(l));
  cut_blocks(l);
  return TG_OK;
}

void tg_lincs_free(tg_lincs* l) {
  void* arrays[] = {l->pairs,           l->length,     l->inverse_mass, l->scale,
                    l->neighbour_start, l->neighbour,  l->coupling,     l->coefficient,
                    l->direction,       l->old_length, l->sum,          l->term[0],
                    l->term[1],         l->multiplier, l->block_start,  l->atom_start,
                    l->atom_constraint};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) tg_free(arrays[i]);
  memset(l, 0, sizeof *l);
}

static inline double along(const double u[3], const double a[3], const double b[3]) {
  return u[0] * (a[0] - b[0]) + u[1] * (a[1] - b[1]) + u[2] * (a[2] - b[2]);
}

/* Step 1. */
static void build(tg_lincs* l, size_t first, size_t last, const double (*x)[3]) {
  for (size_t i = first; i < last; i++) {
    const double *a = x[l->pairs[i][0]], *b = x[l->pairs[i][1]];
    double d0 = a[0] - b[0], d1 = a[1] - b[1], d2 = a[2] - b[2];
    double r = sqrt(d0 * d0 + d1 * d1 + d2 * d2), inverse = 1 / r;
    l->old_length[i] = r;
    l->direction[i][0] = d0 * inverse;
    l->direction[i][1] = d1 * inverse;
    l->direction[i][2] = d2 * inverse;
  }
  for (size_t i = first; i < last; i++) {
    const double* u = l->direction[i];
    for (int at = l->neighbour_start[i]; at < l->neighbour_start[i + 1]; at++) {
      const double* w = l->direction[l->neighbour[at]];
      l->coupling[at] = l->coefficient[at] * (u[0] * w[0] + u[1] * w[1] + u[2] * w[2]);
    }
  }
}

/* Step 2: sum = (1 + A + ... + A^order) term[0]; both arrays are used up. */
static void expand(tg_lincs* l, size_t first, size_t last) {
  double *term = l->term[0], *next = l->term[1];
  memcpy(l->sum + first, term + first, (last - first) * sizeof *term);
  for (int k = 0; k < l->order; k++) {
    for (size_t i = first; i < last; i++) {
      double value = 0;
      for (int at = l->neighbour_start[i]; at < l->neighbour_start[i + 1]; at++)
        value += l->coupling[at] * term[l->neighbour[at]];
      next[i] = value;
      l->sum[i] += value;
    }
    double* swap = term;
    term = next;
    next = swap;
  }
}

/* Moves x by -M^-1 B^T S sum * factor. */
static void spread(const tg_lincs* l, size_t first, size_t last, const double* amount,
                   double factor, double (*x)[3]) {
  for (size_t i = first; i < last; i++) {
    double *a = x[l->pairs[i][0]], *b = x[l->pairs[i][1]], s = factor * l->scale[i] * amount[i];
    double sa = s * l->inverse_mass[2 * i], sb = s * l->inverse_mass[2 * i + 1];
    for (int d = 0; d < 3; d++) {
      a[d] -= sa * l->direction[i][d];
      b[d] += sb * l->direction[i][d];
    }
  }
}

/* Step 3's right-hand side. */
static void lengthening(tg_lincs* l, size_t first, size_t last, const double (*x)[3]) {
  for (size_t i = first; i < last; i++) {
    const double *a = x[l->pairs[i][0]], *b = x[l->pairs[i][1]];
    double d0 = a[0] - b[0], d1 = a[1] - b[1], d2 = a[2] - b[2], d = l->length[i];
    double p2 = 2 * d * d - (d0 * d0 + d1 * d1 + d2 * d2);
    l->term[0][i] =
        l->scale[i] * (d - sqrt(p2 > 0 ? p2 : 0)); /* NaN becomes p = 0: found by check */
  }
}

/* Looks for the bond that turned most. A number that is not finite beats all. */
static void check(const tg_lincs* l, size_t first, size_t last, const double (*x)[3],
                  tg_constraints_found* found) {
  for (size_t i = first; i < last; i++) {
    const double *a = x[l->pairs[i][0]], *b = x[l->pairs[i][1]];
    double d0 = a[0] - b[0], d1 = a[1] - b[1], d2 = a[2] - b[2];
    double r2 = d0 * d0 + d1 * d1 + d2 * d2, part = along(l->direction[i], a, b);
    /* Compare part/r with the limit without dividing; NaN and infinity take the branch. */
    double limit = found->cosine * fabs(found->cosine) * r2;
    if (part * fabs(part) >= limit && r2 < HUGE_VAL) continue;
    double cosine = part / sqrt(r2);
    found->cosine = isfinite(cosine) && r2 > 0 ? cosine : -2;
    found->failed_atom = l->pairs[i][0];
    if (found->cosine < -1) return;
  }
}

static void add_virial(const tg_lincs* l, size_t first, size_t last, double inverse_dt,
                       double virial[3][3]) {
  double half = 0.5 * inverse_dt * inverse_dt;
  for (size_t i = first; i < last; i++) {
    const double* u = l->direction[i];
    double s = half * l->multiplier[i] * l->scale[i] * l->old_length[i];
    for (int a = 0; a < 3; a++)
      for (int b = 0; b < 3; b++) virial[a][b] += s * u[a] * u[b];
  }
}

static void apply_block(tg_lincs* l, size_t first, size_t last, const tg_constraints_move* move,
                        tg_constraints_found* found) {
  const double(*now)[3] = (const double(*)[3])move->x_new;
  build(l, first, last, move->x_old);
  for (size_t i = first; i < last; i++) {
    const int* pair = l->pairs[i];
    l->term[0][i] =
        l->scale[i] * (along(l->direction[i], now[pair[0]], now[pair[1]]) - l->length[i]);
  }
  expand(l, first, last);
  memcpy(l->multiplier + first, l->sum + first, (last - first) * sizeof *l->sum);
  spread(l, first, last, l->sum, 1, move->x_new);
  for (int k = 0; k < l->iterations; k++) {
    lengthening(l, first, last, now);
    expand(l, first, last);
    for (size_t i = first; i < last; i++) l->multiplier[i] += l->sum[i];
    spread(l, first, last, l->sum, 1, move->x_new);
  }
  check(l, first, last, now, found);
  if (move->v) spread(l, first, last, l->multiplier, move->inverse_dt, move->v);
  if (move->want_virial) add_virial(l, first, last, move->inverse_dt, found->virial);
}

void tg_lincs_apply(tg_lincs* l, size_t first, size_t last, const tg_constraints_move* move,
                    tg_constraints_found* found) {
  for (size_t b = first; b < last; b++)
    apply_block(l, l->block_start[b], l->block_start[b + 1], move, found);
}

void tg_lincs_project(tg_lincs* l, size_t first, size_t last, const double (*x)[3],
                      double (*v)[3]) {
  for (size_t block = first; block < last; block++) {
    size_t from = l->block_start[block], to = l->block_start[block + 1];
    build(l, from, to, x);
    for (int k = 0; k <= l->iterations; k++) {
      for (size_t i = from; i < to; i++)
        l->term[0][i] = l->scale[i] * along(l->direction[i], v[l->pairs[i][0]], v[l->pairs[i][1]]);
      expand(l, from, to);
      spread(l, from, to, l->sum, 1, v);
    }
  }
}
