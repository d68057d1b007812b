/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include "md/configuration.h"
#include "md/input.h"

static tg_status read_text(const char* name, const char* text, tg_configuration* out) {
  const char* path = input_file(name, text);
  tg_status status = tg_configuration_read(path, out);
  unlink(path);
  return status;
}

static const char water[] =
    "water t=   2.50000 step= 1250\n    3\n"
    "    1SOL     OW    1   0.126   1.639   1.427  0.1000 -0.2000  0.3000\n"
    "    1SOL    HW1    2   0.190   1.661   1.747  0.0000  0.0000  0.0000\n"
    "    1SOL    HW2    3   0.177  -1.568   1.613 -1.0000  2.0000 -3.5000\n"
    "   1.86206   1.86206   1.86206\n";

static void gro_is_read(void** state) {
  (void)state;
  tg_configuration c;
  assert_int_equal(read_text("a.gro", water, &c), TG_OK);
  assert_int_equal(c.count, 3);
  assert_string_equal(c.title, "water");
  assert_true(c.time == 2.5 && c.step == 1250);
  assert_string_equal(c.names[1], "HW1");
  assert_string_equal(c.residues[2], "SOL");
  assert_int_equal(c.residue_numbers[2], 1);
  assert_true(c.x[2][1] == -1.568 && c.v[2][2] == -3.5);
  assert_true(c.box[4] == 1.86206 && c.box[1] == 0);
  tg_configuration_free(&c);
}

static void gro_of_any_precision_and_its_first_frame(void** state) {
  (void)state;
  static const char text[] =
      "two frames\n1\n"
      "99999LIG  C1234    1  0.1234567 -0.2345678  0.3456789\n"
      "  5 6 7 0 0 1.0 0 -1.5 2\n"
      "second\n1\n"
      "    1LIG  C1234    1  9.1234567 -0.2345678  0.3456789\n5 6 7\n";
  tg_configuration c;
  assert_int_equal(read_text("a.gro", text, &c), TG_OK);
  assert_true(c.x[0][0] == 0.1234567 && c.x[0][2] == 0.3456789);
  assert_null(c.v);
  assert_string_equal(c.names[0], "C1234");
  assert_int_equal(c.residue_numbers[0], 99999);
  /* v1x v2y v3z v1y v1z v2x v2z v3x v3y */
  const double box[9] = {5, 0, 0, 1, 6, 0, -1.5, 2, 7};
  assert_memory_equal(c.box, box, sizeof box);
  tg_configuration_free(&c);
}

static void g96_is_read(void** state) {
  (void)state;
  static const char text[] =
      "TITLE\na title\nEND\nTIMESTEP\n  100  0.2\nEND\nPOSITION\n# comment\n"
      "    1 SOL   OW         1    0.126000000    1.639000000    1.427000000\n"
      "    1 SOL   HW1        2    0.190000000    1.661000000   -1.747000001\nEND\n"
      "VELOCITYRED\n    0.100000000    0.200000000    0.300000000\n"
      "   -0.100000000   -0.200000000   -0.300000000\nEND\n"
      "BOX\n    1.8    1.9    2.0\nEND\nPOSITIONRED\n garbage of a second frame\nEND\n";
  tg_configuration c;
  assert_int_equal(read_text("a.g96", text, &c), TG_OK);
  assert_int_equal(c.count, 2);
  assert_true(c.step == 100 && c.time == 0.2);
  assert_string_equal(c.title, "a title");
  assert_string_equal(c.names[1], "HW1");
  assert_true(c.x[1][2] == -1.747000001 && c.v[1][2] == -0.3 && c.box[8] == 2.0);
  tg_configuration_free(&c);
  assert_int_equal(read_text("b.g96",
                             "POSITIONRED\n    1.000000000    2.000000000    3.000000000\nEND\n"
                             "BOX\n 1 2 3\nEND\n",
                             &c),
                   TG_OK);
  assert_null(c.names);
  assert_true(c.x[0][2] == 3);
  tg_configuration_free(&c);
}

/* Whatever way the digits are found, they are printf's: also near the middle of two decimals, for
 * negative numbers that round to 0, and where all digits carry. */
static void written_digits_are_those_of_printf(void** state) {
  (void)state;
  static const double hard[] = {0,      -0.0,       -0.0004, 0.0005, 0.0015,       1.0005,
                                1.2345, 99.9994999, 9.9995,  -1e-9,  999.99949999, -12.0625};
  enum { HARD = sizeof hard / sizeof *hard };
  double x[HARD + 1][3];
  for (int i = 0; i < HARD; i++)
    for (int d = 0; d < 3; d++) x[i][d] = hard[(i + d) % HARD] * (d == 1 ? 1 + 1e-15 : 1);
  tg_configuration c = {.count = HARD, .x = x, .box = {3, 3, 3}};
  char path[512];
  snprintf(path, sizeof path, "%s", input_file("digits.gro", ""));
  assert_int_equal(tg_configuration_save_gro(&c, 3, path), TG_OK);
  FILE* stream = fopen(path, "r");
  assert_non_null(stream);
  char line[256], expected[64];
  for (int i = -2; i < HARD; i++) {
    assert_non_null(fgets(line, sizeof line, stream));
    if (i < 0) continue;
    snprintf(expected, sizeof expected, "%8.3f%8.3f%8.3f\n", x[i][0], x[i][1], x[i][2]);
    assert_string_equal(line + 20, expected);
  }
  fclose(stream);
  unlink(path);
}

static void written_gro_reads_back(void** state) {
  (void)state;
  for (int decimals = 3; decimals <= 9; decimals += 3) {
    tg_configuration a, b;
    assert_int_equal(read_text("a.gro", water, &a), TG_OK);
    a.x[0][0] = 12.123456789; /* half a last digit is what rounding may change */
    a.v[1][1] = -0.987654321;
    char path[512];
    snprintf(path, sizeof path, "%s", input_file("round.gro", ""));
    assert_int_equal(tg_configuration_save_gro(&a, decimals, path), TG_OK);
    assert_int_equal(tg_configuration_read(path, &b), TG_OK);
    unlink(path);
    double half = 0.5;
    for (int i = 0; i < decimals; i++) half /= 10;
    for (size_t i = 0; i < 3; i++)
      for (int d = 0; d < 3; d++) {
        assert_true(a.x[i][d] - b.x[i][d] <= 1.001 * half && b.x[i][d] - a.x[i][d] <= 1.001 * half);
        assert_true(a.v[i][d] - b.v[i][d] <= 0.1001 * half &&
                    b.v[i][d] - a.v[i][d] <= 0.1001 * half);
      }
    assert_memory_equal(a.names, b.names, 3 * sizeof *a.names);
    assert_memory_equal(a.residues, b.residues, 3 * sizeof *a.residues);
    assert_memory_equal(a.box, b.box, sizeof a.box);
    assert_true(a.time == b.time && a.step == b.step);
    assert_string_equal(a.title, b.title);
    tg_configuration_free(&a);
    tg_configuration_free(&b);
  }
}

static void numbers_too_wide_are_not_written(void** state) {
  (void)state;
  tg_configuration c;
  assert_int_equal(read_text("a.gro", water, &c), TG_OK);
  FILE* sink = fopen("/dev/null", "w");
  assert_non_null(sink);
  c.x[1][2] = 12345.5;
  assert_int_equal(tg_configuration_write_gro(&c, 3, sink), TG_ERR_NUMERICS);
  assert_non_null(strstr(tg_last_error(), "atom 2"));
  c.x[1][2] = 0.0 / 1e-300 - 1e308 * 10; /* not finite */
  assert_int_equal(tg_configuration_write_gro(&c, 3, sink), TG_ERR_NUMERICS);
  fclose(sink);
  tg_configuration_free(&c);
}

#define ATOM "    1SOL     OW    1   0.126   1.639   1.427"
#define MOVING ATOM "  0.1000 -0.2000  0.3000"

static void bad_input_is_refused_with_its_place(void** state) {
  (void)state;
  static const struct {
    const char *name, *text, *parts;
  } cases[] = {
      {"a.gro", "", "a.gro: |0 lines"},
      {"a.gro", "t\nmany\n" ATOM "\n2 2 2\n", "a.gro:2: |'many'|number of atoms"},
      {"a.gro", "t\n0\n2 2 2\n", ":2: |1 or more"},
      {"a.gro", "t\n-1\n2 2 2\n", ":2: "},
      {"a.gro", "t\n5\n" ATOM "\n" ATOM "\n", ":4: |ends after 2|announces 5"},
      {"a.gro", "t\n1\n" ATOM "\n", ":4: |box"},
      {"a.gro", "t\n2\n" ATOM "\n2 2 2\n", ":4: "},
      {"a.gro", "t\n1\n" ATOM "\n" ATOM "\n2 2 2\n", ":4: |box"},
      {"a.gro", "t\n1\n    1SOL     OW    1   0.126     nan   1.427\n2 2 2\n", ":3:21: |decimal"},
      {"a.gro", "t\n2\n" ATOM "\n    1SOL     OW    1   0.126     nan   1.427\n2 2 2\n",
       ":4:34: |'nan'|position y"},
      {"a.gro", "t\n2\n" ATOM "\n    1SOL     OW    1   0.126           1.427\n2 2 2\n",
       ":4:37: |empty|position y"},
      {"a.gro", "t\n2\n" ATOM "\n    1SOL     OW    1   0.126   1.639\n2 2 2\n",
       ":4:37: |position z"},
      {"a.gro", "t\n2\n" ATOM "\n    1SOL     OW\n2 2 2\n", ":4: |too short"},
      {"a.gro", "t\n1\n    1SOL     OW    1   0.126    1.639   1.427\n2 2 2\n",
       ":3:21: |decimal points are 9 and 8"},
      {"a.gro", "t\n2\n" MOVING "\n" ATOM "\n2 2 2\n", ":4: |atom 2 has no velocity"},
      {"a.gro", "t\n2\n" ATOM "\n" MOVING "\n2 2 2\n", ":4:45: |atom 2 has a velocity"},
      {"a.gro", "t\n2\n" MOVING "\n" ATOM "  0.1000 -0.2000\n2 2 2\n", ":4:61: |velocity z"},
      {"a.gro", "t\n1\n" ATOM "\n2 2\n", ":4: |2 words|3 or 9"},
      {"a.gro", "t\n1\n" ATOM "\n2 inf 2\n", ":4:3: |'inf'"},
      {"a.gro", "t\n1\n  xx SOL     OW    1   0.126   1.639   1.427\n2 2 2\n", ":3:1: |residue"},
      {"a.gro", "t\n1\n    1SOL          1   0.126   1.639   1.427\n2 2 2\n", ":3:11: |no name"},
      {"a.pdb", "t\n", ".gro or .g96"},
      {"a.g96", "TITLE\nx\nEND\n", "a.g96: |POSITION"},
      {"a.g96", "POSITIONRED\n    1.000000000    2.000000000    3.000000000\n", "a.g96:1: |no END"},
      {"a.g96", "POSITIONRED\n    1.000000000    2.000000000    3.000000000\nEND\n", "BOX"},
      {"a.g96", "POSITIONRED\n    1.000000000    2.00x000000    3.000000000\nEND\n",
       ":2:20: |position y"},
      {"a.g96",
       "POSITIONRED\n    1.000000000    2.000000000    3.000000000\nEND\nVELOCITYRED\nEND\n",
       ":4: |0 velocities for 1"},
      {"a.g96", "TIMESTEP\n x\nEND\n", ":2: |step and a time"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tg_configuration c;
    tg_status status = read_text(cases[i].name, cases[i].text, &c);
    expect_refusal(cases[i].text, status, cases[i].parts);
    assert_null(c.x);
  }
  tg_configuration c;
  expect_refusal("missing", tg_configuration_read("/nowhere/a.gro", &c), "/nowhere/a.gro");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gro_is_read),
      cmocka_unit_test(gro_of_any_precision_and_its_first_frame),
      cmocka_unit_test(g96_is_read),
      cmocka_unit_test(written_digits_are_those_of_printf),
      cmocka_unit_test(written_gro_reads_back),
      cmocka_unit_test(numbers_too_wide_are_not_written),
      cmocka_unit_test(bad_input_is_refused_with_its_place),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
