/* SPDX-License-Identifier: Apache-2.0 */
#include "base/interrupt.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

/* touched atomically rather than volatile: a handler and any thread may do so */
static int interrupt_flag;

bool tg_interrupt_requested(void) {
  return __atomic_load_n(&interrupt_flag, __ATOMIC_RELAXED) != 0;
}

void tg_interrupt_request(bool requested) {
  __atomic_store_n(&interrupt_flag, requested ? 1 : 0, __ATOMIC_RELAXED);
}

static void on_signal(int number) {
  (void)number;
  tg_interrupt_request(true);
}

tg_status tg_interrupt_install(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  sigemptyset(&action.sa_mask);
  action.sa_handler = on_signal;
  /* reset: the second one has its usual effect; restart: a write in progress is not torn */
  action.sa_flags = (int)((unsigned)SA_RESETHAND | (unsigned)SA_RESTART);
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
