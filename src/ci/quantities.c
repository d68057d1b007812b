/* SPDX-License-Identifier: Apache-2.0 */
/* Operators by formula, J-coupled: J^2, T^2, and those made of positions and momenta.
 *
 * In oscillator units the lowering part of r is b a / sqrt(2) and that of b^2 grad is the same, the
 * raising part of r is b a+ / sqrt(2) and that of b^2 grad its negative. So with the reduced
 * elements X of r, those of b grad are X / b where a quantum is lost and -X / b where one is
 * gained, and p1.p2 / m = -hw b^2 grad1.grad2. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "ci/angular.h"
#include "ci/model.h"
#include "ci/oscillator.h"

static const tg_place by_formula = {"an operator by formula", 0, 0};

static tg_status put_one(const tg_ci_shells* shells, int a, int b, double value,
                         tg_ci_couplings* out) {
  tg_ci_one_element e = {.a = a, .b = b, .value = {.fixed = value}};
  return value == 0 ? TG_OK : tg_ci_couplings_put_one(out, shells, e, by_formula);
}

static tg_status put_two(const tg_ci_shells* shells, const int o[4], int j, double value,
                         tg_ci_couplings* out) {
  tg_ci_two_element e = {
      .a = o[0], .b = o[1], .c = o[2], .d = o[3], .j = j, .value = {.fixed = value}};
  return value == 0 ? TG_OK : tg_ci_couplings_put_two(out, shells, e, by_formula);
}

static bool exists(const tg_ci_shells* shells, int a, int b, int j) {
  return tg_ci_triangle(shells->shell[a].two_j, shells->shell[b].two_j, 2 * j) &&
         (a != b || j % 2 == 0);
}

static int first_j(const tg_ci_shells* shells, int a, int b) {
  return abs(shells->shell[a].two_j - shells->shell[b].two_j) / 2;
}

static int last_j(const tg_ci_shells* shells, int a, int b) {
  return (shells->shell[a].two_j + shells->shell[b].two_j) / 2;
}

/* ---- J^2 = sum j(j+1) + sum over pairs of 2 j1.j2 ---- */

static double j_squared(const tg_ci_shells* shells, int a) {
  return 0.25 * shells->shell[a].two_j * (shells->shell[a].two_j + 2);
}

static tg_status angular_momentum(const tg_ci_shells* shells, tg_ci_couplings* out) {
  for (int a = 0; a < (int)shells->count; a++) {
    TG_TRY(put_one(shells, a, a, j_squared(shells, a), out));
    for (int b = a; b < (int)shells->count; b++)
      for (int j = first_j(shells, a, b); j <= last_j(shells, a, b); j++)
        if (exists(shells, a, b, j))
          TG_TRY(put_two(shells, (const int[]){a, b, a, b}, j,
                         j * (j + 1.0) - j_squared(shells, a) - j_squared(shells, b), out));
  }
  return TG_OK;
}

/* ---- T^2 = 3/4 N + sum over pairs of 2 t1.t2 = 3/4 N + sum over pairs of (P_t - 1/2), where P_t
 * exchanges the isospins ---- */

static tg_status isospin(const tg_ci_shells* shells, tg_ci_couplings* out) {
  for (int a = 0; a < (int)shells->count; a++) {
    const int partner_a = tg_ci_shells_partner(shells, a);
    if (partner_a < 0)
      return tg_fail(TG_ERR_INPUT,
                     "T^2 needs each orbit for protons and for neutrons; %s has no partner",
                     shells->shell[a].name);
    TG_TRY(put_one(shells, a, a, 0.75, out));
    for (int b = a; b < (int)shells->count; b++) {
      const bool mixed = shells->shell[a].species != shells->shell[b].species;
      const int partner_b = tg_ci_shells_partner(shells, b);
      if (partner_b < 0) continue; /* refused when its turn comes */
      for (int j = first_j(shells, a, b); j <= last_j(shells, a, b); j++) {
        if (!exists(shells, a, b, j)) continue;
        if (!mixed) {
          TG_TRY(put_two(shells, (const int[]){a, b, a, b}, j, 0.5, out));
          continue;
        }
        /* the state with exchanged isospins: b's partner is the proton now */
        const double crossed = -tg_ci_sign(last_j(shells, a, b) - j);
        const bool same = partner_b == a;
        TG_TRY(put_two(shells, (const int[]){a, b, a, b}, j, same ? crossed - 0.5 : -0.5, out));
        if (!same && partner_b > a)
          TG_TRY(put_two(shells, (const int[]){a, b, partner_b, partner_a}, j, crossed, out));
      }
    }
  }
  return TG_OK;
}

/* A core of as many protons as neutrons has T = 0 and adds nothing. */
static tg_status check_core(const tg_ci_model* model) {
  if (model->core_protons < 0 || model->core_protons == model->core_neutrons) return TG_OK;
  return tg_fail(TG_ERR_INPUT,
                 "T^2 is known for cores of as many protons as neutrons; this one has %d and %d",
                 model->core_protons, model->core_neutrons);
}

/* ---- positions and momenta ---- */

/* Sum over particles of (one_r r^2 + one_p p^2) + sum over pairs of (pair_r r1.r2 + pair_p p1.p2
 * + pair_p2 (p1^2 + p2^2)), by species and by kind of pair; r in b, p in hbar / b. */
typedef struct quadratic {
  double one_r[2], one_p[2];
  double pair_r[TG_CI_PAIR_KINDS], pair_p[TG_CI_PAIR_KINDS], pair_p2[TG_CI_PAIR_KINDS];
  int pair_weight_most[TG_CI_PAIR_KINDS]; /* -1: all */
} quadratic;

/* Matrices over all orbits; zero between species. */
typedef struct vectors {
  size_t count;
  double* position; /* <a||r||b> */
  double* momentum; /* <a||b grad||b> */
  double* p2;       /* <a|p^2|b> */
} vectors;

static void vectors_free(vectors* v) {
  tg_free(v->position);
  tg_free(v->momentum);
  tg_free(v->p2);
}

static double square(const tg_ci_shell* a, const tg_ci_shell* b, bool momentum) {
  if (a->species != b->species || a->l != b->l || a->two_j != b->two_j) return 0;
  const double r2 = abs(a->n - b->n) > 1 ? 0 : tg_ci_radial(a->n, a->l, 2, b->n, b->l);
  return momentum && a->n != b->n ? -r2 : r2;
}

static tg_status vectors_make(const tg_ci_shells* shells, vectors* out) {
  const size_t n = shells->count;
  out->count = n;
  TG_TRY(TG_ALLOCATE(n * n, "elements of r", &out->position));
  TG_TRY(TG_ALLOCATE(n * n, "elements of p", &out->momentum));
  TG_TRY(TG_ALLOCATE(n * n, "elements of p^2", &out->p2));
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < n; k++) {
      const tg_ci_shell *a = &shells->shell[i], *b = &shells->shell[k];
      out->p2[i * n + k] = square(a, b, true);
      const int gained = 2 * a->n + a->l - 2 * b->n - b->l;
      if (a->species != b->species || abs(gained) != 1 || abs(a->l - b->l) != 1 ||
          abs(a->two_j - b->two_j) > 2)
        continue;
      const double x = tg_ci_position_reduced(a->n, a->l, a->two_j, b->n, b->l, b->two_j);
      out->position[i * n + k] = x;
      out->momentum[i * n + k] = gained < 0 ? x : -x;
    }
  return TG_OK;
}

/* <ab;J|V|cd;J> of the product states, first particle first. */
static double direct(const tg_ci_shells* shells, const vectors* v, const quadratic* q, int kind,
                     const int o[4], int j) {
  const size_t n = v->count, ac = (size_t)o[0] * n + (size_t)o[2],
               bd = (size_t)o[1] * n + (size_t)o[3];
  double sum = 0;
  if (o[1] == o[3]) sum += q->pair_p2[kind] * v->p2[ac];
  if (o[0] == o[2]) sum += q->pair_p2[kind] * v->p2[bd];
  const double product = q->pair_r[kind] * v->position[ac] * v->position[bd] -
                         q->pair_p[kind] * v->momentum[ac] * v->momentum[bd];
  if (product == 0) return sum;
  const tg_ci_shell* s = shells->shell;
  return sum +
         product * tg_ci_sign((s[o[1]].two_j + s[o[2]].two_j) / 2 + j) *
             tg_ci_six_j(s[o[0]].two_j, s[o[1]].two_j, 2 * j, s[o[3]].two_j, s[o[2]].two_j, 2);
}

/* No element of these orbits can differ from zero. */
static bool vanishes(const vectors* v, int a, int b, int c, int d) {
  const size_t n = v->count;
  const size_t ac = (size_t)a * n + (size_t)c, bd = (size_t)b * n + (size_t)d;
  return (v->position[ac] == 0 || v->position[bd] == 0) && (b != d || v->p2[ac] == 0) &&
         (a != c || v->p2[bd] == 0);
}

static tg_status put_pairs(const tg_ci_shells* shells, const vectors* v, const quadratic* q,
                           const int o[4], tg_ci_couplings* out) {
  const int kind = tg_ci_pair_kind(shells, o[0], o[1]);
  const bool exchange = kind != TG_CI_PN;
  if (vanishes(v, o[0], o[1], o[2], o[3]) && (!exchange || vanishes(v, o[0], o[1], o[3], o[2])))
    return TG_OK;
  for (int j = first_j(shells, o[0], o[1]); j <= last_j(shells, o[0], o[1]); j++) {
    if (!exists(shells, o[0], o[1], j) || !exists(shells, o[2], o[3], j)) continue;
    double value = direct(shells, v, q, kind, o, j);
    if (exchange) {
      const int swapped[4] = {o[0], o[1], o[3], o[2]};
      value -= tg_ci_sign(last_j(shells, o[2], o[3]) - j) * direct(shells, v, q, kind, swapped, j);
      if (o[0] == o[1]) value /= sqrt(2.0);
      if (o[2] == o[3]) value /= sqrt(2.0);
    }
    TG_TRY(put_two(shells, o, j, value, out));
  }
  return TG_OK;
}

static bool cut_off(const tg_ci_shells* shells, const quadratic* q, int a, int b) {
  const int most = q->pair_weight_most[tg_ci_pair_kind(shells, a, b)];
  return most >= 0 && shells->shell[a].weight + shells->shell[b].weight > most;
}

static tg_status put_quadratic(const tg_ci_shells* shells, const quadratic* q,
                               tg_ci_couplings* out) {
  const int n = (int)shells->count;
  vectors v = {0};
  tg_status status = TG_OK;
  TG_TRY_GOTO(vectors_make(shells, &v), done);
  for (int a = 0; a < n; a++)
    for (int b = a; b < n; b++) {
      const tg_ci_shell *x = &shells->shell[a], *y = &shells->shell[b];
      const double one =
          q->one_r[x->species] * square(x, y, false) + q->one_p[x->species] * square(x, y, true);
      TG_TRY_GOTO(put_one(shells, a, b, one, out), done);
      if (cut_off(shells, q, a, b)) continue;
      const int kind = tg_ci_pair_kind(shells, a, b);
      if (q->pair_r[kind] == 0 && q->pair_p[kind] == 0 && q->pair_p2[kind] == 0) continue;
      for (int c = a; c < n; c++)
        for (int d = c == a ? b : c; d < n; d++)
          if (tg_ci_pair_kind(shells, c, d) == kind && !cut_off(shells, q, c, d))
            TG_TRY_GOTO(put_pairs(shells, &v, q, (const int[]){a, b, c, d}, out), done);
    }
done:
  vectors_free(&v);
  return status;
}

/* ---- which quadratic form an operator is ---- */

static void set_pairs(double* pairs, double value) {
  for (int k = 0; k < TG_CI_PAIR_KINDS; k++) pairs[k] = value;
}

/* The pairs that the interaction has: all where one part has no cut-off. */
static void limit_pairs(const tg_ci_model* model, quadratic* q) {
  for (int k = 0; k < TG_CI_PAIR_KINDS; k++) {
    q->pair_weight_most[k] = model->part_count ? 0 : -1;
    for (size_t i = 0; i < model->part_count; i++) {
      const int most = model->parts[i].pair_weight_most[k];
      if (most < 0 || q->pair_weight_most[k] < 0)
        q->pair_weight_most[k] = -1;
      else if (most > q->pair_weight_most[k])
        q->pair_weight_most[k] = most;
    }
  }
}

/* Mean square radius of Z of A particles: (1/Z) sum_Z r_i^2 - (2/AZ) sum_Z r_i.r_j + (1/A^2) sum
 * r_i.r_j; the sums over i and j hold i = j and both orders. */
static void radius_form(int of, double count, double mass, double b2, quadratic* q) {
  const double all = b2 / (mass * mass), mine = b2 / count, both = 2 * b2 / (mass * count);
  const int other = of == TG_CI_PROTON ? TG_CI_NEUTRON : TG_CI_PROTON;
  q->one_r[of] = mine - both + all;
  q->one_r[other] = all;
  set_pairs(q->pair_r, 2 * all);
  q->pair_r[of == TG_CI_PROTON ? TG_CI_PP : TG_CI_NN] -= 2 * both;
  q->pair_r[TG_CI_PN] -= both;
}

static tg_status radius(const tg_ci_model* model, tg_ci_quantity kind, const tg_ci_nucleus* nucleus,
                        quadratic* q) {
  double hw = 0, mass = 0;
  TG_TRY(tg_ci_model_mass(model, nucleus, &mass));
  TG_TRY(tg_ci_model_oscillator(model, nucleus, &hw));
  if (model->core_mass != 0)
    return tg_fail(TG_ERR_INPUT,
                   "radii are for inputs without a core; this one has a core of mass %g",
                   model->core_mass);
  const double b2 = tg_ci_oscillator_length2(hw);
  if (kind == TG_CI_RADIUS_MATTER) {
    /* (1/A) sum r_i^2 - R^2 */
    q->one_r[0] = q->one_r[1] = b2 * (1 / mass - 1 / (mass * mass));
    set_pairs(q->pair_r, -2 * b2 / (mass * mass));
    return TG_OK;
  }
  const bool protons = kind == TG_CI_RADIUS_PROTON;
  const int count = protons ? nucleus->protons : nucleus->neutrons;
  if (count < 1)
    return tg_fail(TG_ERR_INPUT, "the radius of %s asked for in a nucleus without any",
                   protons ? "protons" : "neutrons");
  radius_form(protons ? TG_CI_PROTON : TG_CI_NEUTRON, count, mass, b2, q);
  return TG_OK;
}

static tg_status quadratic_of(const tg_ci_model* model, tg_ci_quantity kind,
                              const tg_ci_nucleus* nucleus, quadratic* q) {
  double hw = 0, mass = 0;
  if (kind != TG_CI_HCM && kind != TG_CI_TREL) return radius(model, kind, nucleus, q);
  TG_TRY(tg_ci_model_mass(model, nucleus, &mass));
  TG_TRY(tg_ci_model_oscillator(model, nucleus, &hw));
  if (kind == TG_CI_HCM) {
    for (int s = 0; s < 2; s++) q->one_r[s] = q->one_p[s] = 0.5 * hw / mass;
    set_pairs(q->pair_r, hw / mass);
    set_pairs(q->pair_p, hw / mass);
    return TG_OK;
  }
  set_pairs(q->pair_p2, 0.5 * hw / mass);
  set_pairs(q->pair_p, -hw / mass);
  limit_pairs(model, q);
  return TG_OK;
}

tg_status tg_ci_quantity_couplings(const tg_ci_model* model, tg_ci_quantity kind,
                                   const tg_ci_nucleus* nucleus, tg_ci_couplings* out) {
  tg_ci_couplings couplings = {0};
  quadratic q = {.pair_weight_most = {-1, -1, -1}};
  tg_status status = TG_OK;
  if (kind == TG_CI_J2) {
    TG_TRY_GOTO(angular_momentum(&model->shells, &couplings), failed);
  } else if (kind == TG_CI_T2) {
    TG_TRY_GOTO(check_core(model), failed);
    TG_TRY_GOTO(isospin(&model->shells, &couplings), failed);
  } else {
    TG_TRY_GOTO(quadratic_of(model, kind, nucleus, &q), failed);
    TG_TRY_GOTO(put_quadratic(&model->shells, &q, &couplings), failed);
  }
  *out = couplings;
  return TG_OK;
failed:
  tg_ci_couplings_free(&couplings);
  return status;
}

tg_status tg_ci_model_quantity(const tg_ci_model* model, tg_ci_quantity kind,
                               const tg_ci_nucleus* nucleus, tg_ci_hamiltonian** out) {
  tg_ci_couplings couplings = {0};
  TG_TRY(tg_ci_quantity_couplings(model, kind, nucleus, &couplings));
  tg_status status = tg_ci_couplings_uncouple(&couplings, model, out);
  tg_ci_couplings_free(&couplings);
  return status;
}

/* ---- how much isospin symmetry the input has ---- */

static double value_of(const tg_ci_couplings* c, const tg_ci_shells* shells, const int o[4],
                       int j) {
  int sign = 1;
  const tg_ci_two_element* e = tg_ci_couplings_two(c, shells, o, j, &sign);
  return e ? sign * e->value.fixed : 0;
}

/* Of a proton pair's element: the largest difference among pp, nn and the T = 1 part of pn. */
static double break_of(const tg_ci_couplings* c, const tg_ci_shells* shells,
                       const tg_ci_two_element* e) {
  const int o[4] = {e->a, e->b, e->c, e->d};
  int mixed[4], exchanged[4], neutrons[4];
  for (int i = 0; i < 4; i++) neutrons[i] = tg_ci_shells_partner(shells, o[i]);
  for (int i = 0; i < 4; i++) mixed[i] = i % 2 ? neutrons[i] : o[i];
  memcpy(exchanged, mixed, sizeof mixed);
  exchanged[2] = o[3];
  exchanged[3] = neutrons[2];
  const double pp = e->value.fixed, nn = value_of(c, shells, neutrons, e->j);
  /* V_pn(ab,cd) - (-1)^(jc+jd-J) V_pn(ab,dc) = sqrt((1+d_ab)(1+d_cd)) V_T1 */
  double pn = value_of(c, shells, mixed, e->j) -
              tg_ci_sign(last_j(shells, o[2], o[3]) - e->j) * value_of(c, shells, exchanged, e->j);
  if (o[0] == o[1]) pn /= sqrt(2.0);
  if (o[2] == o[3]) pn /= sqrt(2.0);
  return fmax(fabs(pp - nn), fabs(pp - pn));
}

double tg_ci_model_isospin_breaking(const tg_ci_model* model) {
  if (!tg_ci_shells_isospin(&model->shells)) return -1;
  double most = 0;
  for (size_t i = 0; i < model->part_count; i++) {
    const tg_ci_couplings* c = &model->parts[i].couplings;
    for (size_t k = 0; k < c->two_count; k++)
      if (tg_ci_pair_kind(&model->shells, c->two[k].a, c->two[k].b) == TG_CI_PP)
        most = fmax(most, break_of(c, &model->shells, &c->two[k]));
    for (size_t k = 0; k < c->one_count; k++) {
      const tg_ci_one_element* e = &c->one[k];
      const tg_ci_one_element* other =
          tg_ci_couplings_one(c, tg_ci_shells_partner(&model->shells, e->a),
                              tg_ci_shells_partner(&model->shells, e->b));
      most = fmax(most, fabs(e->value.fixed - (other ? other->value.fixed : 0)));
    }
  }
  return most;
}
