/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/threads.h"

static void some_can_be_had(void** state) {
  (void)state;
  assert_int_equal(tg_threads_try(-1), TG_OK);
  assert_int_equal(tg_threads_try(1), TG_OK);
  assert_int_equal(tg_threads_try(40), TG_OK);
}

/* In a process with room for the stacks of a few: 64 stacks of 8 MiB do not fit into 128 MiB. */
static void too_many_are_refused(void** state) {
  (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  skip(); /* their shadows alone take terabytes */
#endif
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    const struct rlimit stack = {8 << 20, 8 << 20}, all = {128 << 20, 128 << 20};
    if (setrlimit(RLIMIT_STACK, &stack) != 0 || setrlimit(RLIMIT_AS, &all) != 0) _exit(1);
    if (tg_threads_try(64) != TG_ERR_MACHINE) _exit(2);
    _exit(strstr(tg_last_error(), "give fewer --threads") ? 0 : 3);
  }
  int ended;
  assert_int_equal(waitpid(child, &ended, 0), child);
  assert_true(WIFEXITED(ended));
  assert_int_equal(WEXITSTATUS(ended), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(some_can_be_had),
      cmocka_unit_test(too_many_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
