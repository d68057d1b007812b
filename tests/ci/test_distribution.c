/* SPDX-License-Identifier: Apache-2.0 */
/* How states are shared out, and the product of each share: from what it needs of the others' x
 * alone, slice by slice as it comes. */
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

#include "ci/product_fly.h"
#include "ci/random_h.h"

typedef struct scene {
  tg_ci_hamiltonian* h;
  tg_ci_space* space;
  tg_ci_fly fly;
} scene;

static scene scene_of(tg_ci_hamiltonian* h, const tg_ci_space_params* params) {
  scene s = {.h = h};
  if (tg_ci_space_make(h, params, &s.space) != TG_OK) fail_msg("%s", tg_last_error());
  assert_int_equal(tg_ci_fly_make(h, s.space, 2, &s.fly), TG_OK);
  return s;
}

static void scene_end(scene* s) {
  tg_ci_fly_free(&s->fly);
  tg_ci_space_free(s->space);
  tg_ci_hamiltonian_free(s->h);
}

/* 24Mg's size with random elements: 28,503 states in 64 blocks. */
static scene sd_scene(void) {
  tg_ci_orbital o[64];
  const size_t n = shell_sd(o);
  const tg_ci_space_params params = space_of(4, 4, 0);
  return scene_of(random_h(n, o, n, o, 31), &params);
}

/* Eight electrons of a molecule: one large block for each pair of labels. */
static scene molecule_scene(void) {
  static const uint8_t labels[8] = {0, 3, 0, 2, 1, 1, 3, 0};
  tg_ci_orbital o[8];
  for (int i = 0; i < 8; i++) o[i] = (tg_ci_orbital){.symmetry = labels[i], .shell = (uint16_t)i};
  const tg_ci_space_params params = space_of(4, 3, 0);
  return scene_of(random_h(8, o, 8, o, 32), &params);
}

static scene truncated_scene(void) {
  tg_ci_orbital o[64];
  const size_t n = shell_oscillator(o, 2);
  tg_ci_space_params params = space_of(3, 2, 1);
  params.weight_most = 5;
  return scene_of(random_h(n, o, n, o, 33), &params);
}

static bool begins_a_row(const tg_ci_space* space, uint64_t state) {
  if (state == space->dimension) return true;
  const tg_ci_block* block = &space->blocks[tg_ci_space_block_of(space, state)];
  return (state - block->offset) % block->columns == 0;
}

static void check_bounds(const scene* s, int pes, double balance) {
  tg_ci_distribution d;
  double sum = 0;
  assert_int_equal(tg_ci_distribution_make(&s->fly, pes, &d), TG_OK);
  assert_int_equal(d.first[0], 0);
  assert_int_equal(d.first[pes], s->space->dimension);
  for (int p = 0; p < pes; p++) {
    assert_true(d.first[p] <= d.first[p + 1]);
    assert_true(begins_a_row(s->space, d.first[p]));
    if (d.first[p] == d.first[p + 1]) {
      assert_true(d.elements[p] == 0);
      continue;
    }
    assert_int_equal(tg_ci_distribution_owner(&d, d.first[p]), p);
    assert_int_equal(tg_ci_distribution_owner(&d, d.first[p + 1] - 1), p);
    sum += d.elements[p];
  }
  assert_true(sum == (double)s->fly.pairs); /* whole numbers */
  if (!(tg_ci_distribution_imbalance(&d) <= balance))
    fail_msg("%d PEs: one has %g times the mean more", pes, tg_ci_distribution_imbalance(&d));
  tg_ci_distribution_free(&d);
}

/* No share is off by more than a row, which is the finest there is. */
static void bounds_cover_all(void** state) {
  (void)state;
  scene scenes[] = {sd_scene(), molecule_scene(), truncated_scene()};
  static const int counts[] = {1, 2, 3, 5, 8, 64};
  for (int i = 0; i < 3; i++) {
    double row = 0;
    for (size_t n = 0; n < scenes[i].space->block_count; n++)
      for (size_t k = 0; k < scenes[i].space->blocks[n].rows; k++)
        row = fmax(row, tg_ci_row_elements(&scenes[i].fly, n, k));
    for (int c = 0; c < 6; c++)
      check_bounds(&scenes[i], counts[c], row * counts[c] / (double)scenes[i].fly.pairs);
  }
  check_bounds(&scenes[0], 8, 0.02); /* which here is 2 per cent for eight */
  for (int i = 0; i < 3; i++) scene_end(&scenes[i]);
}

static void more_pes_than_rows(void** state) {
  (void)state;
  tg_ci_orbital o[16];
  const size_t n = shell_p(o);
  const tg_ci_space_params params = space_of(1, 1, 4); /* 2m = 3 and 1, both ways: three states */
  scene s = scene_of(random_h(n, o, n, o, 34), &params);
  for (int pes = 1; pes < 20; pes++) check_bounds(&s, pes, pes);
  scene_end(&s);
}

static void rows_are_counted(void** state) {
  (void)state;
  scene s = sd_scene();
  for (size_t n = 0; n < s.space->block_count; n++) {
    double sum = 0;
    for (size_t i = 0; i < s.space->blocks[n].rows; i++) sum += tg_ci_row_elements(&s.fly, n, i);
    assert_true(sum == s.fly.elements[n]);
  }
  scene_end(&s);
}

/* ---- the product of a share ---- */

/* x as it comes: not a number before. */
typedef struct arrivals {
  const double* x; /* all of it, k vectors */
  double* here;    /* what is there */
  size_t ld, k;
  const tg_ci_distribution* d;
  const tg_ci_range* needed; /* nothing else comes */
  size_t count;
  int next; /* the PE whose turn it is */
} arrivals;

static tg_status arrive(void* context, int pe) {
  arrivals* a = context;
  assert_int_equal(pe, a->next);
  a->next = (pe + 1) % a->d->pe_count;
  for (size_t r = 0; r < a->count; r++)
    for (uint64_t i = a->needed[r].first; i < a->needed[r].end; i++)
      if (i >= a->d->first[pe] && i < a->d->first[pe + 1])
        for (size_t v = 0; v < a->k; v++) a->here[v * a->ld + i] = a->x[v * a->ld + i];
  return TG_OK;
}

static tg_status never(void* context, int pe) {
  (void)context;
  return pe == 1 ? tg_fail(TG_ERR_NUMERICS, "slice 1 is lost") : TG_OK;
}

static double* vector(size_t n) {
  double* x = NULL;
  assert_int_equal(TG_ALLOCATE(n, "vector", &x), TG_OK);
  return x;
}

static void check_share(const scene* s, const tg_ci_distribution* d, int pe, const double* x,
                        const double* expected, double limit) {
  enum { K = 2 };
  const size_t n = (size_t)s->space->dimension, rows = (size_t)(d->first[pe + 1] - d->first[pe]);
  const size_t ldx = n + 5, ldy = rows + 2;
  double *many = vector(K * ldx), *here = vector(K * ldx), *y = vector(K * ldy),
         *again = vector(K * ldy), *diagonal = vector(rows);
  tg_ci_range* needed;
  size_t count;
  assert_int_equal(tg_ci_needed(&s->fly, d->first[pe], d->first[pe + 1], &needed, &count), TG_OK);
  assert_int_equal(tg_ci_fly_diagonal(&s->fly, 2, d->first[pe], d->first[pe + 1], diagonal), TG_OK);
  assert_memory_equal(diagonal, s->fly.diagonal + d->first[pe], rows * sizeof *diagonal);
  for (size_t i = 0; i < n; i++) {
    many[i] = -x[i];
    many[ldx + i] = x[i];
  }
  for (int threads = 1; threads <= 3; threads += 2) {
    double* out = threads == 1 ? y : again;
    for (size_t i = 0; i < K * ldx; i++) here[i] = NAN;
    for (size_t i = 0; i < K * ldy; i++) out[i] = 1e300;
    arrivals a = {.x = many,
                  .here = here,
                  .ld = ldx,
                  .k = K,
                  .d = d,
                  .needed = needed,
                  .count = count,
                  .next = pe};
    assert_int_equal(arrive(&a, pe), TG_OK);
    const tg_ci_fly_part part = {.first = d->first[pe],
                                 .end = d->first[pe + 1],
                                 .diagonal = diagonal,
                                 .slices = d,
                                 .own = pe,
                                 .ready = arrive,
                                 .context = &a};
    const tg_ci_fly_vectors vectors = {.k = K, .x = here, .ldx = ldx, .y = out, .ldy = ldy};
    assert_int_equal(tg_ci_fly_apply_part(&s->fly, &part, threads, &vectors), TG_OK);
    assert_int_equal(a.next, pe); /* all have come */
  }
  assert_memory_equal(y, again, K * ldy * sizeof *y);
  for (size_t i = 0; i < rows; i++) {
    if (!(fabs(y[ldy + i] - expected[d->first[pe] + i]) <= limit))
      fail_msg("row %zu of PE %d: %.17g, expected %.17g", i, pe, y[ldy + i],
               expected[d->first[pe] + i]);
    assert_true(y[i] == -y[ldy + i]);
  }
  for (size_t v = 0; v < K; v++)
    for (size_t i = rows; i < ldy; i++) assert_true(y[v * ldy + i] == 1e300);
  tg_free(needed);
  tg_free(many);
  tg_free(here);
  tg_free(y);
  tg_free(again);
  tg_free(diagonal);
}

static void shares_make_the_whole(void** state) {
  (void)state;
  scene scenes[] = {sd_scene(), molecule_scene(), truncated_scene()};
  static const int counts[] = {1, 2, 3, 5};
  for (int i = 0; i < 3; i++) {
    scene* s = &scenes[i];
    const size_t n = (size_t)s->space->dimension;
    double *x = vector(n), *y = vector(n);
    for (size_t k = 0; k < n; k++) x[k] = shell_random(35, k);
    assert_int_equal(tg_ci_fly_apply(&s->fly, 2, x, y), TG_OK);
    /* another order of the terms of a row, each below 40: a diagonal element is a sum of at most 29
     * random ones, and x is below 1 */
    const double terms = (double)s->fly.pairs / (double)n * 10;
    for (int c = 0; c < 4; c++) {
      tg_ci_distribution d;
      assert_int_equal(tg_ci_distribution_make(&s->fly, counts[c], &d), TG_OK);
      for (int p = 0; p < counts[c]; p++)
        check_share(s, &d, p, x, y, terms * 40 * terms * DBL_EPSILON);
      tg_ci_distribution_free(&d);
    }
    tg_free(x);
    tg_free(y);
    scene_end(s);
  }
}

static void failures_are_passed_on(void** state) {
  (void)state;
  scene s = molecule_scene();
  tg_ci_distribution d;
  assert_int_equal(tg_ci_distribution_make(&s.fly, 3, &d), TG_OK);
  const size_t n = (size_t)s.space->dimension;
  double *x = vector(n), *y = vector(n);
  const tg_ci_fly_part part = {.first = d.first[0],
                               .end = d.first[1],
                               .diagonal = s.fly.diagonal,
                               .slices = &d,
                               .ready = never};
  const tg_ci_fly_vectors vectors = {.k = 1, .x = x, .ldx = n, .y = y, .ldy = n};
  assert_int_equal(tg_ci_fly_apply_part(&s.fly, &part, 2, &vectors), TG_ERR_NUMERICS);
  assert_string_equal(tg_last_error(), "slice 1 is lost");
  tg_free(x);
  tg_free(y);
  tg_ci_distribution_free(&d);
  scene_end(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bounds_cover_all), cmocka_unit_test(more_pes_than_rows),
      cmocka_unit_test(rows_are_counted), cmocka_unit_test(shares_make_the_whole),
      cmocka_unit_test(failures_are_passed_on)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
