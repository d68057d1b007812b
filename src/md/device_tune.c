/* SPDX-License-Identifier: Apache-2.0 */
/* First every nstlist that is worth a try, with the interval of prunings that the formula gives it;
 * then other intervals for the fastest. A choice is measured in whole lives of its list, after one
 * that makes graphs; times vary by a percent, so a choice must gain two to replace the formula's.
 */
#include "md/device_tune.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/interrupt.h"
#include "base/json.h"
#include "base/timer.h"
#include "md/device_run.h"

enum { MEASUREMENTS = 3, STEPS = 240, MOST_TRIES = TG_LIST_ALTERNATIVES + 8 };

static const double least_gain = 0.02;

typedef struct trial {
  tg_list_choice lists;
  double us; /* of a step; INFINITY where it does not serve */
} trial;

typedef struct tuner {
  tg_run run; /* with the intervals of the try in hand: what flags follow from */
  tg_device_setup setup;
  const double (*v)[3];
  tg_device_md* md;
  tg_device_step* step;
  long long next, listed;
  trial tries[MOST_TRIES];
  int count, best;
} tuner;

static unsigned char flags_of(tuner* t, long long step, bool first) {
  return tg_run_device_flags(&t->run, step, t->listed, first) & (unsigned char)~TG_STEP_FRAME;
}

/* Queues one life of the list. */
static tg_status queue(tuner* t) {
  unsigned char flags[TG_DEVICE_STRETCH + 1];
  const int life = t->run.nstlist;
  t->listed = t->next;
  for (int i = 0; i <= life; i++) {
    flags[i] = flags_of(t, t->next + i, false) & (unsigned char)~TG_STEP_SEARCH;
    if (i % life == 0) flags[i] |= TG_STEP_SEARCH;
  }
  t->next += life;
  return tg_device_step_queue(t->step, flags, life);
}

/* Lives of the list one after the other, two under way, as in a run; *served: without trouble. */
static tg_status live(tuner* t, int lives, bool* served) {
  const tg_device_record* records;
  tg_device_trouble trouble;
  int steps, count;
  for (int i = 0, under_way = 0; i < lives || under_way > 0;) {
    if (i < lives && under_way < TG_DEVICE_IN_FLIGHT) {
      TG_TRY(queue(t));
      i++, under_way++;
      continue;
    }
    TG_TRY(tg_device_step_collect(t->step, &steps, &records, &count, &trouble));
    under_way--;
    *served = *served && !trouble.lists && trouble.fast_atom < 0 && trouble.bad_group < 0;
  }
  return TG_OK;
}

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static tg_status measure(tuner* t, double* us) {
  const int life = t->run.nstlist, lives = (STEPS + life - 1) / life;
  double times[MEASUREMENTS];
  bool served = true;
  *us = INFINITY;
  t->next = t->listed = 0;
  TG_TRY(tg_device_setup_steps(&t->setup, &t->md, &t->step));
  TG_TRY(tg_device_step_start(t->step, t->v, 0, flags_of(t, 0, true)));
  TG_TRY(live(t, TG_DEVICE_IN_FLIGHT, &served));
  for (int m = 0; m < MEASUREMENTS && served; m++) {
    const double clock = tg_time_now();
    TG_TRY(live(t, lives, &served));
    times[m] = 1e6 * (tg_time_now() - clock) / (lives * life);
  }
  if (!served) return TG_OK;
  qsort(times, MEASUREMENTS, sizeof *times, ascending);
  *us = times[MEASUREMENTS / 2];
  return TG_OK;
}

static void take(tg_run* run, const tg_list_choice* lists) {
  run->nstlist = lists->nstlist;
  run->list_radius = lists->radius;
  run->prune_interval = lists->prune_interval;
  run->inner_radius = lists->inner_radius;
}

static bool same_intervals(const tg_list_choice* a, const tg_list_choice* b) {
  return a->nstlist == b->nstlist && a->prune_interval == b->prune_interval;
}

/* Measures a choice that was not measured before. */
static tg_status attempt(tuner* t, const tg_list_choice* lists) {
  if (t->count == MOST_TRIES || lists->nstlist > TG_DEVICE_STRETCH) return TG_OK;
  for (int i = 0; i < t->count; i++)
    if (same_intervals(&t->tries[i].lists, lists)) return TG_OK;
  if (tg_interrupt_requested())
    return tg_fail(TG_ERR_INTERRUPTED,
                   "interrupted while list intervals were measured, before the first step; start "
                   "the run again (--force)");
  trial* one = &t->tries[t->count];
  one->lists = *lists;
  take(&t->run, lists);
  t->setup.lists = *lists;
  const tg_status status = measure(t, &one->us);
  tg_device_step_destroy(&t->step);
  tg_device_md_destroy(&t->md);
  TG_TRY(status);
  if (one->us < t->tries[t->best].us) t->best = t->count;
  t->count++;
  return TG_OK;
}

/* Shorter and longer intervals between prunings, each way as long as it gains. */
static tg_status try_intervals(tuner* t, const tg_run* run) {
  for (int by = -1; by <= 1; by += 2)
    for (;;) {
      const tg_list_choice best = t->tries[t->best].lists;
      const int interval = tg_list_next_interval(best.prune_interval, by), before = t->best;
      tg_list_choice next;
      if (interval == 0 || interval >= best.nstlist) break;
      if (tg_list_fix(run->system, run->job, best.nstlist, interval, &next) != TG_OK) break;
      TG_TRY(attempt(t, &next));
      if (t->best == before) break;
    }
  return TG_OK;
}

static tg_status try_all(tuner* t, const tg_run* run) {
  tg_list_choice others[TG_LIST_ALTERNATIVES];
  int count;
  TG_TRY(tg_list_alternatives(run->system, run->job, others, &count));
  TG_TRY(attempt(t, &t->setup.lists)); /* the formula's is the first */
  for (int i = 0; i < count; i++) TG_TRY(attempt(t, &others[i]));
  TG_TRY(try_intervals(t, run));
  if (!(t->tries[t->best].us < (1 - least_gain) * t->tries[0].us)) t->best = 0;
  return TG_OK;
}

static void put_choice(tg_json* json, const trial* one) {
  tg_json_open_object(json, NULL);
  tg_json_int(json, "nstlist", one->lists.nstlist);
  tg_json_int(json, "prune_interval", one->lists.prune_interval);
  tg_json_double(json, "list_radius_nm", one->lists.radius);
  tg_json_double(json, "inner_radius_nm", one->lists.inner_radius);
  if (isfinite(one->us)) tg_json_double(json, "us_a_step", one->us);
  tg_json_close_object(json);
}

static tg_status write_file(const tuner* t, const tg_run* run) {
  char path[4096];
  tg_new_file file;
  TG_TRY(tg_path_join(tg_output_folder(run->output), TG_OUTPUT_TUNING, path, sizeof path));
  TG_TRY(tg_new_file_open(path, &file));
  tg_json json = tg_json_on(file.stream, true);
  tg_json_open_object(&json, NULL);
  tg_json_text(&json, "gpu", run->kernels);
  tg_json_int(&json, "nstlist", t->tries[t->best].lists.nstlist);
  tg_json_int(&json, "prune_interval", t->tries[t->best].lists.prune_interval);
  tg_json_int(&json, "formula_nstlist", t->tries[0].lists.nstlist);
  tg_json_int(&json, "formula_prune_interval", t->tries[0].lists.prune_interval);
  tg_json_open_array(&json, "measured");
  for (int i = 0; i < t->count; i++) put_choice(&json, &t->tries[i]);
  tg_json_close_array(&json);
  tg_json_close_object(&json);
  return tg_new_file_commit(&file);
}

static void write_log(const tuner* t, const tg_run* run, double seconds) {
  for (int i = 0; i < t->count; i++)
    tg_output_log(run->output,
                  "tuning: every %d steps to %.4f nm, pruned every %d to %.4f: %.2f us",
                  t->tries[i].lists.nstlist, t->tries[i].lists.radius,
                  t->tries[i].lists.prune_interval, t->tries[i].lists.inner_radius, t->tries[i].us);
  tg_output_log(
      run->output,
      "pair list every %d steps with radius %.4f nm, pruned every %d to %.4f nm: %s "
      "(%.2f s); --lists %d/%d asks for the same",
      run->nstlist, run->list_radius, run->prune_interval, run->inner_radius,
      t->best == 0 ? "the formula's, which nothing beats by 2 %" : "measured as the fastest",
      seconds, run->nstlist, run->prune_interval);
}

tg_status tg_device_tune(tg_run* run, const tg_device_setup* setup, const double (*v)[3]) {
  const double clock = tg_time_now();
  tuner t;
  if (run->system->parameters.verlet_buffer_tolerance < 0) {
    tg_output_log(run->output, "nothing is tuned, as nstlist and rlist are given");
    return TG_OK;
  }
  memset(&t, 0, sizeof t);
  t.run.job = run->job;
  t.run.system = run->system;
  t.run.last_step = -1;
  t.setup = *setup;
  t.v = v;
  t.tries[0].us = INFINITY;
  TG_TRY(try_all(&t, run));
  take(run, &t.tries[t.best].lists);
  write_log(&t, run, tg_time_now() - clock);
  return write_file(&t, run);
}
