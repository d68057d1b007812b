/* SPDX-License-Identifier: Apache-2.0 */
#include "ci/pes.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "base/memory.h"
#include "base/timer.h"
#include "ci/device_share.h"
#include "ci/states_room.h"

bool tg_ci_pes_are_processes(const char* transport) {
  return transport && strcmp(transport, "loop") != 0;
}

/* What OpenMP would take; a processor that no launcher has dealt out is shared with the other
 * processes of the machine. */
static int usual_threads(const tg_world* world) {
#ifdef _OPENMP
  cpu_set_t mine;
  const int all = omp_get_max_threads(), others = tg_world_node_pe_count(world);
  CPU_ZERO(&mine);
  const bool chosen = getenv("OMP_NUM_THREADS") != NULL;
  const bool dealt_out = sched_getaffinity(0, sizeof mine, &mine) == 0 &&
                         CPU_COUNT(&mine) < sysconf(_SC_NPROCESSORS_ONLN);
  return chosen || dealt_out ? all : all > others ? all / others : 1;
#else
  (void)world;
  return 1;
#endif
}

tg_ci_pes tg_ci_pes_of_world(tg_world* world, int threads) {
  return (tg_ci_pes){.count = tg_world_pe_count(world),
                     .local = 1,
                     .world = world,
                     .threads = threads > 0 ? threads : usual_threads(world)};
}

tg_status tg_ci_pes_agree(const tg_ci_pes* pes, tg_status status) {
  return pes->world ? tg_world_agree(pes->world, status) : status;
}

tg_status tg_ci_pes_tell(const tg_ci_pes* pes, void* data, size_t bytes) {
  return pes->world ? tg_world_broadcast(pes->world, 0, data, bytes) : TG_OK;
}

tg_status tg_ci_pes_least(const tg_ci_pes* pes, int64_t* number) {
  int64_t minus = -*number;
  if (!pes->world) return TG_OK;
  TG_TRY(tg_world_max_int64(pes->world, &minus, 1));
  *number = -minus;
  return TG_OK;
}

bool tg_ci_pes_lead(const tg_ci_pes* pes) { return !pes->world || tg_world_pe(pes->world) == 0; }

/* ---- one PE ---- */

typedef struct shared {
  const tg_ci_pes* pes;
  const tg_ci_shared_solve* what;
  double* states; /* of threads: [dimension, states], of which each PE writes its rows */
} shared;

typedef struct pe {
  const shared* of;
  tg_world* world;
  const tg_ci_distribution* split;
  tg_ci_share* share;
  tg_ci_device_share* gpu; /* in its place */
  tg_status lost;          /* why the PEs could not ask each other whether to stop */
  char lost_words[1024];
} pe;

static tg_status multiply(void* context, int k, const double* x, double* y, size_t ld) {
  const pe* p = context;
  return p->gpu ? tg_ci_device_share_apply(p->gpu, k, x, y, ld)
                : tg_ci_share_apply(p->share, k, x, y, ld);
}

static tg_status sum_there(void* context, double* values, size_t count) {
  const pe* p = context;
  return tg_ci_device_share_sum(p->gpu, values, count);
}

static tg_status open_outlet(void* context, int k, tg_eigen_targets* out) {
  const pe* p = context;
  return tg_ci_device_share_open(p->gpu, k, out);
}

static tg_status close_outlet(void* context, int k, const double* x, size_t ld) {
  const pe* p = context;
  return tg_ci_device_share_close(p->gpu, k, x, ld);
}

static tg_status multiply_made(void* context, int k, double* y, size_t ld) {
  const pe* p = context;
  return tg_ci_device_share_apply_made(p->gpu, k, y, ld);
}

static const tg_eigen_outlet outlet = {open_outlet, close_outlet, multiply_made};

/* The PEs' values one after the other, combined in their order: the same bits on all. */
static tg_status reduce(void* context, tg_eigen_reduction what, double* values, size_t count) {
  const pe* p = context;
  if (what == TG_EIGEN_SUM) return tg_world_sum_doubles(p->world, values, count);
  const size_t pes = (size_t)tg_world_pe_count(p->world);
  double* all = NULL;
  tg_status status = TG_OK;
  TG_TRY_GOTO(TG_ALLOCATE(pes * count, "values of all processing elements", &all), done);
  TG_TRY_GOTO(tg_world_all_gather(p->world, values, count * sizeof *values, all), done);
  for (size_t i = 0; i < pes * count; i++) {
    double* value = &values[i % count];
    *value = what == TG_EIGEN_MIN ? fmin(*value, all[i]) : fmax(*value, all[i]);
  }
done:
  tg_free(all);
  return status;
}

static tg_status agree(void* context, tg_status status) {
  const pe* p = context;
  return tg_world_agree(p->world, status);
}

/* Ctrl-C may reach one process before the others. Where one of them is gone the solver stops, too,
 * but that is no interruption (see_loss). */
static bool stop_asked(void* context) {
  pe* p = context;
  const tg_ci_solve_params* params = p->of->what->params;
  int64_t stop = params->interrupted(params->context);
  p->lost = tg_world_max_int64(p->world, &stop, 1);
  if (p->lost == TG_OK) return stop;
  snprintf(p->lost_words, sizeof p->lost_words, "%s", tg_last_error());
  return true;
}

static tg_status see_loss(const pe* p, tg_status status) {
  return p->lost == TG_OK ? status : tg_fail(p->lost, "%s", p->lost_words);
}

static tg_status report(void* context, const tg_eigen_progress* progress, tg_eigen_solver* solver) {
  const pe* p = context;
  const tg_ci_shared_solve* what = p->of->what;
  (void)solver;
  return what->params->progress(what->params->context, what->problem, what->sector, progress);
}

/* Vectors of the whole space at the first process, in place of its rows of them. */
static tg_status gather_states(const pe* p, tg_eigen_result* result) {
  const size_t dimension = (size_t)p->split->first[p->split->pe_count];
  const bool first = tg_world_pe(p->world) == 0;
  double* whole = NULL;
  tg_status status =
      first ? TG_ALLOCATE((size_t)result->states * dimension, "the states", &whole) : TG_OK;
  status = tg_world_agree(p->world, status);
  for (int i = 0; status == TG_OK && i < result->states; i++)
    status = tg_ci_rows_gather(p->world, p->split, result->vectors + (size_t)i * result->ld,
                               whole ? whole + (size_t)i * dimension : NULL);
  if (status != TG_OK) {
    tg_free(whole);
    return status;
  }
  tg_free(result->vectors);
  result->vectors = whole;
  result->ld = dimension;
  return TG_OK;
}

static tg_status gather_facts(const pe* p, tg_ci_sector* out) {
  const tg_ci_share_facts mine =
      p->gpu ? tg_ci_device_share_facts_of(p->gpu) : tg_ci_share_facts_of(p->share);
  void* all = NULL;
  size_t capacity = 0;
  tg_status status;
  TG_TRY(tg_world_gather(p->world, 0, &mine, sizeof mine, &all, &capacity, NULL));
  if (p->gpu) {
    tg_ci_device_operator_facts facts;
    TG_TRY_GOTO(tg_ci_device_share_operators(p->gpu, &facts), failed);
    if (tg_world_pe(p->world) == 0) *p->of->what->gpus->facts = facts;
  }
  if (tg_world_pe(p->world) != 0) {
    tg_free(all);
    return TG_OK;
  }
  tg_free(out->shares);
  out->shares = all;
  out->pe_count = tg_world_pe_count(p->world);
  return TG_OK;
failed:
  tg_free(all);
  return status;
}

/* Vectors are where the operator is, in what it leaves of the memory. */
static tg_status on_the_gpu(const pe* p, bool diagonal, tg_eigen_problem* problem,
                            tg_eigen_params* e) {
  const uint64_t memory = p->of->what->gpus->params->memory;
  const uint64_t taken = tg_ci_device_share_bytes(p->gpu);
  e->memory = memory > taken ? (size_t)(memory - taken) : 1;
  problem->fingerprint = tg_ci_device_share_mark(p->gpu, p->of->what->gpus->params);
  problem->place = TG_EIGEN_CUDA;
  problem->device = tg_ci_device_share_device(p->gpu);
  problem->stream = tg_ci_device_share_stream(p->gpu);
  problem->sum_there = sum_there;
  problem->outlet = &outlet;
  return diagonal ? tg_ci_device_share_diagonal(p->gpu, &problem->diagonal) : TG_OK;
}

static tg_status find_states(pe* p, tg_eigen_result* result) {
  const tg_ci_shared_solve* what = p->of->what;
  const tg_ci_distribution* d = p->split;
  const int number = tg_world_pe(p->world);
  tg_eigen_problem problem = {.n = (size_t)(d->first[number + 1] - d->first[number]),
                              .n_total = (size_t)d->first[d->pe_count],
                              .first = (size_t)d->first[number],
                              .context = p,
                              .apply = multiply,
                              .reduce = reduce,
                              .agree = agree};
  const bool molecule = what->problem->kind == TG_CI_MOLECULE;
  tg_eigen_params e = what->eigen;
  if (p->gpu)
    TG_TRY(tg_world_agree(p->world, on_the_gpu(p, molecule, &problem, &e)));
  else if (molecule)
    problem.diagonal = tg_ci_share_diagonal(p->share);
  if (what->params->progress && tg_world_pe(p->world) == 0) e.progress = report;
  if (what->params->interrupted) e.interrupted = stop_asked;
  e.context = p;
  if (p->of->states) {
    e.into = p->of->states + problem.first;
    e.into_ld = problem.n_total;
  }
  if (!what->restart) return see_loss(p, tg_eigen_solve(&problem, &e, result));
  tg_ci_restart restart = *what->restart;
  restart.world = p->world;
  return see_loss(p, tg_ci_restart_solve(&restart, what->sector, &problem, &e, result));
}

static int threads_of_pe(const tg_ci_pes* pes) {
#ifdef _OPENMP
  const int all = pes->threads > 0 ? pes->threads : omp_get_max_threads();
#else
  const int all = 1;
#endif
  const int mine = pes->local > 1 ? all / pes->local : all;
  return mine > 1 ? mine : 1;
}

/* Collective: this PE's rows of the operator. */
static tg_status make_share(pe* p) {
  const tg_ci_shared_solve* what = p->of->what;
  if (what->gpus) {
    const tg_ci_device_share_params params = {.h = what->gpus->h,
                                              .space = what->gpus->space,
                                              .distribution = what->gpus->split,
                                              .op = what->gpus->params,
                                              .gpus = what->gpus->gpus,
                                              .block = what->eigen.block};
    p->split = what->gpus->split;
    TG_TRY(tg_ci_device_share_create(p->world, &params, &p->gpu));
    if (what->gpus->made && (p->of->pes->world || tg_world_pe(p->world) == 0))
      what->gpus->made(what->gpus->context);
    return TG_OK;
  }
  const tg_ci_share_params params = {
      .op = what->op, .block = what->eigen.block, .threads = what->eigen.threads};
  p->split = tg_ci_operator_distribution(what->op);
  TG_TRY(tg_ci_share_create(p->world, &params, &p->share));
  /* by now all PEs have made theirs of them */
  const bool acts = p->of->pes->world || tg_world_pe(p->world) == 0;
  if (acts && tg_ci_operator_facts_of(what->op).storage == TG_CI_STORAGE_STORED)
    tg_ci_operator_drop_tables(what->op);
  return TG_OK;
}

/* What this thread asks OpenMP for from now on, where it does not say how many threads. */
static void take_threads(const shared* of) {
#ifdef _OPENMP
  if (!of->pes->world) omp_set_num_threads(of->what->eigen.threads);
#else
  (void)of;
#endif
}

static tg_status on_pe(tg_world* world, void* context) {
  const shared* of = context;
  take_threads(of);
  tg_ci_sector* out = of->what->out;
  pe p = {.of = of, .world = world};
  tg_eigen_result result = {0};
  tg_status status;
  const double start = tg_time_now();
  TG_TRY(make_share(&p));
  const double made = tg_time_now();
  TG_TRY_GOTO(find_states(&p, &result), done);
  if (!of->states) TG_TRY_GOTO(gather_states(&p, &result), done);
  TG_TRY_GOTO(gather_facts(&p, out), done);
  if (tg_world_pe(world) == 0) {
    out->result = result;
    out->setup_s += made - start;
    out->solve_s += tg_time_now() - made;
    result = (tg_eigen_result){0};
  }
done:
  tg_eigen_result_free(&result);
  tg_ci_share_destroy(&p.share);
  tg_ci_device_share_destroy(&p.gpu);
  return status;
}

tg_status tg_ci_solve_shared(const tg_ci_pes* pes, const tg_ci_shared_solve* what) {
  tg_ci_shared_solve with = *what;
  with.eigen.threads = threads_of_pe(pes);
  shared of = {.pes = pes, .what = &with};
  if (pes->world) return on_pe(pes->world, &of);
  const tg_world_params params = {
      .transport = "loop", .pe_count = pes->count, .deadline_s = pes->deadline_s};
  const size_t dimension = (size_t)what->out->space->dimension;
  const size_t states = (size_t)what->eigen.states;
  tg_ci_states_room** room = &what->out->room;
  const int device = what->gpus ? what->gpus->params->device : -1;
  TG_TRY(tg_ci_states_room_begin(states * dimension, device, room));
  of.states = tg_ci_states_room_memory(*room);
  const tg_status status = tg_world_run(&params, on_pe, &of);
  if (status == TG_OK)
    what->out->result.vectors = tg_ci_states_room_take(*room);
  else
    tg_ci_states_room_end(room);
  return status;
}
