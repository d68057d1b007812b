/* SPDX-License-Identifier: Apache-2.0 */
#include "base/interrupt.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

/* atomic rather than volatile: a lock-free atomic may be touched by a handler and by any thread */
static atomic_int interrupt_flag;

bool tg_interrupt_requested(void) {
  return atomic_load_explicit(&interrupt_flag, memory_order_relaxed) != 0;
}

void tg_interrupt_request(bool requested) {
  atomic_store_explicit(&interrupt_flag, requested, memory_order_relaxed);
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
  const int signals[] = {SIGINT, SIGTERM};
  for (int i = 0; i < 2; i++) {
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
