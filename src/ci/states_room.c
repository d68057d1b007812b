/* SPDX-License-Identifier: Apache-2.0 */
#include "ci/states_room.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "ci/device_place.h"

/* Who asks for pages keeps others of the process from asking for memory, so it is done in parts,
 * with pauses that are longer. */
enum { PART = 2 << 20, PAUSE_NS = 1000000 };

/* What is smaller is copied in less time than it takes to pin it. */
static const size_t worth_pinning = 1 << 20;

struct tg_ci_states_room {
  double* memory;
  size_t count;
  int device;
  bool taken;
  bool pinned; /* by the thread */
  bool enough; /* for the thread */
  bool running;
  pthread_t thread;
};

static bool stopped(tg_ci_states_room* r) { return __atomic_load_n(&r->enough, __ATOMIC_RELAXED); }

/* Whole pages within the memory; what has been written to them by then stays. Where the system does
 * not know how, they come when they are written to. */
static void ask_for_pages(tg_ci_states_room* r) {
#ifdef MADV_POPULATE_WRITE
  const struct timespec pause = {.tv_nsec = PAUSE_NS};
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  const uintptr_t begin = ((uintptr_t)r->memory + page - 1) / page * page;
  const uintptr_t end = (uintptr_t)(r->memory + r->count) / page * page;
  for (uintptr_t at = begin; at < end && !stopped(r); at += PART) {
    const size_t bytes = end - at < PART ? end - at : PART;
    if (madvise((void*)at, bytes, MADV_POPULATE_WRITE) != 0) break;
    nanosleep(&pause, NULL);
  }
#else
  (void)r;
#endif
}

static void* prepare(void* context) {
  tg_ci_states_room* r = context;
  const size_t bytes = r->count * sizeof *r->memory;
  ask_for_pages(r);
  if (bytes >= worth_pinning && bytes < tg_memory_free() / 4 && !stopped(r))
    r->pinned = tg_ci_device_pin(r->device, r->memory, bytes);
  return NULL;
}

static void finish(tg_ci_states_room* r) {
  __atomic_store_n(&r->enough, true, __ATOMIC_RELAXED);
  if (r->running) pthread_join(r->thread, NULL);
  r->running = false;
}

tg_status tg_ci_states_room_begin(size_t count, int device, tg_ci_states_room** out) {
  tg_ci_states_room* r = NULL;
  TG_TRY(TG_ALLOCATE(1, "the states", &r));
  const tg_status status = TG_ALLOCATE_UNTOUCHED(count, "the states", &r->memory);
  if (status != TG_OK) {
    tg_free(r);
    return status;
  }
  r->count = count;
  r->device = device;
  r->running = device >= 0 && pthread_create(&r->thread, NULL, prepare, r) == 0;
  *out = r;
  return TG_OK;
}

double* tg_ci_states_room_memory(const tg_ci_states_room* room) { return room->memory; }

double* tg_ci_states_room_take(tg_ci_states_room* room) {
  finish(room);
  room->taken = true;
  return room->memory;
}

void tg_ci_states_room_end(tg_ci_states_room** room) {
  tg_ci_states_room* r = *room;
  if (!r) return;
  finish(r);
  if (r->pinned) tg_ci_device_unpin(r->device, r->memory);
  if (!r->taken) tg_free(r->memory);
  tg_free(r);
  *room = NULL;
}
