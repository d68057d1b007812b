/* SPDX-License-Identifier: Apache-2.0 */
/* The .gro format, reading and writing, and what it shares with .g96.
 *
 * A .gro frame: a title, the number of atoms, a line per atom (5 columns each of residue number,
 * residue name, atom name and atom number, then positions and perhaps velocities), the box. The
 * distance between the decimal points of the first atom's position is the width of every number. */
#include "md/configuration.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "md/configuration_text.h"

enum { HEAD = 20, NAME = 5 };

void tg_configuration_free(tg_configuration* configuration) {
  if (!configuration) return;
  tg_free(configuration->title);
  tg_free(configuration->names);
  tg_free(configuration->residues);
  tg_free(configuration->residue_numbers);
  tg_free(configuration->x);
  tg_free(configuration->v);
  memset(configuration, 0, sizeof *configuration);
}

tg_status tg_configuration_allocate(tg_configuration* out, size_t count, bool named, bool moving) {
  out->count = count;
  if (named) {
    TG_TRY(TG_ALLOCATE(count, "atom names", &out->names));
    TG_TRY(TG_ALLOCATE(count, "residue names", &out->residues));
    TG_TRY(TG_ALLOCATE(count, "residue numbers", &out->residue_numbers));
  }
  if (moving) TG_TRY(TG_ALLOCATE(count, "velocities", &out->v));
  return TG_ALLOCATE(count, "positions", &out->x);
}

void tg_configuration_copy_name(const char* field, int width, char out[8]) {
  int used = 0;
  for (int i = 0; i < width && field[i]; i++)
    if (field[i] != ' ' && field[i] != '\t' && used < 7) out[used++] = field[i];
  out[used] = '\0';
}

tg_status tg_configuration_read_fields(const char* line, int from, int width, int count,
                                       const char* what, tg_place place, double* out) {
  int length = (int)strlen(line);
  for (int i = 0; i < count; i++) {
    int start = from + i * width;
    int end = start + width < length ? start + width : length;
    while (start < end && line[start] == ' ') start++;
    while (end > start && line[end - 1] == ' ') end--;
    place.column = start + 1;
    if (start >= end)
      return tg_fail_at(place, "the line ends, or is empty, where a %s %c was expected", what,
                        "xyz"[i]);
    if (!tg_parse_double(line + start, end - start, &out[i]))
      return tg_fail_at(place, "'%.*s' is not a finite number; a %s %c was expected", end - start,
                        line + start, what, "xyz"[i]);
  }
  return TG_OK;
}

tg_status tg_configuration_read_box(const char* line, tg_place place, double box[9]) {
  /* file order: the diagonal, then v1y v1z v2x v2z v3x v3y */
  static const int position[9] = {0, 4, 8, 1, 2, 3, 5, 6, 7};
  tg_word words[10];
  int count = tg_split_words(line, words, 10);
  if (count != 3 && count != 9)
    return tg_fail_at(place, "found %d words; a box of 3 or 9 numbers (nm) was expected", count);
  memset(box, 0, 9 * sizeof *box);
  for (int i = 0; i < count; i++) {
    place.column = words[i].column;
    if (!tg_parse_double(words[i].start, words[i].length, &box[position[i]]))
      return tg_fail_at(place, "'%.*s' is not a finite number; a box length (nm) was expected",
                        words[i].length, words[i].start);
  }
  return TG_OK;
}

/* "... t= 10.0 step= 5000" at the end of a title belongs to the frame, not to the name. */
static void take_time(tg_configuration* out) {
  char* mark = NULL;
  for (char* at = strstr(out->title, "t="); at; at = strstr(at + 1, "t="))
    if (at == out->title || at[-1] == ' ') mark = at;
  if (!mark) return;
  tg_word words[4];
  int count = tg_split_words(mark + 2, words, 4);
  double time = 0;
  if (count < 1 || !tg_parse_double(words[0].start, words[0].length, &time)) return;
  out->time = time;
  if (count >= 3 && tg_word_is(words[1], "step="))
    tg_parse_int64(words[2].start, words[2].length, &out->step);
  *mark = '\0';
  tg_trim(out->title);
}

/* The width of a number, from the decimal points of the first atom's position. */
static tg_status find_width(const char* line, tg_place place, int* width) {
  const char* first = strlen(line) > HEAD ? strchr(line + HEAD, '.') : NULL;
  const char* second = first ? strchr(first + 1, '.') : NULL;
  const char* third = second ? strchr(second + 1, '.') : NULL;
  place.column = HEAD + 1;
  if (!third)
    return tg_fail_at(place, "three positions with decimal points were expected from column %d on",
                      HEAD + 1);
  *width = (int)(second - first);
  if (third - second != *width)
    return tg_fail_at(place,
                      "the decimal points are %d and %d columns apart; the same distance was "
                      "expected",
                      *width, (int)(third - second));
  return TG_OK;
}

static tg_status read_atom(tg_configuration* out, size_t i, const char* line, int width,
                           tg_place place) {
  if (strlen(line) < HEAD)
    return tg_fail_at(place, "the line of atom %zu is too short: found '%s'", i + 1, line);
  char number[8];
  tg_configuration_copy_name(line, NAME, number);
  if (!tg_parse_int(number, (int)strlen(number), &out->residue_numbers[i])) {
    place.column = 1;
    return tg_fail_at(place, "'%s': a residue number was expected in columns 1 to 5", number);
  }
  tg_configuration_copy_name(line + NAME, NAME, out->residues[i]);
  tg_configuration_copy_name(line + 2 * NAME, NAME, out->names[i]);
  if (!out->names[i][0]) {
    place.column = 2 * NAME + 1;
    return tg_fail_at(place, "atom %zu has no name; expected in columns 11 to 15", i + 1);
  }
  TG_TRY(tg_configuration_read_fields(line, HEAD, width, 3, "position", place, out->x[i]));
  int end = HEAD + 3 * width;
  bool more = (int)strlen(line) > end && line[end + (int)strspn(line + end, " \t")];
  if (more && !out->v) {
    place.column = end + 1;
    return tg_fail_at(place, "atom %zu has a velocity and atom 1 has none; give all or none",
                      i + 1);
  }
  if (!out->v) return TG_OK;
  if (!more)
    return tg_fail_at(place, "atom %zu has no velocity, though atom 1 has one; give all or none",
                      i + 1);
  return tg_configuration_read_fields(line, end, width, 3, "velocity", place, out->v[i]);
}

static tg_status read_gro(const tg_text_file* file, tg_configuration* out) {
  tg_place place = {file->path, 0, 0};
  if (file->line_count < 3)
    return tg_fail_at(place,
                      "found %zu lines; a title, a number of atoms, atoms and a box were "
                      "expected",
                      file->line_count);
  TG_TRY(tg_copy_text(tg_trim(file->lines[0]), &out->title));
  take_time(out);
  tg_word word;
  const char* cursor = file->lines[1];
  long long count = 0;
  place.line = 2;
  if (!tg_next_word(file->lines[1], &cursor, &word) ||
      !tg_parse_int64(word.start, word.length, &count) || count < 1)
    return tg_fail_at(place, "found '%s'; the number of atoms (1 or more) was expected",
                      file->lines[1]);
  if ((unsigned long long)count > file->line_count - 2) {
    place.line = (int)file->line_count;
    return tg_fail_at(place, "the file ends after %zu atom lines; line 2 announces %lld atoms",
                      file->line_count - 2, count);
  }
  int width = 0;
  place.line = 3;
  TG_TRY(find_width(file->lines[2], place, &width));
  size_t end = HEAD + 3 * (size_t)width;
  const char* first = file->lines[2];
  bool moving = strlen(first) > end && first[end + strspn(first + end, " \t")];
  TG_TRY(tg_configuration_allocate(out, (size_t)count, true, moving));
  for (size_t i = 0; i < out->count; i++) {
    place.line = (int)i + 3;
    TG_TRY(read_atom(out, i, file->lines[i + 2], width, place));
  }
  place.line = (int)out->count + 3;
  if (file->line_count < out->count + 3)
    return tg_fail_at(place, "the file ends where the box was expected, after %zu atoms",
                      out->count);
  return tg_configuration_read_box(file->lines[out->count + 2], place, out->box);
}

tg_status tg_configuration_read(const char* path, tg_configuration* out) {
  memset(out, 0, sizeof *out);
  tg_configuration configuration = {0};
  tg_text_file file = {0};
  tg_status status = TG_OK;
  const char* ending = strrchr(path, '.');
  bool g96 = ending && tg_compare_nocase(ending, ".g96") == 0;
  if (!g96 && !(ending && tg_compare_nocase(ending, ".gro") == 0))
    return tg_fail(TG_ERR_INPUT, "%s: a configuration in a .gro or .g96 file was expected", path);
  TG_TRY_GOTO(tg_text_file_read(path, &file), done);
  TG_TRY_GOTO(
      g96 ? tg_configuration_read_g96(&file, &configuration) : read_gro(&file, &configuration),
      done);
done:
  tg_text_file_free(&file);
  if (status != TG_OK) tg_configuration_free(&configuration);
  *out = configuration;
  return status;
}

/* What printf's %*.*f gives, several times faster, into text with its end mark; its length, or 0
 * where this way cannot tell: far numbers, and those so close to the middle of two decimals that
 * the error of the product, at most 2^-14, might decide. */
static int quick_number(char text[64], int width, int decimals, double value) {
  static const double powers[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6};
  if (decimals > 6 || !(fabs(value) < 1e6)) return 0;
  const double scaled = fabs(value) * powers[decimals], whole = floor(scaled);
  const double part = scaled - whole;
  if (fabs(part - 0.5) < 1e-3) return 0;
  unsigned long long digits = (unsigned long long)whole + (part > 0.5);
  char back[64];
  int length = 0;
  for (int i = 0; i <= decimals || digits > 0; i++, digits /= 10) {
    if (i == decimals && decimals > 0) back[length++] = '.';
    back[length++] = (char)('0' + digits % 10);
  }
  if (signbit(value)) back[length++] = '-';
  while (length < width) back[length++] = ' ';
  for (int i = 0; i < length; i++) text[i] = back[length - 1 - i];
  text[length] = '\0';
  return length;
}

/* Writes a number right-aligned; false where it would run into its neighbour. */
static bool write_number(FILE* stream, int width, int decimals, double value) {
  char text[64];
  int length = quick_number(text, width, decimals, value);
  if (length == 0) length = snprintf(text, sizeof text, "%*.*f", width, decimals, value);
  fputs(text, stream);
  return isfinite(value) && length <= width;
}

tg_status tg_configuration_write_gro(const tg_configuration* c, int decimals, FILE* stream) {
  if (decimals < 1 || decimals > 12)
    return tg_fail(TG_ERR_INPUT, "%d decimals asked for in a .gro file; 1 to 12 are possible",
                   decimals);
  fputs(c->title ? c->title : "", stream);
  if (c->time != 0 || c->step != 0) fprintf(stream, " t= %.5f step= %lld", c->time, c->step);
  fprintf(stream, "\n%5zu\n", c->count);
  for (size_t i = 0; i < c->count; i++) {
    fprintf(stream, "%5d%-5.5s%5.5s%5zu", (c->residue_numbers ? c->residue_numbers[i] : 1) % 100000,
            c->residues ? c->residues[i] : "UNK", c->names ? c->names[i] : "X", (i + 1) % 100000);
    bool fits = true;
    for (int d = 0; d < 3; d++)
      fits = write_number(stream, decimals + 5, decimals, c->x[i][d]) && fits;
    for (int d = 0; d < 3 && c->v; d++)
      fits = write_number(stream, decimals + 5, decimals + 1, c->v[i][d]) && fits;
    if (!fits)
      return tg_fail(TG_ERR_NUMERICS,
                     "atom %zu: position %g %g %g or its velocity does not fit the columns of a "
                     ".gro file",
                     i + 1, c->x[i][0], c->x[i][1], c->x[i][2]);
    fputc('\n', stream);
  }
  static const int order[9] = {0, 4, 8, 1, 2, 3, 5, 6, 7};
  bool triclinic = false;
  for (int i = 3; i < 9; i++) triclinic = triclinic || c->box[order[i]] != 0;
  int places = decimals > 5 ? decimals : 5;
  for (int i = 0; i < (triclinic ? 9 : 3); i++)
    fprintf(stream, "%s%*.*f", i ? " " : "", places + 4, places, c->box[order[i]]);
  fputc('\n', stream);
  if (ferror(stream))
    return tg_fail(TG_ERR_MACHINE, "writing a .gro file failed: is the disk full?");
  return TG_OK;
}

tg_status tg_configuration_save_gro(const tg_configuration* configuration, int decimals,
                                    const char* path) {
  tg_new_file file;
  TG_TRY(tg_new_file_open(path, &file));
  tg_status status = tg_configuration_write_gro(configuration, decimals, file.stream);
  if (status != TG_OK) {
    tg_new_file_abandon(&file);
    return tg_fail_context(status, "%s: ", path);
  }
  return tg_new_file_commit(&file);
}
