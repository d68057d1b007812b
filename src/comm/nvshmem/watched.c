/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that may never return, made by a thread that can be left behind. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/timer.h"
#include "comm/nvshmem/nvshmem.h"

typedef struct watched {
  tg_watched_call call;
  void* argument;
  tg_status status;
  char message[TG_WORLD_MESSAGE];
  _Atomic bool done;
} watched;

double tg_nvshmem_allowance_s = 30;

/* A thread that was left behind may be inside NVSHMEM for ever. */
static _Atomic bool lost;

/* What it uses must not be torn down around it when the program ends: the end is made short. */
static void end_shortly(int status, void* nothing) {
  (void)nothing;
  fflush(NULL);
  _exit(status);
}

bool tg_nvshmem_lost(void) { return atomic_load(&lost); }

static void* run(void* argument) {
  watched* self = argument;
  self->status = self->call(self->argument);
  if (self->status != TG_OK) strncpy(self->message, tg_last_error(), sizeof self->message - 1);
  atomic_store(&self->done, true);
  return NULL;
}

/* TG_OK when it is done; else the world is aborted. */
static tg_status wait_for(tg_world* world, const char* what, const watched* self) {
  tg_world* host = tg_nvshmem_host(world);
  double start = tg_time_now();
  while (!atomic_load(&self->done)) {
    struct timespec moment = {0, 50000};
    nanosleep(&moment, NULL);
    TG_TRY(host->ops->aborted(host));
    double waited = tg_time_now() - start;
    if (waited < world->deadline_s + tg_nvshmem_allowance_s) continue;
    tg_fail(TG_ERR_MACHINE,
            "PE %d waited %.1f s for the other PEs in %s, which all %d must take part in: one is "
            "stopped or gone, or its GPU hangs",
            world->pe, waited, what, world->pe_count);
    return tg_world_give_up(world, TG_ERR_MACHINE);
  }
  return TG_OK;
}

tg_status tg_watched(tg_world* world, const char* what, tg_watched_call call, void* argument,
                     bool* left) {
  watched* self = NULL;
  pthread_t thread;
  *left = false;
  if (tg_nvshmem_lost())
    return tg_fail(TG_ERR_MACHINE,
                   "PE %d: NVSHMEM hung in an earlier world of this process; start the process "
                   "anew",
                   world->pe);
  TG_TRY(TG_ALLOCATE(1, what, &self));
  self->call = call;
  self->argument = argument;
  int error = pthread_create(&thread, NULL, run, self);
  if (error) {
    tg_free(self);
    return tg_fail(TG_ERR_MACHINE, "PE %d: no thread could be started for %s: %s", world->pe, what,
                   strerror(error));
  }
  tg_status status = wait_for(world, what, self);
  if (status != TG_OK && !atomic_load(&self->done)) {
    pthread_detach(thread);
    if (!atomic_exchange(&lost, true)) on_exit(end_shortly, NULL);
    *left = true;
    return status;
  }
  pthread_join(thread, NULL);
  if (status == TG_OK) {
    status = self->status;
    if (status != TG_OK) tg_set_last_error(self->message);
  }
  tg_free(self);
  return status;
}
