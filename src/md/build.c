/* SPDX-License-Identifier: Apache-2.0 */
#include "md/build.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "md/velocities.h"

static tg_status allocate_configuration(const tg_configuration* source, size_t count, bool with_v,
                                        tg_configuration* out) {
  TG_TRY(tg_copy_text(source->title, &out->title));
  out->count = count;
  if (source->names) TG_TRY(TG_ALLOCATE(count, "atom names", &out->names));
  if (source->residues) TG_TRY(TG_ALLOCATE(count, "residue names", &out->residues));
  if (source->residue_numbers) TG_TRY(TG_ALLOCATE(count, "residue numbers", &out->residue_numbers));
  TG_TRY(TG_ALLOCATE(count, "positions", &out->x));
  if (with_v) TG_TRY(TG_ALLOCATE(count, "velocities", &out->v));
  return TG_OK;
}

/* Appends the atoms [first, last) of source, moved by shift, at *at. */
static void append_atoms(const tg_configuration* source, size_t first, size_t last,
                         const double shift[3], bool copy_v, tg_configuration* out, size_t* at,
                         int* residue) {
  for (size_t i = first; i < last; i++, ++*at) {
    if (source->names) memcpy(out->names[*at], source->names[i], sizeof *out->names);
    if (source->residues) memcpy(out->residues[*at], source->residues[i], sizeof *out->residues);
    if (source->residue_numbers) {
      if (i == first || source->residue_numbers[i] != source->residue_numbers[i - 1]) ++*residue;
      out->residue_numbers[*at] = *residue;
    }
    for (int k = 0; k < 3; k++) out->x[*at][k] = source->x[i][k] + shift[k];
    if (copy_v) memcpy(out->v[*at], source->v[i], sizeof *out->v);
  }
}

static void append_block(const tg_configuration* source, size_t first, size_t last,
                         const tg_md_build_params* params, bool copy_v, tg_configuration* out,
                         size_t* at, int* residue) {
  const int* n = params->copies;
  for (int copy = 0; copy < n[0] * n[1] * n[2]; copy++) {
    const int cell[3] = {copy / (n[1] * n[2]), copy / n[2] % n[1], copy % n[2]};
    double shift[3] = {0};
    for (int a = 0; a < 3; a++)
      for (int k = 0; k < 3; k++) shift[k] += cell[a] * source->box[3 * a + k];
    append_atoms(source, first, last, shift, copy_v, out, at, residue);
  }
}

static void draw_velocities(const tg_topology* topology, int factor,
                            const tg_md_build_params* params, tg_configuration* out) {
  tg_velocities draw = {.topology = topology,
                        .copies = factor,
                        .x = (const double(*)[3])out->x,
                        .temperature = params->temperature,
                        .seed = params->seed,
                        .v = out->v};
  memcpy(draw.box, out->box, sizeof draw.box);
  tg_velocities_draw(&draw);
}

tg_status tg_md_build_configuration(const tg_configuration* source, const tg_topology* topology,
                                    const tg_md_build_params* params, tg_configuration* out) {
  const int* n = params->copies;
  double copies = (double)n[0] * n[1] * n[2];
  if (n[0] < 1 || n[1] < 1 || n[2] < 1 || copies * (double)source->count > INT_MAX)
    return tg_fail(TG_ERR_INPUT,
                   "%d x %d x %d copies of %zu atoms: expected 1 or more each way and "
                   "at most %d atoms in all",
                   n[0], n[1], n[2], source->count, INT_MAX);
  if (tg_topology_atoms(topology) != source->count)
    return tg_fail(TG_ERR_INPUT,
                   "the topology has %zu atoms and the configuration %zu; give the two "
                   "that belong together",
                   tg_topology_atoms(topology), source->count);
  int factor = n[0] * n[1] * n[2], residue = 0;
  bool draw = params->temperature >= 0, copy_v = !draw && source->v;
  tg_configuration made = {.time = source->time, .step = source->step};
  tg_status status;
  TG_TRY_GOTO(allocate_configuration(source, source->count * (size_t)factor, draw || copy_v, &made),
              free_made);
  for (int i = 0; i < 9; i++) made.box[i] = source->box[i] * n[i / 3];
  size_t first = 0, at = 0;
  for (size_t b = 0; b < topology->block_count; b++) {
    const tg_molecule_block* block = &topology->blocks[b];
    size_t atoms = topology->molecule_types[block->molecule_type].atom_count * (size_t)block->count;
    append_block(source, first, first + atoms, params, copy_v, &made, &at, &residue);
    first += atoms;
  }
  if (draw) draw_velocities(topology, factor, params, &made);
  *out = made;
  return TG_OK;
free_made:
  tg_configuration_free(&made);
  return status;
}

/* --- the topology's text --- */

static void write_line(FILE* stream, const char* line, const char* folder) {
  const char* quote = strchr(line, '"');
  const char* end = quote ? strchr(quote + 1, '"') : NULL;
  const char* cursor = line;
  tg_word word;
  if (end && tg_next_word(line, &cursor, &word) && tg_word_is(word, "#include")) {
    char name[4096], real[PATH_MAX];
    int needed = snprintf(name, sizeof name, "%s/%.*s", folder, (int)(end - quote - 1), quote + 1);
    bool fits = needed > 0 && (size_t)needed < sizeof name;
    if (quote[1] != '/' && fits && realpath(name, real)) {
      fprintf(stream, "#include \"%s\"%s\n", real, end + 1);
      return;
    }
  }
  fprintf(stream, "%s\n", line);
}

/* The name between brackets of a section's head, "[ molecules ]"; false for any other line. */
static bool section_is(const char* line, const char* name, bool* is_head) {
  char text[64] = "";
  *is_head = sscanf(line, " [ %63[^] \t]", text) == 1;
  return *is_head && tg_compare_nocase(text, name) == 0;
}

static tg_status write_count(FILE* stream, const char* line, tg_place place, int64_t factor) {
  tg_word words[2];
  char text[4096];
  long long count;
  snprintf(text, sizeof text, "%s", line);
  text[strcspn(text, ";")] = '\0';
  int found = tg_split_words(text, words, 2);
  if (found == 0 || words[0].start[0] == '#') {
    fprintf(stream, "%s\n", line);
    return TG_OK;
  }
  if (found < 2 || !tg_parse_int64(words[1].start, words[1].length, &count) || count < 0 ||
      count > INT_MAX / factor)
    return tg_fail_at(place,
                      "expected a molecule's name and a count that stays below %d when "
                      "multiplied by %lld",
                      INT_MAX, (long long)factor);
  fprintf(stream, "  %-10.*s %lld\n", words[0].length, words[0].start, count * (long long)factor);
  return TG_OK;
}

tg_status tg_md_build_topology(const char* path, int64_t factor, const char* out_path) {
  tg_status status;
  tg_text_file text = {0};
  tg_new_file file = {0};
  char folder[4096];
  bool inside = false, any = false;
  TG_TRY(tg_path_folder(path, folder, sizeof folder));
  TG_TRY(tg_text_file_read(path, &text));
  TG_TRY_GOTO(tg_new_file_open(out_path, &file), free_text);
  for (size_t i = 0; i < text.line_count; i++) {
    bool is_head, is_molecules = section_is(text.lines[i], "molecules", &is_head);
    if (is_head) inside = is_molecules;
    any = any || is_molecules;
    if (inside && !is_head)
      TG_TRY_GOTO(write_count(file.stream, text.lines[i], (tg_place){path, (int)i + 1, 0}, factor),
                  abandon);
    else
      write_line(file.stream, text.lines[i], folder);
  }
  if (!any) {
    status = tg_fail_at((tg_place){path, 0, 0},
                        "has no [ molecules ] of its own (an included one "
                        "cannot be multiplied); move it into this file");
    goto abandon;
  }
  TG_TRY_GOTO(tg_file_keep_copy(out_path), abandon);
  status = tg_new_file_commit(&file);
  goto free_text;
abandon:
  tg_new_file_abandon(&file);
free_text:
  tg_text_file_free(&text);
  return status;
}

tg_status tg_md_build_check_room(const char* folder) {
  static const char* const names[] = {"conf.gro", "topol.top", "em.mdp", "rf.mdp"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char path[4096];
    TG_TRY(tg_path_join(folder, names[i], path, sizeof path));
    if (tg_path_exists(path))
      return tg_fail(
          TG_ERR_INPUT,
          "%s: is there already; keep it as a numbered copy (--force), or choose another "
          "folder (-o)",
          path);
  }
  return TG_OK;
}

tg_status tg_md_build_replicate(const char* configuration, const char* topology,
                                const tg_topology_options* options, const tg_log* log,
                                const tg_md_build_params* params, const char* folder) {
  tg_status status;
  tg_configuration source = {0}, made = {0};
  tg_topology read = {0};
  char conf[4096], top[4096];
  TG_TRY(tg_path_join(folder, "conf.gro", conf, sizeof conf));
  TG_TRY(tg_path_join(folder, "topol.top", top, sizeof top));
  TG_TRY_GOTO(tg_topology_read(topology, options, log, &read), done);
  TG_TRY_GOTO(tg_configuration_read(configuration, &source), done);
  TG_TRY_GOTO(tg_md_build_configuration(&source, &read, params, &made), done);
  const int* n = params->copies;
  TG_TRY_GOTO(tg_folder_make(folder), done); /* not before the inputs are known to be good */
  TG_TRY_GOTO(tg_md_build_topology(topology, (int64_t)n[0] * n[1] * n[2], top), done);
  TG_TRY_GOTO(tg_file_keep_copy(conf), done); /* what was there has been read */
  status = tg_configuration_save_gro(&made, 3, conf);
done:
  tg_configuration_free(&made);
  tg_configuration_free(&source);
  tg_topology_free(&read);
  return status;
}
