/* SPDX-License-Identifier: Apache-2.0 */
#include "ci/solve_device.h"

#include <stdio.h>

#include "base/timer.h"
#include "device/device.h"

static double gb(uint64_t bytes) { return 1e-9 * (double)bytes; }

tg_status tg_ci_device_room_query(int device, tg_ci_device_room* out) {
  tg_device_info info;
  if (tg_device_count() == 0)
    return tg_fail(TG_ERR_MACHINE, "configuration interaction on a GPU: %s", tg_device_reason());
  TG_TRY(tg_device_query(device, &info));
  *out = (tg_ci_device_room){.device = device, .free = info.memory_free_bytes};
  snprintf(out->name, sizeof out->name, "%s", info.name);
  /* kernels, their stacks and the driver's own come on top */
  const uint64_t kept = out->free / 64 + ((uint64_t)256 << 20);
  out->usable = out->free > kept ? out->free - kept : 0;
  return TG_OK;
}

static tg_status no_product(void* context, int k, const double* x, double* y, size_t ld) {
  (void)context, (void)k, (void)x, (void)y, (void)ld;
  return tg_fail(TG_ERR_INTERNAL, "an estimate multiplies nothing");
}

static uint64_t bytes_of(uint64_t dimension, const tg_eigen_params* eigen, int basis) {
  const tg_eigen_problem problem = {
      .n = (size_t)dimension, .apply = no_product, .place = TG_EIGEN_CUDA};
  tg_eigen_params e = *eigen;
  e.basis = basis;
  e.memory = SIZE_MAX;
  return tg_eigen_bytes(&problem, &e);
}

tg_status tg_ci_device_vectors(const tg_ci_device_room* room, uint64_t dimension,
                               const tg_eigen_params* eigen, uint64_t* fewest, uint64_t* usual) {
  const int least = tg_eigen_least_basis(eigen);
  if (dimension > room->usable / sizeof(double))
    return tg_fail(
        TG_ERR_MACHINE,
        "GPU %d (%s): a single vector of the basis of %s%.4g states takes %.3g GB, and %.4g GB may "
        "be used; truncate the space (--nmax, --excitations, --occupation)",
        room->device, room->name, dimension == UINT64_MAX ? "more than " : "", (double)dimension,
        8e-9 * (double)dimension, gb(room->usable));
  *fewest = bytes_of(dimension, eigen, least);
  *usual = bytes_of(dimension, eigen, 0);
  if (*fewest == 0 || *usual == 0) return TG_ERR_INPUT; /* the message is set */
  if (*fewest <= room->usable) return TG_OK;
  return tg_fail(
      TG_ERR_MACHINE,
      "GPU %d (%s): %d states need at least %d vectors of %.3g GB, %.4g GB in all, and %.4g GB may "
      "be used; ask for fewer --states, truncate the space (--nmax, --excitations, --occupation), "
      "or use --backend omp",
      room->device, room->name, eigen->states, least + (eigen->block ? eigen->block : 2),
      8e-9 * (double)dimension, gb(*fewest), gb(room->usable));
}

static tg_status params_of(const tg_ci_device_sector* s, tg_ci_device_operator_params* out) {
  *out = (tg_ci_device_operator_params){.storage = s->params->storage,
                                        .device = s->room->device,
                                        .memory = s->room->usable,
                                        .host_memory = s->params->memory,
                                        .threads = s->params->threads};
  return tg_ci_device_vectors(s->room, s->space->dimension, &s->eigen, &out->fewest, &out->usual);
}

/* What the operator leaves is for vectors. One is multiplied at a time where the basis has to be
 * small: each restart would throw away more of a wide block's work. */
static tg_eigen_params share(const tg_ci_device_sector* s,
                             const tg_ci_device_operator_params* params,
                             const tg_ci_device_operator_facts* facts) {
  const bool fly = facts->host.storage == TG_CI_STORAGE_FLY;
  const uint64_t taken = fly ? facts->fly_bytes : facts->stored_bytes;
  const uint64_t left = s->room->usable > taken ? s->room->usable - taken : 0;
  tg_eigen_params e = s->eigen;
  e.memory = (size_t)left;
  if (left < params->usual && e.method == TG_EIGEN_LANCZOS && e.block == 0) e.block = 1;
  return e;
}

static void note(const tg_ci_device_sector* s, const tg_ci_device_operator_facts* facts,
                 const tg_eigen_params* e, tg_ci_need* out) {
  const tg_eigen_problem problem = {
      .n = (size_t)s->space->dimension, .apply = no_product, .place = TG_EIGEN_CUDA};
  out->facts = facts->host;
  out->gpu = (tg_ci_device_need){.used = true,
                                 .device = s->room->device,
                                 .free = s->room->free,
                                 .vectors = tg_eigen_bytes(&problem, e),
                                 .tables = facts->fly_bytes,
                                 .matrix = facts->stored_bytes,
                                 .making = facts->making_bytes,
                                 .product = facts->product_bytes,
                                 .tables_s = facts->tables_s,
                                 .device_s = facts->device_s};
  snprintf(out->gpu.name, sizeof out->gpu.name, "%s", s->room->name);
}

tg_status tg_ci_device_sector_need(const tg_ci_device_sector* s, const tg_ci_hamiltonian* h,
                                   tg_ci_need* out) {
  tg_ci_device_operator_params params;
  tg_ci_device_operator_facts facts;
  TG_TRY(params_of(s, &params));
  TG_TRY(tg_ci_device_operator_estimate(h, s->space, &params, &facts));
  const tg_eigen_params e = share(s, &params, &facts);
  note(s, &facts, &e, out);
  return TG_OK;
}

static tg_status multiply(void* context, int k, const double* x, double* y, size_t ld) {
  return tg_ci_device_operator_apply(context, k, x, y, ld);
}

tg_status tg_ci_device_sector_solve(const tg_ci_device_sector* s, const tg_ci_hamiltonian* h,
                                    tg_ci_sector* out) {
  tg_ci_device_operator_params params;
  tg_ci_device_operator* op = NULL;
  tg_status status = TG_OK;
  const double start = tg_time_now();
  TG_TRY(params_of(s, &params));
  TG_TRY(tg_ci_device_operator_create(h, s->space, &params, &op));
  const tg_ci_device_operator_facts facts = tg_ci_device_operator_facts_of(op);
  const tg_eigen_params e = share(s, &params, &facts);
  note(s, &facts, &e, &out->need);
  tg_eigen_problem problem = {.n = (size_t)s->space->dimension,
                              .context = op,
                              .apply = multiply,
                              .place = TG_EIGEN_CUDA,
                              .device = s->room->device};
  if (e.method == TG_EIGEN_DAVIDSON)
    TG_TRY_GOTO(tg_ci_device_operator_diagonal(op, &problem.diagonal), done);
  const double made = tg_time_now();
  out->setup_s += made - start;
  status = s->solve(s->context, &problem, &e, &out->result);
  out->solve_s += tg_time_now() - made;
done:
  tg_ci_device_operator_free(op);
  return status;
}
