/* SPDX-License-Identifier: Apache-2.0 */
/* The model of --storage auto on a GPU: what it counts, and that it chooses the faster way wherever
 * the two differ, of spaces whose products were measured. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <stdlib.h>

#include "ci/device_operator.h"
#include "ci/problem.h"
#include "support.h"

enum { WIDTHS = 3 };
static const int widths[WIDTHS] = {1, 2, 4};

/* Products of 1, 2 and 4 vectors, ms: `throng bench ci --products` on an H200, 2026-12-01. */
typedef struct measured {
  const char *name, *path;
  int protons, neutrons, nmax, irrep;
  double fly[WIDTHS], stored[WIDTHS];
} measured;

#define USDB "builtin:usdb"
#define KB3G SHARED("snt/kb3g.snt")
#define NO TG_CI_UNSET
static const measured cases[] = {
    {"20Ne", USDB, 2, 2, NO, NO, {0.0311, 0.031, 0.0308}, {0.0125, 0.0162, 0.0175}},
    {"22Na", USDB, 3, 3, NO, NO, {0.0504, 0.0643, 0.0785}, {0.0164, 0.0203, 0.0270}},
    {"24Mg", USDB, 4, 4, NO, NO, {0.064, 0.0773, 0.133}, {0.0245, 0.0358, 0.0467}},
    {"25Mg", USDB, 4, 5, NO, NO, {0.0698, 0.0861, 0.143}, {0.0361, 0.0482, 0.0690}},
    {"26Al", USDB, 5, 5, NO, NO, {0.0813, 0.121, 0.217}, {0.0548, 0.0752, 0.119}},
    {"28Si", USDB, 6, 6, NO, NO, {0.0889, 0.148, 0.268}, {0.0588, 0.0820, 0.132}},
    {"44Ti", KB3G, 2, 2, NO, NO, {0.0582, 0.0773, 0.0838}, {0.0170, 0.0247, 0.0276}},
    {"46V", KB3G, 3, 3, NO, NO, {0.146, 0.245, 0.457}, {0.112, 0.156, 0.261}},
    {"46Ti", KB3G, 2, 4, NO, NO, {0.143, 0.211, 0.266}, {0.0857, 0.120, 0.200}},
    {"47V", KB3G, 3, 4, NO, NO, {0.337, 0.59, 1.14}, {0.487, 0.673, 1.21}},
    {"48Cr", KB3G, 4, 4, NO, NO, {1.05, 2.06, 4.07}, {2.13, 2.98, 5.47}},
    {"6Li, Nmax 2",
     SHARED("snt/jisp16_A6_Nmax2.snt"),
     3,
     3,
     2,
     NO,
     {1.04, 2.06, 4.06},
     {0.0428, 0.0436, 0.0443}},
    {"7Li, Nmax 2",
     SHARED("snt/jisp16_A7_Nmax2.snt"),
     3,
     4,
     2,
     NO,
     {0.0455, 0.0463, 0.0467},
     {0.0183, 0.0253, 0.0308}},
    {"6Li, Nmax 4",
     SHARED("snt/jisp16_A6_Nmax4.snt"),
     3,
     3,
     4,
     NO,
     {0.24, 0.264, 0.34},
     {0.0312, 0.0409, 0.0728}},
    {"N2",
     SHARED("fcidump/N2_sto-3g_R1.1.FCIDUMP"),
     NO,
     NO,
     NO,
     1,
     {0.0388, 0.0414, 0.0411},
     {0.0124, 0.0177, 0.0208}},
    {"LiH",
     SHARED("fcidump/LiH_6-31g.FCIDUMP"),
     NO,
     NO,
     NO,
     1,
     {0.0341, 0.0344, 0.0351},
     {0.0142, 0.0194, 0.0213}},
    {"H2O",
     SHARED("fcidump/H2O_6-31g.FCIDUMP"),
     NO,
     NO,
     NO,
     1,
     {0.221, 0.399, 0.763},
     {0.414, 0.558, 0.926}},
};

typedef struct scene {
  tg_ci_input input;
  tg_ci_problem problem;
  tg_ci_space* space;
  tg_ci_fly fly;
} scene;

static void open_case(const measured* m, int threads, scene* s) {
  tg_ci_problem_params numbers = tg_ci_problem_defaults();
  numbers.protons = m->protons;
  numbers.neutrons = m->neutrons;
  numbers.nmax = m->nmax;
  numbers.irrep = m->irrep;
  *s = (scene){.input = read_file(m->path)};
  assert_ok(tg_ci_problem_make(&s->input, &numbers, &s->problem));
  tg_ci_space_params space = s->problem.space;
  space.symmetry = (int)s->problem.sectors[0];
  assert_ok(tg_ci_space_make(s->problem.h, &space, &s->space));
  assert_ok(tg_ci_fly_tables(s->problem.h, s->space, threads, false, &s->fly));
}

static void close_case(scene* s) {
  tg_ci_fly_free(&s->fly);
  tg_ci_space_free(s->space);
  tg_ci_problem_free(&s->problem);
  tg_ci_input_free(&s->input);
}

/* Where the measured times differ by more than a fifth. */
static void expect_choice(const measured* m, const scene* s) {
  tg_ci_storage_work work;
  tg_ci_storage_count(&s->fly, 0, s->space->dimension, &work);
  for (int w = 0; w < WIDTHS; w++) {
    const tg_ci_storage_times t = tg_ci_storage_estimate(&work, widths[w], 0);
    const double fly = m->fly[w], stored = m->stored[w], ratio = fly / stored;
    if (ratio > 1.2 || ratio < 1 / 1.2)
      if (tg_ci_storage_prefers_fly(&t) != (ratio < 1))
        fail_msg("%s, %d vectors: fly takes %g ms and stored %g, estimated %g and %g", m->name,
                 widths[w], fly, stored, 1e3 * widths[w] * t.fly_s, 1e3 * widths[w] * t.stored_s);
  }
}

static void the_faster_way_is_chosen(void** state) {
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    scene s;
    if (strcmp(cases[i].path, USDB) != 0 && !is_there(cases[i].path)) continue;
    open_case(&cases[i], 2, &s);
    expect_choice(&cases[i], &s);
    close_case(&s);
  }
}

/* Elements of each kind are those of the space, and counts are the same whoever makes the tables
 * and however the rows are parted. */
static void work_is_counted(void** state) {
  (void)state;
  scene s, other;
  tg_ci_storage_work all, again, part[2];
  open_case(&cases[2], 1, &s);
  open_case(&cases[2], 2, &other);
  const uint64_t dimension = s.space->dimension, half = s.space->blocks[5].offset + 7;
  tg_ci_storage_count(&s.fly, 0, dimension, &all);
  tg_ci_storage_count(&other.fly, 0, dimension, &again);
  assert_memory_equal(&all, &again, sizeof all);
  tg_ci_storage_count(&s.fly, 0, half, &part[0]);
  tg_ci_storage_count(&s.fly, half, dimension, &part[1]);
  for (int t = 0; t < TG_CI_TERMS; t++) {
    if (t == TG_CI_TERM_TABLES || t == TG_CI_TERM_LONGEST) continue; /* no shares of these */
    /* numbers of elements are rounded up, once each time */
    assert_close(part[0].count[t] + part[1].count[t], all.count[t], 1 + 1e-12 * all.count[t]);
  }
  assert_true(all.count[TG_CI_TERM_ROWS] == (double)dimension);
  assert_true(all.count[TG_CI_TERM_CODED] + all.count[TG_CI_TERM_VALUED] ==
              (double)(s.fly.pairs - dimension));
  assert_true(all.count[TG_CI_TERM_CODED] > 0 && all.count[TG_CI_TERM_VALUED] > 0);
  close_case(&other);
  close_case(&s);
}

/* All blocks of 20Ne are small, so nothing is counted as large, and every element is a small
 * block's. */
static void small_blocks_are_apart(void** state) {
  (void)state;
  scene s;
  tg_ci_storage_work work;
  open_case(&cases[0], 1, &s);
  tg_ci_storage_count(&s.fly, 0, s.space->dimension, &work);
  for (size_t n = 0; n < s.space->block_count; n++)
    assert_true(s.space->blocks[n].rows < 16 || s.space->blocks[n].columns < 16);
  assert_true(work.count[TG_CI_TERM_SMALL] == (double)(s.fly.pairs - s.space->dimension));
  for (int t = TG_CI_TERM_MEETINGS; t <= TG_CI_TERM_ALONE; t++) assert_true(work.count[t] == 0);
  assert_true(work.count[TG_CI_TERM_LONGEST] > work.count[TG_CI_TERM_SMALL] / 640);
  close_case(&s);
}

/* The choice as an operator has it: by products and making, and by room. */
static void an_operator_goes_by_it(void** state) {
  (void)state;
  scene s;
  tg_ci_device_operator_facts facts;
  open_case(&cases[5], 2, &s);
  tg_ci_device_operator_params params = {
      .storage = TG_CI_STORAGE_AUTO, .memory = 1000000000, .fly = &s.fly, .width = 2};
  assert_ok(tg_ci_device_operator_estimate(s.problem.h, s.space, &params, &facts));
  assert_int_equal(facts.host.storage, TG_CI_STORAGE_STORED); /* products of 28Si are faster so */
  assert_true(facts.times.stored_s < facts.times.fly_s);
  params.products = 2; /* but these few do not pay for making it */
  assert_ok(tg_ci_device_operator_estimate(s.problem.h, s.space, &params, &facts));
  assert_int_equal(facts.host.storage, TG_CI_STORAGE_FLY);
  params.products = 1000;
  params.memory = facts.stored_bytes; /* nor does it fit with what making it takes */
  assert_ok(tg_ci_device_operator_estimate(s.problem.h, s.space, &params, &facts));
  assert_int_equal(facts.host.storage, TG_CI_STORAGE_FLY);
  assert_false(tg_ci_storage_prefers_fly(&facts.times));
  params.memory = 1000000000;
  const tg_ci_device_rows none = {100, 100}; /* a PE without rows lets the others decide */
  params.rows = &none;
  params.products = 2;
  assert_ok(tg_ci_device_operator_estimate(s.problem.h, s.space, &params, &facts));
  assert_int_equal(facts.host.storage, TG_CI_STORAGE_STORED);
  close_case(&s);
}

/* A wider block takes no less, and no more than its vectors one by one. */
static void widths_are_in_order(void** state) {
  (void)state;
  scene s;
  tg_ci_storage_work work;
  open_case(&cases[5], 2, &s);
  tg_ci_storage_count(&s.fly, 0, s.space->dimension, &work);
  tg_ci_storage_times before = tg_ci_storage_estimate(&work, 1, 0);
  for (int width = 2; width <= 6; width++) {
    const tg_ci_storage_times t = tg_ci_storage_estimate(&work, width, 0);
    assert_true(t.fly_s > 0 && t.fly_s <= before.fly_s && t.stored_s <= before.stored_s);
    before = t;
  }
  close_case(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_faster_way_is_chosen), cmocka_unit_test(work_is_counted),
      cmocka_unit_test(small_blocks_are_apart),   cmocka_unit_test(an_operator_goes_by_it),
      cmocka_unit_test(widths_are_in_order),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
