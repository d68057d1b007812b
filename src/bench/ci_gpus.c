/* SPDX-License-Identifier: Apache-2.0 */
/* Products by several GPUs, a PE on each. All start together; the slowest counts, from its start to
 * its rows of y, exchange and waits included. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/timer.h"
#include "bench/ci_gpu.h"
#include "ci/device_share.h"
#include "ci/solve_device.h"
#include "eigen/vectors.h"

enum { MOST_WIDTH = 4 };

/* What PEs measure, and what the first one writes down. */
typedef struct shared {
  const tg_bench_ci_gpu_params* params;
  tg_ci_device_share_params share;
  tg_bench_ci_gpu_result* result;
} shared;

/* A PE's vectors, and their products. */
typedef struct pe {
  tg_world* world;
  tg_ci_device_share* share;
  tg_eigen_problem problem;
  tg_rows rows;
  double *x, *y;
} pe;

static int by_size(const void* p, const void* q) {
  const double a = *(const double*)p, b = *(const double*)q;
  return a < b ? -1 : a > b;
}

static double median_of(double* values, int count) {
  qsort(values, (size_t)count, sizeof *values, by_size);
  return 0.5 * (values[count / 2] + values[(count - 1) / 2]);
}

/* Collective: the largest of a number of seconds. */
static tg_status slowest(const pe* p, double* seconds) {
  int64_t ns = (int64_t)(1e9 * *seconds);
  TG_TRY(tg_world_max_int64(p->world, &ns, 1));
  *seconds = 1e-9 * (double)ns;
  return TG_OK;
}

/* Seconds of a product of k vectors, and of the exchange in it, of the PE where each is longest. */
static tg_status time_one(pe* p, int k, double* product, double* exchange) {
  const tg_rows* rows = &p->rows;
  const double before = tg_ci_device_share_facts_of(p->share).exchange.exposed_s;
  TG_TRY(tg_world_barrier(p->world));
  rows->ops->mark(rows, 0);
  TG_TRY(tg_ci_device_share_apply(p->share, k, p->x, p->y, rows->ld));
  rows->ops->mark(rows, 1);
  TG_TRY(tg_rows_get(rows, p->y, 0, NULL)); /* waits */
  *product = rows->ops->between(rows);
  *exchange = tg_ci_device_share_facts_of(p->share).exchange.exposed_s - before;
  TG_TRY(slowest(p, product));
  return slowest(p, exchange);
}

static tg_status time_products(pe* p, const shared* s) {
  static const double long_s = 1; /* a product that is not repeated */
  double product[TG_BENCH_CI_REPEATS], exchange[TG_BENCH_CI_REPEATS];
  int repeats = s->params->repeats;
  for (int c = 0; c < MOST_WIDTH; c++)
    tg_rows_random(&p->rows, 1, (uint64_t)c, p->x + (size_t)c * p->rows.ld);
  for (int w = 0; w < TG_BENCH_CI_WIDTHS; w++) {
    const int k = tg_bench_ci_widths[w];
    TG_TRY(time_one(p, k, product, exchange)); /* warms up */
    if (product[0] > long_s) repeats = 1;
    for (int i = 0; i < repeats; i++) TG_TRY(time_one(p, k, product + i, exchange + i));
    const double median = median_of(product, repeats);
    if (tg_world_pe(p->world) == 0) {
      s->result->product_s[w] = median;
      s->result->exchange_s[w] = median_of(exchange, repeats);
    }
    if (median > 2 * long_s) break; /* wider ones are left out */
  }
  return TG_OK;
}

static tg_status make_vectors(pe* p, const tg_ci_distribution* d) {
  const int number = tg_world_pe(p->world);
  p->problem = (tg_eigen_problem){.n = (size_t)(d->first[number + 1] - d->first[number]),
                                  .n_total = (size_t)d->first[d->pe_count],
                                  .first = (size_t)d->first[number],
                                  .place = TG_EIGEN_CUDA,
                                  .device = tg_ci_device_share_device(p->share),
                                  .stream = tg_ci_device_share_stream(p->share)};
  tg_rows_shape(p->problem.n, &p->rows);
  p->rows.first = p->problem.first;
  p->rows.threads = 1;
  p->rows.problem = &p->problem;
  TG_TRY(tg_rows_cuda(&p->rows.ops));
  TG_TRY(p->rows.ops->open(&p->rows, MOST_WIDTH, MOST_WIDTH));
  TG_TRY(p->rows.ops->allocate(&p->rows, MOST_WIDTH, "vectors", &p->x));
  return p->rows.ops->allocate(&p->rows, MOST_WIDTH, "products", &p->y);
}

static tg_status on_pe(tg_world* world, void* context) {
  const shared* s = context;
  pe p = {.world = world};
  tg_ci_device_operator_facts facts;
  tg_status status;
  TG_TRY(tg_ci_device_share_create(world, &s->share, &p.share));
  TG_TRY_GOTO(tg_world_agree(world, make_vectors(&p, s->share.distribution)), done);
  TG_TRY_GOTO(time_products(&p, s), done);
  TG_TRY_GOTO(tg_ci_device_share_operators(p.share, &facts), done);
  facts.tables_s = s->result->facts.tables_s;
  status = tg_world_barrier(world);
  if (tg_world_pe(world) == 0) s->result->facts = facts;
done:
  if (p.rows.ops) {
    p.rows.ops->release(&p.rows, p.x);
    p.rows.ops->release(&p.rows, p.y);
    p.rows.ops->close(&p.rows);
  }
  tg_ci_device_share_destroy(&p.share);
  return status;
}

tg_status tg_bench_ci_gpus_products(const tg_ci_hamiltonian* h, const tg_ci_space* space,
                                    const tg_bench_ci_gpu_params* params,
                                    tg_bench_ci_gpu_result* out) {
  const tg_ci_pes pes = {.count = params->gpus, .local = params->gpus, .threads = params->threads};
  const tg_world_params world = {.transport = "loop", .pe_count = params->gpus};
  const uint64_t vectors = 4 * MOST_WIDTH * (space->dimension + 512) * sizeof(double);
  tg_ci_distribution split = {0};
  tg_ci_device_room room;
  tg_ci_fly fly;
  TG_TRY(tg_ci_device_room_share(0, params->gpus, &pes, &room));
  tg_ci_device_operator_params op = {.storage = params->storage,
                                     .memory = room.usable,
                                     .fewest = vectors,
                                     .usual = vectors,
                                     .threads = params->threads};
  const double start = tg_time_now();
  TG_TRY(tg_ci_device_tables(h, space, &op, &fly));
  out->facts.tables_s = tg_time_now() - start;
  tg_status status;
  TG_TRY_GOTO(tg_ci_distribution_make(&fly, params->gpus, &split), done);
  op.fly = &fly;
  shared s = {.params = params,
              .share = {.h = h,
                        .space = space,
                        .distribution = &split,
                        .op = &op,
                        .gpus = params->gpus,
                        .block = MOST_WIDTH},
              .result = out};
  status = tg_world_run(&world, on_pe, &s);
done:
  tg_ci_distribution_free(&split);
  tg_ci_fly_free(&fly);
  return status;
}
