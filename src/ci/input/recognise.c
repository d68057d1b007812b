/* SPDX-License-Identifier: Apache-2.0 */
/* Which format a file has, from its first lines; the name does not matter. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "ci/input/builtin.h"
#include "ci/input/input.h"
#include "ci/input/lines.h"

static const char* const names[TG_CI_FORMATS] = {
    [TG_CI_AUTO] = "auto",       [TG_CI_SNT] = "snt",         [TG_CI_PTN] = "ptn",
    [TG_CI_SPS] = "sps",         [TG_CI_SP] = "sp",           [TG_CI_INT] = "int",
    [TG_CI_INT_ISO] = "iso",     [TG_CI_INT_XPN] = "xpn",     [TG_CI_INT_UPN] = "upn",
    [TG_CI_OPME] = "opme",       [TG_CI_MFDN] = "mfdn",       [TG_CI_H2] = "h2",
    [TG_CI_FCIDUMP] = "fcidump", [TG_CI_BUILTIN] = "builtin",
};

const char* tg_ci_format_name(tg_ci_format format) {
  return (unsigned)format < TG_CI_FORMATS ? names[format] : "unknown";
}

tg_status tg_ci_format_parse(const char* name, tg_ci_format* out) {
  for (int f = 0; f < TG_CI_FORMATS; f++)
    if (f != TG_CI_BUILTIN && tg_compare_nocase(name, names[f]) == 0) {
      *out = (tg_ci_format)f;
      return TG_OK;
    }
  return tg_fail(TG_ERR_INPUT,
                 "there is no format '%s'; expected auto, snt, ptn, sps, sp, int, iso, xpn, upn, "
                 "opme, mfdn, h2 or fcidump",
                 name);
}

/* A comment of an .int file that says which form it has; of one that names both the elements tell.
 */
static tg_ci_format form_in_comments(const tg_text_file* file) {
  bool xpn = false, upn = false;
  for (size_t i = 0; i < file->line_count; i++) {
    const char* comment = file->lines[i] + strcspn(file->lines[i], "!#");
    if (!*comment) continue;
    const char* cursor = comment + 1;
    tg_word word;
    while (tg_next_word(comment, &cursor, &word)) {
      xpn = xpn || tg_word_is_nocase(word, "xpn");
      upn = upn || tg_word_is_nocase(word, "upn");
    }
  }
  if (xpn == upn) return TG_CI_INT;
  return xpn ? TG_CI_INT_XPN : TG_CI_INT_UPN;
}

static size_t whole_words(const tg_ci_lines* lines) {
  int unused = 0;
  size_t count = 0;
  while (count < lines->count && tg_ci_word_int(lines->words[count], &unused)) count++;
  return count;
}

/* `iso`, a number, then orbits: of .opme files numbered, and followed by the ranks. */
static tg_status sps_or_opme(tg_ci_lines* lines, tg_ci_format* out) {
  bool found = false;
  int count = 0;
  *out = TG_CI_SPS;
  TG_TRY(tg_ci_lines_next(lines, &found));
  if (!found || lines->count != 1 || !tg_ci_word_int(lines->words[0], &count)) return TG_OK;
  for (int i = 0; i < count; i++) {
    int number = 0;
    TG_TRY(tg_ci_lines_next(lines, &found));
    if (!found || !tg_ci_word_int(lines->words[0], &number) || number != i + 1) return TG_OK;
  }
  TG_TRY(tg_ci_lines_next(lines, &found));
  if (found) *out = TG_CI_OPME;
  return TG_OK;
}

/* Lines of numbers: by how many there are and of which kind. AUTO: none that is known. */
static tg_status look_at_numbers(tg_ci_lines* lines, tg_ci_format form, tg_ci_format* out) {
  bool found = false;
  const size_t count = lines->count, whole = whole_words(lines);
  if (whole == 0) return TG_OK;
  TG_TRY(tg_ci_lines_next(lines, &found));
  const size_t next = found ? lines->count : 0, next_whole = found ? whole_words(lines) : 0;
  if (count == 1 && next == 2 && next_whole == 2)
    *out = TG_CI_H2;
  else if (count == 3 && whole == 3 && next == 2 && next_whole == 2)
    *out = TG_CI_PTN;
  else if (next >= 10 && next_whole >= 6)
    *out = TG_CI_MFDN;
  else if (count == 4 && whole == 4 && next == 5 && next_whole == 5)
    *out = TG_CI_SNT;
  else if (count > 1 || next > next_whole)
    *out = form;
  return TG_OK;
}

static tg_status look(tg_ci_lines* lines, tg_ci_format form, tg_ci_format* out) {
  bool found = false;
  TG_TRY(tg_ci_lines_next(lines, &found));
  if (!found)
    return tg_fail_at((tg_place){lines->file.path, 0, 0},
                      "the file is empty; expected an interaction, orbits or integrals");
  const tg_place place = tg_ci_lines_place(lines, 0);
  const tg_word word = lines->words[0];
  char shown[24];
  snprintf(shown, sizeof shown, "%.*s", word.length, word.start);
  *out = TG_CI_AUTO;
  if (word.length >= 4 && (*word.start == '&' || *word.start == '$') &&
      toupper((unsigned char)word.start[1]) == 'F' &&
      toupper((unsigned char)word.start[2]) == 'C' && toupper((unsigned char)word.start[3]) == 'I')
    *out = TG_CI_FCIDUMP;
  else if (tg_word_is_nocase(word, "iso"))
    TG_TRY(sps_or_opme(lines, out));
  else if (tg_word_is_nocase(word, "pnw") || tg_word_is_nocase(word, "auto"))
    *out = TG_CI_SPS;
  else if (tg_word_is_nocase(word, "t") || tg_word_is_nocase(word, "pn"))
    *out = TG_CI_SP;
  else
    TG_TRY(look_at_numbers(lines, form, out));
  if (*out != TG_CI_AUTO) return TG_OK;
  return tg_fail_at(place,
                    "found '%s' and no format that is known; expected .snt, .ptn, .sps, .sp, .int, "
                    ".opme, MFDn text or h2, or a FCIDUMP (relative matrix elements must be "
                    "transformed first, by tools/relative_snt.py). --format NAME reads it as one "
                    "of them all the same",
                    shown);
}

tg_status tg_ci_recognise(const char* path, tg_ci_format* out) {
  tg_ci_lines lines;
  tg_ci_format format = TG_CI_AUTO;
  if (strncmp(path, TG_CI_BUILTIN_PREFIX, strlen(TG_CI_BUILTIN_PREFIX)) == 0) {
    *out = TG_CI_BUILTIN;
    return TG_OK;
  }
  TG_TRY(tg_ci_lines_open(path, "", &lines));
  const tg_ci_format form = form_in_comments(&lines.file);
  for (size_t i = 0; i < lines.file.line_count; i++)
    lines.file.lines[i][strcspn(lines.file.lines[i], "!#")] = '\0';
  tg_status status = look(&lines, form, &format);
  tg_ci_lines_close(&lines);
  if (status == TG_OK) *out = format;
  return status;
}
