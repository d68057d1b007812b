/* SPDX-License-Identifier: Apache-2.0 */
/* Steps go to the GPU in stretches, from one pair search to the next, two of them under way; what
 * they leave is written while the GPU computes the following ones. A stretch also ends at a step
 * whose positions are to be written.
 *
 * Checkpoints are of the last search, of which the GPU keeps a copy. How long the output files were
 * at that step is noted when the step's turn comes to be written, by a thread of its own
 * (device_writer.h).
 *
 * Where rows of the pair list outgrow their room, they get more, and the steps since the last
 * search are done again, as a continued run does them: to the same bits, so what was written of
 * them already stays. */
#include "md/device_run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/interrupt.h"
#include "base/memory.h"
#include "base/timer.h"
#include "device/device.h"
#include "md/device_meet.h"
#include "md/device_setup.h"
#include "md/device_split.h"
#include "md/device_tune.h"
#include "md/device_writer.h"
#include "md/run_write.h"

/* Of a row's room, in units of what a liquid needs. */
enum { MOST_ROOM = 16 };

static double first_room; /* for tests */

void tg_run_device_first_room(double room) { first_room = room; }

/* A stretch under way. */
typedef struct stretch {
  long long first;
  int count;
  bool search, frame;
} stretch;

typedef struct loop {
  tg_run* run;
  tg_device_atoms atoms;
  tg_device_work work;
  tg_device_md* md;
  tg_device_step* step;
  long long next, listed; /* first step that is not queued; of the last search */
  long long unwritten;    /* first step that was not given to the writer */
  stretch under_way[TG_DEVICE_IN_FLIGHT];
  int under_way_count;
  tg_device_writer* writer;
  double row_room;
  const tg_device_planes* planes; /* where lists began anew with those of before: in `balance` */
  tg_device_balance balance;
  long long pairs;
  tg_device_done done;
  long long first;
  double started, last_progress, last_checkpoint;
  bool checkpoint_due;
  bool restarted; /* for more room, and nothing is queued since: the snapshot is the state */
  bool trouble;   /* on the GPU, which still works: the last good state is to be kept */
  bool parted;    /* the processes have agreed on how it ended */
} loop;

/* Processes have looked for their GPUs when their world was made. */
static tg_status check_gpus(const tg_device_choice* devices, int process_count) {
  const int there = tg_device_count(), wanted = process_count > 1 ? 1 : devices->card_count;
  if (there == 0)
    return tg_fail(TG_ERR_MACHINE, "the backend cuda: %s; use --backend omp", tg_device_reason());
  if (wanted <= there) return TG_OK;
  return tg_fail(TG_ERR_MACHINE,
                 "%d GPUs were asked for, and this machine has %d (throng info shows them); ask "
                 "for fewer",
                 wanted, there);
}

tg_status tg_run_device_check(const tg_md_job* job, const tg_md_system* system,
                              const tg_device_choice* devices, int process_count) {
  const int* grid = devices->grid;
  const int domains = grid[0] * grid[1] * grid[2];
  if (domains != 1 && system->parameters.integrator != TG_INTEGRATOR_LEAP_FROG)
    return tg_fail(
        TG_ERR_INPUT,
        "integrator = steep on %d domains: with the backend cuda one GPU minimises, with "
        "one domain; leave --pe and --gpus out, or use --backend omp",
        domains);
  if (domains == 1 && job->balance)
    return tg_fail(TG_ERR_INPUT,
                   "--balance: one domain has no planes to move; ask for several (--pe, --gpus), "
                   "or leave it out");
  if (process_count > 1 && job->tune)
    return tg_fail(TG_ERR_INPUT,
                   "--tune: %d processes would measure each for itself; tune in one process, and "
                   "give --lists with what it found",
                   process_count);
  if (strcmp(job->precision, "mixed") != 0)
    return tg_fail(TG_ERR_INPUT,
                   "precision \"%s\": the backend cuda has pair forces in float alone; leave "
                   "--precision out, or use --backend omp",
                   job->precision);
  if (job->trace)
    return tg_fail(TG_ERR_INPUT,
                   "--trace: the backend cuda has no events of a step to record; use the backend "
                   "omp");
  return check_gpus(devices, process_count);
}

tg_status tg_run_device_name(tg_run* run) {
  tg_device_info info;
  TG_TRY(tg_device_query(0, &info));
  snprintf(run->kernels, sizeof run->kernels, "cuda: %.50s", info.name);
  return TG_OK;
}

unsigned char tg_run_device_flags(const tg_run* run, long long step, long long listed, bool first) {
  const tg_parameters* p = &run->system->parameters;
  unsigned flags = 0;
  if (first || step % run->nstlist == 0)
    flags |= TG_STEP_SEARCH;
  else if (tg_run_due(run->prune_interval, step - listed))
    flags |= TG_STEP_PRUNE;
  if (tg_run_wants_energies(run, step)) flags |= TG_STEP_ENERGY;
  if (tg_run_wants_frame(run, step)) flags |= TG_STEP_FRAME;
  if (p->thermostat != TG_THERMOSTAT_NONE && tg_run_due(p->nsttcouple, step))
    flags |= TG_STEP_COUPLE;
  if (p->comm_mode == TG_COMM_LINEAR && tg_run_due(p->nstcomm, step)) flags |= TG_STEP_COMM;
  return (unsigned char)flags;
}

static unsigned char flags_of(const loop* l, long long step, long long listed, bool first) {
  return tg_run_device_flags(l->run, step, listed, first);
}

static tg_device_setup setup_of(const loop* l, const double (*x)[3], const double* heat) {
  const tg_run* run = l->run;
  tg_device_setup setup = {
      .system = run->system,
      .atoms = &l->atoms,
      .work = &l->work,
      .lists = {.nstlist = run->nstlist,
                .radius = run->list_radius,
                .prune_interval = run->prune_interval,
                .inner_radius = run->inner_radius},
      .devices = &run->devices,
      .world = run->processes,
      .deadline_s = run->job->deadline_s,
      .row_room = l->row_room,
      .planes = l->planes,
      .balance = run->job->balance != 0,
      .x = x,
      .thermostat = run->thermostat,
  };
  memcpy(setup.thermostat.given, heat, sizeof setup.thermostat.given);
  return setup;
}

/* Lists and steps that begin at l->next, where a search is. */
static tg_status create_steps(loop* l, const double (*x)[3], const double (*v)[3],
                              const double* heat) {
  const tg_device_setup setup = setup_of(l, x, heat);
  TG_TRY(tg_device_setup_steps(&setup, &l->md, &l->step));
  TG_TRY(tg_device_step_time(l->step, TG_DEVICE_TIME_EVERY));
  return tg_device_step_start(l->step, v, l->next, flags_of(l, l->next, l->next, true));
}

static tg_status create(loop* l) {
  tg_run* run = l->run;
  const tg_domain* domain = run->domain;
  const int once[3] = {1, 1, 1};
  if (domain->home_count != run->system->atom_count)
    return tg_fail(TG_ERR_INTERNAL, "%zu of %zu atoms are at home", domain->home_count,
                   run->system->atom_count);
  TG_TRY(tg_device_atoms_make(run->system, once, &l->atoms));
  TG_TRY(tg_device_work_make(run->system, &l->work));
  const double(*x)[3] = (const double(*)[3])domain->x, (*v)[3] = (const double(*)[3])domain->v;
  if (run->job->tune && !run->job->continue_run) {
    tg_device_setup setup = setup_of(l, x, run->thermostat.given);
    setup.balance = false;
    TG_TRY(tg_device_tune(run, &setup, v));
  }
  TG_TRY(create_steps(l, x, v, run->thermostat.given));
  return tg_device_writer_start(run, l->step, &l->writer);
}

/* Steps up to the next search, frame, or the end. */
static tg_status queue(loop* l) {
  const tg_run* run = l->run;
  unsigned char flags[TG_DEVICE_STRETCH + 1];
  stretch s = {.first = l->next};
  const bool first = l->next == l->first;
  flags[0] = flags_of(l, l->next, l->listed, first);
  s.search = flags[0] & TG_STEP_SEARCH;
  if (s.search) l->listed = l->next;
  for (;;) {
    const unsigned char now = flags[s.count++];
    l->done.energy_steps += (now & TG_STEP_ENERGY) != 0;
    l->done.searches += (now & TG_STEP_SEARCH) != 0;
    l->done.prunings += (now & TG_STEP_PRUNE) != 0;
    s.frame = now & TG_STEP_FRAME;
    const long long step = s.first + s.count;
    const bool end = step - 1 == run->last_step;
    flags[s.count] = end ? 0 : flags_of(l, step, l->listed, false);
    l->done.sum_steps += (flags[s.count] & (TG_STEP_COUPLE | TG_STEP_COMM | TG_STEP_ENERGY)) != 0;
    if (end || s.frame || flags[s.count] & TG_STEP_SEARCH || s.count == TG_DEVICE_STRETCH) break;
  }
  TG_TRY(tg_device_step_queue(l->step, flags, s.count));
  l->restarted = false;
  l->under_way[l->under_way_count++] = s;
  l->next += s.count;
  return TG_OK;
}

static tg_status agree(loop* l, tg_status status) {
  return l->run->processes ? tg_world_agree(l->run->processes, status) : status;
}

static tg_status describe(loop* l, const stretch* s, const tg_device_trouble* t) {
  const tg_run* run = l->run;
  char name[96], where[64];
  l->trouble = true;
  if (t->fast_atom < 0 && t->bad_group < 0) { /* the lists', which their owner tells */
    const tg_status status = tg_device_md_get_forces(l->md, NULL, NULL);
    return tg_fail_context(agree(l, status),
                           "steps %lld to %lld (the state before them is kept: --continue "
                           "--backend omp goes on from there): ",
                           s->first, s->first + s->count - 1);
  }
  snprintf(where, sizeof where, "steps %lld to %lld", s->first, s->first + s->count - 1);
  if (t->bad_group >= 0) {
    const tg_constraints_failure failure = {.local_atom = (int)t->bad_group, .angle = 180};
    return tg_run_constraint_failure(run, where, failure, TG_ERR_NUMERICS);
  }
  tg_domain_name_atom(run->system, (int)t->fast_atom, name, sizeof name);
  return tg_fail(
      TG_ERR_NUMERICS,
      "%s: %s: it moves further than half a cut-off in a step, or its velocity is not a "
      "finite number: the system blew up; minimise its energy first (integrator = steep) "
      "or use a shorter time step",
      where, name);
}

/* Twice the room for rows of the list, and back to the last search. */
static tg_status regrow(loop* l) {
  tg_run* run = l->run;
  const tg_snapshot* s = &run->snapshot;
  TG_TRY(tg_device_writer_flush(l->writer));
  TG_TRY(tg_device_writer_snapshot(l->writer, l->step));
  l->restarted = l->trouble = true;
  TG_TRY(tg_device_md_get_balance(l->md, &l->balance));
  l->planes = &l->balance.planes;
  tg_device_step_destroy(&l->step);
  tg_device_md_destroy(&l->md);
  l->row_room *= 2;
  l->next = l->listed = s->step;
  l->under_way_count = 0;
  tg_output_log(run->output,
                "the pair list has outgrown its room on the GPU: its rows get %g times as much, "
                "and the steps from %lld on are done again",
                l->row_room, s->step);
  TG_TRY(create_steps(l, (const double(*)[3])s->x, (const double(*)[3])s->v, s->heat));
  l->trouble = false;
  return TG_OK;
}

/* What a stretch has left, but for what was written before its steps were done again. */
static tg_status write_stretch(loop* l, const stretch* s, const tg_device_record* records,
                               int count) {
  tg_run* run = l->run;
  const long long last = s->first + s->count - 1;
  while (count > 0 && records->step < l->unwritten) records++, count--;
  TG_TRY(tg_device_writer_records(l->writer, records, count));
  if (count > 0) l->pairs = records[count - 1].pairs;
  if (last < l->unwritten) return TG_OK;
  run->step = last;
  run->steps_done += last - (s->first > l->unwritten ? s->first : l->unwritten) + 1;
  l->unwritten = last + 1;
  return s->frame ? tg_device_writer_frame(l->writer, l->step, last) : TG_OK;
}

/* What all processes know then; where one of them has failed, all end. */
static tg_status meet(loop* l, tg_status status, tg_device_word* word) {
  status = tg_device_meet(l->run->processes, status, word);
  if (status != TG_OK) l->parted = true;
  return status;
}

/* Waits for the oldest stretch and has written what it left. */
static tg_status collect(loop* l) {
  tg_run* run = l->run;
  const stretch s = l->under_way[0];
  const tg_device_record* records;
  tg_device_word word = tg_device_word_make();
  int steps, count;
  TG_TRY(meet(l, tg_device_step_collect(l->step, &steps, &records, &count, &word.trouble), &word));
  const tg_device_trouble trouble = word.trouble;
  l->under_way_count--;
  memmove(l->under_way, l->under_way + 1, (size_t)l->under_way_count * sizeof s);
  if (s.search) TG_TRY(tg_device_writer_mark(l->writer, s.first));
  if (trouble.list_full && trouble.fast_atom < 0 && trouble.bad_group < 0 &&
      l->row_room < MOST_ROOM)
    return regrow(l);
  if (trouble.lists || trouble.fast_atom >= 0 || trouble.bad_group >= 0)
    return describe(l, &s, &trouble);
  const double clock = tg_time_now();
  TG_TRY(write_stretch(l, &s, records, count));
  if (l->under_way_count == 0) l->done.idle_s += tg_time_now() - clock;
  tg_run_report_progress(run, run->steps_done, l->started, &l->last_progress);
  return TG_OK;
}

static tg_status write_checkpoint(loop* l) {
  const double clock = tg_time_now();
  TG_TRY(tg_device_writer_checkpoint(l->writer, l->step));
  l->last_checkpoint = tg_time_now();
  l->checkpoint_due = false;
  l->done.idle_s += l->last_checkpoint - clock;
  return TG_OK;
}

static tg_status drain(loop* l) {
  while (l->under_way_count > 0) TG_TRY(collect(l));
  return TG_OK;
}

/* No two frames may be under way: the GPU keeps one. */
static bool may_queue(const loop* l) {
  for (int i = 0; i < l->under_way_count; i++)
    if (l->under_way[i].frame) return false;
  return l->under_way_count < TG_DEVICE_IN_FLIGHT;
}

/* One more stretch; before it, at times, a checkpoint. */
static tg_status go_on(loop* l) {
  const tg_run* run = l->run;
  tg_device_word word = tg_device_word_make();
  word.interrupted = tg_interrupt_requested();
  word.checkpoint_due = tg_time_now() - l->last_checkpoint > 60 * run->job->checkpoint_minutes;
  TG_TRY(meet(l, TG_OK, &word));
  if (word.interrupted) {
    TG_TRY(drain(l));
    return tg_fail(TG_ERR_INTERRUPTED, "interrupted at step %lld; --continue goes on from there",
                   run->step);
  }
  TG_TRY(queue(l));
  if (l->checkpoint_due || word.checkpoint_due) {
    TG_TRY(drain(l));
    if (!l->restarted) TG_TRY(write_checkpoint(l));
  }
  while (!may_queue(l)) TG_TRY(collect(l));
  return TG_OK;
}

static tg_status do_stretches(loop* l) {
  const long long last = l->run->last_step;
  do { /* again where the last ones were done again */
    while (last < 0 || l->next <= last) TG_TRY(go_on(l));
    TG_TRY(drain(l));
  } while (l->next <= last);
  return TG_OK;
}

/* A process that fails meets the others where they are. */
static tg_status run_stretches(loop* l) {
  tg_device_word word = tg_device_word_make();
  const tg_status status = do_stretches(l);
  return l->parted ? status : meet(l, status, &word);
}

static void destroy(loop* l) {
  tg_device_writer_destroy(&l->writer);
  tg_device_step_destroy(&l->step);
  tg_device_md_destroy(&l->md);
  tg_device_work_free(&l->work);
  tg_device_atoms_free(&l->atoms);
}

/* However the loop ended, what it gave is written, and the last good state is what a checkpoint
 * will hold. */
static tg_status end(loop* l, tg_status status) {
  char message[2048];
  snprintf(message, sizeof message, "%s", tg_last_error());
  const double clock = tg_time_now();
  const tg_status written = tg_device_writer_flush(l->writer);
  if (status == TG_OK && written != TG_OK) {
    status = written;
    snprintf(message, sizeof message, "%s", tg_last_error());
  }
  l->under_way_count = 0; /* after trouble: waited for by what follows, and not written */
  l->run->state_kept = l->trouble && written == TG_OK;
  tg_status taken = TG_OK;
  if (!l->restarted && (status != TG_ERR_MACHINE || l->run->state_kept))
    taken = tg_device_writer_snapshot(l->writer, l->step);
  l->done.idle_s += tg_time_now() - clock;
  if (status != TG_OK) return tg_fail(status, "%s", message);
  return taken;
}

tg_status tg_run_device(tg_run* run) {
  loop* l = NULL;
  TG_TRY(TG_ALLOCATE(1, "run on a GPU", &l));
  l->run = run;
  l->first = l->next = l->listed = l->unwritten = run->step;
  l->row_room = first_room > 0 ? first_room : 1;
  /* a continued run has the checkpoint of its start already */
  l->checkpoint_due = !run->job->continue_run;
  tg_status status = agree(l, create(l));
  if (status == TG_OK) {
    memset(run->domain->part_s, 0, sizeof run->domain->part_s);
    l->started = l->last_progress = l->last_checkpoint = tg_time_now();
    status = agree(l, end(l, run_stretches(l)));
    run->result.wall_s = tg_time_now() - l->started;
    run->domain->pairs_in_list = l->pairs;
    if (status == TG_OK) status = tg_device_split(run, l->md, l->step, &l->done);
  }
  destroy(l);
  tg_free(l);
  return status;
}
