/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a file of wave functions: the problem, then each sector, whose space is made again and
 * compared with the file before its vectors are taken. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "ci/wave_file.h"

enum { MOST_SECTORS = 8, MOST_STATES = 1 << 24 };

static const char* const names[][2] = {
    [TG_CI_NUCLEUS] = {"protons", "neutrons"},
    [TG_CI_MOLECULE] = {"electrons with spin up", "electrons with spin down"}};

void tg_ci_wave_free(tg_ci_wave* w) {
  if (!w) return;
  for (size_t s = 0; w->sectors && s < w->sector_count; s++) {
    tg_ci_wave_sector* sector = &w->sectors[s];
    tg_ci_space_free(sector->space);
    tg_free(sector->energies);
    tg_free(sector->residuals);
    tg_free(sector->errors);
    tg_free(sector->squared);
    tg_free(sector->vectors);
  }
  tg_free(w->sectors);
  tg_ci_hamiltonian_free(w->orbitals);
  tg_ci_model_free(&w->model);
  for (size_t i = 0; i < sizeof w->arrays / sizeof *w->arrays; i++) tg_free(w->arrays[i]);
  tg_free(w->path);
  memset(w, 0, sizeof *w);
}

static tg_status wrong(const tg_ci_results* f, const char* what) {
  return tg_fail(TG_ERR_INPUT, "%s: %s; the file is damaged or not of throng",
                 tg_ci_results_path(f), what);
}

/* An attribute that must be a number from least to most. */
static tg_status get_whole(tg_ci_results* f, const char* object, const char* name, int64_t least,
                           int64_t most, int* out) {
  int64_t value;
  TG_TRY(tg_ci_results_get_int(f, object, name, &value));
  if (value < least || value > most)
    return tg_fail(TG_ERR_INPUT, "%s: %s of %s is %lld; %lld to %lld was expected",
                   tg_ci_results_path(f), name, *object ? object : "the file", (long long)value,
                   (long long)least, (long long)most);
  *out = (int)value;
  return TG_OK;
}

/* group/name as 64-bit numbers: [count]. Release with tg_free. */
static tg_status get_column(tg_ci_results* f, const char* group, const char* name, size_t count,
                            int64_t** out) {
  char path[128];
  int64_t* values = NULL;
  const tg_ci_array like = {.element = TG_CI_INT64, .axes = 1, .size = {count}};
  snprintf(path, sizeof path, "%s/%s", group, name);
  *out = NULL;
  TG_TRY(TG_ALLOCATE(count, "numbers of a file", &values));
  const tg_status status = tg_ci_results_get(f, path, &like, values);
  if (status != TG_OK) TG_FREE(values);
  *out = values;
  return status;
}

/* ---- the problem ---- */

static tg_status read_head(tg_ci_results* f, tg_ci_wave* w) {
  char kind[32];
  int64_t digest;
  TG_TRY(tg_ci_results_get_text(f, "", "kind", kind, sizeof kind));
  if (strcmp(kind, "nucleus") != 0 && strcmp(kind, "molecule") != 0)
    return wrong(f, "its kind is neither nucleus nor molecule");
  w->kind = kind[0] == 'n' ? TG_CI_NUCLEUS : TG_CI_MOLECULE;
  TG_TRY(get_whole(f, "", w->kind == TG_CI_NUCLEUS ? "two_m" : "two_sz", -65535, 65535, &w->two_m));
  TG_TRY(tg_ci_results_get_int(f, "", "hamiltonian_digest", &digest));
  w->digest = (uint64_t)digest;
  w->model = tg_ci_model_empty();
  if (w->kind != TG_CI_NUCLEUS) return TG_OK;
  /* what is not known is not there */
  if (tg_ci_results_get_double(f, "", "core_mass", &w->model.core_mass) != TG_OK)
    w->model.core_mass = -1;
  if (get_whole(f, "", "core_protons", 0, 1000, &w->model.core_protons) != TG_OK ||
      get_whole(f, "", "core_neutrons", 0, 1000, &w->model.core_neutrons) != TG_OK)
    w->model.core_protons = w->model.core_neutrons = -1;
  if (tg_ci_results_get_double(f, "", "hw_MeV", &w->hw) != TG_OK) w->hw = 0;
  if (tg_ci_results_get_double(f, "", "mass_number", &w->mass) != TG_OK) w->mass = 0;
  w->model.hw = w->hw;
  return TG_OK;
}

enum { TWO_M, SYMMETRY, WEIGHT, SHELL, N, L, TWO_J, COLUMNS };

/* The j-orbits, from the orbitals that belong to them. */
static tg_status add_shells(tg_ci_results* f, tg_ci_wave* w, int species, size_t count,
                            int64_t* const* column) {
  const tg_place place = {.file = tg_ci_results_path(f)};
  for (size_t i = 0; i < count; i++) {
    if (i && column[SHELL][i] == column[SHELL][i - 1]) continue;
    const tg_ci_shell shell = {.n = (int)column[N][i],
                               .l = (int)column[L][i],
                               .two_j = (int)column[TWO_J][i],
                               .species = species,
                               .weight = (int)column[WEIGHT][i]};
    TG_TRY(tg_ci_shells_add(&w->model.shells, shell, place));
  }
  if (species == 0) w->model.shells.proton_count = w->model.shells.count;
  return TG_OK;
}

static tg_status fill_orbitals(tg_ci_results* f, tg_ci_wave* w, int species, size_t count,
                               int64_t* const* column, tg_ci_orbital* out) {
  for (size_t i = 0; i < count; i++) {
    const int64_t two_m = column[TWO_M][i], shell = column[SHELL][i];
    if (two_m < -1000 || two_m > 1000 || column[SYMMETRY][i] < 0 || column[SYMMETRY][i] > 7 ||
        column[WEIGHT][i] < 0 || column[WEIGHT][i] > 255 || shell < 0 || shell > 65535)
      return wrong(f, "an orbital has numbers that cannot be");
    out[i] = (tg_ci_orbital){(int16_t)two_m, (uint8_t)column[SYMMETRY][i],
                             (uint8_t)column[WEIGHT][i], (uint16_t)shell};
  }
  if (w->kind != TG_CI_NUCLEUS) return TG_OK;
  TG_TRY(add_shells(f, w, species, count, column));
  /* what the j-orbits give must be what the file has */
  tg_ci_orbital* again = NULL;
  if (tg_ci_model_orbital_count(&w->model, species) != count)
    return wrong(f, "its j-orbits and its orbitals do not go together");
  TG_TRY(TG_ALLOCATE(count, "orbitals", &again));
  tg_ci_model_orbitals(&w->model, species, again);
  bool same = true;
  for (size_t i = 0; i < count; i++)
    same = same && out[i].two_m == again[i].two_m && out[i].symmetry == again[i].symmetry &&
           out[i].weight == again[i].weight && out[i].shell == again[i].shell;
  tg_free(again);
  return same ? TG_OK : wrong(f, "its j-orbits and its orbitals do not go together");
}

static tg_status read_orbitals(tg_ci_results* f, tg_ci_wave* w, int species, size_t* count,
                               tg_ci_orbital** out) {
  static const char* const column_names[COLUMNS] = {"two_m", "symmetry", "weight", "shell",
                                                    "n",     "l",        "two_j"};
  int64_t* column[COLUMNS] = {0};
  tg_ci_array look;
  char group[32], path[64];
  tg_status status = TG_OK;
  snprintf(group, sizeof group, "species/%c/orbitals", 'a' + species);
  snprintf(path, sizeof path, "%s/two_m", group);
  TG_TRY(tg_ci_results_look(f, path, &look));
  *count = look.size[0];
  if (*count > TG_CI_MOST_ORBITALS) return wrong(f, "it has too many orbitals");
  TG_TRY(TG_ALLOCATE(*count, "orbitals", out));
  for (int k = 0; k < (w->kind == TG_CI_NUCLEUS ? COLUMNS : N); k++)
    TG_TRY_GOTO(get_column(f, group, column_names[k], *count, &column[k]), done);
  status = fill_orbitals(f, w, species, *count, column, *out);
done:
  for (int k = 0; k < COLUMNS; k++) tg_free(column[k]);
  return status;
}

static tg_status read_all_orbitals(tg_ci_results* f, tg_ci_wave* w) {
  tg_ci_orbital* orbitals[2] = {NULL, NULL};
  size_t count[2];
  tg_status status = TG_OK;
  for (int s = 0; s < 2; s++) TG_TRY_GOTO(read_orbitals(f, w, s, &count[s], &orbitals[s]), done);
  status = tg_ci_hamiltonian_create(count[0], orbitals[0], count[1], orbitals[1], &w->orbitals);
done:
  tg_free(orbitals[0]);
  tg_free(orbitals[1]);
  return status;
}

/* An array that may be absent, into *keep; NULL then. */
static tg_status get_limit(tg_ci_results* f, const char* group, const char* name, tg_ci_array like,
                           size_t element_size, void** keep) {
  char path[64];
  size_t total = 1;
  snprintf(path, sizeof path, "%s/%s", group, name);
  *keep = NULL;
  if (!tg_ci_results_has(f, path)) return TG_OK;
  for (int i = 0; i < like.axes; i++) total *= like.size[i];
  TG_TRY(tg_allocate(total ? total : 1, element_size, "the restrictions of a space", keep));
  return tg_ci_results_get(f, path, &like, *keep);
}

/* Rows of an array of two axes that may be absent. */
static tg_status count_rows(tg_ci_results* f, const char* path, size_t columns, size_t* out) {
  tg_ci_array look;
  *out = 0;
  if (!tg_ci_results_has(f, path)) return TG_OK;
  TG_TRY(tg_ci_results_look(f, path, &look));
  if (look.axes != 2 || look.size[1] != columns || look.size[0] > UINT32_MAX)
    return wrong(f, "a list of partitions has another size than expected");
  *out = look.size[0];
  return TG_OK;
}

static tg_status read_limits(tg_ci_results* f, tg_ci_wave* w, int species) {
  tg_ci_limits* l = &w->space.limits[species];
  const size_t orbitals = tg_ci_hamiltonian_orbitals(w->orbitals, species, NULL);
  char group[16], limits[32], path[64];
  int shells = 0;
  snprintf(group, sizeof group, "species/%c", 'a' + species);
  snprintf(limits, sizeof limits, "%s/limits", group);
  snprintf(path, sizeof path, "%s/partitions", limits);
  w->space.names[species] = names[w->kind][species];
  TG_TRY(get_whole(f, group, "particles", 0, TG_CI_MOST_ORBITALS, &l->particles));
  TG_TRY(get_whole(f, limits, "weight_most", -1, INT_MAX, &l->weight_most));
  TG_TRY(get_whole(f, limits, "shells", 0, 65536, &shells));
  l->shells = (size_t)shells;
  w->particles[species] = l->particles;
  TG_TRY(count_rows(f, path, l->shells, &l->partition_count));
  void** keep = w->arrays + 4 * species;
  const tg_ci_array of_orbitals = {.element = TG_CI_UINT8, .axes = 1, .size = {orbitals}};
  const tg_ci_array of_shells = {.element = TG_CI_UINT16, .axes = 1, .size = {l->shells}};
  TG_TRY(get_limit(f, limits, "roles", of_orbitals, 1, &keep[0]));
  l->roles = keep[0];
  for (size_t i = 0; l->roles && i < orbitals; i++)
    if (l->roles[i] > TG_CI_UNUSED) return wrong(f, "an orbital has a role that is not known");
  TG_TRY(get_limit(f, limits, "least", of_shells, 2, &keep[1]));
  l->least = keep[1];
  TG_TRY(get_limit(f, limits, "most", of_shells, 2, &keep[2]));
  l->most = keep[2];
  const tg_ci_array of_partitions = {
      .element = TG_CI_UINT16, .axes = 2, .size = {l->partition_count, l->shells}};
  TG_TRY(get_limit(f, limits, "partitions", of_partitions, 2, &keep[3]));
  l->partitions = keep[3];
  return TG_OK;
}

static tg_status read_restrictions(tg_ci_results* f, tg_ci_wave* w) {
  tg_ci_space_params* p = &w->space;
  for (int s = 0; s < 2; s++) TG_TRY(read_limits(f, w, s));
  TG_TRY(count_rows(f, "space/partition_pairs", 2, &p->partition_pair_count));
  const tg_ci_array like = {
      .element = TG_CI_UINT32, .axes = 2, .size = {p->partition_pair_count, 2}};
  TG_TRY(get_limit(f, "space", "partition_pairs", like, 4, &w->arrays[8]));
  p->partition_pairs = w->arrays[8];
  TG_TRY(get_whole(f, "space", "two_m", -65535, 65535, &p->two_m));
  p->symmetry = -1;
  return get_whole(f, "space", "weight_most", -1, INT_MAX, &p->weight_most);
}

/* ---- a sector ---- */

static tg_status other_strings(tg_ci_results* f, const char* group, const char* what) {
  return tg_fail(TG_ERR_INPUT,
                 "%s: %s: its %s are not those that this throng makes from the file's orbitals and "
                 "restrictions; use the version that wrote it, or solve again",
                 tg_ci_results_path(f), group, what);
}

/* Does a column of the file hold these members of `count` records? */
static tg_status compare_column(tg_ci_results* f, const char* group, const char* name, size_t count,
                                size_t step, const void* first, bool wide, bool* same) {
  int64_t* column;
  TG_TRY(get_column(f, group, name, count, &column));
  for (size_t i = 0; i < count; i++) {
    const char* at = (const char*)first + i * step;
    const int64_t here = wide ? (int64_t) * (const uint64_t*)at : *(const int32_t*)at;
    if (here != column[i]) *same = false;
  }
  tg_free(column);
  return TG_OK;
}

static tg_status compare_strings(tg_ci_results* f, const char* group, const tg_ci_space* space) {
  for (int s = 0; s < 2; s++) {
    const tg_ci_strings* of = &space->strings[s];
    const tg_ci_class* c = of->classes;
    const size_t count = of->class_count, step = sizeof *c;
    char classes[64], path[64];
    bool same = true;
    uint16_t* strings = NULL;
    snprintf(classes, sizeof classes, "%s/classes_%c", group, 'a' + s);
    snprintf(path, sizeof path, "%s/strings_%c", group, 'a' + s);
    TG_TRY(compare_column(f, classes, "two_m", count, step, &c->two_m, false, &same));
    TG_TRY(compare_column(f, classes, "symmetry", count, step, &c->symmetry, false, &same));
    TG_TRY(compare_column(f, classes, "weight", count, step, &c->weight, false, &same));
    TG_TRY(compare_column(f, classes, "partition", count, step, &c->partition, false, &same));
    TG_TRY(compare_column(f, classes, "begin", count, step, &c->begin, true, &same));
    TG_TRY(compare_column(f, classes, "count", count, step, &c->count, true, &same));
    if (!same) return other_strings(f, group, "classes of strings");
    const size_t numbers = of->count * (size_t)of->particles;
    const tg_ci_array like = {
        .element = TG_CI_UINT16, .axes = 2, .size = {of->count, (size_t)of->particles}};
    TG_TRY(TG_ALLOCATE(numbers + 1, "strings", &strings));
    const tg_status status = tg_ci_results_get(f, path, &like, strings);
    same = numbers == 0 || memcmp(strings, of->orbital, numbers * sizeof *strings) == 0;
    tg_free(strings);
    TG_TRY(status);
    if (!same) return other_strings(f, group, "strings");
  }
  return TG_OK;
}

static tg_status compare_blocks(tg_ci_results* f, const char* group, const tg_ci_space* space) {
  const tg_ci_block* b = space->blocks;
  const size_t count = space->block_count, step = sizeof *b;
  char blocks[64];
  bool same = true;
  snprintf(blocks, sizeof blocks, "%s/blocks", group);
  TG_TRY(compare_column(f, blocks, "class_a", count, step, &b->a, false, &same));
  TG_TRY(compare_column(f, blocks, "class_b", count, step, &b->b, false, &same));
  TG_TRY(compare_column(f, blocks, "rows", count, step, &b->rows, true, &same));
  TG_TRY(compare_column(f, blocks, "columns", count, step, &b->columns, true, &same));
  TG_TRY(compare_column(f, blocks, "offset", count, step, &b->offset, true, &same));
  return same ? TG_OK : other_strings(f, group, "blocks");
}

static tg_status get_doubles(tg_ci_results* f, const char* group, const char* name, int count,
                             double** out) {
  char path[64];
  const tg_ci_array like = {.element = TG_CI_DOUBLE, .axes = 1, .size = {(size_t)count}};
  snprintf(path, sizeof path, "%s/%s", group, name);
  TG_TRY(TG_ALLOCATE((size_t)count, "energies", out));
  return tg_ci_results_get(f, path, &like, *out);
}

static tg_status read_labels(tg_ci_results* f, const tg_ci_wave* w, const char* group,
                             tg_ci_wave_sector* s) {
  const char* const label[TG_CI_LABELS] = {w->kind == TG_CI_NUCLEUS ? "J_squared" : "S_squared",
                                           "T_squared", "cm_excitation"};
  TG_TRY(TG_ALLOCATE((size_t)s->states * TG_CI_LABELS, "labels", &s->squared));
  for (int k = 0; k < TG_CI_LABELS; k++) {
    char path[64];
    double* values = NULL;
    snprintf(path, sizeof path, "%s/%s", group, label[k]);
    const bool there = tg_ci_results_has(f, path);
    const tg_status status = there ? get_doubles(f, group, label[k], s->states, &values) : TG_OK;
    for (int i = 0; i < s->states; i++)
      s->squared[i * TG_CI_LABELS + k] = there && status == TG_OK ? values[i] : NAN;
    tg_free(values);
    TG_TRY(status);
  }
  return TG_OK;
}

static tg_status read_sector(tg_ci_results* f, tg_ci_wave* w, tg_ci_wave_sector* s,
                             const char* group) {
  int symmetry = 0;
  char path[64];
  tg_ci_array look;
  TG_TRY(get_whole(f, group, "symmetry", 0, 7, &symmetry));
  s->symmetry = (unsigned)symmetry;
  tg_ci_space_params params = w->space;
  params.symmetry = symmetry;
  snprintf(path, sizeof path, "%s/vectors", group);
  TG_TRY(tg_ci_results_look(f, path, &look));
  if (look.axes != 2 || look.size[0] > MOST_STATES) return wrong(f, "its vectors cannot be");
  s->states = (int)look.size[0];
  s->ld = look.size[1];
  uint64_t dimension;
  size_t bytes;
  TG_TRY(tg_ci_space_estimate(w->orbitals, &params, &dimension, &bytes));
  if (dimension != look.size[1])
    return tg_fail(TG_ERR_INPUT,
                   "%s: %s: vectors of %zu numbers, but the space of its orbitals and restrictions "
                   "has %llu states; the file is damaged",
                   tg_ci_results_path(f), group, look.size[1], (unsigned long long)dimension);
  TG_TRY(tg_ci_space_make(w->orbitals, &params, &s->space));
  TG_TRY(compare_strings(f, group, s->space));
  TG_TRY(compare_blocks(f, group, s->space));
  TG_TRY(get_doubles(f, group, "energies", s->states, &s->energies));
  TG_TRY(get_doubles(f, group, "residuals", s->states, &s->residuals));
  TG_TRY(get_doubles(f, group, "errors", s->states, &s->errors));
  TG_TRY(read_labels(f, w, group, s));
  TG_TRY(TG_ALLOCATE((size_t)s->states * s->ld, "the vectors of a file", &s->vectors));
  return tg_ci_results_get(f, path, &look, s->vectors);
}

static tg_status read_sectors(tg_ci_results* f, tg_ci_wave* w) {
  char group[32];
  TG_TRY(TG_ALLOCATE((size_t)MOST_SECTORS, "sectors", &w->sectors));
  while (w->sector_count < MOST_SECTORS) {
    snprintf(group, sizeof group, "sectors/%zu", w->sector_count);
    if (!tg_ci_results_has(f, group)) break;
    tg_ci_wave_sector* s = &w->sectors[w->sector_count++];
    const tg_status status = read_sector(f, w, s, group);
    if (status != TG_OK) return status;
  }
  return w->sector_count ? TG_OK : wrong(f, "it has no states");
}

tg_status tg_ci_wave_read(const char* path, tg_ci_wave* out) {
  tg_ci_results* f = NULL;
  tg_ci_wave w = {0};
  tg_status status;
  memset(out, 0, sizeof *out);
  TG_TRY(tg_ci_results_open(path, TG_CI_WAVE_FORMAT, TG_CI_WAVE_VERSION, &f));
  TG_TRY_GOTO(tg_copy_text(path, &w.path), done);
  TG_TRY_GOTO(read_head(f, &w), done);
  TG_TRY_GOTO(read_all_orbitals(f, &w), done);
  TG_TRY_GOTO(read_restrictions(f, &w), done);
  status = read_sectors(f, &w);
done:
  tg_ci_results_close(&f);
  if (status == TG_OK)
    *out = w;
  else
    tg_ci_wave_free(&w);
  return status;
}
