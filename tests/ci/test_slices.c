/* SPDX-License-Identifier: Apache-2.0 */
/* The sliced matrix, by OpenMP and by the module acc, against the factorised product; and levels
 * that --backend acc finds. The same file runs on GPUs, without cmocka (gpu_slices.cu). */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "ci/product_fly.h"
#include "ci/random_h.h"
#include "ci/slices.h"
#include "ci/solve.h"

enum { MOST = TG_CI_SLICES_WIDTH + 1 }; /* vectors at once */

static void ok(tg_status status) {
  if (status != TG_OK) fail_msg("status %d: %s", (int)status, tg_last_error());
}

static double* vector(size_t n) {
  double* x = NULL;
  ok(TG_ALLOCATE(n + 1, "vector", &x));
  return x;
}

/* Sums of at most `terms` elements each in another order, none above a few tens. */
static double tolerance(double terms) { return 64 * terms * DBL_EPSILON; }

/* The backends that run here: OpenMP, then OpenACC. */
static bool backend_of(int number, tg_ci_slices_backend* out) {
  static const char* const names[] = {"omp", "acc"};
  static bool said;
  if (tg_ci_slices_find(names[number], out) == TG_OK) return true;
  if (!said) fprintf(stderr, "skipped: %s: %s\n", names[number], tg_last_error());
  said = true;
  return false;
}

static double* there(const tg_ci_slices_backend* b, const double* here, size_t count) {
  void* memory = NULL;
  ok(b->motifs->memory->allocate(count * sizeof *here, "a test", &memory));
  ok(b->motifs->memory->upload(memory, here, count * sizeof *here));
  return memory;
}

/* Products of 1 ... MOST vectors into y: [MOST, ld]; nothing else is written, and a vector's bits
 * do not depend on the others. */
static void multiply(const tg_ci_slices_backend* b, tg_ci_slices* s, size_t n, size_t ld,
                     const double* x, double* y) {
  const tg_motif_memory* memory = b->motifs->memory;
  double *empty = vector(MOST * ld), *first = vector(MOST * ld), *x_there = there(b, x, MOST * ld);
  for (size_t i = 0; i < MOST * ld; i++) empty[i] = 1e300;
  for (int k = MOST; k > 0; k--) {
    double* y_there = there(b, empty, MOST * ld);
    ok(tg_ci_slices_apply(s, k, x_there, ld, y_there, ld));
    ok(memory->download(y, y_there, MOST * ld * sizeof *y));
    memory->release(y_there);
    if (k == MOST) memcpy(first, y, MOST * ld * sizeof *y);
    for (size_t i = 0; i < MOST * ld; i++)
      if (y[i] != (i % ld < n && i / ld < (size_t)k ? first[i] : 1e300))
        fail_msg("%d vectors: number %zu is %.17g", k, i, y[i]);
  }
  memcpy(y, first, MOST * ld * sizeof *y);
  memory->release(x_there);
  tg_free(empty);
  tg_free(first);
}

typedef struct scene {
  tg_ci_fly fly;
  size_t n, ld;
  double *x, *expected; /* [MOST, ld], of the factorised product */
} scene;

static void scene_open(const tg_ci_hamiltonian* h, const tg_ci_space* space, scene* s) {
  ok(tg_ci_fly_make(h, space, 2, &s->fly));
  s->n = (size_t)space->dimension;
  s->ld = s->n + 3;
  s->x = vector(MOST * s->ld);
  s->expected = vector(MOST * s->ld);
  for (size_t i = 0; i < MOST * s->ld; i++) s->x[i] = shell_random(5, i);
  for (size_t v = 0; v < MOST; v++)
    ok(tg_ci_fly_apply(&s->fly, 2, s->x + v * s->ld, s->expected + v * s->ld));
}

static void scene_close(scene* s) {
  tg_free(s->x);
  tg_free(s->expected);
  tg_ci_fly_free(&s->fly);
}

/* Made by each backend: the fly's product to rounding; and of all backends the same bits. */
static void check_way(const scene* s, bool plain, int32_t most_step, tg_ci_slices_facts* facts) {
  const tg_ci_slices_params params = {.fly = &s->fly, .plain = plain, .most_step = most_step};
  double *y = vector(MOST * s->ld), *before = vector(MOST * s->ld), *d = vector(s->n);
  for (int b = 0; b < 2; b++) {
    tg_ci_slices_backend backend;
    tg_ci_slices* slices = NULL;
    if (!backend_of(b, &backend)) continue;
    ok(tg_ci_slices_create(&backend, &params, &slices));
    *facts = tg_ci_slices_query(slices);
    assert_int_equal(facts->rows, s->n);
    assert_true(facts->elements <= s->fly.pairs - s->n && facts->places >= facts->elements);
    assert_true(facts->coded == (plain ? 0 : facts->coded));
    ok(backend.motifs->memory->download(d, tg_ci_slices_diagonal(slices), s->n * sizeof *d));
    for (size_t i = 0; i < s->n; i++)
      assert_true(fabs(d[i] - s->fly.diagonal[i]) <= tolerance(100));
    multiply(&backend, slices, s->n, s->ld, s->x, y);
    for (size_t i = 0; i < MOST * s->ld; i++)
      if (i % s->ld < s->n && !(fabs(y[i] - s->expected[i]) <= tolerance((double)s->n + 100)))
        fail_msg("number %zu is %.17g in place of %.17g", i, y[i], s->expected[i]);
    if (b > 0) assert_memory_equal(before, y, MOST * s->ld * sizeof *y);
    memcpy(before, y, MOST * s->ld * sizeof *y);
    tg_ci_slices_destroy(&slices);
    assert_null(slices);
  }
  tg_free(y);
  tg_free(before);
  tg_free(d);
}

/* coded: there are few values, and must be words. */
static void check(const tg_ci_hamiltonian* h, const tg_ci_space_params* params, bool coded) {
  tg_ci_space* space = NULL;
  tg_ci_slices_facts facts = {0}, steps = {0}, plain = {0};
  scene s = {0};
  ok(tg_ci_space_make(h, params, &space));
  scene_open(h, space, &s);
  check_way(&s, false, 0, &facts);
  check_way(&s, true, 0, &plain);
  assert_true(plain.coded == 0 && plain.elements <= s.fly.pairs - s.n);
  assert_true(!coded || facts.coded > 0);
  if (coded) {
    check_way(&s, false, 5, &steps); /* most steps are taken in several */
    assert_true(steps.elements == facts.elements && steps.places > facts.places);
    assert_true(facts.product_bytes < plain.product_bytes);
  }
  scene_close(&s);
  tg_ci_space_free(space);
}

static void random_elements(void** state) {
  (void)state;
  tg_ci_orbital o[64];
  const size_t n = shell_sd(o), wide = shell_pf(o + 32);
  tg_ci_hamiltonian* h = random_h(n, o, n, o, 23);
  static const int particles[][3] = {{2, 2, 0}, {3, 2, 1}, {1, 3, 0},  {2, 0, 0},
                                     {0, 3, 1}, {0, 0, 0}, {1, 1, 10}, {12, 11, 5}};
  for (size_t i = 0; i < sizeof particles / sizeof *particles; i++) {
    const tg_ci_space_params params = space_of(particles[i][0], particles[i][1], particles[i][2]);
    check(h, &params, false);
  }
  tg_ci_hamiltonian_free(h);
  h = random_h(n, o, wide, o + 32, 27); /* species with orbitals of their own; parity, too */
  const tg_ci_space_params params = space_of(2, 2, 0);
  check(h, &params, false);
  tg_ci_hamiltonian_free(h);
}

/* Valence spaces: values are few, so elements are coded. */
static void real_elements(void** state) {
  (void)state;
  static const struct {
    const char* input;
    int protons, neutrons;
  } cases[] = {{"builtin:usdb", 2, 2},
               {"builtin:usdb", 3, 2},
               {"builtin:ckpot", 4, 4},
               {"builtin:usdb", 1, 3}};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    const tg_ci_source source = {.path = cases[c].input};
    tg_ci_problem_params params = tg_ci_problem_defaults();
    tg_ci_input input;
    tg_ci_problem problem;
    params.protons = cases[c].protons;
    params.neutrons = cases[c].neutrons;
    ok(tg_ci_input_read(&source, 1, &input));
    ok(tg_ci_problem_make(&input, &params, &problem));
    tg_ci_space_params space = problem.space;
    space.symmetry = (int)problem.sectors[0];
    check(problem.h, &space, true);
    tg_ci_problem_free(&problem);
    tg_ci_input_free(&input);
  }
}

static void what_does_not_fit_is_refused(void** state) {
  (void)state;
  tg_ci_orbital o[32];
  const size_t n = shell_sd(o);
  tg_ci_hamiltonian* h = random_h(n, o, n, o, 31);
  const tg_ci_space_params params = space_of(2, 2, 0);
  tg_ci_space* space = NULL;
  tg_ci_fly fly = {0};
  ok(tg_ci_space_make(h, &params, &space));
  ok(tg_ci_fly_make(h, space, 1, &fly));
  for (int b = 0; b < 2; b++) {
    tg_ci_slices_backend backend;
    tg_ci_slices* slices = NULL;
    uint64_t making = 0;
    if (!backend_of(b, &backend)) continue;
    tg_ci_slices_params p = {.fly = &fly};
    ok(tg_ci_slices_create(&backend, &p, &slices));
    const tg_ci_slices_facts facts = tg_ci_slices_query(slices);
    tg_ci_slices_destroy(&slices);
    assert_true(facts.bytes <= tg_ci_slices_bytes(&fly, false, &making) && making > 0);
    p.memory = facts.bytes - 1;
    assert_int_equal(tg_ci_slices_create(&backend, &p, &slices), TG_ERR_MACHINE);
    assert_non_null(strstr(tg_last_error(), "the stored matrix needs"));
    assert_null(slices);
  }
  tg_ci_fly_free(&fly);
  ok(tg_ci_fly_make_nonzero(h, space, 1, &fly));
  tg_ci_slices_backend omp;
  tg_ci_slices* slices = NULL;
  const tg_ci_slices_params p = {.fly = &fly};
  ok(tg_ci_slices_find("omp", &omp));
  assert_int_equal(tg_ci_slices_create(&omp, &p, &slices), TG_ERR_INPUT);
  tg_ci_fly_free(&fly);
  tg_ci_space_free(space);
  tg_ci_hamiltonian_free(h);
}

/* ---- levels ---- */

typedef struct question {
  const char* input;
  int protons, neutrons; /* TG_CI_UNSET: a molecule */
  int two_j, states;
} question;

static const question questions[] = {
    {"builtin:usdb", 1, 2, TG_CI_UNSET, 5},
    {"builtin:usdb", 2, 2, TG_CI_UNSET, 10},
    {"builtin:usdb", 0, 4, TG_CI_UNSET, 4},
    {"builtin:usdb", 2, 3, TG_CI_UNSET, 4},
    {"builtin:usdb", 2, 2, 4, 2}, /* J = 2 alone */
    {"builtin:ckpot", 4, 4, TG_CI_UNSET, 10},
    {"builtin:ckpot", 1, 1, TG_CI_UNSET, 3},
    {TG_SOURCE_DIR "/tests/ci/data/lih.fcidump", TG_CI_UNSET, TG_CI_UNSET, TG_CI_UNSET, 3},
};

/* Residuals of 1e-4 MeV leave errors of their square over the gap. */
static void same_levels(const tg_ci_spectrum* a, const tg_ci_spectrum* b) {
  assert_int_equal(a->level_count, b->level_count);
  for (size_t i = 0; i < a->level_count && i < b->level_count; i++) {
    const tg_ci_level *p = &a->levels[i], *q = &b->levels[i];
    if (!(fabs(p->energy - q->energy) <= 1e-8 + p->error + q->error))
      fail_msg("level %zu is %.10g in place of %.10g", i, q->energy, p->energy);
    for (int k = 0; k < TG_CI_LABELS; k++)
      assert_true(isnan(p->squared[k]) == isnan(q->squared[k]) &&
                  !(fabs(p->squared[k] - q->squared[k]) > 1e-5));
  }
}

static void levels_are_the_same(void** state) {
  (void)state;
#ifndef TG_HAVE_LAPACK
  skip();
#endif
  tg_ci_slices_backend acc;
  if (!backend_of(1, &acc)) return;
  for (size_t c = 0; c < sizeof questions / sizeof *questions; c++) {
    const question* q = &questions[c];
    const tg_ci_source source = {.path = q->input};
    tg_ci_problem_params params = tg_ci_problem_defaults();
    tg_ci_input input;
    tg_ci_problem problem;
    tg_ci_spectrum found[3] = {0};
    params.protons = q->protons;
    params.neutrons = q->neutrons;
    params.two_j = q->two_j;
    ok(tg_ci_input_read(&source, 1, &input));
    ok(tg_ci_problem_make(&input, &params, &problem));
    for (int run = 0; run < 3; run++) {
      tg_ci_solve_params solve = tg_ci_solve_defaults();
      solve.states = q->states;
      solve.threads = 2;
      solve.backend = run ? TG_CI_ACC : TG_CI_OMP;
      ok(tg_ci_solve(&problem, &solve, &found[run]));
    }
    same_levels(&found[0], &found[1]);
    assert_true(found[1].sectors[0].need.gpu.acc);
    assert_int_equal(found[1].sectors[0].need.facts.storage, TG_CI_STORAGE_STORED);
    for (size_t i = 0; i < found[1].level_count; i++) /* the same bits again */
      assert_true(found[1].levels[i].energy == found[2].levels[i].energy);
    for (int run = 0; run < 3; run++) tg_ci_spectrum_free(&found[run]);
    tg_ci_problem_free(&problem);
    tg_ci_input_free(&input);
  }
}

static void what_it_does_not_do_is_refused(void** state) {
  (void)state;
  tg_ci_slices_backend acc;
  if (!backend_of(1, &acc)) return;
  const tg_ci_source source = {.path = "builtin:usdb"};
  tg_ci_problem_params params = tg_ci_problem_defaults();
  tg_ci_input input;
  tg_ci_problem problem;
  params.protons = params.neutrons = 2;
  ok(tg_ci_input_read(&source, 1, &input));
  ok(tg_ci_problem_make(&input, &params, &problem));
  tg_ci_solve_params solve = tg_ci_solve_defaults();
  tg_ci_spectrum spectrum = {0};
  tg_ci_need need = {0};
  solve.states = 2;
  solve.backend = TG_CI_ACC;
  solve.storage = TG_CI_STORAGE_FLY;
  assert_int_equal(tg_ci_solve(&problem, &solve, &spectrum), TG_ERR_INPUT);
  assert_non_null(strstr(tg_last_error(), "--backend acc stores the matrix"));
  solve.storage = TG_CI_STORAGE_AUTO;
  solve.pes = 2;
  assert_int_equal(tg_ci_solve_estimate(&problem, &solve, 0, &need), TG_ERR_INPUT);
  assert_non_null(strstr(tg_last_error(), "one processing element"));
  solve.pes = 1;
  ok(tg_ci_solve_estimate(&problem, &solve, 0, &need));
  assert_true(need.gpu.acc && need.gpu.matrix > 0 && need.peak > 0);
  tg_ci_problem_free(&problem);
  tg_ci_input_free(&input);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_elements),
      cmocka_unit_test(real_elements),
      cmocka_unit_test(what_does_not_fit_is_refused),
      cmocka_unit_test(levels_are_the_same),
      cmocka_unit_test(what_it_does_not_do_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
