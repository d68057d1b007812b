/* SPDX-License-Identifier: Apache-2.0 */
/* Root mean square radii of nuclei without a core, and the kinetic energy relative to the centre of
 * mass. */
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "ci/observables.h"
#include "ci/radii.h"

enum { MATTER, PROTON, NEUTRON, CHARGE, KINETIC, COLUMNS };

static tg_ci_nucleus nucleus_of(const tg_ci_problem* p) {
  return (tg_ci_nucleus){.protons = p->particles[0], .neutrons = p->particles[1], .hw = p->hw};
}

static tg_status add_columns(tg_ci_table* table, size_t column[COLUMNS]) {
  static const char* const names[COLUMNS][3] = {[MATTER] = {"r_matter_fm", "r matter", "fm"},
                                                [PROTON] = {"r_proton_fm", "r proton", "fm"},
                                                [NEUTRON] = {"r_neutron_fm", "r neutron", "fm"},
                                                [CHARGE] = {"r_charge_fm", "r charge/fm", "fm"},
                                                [KINETIC] = {"T_rel_MeV", "T rel/MeV", "MeV"}};
  for (int c = 0; c < COLUMNS; c++) {
    tg_ci_column like = {.kind = TG_CI_COLUMN_REAL, .digits = c == KINETIC ? 3 : 4};
    snprintf(like.name, sizeof like.name, "%s", names[c][0]);
    snprintf(like.head, sizeof like.head, "%s", names[c][1]);
    snprintf(like.unit, sizeof like.unit, "%s", names[c][2]);
    TG_TRY(tg_ci_table_column(table, like, &column[c]));
  }
  return TG_OK;
}

/* All states of a sector. */
static tg_status of_sector(const tg_ci_question* q, size_t sector, tg_ci_table* table,
                           const size_t column[COLUMNS]) {
  const tg_ci_problem* p = q->initial.problem;
  const tg_ci_spectrum* spectrum = q->initial.spectrum;
  const tg_ci_sector* s = &spectrum->sectors[sector];
  const size_t count = (size_t)s->result.states;
  const int threads = tg_ci_question_threads(q);
  const tg_ci_nucleus nucleus = nucleus_of(p);
  tg_ci_radii* radii = NULL;
  double* kinetic = NULL;
  tg_ci_hamiltonian* o = NULL;
  tg_status status = TG_OK;
  TG_TRY_GOTO(TG_ALLOCATE(count, "radii", &radii), done);
  TG_TRY_GOTO(TG_ALLOCATE(count, "kinetic energies", &kinetic), done);
  TG_TRY_GOTO(tg_ci_radii_make(&p->input->model, &nucleus, s->space, count, s->result.vectors,
                               s->result.ld, threads, radii),
              done);
  TG_TRY_GOTO(tg_ci_model_quantity(&p->input->model, TG_CI_TREL, &nucleus, &o), done);
  TG_TRY_GOTO(
      tg_ci_expectations(o, s->space, count, s->result.vectors, s->result.ld, threads, kinetic),
      done);
  for (size_t i = 0; i < spectrum->level_count; i++) {
    const tg_ci_level* level = &spectrum->levels[i];
    if (level->sector != sector) continue;
    const tg_ci_radii* r = &radii[level->number];
    const double value[COLUMNS] = {sqrt(r->matter), sqrt(r->proton), sqrt(r->neutron),
                                   sqrt(r->charge), kinetic[level->number]};
    for (int c = 0; c < COLUMNS; c++) table->columns[column[c]].value[i] = value[c];
  }
done:
  tg_ci_hamiltonian_free(o);
  tg_free(radii);
  tg_free(kinetic);
  return status;
}

/* Lengths are in units of the oscillator's. */
static tg_status check(const tg_ci_question* q) {
  const tg_ci_problem* p = q->initial.problem;
  const tg_ci_nucleus nucleus = nucleus_of(p);
  double hw;
  return p->input->model.core_mass ? TG_OK
                                   : tg_ci_model_oscillator(&p->input->model, &nucleus, &hw);
}

static tg_status compute(const tg_ci_question* q) {
  tg_ci_table* table = NULL;
  size_t column[COLUMNS];
  if (q->initial.problem->input->model.core_mass != 0)
    return tg_ci_tables_note(q->tables,
                             "radii need an input without a core: where the core's particles are "
                             "is not in %s",
                             q->initial.problem->input->facts[0].path);
  TG_TRY(tg_ci_question_levels(q, &table));
  TG_TRY(add_columns(table, column));
  for (size_t s = 0; s < q->initial.spectrum->sector_count; s++)
    TG_TRY(of_sector(q, s, table, column));
  return tg_ci_tables_note(q->tables,
                           "radii are those of point nucleons about the centre of mass; that of "
                           "the charge adds the nucleons' own charge radii and the Darwin-Foldy "
                           "term. The interaction's part of an energy is E - T rel (and less the "
                           "term of --beta-cm)");
}

const tg_ci_observable tg_ci_observable_radii = {
    .name = "radii",
    .help = "radii of matter, protons, neutrons and charge, and the kinetic energy, without a core",
    .can = TG_CI_OF_NUCLEI | TG_CI_WITHIN,
    .check = check,
    .compute = compute,
};
