/* SPDX-License-Identifier: Apache-2.0 */
/* One-body densities and operators between spaces against operators applied one by one. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <float.h>
#include <math.h>
#include <string.h>

#include "ci/density.h"
#include "ci/ref/density.h"
#include "ci/shells.h"

static double* vectors(size_t count, size_t n, uint64_t seed) {
  double* x = NULL;
  assert_int_equal(TG_ALLOCATE(count * n, "vectors", &x), TG_OK);
  for (size_t i = 0; i < count * n; i++) x[i] = shell_random(seed, i);
  return x;
}

static tg_ci_space* make(const tg_ci_hamiltonian* h, const tg_ci_space_params* params) {
  tg_ci_space* s = NULL;
  if (tg_ci_space_make(h, params, &s) != TG_OK) fail_msg("%s", tg_last_error());
  return s;
}

/* A sum of n products of numbers below 1 in another order: an error of n DBL_EPSILON n / 2 is never
 * reached. */
static double tolerance(const tg_ci_space* s) {
  const double n = (double)s->dimension + 8;
  return n * n * DBL_EPSILON;
}

/* Position of an operator's orbitals in the one order of all. */
static size_t place(const tg_ci_density* d, int species, size_t orbital) {
  return orbital + (species ? d->orbitals[0] : 0);
}

/* Every operator of the plan, of all pairs of states, and sums of operators on a state; and that no
 * operator of the space's change is missing in the plan. */
static void check(const tg_ci_hamiltonian* h, const tg_ci_space_params* to,
                  const tg_ci_space_params* from, int change) {
  enum { FINALS = 3, INITIALS = 2 };
  tg_ci_space *f = make(h, to), *i = to == from ? f : make(h, from);
  tg_ci_density d;
  if (tg_ci_density_plan(h, f, i, change, 2, &d) != TG_OK) fail_msg("%s", tg_last_error());
  const size_t nf = (size_t)f->dimension, ni = (size_t)i->dimension;
  double *vf = vectors(FINALS, nf, 5), *vi = vectors(INITIALS, ni, 6), *y = vectors(1, nf, 7);
  double *rho = vectors(FINALS * INITIALS, d.count + 1, 8), *again = NULL, expected;
  assert_int_equal(TG_ALLOCATE(FINALS * INITIALS * d.count + 1, "rho", &again), TG_OK);
  const tg_ci_vectors finals = {FINALS, nf, vf}, initials = {INITIALS, ni, vi};
  assert_int_equal(tg_ci_density_compute(&d, finals, initials, 1, rho), TG_OK);
  assert_int_equal(tg_ci_density_compute(&d, finals, initials, 3, again), TG_OK);
  assert_memory_equal(rho, again, FINALS * INITIALS * d.count * sizeof *rho);
  const double limit = tolerance(i);
  size_t different = 0, operators = 0;
  double total = 0;
  for (size_t o = 0; o < d.count; o++) {
    const tg_ci_pair* p = &d.pairs[o];
    const size_t create = place(&d, p->create_species, p->create);
    const size_t destroy = place(&d, p->destroy_species, p->destroy);
    for (size_t k = 0; k < FINALS * INITIALS; k++) {
      assert_int_equal(tg_ci_ref_density(h, f, i, create, destroy, vf + k / INITIALS * nf,
                                         vi + k % INITIALS * ni, &expected),
                       TG_OK);
      if (!(fabs(rho[k * d.count + o] - expected) <= limit))
        fail_msg("a+_%zu a_%zu: %.17g, expected %.17g", create, destroy, rho[k * d.count + o],
                 expected);
      different += expected != 0;
      if (k == 0) total += shell_random(9, o) * expected;
    }
  }
  for (size_t p = 0; p < d.orbitals[0] + d.orbitals[1]; p++)
    for (size_t q = 0; q < d.orbitals[0] + d.orbitals[1]; q++) {
      assert_int_equal(tg_ci_ref_density(h, f, i, p, q, vf, vi, &expected), TG_OK);
      const int gained = (p < d.orbitals[0]) - (q < d.orbitals[0]);
      operators += gained == change && expected != 0;
      if (gained != change) assert_true(expected == 0);
    }
  assert_true(operators <= d.count);
  assert_true(operators == 0 || different > 0);
  size_t planned = 0;
  for (size_t o = 0; o < d.count; o++) planned += rho[o] != 0;
  assert_int_equal(planned, operators);
  for (size_t o = 0; o < d.count; o++) again[o] = shell_random(9, o);
  tg_ci_density_apply(&d, again, vi, 2, y);
  double dot = 0;
  for (size_t k = 0; k < nf; k++) dot += vf[k] * y[k];
  assert_true(fabs(dot - total) <= limit * (double)(d.count + 1));
  tg_free(vf);
  tg_free(vi);
  tg_free(y);
  tg_free(rho);
  tg_free(again);
  tg_ci_density_free(&d);
  if (i != f) tg_ci_space_free(i);
  tg_ci_space_free(f);
}

static tg_ci_hamiltonian* orbitals_of(size_t na, const tg_ci_orbital* a, size_t nb,
                                      const tg_ci_orbital* b) {
  tg_ci_hamiltonian* h = NULL;
  assert_int_equal(tg_ci_hamiltonian_create(na, a, nb, b, &h), TG_OK);
  return h;
}

/* Other numbers of orbitals for the species, two parities; every change of M up to 3, of parity and
 * of charge, and every number of particles. */
static void every_change(void** state) {
  (void)state;
  tg_ci_orbital a[16], b[16];
  size_t na = shell_add(a, 0, 1, 0, 0, 0);
  na = shell_add(a, na, 3, 1, 1, 1);
  const size_t nb = shell_add(b, shell_add(b, 0, 3, 1, 1, 0), 1, 0, 2, 1);
  tg_ci_hamiltonian* h = orbitals_of(na, a, nb, b);
  for (int i = 0; i <= (int)na; i++)
    for (int k = 0; k <= (int)nb; k++)
      for (int change = -1; change <= 1; change++) {
        if (i + change < 0 || i + change > (int)na || k - change < 0 || k - change > (int)nb)
          continue;
        tg_ci_space_params from = space_of(i, k, (i + k) % 2);
        tg_ci_space_params to = space_of(i + change, k - change, (i + k) % 2);
        check(h, change ? &to : &from, &from, change);
        if (i < 2 || i > 4 || k < 2 || k > 4) continue;
        from.symmetry = 1;
        for (to.two_m = from.two_m - 4; to.two_m <= from.two_m + 4; to.two_m += 2)
          for (to.symmetry = 0; to.symmetry < 2; to.symmetry++) check(h, &to, &from, change);
      }
  tg_ci_hamiltonian_free(h);
}

/* Truncated spaces: classes and strings have other numbers in another space, and some are in one of
 * the two only. */
static void truncations(void** state) {
  (void)state;
  tg_ci_orbital o[64];
  const size_t n = shell_oscillator(o, 2);
  tg_ci_hamiltonian* h = orbitals_of(n, o, n, o);
  tg_ci_space_params from = space_of(2, 2, 0), to = space_of(2, 2, 2);
  from.weight_most = 3;
  to.weight_most = 4;
  check(h, &to, &from, 0);
  check(h, &from, &from, 0);
  to.symmetry = from.symmetry = 1;
  to.limits[0].weight_most = 1;
  check(h, &to, &from, 0);
  to = space_of(3, 1, 0);
  to.weight_most = 4;
  check(h, &to, &from, 1);
  check(h, &from, &to, -1);
  tg_ci_hamiltonian_free(h);
}

/* Blocks wider than a chunk and longer than a piece, tiles of several chunks. */
static void larger_blocks(void** state) {
  (void)state;
  tg_ci_orbital a[16], b[64];
  const size_t na = shell_add(a, 0, 1, 0, 0, 0), nb = shell_sd(b);
  tg_ci_hamiltonian* h = orbitals_of(na, a, nb, b);
  tg_ci_space_params from = space_of(1, 5, 0), to = space_of(1, 5, 2);
  tg_ci_space *f = make(h, &to), *i = make(h, &from);
  assert_true(f->dimension > 2 * 64 + 1 && f->blocks[0].columns > 64);
  tg_ci_space_free(f);
  tg_ci_space_free(i);
  check(h, &to, &from, 0);
  check(h, &from, &from, 0);
  tg_ci_hamiltonian_free(h);
}

/* J+ and J- commute as they should on any state: <J+J-> - <J-J+> = 2 M. */
static void ladders(void** state) {
  (void)state;
  tg_ci_orbital o[64];
  const size_t n = shell_sd(o);
  tg_ci_hamiltonian* h = orbitals_of(n, o, n, o);
  const tg_ci_space_params params = space_of(2, 3, 3);
  tg_ci_space* s = make(h, &params);
  double *x = vectors(1, (size_t)s->dimension, 3), norm = 0, squares[2] = {0, 0};
  for (size_t i = 0; i < s->dimension; i++) norm += x[i] * x[i];
  for (int up = 0; up < 2; up++) {
    tg_ci_space_params next = params;
    next.two_m += up ? 2 : -2;
    tg_ci_space* to = make(h, &next);
    tg_ci_density d;
    double *c = NULL, *y = vectors(1, (size_t)to->dimension, 0);
    assert_int_equal(tg_ci_density_plan(h, to, s, 0, 2, &d), TG_OK);
    assert_int_equal(TG_ALLOCATE(d.count, "coefficients", &c), TG_OK);
    tg_ci_density_ladder(&d, h, c);
    tg_ci_density_apply(&d, c, x, 2, y);
    for (size_t i = 0; i < to->dimension; i++) squares[up] += y[i] * y[i];
    tg_free(c);
    tg_free(y);
    tg_ci_density_free(&d);
    tg_ci_space_free(to);
  }
  /* |J- x|^2 - |J+ x|^2 = 2 M |x|^2 */
  assert_true(fabs(squares[0] - squares[1] - params.two_m * norm) <
              (double)s->dimension * DBL_EPSILON * (squares[0] + squares[1]));
  tg_free(x);
  tg_ci_space_free(s);
  tg_ci_hamiltonian_free(h);
}

static void impossible_changes_are_refused(void** state) {
  (void)state;
  tg_ci_orbital o[16];
  const size_t n = shell_p(o);
  tg_ci_hamiltonian* h = orbitals_of(n, o, n, o);
  const tg_ci_space_params a = space_of(2, 2, 0), b = space_of(3, 1, 0);
  tg_ci_space *s = make(h, &a), *t = make(h, &b);
  tg_ci_density d;
  assert_int_equal(tg_ci_density_plan(h, s, t, 0, 1, &d), TG_ERR_INPUT);
  assert_int_equal(tg_ci_density_plan(h, s, t, 1, 1, &d), TG_ERR_INPUT);
  assert_int_equal(tg_ci_density_plan(h, s, t, 2, 1, &d), TG_ERR_INPUT);
  tg_ci_space_free(s);
  tg_ci_space_free(t);
  tg_ci_hamiltonian_free(h);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_change),
      cmocka_unit_test(truncations),
      cmocka_unit_test(larger_blocks),
      cmocka_unit_test(ladders),
      cmocka_unit_test(impossible_changes_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
