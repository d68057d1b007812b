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

/* Every step-th state of one operator, from number `first` on. */
static tg_status some(const work* w, int device, const tg_ci_expected* one, int first, int step) {
  tg_ci_device_operator_params params = *w->params;
  tg_ci_device_operator* op = NULL;
  tg_status status = TG_OK;
  if (first >= w->states->states) return TG_OK;
  params.device = device;
  params.fly = one->tables;
  TG_TRY(tg_ci_device_operator_create(one->o, w->space, &params, &op));
  for (int i = first; i < w->states->states && status == TG_OK; i += step)
    status = tg_ci_device_operator_expect(op, w->states->vectors + (size_t)i * w->states->ld,
                                          one->value + (size_t)i * w->stride, NULL);
  tg_ci_device_operator_free(op);
  return status;
}

/* GPUs that an operator has, and those that fewer operators than GPUs leave over. */
static tg_status on_gpu(const work* w, int gpu, int device) {
  const int groups = w->count < w->gpus ? w->count : w->gpus, mine = gpu % groups;
  const int members = (w->gpus - mine + groups - 1) / groups;
  for (int k = mine; k < w->count; k += groups)
    TG_TRY(some(w, device, &w->list[k], gpu / groups, members));
  return TG_OK;
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
