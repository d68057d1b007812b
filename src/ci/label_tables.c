/* SPDX-License-Identifier: Apache-2.0 */
#include "ci/label_tables.h"

#include <pthread.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "base/memory.h"

enum { FEWEST_THREADS = 4 };

/* Where tables take less than a millisecond, or so much memory that the solve should have it. */
static const uint64_t least_bytes = 1 << 16, most_bytes = 128 << 20;

struct tg_ci_label_tables {
  const tg_ci_problem* problem;
  const tg_ci_space* space;
  int threads;
  pthread_t thread;
  bool running;
  bool made[TG_CI_LABELS];
  tg_ci_fly fly[TG_CI_LABELS];
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

/* What fails here is made again by who needs it, and fails there with its words. */
static void* make_all(void* context) {
  tg_ci_label_tables* t = context;
  const tg_ci_device_operator_params params = {
      .few = true, .threads = t->threads, .memory = UINT64_MAX};
  const uint64_t bytes = bytes_of(t->problem, t->space, t->threads);
  for (int k = 0; k < TG_CI_LABELS && bytes >= least_bytes && bytes <= most_bytes; k++)
    if (t->problem->label[k])
      t->made[k] =
          tg_ci_device_tables(t->problem->label[k], t->space, &params, &t->fly[k]) == TG_OK;
  return NULL;
}

tg_ci_label_tables* tg_ci_label_tables_begin(const tg_ci_problem* problem, const tg_ci_space* space,
                                             int threads) {
  tg_ci_label_tables* t = NULL;
#ifdef _OPENMP
  if (threads <= 0) threads = omp_get_max_threads();
#endif
  if (threads < FEWEST_THREADS) return NULL;
  if (TG_ALLOCATE(1, "tables of labels", &t) != TG_OK) return NULL;
  *t = (tg_ci_label_tables){.problem = problem, .space = space, .threads = threads / 2};
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

void tg_ci_label_tables_free(tg_ci_label_tables** tables) {
  tg_ci_label_tables* t = *tables;
  if (!t) return;
  finish(t);
  for (int k = 0; k < TG_CI_LABELS; k++) tg_ci_fly_free(&t->fly[k]);
  TG_FREE(*tables);
}
