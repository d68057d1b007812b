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
#include "ci/pes.h"
#include "ci/restart.h"
#include "ci/solve_device.h"

enum { USUAL_STATES = 10, USUAL_RESTART_S = 900, USUAL_DEADLINE_S = 86400 };

/* How far the next higher J or S is lifted at first, MeV or Ha (lift.h). */
static const double first_lift[] = {[TG_CI_NUCLEUS] = 10, [TG_CI_MOLECULE] = 2};

static const double usual_tolerance[] = {[TG_CI_NUCLEUS] = 1e-4, [TG_CI_MOLECULE] = 1e-5};

/* One run of tg_ci_solve. */
typedef struct run {
  const tg_ci_problem* problem;
  const tg_ci_solve_params* params;
  uint64_t memory; /* that is left beside the results of earlier sectors */
  size_t sector;   /* at work */
  tg_ci_pes pes;
  tg_ci_restart restart;
  tg_ci_device_room gpu; /* of TG_CI_CUDA */
} run;

tg_ci_solve_params tg_ci_solve_defaults(void) {
  return (tg_ci_solve_params){.storage = TG_CI_STORAGE_AUTO, .check = TG_EIGEN_CHECK_AUTO};
}

const char* tg_ci_backend_name(tg_ci_backend backend) {
  return backend == TG_CI_CUDA ? "cuda" : "omp";
}

int tg_ci_usual_states(int asked) { return asked > 0 ? asked : USUAL_STATES; }

double tg_ci_tolerance(tg_ci_kind kind, double asked) {
  return asked > 0 ? asked : usual_tolerance[kind];
}

void tg_ci_spectrum_free(tg_ci_spectrum* spectrum) {
  if (!spectrum) return;
  for (size_t s = 0; spectrum->sectors && s < spectrum->sector_count; s++) {
    tg_ci_space_free(spectrum->sectors[s].space);
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

/* ---- memory ---- */

/* Processes of a machine share what it has free. */
static uint64_t memory_of(const tg_ci_solve_params* params, const tg_ci_pes* pes) {
  const uint64_t free = tg_memory_free();
  const int sharers = pes->world ? tg_world_node_pe_count(pes->world) : 1;
  if (params->memory) return params->memory;
  return free == UINT64_MAX ? free : (uint64_t)(0.8 * (double)free) / (uint64_t)sharers;
}

/* What was freed is there for what comes, and must not be counted twice. */
static void note_process(tg_ci_need* need) {
  tg_memory_trim();
  need->process = tg_memory_held(&need->highest);
}

static tg_status no_product(void* context, int k, const double* x, double* y, size_t ld) {
  (void)context, (void)k, (void)x, (void)y, (void)ld;
  return tg_fail(TG_ERR_INTERNAL, "an estimate multiplies nothing");
}

/* Vectors multiplied at once: of several PEs it is settled before, as room for x is. */
static int block_of(const run* r, const tg_ci_need* need) {
  if (need->block || r->pes.count == 1) return need->block;
  return r->problem->kind == TG_CI_NUCLEUS || need->states < 2 ? 2
         : need->states < 4                                    ? need->states
                                                               : 4;
}

/* What several PEs have of vectors besides the eigen-solver's: x of an exchange in each, and the
 * states as a whole at the end, while one of them is gathered. */
static uint64_t shared_vectors(const run* r, const tg_ci_need* need, uint64_t dimension) {
  if (r->pes.count == 1) return 0;
  return (uint64_t)r->pes.local * tg_ci_exchange_bytes(dimension, block_of(r, need)) +
         ((uint64_t)need->states + 1) * dimension * sizeof(double);
}

static bool on_gpu(const run* r) { return r->params->backend == TG_CI_CUDA; }

/* Of one PE. memory: what this process may take for vectors. */
static tg_eigen_params eigen_params(const run* r, const tg_ci_need* need, uint64_t dimension,
                                    uint64_t memory) {
  const uint64_t shared = shared_vectors(r, need, dimension);
  memory = (memory > shared ? memory - shared : 1) / (uint64_t)r->pes.local;
  tg_eigen_params e = tg_eigen_defaults();
  e.states = need->states;
  e.block = on_gpu(r) ? need->block : block_of(r, need);
  e.method = r->problem->kind == TG_CI_MOLECULE ? TG_EIGEN_DAVIDSON : TG_EIGEN_LANCZOS;
  e.tolerance = tg_ci_tolerance(r->problem->kind, r->params->tolerance);
  e.threads = r->pes.threads;
  e.check = r->params->check;
  /* beyond 4 GiB a quarter of the room is left to the operator */
  const uint64_t usual = (uint64_t)4 << 30, large = memory - memory / 4;
  const uint64_t most = usual > large ? usual : large;
  e.memory = (size_t)(memory < most ? memory : most);
  return e;
}

/* Bytes of the eigen-solver's vectors, at most the room there is. TG_ERR_MACHINE where the fewest
 * with which it works do not fit. */
static tg_status vectors_need(const run* r, const tg_ci_need* need, uint64_t dimension,
                              uint64_t* bytes) {
  const uint64_t others = need->space + need->tables;
  const uint64_t room = r->memory > others ? r->memory - others : 0;
  /* rows of equal numbers of elements are not of equal numbers of states */
  const uint64_t rows =
      r->pes.count == 1 ? dimension : dimension / (uint64_t)r->pes.count * 11 / 10;
  const tg_eigen_problem problem = {
      .n = (size_t)(rows ? rows : 1), .n_total = (size_t)dimension, .apply = no_product};
  if (room == 0 || dimension > room / sizeof(double))
    return tg_fail(
        TG_ERR_MACHINE,
        "the basis of %s%.4g states needs %.3g GB for a single vector, and %.3g GB may be "
        "used; truncate it (nmax) or allow more memory",
        dimension == UINT64_MAX ? "more than " : "", (double)dimension, 8e-9 * (double)dimension,
        1e-9 * (double)r->memory);
  const tg_eigen_params e = eigen_params(r, need, dimension, room);
  *bytes = tg_eigen_bytes(&problem, &e);
  if (!*bytes) return TG_ERR_MACHINE; /* the message is set */
  *bytes = *bytes * (uint64_t)r->pes.local + shared_vectors(r, need, dimension);
  return TG_OK;
}

/* The GPU, where there is to be one, or those of this process. */
static tg_status find_gpu(run* r) {
  int device = r->params->device;
  if (!on_gpu(r)) return TG_OK;
  if (r->pes.count == 1 && r->params->gpus <= 1 && !r->pes.world)
    return tg_ci_device_room_query(device, &r->gpu);
  if (r->pes.world) {
    void* stream;
    if (strcmp(tg_world_transport(r->pes.world), "nvshmem") != 0)
      return tg_fail(TG_ERR_INPUT,
                     "processes that share states on GPUs talk by transport nvshmem, not %s; or "
                     "one process has several GPUs (--gpus)",
                     tg_world_transport(r->pes.world));
    if (r->params->gpus > 1)
      return tg_fail(TG_ERR_INPUT, "%d GPUs are asked for, and a process of several has one",
                     r->params->gpus);
    TG_TRY(tg_world_device(r->pes.world, &device, &stream));
  }
  return tg_ci_device_room_share(device, r->params->gpus > 1 ? r->params->gpus : 1, &r->pes,
                                 &r->gpu);
}

/* Of a GPU's sector the host gets the states that were found alone. */
static tg_status gpu_vectors_need(const run* r, const tg_ci_need* need, uint64_t dimension,
                                  uint64_t* bytes) {
  uint64_t fewest, usual;
  const tg_eigen_params e = eigen_params(r, need, dimension, r->memory);
  TG_TRY(tg_ci_device_vectors(&r->gpu, dimension, &e, &fewest, &usual));
  *bytes = (uint64_t)need->states * dimension * sizeof(double);
  if (r->pes.count > 1) *bytes *= 2; /* PEs' rows, and all of them at the first */
  if (need->space + *bytes <= r->memory) return TG_OK;
  return tg_fail(TG_ERR_MACHINE,
                 "the host needs %.3g GB for %d states of %.4g numbers, and %.3g GB may be used; "
                 "ask for fewer --states or allow more memory",
                 1e-9 * (double)(need->space + *bytes), need->states, (double)dimension,
                 1e-9 * (double)r->memory);
}

static tg_ci_space_params space_of(const tg_ci_problem* problem, unsigned symmetry) {
  tg_ci_space_params space = problem->space;
  space.symmetry = (int)symmetry;
  return space;
}

/* Step 1. */
static tg_status need_of_space(const run* r, tg_ci_need* need) {
  const tg_ci_problem* p = r->problem;
  size_t bytes = 0;
  uint64_t dimension = 0;
  need->symmetry = p->sectors[r->sector];
  const tg_ci_space_params space = space_of(p, need->symmetry);
  TG_TRY(tg_ci_space_estimate(p->h, &space, &dimension, &bytes));
  need->space = bytes;
  need->states = tg_ci_usual_states(r->params->states);
  if ((uint64_t)need->states > p->levels[r->sector]) need->states = (int)p->levels[r->sector];
  return on_gpu(r) ? gpu_vectors_need(r, need, dimension, &need->vectors)
                   : vectors_need(r, need, dimension, &need->vectors);
}

/* What stays of a sector: its states and strings. */
static uint64_t results_bytes(const tg_ci_problem* p, const tg_ci_need* need) {
  return need->space +
         (uint64_t)need->states * sizeof(double) * tg_ci_problem_dimension(p, need->symmetry);
}

static void take_memory(run* r, uint64_t bytes) {
  r->memory -= bytes < r->memory ? bytes : r->memory - 1;
}

static tg_ci_operator_params operator_params(const run* r, const tg_ci_need* need) {
  const uint64_t others = need->space + need->vectors;
  /* at least one byte: 0 would stand for a choice */
  return (tg_ci_operator_params){.storage = r->params->storage,
                                 .memory = r->memory > others ? r->memory - others : 1,
                                 .later = need->vectors,
                                 .threads = r->pes.threads,
                                 .pes = r->pes.count,
                                 .local = r->pes.local};
}

/* The vectors leave room for the tables, which are known once the strings are there. */
static tg_status need_of_tables(const run* r, const tg_ci_hamiltonian* h, const tg_ci_space* space,
                                tg_ci_need* need) {
  const tg_ci_operator_params params = operator_params(r, need);
  uint64_t making;
  TG_TRY(tg_ci_operator_tables(h, space, &params, &need->tables, &making));
  return vectors_need(r, need, space->dimension, &need->vectors);
}

/* A stored matrix multiplies four vectors in little more time than one, which pays for the products
 * that a wider block takes (docs/eigen.md), and blocks of four see three copies of a level. */
static void choose_block(const run* r, tg_ci_need* need) {
  enum { STORED_BLOCK = 4 };
  tg_ci_need wide = *need;
  wide.block = STORED_BLOCK;
  if (need->facts.storage == TG_CI_STORAGE_STORED && r->problem->kind == TG_CI_NUCLEUS &&
      vectors_need(r, &wide, need->facts.dimension, &wide.vectors) == TG_OK)
    *need = wide;
}

/* A stored matrix is made from the tables, which go before the vectors come. */
static void set_peak(tg_ci_need* need) {
  const tg_ci_operator_facts* f = &need->facts;
  const bool stored = f->storage == TG_CI_STORAGE_STORED;
  const uint64_t more = stored && need->vectors < f->tables ? f->tables : need->vectors;
  need->peak = need->process + need->space + more + (stored ? f->stored_bytes : f->tables);
  const uint64_t making = need->process + need->space + f->making;
  if (need->peak < making) need->peak = making;
  if (need->peak < need->highest) need->peak = need->highest;
}

/* ---- a sector ---- */

static tg_status multiply(void* context, int k, const double* x, double* y, size_t ld) {
  return tg_ci_operator_apply(context, k, x, y, ld);
}

static tg_status report(void* context, const tg_eigen_progress* progress, tg_eigen_solver* solver) {
  const run* r = context;
  (void)solver;
  return r->params->progress(r->params->context, r->problem, r->sector, progress);
}

static bool stop_asked(void* context) {
  const run* r = context;
  return r->params->interrupted(r->params->context);
}

static tg_status find_states(run* r, tg_ci_operator* op, tg_ci_sector* s) {
  const tg_eigen_problem problem = {
      .n = (size_t)s->space->dimension,
      .context = op,
      .apply = multiply,
      .diagonal = r->problem->kind == TG_CI_MOLECULE ? tg_ci_operator_diagonal(op) : NULL};
  tg_eigen_params e =
      eigen_params(r, &s->need, s->space->dimension, r->memory - s->need.space - s->need.tables);
  if (r->params->progress) e.progress = report;
  if (r->params->interrupted) e.interrupted = stop_asked;
  e.context = r;
  if (r->params->restart)
    return tg_ci_restart_solve(&r->restart, r->sector, &problem, &e, &s->result);
  return tg_eigen_solve(&problem, &e, &s->result);
}

static tg_status solve_or_go_on(void* context, const tg_eigen_problem* problem,
                                const tg_eigen_params* params, tg_eigen_result* out) {
  const run* r = context;
  if (r->params->restart) return tg_ci_restart_solve(&r->restart, r->sector, problem, params, out);
  return tg_eigen_solve(problem, params, out);
}

static tg_ci_device_sector gpu_sector(run* r, const tg_ci_space* space, const tg_ci_need* need) {
  tg_ci_device_sector s = {.room = &r->gpu,
                           .problem = r->problem,
                           .params = r->params,
                           .space = space,
                           .eigen = eigen_params(r, need, space->dimension, r->memory),
                           .solve = solve_or_go_on,
                           .context = r,
                           .pes = &r->pes,
                           .sector = r->sector,
                           .restart = r->params->restart ? &r->restart : NULL};
  if (r->params->progress) s.eigen.progress = report;
  if (r->params->interrupted) s.eigen.interrupted = stop_asked;
  s.eigen.context = r;
  return s;
}

static void set_gpu_peak(tg_ci_need* need) {
  const tg_ci_operator_facts* f = &need->facts;
  need->peak = need->process + need->space + f->tables + need->vectors;
  if (need->peak < need->highest) need->peak = need->highest;
}

/* Steps 2 and 3 on a GPU. */
static tg_status diagonalise_on_gpu(run* r, const tg_ci_hamiltonian* h, tg_ci_sector* s) {
  const tg_ci_device_sector sector = gpu_sector(r, s->space, &s->need);
  TG_TRY(tg_ci_device_sector_solve(&sector, h, s));
  set_gpu_peak(&s->need);
  return TG_OK;
}

/* The same by several PEs. */
static tg_status find_shared(run* r, tg_ci_operator* op, tg_ci_sector* s) {
  const uint64_t others = s->need.space + s->need.tables;
  const tg_ci_shared_solve what = {
      .problem = r->problem,
      .params = r->params,
      .sector = r->sector,
      .op = op,
      .eigen = eigen_params(r, &s->need, s->space->dimension,
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
static tg_status settle_choices(run* r, tg_ci_operator* op, tg_ci_need* need) {
  need->facts = tg_ci_operator_facts_of(op);
  int64_t stored = need->facts.storage == TG_CI_STORAGE_STORED;
  TG_TRY(tg_ci_pes_least(&r->pes, &stored));
  if (!stored) tg_ci_operator_set_storage(op, TG_CI_STORAGE_FLY);
  need->facts = tg_ci_operator_facts_of(op);
  choose_block(r, need);
  int64_t block = need->block;
  TG_TRY(tg_ci_pes_least(&r->pes, &block));
  need->block = (int)block;
  return TG_OK;
}

/* Steps 2 and 3 with this operator, whose states are those of H. */
static tg_status diagonalise(run* r, const tg_ci_hamiltonian* h, tg_ci_sector* s) {
  tg_ci_operator* op = NULL;
  if (on_gpu(r)) return diagonalise_on_gpu(r, h, s);
  const double start = tg_time_now();
  tg_status status = TG_OK;
  TG_TRY(tg_ci_pes_agree(&r->pes, need_of_tables(r, h, s->space, &s->need)));
  const tg_ci_operator_params params = operator_params(r, &s->need);
  TG_TRY_GOTO(tg_ci_pes_agree(&r->pes, tg_ci_operator_create(h, s->space, &params, &op)), done);
  TG_TRY_GOTO(settle_choices(r, op, &s->need), done);
  set_peak(&s->need);
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
static tg_status diagonalise_one_spin(run* r, tg_ci_sector* s) {
  const tg_ci_problem* p = r->problem;
  const double j = 0.5 * p->two_j;
  const tg_ci_lifting lifting = {.h = p->h,
                                 .squared = p->label[TG_CI_LABEL_J],
                                 .value = j * (j + 1),
                                 .space = s->space,
                                 .threads = r->pes.threads,
                                 .on_gpu = on_gpu(r),
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
    tg_eigen_result_free(&s->result);
    strength *= 4;
  }
  return tg_fail(TG_ERR_NUMERICS,
                 "states of higher %s are not parted from those asked for; ask for fewer, or a "
                 "smaller tolerance",
                 p->kind == TG_CI_NUCLEUS ? "J" : "S");
}

static tg_status solve_sector(run* r, tg_ci_spectrum* spectrum) {
  tg_ci_sector* s = &spectrum->sectors[r->sector];
  double start = tg_time_now();
  note_process(&s->need);
  TG_TRY(tg_ci_pes_agree(&r->pes, need_of_space(r, &s->need))); /* 1 */
  const tg_ci_space_params space = space_of(r->problem, s->need.symmetry);
  tg_status status = tg_ci_space_make(r->problem->h, &space, &s->space); /* 2 */
  TG_TRY(tg_ci_pes_agree(&r->pes, status));
  s->setup_s = tg_time_now() - start;
  TG_TRY(r->problem->two_j < 0 ? diagonalise(r, r->problem->h, s) : diagonalise_one_spin(r, s));
  start = tg_time_now();
  tg_ci_solve_params of_labels = *r->params;
  of_labels.threads = r->pes.threads;
  if (on_gpu(r)) of_labels.device = r->gpu.device;
  if (tg_ci_pes_lead(&r->pes)) /* 4, 5 */
    status = tg_ci_label_levels(r->problem, &of_labels, r->sector, spectrum);
  TG_TRY(tg_ci_pes_agree(&r->pes, status));
  s->labels_s = tg_time_now() - start;
  take_memory(r, results_bytes(r->problem, &s->need));
  return TG_OK;
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
static tg_status add_results(run* r, tg_ci_need* need) {
  for (size_t s = 0; s < r->sector; s++) {
    run other = *r;
    tg_ci_need n = {0};
    other.sector = s;
    TG_TRY(need_of_space(&other, &n));
    need->process += results_bytes(r->problem, &n);
    take_memory(r, results_bytes(r->problem, &n));
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
  run r = {.problem = problem, .params = params, .sector = sector, .pes = pes_here(params)};
  tg_ci_need need = {0};
  tg_ci_space* space = NULL;
  r.memory = memory_of(params, &r.pes);
  TG_TRY(find_gpu(&r));
  note_process(&need);
  TG_TRY(add_results(&r, &need));
  TG_TRY(need_of_space(&r, &need));
  const tg_ci_space_params wanted = space_of(problem, need.symmetry);
  TG_TRY(tg_ci_space_make(problem->h, &wanted, &space));
  if (on_gpu(&r)) {
    const tg_ci_device_sector on_device = gpu_sector(&r, space, &need);
    const tg_status known = tg_ci_device_sector_need(&on_device, problem->h, &need);
    tg_ci_space_free(space);
    TG_TRY(known);
    set_gpu_peak(&need);
    *out = need;
    return TG_OK;
  }
  tg_status status = need_of_tables(&r, problem->h, space, &need);
  tg_ci_operator_params of_operator = operator_params(&r, &need);
  of_operator.split = &need.split;
  if (status == TG_OK)
    status = tg_ci_operator_estimate(problem->h, space, &of_operator, &need.facts);
  tg_ci_space_free(space);
  TG_TRY(status);
  choose_block(&r, &need);
  set_peak(&need);
  need.seconds = seconds_for(&need, threads_of(params) * r.pes.count / r.pes.local);
  *out = need;
  return TG_OK;
}

/* The first process looks for the restart file, and all go on or none. */
static tg_status begin_restart(run* r) {
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

static tg_status solve_all(run* r, tg_ci_spectrum* out) {
  tg_status status = TG_OK;
  tg_ci_spectrum spectrum = {0};
  const tg_ci_problem* problem = r->problem;
  const double start = tg_time_now();
  size_t room = 0;
  TG_TRY(check_states(problem, r->params, &room));
  TG_TRY(find_gpu(r));
  TG_TRY(begin_restart(r));
  TG_TRY_GOTO(TG_ALLOCATE(problem->sector_count, "sectors", &spectrum.sectors), failed);
  spectrum.sector_count = problem->sector_count;
  TG_TRY_GOTO(TG_ALLOCATE(room, "levels", &spectrum.levels), failed);
  for (r->sector = 0; r->sector < problem->sector_count; r->sector++)
    TG_TRY_GOTO(solve_sector(r, &spectrum), failed);
  if (spectrum.level_count)
    qsort(spectrum.levels, spectrum.level_count, sizeof *spectrum.levels, by_energy);
  spectrum.seconds = tg_time_now() - start;
  *out = spectrum;
  return TG_OK;
failed:
  tg_ci_spectrum_free(&spectrum);
  return status;
}

typedef struct process_context {
  run* r;
  tg_ci_spectrum* out;
} process_context;

static tg_status on_process(tg_world* world, void* context) {
  process_context* c = context;
  c->r->pes = tg_ci_pes_of_world(world, c->r->params->threads);
  c->r->memory = memory_of(c->r->params, &c->r->pes);
  return solve_all(c->r, c->out);
}

tg_status tg_ci_solve(const tg_ci_problem* problem, const tg_ci_solve_params* params,
                      tg_ci_spectrum* out) {
  run r = {.problem = problem, .params = params, .pes = pes_here(params)};
  if (tg_ci_pes_are_processes(params->transport)) {
    const tg_world_params world = {
        .transport = params->transport, .pe_count = params->pes, .deadline_s = r.pes.deadline_s};
    process_context context = {&r, out};
    return tg_world_run(&world, on_process, &context);
  }
  r.memory = memory_of(params, &r.pes);
  return solve_all(&r, out);
}
