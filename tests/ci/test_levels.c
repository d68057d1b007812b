/* SPDX-License-Identifier: Apache-2.0 */
/* From an input to levels by the plainest way: every operator applied to every state one by one,
 * the whole matrix diagonalised. It shares no code with the solver. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <stdlib.h>

#include "base/memory.h"
#include "support.h"

enum { MOST_STATES = 400 };

typedef struct space {
  int orbitals[2]; /* A first, in one word */
  const tg_ci_orbital* of[2];
  uint64_t states[MOST_STATES];
  size_t count;
} space;

typedef struct filter {
  int particles[2], two_m, symmetry, weight; /* -1: any; weight: at most */
} filter;

static void enumerate(const tg_ci_hamiltonian* h, const filter* f, space* s) {
  s->count = 0;
  for (int t = 0; t < 2; t++) s->orbitals[t] = (int)tg_ci_hamiltonian_orbitals(h, t, &s->of[t]);
  const int total = s->orbitals[0] + s->orbitals[1], all = f->particles[0] + f->particles[1];
  /* the next number with as many bits: Gosper's hack */
  for (uint64_t x = (UINT64_C(1) << all) - 1; x < UINT64_C(1) << total;) {
    int n[2] = {0, 0}, two_m = 0, symmetry = 0, weight = 0;
    for (int q = 0; q < total; q++) {
      if (!(x >> q & 1)) continue;
      const int t = q >= s->orbitals[0];
      const tg_ci_orbital* o = &s->of[t][q - (t ? s->orbitals[0] : 0)];
      n[t]++;
      two_m += o->two_m;
      symmetry ^= o->symmetry;
      weight += o->weight;
    }
    if (n[0] == f->particles[0] && n[1] == f->particles[1] && two_m == f->two_m &&
        (f->symmetry < 0 || symmetry == f->symmetry) && (f->weight < 0 || weight <= f->weight)) {
      assert_true(s->count < MOST_STATES);
      s->states[s->count++] = x;
    }
    const uint64_t low = x & (~x + 1), next = x + low;
    x = next | (((x ^ next) / low) >> 2);
  }
}

/* a_q or a+_q with its sign; 0 where it gives nothing. */
static int change(uint64_t* state, int q, bool create) {
  if ((*state >> q & 1) == create) return 0;
  const int sign = __builtin_popcountll(*state & ((UINT64_C(1) << q) - 1)) % 2 ? -1 : 1;
  *state ^= UINT64_C(1) << q;
  return sign;
}

static void add_to(double* matrix, const space* s, size_t column, uint64_t state, double value) {
  for (size_t row = 0; row < s->count; row++)
    if (s->states[row] == state) matrix[row * s->count + column] += value;
}

/* value * a+_i a+_j a_l a_k of global orbitals */
static void add_pair(double* matrix, const space* s, size_t column, const int o[4], double value) {
  uint64_t state = s->states[column];
  int sign = change(&state, o[2], false);
  if (sign) sign *= change(&state, o[3], false);
  if (sign) sign *= change(&state, o[1], true);
  if (sign) sign *= change(&state, o[0], true);
  if (sign) add_to(matrix, s, column, state, sign * value);
}

static void fill_column(const tg_ci_hamiltonian* h, const space* s, size_t column, double* matrix) {
  add_to(matrix, s, column, s->states[column], tg_ci_hamiltonian_constant(h));
  for (int t = 0; t < 2; t++) {
    const int n = s->orbitals[t], first = t ? s->orbitals[0] : 0;
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++) {
        const double one = tg_ci_hamiltonian_one(h, t, i, j);
        uint64_t state = s->states[column];
        int sign = one == 0 ? 0 : change(&state, first + j, false);
        if (sign) sign *= change(&state, first + i, true);
        if (sign) add_to(matrix, s, column, state, sign * one);
        for (int k = 0; i < j && k < n; k++)
          for (int l = k + 1; l < n; l++) {
            const double two = tg_ci_hamiltonian_two(h, t, i, j, k, l);
            const int o[4] = {first + i, first + j, first + k, first + l};
            if (two != 0) add_pair(matrix, s, column, o, two);
          }
      }
  }
  for (int i = 0; i < s->orbitals[0]; i++)
    for (int j = 0; j < s->orbitals[0]; j++)
      for (int k = 0; k < s->orbitals[1]; k++)
        for (int l = 0; l < s->orbitals[1]; l++) {
          const double cross = tg_ci_hamiltonian_cross(h, i, j, k, l);
          /* a+_i a_j b+_k b_l = a+_i b+_k b_l a_j */
          const int o[4] = {i, s->orbitals[0] + k, j, s->orbitals[0] + l};
          if (cross != 0) add_pair(matrix, s, column, o, cross);
        }
}

static double* matrix_of(const tg_ci_hamiltonian* h, const space* s) {
  double* matrix = NULL;
  assert_ok(TG_ALLOCATE(s->count * s->count, "a test's matrix", &matrix));
  for (size_t c = 0; c < s->count; c++) fill_column(h, s, c, matrix);
  for (size_t r = 0; r < s->count; r++)
    for (size_t c = 0; c < r; c++)
      assert_close(matrix[r * s->count + c], matrix[c * s->count + r], 1e-12);
  return matrix;
}

/* Jacobi's rotations: a becomes diagonal, the columns of v its eigenvectors. */
static void diagonalise(double* a, double* v, size_t n) {
  for (size_t i = 0; i < n * n; i++) v[i] = i / n == i % n;
  for (int sweep = 0; sweep < 30; sweep++) {
    double off = 0;
    for (size_t p = 0; p < n; p++)
      for (size_t q = p + 1; q < n; q++) {
        const double x = a[p * n + q];
        off += x * x;
        if (x == 0) continue;
        const double theta = (a[q * n + q] - a[p * n + p]) / (2 * x);
        const double t = (theta < 0 ? -1 : 1) / (fabs(theta) + sqrt(theta * theta + 1));
        const double c = 1 / sqrt(t * t + 1), s = t * c;
        for (size_t k = 0; k < n; k++) {
          const double kp = a[k * n + p], kq = a[k * n + q];
          a[k * n + p] = c * kp - s * kq;
          a[k * n + q] = s * kp + c * kq;
          const double vp = v[k * n + p], vq = v[k * n + q];
          v[k * n + p] = c * vp - s * vq;
          v[k * n + q] = s * vp + c * vq;
        }
        for (size_t k = 0; k < n; k++) {
          const double pk = a[p * n + k], qk = a[q * n + k];
          a[p * n + k] = c * pk - s * qk;
          a[q * n + k] = s * pk + c * qk;
        }
      }
    if (off < 1e-24) return;
  }
  fail_msg("Jacobi's method did not converge");
}

/* <v|O|v> of column k. */
static double mean(const double* matrix, const double* v, size_t n, size_t k) {
  double sum = 0;
  for (size_t r = 0; r < n; r++)
    for (size_t c = 0; c < n; c++) sum += v[r * n + k] * matrix[r * n + c] * v[c * n + k];
  return sum;
}

typedef struct level {
  double energy, j, t; /* t < 0: not looked at */
} level;

/* Finds the levels, in order, with their J and T. */
static void expect_levels(const tg_ci_input* input, const tg_ci_nucleus* nucleus, const filter* f,
                          size_t states, const level* levels, size_t count) {
  static space s;
  tg_ci_hamiltonian *h, *j2, *t2;
  assert_ok(tg_ci_model_hamiltonian(&input->model, nucleus, &h));
  assert_ok(tg_ci_model_quantity(&input->model, TG_CI_J2, nucleus, &j2));
  assert_ok(tg_ci_model_quantity(&input->model, TG_CI_T2, nucleus, &t2));
  enumerate(h, f, &s);
  assert_int_equal((int)s.count, (int)states);
  double *a = matrix_of(h, &s), *j = matrix_of(j2, &s), *t = matrix_of(t2, &s), *v = NULL;
  assert_ok(TG_ALLOCATE(s.count * s.count, "eigenvectors", &v));
  diagonalise(a, v, s.count);
  double last = -INFINITY;
  for (size_t i = 0; i < count; i++) {
    size_t next = s.count;
    for (size_t k = 0; k < s.count; k++)
      if (a[k * s.count + k] > last &&
          (next == s.count || a[k * s.count + k] < a[next * s.count + next]))
        next = k;
    last = a[next * s.count + next];
    assert_close(last, levels[i].energy, 2e-5); /* what two other programs agree to */
    assert_close(mean(j, v, s.count, next), levels[i].j * (levels[i].j + 1), 1e-8);
    if (levels[i].t >= 0)
      assert_close(mean(t, v, s.count, next), levels[i].t * (levels[i].t + 1), 1e-8);
  }
  double* const all[] = {a, j, t, v};
  for (int i = 0; i < 4; i++) tg_free(all[i]);
  tg_ci_hamiltonian_free(h);
  tg_ci_hamiltonian_free(j2);
  tg_ci_hamiltonian_free(t2);
}

static void p_shell(void** state) {
  (void)state;
  tg_ci_input input = read_file("builtin:ckpot");
  const level beryllium[] = {{-31.11941, 0, 0},
                             {-27.29972, 2, 0},
                             {-19.16182, 4, 0},
                             {-18.24875, 2, 0},
                             {-16.72220, 1, 0}};
  const level carbon[] = {{-71.04467, 0, 0}, {-66.39703, 2, 0}, {-58.59552, 1, 0},
                          {-57.57795, 0, 0}, {-57.54143, 4, 0}, {-55.96040, 1, 1}};
  for (int pairs = 1; pairs <= 2; pairs++) {
    const tg_ci_nucleus nucleus = {.protons = 2 * pairs, .neutrons = 2 * pairs};
    const filter f = {{2 * pairs, 2 * pairs}, 0, -1, -1};
    expect_levels(&input, &nucleus, &f, 51, pairs == 1 ? beryllium : carbon, pairs == 1 ? 5 : 6);
  }
  tg_ci_input_free(&input);
}

static void sd_shell(void** state) {
  (void)state;
  tg_ci_input input = read_file("builtin:usdb");
  const level oxygen[] = {{-11.93179, 0, 1}, {-9.93335, 2, 1}, {-8.40459, 4, 1},
                          {-7.57171, 2, 1},  {-7.33926, 0, 1}, {-6.50542, 3, 1}};
  const tg_ci_nucleus nucleus = {.neutrons = 2};
  const filter f = {{0, 2}, 0, -1, -1};
  expect_levels(&input, &nucleus, &f, 14, oxygen, 6);
  tg_ci_input_free(&input);
}

/* 3He in the two lowest excitations of the oscillator; -4.396 MeV by MFDn. */
static void no_core(void** state) {
  (void)state;
  const char* const both[] = {SHARED("h2/jisp16_Nmax02_hw20.0_h2v15099.dat"),
                              SHARED("h2/coulomb_Nmax02_p_h2v15099.dat")};
  if (!is_there(both[0])) skip();
  tg_ci_input input = read_files(2, both);
  const level helium[] = {{-4.39584, 0.5, -1}};
  const tg_ci_nucleus nucleus = {.protons = 2, .neutrons = 1, .hw = 20, .relative_kinetic = true};
  const filter f = {{2, 1}, 1, 0, 2};
  expect_levels(&input, &nucleus, &f, 41, helium, 1);
  tg_ci_input_free(&input);
}

/* Full CI of water's first irrep. */
static void molecules(void** state) {
  (void)state;
  static const struct {
    const char* path;
    double energy;
  } cases[] = {{SHARED("fcidump/H2O_sto-3g.FCIDUMP"), -75.012578241214},
               {SHARED("fcidump/hande_H2O-RHF-sto-2g.FCIDUMP"), -72.786196191345}};
  if (!is_there(cases[0].path)) skip();
  for (int i = 0; i < 2; i++) {
    static space s;
    tg_ci_input input = read_file(cases[i].path);
    const filter f = {{5, 5}, 0, 0, -1};
    tg_ci_hamiltonian *h, *s2;
    assert_ok(tg_ci_integrals_hamiltonian(&input.integrals, &h));
    assert_ok(tg_ci_integrals_spin_squared(&input.integrals, 5, 5, &s2));
    enumerate(h, &f, &s);
    double *a = matrix_of(h, &s), *spin = matrix_of(s2, &s), *v = NULL;
    assert_ok(TG_ALLOCATE(s.count * s.count, "eigenvectors", &v));
    diagonalise(a, v, s.count);
    size_t lowest = 0;
    for (size_t k = 0; k < s.count; k++)
      if (a[k * s.count + k] < a[lowest * s.count + lowest]) lowest = k;
    assert_close(a[lowest * s.count + lowest], cases[i].energy, 1e-10);
    assert_close(mean(spin, v, s.count, lowest), 0, 1e-10);
    tg_free(a);
    tg_free(spin);
    tg_free(v);
    tg_ci_hamiltonian_free(h);
    tg_ci_hamiltonian_free(s2);
    tg_ci_input_free(&input);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(p_shell),
      cmocka_unit_test(sd_shell),
      cmocka_unit_test(no_core),
      cmocka_unit_test(molecules),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
