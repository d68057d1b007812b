/* SPDX-License-Identifier: Apache-2.0 */
#include "ci/device_parts.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/timer.h"
#include "ci/distribution.h"
#include "device/device.h"

enum { USUAL_DEADLINE_S = 86400 }; /* as of PEs on processors: products may take long */

/* Where a part's rows of x lie. */
typedef struct place {
  int device;
  const double* x;
  size_t ld;
} place;

typedef struct shared {
  const tg_ci_device_parts* of;
  tg_ci_distribution split;
  place* places; /* [parts] */
  double* whole; /* [dimension, states] the states found */
  tg_ci_sector* out;
  tg_ci_device_operator_facts* facts; /* [parts] */
} shared;

typedef struct part {
  shared* all;
  tg_world* world;
  int pe, count;
  tg_ci_device_operator* op;
  double* x; /* [dimension, block] */
} part;

static tg_status multiply(void* context, int k, const double* x, double* y, size_t ld) {
  part* p = context;
  const tg_rows* rows = tg_ci_device_operator_rows(p->op);
  place* places = p->all->places;
  const uint64_t* first = p->all->split.first;
  places[p->pe].x = x;
  places[p->pe].ld = ld;
  TG_TRY(tg_world_agree(p->world, tg_rows_get(rows, NULL, 0, NULL))); /* waits; and all meet */
  for (int step = 0; step < p->count; step++) {
    const int from = (p->pe + step) % p->count;
    const size_t count = (size_t)(first[from + 1] - first[from]);
    for (int c = 0; c < k && count > 0; c++)
      rows->ops->fetch(rows, places[from].device, places[from].x + (size_t)c * places[from].ld,
                       count, p->x + (size_t)c * rows->ld + first[from]);
  }
  return tg_ci_device_operator_apply(p->op, k, p->x, rows->ld, y, ld);
}

/* Values of the parts combined in their order: the same bits on all. */
static tg_status reduce(void* context, tg_eigen_reduction what, double* values, size_t count) {
  const part* p = context;
  if (what == TG_EIGEN_SUM) return tg_world_sum_doubles(p->world, values, count);
  double* all = NULL;
  TG_TRY(TG_ALLOCATE((size_t)p->count * count, "values of all parts", &all));
  const tg_status status = tg_world_all_gather(p->world, values, count * sizeof *values, all);
  for (size_t i = 0; status == TG_OK && i < (size_t)p->count * count; i++) {
    double* value = &values[i % count];
    *value = what == TG_EIGEN_MIN ? fmin(*value, all[i]) : fmax(*value, all[i]);
  }
  tg_free(all);
  return status;
}

static tg_status agree(void* context, tg_status status) {
  const part* p = context;
  return tg_world_agree(p->world, status);
}

/* Whether the caller wants an end may change between two parts' questions. */
static bool stop_asked(void* context) {
  const part* p = context;
  const tg_ci_solve_params* params = p->all->of->sector->params;
  int64_t stop = params->interrupted(params->context);
  return tg_world_max_int64(p->world, &stop, 1) != TG_OK || stop;
}

static tg_status report(void* context, const tg_eigen_progress* progress, tg_eigen_solver* solver) {
  const part* p = context;
  const tg_eigen_params* e = p->all->of->eigen;
  return e->progress(e->context, progress, solver);
}

/* This part's operator, and room for x. */
static tg_status make(part* p) {
  const tg_ci_device_parts* of = p->all->of;
  const uint64_t* first = p->all->split.first;
  const tg_ci_device_rows mine = {first[p->pe], first[p->pe + 1]};
  tg_ci_device_operator_params params = *of->params;
  params.device = p->all->places[p->pe].device;
  params.rows = &mine;
  if (mine.first == mine.end)
    return tg_fail(TG_ERR_INPUT, "the space is too small to be shared by %d GPUs; use fewer",
                   p->count);
  TG_TRY(tg_ci_device_operator_create(of->h, of->sector->space, &params, &p->op));
  p->all->facts[p->pe] = tg_ci_device_operator_facts_of(p->op);
  const tg_rows* rows = tg_ci_device_operator_rows(p->op);
  return rows->ops->allocate(rows, (size_t)of->eigen->block, "vectors of all GPUs", &p->x);
}

static tg_status find_states(part* p, tg_eigen_result* result) {
  const tg_ci_device_sector* s = p->all->of->sector;
  const uint64_t* first = p->all->split.first;
  tg_eigen_params e = *p->all->of->eigen;
  const tg_ci_device_operator_facts* f = &p->all->facts[p->pe];
  const bool fly = f->host.storage == TG_CI_STORAGE_FLY;
  const uint64_t dimension = s->space->dimension;
  const uint64_t taken =
      (fly ? f->fly_bytes : f->stored_bytes) + (uint64_t)e.block * dimension * sizeof(double);
  e.memory = s->room->usable > taken ? (size_t)(s->room->usable - taken) : 1;
  e.progress = e.progress && p->pe == 0 ? report : NULL;
  e.interrupted = s->params->interrupted ? stop_asked : NULL;
  e.context = p;
  tg_eigen_problem problem = {.n = (size_t)(first[p->pe + 1] - first[p->pe]),
                              .n_total = (size_t)dimension,
                              .first = (size_t)first[p->pe],
                              .context = p,
                              .apply = multiply,
                              .reduce = reduce,
                              .agree = agree,
                              .place = TG_EIGEN_CUDA,
                              .device = p->all->places[p->pe].device};
  tg_status status = TG_OK;
  if (e.method == TG_EIGEN_DAVIDSON)
    status = tg_ci_device_operator_diagonal(p->op, &problem.diagonal);
  TG_TRY(tg_world_agree(p->world, status));
  return s->solve(s->context, p->world, &problem, &e, result);
}

static tg_status on_part(tg_world* world, void* context) {
  part p = {
      .all = context, .world = world, .pe = tg_world_pe(world), .count = tg_world_pe_count(world)};
  tg_ci_sector* out = p.all->out;
  tg_eigen_result result = {0};
  tg_status status = TG_OK;
  const uint64_t first = p.all->split.first[p.pe], end = p.all->split.first[p.pe + 1];
  const size_t dimension = (size_t)p.all->of->sector->space->dimension;
  const double start = tg_time_now();
  TG_TRY_GOTO(tg_world_agree(world, make(&p)), done);
  const double made = tg_time_now();
  TG_TRY_GOTO(find_states(&p, &result), done);
  for (int i = 0; i < result.states; i++)
    memcpy(p.all->whole + (size_t)i * dimension + first, result.vectors + (size_t)i * result.ld,
           (size_t)(end - first) * sizeof(double));
  TG_TRY_GOTO(tg_world_barrier(world), done);
  if (p.pe == 0) {
    out->setup_s += made - start;
    out->solve_s += tg_time_now() - made;
    tg_free(result.vectors);
    out->result = result;
    out->result.vectors = p.all->whole;
    out->result.ld = dimension;
    p.all->whole = NULL;
    result = (tg_eigen_result){0};
  }
done:
  tg_eigen_result_free(&result);
  if (p.x) {
    const tg_rows* rows = tg_ci_device_operator_rows(p.op);
    rows->ops->release(rows, p.x);
  }
  tg_ci_device_operator_free(p.op);
  return status;
}

tg_status tg_ci_device_parts_solve(const tg_ci_device_parts* parts, tg_ci_sector* out,
                                   tg_ci_device_operator_facts* facts) {
  const tg_ci_device_sector* s = parts->sector;
  const int count = s->room->parts, there = tg_device_count();
  shared all = {.of = parts, .out = out};
  tg_status status = TG_OK;
  TG_TRY(tg_ci_distribution_make(parts->params->fly, count, &all.split));
  TG_TRY_GOTO(TG_ALLOCATE((size_t)count, "parts on GPUs", &all.places), done);
  TG_TRY_GOTO(TG_ALLOCATE((size_t)count, "parts on GPUs", &all.facts), done);
  TG_TRY_GOTO(TG_ALLOCATE((size_t)parts->eigen->states * (size_t)s->space->dimension, "the states",
                          &all.whole),
              done);
  for (int p = 0; p < count; p++) all.places[p].device = (s->room->device + p) % there;
  const double deadline = s->params->deadline_s;
  const tg_world_params world = {.transport = "loop",
                                 .pe_count = count,
                                 .deadline_s = deadline > 0 ? deadline : USUAL_DEADLINE_S};
  TG_TRY_GOTO(tg_world_run(&world, on_part, &all), done);
  *facts = all.facts[0];
  for (int p = 1; p < count; p++) {
    const tg_ci_device_operator_facts* f = &all.facts[p];
    if (f->stored_bytes > facts->stored_bytes) facts->stored_bytes = f->stored_bytes;
    if (f->product_bytes > facts->product_bytes) facts->product_bytes = f->product_bytes;
    if (f->device_s > facts->device_s) facts->device_s = f->device_s;
    facts->stored_elements += f->stored_elements;
    facts->host.stored += f->host.stored;
  }
done:
  tg_ci_distribution_free(&all.split);
  tg_free(all.places);
  tg_free(all.facts);
  tg_free(all.whole);
  return status;
}
