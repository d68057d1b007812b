/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <stdbool.h>
#include <string.h>

#include "ci/hamiltonian.h"

/* Six states of A and four of B, with three values of 2m and two labels. */
static tg_ci_hamiltonian* make(void) {
  tg_ci_orbital a[6], b[4];
  for (int i = 0; i < 6; i++)
    a[i] = (tg_ci_orbital){.two_m = (int16_t)(2 * (i % 3) - 1), .symmetry = i >= 3};
  for (int i = 0; i < 4; i++)
    b[i] = (tg_ci_orbital){.two_m = (int16_t)(2 * (i % 2) - 1), .symmetry = i >= 2};
  tg_ci_hamiltonian* h = NULL;
  assert_int_equal(tg_ci_hamiltonian_create(6, a, 4, b, &h), TG_OK);
  return h;
}

static void elements_have_their_symmetries(void** state) {
  (void)state;
  tg_ci_hamiltonian* h = make();
  assert_int_equal(tg_ci_hamiltonian_set_one(h, 0, 4, 4, 2.5), TG_OK);
  assert_true(tg_ci_hamiltonian_one(h, 0, 4, 4) == 2.5);
  assert_true(tg_ci_hamiltonian_one(h, 0, 3, 4) == 0);
  /* 2m: -1 1 3 -1 1 3; labels: 0 0 0 1 1 1. {0,4} -> {1,3}: sum 0, label 1 */
  assert_int_equal(tg_ci_hamiltonian_set_two(h, 0, 4, 0, 1, 3, 1.5), TG_OK);
  assert_true(tg_ci_hamiltonian_two(h, 0, 0, 4, 1, 3) == -1.5);
  assert_true(tg_ci_hamiltonian_two(h, 0, 0, 4, 3, 1) == 1.5);
  assert_true(tg_ci_hamiltonian_two(h, 0, 1, 3, 0, 4) == -1.5);
  assert_true(tg_ci_hamiltonian_two(h, 0, 3, 1, 4, 0) == -1.5);
  assert_true(tg_ci_hamiltonian_two(h, 0, 0, 4, 0, 4) == 0);
  assert_true(tg_ci_hamiltonian_two(h, 0, 2, 2, 0, 4) == 0);
  /* A 2 <- 1 (+2, label 0), B 0 <- 1 (-2, label 0) */
  assert_int_equal(tg_ci_hamiltonian_set_cross(h, 2, 1, 0, 1, -3), TG_OK);
  assert_true(tg_ci_hamiltonian_cross(h, 2, 1, 0, 1) == -3);
  assert_true(tg_ci_hamiltonian_cross(h, 1, 2, 1, 0) == -3);
  assert_true(tg_ci_hamiltonian_cross(h, 2, 1, 1, 0) == 0);
  tg_ci_hamiltonian_set_constant(h, 7);
  assert_true(tg_ci_hamiltonian_constant(h) == 7);

  tg_ci_hamiltonian* sum = make();
  tg_ci_hamiltonian_set_constant(sum, 1);
  assert_int_equal(tg_ci_hamiltonian_set_two(sum, 0, 0, 4, 0, 4, 10), TG_OK);
  assert_int_equal(tg_ci_hamiltonian_add(sum, 2, h), TG_OK);
  assert_true(tg_ci_hamiltonian_constant(sum) == 15);
  assert_true(tg_ci_hamiltonian_one(sum, 0, 4, 4) == 5);
  assert_true(tg_ci_hamiltonian_two(sum, 0, 1, 3, 0, 4) == -3);
  assert_true(tg_ci_hamiltonian_two(sum, 0, 0, 4, 0, 4) == 10);
  assert_true(tg_ci_hamiltonian_cross(sum, 1, 2, 1, 0) == -6);
  assert_true(tg_ci_hamiltonian_bytes(sum) > 0);
  tg_ci_hamiltonian_free(sum);
  tg_ci_hamiltonian_free(h);
}

static void wrong_elements_are_refused(void** state) {
  (void)state;
  tg_ci_hamiltonian* h = make();
  assert_int_equal(tg_ci_hamiltonian_set_one(h, 0, 0, 1, 1), TG_ERR_INPUT); /* changes 2m */
  assert_non_null(strstr(tg_last_error(), "2M"));
  assert_int_equal(tg_ci_hamiltonian_set_one(h, 0, 0, 3, 1), TG_ERR_INPUT); /* changes the label */
  assert_int_equal(tg_ci_hamiltonian_set_one(h, 0, 0, 1, 0), TG_OK);
  assert_int_equal(tg_ci_hamiltonian_set_one(h, 1, 0, 4, 1), TG_ERR_INPUT); /* no such orbital */
  assert_int_equal(tg_ci_hamiltonian_set_two(h, 0, 0, 0, 1, 3, 1), TG_ERR_INPUT);
  assert_int_equal(tg_ci_hamiltonian_set_two(h, 0, 0, 1, 1, 2, 1), TG_ERR_INPUT);
  assert_int_equal(tg_ci_hamiltonian_set_cross(h, 2, 1, 1, 0, 1), TG_ERR_INPUT);
  assert_int_equal(tg_ci_hamiltonian_set_cross(h, -1, 1, 1, 0, 1), TG_ERR_INPUT);
  tg_ci_orbital one = {.two_m = 1};
  tg_ci_hamiltonian* small = NULL;
  assert_int_equal(tg_ci_hamiltonian_create(1, &one, 0, NULL, &small), TG_OK);
  assert_int_equal(tg_ci_hamiltonian_add(small, 1, h), TG_ERR_INPUT);
  assert_int_equal(tg_ci_hamiltonian_set_one(small, 0, 0, 0, 1), TG_OK);
  assert_int_equal(tg_ci_hamiltonian_set_one(small, 1, 0, 0, 1), TG_ERR_INPUT);
  tg_ci_hamiltonian_free(small);
  tg_ci_hamiltonian_free(h);
}

/* Rows that are mostly zero keep only the others, in places that come in any order; with more they
 * become whole. Both hold what was set, and what is added. */
static void rows_fill_up(void** state) {
  (void)state;
  enum { N = 30, ALL = N * N };
  static double expected[2][ALL * ALL];
  static tg_ci_orbital o[N];
  tg_ci_hamiltonian *h[2] = {NULL, NULL}, *sum = NULL;
  uint64_t random = 12345;
  memset(expected, 0, sizeof expected);
  for (int k = 0; k < 2; k++) {
    assert_int_equal(tg_ci_hamiltonian_create(N, o, N, o, &h[k]), TG_OK);
    const int sets = k ? 40000 : 3000; /* some 80 and 6 of 900 in a row */
    for (int e = 0; e < sets; e++) {
      int i[4];
      for (int x = 0; x < 4; x++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
        i[x] = (int)(random >> 33) % N;
      }
      const double value = e % 7 == 6 ? 0 : e + 1;
      assert_int_equal(tg_ci_hamiltonian_set_cross(h[k], i[0], i[1], i[2], i[3], value), TG_OK);
      expected[k][(i[0] * N + i[1]) * ALL + i[2] * N + i[3]] = value;
      expected[k][(i[1] * N + i[0]) * ALL + i[3] * N + i[2]] = value;
    }
  }
  assert_true(tg_ci_hamiltonian_bytes(h[0]) < tg_ci_hamiltonian_bytes(h[1]) / 2);
  assert_int_equal(tg_ci_hamiltonian_create(N, o, N, o, &sum), TG_OK);
  assert_int_equal(tg_ci_hamiltonian_add(sum, 2, h[0]), TG_OK);
  assert_int_equal(tg_ci_hamiltonian_add(sum, -1, h[1]), TG_OK);
  bool whole = false, few = false;
  for (int a = 0; a < ALL; a++) {
    const double* values;
    const uint32_t* places;
    const size_t count = tg_ci_hamiltonian_cross_row(h[1], a / N, a % N, &values, &places);
    double row[ALL] = {0};
    for (size_t e = 0; e < count; e++) row[places ? places[e] : e] = values[e];
    few = few || (count && places);
    whole = whole || (count && !places);
    for (int b = 0; b < ALL; b++) {
      const double one = expected[0][a * ALL + b], two = expected[1][a * ALL + b];
      assert_true(tg_ci_hamiltonian_cross(h[0], a / N, a % N, b / N, b % N) == one);
      assert_true(row[b] == two);
      assert_true(tg_ci_hamiltonian_cross(sum, a / N, a % N, b / N, b % N) == 2 * one - two);
    }
  }
  assert_true(whole || few);
  for (int k = 0; k < 2; k++) tg_ci_hamiltonian_free(h[k]);
  tg_ci_hamiltonian_free(sum);
}

/* Every pair and transition is in exactly one channel, the right one. */
static void channels_hold_each_pair_once(void** state) {
  (void)state;
  tg_ci_hamiltonian* h = make();
  const tg_ci_orbital* o;
  const size_t n = tg_ci_hamiltonian_orbitals(h, 0, &o);
  assert_int_equal(n, 6);
  int pairs[36] = {0}, transitions[36] = {0};
  for (int m = -10; m <= 10; m++)
    for (unsigned label = 0; label < 4; label++) {
      const uint32_t* members;
      size_t count = tg_ci_hamiltonian_pairs(h, 0, m, label, &members);
      for (size_t c = 0; c < count; c++) {
        const size_t i = members[c] / n, j = members[c] % n;
        assert_true(i < j && o[i].two_m + o[j].two_m == m);
        assert_int_equal(o[i].symmetry ^ o[j].symmetry, label);
        pairs[members[c]]++;
      }
      count = tg_ci_hamiltonian_transitions(h, 0, m, label, &members);
      for (size_t c = 0; c < count; c++) {
        const size_t i = members[c] / n, j = members[c] % n;
        assert_int_equal(o[i].two_m - o[j].two_m, m);
        assert_int_equal(o[i].symmetry ^ o[j].symmetry, label);
        transitions[members[c]]++;
      }
    }
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++) {
      assert_int_equal(pairs[i * n + j], i < j);
      assert_int_equal(transitions[i * n + j], 1);
    }
  tg_ci_hamiltonian_free(h);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(elements_have_their_symmetries),
      cmocka_unit_test(wrong_elements_are_refused),
      cmocka_unit_test(rows_fill_up),
      cmocka_unit_test(channels_hold_each_pair_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
