/* SPDX-License-Identifier: Apache-2.0 */
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

#include "base/json.h"
#include "base/rng.h"

static char* text;
static size_t size;

static FILE* open_memory(void) {
  FILE* stream = open_memstream(&text, &size);
  assert_non_null(stream);
  return stream;
}

static void objects_and_arrays_nest(void** state) {
  (void)state;
  for (int pretty = 0; pretty < 2; pretty++) {
    FILE* stream = open_memory();
    tg_json json = tg_json_on(stream, pretty);
    tg_json_open_object(&json, NULL);
    tg_json_int(&json, "a", -3);
    tg_json_open_array(&json, "b");
    tg_json_bool(&json, NULL, true);
    tg_json_text(&json, NULL, NULL);
    tg_json_open_object(&json, NULL);
    tg_json_close_object(&json);
    tg_json_close_array(&json);
    tg_json_doubles(&json, "c", (double[]){0.5, NAN}, 2);
    tg_json_close_object(&json);
    tg_json_bool(&json, NULL, false);
    fclose(stream);
    assert_string_equal(
        text, pretty ? "{\n  \"a\": -3,\n  \"b\": [\n    true,\n    null,\n    {}\n  ],\n"
                       "  \"c\": [0.5, null]\n}\nfalse\n"
                     : "{\"a\": -3, \"b\": [true, null, {}], \"c\": [0.5, null]}\nfalse\n");
    free(text);
  }
}

static void words_are_escaped(void** state) {
  (void)state;
  static const char* const cases[][2] = {
      {"plain /", "\"plain /\"\n"},
      {"\"q\" \\ \n\t\r\x01\x7f", "\"\\\"q\\\" \\\\ \\n\\t\\r\\u0001\\u007f\"\n"},
      {"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"\n"},
      {"\xff|\xc3|\xc0\x80|\xed\xa0\x80|\xf4\x90\x80\x80",
       "\"\\ufffd|\\ufffd|\\ufffd\\ufffd|\\ufffd\\ufffd\\ufffd|\\ufffd\\ufffd\\ufffd\\ufffd\"\n"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    FILE* stream = open_memory();
    tg_json json = tg_json_on(stream, false);
    tg_json_text(&json, NULL, cases[i][0]);
    fclose(stream);
    assert_string_equal(text, cases[i][1]);
    free(text);
  }
}

static void numbers_read_back_exactly(void** state) {
  (void)state;
  double hard[1000] = {0.1,          1.0 / 3, DBL_MAX, DBL_MIN,
                       DBL_TRUE_MIN, -0.0,    1e23,    9007199254740993.0};
  tg_rng rng = tg_rng_stream(3, TG_RNG_TEST, 0);
  for (int i = 8; i < 1000; i++) hard[i] = ldexp(tg_rng_gaussian(&rng), i - 500);
  for (int i = 0; i < 1000; i++) {
    FILE* stream = open_memory();
    tg_json json = tg_json_on(stream, false);
    tg_json_double(&json, NULL, hard[i]);
    fclose(stream);
    double back = strtod(text, NULL);
    assert_memory_equal(&back, &hard[i], sizeof back);
    free(text);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(objects_and_arrays_nest),
      cmocka_unit_test(words_are_escaped),
      cmocka_unit_test(numbers_read_back_exactly),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
