/* SPDX-License-Identifier: Apache-2.0 */
/* Runs that end before their time: killed at any moment, or interrupted; and going on from there.
 */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "md/engine_case.h"

/* 600 steps, which a computer of today does not do before it is interrupted. */
static const char mdp[] =
    "dt = 0.002\nnsteps = 600\nnstlist = 10\nrcoulomb = 0.9\nrvdw = 0.9\n"
    "coulombtype = reaction-field\nepsilon-rf = 0\nconstraints = h-bonds\nnstcalcenergy = 5\n"
    "nstenergy = 5\nnstxout-compressed = 7\ntcoupl = v-rescale\ntc-grps = System\ntau-t = 0.1\n"
    "ref-t = 300\nld-seed = 7\n";

/* The program as a child with a user's signals. */
static pid_t start(const char* run, const char* option) {
  pid_t child = fork();
  assert_true(child >= 0);
  if (child > 0) return child;
  /* a test may itself run in the background or under nohup, where these are ignored */
  signal(SIGINT, SIG_DFL);
  signal(SIGHUP, SIG_DFL);
  char log[300];
  snprintf(log, sizeof log, "%s.log", engine_path(run));
  int words = open(log, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (words < 0 || dup2(words, 1) < 0 || dup2(words, 2) < 0) _exit(99);
  execl(TG_PROGRAM, TG_PROGRAM, "md", "run", "-c", ENGINE_EXAMPLE "conf.gro", "-p",
        ENGINE_EXAMPLE "topol.top", "-f", engine_path("run.mdp"), "-o", engine_path(run), "--pe",
        "1x1x2", "--threads", "2", "--checkpoint", "0.0001", option, (char*)NULL);
  _exit(99);
}

static int finish(pid_t child) {
  int ended;
  while (waitpid(child, &ended, 0) < 0) assert_int_equal(errno, EINTR);
  return ended;
}

static long long checkpoint_step(const char* run) {
  char path[300];
  snprintf(path, sizeof path, "%s/state.cpt", engine_path(run));
  tg_checkpoint checkpoint;
  engine_ok(tg_checkpoint_read(path, &checkpoint));
  long long step = checkpoint.step;
  tg_checkpoint_free(&checkpoint);
  return step;
}

static void wait_for_checkpoint(const char* run, pid_t child) {
  char path[300];
  snprintf(path, sizeof path, "%s/state_prev.cpt", engine_path(run)); /* after the start's */
  const struct timespec pause = {0, 5000000};
  for (int i = 0; i < 12000 && (access(path, F_OK) != 0 || checkpoint_step(run) == 0); i++) {
    nanosleep(&pause, NULL);
    int ended;
    if (waitpid(child, &ended, WNOHANG) != 0) fail_msg("%s ended before it was interrupted", run);
  }
}

static void same_as_uninterrupted(const char* run) {
  static const char* const files[] = {"energies.xvg", "energies.jsonl", "traj.xtc", "confout.gro"};
  for (size_t i = 0; i < sizeof files / sizeof *files; i++)
    engine_same_bytes("uninterrupted", run, files[i]);
}

static void an_uninterrupted_run(void** state) {
  (void)state;
  engine_write_mdp("run.mdp", mdp);
  assert_int_equal(finish(start("uninterrupted", NULL)), 0);
}

/* Killed twice, without a chance to put anything in order. */
static void a_killed_run_goes_on_bit_for_bit(void** state) {
  (void)state;
  pid_t child = start("killed", NULL);
  wait_for_checkpoint("killed", child);
  kill(child, SIGKILL);
  assert_true(WIFSIGNALED(finish(child)));
  long long step = checkpoint_step("killed");
  assert_true(step > 0 && step < 600);
  child = start("killed", "--continue");
  const struct timespec pause = {0, 300000000};
  nanosleep(&pause, NULL);
  kill(child, SIGKILL);
  finish(child);
  assert_true(checkpoint_step("killed") >= step);
  assert_int_equal(finish(start("killed", "--continue")), 0);
  same_as_uninterrupted("killed");
}

static void an_interrupted_run_writes_a_checkpoint(void** state) {
  (void)state;
  static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
  static const char* const runs[] = {"interrupted", "terminated", "hung-up"};
  for (int i = 0; i < 3; i++) {
    pid_t child = start(runs[i], NULL);
    wait_for_checkpoint(runs[i], child);
    kill(child, signals[i]);
    int ended = finish(child);
    assert_true(WIFEXITED(ended));
    assert_int_equal(WEXITSTATUS(ended), 130);
    long long step = checkpoint_step(runs[i]);
    assert_true(step > 0 && step < 600);
    assert_int_equal(finish(start(runs[i], "--continue")), 0);
    same_as_uninterrupted(runs[i]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_uninterrupted_run),
      cmocka_unit_test(a_killed_run_goes_on_bit_for_bit),
      cmocka_unit_test(an_interrupted_run_writes_a_checkpoint),
  };
  return cmocka_run_group_tests_name("interrupt", tests, engine_set_up, engine_tear_down);
}
