/* SPDX-License-Identifier: Apache-2.0 */
/* The .g96 format: blocks of lines between a name and END. Positions and velocities come in columns
 * of 15 characters, after 24 columns of names unless the block's name ends in RED. Lines that start
 * with
 * '#' are comments. */
#include <string.h>

#include "base/memory.h"
#include "md/configuration_text.h"

enum { HEAD = 24, WIDTH = 15 };

static bool is_comment(const char* line) { return line[0] == '#'; }

/* The line number (from 0) of the block's END; the atoms between are counted. */
static tg_status find_end(const tg_text_file* file, size_t from, size_t* end, size_t* count) {
  *count = 0;
  for (size_t i = from + 1; i < file->line_count; i++) {
    tg_word word;
    const char* cursor = file->lines[i];
    if (tg_next_word(file->lines[i], &cursor, &word) && tg_word_is(word, "END")) {
      *end = i;
      return TG_OK;
    }
    if (!is_comment(file->lines[i])) ++*count;
  }
  tg_place place = {file->path, (int)from + 1, 0};
  return tg_fail_at(place, "the block %s has no END before the file ends", file->lines[from]);
}

static tg_status read_vectors(const tg_text_file* file, size_t from, size_t end, bool reduced,
                              const char* what, tg_configuration* out, double (*vectors)[3]) {
  size_t atom = 0;
  bool positions = vectors == out->x;
  for (size_t i = from + 1; i < end; i++) {
    const char* line = file->lines[i];
    if (is_comment(line)) continue;
    tg_place place = {file->path, (int)i + 1, 0};
    if (!reduced && strlen(line) < HEAD)
      return tg_fail_at(place, "the line of atom %zu is too short: found '%s'", atom + 1, line);
    TG_TRY(tg_configuration_read_fields(line, reduced ? 0 : HEAD, WIDTH, 3, what, place,
                                        vectors[atom]));
    if (!reduced && positions) {
      char number[8];
      tg_configuration_copy_name(line, 5, number);
      place.column = 1;
      if (!tg_parse_int(number, (int)strlen(number), &out->residue_numbers[atom]))
        return tg_fail_at(place, "'%s': a residue number was expected in columns 1 to 5", number);
      tg_configuration_copy_name(line + 6, 5, out->residues[atom]);
      tg_configuration_copy_name(line + 12, 5, out->names[atom]);
    }
    atom++;
  }
  return TG_OK;
}

static tg_status read_timestep(const char* line, tg_place place, tg_configuration* out) {
  tg_word words[2];
  if (tg_split_words(line, words, 2) != 2 ||
      !tg_parse_int64(words[0].start, words[0].length, &out->step) ||
      !tg_parse_double(words[1].start, words[1].length, &out->time))
    return tg_fail_at(place, "found '%s'; a step and a time (ps) were expected", line);
  return TG_OK;
}

static tg_status read_velocities(const tg_text_file* file, size_t from, size_t end, size_t count,
                                 bool reduced, tg_configuration* out) {
  tg_place place = {file->path, (int)from + 1, 0};
  if (!out->x) return tg_fail_at(place, "velocities stand before the positions; POSITION is first");
  if (count != out->count)
    return tg_fail_at(place, "found %zu velocities for %zu positions; give all or none", count,
                      out->count);
  TG_TRY(TG_ALLOCATE(count, "velocities", &out->v));
  return read_vectors(file, from, end, reduced, "velocity", out, out->v);
}

static tg_status read_block(const tg_text_file* file, size_t from, size_t end, size_t count,
                            bool* boxed, tg_configuration* out) {
  const char* name = file->lines[from];
  tg_place place = {file->path, (int)from + 2, 0};
  char* line = file->lines[from + 1];
  bool reduced = strlen(name) > 3 && strcmp(name + strlen(name) - 3, "RED") == 0;
  if (strcmp(name, "TITLE") == 0) return count ? tg_copy_text(line, &out->title) : TG_OK;
  if (strcmp(name, "TIMESTEP") == 0) return read_timestep(line, place, out);
  if (strcmp(name, "BOX") == 0) {
    *boxed = true;
    return tg_configuration_read_box(line, place, out->box);
  }
  if (strcmp(name, "POSITION") == 0 || strcmp(name, "POSITIONRED") == 0) {
    if (count == 0) return tg_fail_at(place, "the block %s holds no atom", name);
    TG_TRY(tg_configuration_allocate(out, count, !reduced, false));
    return read_vectors(file, from, end, reduced, "position", out, out->x);
  }
  if (strcmp(name, "VELOCITY") == 0 || strcmp(name, "VELOCITYRED") == 0)
    return read_velocities(file, from, end, count, reduced, out);
  return TG_OK; /* other blocks (GENBOX, REFPOSITION ...) say nothing that is used */
}

tg_status tg_configuration_read_g96(const tg_text_file* file, tg_configuration* out) {
  bool boxed = false;
  for (size_t i = 0; i < file->line_count; i++) {
    const char* name = tg_trim(file->lines[i]);
    if (!*name || is_comment(name)) continue;
    file->lines[i] = (char*)name;
    size_t end = 0, count = 0;
    /* a second TIMESTEP, TITLE or POSITION begins another frame */
    bool begins = strcmp(name, "TIMESTEP") == 0 || strcmp(name, "TITLE") == 0 ||
                  strncmp(name, "POSITION", 8) == 0;
    if (out->x && begins) break;
    TG_TRY(find_end(file, i, &end, &count));
    TG_TRY(read_block(file, i, end, count, &boxed, out));
    i = end;
  }
  tg_place place = {file->path, 0, 0};
  if (!out->x) return tg_fail_at(place, "no block POSITION or POSITIONRED was found");
  if (!boxed) return tg_fail_at(place, "no block BOX was found; a periodic box was expected");
  return out->title ? TG_OK : tg_copy_text("", &out->title);
}
