/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "md/topology_reader.h"

tg_place tg_reader_place(const tg_topology_reader* reader, int index) {
  int column = index < reader->word_count ? reader->words[index].column : 0;
  return tg_preprocessor_place(reader->preprocessor, column);
}

static tg_status missing(const tg_topology_reader* reader, const char* what) {
  return tg_fail_at(tg_reader_place(reader, reader->word_count),
                    "[ %s ]: the line ends where %s was expected", reader->directive->name, what);
}

tg_status tg_reader_int(const tg_topology_reader* reader, int index, const char* what, int* out) {
  if (index >= reader->word_count) return missing(reader, what);
  tg_word word = reader->words[index];
  if (tg_parse_int(word.start, word.length, out)) return TG_OK;
  return tg_fail_at(tg_reader_place(reader, index),
                    "[ %s ]: %s must be a whole number, found '%.*s'", reader->directive->name,
                    what, word.length, word.start);
}

tg_status tg_reader_double(const tg_topology_reader* reader, int index, const char* what,
                           double* out) {
  if (index >= reader->word_count) return missing(reader, what);
  tg_word word = reader->words[index];
  if (tg_parse_double(word.start, word.length, out)) return TG_OK;
  return tg_fail_at(tg_reader_place(reader, index),
                    "[ %s ]: %s must be a number, found '%.*s' (a macro would have to be #defined "
                    "above)",
                    reader->directive->name, what, word.length, word.start);
}

tg_status tg_reader_name(const tg_topology_reader* reader, int index, const char* what, char* out,
                         size_t size) {
  if (index >= reader->word_count) return missing(reader, what);
  tg_word word = reader->words[index];
  if ((size_t)word.length >= size)
    return tg_fail_at(tg_reader_place(reader, index),
                      "[ %s ]: %s '%.*s' is longer than %d characters", reader->directive->name,
                      what, word.length, word.start, (int)size - 1);
  memcpy(out, word.start, (size_t)word.length);
  out[word.length] = '\0';
  return TG_OK;
}

tg_status tg_reader_numbers(const tg_topology_reader* reader, int first, int limit, double* out,
                            int* count) {
  *count = 0;
  for (int i = first; i < reader->word_count; i++) {
    if (*count == limit)
      return tg_fail_at(tg_reader_place(reader, i), "[ %s ]: more than %d parameters",
                        reader->directive->name, limit);
    TG_TRY(tg_reader_double(reader, i, "a parameter", &out[*count]));
    ++*count;
  }
  return TG_OK;
}

tg_status tg_reader_columns(const tg_topology_reader* reader, int least, int most,
                            const char* columns) {
  if (reader->word_count >= least && reader->word_count <= most) return TG_OK;
  bool few = reader->word_count < least;
  return tg_fail_at(tg_reader_place(reader, most), "[ %s ]: found %d columns, too %s; expected %s",
                    reader->directive->name, reader->word_count, few ? "few" : "many", columns);
}

tg_status tg_reader_atom(const tg_topology_reader* reader, int index, int* out) {
  int number = 0;
  TG_TRY(tg_reader_int(reader, index, "an atom number", &number));
  if (number < 1 || (size_t)number > reader->molecule->atom_count)
    return tg_fail_at(tg_reader_place(reader, index),
                      "[ %s ]: atom %d is not in molecule '%s', whose atoms are 1 to %zu",
                      reader->directive->name, number, reader->molecule->name,
                      reader->molecule->atom_count);
  *out = number - 1;
  return TG_OK;
}
