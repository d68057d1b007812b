/* SPDX-License-Identifier: Apache-2.0 */
#include "ci/input/input.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "ci/input/builtin.h"
#include "ci/input/fcidump.h"
#include "ci/input/readers.h"

tg_status tg_ci_note(tg_ci_notes* notes, const char* format, ...) {
  char text[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  TG_TRY(TG_RESERVE(notes->count + 1, "notes", &notes->line, &notes->capacity));
  TG_TRY(tg_copy_text(text, &notes->line[notes->count]));
  notes->count++;
  return TG_OK;
}

void tg_ci_input_free(tg_ci_input* input) {
  if (!input) return;
  tg_ci_model_free(&input->model);
  tg_ci_integrals_free(&input->integrals);
  for (size_t i = 0; i < input->fact_count; i++) tg_free(input->facts[i].path);
  tg_free(input->facts);
  for (size_t i = 0; i < input->notes.count; i++) tg_free(input->notes.line[i]);
  tg_free(input->notes.line);
  memset(input, 0, sizeof *input);
}

/* Up to three numbers between commas; how many there are, 0 where one is none. */
static int split_numbers(const char* text, double values[3]) {
  int count = 0;
  while (count < 3) {
    const size_t length = strcspn(text, ",");
    if (!tg_parse_double(text, (int)length, &values[count])) return 0;
    count++;
    if (!text[length]) return count;
    text += length + 1;
  }
  return 0;
}

tg_status tg_ci_scale_parse(const char* text, tg_ci_source* source) {
  double values[3] = {0, 0, 0};
  if (tg_compare_nocase(text, "none") == 0) {
    source->scale_choice = TG_CI_SCALE_NONE;
    return TG_OK;
  }
  const int count = split_numbers(text, values);
  if (count < 2 || values[0] <= 0 || values[2] < 0 || values[2] != floor(values[2]))
    return tg_fail(TG_ERR_INPUT,
                   "found the scaling '%s'; expected A0,p (two-body elements times (A0/A)^p), such "
                   "as 18,0.3, or A0,p,Acore with the mass number of the core, or none",
                   text);
  source->scale_choice = TG_CI_SCALE_GIVEN;
  source->scaling = (tg_ci_scaling){.on = true, .mass = values[0], .power = values[1]};
  source->core_given = count == 3;
  source->core_mass = values[2];
  return TG_OK;
}

/* ---- facts ---- */

static tg_status add_fact(tg_ci_input* input, const char* path, tg_ci_format format,
                          tg_ci_facts** out) {
  tg_ci_facts* fact = &input->facts[input->fact_count];
  memset(fact, 0, sizeof *fact);
  TG_TRY(tg_copy_text(path, &fact->path));
  fact->format = format;
  input->fact_count++;
  *out = fact;
  return TG_OK;
}

static void describe_part(const tg_ci_model* model, const tg_ci_part* part, tg_ci_facts* fact) {
  fact->orbits = model->shells.count;
  fact->one_body = part->couplings.one_count;
  for (size_t i = 0; i < part->couplings.two_count; i++) {
    const tg_ci_two_element* e = &part->couplings.two[i];
    fact->two_body[tg_ci_pair_kind(&model->shells, e->a, e->b)]++;
  }
  fact->duplicates = part->couplings.duplicates;
  fact->duplicate_mismatch = part->couplings.duplicate_mismatch;
  fact->zeros = part->couplings.zeros;
  fact->scaling = part->scaling;
}

static void describe_integrals(const tg_ci_integrals* g, tg_ci_facts* fact) {
  fact->orbits = g->orbitals;
  fact->one_body = g->one[0].count + g->one[1].count;
  for (int k = 0; k < 3; k++) fact->two_body[k] = g->two[k].count;
  fact->duplicates = g->duplicates;
  fact->duplicate_mismatch = g->duplicate_mismatch;
  fact->ignored = g->orbital_energies;
}

/* ---- reading ---- */

static bool is_space(tg_ci_format format) { return format == TG_CI_SPS || format == TG_CI_SP; }

static bool is_int(tg_ci_format format) {
  return format == TG_CI_INT || format == TG_CI_INT_ISO || format == TG_CI_INT_XPN ||
         format == TG_CI_INT_UPN;
}

static tg_status read_space(const char* path, tg_ci_format format, tg_ci_model* space) {
  tg_ci_lines lines;
  tg_status status = tg_ci_lines_open(path, "!#", &lines);
  if (status == TG_OK)
    status = format == TG_CI_SPS ? tg_ci_read_sps(&lines, space) : tg_ci_read_sp(&lines, space);
  tg_ci_lines_close(&lines);
  return status;
}

static tg_status read_part(const char* path, tg_ci_format format, const tg_ci_model* space,
                           tg_ci_model* model, tg_ci_notes* notes) {
  if (format == TG_CI_BUILTIN) return tg_ci_read_builtin(path, model, notes);
  tg_ci_lines lines;
  tg_status status = tg_ci_lines_open(path, "!#", &lines);
  if (status != TG_OK) return status;
  if (format == TG_CI_SNT)
    status = tg_ci_read_snt(&lines, model, notes);
  else if (format == TG_CI_H2)
    status = tg_ci_read_h2(&lines, model, notes);
  else if (format == TG_CI_MFDN)
    status = tg_ci_read_mfdn(&lines, model, notes);
  else
    status = tg_ci_read_int(&lines, format, space, model, notes);
  tg_ci_lines_close(&lines);
  return status;
}

static tg_status choose_scaling(const tg_ci_source* source, tg_ci_model* model) {
  tg_ci_part* part = &model->parts[0];
  if (source->scale_choice == TG_CI_SCALE_NONE) part->scaling = (tg_ci_scaling){0};
  if (source->scale_choice == TG_CI_SCALE_GIVEN) part->scaling = source->scaling;
  if (part->scaling.on && part->scaling.mass == 0)
    return tg_fail(
        TG_ERR_INPUT,
        "%s: the negative number of elements asks for scaling by mass, but no mass block "
        "(Acore A0 p) says how; give --scale A0,p or --scale none",
        part->path);
  if (!source->core_given) return TG_OK;
  if (model->core_mass >= 0 && model->core_mass != source->core_mass)
    return tg_fail(TG_ERR_INPUT,
                   "%s: the core has mass %g; the scaling asked for says %g: leave it away",
                   part->path, model->core_mass, source->core_mass);
  model->core_mass = source->core_mass;
  return TG_OK;
}

static tg_status read_nuclear(const tg_ci_source* source, tg_ci_format format,
                              const tg_ci_model* space, tg_ci_input* input) {
  tg_ci_model model = tg_ci_model_empty();
  tg_ci_facts* fact = NULL;
  tg_status status = TG_OK;
  if (is_int(format) && space->shells.count == 0)
    return tg_fail(TG_ERR_INPUT,
                   "%s: an .int file does not say its orbits; give a .sps or .sp file too",
                   source->path);
  TG_TRY_GOTO(add_fact(input, source->path, format, &fact), done);
  TG_TRY_GOTO(read_part(source->path, format, space, &model, &input->notes), done);
  TG_TRY_GOTO(choose_scaling(source, &model), done);
  for (int f = 0; f < TG_CI_FORMATS; f++)
    if (strcmp(tg_ci_format_name((tg_ci_format)f), model.parts[0].format) == 0)
      fact->format = (tg_ci_format)f;
  describe_part(&model, &model.parts[0], fact);
  TG_TRY_GOTO(tg_ci_model_merge(&input->model, &model), done);
done:
  tg_ci_model_free(&model);
  return status;
}

static tg_status read_molecule(const tg_ci_source* source, size_t count, tg_ci_input* input) {
  tg_ci_facts* fact = NULL;
  if (count > 1)
    return tg_fail(TG_ERR_INPUT,
                   "%s: a FCIDUMP holds all of a molecule; it cannot be added to "
                   "other inputs",
                   source->path);
  TG_TRY(add_fact(input, source->path, TG_CI_FCIDUMP, &fact));
  TG_TRY(tg_ci_read_fcidump(source->path, &input->integrals, &input->notes));
  describe_integrals(&input->integrals, fact);
  input->kind = TG_CI_MOLECULE;
  return TG_OK;
}

static tg_status read_spaces(const tg_ci_source* sources, const tg_ci_format* formats, size_t count,
                             tg_ci_model* space, tg_ci_input* input) {
  for (size_t i = 0; i < count; i++) {
    tg_ci_facts* fact = NULL;
    if (!is_space(formats[i])) continue;
    if (space->shells.count)
      return tg_fail(TG_ERR_INPUT, "%s: a second file of orbits; expected one", sources[i].path);
    TG_TRY(add_fact(input, sources[i].path, formats[i], &fact));
    TG_TRY(read_space(sources[i].path, formats[i], space));
    fact->orbits = space->shells.count;
    if (formats[i] == TG_CI_SPS && !tg_ci_shells_isospin(&space->shells))
      TG_TRY(
          tg_ci_note(&input->notes,
                     "%s: orbits of weight 99 are left out; numbers of orbits in .int files count "
                     "those that are kept, protons first",
                     sources[i].path));
  }
  return TG_OK;
}

/* A file is looked at before it is read; what a pipe gave for a look is gone. */
static tg_status no_pipe(const char* path) {
  struct stat info;
  if (stat(path, &info) != 0 || S_ISREG(info.st_mode) || S_ISDIR(info.st_mode)) return TG_OK;
  return tg_fail(TG_ERR_INPUT,
                 "%s: is a pipe or a device, and an input is read more than once; write it into a "
                 "file first",
                 path);
}

static tg_status read_all(const tg_ci_source* sources, tg_ci_format* formats, size_t count,
                          tg_ci_model* space, tg_ci_input* input) {
  bool nuclear = false;
  for (size_t i = 0; i < count; i++) {
    TG_TRY(no_pipe(sources[i].path));
    formats[i] = sources[i].format;
    if (formats[i] == TG_CI_AUTO) TG_TRY(tg_ci_recognise(sources[i].path, &formats[i]));
    if (formats[i] == TG_CI_PTN || formats[i] == TG_CI_OPME)
      return tg_fail(TG_ERR_INPUT,
                     "%s: this is a .%s file; expected an interaction here: give it as %s",
                     sources[i].path, tg_ci_format_name(formats[i]),
                     formats[i] == TG_CI_PTN ? "--partition" : "the operator");
  }
  TG_TRY(read_spaces(sources, formats, count, space, input));
  for (size_t i = 0; i < count; i++) {
    if (is_space(formats[i])) continue;
    nuclear = true;
    TG_TRY(formats[i] == TG_CI_FCIDUMP ? read_molecule(&sources[i], count, input)
                                       : read_nuclear(&sources[i], formats[i], space, input));
  }
  if (!nuclear)
    return tg_fail(TG_ERR_INPUT, "%s: only orbits; expected an interaction too",
                   count ? sources[0].path : "no input");
  if (input->kind == TG_CI_NUCLEUS)
    input->isospin_breaking = tg_ci_model_isospin_breaking(&input->model);
  return TG_OK;
}

tg_status tg_ci_input_read(const tg_ci_source* sources, size_t count, tg_ci_input* out) {
  tg_ci_input input = {.model = tg_ci_model_empty()};
  tg_ci_model space = tg_ci_model_empty();
  tg_ci_format* formats = NULL;
  tg_status status = TG_OK;
  TG_TRY_GOTO(TG_ALLOCATE(count, "inputs", &formats), done);
  TG_TRY_GOTO(TG_ALLOCATE(count, "inputs", &input.facts), done);
  TG_TRY_GOTO(read_all(sources, formats, count, &space, &input), done);
done:
  tg_free(formats);
  tg_ci_model_free(&space);
  if (status != TG_OK) {
    tg_ci_input_free(&input);
    return status;
  }
  *out = input;
  return TG_OK;
}
