/* SPDX-License-Identifier: Apache-2.0 */
#include "ci/lift.h"

#include <math.h>

#include "base/memory.h"
#include "ci/device_operator.h"

/* A state of a higher J has <J^2> - J(J+1) of 2 or more; converged ones are off by far less. */
static const double pure_enough = 1e-3;

tg_status tg_ci_lift(const tg_ci_lifting* l, double strength, tg_ci_hamiltonian** out) {
  const tg_ci_orbital *a, *b;
  const size_t count_a = tg_ci_hamiltonian_orbitals(l->h, 0, &a);
  const size_t count_b = tg_ci_hamiltonian_orbitals(l->h, 1, &b);
  tg_ci_hamiltonian* sum = NULL;
  tg_status status = TG_OK;
  TG_TRY(tg_ci_hamiltonian_create(count_a, a, count_b, b, &sum));
  TG_TRY_GOTO(tg_ci_hamiltonian_add(sum, 1, l->h), failed);
  TG_TRY_GOTO(tg_ci_hamiltonian_add(sum, strength, l->squared), failed);
  tg_ci_hamiltonian_set_constant(sum, tg_ci_hamiltonian_constant(sum) - strength * l->value);
  *out = sum;
  return TG_OK;
failed:
  tg_ci_hamiltonian_free(sum);
  return status;
}

static tg_status measure_on_gpu(const tg_ci_lifting* l, const tg_ci_hamiltonian* o,
                                const tg_eigen_result* result, double* mean, double* spread) {
  const tg_ci_device_operator_params params = {.storage = TG_CI_STORAGE_FLY,
                                               .memory = UINT64_MAX,
                                               .device = l->device,
                                               .threads = l->threads};
  tg_ci_device_operator* op = NULL;
  tg_status status = TG_OK;
  TG_TRY(tg_ci_device_operator_create(o, l->space, &params, &op));
  for (int i = 0; i < result->states && status == TG_OK; i++)
    status = tg_ci_device_operator_expect(op, result->vectors + (size_t)i * result->ld, mean + i,
                                          spread + i);
  tg_ci_device_operator_free(op);
  return status;
}

/* mean[i] = <v_i|O|v_i>, spread[i] = |O v_i - mean v_i|. */
static tg_status measure(const tg_ci_lifting* l, const tg_ci_hamiltonian* o,
                         const tg_eigen_result* result, double* mean, double* spread) {
  if (l->on_gpu) return measure_on_gpu(l, o, result, mean, spread);
  /* a product for each state: few enough to compute elements on the fly */
  const tg_ci_operator_params params = {.storage = TG_CI_STORAGE_FLY, .threads = l->threads};
  const size_t n = (size_t)l->space->dimension;
  tg_ci_operator* op = NULL;
  double* y = NULL;
  tg_status status = TG_OK;
  TG_TRY_GOTO(tg_ci_operator_create(o, l->space, &params, &op), done);
  TG_TRY_GOTO(TG_ALLOCATE(n, "a vector", &y), done);
  for (int i = 0; i < result->states; i++) {
    const double* v = result->vectors + (size_t)i * result->ld;
    double sum = 0, square = 0;
    TG_TRY_GOTO(tg_ci_operator_apply(op, 1, v, y, n), done);
    for (size_t k = 0; k < n; k++) sum += v[k] * y[k];
    for (size_t k = 0; k < n; k++) square += (y[k] - sum * v[k]) * (y[k] - sum * v[k]);
    mean[i] = sum;
    spread[i] = sqrt(square);
  }
done:
  tg_free(y);
  tg_ci_operator_free(op);
  return status;
}

tg_status tg_ci_lift_finish(const tg_ci_lifting* l, tg_eigen_result* result, bool* pure) {
  const size_t states = (size_t)result->states;
  double *mean = NULL, *spread = NULL;
  tg_status status = TG_OK;
  *pure = true;
  TG_TRY_GOTO(TG_ALLOCATE(states, "energies", &mean), done);
  TG_TRY_GOTO(TG_ALLOCATE(states, "residuals", &spread), done);
  TG_TRY_GOTO(measure(l, l->squared, result, mean, spread), done);
  for (size_t i = 0; i < states; i++) *pure = *pure && fabs(mean[i] - l->value) < pure_enough;
  if (!*pure) goto done;
  TG_TRY_GOTO(measure(l, l->h, result, mean, spread), done);
  for (size_t i = 0; i < states; i++) {
    result->errors[i] += fabs(mean[i] - result->values[i]);
    result->values[i] = mean[i];
    result->residuals[i] = spread[i];
  }
done:
  tg_free(mean);
  tg_free(spread);
  return status;
}
