/* SPDX-License-Identifier: Apache-2.0 */
#include "ci/solve_device.h"

#include <stdio.h>

#include "base/timer.h"
#include "ci/device_parts.h"
#include "device/device.h"

static double gb(uint64_t bytes) { return 1e-9 * (double)bytes; }

tg_status tg_ci_device_room_query(int device, int parts, tg_ci_device_room* out) {
  const int there = tg_device_count();
  if (there == 0)
    return tg_fail(TG_ERR_MACHINE, "configuration interaction on a GPU: %s", tg_device_reason());
  *out = (tg_ci_device_room){.device = device, .parts = parts > 1 ? parts : 1, .free = UINT64_MAX};
  const uint64_t sharers = (uint64_t)((out->parts + there - 1) / there);
  for (int p = 0; p < out->parts && p < there; p++) {
    tg_device_info info;
    TG_TRY(tg_device_query((device + p) % there, &info));
    if (p == 0) snprintf(out->name, sizeof out->name, "%s", info.name);
    const uint64_t free = info.memory_free_bytes / sharers;
    if (free < out->free) out->free = free;
  }
  /* kernels, their stacks and the driver's own come on top */
  const uint64_t kept = out->free / 64 + ((uint64_t)256 << 20) / sharers;
  out->usable = out->free > kept ? out->free - kept : 0;
  return TG_OK;
}

static tg_status no_product(void* context, int k, const double* x, double* y, size_t ld) {
  (void)context, (void)k, (void)x, (void)y, (void)ld;
  return tg_fail(TG_ERR_INTERNAL, "an estimate multiplies nothing");
}

/* Rows of equal numbers of matrix elements are not equally many. */
static uint64_t rows_of(const tg_ci_device_room* room, uint64_t dimension) {
  const uint64_t rows = dimension / (uint64_t)room->parts * 11 / 10 + 1;
  return room->parts == 1 || rows > dimension ? dimension : rows;
}

/* A part reads vectors as a whole, which it gathers before each product. */
static uint64_t gathered(const tg_ci_device_room* room, uint64_t dimension,
                         const tg_eigen_params* eigen) {
  const uint64_t block = eigen->block ? (uint64_t)eigen->block : 2;
  return room->parts == 1 ? 0 : block * dimension * sizeof(double);
}

static uint64_t bytes_of(const tg_ci_device_room* room, uint64_t dimension,
                         const tg_eigen_params* eigen, int basis) {
  const tg_eigen_problem problem = {.n = (size_t)rows_of(room, dimension),
                                    .n_total = (size_t)dimension,
                                    .apply = no_product,
                                    .place = TG_EIGEN_CUDA};
  tg_eigen_params e = *eigen;
  e.basis = basis;
  e.memory = SIZE_MAX;
  const uint64_t bytes = tg_eigen_bytes(&problem, &e);
  return bytes ? bytes + gathered(room, dimension, eigen) : 0;
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
  *fewest = bytes_of(room, dimension, eigen, least);
  *usual = bytes_of(room, dimension, eigen, 0);
  if (*fewest == 0 || *usual == 0) return TG_ERR_INPUT; /* the message is set */
  if (*fewest <= room->usable) return TG_OK;
  return tg_fail(
      TG_ERR_MACHINE,
      "GPU %d (%s): %d states need at least %d vectors of %.3g GB, %.4g GB in all, and %.4g GB may "
      "be used%s; ask for fewer --states, truncate the space (--nmax, --excitations, "
      "--occupation), use more --gpus, or --backend omp",
      room->device, room->name, eigen->states, least + (eigen->block ? eigen->block : 2),
      8e-9 * (double)dimension, gb(*fewest), gb(room->usable),
      room->parts > 1 ? " on each GPU" : "");
}

/* Vectors multiplied at once by several parts: it is settled before, as room for them is. */
static tg_eigen_params of_parts(const tg_ci_device_sector* s) {
  tg_eigen_params e = s->eigen;
  const int davidson = e.states < 4 ? e.states : 4;
  if (e.block == 0 && s->room->parts > 1) e.block = e.method == TG_EIGEN_LANCZOS ? 2 : davidson;
  return e;
}

static tg_status params_of(const tg_ci_device_sector* s, tg_ci_device_operator_params* out) {
  const tg_eigen_params e = of_parts(s);
  *out = (tg_ci_device_operator_params){.storage = s->params->storage,
                                        .device = s->room->device,
                                        .memory = s->room->usable,
                                        .host_memory = s->params->memory,
                                        .threads = s->params->threads};
  return tg_ci_device_vectors(s->room, s->space->dimension, &e, &out->fewest, &out->usual);
}

/* What the operator leaves is for vectors. One is multiplied at a time where the basis has to be
 * small: each restart would throw away more of a wide block's work. */
static tg_eigen_params share(const tg_ci_device_sector* s,
                             const tg_ci_device_operator_params* params,
                             const tg_ci_device_operator_facts* facts) {
  const bool fly = facts->host.storage == TG_CI_STORAGE_FLY;
  const uint64_t taken = fly ? facts->fly_bytes : facts->stored_bytes;
  tg_eigen_params e = of_parts(s);
  const uint64_t others = taken + gathered(s->room, s->space->dimension, &e);
  const uint64_t left = s->room->usable > others ? s->room->usable - others : 0;
  e.memory = (size_t)left;
  if (left < params->usual && e.method == TG_EIGEN_LANCZOS && e.block == 0) e.block = 1;
  return e;
}

static void note(const tg_ci_device_sector* s, const tg_ci_device_operator_facts* facts,
                 const tg_eigen_params* e, tg_ci_need* out) {
  const tg_eigen_problem problem = {.n = (size_t)rows_of(s->room, s->space->dimension),
                                    .n_total = (size_t)s->space->dimension,
                                    .apply = no_product,
                                    .place = TG_EIGEN_CUDA};
  out->facts = facts->host;
  out->gpu = (tg_ci_device_need){
      .used = true,
      .device = s->room->device,
      .parts = s->room->parts,
      .free = s->room->free,
      .vectors = tg_eigen_bytes(&problem, e) + gathered(s->room, s->space->dimension, e),
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

/* ---- one GPU ---- */

static tg_status multiply(void* context, int k, const double* x, double* y, size_t ld) {
  return tg_ci_device_operator_apply(context, k, x, ld, y, ld);
}

static tg_status solve_alone(const tg_ci_device_sector* s, const tg_ci_hamiltonian* h,
                             const tg_ci_device_operator_params* params, tg_ci_sector* out) {
  tg_ci_device_operator* op = NULL;
  tg_status status = TG_OK;
  const double start = tg_time_now();
  TG_TRY(tg_ci_device_operator_create(h, s->space, params, &op));
  const tg_ci_device_operator_facts facts = tg_ci_device_operator_facts_of(op);
  const tg_eigen_params e = share(s, params, &facts);
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
  status = s->solve(s->context, NULL, &problem, &e, &out->result);
  out->solve_s += tg_time_now() - made;
done:
  tg_ci_device_operator_free(op);
  return status;
}

/* ---- several ---- */

tg_status tg_ci_device_sector_solve(const tg_ci_device_sector* s, const tg_ci_hamiltonian* h,
                                    tg_ci_sector* out) {
  tg_ci_device_operator_params params;
  TG_TRY(params_of(s, &params));
  if (s->room->parts == 1) return solve_alone(s, h, &params, out);
  tg_ci_fly fly;
  const double start = tg_time_now();
  TG_TRY(tg_ci_device_tables(h, s->space, &params, &fly));
  const double made = tg_time_now();
  out->setup_s += made - start;
  params.fly = &fly;
  tg_ci_device_operator_facts facts;
  tg_eigen_params e = of_parts(s);
  const tg_ci_device_parts parts = {.sector = s, .h = h, .params = &params, .eigen = &e};
  const tg_status status = tg_ci_device_parts_solve(&parts, out, &facts);
  tg_ci_fly_free(&fly);
  TG_TRY(status);
  facts.tables_s = made - start;
  e = share(s, &params, &facts);
  note(s, &facts, &e, &out->need);
  return TG_OK;
}
