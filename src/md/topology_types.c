/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of bonded parameters: reading their lines and finding the one that fits. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "md/topology_reader.h"

tg_interaction_kind tg_reader_kind(tg_type_table table, int function) {
  switch (table) {
    case TG_TABLE_BOND: return function == 1 ? TG_BOND : TG_INTERACTION_KINDS;
    case TG_TABLE_PAIR: return function == 1 ? TG_PAIR_14 : TG_INTERACTION_KINDS;
    case TG_TABLE_ANGLE: return function == 1 ? TG_ANGLE : TG_INTERACTION_KINDS;
    case TG_TABLE_CONSTRAINT:
      return function == 1 || function == 2 ? TG_CONSTRAINT : TG_INTERACTION_KINDS;
    case TG_TABLE_DIHEDRAL:
      switch (function) {
        case 1:
        case 9: return TG_DIHEDRAL_PROPER;
        case 2: return TG_DIHEDRAL_IMPROPER;
        case 3: return TG_DIHEDRAL_RYCKAERT;
        case 4: return TG_DIHEDRAL_IMPROPER_PERIODIC;
        default: return TG_INTERACTION_KINDS;
      }
    default: return TG_INTERACTION_KINDS;
  }
}

static bool has_multiplicity(tg_interaction_kind kind) {
  return kind == TG_DIHEDRAL_PROPER || kind == TG_DIHEDRAL_IMPROPER_PERIODIC;
}

tg_status tg_reader_check_count(tg_place place, tg_interaction_kind kind, int count) {
  int own = tg_interaction_parameters(kind);
  bool good = count == own || (count == 2 * own && kind != TG_SETTLE) ||
              (has_multiplicity(kind) && count == 5);
  if (good) return TG_OK;
  return tg_fail_at(place, "%s: found %d parameters, expected %d", tg_interaction_term(kind), count,
                    own);
}

tg_status tg_reader_reduce(const tg_topology* topology, tg_place place, tg_interaction_kind kind,
                           int count, const double* parameters, tg_interaction* out) {
  TG_TRY(tg_reader_check_count(place, kind, count));
  int own = tg_interaction_parameters(kind);
  for (int i = own; i < count; i++)
    if (parameters[i] != parameters[i - own])
      return tg_fail_at(
          place,
          "%s: parameter %d of the B state (%g) differs from that of the A state (%g); "
          "free-energy perturbation is not supported",
          tg_interaction_term(kind), i - own + 1, parameters[i], parameters[i - own]);
  if (has_multiplicity(kind) && parameters[2] != nearbyint(parameters[2]))
    return tg_fail_at(place, "%s: the multiplicity must be a whole number, found %g",
                      tg_interaction_term(kind), parameters[2]);
  if (kind == TG_CONSTRAINT && parameters[0] <= 0)
    return tg_fail_at(place, "a constraint's length must be above 0, found %g nm", parameters[0]);
  memcpy(out->parameters, parameters, (size_t)own * sizeof *parameters);
  if (kind == TG_PAIR_14)
    tg_reader_to_c6_c12(topology, parameters, &out->parameters[0], &out->parameters[1]);
  return TG_OK;
}

static tg_status find_name(const tg_topology_reader* reader, int index, int* id) {
  tg_type_table table = reader->directive->table;
  tg_word word = reader->words[index];
  *id = -1;
  if (table == TG_TABLE_PAIR || table == TG_TABLE_NONBONDED) {
    *id = tg_reader_find_atom_type(reader, word);
  } else {
    if (table == TG_TABLE_DIHEDRAL && tg_word_is(word, "X")) {
      *id = TG_ANY_TYPE;
      return TG_OK;
    }
    for (size_t i = 0; i < reader->bonded_count && *id < 0; i++)
      if (tg_word_is(word, reader->bonded_names[i])) *id = (int)i;
  }
  if (*id >= 0) return TG_OK;
  return tg_fail_at(
      tg_reader_place(reader, index),
      "[ %s ]: type '%.*s' is not in [ atomtypes ]; define it there or remove this line",
      reader->directive->name, word.length, word.start);
}

static bool is_digit(const tg_topology_reader* reader, int index) {
  return index < reader->word_count && reader->words[index].length == 1 &&
         *reader->words[index].start >= '0' && *reader->words[index].start <= '9';
}

/* The names of a line; *function is the number of the word after them. Two names of a dihedral mean
 * its inner atoms, or (function 2) its outer ones. */
static tg_status read_names(const tg_topology_reader* reader, tg_type_entry* entry, int* function) {
  int names = reader->directive->atoms;
  bool two = reader->directive->table == TG_TABLE_DIHEDRAL && is_digit(reader, 2);
  if (two) names = 2;
  TG_TRY(tg_reader_columns(reader, names + 1, names + 1 + TG_TYPE_MAX_PARAMETERS,
                           "type names, the function and its parameters"));
  for (int i = 0; i < 4; i++) entry->types[i] = TG_ANY_TYPE;
  for (int i = 0; i < names; i++) TG_TRY(find_name(reader, i, &entry->types[i]));
  if (two) {
    int a = entry->types[0], b = entry->types[1];
    bool outer = *reader->words[2].start == '2';
    const int spread[2][4] = {{TG_ANY_TYPE, a, b, TG_ANY_TYPE}, {a, TG_ANY_TYPE, TG_ANY_TYPE, b}};
    memcpy(entry->types, spread[outer], sizeof entry->types);
  }
  *function = names;
  return TG_OK;
}

static bool same_types(const int* a, const int* b, int count) {
  bool forward = true, backward = true;
  for (int i = 0; i < count; i++) {
    forward = forward && a[i] == b[i];
    backward = backward && a[i] == b[count - 1 - i];
  }
  return forward || backward;
}

static bool same_parameters(const tg_type_entry* a, const tg_type_entry* b) {
  for (int i = 0; i < a->count && i < b->count; i++)
    if (a->parameters[i] != b->parameters[i]) return false;
  return a->count == b->count;
}

/* A line for types that have one already. Lines of function 9 that follow each other are the terms
 * of one dihedral; otherwise the new one replaces the old. */
static tg_status merge(tg_topology_reader* reader, tg_type_list* list, size_t old,
                       const tg_type_entry* entry, bool* append) {
  tg_type_entry* before = &list->items[old];
  *append = false;
  if (entry->several && before->several) {
    const tg_type_entry* last = &list->items[list->count - 1];
    if (last->function == entry->function && same_types(last->types, entry->types, 4)) {
      *append = true;
      return TG_OK;
    }
    bool alone = old + 1 == list->count || !same_types(before->types, before[1].types, 4);
    if (alone && same_parameters(before, entry)) return TG_OK;
    return tg_fail_at(
        entry->place,
        "[ %s ]: function 9 has lines for these types at %s:%d already; all terms must "
        "follow each other",
        reader->directive->name, before->place.file, before->place.line);
  }
  if (!same_parameters(before, entry))
    tg_log_warning(reader->log, "%s:%d: [ %s ]: replaces the parameters of %s:%d",
                   entry->place.file, entry->place.line, reader->directive->name,
                   before->place.file, before->place.line);
  *before = *entry;
  return TG_OK;
}

tg_status tg_reader_type(tg_topology_reader* reader) {
  tg_type_table table = reader->directive->table;
  tg_type_list* list = &reader->tables[table];
  tg_type_entry entry = {.place = tg_reader_place(reader, 0)};
  int at = 0;
  TG_TRY(read_names(reader, &entry, &at));
  TG_TRY(tg_reader_int(reader, at, "the function", &entry.function));
  TG_TRY(tg_reader_numbers(reader, at + 1, TG_TYPE_MAX_PARAMETERS, entry.parameters, &entry.count));
  tg_type_table shape = table == TG_TABLE_NONBONDED ? TG_TABLE_PAIR : table;
  tg_interaction_kind kind = tg_reader_kind(shape, entry.function);
  if (kind != TG_INTERACTION_KINDS) TG_TRY(tg_reader_check_count(entry.place, kind, entry.count));
  bool by_atom_type = shape == TG_TABLE_PAIR;
  if (by_atom_type && entry.function != 1)
    return tg_fail_at(tg_reader_place(reader, at),
                      "[ %s ]: function %d is not supported; only 1 (Lennard-Jones) is",
                      reader->directive->name, entry.function);
  entry.several = table == TG_TABLE_DIHEDRAL && entry.function == 9;
  if (entry.several) entry.function = 1;
  /* tables by atom type are put in a matrix, which finds their repeats */
  for (size_t i = 0; !by_atom_type && i < list->count; i++) {
    if (list->items[i].function != entry.function ||
        !same_types(list->items[i].types, entry.types, reader->directive->atoms))
      continue;
    bool append = false;
    TG_TRY(merge(reader, list, i, &entry, &append));
    if (!append) return TG_OK;
    break;
  }
  TG_TRY(TG_RESERVE(list->count + 1, "parameter tables", &list->items, &list->capacity));
  list->items[list->count++] = entry;
  return TG_OK;
}

/* How many of the types an entry names exactly, in one direction; -1 if it does not fit. */
static int exact_fields(const int* entry, const int* types, int count, bool backward) {
  int exact = 0;
  for (int i = 0; i < count; i++) {
    int wanted = types[backward ? count - 1 - i : i];
    if (entry[i] == wanted)
      exact++;
    else if (entry[i] != TG_ANY_TYPE)
      return -1;
  }
  return exact;
}

void tg_reader_find_types(const tg_topology_reader* reader, tg_type_table table, int function,
                          const int types[4], int count, size_t* first, size_t* terms) {
  const tg_type_list* list = &reader->tables[table];
  if (table == TG_TABLE_DIHEDRAL && function == 9) function = 1;
  int best = -1;
  *first = *terms = 0;
  for (size_t i = 0; i < list->count && best < count; i++) {
    if (list->items[i].function != function) continue;
    int forward = exact_fields(list->items[i].types, types, count, false);
    int backward = exact_fields(list->items[i].types, types, count, true);
    int exact = forward > backward ? forward : backward;
    if (exact <= best) continue;
    best = exact;
    *first = i;
  }
  if (best < 0) return;
  *terms = 1;
  const tg_type_entry* head = &list->items[*first];
  while (head->several && *first + *terms < list->count && head[*terms].several &&
         same_types(head->types, head[*terms].types, count))
    ++*terms;
}
