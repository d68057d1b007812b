/* SPDX-License-Identifier: Apache-2.0 */
/* The store of J-coupled elements: lists in the order of the input, and hash tables by orbits and
 * J. */
#include "ci/couplings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "ci/angular.h"

void tg_ci_couplings_free(tg_ci_couplings* couplings) {
  tg_free(couplings->one);
  tg_free(couplings->two);
  tg_ci_key_table_free(&couplings->one_index);
  tg_ci_key_table_free(&couplings->two_index);
  memset(couplings, 0, sizeof *couplings);
}

/* orbits take 12 bits each, J 8; the top bit keeps keys away from 0 */
static uint64_t key_of(int a, int b, int c, int d, int j) {
  return UINT64_C(1) << 63 | (uint64_t)a << 44 | (uint64_t)b << 32 | (uint64_t)c << 20 |
         (uint64_t)d << 8 | (uint64_t)j;
}

static void exchange(int* a, int* b) {
  int keep = *a;
  *a = *b;
  *b = keep;
}

/* |ab;J> = -(-1)^(ja+jb-J) |ba;J> */
static int exchange_sign(const tg_ci_shells* shells, int a, int b, int j) {
  return -tg_ci_sign((shells->shell[a].two_j + shells->shell[b].two_j) / 2 - j);
}

int tg_ci_two_order(const tg_ci_shells* shells, tg_ci_two_element* e) {
  int sign = 1;
  if (e->a > e->b) {
    sign *= exchange_sign(shells, e->a, e->b, e->j);
    exchange(&e->a, &e->b);
  }
  if (e->c > e->d) {
    sign *= exchange_sign(shells, e->c, e->d, e->j);
    exchange(&e->c, &e->d);
  }
  if (e->a > e->c || (e->a == e->c && e->b > e->d)) {
    exchange(&e->a, &e->c);
    exchange(&e->b, &e->d);
  }
  return sign;
}

/* Two values of one element, of the given resolutions, say different things. */
static bool disagree(tg_ci_value x, tg_ci_value y, double resolution) {
  double fixed = fabs(x.fixed - y.fixed), per_hw = fabs(x.per_hw - y.per_hw);
  double rounding = 1e-12 * (fabs(x.fixed) + fabs(x.per_hw));
  return fmax(fixed, per_hw) > 1.001 * resolution + rounding;
}

/* What the value of an element is, for messages: the part that is there. */
static double shown(tg_ci_value value) { return value.fixed != 0 ? value.fixed : value.per_hw; }

tg_status tg_ci_couplings_put_one(tg_ci_couplings* couplings, const tg_ci_shells* shells,
                                  tg_ci_one_element e, tg_place place) {
  const tg_ci_shell *a = &shells->shell[e.a], *b = &shells->shell[e.b];
  if (a->species != b->species || a->l != b->l || a->two_j != b->two_j) {
    if (e.value.fixed == 0 && e.value.per_hw == 0) {
      couplings->zeros++;
      return TG_OK;
    }
    return tg_fail_at(place,
                      "a one-body element of %g between %s and %s; only orbits of the same "
                      "species, l and j can mix",
                      shown(e.value), a->name, b->name);
  }
  if (e.a > e.b) exchange(&e.a, &e.b);
  uint64_t key = key_of(e.a, e.b, 0, 0, 0);
  int64_t known = tg_ci_key_table_find(&couplings->one_index, key);
  if (known != TG_CI_NO_KEY) {
    const tg_ci_one_element* first = &couplings->one[known];
    if (disagree(first->value, e.value, first->resolution + e.resolution))
      return tg_fail_at(place,
                        "the one-body element of %s and %s is %.10g here and %.10g in line %d; an "
                        "element and its transpose must be equal: remove one of them",
                        a->name, b->name, shown(e.value), shown(first->value), first->line);
    couplings->duplicates++;
    return TG_OK;
  }
  TG_TRY(TG_RESERVE(couplings->one_count + 1, "one-body elements", &couplings->one,
                    &couplings->one_capacity));
  TG_TRY(tg_ci_key_table_add(&couplings->one_index, key, (uint32_t)couplings->one_count));
  couplings->one[couplings->one_count++] = e;
  return TG_OK;
}

/* Why there can be no element of these orbits; NULL where there can. */
static const char* forbidden(const tg_ci_shells* shells, const tg_ci_two_element* e) {
  const tg_ci_shell* s = shells->shell;
  if (tg_ci_pair_kind(shells, e->a, e->b) != tg_ci_pair_kind(shells, e->c, e->d))
    return "the two sides have different numbers of protons";
  if ((s[e->a].l + s[e->b].l + s[e->c].l + s[e->d].l) % 2) return "the parities differ";
  if (!tg_ci_triangle(s[e->a].two_j, s[e->b].two_j, 2 * e->j) ||
      !tg_ci_triangle(s[e->c].two_j, s[e->d].two_j, 2 * e->j))
    return "the orbits do not couple to this J";
  if (e->j % 2 && (e->a == e->b || e->c == e->d))
    return "two particles in one orbit couple to even J only";
  return NULL;
}

tg_status tg_ci_couplings_put_two(tg_ci_couplings* couplings, const tg_ci_shells* shells,
                                  tg_ci_two_element e, tg_place place) {
  const tg_ci_shell* s = shells->shell;
  const tg_ci_two_element given = e;
  const char* reason = forbidden(shells, &e);
  if (reason) {
    if (e.value.fixed == 0 && e.value.per_hw == 0) {
      couplings->zeros++;
      return TG_OK;
    }
    return tg_fail_at(place, "<%s %s|V|%s %s> with J = %d is %g, but %s; expected no such element",
                      s[e.a].name, s[e.b].name, s[e.c].name, s[e.d].name, e.j, shown(e.value),
                      reason);
  }
  int sign = tg_ci_two_order(shells, &e);
  e.value.fixed *= sign;
  e.value.per_hw *= sign;
  uint64_t key = key_of(e.a, e.b, e.c, e.d, e.j);
  int64_t known = tg_ci_key_table_find(&couplings->two_index, key);
  if (known != TG_CI_NO_KEY) {
    const tg_ci_two_element* first = &couplings->two[known];
    double mismatch =
        fmax(fabs(first->value.fixed - e.value.fixed), fabs(first->value.per_hw - e.value.per_hw));
    if (disagree(first->value, e.value, first->resolution + e.resolution))
      return tg_fail_at(place,
                        "<%s %s|V|%s %s> with J = %d is %.10g here, but line %d says %.10g for it "
                        "(or its hermitian or exchanged partner); remove or mend one of them",
                        s[given.a].name, s[given.b].name, s[given.c].name, s[given.d].name, e.j,
                        shown(given.value), first->line, sign * shown(first->value));
    couplings->duplicates++;
    if (mismatch > couplings->duplicate_mismatch) couplings->duplicate_mismatch = mismatch;
    return TG_OK;
  }
  TG_TRY(TG_RESERVE(couplings->two_count + 1, "two-body elements", &couplings->two,
                    &couplings->two_capacity));
  TG_TRY(tg_ci_key_table_add(&couplings->two_index, key, (uint32_t)couplings->two_count));
  couplings->two[couplings->two_count++] = e;
  return TG_OK;
}

const tg_ci_one_element* tg_ci_couplings_one(const tg_ci_couplings* couplings, int a, int b) {
  if (a > b) exchange(&a, &b);
  int64_t known = tg_ci_key_table_find(&couplings->one_index, key_of(a, b, 0, 0, 0));
  return known == TG_CI_NO_KEY ? NULL : &couplings->one[known];
}

const tg_ci_two_element* tg_ci_couplings_two(const tg_ci_couplings* couplings,
                                             const tg_ci_shells* shells, const int orbits[4], int j,
                                             int* sign) {
  tg_ci_two_element e = {.a = orbits[0], .b = orbits[1], .c = orbits[2], .d = orbits[3], .j = j};
  *sign = tg_ci_two_order(shells, &e);
  int64_t known = tg_ci_key_table_find(&couplings->two_index, key_of(e.a, e.b, e.c, e.d, e.j));
  return known == TG_CI_NO_KEY ? NULL : &couplings->two[known];
}

tg_status tg_ci_couplings_add_one(tg_ci_couplings* couplings, const tg_ci_shells* shells,
                                  tg_ci_one_element e, tg_ci_value value) {
  const tg_ci_one_element* known = tg_ci_couplings_one(couplings, e.a, e.b);
  if (known) {
    tg_ci_value* sum = &couplings->one[known - couplings->one].value;
    sum->fixed += value.fixed;
    sum->per_hw += value.per_hw;
    return TG_OK;
  }
  e.value = value;
  return tg_ci_couplings_put_one(couplings, shells, e, (tg_place){"a sum of elements", 0, 0});
}

tg_status tg_ci_couplings_add_two(tg_ci_couplings* couplings, const tg_ci_shells* shells,
                                  tg_ci_two_element e, tg_ci_value value) {
  int sign = 1;
  const tg_ci_two_element* known =
      tg_ci_couplings_two(couplings, shells, (const int[]){e.a, e.b, e.c, e.d}, e.j, &sign);
  if (known) {
    tg_ci_value* sum = &couplings->two[known - couplings->two].value;
    sum->fixed += sign * value.fixed;
    sum->per_hw += sign * value.per_hw;
    return TG_OK;
  }
  e.value = value;
  return tg_ci_couplings_put_two(couplings, shells, e, (tg_place){"a sum of elements", 0, 0});
}
