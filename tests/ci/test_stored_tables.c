/* SPDX-License-Identifier: Apache-2.0 */
/* What goes to a device for a stored matrix: flat tables, words for values, elements, spans. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <math.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "ci/device_stored.h"
#include "ci/product_fly.h"
#include "ci/random_h.h"
#include "ci/stored_elements.h"
#include "ci/stored_tables.h"

typedef struct scene {
  tg_ci_orbital orbitals[128];
  size_t count;
  tg_ci_hamiltonian* h;
  tg_ci_space* space;
  tg_ci_fly fly;
} scene;

/* values: elements are rounded to so many steps of (-1, 1); 0: they are not. */
static void open_scene(scene* s, tg_ci_space_params params, int values) {
  s->h = random_h(s->count, s->orbitals, s->count, s->orbitals, 3);
  const int n = (int)s->count;
  for (int i = 0; values && i < n; i++)
    for (int j = 0; j < n; j++)
      for (int k = 0; k < n; k++)
        for (int l = 0; l < n; l++) {
          const double w = tg_ci_hamiltonian_cross(s->h, i, j, k, l);
          if (w != 0)
            assert_int_equal(
                tg_ci_hamiltonian_set_cross(s->h, i, j, k, l, round(w * values) / values), TG_OK);
        }
  assert_int_equal(tg_ci_space_make(s->h, &params, &s->space), TG_OK);
  assert_int_equal(tg_ci_fly_tables(s->h, s->space, 2, false, &s->fly), TG_OK);
}

static void close_scene(scene* s) {
  tg_ci_fly_free(&s->fly);
  tg_ci_space_free(s->space);
  tg_ci_hamiltonian_free(s->h);
}

static double value_of(const tg_ci_flat* f, uint32_t word) {
  assert_true(word >> 1 < f->value_count);
  return word & 1 ? -f->values[word >> 1] : f->values[word >> 1];
}

static void test_words_give_the_values(void** state) {
  (void)state;
  scene s = {0};
  tg_ci_flat f;
  s.count = shell_sd(s.orbitals);
  open_scene(&s, space_of(2, 3, 1), 50);
  assert_true(tg_ci_flat_may_code(&s.fly));
  assert_int_equal(tg_ci_flat_make(&s.fly, true, &f), TG_OK);
  size_t with_words = 0, fields = 0;
  for (size_t e = 0; e < f.row_count; e++) assert_true(value_of(&f, f.row_words[e]) == f.rows[e]);
  for (int t = 0; t < 2; t++)
    for (size_t e = 0; e < f.species[t].alone.count; e++) {
      fields += f.species[t].field[e] != 0;
      if (f.species[t].word[e] == TG_CI_NO_WORD) continue;
      with_words++;
      assert_true(!f.species[t].field[e]);
      assert_true(value_of(&f, f.species[t].word[e]) == f.species[t].value[e]);
    }
  assert_true(with_words > 0 && fields > 0);
  for (size_t v = 1; v < f.value_count; v++) assert_true(f.values[v] > 0);
  assert_true(f.values[0] == 0);
  tg_ci_flat_free(&f);
  close_scene(&s);
}

static void set_threads(int threads) {
#ifdef _OPENMP
  omp_set_num_threads(threads);
#else
  (void)threads;
#endif
}

static void same_links(const tg_ci_flat_links* a, const tg_ci_flat_links* b) {
  assert_int_equal(a->count, b->count);
  assert_memory_equal(a->of_class, b->of_class, (a->class_count + 1) * sizeof *a->of_class);
  assert_memory_equal(a->links, b->links, a->link_count * sizeof *a->links);
  assert_memory_equal(a->begin, b->begin, a->begin_count * sizeof *a->begin);
  assert_memory_equal(a->from, b->from, a->count * sizeof *a->from);
}

/* Several parts of each species, whose values come together in the order of one thread. */
static void test_threads_make_the_same(void** state) {
  (void)state;
  scene s = {0};
  tg_ci_flat one, some;
  s.count = shell_sd(s.orbitals);
  open_scene(&s, space_of(5, 6, 1), 50);
  set_threads(1);
  assert_int_equal(tg_ci_flat_make(&s.fly, true, &one), TG_OK);
  set_threads(5);
  assert_int_equal(tg_ci_flat_make(&s.fly, true, &some), TG_OK);
  assert_int_equal(one.value_count, some.value_count);
  assert_memory_equal(one.values, some.values, one.value_count * sizeof *one.values);
  assert_memory_equal(one.row_words, some.row_words, one.row_count * sizeof *one.row_words);
  for (int t = 0; t < 2; t++) {
    const tg_ci_flat_species *a = &one.species[t], *b = &some.species[t];
    same_links(&a->jumps, &b->jumps);
    same_links(&a->alone, &b->alone);
    assert_true(a->alone.count > 4 << 12);
    assert_memory_equal(a->code, b->code, a->jumps.count * sizeof *a->code);
    assert_memory_equal(a->field, b->field, a->alone.count * sizeof *a->field);
    assert_memory_equal(a->value, b->value, a->alone.count * sizeof *a->value);
    assert_memory_equal(a->word, b->word, a->alone.count * sizeof *a->word);
  }
  tg_ci_flat_free(&one);
  tg_ci_flat_free(&some);
  close_scene(&s);
}

/* A value of one species alone has a number if it occurs often, or between species, too. */
static void test_frequent_values_have_words(void** state) {
  (void)state;
  scene s = {0};
  tg_ci_flat f;
  s.count = shell_sd(s.orbitals);
  open_scene(&s, space_of(2, 3, 1), 50);
  assert_int_equal(tg_ci_flat_make(&s.fly, true, &f), TG_OK);
  assert_true(f.value_count < TG_CI_MOST_VALUES);
  size_t rare = 0;
  for (int t = 0; t < 2; t++)
    for (size_t e = 0; e < f.species[t].alone.count; e++) {
      const tg_ci_flat_species* own = &f.species[t];
      if (own->field[e]) continue;
      size_t seen = 0;
      for (int u = 0; u < 2; u++)
        for (size_t k = 0; k < f.species[u].alone.count; k++)
          seen += !f.species[u].field[k] && fabs(f.species[u].value[k]) == fabs(own->value[e]);
      bool between = own->value[e] == 0;
      for (size_t k = 0; k < f.row_count && !between; k++)
        between = fabs(f.rows[k]) == fabs(own->value[e]);
      rare += seen < TG_CI_OFTEN && !between;
      assert_int_equal(own->word[e] != TG_CI_NO_WORD, between || seen >= TG_CI_OFTEN);
    }
  assert_true(rare > 0);
  tg_ci_flat_free(&f);
  close_scene(&s);
}

static void test_too_many_values_get_none(void** state) {
  (void)state;
  scene s = {0};
  tg_ci_flat f;
  s.count = shell_oscillator(s.orbitals, 3); /* some 100,000 different random numbers */
  open_scene(&s, space_of(1, 1, 0), 0);
  assert_false(tg_ci_flat_may_code(&s.fly));
  assert_int_equal(tg_ci_flat_make(&s.fly, true, &f), TG_OK);
  assert_int_equal(f.value_count, 0);
  assert_null(f.row_words);
  tg_ci_flat_free(&f);
  close_scene(&s);
}

static void test_rows_begin(void** state) {
  (void)state;
  scene s = {0};
  uint64_t rows = 0, begins = 0;
  s.count = shell_sd(s.orbitals);
  open_scene(&s, space_of(2, 3, 1), 0);
  for (size_t n = 0; n < s.space->block_count; n++) {
    const tg_ci_block* block = &s.space->blocks[n];
    rows += block->rows;
    assert_true(tg_ci_flat_begins_row(&s.fly, block->offset));
    assert_true(tg_ci_flat_begins_row(&s.fly, block->offset + block->columns));
  }
  for (uint64_t i = 0; i < s.space->dimension; i++) begins += tg_ci_flat_begins_row(&s.fly, i);
  assert_int_equal(begins, rows);
  assert_true(tg_ci_flat_begins_row(&s.fly, s.space->dimension));
  assert_false(tg_ci_flat_begins_row(&s.fly, s.space->dimension + 1));
  close_scene(&s);
}

static void test_elements_are_counted(void** state) {
  (void)state;
  scene s = {0};
  uint64_t elements, fields, making;
  s.count = shell_sd(s.orbitals);
  open_scene(&s, space_of(3, 3, 0), 0);
  const uint64_t n = s.space->dimension, pairs = s.fly.pairs - n;
  tg_ci_flat_count(&s.fly, 0, n, &elements, &fields);
  assert_int_equal(elements, pairs);
  assert_true(fields > 0 && fields < elements / 4);
  tg_ci_device_stored_params p = {.fly = &s.fly, .plain = true};
  const uint64_t whole = tg_ci_device_stored_bytes(&p, &making);
  assert_true(whole > 10 * pairs && whole < 20 * pairs && making > 0);
  p.half = true;
  assert_true(tg_ci_device_stored_bytes(&p, NULL) < whole);
  p.half = false;
  p.float_elements = true;
  assert_true(tg_ci_device_stored_bytes(&p, NULL) < whole);
  p.float_elements = false;
  /* columns apart: places of a second matrix that rows do not fill, and offsets, but no elements */
  const tg_ci_block* last = &s.space->blocks[s.space->block_count - 1];
  const tg_ci_device_rows rows = {0, last->offset}, all = {0, n};
  p.rows = &rows;
  const uint64_t together = tg_ci_device_stored_bytes(&p, NULL);
  p.own = &rows;
  const uint64_t apart = tg_ci_device_stored_bytes(&p, NULL);
  assert_true(apart >= together + 8 * last->offset);
  assert_true(apart <= together + 100 * last->offset + 8 * 64 * 8192);
  p.own = &all; /* there are no others */
  assert_int_equal(tg_ci_device_stored_bytes(&p, NULL), together);
  close_scene(&s);
}

static double pair_from(const tg_ci_flat_elements* e, int t, size_t bra, size_t ket) {
  if (e->pair_channel[t][bra] != e->pair_channel[t][ket]) return 0;
  return e->value[e->pair_row[t][bra] + e->pair_place[t][ket]];
}

static void test_elements_are_those_of_h(void** state) {
  (void)state;
  scene s = {0};
  tg_ci_flat_elements e;
  s.count = shell_add(s.orbitals, shell_p(s.orbitals), 1, 0, 0, 2); /* of both parities */
  open_scene(&s, space_of(1, 1, 0), 0);
  const int n = (int)s.count;
  assert_int_equal(tg_ci_flat_elements_make(s.h, &e), TG_OK);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      for (int k = 0; k < n; k++)
        for (int l = 0; l < n; l++) {
          const size_t ij = (size_t)i * s.count + (size_t)j, kl = (size_t)k * s.count + (size_t)l;
          for (int t = 0; i < j && k < l && t < 2; t++)
            assert_true(pair_from(&e, t, ij, kl) == tg_ci_hamiltonian_two(s.h, t, i, j, k, l));
          const bool balanced = e.cross_channel[0][ij] == e.cross_channel[1][kl];
          const double w = balanced ? e.value[e.cross_row[ij] + e.cross_place[kl]] : 0;
          assert_true(w == tg_ci_hamiltonian_cross(s.h, i, j, k, l));
        }
  tg_ci_flat_elements_free(&e);
  close_scene(&s);
}

/* States of different blocks that the spans leave out have no element. */
static void test_spans_leave_nothing_out(void** state) {
  (void)state;
  scene s = {0};
  tg_ci_flat_spans spans;
  s.count = shell_oscillator(s.orbitals, 2);
  tg_ci_space_params params = space_of(2, 1, 1);
  params.weight_most = 3;
  open_scene(&s, params, 0);
  const uint64_t n = s.space->dimension, first = n / 5;
  assert_int_equal(tg_ci_flat_spans_make(&s.fly, first, n, &spans), TG_OK);
  assert_int_equal(spans.tile_rows[0], 0);
  assert_int_equal(spans.tile_rows[spans.tile_count], n - first);
  uint64_t met = 0;
  double* unit = NULL;
  double* y = NULL;
  assert_int_equal(TG_ALLOCATE(n, "vector", &unit), TG_OK);
  assert_int_equal(TG_ALLOCATE(n, "vector", &y), TG_OK);
  tg_ci_fly whole;
  assert_int_equal(tg_ci_fly_make(s.h, s.space, 1, &whole), TG_OK);
  for (size_t t = 0; t < spans.tile_count; t++) {
    const uint64_t row = first + spans.tile_rows[t];
    unit[row] = 1; /* its column of H */
    assert_int_equal(tg_ci_fly_apply(&whole, 1, unit, y), TG_OK);
    unit[row] = 0;
    for (uint32_t k = spans.tile_spans[t]; k < spans.tile_spans[t + 1]; k++)
      for (uint32_t c = spans.spans[2 * k]; c < spans.spans[2 * k + 1]; c++, met++) y[c] = 0;
    for (uint64_t c = 0; c < n; c++) assert_true(y[c] == 0);
  }
  assert_true(met > 0 && met < n * spans.tile_count);
  tg_ci_fly_free(&whole);
  tg_free(unit);
  tg_free(y);
  tg_ci_flat_spans_free(&spans);
  close_scene(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_words_give_the_values),
      cmocka_unit_test(test_threads_make_the_same),
      cmocka_unit_test(test_frequent_values_have_words),
      cmocka_unit_test(test_too_many_values_get_none),
      cmocka_unit_test(test_rows_begin),
      cmocka_unit_test(test_elements_are_counted),
      cmocka_unit_test(test_elements_are_those_of_h),
      cmocka_unit_test(test_spans_leave_nothing_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
