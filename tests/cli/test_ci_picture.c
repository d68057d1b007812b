/* SPDX-License-Identifier: Apache-2.0 */
/* Level schemes: labels that do not cover each other, columns, arrows, and the option. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <unistd.h>

#include "base/scratch.h"
#include "cli/ci_picture.h"
#include "cli/ci_run.h"

enum { LEVELS = 300 };

static const char* folder;

/* ---- labels ---- */

/* The least squares solution has two marks: neighbours keep the gap, and in every block of
 * neighbours at exactly the gap each beginning part was moved up by no more than each end. */
static void spreading(void** state) {
  (void)state;
  uint64_t random = 12345;
  for (int round = 0; round < 200; round++) {
    double wish[24] = {0}, y[24];
    const size_t count = 1 + (size_t)round % 24;
    for (size_t i = 0; i < count; i++) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      wish[i] = (i ? wish[i - 1] : 0) + (double)(random >> 40) / (1 << 24) * 12;
      y[i] = wish[i];
    }
    tg_cli_spread(count, y, 10);
    double moved = 0; /* the multiplier of each gap: the sum of all moves before it */
    for (size_t i = 0; i < count; i++) {
      moved += wish[i] - y[i];
      if (i + 1 == count) break;
      assert_true(y[i + 1] - y[i] >= 10 - 1e-9);
      assert_true(moved >= -1e-9);                               /* pushed upwards only ... */
      assert_true(moved <= 1e-9 || y[i + 1] - y[i] < 10 + 1e-9); /* ... by a gap that holds */
    }
    assert_true(fabs(moved) < 1e-9);
  }
}

/* ---- a made-up nucleus ---- */

static tg_ci_level levels[LEVELS];
static tg_ci_sector sectors[2];
static tg_cli_ci_job job;

static tg_ci_spectrum make(size_t count) {
  memset(&job, 0, sizeof job);
  job.problem = (tg_ci_problem){.kind = TG_CI_NUCLEUS, .particles = {4, 4}, .mass = 24};
  job.input.model.core_mass = 16;
  job.input.model.core_protons = 8;
  for (size_t i = 0; i < count; i++) {
    const double j = (double)(i % 7), t = (double)(i % 5 == 4);
    levels[i] = (tg_ci_level){.sector = i % 2,
                              .symmetry = i % 2,
                              .energy = -80 + 0.03 * (double)(i - i % 3), /* three at a time */
                              .squared = {j * (j + 1), t * (t + 1), NAN}};
  }
  return (tg_ci_spectrum){
      .sectors = sectors, .sector_count = 2, .levels = levels, .level_count = count};
}

static const char* draw(const tg_ci_spectrum* spectrum) {
  const char* path = scratch_path(folder, "levels.svg");
  assert_int_equal(tg_cli_ci_picture(path, &job, spectrum), TG_OK);
  return scratch_read(path);
}

static size_t count_of(const char* text, const char* what) {
  size_t count = 0;
  for (const char* at = text; (at = strstr(at, what)); at++) count++;
  return count;
}

/* The number behind the first "name='". */
static double attribute(const char* text, const char* name) {
  const char* found = strstr(text, name);
  assert_non_null(found);
  return strtod(found + strlen(name), NULL);
}

/* Labels of a column stand at one x; their y must be a line of text apart. */
static void labels_keep_apart(void** state) {
  (void)state;
  const tg_ci_spectrum spectrum = make(LEVELS);
  const char* text = draw(&spectrum);
  assert_int_equal(count_of(text, "class='level'"), LEVELS);
  assert_int_equal(count_of(text, "class='head'"), 4); /* T = 0 and 1, both parities */
  assert_non_null(strstr(text, "T = 1, negative parity"));
  const double height = attribute(text, "height='");
  double last_x = -1, last_y = 0;
  size_t labels = 0;
  for (const char* at = text; (at = strstr(at, "<text x='")); at++) {
    const char* class = strstr(at, " class='");
    if (!class || strncmp(class, " class='energy'", 15) != 0) continue;
    const double x = attribute(at, "x='"), y = attribute(at, "y='");
    if (x == last_x) assert_true(y - last_y >= 14.8); /* written with one decimal */
    assert_true(y > 90 && y < height);
    last_x = x;
    last_y = y;
    labels++;
  }
  assert_int_equal(labels, LEVELS);
}

static void one_level(void** state) {
  (void)state;
  const tg_ci_spectrum spectrum = make(1);
  const char* text = draw(&spectrum);
  assert_int_equal(count_of(text, "class='level'"), 1);
  assert_null(strstr(text, "nan"));
  assert_null(strstr(text, "inf"));
  assert_non_null(strstr(text, ">Mg<"));
}

/* B(E2) from the table of transitions: between states of one column, the weakest left out. */
static void arrows(void** state) {
  (void)state;
  const tg_ci_spectrum spectrum = make(8);
  for (int i = 0; i < 8; i++) levels[i].symmetry = levels[i].sector = 0;
  levels[4].squared[TG_CI_LABEL_T] = 2;
  static const double rows[4][3] = {{5, 1, 100}, {8, 1, 50}, {7, 2, 1}, {6, 1, 300}};
  static const char* const names[3] = {"initial", "final", "B_E2_down_e2fm4"};
  tg_ci_table* table;
  assert_int_equal(tg_ci_tables_add(&job.tables, "transitions", "", &table), TG_OK);
  for (size_t c = 0, number; c < 3; c++) {
    tg_ci_column column = {.kind = TG_CI_COLUMN_REAL};
    snprintf(column.name, sizeof column.name, "%s", names[c]);
    assert_int_equal(tg_ci_table_column(table, column, &number), TG_OK);
  }
  for (size_t r = 0, row; r < 4; r++) {
    assert_int_equal(tg_ci_table_row(table, &row), TG_OK);
    for (size_t c = 0; c < 3; c++) table->columns[c].value[row] = rows[r][c];
  }
  const char* text = draw(&spectrum);
  assert_int_equal(count_of(text, "class='arrow'"), 2); /* 6 to 1 and 8 to 1 */
  assert_int_equal(count_of(text, "class='strength"), 2);
  assert_non_null(strstr(text, ">300<"));
  assert_non_null(strstr(text, "B(E2)"));
  tg_ci_tables_free(&job.tables);
}

/* ---- the option ---- */

static void option(void** state) {
  (void)state;
  char line[2048];
  const char* path = scratch_path(folder, "mg24.svg");
  snprintf(line, sizeof line, "solve -i usdb --protons 1 --neutrons 1 --states 5 --picture %s",
           path);
  if (ci_run(line) != 0) fail_msg("%s", ci_output);
  const char* text = scratch_read(path);
  assert_non_null(text);
  assert_non_null(strstr(text, ">F<"));
  assert_int_equal(count_of(text, "class='level'"), 5);
  assert_int_equal(count_of(text, "<text"), count_of(text, "</text>"));
  assert_null(strstr(text, "class='complete'"));
  snprintf(line, sizeof line, "solve -i examples/molecules/lih.fcidump --states 3 --picture %s",
           path);
  if (ci_run(line) != 0) fail_msg("%s", ci_output);
  assert_non_null(strstr(scratch_read(path), "class='complete'"));
  snprintf(line, sizeof line, "solve -i usdb --protons 1 --picture %s.png", path);
  assert_int_equal(ci_run(line), 2);
  assert_non_null(strstr(ci_output, "must end in .svg"));
  assert_int_equal(ci_run("solve -i usdb --protons 1 --picture /no/such/folder/x.svg"), 2);
}

static int make_folder(void** state) {
  (void)state;
  folder = scratch_make();
  return 0;
}

static int remove_folder(void** state) {
  (void)state;
  scratch_remove(folder);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(spreading), cmocka_unit_test(labels_keep_apart),
      cmocka_unit_test(one_level), cmocka_unit_test(arrows),
      cmocka_unit_test(option),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
