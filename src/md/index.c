/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of atoms: the default ones, and those of an .ndx file ("[ name ]" and numbers from 1). */
#include "md/index.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

void tg_index_free(tg_index* index) {
  if (!index) return;
  for (size_t i = 0; i < index->group_count; i++) {
    tg_free(index->groups[i].name);
    tg_free(index->groups[i].atoms);
  }
  tg_free(index->groups);
  memset(index, 0, sizeof *index);
}

const tg_index_group* tg_index_find(const tg_index* index, const char* name) {
  for (size_t i = 0; i < index->group_count; i++)
    if (tg_compare_nocase(index->groups[i].name, name) == 0) return &index->groups[i];
  return NULL;
}

/* The number of the group of this name, made where there is none. */
static tg_status find_or_add(tg_index* index, const char* name, size_t* number) {
  const tg_index_group* known = tg_index_find(index, name);
  if (known) {
    *number = (size_t)(known - index->groups);
    return TG_OK;
  }
  TG_TRY(
      TG_RESERVE(index->group_count + 1, "index groups", &index->groups, &index->group_capacity));
  tg_index_group* group = &index->groups[index->group_count];
  memset(group, 0, sizeof *group);
  TG_TRY(tg_copy_text(name, &group->name));
  *number = index->group_count++;
  return TG_OK;
}

static tg_status add_atom(tg_index_group* group, int atom) {
  TG_TRY(TG_RESERVE(group->count + 1, "atoms of an index group", &group->atoms, &group->capacity));
  group->atoms[group->count++] = atom;
  return TG_OK;
}

static bool is_water(const tg_molecule_type* type) {
  static const char* const names[] = {"SOL", "WAT", "HOH", "H2O", "TIP3", "TIP3P", "SPC"};
  if (type->interactions[TG_SETTLE].count > 0) return true;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (tg_compare_nocase(type->atoms[0].residue, names[i]) == 0) return true;
  return false;
}

/* Adds the molecule's atoms, the first of which has the number `first`, to a group. */
static tg_status add_molecule(tg_index* index, const char* name, const tg_molecule_type* type,
                              int first) {
  size_t group = 0;
  TG_TRY(find_or_add(index, name, &group));
  for (size_t a = 0; a < type->atom_count; a++)
    TG_TRY(add_atom(&index->groups[group], first + (int)a));
  return TG_OK;
}

static tg_status add_residues(tg_index* index, const tg_molecule_type* type, int first) {
  for (size_t a = 0; a < type->atom_count; a++) {
    size_t group = 0;
    TG_TRY(find_or_add(index, type->atoms[a].residue, &group));
    TG_TRY(add_atom(&index->groups[group], first + (int)a));
  }
  return TG_OK;
}

typedef enum { SYSTEM, WATER, RESIDUES, MOLECULES } default_kind;

/* One kind of default group over all molecules. */
static tg_status add_defaults(tg_index* index, const tg_topology* topology, default_kind kind) {
  int first = 0;
  size_t before = index->group_count;
  for (size_t b = 0; b < topology->block_count; b++) {
    const tg_molecule_type* type = &topology->molecule_types[topology->blocks[b].molecule_type];
    /* a molecule type of a residue's or an earlier group's name would hold the same or be mixed up
     */
    const tg_index_group* same = tg_index_find(index, type->name);
    bool taken = same && (size_t)(same - index->groups) < before;
    for (int m = 0; m < topology->blocks[b].count && type->atom_count > 0; m++) {
      if (kind == SYSTEM) TG_TRY(add_molecule(index, "System", type, first));
      if (kind == WATER)
        TG_TRY(add_molecule(index, is_water(type) ? "Water" : "non-Water", type, first));
      if (kind == RESIDUES) TG_TRY(add_residues(index, type, first));
      if (kind == MOLECULES && !taken) TG_TRY(add_molecule(index, type->name, type, first));
      first += (int)type->atom_count;
    }
  }
  return TG_OK;
}

static bool has_water(const tg_topology* topology) {
  for (size_t b = 0; b < topology->block_count; b++) {
    const tg_molecule_type* type = &topology->molecule_types[topology->blocks[b].molecule_type];
    if (topology->blocks[b].count > 0 && type->atom_count > 0 && is_water(type)) return true;
  }
  return false;
}

/* "[ name ]": begins a group, emptied where the name is known already. */
static tg_status begin_group(tg_index* index, char* line, tg_place place, size_t* group) {
  char* start = strchr(line, '[');
  char* end = strchr(start, ']');
  place.column = (int)(start - line) + 1;
  if (!end) return tg_fail_at(place, "found '%s'; expected `[ name ]`", line);
  *end = '\0';
  char* name = tg_trim(start + 1);
  if (!*name) return tg_fail_at(place, "the group has no name; expected `[ name ]`");
  TG_TRY(find_or_add(index, name, group));
  index->groups[*group].count = 0;
  return TG_OK;
}

static tg_status read_numbers(tg_index* index, size_t group, const char* line, tg_place place,
                              size_t atom_count) {
  const char* cursor = line;
  tg_word word;
  while (tg_next_word(line, &cursor, &word)) {
    place.column = word.column;
    if (group == SIZE_MAX)
      return tg_fail_at(place, "found '%.*s' before the first group; expected `[ name ]`",
                        word.length, word.start);
    int number = 0;
    const char* name = index->groups[group].name;
    if (!tg_parse_int(word.start, word.length, &number))
      return tg_fail_at(place, "'%.*s' in group %s is not an atom number", word.length, word.start,
                        name);
    if (number < 1 || (size_t)number > atom_count)
      return tg_fail_at(place,
                        "atom %d in group %s is out of range; the topology has atoms 1 to %zu",
                        number, name, atom_count);
    TG_TRY(add_atom(&index->groups[group], number - 1));
  }
  return TG_OK;
}

static tg_status read_file(tg_index* index, const tg_text_file* file, size_t atom_count) {
  size_t group = SIZE_MAX;
  for (size_t i = 0; i < file->line_count; i++) {
    char* line = file->lines[i];
    tg_place place = {file->path, (int)i + 1, 0};
    char* comment = strchr(line, ';');
    if (comment) *comment = '\0';
    if (line[strspn(line, " \t")] == '[')
      TG_TRY(begin_group(index, line, place, &group));
    else
      TG_TRY(read_numbers(index, group, line, place, atom_count));
  }
  return TG_OK;
}

tg_status tg_index_read(const char* path, const tg_topology* topology, tg_index* out) {
  memset(out, 0, sizeof *out);
  tg_index index = {0};
  tg_text_file file = {0};
  tg_status status = TG_OK;
  TG_TRY_GOTO(add_defaults(&index, topology, SYSTEM), done);
  if (has_water(topology)) TG_TRY_GOTO(add_defaults(&index, topology, WATER), done);
  TG_TRY_GOTO(add_defaults(&index, topology, RESIDUES), done);
  TG_TRY_GOTO(add_defaults(&index, topology, MOLECULES), done);
  if (path) {
    TG_TRY_GOTO(tg_text_file_read(path, &file), done);
    TG_TRY_GOTO(read_file(&index, &file, tg_topology_atoms(topology)), done);
  }
done:
  tg_text_file_free(&file);
  if (status != TG_OK) tg_index_free(&index);
  *out = index;
  return status;
}
