/* SPDX-License-Identifier: Apache-2.0 */
#include "ci/model.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "ci/oscillator.h"

tg_ci_model tg_ci_model_empty(void) {
  return (tg_ci_model){.core_protons = -1, .core_neutrons = -1, .core_mass = -1};
}

static void part_free(tg_ci_part* part) {
  tg_free(part->path);
  tg_ci_couplings_free(&part->couplings);
}

void tg_ci_model_free(tg_ci_model* model) {
  if (!model) return;
  for (size_t i = 0; i < model->part_count; i++) part_free(&model->parts[i]);
  tg_free(model->parts);
  tg_ci_shells_free(&model->shells);
  *model = tg_ci_model_empty();
}

tg_status tg_ci_model_add_part(tg_ci_model* model, const char* path, const char* format,
                               tg_ci_part** part) {
  tg_ci_part* parts = NULL;
  TG_TRY(TG_ALLOCATE(model->part_count + 1, "inputs", &parts));
  tg_ci_part* added = &parts[model->part_count];
  tg_status status = tg_copy_text(path, &added->path);
  if (status != TG_OK) {
    tg_free(parts);
    return status;
  }
  added->format = format;
  for (int k = 0; k < TG_CI_PAIR_KINDS; k++) added->pair_weight_most[k] = -1;
  if (model->part_count) memcpy(parts, model->parts, model->part_count * sizeof *parts);
  tg_free(model->parts);
  model->parts = parts;
  model->part_count++;
  *part = added;
  return TG_OK;
}

/* ---- several inputs ---- */

static const char* name_of_part(const tg_ci_model* model) {
  return model->part_count ? model->parts[0].path : "an input";
}

/* map[i]: the number in model of other's orbit i. */
static tg_status map_shells(const tg_ci_model* model, const tg_ci_model* other, int* map) {
  for (size_t i = 0; i < other->shells.count; i++) {
    map[i] = tg_ci_shells_find(&model->shells, &other->shells.shell[i]);
    if (map[i] < 0)
      return tg_fail(TG_ERR_INPUT,
                     "%s: its orbit %s is not among those of %s; inputs that add up must have the "
                     "same orbits",
                     name_of_part(other), other->shells.shell[i].name, name_of_part(model));
  }
  for (size_t i = 0; i < model->shells.count; i++)
    if (tg_ci_shells_find(&other->shells, &model->shells.shell[i]) < 0)
      return tg_fail(
          TG_ERR_INPUT,
          "%s: it lacks the orbit %s of %s; inputs that add up must have the same orbits",
          name_of_part(other), model->shells.shell[i].name, name_of_part(model));
  return TG_OK;
}

static tg_status check_constants(const tg_ci_model* model, const tg_ci_model* other) {
  if (model->core_mass >= 0 && other->core_mass >= 0 && model->core_mass != other->core_mass)
    return tg_fail(TG_ERR_INPUT,
                   "%s: its core has mass %g, that of %s has %g; inputs that add up must share "
                   "their core",
                   name_of_part(other), other->core_mass, name_of_part(model), model->core_mass);
  if (model->core_protons >= 0 && other->core_protons >= 0 &&
      model->core_protons != other->core_protons)
    return tg_fail(TG_ERR_INPUT, "%s: its core has %d protons, that of %s has %d",
                   name_of_part(other), other->core_protons, name_of_part(model),
                   model->core_protons);
  if (model->hw > 0 && other->hw > 0 && fabs(model->hw - other->hw) > 1e-6 * model->hw)
    return tg_fail(TG_ERR_INPUT, "%s: it is for hw = %g MeV, %s for %g MeV", name_of_part(other),
                   other->hw, name_of_part(model), model->hw);
  return TG_OK;
}

/* The couplings of an input with its orbits renumbered. */
static tg_status renumber(const tg_ci_shells* shells, const int* map, const tg_ci_part* part,
                          tg_ci_couplings* out) {
  const tg_ci_couplings* from = &part->couplings;
  for (size_t i = 0; i < from->one_count; i++) {
    tg_ci_one_element e = from->one[i];
    e.a = map[e.a];
    e.b = map[e.b];
    TG_TRY(tg_ci_couplings_put_one(out, shells, e, (tg_place){part->path, e.line, 0}));
  }
  for (size_t i = 0; i < from->two_count; i++) {
    tg_ci_two_element e = from->two[i];
    e.a = map[e.a];
    e.b = map[e.b];
    e.c = map[e.c];
    e.d = map[e.d];
    TG_TRY(tg_ci_couplings_put_two(out, shells, e, (tg_place){part->path, e.line, 0}));
  }
  out->duplicates = from->duplicates;
  out->duplicate_mismatch = from->duplicate_mismatch;
  out->zeros = from->zeros;
  return TG_OK;
}

tg_status tg_ci_model_merge(tg_ci_model* model, tg_ci_model* other) {
  if (model->shells.count == 0 && model->part_count == 0) {
    tg_ci_model_free(model);
    *model = *other;
    *other = tg_ci_model_empty();
    return TG_OK;
  }
  TG_TRY(check_constants(model, other));
  int* map = NULL;
  tg_ci_couplings* renumbered = NULL;
  tg_ci_part* parts = NULL;
  const size_t added = other->part_count, all = model->part_count + added;
  tg_status status = TG_OK;
  TG_TRY_GOTO(TG_ALLOCATE(other->shells.count, "orbits", &map), done);
  TG_TRY_GOTO(map_shells(model, other, map), done);
  TG_TRY_GOTO(TG_ALLOCATE(added, "inputs", &renumbered), done);
  for (size_t i = 0; i < added; i++)
    TG_TRY_GOTO(renumber(&model->shells, map, &other->parts[i], &renumbered[i]), done);
  TG_TRY_GOTO(TG_ALLOCATE(all, "inputs", &parts), done);
  if (model->part_count) memcpy(parts, model->parts, model->part_count * sizeof *parts);
  for (size_t i = 0; i < added; i++) {
    tg_ci_couplings_free(&other->parts[i].couplings);
    other->parts[i].couplings = renumbered[i];
    memset(&renumbered[i], 0, sizeof renumbered[i]);
    parts[model->part_count + i] = other->parts[i];
  }
  tg_free(model->parts);
  model->parts = parts;
  model->part_count = all;
  other->part_count = 0; /* their contents belong to model now */
  if (model->core_mass < 0) model->core_mass = other->core_mass;
  if (model->core_protons < 0) {
    model->core_protons = other->core_protons;
    model->core_neutrons = other->core_neutrons;
  }
  if (model->hw == 0) model->hw = other->hw;
  tg_ci_model_free(other);
done:
  for (size_t i = 0; renumbered && i < added; i++) tg_ci_couplings_free(&renumbered[i]);
  tg_free(renumbered);
  tg_free(map);
  return status;
}

/* ---- mass and scale ---- */

tg_status tg_ci_model_mass(const tg_ci_model* model, const tg_ci_nucleus* nucleus, double* mass) {
  if (model->core_mass < 0)
    return tg_fail(TG_ERR_INPUT,
                   "%s: the mass number is needed, but the inputs do not say the mass of the core; "
                   "name it in a .sp file, in the first line of an .int file (`... Acore A0 p`) or "
                   "by --scale A0,p,Acore, or avoid the need with --scale none and --hw",
                   name_of_part(model));
  *mass = model->core_mass + nucleus->protons + nucleus->neutrons;
  if (*mass <= 0) return tg_fail(TG_ERR_INPUT, "a nucleus without particles has no mass number");
  return TG_OK;
}

tg_status tg_ci_model_oscillator(const tg_ci_model* model, const tg_ci_nucleus* nucleus,
                                 double* hw) {
  *hw = nucleus->hw > 0 ? nucleus->hw : model->hw;
  if (*hw > 0) return TG_OK;
  double mass = 0;
  if (model->core_mass == 0) /* the rule is of valence orbits; without one any hw may be meant */
    return tg_fail(TG_ERR_INPUT,
                   "the oscillator energy of the orbits is needed, and %s does not say it; give "
                   "--hw",
                   name_of_part(model));
  TG_TRY(tg_ci_model_mass(model, nucleus, &mass));
  *hw = tg_ci_oscillator_energy(mass);
  return TG_OK;
}

static bool in_units_of_hw(const tg_ci_couplings* couplings) {
  for (size_t i = 0; i < couplings->one_count; i++)
    if (couplings->one[i].value.per_hw != 0) return true;
  for (size_t i = 0; i < couplings->two_count; i++)
    if (couplings->two[i].value.per_hw != 0) return true;
  return false;
}

static tg_status need_hw(const tg_ci_model* model, const tg_ci_nucleus* nucleus, const char* path,
                         double* hw) {
  *hw = nucleus->hw > 0 ? nucleus->hw : model->hw;
  if (*hw > 0) return TG_OK;
  return tg_fail(TG_ERR_INPUT,
                 "%s: the kinetic energy needs the oscillator energy, which the inputs do not say; "
                 "give --hw",
                 path);
}

static tg_ci_value fixed(double value) { return (tg_ci_value){.fixed = value}; }

static tg_status add_part(const tg_ci_model* model, const tg_ci_nucleus* nucleus,
                          const tg_ci_part* part, tg_ci_couplings* total) {
  double mass = 0, hw = 0, scale = 1, one_hw = 0, two_hw = 0;
  if (part->scaling.on) {
    TG_TRY(tg_ci_model_mass(model, nucleus, &mass));
    scale = pow(part->scaling.mass / mass, part->scaling.power);
  }
  if (in_units_of_hw(&part->couplings)) {
    TG_TRY(tg_ci_model_mass(model, nucleus, &mass));
    TG_TRY(need_hw(model, nucleus, part->path, &hw));
    one_hw = hw * (mass - 1) / mass;
    two_hw = hw / mass;
  }
  const tg_ci_couplings* c = &part->couplings;
  for (size_t i = 0; i < c->one_count; i++)
    TG_TRY(tg_ci_couplings_add_one(total, &model->shells, c->one[i],
                                   fixed(c->one[i].value.fixed + one_hw * c->one[i].value.per_hw)));
  for (size_t i = 0; i < c->two_count; i++)
    TG_TRY(tg_ci_couplings_add_two(
        total, &model->shells, c->two[i],
        fixed(scale * c->two[i].value.fixed + two_hw * c->two[i].value.per_hw)));
  return TG_OK;
}

tg_status tg_ci_model_couplings(const tg_ci_model* model, const tg_ci_nucleus* nucleus,
                                tg_ci_couplings* out) {
  tg_ci_couplings total = {0};
  for (size_t i = 0; i < model->part_count; i++) {
    tg_status status = add_part(model, nucleus, &model->parts[i], &total);
    if (status != TG_OK) {
      tg_ci_couplings_free(&total);
      return status;
    }
  }
  *out = total;
  return TG_OK;
}

static tg_status add_relative_kinetic(const tg_ci_model* model, const tg_ci_nucleus* nucleus,
                                      tg_ci_couplings* total) {
  for (size_t i = 0; i < model->part_count; i++)
    if (model->parts[i].kinetic)
      return tg_fail(TG_ERR_INPUT,
                     "%s: the kinetic energy is in it already; leave --trel away for it",
                     model->parts[i].path);
  if (model->core_mass > 0)
    return tg_fail(TG_ERR_INPUT,
                   "%s: it is for a core of mass %g; --trel is for inputs without a core",
                   name_of_part(model), model->core_mass);
  double hw = 0;
  TG_TRY(need_hw(model, nucleus, name_of_part(model), &hw));
  tg_ci_couplings kinetic = {0};
  tg_status status = tg_ci_quantity_couplings(model, TG_CI_TREL, nucleus, &kinetic);
  for (size_t i = 0; status == TG_OK && i < kinetic.two_count; i++)
    status = tg_ci_couplings_add_two(total, &model->shells, kinetic.two[i], kinetic.two[i].value);
  tg_ci_couplings_free(&kinetic);
  return status;
}

tg_status tg_ci_model_hamiltonian(const tg_ci_model* model, const tg_ci_nucleus* nucleus,
                                  tg_ci_hamiltonian** out) {
  tg_ci_couplings total = {0};
  TG_TRY(tg_ci_model_couplings(model, nucleus, &total));
  tg_status status = TG_OK;
  if (nucleus->relative_kinetic)
    TG_TRY_GOTO(add_relative_kinetic(model, nucleus, &total), free_total);
  TG_TRY_GOTO(tg_ci_couplings_uncouple(&total, model, out), free_total);
free_total:
  tg_ci_couplings_free(&total);
  return status;
}
