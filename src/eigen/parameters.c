/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters that were left open, and the memory that follows from them. */
#include <math.h>

#include "eigen/solver.h"

tg_eigen_params tg_eigen_defaults(void) {
  return (tg_eigen_params){.states = 1, .relative = 1e-6, .miss = 1e-3, .seed = 1};
}

size_t tg_eigen_total(const tg_eigen_problem* problem) {
  return problem->n_total ? problem->n_total : problem->n;
}

tg_status tg_eigen_agree(const tg_eigen_problem* problem, tg_status status) {
  return problem->agree ? problem->agree(problem->context, status) : status;
}

bool tg_eigen_leads(const tg_eigen_problem* problem) {
  return problem->first == 0 && problem->n > 0;
}

/* The smallest basis with which a restart leaves room to go on. */
static size_t least_basis(const tg_eigen_params* params) {
  const size_t block = (size_t)params->block;
  return (size_t)params->states + (block > 2 ? 4 * block : 8);
}

static int usual_block(const tg_eigen_params* params) {
  if (params->method == TG_EIGEN_LANCZOS) return 2;
  return params->states < 4 ? params->states : 4;
}

int tg_eigen_least_basis(const tg_eigen_params* params) {
  tg_eigen_params with = *params;
  if (with.block == 0) with.block = usual_block(params);
  return (int)least_basis(&with);
}

/* With more, restarts cost next to no products (docs/eigen.md has figures), and each product more
 * to make orthogonal. */
static size_t usual_basis(const tg_eigen_params* params) {
  const size_t states = (size_t)params->states;
  if (params->method == TG_EIGEN_LANCZOS) return 40 + 4 * states;
  return 24 + 6 * states + 2 * (size_t)params->block;
}

int tg_eigen_most(const tg_eigen_problem* problem, const tg_eigen_params* params) {
  const size_t total = tg_eigen_total(problem);
  return total < (size_t)params->basis ? (int)total : params->basis;
}

int tg_eigen_columns(const tg_eigen_problem* problem, const tg_eigen_params* params) {
  const int most = tg_eigen_most(problem, params) + params->block;
  const int least = params->states + 2 * params->block; /* at the end */
  return most > least ? most : least;
}

/* As a double: for a question, it may be more than there is. */
static double bytes_with(const tg_eigen_problem* problem, const tg_eigen_params* params) {
  tg_rows rows;
  tg_rows_shape(problem->n, &rows);
  const double most = tg_eigen_most(problem, params), columns = tg_eigen_columns(problem, params);
  const double ld = (double)rows.ld, states = params->states;
  double vectors = columns + states;
  if (params->method == TG_EIGEN_DAVIDSON) vectors += most;
  if (problem->place == TG_EIGEN_CUDA) /* results and small matrices are the host's */
    return sizeof(double) * ld * (vectors - states) +
           (double)tg_rows_cuda_bytes(&rows, (size_t)columns * (size_t)params->block, (int)most);
  if (problem->place == TG_EIGEN_ACC)
    return sizeof(double) * ld * (vectors - states) +
           (double)tg_rows_acc_bytes(&rows, (size_t)columns * (size_t)params->block, (int)most);
  const double room = columns * TG_EIGEN_BLOCK;
  const double small = 2 * most * most + (1 + 6 * most + 2 * most * most); /* LAPACK's own, too */
  return sizeof(double) *
         (ld * vectors + small + 2 * room + (double)rows.segments * columns * params->block +
          (double)params->threads * most * TG_ROWS_PANEL + 4 * most);
}

static tg_status choose_basis(const tg_eigen_problem* problem, tg_eigen_params* params) {
  const size_t total = tg_eigen_total(problem), least = least_basis(params);
  size_t most = params->basis > 0 ? (size_t)params->basis : usual_basis(params);
  if (most > total) most = total;
  if (params->basis > 0 && most < total && most < least)
    return tg_fail(TG_ERR_INPUT,
                   "a basis of %d vectors is too small for %d states in blocks of %d; at least %zu",
                   params->basis, params->states, params->block, least);
  if (most < least) most = least < total ? least : total;
  params->basis = (int)most;
  if (params->memory == 0) params->memory = (size_t)4 << 30;
  double bytes = bytes_with(problem, params);
  while (bytes > (double)params->memory && (size_t)params->basis > least) {
    params->basis -= params->basis > (int)least + 8 ? 8 : 1;
    bytes = bytes_with(problem, params);
  }
  if (bytes > (double)params->memory)
    return tg_fail(
        TG_ERR_MACHINE,
        "the eigen-solver needs %.1f MiB for at least %d vectors of %zu rows, but may "
        "take %.1f MiB; allow more, ask for fewer states or use more processing elements",
        bytes / 1048576.0, params->basis, problem->n, (double)params->memory / 1048576.0);
  return TG_OK;
}

static tg_status check_numbers(const tg_eigen_problem* problem, const tg_eigen_params* params) {
  const size_t total = tg_eigen_total(problem);
  if (!problem->apply) return tg_fail(TG_ERR_INPUT, "the eigenproblem has no operator (apply)");
  if (total == 0)
    return tg_fail(TG_ERR_INPUT, "the space has no states, so the operator has no eigenvalues");
  if (problem->n > total || problem->first > total - problem->n)
    return tg_fail(TG_ERR_INPUT, "rows %zu to %zu of this processing element are not among %zu",
                   problem->first, problem->first + problem->n, total);
  if (params->states < 1)
    return tg_fail(TG_ERR_INPUT, "%d states were asked for; at least 1", params->states);
  if ((size_t)params->states > total)
    return tg_fail(TG_ERR_INPUT, "%d states were asked for, but the space has only %zu",
                   params->states, total);
  if (params->block < 0 || params->block > TG_EIGEN_BLOCK)
    return tg_fail(TG_ERR_INPUT, "a block of %d vectors; 1 to %d, or 0 for a choice", params->block,
                   TG_EIGEN_BLOCK);
  if (params->basis < 0 || params->threads < 0 || params->products < 0 || params->start_count < 0)
    return tg_fail(TG_ERR_INPUT, "a negative basis, number of threads, products or start vectors");
  if (!(params->tolerance >= 0) || !isfinite(params->tolerance) ||
      (params->tolerance == 0 && !(params->relative > 0 && params->relative < 1)))
    return tg_fail(TG_ERR_INPUT,
                   "the tolerance %g (relative: %g) is none; above 0, or 0 and a relative one "
                   "between 0 and 1",
                   params->tolerance, params->relative);
  if (!(params->miss > 0 && params->miss < 1))
    return tg_fail(TG_ERR_INPUT, "an accepted probability to miss a level of %g; between 0 and 1",
                   params->miss);
  if (params->start_count > 0 &&
      (!params->start || (params->start_ld && params->start_ld < problem->n)))
    return tg_fail(TG_ERR_INPUT, "start vectors without data, or with less than %zu rows each",
                   problem->n);
  return TG_OK;
}

/* As many as a parallel region has; one where pragmas mean nothing. */
static int usual_threads(void) {
  int count = 0;
#pragma omp parallel reduction(+ : count)
  count += 1;
  return count;
}

tg_status tg_eigen_resolve(const tg_eigen_problem* problem, tg_eigen_params* params) {
  TG_TRY(check_numbers(problem, params));
  const size_t total = tg_eigen_total(problem);
  if (params->method == TG_EIGEN_AUTO)
    params->method =
        problem->diagonal || problem->precondition ? TG_EIGEN_DAVIDSON : TG_EIGEN_LANCZOS;
  if (params->block == 0) params->block = usual_block(params);
  if ((size_t)params->block > total) params->block = (int)total;
  if (params->products == 0) params->products = 10000 + 1000 * (int64_t)params->states;
  if (params->threads == 0) params->threads = usual_threads();
  return choose_basis(problem, params);
}

size_t tg_eigen_bytes(const tg_eigen_problem* problem, const tg_eigen_params* params) {
  tg_eigen_params resolved = *params;
  if (tg_eigen_resolve(problem, &resolved) != TG_OK) return 0;
  return (size_t)bytes_with(problem, &resolved);
}
