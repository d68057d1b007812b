/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a file of wave functions; ci/wave_read.c reads it, docs/formats.md has its layout. */
#include "ci/wave_file.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "ci/digest.h"

typedef struct writer {
  tg_ci_results* file;
  const tg_ci_problem* problem;
  const tg_ci_spectrum* spectrum;
} writer;

static tg_status put(writer* w, const char* group, const char* name, const tg_ci_array* array) {
  char path[128];
  snprintf(path, sizeof path, "%s/%s", group, name);
  return tg_ci_results_put(w->file, path, array);
}

/* One number of each of `count` records of `step` bytes, all as 32 or 64 bits. */
typedef enum width { BITS_8, BITS_16, SIGNED_16, BITS_32, SIGNED_32, BITS_64, DOUBLES } width;

static tg_status put_member(writer* w, const char* group, const char* name, width kind,
                            size_t count, size_t step, const void* first) {
  tg_status status;
  int64_t* values = NULL;
  TG_TRY(TG_ALLOCATE(count, "numbers of a file", &values));
  for (size_t i = 0; i < count; i++) {
    const char* at = (const char*)first + i * step;
    switch (kind) {
      case BITS_8: values[i] = *(const uint8_t*)at; break;
      case BITS_16: values[i] = *(const uint16_t*)at; break;
      case SIGNED_16: values[i] = *(const int16_t*)at; break;
      case BITS_32: values[i] = *(const uint32_t*)at; break;
      case SIGNED_32: values[i] = *(const int32_t*)at; break;
      case BITS_64:
      case DOUBLES: memcpy(&values[i], at, sizeof *values); break;
    }
  }
  const tg_ci_array array = {.element = kind == DOUBLES ? TG_CI_DOUBLE : TG_CI_INT64,
                             .axes = 1,
                             .size = {count},
                             .data = values};
  status = put(w, group, name, &array);
  tg_free(values);
  return status;
}

#define PUT_MEMBER(w, group, name, kind, count, records, member)                                   \
  put_member(w, group, name, kind, count, sizeof *(records), (count) ? &(records)->member : NULL)

/* ---- the problem ---- */

static tg_status write_core(writer* w) {
  const tg_ci_problem* p = w->problem;
  const tg_ci_model* model = &p->input->model;
  if (model->core_mass >= 0)
    TG_TRY(tg_ci_results_set_double(w->file, "", "core_mass", model->core_mass));
  if (model->core_protons >= 0 && model->core_neutrons >= 0) {
    TG_TRY(tg_ci_results_set_int(w->file, "", "core_protons", model->core_protons));
    TG_TRY(tg_ci_results_set_int(w->file, "", "core_neutrons", model->core_neutrons));
  }
  if (p->hw > 0) TG_TRY(tg_ci_results_set_double(w->file, "", "hw_MeV", p->hw));
  if (p->mass > 0) TG_TRY(tg_ci_results_set_double(w->file, "", "mass_number", p->mass));
  return TG_OK;
}

/* Paths and formats of the inputs, a line each, as far as an attribute has room. */
static tg_status write_inputs(writer* w) {
  char list[8192] = "";
  size_t used = 0;
  const tg_ci_input* input = w->problem->input;
  for (size_t i = 0; i < input->fact_count && used < sizeof list; i++)
    used += (size_t)snprintf(list + used, sizeof list - used, "%s%s (%s)", i ? "\n" : "",
                             input->facts[i].path, tg_ci_format_name(input->facts[i].format));
  return tg_ci_results_set_text(w->file, "", "inputs", list);
}

static tg_status write_head(writer* w, const char* command) {
  const tg_ci_problem* p = w->problem;
  const bool nucleus = p->kind == TG_CI_NUCLEUS;
  TG_TRY(tg_ci_results_set_text(w->file, "", "kind", nucleus ? "nucleus" : "molecule"));
  TG_TRY(tg_ci_results_set_text(w->file, "", "energy_unit", tg_ci_problem_unit(p)));
  TG_TRY(tg_ci_results_set_int(w->file, "", nucleus ? "two_m" : "two_sz", p->two_m));
  TG_TRY(tg_ci_results_set_int(w->file, "", "hamiltonian_digest",
                               (int64_t)tg_ci_hamiltonian_digest(p->h)));
  TG_TRY(write_inputs(w));
  if (command) TG_TRY(tg_ci_results_set_text(w->file, "", "command", command));
  return nucleus ? write_core(w) : TG_OK;
}

static tg_status write_orbitals(writer* w, int species) {
  const tg_ci_problem* p = w->problem;
  const tg_ci_orbital* o;
  const size_t count = tg_ci_hamiltonian_orbitals(p->h, species, &o);
  char group[32];
  snprintf(group, sizeof group, "species/%c/orbitals", 'a' + species);
  TG_TRY(PUT_MEMBER(w, group, "two_m", SIGNED_16, count, o, two_m));
  TG_TRY(PUT_MEMBER(w, group, "symmetry", BITS_8, count, o, symmetry));
  TG_TRY(PUT_MEMBER(w, group, "weight", BITS_8, count, o, weight));
  TG_TRY(PUT_MEMBER(w, group, "shell", BITS_16, count, o, shell));
  if (p->kind != TG_CI_NUCLEUS) return TG_OK;
  const tg_ci_shells* shells = &p->input->model.shells;
  tg_ci_shell* of = NULL; /* [count] the j-orbit of each */
  TG_TRY(TG_ALLOCATE(count, "orbitals", &of));
  for (size_t i = 0; i < count; i++)
    of[i] = shells->shell[o[i].shell + (species ? shells->proton_count : 0)];
  tg_status status = PUT_MEMBER(w, group, "n", SIGNED_32, count, of, n);
  if (status == TG_OK) status = PUT_MEMBER(w, group, "l", SIGNED_32, count, of, l);
  if (status == TG_OK) status = PUT_MEMBER(w, group, "two_j", SIGNED_32, count, of, two_j);
  tg_free(of);
  return status;
}

static tg_status write_limits(writer* w, int species) {
  const tg_ci_limits* l = &w->problem->space.limits[species];
  const size_t orbitals = tg_ci_hamiltonian_orbitals(w->problem->h, species, NULL);
  char group[16], limits[32];
  snprintf(group, sizeof group, "species/%c", 'a' + species);
  snprintf(limits, sizeof limits, "%s/limits", group);
  TG_TRY(tg_ci_results_set_text(w->file, group, "species", w->problem->space.names[species]));
  TG_TRY(tg_ci_results_set_int(w->file, group, "particles", l->particles));
  TG_TRY(tg_ci_results_set_int(w->file, limits, "weight_most", l->weight_most));
  TG_TRY(tg_ci_results_set_int(w->file, limits, "shells", (int64_t)l->shells));
  const tg_ci_array roles = {
      TG_CI_UINT8, 1, {orbitals}, l->roles, 0, NULL, "0 active, 1 always occupied, 2 never"};
  const tg_ci_array least = {
      TG_CI_UINT16, 1, {l->shells}, l->least, 0, NULL, "least occupation of each shell"};
  const tg_ci_array most = {
      TG_CI_UINT16, 1, {l->shells}, l->most, 0, NULL, "most occupation of each shell"};
  const tg_ci_array partitions = {TG_CI_UINT16,
                                  2,
                                  {l->partition_count, l->shells},
                                  l->partitions,
                                  0,
                                  NULL,
                                  "occupations of the shells that are kept"};
  if (l->roles) TG_TRY(put(w, limits, "roles", &roles));
  if (l->least) TG_TRY(put(w, limits, "least", &least));
  if (l->most) TG_TRY(put(w, limits, "most", &most));
  return l->partition_count ? put(w, limits, "partitions", &partitions) : TG_OK;
}

static tg_status write_restrictions(writer* w) {
  const tg_ci_space_params* s = &w->problem->space;
  TG_TRY(tg_ci_results_set_int(w->file, "space", "two_m", s->two_m));
  TG_TRY(tg_ci_results_set_int(w->file, "space", "weight_most", s->weight_most));
  const tg_ci_array pairs = {TG_CI_UINT32,
                             2,
                             {s->partition_pair_count, 2},
                             s->partition_pairs,
                             0,
                             NULL,
                             "partitions of a and of b that go together"};
  return s->partition_pair_count ? put(w, "space", "partition_pairs", &pairs) : TG_OK;
}

/* ---- a sector ---- */

static tg_status write_strings(writer* w, const char* group, const tg_ci_space* space) {
  for (int s = 0; s < 2; s++) {
    char name[64];
    const tg_ci_strings* of = &space->strings[s];
    const tg_ci_class* c = of->classes;
    const size_t count = of->class_count;
    snprintf(name, sizeof name, "%s/classes_%c", group, 'a' + s);
    TG_TRY(PUT_MEMBER(w, name, "two_m", SIGNED_32, count, c, two_m));
    TG_TRY(PUT_MEMBER(w, name, "symmetry", BITS_32, count, c, symmetry));
    TG_TRY(PUT_MEMBER(w, name, "weight", BITS_32, count, c, weight));
    TG_TRY(PUT_MEMBER(w, name, "partition", BITS_32, count, c, partition));
    TG_TRY(PUT_MEMBER(w, name, "begin", BITS_64, count, c, begin));
    TG_TRY(PUT_MEMBER(w, name, "count", BITS_64, count, c, count));
    const tg_ci_array strings = {TG_CI_UINT16,
                                 2,
                                 {of->count, (size_t)of->particles},
                                 of->orbital,
                                 0,
                                 NULL,
                                 "occupied orbitals of each string, rising, from 0"};
    snprintf(name, sizeof name, "strings_%c", 'a' + s);
    TG_TRY(put(w, group, name, &strings));
  }
  return TG_OK;
}

static tg_status write_blocks(writer* w, const char* group, const tg_ci_space* space) {
  const tg_ci_block* b = space->blocks;
  const size_t count = space->block_count;
  size_t* first = NULL; /* [2, count] */
  tg_status status;
  char name[64];
  snprintf(name, sizeof name, "%s/blocks", group);
  TG_TRY(PUT_MEMBER(w, name, "class_a", BITS_32, count, b, a));
  TG_TRY(PUT_MEMBER(w, name, "class_b", BITS_32, count, b, b));
  TG_TRY(PUT_MEMBER(w, name, "rows", BITS_64, count, b, rows));
  TG_TRY(PUT_MEMBER(w, name, "columns", BITS_64, count, b, columns));
  TG_TRY(PUT_MEMBER(w, name, "offset", BITS_64, count, b, offset));
  TG_TRY(TG_ALLOCATE(2 * count, "blocks", &first));
  for (size_t i = 0; i < count; i++) {
    first[i] = space->strings[0].classes[b[i].a].begin;
    first[count + i] = space->strings[1].classes[b[i].b].begin;
  }
  TG_TRY_GOTO(put_member(w, name, "first_a", BITS_64, count, sizeof *first, first), done);
  status = put_member(w, name, "first_b", BITS_64, count, sizeof *first, first + count);
done:
  tg_free(first);
  return status;
}

/* A label of each state, and twice J (S, T) where that is a whole number. */
static tg_status write_label(writer* w, const char* group, size_t sector, tg_ci_label label,
                             const char* name, const char* unit, const char* two_name) {
  const size_t count = (size_t)w->spectrum->sectors[sector].result.states;
  tg_status status = TG_OK;
  double* values = NULL;
  int32_t* twice = NULL;
  TG_TRY(TG_ALLOCATE(count, "labels", &values));
  TG_TRY_GOTO(TG_ALLOCATE(count, "labels", &twice), done);
  for (size_t i = 0; i < w->spectrum->level_count; i++) {
    const tg_ci_level* level = &w->spectrum->levels[i];
    if (level->sector != sector) continue;
    values[level->number] = level->squared[label];
    twice[level->number] = tg_ci_twice(level->squared[label]);
  }
  const tg_ci_array expectation = {
      TG_CI_DOUBLE, 1, {count}, values, 0, unit, "expectation value in each state"};
  const tg_ci_array number = {
      TG_CI_INT32, 1, {count}, twice, 0, NULL, "-1: not known, or shared with a level close by"};
  TG_TRY_GOTO(put(w, group, name, &expectation), done);
  if (two_name) status = put(w, group, two_name, &number);
done:
  tg_free(twice);
  tg_free(values);
  return status;
}

static tg_status write_labels(writer* w, const char* group, size_t sector) {
  const tg_ci_problem* p = w->problem;
  const bool nucleus = p->kind == TG_CI_NUCLEUS;
  if (p->label[TG_CI_LABEL_J])
    TG_TRY(write_label(w, group, sector, TG_CI_LABEL_J, nucleus ? "J_squared" : "S_squared", NULL,
                       nucleus ? "two_J" : "two_S"));
  if (p->label[TG_CI_LABEL_T])
    TG_TRY(write_label(w, group, sector, TG_CI_LABEL_T, "T_squared", NULL, "two_T"));
  if (p->label[TG_CI_LABEL_CM])
    TG_TRY(write_label(w, group, sector, TG_CI_LABEL_CM, "cm_excitation", "MeV", NULL));
  return TG_OK;
}

static tg_status write_sector(writer* w, size_t number) {
  const tg_ci_sector* s = &w->spectrum->sectors[number];
  const size_t count = (size_t)s->result.states, dimension = (size_t)s->space->dimension;
  const char* unit = tg_ci_problem_unit(w->problem);
  char group[32];
  snprintf(group, sizeof group, "sectors/%zu", number);
  TG_TRY(tg_ci_results_set_int(w->file, group, "symmetry", s->need.symmetry));
  if (w->problem->kind == TG_CI_NUCLEUS)
    TG_TRY(tg_ci_results_set_int(w->file, group, "parity", s->need.symmetry ? -1 : 1));
  else
    TG_TRY(tg_ci_results_set_int(w->file, group, "irrep", (int64_t)s->need.symmetry + 1));
  TG_TRY(tg_ci_results_set_int(w->file, group, "dimension", (int64_t)dimension));
  TG_TRY(tg_ci_results_set_double(w->file, group, "tolerance", s->result.tolerance));
  TG_TRY(write_strings(w, group, s->space));
  TG_TRY(write_blocks(w, group, s->space));
  const tg_ci_array energies = {TG_CI_DOUBLE, 1, {count}, s->result.values, 0, unit, NULL};
  const tg_ci_array residuals = {TG_CI_DOUBLE,       1, {count}, s->result.residuals, 0, unit,
                                 "norm of H v - E v"};
  const tg_ci_array errors = {
      TG_CI_DOUBLE, 1, {count}, s->result.errors, 0, unit, "bound of the energy's error"};
  TG_TRY(put(w, group, "energies", &energies));
  TG_TRY(put(w, group, "residuals", &residuals));
  TG_TRY(put(w, group, "errors", &errors));
  TG_TRY(write_labels(w, group, number));
  const tg_ci_array vectors = {TG_CI_DOUBLE,
                               2,
                               {count, dimension},
                               s->result.vectors,
                               s->result.ld,
                               NULL,
                               "orthonormal states, in the order of blocks"};
  return put(w, group, "vectors", &vectors);
}

/* The levels of all sectors, rising: which state of which sector each one is. */
static tg_status write_levels(writer* w) {
  const tg_ci_level* levels = w->spectrum->levels;
  const size_t count = w->spectrum->level_count;
  TG_TRY(PUT_MEMBER(w, "levels", "sector", BITS_64, count, levels, sector));
  TG_TRY(PUT_MEMBER(w, "levels", "state", BITS_64, count, levels, number));
  return PUT_MEMBER(w, "levels", "energy", DOUBLES, count, levels, energy);
}

tg_status tg_ci_wave_write(const char* path, const tg_ci_problem* problem,
                           const tg_ci_spectrum* spectrum, const char* command) {
  writer w = {NULL, problem, spectrum};
  tg_status status;
  TG_TRY(tg_ci_results_create(path, TG_CI_WAVE_FORMAT, TG_CI_WAVE_VERSION, &w.file));
  TG_TRY_GOTO(write_head(&w, command), done);
  for (int s = 0; s < 2; s++) {
    TG_TRY_GOTO(write_orbitals(&w, s), done);
    TG_TRY_GOTO(write_limits(&w, s), done);
  }
  TG_TRY_GOTO(write_restrictions(&w), done);
  TG_TRY_GOTO(write_levels(&w), done);
  for (size_t s = 0; s < spectrum->sector_count; s++) TG_TRY_GOTO(write_sector(&w, s), done);
  status = tg_ci_results_commit(&w.file);
done:
  tg_ci_results_close(&w.file);
  return status;
}
