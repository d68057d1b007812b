/* SPDX-License-Identifier: Apache-2.0 */
/* The Hamiltonian of integrals: with chemists' (ij|kl),
 *
 *   h(s,ij) = h_ij,  v(s,ij,kl) = (ik|jl) - (il|jk) of that spin,  w(ij,kl) = (ij|kl) of both. */
#include "ci/integrals.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

static void list_free(tg_ci_integral_list* list) {
  tg_free(list->item);
  tg_ci_key_table_free(&list->index);
}

void tg_ci_integrals_free(tg_ci_integrals* integrals) {
  if (!integrals) return;
  for (int s = 0; s < 2; s++) list_free(&integrals->one[s]);
  for (int s = 0; s < 3; s++) list_free(&integrals->two[s]);
  tg_free(integrals->label);
  memset(integrals, 0, sizeof *integrals);
}

static void exchange(int* a, int* b) {
  int keep = *a;
  *a = *b;
  *b = keep;
}

/* i >= j, k >= l; and (ij) >= (kl) where the two sides are alike. 11 bits an index, 0 for none. */
static uint64_t order(tg_ci_integral* g, bool fold) {
  if (g->i < g->j) exchange(&g->i, &g->j);
  if (g->k < g->l) exchange(&g->k, &g->l);
  if (fold && g->k >= 0 && (g->i < g->k || (g->i == g->k && g->j < g->l))) {
    exchange(&g->i, &g->k);
    exchange(&g->j, &g->l);
  }
  return UINT64_C(1) << 63 | (uint64_t)(g->i + 1) << 33 | (uint64_t)(g->j + 1) << 22 |
         (uint64_t)(g->k + 1) << 11 | (uint64_t)(g->l + 1);
}

tg_status tg_ci_integral_list_add(tg_ci_integral_list* list, tg_ci_integral integral, bool fold,
                                  const tg_ci_integral** known) {
  const uint64_t key = order(&integral, fold);
  const int64_t at = tg_ci_key_table_find(&list->index, key);
  *known = NULL;
  if (at != TG_CI_NO_KEY) {
    *known = &list->item[at];
    return TG_OK;
  }
  TG_TRY(TG_RESERVE(list->count + 1, "integrals", &list->item, &list->capacity));
  TG_TRY(tg_ci_key_table_add(&list->index, key, (uint32_t)list->count));
  list->item[list->count++] = integral;
  return TG_OK;
}

static double find(const tg_ci_integral_list* list, tg_ci_integral wanted, bool fold) {
  const int64_t at = tg_ci_key_table_find(&list->index, order(&wanted, fold));
  return at == TG_CI_NO_KEY ? 0 : list->item[at].value;
}

double tg_ci_integrals_one(const tg_ci_integrals* integrals, int spin, int i, int j) {
  const tg_ci_integral wanted = {.i = i, .j = j, .k = -1, .l = -1};
  return find(&integrals->one[integrals->unrestricted ? spin : 0], wanted, false);
}

double tg_ci_integrals_two(const tg_ci_integrals* integrals, int kind, int i, int j, int k, int l) {
  const tg_ci_integral wanted = {.i = i, .j = j, .k = k, .l = l};
  const bool fold = !integrals->unrestricted || kind != TG_CI_AB;
  return find(&integrals->two[integrals->unrestricted ? kind : TG_CI_AA], wanted, fold);
}

static tg_status create(const tg_ci_integrals* integrals, tg_ci_hamiltonian** out) {
  const size_t n = integrals->orbitals;
  tg_ci_orbital* orbitals = NULL;
  TG_TRY(TG_ALLOCATE(n, "orbitals", &orbitals));
  for (size_t i = 0; i < n; i++)
    orbitals[i] = (tg_ci_orbital){.symmetry = integrals->label[i], .shell = (uint16_t)i};
  tg_status status = tg_ci_hamiltonian_create(n, orbitals, n, orbitals, out);
  tg_free(orbitals);
  return status;
}

static bool allowed(const tg_ci_integrals* g, int i, int j, int k, int l) {
  return (g->label[i] ^ g->label[j] ^ g->label[k] ^ g->label[l]) == 0;
}

/* The tuples (ij|kl) that an integral stands for, each once; returns how many. */
static int equal_tuples(const tg_ci_integral* g, int tuples[8][4]) {
  const int swapped[2][4] = {{g->i, g->j, g->k, g->l}, {g->k, g->l, g->i, g->j}};
  int count = 0;
  for (int way = 0; way < 8; way++) {
    const int* o = swapped[way & 1];
    const int tuple[4] = {way & 2 ? o[1] : o[0], way & 2 ? o[0] : o[1], way & 4 ? o[3] : o[2],
                          way & 4 ? o[2] : o[3]};
    bool known = false;
    for (int c = 0; c < count; c++) known = known || memcmp(tuples[c], tuple, sizeof tuple) == 0;
    if (!known) memcpy(tuples[count++], tuple, sizeof tuple);
  }
  return count;
}

/* v(pq,rs) = (pr|qs) - (ps|qr): a tuple (ij|kl) adds to v(ik,jl) or, with j > l, takes from
 * v(ik,lj). One of v(pq,rs) and v(rs,pq) is enough. Loops over what is stored: most of many
 * orbitals is zero. */
static tg_status add_like(int spin, const tg_ci_integral* g, tg_ci_hamiltonian* h) {
  int tuples[8][4];
  const int count = equal_tuples(g, tuples);
  for (int c = 0; c < count; c++) {
    const int p = tuples[c][0], q = tuples[c][2];
    int r = tuples[c][1], s = tuples[c][3];
    double value = g->value;
    if (p >= q || r == s) continue;
    if (r > s) {
      exchange(&r, &s);
      value = -value;
    }
    if (r < p || (r == p && s < q)) continue;
    value += tg_ci_hamiltonian_two(h, spin, p, q, r, s);
    TG_TRY(tg_ci_hamiltonian_set_two(h, spin, p, q, r, s, value));
  }
  return TG_OK;
}

static tg_status set_like(const tg_ci_integrals* g, int spin, tg_ci_hamiltonian* h) {
  const tg_ci_integral_list* one = &g->one[g->unrestricted ? spin : 0];
  const tg_ci_integral_list* two = &g->two[g->unrestricted ? spin : TG_CI_AA];
  for (size_t x = 0; x < one->count; x++) {
    const tg_ci_integral* e = &one->item[x];
    if (g->label[e->i] == g->label[e->j])
      TG_TRY(tg_ci_hamiltonian_set_one(h, spin, e->i, e->j, e->value));
  }
  for (size_t x = 0; x < two->count; x++) {
    const tg_ci_integral* e = &two->item[x];
    if (allowed(g, e->i, e->j, e->k, e->l)) TG_TRY(add_like(spin, e, h));
  }
  return TG_OK;
}

/* w(ij,kl) = w(ji,lk) = (ij|kl), which is (ji|kl), and of restricted orbitals (kl|ij). */
static tg_status set_cross(const tg_ci_integrals* g, tg_ci_hamiltonian* h) {
  const tg_ci_integral_list* two = &g->two[g->unrestricted ? TG_CI_AB : TG_CI_AA];
  for (size_t x = 0; x < two->count; x++) {
    const tg_ci_integral* e = &two->item[x];
    if (!allowed(g, e->i, e->j, e->k, e->l)) continue;
    TG_TRY(tg_ci_hamiltonian_set_cross(h, e->i, e->j, e->k, e->l, e->value));
    TG_TRY(tg_ci_hamiltonian_set_cross(h, e->j, e->i, e->k, e->l, e->value));
    if (g->unrestricted) continue;
    TG_TRY(tg_ci_hamiltonian_set_cross(h, e->k, e->l, e->i, e->j, e->value));
    TG_TRY(tg_ci_hamiltonian_set_cross(h, e->l, e->k, e->i, e->j, e->value));
  }
  return TG_OK;
}

tg_status tg_ci_integrals_hamiltonian(const tg_ci_integrals* integrals, tg_ci_hamiltonian** out) {
  tg_ci_hamiltonian* h = NULL;
  tg_status status = TG_OK;
  TG_TRY(create(integrals, &h));
  tg_ci_hamiltonian_set_constant(h, integrals->core);
  for (int spin = 0; spin < 2; spin++) TG_TRY_GOTO(set_like(integrals, spin, h), failed);
  TG_TRY_GOTO(set_cross(integrals, h), failed);
  *out = h;
  return TG_OK;
failed:
  tg_ci_hamiltonian_free(h);
  return status;
}

/* ---- S^2 ---- */

enum { ALIKE_DIGITS = 8 };

/* The largest difference between the spins' integrals. */
static double spin_difference(const tg_ci_integrals* g) {
  double most = 0;
  for (int s = 0; s < 2; s++)
    for (size_t i = 0; i < g->one[s].count; i++) {
      const tg_ci_integral* e = &g->one[s].item[i];
      most = fmax(most, fabs(e->value - tg_ci_integrals_one(g, 1 - s, e->i, e->j)));
    }
  for (int kind = 0; kind < 3; kind++)
    for (size_t i = 0; i < g->two[kind].count; i++) {
      const tg_ci_integral* e = &g->two[kind].item[i];
      for (int other = 0; other < 3; other++)
        most = fmax(most, fabs(e->value - tg_ci_integrals_two(g, other, e->i, e->j, e->k, e->l)));
    }
  return most;
}

/* S^2 = Sz (Sz + 1) + N_beta - sum_pq a+_q a_p b+_p b_q for orbitals that are the same for both. */
tg_status tg_ci_integrals_spin_squared(const tg_ci_integrals* integrals, int alpha, int beta,
                                       tg_ci_hamiltonian** out) {
  if (integrals->unrestricted) {
    const double difference = spin_difference(integrals);
    if (difference > pow(10, -ALIKE_DIGITS))
      return tg_fail(
          TG_ERR_INPUT,
          "S^2 needs the overlaps of alpha and beta orbitals, which an unrestricted dump "
          "does not hold (their integrals differ by up to %.3g); use restricted orbitals",
          difference);
  }
  tg_ci_hamiltonian* h = NULL;
  tg_status status = TG_OK;
  const int n = (int)integrals->orbitals;
  const double sz = 0.5 * (alpha - beta);
  TG_TRY(create(integrals, &h));
  tg_ci_hamiltonian_set_constant(h, sz * (sz + 1) + beta);
  for (int p = 0; p < n; p++)
    for (int q = 0; q < n; q++) TG_TRY_GOTO(tg_ci_hamiltonian_set_cross(h, q, p, p, q, -1), failed);
  *out = h;
  return TG_OK;
failed:
  tg_ci_hamiltonian_free(h);
  return status;
}
