/* SPDX-License-Identifier: Apache-2.0 */
/* throng ci transitions: observables between the states of two files of wave functions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "ci/tables_file.h"
#include "ci/wave_file.h"
#include "cli/ci_observables.h"
#include "cli/ci_output.h"
#include "cli/ci_report.h"
#include "cli/cli.h"

typedef struct fields {
  const char *from, *to, *json_file, *arrays;
  tg_cli_ci_observable_options observables;
  int threads;
  bool json;
} fields;

static const tg_cli_option options[] = {
    {"from", 0, TG_CLI_TEXT, offsetof(fields, from), "FILE",
     "wave functions of the initial levels, by throng ci solve --wave", true},
    {"to", 0, TG_CLI_TEXT, offsetof(fields, to), "FILE", "wave functions of the final levels",
     true},
    TG_CLI_CI_OBSERVABLE_OPTIONS(fields, observables),
    {"threads", 0, TG_CLI_INT, offsetof(fields, threads), "N",
     "OpenMP threads (default: all processors)", false},
    {"json", 0, TG_CLI_FLAG, offsetof(fields, json), NULL, "print JSON", false},
    {"json-file", 0, TG_CLI_TEXT, offsetof(fields, json_file), "FILE",
     "write the JSON into a file, beside the table", false},
    {"arrays", 0, TG_CLI_TEXT, offsetof(fields, arrays), "FILE",
     "write what --observables gave: tables, and arrays too large for one (HDF5)", false},
    {NULL, 0, TG_CLI_FLAG, 0, NULL, NULL, false},
};

/* What a file holds in the form that solving gives; all but the lists belongs to the file. */
typedef struct side {
  tg_ci_wave wave;
  tg_ci_input input;
  tg_ci_facts facts;
  tg_ci_problem problem;
  tg_ci_spectrum spectrum;
  tg_ci_states states;
} side;

static void side_close(side* s) {
  tg_free(s->spectrum.sectors);
  tg_free(s->spectrum.levels);
  tg_ci_wave_free(&s->wave);
}

static int by_energy(const void* a, const void* b) {
  const tg_ci_level *x = a, *y = b;
  if (x->energy != y->energy) return x->energy < y->energy ? -1 : 1;
  return x->sector < y->sector ? -1 : x->sector > y->sector;
}

static tg_status list_levels(side* s) {
  const tg_ci_wave* w = &s->wave;
  size_t count = 0;
  for (size_t k = 0; k < w->sector_count; k++) count += (size_t)w->sectors[k].states;
  TG_TRY(TG_ALLOCATE(w->sector_count, "sectors", &s->spectrum.sectors));
  TG_TRY(TG_ALLOCATE(count, "levels", &s->spectrum.levels));
  s->spectrum.sector_count = w->sector_count;
  for (size_t k = 0; k < w->sector_count; k++) {
    const tg_ci_wave_sector* from = &w->sectors[k];
    tg_ci_sector* to = &s->spectrum.sectors[k];
    to->need.symmetry = from->symmetry;
    to->need.states = from->states;
    to->space = from->space;
    to->result = (tg_eigen_result){.states = from->states,
                                   .values = from->energies,
                                   .residuals = from->residuals,
                                   .errors = from->errors,
                                   .vectors = from->vectors,
                                   .ld = from->ld};
    for (int i = 0; i < from->states; i++) {
      tg_ci_level* level = &s->spectrum.levels[s->spectrum.level_count++];
      *level = (tg_ci_level){.sector = k,
                             .number = (size_t)i,
                             .symmetry = from->symmetry,
                             .energy = from->energies[i],
                             .residual = from->residuals[i],
                             .error = from->errors[i]};
      memcpy(level->squared, from->squared + (size_t)i * TG_CI_LABELS, sizeof level->squared);
    }
  }
  qsort(s->spectrum.levels, count, sizeof *s->spectrum.levels, by_energy);
  return TG_OK;
}

static tg_status side_open(const char* path, side* s) {
  const tg_ci_wave* w = &s->wave;
  memset(s, 0, sizeof *s);
  TG_TRY(tg_ci_wave_read(path, &s->wave));
  s->facts = (tg_ci_facts){.path = w->path};
  s->input = (tg_ci_input){.kind = w->kind, .model = w->model, .facts = &s->facts, .fact_count = 1};
  s->problem = (tg_ci_problem){.input = &s->input,
                               .kind = w->kind,
                               .particles = {w->particles[0], w->particles[1]},
                               .two_m = w->two_m,
                               .hw = w->hw,
                               .mass = w->mass,
                               .least_weight = -1,
                               .h = w->orbitals,
                               .space = w->space};
  s->states = (tg_ci_states){&s->problem, &s->spectrum};
  const tg_status status = list_levels(s);
  if (status != TG_OK) side_close(s);
  return status;
}

/* ---- results ---- */

static void print_side(const char* word, const side* s) {
  char words[256];
  tg_cli_ci_describe(&s->problem, words, sizeof words);
  printf("%s %s: %s; 2M = %d; %zu level%s from %.5f %s\n", word, s->wave.path, words,
         s->problem.two_m, s->spectrum.level_count, s->spectrum.level_count == 1 ? "" : "s",
         s->spectrum.level_count ? s->spectrum.levels[0].energy : 0.0,
         tg_ci_problem_unit(&s->problem));
}

static void json_side(tg_json* json, const char* key, const side* s) {
  const bool nucleus = s->problem.kind == TG_CI_NUCLEUS;
  tg_json_open_object(json, key);
  tg_json_text(json, "path", s->wave.path);
  tg_json_int(json, nucleus ? "protons" : "spin_up", s->problem.particles[0]);
  tg_json_int(json, nucleus ? "neutrons" : "spin_down", s->problem.particles[1]);
  tg_json_int(json, nucleus ? "two_m" : "two_sz", s->problem.two_m);
  tg_json_open_array(json, nucleus ? "energies_MeV" : "energies_Ha");
  for (size_t i = 0; i < s->spectrum.level_count; i++)
    tg_json_double(json, NULL, s->spectrum.levels[i].energy);
  tg_json_close_array(json);
  tg_json_close_object(json);
}

static void write_json(FILE* out, const side* from, const side* to, const tg_ci_tables* tables) {
  tg_json json = tg_json_on(out, true);
  tg_json_open_object(&json, NULL);
  tg_json_text(&json, "throng", TG_VERSION);
  json_side(&json, "initial", from);
  json_side(&json, "final", to);
  tg_ci_tables_json(&json, tables);
  tg_json_close_object(&json);
}

static tg_status write_results(const fields* f, const char* command, const side* from,
                               const side* to, const tg_ci_tables* tables) {
  if (f->arrays) TG_TRY(tg_ci_tables_write(f->arrays, tables, command));
  if (f->json_file) {
    tg_new_file file;
    TG_TRY(tg_new_file_open(f->json_file, &file));
    write_json(file.stream, from, to, tables);
    TG_TRY(tg_new_file_commit(&file));
  }
  if (f->json) {
    write_json(stdout, from, to, tables);
    return TG_OK;
  }
  print_side("i:", from);
  print_side("f:", to);
  tg_ci_tables_print(stdout, tables, 200);
  return TG_OK;
}

/* One-body operators move one particle, spectroscopic amplitudes add or take one. */
static tg_status check_neighbours(const tg_ci_problem* i, const tg_ci_problem* f) {
  const int protons = f->particles[0] - i->particles[0];
  const int neutrons = f->particles[1] - i->particles[1];
  const bool moved = protons == -neutrons && abs(protons) <= 1;
  if (i->kind != f->kind || moved || abs(protons) + abs(neutrons) == 1) return TG_OK;
  if (i->kind == TG_CI_MOLECULE) return TG_OK;
  return tg_fail(TG_ERR_INPUT,
                 "the first file has %d protons and %d neutrons, the second %d and %d: nothing is "
                 "computed between them. It is between files of one nucleus, of two with a neutron "
                 "for a proton (gt, fermi, FILE.opme), or with a nucleon more (spectroscopic)",
                 i->particles[0], i->particles[1], f->particles[0], f->particles[1]);
}

/* Between nuclei of one A, all scaling by mass is the same. Between others nothing can be said. */
static tg_status note_interactions(const side* from, const side* to, tg_ci_tables* tables) {
  const tg_ci_wave *a = &from->wave, *b = &to->wave;
  if (a->particles[0] + a->particles[1] != b->particles[0] + b->particles[1] ||
      a->digest == b->digest)
    return TG_OK;
  return tg_ci_tables_note(tables,
                           "the two files were made with different Hamiltonians (another "
                           "interaction, --hw, --beta-cm, --scale or integrals): what is between "
                           "their levels may mean little");
}

static tg_status observe(const fields* f, const side* from, const side* to, tg_ci_tables* tables) {
  tg_ci_observable_list list;
  tg_ci_observable_params params;
  TG_TRY(check_neighbours(&from->problem, &to->problem));
  const tg_ci_solve_params solve = {.threads = f->threads};
  TG_TRY(tg_cli_ci_observables_open(&f->observables, &from->problem, &to->problem, &solve, &list,
                                    &params));
  const tg_status status =
      tg_ci_observables_run(&list, &params, &from->states, &to->states, tables);
  tg_ci_observables_free(&list);
  if (status == TG_OK) TG_TRY(note_interactions(from, to, tables));
  if (status == TG_OK && tables->table_count == 0)
    return tg_ci_tables_note(tables,
                             "nothing connects these levels, or nothing was asked for that "
                             "does; --observables says what can be");
  return status;
}

/* What would be refused after the work is refused before it. */
static tg_status check_files(const fields* f) {
  TG_TRY(tg_cli_ci_needs_hdf5("--arrays", f->arrays));
  if (f->json_file) TG_TRY(tg_new_file_check(f->json_file));
  if (f->arrays) TG_TRY(tg_new_file_check(f->arrays));
  const char* outputs[] = {f->json_file, f->arrays};
  for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++)
    if (outputs[i] && (tg_path_same(outputs[i], f->from) || tg_path_same(outputs[i], f->to)))
      return tg_fail(TG_ERR_INPUT,
                     "%s: is an input of this run and would be written over; give the output "
                     "another name",
                     outputs[i]);
  if (f->json_file && f->arrays && tg_path_same(f->json_file, f->arrays))
    return tg_fail(TG_ERR_INPUT, "%s: is to be two files at once; give them different names",
                   f->arrays);
  return TG_OK;
}

static tg_status run(int argc, char** argv) {
  fields f = {.threads = 0};
  side from, to;
  tg_ci_tables tables = {0};
  char command[4096];
  TG_TRY(tg_cli_options_parse(options, argc, argv, &f, NULL));
  if (!tg_cli_speaks()) return TG_OK;
  TG_TRY(check_files(&f));
  tg_cli_ci_command(argc, argv, command, sizeof command);
  TG_TRY(side_open(f.from, &from));
  tg_status status = side_open(f.to, &to);
  if (status == TG_OK) {
    status = observe(&f, &from, &to, &tables);
    if (status == TG_OK) status = write_results(&f, command, &from, &to, &tables);
    side_close(&to);
  }
  tg_ci_tables_free(&tables);
  side_close(&from);
  return status;
}

static const tg_cli_example examples[] = {
    {"throng ci solve -i usdb --protons 2 --neutrons 6 --states 3 --wave neon.h5",
     "24Ne, and its states into a file"},
    {"throng ci solve -i usdb --protons 3 --neutrons 5 --states 8 --wave sodium.h5", "and 24Na"},
    {"throng ci transitions --from neon.h5 --to sodium.h5",
     "B(GT) and B(F) of the beta decay of 24Ne to levels of 24Na"},
    {NULL, NULL},
};

const tg_cli_verb tg_cli_ci_transitions_verb = {
    .name = "ci transitions",
    .summary = "observables between the states of two calculations",
    .usage = "--from FILE --to FILE [options]",
    .text =
        "Takes two files of wave functions that throng ci solve --wave wrote and computes what "
        "is between their levels: beta decay and charge exchange (gt, fermi), spectroscopic "
        "factors, electromagnetic transitions between levels of two files of one nucleus, "
        "one-body operators from files. Both must have been solved in the same orbits. "
        "docs/how-to/observables.md has the definitions.",
    .options = options,
    .examples = examples,
    .run = run,
};
