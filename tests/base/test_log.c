/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/interrupt.h"
#include "base/log.h"

typedef struct heard {
  int count;
  tg_log_level level;
  size_t length;
  char lines[4][64];
} heard;

static void hear(void* context, tg_log_level level, const char* line) {
  heard* all = context;
  all->level = level;
  all->length = strlen(line);
  snprintf(all->lines[all->count % 4], sizeof all->lines[0], "%s", line);
  all->count++;
}

static void lines_reach_the_sink(void** state) {
  (void)state;
  heard all = {0};
  tg_log log = {hear, &all};
  tg_log_note(&log, "step %d", 7);
  assert_int_equal(all.level, TG_LOG_NOTE);
  assert_string_equal(all.lines[0], "step 7");
  tg_log_warning(&log, "first\nsecond\n");
  assert_int_equal(all.count, 3);
  assert_int_equal(all.level, TG_LOG_WARNING);
  assert_string_equal(all.lines[1], "first");
  assert_string_equal(all.lines[2], "second");
  tg_log_note(&log, "%*s", 5000, "x"); /* longer than any buffer */
  assert_int_equal(all.length, 5000);
}

static void no_sink_is_silence(void** state) {
  (void)state;
  tg_log silent = {0};
  tg_log_note(&silent, "nobody hears %d", 1);
  tg_log_warning(NULL, "nor this");
}

static void the_first_interrupt_asks_the_second_kills(void** state) {
  (void)state;
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    signal(SIGINT, SIG_DFL); /* background jobs start with it ignored */
    if (tg_interrupt_install() != TG_OK || tg_interrupt_requested()) _exit(1);
    raise(SIGINT);
    if (!tg_interrupt_requested()) _exit(2);
    nanosleep(&(struct timespec){.tv_nsec = 600000000}, NULL); /* one at once is no impatience */
    raise(SIGINT);
    _exit(3);
  }
  int ended = 0;
  while (waitpid(child, &ended, 0) < 0) assert_int_equal(errno, EINTR);
  assert_true(WIFSIGNALED(ended));
  assert_int_equal(WTERMSIG(ended), SIGINT);
  tg_interrupt_request(true);
  assert_true(tg_interrupt_requested());
  tg_interrupt_request(false);
  assert_false(tg_interrupt_requested());
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lines_reach_the_sink),
      cmocka_unit_test(no_sink_is_silence),
      cmocka_unit_test(the_first_interrupt_asks_the_second_kills),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
