/* SPDX-License-Identifier: Apache-2.0 */
/* MFDn's two-body text of before h2: isospin orbits in the automatic order, no core,
 * `a b c d J T Trel Hrel Vcoul V`, or `... Vpn Vpp Vnn` for an interaction that knows charges. Trel
 * is for hw = 1 MeV and two particles: it counts 2 hw / A times. */
#include <limits.h>
#include <math.h>

#include "ci/angular.h"
#include "ci/input/readers.h"

enum { MOST_QUANTA = 19, MOST_AUTOMATIC = (MOST_QUANTA + 1) * (MOST_QUANTA + 2) / 2 };

typedef struct mfdn_elements {
  tg_ci_isospin_elements pn, pp, nn; /* pn alone where there is one column */
  bool by_charge;
  double most_coulomb;
} mfdn_elements;

/* The number of elements stands first; what follows on that line (limits of the orbits) varies. */
static tg_status read_head(tg_ci_lines* lines, int* count) {
  TG_TRY(tg_ci_lines_need(lines, "the number of elements"));
  return tg_ci_lines_int(lines, 0, "the number of elements", 0, INT_MAX, count);
}

static tg_status read_orbits(tg_ci_lines* lines, tg_ci_two_element* e) {
  int* orbit[4] = {&e->a, &e->b, &e->c, &e->d};
  for (size_t k = 0; k < 4; k++) {
    TG_TRY(tg_ci_lines_int(lines, k, "the number of an orbit", 1, MOST_AUTOMATIC, orbit[k]));
    (*orbit[k])--;
  }
  return tg_ci_lines_int(lines, 4, "J", 0, 199, &e->j);
}

/* Shells of quanta N hold N + 1 orbits: the shell of orbit number i from 0. */
static int quanta_of(int orbit) {
  int quanta = 0;
  while ((quanta + 1) * (quanta + 2) / 2 <= orbit) quanta++;
  return quanta;
}

/* The first pass: which shells there are. The lines are read again afterwards. */
static tg_status add_shells(tg_ci_lines* lines, tg_ci_model* model) {
  const size_t start = lines->next;
  int most = 0;
  bool found = false;
  TG_TRY(tg_ci_lines_next(lines, &found));
  while (found) {
    tg_ci_two_element e = {0};
    TG_TRY(read_orbits(lines, &e));
    const int orbits[4] = {e.a, e.b, e.c, e.d};
    for (int k = 0; k < 4; k++)
      if (orbits[k] > most) most = orbits[k];
    TG_TRY(tg_ci_lines_next(lines, &found));
  }
  lines->next = start;
  return tg_ci_add_automatic_shells(quanta_of(most), (tg_place){lines->file.path, 0, 0},
                                    &model->shells);
}

static tg_status put(tg_ci_isospin_elements* elements, const tg_ci_lines* lines,
                     const tg_ci_shells* shells, tg_ci_two_element e, int isospin, size_t column) {
  TG_TRY(tg_ci_lines_real(lines, column, "the element V", &e.value.fixed));
  e.resolution = tg_ci_lines_resolution(lines, column);
  return tg_ci_isospin_put(elements, shells, e, isospin, tg_ci_lines_place(lines, 0));
}

static tg_status read_element(tg_ci_lines* lines, const tg_ci_shells* shells, size_t words,
                              mfdn_elements* out) {
  tg_ci_two_element e = {.line = lines->line};
  int isospin = 0;
  double kinetic = 0, unused = 0, coulomb = 0;
  TG_TRY(tg_ci_lines_words(lines, words, words, "as many numbers as in the first element's line"));
  TG_TRY(read_orbits(lines, &e));
  TG_TRY(tg_ci_lines_int(lines, 5, "T", 0, 1, &isospin));
  TG_TRY(tg_ci_lines_real(lines, 6, "Trel", &kinetic));
  TG_TRY(tg_ci_lines_real(lines, 7, "Hrel", &unused));
  TG_TRY(tg_ci_lines_real(lines, 8, "Vcoul", &coulomb));
  out->most_coulomb = fmax(out->most_coulomb, fabs(coulomb));
  e.value.per_hw = 2 * kinetic;
  TG_TRY(put(&out->pn, lines, shells, e, isospin, 9));
  if (!out->by_charge || isospin == 0) return TG_OK;
  TG_TRY(put(&out->pp, lines, shells, e, isospin, 10));
  return put(&out->nn, lines, shells, e, isospin, 11);
}

/* Moves those elements of one kind of pair that the expansion of a list gives. */
static tg_status keep_kind(const tg_ci_isospin_elements* elements, const tg_ci_shells* shells,
                           int kind, tg_ci_couplings* out) {
  tg_ci_couplings all = {0};
  tg_status status = tg_ci_isospin_expand(elements, shells, &all);
  for (size_t i = 0; status == TG_OK && i < all.two_count; i++)
    if (tg_ci_pair_kind(shells, all.two[i].a, all.two[i].b) == kind)
      status = tg_ci_couplings_add_two(out, shells, all.two[i], all.two[i].value);
  tg_ci_couplings_free(&all);
  return status;
}

static tg_status read_elements(tg_ci_lines* lines, const tg_ci_shells* shells, int count,
                               mfdn_elements* e, tg_ci_couplings* out) {
  size_t words = 0;
  for (int i = 0; i < count; i++) {
    TG_TRY(tg_ci_lines_need(lines, "another element: a b c d J T Trel Hrel Vcoul V"));
    if (i == 0) {
      words = lines->count;
      e->by_charge = words == 12;
      if (words != 10 && words != 12)
        return tg_fail_at(tg_ci_lines_place(lines, 0),
                          "found %zu numbers; expected 10 (a b c d J T Trel Hrel Vcoul V) or 12 "
                          "(... Vpn Vpp Vnn)",
                          words);
    }
    TG_TRY(read_element(lines, shells, words, e));
  }
  TG_TRY(tg_ci_lines_need_end(lines, "the elements announced"));
  if (!e->by_charge) return tg_ci_isospin_expand(&e->pn, shells, out);
  TG_TRY(keep_kind(&e->pp, shells, TG_CI_PP, out));
  TG_TRY(keep_kind(&e->nn, shells, TG_CI_NN, out));
  TG_TRY(keep_kind(&e->pn, shells, TG_CI_PN, out));
  out->duplicates = e->pn.duplicates;
  out->zeros = e->pn.zeros;
  return TG_OK;
}

tg_status tg_ci_read_mfdn(tg_ci_lines* lines, tg_ci_model* model, tg_ci_notes* notes) {
  tg_ci_part* part = NULL;
  mfdn_elements elements = {0};
  int count = 0;
  TG_TRY(tg_ci_model_add_part(model, lines->file.path, tg_ci_format_name(TG_CI_MFDN), &part));
  model->core_protons = model->core_neutrons = 0;
  model->core_mass = 0;
  part->kinetic = true;
  TG_TRY(read_head(lines, &count));
  TG_TRY(add_shells(lines, model));
  tg_status status = read_elements(lines, &model->shells, count, &elements, &part->couplings);
  tg_ci_isospin_elements_free(&elements.pn);
  tg_ci_isospin_elements_free(&elements.pp);
  tg_ci_isospin_elements_free(&elements.nn);
  TG_TRY(status);
  TG_TRY(tg_ci_note(notes,
                    "%s: the relative kinetic energy (Trel) is in it and counts 2 hw / A times; "
                    "Hrel is not used (the centre of mass is treated by formula)",
                    lines->file.path));
  if (elements.most_coulomb == 0) return TG_OK;
  return tg_ci_note(notes,
                    "%s: the column Vcoul (up to %g) is not added; V%s is taken as the whole "
                    "interaction",
                    lines->file.path, elements.most_coulomb, elements.by_charge ? "pp" : "");
}
