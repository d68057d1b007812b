/* SPDX-License-Identifier: Apache-2.0 */
/* Stored matrices of both builders, and the operator that chooses between stored and fly. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ci/operator.h"
#include "ci/random_h.h"
#include "ci/ref/product.h"
#include "ci/stored.h"

typedef struct entry {
  uint64_t row, column;
  double value;
} entry;

static int by_place(const void* p, const void* q) {
  const entry *a = p, *b = q;
  if (a->row != b->row) return a->row < b->row ? -1 : 1;
  return a->column < b->column ? -1 : a->column > b->column;
}

/* All elements, sorted; half ones in the upper triangle. */
static entry* entries(const tg_ci_stored* s) {
  entry* list = NULL;
  size_t count = 0;
  assert_int_equal(TG_ALLOCATE(s->count + 1, "entries", &list), TG_OK);
  for (size_t i = 0; i < s->chunks; i++)
    for (size_t j = s->full ? 0 : i; j < s->chunks; j++) {
      const tg_ci_tile* t = tg_ci_stored_tile(s, i, j);
      const uint64_t rest = s->dimension - i * s->chunk;
      for (size_t r = 0; t->count && r < (rest < s->chunk ? rest : s->chunk); r++)
        for (uint32_t e = t->begin[r]; e < t->begin[r + 1]; e++)
          list[count++] = (entry){i * s->chunk + r, j * s->chunk + t->column[e], t->value[e]};
    }
  assert_int_equal(count, s->count);
  qsort(list, count, sizeof *list, by_place);
  return list;
}

static double* vector(size_t n) {
  double* x = NULL;
  assert_int_equal(TG_ALLOCATE(n + 1, "vector", &x), TG_OK);
  return x;
}

/* Sums of at most `terms` elements each in another order, none above a few tens. */
static double tolerance(double terms) { return 64 * terms * DBL_EPSILON; }

static void same_elements(const tg_ci_stored* a, const tg_ci_stored* b, double limit) {
  assert_int_equal(a->count, b->count);
  entry *one = entries(a), *other = entries(b);
  for (size_t e = 0; e < a->count; e++) {
    assert_true(one[e].row == other[e].row && one[e].column == other[e].column);
    assert_true(fabs(one[e].value - other[e].value) <= limit);
    assert_true(a->full ? one[e].row != one[e].column : one[e].row < one[e].column);
    if (e) assert_true(by_place(&one[e - 1], &one[e]) < 0);
  }
  for (size_t i = 0; i < a->dimension; i++)
    assert_true(fabs(a->diagonal[i] - b->diagonal[i]) <= limit);
  tg_free(one);
  tg_free(other);
}

enum { MOST = TG_CI_STORED_WIDTH + 1 }; /* vectors at once */

/* Products for 1 ... MOST vectors: the same bits for 1, 2 and 5 threads, as fly to rounding. */
static void same_products(const tg_ci_stored* s, const tg_ci_fly* f) {
  const size_t n = (size_t)s->dimension, ld = n + 3;
  double *x = vector(MOST * ld), *y = vector(MOST * ld), *first = vector(ld), *fly = vector(n);
  for (size_t i = 0; i < MOST * ld; i++) x[i] = shell_random(5, i);
  for (int k = 1; k <= MOST; k++) {
    static const int threads[] = {1, 2, 5};
    for (int t = 0; t < 3; t++) {
      for (size_t i = 0; i < MOST * ld; i++) y[i] = 1e300;
      tg_ci_stored_apply(s, threads[t], k, x, y, ld);
      if (t == 0 && k == 1) memcpy(first, y, n * sizeof *y);
      assert_memory_equal(first, y, n * sizeof *y); /* one vector or many, too */
      for (size_t i = 0; i < MOST * ld; i++)        /* nothing else is written */
        if (i % ld >= n || i / ld >= (size_t)k) assert_true(y[i] == 1e300);
    }
  }
  for (int v = 0; v < MOST; v++) {
    assert_int_equal(tg_ci_fly_apply(f, 2, x + (size_t)v * ld, fly), TG_OK);
    for (size_t i = 0; i < n; i++)
      assert_true(fabs(y[(size_t)v * ld + i] - fly[i]) <= tolerance((double)n + 100));
  }
  tg_free(x);
  tg_free(y);
  tg_free(first);
  tg_free(fly);
}

/* Tables without elements that are zero give the same product, of 1 and 3 threads the same bits. */
static void without_zeros(const tg_ci_hamiltonian* h, const tg_ci_fly* f) {
  const size_t n = (size_t)f->space->dimension;
  tg_ci_fly few = {0};
  assert_int_equal(tg_ci_fly_make_nonzero(h, f->space, 2, &few), TG_OK);
  assert_true(few.pairs <= f->pairs && few.bytes <= f->bytes);
  double *x = vector(n), *y = vector(n), *again = vector(n), *all = vector(n);
  for (size_t i = 0; i < n; i++) x[i] = shell_random(6, i);
  assert_int_equal(tg_ci_fly_apply(f, 1, x, all), TG_OK);
  assert_int_equal(tg_ci_fly_apply(&few, 1, x, y), TG_OK);
  assert_int_equal(tg_ci_fly_apply(&few, 3, x, again), TG_OK);
  assert_memory_equal(y, again, n * sizeof *y);
  for (size_t i = 0; i < n; i++)
    assert_true(fabs(y[i] - all[i]) <= tolerance((double)n + 100) &&
                few.diagonal[i] == f->diagonal[i]);
  tg_free(x);
  tg_free(y);
  tg_free(again);
  tg_free(all);
  tg_ci_fly_free(&few);
}

/* The elements against columns made operator by operator. */
static void as_ref(const tg_ci_hamiltonian* h, const tg_ci_space* space, const tg_ci_stored* full,
                   uint64_t step) {
  entry* list = entries(full);
  const size_t n = (size_t)space->dimension;
  double* column = vector(n);
  for (uint64_t c = 0; c < n; c += step) {
    memset(column, 0, n * sizeof *column);
    assert_int_equal(tg_ci_ref_column(h, space, c, 1, column), TG_OK);
    assert_true(fabs(column[c] - full->diagonal[c]) <= tolerance(100));
    column[c] = 0;
    size_t e = 0;
    for (size_t high = full->count; e < high;) { /* the first entry of row c */
      const size_t middle = e + (high - e) / 2;
      if (list[middle].row < c)
        e = middle + 1;
      else
        high = middle;
    }
    for (; e < full->count && list[e].row == c; e++) { /* H is symmetric: row c is column c */
      assert_true(fabs(column[list[e].column] - list[e].value) <= tolerance(100));
      column[list[e].column] = 0;
    }
    for (size_t i = 0; i < n; i++) assert_true(column[i] == 0); /* nothing is left out */
  }
  tg_free(column);
  tg_free(list);
}

static void check(const tg_ci_hamiltonian* h, const tg_ci_space_params* params, uint64_t ref_step) {
  tg_ci_space* space = NULL;
  if (tg_ci_space_make(h, params, &space) != TG_OK) fail_msg("%s", tg_last_error());
  tg_ci_fly f = {0};
  assert_int_equal(tg_ci_fly_make(h, space, 2, &f), TG_OK);
  tg_ci_stored half = {0}, full = {0}, motifs = {0};
  assert_int_equal(tg_ci_stored_by_jumps(&f, false, 2, &half), TG_OK);
  assert_int_equal(tg_ci_stored_by_jumps(&f, true, 2, &full), TG_OK);
  assert_int_equal(full.count + full.dimension, f.pairs);
  assert_int_equal(2 * half.count + half.dimension, f.pairs);
  if (params->limits[0].particles + params->limits[1].particles > 0) {
    assert_int_equal(tg_ci_stored_by_motifs(h, &f, false, 2, &motifs), TG_OK);
    same_elements(&half, &motifs, tolerance(100));
    tg_ci_stored_free(&motifs);
    assert_int_equal(tg_ci_stored_by_motifs(h, &f, true, 2, &motifs), TG_OK);
    same_elements(&full, &motifs, tolerance(100));
  }
  without_zeros(h, &f);
  same_products(&half, &f);
  same_products(&full, &f);
  if (ref_step) as_ref(h, space, &full, ref_step);
  const double bytes = (double)tg_ci_stored_bytes(space->dimension, f.pairs, false);
  assert_true(half.bytes <= bytes * 1.001); /* an estimate not below what is taken */
  tg_ci_stored_free(&half);
  tg_ci_stored_free(&full);
  tg_ci_stored_free(&motifs);
  tg_ci_fly_free(&f);
  tg_ci_space_free(space);
}

static void small_spaces(void** state) {
  (void)state;
  tg_ci_orbital a[16], b[16];
  size_t na = shell_add(a, 0, 1, 0, 0, 0);
  na = shell_add(a, na, 3, 1, 1, 1);
  size_t nb = shell_add(b, 0, 3, 1, 1, 0);
  nb = shell_add(b, nb, 1, 0, 2, 1);
  tg_ci_hamiltonian* h = random_h(na, a, nb, b, 23);
  for (int i = 0; i <= (int)na; i++)
    for (int j = 0; j <= (int)nb; j++) {
      tg_ci_space_params params = space_of(i, j, (i + j) % 2);
      check(h, &params, 1);
      params.weight_most = i + j;
      int least = 0;
      assert_int_equal(tg_ci_space_least_weight(h, &params, &least), TG_OK);
      if (least < params.weight_most) check(h, &params, 1);
    }
  tg_ci_hamiltonian_free(h);
}

/* Several chunks, and blocks cut by their ends. */
static void several_chunks(void** state) {
  (void)state;
  tg_ci_orbital o[64];
  size_t n = shell_sd(o);
  tg_ci_hamiltonian* h = random_h(n, o, n, o, 29);
  tg_ci_space_params params = space_of(3, 3, 0);
  check(h, &params, 0);
  tg_ci_hamiltonian_free(h);
  n = shell_oscillator(o, 3);
  h = random_h(n, o, n, o, 31);
  params = space_of(2, 2, 0);
  params.weight_most = 3;
  check(h, &params, 97);
  tg_ci_hamiltonian_free(h);
}

/* Two and one particles in 200 and in 1,000 orbitals, with few elements that are not zero. */
static void many_orbitals(void** state) {
  (void)state;
  static const int sizes[] = {200, 1000};
  for (int c = 0; c < 2; c++) {
    const int n = sizes[c];
    static tg_ci_orbital o[1000];
    for (int i = 0; i < n; i++)
      o[i] = (tg_ci_orbital){
          .two_m = (int16_t)(i % 101 - 50),
          .symmetry = (uint8_t)(i / 101 % 2),
          .weight = (uint8_t)((i < n - 1 - i ? i : n - 1 - i) / 15), /* light at both ends */
          .shell = (uint16_t)(i / 101)};
    tg_ci_hamiltonian* h = NULL;
    assert_int_equal(tg_ci_hamiltonian_create((size_t)n, o, (size_t)n, o, &h), TG_OK);
    tg_rng rng = tg_rng_stream(37, TG_RNG_TEST, 0);
    for (int i = 0; i < n; i++)
      for (int t = 0; t < 2; t++)
        assert_int_equal(tg_ci_hamiltonian_set_one(h, t, i, i, 2 * tg_rng_uniform(&rng) - 1),
                         TG_OK);
    for (int e = 0; e < 3000; e++) {
      const int i = (int)(tg_rng_bits(&rng) % (uint64_t)n),
                j = (int)(tg_rng_bits(&rng) % (uint64_t)n);
      if (i == j) continue;
      const uint32_t* members;
      const double value = 2 * tg_rng_uniform(&rng) - 1;
      size_t count = tg_ci_hamiltonian_pairs(h, 0, o[i].two_m + o[j].two_m,
                                             (unsigned)(o[i].symmetry ^ o[j].symmetry), &members);
      const uint32_t p = members[tg_rng_bits(&rng) % count];
      assert_int_equal(tg_ci_hamiltonian_set_two(h, 0, i, j, (int)p / n, (int)p % n, value), TG_OK);
      count = tg_ci_hamiltonian_transitions(h, 1, o[j].two_m - o[i].two_m,
                                            (unsigned)(o[i].symmetry ^ o[j].symmetry), &members);
      const uint32_t q = members[tg_rng_bits(&rng) % count];
      assert_int_equal(tg_ci_hamiltonian_set_cross(h, i, j, (int)q / n, (int)q % n, value), TG_OK);
    }
    tg_ci_space_params params = space_of(2, 1, -75);
    params.symmetry = 1;
    params.weight_most = 4;
    check(h, &params, 701);
    params = space_of(2, 0, 3);
    params.limits[1].particles = 0;
    params.weight_most = c ? 12 : -1;
    check(h, &params, 503);
    tg_ci_hamiltonian_free(h);
  }
}

static void operators_agree(void** state) {
  (void)state;
  tg_ci_orbital o[64];
  const size_t n_orbitals = shell_sd(o);
  tg_ci_hamiltonian* h = random_h(n_orbitals, o, n_orbitals, o, 41);
  const tg_ci_space_params params = space_of(2, 3, 1);
  tg_ci_space* space = NULL;
  assert_int_equal(tg_ci_space_make(h, &params, &space), TG_OK);
  const size_t n = (size_t)space->dimension;
  double *x = vector(2 * n), *y = vector(2 * n), *first = vector(2 * n);
  for (size_t i = 0; i < 2 * n; i++) x[i] = shell_random(43, i);
  for (tg_ci_storage storage = TG_CI_STORAGE_AUTO; storage <= TG_CI_STORAGE_FLY; storage++) {
    tg_ci_operator* op = NULL;
    const tg_ci_operator_params wanted = {.storage = storage, .threads = 2};
    assert_int_equal(tg_ci_operator_create(h, space, &wanted, &op), TG_OK);
    const tg_ci_operator_facts facts = tg_ci_operator_facts_of(op);
    assert_true(facts.storage != TG_CI_STORAGE_AUTO);
    if (storage) assert_int_equal(facts.storage, storage);
    tg_ci_operator_facts before;
    assert_int_equal(tg_ci_operator_estimate(h, space, &wanted, &before), TG_OK);
    assert_true(before.storage == facts.storage && before.pairs == facts.pairs);
    assert_int_equal(before.stored, facts.stored);
    assert_int_equal(facts.dimension, n);
    assert_true(facts.lane_pairs <= facts.pairs);
    assert_int_equal(facts.stored,
                     facts.storage == TG_CI_STORAGE_FLY ? 0 : (facts.pairs - n) / 2 + n);
    assert_int_equal(tg_ci_operator_apply(op, 2, x, y, n), TG_OK);
    if (!storage) memcpy(first, y, 2 * n * sizeof *y);
    for (size_t i = 0; i < 2 * n; i++) assert_true(fabs(y[i] - first[i]) <= tolerance((double)n));
    double left = 0, right = 0; /* <x1|H x2> = <x2|H x1> */
    for (size_t i = 0; i < n; i++) {
      left += x[i] * y[n + i];
      right += x[n + i] * y[i];
    }
    assert_true(fabs(left - right) <= tolerance((double)n) * sqrt((double)n));
    for (size_t i = 0; i < n; i += 17) {
      memset(x, 0, n * sizeof *x);
      x[i] = 1;
      assert_int_equal(tg_ci_operator_apply(op, 1, x, y, n), TG_OK);
      assert_true(fabs(y[i] - tg_ci_operator_diagonal(op)[i]) <= tolerance(100));
    }
    for (size_t i = 0; i < 2 * n; i++) x[i] = shell_random(43, i);
    tg_ci_operator_free(op);
  }
  tg_ci_operator* op = NULL;
  tg_ci_operator_params wanted = {.storage = TG_CI_STORAGE_STORED, .threads = 1};
  tg_ci_operator_facts facts;
  assert_int_equal(tg_ci_operator_estimate(h, space, &wanted, &facts), TG_OK);
  wanted.memory = facts.tables + facts.stored_bytes - 1;
  assert_true(facts.making <= wanted.memory);
  assert_int_equal(tg_ci_operator_create(h, space, &wanted, &op), TG_ERR_MACHINE);
  assert_non_null(strstr(tg_last_error(), "--storage fly"));
  wanted.storage = TG_CI_STORAGE_AUTO;
  assert_int_equal(tg_ci_operator_create(h, space, &wanted, &op), TG_OK);
  assert_int_equal(tg_ci_operator_facts_of(op).storage, TG_CI_STORAGE_FLY);
  tg_ci_operator_free(op);
  /* not even the tables fit: known before they are made */
  wanted.memory = facts.tables / 4;
  assert_int_equal(tg_ci_operator_create(h, space, &wanted, &op), TG_ERR_MACHINE);
  assert_non_null(strstr(tg_last_error(), "the tables of the Hamiltonian"));
  assert_int_equal(tg_ci_operator_estimate(h, space, &wanted, &facts), TG_ERR_MACHINE);
  tg_free(x);
  tg_free(y);
  tg_free(first);
  tg_ci_space_free(space);
  tg_ci_hamiltonian_free(h);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(small_spaces),
      cmocka_unit_test(several_chunks),
      cmocka_unit_test(many_orbitals),
      cmocka_unit_test(operators_agree),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
