/* SPDX-License-Identifier: Apache-2.0 */
/** @file comm/processes.h  For tests: worlds of transport socket whose PEs are children of the
 * test, which may be late, stopped or killed. */
#ifndef TG_TESTS_COMM_PROCESSES_H
#define TG_TESTS_COMM_PROCESSES_H

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/timer.h"
#include "comm/world.h"

enum { MOST_PROCESSES = 4 };

/* Who takes part, and how. */
typedef struct process_plan {
  int count; /* PEs */
  double deadline_s;
  double late_s[MOST_PROCESSES];           /* until it starts; < 0: it never comes */
  const char* environment[MOST_PROCESSES]; /* one more NAME=VALUE, or NULL */
  tg_world_main main;
} process_plan;

/* What a child leaves behind. */
typedef struct process_report {
  volatile int ready; /* set by main, through process_self */
  int status;
  double seconds; /* in tg_world_run */
  char message[2048];
} process_report;

static process_report* process_reports; /* [MOST_PROCESSES], shared with the children */
static process_report* process_self;    /* in a child */
static pid_t process_ids[MOST_PROCESSES];
static char process_folder[64];

static inline int processes_set_up(void** state) {
  (void)state;
  size_t bytes = MOST_PROCESSES * sizeof *process_reports;
  process_reports = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  snprintf(process_folder, sizeof process_folder, "/tmp/throng-socket-XXXXXX");
  return process_reports == MAP_FAILED || !mkdtemp(process_folder) ? -1 : 0;
}

static inline int processes_tear_down(void** state) {
  (void)state;
  char path[100];
  snprintf(path, sizeof path, "%s/rendezvous", process_folder);
  unlink(path);
  return rmdir(process_folder);
}

static inline const char* processes_path(void) {
  static char path[100];
  snprintf(path, sizeof path, "%s/rendezvous", process_folder);
  return path;
}

/* In the child of fork. */
static inline void process_main(const process_plan* plan, int pe) {
  char text[200];
  process_self = &process_reports[pe];
  snprintf(text, sizeof text, "file:%s", processes_path());
  setenv("TG_BOOTSTRAP", text, 1);
  snprintf(text, sizeof text, "%d", pe);
  setenv("TG_PE", text, 1);
  snprintf(text, sizeof text, "%d", plan->count);
  setenv("TG_PE_COUNT", text, 1);
  if (plan->environment[pe]) putenv((char*)plan->environment[pe]);
  alarm(60); /* a test that hangs ends all the same */
  usleep((useconds_t)(plan->late_s[pe] * 1e6));
  tg_world_params params = {.transport = "socket", .deadline_s = plan->deadline_s};
  double start = tg_time_now();
  process_self->status = (int)tg_world_run(&params, plan->main, NULL);
  process_self->seconds = tg_time_now() - start;
  if (process_self->status != TG_OK)
    snprintf(process_self->message, sizeof process_self->message, "%s", tg_last_error());
  _exit(0);
}

static inline void processes_start(const process_plan* plan) {
  memset(process_reports, 0, MOST_PROCESSES * sizeof *process_reports);
  for (int p = 0; p < plan->count; p++) {
    process_ids[p] = -1;
    if (plan->late_s[p] < 0) continue;
    process_ids[p] = fork();
    assert_true(process_ids[p] >= 0);
    if (process_ids[p] == 0) process_main(plan, p);
  }
}

static inline void processes_await_ready(int pe) {
  for (int i = 0; i < 10000 && !process_reports[pe].ready; i++) usleep(1000);
  assert_true(process_reports[pe].ready);
}

/* Waits for the end of a PE; true when it came to its end by itself. */
static inline int process_ended(int pe) {
  int ended = 0;
  assert_int_equal(waitpid(process_ids[pe], &ended, 0), process_ids[pe]);
  return WIFEXITED(ended) && WEXITSTATUS(ended) == 0;
}

static inline void process_expect(int pe, tg_status status, const char* words) {
  const process_report* report = &process_reports[pe];
  if (report->status != (int)status || (words && !strstr(report->message, words)))
    fail_msg("PE %d: status %d, '%s'; %d and '%s' were expected", pe, report->status,
             report->message, (int)status, words ? words : "");
}

/* All of them come to this end. */
static inline void processes_expect(const process_plan* plan, tg_status status, const char* words) {
  for (int p = 0; p < plan->count; p++)
    if (process_ids[p] > 0) assert_true(process_ended(p));
  for (int p = 0; p < plan->count; p++)
    if (process_ids[p] > 0) process_expect(p, status, words);
}

#endif
