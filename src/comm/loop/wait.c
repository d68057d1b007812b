/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting: spin for a moment where every PE has a core, then give the core away a few times, then
 * sleep until rung. The waker stores the counter and then reads `asleep`; the sleeper stores
 * `asleep` and then reads the counter; both sequentially consistent, so one of them sees the other.
 */
#include <linux/futex.h>
#include <sched.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/timer.h"
#include "comm/loop/loop.h"

enum { YIELDS = 8, SPINS_PER_LOOK = 16 };
static const double spin_s = 2e-6;
static const double longest_sleep_s = 0.05; /* a sleeper looks at the clock at least so often */

static void pause_core(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

void tg_loop_wake(tg_loop* loop, int pe) {
  tg_loop_pe* sleeper = &loop->pes[pe];
  if (!atomic_load(&sleeper->asleep)) return;
  atomic_fetch_add(&sleeper->doorbell, 1);
  syscall(SYS_futex, &sleeper->doorbell, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

void tg_loop_wake_pe(tg_world* world, int pe) {
  if (pe != world->pe) tg_loop_wake(((tg_loop_link*)world->link)->loop, pe);
}

/* What a wait is for: one counter, or any of a list of signals. */
typedef struct awaited {
  const _Atomic uint64_t* counter; /* NULL: the list */
  uint64_t value;
  const tg_symmetric_wait_list* list;
  int which;
} awaited;

static bool arrived(awaited* what) {
  if (!what->counter) return tg_symmetric_arrived(what->list, &what->which);
  return atomic_load(what->counter) >= what->value;
}

static void sleep_until_rung(tg_loop* loop, int pe, awaited* what, double longest) {
  tg_loop_pe* self = &loop->pes[pe];
  uint32_t seen = atomic_load(&self->doorbell);
  atomic_store(&self->asleep, 1);
  if (!arrived(what) && !atomic_load(&loop->abort_state)) {
    struct timespec limit = {0, (long)(longest * 1e9)};
    syscall(SYS_futex, &self->doorbell, FUTEX_WAIT_PRIVATE, seen, &limit, NULL, 0);
  }
  atomic_store(&self->asleep, 0);
}

/* The lowest PE that has not come to the barrier in which this one waits. */
static int latecomer(const tg_world* world, const tg_loop* loop, uint64_t barrier) {
  for (int p = 0; p < loop->pe_count; p++)
    if (p != world->pe && atomic_load(&loop->pes[p].arrived) < barrier) return p;
  return world->pe;
}

/* Returns with *late false when it has arrived or the world is aborted, else with the seconds
 * waited. */
static tg_status wait_for(tg_world* world, awaited* what, bool* late, double* waited) {
  tg_loop* loop = ((tg_loop_link*)world->link)->loop;
  double start = tg_time_now();
  *late = false;
  if (loop->spin) {
    do {
      for (int i = 0; i < SPINS_PER_LOOK; i++) {
        if (arrived(what)) return TG_OK;
        pause_core();
      }
    } while (tg_time_now() - start < spin_s);
  }
  for (int yields = 0;; yields++) {
    if (arrived(what)) return TG_OK;
    TG_TRY(tg_loop_aborted(world));
    if (yields < YIELDS) {
      sched_yield();
      continue;
    }
    *waited = tg_time_now() - start;
    double left = world->deadline_s - *waited;
    if (left <= 0) {
      *late = true;
      return TG_OK;
    }
    sleep_until_rung(loop, world->pe, what, left < longest_sleep_s ? left : longest_sleep_s);
  }
}

tg_status tg_loop_wait(tg_world* world, const _Atomic uint64_t* counter, uint64_t value,
                       int partner, const char* what) {
  awaited one = {.counter = counter, .value = value};
  if (arrived(&one)) return TG_OK;
  bool late = false;
  double waited = 0;
  TG_TRY(wait_for(world, &one, &late, &waited));
  if (!late) return TG_OK;
  tg_loop* loop = ((tg_loop_link*)world->link)->loop;
  if (partner == TG_NO_PE) partner = latecomer(world, loop, value);
  char text[160];
  snprintf(text, sizeof text, "%s (number %llu, at least %llu was expected)", what,
           (unsigned long long)atomic_load(counter), (unsigned long long)value);
  tg_world_late(world, waited, partner, text);
  return tg_loop_aborted(world); /* another PE's abort may have come first */
}

tg_status tg_loop_symmetric_wait(const tg_symmetric_wait_list* list, int* which) {
  awaited any = {.list = list};
  bool late = false;
  double waited = 0;
  TG_TRY(wait_for(list->symmetric->world, &any, &late, &waited));
  *which = any.which;
  return late ? tg_symmetric_late(list, waited) : TG_OK;
}

void tg_loop_abort(tg_world* world, tg_status status, const char* message) {
  tg_loop* loop = ((tg_loop_link*)world->link)->loop;
  int none = 0;
  if (!atomic_compare_exchange_strong(&loop->abort_state, &none, 1)) return;
  loop->abort_status = status;
  size_t i = 0;
  for (; message[i] && i + 1 < sizeof loop->abort_message; i++) loop->abort_message[i] = message[i];
  loop->abort_message[i] = '\0';
  atomic_store(&loop->abort_state, 2);
  for (int p = 0; p < loop->pe_count; p++)
    if (p != world->pe) tg_loop_wake(loop, p);
}

tg_status tg_loop_aborted(tg_world* world) {
  tg_loop* loop = ((tg_loop_link*)world->link)->loop;
  int state = atomic_load_explicit(&loop->abort_state, memory_order_acquire);
  if (!state) return TG_OK;
  while (atomic_load_explicit(&loop->abort_state, memory_order_acquire) != 2) sched_yield();
  tg_set_last_error(loop->abort_message);
  return loop->abort_status;
}
