/* SPDX-License-Identifier: Apache-2.0 */
#include "ci/table_jobs.h"

#include <stdlib.h>

#include "base/memory.h"

/* A class of a table. */
typedef struct piece {
  uint64_t work;
  size_t job, class;
  size_t bytes; /* of what was made of it */
} piece;

static int by_work(const void* p, const void* q) {
  const piece *a = p, *b = q;
  if (a->work != b->work) return a->work > b->work ? -1 : 1;
  if (a->job != b->job) return a->job < b->job ? -1 : 1;
  return a->class < b->class ? -1 : a->class > b->class;
}

/* The order in which threads take them. A string's elements take longer than its jumps. */
static tg_status list_pieces(const tg_ci_space* space, const tg_ci_table_job* jobs, size_t count,
                             piece** out, size_t* out_count) {
  enum { JUMPS = 3, ALONE = 5 };
  size_t all = 0, n = 0;
  for (size_t k = 0; k < count; k++) all += space->strings[jobs[k].species].class_count;
  TG_TRY(TG_ALLOCATE(all, "classes in order", out));
  for (size_t k = 0; k < count; k++) {
    const tg_ci_strings* s = &space->strings[jobs[k].species];
    for (size_t c = 0; c < s->class_count; c++, n++)
      (*out)[n] = (piece){s->classes[c].count * (jobs[k].jumps ? JUMPS : ALONE), k, c, 0};
  }
  if (all) qsort(*out, all, sizeof **out, by_work);
  *out_count = all;
  return TG_OK;
}

static tg_status connect_all(const tg_ci_hamiltonian* h, const tg_ci_space* space, int threads,
                             const tg_ci_table_job* jobs, piece* pieces, size_t count) {
  tg_status status = TG_OK;
#pragma omp parallel num_threads(threads)
  {
    tg_ci_connections found = {0};
    tg_status mine = TG_OK;
#pragma omp for schedule(dynamic)
    for (size_t n = 0; n < count; n++) {
      piece* p = &pieces[n];
      const tg_ci_table_job* job = &jobs[p->job];
      if (mine == TG_OK)
        mine = job->jumps ? tg_ci_jumps_class(h, space, job, p->class, &found, &p->bytes)
                          : tg_ci_alone_class(h, space, job, p->class, &found, &p->bytes);
    }
    tg_ci_connections_free(&found);
    if (mine != TG_OK) {
#pragma omp critical(tg_ci_table_jobs)
      status = mine;
    }
  }
  (void)threads;
  if (status == TG_OK) return TG_OK;
  return tg_fail(status, /* the words are with another thread */
                 "no memory for the connections between strings, or too many of one class; "
                 "truncate the space");
}

static tg_status order_jumps(const tg_ci_space* space, int threads, const tg_ci_table_job* jobs,
                             piece* pieces, size_t count) {
  tg_status status = TG_OK;
#pragma omp parallel for schedule(dynamic) num_threads(threads)
  for (size_t n = 0; n < count; n++) {
    piece* p = &pieces[n];
    if (!jobs[p->job].jumps) continue;
    const tg_status mine = tg_ci_jumps_order(space, &jobs[p->job], p->class, &p->bytes);
    if (mine != TG_OK) {
#pragma omp critical(tg_ci_table_jobs)
      status = mine;
    }
  }
  (void)threads;
  if (status == TG_OK) return TG_OK;
  return tg_fail(status, "no memory for the jumps by operator; truncate the space");
}

tg_status tg_ci_table_jobs_run(const tg_ci_hamiltonian* h, const tg_ci_space* space, int threads,
                               tg_ci_table_job* jobs, size_t count) {
  tg_status status = TG_OK;
  piece* pieces = NULL;
  size_t all = 0;
  for (size_t k = 0; k < count; k++)
    TG_TRY_GOTO(
        jobs[k].jumps ? tg_ci_jumps_begin(h, space, &jobs[k]) : tg_ci_alone_begin(space, &jobs[k]),
        done);
  TG_TRY_GOTO(list_pieces(space, jobs, count, &pieces, &all), done);
  TG_TRY_GOTO(connect_all(h, space, threads, jobs, pieces, all), done);
  for (size_t k = 0; k < count; k++)
    if (jobs[k].jumps) TG_TRY_GOTO(tg_ci_jumps_number(h, space, &jobs[k]), done);
  TG_TRY_GOTO(order_jumps(space, threads, jobs, pieces, all), done);
  for (size_t k = 0; k < count; k++) {
    size_t bytes = 0;
    for (size_t n = 0; n < all; n++) bytes += pieces[n].job == k ? pieces[n].bytes : 0;
    if (jobs[k].jumps)
      tg_ci_jumps_end(&jobs[k], bytes);
    else
      tg_ci_alone_end(space, &jobs[k], bytes);
  }
done:
  for (size_t k = 0; k < count; k++) TG_FREE(jobs[k].number);
  tg_free(pieces);
  return status;
}
