/* SPDX-License-Identifier: Apache-2.0 */
/* A sector in five steps:
 *   1. the space is counted, and refused if it cannot fit
 *   2. strings, tables of jumps and, if it is stored, the matrix are made
 *   3. the eigen-solver finds the lowest states (src/eigen)
 *   4. H goes; J^2, T^2 ... are made on the same space, one after the other
 *   5. and label the levels (label.h) */
#include "ci/solve.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/timer.h"
#include "ci/label.h"
#include "ci/lift.h"
#include "ci/solve_run.h"
#include "ci/states_room.h"

enum { USUAL_STATES = 10, USUAL_RESTART_S = 900, USUAL_DEADLINE_S = 86400 };

/* How far the next higher J or S is lifted at first, MeV or Ha (lift.h). */
static const double first_lift[] = {[TG_CI_NUCLEUS] = 10, [TG_CI_MOLECULE] = 2};

static const double usual_tolerance[] = {[TG_CI_NUCLEUS] = 1e-4, [TG_CI_MOLECULE] = 1e-5};

tg_ci_solve_params tg_ci_solve_defaults(void) {
  return (tg_ci_solve_params){.storage = TG_CI_STORAGE_AUTO, .check = TG_EIGEN_CHECK_AUTO};
}

const char* tg_ci_backend_name(tg_ci_backend backend) {
  static const char* const names[] = {
      [TG_CI_OMP] = "omp", [TG_CI_CUDA] = "cuda", [TG_CI_ACC] = "acc"};
  return names[backend];
}

int tg_ci_usual_states(int asked) { return asked > 0 ? asked : USUAL_STATES; }

double tg_ci_tolerance(tg_ci_kind kind, double asked) {
  return asked > 0 ? asked : usual_tolerance[kind];
}

void tg_ci_spectrum_free(tg_ci_spectrum* spectrum) {
  if (!spectrum) return;
  for (size_t s = 0; spectrum->sectors && s < spectrum->sector_count; s++) {
    tg_ci_space_free(spectrum->sectors[s].space);
    tg_ci_states_room_end(&spectrum->sectors[s].room);
    tg_eigen_result_free(&spectrum->sectors[s].result);
    tg_free(spectrum->sectors[s].shares);
    tg_ci_distribution_free(&spectrum->sectors[s].need.split);
  }
  tg_free(spectrum->sectors);
  tg_free(spectrum->levels);
  memset(spectrum, 0, sizeof *spectrum);
}

int tg_ci_twice(double squared) {
  const double twice = sqrt(fmax(1 + 4 * squared, 0)) - 1;
  if (!(fabs(twice - round(twice)) <= 0.02)) return -1; /* NAN, too */
  return (int)round(twice);
}

size_t tg_ci_level_nth(const tg_ci_spectrum* spectrum, size_t level) {
  const tg_ci_level* of = &spectrum->levels[level];
  const int twice = tg_ci_twice(of->squared[TG_CI_LABEL_J]);
  size_t n = 0;
  for (size_t i = 0; i <= level; i++)
    n += spectrum->levels[i].symmetry == of->symmetry &&
         tg_ci_twice(spectrum->levels[i].squared[TG_CI_LABEL_J]) == twice;
  return twice < 0 ? 0 : n;
}

/* ---- a sector ---- */

static tg_status multiply(void* context, int k, const double* x, double* y, size_t ld) {
  return tg_ci_operator_apply(context, k, x, y, ld);
}

static tg_status report(void* context, const tg_eigen_progress* progress, tg_eigen_solver* solver) {
  const tg_ci_run* r = context;
  (void)solver;
  return r->params->progress(r->params->context, r->problem, r->sector, progress);
}

static bool stop_asked(void* context) {
  const tg_ci_run* r = context;
  return r->params->interrupted(r->params->context);
}

static tg_status find_states(tg_ci_run* r, tg_ci_operator* op, tg_ci_sector* s) {
  const tg_eigen_problem problem = {
      .n = (size_t)s->space->dimension,
      .context = op,
      .apply = multiply,
      .diagonal = r->problem->kind == TG_CI_MOLECULE ? tg_ci_operator_diagonal(op) : NULL};
  tg_eigen_params e =
      tg_ci_run_eigen(r, &s->need, s->space->dimension, r->memory - s->need.space - s->need.tables);
  if (r->params->progress) e.progress = report;
  if (r->params->interrupted) e.interrupted = stop_asked;
  e.context = r;
  if (r->params->restart)
    return tg_ci_restart_solve(&r->restart, r->sector, &problem, &e, &s->result);
  return tg_eigen_solve(&problem, &e, &s->result);
}

static tg_status solve_or_go_on(void* context, const tg_eigen_problem* problem,
                                const tg_eigen_params* params, tg_eigen_result* out) {
  const tg_ci_run* r = context;
  if (r->params->restart) return tg_ci_restart_solve(&r->restart, r->sector, problem, params, out);
  return tg_eigen_solve(problem, params, out);
}

/* Once, by the process that does labels. */
static void begin_labels(void* context) {
  tg_ci_run* r = context;
  const bool one = r->params->gpus <= 1 || tg_ci_pes_are_processes(r->params->transport);
  const tg_ci_label_place place = {.threads = r->pes.threads,
                                   .gpus = one ? 1 : r->params->gpus,
                                   .device = r->gpu.device,
                                   .memory = r->memory};
  if (!r->labels && r->space && r->params->backend == TG_CI_CUDA && tg_ci_pes_lead(&r->pes))
    r->labels = tg_ci_label_tables_begin(r->problem, r->space, &place);
}

static tg_ci_device_sector gpu_sector(tg_ci_run* r, const tg_ci_space* space,
                                      const tg_ci_need* need) {
  tg_ci_device_sector s = {.room = &r->gpu,
                           .problem = r->problem,
                           .params = r->params,
                           .space = space,
                           .eigen = tg_ci_run_eigen(r, need, space->dimension, r->memory),
                           .solve = solve_or_go_on,
                           .made = begin_labels,
                           .context = r,
                           .pes = &r->pes,
                           .sector = r->sector,
                           .restart = r->params->restart ? &r->restart : NULL};
  if (r->params->progress) s.eigen.progress = report;
  if (r->params->interrupted) s.eigen.interrupted = stop_asked;
  s.eigen.context = r;
  return s;
}

/* Steps 2 and 3 on a GPU. */
static tg_status diagonalise_on_gpu(tg_ci_run* r, const tg_ci_hamiltonian* h, tg_ci_sector* s) {
  const tg_ci_device_sector sector = gpu_sector(r, s->space, &s->need);
  TG_TRY(tg_ci_device_sector_solve(&sector, h, s));
  tg_ci_need_set_gpu_peak(&s->need);
  return TG_OK;
}

/* The same by several PEs. */
static tg_status find_shared(tg_ci_run* r, tg_ci_operator* op, tg_ci_sector* s) {
  const uint64_t others = s->need.space + s->need.tables;
  const tg_ci_shared_solve what = {
      .problem = r->problem,
      .params = r->params,
      .sector = r->sector,
      .op = op,
      .eigen = tg_ci_run_eigen(r, &s->need, s->space->dimension,
                               r->memory > others ? r->memory - others : 1),
      .restart = r->params->restart ? &r->restart : NULL,
      .out = s};
  TG_TRY(tg_ci_solve_shared(&r->pes, &what));
  uint64_t stored = 0;
  for (int p = 0; p < s->pe_count; p++) stored += s->shares[p].stored;
  s->need.facts.stored = stored;
  return TG_OK;
}

/* Processes may have come to different choices, as they have different memory. */
static tg_status settle_choices(tg_ci_run* r, tg_ci_operator* op, tg_ci_need* need) {
  need->facts = tg_ci_operator_facts_of(op);
  int64_t stored = need->facts.storage == TG_CI_STORAGE_STORED;
  TG_TRY(tg_ci_pes_least(&r->pes, &stored));
  if (!stored) tg_ci_operator_set_storage(op, TG_CI_STORAGE_FLY);
  need->facts = tg_ci_operator_facts_of(op);
  tg_ci_need_choose_block(r, need);
  int64_t block = need->block;
  TG_TRY(tg_ci_pes_least(&r->pes, &block));
  need->block = (int)block;
  return TG_OK;
}

/* Steps 2 and 3 with this operator, whose states are those of H. */
static tg_status diagonalise(tg_ci_run* r, const tg_ci_hamiltonian* h, tg_ci_sector* s) {
  tg_ci_operator* op = NULL;
  if (tg_ci_run_on_gpu(r)) return diagonalise_on_gpu(r, h, s);
  const double start = tg_time_now();
  tg_status status = TG_OK;
  TG_TRY(tg_ci_pes_agree(&r->pes, tg_ci_need_tables(r, h, s->space, &s->need)));
  const tg_ci_operator_params params = tg_ci_run_operator(r, &s->need);
  TG_TRY_GOTO(tg_ci_pes_agree(&r->pes, tg_ci_operator_create(h, s->space, &params, &op)), done);
  TG_TRY_GOTO(settle_choices(r, op, &s->need), done);
  tg_ci_need_set_peak(&s->need);
  const double made = tg_time_now();
  s->setup_s += made - start;
  if (r->pes.count > 1) {
    status = find_shared(r, op, s);
    goto done;
  }
  status = find_states(r, op, s);
  s->solve_s += tg_time_now() - made;
done:
  tg_ci_operator_free(op);
  return status;
}

/* States of one J: those of H with all higher J lifted, until the lowest are of that J. */
static tg_status diagonalise_one_spin(tg_ci_run* r, tg_ci_sector* s) {
  const tg_ci_problem* p = r->problem;
  const double j = 0.5 * p->two_j;
  const tg_ci_lifting lifting = {.h = p->h,
                                 .squared = p->label[TG_CI_LABEL_J],
                                 .value = j * (j + 1),
                                 .space = s->space,
                                 .threads = r->pes.threads,
                                 .on_gpu = r->params->backend == TG_CI_CUDA,
                                 .device = r->params->device};
  double strength = first_lift[p->kind] / (2 * j + 2);
  for (int round = 0; round < TG_CI_RESTART_ROUNDS; round++) {
    tg_ci_hamiltonian* search = NULL;
    r->restart.round = round;
    bool pure = false;
    TG_TRY(tg_ci_pes_agree(&r->pes, tg_ci_lift(&lifting, strength, &search)));
    tg_status status = diagonalise(r, search, s);
    tg_ci_hamiltonian_free(search);
    TG_TRY(status);
    if (tg_ci_pes_lead(&r->pes)) status = tg_ci_lift_finish(&lifting, &s->result, &pure);
    TG_TRY(tg_ci_pes_agree(&r->pes, status));
    TG_TRY(tg_ci_pes_tell(&r->pes, &pure, sizeof pure));
    if (pure) return TG_OK;
    tg_ci_states_room_end(&s->room);
    tg_eigen_result_free(&s->result);
    strength *= 4;
  }
  return tg_fail(TG_ERR_NUMERICS,
                 "states of higher %s are not parted from those asked for; ask for fewer, or a "
                 "smaller tolerance",
                 p->kind == TG_CI_NUCLEUS ? "J" : "S");
}

static tg_status steps_of_sector(tg_ci_run* r, tg_ci_spectrum* spectrum) {
  tg_ci_sector* s = &spectrum->sectors[r->sector];
  double start = tg_time_now();
  tg_ci_need_note_process(&s->need);
  TG_TRY(tg_ci_pes_agree(&r->pes, tg_ci_need_space(r, &s->need))); /* 1 */
  const tg_ci_space_params space = tg_ci_run_space(r->problem, s->need.symmetry);
  tg_status status = tg_ci_space_make(r->problem->h, &space, &s->space); /* 2 */
  TG_TRY(tg_ci_pes_agree(&r->pes, status));
  r->space = s->space;
  s->setup_s = tg_time_now() - start;
  TG_TRY(r->problem->two_j < 0 ? diagonalise(r, r->problem->h, s) : diagonalise_one_spin(r, s));
  start = tg_time_now();
  tg_ci_solve_params of_labels = *r->params;
  of_labels.threads = r->pes.threads;
  if (tg_ci_run_on_gpu(r)) of_labels.device = r->gpu.device;
  if (tg_ci_pes_lead(&r->pes)) /* 4, 5 */
    status = tg_ci_label_levels(r->problem, &of_labels, r->labels, r->sector, spectrum);
  TG_TRY(tg_ci_pes_agree(&r->pes, status));
  tg_ci_states_room_end(&s->room); /* the states stay */
  s->labels_s = tg_time_now() - start;
  tg_ci_run_take_memory(r, tg_ci_need_results(r->problem, &s->need));
  return TG_OK;
}

static tg_status solve_sector(tg_ci_run* r, tg_ci_spectrum* spectrum) {
  const tg_status status = steps_of_sector(r, spectrum);
  tg_ci_label_tables_free(&r->labels);
  r->space = NULL;
  return status;
}

/* ---- all of it ---- */

static int by_energy(const void* a, const void* b) {
  const tg_ci_level *x = a, *y = b;
  if (x->energy != y->energy) return x->energy < y->energy ? -1 : 1;
  return x->sector < y->sector ? -1 : x->sector > y->sector;
}

/* Room for levels; more states than there are is a mistake. */
static tg_status check_states(const tg_ci_problem* p, const tg_ci_solve_params* params,
                              size_t* room) {
  uint64_t all = 0;
  const int states = tg_ci_usual_states(params->states);
  if (params->states < 0)
    return tg_fail(TG_ERR_INPUT, "%d states; at least one is needed", params->states);
  if (!(params->tolerance >= 0) || !isfinite(params->tolerance))
    return tg_fail(TG_ERR_INPUT, "the tolerance is %g; it must be above 0", params->tolerance);
  static const char* const words[] = {"M", "J", "Sz", "S"};
  *room = 0;
  for (size_t s = 0; s < p->sector_count; s++) {
    const uint64_t levels = p->levels[s];
    if (levels > all) all = levels;
    *room += levels < (uint64_t)states ? (size_t)levels : (size_t)states;
  }
  if (params->states > 0 && (uint64_t)params->states > all)
    return tg_fail(TG_ERR_INPUT, "%d states are asked for; there are only %llu of this %s%s",
                   params->states, (unsigned long long)all, words[2 * p->kind + (p->two_j >= 0)],
                   p->sector_count > 1 ? " in the largest symmetry" : " and symmetry");
  return TG_OK;
}

/* Seconds of a core for an element done in lanes, one by one on the fly, stored; for a number of a
 * vector, made orthogonal to a basis of some 60. Products: 60 and 16 for each state, as the cases
 * of docs/eigen.md took, and more in wide blocks. */
static double seconds_for(const tg_ci_need* need, int threads) {
  static const double lane = 0.25e-9, single = 3.6e-9, stored = 3e-10, orthogonal = 5e-8;
  const tg_ci_operator_facts* f = &need->facts;
  const double pairs = (double)f->pairs, lanes = (double)f->lane_pairs;
  /* where most are done in lanes, so are nearly all that lane_pairs does not count: H of one
   * species */
  const double others = 2 * lanes > pairs ? lane : single;
  const double product =
      f->storage == TG_CI_STORAGE_STORED ? stored * pairs : lane * lanes + others * (pairs - lanes);
  const double products =
      fmin((need->block > 2 ? 1.6 : 1) * (60 + 16.0 * need->states), 2 * (double)f->dimension);
  return products * (product + orthogonal * (double)f->dimension) / threads;
}

/* As many as a parallel region has; one where pragmas mean nothing. */
static int threads_of(const tg_ci_solve_params* params) {
  int count = 0;
#pragma omp parallel reduction(+ : count)
  count += 1;
  return params->threads > 0 ? params->threads : count;
}

/* What stays of the sectors before this one. */
static tg_status add_results(tg_ci_run* r, tg_ci_need* need) {
  for (size_t s = 0; s < r->sector; s++) {
    tg_ci_run other = *r;
    tg_ci_need n = {0};
    other.sector = s;
    TG_TRY(tg_ci_need_space(&other, &n));
    need->process += tg_ci_need_results(r->problem, &n);
    tg_ci_run_take_memory(r, tg_ci_need_results(r->problem, &n));
  }
  return TG_OK;
}

/* PEs that are threads, or as many processes as if there were so many here. */
static tg_ci_pes pes_here(const tg_ci_solve_params* params) {
  const int gpus = params->backend == TG_CI_CUDA && params->gpus > 1 ? params->gpus : 1;
  const int count = params->pes > 0 ? params->pes : gpus;
  const bool processes = tg_ci_pes_are_processes(params->transport);
  return (tg_ci_pes){.count = count,
                     .local = processes ? 1 : count,
                     .threads = params->threads,
                     .deadline_s = params->deadline_s > 0 ? params->deadline_s : USUAL_DEADLINE_S};
}

tg_status tg_ci_solve_estimate(const tg_ci_problem* problem, const tg_ci_solve_params* params,
                               size_t sector, tg_ci_need* out) {
  tg_ci_run r = {.problem = problem, .params = params, .sector = sector, .pes = pes_here(params)};
  tg_ci_need need = {0};
  tg_ci_space* space = NULL;
  r.memory = tg_ci_need_memory(params, &r.pes);
  TG_TRY(tg_ci_run_find_gpu(&r));
  tg_ci_need_note_process(&need);
  TG_TRY(add_results(&r, &need));
  TG_TRY(tg_ci_need_space(&r, &need));
  const tg_ci_space_params wanted = tg_ci_run_space(problem, need.symmetry);
  TG_TRY(tg_ci_space_make(problem->h, &wanted, &space));
  if (tg_ci_run_on_gpu(&r)) {
    const tg_ci_device_sector on_device = gpu_sector(&r, space, &need);
    const tg_status known = tg_ci_device_sector_need(&on_device, problem->h, &need);
    tg_ci_space_free(space);
    TG_TRY(known);
    tg_ci_need_set_gpu_peak(&need);
    *out = need;
    return TG_OK;
  }
  tg_status status = tg_ci_need_tables(&r, problem->h, space, &need);
  tg_ci_operator_params of_operator = tg_ci_run_operator(&r, &need);
  of_operator.split = &need.split;
  if (status == TG_OK)
    status = tg_ci_operator_estimate(problem->h, space, &of_operator, &need.facts);
  tg_ci_space_free(space);
  TG_TRY(status);
  tg_ci_need_choose_block(&r, &need);
  tg_ci_need_set_peak(&need);
  need.seconds = seconds_for(&need, threads_of(params) * r.pes.count / r.pes.local);
  *out = need;
  return TG_OK;
}

/* The first process looks for the restart file, and all go on or none. */
static tg_status begin_restart(tg_ci_run* r) {
  const tg_ci_solve_params* params = r->params;
  const bool leads = tg_ci_pes_lead(&r->pes);
  if (!params->restart) return TG_OK;
  const double interval = params->restart_s > 0 ? params->restart_s : USUAL_RESTART_S;
  TG_TRY(tg_ci_pes_agree(
      &r->pes, tg_ci_restart_begin(r->problem, params->restart, interval,
                                   tg_ci_usual_states(params->states), leads, &r->restart)));
  TG_TRY(tg_ci_pes_tell(&r->pes, &r->restart.goes_on, sizeof r->restart.goes_on));
  r->restart.warn = params->warn;
  r->restart.context = params->context;
  if (leads && r->restart.goes_on && params->goes_on)
    params->goes_on(params->context, params->restart);
  return TG_OK;
}

static tg_status solve_all(tg_ci_run* r, tg_ci_spectrum* out) {
  tg_status status = TG_OK;
  tg_ci_spectrum spectrum = {0};
  const tg_ci_problem* problem = r->problem;
  const double start = tg_time_now();
  size_t room = 0;
  TG_TRY(check_states(problem, r->params, &room));
  TG_TRY(tg_ci_run_find_gpu(r));
  TG_TRY_GOTO(begin_restart(r), failed);
  TG_TRY_GOTO(TG_ALLOCATE(problem->sector_count, "sectors", &spectrum.sectors), failed);
  spectrum.sector_count = problem->sector_count;
  TG_TRY_GOTO(TG_ALLOCATE(room, "levels", &spectrum.levels), failed);
  for (r->sector = 0; r->sector < problem->sector_count; r->sector++)
    TG_TRY_GOTO(solve_sector(r, &spectrum), failed);
  if (spectrum.level_count)
    qsort(spectrum.levels, spectrum.level_count, sizeof *spectrum.levels, by_energy);
  spectrum.seconds = tg_time_now() - start;
  *out = spectrum;
  if (r->params->restart) tg_ci_restart_end(&r->restart);
  return TG_OK;
failed:
  if (r->params->restart) tg_ci_restart_end(&r->restart);
  tg_ci_spectrum_free(&spectrum);
  return status;
}

typedef struct process_context {
  tg_ci_run* r;
  tg_ci_spectrum* out;
} process_context;

static tg_status on_process(tg_world* world, void* context) {
  process_context* c = context;
  c->r->pes = tg_ci_pes_of_world(world, c->r->params->threads);
  c->r->memory = tg_ci_need_memory(c->r->params, &c->r->pes);
  return solve_all(c->r, c->out);
}

tg_status tg_ci_solve(const tg_ci_problem* problem, const tg_ci_solve_params* params,
                      tg_ci_spectrum* out) {
  tg_ci_run r = {.problem = problem, .params = params, .pes = pes_here(params)};
  if (tg_ci_pes_are_processes(params->transport)) {
    const tg_world_params world = {
        .transport = params->transport, .pe_count = params->pes, .deadline_s = r.pes.deadline_s};
    process_context context = {&r, out};
    return tg_world_run(&world, on_process, &context);
  }
  r.memory = tg_ci_need_memory(params, &r.pes);
  return solve_all(&r, out);
}
