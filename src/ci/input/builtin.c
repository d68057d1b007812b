/* SPDX-License-Identifier: Apache-2.0 */
/* Interactions that ship with throng.
 *
 * USDB, shell 1s0d: B. A. Brown and W. A. Richter, Phys. Rev. C 74, 034315 (2006).
 * Cohen and Kurath's potential (8-16)POT, shell 0p: Nucl. Phys. 73, 1 (1965).
 *
 * The numbers are the published ones: normalised isospin-coupled elements in MeV. */
#include "ci/input/builtin.h"

#include <string.h>

#include "ci/input/readers.h"

typedef struct element {
  int isospin, j;
  int orbit[4];
  double value;
} element;

typedef struct table {
  const char* name;
  int orbit_count;
  tg_ci_shell orbits[3];
  double energies[3];
  int core_protons, core_neutrons;
  tg_ci_scaling scaling;
  const element* elements;
  size_t element_count;
} table;

/* orbits: 0 0d3/2, 1 0d5/2, 2 1s1/2 */
static const element usdb[] = {
    /* T = 0, J = 1 */
    {0, 1, {0, 0, 0, 0}, -1.6582},
    {0, 1, {0, 0, 0, 1}, -0.1922},
    {0, 1, {0, 0, 0, 2}, -0.8493},
    {0, 1, {0, 0, 1, 1}, 1.6647},
    {0, 1, {0, 0, 2, 2}, 0.1574},
    {0, 1, {0, 1, 0, 1}, -6.0099},
    {0, 1, {0, 1, 0, 2}, -1.6231},
    {0, 1, {0, 1, 1, 1}, -3.4987},
    {0, 1, {0, 1, 2, 2}, -2.0226},
    {0, 1, {0, 2, 0, 2}, -4.0460},
    {0, 1, {0, 2, 1, 1}, 0.0272},
    {0, 1, {0, 2, 2, 2}, -0.9201},
    {0, 1, {1, 1, 1, 1}, -1.3796},
    {0, 1, {1, 1, 2, 2}, -0.5344},
    {0, 1, {2, 2, 2, 2}, -3.7093},
    /* T = 0, J = 2 */
    {0, 2, {0, 1, 0, 1}, -4.2117},
    {0, 2, {0, 1, 0, 2}, -0.4429},
    {0, 2, {0, 1, 1, 2}, -0.6464},
    {0, 2, {0, 2, 0, 2}, -1.8504},
    {0, 2, {0, 2, 1, 2}, -2.5110},
    {0, 2, {1, 2, 1, 2}, -0.3154},
    /* T = 0, J = 3 */
    {0, 3, {0, 0, 0, 0}, -2.9660},
    {0, 3, {0, 0, 0, 1}, -1.4300},
    {0, 3, {0, 0, 1, 1}, 1.1792},
    {0, 3, {0, 0, 1, 2}, 0.0968},
    {0, 3, {0, 1, 0, 1}, -1.2124},
    {0, 3, {0, 1, 1, 1}, -2.3102},
    {0, 3, {0, 1, 1, 2}, -1.2526},
    {0, 3, {1, 1, 1, 1}, -1.6651},
    {0, 3, {1, 1, 1, 2}, -1.2167},
    {0, 3, {1, 2, 1, 2}, -4.1823},
    /* T = 0, J = 4 */
    {0, 4, {0, 1, 0, 1}, -4.6189},
    /* T = 0, J = 5 */
    {0, 5, {1, 1, 1, 1}, -4.3205},
    /* T = 1, J = 0 */
    {1, 0, {0, 0, 0, 0}, -1.8992},
    {1, 0, {0, 0, 1, 1}, -3.1025},
    {1, 0, {0, 0, 2, 2}, -1.0150},
    {1, 0, {1, 1, 1, 1}, -2.5598},
    {1, 0, {1, 1, 2, 2}, -1.5602},
    {1, 0, {2, 2, 2, 2}, -1.6913},
    /* T = 1, J = 1 */
    {1, 1, {0, 1, 0, 1}, 0.6556},
    {1, 1, {0, 1, 0, 2}, -0.0456},
    {1, 1, {0, 2, 0, 2}, 0.5158},
    /* T = 1, J = 2 */
    {1, 2, {0, 0, 0, 0}, -0.0974},
    {1, 2, {0, 0, 0, 1}, 0.5032},
    {1, 2, {0, 0, 0, 2}, 0.3494},
    {1, 2, {0, 0, 1, 1}, -1.2187},
    {1, 2, {0, 0, 1, 2}, -0.3173},
    {1, 2, {0, 1, 0, 1}, -0.1545},
    {1, 2, {0, 1, 0, 2}, -0.3713},
    {1, 2, {0, 1, 1, 1}, 0.2137},
    {1, 2, {0, 1, 1, 2}, 0.3147},
    {1, 2, {0, 2, 0, 2}, -0.3034},
    {1, 2, {0, 2, 1, 1}, 0.8866},
    {1, 2, {0, 2, 1, 2}, 1.6131},
    {1, 2, {1, 1, 1, 1}, -1.0007},
    {1, 2, {1, 1, 1, 2}, -0.9317},
    {1, 2, {1, 2, 1, 2}, -0.9405},
    /* T = 1, J = 3 */
    {1, 3, {0, 1, 0, 1}, 0.7673},
    {1, 3, {0, 1, 1, 2}, -0.5525},
    {1, 3, {1, 2, 1, 2}, 0.6841},
    /* T = 1, J = 4 */
    {1, 4, {0, 1, 0, 1}, -1.4447},
    {1, 4, {0, 1, 1, 1}, 1.3349},
    {1, 4, {1, 1, 1, 1}, -0.2069},
};

/* orbits: 0 0p1/2, 1 0p3/2 */
static const element ckpot[] = {
    /* T = 0, J = 1 */
    {0, 1, {0, 0, 0, 0}, -4.29215},
    {0, 1, {0, 0, 0, 1}, -1.2047},
    {0, 1, {0, 0, 1, 1}, 1.7698},
    {0, 1, {0, 1, 0, 1}, -6.5627},
    {0, 1, {0, 1, 1, 1}, -3.2056},
    {0, 1, {1, 1, 1, 1}, -3.4362},
    /* T = 0, J = 2 */
    {0, 2, {0, 1, 0, 1}, -4.0579},
    /* T = 0, J = 3 */
    {0, 3, {1, 1, 1, 1}, -7.2668},
    /* T = 1, J = 0 */
    {1, 0, {0, 0, 0, 0}, 0.2440},
    {1, 0, {0, 0, 1, 1}, -5.0526},
    {1, 0, {1, 1, 1, 1}, -3.3287},
    /* T = 1, J = 1 */
    {1, 1, {0, 1, 0, 1}, 0.7344},
    /* T = 1, J = 2 */
    {1, 2, {0, 1, 0, 1}, -1.1443},
    {1, 2, {0, 1, 1, 1}, 1.7423},
    {1, 2, {1, 1, 1, 1}, 0.0878},
};

static const table tables[] = {
    {.name = "usdb",
     .orbit_count = 3,
     .orbits = {{.n = 0, .l = 2, .two_j = 3}, {.n = 0, .l = 2, .two_j = 5}, {.n = 1, .two_j = 1}},
     .energies = {2.1117, -3.9257, -3.2079},
     .core_protons = 8,
     .core_neutrons = 8,
     .scaling = {.on = true, .mass = 18, .power = 0.3},
     .elements = usdb,
     .element_count = sizeof usdb / sizeof *usdb},
    {.name = "ckpot",
     .orbit_count = 2,
     .orbits = {{.n = 0, .l = 1, .two_j = 1}, {.n = 0, .l = 1, .two_j = 3}},
     .energies = {2.419, 1.129},
     .core_protons = 2,
     .core_neutrons = 2,
     .elements = ckpot,
     .element_count = sizeof ckpot / sizeof *ckpot},
};

static tg_status put_elements(const table* t, tg_place place, tg_ci_model* model,
                              tg_ci_part* part) {
  tg_ci_isospin_elements elements = {0};
  tg_status status = TG_OK;
  for (size_t i = 0; i < t->element_count; i++) {
    const element* e = &t->elements[i];
    const tg_ci_two_element two = {.a = e->orbit[0],
                                   .b = e->orbit[1],
                                   .c = e->orbit[2],
                                   .d = e->orbit[3],
                                   .j = e->j,
                                   .value = {.fixed = e->value}};
    TG_TRY_GOTO(tg_ci_isospin_put(&elements, &model->shells, two, e->isospin, place), done);
  }
  TG_TRY_GOTO(tg_ci_isospin_expand(&elements, &model->shells, &part->couplings), done);
done:
  tg_ci_isospin_elements_free(&elements);
  return status;
}

static tg_status load(const table* t, const char* path, tg_ci_model* model) {
  const tg_place place = {path, 0, 0};
  tg_ci_part* part = NULL;
  TG_TRY(tg_ci_model_add_part(model, path, tg_ci_format_name(TG_CI_BUILTIN), &part));
  model->core_protons = t->core_protons;
  model->core_neutrons = t->core_neutrons;
  model->core_mass = t->core_protons + t->core_neutrons;
  part->scaling = t->scaling;
  for (int species = 0; species < 2; species++)
    for (int i = 0; i < t->orbit_count; i++) {
      tg_ci_shell shell = t->orbits[i];
      shell.species = species;
      shell.weight = -1;
      TG_TRY(tg_ci_shells_add(&model->shells, shell, place));
    }
  for (int i = 0; i < 2 * t->orbit_count; i++) {
    const tg_ci_one_element one = {
        .a = i, .b = i, .value = {.fixed = t->energies[i % t->orbit_count]}};
    TG_TRY(tg_ci_couplings_put_one(&part->couplings, &model->shells, one, place));
  }
  return put_elements(t, place, model, part);
}

tg_status tg_ci_read_builtin(const char* path, tg_ci_model* model, tg_ci_notes* notes) {
  const char* name = path + strlen(TG_CI_BUILTIN_PREFIX);
  (void)notes;
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
    if (tg_compare_nocase(name, tables[i].name) == 0) return load(&tables[i], path, model);
  if (strncmp(name, "sdi:", 4) == 0) return tg_ci_read_surface_delta(path, model);
  return tg_fail(TG_ERR_INPUT,
                 "%s: there is no such interaction; expected %susdb, %sckpot or "
                 "%ssdi:ORBITS:STRENGTHS (see docs/formats.md)",
                 path, TG_CI_BUILTIN_PREFIX, TG_CI_BUILTIN_PREFIX, TG_CI_BUILTIN_PREFIX);
}
