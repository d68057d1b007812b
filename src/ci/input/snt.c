/* SPDX-License-Identifier: Apache-2.0 */
/* KSHELL's .snt: orbits, core, one-body and two-body elements of protons and neutrons. */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "ci/input/readers.h"

enum { MOST_LINES = INT_MAX };

/* `nporb nnorb Zcore Ncore`, then a line `index n l 2j 2tz` for each orbit. */
static tg_status read_orbits(tg_ci_lines* lines, tg_ci_model* model) {
  int protons = 0, neutrons = 0;
  TG_TRY(tg_ci_lines_need(lines, "the numbers of orbits and the core: nporb nnorb Zcore Ncore"));
  TG_TRY(tg_ci_lines_words(lines, 4, 4, "4 numbers: nporb nnorb Zcore Ncore"));
  TG_TRY(tg_ci_lines_int(lines, 0, "the number of proton orbits", 0, TG_CI_MOST_SHELLS, &protons));
  TG_TRY(
      tg_ci_lines_int(lines, 1, "the number of neutron orbits", 0, TG_CI_MOST_SHELLS, &neutrons));
  TG_TRY(tg_ci_lines_int(lines, 2, "the protons of the core", 0, 200, &model->core_protons));
  TG_TRY(tg_ci_lines_int(lines, 3, "the neutrons of the core", 0, 300, &model->core_neutrons));
  model->core_mass = model->core_protons + model->core_neutrons;
  if (protons + neutrons == 0)
    return tg_fail_at(tg_ci_lines_place(lines, 0), "no orbits; expected at least one");
  for (int i = 0; i < protons + neutrons; i++) {
    int number = 0, tz = 0;
    tg_ci_shell shell = {.weight = -1};
    TG_TRY(tg_ci_lines_need(lines, "another orbit: index n l 2j 2tz"));
    TG_TRY(tg_ci_lines_words(lines, 5, 5, "5 numbers: index n l 2j 2tz"));
    TG_TRY(tg_ci_lines_int(lines, 0, "the next number of an orbit", i + 1, i + 1, &number));
    TG_TRY(tg_ci_lines_int(lines, 1, "n", 0, 99, &shell.n));
    TG_TRY(tg_ci_lines_int(lines, 2, "l", 0, 99, &shell.l));
    TG_TRY(tg_ci_lines_int(lines, 3, "2j", 1, 199, &shell.two_j));
    TG_TRY(tg_ci_lines_int(lines, 4, "2tz (-1 proton, 1 neutron)", -1, 1, &tz));
    if (tz != (i < protons ? -1 : 1))
      return tg_fail_at(tg_ci_lines_place(lines, 4),
                        "found 2tz = %d for orbit %d; expected %d, as the first line announces %d "
                        "proton and %d neutron orbits",
                        tz, number, i < protons ? -1 : 1, protons, neutrons);
    shell.species = tz < 0 ? TG_CI_PROTON : TG_CI_NEUTRON;
    TG_TRY(tg_ci_shells_add(&model->shells, shell, tg_ci_lines_place(lines, 1)));
  }
  return TG_OK;
}

static tg_status read_hw(tg_ci_lines* lines, size_t word, tg_ci_model* model) {
  double hw = 0;
  TG_TRY(tg_ci_lines_real(lines, word, "hw in MeV", &hw));
  if (hw <= 0)
    return tg_fail_at(tg_ci_lines_place(lines, word), "found hw = %g MeV; expected more than 0",
                      hw);
  if (model->hw > 0 && fabs(model->hw - hw) > 1e-6 * hw)
    return tg_fail_at(tg_ci_lines_place(lines, word),
                      "hw = %g MeV here, %g MeV before; expected one oscillator energy", hw,
                      model->hw);
  model->hw = hw;
  return TG_OK;
}

static tg_status unknown_method(const tg_ci_lines* lines, int method, const char* known) {
  return tg_fail_at(tg_ci_lines_place(lines, 1), "found method %d; expected %s", method, known);
}

/* `count method [hw]`, then `i j value`. */
static tg_status read_one_body(tg_ci_lines* lines, tg_ci_model* model, tg_ci_part* part) {
  int count = 0, method = 0;
  const int orbits = (int)model->shells.count;
  TG_TRY(tg_ci_lines_need(lines, "the one-body part: its number of lines and method"));
  TG_TRY(tg_ci_lines_words(
      lines, 2, 3, "the number of one-body lines, the method, and hw for methods 1 and 10"));
  TG_TRY(tg_ci_lines_int(lines, 0, "the number of one-body lines", 0, MOST_LINES, &count));
  TG_TRY(tg_ci_lines_int(lines, 1, "the method of the one-body part", 0, 999, &method));
  if (method != 0 && method != 1 && method != 10)
    return unknown_method(lines, method, "0, 1 or 10 for one-body elements");
  if (method != 0) TG_TRY(read_hw(lines, 2, model));
  if (method == 10) part->kinetic = true;
  for (int i = 0; i < count; i++) {
    tg_ci_one_element e = {0};
    double value = 0;
    TG_TRY(tg_ci_lines_need(lines, "another one-body element: i j value"));
    TG_TRY(tg_ci_lines_words(lines, 3, 3, "3 numbers: i j value"));
    TG_TRY(tg_ci_lines_int(lines, 0, "the number of an orbit", 1, orbits, &e.a));
    TG_TRY(tg_ci_lines_int(lines, 1, "the number of an orbit", 1, orbits, &e.b));
    TG_TRY(tg_ci_lines_real(lines, 2, "the element", &value));
    e.a--;
    e.b--;
    if (method == 10)
      e.value.per_hw = value;
    else
      e.value.fixed = value;
    e.line = lines->line;
    e.resolution = tg_ci_lines_resolution(lines, 2);
    TG_TRY(
        tg_ci_couplings_put_one(&part->couplings, &model->shells, e, tg_ci_lines_place(lines, 0)));
  }
  return TG_OK;
}

/* `count method [A0 p | hw]`. */
static tg_status read_two_body_head(tg_ci_lines* lines, tg_ci_model* model, tg_ci_part* part,
                                    int* count, int* method) {
  TG_TRY(tg_ci_lines_need(lines, "the two-body part: its number of lines and method"));
  TG_TRY(tg_ci_lines_words(
      lines, 2, 4, "the number of two-body lines, the method, and `A0 p` for method 1, hw for 10"));
  TG_TRY(tg_ci_lines_int(lines, 0, "the number of two-body lines", 0, MOST_LINES, count));
  TG_TRY(tg_ci_lines_int(lines, 1, "the method of the two-body part", 0, 999, method));
  if (*method == 1) {
    double mass = 0, power = 0;
    TG_TRY(tg_ci_lines_real(lines, 2, "the mass number A0 of the scaling", &mass));
    TG_TRY(tg_ci_lines_real(lines, 3, "the power p of the scaling", &power));
    if (mass <= 0)
      return tg_fail_at(tg_ci_lines_place(lines, 2), "found A0 = %g; expected more than 0", mass);
    part->scaling = (tg_ci_scaling){.on = true, .mass = mass, .power = -power};
  } else if (*method == 10) {
    TG_TRY(read_hw(lines, 2, model));
    part->kinetic = true;
  } else if (*method != 0) {
    return unknown_method(lines, *method, "0, 1 or 10 for two-body elements");
  }
  return TG_OK;
}

static tg_status read_two_body(tg_ci_lines* lines, tg_ci_model* model, tg_ci_part* part) {
  int count = 0, method = 0;
  const int orbits = (int)model->shells.count;
  TG_TRY(read_two_body_head(lines, model, part, &count, &method));
  const size_t words = method == 10 ? 7 : 6;
  for (int i = 0; i < count; i++) {
    tg_ci_two_element e = {0};
    int* orbit[4] = {&e.a, &e.b, &e.c, &e.d};
    TG_TRY(tg_ci_lines_need(lines, "another two-body element: i j k l J V"));
    TG_TRY(tg_ci_lines_words(lines, words, words,
                             method == 10 ? "7 numbers: i j k l J V x" : "6 numbers: i j k l J V"));
    for (size_t k = 0; k < 4; k++) {
      TG_TRY(tg_ci_lines_int(lines, k, "the number of an orbit", 1, orbits, orbit[k]));
      (*orbit[k])--;
    }
    TG_TRY(tg_ci_lines_int(lines, 4, "J", 0, 199, &e.j));
    TG_TRY(tg_ci_lines_real(lines, 5, "the element V", &e.value.fixed));
    if (method == 10) TG_TRY(tg_ci_lines_real(lines, 6, "the kinetic element x", &e.value.per_hw));
    e.line = lines->line;
    e.resolution = tg_ci_lines_resolution(lines, 5);
    TG_TRY(
        tg_ci_couplings_put_two(&part->couplings, &model->shells, e, tg_ci_lines_place(lines, 0)));
  }
  return TG_OK;
}

tg_status tg_ci_read_snt(tg_ci_lines* lines, tg_ci_model* model, tg_ci_notes* notes) {
  tg_ci_part* part = NULL;
  (void)notes;
  TG_TRY(tg_ci_model_add_part(model, lines->file.path, tg_ci_format_name(TG_CI_SNT), &part));
  TG_TRY(read_orbits(lines, model));
  TG_TRY(read_one_body(lines, model, part));
  TG_TRY(read_two_body(lines, model, part));
  return tg_ci_lines_need_end(lines, "the two-body elements");
}
