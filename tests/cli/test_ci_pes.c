/* SPDX-License-Identifier: Apache-2.0 */
/* `throng ci solve --pe N`: threads and processes give the levels of one, go on from each other's
 * state, and end together. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

#include "base/scratch.h"
#include "cli/ci_run.h"

#define NEON "-i usdb --protons 2 --neutrons 3 --states 4 --tolerance 1e-6 "
#define MAGNESIUM "-i usdb --protons 4 --neutrons 4 "
#define MPIRUN                                                                                     \
  "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_NUM_THREADS=1 timeout 60 mpirun " \
  "--oversubscribe --bind-to none "
#define TOLERANCE 1e-9 /* MeV: residuals are below 1e-6 MeV, levels 0.01 MeV apart and more */

static const char* folder;

static bool has_mpi(void) {
  return system("mpirun --version 2>&1 | grep -q 'Open MPI'") == 0 && ci_run("--help") == 0 &&
         system("'" TG_PROGRAM "' info | grep -q '^MPI  *no'") != 0;
}

/* As ci_run in the scratch folder, with something in front of the program. */
static int run_in_front(const char* front, const char* words) {
  char line[8192];
  snprintf(line, sizeof line, "cd '%s' && %s '%s' ci %s 2>&1", folder, front, TG_PROGRAM, words);
  FILE* pipe = popen(line, "r");
  assert_non_null(pipe);
  ci_output[fread(ci_output, 1, sizeof ci_output - 1, pipe)] = '\0';
  const int ended = pclose(pipe);
  return WIFEXITED(ended) ? WEXITSTATUS(ended) : -1;
}

static void expect_run(const char* front, const char* words) {
  const int code = run_in_front(front, words);
  if (code != 0) fail_msg("%s throng ci %s: %d, %s", front, words, code, ci_output);
}

static size_t read_levels(const char* at, double* energies) {
  size_t count = 0;
  while ((at = strstr(at, "\"energy_MeV\": "))) {
    at += strlen("\"energy_MeV\": ");
    energies[count++] = strtod(at, NULL);
  }
  return count;
}

static void expect_levels(const double* expected, size_t count) {
  double here[64];
  assert_int_equal(read_levels(ci_output, here), count);
  for (size_t i = 0; i < count; i++) ci_close(here[i], expected[i], TOLERANCE, "level");
}

static void levels(void** state) {
  (void)state;
  double one[64];
  expect_run("", "solve " NEON "--json");
  const size_t count = read_levels(ci_output, one);
  assert_int_equal(count, 4);
  assert_null(strstr(ci_output, "processing_elements"));
  expect_run("", "solve " NEON "--json --pe 3 --threads 3");
  expect_levels(one, count);
  const char* at = strstr(ci_output, "\"processing_elements\"");
  assert_non_null(at);
  double states = 0, elements = 0;
  for (int p = 0; p < 3; p++) {
    states += ci_number(&at, "states");
    elements += ci_number(&at, "elements");
    assert_true(ci_number(&at, "exposed_s") >= 0);
  }
  ci_close(states, ci_first("dimension"), 0, "states");
  ci_close(elements, ci_first("pairs"), 0, "elements");
  expect_run("", "solve " NEON "--pe 2");
  assert_non_null(strstr(ci_output, "  PE 1: "));
  assert_non_null(strstr(ci_output, "  imbalance "));
  if (!has_mpi()) return;
  expect_run(MPIRUN "-n 2", "solve " NEON "--json");
  expect_levels(one, count);
  assert_non_null(strstr(ci_output, "\"processing_elements\""));
  expect_run("TG_NODE_SIZE=1 " MPIRUN "-n 3", "solve " NEON "--json --storage stored --pe 3");
  expect_levels(one, count);
  /* threads of one process in spite of the launcher: the others have nothing to do */
  expect_run(MPIRUN "-n 2", "solve " NEON "--json --transport loop");
  expect_levels(one, count);
}

/* Most have no states, of which those of a molecule want a diagonal all the same. */
static void more_than_there_are_rows(void** state) {
  (void)state;
  static const char* const words[] = {
      "solve -i '" TG_SOURCE_DIR "/examples/molecules/lih.fcidump' --irrep 4 --states 3 --json",
      "solve -i usdb --protons 0 --neutrons 2 --states 3 --json"};
  static const char* const keys[] = {"energy_Ha", "energy_MeV"};
  for (int i = 0; i < 2; i++) {
    char line[1024];
    double one[3];
    expect_run("", words[i]);
    const char* at = ci_output;
    for (int k = 0; k < 3; k++) one[k] = ci_number(&at, keys[i]);
    for (int stored = 0; stored < 2; stored++) {
      snprintf(line, sizeof line, "%s --pe 40 --storage %s", words[i], stored ? "stored" : "fly");
      expect_run("", line);
      at = ci_output;
      for (int k = 0; k < 3; k++) ci_close(ci_number(&at, keys[i]), one[k], 1e-8, "level");
    }
  }
}

/* What comes after the levels has them whole; files are written once. */
static void results(void** state) {
  (void)state;
  static char one[1 << 18];
  expect_run("", "solve " NEON "--observables e2,m1 --json-file one.json");
  expect_run(has_mpi() ? MPIRUN "-n 3" : "", "solve " NEON "--observables e2,m1 -o out --pe 3");
  snprintf(one, sizeof one, "%s", scratch_read(scratch_path(folder, "one.json")));
  const char *a = strstr(one, "\"observables\""),
             *b = strstr(scratch_read(scratch_path(folder, "out/levels.json")), "\"observables\"");
  assert_non_null(a);
  assert_non_null(b);
  int numbers = 0;
  for (; numbers < 100; numbers++) { /* the same words, and numbers to what states are right to */
    while (*a == *b && *a && !strchr("-0123456789", *a)) a++, b++;
    char *end_a, *end_b;
    const double x = strtod(a, &end_a), y = strtod(b, &end_b);
    if (end_a == a) break;
    ci_close(fabs(y), fabs(x), 1e-4, "observable"); /* phases of states are free */
    a = end_a;
    b = end_b;
  }
  assert_true(numbers > 50);
}

static void check(void** state) {
  (void)state;
  expect_run("", "check -i usdb --protons 4 --neutrons 4 --parity + --pe 4 --json");
  const char* at = strstr(ci_output, "\"processing_elements\"");
  assert_non_null(at);
  double states = 0, elements = 0;
  for (int p = 0; p < 4; p++) {
    states += ci_number(&at, "states");
    elements += ci_number(&at, "elements");
  }
  ci_close(states, 28503, 0, "states");
  ci_close(elements, 6085335, 0, "elements");
  assert_true(ci_number(&at, "imbalance") < 0.02);
  expect_run("", "check -i usdb --protons 4 --neutrons 4 --pe 4");
  assert_non_null(strstr(ci_output, "  PE 3: "));
}

static void expect_refused(const char* front, const char* words, const char* message) {
  const int code = run_in_front(front, words);
  if (code != 2 || !strstr(ci_output, message))
    fail_msg("%s throng ci %s: expected '%s' and exit code 2: %d, %s", front, words, message, code,
             ci_output);
  const char* said = strstr(ci_output, "throng: ");
  assert_non_null(said);
  assert_null(strstr(said + 1, "throng: ")); /* by one process */
}

static void refusals(void** state) {
  (void)state;
  expect_refused("", "solve " NEON "--pe 0", "--pe 0: a number of processing elements");
  expect_refused("", "solve " NEON "--pe 2 --deadline 0", "--deadline 0: seconds");
  if (!has_mpi()) return;
  expect_refused("", "solve " NEON "--pe 3 --transport mpi",
                 "3 processing elements asked for, but the launcher started 1");
  expect_refused(MPIRUN "-n 2", "solve " NEON "--json-file /nowhere/x.json",
                 "the folder /nowhere does not exist");
  expect_refused(MPIRUN "-n 2", "solve -i usdb --protons 20 --neutrons 1", "proton");
}

/* ---- interruptions ---- */

static pid_t start(const char* front, const char* words, const char* name) {
  char line[4096];
  snprintf(line, sizeof line,
           "cd '%s' && exec %s '%s' ci solve %s --json-file %s.json --restart %s --checkpoint 1e-9 "
           ">%s.log 2>&1",
           folder, front, TG_PROGRAM, words, name, name, name);
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child > 0) return child;
  signal(SIGINT, SIG_DFL);
  signal(SIGHUP, SIG_DFL);
  execl("/bin/sh", "sh", "-c", line, (char*)NULL);
  _exit(99);
}

static int finish(pid_t child) {
  int ended;
  while (waitpid(child, &ended, 0) < 0) assert_int_equal(errno, EINTR);
  return WIFEXITED(ended) ? WEXITSTATUS(ended) : -1;
}

static void wait_for(const char* file, pid_t child) {
  const struct timespec pause = {0, 500000};
  for (int i = 0; i < 120000 && access(scratch_path(folder, file), F_OK) != 0; i++) {
    nanosleep(&pause, NULL);
    if (waitpid(child, NULL, WNOHANG) != 0)
      fail_msg("ended before %s was there: %s", file,
               scratch_read(scratch_path(folder, "many.log")));
  }
}

/* Three threads' state, gone on with by two processes of which one is interrupted, and by one
 * thread to the end. */
static void goes_on_with_others(void** state) {
  (void)state;
  static const char words[] = MAGNESIUM "--tolerance 1e-6 --states 20 --storage fly";
  double one[64];
  expect_run("", "solve " MAGNESIUM "--tolerance 1e-6 --states 20 --json");
  const size_t count = read_levels(ci_output, one);
  char line[1024];
  snprintf(line, sizeof line, "%s --pe 3 --threads 3", words);
  pid_t child = start("", line, "many");
  wait_for("many.parity+", child);
  kill(child, SIGINT);
  assert_int_equal(finish(child), 130);
  const char* log = scratch_read(scratch_path(folder, "many.log"));
  if (!strstr(log, "the same command goes on from many")) fail_msg("%s", log);
  if (has_mpi()) {
    unlink(scratch_path(folder, "many.log"));
    child = start("env " MPIRUN "-n 2 sh -c 'echo $$ >pid.$OMPI_COMM_WORLD_RANK; exec \"$@\"' sh",
                  words, "many"); /* each tells its number, so that one can be found */
    wait_for("many.log", child);
    while (!strstr(scratch_read(scratch_path(folder, "many.log")), "goes on from many")) {
      const struct timespec pause = {0, 500000};
      nanosleep(&pause, NULL);
      if (waitpid(child, NULL, WNOHANG) != 0) fail_msg("the processes ended by themselves");
    }
    const pid_t other = (pid_t)strtol(scratch_read(scratch_path(folder, "pid.1")), NULL, 10);
    assert_true(other > 1);
    kill(other, SIGINT);
    const int code = finish(child);
    log = scratch_read(scratch_path(folder, "many.log"));
    if (code != 130 || !strstr(log, "goes on from many")) fail_msg("%d: %s", code, log);
  }
  assert_int_equal(finish(start("", words, "many")), 0);
  log = scratch_read(scratch_path(folder, "many.log"));
  assert_non_null(strstr(log, "goes on from many"));
  snprintf(ci_output, sizeof ci_output, "%s", scratch_read(scratch_path(folder, "many.json")));
  expect_levels(one, count);
  assert_int_not_equal(access(scratch_path(folder, "many.parity+"), F_OK), 0);
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
      cmocka_unit_test(levels),   cmocka_unit_test(more_than_there_are_rows),
      cmocka_unit_test(results),  cmocka_unit_test(check),
      cmocka_unit_test(refusals), cmocka_unit_test(goes_on_with_others),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
