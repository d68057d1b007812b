/* SPDX-License-Identifier: Apache-2.0 */
#include "ci/device_expect.h"

#ifdef _OPENMP
#include <omp.h>
#endif

#include "comm/world.h"

typedef struct work {
  const tg_ci_expected* list;
  int count;
  const tg_ci_space* space;
  const tg_ci_device_operator_params* params;
  int gpus;
  const tg_eigen_result* states;
  size_t stride;
} work;

enum { MOST = 8 /* operators of a GPU at once */ };

/* The operators of one GPU and their vectors there: what is multiplied, shared by all, and the
 * products. */
typedef struct bench {
  int count;
  const tg_ci_expected* of[MOST];
  tg_ci_device_operator* op[MOST];
  bool own[MOST]; /* made here */
  double *x, *y[MOST];
} bench;

static const tg_rows* rows_of(const bench* b, int k) {
  return tg_ci_device_operator_rows(b->op[k]);
}

static void bench_free(bench* b) {
  if (b->x) rows_of(b, 0)->ops->release(rows_of(b, 0), b->x);
  for (int k = 0; k < b->count; k++) {
    if (b->y[k]) rows_of(b, k)->ops->release(rows_of(b, k), b->y[k]);
    if (b->own[k]) tg_ci_device_operator_free(b->op[k]);
  }
}

static tg_status bench_add(const work* w, int device, const tg_ci_expected* one, bench* b) {
  tg_ci_device_operator_params params = *w->params;
  const int k = b->count;
  params.device = device;
  params.fly = one->tables;
  b->of[k] = one;
  b->op[k] = one->device == device ? one->op : NULL;
  b->own[k] = b->op[k] == NULL;
  if (b->own[k]) TG_TRY(tg_ci_device_operator_create(one->o, w->space, &params, &b->op[k]));
  b->count++;
  if (k == 0) TG_TRY(rows_of(b, 0)->ops->allocate(rows_of(b, 0), 1, "a state", &b->x));
  return rows_of(b, k)->ops->allocate(rows_of(b, k), 1, "a product", &b->y[k]);
}

/* A state goes to the GPU once, and operators with streams of their own multiply side by side. */
static tg_status measure(const work* w, bench* b, int state) {
  const double* v = w->states->vectors + (size_t)state * w->states->ld;
  TG_TRY(tg_rows_put(rows_of(b, 0), v, rows_of(b, 0)->used, b->x)); /* is there when it returns */
  for (int k = 0; k < b->count; k++)
    TG_TRY(tg_ci_device_operator_apply(b->op[k], 1, b->x, rows_of(b, 0)->ld, b->y[k],
                                       rows_of(b, k)->ld));
  for (int k = 0; k < b->count; k++)
    TG_TRY(tg_rows_inner(rows_of(b, k), b->x, 1, b->y[k], 1,
                         b->of[k]->value + (size_t)state * w->stride, 1));
  return TG_OK;
}

/* GPUs that an operator has, and those that fewer operators than GPUs leave over: each takes some
 * of the states. */
static tg_status on_gpu(const work* w, int gpu, int device) {
  const int groups = w->count < w->gpus ? w->count : w->gpus, mine = gpu % groups;
  const int members = (w->gpus - mine + groups - 1) / groups;
  tg_status status = TG_OK;
  for (int begin = mine; begin < w->count; begin += MOST * groups) {
    bench b = {0};
    if (gpu / groups >= w->states->states) break;
    for (int k = begin; k < w->count && b.count < MOST; k += groups)
      TG_TRY_GOTO(bench_add(w, device, &w->list[k], &b), done);
    for (int i = gpu / groups; i < w->states->states; i += members)
      TG_TRY_GOTO(measure(w, &b, i), done);
  done:
    bench_free(&b);
    TG_TRY(status);
  }
  return status;
}

static tg_status on_pe(tg_world* world, void* context) {
  const work* w = context;
  const int pe = tg_world_pe(world);
#ifdef _OPENMP
  const int all = w->params->threads > 0 ? w->params->threads : omp_get_max_threads();
  omp_set_num_threads(all > w->gpus ? all / w->gpus : 1);
#endif
  return on_gpu(w, pe, pe);
}

tg_status tg_ci_device_expect(const tg_ci_expected* list, int count, const tg_ci_space* space,
                              const tg_ci_device_operator_params* params, int gpus,
                              const tg_eigen_result* states, size_t stride) {
  work w = {list, count, space, params, gpus, states, stride};
  if (count == 0) return TG_OK;
  if (gpus <= 1) {
    w.gpus = 1;
    return on_gpu(&w, 0, params->device);
  }
  const tg_world_params world = {.transport = "loop", .pe_count = gpus};
  return tg_world_run(&world, on_pe, &w);
}
