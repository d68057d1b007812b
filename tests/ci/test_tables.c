/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of results: what people see of them, and what JSON has. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <math.h>
#include <string.h>

#include "ci/tables.h"
#include "support.h"

enum { LEVEL, SPIN, PARITY, ORBIT, VALUE, HIDDEN, EMPTY, COLUMNS };

/* Three rows: one with all, one with nothing to say, one with a value that would print as zero. */
static tg_ci_table* fill(tg_ci_tables* tables) {
  static const tg_ci_column like[COLUMNS] = {
      [LEVEL] = {.name = "level", .head = "#", .kind = TG_CI_COLUMN_WHOLE},
      [SPIN] = {.name = "J", .head = "J", .kind = TG_CI_COLUMN_HALF},
      [PARITY] = {.name = "parity", .head = "parity", .kind = TG_CI_COLUMN_SIGN},
      [ORBIT] = {.name = "orbit", .head = "orbit", .kind = TG_CI_COLUMN_NAME},
      [VALUE] = {.name = "B_e2fm4", .head = "B/e2fm4", .unit = "e2fm4", .digits = 3},
      [HIDDEN] = {.name = "M_efm2", .unit = "efm2", .digits = 3},
      [EMPTY] = {.name = "never", .head = "never", .digits = 3}};
  static const double value[3][COLUMNS] = {{1, 5, -1, 0, 74.9136, -19.35, NAN},
                                           {2, 4, 1, 1, NAN, NAN, NAN},
                                           {3, NAN, 1, 1, 2.5e-7, NAN, NAN}};
  tg_ci_table* t;
  size_t number;
  assert_ok(tg_ci_tables_add(tables, "transitions", "Transitions", &t));
  for (int c = 0; c < COLUMNS; c++) { /* a column may come when rows are there */
    if (c == HIDDEN)
      for (int r = 0; r < 3; r++) assert_ok(tg_ci_table_row(t, &number));
    assert_ok(tg_ci_table_column(t, like[c], &number));
    assert_int_equal(number, c);
  }
  t->key_count = VALUE;
  assert_ok(tg_ci_table_name(t, "p0d5/2", &number));
  assert_ok(tg_ci_table_name(t, "n1s1/2", &number));
  assert_int_equal(number, 1);
  for (int r = 0; r < 3; r++)
    for (int c = 0; c < COLUMNS; c++) {
      assert_true(isnan(t->columns[c].value[r]));
      t->columns[c].value[r] = value[r][c];
    }
  return t;
}

static const char* written(const tg_ci_tables* tables, bool json, size_t most_rows) {
  static char text[4096];
  FILE* stream = tmpfile();
  assert_non_null(stream);
  if (json) {
    tg_json writer = tg_json_on(stream, false);
    tg_json_open_object(&writer, NULL);
    tg_ci_tables_json(&writer, tables);
    tg_json_close_object(&writer);
  } else {
    tg_ci_tables_print(stream, tables, most_rows);
  }
  rewind(stream);
  text[fread(text, 1, sizeof text - 1, stream)] = '\0';
  fclose(stream);
  return text;
}

static void people_and_json(void** state) {
  (void)state;
  tg_ci_tables tables = {0};
  const size_t size[2] = {2, 3};
  double* data;
  tg_ci_table* t = fill(&tables);
  assert_ptr_equal(tg_ci_tables_find(&tables, "transitions"), t);
  assert_null(tg_ci_tables_find(&tables, "levels"));
  assert_int_equal(tg_ci_table_find(t, "parity"), PARITY);
  assert_true(tg_ci_table_find(t, "charge") == SIZE_MAX);
  assert_false(tg_ci_table_says(t, 1));
  for (int k = 0; k < 2; k++) assert_ok(tg_ci_tables_note(&tables, "level %d: shared", 3));
  assert_int_equal(tables.note_count, 1);
  assert_ok(tg_ci_tables_data(&tables, "rho", 2, size, "", "a matrix", &data));
  data[5] = 1;
  assert_string_equal(written(&tables, false, 0),
                      "\nTransitions\n"
                      "  #    J  parity   orbit  B/e2fm4\n"
                      "  1  5/2       -  p0d5/2   74.914\n"
                      "  3    -       +  n1s1/2  2.5e-07\n"
                      "\nNote: level 3: shared\n");
  assert_non_null(strstr(written(&tables, false, 1), "and 1 more rows, in the JSON"));
  const char* json = written(&tables, true, 0);
  static const char* const parts[] = {
      "\"J\": 2.5",   "\"parity\": -1",   "\"orbit\": \"p0d5/2\"",
      "\"level\": 3", "\"size\": [2, 3]", "\"notes\": [\"level 3: shared\"]"};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
    if (!strstr(json, parts[i])) fail_msg("no %s in %s", parts[i], json);
  assert_null(strstr(json, "never"));
  assert_null(strstr(json, "\"level\": 2"));
  t->printed = false;
  assert_non_null(strstr(written(&tables, false, 0), "Transitions: 2 rows, in the JSON"));
  tg_ci_tables_free(&tables);
  assert_null(tables.tables);
  tg_ci_tables_free(&tables);
}

/* What rounding leaves of a zero is 0 for people, and in JSON what it is; rows end with a level. */
static void zeros_and_whole_levels(void** state) {
  (void)state;
  tg_ci_tables tables = {0};
  tg_ci_table* t;
  size_t row;
  const tg_ci_column like[] = {{.name = "level", .head = "#", .kind = TG_CI_COLUMN_WHOLE},
                               {.name = "B", .head = "B", .digits = 2},
                               {.name = "sum_error", .head = "off", .digits = 1}};
  assert_ok(tg_ci_tables_add(&tables, "orbitals", "Orbitals", &t));
  for (size_t c = 0, number; c < 3; c++) assert_ok(tg_ci_table_column(t, like[c], &number));
  t->key_count = 1;
  for (int r = 0; r < 6; r++) { /* levels of two rows */
    assert_ok(tg_ci_table_row(t, &row));
    t->columns[0].value[row] = r < 2 ? 1 : r < 4 ? 2 : 3;
    t->columns[1].value[row] = r ? 1 : 6e-21;
    t->columns[2].value[row] = 6e-15;
  }
  const char* text = written(&tables, false, 3);
  assert_non_null(strstr(text, "  1  0.00  6.0e-15\n  1  1.00  6.0e-15\n  and 4 more rows"));
  assert_non_null(strstr(written(&tables, false, 4), "  2  1.00  6.0e-15\n  and 2 more rows"));
  assert_non_null(strstr(written(&tables, false, 1), "  1  0.00  6.0e-15\n  and 5 more rows"));
  assert_non_null(strstr(written(&tables, true, 0), "e-21"));
  tg_ci_tables_free(&tables);
}

static void mistakes(void** state) {
  (void)state;
  tg_ci_tables tables = {0};
  const size_t size[1] = {1};
  double* data;
  size_t number;
  tg_ci_table* t = fill(&tables);
  const tg_ci_column again = {.name = "level"};
  assert_int_equal(tg_ci_table_column(t, again, &number), TG_ERR_INTERNAL);
  assert_int_equal(tg_ci_tables_data(&tables, "x", 5, size, "", "", &data), TG_ERR_INTERNAL);
  for (int r = 0; r < 1000; r++) assert_ok(tg_ci_table_row(t, &number));
  assert_int_equal(number, 1002);
  assert_true(t->columns[VALUE].value[0] == 74.9136 && isnan(t->columns[VALUE].value[1002]));
  tg_ci_tables_free(&tables);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(people_and_json),
      cmocka_unit_test(zeros_and_whole_levels),
      cmocka_unit_test(mistakes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
