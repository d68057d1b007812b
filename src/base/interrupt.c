/* SPDX-License-Identifier: Apache-2.0 */
#include "base/interrupt.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

/* touched atomically rather than volatile: a handler and any thread may do so */
static int interrupt_flag;

bool tg_interrupt_requested(void) {
  return __atomic_load_n(&interrupt_flag, __ATOMIC_RELAXED) != 0;
}

void tg_interrupt_request(bool requested) {
  __atomic_store_n(&interrupt_flag, requested ? 1 : 0, __ATOMIC_RELAXED);
}

/* Milliseconds of a clock that only runs forward; 0 is never the time of a signal. */
static int64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1 + (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* `timeout` sends its signal to the program and then to the program's group: the second one of a
 * kind is meant to end the process only where somebody had the time to become impatient. All that
 * is called here may be called in a handler. */
static void on_signal(int number) {
  enum { AT_ONCE = 500 }; /* ms */
  static int64_t first[3];
  int64_t* mine = &first[number == SIGINT ? 0 : number == SIGTERM ? 1 : 2];
  const int64_t time = now(), before = __atomic_load_n(mine, __ATOMIC_RELAXED);
  if (before == 0) {
    __atomic_store_n(mine, time, __ATOMIC_RELAXED);
    tg_interrupt_request(true);
  } else if (time - before > AT_ONCE) {
    signal(number, SIG_DFL);
    raise(number); /* as soon as the handler is left */
  }
}

tg_status tg_interrupt_install(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  sigemptyset(&action.sa_mask);
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART; /* a write in progress is not torn */
  if (signal(SIGXFSZ, SIG_IGN) == SIG_ERR)
    return tg_fail(TG_ERR_MACHINE, "signal %d cannot be ignored: %s", SIGXFSZ, strerror(errno));
  const int signals[] = {SIGINT, SIGTERM, SIGHUP};
  for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
    struct sigaction before;
    if (sigaction(signals[i], NULL, &before) != 0)
      return tg_fail(TG_ERR_MACHINE, "signal %d cannot be asked about: %s", signals[i],
                     strerror(errno));
    /* nohup and background jobs ignore it on purpose */
    if (before.sa_handler == SIG_IGN) continue;
    if (sigaction(signals[i], &action, NULL) != 0)
      return tg_fail(TG_ERR_MACHINE, "signal %d cannot be caught: %s", signals[i], strerror(errno));
  }
  return TG_OK;
}
