/* SPDX-License-Identifier: Apache-2.0 */
#include "ci/states_room.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>

#include "base/memory.h"

enum {
  PAGE = 2 << 20, /* a large one */
  PART = 4 * PAGE /* asked for at once: who wants the rest by now need not wait for long */
};

struct tg_ci_states_room {
  double* memory;
  size_t count;
  pthread_t thread;
  bool running;
  atomic_bool enough;
};

/* Whole pages within the memory. Nothing is lost where the system does not know how: pages then
 * come when they are written to. What has been written by then stays. */
static void* ask_for_pages(void* context) {
#ifdef MADV_POPULATE_WRITE
  tg_ci_states_room* r = context;
  const uintptr_t begin = ((uintptr_t)r->memory + PAGE - 1) / PAGE * PAGE;
  const uintptr_t end = (uintptr_t)(r->memory + r->count) / PAGE * PAGE;
  if (begin >= end) return NULL;
  for (uintptr_t at = begin; at < end && !atomic_load(&r->enough); at += PART) {
    const size_t bytes = end - at < PART ? end - at : PART;
    if (madvise((void*)at, bytes, MADV_POPULATE_WRITE) != 0) break;
  }
#else
  (void)context;
#endif
  return NULL;
}

tg_status tg_ci_states_room_begin(size_t count, tg_ci_states_room** out) {
  tg_ci_states_room* r = NULL;
  TG_TRY(TG_ALLOCATE(1, "the states", &r));
  const tg_status status = TG_ALLOCATE_UNTOUCHED(count, "the states", &r->memory);
  if (status != TG_OK) {
    tg_free(r);
    return status;
  }
  r->count = count;
  r->running = pthread_create(&r->thread, NULL, ask_for_pages, r) == 0;
  *out = r;
  return TG_OK;
}

double* tg_ci_states_room_memory(const tg_ci_states_room* room) { return room->memory; }

double* tg_ci_states_room_take(tg_ci_states_room** room) {
  tg_ci_states_room* r = *room;
  double* memory = r->memory;
  atomic_store(&r->enough, true);
  if (r->running) pthread_join(r->thread, NULL);
  tg_free(r);
  *room = NULL;
  return memory;
}

void tg_ci_states_room_free(tg_ci_states_room** room) {
  if (*room) tg_free(tg_ci_states_room_take(room));
}
