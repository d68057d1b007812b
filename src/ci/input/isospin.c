/* SPDX-License-Identifier: Apache-2.0 */
/* Elements in isospin form, and the proton-neutron form of them:
 *
 *   V_pp = V_nn = V(T=1),  V_pn(ab,cd) = f (V(T=0) + V(T=1)),
 *   V_pn(ab,dc) = (-1)^(jc+jd-J) f (V(T=0) - V(T=1)),  f = sqrt((1+d_ab)(1+d_cd)) / 2. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "ci/angular.h"
#include "ci/input/readers.h"

void tg_ci_isospin_elements_free(tg_ci_isospin_elements* elements) {
  tg_free(elements->item);
  tg_free(elements->isospin);
  tg_ci_key_table_free(&elements->index);
  memset(elements, 0, sizeof *elements);
}

/* Kinetic elements, of order 1, are printed with five digits or more. */
static const double same_kinetic = 2e-5;

/* |ba;JT> = (-1)^(ja+jb-J+T) |ab;JT> */
static int exchange_sign(const tg_ci_shells* shells, int a, int b, int j, int isospin) {
  return tg_ci_sign((shells->shell[a].two_j + shells->shell[b].two_j) / 2 - j + isospin);
}

static void exchange(int* a, int* b) {
  int keep = *a;
  *a = *b;
  *b = keep;
}

static int order(const tg_ci_shells* shells, tg_ci_two_element* e, int isospin) {
  int sign = 1;
  if (e->a > e->b) {
    sign *= exchange_sign(shells, e->a, e->b, e->j, isospin);
    exchange(&e->a, &e->b);
  }
  if (e->c > e->d) {
    sign *= exchange_sign(shells, e->c, e->d, e->j, isospin);
    exchange(&e->c, &e->d);
  }
  if (e->a > e->c || (e->a == e->c && e->b > e->d)) {
    exchange(&e->a, &e->c);
    exchange(&e->b, &e->d);
  }
  return sign;
}

static const char* forbidden(const tg_ci_shells* shells, const tg_ci_two_element* e, int isospin) {
  const tg_ci_shell* s = shells->shell;
  if ((s[e->a].l + s[e->b].l + s[e->c].l + s[e->d].l) % 2) return "the parities differ";
  if (!tg_ci_triangle(s[e->a].two_j, s[e->b].two_j, 2 * e->j) ||
      !tg_ci_triangle(s[e->c].two_j, s[e->d].two_j, 2 * e->j))
    return "the orbits do not couple to this J";
  if ((e->j + isospin) % 2 == 0 && (e->a == e->b || e->c == e->d))
    return "two particles in one orbit have odd J + T";
  return NULL;
}

tg_status tg_ci_isospin_put(tg_ci_isospin_elements* elements, const tg_ci_shells* shells,
                            tg_ci_two_element e, int isospin, tg_place place) {
  const tg_ci_shell* s = shells->shell;
  const tg_ci_two_element given = e;
  const char* reason = forbidden(shells, &e, isospin);
  if (reason) {
    if (e.value.fixed == 0 && e.value.per_hw == 0) {
      elements->zeros++;
      return TG_OK;
    }
    return tg_fail_at(place,
                      "<%s %s|V|%s %s> with J = %d, T = %d is %g, but %s; expected no such element",
                      s[e.a].name + 1, s[e.b].name + 1, s[e.c].name + 1, s[e.d].name + 1, e.j,
                      isospin, e.value.fixed, reason);
  }
  const int sign = order(shells, &e, isospin);
  e.value.fixed *= sign;
  e.value.per_hw *= sign;
  const uint64_t key = UINT64_C(1) << 63 | (uint64_t)e.a << 45 | (uint64_t)e.b << 33 |
                       (uint64_t)e.c << 21 | (uint64_t)e.d << 9 | (uint64_t)e.j << 1 |
                       (uint64_t)isospin;
  const int64_t known = tg_ci_key_table_find(&elements->index, key);
  if (known != TG_CI_NO_KEY) {
    const tg_ci_two_element* first = &elements->item[known];
    if (fabs(first->value.fixed - e.value.fixed) >
            1.001 * (first->resolution + e.resolution) + 1e-12 * fabs(e.value.fixed) ||
        fabs(first->value.per_hw - e.value.per_hw) > same_kinetic)
      return tg_fail_at(
          place,
          "<%s %s|V|%s %s> with J = %d, T = %d is %.10g here, but line %d says %.10g "
          "for it (or its hermitian or exchanged partner); remove or mend one of them",
          s[given.a].name + 1, s[given.b].name + 1, s[given.c].name + 1, s[given.d].name + 1, e.j,
          isospin, given.value.fixed, first->line, sign * first->value.fixed);
    elements->duplicates++;
    return TG_OK;
  }
  TG_TRY(
      TG_RESERVE(elements->count + 1, "two-body elements", &elements->item, &elements->capacity));
  TG_TRY(TG_RESERVE(elements->count + 1, "two-body elements", &elements->isospin,
                    &elements->isospin_capacity));
  TG_TRY(tg_ci_key_table_add(&elements->index, key, (uint32_t)elements->count));
  elements->item[elements->count] = e;
  elements->isospin[elements->count++] = isospin;
  return TG_OK;
}

/* Adds a multiple of an element's value to that of other orbits. */
static tg_status add(const tg_ci_shells* shells, const tg_ci_two_element* e, const int orbits[4],
                     double factor, tg_ci_couplings* out) {
  tg_ci_two_element moved = *e;
  moved.a = orbits[0];
  moved.b = orbits[1];
  moved.c = orbits[2];
  moved.d = orbits[3];
  moved.resolution = fabs(factor) * e->resolution;
  return tg_ci_couplings_add_two(
      out, shells, moved,
      (tg_ci_value){.fixed = factor * e->value.fixed, .per_hw = factor * e->value.per_hw});
}

static tg_status expand_mixed(const tg_ci_shells* shells, const tg_ci_two_element* e, int isospin,
                              tg_ci_couplings* out) {
  const int p[4] = {e->a, e->b, e->c, e->d};
  int n[4];
  for (int i = 0; i < 4; i++) n[i] = tg_ci_shells_partner(shells, p[i]);
  const double factor = 0.5 * (e->a == e->b ? sqrt(2.0) : 1) * (e->c == e->d ? sqrt(2.0) : 1);
  const double left = factor * exchange_sign(shells, e->a, e->b, e->j, isospin);
  const double right = factor * exchange_sign(shells, e->c, e->d, e->j, isospin);
  const bool diagonal = e->a == e->c && e->b == e->d;
  TG_TRY(add(shells, e, (const int[]){p[0], n[1], p[2], n[3]}, factor, out));
  if (e->c != e->d) TG_TRY(add(shells, e, (const int[]){p[0], n[1], p[3], n[2]}, right, out));
  if (e->a == e->b) return TG_OK;
  /* of a diagonal element this is the hermitian partner of the one before */
  if (!diagonal) TG_TRY(add(shells, e, (const int[]){p[1], n[0], p[2], n[3]}, left, out));
  if (e->c == e->d) return TG_OK;
  return add(shells, e, (const int[]){p[1], n[0], p[3], n[2]}, left * right / factor, out);
}

tg_status tg_ci_isospin_expand(const tg_ci_isospin_elements* elements, const tg_ci_shells* shells,
                               tg_ci_couplings* out) {
  for (size_t i = 0; i < elements->count; i++) {
    const tg_ci_two_element* e = &elements->item[i];
    const int p[4] = {e->a, e->b, e->c, e->d};
    int n[4];
    for (int k = 0; k < 4; k++) n[k] = tg_ci_shells_partner(shells, p[k]);
    if (elements->isospin[i] == 1) {
      TG_TRY(add(shells, e, p, 1, out));
      TG_TRY(add(shells, e, n, 1, out));
    }
    TG_TRY(expand_mixed(shells, e, elements->isospin[i], out));
  }
  out->duplicates += elements->duplicates;
  out->zeros += elements->zeros;
  return TG_OK;
}
