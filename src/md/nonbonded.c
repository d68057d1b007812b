/* SPDX-License-Identifier: Apache-2.0 */
/* Checks arguments once, for every backend, and hands on to the backend's table. */
#include "md/nonbonded.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "md/nonbonded_backend.h"

struct tg_nonbonded {
  const tg_nonbonded_ops* ops;
  void* state;
  double cutoff;
  double list_radius;
};

tg_status tg_nonbonded_create(const tg_nonbonded_params* params, tg_nonbonded** out) {
  const tg_nonbonded_ops* const tables[] = {&tg_nonbonded_ref, &tg_nonbonded_omp};
  const tg_nonbonded_ops* ops = NULL;
  const char* name = params->backend != NULL ? params->backend : "ref";
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
    if (strcmp(tables[i]->name, name) == 0) ops = tables[i];
  }
  if (ops == NULL) {
    return tg_fail(TG_ERR_INPUT, "pair forces: there is no backend '%s'; use ref or omp", name);
  }
  if (!(params->cutoff > 0) || !isfinite(params->cutoff)) {
    return tg_fail(TG_ERR_INPUT, "pair forces: the cut-off is %g nm; it must be positive",
                   params->cutoff);
  }
  if (params->type_count < 1) {
    return tg_fail(TG_ERR_INPUT, "pair forces: %d atom types; at least 1 is needed",
                   params->type_count);
  }
  tg_nonbonded* made = NULL;
  TG_TRY(TG_ALLOCATE(1, "pair forces", &made));
  made->ops = ops;
  made->cutoff = params->cutoff;
  const tg_status status = ops->create(params, &made->state);
  if (status != TG_OK) {
    tg_nonbonded_destroy(&made);
    return status;
  }
  *out = made;
  return TG_OK;
}

void tg_nonbonded_destroy(tg_nonbonded** nonbonded) {
  if (nonbonded == NULL || *nonbonded == NULL) return;
  (*nonbonded)->ops->destroy((*nonbonded)->state);
  TG_FREE(*nonbonded);
}

tg_status tg_nonbonded_search(tg_nonbonded* nonbonded, const tg_nonbonded_atoms* atoms,
                              double list_radius) {
  if (!(list_radius >= nonbonded->cutoff) || !isfinite(list_radius)) {
    return tg_fail(TG_ERR_INPUT,
                   "pair search: the list radius is %g nm; it must be at least the cut-off, %g nm",
                   list_radius, nonbonded->cutoff);
  }
  for (int d = 0; d < 3; d++) {
    if (atoms->periodic[d] && !(atoms->box[d] >= 2 * nonbonded->cutoff)) {
      return tg_fail(
          TG_ERR_INPUT,
          "pair search: the box is %g nm long in %c, less than twice the cut-off of %g nm; "
          "use a larger box or a shorter cut-off",
          atoms->box[d], "xyz"[d], nonbonded -> cutoff);
    }
  }
  for (size_t i = 0; i < atoms->local_count; i++) {
    const double* x = atoms->x[i];
    if (!isfinite(x[0]) || !isfinite(x[1]) || !isfinite(x[2])) {
      return tg_fail(TG_ERR_NUMERICS,
                     "pair search: atom %d is at (%g, %g, %g) nm; the system has blown up, try a "
                     "smaller time step or minimise first",
                     atoms->global[i] + 1, x[0], x[1], x[2]);
    }
  }
  TG_TRY(nonbonded->ops->search(nonbonded->state, atoms, list_radius));
  nonbonded->list_radius = list_radius;
  return TG_OK;
}

tg_status tg_nonbonded_prune(tg_nonbonded* nonbonded, const double (*x)[3], double inner_radius) {
  if (!(inner_radius >= nonbonded->cutoff) || inner_radius > nonbonded->list_radius) {
    return tg_fail(TG_ERR_INPUT,
                   "pair list: the inner radius is %g nm; it must lie between the cut-off, %g nm, "
                   "and the radius of the list, %g nm",
                   inner_radius, nonbonded->cutoff, nonbonded->list_radius);
  }
  return nonbonded->ops->prune(nonbonded->state, x, inner_radius);
}

void tg_nonbonded_compute(tg_nonbonded* nonbonded, const double (*x)[3], double (*f)[3],
                          tg_nonbonded_result* result) {
  result->lj = 0;
  result->coulomb = 0;
  memset(result->virial, 0, sizeof result->virial);
  result->pairs_in_list = 0;
  nonbonded->ops->compute(nonbonded->state, x, f, result);
}

const char* tg_nonbonded_describe(const tg_nonbonded* nonbonded) {
  return nonbonded->ops->describe(nonbonded->state);
}
