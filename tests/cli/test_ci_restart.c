/* SPDX-License-Identifier: Apache-2.0 */
/* `throng ci solve --restart`: runs that are interrupted or killed, and the same command again. */
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
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/scratch.h"
#include "cli/ci_run.h"

/* 24Mg, half a second on a computer of today; six particles in orbits of both parities. */
#define MAGNESIUM "-i usdb --protons 4 --neutrons 4"
#define BOTH                                                                                       \
  "-i sdi:0p1/2=-3,0d5/2=-3.9,1s1/2=-3.2,0d3/2=2.1:AT0=1.0,AT1=1.0,B=0.3 --protons 3 --neutrons 3"

#define TOLERANCE 1e-9 /* MeV; the bits are the same, the text is read */

static const char* folder;

/* Starts the program with a user's signals. A state is written as often as writing lets. */
static pid_t start(const char* words, const char* name) {
  char line[4096];
  snprintf(line, sizeof line,
           "cd '%s' && exec '%s' ci solve %s --storage fly --threads 1 --json-file %s.json "
           "--restart %s --checkpoint 1e-9 >%s.log 2>&1",
           folder, TG_PROGRAM, words, name, name, name);
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
  return ended;
}

static bool is_there(const char* name) { return access(scratch_path(folder, name), F_OK) == 0; }

/* Until a sector's state is on disk. */
static void wait_for(const char* state, pid_t child) {
  const struct timespec pause = {0, 500000};
  for (int i = 0; i < 120000 && !is_there(state); i++) {
    nanosleep(&pause, NULL);
    if (waitpid(child, NULL, WNOHANG) != 0) fail_msg("ended before %s was there", state);
  }
}

static void expect_done(pid_t child, const char* name) {
  const int ended = finish(child);
  char log[64];
  snprintf(log, sizeof log, "%s.log", name);
  if (ended != 0) fail_msg("%s: %s", name, scratch_read(scratch_path(folder, log)));
}

/* The levels in JSON, one after the other. */
static size_t read_levels(const char* name, double* energies) {
  char file[64];
  snprintf(file, sizeof file, "%s.json", name);
  const char* at = scratch_read(scratch_path(folder, file));
  assert_non_null(at);
  size_t count = 0;
  while ((at = strstr(at, "\"energy_MeV\": "))) {
    at += strlen("\"energy_MeV\": ");
    energies[count++] = strtod(at, NULL);
  }
  return count;
}

static void expect_same_levels(const char* name, const char* like) {
  double here[64], there[64];
  const size_t count = read_levels(name, here);
  assert_int_equal(count, read_levels(like, there));
  assert_true(count >= 10);
  for (size_t i = 0; i < count; i++) ci_close(here[i], there[i], TOLERANCE, name);
}

/* What is left of a finished run: its results alone. */
static void expect_tidy(const char* name, const char* state) {
  char part[64];
  snprintf(part, sizeof part, "%s.part", state);
  assert_false(is_there(name));
  assert_false(is_there(state));
  assert_false(is_there(part));
}

static void uninterrupted(void** state) {
  (void)state;
  expect_done(start(MAGNESIUM, "whole"), "whole");
  expect_tidy("whole", "whole.parity+");
  expect_done(start(BOTH, "both"), "both");
  expect_tidy("both", "both.parity+");
  expect_tidy("both", "both.parity-");
}

static void interrupted(void** state) {
  (void)state;
  static const int signals[] = {SIGINT, SIGTERM};
  for (int i = 0; i < 2; i++) {
    const pid_t child = start(MAGNESIUM, "interrupted");
    wait_for("interrupted.parity+", child);
    kill(child, signals[i]);
    const int ended = finish(child);
    assert_true(WIFEXITED(ended));
    assert_int_equal(WEXITSTATUS(ended), 130);
    const char* log = scratch_read(scratch_path(folder, "interrupted.log"));
    if (!strstr(log, "the same command goes on from interrupted")) fail_msg("%s", log);
    assert_true(is_there("interrupted"));
    assert_false(is_there("interrupted.json"));
    expect_done(start(MAGNESIUM, "interrupted"), "interrupted");
    log = scratch_read(scratch_path(folder, "interrupted.log"));
    assert_non_null(strstr(log, "goes on from interrupted"));
    expect_same_levels("interrupted", "whole");
    expect_tidy("interrupted", "interrupted.parity+");
    unlink(scratch_path(folder, "interrupted.json"));
  }
}

/* Three times, without a chance to put anything in order. */
static void killed(void** state) {
  (void)state;
  for (int i = 0; i < 3; i++) {
    const pid_t child = start(MAGNESIUM, "killed");
    wait_for("killed.parity+", child);
    const struct timespec while_it_runs = {0, 20000000 * i};
    nanosleep(&while_it_runs, NULL);
    kill(child, SIGKILL);
    assert_true(WIFSIGNALED(finish(child)));
  }
  expect_done(start(MAGNESIUM, "killed"), "killed");
  expect_same_levels("killed", "whole");
  expect_tidy("killed", "killed.parity+");
}

/* As a queue of batch jobs would have it. Each piece gets twice the time of the one before, so that
 * one on a busy machine gets somewhere. */
static void in_pieces(void** state) {
  (void)state;
  int pieces = 0, ended = 130;
  for (double minutes = 2e-4; ended == 130 && minutes < 10; minutes *= 2, pieces++) {
    char words[256];
    snprintf(words, sizeof words, "%s --time-limit %g", MAGNESIUM, minutes);
    ended = WEXITSTATUS(finish(start(words, "pieces")));
    const char* log = scratch_read(scratch_path(folder, "pieces.log"));
    if (ended == 130 && !strstr(log, "the same command goes on from pieces")) fail_msg("%s", log);
  }
  assert_int_equal(ended, 0);
  assert_true(pieces > 1);
  expect_same_levels("pieces", "whole");
  expect_tidy("pieces", "pieces.parity+");
}

/* However short the time, each piece gets further. */
static void shortest_pieces(void** state) {
  (void)state;
  long before = 0;
  for (int i = 0; i < 3; i++) {
    assert_int_equal(WEXITSTATUS(finish(start(MAGNESIUM " --time-limit 1e-9", "short"))), 130);
    const char* log = scratch_read(scratch_path(folder, "short.log"));
    const char* words = strstr(log, "interrupted after ");
    assert_non_null(words);
    const long products = strtol(words + strlen("interrupted after "), NULL, 10);
    if (products <= before) fail_msg("%ld products after %ld", products, before);
    before = products;
  }
}

/* In the second sector; the first is found again from its state. */
static void second_sector(void** state) {
  (void)state;
  const pid_t child = start(BOTH, "second");
  wait_for("second.parity-", child);
  kill(child, SIGINT);
  assert_int_equal(WEXITSTATUS(finish(child)), 130);
  assert_true(is_there("second.parity+"));
  expect_done(start(BOTH, "second"), "second");
  expect_same_levels("second", "both");
  expect_tidy("second", "second.parity-");
}

/* A state that cannot be written does not end the run. */
static void full_disk(void** state) {
  (void)state;
  char line[2048];
  /* no file may grow beyond 64 KiB: the text fits, a state does not */
  snprintf(line, sizeof line,
           "ulimit -f 128; cd '%s' && '%s' ci solve " MAGNESIUM
           " --restart full --checkpoint 1e-9 >full.log 2>&1",
           folder, TG_PROGRAM);
  assert_int_equal(system(line), 0);
  const char* log = scratch_read(scratch_path(folder, "full.log"));
  assert_non_null(strstr(log, "Warning: "));
  assert_non_null(strstr(log, "excitation"));
}

/* The second would take the first one's states away. */
static void two_at_once(void** state) {
  (void)state;
  const pid_t child = start(MAGNESIUM " --states 40", "twice");
  wait_for("twice.parity+", child);
  kill(child, SIGSTOP);
  char line[2048];
  snprintf(line, sizeof line,
           "cd '%s' && '%s' ci solve " MAGNESIUM " --states 40 --restart twice >second.log 2>&1",
           folder, TG_PROGRAM);
  const int ended = system(line);
  kill(child, SIGCONT);
  kill(child, SIGINT);
  const int of_first = finish(child);
  const char* log = scratch_read(scratch_path(folder, "second.log"));
  if (!WIFEXITED(ended) || WEXITSTATUS(ended) != 2 ||
      !strstr(log, "another run is keeping its states there"))
    fail_msg("%d: %s", ended, log);
  assert_int_equal(WEXITSTATUS(of_first), 130);
  assert_true(is_there("twice"));
  assert_true(is_there("twice.parity+"));
}

/* Of a run that failed before it had a state nothing stands in the next one's way. */
static void failed_at_once(void** state) {
  (void)state;
  const int ended = finish(start(MAGNESIUM " --states 30 --memory 0.0001", "early"));
  assert_true(WIFEXITED(ended));
  assert_int_equal(WEXITSTATUS(ended), 3);
  assert_false(is_there("early"));
  char line[2048];
  snprintf(line, sizeof line,
           "cd '%s' && '%s' ci solve " MAGNESIUM
           " --states 1000 --storage fly --memory 0.1 --restart early >early.log 2>&1",
           folder, TG_PROGRAM);
  const int second = system(line);
  assert_int_equal(WEXITSTATUS(second), 3);
  const char* log = scratch_read(scratch_path(folder, "early.log"));
  if (!strstr(log, "eigen-solver needs")) fail_msg("%s", log);
  assert_false(is_there("early"));
}

/* ---- what is refused ---- */

static void expect_refused(const char* words, const char* message) {
  const int ended = finish(start(words, "kept"));
  const char* log = scratch_read(scratch_path(folder, "kept.log"));
  assert_true(WIFEXITED(ended));
  if (WEXITSTATUS(ended) != 2 || !strstr(log, message))
    fail_msg("%s: expected '%s' and exit code 2: %d, %s", words, message, WEXITSTATUS(ended), log);
  assert_true(is_there("kept.parity+"));
}

static void other_problems(void** state) {
  (void)state;
  const pid_t child = start(MAGNESIUM, "kept");
  wait_for("kept.parity+", child);
  kill(child, SIGINT);
  assert_int_equal(WEXITSTATUS(finish(child)), 130);
  expect_refused("-i usdb --protons 4 --neutrons 6",
                 "the number of neutrons is 4 there, here it is 6");
  expect_refused(MAGNESIUM " --two-m 4", "2M is 0 there, here it is 4");
  expect_refused(MAGNESIUM " --states 5", "the number of states is 10 there, here it is 5");
  expect_refused(MAGNESIUM " --scale none", "the Hamiltonian: interaction, scaling");
  expect_refused(MAGNESIUM " --nmax 0", "the restrictions of the space");
  expect_refused("-i ckpot --protons 4 --neutrons 4", "the orbitals");
  expect_refused(MAGNESIUM " --time-limit 0", "--time-limit 0: minutes, more than 0");
  expect_refused(MAGNESIUM " --time-limit -1", "--time-limit -1: minutes, more than 0");
  /* a state that is cut or of another run */
  char line[2048];
  snprintf(line, sizeof line, "cd '%s' && cp kept.parity+ good && head -c 5000 good >kept.parity+",
           folder);
  assert_int_equal(system(line), 0);
  expect_refused(MAGNESIUM, "the file ends early");
  snprintf(line, sizeof line, "cd '%s' && echo 'My notes' >kept", folder);
  assert_int_equal(system(line), 0);
  expect_refused(MAGNESIUM, "is no restart file of throng ci");
  assert_int_equal(unlink(scratch_path(folder, "kept")), 0);
  expect_refused(MAGNESIUM, "kept.parity+: is in the way");
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
      cmocka_unit_test(uninterrupted),  cmocka_unit_test(interrupted),
      cmocka_unit_test(killed),         cmocka_unit_test(second_sector),
      cmocka_unit_test(other_problems), cmocka_unit_test(full_disk),
      cmocka_unit_test(two_at_once),    cmocka_unit_test(failed_at_once),
      cmocka_unit_test(in_pieces),      cmocka_unit_test(shortest_pieces),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
