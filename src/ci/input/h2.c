/* SPDX-License-Identifier: Apache-2.0 */
/* MFDn's h2 files, text, version 15099: two-body elements of a no-core calculation. States are
 * antisymmetric and normalised; a scalar's reduced element in Rose's convention is the plain one.
 */
#include <limits.h>
#include <math.h>

#include "ci/input/readers.h"

enum { VERSION = 15099 };

static tg_status read_version(tg_ci_lines* lines) {
  int version = 0;
  TG_TRY(tg_ci_lines_need(lines, "the version, 15099"));
  TG_TRY(tg_ci_lines_words(lines, 1, 1, "the version alone, 15099"));
  TG_TRY(tg_ci_lines_int(lines, 0, "the version of h2", 0, INT_MAX, &version));
  if (version != VERSION)
    return tg_fail_at(tg_ci_lines_place(lines, 0),
                      "h2 files of version %d are not read; expected %d: convert it", version,
                      VERSION);
  return TG_OK;
}

/* `np nn`, then a line `index n l 2j class weight` for each orbit, counting within its species. */
static tg_status read_orbits(tg_ci_lines* lines, tg_ci_model* model) {
  int counts[2] = {0, 0};
  TG_TRY(tg_ci_lines_need(lines, "the numbers of proton and neutron orbits"));
  TG_TRY(tg_ci_lines_words(lines, 2, 2, "the numbers of proton and neutron orbits"));
  for (size_t s = 0; s < 2; s++)
    TG_TRY(tg_ci_lines_int(lines, s, "a number of orbits", 0, TG_CI_MOST_SHELLS, &counts[s]));
  for (int i = 0; i < counts[0] + counts[1]; i++) {
    const int species = i < counts[0] ? TG_CI_PROTON : TG_CI_NEUTRON;
    const int expected = (species == TG_CI_PROTON ? i : i - counts[0]) + 1;
    int number = 0, class = 0;
    double weight = 0;
    tg_ci_shell shell = {.species = species};
    TG_TRY(tg_ci_lines_need(lines, "another orbit: index n l 2j class weight"));
    TG_TRY(tg_ci_lines_words(lines, 6, 6, "6 numbers: index n l 2j class weight"));
    TG_TRY(tg_ci_lines_int(lines, 0, "the next number of an orbit", expected, expected, &number));
    TG_TRY(tg_ci_lines_int(lines, 1, "n", 0, 99, &shell.n));
    TG_TRY(tg_ci_lines_int(lines, 2, "l", 0, 99, &shell.l));
    TG_TRY(tg_ci_lines_int(lines, 3, "2j", 1, 199, &shell.two_j));
    TG_TRY(tg_ci_lines_int(lines, 4, "the class (1 proton, 2 neutron)", species + 1, species + 1,
                           &class));
    TG_TRY(tg_ci_lines_real(lines, 5, "the weight", &weight));
    if (weight < 0 || weight > 255 || weight != floor(weight))
      return tg_fail_at(tg_ci_lines_place(lines, 5),
                        "found the weight %g; expected a whole number from 0 to 255", weight);
    shell.weight = (int)weight;
    TG_TRY(tg_ci_shells_add(&model->shells, shell, tg_ci_lines_place(lines, 1)));
  }
  return TG_OK;
}

/* `J0 g0 Tz0`, the weights' limits, `2J` limits, and the numbers of elements. */
static tg_status read_head(tg_ci_lines* lines, tg_ci_part* part, int counts[3]) {
  static const char* const names[] = {"J0", "g0", "Tz0"};
  TG_TRY(tg_ci_lines_need(lines, "J0 g0 Tz0"));
  TG_TRY(tg_ci_lines_words(lines, 3, 3, "3 numbers: J0 g0 Tz0"));
  for (size_t k = 0; k < 3; k++) {
    int value = 0;
    TG_TRY(tg_ci_lines_int(lines, k, names[k], -99, 99, &value));
    if (value != 0)
      return tg_fail_at(tg_ci_lines_place(lines, k),
                        "found %s = %d; expected 0: only scalar operators that keep parity and "
                        "charge can be Hamiltonians",
                        names[k], value);
  }
  double most = 0;
  TG_TRY(tg_ci_lines_need(lines, "the largest weights of orbits"));
  TG_TRY(tg_ci_lines_words(lines, 2, 2, "the largest weights of proton and neutron orbits"));
  for (size_t k = 0; k < 2; k++) TG_TRY(tg_ci_lines_real(lines, k, "a weight", &most));
  TG_TRY(tg_ci_lines_need(lines, "the largest weights of pairs"));
  TG_TRY(tg_ci_lines_words(lines, 3, 3, "the largest weights of pairs: pp nn pn"));
  for (size_t k = 0; k < 3; k++) {
    TG_TRY(tg_ci_lines_real(lines, k, "a weight", &most));
    if (most < 0 || most > 510)
      return tg_fail_at(tg_ci_lines_place(lines, k),
                        "found the weight %g of pairs; expected 0 to 510", most);
    part->pair_weight_most[k] = (int)floor(most + 1e-6);
  }
  int unused = 0;
  TG_TRY(tg_ci_lines_need(lines, "the largest 2J of pairs"));
  TG_TRY(tg_ci_lines_words(lines, 3, 3, "the largest 2J of pairs: pp nn pn"));
  for (size_t k = 0; k < 3; k++) TG_TRY(tg_ci_lines_int(lines, k, "2J", 0, 999, &unused));
  TG_TRY(tg_ci_lines_need(lines, "the numbers of elements"));
  TG_TRY(tg_ci_lines_words(lines, 3, 3, "the numbers of elements: pp nn pn"));
  for (size_t k = 0; k < 3; k++)
    TG_TRY(tg_ci_lines_int(lines, k, "a number of elements", 0, INT_MAX, &counts[k]));
  return TG_OK;
}

static tg_status read_element(tg_ci_lines* lines, const tg_ci_shells* shells, int kind,
                              tg_ci_part* part) {
  static const int codes[] = {11, 22, 12};
  const int protons = (int)shells->proton_count, neutrons = (int)shells->count - protons;
  tg_ci_two_element e = {0};
  int* orbit[4] = {&e.a, &e.b, &e.c, &e.d};
  int bra = 0, ket = 0, code = 0;
  TG_TRY(tg_ci_lines_words(lines, 8, 8, "8 numbers: i1 i2 i3 i4 2Jbra 2Jket code element"));
  TG_TRY(tg_ci_lines_int(lines, 6, "the code of this part of the file (11 pp, 22 nn, 12 pn)",
                         codes[kind], codes[kind], &code));
  for (size_t k = 0; k < 4; k++) {
    const bool proton = kind == TG_CI_PP || (kind == TG_CI_PN && k % 2 == 0);
    TG_TRY(tg_ci_lines_int(lines, k, "the number of an orbit", 1, proton ? protons : neutrons,
                           orbit[k]));
    *orbit[k] += proton ? -1 : protons - 1;
  }
  TG_TRY(tg_ci_lines_int(lines, 4, "2J of the bra", 0, 999, &bra));
  TG_TRY(tg_ci_lines_int(lines, 5, "2J of the ket", 0, 999, &ket));
  if (bra != ket || bra % 2)
    return tg_fail_at(tg_ci_lines_place(lines, 4),
                      "found 2J = %d and %d; expected twice one whole J for a scalar operator", bra,
                      ket);
  e.j = bra / 2;
  TG_TRY(tg_ci_lines_real(lines, 7, "the element", &e.value.fixed));
  e.line = lines->line;
  e.resolution = tg_ci_lines_resolution(lines, 7);
  return tg_ci_couplings_put_two(&part->couplings, shells, e, tg_ci_lines_place(lines, 0));
}

tg_status tg_ci_read_h2(tg_ci_lines* lines, tg_ci_model* model, tg_ci_notes* notes) {
  tg_ci_part* part = NULL;
  int counts[3] = {0, 0, 0};
  (void)notes;
  TG_TRY(tg_ci_model_add_part(model, lines->file.path, tg_ci_format_name(TG_CI_H2), &part));
  model->core_protons = model->core_neutrons = 0;
  model->core_mass = 0;
  TG_TRY(read_version(lines));
  TG_TRY(read_orbits(lines, model));
  TG_TRY(read_head(lines, part, counts));
  for (int kind = 0; kind < TG_CI_PAIR_KINDS; kind++)
    for (int i = 0; i < counts[kind]; i++) {
      TG_TRY(tg_ci_lines_need(lines, "another two-body element"));
      TG_TRY(read_element(lines, &model->shells, kind, part));
    }
  return tg_ci_lines_need_end(lines, "the two-body elements");
}
