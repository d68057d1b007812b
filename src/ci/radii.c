/* SPDX-License-Identifier: Apache-2.0 */
#include "ci/radii.h"

#include <math.h>

#include "base/memory.h"
#include "base/units.h"
#include "ci/operator.h"

tg_status tg_ci_expectations(const tg_ci_hamiltonian* o, const tg_ci_space* space, size_t count,
                             const double* v, size_t ld, int threads, double* values) {
  /* a few products only */
  const tg_ci_operator_params params = {.storage = TG_CI_STORAGE_FLY, .threads = threads};
  const size_t n = (size_t)space->dimension;
  tg_ci_operator* op = NULL;
  double* y = NULL;
  tg_status status = TG_OK;
  TG_TRY_GOTO(tg_ci_operator_create(o, space, &params, &op), done);
  TG_TRY_GOTO(TG_ALLOCATE(n, "a vector", &y), done);
  for (size_t i = 0; i < count; i++) {
    const double* x = v + i * ld;
    double sum = 0;
    TG_TRY_GOTO(tg_ci_operator_apply(op, 1, x, y, n), done);
    for (size_t k = 0; k < n; k++) sum += x[k] * y[k];
    values[i] = sum;
  }
done:
  tg_free(y);
  tg_ci_operator_free(op);
  return status;
}

double tg_ci_charge_radius2(double proton, int protons, int neutrons) {
  if (protons < 1) return NAN;
  const double compton = TG_HBAR_C / TG_PROTON_MASS;
  return proton + TG_PROTON_RADIUS * TG_PROTON_RADIUS +
         (double)neutrons / protons * TG_NEUTRON_RADIUS2 + 0.75 * compton * compton;
}

tg_status tg_ci_radii_make(const tg_ci_model* model, const tg_ci_nucleus* nucleus,
                           const tg_ci_space* space, size_t count, const double* v, size_t ld,
                           int threads, tg_ci_radii* radii) {
  static const tg_ci_quantity kinds[] = {TG_CI_RADIUS_MATTER, TG_CI_RADIUS_PROTON,
                                         TG_CI_RADIUS_NEUTRON};
  const bool there[] = {true, nucleus->protons > 0, nucleus->neutrons > 0};
  double* values = NULL;
  tg_ci_hamiltonian* o = NULL;
  tg_status status = TG_OK;
  TG_TRY(TG_ALLOCATE(3 * count, "radii", &values));
  for (int k = 0; k < 3; k++) {
    for (size_t i = 0; i < count; i++) values[(size_t)k * count + i] = NAN;
    if (!there[k]) continue;
    TG_TRY_GOTO(tg_ci_model_quantity(model, kinds[k], nucleus, &o), done);
    TG_TRY_GOTO(tg_ci_expectations(o, space, count, v, ld, threads, values + (size_t)k * count),
                done);
    tg_ci_hamiltonian_free(o);
    o = NULL;
  }
  for (size_t i = 0; i < count; i++) {
    radii[i] = (tg_ci_radii){values[i], values[count + i], values[2 * count + i], NAN};
    radii[i].charge = tg_ci_charge_radius2(radii[i].proton, nucleus->protons, nucleus->neutrons);
  }
done:
  tg_ci_hamiltonian_free(o);
  tg_free(values);
  return status;
}
