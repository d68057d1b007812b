/* SPDX-License-Identifier: Apache-2.0 */
/* Files of orbits: .sps of OXBASH and BIGSTICK (iso, pnw, auto) and .sp of NuShell (t, pn). */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "ci/input/readers.h"

enum { UNUSED_WEIGHT = 99, MOST_QUANTA = 19 };

tg_status tg_ci_add_automatic_shells(int most_quanta, tg_place place, tg_ci_shells* out) {
  for (int species = 0; species < 2; species++)
    for (int quanta = 0; quanta <= most_quanta; quanta++)
      for (int two_j = 1; two_j <= 2 * quanta + 1; two_j += 2) {
        /* of l = j - 1/2 and j + 1/2 the one with the parity of the shell */
        const int low = (two_j - 1) / 2, l = (quanta - low) % 2 == 0 ? low : low + 1;
        tg_ci_shell shell = {
            .n = (quanta - l) / 2, .l = l, .two_j = two_j, .species = species, .weight = quanta};
        TG_TRY(tg_ci_shells_add(out, shell, place));
      }
  return TG_OK;
}

/* Whole numbers that .sps files write as 2 or as 2.0. */
static tg_status whole(tg_ci_lines* lines, size_t k, const char* what, int* out) {
  double value = 0;
  TG_TRY(tg_ci_lines_real(lines, k, what, &value));
  if (value < 0 || value > 999 || value != floor(value))
    return tg_fail_at(tg_ci_lines_place(lines, k), "found %g; expected %s, a whole number from 0",
                      value, what);
  *out = (int)value;
  return TG_OK;
}

/* `n l j w`; of pnw two weights. weights: of protons and neutrons. */
static tg_status read_sps_orbit(tg_ci_lines* lines, bool two, tg_ci_shell* shell, int weights[2]) {
  TG_TRY(tg_ci_lines_need(lines, two ? "another orbit: n l j wp wn" : "another orbit: n l j w"));
  TG_TRY(tg_ci_lines_words(lines, two ? 5 : 4, two ? 5 : 4,
                           two ? "5 numbers: n l j wp wn" : "4 numbers: n l j w"));
  TG_TRY(whole(lines, 0, "n", &shell->n));
  TG_TRY(whole(lines, 1, "l", &shell->l));
  TG_TRY(tg_ci_lines_half(lines, 2, "j", &shell->two_j));
  TG_TRY(whole(lines, 3, "the weight", &weights[0]));
  weights[1] = weights[0];
  if (two) TG_TRY(whole(lines, 4, "the weight of neutrons", &weights[1]));
  return TG_OK;
}

static tg_status read_sps_orbits(tg_ci_lines* lines, bool two, int count, tg_ci_shell* list,
                                 tg_place* places, int (*weights)[2], tg_ci_shells* out) {
  for (int i = 0; i < count; i++) {
    TG_TRY(read_sps_orbit(lines, two, &list[i], weights[i]));
    places[i] = tg_ci_lines_place(lines, 0);
  }
  for (int species = 0; species < 2; species++)
    for (int i = 0; i < count; i++) {
      tg_ci_shell shell = list[i];
      shell.species = species;
      shell.weight = weights[i][species];
      if (two && shell.weight == UNUSED_WEIGHT) continue;
      TG_TRY(tg_ci_shells_add(out, shell, places[i]));
    }
  return TG_OK;
}

static tg_status read_auto(tg_ci_lines* lines, tg_ci_shells* out) {
  int most = 0;
  TG_TRY(tg_ci_lines_need(lines, "the largest number of oscillator quanta"));
  TG_TRY(tg_ci_lines_words(lines, 1, 1, "the largest number of oscillator quanta alone"));
  TG_TRY(
      tg_ci_lines_int(lines, 0, "the largest number of oscillator quanta", 0, MOST_QUANTA, &most));
  return tg_ci_add_automatic_shells(most, tg_ci_lines_place(lines, 0), out);
}

tg_status tg_ci_read_sps(tg_ci_lines* lines, tg_ci_model* model) {
  TG_TRY(tg_ci_lines_need(lines, "`iso`, `pnw` or `auto`"));
  const tg_word word = lines->words[0];
  if (tg_word_is_nocase(word, "auto")) {
    TG_TRY(read_auto(lines, &model->shells));
    return tg_ci_lines_need_end(lines, "the number of quanta");
  }
  const bool two = tg_word_is_nocase(word, "pnw");
  if ((!two && !tg_word_is_nocase(word, "iso")) || lines->count > 1)
    return tg_fail_at(tg_ci_lines_place(lines, 0), "found '%.*s'; expected `iso`, `pnw` or `auto`",
                      word.length, word.start);
  int count = 0;
  TG_TRY(tg_ci_lines_need(lines, "the number of orbits"));
  TG_TRY(tg_ci_lines_words(lines, 1, 1, "the number of orbits alone"));
  TG_TRY(tg_ci_lines_int(lines, 0, "the number of orbits", 1, TG_CI_MOST_SHELLS / 2, &count));
  tg_ci_shell* list = NULL;
  tg_place* places = NULL;
  int(*weights)[2] = NULL;
  tg_status status = TG_OK;
  TG_TRY_GOTO(TG_ALLOCATE((size_t)count, "orbits", &list), done);
  TG_TRY_GOTO(TG_ALLOCATE((size_t)count, "orbits", &places), done);
  TG_TRY_GOTO(TG_ALLOCATE((size_t)count, "orbits", &weights), done);
  TG_TRY_GOTO(read_sps_orbits(lines, two, count, list, places, weights, &model->shells), done);
  TG_TRY_GOTO(tg_ci_lines_need_end(lines, "the orbits announced"), done);
done:
  tg_free(list);
  tg_free(places);
  tg_free(weights);
  return status;
}

/* ---- NuShell's .sp ---- */

/* `t` or `pn`; `A Z` of the core; the number of orbits; `1 n` or `2 np nn`. */
static tg_status read_sp_head(tg_ci_lines* lines, tg_ci_model* model, int counts[2], bool* both) {
  int mass = 0, count = 0, groups = 0;
  TG_TRY(tg_ci_lines_need(lines, "`t` or `pn`"));
  const tg_word word = lines->words[0];
  *both = tg_word_is_nocase(word, "pn");
  if ((!*both && !tg_word_is_nocase(word, "t")) || lines->count > 1)
    return tg_fail_at(tg_ci_lines_place(lines, 0), "found '%.*s'; expected `t` or `pn`",
                      word.length, word.start);
  TG_TRY(tg_ci_lines_need(lines, "A and Z of the core"));
  TG_TRY(tg_ci_lines_words(lines, 2, 2, "2 numbers: A Z of the core"));
  TG_TRY(tg_ci_lines_int(lines, 0, "A of the core", 0, 500, &mass));
  TG_TRY(tg_ci_lines_int(lines, 1, "Z of the core", 0, mass, &model->core_protons));
  model->core_neutrons = mass - model->core_protons;
  model->core_mass = mass;
  TG_TRY(tg_ci_lines_need(lines, "the number of orbits"));
  TG_TRY(tg_ci_lines_words(lines, 1, 1, "the number of orbits alone"));
  TG_TRY(tg_ci_lines_int(lines, 0, "the number of orbits", 1, TG_CI_MOST_SHELLS, &count));
  TG_TRY(tg_ci_lines_need(lines, "the numbers of orbits of each kind"));
  const size_t expected = *both ? 3 : 2;
  TG_TRY(tg_ci_lines_words(lines, expected, expected,
                           *both ? "`2 np nn`" : "`1 n`, the number of orbits"));
  TG_TRY(tg_ci_lines_int(lines, 0, *both ? "2 for protons and neutrons" : "1 for isospin",
                         *both ? 2 : 1, *both ? 2 : 1, &groups));
  counts[1] = 0;
  for (int s = 0; s < groups; s++)
    TG_TRY(tg_ci_lines_int(lines, (size_t)s + 1, "a number of orbits", 0, count, &counts[s]));
  if (counts[0] + counts[1] != count)
    return tg_fail_at(tg_ci_lines_place(lines, 0),
                      "found %d orbits here; expected the %d of the line before",
                      counts[0] + counts[1], count);
  return TG_OK;
}

static tg_status read_sp_orbit(tg_ci_lines* lines, int expected, tg_ci_shell* shell) {
  int number = 0;
  TG_TRY(tg_ci_lines_need(lines, "another orbit: index n l 2j"));
  TG_TRY(tg_ci_lines_words(lines, 4, 4, "4 numbers: index n l 2j"));
  TG_TRY(tg_ci_lines_int(lines, 0, "the next number of an orbit", expected, expected, &number));
  TG_TRY(tg_ci_lines_int(lines, 1, "n (from 1)", 1, 99, &shell->n));
  TG_TRY(tg_ci_lines_int(lines, 2, "l", 0, 99, &shell->l));
  TG_TRY(tg_ci_lines_int(lines, 3, "2j", 1, 199, &shell->two_j));
  shell->n--;
  shell->weight = -1;
  return TG_OK;
}

tg_status tg_ci_read_sp(tg_ci_lines* lines, tg_ci_model* model) {
  int counts[2] = {0, 0};
  bool both = false;
  TG_TRY(read_sp_head(lines, model, counts, &both));
  const int count = counts[0] + counts[1];
  for (int i = 0; i < count; i++) {
    tg_ci_shell shell = {.species = i < counts[0] ? TG_CI_PROTON : TG_CI_NEUTRON};
    TG_TRY(read_sp_orbit(lines, i + 1, &shell));
    TG_TRY(tg_ci_shells_add(&model->shells, shell, tg_ci_lines_place(lines, 1)));
  }
  for (int i = 0; !both && i < count; i++) {
    tg_ci_shell shell = model->shells.shell[i];
    shell.species = TG_CI_NEUTRON;
    TG_TRY(tg_ci_shells_add(&model->shells, shell, tg_ci_lines_place(lines, 0)));
  }
  return tg_ci_lines_need_end(lines, "the orbits announced");
}
