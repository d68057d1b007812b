/* SPDX-License-Identifier: Apache-2.0 */
/* [ defaults ], [ atomtypes ] and the tables of Lennard-Jones parameters.
 *
 * The two numbers V, W of a type, or of a pair of types, mean C6, C12 with combination rule 1 and
 * sigma, epsilon with rules 2 and 3; a pair that is not listed is combined from its types:
 *   rule 1, 3   sqrt(V_i V_j), sqrt(W_i W_j)
 *   rule 2      (V_i + V_j) / 2, sqrt(W_i W_j)      (Lorentz-Berthelot)
 * then C6 = 4 epsilon sigma^6 and C12 = 4 epsilon sigma^12. A negative sigma asks for repulsion
 * only: C6 = 0, C12 from |sigma|. (GROMACS reference manual, "Parameter files".) */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "md/topology_reader.h"

static bool yes_or_no(tg_word word, bool* out) {
  *out = tg_word_is_nocase(word, "yes") || tg_word_is_nocase(word, "y");
  return *out || tg_word_is_nocase(word, "no") || tg_word_is_nocase(word, "n");
}

tg_status tg_reader_defaults(tg_topology_reader* reader) {
  tg_topology* topology = reader->topology;
  if (reader->defaults)
    return tg_fail_at(tg_reader_place(reader, 0),
                      "second line of [ defaults ]; is a force field included twice?");
  TG_TRY(
      tg_reader_columns(reader, 2, 6, "nbfunc comb-rule [gen-pairs [fudgeLJ [fudgeQQ [power]]]]"));
  int function = 0;
  TG_TRY(tg_reader_int(reader, 0, "nbfunc", &function));
  if (function != 1)
    return tg_fail_at(tg_reader_place(reader, 0),
                      "[ defaults ]: nbfunc %d%s is not supported; only 1 (Lennard-Jones) is",
                      function, function == 2 ? " (Buckingham)" : "");
  TG_TRY(tg_reader_int(reader, 1, "comb-rule", &topology->combination_rule));
  if (topology->combination_rule < 1 || topology->combination_rule > 3)
    return tg_fail_at(tg_reader_place(reader, 1),
                      "[ defaults ]: comb-rule must be 1, 2 or 3, found %d",
                      topology->combination_rule);
  topology->fudge_lj = topology->fudge_qq = 1;
  double power = 12;
  if (reader->word_count > 2 && !yes_or_no(reader->words[2], &topology->generate_pairs))
    return tg_fail_at(tg_reader_place(reader, 2),
                      "[ defaults ]: gen-pairs must be yes or no, found '%.*s'",
                      reader->words[2].length, reader->words[2].start);
  if (reader->word_count > 3) TG_TRY(tg_reader_double(reader, 3, "fudgeLJ", &topology->fudge_lj));
  if (reader->word_count > 4) TG_TRY(tg_reader_double(reader, 4, "fudgeQQ", &topology->fudge_qq));
  if (reader->word_count > 5) TG_TRY(tg_reader_double(reader, 5, "the repulsion power", &power));
  if (power != 12)
    return tg_fail_at(tg_reader_place(reader, 5),
                      "[ defaults ]: a repulsion power of %g is not supported; only 12 is", power);
  reader->defaults = true;
  return TG_OK;
}

int tg_reader_find_atom_type(const tg_topology_reader* reader, tg_word word) {
  for (size_t i = 0; i < reader->topology->type_count; i++)
    if (tg_word_is(word, reader->topology->atom_types[i].name)) return (int)i;
  return -1;
}

static tg_status intern_bonded(tg_topology_reader* reader, const char* name, int* id) {
  for (size_t i = 0; i < reader->bonded_count; i++)
    if (strcmp(reader->bonded_names[i], name) == 0) {
      *id = (int)i;
      return TG_OK;
    }
  TG_TRY(TG_RESERVE(reader->bonded_count + 1, "bonded types", &reader->bonded_names,
                    &reader->bonded_capacity));
  memcpy(reader->bonded_names[reader->bonded_count], name, sizeof *reader->bonded_names);
  *id = (int)reader->bonded_count++;
  return TG_OK;
}

static bool is_letter(tg_word word) {
  return word.length == 1 && isalpha((unsigned char)*word.start);
}

/* Which of the two optional columns are there. The particle letter tells; where both could be
 * meant, a first letter does. */
static void find_layout(const tg_word* words, bool* bonded, bool* number) {
  *bonded = *number = false;
  if (is_letter(words[5])) {
    *bonded = *number = true;
  } else if (!is_letter(words[3])) {
    *bonded = isalpha((unsigned char)*words[1].start);
    *number = !*bonded;
  }
}

static tg_status store_atom_type(tg_topology_reader* reader, const tg_atom_type* type,
                                 const double pair[2]) {
  tg_topology* topology = reader->topology;
  int bonded = 0;
  TG_TRY(intern_bonded(reader, type->bonded, &bonded));
  int at = tg_reader_find_atom_type(reader, reader->words[0]);
  if (at >= 0) {
    tg_place place = tg_reader_place(reader, 0);
    const tg_atom_type* old = &topology->atom_types[at];
    bool same = strcmp(old->bonded, type->bonded) == 0 && old->mass == type->mass &&
                old->charge == type->charge && old->particle == type->particle &&
                memcmp(reader->type_pair[at], pair, sizeof *reader->type_pair) == 0;
    if (!same)
      tg_log_warning(reader->log, "%s:%d: atom type '%s' was defined before; this one replaces it",
                     place.file, place.line, type->name);
  } else {
    size_t count = topology->type_count + 1;
    TG_TRY(TG_RESERVE(count, "atom types", &topology->atom_types, &topology->type_capacity));
    TG_TRY(TG_RESERVE(count, "atom types", &reader->type_bonded, &reader->type_bonded_capacity));
    TG_TRY(TG_RESERVE(count, "atom types", &reader->type_pair, &reader->type_pair_capacity));
    at = (int)topology->type_count++;
  }
  topology->atom_types[at] = *type;
  reader->type_bonded[at] = bonded;
  memcpy(reader->type_pair[at], pair, sizeof *reader->type_pair);
  return TG_OK;
}

tg_status tg_reader_atom_type(tg_topology_reader* reader) {
  const char* columns = "name [bonded type] [atomic number] mass charge particle V W";
  TG_TRY(tg_reader_columns(reader, 6, 8, columns));
  tg_atom_type type = {.atomic_number = -1};
  double pair[2];
  bool bonded, number;
  find_layout(reader->words, &bonded, &number);
  int at = 0;
  TG_TRY(tg_reader_columns(reader, 6 + bonded + number, 6 + bonded + number, columns));
  TG_TRY(tg_reader_name(reader, at++, "the atom type", type.name, sizeof type.name));
  memcpy(type.bonded, type.name, sizeof type.bonded);
  if (bonded)
    TG_TRY(tg_reader_name(reader, at++, "the bonded type", type.bonded, sizeof type.bonded));
  if (number) TG_TRY(tg_reader_int(reader, at++, "the atomic number", &type.atomic_number));
  TG_TRY(tg_reader_double(reader, at++, "the mass", &type.mass));
  TG_TRY(tg_reader_double(reader, at++, "the charge", &type.charge));
  tg_word particle = reader->words[at];
  type.particle = (char)toupper((unsigned char)*particle.start);
  if (particle.length != 1 || !strchr("ASVD", type.particle))
    return tg_fail_at(tg_reader_place(reader, at),
                      "[ atomtypes ]: the particle must be A, S, V or D, found '%.*s'",
                      particle.length, particle.start);
  TG_TRY(tg_reader_double(reader, at + 1, "V", &pair[0]));
  TG_TRY(tg_reader_double(reader, at + 2, "W", &pair[1]));
  if (reader->topology->combination_rule != 1) {
    type.sigma = fabs(pair[0]);
    type.epsilon = pair[0] == 0 ? 0 : pair[1];
  } else if (pair[0] != 0 && pair[1] != 0) {
    type.sigma = pow(pair[1] / pair[0], 1.0 / 6.0);
    type.epsilon = pair[0] * pair[0] / (4 * pair[1]);
  }
  return store_atom_type(reader, &type, pair);
}

void tg_reader_to_c6_c12(const tg_topology* topology, const double pair[2], double* c6,
                         double* c12) {
  if (topology->combination_rule == 1) {
    *c6 = pair[0];
    *c12 = pair[1];
    return;
  }
  double cube = pair[0] * pair[0] * pair[0], sixth = cube * cube;
  *c6 = pair[0] < 0 ? 0 : 4 * pair[1] * sixth;
  *c12 = 4 * pair[1] * sixth * sixth;
}

static void combine(int rule, const double a[2], const double b[2], double out[2]) {
  out[1] = sqrt(a[1] * b[1]);
  if (rule == 1) {
    out[0] = sqrt(a[0] * b[0]);
    return;
  }
  double first = fabs(a[0]), second = fabs(b[0]);
  out[0] = rule == 2 ? 0.5 * (first + second) : sqrt(first * second);
  if (a[0] < 0 || b[0] < 0) out[0] = -out[0];
}

static tg_status fill_combined(tg_topology_reader* reader) {
  tg_topology* topology = reader->topology;
  size_t n = topology->type_count;
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j <= i; j++) {
      double pair[2], c6, c12;
      combine(topology->combination_rule, reader->type_pair[i], reader->type_pair[j], pair);
      if (!isfinite(pair[0]) || !isfinite(pair[1]))
        return tg_fail_at((tg_place){reader->path, 0, 0},
                          "[ atomtypes ]: the parameters of '%s' and '%s' have different signs and "
                          "cannot be combined",
                          topology->atom_types[i].name, topology->atom_types[j].name);
      tg_reader_to_c6_c12(topology, pair, &c6, &c12);
      topology->c6[i * n + j] = topology->c6[j * n + i] = c6;
      topology->c12[i * n + j] = topology->c12[j * n + i] = c12;
    }
  return TG_OK;
}

/* Puts the lines of a table by atom types in their places; seen marks them. */
static tg_status fill_listed(tg_topology_reader* reader, tg_type_table table, double* c6,
                             double* c12, bool* seen) {
  size_t n = reader->topology->type_count;
  for (size_t k = 0; k < reader->tables[table].count; k++) {
    const tg_type_entry* entry = &reader->tables[table].items[k];
    if (entry->count == 4 && (entry->parameters[0] != entry->parameters[2] ||
                              entry->parameters[1] != entry->parameters[3]))
      return tg_fail_at(entry->place,
                        "the B state differs from the A state; free-energy perturbation is not "
                        "supported");
    double v6, v12;
    tg_reader_to_c6_c12(reader->topology, entry->parameters, &v6, &v12);
    size_t i = (size_t)entry->types[0], j = (size_t)entry->types[1];
    if (seen[i * n + j] && (c6[i * n + j] != v6 || c12[i * n + j] != v12))
      tg_log_warning(reader->log,
                     "%s:%d: the pair '%s' '%s' was listed before; this line replaces it",
                     entry->place.file, entry->place.line, reader->topology->atom_types[i].name,
                     reader->topology->atom_types[j].name);
    c6[i * n + j] = c6[j * n + i] = v6;
    c12[i * n + j] = c12[j * n + i] = v12;
    seen[i * n + j] = seen[j * n + i] = true;
  }
  return TG_OK;
}

tg_status tg_reader_close_parameters(tg_topology_reader* reader) {
  tg_topology* topology = reader->topology;
  size_t n = topology->type_count, squared = n * n;
  TG_TRY(TG_ALLOCATE(squared, "C6 of pairs of types", &topology->c6));
  TG_TRY(TG_ALLOCATE(squared, "C12 of pairs of types", &topology->c12));
  TG_TRY(TG_ALLOCATE(squared, "C6 of 1-4 pairs", &reader->pair_c6));
  TG_TRY(TG_ALLOCATE(squared, "C12 of 1-4 pairs", &reader->pair_c12));
  TG_TRY(TG_ALLOCATE(squared, "known 1-4 pairs", &reader->pair_known));
  TG_TRY(fill_combined(reader));
  TG_TRY(fill_listed(reader, TG_TABLE_NONBONDED, topology->c6, topology->c12, reader->pair_known));
  memset(reader->pair_known, 0, squared * sizeof *reader->pair_known);
  TG_TRY(fill_listed(reader, TG_TABLE_PAIR, reader->pair_c6, reader->pair_c12, reader->pair_known));
  for (size_t i = 0; topology->generate_pairs && i < squared; i++) {
    if (reader->pair_known[i]) continue;
    reader->pair_c6[i] = topology->fudge_lj * topology->c6[i];
    reader->pair_c12[i] = topology->fudge_lj * topology->c12[i];
    reader->pair_known[i] = true;
  }
  reader->parameters_closed = true;
  return TG_OK;
}
