/* SPDX-License-Identifier: Apache-2.0 */
#include "ci/label_tables.h"

#include <pthread.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "base/memory.h"
#include "ci/device_fly.h"
#include "ci/device_place.h"

enum { FEWEST_THREADS = 4 };

/* Where tables take less than a millisecond. */
static const uint64_t least_bytes = 1 << 16;

/* So much memory should be left to the solve: the same of what is free, and of the 80 % of it that
 * a run may take where it is not told otherwise. */
static uint64_t most_bytes(uint64_t allowed) {
  enum { SHARE = 32, SHARE_OF_ALLOWED = 25 };
  const uint64_t free = tg_memory_free();
  const uint64_t most = free == UINT64_MAX ? 128 << 20 : free / SHARE;
  return allowed && allowed / SHARE_OF_ALLOWED < most ? allowed / SHARE_OF_ALLOWED : most;
}

/* On a GPU, of an operator: a part of what is kept free there for the driver (solve_device.c). */
static const uint64_t most_there = 64 << 20;

struct tg_ci_label_tables {
  const tg_ci_problem* problem;
  const tg_ci_space* space;
  tg_ci_label_place place;
  pthread_t thread;
  bool running;
  bool enough; /* for the thread */
  bool made[TG_CI_LABELS];
  tg_ci_fly fly[TG_CI_LABELS];
  int device[TG_CI_LABELS];
  void* stream[TG_CI_LABELS];
  tg_ci_device_operator* op[TG_CI_LABELS];
};

/* Bytes of all, by a sample. */
static uint64_t bytes_of(const tg_ci_problem* problem, const tg_ci_space* space, int threads) {
  const tg_ci_operator_params params = {
      .storage = TG_CI_STORAGE_FLY, .threads = threads, .few = true};
  const uint64_t diagonal = space->dimension * sizeof(double); /* it is made on the device */
  uint64_t sum = 0, bytes, making;
  for (int k = 0; k < TG_CI_LABELS; k++)
    if (problem->label[k] &&
        tg_ci_operator_tables(problem->label[k], space, &params, &bytes, &making) == TG_OK)
      sum += making > diagonal ? making - diagonal : 0;
  return sum;
}

/* The operator on its GPU: `number` among the labels there are. */
static tg_status make_operator(tg_ci_label_tables* t, int k, int number) {
  if (tg_ci_device_fly_bytes(&t->fly[k]) > most_there) return TG_OK;
  tg_ci_device_operator_params params = {
      .few = true, .threads = t->place.threads, .memory = UINT64_MAX, .fly = &t->fly[k]};
  t->device[k] = t->place.gpus > 1 ? number % t->place.gpus : t->place.device;
  TG_TRY(tg_ci_device_stream_make(t->device[k], &t->stream[k]));
  params.device = t->device[k];
  params.stream = t->stream[k];
  return tg_ci_device_operator_create(t->problem->label[k], t->space, &params, &t->op[k]);
}

/* What fails here is made again by who needs it, and fails there with its words. */
static void* make_all(void* context) {
  tg_ci_label_tables* t = context;
  const int threads = t->place.threads;
  const tg_ci_device_operator_params params = {
      .few = true, .threads = threads, .memory = UINT64_MAX};
  const uint64_t bytes = bytes_of(t->problem, t->space, threads);
  if (bytes < least_bytes || bytes > most_bytes(t->place.memory)) return NULL;
#ifdef _OPENMP
  omp_set_num_threads(threads); /* of this thread's regions */
#endif
  for (int k = 0, number = 0; k < TG_CI_LABELS; k++) {
    if (!t->problem->label[k]) continue;
    if (__atomic_load_n(&t->enough, __ATOMIC_RELAXED)) break;
    t->made[k] = tg_ci_device_tables(t->problem->label[k], t->space, &params, &t->fly[k]) == TG_OK;
    if (t->made[k] && t->place.gpus > 0 && make_operator(t, k, number) != TG_OK) t->op[k] = NULL;
    number++;
  }
  return NULL;
}

tg_ci_label_tables* tg_ci_label_tables_begin(const tg_ci_problem* problem, const tg_ci_space* space,
                                             const tg_ci_label_place* place) {
  tg_ci_label_tables* t = NULL;
  int threads = place->threads;
#ifdef _OPENMP
  if (threads <= 0) threads = omp_get_max_threads();
#endif
  if (threads < FEWEST_THREADS) return NULL;
  if (TG_ALLOCATE(1, "tables of labels", &t) != TG_OK) return NULL;
  *t = (tg_ci_label_tables){.problem = problem, .space = space, .place = *place};
  t->place.threads = threads / 2;
  t->running = pthread_create(&t->thread, NULL, make_all, t) == 0;
  return t;
}

static void finish(tg_ci_label_tables* t) {
  if (t->running) pthread_join(t->thread, NULL);
  t->running = false;
}

const tg_ci_fly* tg_ci_label_tables_of(tg_ci_label_tables* tables, int k) {
  if (!tables) return NULL;
  finish(tables);
  return tables->made[k] ? &tables->fly[k] : NULL;
}

tg_ci_device_operator* tg_ci_label_tables_operator(tg_ci_label_tables* tables, int k, int device) {
  if (!tables) return NULL;
  finish(tables);
  return tables->device[k] == device ? tables->op[k] : NULL;
}

void tg_ci_label_tables_free(tg_ci_label_tables** tables) {
  tg_ci_label_tables* t = *tables;
  if (!t) return;
  __atomic_store_n(&t->enough, true, __ATOMIC_RELAXED); /* a run that was interrupted ends soon */
  finish(t);
  for (int k = 0; k < TG_CI_LABELS; k++) {
    tg_ci_device_operator_free(t->op[k]);
    tg_ci_device_stream_free(t->device[k], t->stream[k]);
    tg_ci_fly_free(&t->fly[k]);
  }
  TG_FREE(*tables);
}
