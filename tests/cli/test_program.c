/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the built program as a user would. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"

static char output[1 << 16];

/* Runs a shell command, {} standing for the program; its stdout lands in output. Returns the exit
 * code. */
static int run(const char* command) {
  char line[4096];
  const char* mark = strstr(command, "{}");
  assert_non_null(mark);
  snprintf(line, sizeof line, "%.*s'%s'%s", (int)(mark - command), command, TG_PROGRAM, mark + 2);
  FILE* pipe = popen(line, "r");
  assert_non_null(pipe);
  size_t size = fread(output, 1, sizeof output - 1, pipe);
  output[size] = '\0';
  int ended = pclose(pipe);
  assert_true(WIFEXITED(ended));
  return WEXITSTATUS(ended);
}

static bool have(const char* program) {
  char line[128];
  snprintf(line, sizeof line, "command -v %s >/dev/null 2>&1", program);
  return system(line) == 0;
}

static void exit_codes_are_as_documented(void** state) {
  (void)state;
  assert_int_equal(run("{} --version"), 0);
  assert_string_equal(output, "throng " TG_VERSION "\n");
  assert_int_equal(run("{} --help"), 0);
  assert_non_null(strstr(output, "Verbs:"));
  assert_int_equal(run("{} 2>&1"), 2);
  assert_int_equal(run("{} help nothing 2>&1"), 2);
  assert_int_equal(run("{} help info more 2>&1"), 2);
  assert_int_equal(run("{} inof 2>&1"), 2);
  assert_string_equal(output, "throng: unknown verb 'inof'; did you mean throng info?\n");
  assert_int_equal(run("{} md rnu 2>&1"), 2);
  assert_string_equal(output, "throng: unknown verb 'md rnu'; did you mean throng md run?\n");
  assert_int_equal(run("{} md foo 2>&1"), 2);
  assert_string_equal(output,
                      "throng: unknown verb 'md foo'; throng md has check, energy, run, build\n");
  assert_int_equal(run("{} info --jsno 2>&1"), 2);
  assert_string_equal(output, "throng: unknown option --jsno; did you mean --json?\n");
  assert_int_equal(run("{} info --jsno 2>/dev/null"), 2);
  assert_string_equal(output, ""); /* words about a failure go to stderr alone */
}

static void a_full_disk_is_a_failure(void** state) {
  (void)state;
  if (access("/dev/full", W_OK) != 0) skip();
  assert_int_equal(run("{} --help 2>&1 >/dev/full"), 3);
  assert_non_null(strstr(output, "standard output cannot be written"));
}

/* What is printed must not land in a file that gets the closed stream's number. */
static void a_closed_output_is_a_failure(void** state) {
  (void)state;
  static const char file[] = TG_BUILD_DIR "/closed-output.jsonl";
  char command[1024];
  assert_int_equal(run("{} --help 2>&1 >&-"), 3);
  assert_non_null(strstr(output, "standard output cannot be written"));
  snprintf(command, sizeof command,
           "{} bench motif --figure 8 --backend ref --states 64 --budget 1e-5 --repeats 1 "
           "--threads 1 --json-lines %s 2>&1 >&- <&-",
           file);
  assert_int_equal(run(command), 3);
  FILE* lines = fopen(file, "r");
  assert_non_null(lines);
  char line[4096];
  while (fgets(line, sizeof line, lines)) assert_int_equal(line[0], '{');
  fclose(lines);
  remove(file);
}

static void every_verb_has_help(void** state) {
  (void)state;
  for (const tg_cli_verb* const* at = tg_cli_program.verbs; *at; at++) {
    const tg_cli_verb* verb = *at;
    char command[256], title[256];
    snprintf(command, sizeof command, "{} %s --help", verb->name);
    snprintf(title, sizeof title, "Usage: throng %s", verb->name);
    assert_int_equal(run(command), 0);
    assert_int_equal(strncmp(output, title, strlen(title)), 0);
    assert_non_null(strstr(output, "Examples:"));
    for (const tg_cli_option* option = verb->options; option->name; option++) {
      char spelled[128];
      snprintf(spelled, sizeof spelled, "--%s", option->name);
      assert_non_null(strstr(output, spelled));
    }
    for (char* line = strtok(output, "\n"); line; line = strtok(NULL, "\n"))
      assert_true(strncmp(line, "  throng", 8) == 0 || strncmp(line, "  mpirun", 8) == 0 ||
                  strncmp(line, "Usage", 5) == 0 || strlen(line) <= 80);
    snprintf(command, sizeof command, "{} help %s", verb->name);
    assert_int_equal(run(command), 0);
    snprintf(command, sizeof command, "{} %s --no-such-option 2>&1", verb->name);
    assert_int_equal(run(command), 2);
    assert_non_null(strstr(output, "no-such-option"));
  }
}

static void info_tells_what_works(void** state) {
  (void)state;
  assert_int_equal(run("{} info"), 0);
  const char* const rows[] = {"CPU",     "Memory",   "OpenMP",     "GPU",  "MPI",   "NVSHMEM",
                              "gnuplot", "Backends", "Transports", "Halo", "Motifs"};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) assert_non_null(strstr(output, rows[i]));
  if (!have("python3")) skip();
  assert_int_equal(run("{} info --json | python3 -c '"
                       "import json, sys; facts = json.load(sys.stdin); "
                       "works = {b[\"name\"]: b[\"works\"] for b in facts[\"backends\"]}; "
                       "assert works[\"ref\"] is True; "
                       "assert facts[\"cpu\"][\"threads\"] >= 1; "
                       "assert len(facts[\"gpus\"]) > 0 or facts[\"gpu_reason\"]; "
                       "moves = {t[\"name\"]: t for t in facts[\"transports\"]}; "
                       "assert moves[\"loop\"][\"works\"] is True; "
                       "device = moves[\"nvshmem\"]; "
                       "assert device[\"works\"] is (bool(facts[\"nvshmem\"]) and "
                       "len(facts[\"gpus\"]) > 0); "
                       "assert facts[\"nvshmem\"] in device[\"reason\"] if device[\"works\"] "
                       "else \"without NVSHMEM\" in device[\"reason\"] if not facts[\"nvshmem\"] "
                       "else \"no GPU to share memory with\" in device[\"reason\"]; "
                       "motifs = {m[\"name\"]: m for m in facts[\"motifs\"]}; "
                       "assert set(motifs) == {\"ref\", \"omp\", \"cuda\", \"acc\", \"offload\", "
                       "\"offload-clang\"}; "
                       "assert motifs[\"omp\"][\"works\"] and motifs[\"omp\"][\"made_by\"]; "
                       "assert any(set in motifs[\"omp\"][\"reason\"] for set in "
                       "(\"AVX-512\", \"AVX2\", \"portable\")); "
                       "assert all(m[\"reason\"] for m in motifs.values()); "
                       "assert all(m[\"advice\"] or not m[\"on_host\"] for name, m in "
                       "motifs.items() if name in (\"acc\", \"offload\") and m[\"works\"])'"),
                   0);
}

static void the_manual_page_is_well_formed(void** state) {
  (void)state;
  assert_int_equal(run("{} help --man"), 0);
  for (const tg_cli_verb* const* at = tg_cli_program.verbs; *at; at++)
    assert_non_null(strstr(output, (*at)->summary));
  if (have("mandoc")) {
    assert_int_equal(run("{} help --man | mandoc -Tlint -Wwarning"), 0);
    assert_string_equal(output, "");
  } else if (have("man")) {
    assert_int_equal(run("{} help --man | man -l --warnings - 2>&1 >/dev/null"), 0);
    assert_string_equal(output, "");
  } else {
    skip();
  }
}

static void only_one_of_many_processes_speaks(void** state) {
  (void)state;
  if (!have("mpirun")) skip();
  /* an MPI library may leak what it likes at its end: under a sanitizer that is not this test's
   * matter */
  static const char launch[] =
      "ASAN_OPTIONS=detect_leaks=0 TSAN_OPTIONS=exitcode=0 OMPI_ALLOW_RUN_AS_ROOT=1 "
      "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
      "mpirun --oversubscribe -n 3 {} info";
  char command[512];
  if (run("{} info --json") == 0 && strstr(output, "\"mpi\": null")) skip();
  snprintf(command, sizeof command, "%s --json 2>/dev/null", launch);
  assert_int_equal(run(command), 0);
  const char* first = strstr(output, "\"version\"");
  assert_non_null(first);
  assert_null(strstr(first + 1, "\"version\""));
  snprintf(command, sizeof command, "%s --jsno 2>&1", launch);
  assert_int_equal(run(command), 2);
  first = strstr(output, "throng: unknown option");
  assert_non_null(first);
  assert_null(strstr(first + 1, "throng: unknown option"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(exit_codes_are_as_documented),
      cmocka_unit_test(a_full_disk_is_a_failure),
      cmocka_unit_test(a_closed_output_is_a_failure),
      cmocka_unit_test(every_verb_has_help),
      cmocka_unit_test(info_tells_what_works),
      cmocka_unit_test(the_manual_page_is_well_formed),
      cmocka_unit_test(only_one_of_many_processes_speaks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
