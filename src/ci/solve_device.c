/* SPDX-License-Identifier: Apache-2.0 */
#include "ci/solve_device.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/timer.h"
#include "ci/device_exchange.h"
#include "ci/device_place.h"
#include "ci/slices.h"
#include "ci/states_room.h"
#include "device/device.h"

static double gb(uint64_t bytes) { return 1e-9 * (double)bytes; }

/* What of a GPU's free memory may be used by one of its sharers. */
static void set_room(uint64_t free, int sharers, tg_ci_device_room* out) {
  const uint64_t part = free / (uint64_t)sharers;
  /* kernels, their stacks and the driver's own come on top */
  const uint64_t kept = part / 64 + ((uint64_t)256 << 20) / (uint64_t)sharers;
  out->free = free;
  out->usable = part > kept ? part - kept : 0;
}

tg_status tg_ci_device_room_query(int device, tg_ci_device_room* out) {
  tg_device_info info;
  if (tg_device_count() == 0)
    return tg_fail(TG_ERR_MACHINE, "configuration interaction on a GPU: %s", tg_device_reason());
  TG_TRY(tg_device_query(device, &info));
  *out = (tg_ci_device_room){.place = TG_EIGEN_CUDA, .device = device, .gpus = 1, .pes = 1};
  set_room(info.memory_free_bytes, 1, out);
  snprintf(out->name, sizeof out->name, "%s", info.name);
  return TG_OK;
}

tg_status tg_ci_device_room_acc(tg_ci_device_room* out) {
  tg_ci_slices_backend backend;
  TG_TRY(tg_ci_slices_find("acc", &backend));
  const uint64_t free = backend.ops->free_bytes();
  *out = (tg_ci_device_room){.place = TG_EIGEN_ACC, .host = free == 0, .gpus = 1, .pes = 1};
  set_room(free ? free : tg_memory_free(), 1, out);
  backend.motifs->describe(out->name, sizeof out->name);
  return TG_OK;
}

tg_status tg_ci_device_room_share(int device, int gpus, const tg_ci_pes* pes,
                                  tg_ci_device_room* out) {
  const int there = tg_device_count();
  if (there > 0 && gpus > there)
    return tg_fail(TG_ERR_MACHINE, "%d GPUs were asked for, but there %s %d", gpus,
                   there == 1 ? "is" : "are", there);
  if (gpus > pes->local)
    return tg_fail(TG_ERR_INPUT,
                   "%d GPUs for %d processing elements; give at least one to each GPU (--pe)", gpus,
                   pes->local);
  const int sharers = (pes->local + gpus - 1) / gpus;
  /* as each PE's place asks for; now, as threads had better not change the environment */
  setenv("CUDA_MODULE_LOADING", "EAGER", 0);
  for (int g = 0; g < gpus; g++) {
    tg_ci_device_room one;
    TG_TRY(tg_ci_device_room_query(gpus > 1 ? g : device, &one));
    set_room(one.free, sharers, &one);
    if (g == 0 || one.usable < out->usable) *out = one;
  }
  if (gpus > 1) TG_TRY(tg_ci_device_places_meet(gpus));
  out->device = gpus > 1 ? 0 : device;
  out->gpus = gpus;
  out->pes = pes->count;
  return TG_OK;
}

static tg_status no_product(void* context, int k, const double* x, double* y, size_t ld) {
  (void)context, (void)k, (void)x, (void)y, (void)ld;
  return tg_fail(TG_ERR_INTERNAL, "an estimate multiplies nothing");
}

/* Rows of equal numbers of matrix elements are not equally many. */
static uint64_t rows_of(const tg_ci_device_room* room, uint64_t dimension) {
  const uint64_t rows = dimension / (uint64_t)room->pes * 11 / 10 + 1;
  return room->pes == 1 || rows > dimension ? dimension : rows;
}

/* A PE has the vectors that are being multiplied as a whole. */
static uint64_t gathered(const tg_ci_device_room* room, uint64_t dimension,
                         const tg_eigen_params* eigen) {
  if (room->pes == 1) return 0;
  return tg_ci_device_exchange_bytes(dimension, eigen->block ? eigen->block : 2, room->pes);
}

static uint64_t bytes_of(const tg_ci_device_room* room, uint64_t dimension,
                         const tg_eigen_params* eigen, int basis) {
  const tg_eigen_problem problem = {.n = (size_t)rows_of(room, dimension),
                                    .n_total = (size_t)dimension,
                                    .apply = no_product,
                                    .place = room->place};
  tg_eigen_params e = *eigen;
  e.basis = basis;
  e.memory = SIZE_MAX;
  const uint64_t bytes = tg_eigen_bytes(&problem, &e);
  return bytes ? bytes + gathered(room, dimension, eigen) : 0;
}

/* "GPU 0 (NVIDIA H200)"; OpenACC's may be the host. */
static const char* place_of(const tg_ci_device_room* room, char out[160]) {
  if (room->place == TG_EIGEN_ACC)
    snprintf(out, 160, "--backend acc (%s)", room->name);
  else
    snprintf(out, 160, "GPU %d (%s)", room->device, room->name);
  return out;
}

tg_status tg_ci_device_vectors(const tg_ci_device_room* room, uint64_t dimension,
                               const tg_eigen_params* eigen, uint64_t* fewest, uint64_t* usual) {
  const int least = tg_eigen_least_basis(eigen);
  char place[160];
  if (dimension > room->usable / sizeof(double))
    return tg_fail(
        TG_ERR_MACHINE,
        "%s: a single vector of the basis of %s%.4g states takes %.3g GB, and %.4g GB may be used; "
        "truncate the space (--nmax, --excitations, --occupation)",
        place_of(room, place), dimension == UINT64_MAX ? "more than " : "", (double)dimension,
        8e-9 * (double)dimension, gb(room->usable));
  *fewest = bytes_of(room, dimension, eigen, least);
  *usual = bytes_of(room, dimension, eigen, 0);
  if (*fewest == 0 || *usual == 0) return TG_ERR_INPUT; /* the message is set */
  if (*fewest <= room->usable) return TG_OK;
  return tg_fail(
      TG_ERR_MACHINE,
      "%s: %d state%s at least %d vectors of %.3g GB, %.4g GB in all, and %.4g GB may be used%s; "
      "%struncate the space (--nmax, --excitations, --occupation), %sor use --backend omp",
      place_of(room, place), eigen->states, eigen->states > 1 ? "s need" : " needs",
      least + (eigen->block ? eigen->block : 2), 8e-9 * (double)dimension, gb(*fewest),
      gb(room->usable), room->pes > 1 ? " by a processing element" : "",
      eigen->states > 1 ? "ask for fewer --states, " : "",
      room->place == TG_EIGEN_ACC ? "" : "use more --gpus, ");
}

/* Vectors multiplied at once. */
static int width_of(const tg_eigen_params* e) {
  const int davidson = e->states < 4 ? e->states : 4;
  return e->block ? e->block : e->method == TG_EIGEN_LANCZOS ? 2 : davidson;
}

/* Vectors multiplied at once by several PEs: it is settled before, as room for them is. */
static tg_eigen_params shared_params(const tg_ci_device_sector* s) {
  tg_eigen_params e = s->eigen;
  if (e.block || s->room->pes == 1) return e;
  e.block = width_of(&e);
  if (e.method == TG_EIGEN_LANCZOS &&
      bytes_of(s->room, s->space->dimension, &e, 0) > s->room->usable)
    e.block = 1; /* as one PE does */
  return e;
}

/* Vectors that a solve multiplies, roughly, for the model of --storage auto: 170 to 440 of nuclei
 * with ten levels, 100 to 250 with fewer, 14 to 20 for each state of a molecule. */
static double products_of(const tg_eigen_params* e) {
  return e->method == TG_EIGEN_LANCZOS ? 150 + 15.0 * e->states : 20.0 * e->states;
}

static tg_status params_of(const tg_ci_device_sector* s, tg_ci_device_operator_params* out) {
  const tg_eigen_params e = shared_params(s);
  *out = (tg_ci_device_operator_params){.place = s->room->place,
                                        .storage = s->params->storage,
                                        .float_elements = s->params->float_elements,
                                        .device = s->room->device,
                                        .memory = s->room->usable,
                                        .host_memory = s->params->memory,
                                        .threads = s->params->threads,
                                        .width = width_of(&e),
                                        .products = products_of(&e)};
  return tg_ci_device_vectors(s->room, s->space->dimension, &e, &out->fewest, &out->usual);
}

/* What the operator leaves is for vectors. One is multiplied at a time where the basis has to be
 * small: each restart would throw away more of a wide block's work. */
static tg_eigen_params share(const tg_ci_device_sector* s,
                             const tg_ci_device_operator_params* params,
                             const tg_ci_device_operator_facts* facts) {
  const bool fly = facts->host.storage == TG_CI_STORAGE_FLY;
  const uint64_t taken = fly ? facts->fly_bytes : facts->stored_bytes;
  tg_eigen_params e = shared_params(s);
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
                                    .place = s->room->place};
  out->facts = facts->host;
  out->gpu = (tg_ci_device_need){
      .used = true,
      .acc = s->room->place == TG_EIGEN_ACC,
      .host = s->room->host,
      .device = s->room->device,
      .gpus = s->room->gpus,
      .pes = s->room->pes,
      .free = s->room->free,
      .vectors = tg_eigen_bytes(&problem, e) + gathered(s->room, s->space->dimension, e),
      .tables = facts->fly_bytes,
      .matrix = facts->stored_bytes,
      .making = facts->making_bytes,
      .product = facts->product_bytes,
      .rounding = facts->rounding,
      .asked = s->params->storage != TG_CI_STORAGE_AUTO,
      .times = facts->times,
      .tables_s = facts->tables_s,
      .device_s = facts->device_s};
  snprintf(out->gpu.name, sizeof out->gpu.name, "%s", s->room->name);
}

/* Tables, and the rows of the PE with most elements. */
static tg_status estimate_share(const tg_ci_device_sector* s, const tg_ci_hamiltonian* h,
                                const tg_ci_device_operator_params* all,
                                tg_ci_device_operator_facts* facts, tg_ci_distribution* split) {
  tg_ci_device_operator_params params = *all;
  tg_ci_fly fly;
  TG_TRY(tg_ci_device_tables(h, s->space, &params, &fly));
  tg_status status = tg_ci_distribution_make(&fly, s->room->pes, split);
  if (status == TG_OK) {
    int most = 0;
    for (int p = 1; p < split->pe_count; p++)
      if (split->elements[p] > split->elements[most]) most = p;
    const tg_ci_device_rows rows = {split->first[most], split->first[most + 1]};
    params.fly = &fly;
    params.rows = &rows;
    status = tg_ci_device_operator_estimate(h, s->space, &params, facts);
  }
  tg_ci_fly_free(&fly);
  if (status != TG_OK) tg_ci_distribution_free(split);
  return status;
}

tg_status tg_ci_device_sector_need(const tg_ci_device_sector* s, const tg_ci_hamiltonian* h,
                                   tg_ci_need* out) {
  tg_ci_device_operator_params params;
  tg_ci_device_operator_facts facts;
  TG_TRY(params_of(s, &params));
  if (s->room->pes > 1)
    TG_TRY(estimate_share(s, h, &params, &facts, &out->split));
  else
    TG_TRY(tg_ci_device_operator_estimate(h, s->space, &params, &facts));
  const tg_eigen_params e = share(s, &params, &facts);
  note(s, &facts, &e, out);
  return TG_OK;
}

/* ---- one GPU ---- */

static tg_status multiply(void* context, int k, const double* x, double* y, size_t ld) {
  return tg_ci_device_operator_apply(context, k, x, ld, y, ld);
}

/* Of CUDA's. */
static int device_of(const tg_ci_device_room* room) {
  return room->place == TG_EIGEN_CUDA ? room->device : -1;
}

static tg_status solve_alone(const tg_ci_device_sector* s, const tg_ci_hamiltonian* h,
                             const tg_ci_device_operator_params* params, tg_ci_fly* fly,
                             tg_ci_sector* out) {
  tg_ci_device_operator* op = NULL;
  const size_t dimension = (size_t)s->space->dimension;
  const double start = tg_time_now();
  tg_status status = tg_ci_device_operator_create(h, s->space, params, &op);
  tg_ci_fly_free(fly);
  TG_TRY(status);
  TG_TRY_GOTO(
      tg_ci_states_room_begin((size_t)s->eigen.states * dimension, device_of(s->room), &out->room),
      done);
  tg_ci_device_operator_facts facts = tg_ci_device_operator_facts_of(op);
  facts.tables_s = out->need.gpu.tables_s;
  tg_eigen_params e = share(s, params, &facts);
  note(s, &facts, &e, &out->need);
  e.into = tg_ci_states_room_memory(out->room);
  e.into_ld = dimension;
  tg_eigen_problem problem = {.n = dimension,
                              .context = op,
                              .apply = multiply,
                              .fingerprint = tg_ci_device_operator_mark(&facts, params),
                              .place = s->room->place,
                              .device = s->room->device};
  if (e.method == TG_EIGEN_DAVIDSON)
    TG_TRY_GOTO(tg_ci_device_operator_diagonal(op, &problem.diagonal), done);
  if (s->made) s->made(s->context);
  const double made = tg_time_now();
  out->setup_s += made - start;
  status = s->solve(s->context, &problem, &e, &out->result);
  if (status == TG_OK) out->result.vectors = tg_ci_states_room_take(out->room);
  out->solve_s += tg_time_now() - made;
done:
  if (status != TG_OK) tg_ci_states_room_end(&out->room);
  tg_ci_device_operator_free(op);
  return status;
}

/* ---- several PEs ---- */

static tg_status solve_shared(const tg_ci_device_sector* s, const tg_ci_hamiltonian* h,
                              const tg_ci_device_operator_params* params,
                              const tg_ci_distribution* split, tg_ci_sector* out) {
  tg_ci_device_operator_facts facts = {0};
  tg_eigen_params e = shared_params(s);
  /* memories differ between machines, the numbers of vectors exchanged must not */
  int64_t block = e.block;
  TG_TRY(tg_ci_pes_least(s->pes, &block));
  e.block = (int)block;
  const tg_ci_shared_gpus gpus = {.h = h,
                                  .space = s->space,
                                  .split = split,
                                  .params = params,
                                  .gpus = s->room->gpus,
                                  .facts = &facts,
                                  .made = s->made,
                                  .context = s->context};
  const tg_ci_shared_solve what = {.problem = s->problem,
                                   .params = s->params,
                                   .sector = s->sector,
                                   .gpus = &gpus,
                                   .eigen = e,
                                   .restart = s->restart,
                                   .out = out};
  TG_TRY(tg_ci_solve_shared(s->pes, &what));
  facts.tables_s = out->need.gpu.tables_s;
  e = share(s, params, &facts);
  note(s, &facts, &e, &out->need);
  return TG_OK;
}

tg_status tg_ci_device_sector_solve(const tg_ci_device_sector* s, const tg_ci_hamiltonian* h,
                                    tg_ci_sector* out) {
  tg_ci_device_operator_params params = {0};
  tg_status status = params_of(s, &params);
  tg_ci_fly fly = {0};
  tg_ci_distribution split = {0};
  const double start = tg_time_now();
  if (status == TG_OK) status = tg_ci_device_tables(h, s->space, &params, &fly);
  if (status == TG_OK && s->room->pes > 1)
    status = tg_ci_distribution_make(&fly, s->room->pes, &split);
  status = tg_ci_pes_agree(s->pes, status);
  if (status == TG_OK) {
    const double seconds = tg_time_now() - start;
    out->setup_s += seconds;
    out->need.gpu.tables_s = seconds;
    params.fly = &fly;
    status = s->room->pes > 1 ? solve_shared(s, h, &params, &split, out)
                              : solve_alone(s, h, &params, &fly, out);
  }
  tg_ci_distribution_free(&split);
  tg_ci_fly_free(&fly);
  return status;
}
