/* SPDX-License-Identifier: Apache-2.0 */
/* A world of threads: made, run, joined. */
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "comm/loop/loop.h"

enum { MOST_PES = 256 };
static const size_t stack_bytes = (size_t)64
                                  << 20; /* address space; pages come as they are touched */

static const tg_transport_ops loop_ops = {
    .name = "loop",
    .close = tg_loop_close,
    .exchange = tg_loop_exchange,
    .barrier = tg_loop_barrier,
    .all_gather = tg_loop_all_gather,
    .broadcast = tg_loop_broadcast,
    .abort = tg_loop_abort,
    .aborted = tg_loop_aborted,
    .wake = tg_loop_wake_pe,
    .symmetric_create = tg_loop_symmetric_create,
    .symmetric_destroy = tg_loop_symmetric_destroy,
    .symmetric_wait = tg_loop_symmetric_wait,
};

/* One PE's thread. */
typedef struct pe_thread {
  pthread_t thread;
  tg_world world;
  tg_loop_link link;
  tg_world_main main;
  void* context;
  tg_status status;
  char message[TG_WORLD_MESSAGE];
} pe_thread;

static void* run_pe(void* argument) {
  pe_thread* self = argument;
  self->status = tg_world_call_main(&self->world, self->main, self->context);
  if (self->status != TG_OK) strncpy(self->message, tg_last_error(), sizeof self->message - 1);
  tg_world_release(&self->world);
  return NULL;
}

static void loop_destroy(tg_loop** loop) {
  if (!*loop) return;
  tg_free((*loop)->pes);
  tg_free((*loop)->mailboxes);
  tg_free((*loop)->slots);
  TG_FREE(*loop);
}

static int core_count(void) {
  cpu_set_t cores;
  return sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 1;
}

static tg_status loop_create(int pe_count, tg_loop** out) {
  size_t count = (size_t)pe_count;
  tg_status status = TG_OK;
  TG_TRY(TG_ALLOCATE(1, "a world", out));
  tg_loop* loop = *out;
  loop->pe_count = pe_count;
  loop->spin = pe_count <= core_count();
  TG_TRY_GOTO(TG_ALLOCATE(count, "processing elements", &loop->pes), fail);
  TG_TRY_GOTO(TG_ALLOCATE(count * count, "mailboxes", &loop->mailboxes), fail);
  TG_TRY_GOTO(TG_ALLOCATE(2 * count * TG_LOOP_GATHER, "gather slots", &loop->slots), fail);
  return TG_OK;
fail:
  loop_destroy(out);
  return status;
}

/* Starts the threads; where one cannot be had, the world is aborted so that the others end. */
static int start_threads(pe_thread* threads, int count) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, stack_bytes);
  int started = 0;
  while (started < count) {
    int error = pthread_create(&threads[started].thread, &attributes, run_pe, &threads[started]);
    if (error) {
      tg_fail(TG_ERR_MACHINE, "thread %d of %d could not be started: %s; use fewer PEs",
              started + 1, count, strerror(error));
      tg_world_abort(&threads[started].world, TG_ERR_MACHINE);
      break;
    }
    started++;
  }
  pthread_attr_destroy(&attributes);
  return started;
}

tg_status tg_loop_run(const tg_world_params* params, tg_world_main main, void* context) {
  int count = params->pe_count ? params->pe_count : 1;
  if (count > MOST_PES)
    return tg_fail(TG_ERR_INPUT,
                   "world: %d processing elements in one process; at most %d; start more processes "
                   "(mpirun -n), or ask for fewer",
                   count, MOST_PES);
  tg_loop* loop = NULL;
  pe_thread* threads = NULL;
  tg_status status = TG_OK;
  TG_TRY(loop_create(count, &loop));
  TG_TRY_GOTO(TG_ALLOCATE((size_t)count, "processing elements", &threads), free_loop);
  for (int p = 0; p < count; p++) {
    pe_thread* pe = &threads[p];
    pe->link.loop = loop;
    pe->main = main;
    pe->context = context;
    tg_world_init(&pe->world, &loop_ops, &pe->link, p, count, params->deadline_s);
  }
  if (count == 1) {
    run_pe(&threads[0]);
  } else {
    int started = start_threads(threads, count);
    for (int p = 0; p < started; p++) pthread_join(threads[p].thread, NULL);
  }
  status = tg_loop_aborted(&threads[0].world);
  for (int p = 0; p < count && status == TG_OK; p++) {
    status = threads[p].status;
    if (status != TG_OK) tg_set_last_error(threads[p].message);
  }
  tg_free(threads);
free_loop:
  loop_destroy(&loop);
  return status;
}

/* An opened world and its link in one piece. */
typedef struct opened {
  tg_world world;
  tg_loop_link link;
} opened;

tg_status tg_loop_open(const tg_world_params* params, tg_world** out) {
  if (params->pe_count > 1)
    return tg_fail(TG_ERR_INPUT,
                   "world: %d processing elements in one thread; only one can be opened, more are "
                   "run",
                   params->pe_count);
  opened* one = NULL;
  TG_TRY(TG_ALLOCATE(1, "a world", &one));
  tg_status status = loop_create(1, &one->link.loop);
  if (status != TG_OK) {
    tg_free(one);
    return status;
  }
  tg_world_init(&one->world, &loop_ops, &one->link, 0, 1, params->deadline_s);
  *out = &one->world;
  return TG_OK;
}

tg_status tg_loop_close(tg_world** world, tg_status status) {
  opened* one = (opened*)*world; /* its first member */
  tg_world_release(&one->world);
  loop_destroy(&one->link.loop);
  tg_free(one);
  *world = NULL;
  return status;
}
