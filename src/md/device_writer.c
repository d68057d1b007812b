/* SPDX-License-Identifier: Apache-2.0 */
/* The queue is a ring under one lock. A job with a state owns one of two copies in pinned memory
 * until it is done. */
#include "md/device_writer.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "md/domain_internal.h"
#include "md/run_write.h"

enum { JOBS = 64, COPIES = 2, MARKS = TG_DEVICE_IN_FLIGHT + 2 };

typedef enum job_kind { JOB_MARK, JOB_RECORDS, JOB_FRAME, JOB_CHECKPOINT } job_kind;

typedef struct job {
  job_kind kind;
  long long step;
  tg_device_record* records; /* owned */
  int count;
  int copy; /* -1: none */
} job;

struct tg_device_writer {
  tg_run* run;
  pthread_t thread;
  bool running;
  pthread_mutex_t lock;
  pthread_cond_t given, done; /* a job; one is finished */
  /* under the lock: */
  job jobs[JOBS];
  int first, count; /* the first one is under way, or next */
  bool ending, copy_used[COPIES];
  tg_status status;
  char message[2048];
  /* the writer's, or after a flush anybody's: */
  struct {
    long long step;
    tg_output_marks marks;
  } marks[MARKS]; /* of the last searches; oldest first */
  int mark_count;
  tg_device_copy* copies[COPIES];
};

static tg_status note_mark(tg_device_writer* w, long long step) {
  if (w->mark_count == MARKS) {
    memmove(w->marks, w->marks + 1, (MARKS - 1) * sizeof w->marks[0]);
    w->mark_count--;
  }
  w->marks[w->mark_count].step = step;
  if (w->run->output) TG_TRY(tg_output_mark(w->run->output, &w->marks[w->mark_count].marks));
  w->mark_count++;
  return TG_OK;
}

static tg_status put_record(tg_run* run, const tg_device_record* r) {
  static const int place[3][3] = {{0, 3, 4}, {3, 1, 5}, {4, 5, 2}};
  tg_energies e;
  memset(&e, 0, sizeof e);
  memcpy(e.term, r->term, sizeof r->term);
  e.term[TG_E_COULOMB] += run->domain->self_energy;
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      e.virial[i][j] = r->virial[place[i][j]];
      e.kinetic_tensor[i][j] = r->kinetic[place[i][j]];
    }
  if (run->system->constraint_count)
    e.term[TG_E_CONSTRAINT_RMSD] =
        sqrt(r->deviation_squares / (double)run->system->constraint_count);
  return tg_run_put_energies(run, r->step, r->heat, &e);
}

/* Atoms come each in the box by itself; groups leave whole. */
static tg_status put_frame(tg_run* run, const tg_device_copy* copy, long long step) {
  const tg_md_system* system = run->system;
  double(*x)[3] = run->domain->x_new; /* not used otherwise while a GPU runs */
  tg_device_copy_read(copy, x, run->whole_v, run->whole_f);
  for (size_t m = 0; m < system->molecule_count; m++)
    tg_group_make_whole(system, run->domain->scratch->trees, (int)m, (const double(*)[3])x,
                        run->whole_x + system->molecule_first[m]);
  return tg_run_put_frame(run, step);
}

static tg_status reserve_snapshot(tg_run* run) {
  tg_snapshot* s = &run->snapshot;
  const size_t count = run->system->atom_count;
  if (s->capacity >= count) return TG_OK;
  TG_TRY(TG_ALLOCATE(count, "snapshot", &s->global));
  TG_TRY(TG_ALLOCATE(count, "snapshot", &s->x));
  TG_TRY(TG_ALLOCATE(count, "snapshot", &s->v));
  s->home_count = s->capacity = count;
  for (size_t i = 0; i < count; i++) s->global[i] = (int)i;
  return TG_OK;
}

/* Whether the state's step has a mark, which the snapshot needs. */
static bool fill_snapshot(tg_device_writer* w, const tg_device_copy* copy) {
  tg_snapshot* s = &w->run->snapshot;
  double heat[TG_MAX_GROUPS];
  const long long step = tg_device_copy_step(copy, heat);
  for (int i = w->mark_count - 1; i >= 0; i--) {
    if (w->marks[i].step != step) continue;
    s->step = step;
    s->marks = w->marks[i].marks;
    memcpy(s->heat, heat, sizeof s->heat);
    tg_device_copy_read(copy, s->x, s->v, NULL);
    s->taken = true;
    return true;
  }
  return false;
}

static tg_status put_checkpoint(tg_device_writer* w, const tg_device_copy* copy) {
  tg_run* run = w->run;
  tg_snapshot* s = &run->snapshot;
  if (!fill_snapshot(w, copy))
    return tg_fail(TG_ERR_INTERNAL, "the kept state's step has no marks");
  memcpy(run->whole_x, s->x, s->home_count * sizeof *s->x);
  memcpy(run->whole_v, s->v, s->home_count * sizeof *s->v);
  return tg_run_save_checkpoint(run);
}

static tg_status write_job(tg_device_writer* w, const job* j) {
  switch (j->kind) {
    case JOB_MARK: return note_mark(w, j->step);
    case JOB_RECORDS:
      for (int i = 0; i < j->count; i++) TG_TRY(put_record(w->run, &j->records[i]));
      return TG_OK;
    case JOB_FRAME: return put_frame(w->run, w->copies[j->copy], j->step);
    default: return put_checkpoint(w, w->copies[j->copy]);
  }
}

/* With the lock. */
static void finish_job(tg_device_writer* w) {
  job* j = &w->jobs[w->first];
  TG_FREE(j->records);
  if (j->copy >= 0) w->copy_used[j->copy] = false;
  w->first = (w->first + 1) % JOBS;
  w->count--;
  pthread_cond_broadcast(&w->done);
}

static void* work(void* context) {
  tg_device_writer* w = context;
  pthread_mutex_lock(&w->lock);
  for (;;) {
    while (w->count == 0 && !w->ending) pthread_cond_wait(&w->given, &w->lock);
    if (w->count == 0) break;
    const job j = w->jobs[w->first];
    if (w->status == TG_OK && !w->ending) {
      pthread_mutex_unlock(&w->lock);
      const tg_status status = write_job(w, &j);
      pthread_mutex_lock(&w->lock);
      w->status = status;
      if (status != TG_OK) snprintf(w->message, sizeof w->message, "%s", tg_last_error());
    }
    finish_job(w);
  }
  pthread_mutex_unlock(&w->lock);
  return NULL;
}

tg_status tg_device_writer_start(tg_run* run, tg_device_step* step, tg_device_writer** out) {
  tg_device_writer* w = NULL;
  TG_TRY(TG_ALLOCATE(1, "writer", &w));
  w->run = run;
  pthread_mutex_init(&w->lock, NULL);
  pthread_cond_init(&w->given, NULL);
  pthread_cond_init(&w->done, NULL);
  tg_status status = reserve_snapshot(run);
  for (int i = 0; i < COPIES && status == TG_OK; i++)
    status = tg_device_copy_create(step, run->system->parameters.nstfout > 0, &w->copies[i]);
  if (status == TG_OK) {
    const int error = pthread_create(&w->thread, NULL, work, w);
    w->running = error == 0;
    if (error)
      status =
          tg_fail(TG_ERR_MACHINE, "the thread that writes cannot be started: %s", strerror(error));
  }
  if (status != TG_OK) {
    tg_device_writer_destroy(&w);
    return status;
  }
  *out = w;
  return TG_OK;
}

void tg_device_writer_destroy(tg_device_writer** writer) {
  tg_device_writer* w = *writer;
  if (!w) return;
  if (w->running) {
    pthread_mutex_lock(&w->lock);
    w->ending = true;
    pthread_cond_broadcast(&w->given);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
  }
  for (int i = 0; i < COPIES; i++) tg_device_copy_destroy(&w->copies[i]);
  pthread_cond_destroy(&w->done);
  pthread_cond_destroy(&w->given);
  pthread_mutex_destroy(&w->lock);
  tg_free(w);
  *writer = NULL;
}

/* With the lock: the writer's failure as the caller's. */
static tg_status failure(const tg_device_writer* w) {
  return w->status == TG_OK ? TG_OK : tg_fail(w->status, "%s", w->message);
}

/* Takes over the job's records. */
static tg_status give(tg_device_writer* w, job j) {
  pthread_mutex_lock(&w->lock);
  while (w->count == JOBS) pthread_cond_wait(&w->done, &w->lock);
  const tg_status status = failure(w);
  w->jobs[(w->first + w->count) % JOBS] = j; /* after a failure it is only let go */
  w->count++;
  pthread_cond_signal(&w->given);
  pthread_mutex_unlock(&w->lock);
  return status;
}

tg_status tg_device_writer_mark(tg_device_writer* w, long long step) {
  return give(w, (job){.kind = JOB_MARK, .step = step, .copy = -1});
}

tg_status tg_device_writer_records(tg_device_writer* w, const tg_device_record* records,
                                   int count) {
  job j = {.kind = JOB_RECORDS, .count = count, .copy = -1};
  if (count == 0) return TG_OK;
  TG_TRY(TG_ALLOCATE((size_t)count, "energies", &j.records));
  memcpy(j.records, records, (size_t)count * sizeof *records);
  return give(w, j);
}

/* Waits for a copy that nobody uses. */
static int take_copy(tg_device_writer* w) {
  pthread_mutex_lock(&w->lock);
  for (;;) {
    for (int i = 0; i < COPIES; i++) {
      if (w->copy_used[i]) continue;
      w->copy_used[i] = true;
      pthread_mutex_unlock(&w->lock);
      return i;
    }
    pthread_cond_wait(&w->done, &w->lock);
  }
}

static void leave_copy(tg_device_writer* w, int i) {
  pthread_mutex_lock(&w->lock);
  w->copy_used[i] = false;
  pthread_mutex_unlock(&w->lock);
}

tg_status tg_device_writer_frame(tg_device_writer* w, tg_device_step* gpu, long long step) {
  if (!w->run->output) return TG_OK;
  const job j = {.kind = JOB_FRAME, .step = step, .copy = take_copy(w)};
  const tg_status status = tg_device_step_copy_frame(gpu, w->copies[j.copy]);
  if (status == TG_OK) return give(w, j);
  leave_copy(w, j.copy);
  return status;
}

tg_status tg_device_writer_checkpoint(tg_device_writer* w, tg_device_step* gpu) {
  if (!w->run->output) return TG_OK;
  const job j = {.kind = JOB_CHECKPOINT, .copy = take_copy(w)};
  const tg_status status = tg_device_step_copy_kept(gpu, w->copies[j.copy]);
  if (status == TG_OK) return give(w, j);
  leave_copy(w, j.copy);
  return status;
}

tg_status tg_device_writer_flush(tg_device_writer* w) {
  pthread_mutex_lock(&w->lock);
  while (w->count > 0) pthread_cond_wait(&w->done, &w->lock);
  const tg_status status = failure(w);
  pthread_mutex_unlock(&w->lock);
  return status;
}

tg_status tg_device_writer_snapshot(tg_device_writer* w, tg_device_step* gpu) {
  tg_device_writer_flush(w);
  const int copy = take_copy(w);
  const tg_status status = tg_device_step_copy_kept(gpu, w->copies[copy]);
  if (status == TG_OK) fill_snapshot(w, w->copies[copy]);
  leave_copy(w, copy);
  return status;
}
