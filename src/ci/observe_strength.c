/* SPDX-License-Identifier: Apache-2.0 */
/* Strength functions of a level: strength:OPERATOR[:STEPS[:LEVEL[:WIDTH]]]. The lines, their sums
 * and moments, and the curve that Lorentz lines of a width make of them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "ci/observables.h"
#include "ci/strength.h"

enum { MOST_STEPS = 5000, MOST_POINTS = 2000 };

/* What the words behind strength: mean. */
typedef struct request {
  char op[1024];
  int steps, level;
  double width; /* MeV, the full width at half of the maximum */
} request;

/* One strength function at work. */
typedef struct work {
  const tg_ci_question* q;
  request request;
  tg_ci_transition op;
  size_t level; /* from 0 */
  tg_ci_space_params space;
  double sum_rule; /* sum over all components of |O_Kq|i>|^2 */
  tg_ci_strength strength;
} work;

/* ---- the request ---- */

static tg_status expected(const char* text, const char* found) {
  return tg_fail(TG_ERR_INPUT,
                 "strength:%s: found '%s'; expected strength:OPERATOR[:STEPS[:LEVEL[:WIDTH]]] with "
                 "STEPS 1 to %d, the number of a LEVEL and a WIDTH in MeV, such as "
                 "strength:gt-:100:1:0.5",
                 text, found, MOST_STEPS);
}

static tg_status read_request(const char* text, request* out) {
  request r = {.steps = 100, .level = 1, .width = 1};
  const char* at = text ? text : "";
  for (int word = 0; word < 4; word++) {
    const char* end = strchr(at, ':');
    const int length = end ? (int)(end - at) : (int)strlen(at);
    bool good = length > 0;
    if (word == 0) {
      good = good && (size_t)length < sizeof r.op;
      if (good) snprintf(r.op, sizeof r.op, "%.*s", length, at);
    } else if (word < 3) {
      int* number = word == 1 ? &r.steps : &r.level;
      good = good && tg_parse_int(at, length, number) && *number >= 1;
    } else {
      good = good && tg_parse_double(at, length, &r.width) && r.width > 0;
    }
    if (!good || r.steps > MOST_STEPS) return expected(text ? text : "", at);
    if (!end) {
      *out = r;
      return TG_OK;
    }
    at = end + 1;
  }
  return expected(text, at);
}

/* ---- the operator ---- */

/* Charges of e r^K Y_K: those of the parameters; for E1 always those about the centre of mass, for
 * E0 bare ones if none are given. */
static void set_charges(const tg_ci_question* q, tg_ci_transition_parameters* p) {
  const tg_ci_problem* problem = q->initial.problem;
  const tg_ci_model* model = &problem->input->model;
  memcpy(p->charge, q->params->charge, sizeof p->charge);
  if (p->rank == 0 && !q->params->charges_given) {
    p->charge[0] = 1;
    p->charge[1] = 0;
  }
  if (p->rank != 1 || !(problem->mass > 0)) return;
  const double protons = problem->particles[0] + fmax(0, model->core_protons);
  p->charge[0] = 1 - protons / problem->mass;
  p->charge[1] = -protons / problem->mass;
}

static tg_status make_operator(const tg_ci_question* q, const char* name, tg_ci_transition* out) {
  const tg_ci_problem* problem = q->initial.problem;
  const tg_ci_shells* shells = &problem->input->model.shells;
  const size_t length = strlen(name);
  const char last = name[length - 1];
  const bool sign = last == '+' || last == '-';
  const int change = sign ? (last == '+' ? 1 : -1) : 0;
  const tg_word word = {.start = name, .length = (int)(length - sign)};
  tg_ci_transition_parameters p;
  if (sign && tg_word_is_nocase(word, "gt")) {
    p = tg_ci_transition_defaults(TG_CI_GAMOW_TELLER, 1, problem->hw);
    p.charge_change = change;
  } else if (!sign && tg_word_is_nocase(word, "m1")) {
    p = tg_ci_transition_defaults(TG_CI_MAGNETIC, 1, problem->hw);
    memcpy(p.g_orbital, q->params->g_orbital, sizeof p.g_orbital);
    memcpy(p.g_spin, q->params->g_spin, sizeof p.g_spin);
  } else if (!sign && length == 2 && (name[0] == 'e' || name[0] == 'E') && name[1] >= '0' &&
             name[1] <= '4') {
    p = tg_ci_transition_defaults(TG_CI_ELECTRIC, name[1] - '0', problem->hw);
    set_charges(q, &p);
  } else if (word.length > 5 && strncmp(name + word.length - 5, ".opme", 5) == 0) {
    char path[1024];
    snprintf(path, sizeof path, "%.*s", word.length, name);
    return tg_ci_transition_read(path, shells, change, out);
  } else {
    return tg_fail(TG_ERR_INPUT,
                   "strength: there is no operator '%s'; expected e0 to e4, m1, gt+, gt-, or "
                   "FILE.opme (FILE.opme+ and FILE.opme- for the parts that change the charge)",
                   name);
  }
  return tg_ci_transition_create(shells, &p, out);
}

/* ---- the final space ---- */

static tg_status no_partitions(const tg_ci_space_params* space) {
  for (int t = 0; t < 2; t++)
    if (space->limits[t].partition_count || space->partition_pair_count)
      return tg_fail(TG_ERR_INPUT,
                     "strength: the partitions of the initial nucleus do not say which ones the "
                     "final nucleus has; leave the truncation away");
  return TG_OK;
}

/* The space that the operator leads to: as truncated as the initial one, with a quantum more where
 * the parity changes. */
static tg_status choose_space(work* w, unsigned symmetry) {
  const tg_ci_problem* p = w->q->initial.problem;
  const int weight_most = p->space.weight_most;
  w->space = p->space;
  w->space.symmetry = (int)(symmetry ^ (w->op.parity < 0));
  if (w->op.charge_change) {
    TG_TRY(no_partitions(&w->space));
    w->space.limits[0].particles += w->op.charge_change;
    w->space.limits[1].particles -= w->op.charge_change;
  }
  if (weight_most < 0 || p->least_weight < 0) return TG_OK;
  int least = 0;
  w->space.weight_most = -1;
  TG_TRY(tg_ci_space_least_weight(p->h, &w->space, &least));
  w->space.weight_most = least + weight_most - p->least_weight + (w->op.parity < 0);
  return TG_OK;
}

static bool has_states(const work* w, int two_m) {
  const tg_ci_problem* p = w->q->initial.problem;
  tg_ci_dimension* list = NULL;
  size_t count = 0;
  bool found = false;
  if (tg_ci_space_count(p->h, &w->space, &list, &count) != TG_OK) return false;
  for (size_t i = 0; i < count; i++)
    found = found || (list[i].two_m == two_m && list[i].symmetry == (unsigned)w->space.symmetry);
  tg_free(list);
  return found;
}

/* <i|O_00|i>^2, which is no transition; y = O_00|i>. */
static double square_of_stay(const tg_ci_states* s, size_t level, const double* y) {
  const double* x = tg_ci_level_vector(s, level);
  double stays = 0;
  for (uint64_t i = 0; i < tg_ci_level_space(s, level)->dimension; i++) stays += x[i] * y[i];
  return stays * stays;
}

/* Sum over q of |O_Kq|i>|^2: the strength to all states, whatever M shows of them. */
static tg_status sum_rule(work* w) {
  const tg_ci_states* s = &w->q->initial;
  const int two_m = s->problem->space.two_m;
  tg_ci_space* space = NULL;
  double* y = NULL;
  tg_status status = TG_OK;
  w->sum_rule = 0;
  for (int q = -w->op.rank; q <= w->op.rank; q++) {
    tg_ci_space_params params = w->space;
    params.two_m = two_m + 2 * q;
    if (!has_states(w, params.two_m)) continue;
    TG_TRY_GOTO(tg_ci_space_make(s->problem->h, &params, &space), done);
    TG_TRY_GOTO(TG_ALLOCATE((size_t)space->dimension, "a vector", &y), done);
    TG_TRY_GOTO(
        tg_ci_strength_apply(s->problem->h, &s->problem->input->model, &w->op,
                             tg_ci_level_space(s, w->level), tg_ci_level_vector(s, w->level), space,
                             tg_ci_question_threads(w->q), y),
        done);
    for (uint64_t i = 0; i < space->dimension; i++) w->sum_rule += y[i] * y[i];
    if (w->op.rank == 0 && space->dimension == tg_ci_level_space(s, w->level)->dimension)
      w->sum_rule -= square_of_stay(s, w->level, y);
    tg_ci_space_free(space);
    space = NULL;
    TG_FREE(y);
  }
done:
  tg_ci_space_free(space);
  tg_free(y);
  return status;
}

/* Vectors of Lanczos within the memory. */
static tg_status check_memory(const work* w, uint64_t dimension) {
  const uint64_t given = w->q->params->memory;
  const double most = given ? (double)given : 0.5 * (double)tg_memory_free();
  const double steps = fmin(w->request.steps, (double)dimension);
  const double bytes = (steps + 6) * 8 * (double)dimension;
  if (bytes <= most) return TG_OK;
  return tg_fail(TG_ERR_MACHINE,
                 "strength: %g steps keep vectors of %.3g GB in all, and %.3g GB may be taken; ask "
                 "for fewer steps",
                 steps, 1e-9 * bytes, 1e-9 * most);
}

static tg_status find_strength(work* w) {
  const tg_ci_states* s = &w->q->initial;
  const tg_ci_problem* p = s->problem;
  const int two_j = tg_ci_level_two_j(s, w->level);
  tg_ci_space* final = NULL;
  tg_status status = TG_OK;
  if (two_j < 0 || !p->label[TG_CI_LABEL_J])
    return tg_fail(TG_ERR_INPUT,
                   "strength: level %d shares its state with others and has no J of its own; a "
                   "smaller --tolerance may part them",
                   w->request.level);
  TG_TRY(choose_space(w, s->spectrum->levels[w->level].symmetry));
  TG_TRY_GOTO(tg_ci_space_make(p->h, &w->space, &final), done);
  TG_TRY_GOTO(check_memory(w, final->dimension), done);
  const tg_ci_strength_question question = {.h = p->h,
                                            .j2 = p->label[TG_CI_LABEL_J],
                                            .model = &p->input->model,
                                            .op = &w->op,
                                            .initial = tg_ci_level_space(s, w->level),
                                            .x = tg_ci_level_vector(s, w->level),
                                            .two_j = two_j,
                                            .final = final,
                                            .steps = w->request.steps,
                                            .threads = tg_ci_question_threads(w->q)};
  TG_TRY_GOTO(tg_ci_strength_make(&question, &w->strength), done);
  TG_TRY_GOTO(sum_rule(w), done);
done:
  tg_ci_space_free(final);
  return status;
}

/* ---- tables ---- */

/* Lines below this part of the total, and whole J_f, are no levels: rounding, and what the state's
 * residual and projection let in of states of other J. */
static const double ghost = 1e-8;

/* The table that all strength functions of a list share. */
static tg_status shared_table(tg_ci_tables* tables, const char* name, const char* title,
                              const tg_ci_column* like, size_t count, size_t keys, bool printed,
                              tg_ci_table** out) {
  *out = tg_ci_tables_find(tables, name);
  if (*out) return TG_OK;
  TG_TRY(tg_ci_tables_add(tables, name, title, out));
  (*out)->printed = printed;
  for (size_t c = 0; c < count; c++) {
    size_t number;
    TG_TRY(tg_ci_table_column(*out, like[c], &number));
  }
  (*out)->key_count = keys;
  return TG_OK;
}

static tg_status add_row(tg_ci_table* table, const double* value) {
  size_t row;
  TG_TRY(tg_ci_table_row(table, &row));
  for (size_t c = 0; c < table->column_count; c++) table->columns[c].value[row] = value[c];
  return TG_OK;
}

#define OPERATOR_KEYS                                                                              \
  {.name = "operator", .head = "operator", .kind = TG_CI_COLUMN_NAME}, {                           \
    .name = "level", .head = "#", .kind = TG_CI_COLUMN_WHOLE                                       \
  }

static tg_status keep_lines(const work* w) {
  static const tg_ci_column like[] = {
      OPERATOR_KEYS,
      {.name = "J_final", .head = "Jf", .kind = TG_CI_COLUMN_HALF},
      {.name = "energy_MeV", .unit = "MeV", .digits = 5},
      {.name = "excitation_MeV", .head = "Ef-Ei/MeV", .unit = "MeV", .digits = 4},
      {.name = "B", .head = "B(i->f)", .digits = 6}};
  tg_ci_table* table = NULL;
  size_t name;
  TG_TRY(shared_table(
      w->q->tables, "strength",
      "Strength functions: lines of Lanczos above 1e-8 of the total; the lowest become levels",
      like, 6, 4, true, &table));
  TG_TRY(tg_ci_table_name(table, w->request.op, &name));
  const double from = w->q->initial.spectrum->levels[w->level].energy;
  for (size_t k = 0; k < w->strength.count; k++) {
    const tg_ci_strength_part* p = &w->strength.part[k];
    for (size_t i = 0; i < p->count; i++) {
      if (p->b[i] < ghost * w->strength.total) continue;
      const double value[] = {(double)name, w->level + 1.0,      p->two_j,
                              p->energy[i], p->energy[i] - from, p->b[i]};
      TG_TRY(add_row(table, value));
    }
  }
  return TG_OK;
}

/* Sums of B (E - from)^m over a part, m = 0, 1, 2. */
static void add_moments(const tg_ci_strength_part* p, double from, double m[3]) {
  for (size_t i = 0; i < p->count; i++) {
    const double e = p->energy[i] - from;
    m[0] += p->b[i];
    m[1] += p->b[i] * e;
    m[2] += p->b[i] * e * e;
  }
}

static tg_status keep_sums(const work* w) {
  static const tg_ci_column like[] = {
      OPERATOR_KEYS,
      {.name = "J_final", .head = "Jf", .kind = TG_CI_COLUMN_HALF},
      {.name = "B_total", .head = "sum of B", .digits = 6},
      {.name = "sum_rule", .head = "<O+ O>", .digits = 6},
      {.name = "mean_MeV", .head = "mean Ef-Ei/MeV", .unit = "MeV", .digits = 4},
      {.name = "width_MeV", .head = "width/MeV", .unit = "MeV", .digits = 4},
      {.name = "lines", .head = "lines", .kind = TG_CI_COLUMN_WHOLE}};
  tg_ci_table* table = NULL;
  size_t name;
  TG_TRY(shared_table(w->q->tables, "strength_sums",
                      "Strength: totals and moments (no Jf: of all together)", like, 8, 3, true,
                      &table));
  TG_TRY(tg_ci_table_name(table, w->request.op, &name));
  const double from = w->q->initial.spectrum->levels[w->level].energy;
  double all[3] = {0}, lines = 0;
  for (size_t k = 0; k <= w->strength.count; k++) {
    const bool last = k == w->strength.count;
    const tg_ci_strength_part* p = last ? NULL : &w->strength.part[k];
    double m[3] = {0};
    if (p && (!p->seen || p->total < ghost * w->strength.total)) continue;
    if (p) {
      add_moments(p, from, m);
      add_moments(p, from, all);
      lines += (double)p->count;
    }
    const double* of = last ? all : m;
    const double mean = of[0] > 0 ? of[1] / of[0] : NAN;
    const double spread = of[0] > 0 ? sqrt(fmax(0, of[2] / of[0] - mean * mean)) : NAN;
    const double value[] = {(double)name,
                            w->level + 1.0,
                            p ? p->two_j : NAN,
                            p ? p->total : w->strength.total,
                            p ? NAN : w->sum_rule,
                            mean,
                            spread,
                            p ? (double)p->count : lines};
    TG_TRY(add_row(table, value));
  }
  return TG_OK;
}

/* Where the lines are that matter. */
static void range_of(const work* w, double* low, double* high) {
  *low = INFINITY;
  *high = -INFINITY;
  for (size_t k = 0; k < w->strength.count; k++)
    for (size_t i = 0; i < w->strength.part[k].count; i++) {
      if (w->strength.part[k].b[i] < 1e-6 * w->strength.total) continue;
      *low = fmin(*low, w->strength.part[k].energy[i]);
      *high = fmax(*high, w->strength.part[k].energy[i]);
    }
}

static double folded(const work* w, double energy) {
  const double half = 0.5 * w->request.width;
  double sum = 0;
  for (size_t k = 0; k < w->strength.count; k++) {
    const tg_ci_strength_part* p = &w->strength.part[k];
    for (size_t i = 0; i < p->count; i++) {
      const double off = energy - p->energy[i];
      sum += p->b[i] * half / TG_PI / (off * off + half * half);
    }
  }
  return sum;
}

static tg_status keep_curve(const work* w) {
  static const tg_ci_column like[] = {
      OPERATOR_KEYS,
      {.name = "excitation_MeV", .head = "Ef-Ei/MeV", .unit = "MeV", .digits = 4},
      {.name = "strength_per_MeV", .head = "dB/dE", .unit = "1/MeV", .digits = 6}};
  tg_ci_table* table = NULL;
  size_t name;
  double low, high;
  range_of(w, &low, &high);
  if (!(low <= high)) return TG_OK;
  TG_TRY(shared_table(w->q->tables, "strength_folded",
                      "Strength functions, folded with a Lorentzian", like, 4, 3, false, &table));
  TG_TRY(tg_ci_table_name(table, w->request.op, &name));
  const double from = w->q->initial.spectrum->levels[w->level].energy;
  low -= 5 * w->request.width;
  high += 5 * w->request.width;
  const double wanted = ceil((high - low) / (0.25 * w->request.width));
  const int points = wanted > MOST_POINTS ? MOST_POINTS : (int)wanted;
  for (int i = 0; i <= points; i++) {
    const double energy = low + (high - low) * i / points;
    const double value[] = {(double)name, w->level + 1.0, energy - from, folded(w, energy)};
    TG_TRY(add_row(table, value));
  }
  return TG_OK;
}

static tg_status keep_notes(const work* w) {
  tg_ci_tables* tables = w->q->tables;
  for (size_t k = 0; k < w->strength.count; k++)
    if (!w->strength.part[k].seen)
      TG_TRY(tg_ci_tables_note(tables,
                               "strength of %s: states of J = %g are not seen from level %d at "
                               "this M (a Clebsch-Gordan coefficient is 0); choose another --two-m",
                               w->request.op, 0.5 * w->strength.part[k].two_j, w->request.level));
  const char* unit = "its file's units squared";
  char text[32];
  if (strchr("eE", w->request.op[0]) && strlen(w->request.op) == 2) {
    snprintf(text, sizeof text, "e2 fm%d", w->op.rank ? 2 * w->op.rank : 4);
    unit = text;
  } else if (tg_compare_nocase(w->request.op, "m1") == 0) {
    unit = "nuclear magnetons squared";
  } else if (tg_compare_nocase(w->request.op, "gt+") == 0 ||
             tg_compare_nocase(w->request.op, "gt-") == 0) {
    return tg_ci_tables_note(
        tables,
        "strength of %s: B is |<f||sigma t||i>|^2/(2Ji+1), without gA; energies "
        "are as in the inputs, which may leave the Coulomb energy away",
        w->request.op);
  }
  return tg_ci_tables_note(tables, "strength of %s: B in %s; width of the curve %g MeV",
                           w->request.op, unit, w->request.width);
}

/* ---- the observable ---- */

/* Levels that a solve will find at most. */
static size_t most_levels(const tg_ci_question* q) {
  const tg_ci_problem* p = q->initial.problem;
  size_t all = 0;
  for (size_t s = 0; s < p->sector_count; s++) {
    const uint64_t states = (uint64_t)tg_ci_usual_states(q->params->states);
    all += (size_t)(p->levels[s] < states ? p->levels[s] : states);
  }
  return all;
}

/* The operator leads somewhere from one of the sectors at least. */
static tg_status check_space(work* w) {
  const tg_ci_problem* p = w->q->initial.problem;
  for (size_t s = 0; s < p->sector_count; s++) {
    TG_TRY(choose_space(w, p->sectors[s]));
    if (has_states(w, p->space.two_m)) return TG_OK;
  }
  return tg_fail(TG_ERR_INPUT,
                 "strength: %s leads to states of %s parity%s, and these orbits have none with "
                 "2M = %d",
                 w->request.op, w->space.symmetry ? "negative" : "positive",
                 w->op.charge_change ? " with another charge" : "", p->space.two_m);
}

static tg_status check(const tg_ci_question* q) {
  work w = {.q = q};
  TG_TRY(read_request(q->argument, &w.request));
  TG_TRY(make_operator(q, w.request.op, &w.op));
  const int neutrons = q->initial.problem->particles[1], protons = q->initial.problem->particles[0];
  const int change = w.op.charge_change;
  tg_status status = TG_OK;
  if (protons + change < 0 || neutrons - change < 0)
    status = tg_fail(TG_ERR_INPUT, "strength: %s needs a %s outside the core, and there is none",
                     w.request.op, change > 0 ? "neutron" : "proton");
  else if ((size_t)w.request.level > most_levels(q))
    status = tg_fail(TG_ERR_INPUT,
                     "strength: there is no level %d; at most %zu are looked for (--states)",
                     w.request.level, most_levels(q));
  else
    status = check_space(&w);
  tg_ci_transition_free(&w.op);
  return status;
}

static tg_status compute(const tg_ci_question* q) {
  work w = {.q = q};
  tg_status status = TG_OK;
  TG_TRY(read_request(q->argument, &w.request));
  if ((size_t)w.request.level > q->initial.spectrum->level_count)
    return tg_fail(TG_ERR_INPUT, "strength: there is no level %d; %zu were found", w.request.level,
                   q->initial.spectrum->level_count);
  w.level = (size_t)w.request.level - 1;
  TG_TRY(make_operator(q, w.request.op, &w.op));
  TG_TRY_GOTO(find_strength(&w), done);
  TG_TRY_GOTO(keep_sums(&w), done);
  TG_TRY_GOTO(keep_lines(&w), done);
  TG_TRY_GOTO(keep_curve(&w), done);
  TG_TRY_GOTO(keep_notes(&w), done);
done:
  tg_ci_strength_free(&w.strength);
  tg_ci_transition_free(&w.op);
  return status;
}

const tg_ci_observable tg_ci_observable_strength = {
    .name = "strength",
    .argument = "OPERATOR[:STEPS[:LEVEL[:WIDTH]]]",
    .help =
        "how the strength of e0 to e4, m1, gt+, gt- or FILE.opme from a level spreads over "
        "energies (default 100 steps, level 1, width 1 MeV)",
    .can = TG_CI_OF_NUCLEI | TG_CI_WITHIN,
    .check = check,
    .compute = compute,
};
