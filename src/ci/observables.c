/* SPDX-License-Identifier: Apache-2.0 */
#include "ci/observables.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/interrupt.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "ci/density_set.h"

/* Every observable, in the order of results: X(name) stands for tg_ci_observable_<name>, defined in
 * a file of its own (src/ci/observe_*.c). */
#define TG_CI_OBSERVABLES(X)                                                                       \
  X(occupations)                                                                                   \
  X(natural)                                                                                       \
  X(radii)                                                                                         \
  X(e2)                                                                                            \
  X(m1)                                                                                            \
  X(e1)                                                                                            \
  X(e3)                                                                                            \
  X(e4) X(gt) X(fermi) X(logft) X(opme) X(spectroscopic) X(strength) X(obdm) X(rdm1) X(rdm2) X(tdm1)

#define DECLARE(name) extern const tg_ci_observable tg_ci_observable_##name;
TG_CI_OBSERVABLES(DECLARE)
#undef DECLARE

#define POINT(name) &tg_ci_observable_##name,
static const tg_ci_observable* const ALL[] = {TG_CI_OBSERVABLES(POINT) NULL};
#undef POINT

/* A state with more than this of other states in it has no J of its own, nor reduced elements. */
static const double most_mixing = 0.1;

const tg_ci_observable* const* tg_ci_observables_all(void) { return ALL; }

tg_ci_observable_params tg_ci_observable_defaults(void) {
  return (tg_ci_observable_params){
      .charge = {1.5, 0.5}, .g_orbital = {1, 0}, .g_spin = {TG_G_SPIN_PROTON, TG_G_SPIN_NEUTRON}};
}

/* ---- lists ---- */

void tg_ci_observables_free(tg_ci_observable_list* list) {
  if (!list) return;
  for (size_t i = 0; i < list->count; i++) tg_free(list->argument[i]);
  memset(list, 0, sizeof *list);
}

static bool fits(const tg_ci_observable* o, tg_ci_kind kind, bool within) {
  const unsigned of = kind == TG_CI_NUCLEUS ? TG_CI_OF_NUCLEI : TG_CI_OF_MOLECULES;
  return (o->can & of) && (o->can & (within ? TG_CI_WITHIN : TG_CI_BETWEEN));
}

static tg_status unknown(const char* word, int length, tg_ci_kind kind, bool within) {
  char names[512] = "";
  size_t used = 0;
  for (size_t i = 0; ALL[i]; i++)
    if (fits(ALL[i], kind, within) && used < sizeof names)
      used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "",
                               ALL[i]->name);
  return tg_fail(TG_ERR_INPUT,
                 "there is no observable '%.*s' for %s; expected all, usual, none or some of: %s",
                 length, word, kind == TG_CI_MOLECULE ? "molecules" : "nuclei", names);
}

static tg_status misfit(const tg_ci_observable* o, tg_ci_kind kind, bool within) {
  if (!(o->can & (kind == TG_CI_NUCLEUS ? TG_CI_OF_NUCLEI : TG_CI_OF_MOLECULES)))
    return tg_fail(TG_ERR_INPUT, "the observable '%s' is one of %s", o->name,
                   kind == TG_CI_NUCLEUS ? "molecules" : "nuclei");
  if (within)
    return tg_fail(TG_ERR_INPUT,
                   "the observable '%s' is one between two calculations: write their states with "
                   "`throng ci solve --wave FILE` and give the files to `throng ci transitions`",
                   o->name);
  return tg_fail(TG_ERR_INPUT,
                 "the observable '%s' is one of a single calculation: ask `throng ci solve` for it",
                 o->name);
}

static bool ends_with(const char* word, int length, const char* end) {
  const int n = (int)strlen(end);
  return length > n && strncmp(word + length - n, end, (size_t)n) == 0;
}

/* Adds an observable, unless it is there; one that was asked for by name stays so. */
static tg_status add_entry(const tg_ci_observable* o, const char* argument, bool grouped,
                           tg_ci_observable_list* out) {
  for (size_t i = 0; i < out->count; i++) {
    const char* there = out->argument[i];
    if (out->entry[i] != o || (there == NULL) != (argument == NULL)) continue;
    if (there && strcmp(there, argument) != 0) continue;
    out->grouped[i] = out->grouped[i] && grouped;
    return TG_OK;
  }
  if (out->count == TG_CI_MOST_OBSERVABLES)
    return tg_fail(TG_ERR_INPUT, "more than %d observables in a list", TG_CI_MOST_OBSERVABLES);
  if (argument) TG_TRY(tg_copy_text(argument, &out->argument[out->count]));
  out->grouped[out->count] = grouped;
  out->entry[out->count++] = o;
  return TG_OK;
}

/* "opme:FILE.opme" and "strength:FILE.opme" end like a file's name, and are none. */
static bool begins_with_name(const char* word, int length) {
  const char* colon = memchr(word, ':', (size_t)length);
  if (!colon) return false;
  const tg_word name = {.start = word, .length = (int)(colon - word)};
  for (size_t i = 0; ALL[i]; i++)
    if (ALL[i]->argument && tg_word_is_nocase(name, ALL[i]->name)) return true;
  return false;
}

/* One word of the list: NAME, NAME:ARGUMENT, FILE.opme. */
static tg_status add_word(const char* word, int length, tg_ci_kind kind, bool within,
                          tg_ci_observable_list* out) {
  const bool file = ends_with(word, length, ".opme") && !begins_with_name(word, length);
  const char* colon = file ? NULL : memchr(word, ':', (size_t)length);
  const int name = colon ? (int)(colon - word) : length;
  const tg_ci_observable* found = NULL;
  for (size_t i = 0; ALL[i] && !found; i++)
    if (file ? strcmp(ALL[i]->name, "opme") == 0
             : tg_word_is_nocase((tg_word){.start = word, .length = name}, ALL[i]->name))
      found = ALL[i];
  if (!found) return unknown(word, length, kind, within);
  if (!fits(found, kind, within)) return misfit(found, kind, within);
  if (colon && !found->argument)
    return tg_fail(TG_ERR_INPUT, "the observable '%s' takes nothing behind a colon, found '%.*s'",
                   found->name, length, word);
  char text[4096] = "";
  if (file || colon) {
    const char* start = file ? word : colon + 1;
    const int size = length - (int)(start - word);
    if (size < 1 || (size_t)size >= sizeof text)
      return tg_fail(TG_ERR_INPUT, "'%.*s': expected %s:%s", length, word, found->name,
                     found->argument ? found->argument : "FILE");
    snprintf(text, sizeof text, "%.*s", size, start);
  }
  return add_entry(found, text[0] ? text : NULL, false, out);
}

/* Each that fits and needs no argument, or the usual ones of them. */
static tg_status add_group(bool all, tg_ci_kind kind, bool within, tg_ci_observable_list* out) {
  for (size_t i = 0; ALL[i]; i++)
    if (fits(ALL[i], kind, within) && (all ? !ALL[i]->argument : (ALL[i]->can & TG_CI_USUAL) != 0))
      TG_TRY(add_entry(ALL[i], NULL, true, out));
  return TG_OK;
}

static tg_status add_words(const char* text, tg_ci_kind kind, bool within,
                           tg_ci_observable_list* out) {
  for (const char* at = text;;) {
    const char* end = strchr(at, ',');
    const int length = end ? (int)(end - at) : (int)strlen(at);
    if (length == 0)
      return tg_fail(TG_ERR_INPUT, "the list of observables '%s' has an empty word", text);
    const tg_word word = {.start = at, .length = length};
    const bool all = tg_word_is_nocase(word, "all"), usual = tg_word_is_nocase(word, "usual");
    TG_TRY(all || usual ? add_group(all, kind, within, out)
                        : add_word(at, length, kind, within, out));
    if (!end) return TG_OK;
    at = end + 1;
  }
}

tg_status tg_ci_observables_parse(const char* text, tg_ci_kind kind, bool within,
                                  tg_ci_observable_list* out) {
  tg_ci_observable_list list = {0};
  if (!text) text = "usual";
  if (tg_compare_nocase(text, "none") != 0) {
    const tg_status status = add_words(text, kind, within, &list);
    if (status != TG_OK) {
      tg_ci_observables_free(&list);
      return status;
    }
  }
  *out = list;
  return TG_OK;
}

/* ---- runs ---- */

/* The parameters with what follows from the nucleus: bare charges where there is no core. */
static tg_ci_observable_params resolve(const tg_ci_observable_params* given,
                                       const tg_ci_problem* problem) {
  tg_ci_observable_params params = *given;
  if (!params.charges_given && problem->kind == TG_CI_NUCLEUS &&
      problem->input->model.core_mass == 0) {
    params.charge[0] = 1;
    params.charge[1] = 0;
  }
  return params;
}

/* Whether the observable is left out of a group; what its check says, where it is not. */
static tg_status check_one(const tg_ci_observable_list* list, size_t i, const tg_ci_question* q,
                           bool* left_out) {
  const tg_ci_observable* o = list->entry[i];
  const tg_status status = o->check ? o->check(q) : TG_OK;
  *left_out = list->grouped[i] && status == TG_ERR_INPUT;
  return *left_out ? TG_OK : status;
}

/* One-body operators between two nuclei need the same orbitals in the same order. */
static tg_status check_orbits(const tg_ci_problem* initial, const tg_ci_problem* final) {
  if (initial->kind != final->kind)
    return tg_fail(TG_ERR_INPUT, "a nucleus and a molecule have no observables between them");
  if (initial->kind == TG_CI_MOLECULE) return TG_OK;
  const tg_ci_shells *a = &initial->input->model.shells, *b = &final->input->model.shells;
  bool same = a->count == b->count && a->proton_count == b->proton_count;
  for (size_t i = 0; same && i < a->count; i++)
    same = a->shell[i].n == b->shell[i].n && a->shell[i].l == b->shell[i].l &&
           a->shell[i].two_j == b->shell[i].two_j && a->shell[i].species == b->shell[i].species;
  if (same) return TG_OK;
  return tg_fail(TG_ERR_INPUT,
                 "the two calculations have different orbits, or in another order; solve both with "
                 "the same interaction or orbits");
}

tg_status tg_ci_observables_check(const tg_ci_observable_list* list,
                                  const tg_ci_observable_params* params,
                                  const tg_ci_problem* initial, const tg_ci_problem* final) {
  const tg_ci_observable_params resolved = resolve(params, initial);
  tg_ci_question q = {.initial = {.problem = initial},
                      .final = {.problem = final ? final : initial},
                      .within = !final,
                      .params = &resolved};
  TG_TRY(check_orbits(q.initial.problem, q.final.problem));
  for (size_t i = 0; i < list->count; i++) {
    q.argument = list->argument[i];
    bool left_out;
    TG_TRY(check_one(list, i, &q, &left_out));
  }
  return TG_OK;
}

/* The message that is set, as a note; without memory for one it is reported all the same. */
static void note_failure(tg_ci_tables* tables) {
  char words[1024];
  snprintf(words, sizeof words, "%s", tg_last_error());
  if (tg_ci_tables_note(tables, "not computed: %s", words) != TG_OK) return;
}

tg_status tg_ci_observables_run(const tg_ci_observable_list* list,
                                const tg_ci_observable_params* params, const tg_ci_states* initial,
                                const tg_ci_states* final, tg_ci_tables* out) {
  tg_status status = TG_OK;
  tg_ci_tables tables = {0};
  tg_ci_density_set* densities[3] = {NULL, NULL, NULL};
  const tg_ci_observable_params resolved = resolve(params, initial->problem);
  tg_ci_question q = {.initial = *initial,
                      .final = final ? *final : *initial,
                      .within = !final,
                      .params = &resolved,
                      .densities = densities,
                      .tables = &tables};
  TG_TRY(check_orbits(q.initial.problem, q.final.problem));
  char words[1024] = "";
  for (size_t i = 0; i < list->count && status != TG_ERR_INTERRUPTED; i++) {
    q.argument = list->argument[i];
    bool left_out = false;
    tg_status one = tg_interrupt_requested() ? tg_fail(TG_ERR_INTERRUPTED, "interrupted")
                                             : check_one(list, i, &q, &left_out);
    if (one == TG_OK && !left_out) one = list->entry[i]->compute(&q);
    if (one == TG_OK) continue;
    tg_fail_context(one, "observable %s: ", list->entry[i]->name);
    if (status == TG_OK) snprintf(words, sizeof words, "%s", tg_last_error());
    if (status == TG_OK || one == TG_ERR_INTERRUPTED) status = one;
    note_failure(&tables);
  }
  for (int c = 0; c < 3; c++) tg_ci_density_set_free(densities[c]);
  *out = tables;
  return status == TG_OK ? TG_OK : tg_fail(status, "%s", words);
}

/* ---- for observables ---- */

int tg_ci_question_threads(const tg_ci_question* q) {
  int count = 0; /* as many as a parallel region has; one where pragmas mean nothing */
#pragma omp parallel reduction(+ : count)
  count += 1;
  return q->params->threads > 0 ? q->params->threads : count;
}

int tg_ci_charge_change(const tg_ci_problem* initial, const tg_ci_problem* final) {
  const int protons = final->particles[0] - initial->particles[0];
  const int neutrons = final->particles[1] - initial->particles[1];
  return protons == -neutrons && abs(protons) < 2 ? protons : INT_MAX;
}

static const tg_ci_sector* sector_of(const tg_ci_states* states, size_t level) {
  return &states->spectrum->sectors[states->spectrum->levels[level].sector];
}

const double* tg_ci_level_vector(const tg_ci_states* states, size_t level) {
  const tg_eigen_result* r = &sector_of(states, level)->result;
  return r->vectors + states->spectrum->levels[level].number * r->ld;
}

const tg_ci_space* tg_ci_level_space(const tg_ci_states* states, size_t level) {
  return sector_of(states, level)->space;
}

double tg_ci_level_mixing(const tg_ci_states* states, size_t level) {
  const tg_ci_spectrum* s = states->spectrum;
  const tg_ci_level* mine = &s->levels[level];
  double most = 0;
  for (size_t i = 0; i < s->level_count; i++) {
    if (i == level || s->levels[i].sector != mine->sector) continue;
    const double gap = fabs(s->levels[i].energy - mine->energy);
    most = fmax(most, fmin(gap > 0 ? mine->residual / gap : 1, 1));
  }
  return most;
}

int tg_ci_level_two_j(const tg_ci_states* states, size_t level) {
  if (tg_ci_level_mixing(states, level) > most_mixing) return -1;
  return tg_ci_twice(states->spectrum->levels[level].squared[TG_CI_LABEL_J]);
}

static tg_status key(tg_ci_table* table, const char* name, const char* head, const char* unit,
                     tg_ci_column_kind kind) {
  size_t number;
  tg_ci_column like = {.kind = kind, .digits = 3};
  snprintf(like.name, sizeof like.name, "%s", name);
  snprintf(like.head, sizeof like.head, "%s", head);
  snprintf(like.unit, sizeof like.unit, "%s", unit);
  TG_TRY(tg_ci_table_column(table, like, &number));
  table->key_count = table->column_count;
  return TG_OK;
}

static double parity_of(const tg_ci_states* states, size_t level) {
  const unsigned symmetry = states->spectrum->levels[level].symmetry;
  return states->problem->kind == TG_CI_NUCLEUS ? (symmetry ? -1 : 1) : (double)symmetry + 1;
}

static double two_j_or_nan(const tg_ci_states* states, size_t level) {
  const int two_j = tg_ci_twice(states->spectrum->levels[level].squared[TG_CI_LABEL_J]);
  return two_j < 0 ? NAN : two_j;
}

static double nth_or_nan(const tg_ci_states* states, size_t level) {
  const size_t n = tg_ci_level_nth(states->spectrum, level);
  return n ? (double)n : NAN;
}

/* Says once which levels have no states of their own. */
static tg_status note_mixed(const tg_ci_question* q, const tg_ci_states* states,
                            const char* which) {
  for (size_t i = 0; i < states->spectrum->level_count; i++) {
    const double mixing = tg_ci_level_mixing(states, i);
    if (tg_ci_level_two_j(states, i) < 0)
      TG_TRY(tg_ci_tables_note(q->tables,
                               "%slevel %zu: levels closer than its residual share its state; it "
                               "has no moments and transitions of its own. A smaller --tolerance "
                               "or more --states may part them",
                               which, i + 1));
    else if (mixing > 0.01)
      TG_TRY(tg_ci_tables_note(q->tables,
                               "%slevel %zu: its state may have %.0f %% (amplitude) of a level "
                               "close by in it; a smaller --tolerance makes it better",
                               which, i + 1, 100 * mixing));
  }
  return TG_OK;
}

tg_status tg_ci_question_note_shared(const tg_ci_question* q) {
  TG_TRY(note_mixed(q, &q->initial, q->within ? "" : "the first calculation's "));
  return q->within ? TG_OK : note_mixed(q, &q->final, "the second calculation's ");
}

tg_status tg_ci_question_levels(const tg_ci_question* q, tg_ci_table** out) {
  tg_ci_table* table = tg_ci_tables_find(q->tables, "levels");
  const bool nucleus = q->initial.problem->kind == TG_CI_NUCLEUS;
  *out = table;
  if (table) return TG_OK;
  TG_TRY(tg_ci_tables_add(q->tables, "levels", "Levels", &table));
  TG_TRY(key(table, "level", "#", "", TG_CI_COLUMN_WHOLE));
  TG_TRY(key(table, nucleus ? "J" : "S", nucleus ? "J" : "S", "", TG_CI_COLUMN_HALF));
  TG_TRY(key(table, "n", "n", "", TG_CI_COLUMN_WHOLE));
  TG_TRY(key(table, nucleus ? "parity" : "irrep", nucleus ? "parity" : "irrep", "",
             nucleus ? TG_CI_COLUMN_SIGN : TG_CI_COLUMN_WHOLE));
  TG_TRY(key(table, nucleus ? "energy_MeV" : "energy_Ha", "", nucleus ? "MeV" : "Ha",
             TG_CI_COLUMN_REAL));
  for (size_t i = 0; i < q->initial.spectrum->level_count; i++) {
    size_t row;
    TG_TRY(tg_ci_table_row(table, &row));
    table->columns[0].value[row] = (double)i + 1;
    table->columns[1].value[row] = two_j_or_nan(&q->initial, i);
    table->columns[2].value[row] = nth_or_nan(&q->initial, i);
    table->columns[3].value[row] = parity_of(&q->initial, i);
    table->columns[4].value[row] = q->initial.spectrum->levels[i].energy;
  }
  *out = table;
  return TG_OK;
}

size_t tg_ci_transition_row(const tg_ci_question* q, size_t initial, size_t final) {
  if (!q->within) return initial * q->final.spectrum->level_count + final;
  return initial * (initial - 1) / 2 + final; /* initial > final */
}

static void fill_pair(const tg_ci_question* q, tg_ci_table* table, size_t initial, size_t final) {
  const size_t row = tg_ci_transition_row(q, initial, final);
  const tg_ci_level* from = &q->initial.spectrum->levels[initial];
  const tg_ci_level* to = &q->final.spectrum->levels[final];
  const double value[] = {(double)initial + 1,
                          two_j_or_nan(&q->initial, initial),
                          nth_or_nan(&q->initial, initial),
                          parity_of(&q->initial, initial),
                          (double) final + 1,
                          two_j_or_nan(&q->final, final),
                          nth_or_nan(&q->final, final),
                          parity_of(&q->final, final),
                          from->energy - to->energy,
                          to->energy - q->final.spectrum->levels[0].energy};
  for (size_t c = 0; c < sizeof value / sizeof *value; c++) table->columns[c].value[row] = value[c];
}

tg_status tg_ci_question_transitions(const tg_ci_question* q, tg_ci_table** out) {
  static const char* const names[][2] = {
      {"initial", "#i"}, {"J_initial", "Ji"}, {"n_initial", "n"}, {"parity_initial", ""},
      {"final", "#f"},   {"J_final", "Jf"},   {"n_final", "n"},   {"parity_final", ""}};
  static const tg_ci_column_kind kinds[] = {TG_CI_COLUMN_WHOLE, TG_CI_COLUMN_HALF,
                                            TG_CI_COLUMN_WHOLE, TG_CI_COLUMN_SIGN};
  tg_ci_table* table = tg_ci_tables_find(q->tables, "transitions");
  *out = table;
  if (table) return TG_OK;
  TG_TRY(tg_ci_tables_add(q->tables, "transitions",
                          q->within
                              ? "Transitions: i is the upper level, down is i -> f"
                              : "Transitions from the first calculation (i) to the second (f)",
                          &table));
  for (size_t c = 0; c < 8; c++) TG_TRY(key(table, names[c][0], names[c][1], "", kinds[c % 4]));
  TG_TRY(key(table, "energy_difference_MeV", q->within ? "Ei-Ef" : "", "MeV", TG_CI_COLUMN_REAL));
  TG_TRY(key(table, "excitation_final_MeV", q->within ? "" : "Ex(f)", "MeV", TG_CI_COLUMN_REAL));
  const size_t count = q->initial.spectrum->level_count;
  const size_t finals = q->final.spectrum->level_count;
  for (size_t i = 0, row; i < count; i++)
    for (size_t f = 0; f < (q->within ? i : finals); f++) TG_TRY(tg_ci_table_row(table, &row));
  for (size_t i = 0; i < count; i++)
    for (size_t f = 0; f < (q->within ? i : finals); f++) fill_pair(q, table, i, f);
  *out = table;
  return tg_ci_question_note_shared(q);
}
