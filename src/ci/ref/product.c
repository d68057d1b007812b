/* SPDX-License-Identifier: Apache-2.0 */
#include "ci/ref/product.h"

#include <stdbool.h>
#include <string.h>

#include "base/memory.h"

/* One occupied set with its sign; all orbitals, those of B behind those of A. */
typedef struct picture {
  const tg_ci_hamiltonian* h;
  const tg_ci_space* space;
  size_t orbitals[2];
  bool* occupied;    /* [orbitals of A + of B] */
  uint16_t* list[2]; /* [particles] */
  double factor;
  double* y;
} picture;

/* a_q, or a+_q where create: the sign it gives, 0 for nothing left. */
static int act(picture* p, size_t q, bool create) {
  if (p->occupied[q] == create) return 0;
  int sign = 1;
  for (size_t o = 0; o < q; o++)
    if (p->occupied[o]) sign = -sign;
  p->occupied[q] = create;
  return sign;
}

/* Adds value times what the picture shows to y. */
static void add(picture* p, double value) {
  size_t number[2];
  for (int t = 0; t < 2; t++) {
    const tg_ci_strings* strings = &p->space->strings[t];
    const size_t first = t ? p->orbitals[0] : 0;
    int k = 0;
    for (size_t o = 0; o < p->orbitals[t]; o++)
      if (p->occupied[first + o]) p->list[t][k++] = (uint16_t)o;
    number[t] = tg_ci_strings_find(strings, p->list[t], tg_ci_strings_mark(strings, p->list[t]));
    if (number[t] == SIZE_MAX) return;
  }
  const uint64_t state = tg_ci_space_state(p->space, number[0], number[1]);
  if (state != UINT64_MAX) p->y[state] += p->factor * value;
}

static void one_body(picture* p, int t) {
  const size_t first = t ? p->orbitals[0] : 0, n = p->orbitals[t];
  for (size_t j = 0; j < n; j++) {
    const int sign_j = act(p, first + j, false);
    if (!sign_j) continue;
    for (size_t i = 0; i < n; i++) {
      const double value = tg_ci_hamiltonian_one(p->h, t, (int)i, (int)j);
      const int sign_i = act(p, first + i, true);
      if (!sign_i) continue;
      if (value != 0) add(p, sign_i * sign_j * value);
      p->occupied[first + i] = false;
    }
    p->occupied[first + j] = true;
  }
}

/* a+_i a+_j a_l a_k, v(ij, kl), for the pair k < l that is taken away. */
static void put_pairs(picture* p, int t, size_t k, size_t l, int sign) {
  const size_t first = t ? p->orbitals[0] : 0, n = p->orbitals[t];
  const tg_ci_orbital* o;
  tg_ci_hamiltonian_orbitals(p->h, t, &o);
  const uint32_t* members;
  const size_t count = tg_ci_hamiltonian_pairs(p->h, t, o[k].two_m + o[l].two_m,
                                               (unsigned)(o[k].symmetry ^ o[l].symmetry), &members);
  for (size_t c = 0; c < count; c++) {
    const size_t i = members[c] / n, j = members[c] % n;
    const int sign_j = act(p, first + j, true);
    if (!sign_j) continue;
    const int sign_i = act(p, first + i, true);
    if (sign_i) {
      const double value = tg_ci_hamiltonian_two(p->h, t, (int)i, (int)j, (int)k, (int)l);
      if (value != 0) add(p, sign * sign_j * sign_i * value);
      p->occupied[first + i] = false;
    }
    p->occupied[first + j] = false;
  }
}

static void two_body(picture* p, int t) {
  const size_t first = t ? p->orbitals[0] : 0, n = p->orbitals[t];
  for (size_t k = 0; k < n; k++) {
    const int sign_k = act(p, first + k, false);
    if (!sign_k) continue;
    for (size_t l = k + 1; l < n; l++) {
      const int sign_l = act(p, first + l, false);
      if (!sign_l) continue;
      put_pairs(p, t, k, l, sign_k * sign_l);
      p->occupied[first + l] = true;
    }
    p->occupied[first + k] = true;
  }
}

/* a+_i a_j, w(ij, kl), for b+_k b_l done with this sign. */
static void cross_a(picture* p, size_t k, size_t l, int sign) {
  const tg_ci_orbital* o;
  const size_t n = p->orbitals[0];
  tg_ci_hamiltonian_orbitals(p->h, 1, &o);
  const uint32_t* members;
  const size_t count = tg_ci_hamiltonian_transitions(
      p->h, 0, o[l].two_m - o[k].two_m, (unsigned)(o[k].symmetry ^ o[l].symmetry), &members);
  for (size_t c = 0; c < count; c++) {
    const size_t i = members[c] / n, j = members[c] % n;
    const int sign_j = act(p, j, false);
    if (!sign_j) continue;
    const int sign_i = act(p, i, true);
    if (sign_i) {
      const double value = tg_ci_hamiltonian_cross(p->h, (int)i, (int)j, (int)k, (int)l);
      if (value != 0) add(p, sign * sign_j * sign_i * value);
      p->occupied[i] = false;
    }
    p->occupied[j] = true;
  }
}

static void cross(picture* p) {
  const size_t na = p->orbitals[0], nb = p->orbitals[1];
  for (size_t l = 0; l < nb; l++) {
    const int sign_l = act(p, na + l, false);
    if (!sign_l) continue;
    for (size_t k = 0; k < nb; k++) {
      const int sign_k = act(p, na + k, true);
      if (!sign_k) continue;
      cross_a(p, k, l, sign_l * sign_k);
      p->occupied[na + k] = false;
    }
    p->occupied[na + l] = true;
  }
}

tg_status tg_ci_ref_column(const tg_ci_hamiltonian* h, const tg_ci_space* space, uint64_t state,
                           double factor, double* y) {
  tg_status status = TG_OK;
  picture p = {.h = h, .space = space, .factor = factor, .y = y};
  size_t number[2];
  tg_ci_space_strings(space, state, &number[0], &number[1]);
  for (int t = 0; t < 2; t++) {
    p.orbitals[t] = tg_ci_hamiltonian_orbitals(h, t, NULL);
    TG_TRY_GOTO(TG_ALLOCATE((size_t)space->strings[t].particles + 1, "orbitals", &p.list[t]), done);
  }
  TG_TRY_GOTO(TG_ALLOCATE(p.orbitals[0] + p.orbitals[1] + 1, "orbitals", &p.occupied), done);
  for (int t = 0; t < 2; t++)
    for (int k = 0; k < space->strings[t].particles; k++)
      p.occupied[(t ? p.orbitals[0] : 0) + tg_ci_string(&space->strings[t], number[t])[k]] = true;
  y[state] += factor * tg_ci_hamiltonian_constant(h);
  for (int t = 0; t < 2; t++) {
    one_body(&p, t);
    two_body(&p, t);
  }
  cross(&p);
done:
  TG_FREE(p.occupied);
  TG_FREE(p.list[0]);
  TG_FREE(p.list[1]);
  return status;
}

tg_status tg_ci_ref_apply(const tg_ci_hamiltonian* h, const tg_ci_space* space, const double* x,
                          double* y) {
  memset(y, 0, (size_t)space->dimension * sizeof *y);
  for (uint64_t state = 0; state < space->dimension; state++)
    if (x[state] != 0) TG_TRY(tg_ci_ref_column(h, space, state, x[state], y));
  return TG_OK;
}
