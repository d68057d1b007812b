/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/thread_queue.h  Streams without a GPU (ci/device_queue.h): a thread that does what is
 * queued in order, beside all others', with pauses now and then. An event is what CUDA's is: a wait
 * is for what was recorded when the wait was queued, and for nothing if that was never. */
#ifndef TG_TESTS_CI_THREAD_QUEUE_H
#define TG_TESTS_CI_THREAD_QUEUE_H

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/timer.h"
#include "ci/device_queue.h"

typedef struct thread_event {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  uint64_t recorded, done;
  double at;
} thread_event;

typedef enum thread_kind { COPY, SPREAD, ADD, RECORD, WAIT, CALL, END } thread_kind;

typedef struct thread_task {
  thread_kind kind;
  tg_ci_rows_copy copy;
  tg_ci_spread spread;
  const double* slots; /* of ADD */
  int parts;
  size_t stride, count;
  double* values;
  thread_event* event;
  uint64_t turn; /* of the event */
  void (*call)(void* context, int64_t number);
  void* context;
  int64_t number;
} thread_task;

enum { THREAD_TASKS = 1024 };

typedef struct thread_stream {
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  thread_task task[THREAD_TASKS];
  uint64_t queued, done;
  uint64_t random;
} thread_stream;

static void thread_pause(thread_stream* s) {
  s->random = s->random * 6364136223846793005u + 1442695040888963407u;
  const struct timespec pause = {0, (long)(s->random >> 40) % 150000};
  if ((s->random >> 33) % 4 == 0) nanosleep(&pause, NULL);
}

static void thread_copy(const tg_ci_rows_copy* c) {
  for (size_t p = 0; p < c->count; p++)
    for (int v = 0; v < c->k; v++)
      for (uint64_t i = c->pieces[p].first; i < c->pieces[p].first + c->pieces[p].count; i++)
        c->to[(uint64_t)v * c->dimension + i] = c->x[(size_t)v * c->ld + (i - c->first)];
}

static void thread_spread(const tg_ci_spread* s) {
  for (int p = 0; p < s->pes; p++)
    if (s->blocks[p])
      memcpy((double*)(void*)s->blocks[p] + s->offset, s->values, s->count * sizeof *s->values);
}

static void thread_add(const thread_task* t) {
  for (size_t i = 0; i < t->count; i++) {
    double sum = t->slots[i];
    for (int p = 1; p < t->parts; p++) sum += t->slots[(size_t)p * t->stride + i];
    t->values[i] = sum;
  }
}

static void thread_act(const thread_task* t) {
  if (t->kind == COPY) thread_copy(&t->copy);
  if (t->kind == SPREAD) thread_spread(&t->spread);
  if (t->kind == ADD) thread_add(t);
  if (t->kind == CALL) t->call(t->context, t->number);
  if (t->kind != RECORD && t->kind != WAIT) return;
  pthread_mutex_lock(&t->event->lock);
  if (t->kind == RECORD) {
    t->event->done = t->turn;
    t->event->at = tg_time_now();
    pthread_cond_broadcast(&t->event->changed);
  }
  while (t->event->done < t->turn) pthread_cond_wait(&t->event->changed, &t->event->lock);
  pthread_mutex_unlock(&t->event->lock);
}

static void* thread_work(void* context) {
  thread_stream* s = context;
  for (bool end = false; !end;) {
    pthread_mutex_lock(&s->lock);
    while (s->queued == s->done) pthread_cond_wait(&s->changed, &s->lock);
    const thread_task t = s->task[s->done % THREAD_TASKS];
    pthread_mutex_unlock(&s->lock);
    thread_pause(s);
    thread_act(&t);
    end = t.kind == END;
    pthread_mutex_lock(&s->lock);
    s->done++;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
  }
  return NULL;
}

static tg_status thread_put(const tg_ci_queue* q, const thread_task* task) {
  thread_stream* s = q->stream;
  pthread_mutex_lock(&s->lock);
  while (s->queued - s->done == THREAD_TASKS) pthread_cond_wait(&s->changed, &s->lock);
  s->task[s->queued++ % THREAD_TASKS] = *task;
  pthread_cond_broadcast(&s->changed);
  pthread_mutex_unlock(&s->lock);
  return TG_OK;
}

/* A function in its turn. */
static void thread_call(const tg_ci_queue* q, void (*call)(void*, int64_t), void* context,
                        int64_t number) {
  const thread_task t = {.kind = CALL, .call = call, .context = context, .number = number};
  thread_put(q, &t);
}

/* ---- the table ---- */

static tg_status thread_allocate(const tg_ci_queue* q, size_t bytes, void** out) {
  (void)q;
  *out = calloc(1, bytes);
  return *out ? TG_OK : tg_fail(TG_ERR_MACHINE, "no memory");
}

static void thread_release(const tg_ci_queue* q, void* memory) {
  (void)q;
  free(memory);
}

static tg_status thread_upload(const tg_ci_queue* q, const void* from, size_t bytes, void* to) {
  (void)q;
  if (bytes) memcpy(to, from, bytes);
  return TG_OK;
}

static tg_status thread_finish(const tg_ci_queue* q) {
  thread_stream* s = q->stream;
  pthread_mutex_lock(&s->lock);
  while (s->queued != s->done) pthread_cond_wait(&s->changed, &s->lock);
  pthread_mutex_unlock(&s->lock);
  return TG_OK;
}

static tg_status thread_event_make(const tg_ci_queue* q, bool timed, void** out) {
  (void)q, (void)timed;
  thread_event* e = calloc(1, sizeof *e);
  if (!e) return tg_fail(TG_ERR_MACHINE, "no memory");
  pthread_mutex_init(&e->lock, NULL);
  pthread_cond_init(&e->changed, NULL);
  *out = e;
  return TG_OK;
}

static void thread_event_free(void* event) {
  thread_event* e = event;
  if (!e) return;
  pthread_mutex_destroy(&e->lock);
  pthread_cond_destroy(&e->changed);
  free(e);
}

static tg_status thread_record(const tg_ci_queue* q, void* event) {
  thread_task t = {.kind = RECORD, .event = event};
  pthread_mutex_lock(&t.event->lock);
  t.turn = ++t.event->recorded;
  pthread_mutex_unlock(&t.event->lock);
  return thread_put(q, &t);
}

static tg_status thread_wait_for(const tg_ci_queue* q, void* event) {
  thread_task t = {.kind = WAIT, .event = event};
  pthread_mutex_lock(&t.event->lock);
  t.turn = t.event->recorded;
  pthread_mutex_unlock(&t.event->lock);
  return thread_put(q, &t);
}

static tg_status thread_between(const tg_ci_queue* q, void* first, void* last, double* seconds) {
  thread_event *a = first, *b = last;
  (void)q;
  pthread_mutex_lock(&b->lock);
  while (b->done < b->recorded) pthread_cond_wait(&b->changed, &b->lock);
  *seconds = b->at;
  pthread_mutex_unlock(&b->lock);
  pthread_mutex_lock(&a->lock);
  *seconds -= a->at;
  pthread_mutex_unlock(&a->lock);
  return TG_OK;
}

static tg_status thread_copy_rows(const tg_ci_queue* q, const tg_ci_rows_copy* copy) {
  return thread_put(q, &(thread_task){.kind = COPY, .copy = *copy});
}

static tg_status thread_spread_values(const tg_ci_queue* q, const tg_ci_spread* spread) {
  return thread_put(q, &(thread_task){.kind = SPREAD, .spread = *spread});
}

static tg_status thread_add_values(const tg_ci_queue* q, const double* slots, int parts,
                                   size_t stride, double* values, size_t count) {
  return thread_put(q, &(thread_task){.kind = ADD,
                                      .slots = slots,
                                      .parts = parts,
                                      .stride = stride,
                                      .values = values,
                                      .count = count});
}

static const tg_ci_queue_ops thread_queue_ops = {
    thread_allocate,   thread_release,    thread_upload,        thread_finish,
    thread_event_make, thread_event_free, thread_record,        thread_wait_for,
    thread_between,    thread_copy_rows,  thread_spread_values, thread_add_values};

static tg_ci_queue thread_queue_open(uint64_t seed) {
  thread_stream* s = calloc(1, sizeof *s);
  pthread_mutex_init(&s->lock, NULL);
  pthread_cond_init(&s->changed, NULL);
  s->random = seed;
  pthread_create(&s->thread, NULL, thread_work, s);
  return (tg_ci_queue){.ops = &thread_queue_ops, .stream = s};
}

static void thread_queue_close(tg_ci_queue* q) {
  thread_stream* s = q->stream;
  thread_put(q, &(thread_task){.kind = END});
  pthread_join(s->thread, NULL);
  pthread_mutex_destroy(&s->lock);
  pthread_cond_destroy(&s->changed);
  free(s);
}

#endif
