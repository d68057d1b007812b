/* SPDX-License-Identifier: Apache-2.0 */
/* Processes of one run whose command lines differ: all end at once with exit code 2, and the
 * message names the one that differs and its words. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <sys/wait.h>

#include "md/engine_case.h"

#define MPIRUN                                                                                     \
  "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_NUM_THREADS=1 timeout 40 mpirun " \
  "--oversubscribe --bind-to none "
#define MD_ENERGY                                                                                  \
  TG_PROGRAM " md energy -c " ENGINE_EXAMPLE "conf.gro -p " ENGINE_EXAMPLE "topol.top "

/* Runs a shell line, its output into a log, which is returned; *code: its exit code. */
static const char* shell(const char* line, int* code) {
  static char text[1 << 14];
  char whole[4096];
  snprintf(whole, sizeof whole, "(%s) >'%s' 2>&1", line, engine_path("log"));
  int ended = system(whole);
  *code = WIFEXITED(ended) ? WEXITSTATUS(ended) : -1;
  FILE* stream = fopen(engine_path("log"), "r");
  assert_non_null(stream);
  text[fread(text, 1, sizeof text - 1, stream)] = '\0';
  fclose(stream);
  return text;
}

static int count_of(const char* text, const char* words) {
  int count = 0;
  for (; (text = strstr(text, words)); text++) count++;
  return count;
}

static void expect(const char* line, int wanted, const char* words, int least, int most) {
  int code;
  const char* text = shell(line, &code);
  if (code != wanted) fail_msg("%s: exit code %d, not %d: %s", line, code, wanted, text);
  int times = count_of(text, words);
  if (times < least || times > most)
    fail_msg("%s: '%s' is there %d times, not %d to %d: %s", line, words, times, least, most, text);
}

static int have_mpi(void) {
#if defined(TG_HAVE_MPI) && TG_HAVE_MPI
  return system("mpirun --version 2>&1 | grep -q 'Open MPI'") == 0;
#else
  return 0;
#endif
}

static void ranks_with_other_words_are_refused(void** state) {
  (void)state;
  if (!have_mpi()) skip();
  static const char* const pairs[][2] = {
      {"", "--bogus"}, {"", "--pe 3"}, {"--pe 1x1x2", "--pe 2x1x1"}};
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    char line[2048], words[128];
    snprintf(line, sizeof line, MPIRUN "-n 1 " MD_ENERGY "%s : -n 1 " MD_ENERGY "%s", pairs[i][0],
             pairs[i][1]);
    snprintf(words, sizeof words, "topol.top %s; give all processes", pairs[i][1]);
    expect(line, 2, words, 1, 1);
  }
}

static void ranks_that_fail_alike_say_so_once(void** state) {
  (void)state;
  if (!have_mpi()) skip();
  expect(MPIRUN "-n 2 " MD_ENERGY "--bogus", 2, "throng: unknown option --bogus", 1, 1);
}

/* Each runs by itself, so each may have its own command line. */
static void ranks_without_a_world_need_not_agree(void** state) {
  (void)state;
  if (!have_mpi()) skip();
  expect(MPIRUN "-n 1 " MD_ENERGY "--transport loop : -n 1 " MD_ENERGY
                "--transport=loop --precision double",
         0, "other words", 0, 0);
}

static void processes_with_other_words_are_refused(void** state) {
  (void)state;
  char line[3000];
  /* the exit codes of both are in the sum, the second's ten times */
  snprintf(line, sizeof line,
           "export TG_BOOTSTRAP='file:%s' TG_PE_COUNT=2 OMP_NUM_THREADS=1; TG_PE=1 timeout "
           "40 " MD_ENERGY "--halo fused & pid=$!; TG_PE=0 timeout 40 " MD_ENERGY
           "--halo host; first=$?; wait $pid; exit $((first + 10 * $?))",
           engine_path("rendezvous"));
  expect(line, 22, "throng: PE 1 was started with other words than PE 0: md energy", 1, 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ranks_with_other_words_are_refused),
      cmocka_unit_test(ranks_that_fail_alike_say_so_once),
      cmocka_unit_test(ranks_without_a_world_need_not_agree),
      cmocka_unit_test(processes_with_other_words_are_refused),
  };
  return cmocka_run_group_tests_name("words", tests, engine_set_up, engine_tear_down);
}
