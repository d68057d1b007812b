/* SPDX-License-Identifier: Apache-2.0 */
/* Rows shared by several PEs: the same levels for any number of them, also where some have no row,
 * and one restart file for all numbers. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <stdio.h>
#include <unistd.h>

#include "base/memory.h"
#include "comm/world.h"
#include "operators.h"

static const char path[] = TG_BUILD_DIR "/tests/test_eigen_pes.bin";

enum { STATES = 3, MOST_PES = 8 };

#define TOLERANCE 1e-5

/* What a run is, and what PE 0 tells of it. */
typedef struct task {
  size_t n;      /* rows of all */
  bool davidson; /* else Lanczos */
  int64_t stop;  /* interrupted before this step, and saved; 0: runs to the end */
  bool goes_on;  /* from the file */
  double values[STATES], residuals[STATES];
  tg_status status[MOST_PES];
  char words[MOST_PES][256];
} task;

typedef struct slice {
  tg_world* world;
  task* what;
  size_t first, n;
  int64_t calls;
  double* whole; /* [n of all] */
  void* gathered;
  size_t capacity;
} slice;

/* The operator of test_restart.c: a rising diagonal and 1 beside it. */
static tg_status slice_apply(void* context, int k, const double* x, double* y, size_t ld) {
  slice* s = context;
  const size_t n = s->what->n;
  for (int j = 0; j < k; j++) {
    TG_TRY(tg_world_gather(s->world, 0, x + (size_t)j * ld, s->n * sizeof *x, &s->gathered,
                           &s->capacity, NULL));
    if (tg_world_pe(s->world) == 0) memcpy(s->whole, s->gathered, n * sizeof *x);
    TG_TRY(tg_world_broadcast(s->world, 0, s->whole, n * sizeof *x));
    for (size_t i = s->first; i < s->first + s->n; i++) {
      double sum = 0.05 * (double)i * s->whole[i];
      if (i > 0) sum += s->whole[i - 1];
      if (i + 1 < n) sum += s->whole[i + 1];
      y[(size_t)j * ld + i - s->first] = sum;
    }
  }
  return TG_OK;
}

static tg_status slice_reduce(void* context, tg_eigen_reduction what, double* values,
                              size_t count) {
  const slice* s = context;
  double all[MOST_PES];
  if (what == TG_EIGEN_SUM) return tg_world_sum_doubles(s->world, values, count);
  for (size_t i = 0; i < count; i++) {
    TG_TRY(tg_world_all_gather(s->world, values + i, sizeof *values, all));
    for (int p = 0; p < tg_world_pe_count(s->world); p++)
      values[i] = what == TG_EIGEN_MIN ? fmin(values[i], all[p]) : fmax(values[i], all[p]);
  }
  return TG_OK;
}

static tg_status slice_agree(void* context, tg_status status) {
  const slice* s = context;
  return tg_world_agree(s->world, status);
}

static bool stop_here(void* context) {
  slice* s = context;
  return ++s->calls == s->what->stop;
}

static tg_status solve(slice* s, const double* diagonal) {
  task* what = s->what;
  const tg_eigen_problem problem = {.n = s->n,
                                    .n_total = what->n,
                                    .first = s->first,
                                    .context = s,
                                    .apply = slice_apply,
                                    .reduce = slice_reduce,
                                    .agree = slice_agree,
                                    .diagonal = what->davidson ? diagonal + s->first : NULL};
  tg_eigen_params params = tg_eigen_defaults();
  params.states = what->n < STATES ? (int)what->n : STATES;
  params.basis = what->n < 30 ? 0 : 30;
  params.threads = 1;
  params.tolerance = TOLERANCE;
  params.interrupted = stop_here;
  params.context = s;
  tg_eigen_solver* solver = NULL;
  tg_eigen_result result = {0};
  TG_TRY(tg_eigen_create(&problem, &params, &solver));
  tg_status status = what->goes_on ? tg_eigen_load(solver, path) : TG_OK;
  if (status == TG_OK) status = tg_eigen_run(solver);
  if (status == TG_ERR_INTERRUPTED)
    status = tg_eigen_save(solver, path);
  else if (status == TG_OK)
    status = tg_eigen_take(solver, &result);
  if (tg_world_pe(s->world) == 0)
    for (int i = 0; i < result.states; i++) {
      what->values[i] = result.values[i];
      what->residuals[i] = result.residuals[i];
    }
  tg_eigen_result_free(&result);
  tg_eigen_destroy(&solver);
  return status;
}

/* Uneven: PE p has p + 1 parts of the rows, but the last one few. */
static tg_status on_pe(tg_world* world, void* context) {
  task* what = context;
  const int pe = tg_world_pe(world), count = tg_world_pe_count(world);
  const size_t parts = (size_t)(count * (count + 1) / 2);
  slice s = {.world = world, .what = what};
  s.first = what->n * (size_t)(pe * (pe + 1) / 2) / parts;
  s.n = what->n * (size_t)((pe + 1) * (pe + 2) / 2) / parts - s.first;
  double* diagonal = calloc(what->n, sizeof *diagonal);
  for (size_t i = 0; i < what->n; i++) diagonal[i] = 0.05 * (double)i;
  s.whole = calloc(what->n, sizeof *s.whole);
  const tg_status status = solve(&s, diagonal);
  what->status[pe] = status;
  snprintf(what->words[pe], sizeof what->words[pe], "%s", status == TG_OK ? "" : tg_last_error());
  free(s.whole);
  free(diagonal);
  tg_free(s.gathered);
  return tg_world_agree(world, status);
}

static tg_status run(task* what, int pes) {
  const tg_world_params params = {.transport = "loop", .pe_count = pes};
  return tg_world_run(&params, on_pe, what);
}

static void expect(const task* found, const task* wanted) {
  for (int i = 0; i < STATES; i++) {
    /* both are off the level by the residual's square over the gap, which is above 0.1, at most */
    if (!(fabs(found->values[i] - wanted->values[i]) <= 2 * TOLERANCE * TOLERANCE / 0.1))
      fail_msg("%.15g instead of %.15g", found->values[i], wanted->values[i]);
    assert_true(found->residuals[i] <= TOLERANCE);
  }
}

static void same_levels(bool davidson) {
  task one = {.n = 600, .davidson = davidson};
  assert_int_equal(run(&one, 1), TG_OK);
  for (int pes = 2; pes <= 5; pes++) {
    task more = {.n = 600, .davidson = davidson}, again = more;
    assert_int_equal(run(&more, pes), TG_OK);
    expect(&more, &one);
    assert_int_equal(run(&again, pes), TG_OK); /* the same bits once more */
    assert_memory_equal(more.values, again.values, sizeof more.values);
    assert_memory_equal(more.residuals, again.residuals, sizeof more.residuals);
  }
}

static void lanczos_on_any_number(void** state) {
  (void)state;
  same_levels(false);
}

static void davidson_on_any_number(void** state) {
  (void)state;
  same_levels(true);
}

static void fewer_rows_than_pes(void** state) {
  (void)state;
  for (size_t n = 1; n < 8; n++) {
    task one = {.n = n}, many = one;
    assert_int_equal(run(&one, 1), TG_OK);
    assert_int_equal(run(&many, 7), TG_OK);
    expect(&many, &one);
  }
}

/* Three PEs begin, two go on, one ends; and the other way round. */
static void numbers_may_change(bool davidson) {
  static const int orders[2][3] = {{3, 2, 1}, {1, 4, 2}};
  task one = {.n = 600, .davidson = davidson};
  assert_int_equal(run(&one, 1), TG_OK);
  for (int o = 0; o < 2; o++) {
    task t = {.n = 600, .davidson = davidson, .stop = 9};
    assert_int_equal(run(&t, orders[o][0]), TG_OK);
    t.goes_on = true;
    assert_int_equal(run(&t, orders[o][1]), TG_OK);
    t.stop = 0;
    assert_int_equal(run(&t, orders[o][2]), TG_OK);
    expect(&t, &one);
  }
}

static void lanczos_goes_on(void** state) {
  (void)state;
  numbers_may_change(false);
}

static void davidson_goes_on(void** state) {
  (void)state;
  numbers_may_change(true);
}

/* A bit in the rows of one PE: all refuse the file, with the same words. */
static void damage_is_agreed(void** state) {
  (void)state;
  task t = {.n = 600, .stop = 9};
  assert_int_equal(run(&t, 2), TG_OK);
  FILE* f = fopen(path, "r+b");
  assert_non_null(f);
  assert_int_equal(fseek(f, -100, SEEK_END), 0); /* in front of the images, of which are none */
  const int byte = fgetc(f);
  assert_int_equal(fseek(f, -100, SEEK_END), 0);
  fputc(byte ^ 1, f);
  fclose(f);
  t.goes_on = true;
  assert_int_equal(run(&t, 3), TG_ERR_INPUT);
  for (int p = 0; p < 3; p++) {
    assert_int_equal(t.status[p], TG_ERR_INPUT);
    assert_non_null(strstr(t.words[p], "the checksum is wrong"));
  }
  assert_int_equal(truncate(path, 20000), 0);
  assert_int_equal(run(&t, 3), TG_ERR_INPUT);
  for (int p = 0; p < 3; p++) assert_non_null(strstr(t.words[p], "the file ends early"));
}

static int remove_file(void** state) {
  (void)state;
  unlink(path);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lanczos_on_any_number), cmocka_unit_test(davidson_on_any_number),
      cmocka_unit_test(fewer_rows_than_pes),   cmocka_unit_test(lanczos_goes_on),
      cmocka_unit_test(davidson_goes_on),      cmocka_unit_test(damage_is_agreed)};
  return cmocka_run_group_tests(tests, NULL, remove_file);
}
