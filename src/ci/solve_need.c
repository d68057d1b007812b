/* SPDX-License-Identifier: Apache-2.0 */
/* What a solve needs of memory, before it takes it. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "ci/solve_run.h"

/* Processes of a machine share what it has free. */
uint64_t tg_ci_need_memory(const tg_ci_solve_params* params, const tg_ci_pes* pes) {
  const uint64_t free = tg_memory_free();
  const int sharers = pes->world ? tg_world_node_pe_count(pes->world) : 1;
  if (params->memory) return params->memory;
  return free == UINT64_MAX ? free : (uint64_t)(0.8 * (double)free) / (uint64_t)sharers;
}

/* What was freed is there for what comes, and must not be counted twice. */
void tg_ci_need_note_process(tg_ci_need* need) {
  tg_memory_trim();
  need->process = tg_memory_held(&need->highest);
}

static tg_status no_product(void* context, int k, const double* x, double* y, size_t ld) {
  (void)context, (void)k, (void)x, (void)y, (void)ld;
  return tg_fail(TG_ERR_INTERNAL, "an estimate multiplies nothing");
}

/* Vectors multiplied at once: of several PEs it is settled before, as room for x is. */
static int block_of(const tg_ci_run* r, const tg_ci_need* need) {
  if (need->block || r->pes.count == 1) return need->block;
  return r->problem->kind == TG_CI_NUCLEUS || need->states < 2 ? 2
         : need->states < 4                                    ? need->states
                                                               : 4;
}

/* What several PEs have of vectors besides the eigen-solver's: x of an exchange in each, and the
 * states as a whole at the end, while one of them is gathered. */
static uint64_t shared_vectors(const tg_ci_run* r, const tg_ci_need* need, uint64_t dimension) {
  if (r->pes.count == 1) return 0;
  return (uint64_t)r->pes.local * tg_ci_exchange_bytes(dimension, block_of(r, need)) +
         ((uint64_t)need->states + 1) * dimension * sizeof(double);
}

bool tg_ci_run_on_gpu(const tg_ci_run* r) { return r->params->backend != TG_CI_OMP; }

/* Of one PE. memory: what this process may take for vectors. */
tg_eigen_params tg_ci_run_eigen(const tg_ci_run* r, const tg_ci_need* need, uint64_t dimension,
                                uint64_t memory) {
  const uint64_t shared = shared_vectors(r, need, dimension);
  memory = (memory > shared ? memory - shared : 1) / (uint64_t)r->pes.local;
  tg_eigen_params e = tg_eigen_defaults();
  e.states = need->states;
  e.block = tg_ci_run_on_gpu(r) ? need->block : block_of(r, need);
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
static tg_status vectors_need(const tg_ci_run* r, const tg_ci_need* need, uint64_t dimension,
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
  const tg_eigen_params e = tg_ci_run_eigen(r, need, dimension, room);
  *bytes = tg_eigen_bytes(&problem, &e);
  if (!*bytes) return TG_ERR_MACHINE; /* the message is set */
  *bytes = *bytes * (uint64_t)r->pes.local + shared_vectors(r, need, dimension);
  return TG_OK;
}

/* What OpenACC's module works on; on the host --memory is its limit, too. */
static tg_status find_acc(tg_ci_run* r) {
  if (r->pes.count > 1)
    return tg_fail(TG_ERR_INPUT,
                   "--backend acc has all states in one processing element, not %d; start a single "
                   "process, or use --backend omp or cuda",
                   r->pes.count);
  if (r->pes.world)
    return tg_fail(TG_ERR_INPUT,
                   "--backend acc has one processing element, which talks to no other; leave out "
                   "--transport %s",
                   tg_world_transport(r->pes.world));
  TG_TRY(tg_ci_device_room_acc(&r->gpu));
  if (r->gpu.host && r->gpu.usable > r->memory) r->gpu.usable = r->memory;
  return TG_OK;
}

/* The GPU, where there is to be one, or those of this process. */
tg_status tg_ci_run_find_gpu(tg_ci_run* r) {
  int device = r->params->device;
  if (!tg_ci_run_on_gpu(r)) return TG_OK;
  if (r->params->backend == TG_CI_ACC) return find_acc(r);
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
static tg_status gpu_vectors_need(const tg_ci_run* r, const tg_ci_need* need, uint64_t dimension,
                                  uint64_t* bytes) {
  uint64_t fewest, usual;
  const tg_eigen_params e = tg_ci_run_eigen(r, need, dimension, r->memory);
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

tg_ci_space_params tg_ci_run_space(const tg_ci_problem* problem, unsigned symmetry) {
  tg_ci_space_params space = problem->space;
  space.symmetry = (int)symmetry;
  return space;
}

/* Step 1. */
tg_status tg_ci_need_space(const tg_ci_run* r, tg_ci_need* need) {
  const tg_ci_problem* p = r->problem;
  size_t bytes = 0;
  uint64_t dimension = 0;
  need->symmetry = p->sectors[r->sector];
  const tg_ci_space_params space = tg_ci_run_space(p, need->symmetry);
  TG_TRY(tg_ci_space_estimate(p->h, &space, &dimension, &bytes));
  need->space = bytes;
  need->states = tg_ci_usual_states(r->params->states);
  if ((uint64_t)need->states > p->levels[r->sector]) need->states = (int)p->levels[r->sector];
  return tg_ci_run_on_gpu(r) ? gpu_vectors_need(r, need, dimension, &need->vectors)
                             : vectors_need(r, need, dimension, &need->vectors);
}

/* What stays of a sector: its states and strings. */
uint64_t tg_ci_need_results(const tg_ci_problem* p, const tg_ci_need* need) {
  return need->space +
         (uint64_t)need->states * sizeof(double) * tg_ci_problem_dimension(p, need->symmetry);
}

void tg_ci_run_take_memory(tg_ci_run* r, uint64_t bytes) {
  r->memory -= bytes < r->memory ? bytes : r->memory - 1;
}

tg_ci_operator_params tg_ci_run_operator(const tg_ci_run* r, const tg_ci_need* need) {
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
tg_status tg_ci_need_tables(const tg_ci_run* r, const tg_ci_hamiltonian* h,
                            const tg_ci_space* space, tg_ci_need* need) {
  const tg_ci_operator_params params = tg_ci_run_operator(r, need);
  uint64_t making;
  TG_TRY(tg_ci_operator_tables(h, space, &params, &need->tables, &making));
  return vectors_need(r, need, space->dimension, &need->vectors);
}

/* A stored matrix multiplies four vectors in little more time than one, which pays for the products
 * that a wider block takes (docs/eigen.md), and blocks of four see three copies of a level. */
void tg_ci_need_choose_block(const tg_ci_run* r, tg_ci_need* need) {
  enum { STORED_BLOCK = 4 };
  tg_ci_need wide = *need;
  wide.block = STORED_BLOCK;
  if (need->facts.storage == TG_CI_STORAGE_STORED && r->problem->kind == TG_CI_NUCLEUS &&
      vectors_need(r, &wide, need->facts.dimension, &wide.vectors) == TG_OK)
    *need = wide;
}

/* A stored matrix is made from the tables, which go before the vectors come. */
void tg_ci_need_set_peak(tg_ci_need* need) {
  const tg_ci_operator_facts* f = &need->facts;
  const bool stored = f->storage == TG_CI_STORAGE_STORED;
  const uint64_t more = stored && need->vectors < f->tables ? f->tables : need->vectors;
  need->peak = need->process + need->space + more + (stored ? f->stored_bytes : f->tables);
  const uint64_t making = need->process + need->space + f->making;
  if (need->peak < making) need->peak = making;
  if (need->peak < need->highest) need->peak = need->highest;
}

void tg_ci_need_set_gpu_peak(tg_ci_need* need) {
  const tg_ci_operator_facts* f = &need->facts;
  need->peak = need->process + need->space + f->tables + need->vectors;
  if (need->gpu.host) need->peak += need->gpu.vectors + need->gpu.matrix;
  if (need->peak < need->highest) need->peak = need->highest;
}
