/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <string.h>

#include "base/text.h"

static void numbers_are_strict(void** state) {
  (void)state;
  double value = 7;
  assert_true(tg_parse_double("-1.5e3", 6, &value));
  assert_true(value == -1500.0);
  const char* bad[] = {"", "1.2x", "nan", "inf", "0x10", "1e999", "--1", " 1", "."};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    value = 7;
    assert_false(tg_parse_double(bad[i], (int)strlen(bad[i]), &value));
    assert_true(value == 7); /* outputs are set on success only */
  }
  int number = 7;
  assert_true(tg_parse_int("-42", 3, &number));
  assert_int_equal(number, -42);
  assert_false(tg_parse_int("99999999999", 11, &number));
  assert_false(tg_parse_int("1.0", 3, &number));
}

static void words_know_their_columns(void** state) {
  (void)state;
  tg_word words[2];
  assert_int_equal(tg_split_words("  ab\tcde f", words, 2), 3);
  assert_true(tg_word_is(words[0], "ab"));
  assert_int_equal(words[1].column, 6);
  assert_true(tg_word_is_nocase(words[1], "CDE"));
}

static void errors_name_the_place(void** state) {
  (void)state;
  tg_place place = {"a.top", 3, 7};
  assert_int_equal(tg_fail_at(place, "found %s", "x"), TG_ERR_INPUT);
  assert_string_equal(tg_last_error(), "a.top:3:7: found x");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers_are_strict),
      cmocka_unit_test(words_know_their_columns),
      cmocka_unit_test(errors_name_the_place),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
