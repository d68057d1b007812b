/* SPDX-License-Identifier: Apache-2.0 */
#include "ci/rdm.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "ci/integrals.h"
#include "ci/overlap.h"
#include "ci/removal.h"

void tg_ci_rdm_free(tg_ci_rdm* r) {
  if (!r) return;
  for (int s = 0; s < 2; s++) tg_free(r->one[s]);
  for (int k = 0; k < 3; k++) tg_free(r->two[k]);
  memset(r, 0, sizeof *r);
}

double tg_ci_rdm_bytes(const tg_ci_hamiltonian* h, bool two) {
  double n[2], numbers = 0;
  for (int s = 0; s < 2; s++) {
    n[s] = (double)tg_ci_hamiltonian_orbitals(h, s, NULL);
    numbers += n[s] * n[s];
    if (two) numbers += 0.25 * n[s] * n[s] * (n[s] - 1) * (n[s] - 1);
  }
  if (two) numbers += n[0] * n[0] * n[1] * n[1];
  return numbers * sizeof(double);
}

static tg_status reduce(const tg_ci_hamiltonian* h, tg_ci_state_vector bra, tg_ci_state_vector ket,
                        int of_a, int of_b, int threads, double** out) {
  const tg_ci_side side[2] = {{.space = bra.space, .x = bra.x, .removed = {of_a, of_b}},
                              {.space = ket.space, .x = ket.x, .removed = {of_a, of_b}}};
  const size_t sets = tg_ci_side_sets(h, &side[0]);
  TG_TRY(TG_ALLOCATE(sets * sets, "a density matrix", out));
  return sets ? tg_ci_overlaps(h, &side[0], &side[1], threads, *out) : TG_OK;
}

tg_status tg_ci_rdm_make(const tg_ci_hamiltonian* h, tg_ci_state_vector bra, tg_ci_state_vector ket,
                         bool two, int threads, tg_ci_rdm* out) {
  tg_ci_rdm r = {0};
  double* overlap = NULL;
  tg_status status = TG_OK;
  for (int s = 0; s < 2; s++) {
    r.orbitals[s] = tg_ci_hamiltonian_orbitals(h, s, NULL);
    r.pairs[s] = tg_ci_sets(r.orbitals[s], 2);
    r.particles[s] = ket.space->strings[s].particles;
    TG_TRY_GOTO(reduce(h, bra, ket, s == 0, s == 1, threads, &r.one[s]), failed);
  }
  TG_TRY_GOTO(reduce(h, bra, ket, 0, 0, threads, &overlap), failed);
  r.overlap = *overlap;
  TG_FREE(overlap);
  if (two) {
    TG_TRY_GOTO(reduce(h, bra, ket, 2, 0, threads, &r.two[TG_CI_AA]), failed);
    TG_TRY_GOTO(reduce(h, bra, ket, 0, 2, threads, &r.two[TG_CI_BB]), failed);
    TG_TRY_GOTO(reduce(h, bra, ket, 1, 1, threads, &r.two[TG_CI_AB]), failed);
  }
  *out = r;
  return TG_OK;
failed:
  tg_free(overlap);
  tg_ci_rdm_free(&r);
  return status;
}

/* ---- expectation values ---- */

static double one_body(const tg_ci_hamiltonian* o, const tg_ci_rdm* r, int s) {
  const size_t n = r->orbitals[s];
  double sum = 0;
  for (size_t p = 0; p < n; p++)
    for (size_t q = 0; q < n; q++)
      sum += tg_ci_hamiltonian_one(o, s, (int)p, (int)q) * r->one[s][p * n + q];
  return sum;
}

/* Pairs p < q in their order. */
static void next_pair(int* p, int* q) {
  if (++*p < *q) return;
  *p = 0;
  ++*q;
}

static double two_body(const tg_ci_hamiltonian* o, const tg_ci_rdm* r, int s) {
  const double* two = r->two[s ? TG_CI_BB : TG_CI_AA];
  double sum = 0;
  int i = 0, j = 1;
  for (size_t ij = 0; ij < r->pairs[s]; ij++, next_pair(&i, &j)) {
    int k = 0, l = 1;
    for (size_t kl = 0; kl < r->pairs[s]; kl++, next_pair(&k, &l)) {
      const double density = two[ij * r->pairs[s] + kl];
      if (density != 0) sum += tg_ci_hamiltonian_two(o, s, i, j, k, l) * density;
    }
  }
  return sum;
}

static double cross(const tg_ci_hamiltonian* o, const tg_ci_rdm* r) {
  const int na = (int)r->orbitals[0], nb = (int)r->orbitals[1];
  const double* density = r->two[TG_CI_AB];
  double sum = 0;
  for (int i = 0; i < na; i++)
    for (int k = 0; k < nb; k++)
      for (int j = 0; j < na; j++)
        for (int l = 0; l < nb; l++, density++)
          if (*density != 0) sum += tg_ci_hamiltonian_cross(o, i, j, k, l) * *density;
  return sum;
}

double tg_ci_rdm_expectation(const tg_ci_hamiltonian* o, const tg_ci_rdm* r) {
  return tg_ci_hamiltonian_constant(o) * r->overlap + one_body(o, r, 0) + one_body(o, r, 1) +
         two_body(o, r, 0) + two_body(o, r, 1) + cross(o, r);
}

/* ---- elements in any order ---- */

double tg_ci_rdm_two(const tg_ci_rdm* rdm, int kind, size_t p, size_t q, size_t r, size_t s) {
  const size_t nb = rdm->orbitals[1];
  if (kind == TG_CI_AB) return rdm->two[kind][(p * nb + q) * rdm->orbitals[0] * nb + r * nb + s];
  if (p == q || r == s) return 0;
  const double sign = (p < q) == (r < s) ? 1 : -1;
  const size_t pq = p < q ? q * (q - 1) / 2 + p : p * (p - 1) / 2 + q;
  const size_t rs = r < s ? s * (s - 1) / 2 + r : r * (r - 1) / 2 + s;
  return sign * rdm->two[kind][pq * rdm->pairs[kind == TG_CI_BB] + rs];
}

/* ---- checks ---- */

static double asymmetry(const double* m, size_t n) {
  double most = 0;
  for (size_t i = 0; m && i < n; i++)
    for (size_t j = 0; j < i; j++) most = fmax(most, fabs(m[i * n + j] - m[j * n + i]));
  return most;
}

static double trace_error(const double* m, size_t n, double expected) {
  double sum = -expected;
  for (size_t i = 0; i < n; i++) sum += m[i * n + i];
  return fabs(sum);
}

/* sum_q <a+_p x+_q x_q a_r> = (particles of x, less one of the same) <a+_p a_r>. */
static double partial_error(const tg_ci_rdm* r, int species, int other) {
  const size_t n = r->orbitals[species], m = r->orbitals[other];
  const double factor = r->particles[other] - (species == other);
  double most = 0;
  for (size_t p = 0; p < n; p++)
    for (size_t k = 0; k < n; k++) {
      double sum = -factor * r->one[species][p * n + k];
      for (size_t q = 0; q < m; q++) {
        if (species == other)
          sum += tg_ci_rdm_two(r, species ? TG_CI_BB : TG_CI_AA, p, q, k, q);
        else
          sum += species == 0 ? tg_ci_rdm_two(r, TG_CI_AB, p, q, k, q)
                              : tg_ci_rdm_two(r, TG_CI_AB, q, p, q, k);
      }
      most = fmax(most, fabs(sum));
    }
  return most;
}

tg_ci_rdm_check tg_ci_rdm_verify(const tg_ci_rdm* r) {
  tg_ci_rdm_check c = {0};
  const size_t cross_sets = r->orbitals[0] * r->orbitals[1];
  for (int s = 0; s < 2; s++) {
    c.trace_one = fmax(c.trace_one, trace_error(r->one[s], r->orbitals[s], r->particles[s]));
    c.asymmetry = fmax(c.asymmetry, asymmetry(r->one[s], r->orbitals[s]));
  }
  if (!r->two[TG_CI_AB]) return c;
  for (int s = 0; s < 2; s++) {
    const double* two = r->two[s ? TG_CI_BB : TG_CI_AA];
    const double pairs = 0.5 * r->particles[s] * (r->particles[s] - 1);
    c.trace_two = fmax(c.trace_two, trace_error(two, r->pairs[s], pairs));
    c.asymmetry = fmax(c.asymmetry, asymmetry(two, r->pairs[s]));
    for (int other = 0; other < 2; other++)
      c.partial_trace = fmax(c.partial_trace, partial_error(r, s, other));
  }
  c.trace_two = fmax(c.trace_two, trace_error(r->two[TG_CI_AB], cross_sets,
                                              (double)r->particles[0] * r->particles[1]));
  c.asymmetry = fmax(c.asymmetry, asymmetry(r->two[TG_CI_AB], cross_sets));
  return c;
}

/* ---- spin-summed ---- */

void tg_ci_rdm_sum_one(const tg_ci_rdm* r, double* dm1) {
  const size_t n = r->orbitals[0];
  for (size_t p = 0; p < n; p++)
    for (size_t q = 0; q < n; q++) dm1[p * n + q] = r->one[0][q * n + p] + r->one[1][q * n + p];
}

void tg_ci_rdm_sum_two(const tg_ci_rdm* rdm, double* dm2) {
  const size_t n = rdm->orbitals[0];
  for (size_t p = 0; p < n; p++)
    for (size_t q = 0; q < n; q++)
      for (size_t r = 0; r < n; r++)
        for (size_t s = 0; s < n; s++)
          dm2[((p * n + q) * n + r) * n + s] =
              tg_ci_rdm_two(rdm, TG_CI_AA, p, r, q, s) + tg_ci_rdm_two(rdm, TG_CI_BB, p, r, q, s) +
              tg_ci_rdm_two(rdm, TG_CI_AB, p, r, q, s) + tg_ci_rdm_two(rdm, TG_CI_AB, r, p, s, q);
}
