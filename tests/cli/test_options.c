/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <string.h>

#include "cli/cli.h"
#include "cli/options.h"

typedef struct fields {
  const char* conf;
  const char* backend;
  tg_cli_list inputs;
  int steps;
  long long seed;
  double margin;
  bool force;
} fields;

static const tg_cli_option OPTIONS[] = {
    {"conf", 'c', TG_CLI_TEXT, offsetof(fields, conf), "FILE", "structure", .required = true},
    {"backend", 0, TG_CLI_CHOICE, offsetof(fields, backend), "ref|omp|cuda", "where", false},
    {"input", 'i', TG_CLI_LIST, offsetof(fields, inputs), "FILE", "inputs", false},
    {"steps", 'n', TG_CLI_INT, offsetof(fields, steps), "N", "steps", false},
    {"seed", 0, TG_CLI_INT64, offsetof(fields, seed), "N", "seed", false},
    {"margin", 0, TG_CLI_DOUBLE, offsetof(fields, margin), "X", "margin", false},
    {"force", 0, TG_CLI_FLAG, offsetof(fields, force), NULL, "goes on", false},
    {0},
};

enum { MOST_WORDS = 16 };

/* Parses words (ended by NULL) after a verb. */
static tg_status parse(const char* const* words, fields* out, tg_cli_list* rest) {
  char* argv[MOST_WORDS] = {(char[]){"verb"}};
  int argc = 1;
  while (*words) argv[argc++] = (char*)*words++;
  return tg_cli_options_parse(OPTIONS, argc, argv, out, rest);
}

#define WORDS(...) ((const char* const[]){__VA_ARGS__, NULL})

static void every_kind_is_read(void** state) {
  (void)state;
  fields out = {.steps = 5};
  assert_int_equal(parse(WORDS("-c", "a.gro", "--backend=omp", "-i", "x", "--input", "y", "-i", "-",
                               "--seed", "-12345678901", "--margin=1e-3", "--force"),
                         &out, NULL),
                   TG_OK);
  assert_string_equal(out.conf, "a.gro");
  assert_string_equal(out.backend, "omp");
  assert_int_equal(out.inputs.count, 3);
  assert_string_equal(out.inputs.items[1], "y");
  assert_string_equal(out.inputs.items[2], "-");
  assert_int_equal(out.steps, 5); /* not given: the default stays */
  assert_true(out.seed == -12345678901);
  assert_true(out.margin == 1e-3);
  assert_true(out.force);
}

static void words_after_two_dashes_are_no_options(void** state) {
  (void)state;
  fields out = {0};
  tg_cli_list rest = {.count = 0};
  assert_int_equal(parse(WORDS("a", "-c=x", "b"), &out, &rest), TG_ERR_INPUT);
  rest.count = 0;
  memset(&out, 0, sizeof out);
  assert_int_equal(parse(WORDS("a", "--conf=-x", "--", "--force"), &out, &rest), TG_OK);
  assert_int_equal(rest.count, 2);
  assert_string_equal(rest.items[1], "--force");
  assert_string_equal(out.conf, "-x");
  assert_false(out.force);
}

static void mistakes_are_explained(void** state) {
  (void)state;
  const struct {
    const char* const* words;
    const char* message;
  } cases[] = {
      {WORDS("--cofn", "x"), "unknown option --cofn; did you mean --conf?"},
      {WORDS("-steps", "x"), "unknown option -steps; did you mean --steps?"},
      {WORDS("--zzz=4"), "unknown option --zzz; --help lists them"},
      {WORDS("-x"), "unknown option -x; --help lists them"},
      {WORDS("-c"), "option -c (--conf) needs a value: FILE"},
      {WORDS("-c", "-i", "x"), "option -c (--conf) needs a value (FILE) but is followed by -i"},
      {WORDS("-c", ""), "option -c (--conf): found '', expected a word that is not empty"},
      {WORDS("-c", "a", "--conf=b"), "option -c (--conf) is given twice; give it once"},
      {WORDS("-n", "1.5"), "option -n (--steps): found '1.5', expected a whole number"},
      {WORDS("--steps=-2147483648"),
       "option -n (--steps): found '-2147483648', expected a whole number"},
      {WORDS("--margin", "wide"), "option --margin: found 'wide', expected a number"},
      {WORDS("--backend", "om"), "option --backend: found 'om', expected one of ref|omp|cuda"},
      {WORDS("--force=yes"), "option --force takes no value; found 'yes'"},
      {WORDS("--force", "yes"), "unexpected word 'yes'; only options are taken here"},
      {WORDS("--force"),
       "option -c (--conf) FILE is missing; throng verb --help lists the options"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    fields out = {0};
    assert_int_equal(parse(cases[i].words, &out, NULL), TG_ERR_INPUT);
    assert_string_equal(tg_last_error(), cases[i].message);
  }
}

static void the_nearest_word_is_near(void** state) {
  (void)state;
  const char* const words[] = {"check", "energy", "run", "build"};
  assert_string_equal(tg_cli_nearest("chekc", words, 4), "check");
  assert_string_equal(tg_cli_nearest("enrgy", words, 4), "energy");
  assert_string_equal(tg_cli_nearest("RUN", words, 4), "run");
  assert_null(tg_cli_nearest("solve", words, 4));
  assert_null(tg_cli_nearest("", words, 4));
}

static int runs;

static tg_status run_check(int argc, char** argv) {
  assert_int_equal(argc, 2);
  assert_string_equal(argv[1], "--force");
  runs++;
  return tg_fail(TG_ERR_NUMERICS, "it blew up");
}

static int run_line(const tg_cli_table* table, const char* const* words) {
  char* argv[MOST_WORDS] = {(char[]){"throng"}};
  int argc = 1;
  while (*words) argv[argc++] = (char*)*words++;
  return tg_cli_main(table, argc, argv);
}

static void groups_hold_verbs(void** state) {
  (void)state;
  static const tg_cli_example none[] = {{0}};
  static const tg_cli_verb check = {.name = "md check",
                                    .summary = "s",
                                    .usage = "u",
                                    .options = OPTIONS,
                                    .examples = none,
                                    .run = run_check};
  static const tg_cli_verb* const verbs[] = {&check, NULL};
  static const tg_cli_group groups[] = {{"md", "molecules"}, {"ci", "fermions"}, {0}};
  const tg_cli_table table = {verbs, groups};
  runs = 0;
  assert_int_equal(run_line(&table, WORDS("md", "check", "--force")), 4);
  assert_int_equal(runs, 1);
  assert_int_equal(run_line(&table, WORDS("md")), 2);
  assert_int_equal(run_line(&table, WORDS("md", "--help")), 0);
  assert_int_equal(run_line(&table, WORDS("help", "md")), 0);
  assert_int_equal(run_line(&table, WORDS("help", "md", "check")), 0);
  assert_int_equal(run_line(&table, WORDS("md", "check", "--force", "--help")), 0);
  assert_int_equal(run_line(&table, WORDS("md", "chekc")), 2);
  assert_non_null(strstr(tg_last_error(), "md check"));
  assert_int_equal(run_line(&table, WORDS("md", "--force")), 2);
  assert_int_equal(run_line(&table, WORDS("ci")), 2); /* a group without verbs does not exist */
  assert_int_equal(run_line(&table, WORDS("check")), 2);
  assert_int_equal(runs, 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_kind_is_read),
      cmocka_unit_test(words_after_two_dashes_are_no_options),
      cmocka_unit_test(mistakes_are_explained),
      cmocka_unit_test(the_nearest_word_is_near),
      cmocka_unit_test(groups_hold_verbs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
