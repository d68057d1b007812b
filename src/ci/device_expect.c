/* SPDX-License-Identifier: Apache-2.0 */
#include "ci/device_expect.h"

#ifdef _OPENMP
#include <omp.h>
#endif

#include "comm/world.h"

typedef struct work {
  const tg_ci_hamiltonian* o;
  const tg_ci_space* space;
  const tg_ci_device_operator_params* params;
  int gpus;
  const tg_eigen_result* states;
  double* value;
  size_t stride;
} work;

/* Every gpus-th state, from number `mine` on. */
static tg_status some(const work* w, int device, int mine) {
  tg_ci_device_operator_params params = *w->params;
  tg_ci_device_operator* op = NULL;
  tg_status status = TG_OK;
  params.device = device;
  TG_TRY(tg_ci_device_operator_create(w->o, w->space, &params, &op));
  for (int i = mine; i < w->states->states && status == TG_OK; i += w->gpus)
    status = tg_ci_device_operator_expect(op, w->states->vectors + (size_t)i * w->states->ld,
                                          w->value + (size_t)i * w->stride, NULL);
  tg_ci_device_operator_free(op);
  return status;
}

static tg_status on_pe(tg_world* world, void* context) {
  const work* w = context;
  const int pe = tg_world_pe(world);
#ifdef _OPENMP
  const int all = w->params->threads > 0 ? w->params->threads : omp_get_max_threads();
  omp_set_num_threads(all > w->gpus ? all / w->gpus : 1);
#endif
  return some(w, pe, pe);
}

tg_status tg_ci_device_expect(const tg_ci_hamiltonian* o, const tg_ci_space* space,
                              const tg_ci_device_operator_params* params, int gpus,
                              const tg_eigen_result* states, double* value, size_t stride) {
  work w = {o, space, params, gpus < states->states ? gpus : states->states, states, value, stride};
  if (w.gpus <= 1) {
    w.gpus = 1;
    return some(&w, gpus > 1 ? 0 : params->device, 0);
  }
  const tg_world_params world = {.transport = "loop", .pe_count = w.gpus};
  return tg_world_run(&world, on_pe, &w);
}
