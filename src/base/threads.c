/* SPDX-License-Identifier: Apache-2.0 */
#include "base/threads.h"

#include <pthread.h>
#include <string.h>

#include "base/memory.h"

/* Threads wait for the gate, so that all are there at once. */
static void* wait_at_gate(void* gate) {
  pthread_mutex_lock(gate);
  pthread_mutex_unlock(gate);
  return NULL;
}

tg_status tg_threads_try(int count) {
  if (count < 2) return TG_OK;
  pthread_t* threads = NULL;
  pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
  int started = 0, error = 0;
  TG_TRY(tg_allocate((size_t)count, sizeof *threads, "threads", (void**)&threads));
  pthread_mutex_lock(&gate);
  while (started < count - 1 && !error) {
    error = pthread_create(&threads[started], NULL, wait_at_gate, &gate);
    if (!error) started++;
  }
  pthread_mutex_unlock(&gate);
  for (int i = 0; i < started; i++) pthread_join(threads[i], NULL);
  pthread_mutex_destroy(&gate);
  TG_FREE(threads);
  if (!error) return TG_OK;
  return tg_fail(TG_ERR_MACHINE,
                 "%d threads cannot be started here: after %d, %s (limits of processes and of "
                 "memory: ulimit -u, -v, -s); give fewer --threads",
                 count, started + 1, strerror(error));
}
