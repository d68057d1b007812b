/* SPDX-License-Identifier: Apache-2.0 */
/* The first signal asks, one that comes with it changes nothing, a later one ends the process. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/interrupt.h"

static void pause_for(long milliseconds) {
  const struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
  nanosleep(&time, NULL);
}

/* A process that gets the signal `count` times at once and, after a pause, once more where again.
 * Returns how it ended: it leaves with 7 where it was asked to stop and is still there. */
static int after(int number, int count, bool again) {
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    signal(number, SIG_DFL);
    if (tg_interrupt_install() != TG_OK || tg_interrupt_requested()) _exit(1);
    for (int i = 0; i < count; i++) raise(number);
    if (!tg_interrupt_requested()) _exit(2);
    if (again) {
      pause_for(600);
      raise(number);
    }
    _exit(7);
  }
  int ended = 0;
  assert_int_equal(waitpid(child, &ended, 0), child);
  return ended;
}

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

static void asks(void** state) {
  (void)state;
  for (int i = 0; i < 3; i++) {
    const int ended = after(signals[i], 1, false);
    assert_true(WIFEXITED(ended));
    assert_int_equal(WEXITSTATUS(ended), 7);
  }
}

/* As `timeout` sends it, to the process and to its group. */
static void twice_at_once(void** state) {
  (void)state;
  for (int i = 0; i < 3; i++) {
    const int ended = after(signals[i], 2, false);
    assert_true(WIFEXITED(ended));
    assert_int_equal(WEXITSTATUS(ended), 7);
  }
}

static void later_ends(void** state) {
  (void)state;
  for (int i = 0; i < 3; i++) {
    const int ended = after(signals[i], 1, true);
    assert_true(WIFSIGNALED(ended));
    assert_int_equal(WTERMSIG(ended), signals[i]);
  }
}

/* nohup and background jobs. */
static void ignored_stays_ignored(void** state) {
  (void)state;
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    signal(SIGHUP, SIG_IGN);
    if (tg_interrupt_install() != TG_OK) _exit(1);
    raise(SIGHUP);
    _exit(tg_interrupt_requested() ? 2 : 7);
  }
  int ended = 0;
  assert_int_equal(waitpid(child, &ended, 0), child);
  assert_int_equal(WEXITSTATUS(ended), 7);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(asks),
      cmocka_unit_test(twice_at_once),
      cmocka_unit_test(later_ends),
      cmocka_unit_test(ignored_stays_ignored),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
